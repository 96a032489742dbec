/* SPDX-License-Identifier: ISC */
/* notify.c - what processes say of themselves, over sd_notify(3). */
#include "config.h"

#include "daemon/messages/notify.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/log_pace.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/notification.h"
#include "daemon/messages/readables.h"
#include "daemon/messages/readiness.h"
#include "daemon/messages/stores.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "daemon/state/proctable.h"
#include "daemon/state/recording.h"
#include "helper/watchers.h"
#include "ledger/link.h"
#include "os/self/fd.h"
#include "os/socket/closer.h"

/* How many messages of one actor are taken in a row; the rest waits for the next turn. */
#define DRAIN_MESSAGES 64
/* The pause before a busy socket is read again, in seconds. */
#define PAUSE_S 0.01
#define NO_SLOT UINT32_MAX

/* The socket of one actor. */
struct notify_slot {
	int fd;           /* -1: none */
	int dropper;      /* which child throws a message away … */
	uint64_t drop_ns; /* … namely the message sent at that time; 0: none */
	uint64_t ping;    /* 1 + the turn of the last WATCHDOG=1 */
	struct log_pace
	    pace;       /* of lines about messages that are not believed or not used */
	uint32_t next;  /* that is paused */
	bool is_paused; /* not read before notify->resume */
};

struct notify {
	const struct messages *messages;
	notify_main_pid *on_main_pid;
	void *main_pid_data;
	struct readables readables;
	struct notify_slot *at; /* by slot */
	uint32_t cap;
	uint32_t paused; /* the first one, NO_SLOT: none */
	ev_timer resume;
	struct notify_message message;
	/* Descriptors that no child could be had for that closes them; while there are
	 * any no others are taken. */
	int left[NOTIFY_FDS_MAX];
	size_t n_left;
};

/*
 * True if this process may speak for the actor.  The main process may, whatever user it
 * has become; every other one is to be in the actor's containment, where a session of a
 * user of its own (a job of cron, a login) may be as well, so its user is compared: the
 * actor's, root, or supd's.  A process that is gone is known by its user alone.
 */
static bool
may_speak(struct notify *notify, const struct actor *actor,
          const struct notify_message *message)
{
	const struct proctable *table = notify->messages->proctable;
	const uid_t uid = actors_uid(actor);

	if (proctable_is_main(table, actor->ref, message->pid))
		return true;
	if (message->uid != uid && message->uid != 0 && message->uid != geteuid())
		return false;
	if (proctable_contains(table, actor->ref, message->pid, uid))
		return true;
	if (message->pid > 0 && (kill(message->pid, 0) == 0 || errno != ESRCH))
		return false;
	return message->uid == uid;
}

/* ---- what may be told again -------------------------------------------------------- */

static void
post(struct notify *notify, const struct actor *actor, enum event_kind kind)
{
	post_event(notify->messages->post,
	           &(const struct event){
	               .kind = kind,
	               .ref = actor->ref,
	               .life = proctable_life(notify->messages->proctable, actor->ref),
	               .code = -1,
	           });
}

/* That it lives need be told once a turn. */
static void
post_ping(struct notify *notify, const struct actor *actor)
{
	uint64_t *ping = &notify->at[actor->ref.slot].ping;

	if (*ping == notify->messages->post->n_turns + 1)
		return;
	*ping = notify->messages->post->n_turns + 1;
	post(notify, actor, EVENT_WATCHDOG);
}

/* ---- descriptors ------------------------------------------------------------------- */

/* Read this socket again a little later. */
static void
pause_place(struct notify *notify, uint32_t slot)
{
	struct notify_slot *place = &notify->at[slot];

	if (place->is_paused)
		return;
	(void)epoll_ctl(notify->readables.epoll_fd, EPOLL_CTL_MOD, place->fd,
	                &(struct epoll_event){.events = 0, .data.u64 = slot});
	place->is_paused = true;
	place->next = notify->paused;
	notify->paused = slot;
	timer_begin(notify->messages->loop, &notify->resume, PAUSE_S);
}

/* Close descriptors that came and were not kept, in a child: see os/socket/closer.h. */
static void
give_back(struct notify *notify, uint32_t slot)
{
	struct notify_message *message = &notify->message;

	for (size_t i = 0; i < message->n_fds; i++)
		if (message->fds[i] >= 0)
			notify->left[notify->n_left++] = message->fds[i];
	message->n_fds = 0;
	if (closer_close(notify->messages->closers, slot, notify->left, notify->n_left) ==
	    0)
		notify->n_left = 0;
	else
		pause_place(notify, slot);
}

