/* SPDX-License-Identifier: ISC */
/* tail.h - the last that a stream said, for the guardian: read without waiting.
 *
 * How much a stream said costs a look at memory and one system call for its pipe; what
 * it said costs more, and only if there is something.
 */
#ifndef LOGD_TAIL_H
#define LOGD_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the ring of the log process, and what still is in the pipe. */
#define TAIL_MAX (2048 + 65536)

struct tail {
	int fd;                        /* the state: the caller's */
	const struct state_head *head; /* NULL: nothing is known but what is in pipes */
	const struct state_entry *entries;
	uint32_t shift; /* from the guess of a stream to its entry, the last time */
	int copy[2];    /* an empty pipe that takes copies of what is in others */
};

/* A stream, in a request. */
struct tail_stream {
	uint64_t key;
	int pipe_fd;    /* either end of its pipe, or -1 */
	uint32_t entry; /* a guess at first: remembers where it was found */
	uint64_t begun; /* the total when what is of interest began */
};

void tail_init(struct tail *tail);
void tail_open(struct tail *tail, int state_fd);
void tail_close(struct tail *tail);
bool tail_is_troubled(const struct tail *tail);
int tail_blocked(struct tail *tail, struct tail_stream *stream, uint64_t *ret_lost);
uint64_t tail_total(struct tail *tail, struct tail_stream *stream, uint64_t known);
size_t tail_read(struct tail *tail, struct tail_stream *stream, char *buf, size_t size,
                 uint64_t *ret_total);

#endif
