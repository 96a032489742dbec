/* SPDX-License-Identifier: ISC */
/* messages.h - what actors say, and keep with supd: the state of this room. */
#ifndef DAEMON_MESSAGES_H
#define DAEMON_MESSAGES_H

#include "base/err.h"
#include "daemon/messages/notify.h"

struct messages {
	/* What the room uses; borrowed. */
	struct ev_loop *loop;
	const struct origin *origin;
	const struct engine *engine;
	struct actors *actors;
	struct events *events;
	struct recording *recording;
	struct post *post;
	struct keeper *keeper;
	const struct proctable *proctable;
	struct bounded *closers; /* of descriptors that came with a notification */
	/* Its own. */
	struct notify *notify;
	struct readiness *readiness;
	struct stores *stores;
	struct rundirs *rundirs;
	struct output *output;
};

/* Begin, with what the room uses; `data` is for on_main_pid().  NULL and a sentence. */
struct messages *messages_new(const struct messages *with, notify_main_pid *on_main_pid,
                              void *data, struct err *err);
void messages_free(struct messages *messages);

/* Room for that many slots; -ENOMEM. */
int messages_reserve(struct messages *messages, uint32_t slots);

#endif