/* The message is done with: let it go, and what came with it. */
static void
let_go(struct notify *notify, uint32_t slot)
{
	struct notify_slot *place = &notify->at[slot];

	if (!notify->message.has_more_fds) {
		/* While we hold the descriptors ourselves this closes none. */
		notify_skip(place->fd);
		if (notify->message.n_fds > 0)
			give_back(notify, slot);
		return;
	}
	if (notify->message.n_fds > 0)
		give_back(notify, slot);
	place->drop_ns = notify->message.stamp_ns;
	place->dropper =
	    closer_drop(notify->messages->closers, slot, place->fd, place->drop_ns);
	pause_place(notify, slot);
}

/*
 * True if a child is throwing the next message away already.  If that child was killed,
 * another child goes on with it.
 */
static bool
is_going(struct notify *notify, uint32_t slot)
{
	struct notify_slot *place = &notify->at[slot];

	if (!notify->message.has_more_fds || place->drop_ns != notify->message.stamp_ns) {
		place->drop_ns = 0;
		return false;
	}
	if (!bounded_works(notify->messages->closers, place->dropper))
		let_go(notify, slot);
	pause_place(notify, slot);
	return true;
}

/*
 * The sender may put descriptors down, and wants to: take them.  false: not now, because
 * too much of what the actor has sent before is still to be closed.
 */
static bool
take_descriptors(struct notify *notify, const struct actor *actor)
{
	const uint32_t slot = actor->ref.slot;
	struct notify_message *message = &notify->message;

	if (!message->has_more_fds || !stores_wants(actor, message))
		return true;
	if (notify->n_left > 0)
		give_back(notify, slot);
	if (notify->n_left > 0 || !bounded_has_room(notify->messages->closers, slot)) {
		pause_place(notify, slot);
		return false;
	}
	(void)notify_peek_fds(notify->at[slot].fd, message);
	if (message->has_more_fds)
		log_paced(&notify->at[slot].pace, LOG_LEVEL_WARNING,
		          "%s: the descriptors of a notification are lost: more than %d, "
		          "or no room for them",
		          actor->path, NOTIFY_FDS_MAX);
	return true;
}

/* MAINPID=: the process must be the actor's own, which is checked. */
static void
take_main_pid(struct notify *notify, struct actor *actor,
              const struct notify_message *message)
{
	pid_t pid;

	if (!notification_main_pid(actor, message, &pid))
		return;
	if (pid > 1 && proctable_contains(notify->messages->proctable, actor->ref, pid,
	                                  actors_uid(actor)))
		notify->on_main_pid(notify->main_pid_data, actor->ref, pid);
	else
		log_paced(&actor->pace, LOG_LEVEL_WARNING,
		          "%s: MAINPID=%d is no process of its own, and is ignored",
		          actor->path, (int)pid);
}

/* false: it cannot be taken now, and stays where it is. */
static bool
take_message(struct notify *notify, struct actor *actor)
{
	const struct notify_message *message = &notify->message;
	struct event events[NOTIFICATION_EVENTS_MAX];

	/* Its start is told first. */
	if (proctable_is_coming(notify->messages->proctable, actor->ref)) {
		pause_place(notify, actor->ref.slot);
		return false;
	}
	if (!may_speak(notify, actor, message)) {
		log_paced(&notify->at[actor->ref.slot].pace, LOG_LEVEL_WARNING,
		          "%s: a notification of pid %d, which is not its own process, "
		          "is ignored",
		          actor->path, (int)message->pid);
		return true;
	}
	if (!take_descriptors(notify, actor))
		return false;
	take_main_pid(notify, actor, message);
	size_t n = notification_take(notify->messages, actor, message, events);
	/* Once in a life, and once a turn: for these there always is room. */
	if (notification_is(message, "READY", "1") &&
	    actor->conf->process->readiness.sign == READY_BY_NOTIFY &&
	    record_ready(notify->messages->recording, actor->ref))
		post(notify, actor, EVENT_READY);
	if (notification_is(message, "WATCHDOG", "1"))
		post_ping(notify, actor);
	if (n > 0 && !post_surely(notify->messages->post, events, n))
		return false;
	if (!message->has_more_fds)
		stores_take(notify->messages->stores, actor, &notify->message);
	return true;
}

/* false: there is no room for what it says; the others wait, too, until it has its turn.
 */
static bool
drain_one(void *data, uint64_t key)
{
	const uint32_t slot = (uint32_t)key;
	struct notify *notify = data;
	const struct actors *actors = notify->messages->actors;

	for (int n = 0; n < DRAIN_MESSAGES && !notify->at[slot].is_paused; n++) {
		struct actor *actor = slot < actors->cap ? &actors->at[slot] : NULL;
		int r = notify_peek(notify->at[slot].fd, &notify->message);

		if (r == 0 || notify->at[slot].fd < 0 || is_going(notify, slot))
			return true;
		if (r > 0 && actor != NULL && actor->path != NULL &&
		    !take_message(notify, actor)) {
			if (notify->message.n_fds > 0)
				give_back(notify, slot);
			return notify->at[slot].is_paused;
		}
		/* The message is recorded: now it may leave the queue. */
		let_go(notify, slot);
	}
	return true;
}

