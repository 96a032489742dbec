/* SPDX-License-Identifier: ISC */
/* prober.c - asks actors whether they are ready, or well, as the core wants to know. */
#include "config.h"

#include "daemon/prober.h"

#include <errno.h>
#include <ev.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/units.h"
#include "daemon/log.h"
#include "daemon/shell.h"
#include "daemon/tasks.h"
#include "probe/probe.h"

/* A question that was put, and is not answered. */
struct asking {
	struct prober *prober;
	struct action action; /* that asked for it; its ref is REF_NONE: a free place */
	struct probe probe;
	struct probe_result result; /* BAD: to be told when the grace is over */
	ev_io io;
	ev_timer retry;
	ev_timer timeout;
};

struct prober {
	struct shell *shell;
	struct asking at[PROBER_MAX];
	uint32_t n;
	struct map by_slot; /* of those that are asked, to their place */
	/* Whose turn has not come: a ring.  Who need not be asked any more is passed
	 * over. */
	struct ref *waiting;
	uint32_t cap, first, n_waiting;
};

/* Whose connection breaks may be about to end: that is known a moment later, and counts
 * more than what became of the probe. */
#define GRACE_MS 20

/* ---- answers ------------------------------------------------------------------------
 */

/* Tell the core; of a bad answer also what was wrong, in one of two ways. */
static void __attribute__((format(printf, 5, 6)))
answer(struct prober *prober, const struct action *action, enum probed probed, int error,
       const char *fmt, ...)
{
	struct shell *shell = prober->shell;
	struct event event = {
	    .kind = EVENT_PROBED,
	    .ref = action->ref,
	    .life = action->life,
	    .serial = action->serial,
	    .code = probed,
	    .error = error,
	};
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(event.key, sizeof(event.key), fmt, ap);
	va_end(ap);
	if (probed != PROBED_GOOD)
		log_line(LOG_LEVEL_DEBUG, "%s: %s: %s%s%s",
		         shell_path(shell, action->ref),
		         action->is_start ? "not ready" : "not well", event.key,
		         event.key[0] != '\0' && error != 0 ? ": " : "",
		         error != 0 ? strerror(error) : "");
	shell_post(shell, &event);
}

static const struct conf_probe *
what_is_asked(const struct prober *prober, const struct action *action)
{
	const struct actor *actor = actors_get(&prober->shell->actors, action->ref);

	if (actor == NULL)
		return NULL;
	return action->is_start ? &actor->conf->process.ready
	                        : &actor->conf->process.health;
}

/* ---- connections --------------------------------------------------------------------
 */

static bool
is_used(const struct asking *asking)
{
	return asking->action.ref.slot != REF_NONE.slot;
}

/* Whatever came of it: the place is free. */
static void
drop(struct asking *asking)
{
	struct prober *prober = asking->prober;
	struct ev_loop *loop = prober->shell->loop;

	ev_io_stop(loop, &asking->io);
	ev_timer_stop(loop, &asking->retry);
	ev_timer_stop(loop, &asking->timeout);
	probe_done(&asking->probe);
	map_remove(&prober->by_slot, asking->action.ref.slot);
	asking->action.ref = REF_NONE;
	prober->n--;
}

static struct asking *
find(struct prober *prober, struct ref ref)
{
	uint32_t place;

	return map_get(&prober->by_slot, ref.slot, &place) ? &prober->at[place] : NULL;
}

/* Wait for what the probe wants. */
static void
watch(struct asking *asking)
{
	struct ev_loop *loop = asking->prober->shell->loop;
	const struct probe *probe = &asking->probe;

	ev_io_stop(loop, &asking->io);
	if (probe->wants == PROBE_WANTS_TIME) {
		ev_timer_set(&asking->retry, PROBE_RETRY_MS / 1e3, 0.);
		ev_timer_start(loop, &asking->retry);
		return;
	}
	ev_io_set(&asking->io, probe->fd,
	          probe->wants == PROBE_WANTS_READ ? EV_READ : EV_WRITE);
	ev_io_start(loop, &asking->io);
}

