/* SPDX-License-Identifier: ISC */
/* state.h - what survives the death of a log process at any instruction.
 *
 * A memfd, sealed in its size and sparse: a head with the batch in hand, an entry for
 * each stream, and behind them for each a ring of the last that it said.  The head and
 * the entries are mapped, by the guardian for reading alone; the rings are written with
 * pwrite(2), so that they cost memory only where something was said.
 *
 * The batch in hand.  Nothing is taken out of an actor's pipe before it is written:
 *
 *	BATCH_WRITING   from `offset` on the file holds a part of what the pipe still
 *			holds: cut the file there, and all is as before
 *	BATCH_TAKING    it is written; `length` bytes are being moved from the pipe into
 *			the staging pipe, which tells how many were: go on
 *	BATCH_DRAINING  they are out; empty the staging pipe
 *
 * So a line is in the file once, wherever the process was killed: between two of these
 * there is one store.
 */
#ifndef LOGD_STATE_H
#define LOGD_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"

#define STATE_STREAMS_MAX 100000
#define STATE_RING_BYTES  2048

enum batch_phase { BATCH_NONE, BATCH_WRITING, BATCH_TAKING, BATCH_DRAINING };

struct state_entry {
	uint64_t key;        /* 0: free */
	uint64_t total;      /* bytes taken out of the pipe */
	uint64_t line_inode; /* the file that ends with a part of a line of this stream */
	uint64_t line_end;   /* and the size of the file then; 0: no such line */
	uint64_t matched;    /* where the newest line ends that its pattern matched */
	uint64_t match_from; /* of which line to tell: feed.h; 0: of none */
	uint64_t lost;       /* bytes of `total` that are in no file: dropped */
	uint64_t lost_noted; /* bytes lost of which a line of the file tells */
	uint32_t turns;      /* odd while `total` and the ring may not agree */
	/* the error that keeps its file from being written, as the guardian was told; 0:
	 * none */
	int32_t blocked;
};

struct state_batch {
	uint32_t phase; /* enum batch_phase */
	uint32_t entry;
	uint64_t key;
	uint64_t pipe; /* inode of the stream's pipe */
	uint64_t device, inode, offset;
	uint64_t length; /* bytes of the pipe */
	uint64_t total;  /* from here to line_end: of the entry, once the batch is done */
	uint64_t lost, lost_noted, line_inode, line_end;
	char path[PATH_MAX]; /* of the file */
};

struct state_head {
	uint32_t version;
	uint32_t used; /* entries from here on were never used */
	uint64_t instance;
	struct state_batch batch;
};

struct state {
	int fd;
	struct state_head *head;
	struct state_entry *entries;
	struct map by_key;
	size_t allocated; /* so many bytes of the memfd, from its begin */
	uint32_t *free;   /* entries below head->used */
	uint32_t n_free;
};

int state_new(struct err *err);
int state_open(struct state *state, int fd, struct err *err);
void state_close(struct state *state);
const struct state_head *state_look(int fd, const struct state_entry **ret_entries);
void state_look_away(const struct state_head *head);
int state_find(struct state *state, uint64_t key, uint32_t *ret);
void state_drop(struct state *state, uint64_t key);
void state_set_phase(struct state *state, enum batch_phase phase);
void state_settle(struct state *state);
void state_say(struct state *state, uint32_t entry, uint64_t skip, const char *data,
               size_t len);

/* Where in the memfd what is not mapped begins. */
size_t state_ring_offset(uint32_t entry);

#endif
