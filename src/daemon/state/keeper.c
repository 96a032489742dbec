/* SPDX-License-Identifier: ISC */
/* keeper.c - the guardian's end of the link: what the walker keeps, what it tells. */
#include "config.h"

#include "daemon/state/keeper.h"

#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/log_pace.h"
#include "conf/text/conf.h"
#include "daemon/state/log.h"
#include "daemon/state/unsent.h"
#include "helper/watchers.h"
#include "ledger/exits.h"
#include "ledger/handover.h"
#include "ledger/ledger.h"
#include "ledger/link.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

struct keeper {
	struct handover *handover; /* NULL once we are settled */
	struct ev_loop *loop;      /* NULL: it does not listen yet */
	struct keeper_news news;
	struct unsent *unsent; /* what the walker could not be told yet */
	int link_fd;           /* to the walker */
	/* of lines about messages that do not reach the walker */
	struct log_pace pace;
	ev_io io;
	/* What came while something else was waited for. */
	bool is_poked;
	uint64_t signals; /* bit n-1 */
	bool is_asked;
	bool is_owed;      /* it has not answered LINK_FETCH yet */
	uint64_t foreseen; /* what keeper_ask() asked for; 0: keeper_fetch() asked */
	uint64_t beat_ms;  /* the last sign of life */
	bool is_gone;
};

/* A sign of life in the midst of long work is sent so often. */
#define BEAT_MS 1000
/* How long the walker may take to answer LINK_FETCH. */
#define FETCH_MS 1000
/* How long the ledger, which is indispensable, may wait for the link, in milliseconds. */
#define PATIENCE_MS 5000

/* A message without a descriptor: 0, also to a walker that is gone, or -errno. */
static int
tell_walker(struct keeper *keeper, const struct link_message *message)
{
	int r = link_send(keeper->link_fd, message, NULL, 0);

	/* That the walker is gone is seen, and told, elsewhere. */
	if (r == 0 || r == -EPIPE)
		return 0;
	log_paced(&keeper->pace, LOG_LEVEL_ERROR, "tell the walker (%s): %s",
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
	ev_io_stop(keeper->loop, &keeper->io);
	keeper->news.on_death(keeper->news.user);
}

static void
note(struct keeper *keeper, const struct link_message *message)
{
	if (message->kind == LINK_POKE)
		keeper->is_poked = true;
	else if (message->kind == LINK_ASK)
		keeper->is_asked = true;
	else if (message->kind == LINK_VAULT)
		keeper->is_owed = false;
	else if (message->kind == LINK_SIGNAL && message->n > 0 && message->n <= 64)
		keeper->signals |= UINT64_C(1) << (message->n - 1);
}

static void
act(struct keeper *keeper)
{
	uint64_t signals = keeper->signals;

	if (keeper->is_poked) {
		keeper->is_poked = false;
		keeper->news.on_exits(keeper->news.user);
	}
	keeper->signals = 0;
	for (int signo = 1; signals != 0; signo++, signals >>= 1)
		if ((signals & 1) != 0)
			keeper->news.on_signal(keeper->news.user, signo);
}

static void
close_fds(int fds[LINK_FDS_MAX], size_t n)
{
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
}

static void
on_link(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct keeper *keeper = io->data;
	struct link_message message;
	int fds[LINK_FDS_MAX];
	size_t n_fds;
	int r;

	/* EMFILE: an answer that comes late counts as one even if its descriptors are
	 * lost. */
	while ((r = link_receive(keeper->link_fd, MSG_DONTWAIT, &message, fds, &n_fds)) >
	           0 ||
	       r == -EMFILE) {
		close_fds(fds, n_fds);
		note(keeper, &message);
	}
	act(keeper);
	if (r == 0 || (r < 0 && r != -EAGAIN && r != -EINTR))
		on_gone(keeper);
}

struct keeper *
keeper_new(struct handover *handover)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));

	if (keeper == NULL)
		return NULL;
	*keeper = (struct keeper){.handover = handover, .link_fd = handover->link_fd};
	return keeper;
}

int
keeper_listen(struct keeper *keeper, struct ev_loop *loop, struct bounded *closers,
              const struct keeper_news *news)
{
	keeper->unsent = unsent_new(loop, closers, keeper->link_fd, &keeper->pace);
	if (keeper->unsent == NULL)
		return -ENOMEM;
	keeper->loop = loop;
	keeper->news = *news;
	io_prepare(&keeper->io, on_link, keeper);
	io_begin(loop, &keeper->io, keeper->link_fd, EV_READ);
	return 0;
}

/* Listen no longer; NULL is fine. */
void
keeper_free(struct keeper *keeper)
{
	if (keeper == NULL)
		return;
	if (keeper->loop != NULL)
		ev_io_stop(keeper->loop, &keeper->io);
	unsent_free(keeper->unsent);
	free(keeper);
}

struct handover *
keeper_handover(const struct keeper *keeper)
{
	return keeper->handover;
}