static void
finish(struct asking *asking)
{
	const struct action action = asking->action;
	const struct probe_result result = asking->result;
	struct prober *prober = asking->prober;

	drop(asking);
	if (result.answer == PROBE_IS_GOOD)
		answer(prober, &action, PROBED_GOOD, 0, "%s", "");
	else if (result.answer == PROBE_IS_NONE)
		answer(prober, &action, PROBED_UNKNOWN, result.error, "%s", "");
	else if (result.status != 0)
		answer(prober, &action, PROBED_BAD, 0, "status %d", result.status);
	else
		answer(prober, &action, PROBED_BAD, result.error, "%s", "");
}

/* What has come of it: it goes on, or it is over, or as good as over. */
static void
take(struct asking *asking)
{
	struct ev_loop *loop = asking->prober->shell->loop;

	if (asking->result.answer == PROBE_GOES_ON) {
		watch(asking);
	} else if (asking->result.answer == PROBE_IS_BAD && asking->result.error != 0) {
		ev_io_stop(loop, &asking->io);
		ev_timer_stop(loop, &asking->timeout);
		ev_timer_set(&asking->retry, GRACE_MS / 1e3, 0.);
		ev_timer_start(loop, &asking->retry);
	} else {
		finish(asking);
	}
}

/* Whose turn it is; false: nobody waits. */
static bool
next_waiting(struct prober *prober, struct action *ret)
{
	while (prober->n_waiting > 0) {
		const struct ref ref = prober->waiting[prober->first];

		prober->first = (prober->first + 1) % prober->cap;
		prober->n_waiting--;
		if (core_valid(prober->shell->core, ref) && find(prober, ref) == NULL &&
		    core_probe(prober->shell->core, ref, ret))
			return true;
	}
	return false;
}

static void begin(struct prober *prober, const struct action *action,
                  const struct conf_probe *what);

/* Places have become free. */
static void
go_on(struct prober *prober)
{
	struct action action;

	while (prober->n < PROBER_MAX && next_waiting(prober, &action)) {
		const struct conf_probe *what = what_is_asked(prober, &action);

		if (what != NULL && what->kind != PROBE_EXEC && what->kind != PROBE_NONE)
			begin(prober, &action, what);
	}
}

static void
on_io(struct ev_loop *loop, ev_io *io, int revents)
{
	struct asking *asking = io->data;
	struct prober *prober = asking->prober;

	(void)loop;
	(void)revents;
	probe_continue(&asking->probe, &asking->result);
	take(asking);
	go_on(prober);
}

static void
on_retry(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct asking *asking = timer->data;
	struct prober *prober = asking->prober;

	(void)loop;
	(void)revents;
	if (asking->result.answer == PROBE_IS_BAD) {
		finish(asking);
	} else {
		probe_continue(&asking->probe, &asking->result);
		take(asking);
	}
	go_on(prober);
}

static void
on_timeout(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct asking *asking = timer->data;
	const struct action action = asking->action;
	struct prober *prober = asking->prober;

	(void)loop;
	(void)revents;
	drop(asking);
	answer(prober, &action, PROBED_BAD, 0, "timeout");
	go_on(prober);
}

static struct asking *
free_place(struct prober *prober)
{
	uint32_t place = 0;

	while (is_used(&prober->at[place]))
		place++;
	return &prober->at[place];
}

/* There is a place for it. */
static void
begin(struct prober *prober, const struct action *action, const struct conf_probe *what)
{
	const struct probe_question question = {
	    .path = what->kind == PROBE_UNIX ? what->address : NULL,
	    .host = what->address,
	    .port = what->port,
	    .resource = what->resource,
	    .name = what->host,
	};
	struct asking *asking = free_place(prober);
	struct ev_loop *loop = prober->shell->loop;

	asking->action = *action;
	prober->n++;
	/* There is room: prober_new(). */
	(void)map_put(&prober->by_slot, action->ref.slot,
	              (uint32_t)(asking - prober->at));
	ev_now_update(loop);
	ev_timer_set(&asking->timeout, (double)what->timeout_ms / 1e3, 0.);
	ev_timer_start(loop, &asking->timeout);
	probe_begin(&asking->probe, &question, &asking->result);
	take(asking);
}

