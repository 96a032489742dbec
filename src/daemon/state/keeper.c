/* SPDX-License-Identifier: ISC */
/* keeper.c - the guardian's end of the link: what the walker keeps, what it tells. */
#include "config.h"

#include "daemon/state/keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/state/log.h"
#include "daemon/state/shell.h"
#include "daemon/state/unsent.h"
#include "ledger/exits.h"
#include "ledger/handover.h"
#include "ledger/ledger.h"
#include "ledger/link.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

struct keeper {
	struct shell *shell;
	const struct keeper_news *news;
	struct unsent *unsent; /* what the walker could not be told yet */
	int link_fd;           /* to the walker */
	/* of lines about messages that do not reach the walker */
	struct log_pace pace;
	ev_io io;
	/* What came while something else was waited for. */
	bool is_poked;
	uint64_t signals; /* bit n-1 */
	bool is_asked;
	uint64_t beat_ms; /* the last sign of life */
	bool is_gone;
};

/* A sign of life in the midst of long work is sent so often. */
#define BEAT_MS 1000
/* How long the ledger, which is indispensable, may wait for the link, in milliseconds. */
#define PATIENCE_MS 5000

/* A message without a descriptor: 0, also to a walker that is gone, or -errno. */
static int
tell(struct shell *shell, const struct link_message *message)
{
	int r = link_send(shell->keeper->link_fd, message, NULL, 0);

	/* That the walker is gone is seen, and told, elsewhere. */
	if (r == 0 || r == -EPIPE)
		return 0;
	log_paced(&shell->keeper->pace, LOG_LEVEL_ERROR, "tell the walker (%s): %s",
	          link_names[message->kind], strerror(-r));
	return r;
}

/* ---- what it tells ----------------------------------------------------------------- */

static void
on_gone(struct keeper *keeper)
{
	if (keeper->is_gone)
		return;
	keeper->is_gone = true;
	ev_io_stop(keeper->shell->loop, &keeper->io);
	keeper->news->on_death(keeper->shell);
}

static void
note(struct keeper *keeper, const struct link_message *message)
{
	if (message->kind == LINK_POKE)
		keeper->is_poked = true;
	else if (message->kind == LINK_ASK)
		keeper->is_asked = true;
	else if (message->kind == LINK_SIGNAL && message->n > 0 && message->n <= 64)
		keeper->signals |= UINT64_C(1) << (message->n - 1);
}

static void
act(struct keeper *keeper)
{
	uint64_t signals = keeper->signals;

	if (keeper->is_poked) {
		keeper->is_poked = false;
		keeper->news->on_exits(keeper->shell);
	}
	keeper->signals = 0;
	for (int signo = 1; signals != 0; signo++, signals >>= 1)
		if ((signals & 1) != 0)
			keeper->news->on_signal(keeper->shell, signo);
}

static void
close_fds(int fds[LINK_FDS_MAX], size_t n)
{
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
}

static void
on_link(struct ev_loop *loop, ev_io *io, int revents)
{
	struct keeper *keeper = io->data;
	struct link_message message;
	int fds[LINK_FDS_MAX];
	size_t n_fds;
	int r;

	(void)loop;
	(void)revents;
	while ((r = link_receive(keeper->link_fd, MSG_DONTWAIT, &message, fds, &n_fds)) >
	       0) {
		close_fds(fds, n_fds);
		note(keeper, &message);
	}
	act(keeper);
	if (r == 0 || (r < 0 && r != -EAGAIN && r != -EINTR))
		on_gone(keeper);
}

/* Listen to the walker; NULL without memory. */
struct keeper *
keeper_new(struct shell *shell, int link_fd, const struct keeper_news *news,
           struct err *err)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));

	if (keeper == NULL ||
	    (keeper->unsent = unsent_new(shell->loop, &shell->closers, link_fd,
	                                 &keeper->pace)) == NULL) {
		free(keeper);
		err_set(err, ENOMEM, "link to the walker");
		return NULL;
	}
	keeper->shell = shell;
	keeper->link_fd = link_fd;
	keeper->news = news;
	ev_io_init(&keeper->io, on_link, link_fd, EV_READ);
	keeper->io.data = keeper;
	ev_io_start(shell->loop, &keeper->io);
	return keeper;
}

