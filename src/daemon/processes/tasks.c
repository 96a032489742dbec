/* SPDX-License-Identifier: ISC */
/* tasks.c - tasks of actors: ordered, waiting for their turn, told. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/units.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/events.h"
#include "daemon/state/post.h"
#include "os/self/fd.h"

/* What the event of a failed task comes of: this and its place, of no action ever. */
#define NO_ACTION ((uint64_t)UINT32_MAX << 32)

static struct task *
find_task(struct tasks *tasks, struct ref ref, enum task_kind kind)
{
	uint32_t place;

	return map_get(&tasks->owners, task_key(ref, kind), &place) ? &tasks->at[place]
	                                                            : NULL;
}

/* ---- the result -------------------------------------------------------------------- */

const char *
tasks_failed_step(const struct tasks *tasks, struct ref ref, enum task_kind kind)
{
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		const struct task *task = &tasks->at[place];

		if (task->order.ref.slot == ref.slot &&
		    task->order.ref.tenant == ref.tenant && task->order.kind == kind &&
		    task->result.error != 0)
			return spawn_step_names[task->result.step];
	}
	return "";
}

/*
 * The number of the event is put down before the event is there: so of a failure that was
 * in hand at a crash it is known whether it is in the stream.
 */
uint64_t
tasks_tell_by(struct tasks *tasks, const struct task_order *order)
{
	const struct events *events = tasks->room->events;
	struct task *task = find_task(tasks, order->ref, order->kind);

	if (task == NULL)
		return NO_ACTION;
	uint64_t by = NO_ACTION + (uint64_t)(task - tasks->at);
	if (task->result.told_seq != 0 && events_by(events, task->result.told_seq) == by)
		return 0;
	task->result.told_seq = events->next_seq;
	task_record(tasks, task);
	return by;
}

static void
tell_core(struct tasks *tasks, enum event_kind kind, const struct task_order *order,
          const struct task_result *result)
{
	const struct cause cause = task_cause(result);
	struct event event = {
	    .kind = kind,
	    .ref = order->ref,
	    .life = order->life,
	    .code = cause.code,
	    .signal = cause.signal,
	    .core = cause.core,
	    .error = cause.error,
	    .serial = order->serial,
	    .late = result->is_late,
	};

	memcpy(event.key, cause.key, sizeof(event.key));
	post_event(tasks->room->post, &event);
}

/* Tell the core, or the owner of what the core does not know of. */
static void
tell_result(struct tasks *tasks, const struct task_order *order,
            const struct task_result *result)
{
	if (order->kind == TASK_HOOK)
		tell_core(tasks, EVENT_HOOK_DONE, order, result);
	else if (order->kind == TASK_RUN)
		tell_core(tasks, EVENT_REACT_DONE, order, result);
	else
		tasks->on_done(tasks->room, order, result);
}

/* It is over, and nothing of it is left: its place is free when that is known for good.
 */
void
tasks_finish(struct tasks *tasks, struct task *task)
{
	const struct task_order order = task->order;
	const struct task_result result = task->result;

	ASSERT(!task->told);
	task->told = true;
	tasks->n_told++;
	if (actors_get(tasks->actors, order.ref) != NULL)
		tell_result(tasks, &order, &result);
	map_remove(&tasks->owners, task_key(order.ref, order.kind));
}

/* ---- what waits -------------------------------------------------------------------- */

static int
grow_queue(struct tasks *tasks)
{
	const uint32_t cap = tasks->queued_cap == 0 ? 64 : 2 * tasks->queued_cap;

	if (!ARRAY_RESIZE(tasks->queued, cap))
		return -ENOMEM;
	for (uint32_t i = tasks->queued_cap; i < cap; i++) {
		tasks->queued[i].next = tasks->free;
		tasks->free = i;
	}
	tasks->queued_cap = cap;
	return 0;
}

