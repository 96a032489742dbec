/* SPDX-License-Identifier: ISC */
/* notify.c - what processes say of themselves, over sd_notify(3). */
#include "config.h"

#include "daemon/notify.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "daemon/log.h"
#include "daemon/procs.h"
#include "daemon/readiness.h"
#include "daemon/shell.h"
#include "daemon/stores.h"
#include "ledger/ledger.h"
#include "ledger/link.h"
#include "os/clock.h"
#include "os/fd.h"

#define DRAIN_BATCH 64
/* So many messages of one actor in a row; the rest waits for the next turn. */
#define DRAIN_MESSAGES 64
/* So many events may come of one message. */
#define SAID_MAX 6
/* No system has errors beyond this. */
#define ERRNO_MAX 4095
/* Nor pids beyond this. */
#define PID_MAX 4194304

struct notify {
	struct shell *shell;
	int epoll_fd;
	ev_io io;
	int *fds;        /* by slot, -1: none */
	uint64_t *pings; /* by slot: 1 + the turn of the last WATCHDOG=1 */
	uint32_t cap;
	uint32_t n_open;
	struct notify_message message;
};

static uid_t
uid_of(const struct actor *actor)
{
	const struct conf_process *process = &actor->conf->process;

	return process->has_user ? process->uid : geteuid();
}

/*
 * May this process speak for the actor?  The main process may, whatever user it has
 * become; every other one is to be in the actor's containment, where a session of a user
 * of its own (a job of cron, a login) may be as well, so its user is compared: the
 * actor's, root, or supd's.  A process that is gone is known by its user alone.
 */
static bool
may_speak(struct notify *notify, const struct actor *actor,
          const struct notify_message *message)
{
	struct procs *procs = notify->shell->procs;
	const uid_t uid = uid_of(actor);

	if (procs_is_main(procs, actor->ref, message->pid))
		return true;
	if (message->uid != uid && message->uid != 0 && message->uid != geteuid())
		return false;
	if (procs_contains(procs, actor->ref, message->pid, uid))
		return true;
	if (message->pid > 0 && (kill(message->pid, 0) == 0 || errno != ESRCH))
		return false;
	return message->uid == uid;
}

static bool
is_value(const struct notify_message *message, const char *key, const char *value)
{
	size_t len;
	const char *found = notify_value(message, key, &len);

	return found != NULL && len == strlen(value) && memcmp(found, value, len) == 0;
}

static void
take_status(struct shell *shell, struct actor *actor,
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
	ledger_set_status(shell->ledger, actor->ref.slot,
	                  actor->status != NULL ? actor->status : "");
}

/* ---- what has to reach the core, exactly once ---------------------------------------
 */

/* The events of one message. */
struct said {
	const struct actor *actor;
	const struct notify_message *message;
	uint32_t life;
	struct event at[SAID_MAX];
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
		log_line(LOG_LEVEL_WARNING,
		         "%s: %s= in a notification is no number up to %llu, and is "
		         "ignored",
		         said->actor->path, name, (unsigned long long)max);
		return false;
	}
	*ret = n;
	return true;
}

/* MAINPID=: of one of its own, which is looked at. */
static void
take_main_pid(struct notify *notify, const struct said *said)
{
	struct procs *procs = notify->shell->procs;
	const struct ref ref = said->actor->ref;
	uint64_t pid;

	if (!number_of(said, "MAINPID", PID_MAX, &pid))
		return;
	if (pid > 1 && procs_contains(procs, ref, (pid_t)pid, uid_of(said->actor)))
		procs_take_main(procs, ref, (pid_t)pid);
	else
		log_line(LOG_LEVEL_WARNING,
		         "%s: MAINPID=%llu is no process of its own, and is ignored",
		         said->actor->path, (unsigned long long)pid);
}

/*
 * RELOADING=1 … READY=1: it reads its configuration again, and has.  It stays as ready as
 * it was; STOPPING=1: it ends by itself, and need not say that it lives any more.
 */
