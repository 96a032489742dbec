/* SPDX-License-Identifier: ISC */
/* tail.h - the last that a stream said, for the guardian: read without waiting. */
#ifndef LOGD_TAIL_H
#define LOGD_TAIL_H

#include <stddef.h>
#include <stdint.h>

/* From the ring of the log process, and what still is in the pipe. */
#define TAIL_MAX (2048 + 65536)

uint64_t tail_total(int state_fd, uint64_t key, uint32_t *entry, int pipe_fd);
size_t tail_read(int state_fd, uint64_t key, uint32_t *entry, int pipe_fd, char *buf,
                 size_t size, uint64_t *ret_total);

#endif
