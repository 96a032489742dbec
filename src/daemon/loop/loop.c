/* SPDX-License-Identifier: ISC */
/* loop.c - the turn: collect what happened, step the core, perform, sleep. */
#include "config.h"

#include "daemon/loop/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "daemon/control/control.h"
#include "daemon/sockets/helpers.h"
#include "daemon/state/keeper.h"
#include "daemon/sockets/letters.h"
#include "daemon/state/log.h"
#include "daemon/state/memory.h"
#include "daemon/loop/perform.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/procs.h"
#include "daemon/state/queue.h"
#include "daemon/state/shell.h"
#include "daemon/loop/systemd.h"
#include "daemon/processes/tasks.h"
#include "daemon/reload/trial.h"
#include "ledger/ledger.h"
#include "os/clock.h"

struct loop {
	struct shell *shell;
	struct queue posted;
	struct queue stepping; /* the queue that the core is stepping through */
	size_t n_written;    /* so many of those posted are in the journal already … */
	uint64_t written_ms; /* … and dated so */
	ev_prepare prepare;
	ev_check check;
	ev_timer timer;
	ev_idle idle;
	ev_periodic far_away;
	struct action_list actions;
};

static void
refuse(struct shell *shell, const struct event *event)
{
	const struct action busy = {
	    .kind = ACTION_REPLY,
	    .ref = event->ref,
	    .token = event->token,
	    .result = REPLY_BUSY,
	};

	control_on_reply(shell->control, &busy);
}

void
shell_post(struct shell *shell, const struct event *event)
{
	int r = queue_post(&shell->turn->posted, event);

	if (r == -EBUSY)
		refuse(shell, event);
	else if (r < 0)
		memory_give_up();
}

bool
shell_has_room(const struct shell *shell, size_t n)
{
	return queue_has_room(&shell->turn->posted, n);
}

int
loop_reserve(struct loop *loop, uint32_t actors)
{
	int r = queue_reserve_for(&loop->posted, actors);

	return r < 0 ? r : queue_reserve_for(&loop->stepping, actors);
}

const char *
shell_path(const struct shell *shell, struct ref ref)
{
	const struct actor *actor = actors_get(&shell->actors, ref);

	if (actor != NULL)
		return actor->path;
	return ref.slot == CORE_ROOT ? "/" : "?";
}

const struct conf *
shell_conf_of(const struct shell *shell, const struct actor *actor)
{
	if (actor->grown != NULL)
		return actor->grown->conf;
	return actor->conf_owner != NULL ? actor->conf_owner : shell->conf;
}

uint32_t
shell_index(const struct shell *shell, const struct actor *actor)
{
	ASSERT(actor->conf_owner == NULL && actor->grown == NULL);
	return (uint32_t)(actor->conf - shell->conf->actors);
}

/* ---- one turn -------------------------------------------------------------------------
 */

static void
flush_actions(struct loop *loop)
{
	perform(loop->shell, &loop->actions);
	loop->actions.n = 0;
}

/* False if the actor the event names no longer exists; the event is dropped. */
static bool
post_one(struct loop *loop, uint64_t now_ms, const struct event *event)
{
	struct event complete = *event;

	if (event->kind == EVENT_ADD) {
		const struct grown *grown =
		    additions_find(loop->shell, event->addition_id);

		if (grown == NULL)
			return false;
		complete.addition = &grown->spec;
	}
	if (loop->actions.n + CORE_POST_ACTIONS > CORE_ACTIONS_MAX)
		flush_actions(loop);
	core_post(loop->shell->core, now_ms, &complete, &loop->actions);
	if (queue_is_command(event))
		control_on_posted(loop->shell, event->token);
	letters_touch(loop->shell->letters, event->ref);
	return true;
}

static void
settle(struct loop *loop, uint64_t now_ms)
{
	bool more;

	do {
		if (loop->actions.n + CORE_POST_ACTIONS > CORE_ACTIONS_MAX)
			flush_actions(loop);
		more = core_settle(loop->shell->core, now_ms, &loop->actions);
		flush_actions(loop);
	} while (more);
}

void
loop_checkpoint(struct loop *loop)
{
	struct shell *shell = loop->shell;

	ASSERT(loop->actions.n == 0);
	ledger_checkpoint(shell->ledger);
	shell->core = ledger_core(shell->ledger);
	shell->n_actions = 0;
	/* What was put down early is not in the core yet: the new journal has it, too. */
	for (size_t i = 0; i < loop->n_written; i++)
		ledger_prepare(shell->ledger, JOURNAL_POST, loop->written_ms,
		               &loop->posted.events[i], 0);
	ledger_commit(shell->ledger);
}

