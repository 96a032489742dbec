/* SPDX-License-Identifier: ISC */
/* leftover.h - processes that a supd which died left behind. */
#ifndef OS_LEFTOVER_H
#define OS_LEFTOVER_H

#include <stddef.h>
#include <sys/types.h>

int leftover_kill(const char *variable, size_t *ret_killed);
int leftover_kill_below(pid_t walker, size_t *ret_killed);

#endif
