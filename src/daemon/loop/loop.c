/* SPDX-License-Identifier: ISC */
/* loop.c - the turn: collect what happened, step the core, perform, sleep. */
#include "config.h"

#include "daemon/loop/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "daemon/control/control.h"
#include "daemon/loop/owner.h"
#include "daemon/loop/perform.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/processes/tasks.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/trial.h"
#include "daemon/report/systemd.h"
#include "daemon/server/server.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/memory.h"
#include "daemon/state/post.h"
#include "ledger/ledger.h"
#include "os/self/clock.h"

struct loop {
	struct supd *supd;
	struct post *post;
	ev_prepare prepare;
	ev_check check;
	ev_timer timer;
	ev_idle idle;
	ev_periodic far_away;
	/* The turn that is under way, with post->stepping. */
	uint64_t time_ms;
	uint32_t n_early;   /* events in the journal before the turn */
	uint32_t n_journal; /* … and now */
	uint32_t at;        /* the next event for the core */
	uint32_t next;      /* the next action to be performed */
	bool is_written, is_settled, is_advancing;
};

/* Of a turn without a look at what else happened: so many reports, or 32 other
 * actions, and no longer than this: in a storm each start may wait for a processor. */
#define BUDGET  512
#define TURN_MS 4

/* ---- one turn ---------------------------------------------------------------------- */

static void
flush_actions(struct loop *loop)
{
	uint32_t budget = UINT32_MAX;

	(void)perform(loop->supd, &loop->post->actions, 0, &budget);
	loop->post->actions.n = 0;
}

/* True if the actions of one more event fit. */
static bool
has_room(const struct post *post)
{
	return post->actions.n + CORE_POST_ACTIONS <= CORE_ACTIONS_MAX;
}

/* False if the actor the event names no longer exists; the event is dropped. */
static bool
post_one(struct loop *loop, uint64_t now_ms, const struct event *event)
{
	struct event complete = *event;

	if (event->kind == EVENT_ADD) {
		const struct grown *grown =
		    additions_find(loop->supd->additions, event->addition_id);

		if (grown == NULL)
			return false;
		complete.addition = &grown->spec;
	}
	core_post(loop->supd->engine.core, now_ms, &complete, &loop->post->actions);
	if (queue_is_command(event))
		control_on_posted(loop->supd->recording.ledger, event->token);
	standin_touch(loop->supd->sockets->standin, event->ref);
	return true;
}

/* ---- bit by bit -------------------------------------------------------------------- */

/* Put down what the core will be told, before it is: all that the journal takes. */
static uint32_t
write_journal(struct loop *loop, const struct event *events, uint32_t n)
{
	struct supd *supd = loop->supd;
	uint32_t written = 0;

	if (!ledger_has_room(supd->recording.ledger, n + 1))
		post_checkpoint(loop->supd->post);
	while (written < n && ledger_has_room(supd->recording.ledger, 2))
		ledger_prepare(supd->recording.ledger, JOURNAL_POST, loop->time_ms,
		               &events[written++], 0);
	if (written == n)
		ledger_prepare(supd->recording.ledger, JOURNAL_SETTLE, loop->time_ms,
		               NULL, 0);
	/* All at once: a command to many is in there as a whole or not at all. */
	ledger_commit(supd->recording.ledger);
	return written;
}

/* Begin a turn with all events that are posted by now. */
static void
begin_turn(struct loop *loop)
{
	struct post *post = loop->post;
	const struct queue queue = post->posted;

	/* Not to before it happened: a start may have been waited for since. */
	engine_set_time(&loop->supd->engine);
	/* Performing posts: into the other array. */
	post->posted = post->stepping;
	post->stepping = queue;
	queue_clear(&post->posted);
	if (queue_reserve(&post->posted, queue.cap) < 0)
		memory_give_up();
	loop->n_early = loop->n_journal = (uint32_t)post->n_written;
	loop->at = 0;
	loop->is_written = loop->is_settled = false;
	loop->time_ms = loop->supd->engine.now_ms;
	post->n_written = 0;
	post->is_stepping = true;
	loop->supd->post->n_turns++;
	queue_sort_ends(loop->supd->engine.core, queue.events + loop->n_early,
	                queue.n - loop->n_early, post->posted.events);
}