/* Listen no longer; NULL is fine. */
void
keeper_free(struct keeper *keeper)
{
	if (keeper == NULL)
		return;
	ev_io_stop(keeper->shell->loop, &keeper->io);
	unsent_free(keeper->unsent);
	free(keeper);
}

bool
keeper_walker_died(const struct shell *shell)
{
	return shell->keeper->is_gone;
}

/* ---- what it keeps ----------------------------------------------------------------- */

void
shell_keep(struct shell *shell, uint64_t key, int fd)
{
	/* What was handed over under this key is replaced: not to be dropped any more. */
	int replaced = shell_take(shell, key);

	fd_close(&replaced);
	if (shell->keeper != NULL)
		unsent_send(shell->keeper->unsent, LINK_STORE, key, fd);
}

void
shell_release(struct shell *shell, uint64_t key)
{
	if (shell->keeper != NULL)
		unsent_send(shell->keeper->unsent, LINK_DROP, key, -1);
}

int
shell_take(struct shell *shell, uint64_t key)
{
	return shell->handover == NULL ? -1 : handover_take(shell->handover, key);
}

struct conf *
keeper_take_conf(struct shell *shell, uint64_t id, struct err *err)
{
	int fd = shell_take(shell, VAULT_KEY(VAULT_CONF, id));
	struct conf *conf;

	if (fd < 0) {
		err_set(err, 0, "the configuration was not kept");
		return NULL;
	}
	conf = conf_unpack(fd, err);
	(void)close(fd);
	return conf;
}

struct conf *
keeper_take_newest_conf(struct shell *shell, struct err *err)
{
	const struct handover *handover = shell->handover;
	uint64_t newest = 0;

	for (size_t i = 0; i < handover->n; i++)
		if (VAULT_KIND_OF(handover->vault[i].key) == VAULT_CONF &&
		    handover->vault[i].fd >= 0 && handover->vault[i].key > newest)
			newest = handover->vault[i].key;
	shell->facts.conf_id = newest & ~VAULT_KEY(0xff, 0);
	return keeper_take_conf(shell, shell->facts.conf_id, err);
}

/*
 * Wait for the walker's answer, which is always prompt; what else it says meanwhile is
 * for the next turn.  Returns 0, also when it is gone, or an errno.
 */
static int
wait_for_ack(struct shell *shell)
{
	struct keeper *keeper = shell->keeper;
	struct link_message message;
	int fds[LINK_FDS_MAX];
	size_t n_fds;
	int r, code = 0;

	while ((r = link_receive(shell->keeper->link_fd, 0, &message, fds, &n_fds)) > 0 ||
	       r == -EINTR) {
		if (r < 0)
			continue;
		close_fds(fds, n_fds);
		if (message.kind == LINK_ACK) {
			code = (int)message.n;
			break;
		}
		note(keeper, &message);
	}
	if (keeper->is_poked || keeper->is_asked || keeper->signals != 0 || r <= 0)
		ev_feed_event(shell->loop, &keeper->io, EV_READ);
	return code;
}

/* Too many descriptors of this user are in flight: try again for that long. 0, also where
 * the walker is gone, or -errno. */
static int
send_patiently(struct shell *shell, const struct link_message *message, int fd)
{
	const uint64_t end_ms = clock_mono_ms() + PATIENCE_MS;
	int r;

	while ((r = link_send(shell->keeper->link_fd, message, &fd, 1)) < 0 &&
	       r != -EPIPE && clock_mono_ms() < end_ms) {
		keeper_beat(shell);
		(void)poll(NULL, 0, 1);
	}
	return r == -EPIPE ? 0 : r;
}