static int
queue_add(struct tasks *tasks, const struct task_order *order)
{
	const uint64_t key = task_key(order->ref, order->kind);
	uint32_t at;
	int r = 0;

	if (map_get(&tasks->waiting, key, &at)) {
		tasks->queued[at].order = *order;
		return 0;
	}
	if (tasks->free == TASKS_NONE)
		r = grow_queue(tasks);
	if (r == 0)
		r = map_put(&tasks->waiting, key, tasks->free);
	if (r < 0)
		return r;
	at = tasks->free;
	tasks->free = tasks->queued[at].next;
	tasks->queued[at] = (struct queued_task){
	    .order = *order, .next = TASKS_NONE, .prev = tasks->last};
	if (tasks->last != TASKS_NONE)
		tasks->queued[tasks->last].next = at;
	else
		tasks->first = at;
	tasks->last = at;
	return 0;
}

static void
queue_remove(struct tasks *tasks, uint32_t at)
{
	struct queued_task *queued = &tasks->queued[at];

	map_remove(&tasks->waiting, task_key(queued->order.ref, queued->order.kind));
	if (queued->prev != TASKS_NONE)
		tasks->queued[queued->prev].next = queued->next;
	else
		tasks->first = queued->next;
	if (queued->next != TASKS_NONE)
		tasks->queued[queued->next].prev = queued->prev;
	else
		tasks->last = queued->prev;
	queued->next = tasks->free;
	tasks->free = at;
}

/* It waited, and will not be done: false, there was none. */
static bool
cancel(struct tasks *tasks, struct ref ref, enum task_kind kind)
{
	uint32_t at;

	if (!map_get(&tasks->waiting, task_key(ref, kind), &at))
		return false;
	queue_remove(tasks, at);
	return true;
}

static struct task *
free_place(struct tasks *tasks)
{
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++)
		if (!task_is_used(&tasks->at[place]))
			return &tasks->at[place];
	return NULL;
}

/* Start what waits, as far as there are places. */
static void
start_waiting(struct tasks *tasks)
{
	uint32_t at = tasks->first;

	while (at != TASKS_NONE && tasks->n < LEDGER_TASKS_MAX) {
		const struct task_order order = tasks->queued[at].order;
		const uint32_t next = tasks->queued[at].next;
		struct task *task = free_place(tasks);

		if (find_task(tasks, order.ref, order.kind) == NULL) {
			queue_remove(tasks, at);
			task->order = order;
			tasks_start(tasks, task);
		}
		at = next;
	}
	tasks_arm(tasks);
}

/* ---- the door ---------------------------------------------------------------------- */

void
tasks_order(struct tasks *tasks, const struct task_order *order)
{
	struct task *task = find_task(tasks, order->ref, order->kind);

	if (task != NULL && order->serial != 0 && task->order.serial == order->serial)
		return;
	int r = queue_add(tasks, order);
	if (r < 0)
		tell_result(
		    tasks, order,
		    &(const struct task_result){.step = SPAWN_STEP_CLONE, .error = -r});
	else if (tasks->n < LEDGER_TASKS_MAX)
		start_waiting(tasks);
}

void
tasks_hook(struct tasks *tasks, const struct action *action)
{
	_Static_assert((int)TASK_ON_STOP == (int)HOOK_REASON_STOP, "reasons differ");
	if (action->kind == ACTION_HOOK)
		tasks_order(tasks,
		            &(const struct task_order){
		                .ref = action->ref,
		                .kind = TASK_HOOK,
		                .which = (uint8_t)action->call.hook,
		                .reason = (enum task_reason)action->call.reason,
		                .serial = action->serial,
		                .life = action->life,
		                .timeout_ms = DURATION_INFINITE, /* the core counts */
		                .cause = action->cause,
		            });
	else
		tasks_kill(tasks, action->ref, TASK_HOOK, true);
}

void
tasks_react(struct tasks *tasks, const struct action *action)
{
	const struct actor *actor = actors_get(tasks->actors, action->ref);

	tasks_order(tasks,
	            &(const struct task_order){
	                .ref = action->ref,
	                .kind = TASK_RUN,
	                .reason = TASK_ON_TERMINATED,
	                .serial = action->serial,
	                .life = action->life,
	                .timeout_ms = actor == NULL
	                                  ? DURATION_INFINITE
	                                  : actor->conf->spec->core.hook_timeout_ms,
	                .cause = action->cause,
	            });
}