/* Remember it for later; false: there is no room. */
static bool
wait_for_turn(struct prober *prober, struct ref ref)
{
	if (prober->n_waiting == prober->cap) {
		const uint32_t cap = 2 * prober->cap + PROBER_MAX;
		struct ref *larger = NULL;

		/* Each actor once, and some that need it no more. */
		if (prober->cap <= 2 * prober->shell->actors.cap)
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

/* ---- commands -----------------------------------------------------------------------
 */

static void
order(struct prober *prober, const struct action *action, const struct conf_probe *what)
{
	const struct task_order task = {
	    .ref = action->ref,
	    .kind = TASK_PROBE,
	    .which = action->is_start,
	    .reason = action->is_start ? TASK_ON_START : TASK_ON_HEALTH,
	    .serial = action->serial,
	    .life = action->life,
	    .timeout_ms = what->timeout_ms,
	};

	tasks_order(prober->shell->tasks, &task);
}

/* It may be the fault of supd, or of the machine, that it could not be started. */
static bool
is_our_fault(int error)
{
	return err_is_shortage(error) || error == EAGAIN || error == ECANCELED;
}

void
prober_command_ended(struct prober *prober, const struct task_order *task,
                     const struct task_result *result)
{
	const struct action action = {
	    .ref = task->ref,
	    .life = task->life,
	    .serial = task->serial,
	    .is_start = task->which != 0,
	};
	const struct cause cause = task_cause(result);

	if (task_succeeded(result))
		answer(prober, &action, PROBED_GOOD, 0, "%s", "");
	else if (result->is_late)
		answer(prober, &action, PROBED_BAD, 0, "timeout");
	else if (result->error != 0)
		answer(prober, &action,
		       is_our_fault(result->error) ? PROBED_UNKNOWN : PROBED_BAD,
		       result->error, "%s", "");
	else if (cause.signal != 0)
		answer(prober, &action, PROBED_BAD, 0, "%s", signal_name(cause.signal));
	else
		answer(prober, &action, PROBED_BAD, 0, "exit %d", (int)cause.code);
}

/* ---- the door -----------------------------------------------------------------------
 */

void
prober_ask(struct prober *prober, const struct action *action)
{
	const struct conf_probe *what = what_is_asked(prober, action);
	struct asking *before = find(prober, action->ref);

	/* What is to be asked still is known when all is replayed: tasks_adopt(). */
	if (prober->shell->is_replaying)
		return;
	if (before != NULL)
		drop(before);
	if (what == NULL || what->kind == PROBE_NONE)
		answer(prober, action, PROBED_UNKNOWN, 0, "nobody can be asked");
	else if (what->kind == PROBE_EXEC)
		order(prober, action, what);
	else if (prober->n < PROBER_MAX)
		begin(prober, action, what);
	else if (!wait_for_turn(prober, action->ref))
		answer(prober, action, PROBED_UNKNOWN, ENOMEM, "%s", "");
}

void
prober_end_life(struct prober *prober, struct ref ref)
{
	struct asking *asking = find(prober, ref);

	if (asking == NULL)
		return;
	drop(asking);
	go_on(prober);
}

uint64_t
prober_count_fds(const struct conf *conf)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < conf->n_actors && n < PROBER_MAX; i++) {
		const struct conf_process *process = &conf->actors[i].process;

		n += process->ready.address != NULL || process->health.address != NULL;
	}
	return n;
}

struct prober *
prober_new(struct shell *shell, struct err *err)
{
	struct prober *prober = calloc(1, sizeof(*prober));

	if (prober == NULL) {
		err_set(err, ENOMEM, "table of probes");
		return NULL;
	}
	prober->shell = shell;
	map_init(&prober->by_slot);
	for (uint32_t place = 0; place < PROBER_MAX; place++) {
		struct asking *asking = &prober->at[place];

		asking->prober = prober;
		asking->action.ref = REF_NONE;
		probe_init(&asking->probe);
		ev_io_init(&asking->io, on_io, -1, 0);
		ev_timer_init(&asking->retry, on_retry, 0., 0.);
		ev_timer_init(&asking->timeout, on_timeout, 0., 0.);
		asking->io.data = asking->retry.data = asking->timeout.data = asking;
	}
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
