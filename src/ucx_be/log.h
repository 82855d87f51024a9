/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's messages in UCX's log. Errors and warnings are limited to bursts, because one
 * cause (a switch that reboots) can produce one for each of thousands of peers.
 */
#ifndef UCX_BE_LOG_H
#define UCX_BE_LOG_H

void uct_be_log_init(void);
/* The engine's control thread may outlive UCX's log. */
void uct_be_log_cleanup(void);

#endif