void
tasks_kill(struct tasks *tasks, struct ref ref, enum task_kind kind, bool is_late)
{
	struct task *task = find_task(tasks, ref, kind);
	uint32_t at;

	if (map_get(&tasks->waiting, task_key(ref, kind), &at)) {
		const struct task_order order = tasks->queued[at].order;

		queue_remove(tasks, at);
		tell_result(tasks, &order,
		            &(const struct task_result){.is_late = is_late,
		                                        .step = SPAWN_STEP_CLONE,
		                                        .error = ECANCELED});
	}
	if (task != NULL)
		task_kill(tasks, task, is_late);
}

void
tasks_keep_only(struct tasks *tasks, struct ref ref, enum task_kind kind, uint32_t serial)
{
	struct task *task = find_task(tasks, ref, kind);
	uint32_t at;

	if (map_get(&tasks->waiting, task_key(ref, kind), &at) &&
	    tasks->queued[at].order.serial != serial)
		(void)cancel(tasks, ref, kind);
	if (task != NULL && task->order.serial != serial)
		task_kill(tasks, task, false);
}

void
tasks_end_life(struct tasks *tasks, struct ref ref)
{
	static const enum task_kind useless[] = {TASK_RELOAD, TASK_PROBE};

	(void)cancel(tasks, ref, TASK_STOP);
	for (size_t i = 0; i < ARRAY_SIZE(useless); i++) {
		struct task *task = find_task(tasks, ref, useless[i]);

		(void)cancel(tasks, ref, useless[i]);
		if (task != NULL)
			task_kill(tasks, task, false);
	}
}

bool
tasks_hold(const struct tasks *tasks, struct ref ref)
{
	return tasks->n > tasks->n_told &&
	       (tasks_run(tasks, ref, TASK_STOP) || tasks_run(tasks, ref, TASK_RELOAD) ||
	        tasks_run(tasks, ref, TASK_PROBE));
}

bool
tasks_run(const struct tasks *tasks, struct ref ref, enum task_kind kind)
{
	uint32_t place;

	return map_get(&tasks->owners, task_key(ref, kind), &place);
}

void
tasks_forget(struct tasks *tasks, struct ref ref)
{
	for (int kind = 0; kind < TASK_KIND_MAX; kind++) {
		struct task *task = find_task(tasks, ref, (enum task_kind)kind);

		(void)cancel(tasks, ref, (enum task_kind)kind);
		if (task != NULL)
			task_kill(tasks, task, false);
	}
}

void
tasks_on_turn(struct tasks *tasks)
{
	if (tasks->n_told == 0)
		return;
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		struct task *task = &tasks->at[place];

		if (task_is_used(task) && task->told && !task->is_left) {
			*task = (struct task){
			    .order.ref = REF_NONE,
			    .child = {.pidfd = -1,
			              .containment = task->child.containment}};
			task_record(tasks, task);
			tasks->n--;
		}
	}
	tasks->n_told = 0;
	start_waiting(tasks);
}

struct tasks *
tasks_new(struct processes *room, tasks_done *on_done, struct err *err)
{
	struct tasks *tasks = err_calloc(sizeof(*tasks), err, "table of tasks");

	if (tasks == NULL)
		return NULL;
	tasks->room = room;
	tasks->loop = room->loop;
	tasks->actors = room->actors;
	tasks->cgroups = room->cgroups;
	tasks->on_done = on_done;
	tasks->first = tasks->last = tasks->free = TASKS_NONE;
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		tasks->at[place] =
		    (struct task){.order.ref = REF_NONE, .child.pidfd = -1};
		containment_init(&tasks->at[place].child.containment);
	}
	if (map_reserve(&tasks->owners, LEDGER_TASKS_MAX) < 0 ||
	    map_reserve(&tasks->waiting, 1) < 0) {
		err_set(err, ENOMEM, "table of tasks");
		tasks_free(tasks);
		return NULL;
	}
	tasks_watch(tasks);
	return tasks;
}

/* What still runs goes on. */
void
tasks_free(struct tasks *tasks)
{
	if (tasks == NULL)
		return;
	ev_timer_stop(tasks->loop, &tasks->timer);
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		(void)containment_close(&tasks->at[place].child.containment,
		                        tasks->cgroups);
		fd_close(&tasks->at[place].child.pidfd);
	}
	map_done(&tasks->owners);
	map_done(&tasks->waiting);
	free(tasks->queued);
	free(tasks);
}
