/* SPDX-License-Identifier: ISC */
/* messages.h - what actors say, and keep with supd: the state of this room. */
#ifndef DAEMON_MESSAGES_H
#define DAEMON_MESSAGES_H

#include "base/err.h"
#include "daemon/messages/notify.h"

struct output;
struct readiness;
struct rundirs;
struct shell;
struct stores;

struct messages {
	struct notify *notify;
	struct readiness *readiness;
	struct stores *stores;
	struct rundirs *rundirs;
	struct output *output;
};

/* Begin; NULL and a sentence. */
struct messages *messages_new(struct shell *shell, notify_main_pid *on_main_pid,
                              struct err *err);
void messages_free(struct messages *messages);

/* Room for that many slots; -ENOMEM. */
int messages_reserve(struct messages *messages, uint32_t slots);

#endif
