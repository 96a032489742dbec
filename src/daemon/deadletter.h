/* SPDX-License-Identifier: ISC */
/* deadletter.h - clients whom nobody serves: they are sent away, or get a fixed reply.
 *
 * What nobody took is counted, and told in the event stream, a number at a time.  How
 * many are dealt with in a second is bounded by the socket's `rate`; the others wait in
 * its queue.
 */
#ifndef DAEMON_DEADLETTER_H
#define DAEMON_DEADLETTER_H

#include "core/core.h"

#include <ev.h>
#include <stdint.h>

struct mailbox;
struct shell;

/* So many connections that got a reply are kept until the client has read it. */
#define LINGERERS_MAX 64

/* One of them: closed when the client closes it, or when its time is over. */
struct lingerer {
	struct lingerers *all;
	int fd; /* -1: free */
	ev_io io;
	ev_timer timeout;
};

struct lingerers {
	struct ev_loop *loop;
	struct lingerer at[LINGERERS_MAX];
	uint32_t next; /* which is the oldest, or free */
};

/* What is counted at one mailbox. */
struct deadletters {
	struct shell *shell;
	struct ref owner;
	uint64_t second_ms; /* when the second began, … */
	uint32_t served;    /* … in which these were dealt with */
	uint32_t untold;    /* dead letters that are not in the event stream yet */
	const char *socket; /* the name of the newest one's, borrowed */
	ev_timer tell;
};

void deadletters_init(struct deadletters *dead, struct shell *shell);
void deadletters_done(struct deadletters *dead);

/*
 * Deal with those who wait at this mailbox, as far as its rate allows, and not with too
 * many at a time.  0: go on when it is readable; else so many milliseconds later.
 */
uint64_t deadletter_serve(struct deadletters *dead, const struct mailbox *mailbox,
                          struct lingerers *lingerers);

void lingerers_init(struct lingerers *lingerers, struct ev_loop *loop);
void lingerers_done(struct lingerers *lingerers);

#endif
