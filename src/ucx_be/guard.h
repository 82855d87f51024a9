/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is the UCX in this process the one that this plugin was built for? All UCX releases share one
 * soname and none checks its plugins, while internal structures change with the release and with
 * build options (--enable-stats). Nothing of UCX is called before the answer.
 */
#ifndef UCX_BE_GUARD_H
#define UCX_BE_GUARD_H

#include <stddef.h>

/* 1: yes. 0: no, and `why` says what was expected and what was found. */
int uct_be_guard_check(char *why, size_t why_size);

#endif
