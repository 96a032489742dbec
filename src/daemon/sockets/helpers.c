/* SPDX-License-Identifier: ISC */
/* helpers.c - the guardian's side of supd's helper processes. */
#include "config.h"

#include "daemon/sockets/helpers.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/sockets/sockets.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "daemon/state/system.h"
#include "helper/watchers.h"
#include "os/self/fd.h"
#include "os/self/pass.h"

/* How many messages are taken at a time; then other work has its turn. */
#define MESSAGES_MAX 256

struct channel {
	struct helpers *helpers;
	enum helper_name name;
	const struct helper_user *functions; /* of its user, … */
	void *user;                          /* … which they get */
	int fd;                              /* -1: no process */
	bool is_wanted;                      /* a process of this helper is wanted */
	bool is_new;                         /* the user was not told of the room yet */
	bool is_full;                        /* a message did not fit */
	uint64_t sent;                       /* messages, to its process */
	uint64_t done; /* messages that the process has acted upon */
	ev_io io;
	ev_timer hang; /* active while some are not done */
};

struct helpers {
	struct sockets *sockets;
	helpers_kill_process *kill_process;
	void *data; /* of kill_process() */
	struct channel at[HELPER_MAX];
};

static struct ref
ref_of(const struct channel *channel)
{
	return actors_find(channel->helpers->sockets->actors,
	                   system_helper_path(channel->name));
}

/* The process has ended, or will: nothing of it counts any more. */
static void
lose(struct channel *channel)
{
	struct ev_loop *loop = channel->helpers->sockets->loop;

	if (channel->fd < 0)
		return;
	ev_io_stop(loop, &channel->io);
	ev_timer_stop(loop, &channel->hang);
	fd_close(&channel->fd);
	channel->functions->on_lost(channel->user);
}

static void
watch_channel(struct channel *channel)
{
	io_begin(channel->helpers->sockets->loop, &channel->io, channel->fd,
	         channel->is_full ? EV_READ | EV_WRITE : EV_READ);
}

/* The time begins anew with each message that the helper has acted upon. */
static void
wait_for_done(struct channel *channel)
{
	struct ev_loop *loop = channel->helpers->sockets->loop;

	ev_timer_stop(loop, &channel->hang);
	if (channel->done == channel->sent)
		return;
	/* What the loop takes for now may be from before a long turn. */
	ev_now_update(loop);
	timer_begin(loop, &channel->hang, HELPERS_HANG_S);
}

static void
take_message(struct channel *channel, const struct helper_message *message)
{
	/* It cannot have done more than it was told to. */
	if (message->kind == HELPER_DONE && message->n > channel->sent - channel->done) {
		helpers_kill(channel->helpers, channel->name, "it counts wrongly");
		return;
	}
	if (message->kind == HELPER_DONE) {
		channel->done += message->n;
		wait_for_done(channel);
	}
	channel->functions->on_message(channel->user, message);
}

/* Take in the helper's messages. */
static void
hear(struct channel *channel)
{
	int r = 1;

	for (int i = 0; i < MESSAGES_MAX && r > 0 && channel->fd >= 0; i++) {
		struct helper_message message;

		r = helper_receive(channel->fd, &message);
		if (r > 0)
			take_message(channel, &message);
	}
	if (r == -EBADMSG)
		helpers_kill(channel->helpers, channel->name,
		             "it sent a malformed message");
	else if (r != 1 && r != -EAGAIN)
		lose(channel);
}

static void
on_channel(struct ev_loop *loop UNUSED, ev_io *io, int revents)
{
	struct channel *channel = io->data;

	hear(channel);
	if (channel->fd < 0 || (revents & EV_WRITE) == 0 || !channel->is_full)
		return;
	channel->is_full = false;
	watch_channel(channel);
	channel->functions->on_room(channel->user, false);
}

static void
on_hang(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct channel *channel = timer->data;
	const uint64_t done = channel->done;

	/* Perhaps the guardian itself stood still: read before judging. */
	hear(channel);
	if (channel->fd >= 0 && channel->done == done)
		helpers_kill(channel->helpers, channel->name, "it does not answer");
}

/* ---- for those who use them -------------------------------------------------------- */

/* Name the user of a helper, once. */
void
helpers_use(struct helpers *helpers, enum helper_name name,
            const struct helper_user *functions, void *user)
{
	helpers->at[name].functions = functions;
	helpers->at[name].user = user;
}