/* Let the core decide on; all that it decided before is performed.  False: it is done. */
static bool
decide(struct loop *loop, uint32_t *budget)
{
	struct post *post = loop->post;
	const struct queue *queue = &post->stepping;

	if (loop->at < loop->n_journal) {
		while (*budget > 0 && has_room(post) && loop->at < loop->n_journal) {
			const uint64_t at_ms =
			    loop->at < loop->n_early ? post->written_ms : loop->time_ms;

			(void)post_one(loop, at_ms, &queue->events[loop->at++]);
			(*budget)--;
		}
	} else if (!loop->is_written) {
		loop->n_journal += write_journal(loop, queue->events + loop->at,
		                                 (uint32_t)queue->n - loop->at);
		loop->is_written = loop->n_journal == queue->n;
	} else if (!loop->is_settled) {
		loop->is_settled =
		    !core_settle(loop->supd->engine.core, loop->time_ms, &post->actions);
	} else {
		return false;
	}
	return true;
}

/* Go on with the turn until it is over, or the budget is used up. */
static void
advance(struct loop *loop, uint32_t *budget)
{
	struct post *post = loop->post;

	loop->is_advancing = true;
	while (post->is_stepping && *budget > 0) {
		if (loop->next < post->actions.n) {
			loop->next =
			    perform(loop->supd, &post->actions, loop->next, budget);
		} else {
			post->actions.n = loop->next = 0;
			post->is_stepping = decide(loop, budget);
		}
	}
	loop->is_advancing = false;
}

static void
finish_turn(void *data)
{
	struct loop *loop = data;
	uint32_t budget = UINT32_MAX;

	loop->post->until_ms = UINT64_MAX;
	if (!loop->is_advancing)
		advance(loop, &budget);
}

/* A turn that is under way goes on; else there are as many as it takes until nothing is
 * posted any more.  But only so much at once: clients are to be served meanwhile. */
static void
take_turns(struct loop *loop)
{
	struct supd *supd = loop->supd;
	struct post *post = loop->post;
	const bool goes_on = post->is_stepping;
	uint32_t budget = BUDGET;

	post->until_ms = clock_mono_ms() + TURN_MS;
	advance(loop, &budget);
	do {
		while (!goes_on && post->posted.n > 0 && budget > 0 &&
		       !supd->engine.exiting) {
			begin_turn(loop);
			advance(loop, &budget);
		}
	} while (!goes_on && budget > 0 && !supd->engine.exiting &&
	         procs_bear(supd->processes->procs));
	if (supd->engine.exiting)
		finish_turn(loop);
}

/* ---- all at once ------------------------------------------------------------------- */

static void
settle(struct loop *loop, uint64_t now_ms)
{
	bool more;

	do {
		if (!has_room(loop->post))
			flush_actions(loop);
		more = core_settle(loop->supd->engine.core, now_ms, &loop->post->actions);
		flush_actions(loop);
	} while (more);
}

int
loop_replay(struct loop *loop)
{
	struct supd *supd = loop->supd;
	const uint32_t n = ledger_entries(supd->recording.ledger);

	supd->post->n_actions = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct journal_entry *entry =
		    ledger_entry(supd->recording.ledger, i);

		if (entry == NULL)
			return -EBADMSG;
		supd->engine.now_ms = entry->now_ms;
		if (!has_room(loop->post))
			flush_actions(loop);
		if (entry->kind != JOURNAL_POST)
			settle(loop, entry->now_ms);
		else if (!post_one(loop, entry->now_ms, &entry->event))
			return -EBADMSG;
	}
	flush_actions(loop);
	return 0;
}

/* Sleep until something happens or is due; due already: poll once, then go on. */
static void
arm(struct loop *loop)
{
	struct supd *supd = loop->supd;
	const uint64_t due_ms = core_deadline(supd->engine.core);
	const uint64_t now_ns = clock_mono_ns();

	ev_timer_stop(supd->loop, &loop->timer);
	/* A call that waited its turn behind another one may have posted just now. */
	if (loop->post->is_stepping || loop->post->posted.n > 0 ||
	    due_ms <= now_ns / 1000000 || control_is_waiting(supd->control) ||
	    procs_wants_turn(supd->processes->procs)) {
		ev_idle_start(supd->loop, &loop->idle);
		return;
	}
	ev_idle_stop(supd->loop, &loop->idle);
	if (due_ms == UINT64_MAX)
		return;
	ev_timer_set(&loop->timer, (double)(due_ms * 1000000 - now_ns) / 1e9, 0.);
	ev_timer_start(supd->loop, &loop->timer);
}

