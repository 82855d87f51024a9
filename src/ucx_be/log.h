/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's messages in UCX's log. Errors and warnings are limited to bursts, because one
 * cause (a switch that reboots) can produce one for each of thousands of peers.
 */
#ifndef UCX_BE_LOG_H
#define UCX_BE_LOG_H

#include <engine/c_api.h>

void uct_be_log_init(void);
/* A message as the engine's own are: limited in rate up to BE_LOG_WARN, after "be: ". */
void uct_be_log(be_log_level_t level, const char *text);
/* The engine's control thread may outlive UCX's log. */
void uct_be_log_cleanup(void);

#endif
