/* SPDX-License-Identifier: ISC */
/* said.c - what one notification says, line by line. */
#include "config.h"

#include "daemon/messages/said.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
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

/* Does the message have this line? */
bool
said_is(const struct notify_message *message, const char *key, const char *value)
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
	if (len > ACTOR_STATUS_MAX)
		len = ACTOR_STATUS_MAX;
	free(actor->status);
	/* Without memory the status is unknown, nothing worse. */
	actor->status = len == 0 ? NULL : strndup(text, len);
	ledger_set_status(recording->ledger, actor->ref.slot,
	                  actor->status != NULL ? actor->status : "");
}

/* ---- what has to reach the core, exactly once -------------------------------------- */

/* The events of one message. */
struct said {
	struct actor *actor;
	const struct notify_message *message;
	uint32_t life;
	struct event *at; /* room for SAID_MAX */
	size_t n;
};

static struct event *
add(struct said *said, enum event_kind kind)
{
	struct event *event = &said->at[said->n++];

	ASSERT(said->n <= SAID_MAX);
	*event = (struct event){
	    .kind = kind,
	    .ref = said->actor->ref,
	    .life = said->life,
	    .code = -1,
	    .stamp = said->message->stamp_ns,
	};
	return event;
}

/* The decimal number behind this key, at most max; false: no such line, or no number. */
static bool
number_of(const struct said *said, const char *name, uint64_t max, uint64_t *ret)
{
	size_t len;
	const char *text = notify_value(said->message, name, &len);
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
		log_paced(&said->actor->pace, LOG_LEVEL_WARNING,
		          "%s: %s= in a notification is no number up to %llu, and is "
		          "ignored",
		          said->actor->path, name, (unsigned long long)max);
		return false;
	}
	*ret = n;
	return true;
}

bool
said_main_pid(struct actor *actor, const struct notify_message *message, pid_t *ret)
{
	uint64_t pid;

	if (!number_of(&(const struct said){.actor = actor, .message = message},
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
take_phases(struct said *said, struct actor *actor)
{
	uint64_t since_us;

	if (said_is(said->message, "RELOADING", "1")) {
		actor->reloading_us = clock_mono_ns() / 1000;
		if (number_of(said, "MONOTONIC_USEC", UINT64_MAX / 16, &since_us) &&
		    since_us < actor->reloading_us)
			actor->reloading_us = since_us;
		log_paced(&actor->pace, LOG_LEVEL_INFO,
		          "%s: reads its configuration again", actor->path);
	} else if (said_is(said->message, "READY", "1") && actor->reloading_us > 0) {
		log_paced(
		    &actor->pace, LOG_LEVEL_INFO,
		    "%s: has read its configuration again, within %llu ms", actor->path,
		    (unsigned long long)(clock_mono_ns() / 1000 - actor->reloading_us) /
		        1000);
		actor->reloading_us = 0;
	}
	if (said_is(said->message, "STOPPING", "1"))
		(void)add(said, EVENT_WATCHDOG_EVERY);
}

/* A period: microseconds in the message, for the core milliseconds, never shorter. */
static void
add_period(struct said *said, const char *name, enum event_kind kind)
{
	uint64_t us;

	if (number_of(said, name, DURATION_MS_MAX * 1000, &us))
		add(said, kind)->period_ms = (us + 999) / 1000;
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
add_failure(struct said *said)
{
	size_t len = 0;
	const char *key = notify_value(said->message, "X_SUPD_FAIL", &len);
	uint64_t error = 0;

	if (!number_of(said, "ERRNO", ERRNO_MAX, &error) || error > ERRNO_MAX)
		error = 0;
	if (len == 0 && error == 0)
		return;
	struct event *event = add(said, EVENT_SELF_REPORT);
	event->error = (int32_t)error;
	if (len == 0) {
		key = err_name(event->error);
		len = strlen(key);
	}
	copy_key(event->key, key, len);
}

static void
take_down(struct said *said)
{
	add_period(said, "EXTEND_TIMEOUT_USEC", EVENT_EXTEND);
	add_period(said, "WATCHDOG_USEC", EVENT_WATCHDOG_EVERY);
	if (said_is(said->message, "BACKOFF_RESET", "1"))
		(void)add(said, EVENT_BACKOFF_RESET);
	if (said_is(said->message, "WATCHDOG", "trigger"))
		(void)add(said, EVENT_WATCHDOG_TRIGGER);
	add_failure(said);
}

size_t
said_take(const struct messages *messages, struct actor *actor,
          const struct notify_message *message, struct event ret[SAID_MAX])
{
	struct said said = {.actor = actor, .message = message, .at = ret};

	take_status(messages->recording, actor, message);
	/* The message is of the present process. */
	said.life = proctable_life(messages->proctable, actor->ref);
	take_down(&said);
	take_phases(&said, actor);
	return said.n;
}