static void
take_phases(struct said *said, struct actor *actor)
{
	uint64_t since_us;

	if (is_value(said->message, "RELOADING", "1")) {
		actor->reloading_us = clock_mono_ns() / 1000;
		if (number_of(said, "MONOTONIC_USEC", UINT64_MAX / 16, &since_us) &&
		    since_us < actor->reloading_us)
			actor->reloading_us = since_us;
		log_line(LOG_LEVEL_INFO, "%s: reads its configuration again",
		         actor->path);
	} else if (is_value(said->message, "READY", "1") && actor->reloading_us > 0) {
		log_line(
		    LOG_LEVEL_INFO,
		    "%s: has read its configuration again, within %llu ms", actor->path,
		    (unsigned long long)(clock_mono_ns() / 1000 - actor->reloading_us) /
		        1000);
		actor->reloading_us = 0;
	}
	if (is_value(said->message, "STOPPING", "1"))
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
	struct event *event;

	if (!number_of(said, "ERRNO", ERRNO_MAX, &error) || error > ERRNO_MAX)
		error = 0;
	if (len == 0 && error == 0)
		return;
	event = add(said, EVENT_SELF_REPORT);
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
	if (is_value(said->message, "BACKOFF_RESET", "1"))
		(void)add(said, EVENT_BACKOFF_RESET);
	if (is_value(said->message, "WATCHDOG", "trigger"))
		(void)add(said, EVENT_WATCHDOG_TRIGGER);
	add_failure(said);
}

/* ---- what may be told again -----------------------------------------------------------
 */

static void
post(struct notify *notify, const struct actor *actor, enum event_kind kind)
{
	const struct event event = {
	    .kind = kind,
	    .ref = actor->ref,
	    .life = procs_life(notify->shell->procs, actor->ref),
	    .code = -1,
	};

	shell_post(notify->shell, &event);
}

/* That it lives need be told once a turn. */
static void
post_ping(struct notify *notify, const struct actor *actor)
{
	uint64_t *ping = &notify->pings[actor->ref.slot];

	if (*ping == notify->shell->n_turns + 1)
		return;
	*ping = notify->shell->n_turns + 1;
	post(notify, actor, EVENT_WATCHDOG);
}

/* false: it cannot be taken now, and stays where it is. */
static bool
take_message(struct notify *notify, struct actor *actor)
{
	const struct notify_message *message = &notify->message;
	struct said said = {.actor = actor, .message = message};

	if (!may_speak(notify, actor, message)) {
		log_line(LOG_LEVEL_WARNING,
		         "%s: a notification of pid %d, which is not its own, is ignored",
		         actor->path, (int)message->pid);
		return true;
	}
	take_status(notify->shell, actor, message);
	take_main_pid(notify, &said);
	if (is_value(message, "READY", "1") &&
	    actor->conf->process.ready_sign == READY_BY_NOTIFY) {
		procs_told(notify->shell->procs, actor->ref);
		post(notify, actor, EVENT_READY);
	}
	if (is_value(message, "WATCHDOG", "1"))
		post_ping(notify, actor);
	said.life = procs_life(notify->shell->procs, actor->ref);
	take_down(&said);
	take_phases(&said, actor);
	if (said.n > 0 && !shell_post_surely(notify->shell, said.at, said.n))
		return false;
	stores_take(notify->shell->stores, actor, message);
	return true;
}

static void
drain_one(struct notify *notify, uint32_t slot)
{
	struct shell *shell = notify->shell;

	for (int n = 0; n < DRAIN_MESSAGES; n++) {
		struct actor *actor;
		bool is_taken;
		int r = notify_peek(notify->fds[slot], &notify->message);

		if (r == 0 || notify->fds[slot] < 0)
			return;
		actor = slot < shell->actors.cap ? &shell->actors.at[slot] : NULL;
		is_taken = true;
		if (r > 0 && actor != NULL && actor->path != NULL)
			is_taken = take_message(notify, actor);
		/* What it says is put down: now it may go. */
		if (is_taken)
			notify_skip(notify->fds[slot]);
		/* The store has copies. */
		for (size_t i = 0; r > 0 && i < notify->message.n_fds; i++)
			(void)close(notify->message.fds[i]);
		if (!is_taken)
			return;
	}
}

