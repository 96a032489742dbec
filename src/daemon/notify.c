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
#include "daemon/log.h"
#include "daemon/procs.h"
#include "daemon/shell.h"
#include "daemon/stores.h"
#include "ledger/ledger.h"
#include "ledger/link.h"
#include "os/fd.h"

#define DRAIN_BATCH 64
/* So many messages of one actor in a row; the rest waits for the next turn. */
#define DRAIN_MESSAGES 64

struct notify {
	struct shell *shell;
	int epoll_fd;
	ev_io io;
	int *fds; /* by slot, -1: none */
	uint32_t cap;
	uint32_t n_open;
	struct notify_message message;
};

/* May this process speak for the actor?  One that is gone is known by its user. */
static bool
may_speak(struct notify *notify, const struct actor *actor,
          const struct notify_message *message)
{
	const struct conf_process *process = &actor->conf->process;

	if (procs_contains(notify->shell->procs, actor->ref, message->pid))
		return true;
	if (message->pid > 0 && (kill(message->pid, 0) == 0 || errno != ESRCH))
		return false;
	return message->uid == (process->has_user ? process->uid : geteuid());
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

static void
take_message(struct notify *notify, struct actor *actor)
{
	const struct notify_message *message = &notify->message;

	if (!may_speak(notify, actor, message)) {
		log_line(LOG_LEVEL_WARNING,
		         "%s: a notification of pid %d, which is not its own, is ignored",
		         actor->path, (int)message->pid);
		return;
	}
	take_status(notify->shell, actor, message);
	if (is_value(message, "READY", "1")) {
		procs_told(notify->shell->procs, actor->ref);
		post(notify, actor, EVENT_READY);
	}
	stores_take(notify->shell->stores, actor, message);
	if (is_value(message, "BACKOFF_RESET", "1")) {
		procs_reset_said(notify->shell->procs, actor->ref);
		post(notify, actor, EVENT_BACKOFF_RESET);
	}
}

static void
drain_one(struct notify *notify, uint32_t slot)
{
	struct shell *shell = notify->shell;

	for (int n = 0; n < DRAIN_MESSAGES; n++) {
		struct actor *actor;
		int r = notify_peek(notify->fds[slot], &notify->message);

		if (r == 0 || notify->fds[slot] < 0)
			return;
		actor = slot < shell->actors.cap ? &shell->actors.at[slot] : NULL;
		if (r > 0 && actor != NULL && actor->path != NULL)
			take_message(notify, actor);
		/* What it says is put down: now it may go. */
		notify_skip(notify->fds[slot]);
		if (r < 0)
			continue;
		/* The store has copies. */
		for (size_t i = 0; i < notify->message.n_fds; i++)
			(void)close(notify->message.fds[i]);
	}
}

void
notify_drain(struct notify *notify)
{
	struct epoll_event events[DRAIN_BATCH];
	int n;

	if (notify == NULL || notify->n_open == 0)
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
	(void)snprintf(ret_address, NOTIFY_NAME_MAX, "@supd/%016llx/%u-%u",
	               (unsigned long long)notify->shell->instance, ref.slot, ref.tenant);
	if (notify->fds[ref.slot] >= 0)
		return 0;
	fd = notify_listen(ret_address + 1, &err);
	if (fd < 0)
		return fd;
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
	int *grown;

	if (slots <= notify->cap)
		return 0;
	grown = realloc(notify->fds, sizeof(*grown) * slots);
	if (grown == NULL)
		return -ENOMEM;
	for (uint32_t slot = notify->cap; slot < slots; slot++)
		grown[slot] = -1;
	notify->fds = grown;
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
	free(notify);
}
