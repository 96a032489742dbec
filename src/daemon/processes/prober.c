/* SPDX-License-Identifier: ISC */
/* prober.c - asks actors whether they are ready, or well, as the core wants to know. */
#include "config.h"

#include "daemon/processes/prober.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/units.h"
#include "daemon/processes/probe_answer.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/tasks.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/sockets.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "helper/watchers.h"

/* A question that was put, and is not answered. */
struct asking {
	struct prober *prober;
	/* the action that asked; its ref is REF_NONE: a free place */
	struct action action;
	uint32_t id;     /* of the question, to /system/probe */
	bool is_sent;    /* sent to the present process of the helper */
	uint64_t number; /* … as the message of that number */
	bool is_late;    /* timed out: `number` is of the message that cancels it */
	struct helper_answer answer; /* to be told when the grace is over */
	ev_timer grace, timeout;
};

struct prober {
	struct processes *room;
	struct asking at[PROBER_MAX];
	uint32_t n;
	uint32_t n_asked;   /* probes begun so far, part of their ids */
	uint32_t n_late;    /* of those that are asked */
	bool is_stale;      /* some may be asked what they are not to be any more */
	struct map by_slot; /* from the slot of a probed actor to its place */
	/* Actors that wait for a place: a ring.  An actor that need not be probed any
	 * more is skipped. */
	struct ref *waiting;
	uint32_t cap, first, n_waiting;
};

/* A process with a broken connection may be about to end: that is known a moment later,
 * and counts more than the answer of the probe. */
#define GRACE_MS 20

static const struct conf_probe *
what_is_asked(const struct prober *prober, const struct action *action)
{
	const struct actor *actor = actors_get(prober->room->actors, action->ref);

	if (actor == NULL)
		return NULL;
	return action->is_start ? &actor->conf->process->readiness.probe
	                        : &actor->conf->process->health;
}

/* ---- connections ------------------------------------------------------------------- */

static bool
is_used(const struct asking *asking)
{
	return asking->action.ref.slot != REF_NONE.slot;
}

/* Its answer is not wanted any more; false: /system/probe cannot be told now. */
static bool
forget(struct asking *asking)
{
	struct helpers *helpers = asking->prober->room->sockets->helpers;

	if (!asking->is_sent || helpers_send(helpers, HELPER_PROBE,
	                                     &(const struct helper_message){
	                                         .kind = HELPER_FORGET, .id = asking->id},
	                                     NULL) < 0)
		return false;
	asking->number = helpers_sent(helpers, HELPER_PROBE);
	return true;
}

/* Free the place, whatever the result; /system/probe closes its connection. */
static void
drop(struct asking *asking)
{
	struct prober *prober = asking->prober;
	struct ev_loop *loop = prober->room->loop;

	/* Where that does not arrive the next question in this place takes its place. */
	if (!asking->is_late)
		(void)forget(asking);
	prober->n_late -= asking->is_late;
	asking->is_sent = asking->is_late = false;
	ev_timer_stop(loop, &asking->grace);
	ev_timer_stop(loop, &asking->timeout);
	map_remove(&prober->by_slot, asking->action.ref.slot);
	asking->action.ref = REF_NONE;
	prober->n--;
}

static struct asking *
find_asking(struct prober *prober, struct ref ref)
{
	uint32_t place;

	return map_get(&prober->by_slot, ref.slot, &place) ? &prober->at[place] : NULL;
}

static void
finish_probe(struct asking *asking)
{
	const struct action action = asking->action;
	const struct helper_answer said = asking->answer;
	struct prober *prober = asking->prober;

	drop(asking);
	if (said.is_good)
		probe_answer(prober->room, &action, PROBED_GOOD, 0, "%s", "");
	else if (said.is_none)
		probe_answer(prober->room, &action, PROBED_UNKNOWN, said.error, "%s", "");
	else if (said.status != 0)
		probe_answer(prober->room, &action, PROBED_BAD, 0, "status %d",
		             said.status);
	else if (said.error == EAGAIN)
		probe_answer(prober->room, &action, PROBED_BAD, 0, "queue full");
	else
		probe_answer(prober->room, &action, PROBED_BAD, said.error, "%s", "");
}

/* The next actor that waits for a place; false: none. */
static bool
next_waiting(struct prober *prober, struct action *ret)
{
	while (prober->n_waiting > 0) {
		const struct ref ref = prober->waiting[prober->first];

		prober->first = (prober->first + 1) % prober->cap;
		prober->n_waiting--;
		if (core_valid(prober->room->engine->core, ref) &&
		    find_asking(prober, ref) == NULL &&
		    core_probe(prober->room->engine->core, ref, ret))
			return true;
	}
	return false;
}