/* Put down what the core will be told, before it is: all that the journal takes. */
static size_t
write_journal(struct loop *loop, const struct event *events, size_t n)
{
	struct shell *shell = loop->shell;
	size_t written = 0;

	if (!ledger_has_room(shell->ledger, (uint32_t)n + 1)) {
		flush_actions(loop);
		loop_checkpoint(loop);
	}
	while (written < n && ledger_has_room(shell->ledger, 2))
		ledger_prepare(shell->ledger, JOURNAL_POST, shell->now_ms,
		               &events[written++], 0);
	if (written == n)
		ledger_prepare(shell->ledger, JOURNAL_SETTLE, shell->now_ms, NULL, 0);
	/* All at once: a command to many is in there as a whole or not at all. */
	ledger_commit(shell->ledger);
	return written;
}

/*
 * What happened is dated to the end of its millisecond, what is due to the beginning:
 * so no delay is ever shorter than it should be.
 */
static void
set_time(struct shell *shell, bool something_happened)
{
	uint64_t now_ns = clock_mono_ns() + (something_happened ? 999999 : 0);

	if (now_ns / 1000000 > shell->now_ms)
		shell->now_ms = now_ns / 1000000;
}

/*
 * Write the posted events to the journal, so that their sources need not keep them any
 * longer. false: the journal has no room before the turn is over.
 */
static bool
write_early(struct loop *loop)
{
	struct shell *shell = loop->shell;
	const size_t n = loop->posted.n - loop->n_written;
	struct event *events;

	/* Room to sort them. */
	if (queue_reserve(&loop->stepping, loop->posted.cap) < 0)
		return false;
	events = loop->posted.events + loop->n_written;
	if (loop->n_written == 0) {
		set_time(shell, true);
		loop->written_ms = shell->now_ms;
	}
	/* Room for the end of the turn, too. */
	if (!ledger_has_room(shell->ledger, (uint32_t)n + 1)) {
		if (loop->n_written > 0)
			return false;
		loop_checkpoint(loop);
		if (!ledger_has_room(shell->ledger, (uint32_t)n + 1))
			return false;
	}
	queue_sort_ends(shell->core, events, n, loop->stepping.events);
	for (size_t i = 0; i < n; i++)
		ledger_prepare(shell->ledger, JOURNAL_POST, loop->written_ms, &events[i],
		               0);
	ledger_commit(shell->ledger);
	loop->n_written = loop->posted.n;
	return true;
}

bool
shell_post_surely(struct shell *shell, const struct event *events, size_t n)
{
	struct loop *loop = shell->turn;
	const struct queue before = loop->posted;

	/* Actions that are being performed belong to a turn without its end in the
	 * journal. */
	ASSERT(loop->actions.n == 0);
	if (!shell_has_room(shell, n))
		return false;
	for (size_t i = 0; i < n; i++)
		shell_post(shell, &events[i]);
	if (write_early(loop))
		return true;
	loop->posted.n = before.n;
	loop->posted.n_said = before.n_said;
	return false;
}

static void
step(struct loop *loop)
{
	struct shell *shell = loop->shell;
	const struct queue queue = loop->posted;
	struct event *events = queue.events;
	const size_t n = queue.n;
	size_t at = loop->n_written;

	/* Performing posts: into the other array. */
	loop->posted = loop->stepping;
	loop->stepping = queue;
	queue_clear(&loop->posted);
	if (queue_reserve(&loop->posted, queue.cap) < 0)
		memory_give_up();
	loop->n_written = 0;
	shell->n_turns++;
	for (size_t i = 0; i < at; i++)
		(void)post_one(loop, loop->written_ms, &events[i]);
	queue_sort_ends(shell->core, events + at, n - at, loop->posted.events);
	do {
		size_t written = write_journal(loop, events + at, n - at);

		for (size_t end = at + written; at < end; at++)
			(void)post_one(loop, shell->now_ms, &events[at]);
	} while (at < n);
	settle(loop, shell->now_ms);
}

int
loop_replay(struct loop *loop)
{
	struct shell *shell = loop->shell;
	const uint32_t n = ledger_entries(shell->ledger);

	shell->n_actions = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct journal_entry *entry = ledger_entry(shell->ledger, i);

		if (entry == NULL)
			return -EBADMSG;
		shell->now_ms = entry->now_ms;
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
	struct shell *shell = loop->shell;
	uint64_t due_ms = core_deadline(shell->core);
	int64_t left_ns;

	ev_timer_stop(shell->loop, &loop->timer);
	/* A call that waited its turn behind another one may have posted just now. */
	if (loop->posted.n > 0 || due_ms <= shell->now_ms ||
	    control_is_waiting(shell->control)) {
		ev_idle_start(shell->loop, &loop->idle);
		return;
	}
	if (due_ms == UINT64_MAX) {
		ev_idle_stop(shell->loop, &loop->idle);
		return;
	}
	ev_idle_stop(shell->loop, &loop->idle);
	left_ns = (int64_t)(due_ms * 1000000 - clock_mono_ns());
	ev_timer_set(&loop->timer, left_ns > 0 ? (double)left_ns / 1e9 : 0., 0.);
	ev_timer_start(shell->loop, &loop->timer);
}