bool
keeper_walker_died(const struct keeper *keeper)
{
	return keeper->is_gone;
}

/* ---- what it keeps ----------------------------------------------------------------- */

void
keeper_keep(struct keeper *keeper, uint64_t key, int fd)
{
	/* What was handed over under this key is replaced: not to be dropped any more. */
	int replaced = keeper_take(keeper, key);

	fd_close(&replaced);
	if (keeper->unsent != NULL)
		unsent_send(keeper->unsent, LINK_STORE, key, fd);
}

void
keeper_keep_all(struct keeper *keeper, const uint64_t *keys, const int *fds, size_t n)
{
	if (keeper->unsent != NULL)
		unsent_store_all(keeper->unsent, keys, fds, n);
}

void
keeper_release(struct keeper *keeper, uint64_t key)
{
	if (keeper->unsent != NULL)
		unsent_send(keeper->unsent, LINK_DROP, key, -1);
}

int
keeper_take(struct keeper *keeper, uint64_t key)
{
	return keeper->handover == NULL ? -1 : handover_take(keeper->handover, key);
}

struct conf *
keeper_take_conf(struct keeper *keeper, uint64_t id, struct err *err)
{
	CLEANUP(fd_close) int fd = keeper_take(keeper, VAULT_KEY(VAULT_CONF, id));

	if (fd < 0) {
		err_set(err, 0, "the walker has not kept the configuration");
		return NULL;
	}
	return conf_unpack(fd, err);
}

struct conf *
keeper_take_newest_conf(struct keeper *keeper, uint64_t *ret_id, struct err *err)
{
	const struct handover *handover = keeper->handover;
	uint64_t newest = 0;

	for (size_t i = 0; i < handover->n; i++)
		if (VAULT_KIND_OF(handover->vault[i].key) == VAULT_CONF &&
		    handover->vault[i].fd >= 0 && handover->vault[i].key > newest)
			newest = handover->vault[i].key;
	*ret_id = newest & ~VAULT_KEY(0xff, 0);
	return keeper_take_conf(keeper, *ret_id, err);
}

/*
 * Wait for the walker's answer, which is always prompt; what else it says meanwhile is
 * for the next turn.  As link_receive(): -EAGAIN: it was not prompt; 0: it is gone.
 */
static int
wait_for(struct keeper *keeper, enum link_kind kind, uint64_t until_ms,
         struct link_message *ret, int ret_fds[LINK_FDS_MAX])
{
	bool is_message;
	uint64_t now_ms;
	size_t n_fds;
	int r;

	do {
		now_ms = clock_mono_ms();
		(void)poll(&(struct pollfd){.fd = keeper->link_fd, .events = POLLIN}, 1,
		           clock_wait_ms(now_ms, until_ms));
		r = link_receive(keeper->link_fd, MSG_DONTWAIT, ret, ret_fds, &n_fds);
		is_message = r > 0 || r == -EMFILE;
		if (is_message)
			note(keeper, ret);
		if (is_message && ret->kind == kind)
			break;
		if (is_message)
			close_fds(ret_fds, n_fds);
	} while (is_message || ((r == -EAGAIN || r == -EINTR) && now_ms < until_ms));
	if (keeper->is_poked || keeper->is_asked || keeper->signals != 0 || r <= 0)
		ev_feed_event(keeper->loop, &keeper->io, EV_READ);
	return r;
}

/* Wait for the walker's answer, however long that takes.  Returns its errno; 0, also when
 * the walker is gone. */
static int
wait_for_ack(struct keeper *keeper)
{
	struct link_message message;
	int fds[LINK_FDS_MAX];

	return wait_for(keeper, LINK_ACK, UINT64_MAX, &message, fds) == 1 ? (int)message.n
	                                                                  : 0;
}

/* Ask for copies of what is kept under these keys.  0 or -errno. */
static int
ask(struct keeper *keeper, const uint64_t *keys, size_t n)
{
	struct link_message message = {.kind = LINK_FETCH, .n = (uint32_t)n};

	if (keeper->unsent == NULL || keeper->is_owed)
		return -EBUSY;
	memcpy(message.keys, keys, n * sizeof(*keys));
	int r = link_try(keeper->link_fd, &message, NULL, 0);
	keeper->is_owed = r == 0;
	return r;
}

/* Wait for what was asked for; as wait_for(). */
static int
wait_for_copies(struct keeper *keeper, struct link_message *ret,
                int ret_fds[LINK_FDS_MAX])
{
	keeper->foreseen = 0;
	return wait_for(keeper, LINK_VAULT, clock_mono_ms() + FETCH_MS, ret, ret_fds);
}

void
keeper_ask(struct keeper *keeper, uint64_t key)
{
	if (ask(keeper, &key, 1) == 0)
		keeper->foreseen = key;
}

