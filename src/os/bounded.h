/* SPDX-License-Identifier: ISC */
/* bounded.h - look at files that may never answer, for a bounded time. */
#ifndef OS_BOUNDED_H
#define OS_BOUNDED_H

#include <stddef.h>
#include <sys/types.h>

/* Writes to the descriptor what it finds, and returns. */
typedef void bounded_fn(int fd, void *data);

ssize_t os_run_bounded(bounded_fn *run, void *data, int timeout_ms, char *buf,
                       size_t size);

#endif