static void
resume_all(struct notify *notify)
{
	while (notify->paused != NO_SLOT) {
		struct notify_slot *place = &notify->at[notify->paused];
		struct epoll_event event = {.events = EPOLLIN,
		                            .data.u64 = notify->paused};

		notify->paused = place->next;
		place->is_paused = false;
		if (place->fd >= 0)
			(void)epoll_ctl(notify->readables.epoll_fd, EPOLL_CTL_MOD,
			                place->fd, &event);
	}
}

static void
on_resume(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	resume_all(timer->data);
}

void
notify_resume(struct notify *notify, uint32_t slot)
{
	if (notify != NULL && slot < notify->cap && notify->at[slot].is_paused)
		resume_all(notify);
}

void
notify_drain(struct notify *notify)
{
	if (notify == NULL)
		return;
	/* The other way to say it. */
	readiness_drain(notify->messages->readiness);
	readables_drain(&notify->readables, drain_one, notify);
}

void
notify_hear(struct notify *notify, uint32_t slot)
{
	if (notify != NULL && slot < notify->cap && notify->at[slot].fd >= 0 &&
	    notify->readables.at < notify->readables.n)
		(void)drain_one(notify, slot);
}

static void
on_readable(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	notify_drain(io->data);
}

static uint64_t
key_of(struct ref ref)
{
	return VAULT_KEY(VAULT_NOTIFY, (uint64_t)ref.slot << 32 | ref.tenant);
}

static int
watch_socket(struct notify *notify, struct ref ref, int take_fd)
{
	const int r = readables_add(&notify->readables, ref.slot, take_fd);

	if (r == 0) {
		notify->at[ref.slot].fd = take_fd;
		notify->at[ref.slot].drop_ns = 0;
	}
	return r;
}

/* Go on with the socket that this actor had under a guardian before us, if it had. */
void
notify_adopt(struct notify *notify, struct ref ref)
{
	int fd = keeper_take(notify->messages->keeper, key_of(ref));

	if (fd >= 0)
		(void)watch_socket(notify, ref, fd);
}

int
notify_open(struct notify *notify, struct ref ref, char ret_address[NOTIFY_NAME_MAX])
{
	struct err err;

	ASSERT(ref.slot < notify->cap);
	if (notify->at[ref.slot].fd >= 0)
		return notify_address(notify->at[ref.slot].fd, ret_address);
	int fd = notify_listen("supd", &err);
	if (fd < 0)
		return fd;
	int r = notify_address(fd, ret_address);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	r = watch_socket(notify, ref, fd);
	/* Only now: a kept copy that is never dropped would keep the address. */
	if (r == 0)
		keeper_keep(notify->messages->keeper, key_of(ref), fd);
	return r;
}

/* The slot is given back. */
void
notify_close(struct notify *notify, struct ref ref)
{
	if (ref.slot >= notify->cap || notify->at[ref.slot].fd < 0)
		return;
	/* The walker has a copy until it is told: what is in the queue goes there. */
	readables_remove(&notify->readables, &notify->at[ref.slot].fd);
	keeper_release(notify->messages->keeper, key_of(ref));
}

/* Room for so many slots; -ENOMEM. */
int
notify_reserve(struct notify *notify, uint32_t slots)
{
	const struct notify_slot closed = {.fd = -1};

	return ARRAY_EXTEND(notify->at, slots, notify->cap, &closed) ? 0 : -ENOMEM;
}

struct notify *
notify_new(const struct messages *messages, notify_main_pid *on_main_pid, void *data,
           struct err *err)
{
	struct notify *notify = calloc(1, sizeof(*notify));
	int r = -ENOMEM;

	if (notify != NULL) {
		*notify = (struct notify){
		    .messages = messages,
		    .on_main_pid = on_main_pid,
		    .main_pid_data = data,
		    .paused = NO_SLOT,
		};
		r = readables_open(&notify->readables, messages->loop, on_readable,
		                   notify);
	}
	if (r < 0) {
		err_set(err, -r, "notify sockets");
		free(notify);
		return NULL;
	}
	timer_prepare(&notify->resume, on_resume, notify);
	return notify;
}

void
notify_free(struct notify *notify)
{
	if (notify == NULL)
		return;
	readables_close(&notify->readables);
	ev_timer_stop(notify->messages->loop, &notify->resume);
	for (uint32_t slot = 0; slot < notify->cap; slot++)
		fd_close(&notify->at[slot].fd);
	free(notify->at);
	free(notify);
}