/* The core has decided about all events: the work of the rooms at the end of a turn. */
static void
end_turn(struct supd *supd)
{
	/* What the walker told in the midst of the turn. */
	procs_take_exits(supd->processes->procs);
	/* What is due may be a restart, which is more urgent.  But a client finds in the
	 * log what it is told. */
	if (core_deadline(supd->engine.core) > clock_mono_ms()) {
		procs_reap(supd->processes->procs);
		log_flush();
	} else if (control_has_clients(supd->control)) {
		log_flush();
	}
	tasks_on_turn(supd->processes->tasks);
	procs_on_turn(supd->processes->procs);
	/* One complete turn proves this guardian works: tell the walker to drop the
	 * handover copies. */
	if (keeper_handover(supd->keeper) != NULL)
		keeper_settled(supd->keeper);
	additions_on_turn(supd->reloader);
	reload_on_turn(supd->reloader);
	helpers_on_turn(supd->sockets->helpers);
	prober_on_turn(supd->processes->prober);
	standin_on_turn(supd->sockets->standin);
	systemd_on_turn(supd->reporter);
	trial_on_turn(supd->trial);
	control_on_turn(supd->control);
	/* Upgrade only with an empty journal, so the new binary repeats no decision. */
	if (supd->post->posted.n == 0 && !reload_is_reading(supd->reloader))
		control_upgrade_if_due(supd->control);
}

static void
on_prepare(struct ev_loop *ev, ev_prepare *watcher, int revents UNUSED)
{
	struct loop *loop = watcher->data;
	struct supd *supd = loop->supd;

	engine_set_time(&supd->engine);
	if (!loop->post->is_stepping &&
	    core_deadline(supd->engine.core) <= clock_mono_ms())
		post_tick(loop->post);
	take_turns(loop);
	if (!loop->post->is_stepping)
		end_turn(supd);
	if (supd->engine.exiting) {
		ev_break(ev, EVBREAK_ALL);
		return;
	}
	/* libev's own idea of now is from before the turn. */
	ev_now_update(ev);
	arm(loop);
	keeper_turn(supd->keeper, supd->exits, false);
}

/* Before all callbacks: what they do is dated to now, not to before the sleep; and that a
 * process has begun is told before what it says. */
static void
on_check(struct ev_loop *ev UNUSED, ev_check *watcher, int revents UNUSED)
{
	struct supd *supd = watcher->data;

	keeper_turn(supd->keeper, supd->exits, true);
	engine_set_time(&supd->engine);
	procs_look(supd->processes->procs);
}

static void
on_nothing(struct ev_loop *ev UNUSED, ev_timer *watcher UNUSED, int revents UNUSED)
{
	/* Waking up is all: the turn does the rest. */
}

static void
on_idle(struct ev_loop *ev UNUSED, ev_idle *watcher UNUSED, int revents UNUSED)
{
}

static void
on_far_away(struct ev_loop *ev UNUSED, ev_periodic *watcher UNUSED, int revents UNUSED)
{
}

struct loop *
loop_new(struct supd *supd, struct err *err)
{
	struct loop *loop = err_calloc(sizeof(*loop), err, "event loop");

	if (loop == NULL)
		return NULL;
	*loop = (struct loop){
	    .supd = supd, .post = supd->post, .prepare.data = loop, .check.data = supd};
	loop->post->finish = finish_turn;
	loop->post->until_ms = UINT64_MAX;
	loop->post->loop = loop;
	ev_prepare_init(&loop->prepare, on_prepare);
	ev_prepare_start(supd->loop, &loop->prepare);
	ev_check_init(&loop->check, on_check);
	ev_set_priority(&loop->check, EV_MAXPRI);
	ev_check_start(supd->loop, &loop->check);
	ev_timer_init(&loop->timer, on_nothing, 0., 0.);
	ev_idle_init(&loop->idle, on_idle);
	/* Without a periodic libev wakes every minute to look at the wall clock; with one
	 * that is far away it does not. */
	ev_periodic_init(&loop->far_away, on_far_away, ev_now(supd->loop) + 1e9, 0., 0);
	ev_periodic_start(supd->loop, &loop->far_away);
	clock_ignore_steps();
	return loop;
}

void
loop_run(struct loop *loop)
{
	while (!loop->supd->engine.exiting)
		(void)ev_run(loop->supd->loop, 0);
	log_flush();
}