/* It is to run, and waits for that to be said. */
static void
wake(struct channel *channel)
{
	struct sockets *sockets = channel->helpers->sockets;
	const struct event demand = {.kind = EVENT_DEMAND, .ref = ref_of(channel)};

	if (channel->fd >= 0 || !core_valid(sockets->engine->core, demand.ref))
		return;
	const struct node_view view = engine_view(sockets->engine, demand.ref);
	if (view.on_standby && !view.demanded)
		post_event(sockets->post, &demand);
}

/* A process of it is to be there from now on. */
void
helpers_want(struct helpers *helpers, enum helper_name name)
{
	struct channel *channel = &helpers->at[name];

	if (!channel->is_wanted)
		wake(channel);
	channel->is_wanted = true;
}

/*
 * Tell its process something; the descriptors stay the caller's.  0; -ENOTCONN: there is
 * none, on_room will tell of the next; -EAGAIN: not now, on_room will tell.
 */
int
helpers_send(struct helpers *helpers, enum helper_name name,
             const struct helper_message *message, const struct pass_fds *fds)
{
	struct channel *channel = &helpers->at[name];

	if (channel->fd < 0 || channel->is_new)
		return -ENOTCONN;
	int r = channel->is_full ? -EAGAIN : helper_send(channel->fd, message, fds);
	if (r == 0) {
		if (channel->sent++ == channel->done)
			wait_for_done(channel);
		return 0;
	}
	/* What is wrong with the channel is seen when it is read. */
	if (r == -EAGAIN && !channel->is_full) {
		channel->is_full = true;
		watch_channel(channel);
	}
	return r == -EAGAIN ? r : -ENOTCONN;
}

/* The number of the message that was sent last to the process of now. */
uint64_t
helpers_sent(const struct helpers *helpers, enum helper_name name)
{
	return helpers->at[name].sent;
}

/* True if the process of now has acted upon that message. */
bool
helpers_has_done(const struct helpers *helpers, enum helper_name name, uint64_t number)
{
	return helpers->at[name].done >= number;
}

/* End its process: it is of no use.  The next one is started as after any failure. */
void
helpers_kill(struct helpers *helpers, enum helper_name name, const char *why)
{
	struct channel *channel = &helpers->at[name];

	log_line(LOG_LEVEL_WARNING, "%s is killed: %s", system_helper_path(name), why);
	helpers->kill_process(helpers->data, ref_of(channel));
	lose(channel);
}

/* ---- processes --------------------------------------------------------------------- */

/*
 * A process of this helper is about to be started: its end of a new channel, which the
 * caller closes when the process has it.  -errno.
 */
int
helpers_launch(struct helpers *helpers, enum helper_name name)
{
	struct channel *channel = &helpers->at[name];
	int fds[2];

	lose(channel);
	int r = pass_pair(fds);
	if (r < 0)
		return r;
	channel->fd = fd_raise(fds[0]);
	channel->is_new = true;
	channel->is_full = false;
	channel->sent = channel->done = 0;
	watch_channel(channel);
	return fd_raise(fds[1]);
}

/* Kill what a guardian before us had started: it was told things that we do not know. */
void
helpers_adopt(struct helpers *helpers)
{
	for (int i = 0; i < HELPER_MAX; i++)
		helpers->kill_process(helpers->data, ref_of(&helpers->at[i]));
}

/* After the core's turn: what is wanted is started, and users are told of new ones. */
void
helpers_on_turn(struct helpers *helpers)
{
	for (int i = 0; i < HELPER_MAX && !helpers->sockets->engine->exiting; i++) {
		struct channel *channel = &helpers->at[i];

		if (channel->is_wanted)
			wake(channel);
		if (channel->fd < 0 || !channel->is_new)
			continue;
		channel->is_new = false;
		channel->functions->on_room(channel->user, true);
	}
}

struct helpers *
helpers_new(struct sockets *sockets, helpers_kill_process *kill_process, void *data,
            struct err *err)
{
	struct helpers *helpers = err_calloc(sizeof(*helpers), err, "helper processes");

	if (helpers == NULL)
		return NULL;
	helpers->sockets = sockets;
	helpers->kill_process = kill_process;
	helpers->data = data;
	for (int i = 0; i < HELPER_MAX; i++) {
		struct channel *channel = &helpers->at[i];

		channel->helpers = helpers;
		channel->name = (enum helper_name)i;
		channel->fd = -1;
		io_prepare(&channel->io, on_channel, channel);
		/* What is counted is counted before those concerned can ask. */
		ev_set_priority(&channel->io, EV_MAXPRI);
		timer_prepare(&channel->hang, on_hang, channel);
	}
	return helpers;
}

void
helpers_free(struct helpers *helpers)
{
	if (helpers == NULL)
		return;
	for (int i = 0; i < HELPER_MAX; i++)
		lose(&helpers->at[i]);
	free(helpers);
}
