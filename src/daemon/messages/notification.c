/* SPDX-License-Identifier: ISC */
/* notification.c - what one notification says, line by line. */
#include "config.h"

#include "daemon/messages/notification.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bounds.h"
#include "base/units.h"
#include "daemon/messages/messages.h"
#include "daemon/state/log.h"
#include "daemon/state/proctable.h"
#include "daemon/state/recording.h"
#include "ledger/ledger.h"
#include "os/self/clock.h"

/* No system has errors beyond this. */
#define ERRNO_MAX 4095
/* Nor pids beyond this. */
#define PID_MAX 4194304

/* True if the message has this line. */
bool
notification_is(const struct notify_message *message, const char *key, const char *value)
{
	size_t len;
	const char *found = notify_value(message, key, &len);

	return found != NULL && len == strlen(value) && memcmp(found, value, len) == 0;
}

static void
take_status(struct recording *recording, struct actor *actor,
            const struct notify_message *message)
{
	size_t len;
	const char *text = notify_value(message, "STATUS", &len);

	if (text == NULL)
		return;
	free(actor->status);
	/* Without memory the status is unknown, nothing worse. */
	actor->status = len == 0 ? NULL : strndup(text, SMALLER(len, ACTOR_STATUS_MAX));
	ledger_set_status(recording->ledger, actor->ref.slot,
	                  actor->status != NULL ? actor->status : "");
}

/* ---- what has to reach the core, exactly once -------------------------------------- */

/* The events of one message. */
struct notification {
	struct actor *actor;
	const struct notify_message *message;
	uint32_t life;
	struct event *at; /* room for NOTIFICATION_EVENTS_MAX */
	size_t n;
};

static struct event *
add(struct notification *notification, enum event_kind kind)
{
	struct event *event = &notification->at[notification->n++];

	ASSERT(notification->n <= NOTIFICATION_EVENTS_MAX);
	*event = (struct event){
	    .kind = kind,
	    .ref = notification->actor->ref,
	    .life = notification->life,
	    .code = -1,
	    .stamp = notification->message->stamp_ns,
	};
	return event;
}

/* The decimal number behind this key, at most max; false: no such line, or no number. */
static bool
number_of(const struct notification *notification, const char *name, uint64_t max,
          uint64_t *ret)
{
	size_t len;
	const char *text = notify_value(notification->message, name, &len);
	uint64_t n = 0;

	if (text == NULL)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || n > max)
			len = 0;
		else
			n = n * 10 + (uint64_t)(text[i] - '0');
	}
	if (len == 0 || n > max) {
		log_paced(&notification->actor->pace, LOG_LEVEL_WARNING,
		          "%s: %s= in a notification is no number up to %llu, and is "
		          "ignored",
		          notification->actor->path, name, (unsigned long long)max);
		return false;
	}
	*ret = n;
	return true;
}

bool
notification_main_pid(struct actor *actor, const struct notify_message *message,
                      pid_t *ret)
{
	uint64_t pid;

	if (!number_of(&(const struct notification){.actor = actor, .message = message},
	               "MAINPID", PID_MAX, &pid))
		return false;
	*ret = (pid_t)pid;
	return true;
}

/*
 * RELOADING=1 … READY=1: it reads its configuration again, and has.  It stays as ready as
 * it was; STOPPING=1: it ends by itself, and need not say that it lives any more.
 */
static void
take_phases(struct notification *notification, struct actor *actor)
{
	uint64_t since_us;

	if (notification_is(notification->message, "RELOADING", "1")) {
		actor->reloading_us = clock_mono_ns() / 1000;
		if (number_of(notification, "MONOTONIC_USEC", UINT64_MAX / 16,
		              &since_us) &&
		    since_us < actor->reloading_us)
			actor->reloading_us = since_us;
		log_paced(&actor->pace, LOG_LEVEL_INFO,
		          "%s: reads its configuration again", actor->path);
	} else if (notification_is(notification->message, "READY", "1") &&
	           actor->reloading_us > 0) {
		log_paced(
		    &actor->pace, LOG_LEVEL_INFO,
		    "%s: has read its configuration again, within %llu ms", actor->path,
		    (unsigned long long)(clock_mono_ns() / 1000 - actor->reloading_us) /
		        1000);
		actor->reloading_us = 0;
	}
	if (notification_is(notification->message, "STOPPING", "1"))
		(void)add(notification, EVENT_WATCHDOG_EVERY);
}

/* A period: microseconds in the message, for the core milliseconds, never shorter. */
static void
add_period(struct notification *notification, const char *name, enum event_kind kind)
{
	uint64_t us;

	if (number_of(notification, name, DURATION_MS_MAX * 1000, &us))
		add(notification, kind)->period_ms = (us + 999) / 1000;
}

/* The name of a failure as the process has it: cut off, and in one line. */
static void
copy_key(char to[CAUSE_KEY_MAX], const char *text, size_t len)
{
	if (len > CAUSE_KEY_MAX - 1)
		len = CAUSE_KEY_MAX - 1;
	/* Not in the middle of a character. */
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	for (size_t i = 0; i < len; i++)
		to[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
}

/* ERRNO= and X_SUPD_FAIL=: together they are one failure.  ERRNO=0 alone is none. */
static void
add_failure(struct notification *notification)
{
	size_t len = 0;
	const char *key = notify_value(notification->message, "X_SUPD_FAIL", &len);
	uint64_t error = 0;

	if (!number_of(notification, "ERRNO", ERRNO_MAX, &error) || error > ERRNO_MAX)
		error = 0;
	if (len == 0 && error == 0)
		return;
	struct event *event = add(notification, EVENT_SELF_REPORT);
	event->error = (int32_t)error;
	if (len == 0) {
		key = err_name(event->error);
		len = strlen(key);
	}
	copy_key(event->key, key, len);
}

static void
take_down(struct notification *notification)
{
	add_period(notification, "EXTEND_TIMEOUT_USEC", EVENT_EXTEND);
	add_period(notification, "WATCHDOG_USEC", EVENT_WATCHDOG_EVERY);
	if (notification_is(notification->message, "BACKOFF_RESET", "1"))
		(void)add(notification, EVENT_BACKOFF_RESET);
	if (notification_is(notification->message, "WATCHDOG", "trigger"))
		(void)add(notification, EVENT_WATCHDOG_TRIGGER);
	add_failure(notification);
}

size_t
notification_take(const struct messages *messages, struct actor *actor,
                  const struct notify_message *message,
                  struct event ret[NOTIFICATION_EVENTS_MAX])
{
	struct notification notification = {
	    .actor = actor, .message = message, .at = ret};

	take_status(messages->recording, actor, message);
	/* The message is of the present process. */
	notification.life = proctable_life(messages->proctable, actor->ref);
	take_down(&notification);
	take_phases(&notification, actor);
	return notification.n;
}
