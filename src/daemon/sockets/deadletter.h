/* SPDX-License-Identifier: ISC */
/* deadletter.h - clients of an actor that is down, and that nothing serves, are counted.
 *
 * They are sent away by /system/letters, which says how many there were; the count is
 * told in the event stream, a number at a time.
 */
#ifndef DAEMON_DEADLETTER_H
#define DAEMON_DEADLETTER_H

#include <ev.h>
#include <stdint.h>

#include "core/core.h"

struct mailbox;

/* The count of dead letters of a mailbox. */
struct deadletters {
	struct sockets *sockets;
	struct ref owner;
	uint32_t untold;    /* dead letters that are not in the event stream yet */
	const char *socket; /* the name of the newest one's, borrowed */
	ev_timer tell;
};

void deadletters_init(struct deadletters *dead, struct sockets *sockets);
void deadletters_done(struct deadletters *dead);
void deadletters_count(struct deadletters *dead, const struct mailbox *mailbox,
                       uint32_t n);

#endif