/* Step until nothing is posted any more. */
static void
step_all(struct loop *loop)
{
	struct shell *shell = loop->shell;

	while (loop->posted.n > 0 && !shell->exiting) {
		step(loop);
		set_time(shell, loop->posted.n > 0);
	}
}

static void
on_prepare(struct ev_loop *ev, ev_prepare *watcher, int revents)
{
	const struct event tick = {.kind = EVENT_TICK, .ref = REF_NONE};
	struct loop *loop = watcher->data;
	struct shell *shell = loop->shell;
	bool is_due;

	(void)revents;
	set_time(shell, false);
	/* What was put down early is dated ahead. */
	is_due = core_deadline(shell->core) <=
	         (loop->n_written > 0 ? clock_mono_ms() : shell->now_ms);
	set_time(shell, loop->posted.n > 0);
	if (is_due)
		shell_post(shell, &tick);
	step_all(loop);
	/* A restart without a delay is due by now, and no poll comes before it.  But only
	 * so once a turn: what is due again and again must not keep others waiting. */
	if (!shell->exiting && core_deadline(shell->core) <= shell->now_ms) {
		shell_post(shell, &tick);
		step_all(loop);
	}
	tasks_on_turn(shell->tasks);
	procs_on_turn(shell->procs);
	/* One complete turn proves this guardian works: tell the walker to drop the
	 * handover copies. */
	if (shell->handover != NULL)
		keeper_settled(shell);
	additions_on_turn(shell);
	helpers_on_turn(shell->helpers);
	prober_on_turn(shell->prober);
	letters_on_turn(shell->letters);
	systemd_on_turn(shell);
	trial_on_turn(shell->trial);
	control_on_turn(shell->control);
	/* Upgrade only with an empty journal, so the new binary repeats no decision. */
	if (loop->posted.n == 0)
		control_upgrade_if_due(shell->control);
	if (shell->exiting) {
		ev_break(ev, EVBREAK_ALL);
		return;
	}
	/* libev's own idea of now is from before the turn. */
	ev_now_update(ev);
	arm(loop);
}

/* Before all callbacks: what they do is dated to now, not to before the sleep. */
static void
on_check(struct ev_loop *ev, ev_check *watcher, int revents)
{
	(void)ev;
	(void)revents;
	set_time(watcher->data, false);
}

static void
on_nothing(struct ev_loop *ev, ev_timer *watcher, int revents)
{
	/* Waking up is all: the turn does the rest. */
	(void)ev;
	(void)watcher;
	(void)revents;
}

static void
on_idle(struct ev_loop *ev, ev_idle *watcher, int revents)
{
	(void)ev;
	(void)watcher;
	(void)revents;
}

static void
on_far_away(struct ev_loop *ev, ev_periodic *watcher, int revents)
{
	(void)ev;
	(void)watcher;
	(void)revents;
}

struct loop *
loop_new(struct shell *shell, struct err *err)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL) {
		err_set(err, ENOMEM, "event loop");
		return NULL;
	}
	loop->shell = shell;
	ev_prepare_init(&loop->prepare, on_prepare);
	loop->prepare.data = loop;
	ev_prepare_start(shell->loop, &loop->prepare);
	ev_check_init(&loop->check, on_check);
	ev_set_priority(&loop->check, EV_MAXPRI);
	loop->check.data = shell;
	ev_check_start(shell->loop, &loop->check);
	ev_timer_init(&loop->timer, on_nothing, 0., 0.);
	ev_idle_init(&loop->idle, on_idle);
	/* Without a periodic libev wakes every minute to look at the wall clock; with one
	 * that is far away it does not. */
	ev_periodic_init(&loop->far_away, on_far_away, ev_now(shell->loop) + 1e9, 0., 0);
	ev_periodic_start(shell->loop, &loop->far_away);
	clock_ignore_steps();
	return loop;
}

void
loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	queue_done(&loop->posted);
	queue_done(&loop->stepping);
	free(loop);
}

void
loop_run(struct loop *loop)
{
	while (!loop->shell->exiting)
		(void)ev_run(loop->shell->loop, 0);
}