/*
 * The walker acknowledges the ledger: until then a successor would get the ledger before.
 * If the walker cannot take it, everything from now on would be unknown to a successor,
 * so this guardian ends at once and the successor goes on with the ledger before.
 */
void
keeper_keep_ledger(struct shell *shell)
{
	struct link_message ledger = {.kind = LINK_LEDGER};
	int fd = ledger_fd(shell->ledger);
	struct ledger_size size;
	int code;

	ledger_size(shell->ledger, &size);
	ledger.n = size.slots;
	code = -send_patiently(shell, &ledger, fd);
	if (code == 0)
		code = wait_for_ack(shell);
	if (code == 0)
		return;
	(void)log_errno(-code, "hand the ledger to the walker");
	abort();
}

int
keeper_keep_conf(struct shell *shell, const struct conf *conf, uint64_t id,
                 struct err *err)
{
	int fd = conf_pack(conf, err);

	if (fd < 0)
		return fd;
	shell_keep(shell, VAULT_KEY(VAULT_CONF, id), fd);
	(void)close(fd);
	return 0;
}

uint32_t
keeper_count(const struct conf *conf)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_process *process = &conf->actors[i].process;

		/* One pipe where output and errors go the same way. */
		if (process->argv != NULL)
			n += 1 + process->readiness.notify + (uint32_t)process->n_sockets;
	}
	return n;
}

bool
keeper_has_room(struct shell *shell, uint32_t n)
{
	const struct link_message room = {.kind = LINK_ROOM, .n = n};

	if (shell->keeper == NULL || shell->keeper->is_gone)
		return true;
	/* Descriptors that wait to be sent count, too. */
	if (unsent_flush(shell->keeper->unsent) < 0 || tell(shell, &room) < 0)
		return false;
	return wait_for_ack(shell) == 0;
}

void
keeper_beat(struct shell *shell)
{
	const struct link_message alive = {.kind = LINK_ALIVE};
	struct keeper *keeper = shell->keeper;
	const uint64_t now_ms = clock_mono_ms();

	if (keeper == NULL || keeper->is_gone || now_ms - keeper->beat_ms < BEAT_MS)
		return;
	keeper->beat_ms = now_ms;
	(void)tell(shell, &alive);
}

void
keeper_turn(struct shell *shell, bool begins)
{
	struct keeper *keeper = shell->keeper;
	const struct link_message alive = {.kind = LINK_ALIVE, .n = !begins};

	if (!begins)
		exits_sleep(shell->exits);
	if (begins ? exits_wake(shell->exits) : keeper->is_asked)
		(void)tell(shell, &alive);
	if (!begins)
		keeper->is_asked = false;
}

void
keeper_beat_of(void *shell)
{
	keeper_beat(shell);
}

void
keeper_lock(struct shell *shell, int fd)
{
	unsent_send(shell->keeper->unsent, LINK_LOCK, 0, fd);
}

void
keeper_settled(struct shell *shell)
{
	const struct link_message adopted = {.kind = LINK_ADOPTED};

	(void)tell(shell, &adopted);
	(void)handover_drop_rest(shell->handover);
	shell->handover = NULL;
}

int
keeper_status(struct shell *shell, int status)
{
	const struct link_message message = {.kind = LINK_STATUS, .n = (uint32_t)status};

	return tell(shell, &message);
}

int
keeper_upgrade(struct shell *shell, int binary_fd)
{
	const struct link_message upgrade = {.kind = LINK_UPGRADE};
	/* What it does not keep by now would be lost with us. */
	int r = unsent_flush(shell->keeper->unsent);

	return r < 0 ? r : link_send(shell->keeper->link_fd, &upgrade, &binary_fd, 1);
}

void
keeper_notify(struct shell *shell, const char *text)
{
	struct link_message message = {.kind = LINK_NOTIFY};
	int n;

	n = snprintf(message.text, sizeof(message.text), "%s", text);

	ASSERT(n >= 0);
	message.n = (uint32_t)n;
	if (message.n >= sizeof(message.text))
		message.n = sizeof(message.text) - 1;
	(void)tell(shell, &message);
}