/* Put the question to /system/probe, if it takes it now. */
static void
put_question(struct asking *asking)
{
	struct prober *prober = asking->prober;
	struct helpers *helpers = prober->room->sockets->helpers;
	const struct conf_probe *what = what_is_asked(prober, &asking->action);
	struct helper_message message = {.kind = HELPER_QUESTION, .id = asking->id};

	if (what == NULL || what->address == NULL)
		return;
	message.question = (struct helper_question){.is_unix = what->kind == PROBE_UNIX,
	                                            .is_http = what->resource != NULL,
	                                            .port = what->port};
	/* conf/read/read_probe.c refuses texts that a message has no room for. */
	if (helper_add_text(&message, what->address) < 0 ||
	    (what->resource != NULL && helper_add_text(&message, what->resource) < 0) ||
	    (what->resource != NULL && helper_add_text(&message, what->host) < 0))
		return;
	asking->is_sent = helpers_send(helpers, HELPER_PROBE, &message, NULL) == 0;
	asking->number = helpers_sent(helpers, HELPER_PROBE);
}

static struct asking *
free_place(struct prober *prober)
{
	uint32_t place = 0;

	while (is_used(&prober->at[place]))
		place++;
	return &prober->at[place];
}

/* Begin a probe in a free place. */
static void
begin_probe(struct prober *prober, const struct action *action,
            const struct conf_probe *what)
{
	struct asking *asking = free_place(prober);
	const uint32_t place = (uint32_t)(asking - prober->at);
	struct ev_loop *loop = prober->room->loop;

	asking->action = *action;
	prober->n++;
	/* No two questions that may be under way have one number; none is 0. */
	asking->id = ++prober->n_asked * PROBER_MAX + place;
	/* There is room: prober_new(). */
	(void)map_put(&prober->by_slot, action->ref.slot, place);
	ev_now_update(loop);
	timer_begin(loop, &asking->timeout, (double)what->timeout_ms / 1e3);
	helpers_want(prober->room->sockets->helpers, HELPER_PROBE);
	put_question(asking);
}

/* Begin the probes that waited for a place, as long as one is free. */
static void
begin_due_probes(struct prober *prober)
{
	struct action action;

	while (prober->n < PROBER_MAX && next_waiting(prober, &action)) {
		const struct conf_probe *what = what_is_asked(prober, &action);

		if (what != NULL && what->kind != PROBE_EXEC && what->kind != PROBE_NONE)
			begin_probe(prober, &action, what);
	}
}

static void
on_grace(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct asking *asking = timer->data;
	struct prober *prober = asking->prober;

	finish_probe(asking);
	begin_due_probes(prober);
}

static void
finish_late(struct asking *asking, bool was_asked)
{
	const struct action action = asking->action;
	struct prober *prober = asking->prober;

	drop(asking);
	if (was_asked)
		probe_answer(prober->room, &action, PROBED_BAD, 0, "timeout");
	else
		probe_answer(prober->room, &action, PROBED_UNKNOWN, 0,
		             "nothing could ask");
}

/* No answer in time.  That is a bad answer if /system/probe is well, which it shows by
 * forgetting the question: judge_late(). */
static void
on_timeout(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct asking *asking = timer->data;
	struct prober *prober = asking->prober;

	asking->is_late = forget(asking);
	prober->n_late += asking->is_late;
	if (asking->is_late)
		return;
	finish_late(asking, false);
	begin_due_probes(prober);
}

/* Judge the late probes that /system/probe has forgotten by now. */
static void
judge_late(struct prober *prober)
{
	struct helpers *helpers = prober->room->sockets->helpers;

	for (uint32_t place = 0; place < PROBER_MAX && prober->n_late > 0; place++) {
		struct asking *asking = &prober->at[place];

		if (asking->is_late &&
		    helpers_has_done(helpers, HELPER_PROBE, asking->number))
			finish_late(asking, true);
	}
	begin_due_probes(prober);
}

static void
take_answer(struct prober *prober, const struct helper_message *message)
{
	struct asking *asking = &prober->at[message->id % PROBER_MAX];
	struct ev_loop *loop = prober->room->loop;

	if (!is_used(asking) || !asking->is_sent || asking->id != message->id)
		return;
	asking->answer = message->answer;
	/* It has closed the connection. */
	asking->is_sent = false;
	if (asking->answer.is_good || asking->answer.is_none ||
	    asking->answer.error == 0) {
		finish_probe(asking);
		begin_due_probes(prober);
		return;
	}
	prober->n_late -= asking->is_late;
	asking->is_late = false;
	ev_timer_stop(loop, &asking->timeout);
	timer_begin(loop, &asking->grace, GRACE_MS / 1e3);
}

static void
on_message(void *user, const struct helper_message *message)
{
	struct prober *prober = user;

	if (message->kind == HELPER_ANSWER)
		take_answer(prober, message);
	else if (message->kind == HELPER_DONE && prober->n_late > 0)
		judge_late(prober);
}

/* Put the questions that are still to be put, and those that a dead helper had. */
static void
on_room(void *user, bool is_new UNUSED)
{
	struct prober *prober = user;

	for (uint32_t place = 0; place < PROBER_MAX; place++) {
		struct asking *asking = &prober->at[place];

		if (is_used(asking) && !asking->is_sent && !ev_is_active(&asking->grace))
			put_question(asking);
	}
}

