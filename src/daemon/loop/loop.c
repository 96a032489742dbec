/* SPDX-License-Identifier: ISC */
/* loop.c - the turn: collect what happened, step the core, perform, sleep. */
#include "config.h"

#include "daemon/loop/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "daemon/control/control.h"
#include "daemon/loop/perform.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/procs.h"
#include "daemon/processes/tasks.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/trial.h"
#include "daemon/report/systemd.h"
#include "daemon/server/server.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/memory.h"
#include "daemon/state/post.h"
#include "daemon/state/shell.h"
#include "ledger/ledger.h"
#include "os/self/clock.h"

struct loop {
	struct shell *shell;
	struct post *post;
	ev_prepare prepare;
	ev_check check;
	ev_timer timer;
	ev_idle idle;
	ev_periodic far_away;
};

/* ---- one turn ---------------------------------------------------------------------- */

static void
flush_actions(struct loop *loop)
{
	perform(loop->shell, &loop->post->actions);
	loop->post->actions.n = 0;
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
	if (loop->post->actions.n + CORE_POST_ACTIONS > CORE_ACTIONS_MAX)
		flush_actions(loop);
	core_post(loop->shell->core, now_ms, &complete, &loop->post->actions);
	if (queue_is_command(event))
		control_on_posted(loop->shell, event->token);
	standin_touch(loop->shell->standin, event->ref);
	return true;
}

static void
settle(struct loop *loop, uint64_t now_ms)
{
	bool more;

	do {
		if (loop->post->actions.n + CORE_POST_ACTIONS > CORE_ACTIONS_MAX)
			flush_actions(loop);
		more = core_settle(loop->shell->core, now_ms, &loop->post->actions);
		flush_actions(loop);
	} while (more);
}

/* Put down what the core will be told, before it is: all that the journal takes. */
static size_t
write_journal(struct loop *loop, const struct event *events, size_t n)
{
	struct shell *shell = loop->shell;
	size_t written = 0;

	if (!ledger_has_room(shell->ledger, (uint32_t)n + 1)) {
		flush_actions(loop);
		post_checkpoint(loop->shell);
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

static void
step(struct loop *loop)
{
	struct shell *shell = loop->shell;
	const struct queue queue = loop->post->posted;
	struct event *events = queue.events;
	const size_t n = queue.n;
	size_t at = loop->post->n_written;

	/* Performing posts: into the other array. */
	loop->post->posted = loop->post->stepping;
	loop->post->stepping = queue;
	queue_clear(&loop->post->posted);
	if (queue_reserve(&loop->post->posted, queue.cap) < 0)
		memory_give_up();
	loop->post->n_written = 0;
	shell->n_turns++;
	for (size_t i = 0; i < at; i++)
		(void)post_one(loop, loop->post->written_ms, &events[i]);
	queue_sort_ends(shell->core, events + at, n - at, loop->post->posted.events);
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
	if (loop->post->posted.n > 0 || due_ms <= shell->now_ms ||
	    control_is_waiting(shell->control) || procs_wants_turn(shell->procs)) {
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

static void
on_prepare(struct ev_loop *ev, ev_prepare *watcher, int revents)
{
	struct loop *loop = watcher->data;
	struct shell *shell = loop->shell;
	bool is_due;

	(void)revents;
	post_set_time(shell, false);
	/* What was put down early is dated ahead. */
	is_due = core_deadline(shell->core) <=
	         (loop->post->n_written > 0 ? clock_mono_ms() : shell->now_ms);
	post_set_time(shell, loop->post->posted.n > 0);
	if (is_due)
		(void)shell_post(shell,
		                 &(struct event){.kind = EVENT_TICK, .ref = REF_NONE});
	do {
		while (loop->post->posted.n > 0 && !shell->exiting) {
			step(loop);
			post_set_time(shell, loop->post->posted.n > 0);
		}
	} while (!shell->exiting && procs_bear(shell->procs));
	tasks_on_turn(shell->tasks);
	procs_on_turn(shell->procs);
	/* One complete turn proves this guardian works: tell the walker to drop the
	 * handover copies. */
	if (shell->handover != NULL)
		keeper_settled(shell);
	additions_on_turn(shell);
	helpers_on_turn(shell->helpers);
	prober_on_turn(shell->prober);
	standin_on_turn(shell->standin);
	systemd_on_turn(shell);
	trial_on_turn(shell->trial);
	control_on_turn(shell->control);
	/* Upgrade only with an empty journal, so the new binary repeats no decision. */
	if (loop->post->posted.n == 0)
		control_upgrade_if_due(shell->control);
	if (shell->exiting) {
		ev_break(ev, EVBREAK_ALL);
		return;
	}
	/* libev's own idea of now is from before the turn. */
	ev_now_update(ev);
	arm(loop);
	keeper_turn(shell, false);
}

/* Before all callbacks: what they do is dated to now, not to before the sleep; and that a
 * process has begun is told before what it says. */
static void
on_check(struct ev_loop *ev, ev_check *watcher, int revents)
{
	struct shell *shell = watcher->data;

	(void)ev;
	(void)revents;
	keeper_turn(shell, true);
	post_set_time(shell, false);
	procs_look(shell->procs);
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
	loop->post = shell->post;
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
	free(loop);
}

void
loop_run(struct loop *loop)
{
	while (!loop->shell->exiting)
		(void)ev_run(loop->shell->loop, 0);
}