int
keeper_fetch(struct keeper *keeper, const uint64_t *keys, size_t n, int *ret_fds)
{
	const bool is_foreseen = keeper->is_owed && n == 1 && keeper->foreseen == keys[0];
	struct link_message message;
	int fds[LINK_FDS_MAX];
	size_t at = 0;

	if (!is_foreseen && keeper->is_owed && keeper->foreseen != 0 &&
	    wait_for_copies(keeper, &message, fds) > 0)
		close_fds(fds, message.n);
	int r = is_foreseen ? 0 : ask(keeper, keys, n);
	if (r == 0)
		r = wait_for_copies(keeper, &message, fds);
	if (r <= 0)
		return r == 0 ? -EPIPE : r == -EAGAIN ? -EBUSY : r;
	for (size_t i = 0; i < n; i++)
		ret_fds[i] =
		    at < message.n && message.keys[at] == keys[i] ? fds[at++] : -1;
	return 0;
}

/* Too many descriptors of this user are in flight: try again for that long. 0, also where
 * the walker is gone, or -errno. */
static int
send_patiently(struct keeper *keeper, const struct link_message *message, int fd)
{
	const uint64_t end_ms = clock_mono_ms() + PATIENCE_MS;
	int r;

	while ((r = link_send(keeper->link_fd, message, &fd, 1)) < 0 && r != -EPIPE &&
	       clock_mono_ms() < end_ms) {
		keeper_beat(keeper);
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
keeper_keep_ledger(struct keeper *keeper, const struct ledger *ledger)
{
	struct link_message message = {.kind = LINK_LEDGER};
	int fd = ledger_fd(ledger);
	struct ledger_size size;

	ledger_size(ledger, &size);
	message.n = size.slots;
	int code = -send_patiently(keeper, &message, fd);
	if (code == 0)
		code = wait_for_ack(keeper);
	if (code == 0)
		return;
	(void)log_errno(-code, "hand the ledger to the walker");
	abort();
}

int
keeper_keep_conf(struct keeper *keeper, const struct conf *conf, uint64_t id,
                 struct err *err)
{
	CLEANUP(fd_close) int fd = conf_pack(conf, err);

	if (fd < 0)
		return fd;
	keeper_keep(keeper, VAULT_KEY(VAULT_CONF, id), fd);
	return 0;
}

bool
keeper_has_room(struct keeper *keeper, uint32_t n)
{
	if (keeper->unsent == NULL || keeper->is_gone)
		return true;
	/* Descriptors that wait to be sent count, too. */
	return unsent_flush(keeper->unsent) >= 0 &&
	       tell_walker(keeper, &(const struct link_message){.kind = LINK_ROOM,
	                                                        .n = n}) >= 0 &&
	       wait_for_ack(keeper) == 0;
}

/* A message has kilobytes, of which this one needs the first two numbers. */
static void
tell_alive(struct keeper *keeper, bool is_answer)
{
	struct link_message alive;

	alive.kind = LINK_ALIVE;
	alive.n = is_answer;
	(void)tell_walker(keeper, &alive);
}

void
keeper_beat(struct keeper *keeper)
{
	const uint64_t now_ms = clock_mono_ms();

	if (keeper->unsent == NULL || keeper->is_gone ||
	    now_ms - keeper->beat_ms < BEAT_MS)
		return;
	keeper->beat_ms = now_ms;
	tell_alive(keeper, false);
}

void
keeper_turn(struct keeper *keeper, struct exits *exits, bool begins)
{
	if (!begins)
		exits_sleep(exits);
	if (begins ? exits_wake(exits) : keeper->is_asked)
		tell_alive(keeper, !begins);
	if (!begins)
		keeper->is_asked = false;
}

void
keeper_beat_of(void *keeper)
{
	keeper_beat(keeper);
}

void
keeper_lock(struct keeper *keeper, int fd)
{
	unsent_send(keeper->unsent, LINK_LOCK, 0, fd);
}

void
keeper_settled(struct keeper *keeper)
{
	(void)tell_walker(keeper, &(const struct link_message){.kind = LINK_ADOPTED});
	(void)handover_drop_rest(keeper->handover);
	keeper->handover = NULL;
}

int
keeper_status(struct keeper *keeper, int status)
{
	return tell_walker(keeper, &(const struct link_message){.kind = LINK_STATUS,
	                                                        .n = (uint32_t)status});
}

int
keeper_upgrade(struct keeper *keeper, int binary_fd)
{
	/* Descriptors that the walker does not keep by now would be lost with this
	 * guardian. */
	int r = unsent_flush(keeper->unsent);

	return r < 0 ? r
	             : link_send(keeper->link_fd,
	                         &(const struct link_message){.kind = LINK_UPGRADE},
	                         &binary_fd, 1);
}

void
keeper_notify(struct keeper *keeper, const char *text)
{
	struct link_message message = {.kind = LINK_NOTIFY};

	int n = snprintf(message.text, sizeof(message.text), "%s", text);

	ASSERT(n >= 0);
	message.n =
	    (size_t)n < sizeof(message.text) ? (uint32_t)n : sizeof(message.text) - 1;
	(void)tell_walker(keeper, &message);
}