void
notify_drain(struct notify *notify)
{
	struct epoll_event events[DRAIN_BATCH];
	int n;

	if (notify == NULL)
		return;
	/* The other way to say it. */
	readiness_drain(notify->shell->readiness);
	if (notify->n_open == 0)
		return;
	/* Everybody once: the kernel puts those that were looked at last. */
	for (uint32_t seen = 0; seen < notify->n_open; seen += DRAIN_BATCH) {
		n = epoll_wait(notify->epoll_fd, events, DRAIN_BATCH, 0);
		for (int i = 0; i < n; i++)
			drain_one(notify, events[i].data.u32);
		if (n < DRAIN_BATCH)
			return;
	}
}

static void
on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)loop;
	(void)revents;
	notify_drain(io->data);
}

static uint64_t
key_of(struct ref ref)
{
	return VAULT_KEY(VAULT_NOTIFY, (uint64_t)ref.slot << 32 | ref.tenant);
}

static int
watch(struct notify *notify, struct ref ref, int take_fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = ref.slot};

	if (epoll_ctl(notify->epoll_fd, EPOLL_CTL_ADD, take_fd, &event) < 0) {
		int r = -errno;

		(void)close(take_fd);
		return r;
	}
	notify->fds[ref.slot] = take_fd;
	notify->n_open++;
	return 0;
}

/* Go on with the socket that this actor had under a guardian before us, if it had. */
void
notify_adopt(struct notify *notify, struct ref ref)
{
	int fd = shell_take(notify->shell, key_of(ref));

	if (fd >= 0)
		(void)watch(notify, ref, fd);
}

int
notify_open(struct notify *notify, struct ref ref, char ret_address[NOTIFY_NAME_MAX])
{
	struct err err;
	int fd, r;

	ASSERT(ref.slot < notify->cap);
	if (notify->fds[ref.slot] >= 0)
		return notify_address(notify->fds[ref.slot], ret_address);
	fd = notify_listen("supd", &err);
	if (fd < 0)
		return fd;
	r = notify_address(fd, ret_address);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	r = watch(notify, ref, fd);
	/* Not before: a copy that nobody drops would keep the address. */
	if (r == 0)
		shell_keep(notify->shell, key_of(ref), fd);
	return r;
}

/* The slot is given back. */
void
notify_close(struct notify *notify, struct ref ref)
{
	if (ref.slot >= notify->cap || notify->fds[ref.slot] < 0)
		return;
	(void)epoll_ctl(notify->epoll_fd, EPOLL_CTL_DEL, notify->fds[ref.slot], NULL);
	fd_close(&notify->fds[ref.slot]);
	shell_release(notify->shell, key_of(ref));
	notify->n_open--;
}

/* Room for so many slots; -ENOMEM. */
int
notify_reserve(struct notify *notify, uint32_t slots)
{
	uint64_t *pings;
	int *grown;

	if (slots <= notify->cap)
		return 0;
	grown = realloc(notify->fds, sizeof(*grown) * slots);
	if (grown == NULL)
		return -ENOMEM;
	notify->fds = grown;
	pings = realloc(notify->pings, sizeof(*pings) * slots);
	if (pings == NULL)
		return -ENOMEM;
	notify->pings = pings;
	for (uint32_t slot = notify->cap; slot < slots; slot++) {
		grown[slot] = -1;
		pings[slot] = 0;
	}
	notify->cap = slots;
	return 0;
}

struct notify *
notify_new(struct shell *shell, struct err *err)
{
	struct notify *notify = calloc(1, sizeof(*notify));

	if (notify == NULL) {
		err_set(err, ENOMEM, "notify sockets");
		return NULL;
	}
	notify->shell = shell;
	notify->epoll_fd = fd_raise(epoll_create1(EPOLL_CLOEXEC));
	if (notify->epoll_fd < 0) {
		err_set(err, errno, "notify sockets");
		free(notify);
		return NULL;
	}
	ev_io_init(&notify->io, on_readable, notify->epoll_fd, EV_READ);
	notify->io.data = notify;
	ev_io_start(shell->loop, &notify->io);
	return notify;
}

void
notify_free(struct notify *notify)
{
	if (notify == NULL)
		return;
	ev_io_stop(notify->shell->loop, &notify->io);
	for (uint32_t slot = 0; slot < notify->cap; slot++)
		fd_close(&notify->fds[slot]);
	fd_close(&notify->epoll_fd);
	free(notify->fds);
	free(notify->pings);
	free(notify);
}
