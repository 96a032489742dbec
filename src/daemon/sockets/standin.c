/* SPDX-License-Identifier: ISC */
/* standin.c - listens at the mailboxes of actors that have no process. */
#include "config.h"

#include "daemon/sockets/standin.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/assert.h"
#include "daemon/sockets/deadletter.h"
#include "daemon/sockets/lending.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "os/socket/sock.h"

/* The reaction to a client. */
enum listening { UNATTENDED, ACTIVATING, ATTENDED };

/* What listens at one mailbox. */
struct letterbox {
	struct standin *standin;
	struct mailbox *mailbox;
	enum listening listening;
	struct ref called; /* ACTIVATING */
	struct deadletters dead;
	uint32_t loan; /* ATTENDED: number from lending_give() */
	ev_io io;      /* ACTIVATING */
};

struct standin {
	struct sockets *sockets;
	struct ref *touched;
	size_t n, cap;
	bool all; /* all actors: there was no memory for a list */
	struct lending *lending;
};

struct standin *
standin_new(struct sockets *sockets, struct err *err)
{
	struct standin *standin = err_calloc(sizeof(*standin), err, "mailboxes");

	if (standin == NULL)
		return NULL;
	standin->sockets = sockets;
	standin->all = true;
	standin->lending = lending_new(sockets->helpers, standin, err);
	if (standin->lending == NULL) {
		standin_free(standin);
		return NULL;
	}
	return standin;
}

void
standin_free(struct standin *standin)
{
	if (standin == NULL)
		return;
	lending_free(standin->lending);
	free(standin->touched);
	free(standin);
}

void
standin_touch(struct standin *standin, struct ref ref)
{
	struct actor *actor = actors_get(standin->sockets->actors, ref);
	if (actor == NULL)
		return;
	actor->is_called = false;
	if (standin->all || actor->is_touched ||
	    (actor->conf->process->n_sockets == 0 && !actor->conf->spec->core.on_demand))
		return;
	if (!ARRAY_RESERVE(standin->touched, standin->n, standin->cap)) {
		standin->all = true;
		return;
	}
	actor->is_touched = true;
	standin->touched[standin->n++] = ref;
}

void
standin_touch_all(struct standin *standin)
{
	standin->all = true;
}

/* ---- one mailbox ------------------------------------------------------------------- */

static void
stop(struct letterbox *letterbox)
{
	struct standin *standin = letterbox->standin;

	ev_io_stop(standin->sockets->loop, &letterbox->io);
	lending_take_back(standin->lending, &letterbox->loan);
	letterbox->listening = UNATTENDED;
}

/* A client came for an actor that is to start on demand. */
static void
call(struct letterbox *letterbox)
{
	struct sockets *sockets = letterbox->standin->sockets;
	struct actor *actor = actors_get(sockets->actors, letterbox->called);
	const struct event demand = {.kind = EVENT_DEMAND, .ref = letterbox->called};

	stop(letterbox);
	if (actor == NULL || actor->is_called)
		return;
	actor->is_called = true;
	post_event(sockets->post, &demand);
}

static void
on_readable(struct ev_loop *loop UNUSED, ev_io *watcher, int revents UNUSED)
{
	call(watcher->data);
}

static struct letterbox *
letterbox_of(struct standin *standin, struct mailbox *mailbox)
{
	struct letterbox *letterbox = mailbox->letterbox;

	if (letterbox != NULL || mailbox->fd < 0)
		return letterbox;
	letterbox = calloc(1, sizeof(*letterbox));
	if (letterbox == NULL) {
		(void)log_errno(-ENOMEM, "listen at %s", mailbox->socket->address);
		return NULL;
	}
	letterbox->standin = standin;
	letterbox->mailbox = mailbox;
	deadletters_init(&letterbox->dead, standin->sockets);
	ev_io_init(&letterbox->io, on_readable, mailbox->fd, EV_READ);
	letterbox->io.data = letterbox;
	letterbox->loan = LENDING_NONE;
	mailbox->letterbox = letterbox;
	return letterbox;
}

void
standin_forget(struct mailbox *mailbox)
{
	struct letterbox *letterbox = mailbox->letterbox;

	if (letterbox == NULL)
		return;
	stop(letterbox);
	lending_forget(letterbox->standin->lending, mailbox);
	deadletters_done(&letterbox->dead);
	free(letterbox);
	mailbox->letterbox = NULL;
}

static void
listen_for(struct standin *standin, struct mailbox *mailbox, enum listening listening,
           struct ref owner, struct ref called)
{
	struct letterbox *letterbox = mailbox->letterbox;

	if (listening == UNATTENDED) {
		if (letterbox != NULL && letterbox->listening != UNATTENDED)
			stop(letterbox);
		return;
	}
	letterbox = letterbox_of(standin, mailbox);
	if (letterbox == NULL)
		return;
	letterbox->dead.owner = owner;
	letterbox->called = called;
	if (letterbox->listening != listening)
		stop(letterbox);
	letterbox->listening = listening;
	if (listening == ACTIVATING)
		ev_io_start(standin->sockets->loop, &letterbox->io);
	else if (letterbox->loan == LENDING_NONE)
		lending_give(standin->lending, mailbox, &letterbox->dead,
		             &letterbox->loan);
}

/* ---- one actor --------------------------------------------------------------------- */

static bool
waits(const struct node_view *view)
{
	return view->on_standby && !view->demanded;
}

