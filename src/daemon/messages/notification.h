/* SPDX-License-Identifier: ISC */
/* notification.h - what one notification says, line by line. */
#ifndef DAEMON_NOTIFICATION_H
#define DAEMON_NOTIFICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/core.h"
#include "daemon/state/actors.h"
#include "os/socket/sdnotify.h"

struct messages;

/* The most events that come of a message. */
#define NOTIFICATION_EVENTS_MAX 6

bool notification_is(const struct notify_message *message, const char *key,
                     const char *value);

/* The pid of MAINPID=; false: the message has none. */
bool notification_main_pid(struct actor *actor, const struct notify_message *message,
                           pid_t *ret);

/* Note what the actor has of it (STATUS, RELOADING); what has to reach the
 * core, exactly once, is in ret.  Returns how many.  Harmless when it is done again. */
size_t notification_take(const struct messages *messages, struct actor *actor,
                         const struct notify_message *message,
                         struct event ret[NOTIFICATION_EVENTS_MAX]);

#endif