static void
on_lost(void *user)
{
	struct prober *prober = user;

	for (uint32_t place = 0; place < PROBER_MAX; place++) {
		struct asking *asking = &prober->at[place];

		asking->is_sent = false;
		if (asking->is_late)
			finish_late(asking, false);
	}
}

static const struct helper_user user = {on_room, on_message, on_lost};

/* Remember it for later; false: there is no room. */
static bool
wait_for_turn(struct prober *prober, struct ref ref)
{
	if (prober->n_waiting == prober->cap) {
		const uint32_t cap = 2 * prober->cap + PROBER_MAX;
		struct ref *larger = NULL;

		/* The list has each actor once at most, and actors that need no probe any
		 * more. */
		if (prober->cap <= 2 * prober->room->actors->cap)
			larger = reallocarray(NULL, cap, sizeof(*larger));
		if (larger == NULL)
			return false;
		for (uint32_t i = 0; i < prober->n_waiting; i++)
			larger[i] = prober->waiting[(prober->first + i) % prober->cap];
		free(prober->waiting);
		prober->waiting = larger;
		prober->cap = cap;
		prober->first = 0;
	}
	prober->waiting[(prober->first + prober->n_waiting++) % prober->cap] = ref;
	return true;
}

/* ---- the door ---------------------------------------------------------------------- */

void
prober_ask(struct prober *prober, const struct action *action)
{
	const struct conf_probe *what = what_is_asked(prober, action);
	struct asking *before = find_asking(prober, action->ref);

	/* What is to be asked still is known when all is replayed: tasks_adopt(). */
	if (prober->room->engine->is_replaying)
		return;
	if (before != NULL)
		drop(before);
	tasks_keep_only(prober->room->tasks, action->ref, TASK_PROBE, action->serial);
	if (what == NULL || what->kind == PROBE_NONE)
		probe_answer(prober->room, action, PROBED_UNKNOWN, 0,
		             "there is nothing to probe");
	else if (what->kind == PROBE_EXEC)
		probe_order_command(prober->room->tasks, action, what->timeout_ms);
	else if (prober->n < PROBER_MAX)
		begin_probe(prober, action, what);
	else if (!wait_for_turn(prober, action->ref))
		probe_answer(prober->room, action, PROBED_UNKNOWN, ENOMEM, "%s", "");
}

void
prober_end_life(struct prober *prober, struct ref ref)
{
	struct asking *asking = find_asking(prober, ref);

	if (asking == NULL)
		return;
	drop(asking);
	begin_due_probes(prober);
}

void
prober_look_again(struct prober *prober)
{
	prober->is_stale = true;
}

/* True if the core waits for this probe. */
static bool
is_waited_for(const struct prober *prober, const struct action *action)
{
	struct action now;

	return core_probe(prober->room->engine->core, action->ref, &now) &&
	       now.serial == action->serial && now.life == action->life;
}

void
prober_on_turn(struct prober *prober)
{
	struct processes *room = prober->room;
	struct action now;

	if (!prober->is_stale)
		return;
	prober->is_stale = false;
	for (uint32_t place = 0; place < PROBER_MAX; place++) {
		struct asking *asking = &prober->at[place];

		if (is_used(asking) && !is_waited_for(prober, &asking->action))
			drop(asking);
	}
	for (uint32_t slot = 0; slot < room->actors->cap; slot++) {
		const struct ref ref = room->actors->at[slot].ref;

		if (core_valid(room->engine->core, ref) &&
		    tasks_run(room->tasks, ref, TASK_PROBE))
			tasks_keep_only(
			    room->tasks, ref, TASK_PROBE,
			    core_probe(room->engine->core, ref, &now) ? now.serial : 0);
	}
	begin_due_probes(prober);
}

struct prober *
prober_new(struct processes *room, struct err *err)
{
	struct prober *prober = err_calloc(sizeof(*prober), err, "table of probes");

	if (prober == NULL)
		return NULL;
	prober->room = room;
	for (uint32_t place = 0; place < PROBER_MAX; place++) {
		struct asking *asking = &prober->at[place];

		asking->prober = prober;
		asking->action.ref = REF_NONE;
		timer_prepare(&asking->grace, on_grace, asking);
		timer_prepare(&asking->timeout, on_timeout, asking);
	}
	helpers_use(room->sockets->helpers, HELPER_PROBE, &user, prober);
	if (map_reserve(&prober->by_slot, PROBER_MAX) < 0) {
		err_set(err, ENOMEM, "table of probes");
		prober_free(prober);
		return NULL;
	}
	return prober;
}

void
prober_free(struct prober *prober)
{
	if (prober == NULL)
		return;
	for (uint32_t place = 0; place < PROBER_MAX; place++)
		if (is_used(&prober->at[place]))
			drop(&prober->at[place]);
	map_done(&prober->by_slot);
	free(prober->waiting);
	free(prober);
}