/* The actor that a configured one of ours has become. */
static struct ref
ref_of(const struct standin *standin, uint32_t index)
{
	return actors_find_static(standin->sockets->actors,
	                          standin->sockets->actors->conf->actors[index].path);
}

static bool
view_of(const struct standin *standin, struct ref ref, struct node_view *ret)
{
	if (!core_valid(standin->sockets->engine->core, ref))
		return false;
	core_view(standin->sockets->engine->core, ref, standin->sockets->engine->now_ms,
	          ret);
	return true;
}

/* Decide about a socket, as seen from its owner: what listens now? */
static void
look_at(struct standin *standin, struct mailbox *mailbox, struct ref owner,
        const struct node_view *view)
{
	enum listening listening = UNATTENDED;
	struct ref called = owner;
	struct node_view handler;

	if (waits(view)) {
		listening = ACTIVATING;
	} else if (!view->process.alive && !view->on_standby) {
		switch (mailbox->socket->while_down) {
		case WHILE_DOWN_REFUSE:
		case WHILE_DOWN_REPLY:
			listening = ATTENDED;
			break;
		case WHILE_DOWN_HANDLER:
			called = ref_of(standin, mailbox->socket->handler);
			if (view_of(standin, called, &handler) && waits(&handler))
				listening = ACTIVATING;
			break;
		case WHILE_DOWN_QUEUE:
		case WHILE_DOWN_MAX:
			break;
		}
	}
	listen_for(standin, mailbox, listening, owner, called);
}

/* A handler is needed as long as an actor that it stands in for cannot serve. */
static void
look_at_handled(struct standin *standin, const struct mailboxes *mailboxes,
                uint32_t index, struct ref ref)
{
	const struct sockets *sockets = standin->sockets;
	struct mailbox *mailbox;
	struct node_view view;
	bool is_needed = mailboxes_of(mailboxes, index, 0) != NULL;

	for (size_t i = 0; (mailbox = mailboxes_handled(mailboxes, index, i)) != NULL;
	     i++) {
		const struct ref owner = ref_of(standin, mailbox->actor);

		if (!view_of(standin, owner, &view))
			continue;
		look_at(standin, mailbox, owner, &view);
		is_needed = is_needed ||
		            (!view.on_standby && !(view.process.alive && view.ready));
	}
	if (!is_needed && view_of(standin, ref, &view) && view.demanded)
		post_event(sockets->post,
		           &(struct event){.kind = EVENT_IDLE, .ref = ref});
}

static void
look_at_actor(struct standin *standin, struct ref ref)
{
	const struct sockets *sockets = standin->sockets;
	struct actor *actor = actors_get(sockets->actors, ref);
	struct mailbox *mailbox;
	struct node_view view;
	uint32_t index;

	if (actor == NULL)
		return;
	actor->is_touched = false;
	const struct mailboxes *mailboxes = mailboxes_for(sockets, actor, &index);
	if (mailboxes == NULL ||
	    (mailboxes_of(mailboxes, index, 0) == NULL &&
	     mailboxes_handled(mailboxes, index, 0) == NULL) ||
	    !view_of(standin, ref, &view))
		return;
	/* Where a socket is missing no client can come: the start opens it, or fails. */
	if (waits(&view) && mailboxes_are_missing(mailboxes, index))
		post_event(sockets->post,
		           &(struct event){.kind = EVENT_DEMAND, .ref = ref});
	for (size_t i = 0; (mailbox = mailboxes_of(mailboxes, index, i)) != NULL; i++) {
		look_at(standin, mailbox, ref, &view);
		if (mailbox->socket->handler != CONF_NONE)
			standin_touch(standin, ref_of(standin, mailbox->socket->handler));
	}
	if (mailboxes_handled(mailboxes, index, 0) != NULL)
		look_at_handled(standin, mailboxes, index, ref);
}

void
standin_on_turn(struct standin *standin)
{
	const struct sockets *sockets = standin->sockets;

	if (sockets->engine->exiting)
		return;
	if (standin->all) {
		standin->all = false;
		standin->n = 0;
		for (uint32_t slot = 0; slot < sockets->actors->cap; slot++) {
			sockets->actors->at[slot].is_touched = false;
			look_at_actor(standin, sockets->actors->at[slot].ref);
		}
	}
	/* look_at_actor() may append to `touched` (the handler of a socket), so
	 * standin->n is read anew. */
	for (size_t i = 0; i < standin->n; i++)
		look_at_actor(standin, standin->touched[i]);
	standin->n = 0;
}

/*
 * Make the socket blocking: programs expect an accept that waits, and the process before
 * may have changed the flag.  A socket that could not be opened has its place in the
 * order, too.
 */
struct mailbox *
standin_hand_over(const struct sockets *sockets, const struct actor *actor, size_t i)
{
	uint32_t index = 0;
	const struct mailboxes *mailboxes = mailboxes_for(sockets, actor, &index);

	if (mailboxes == NULL)
		return NULL;
	struct mailbox *mailbox = mailboxes_of(mailboxes, index, i);
	if (mailbox == NULL)
		mailbox = mailboxes_handled(mailboxes, index,
		                            i - actor->conf->process->n_sockets);
	if (mailbox == NULL || mailbox->fd < 0)
		return mailbox;
	if (mailbox->letterbox != NULL)
		stop(mailbox->letterbox);
	(void)sock_set_blocking(mailbox->fd, true);
	return mailbox;
}
