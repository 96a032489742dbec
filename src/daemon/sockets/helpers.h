/* SPDX-License-Identifier: ISC */
/* helpers.h - the guardian's side of supd's helper processes (helper/wire.h).
 *
 * Each is an actor of supd's own, /system/NAME: its process is started when it is wanted
 * for the first time, and again, with the backoff of any actor, when it has ended.
 * Nothing here waits for it.  One that has not acted upon a message for HELPERS_HANG_S is
 * killed.  What a process was told is lost with it: its user tells the next one.
 *
 * A helper process does not outlive its guardian: it ends with the channel, and the next
 * guardian kills one that has not, before it starts anything.
 */
#ifndef DAEMON_HELPERS_H
#define DAEMON_HELPERS_H

#include <stdint.h>

#include "base/err.h"
#include "core/core.h"
#include "helper/wire.h"

#define HELPERS_HANG_S 5.

struct sockets;

/* The user of a helper: it was named with `user`.  None of these functions calls the
 * core. */
struct helper_user {
	/* There is room for messages: in a channel to a new process, or again. */
	void (*on_room)(void *user, bool is_new);
	/* It said something. */
	void (*on_message)(void *user, const struct helper_message *message);
	/* The process is gone, or hangs: all messages to it are lost. */
	void (*on_lost)(void *user);
};

/* Kill the process of an actor, if it has one. */
typedef void helpers_kill_process(void *data, struct ref ref);

/* None of them has a process yet; NULL and a sentence.  The sockets are borrowed. */
struct helpers *helpers_new(struct sockets *sockets, helpers_kill_process *kill_process,
                            void *data, struct err *err);
void helpers_free(struct helpers *helpers);
void helpers_use(struct helpers *helpers, enum helper_name name,
                 const struct helper_user *functions, void *user);
void helpers_adopt(struct helpers *helpers);
void helpers_on_turn(struct helpers *helpers);
int helpers_launch(struct helpers *helpers, enum helper_name name);
void helpers_want(struct helpers *helpers, enum helper_name name);
int helpers_send(struct helpers *helpers, enum helper_name name,
                 const struct helper_message *message, const struct pass_fds *fds);
uint64_t helpers_sent(const struct helpers *helpers, enum helper_name name);
bool helpers_has_done(const struct helpers *helpers, enum helper_name name,
                      uint64_t number);
void helpers_kill(struct helpers *helpers, enum helper_name name, const char *why);

#endif
