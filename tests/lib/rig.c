/* SPDX-License-Identifier: ISC */
/* rig.c - a core on the bench: its memory, its turns, and all that came out of them. */
#include "config.h"

#include "tests/lib/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define RIG_SETTLES_MAX 100000
#define RIG_ACTIONS_MAX 4000000

static void *
must_alloc(void *old, size_t size)
{
	void *memory = realloc(old, size);

	if (memory == NULL) {
		fputs("Bail out! out of memory\n", stdout);
		exit(99);
	}
	return memory;
}

bool
ref_equal(struct ref a, struct ref b)
{
	return a.slot == b.slot && a.tenant == b.tenant;
}

/* A core with room for `nodes` actors, at time 1000. */
void
rig_init(struct rig *rig, uint32_t nodes, uint64_t seed)
{
	void *memory;

	memset(rig, 0, sizeof(*rig));
	rig->size = (struct core_size){
	    .nodes = nodes, .pool_bytes = 4096, .waiters = 16, .watches = 4};
	rig->now_ms = 1000;
	memory = must_alloc(NULL, core_bytes(&rig->size));
	rig->core = core_init(memory, &rig->size, seed);
}

void
rig_done(struct rig *rig)
{
	free(rig->core);
	free(rig->log);
	memset(rig, 0, sizeof(*rig));
}

/* Move the core to other memory of the rig's size; the old one is overwritten. */
void
rig_move(struct rig *rig)
{
	struct core *old = rig->core;
	void *memory = must_alloc(NULL, core_bytes(&rig->size));

	rig->core = core_move(memory, &rig->size, old);
	memset(old, 0xA5, sizeof(void *));
	free(old);
	rig->moves++;
}

/* Have room for so many more actors, with so many bytes of rules and windows. */
void
rig_make_room(struct rig *rig, uint32_t nodes, uint32_t bytes)
{
	struct core_size room;

	core_room(rig->core, &room);
	if (room.nodes >= nodes && room.pool_bytes >= bytes)
		return;
	/* By a part of what there is: one at a time, a large tree is copied for each. */
	if (room.nodes < nodes)
		rig->size.nodes +=
		    nodes > rig->size.nodes / 4 ? nodes : rig->size.nodes / 4;
	if (room.pool_bytes < bytes)
		rig->size.pool_bytes += bytes * 2 + rig->size.pool_bytes / 32 * 8;
	rig_move(rig);
}

/* Have room for so many more watches. */
void
rig_make_watches(struct rig *rig, uint32_t watches)
{
	struct core_size room;

	core_room(rig->core, &room);
	if (room.watches >= watches)
		return;
	rig->size.watches += watches;
	rig_move(rig);
}

/* At least what core_spec_bytes() asks for below any supervisor of this rig. */
static uint32_t
spec_room(struct rig *rig, const struct spec *spec)
{
	struct spec parent = {.policy.limit = {.on = true}};

	if (spec->policy.limit.restarts > rig->limit_max)
		rig->limit_max = spec->policy.limit.restarts;
	parent.policy.limit.restarts = rig->limit_max;
	return core_spec_bytes(spec, &parent);
}

/* Have room for actors that are added at run time. */
void
rig_make_room_for(struct rig *rig, const struct addition *addition)
{
	uint32_t watches = 0;
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < addition->n; i++) {
		bytes += spec_room(rig, addition->at[i].spec);
		watches += addition->at[i].spec->n_watches;
	}
	rig_make_room(rig, addition->n, bytes);
	rig_make_watches(rig, watches);
}

struct ref
rig_add(struct rig *rig, struct ref parent, struct ref before, const struct spec *spec)
{
	rig_make_room(rig, 1, spec_room(rig, spec));
	rig_make_watches(rig, spec->n_watches);
	return core_add(rig->core, parent, before, spec, rig->now_ms);
}

void
rig_update(struct rig *rig, struct ref ref, const struct spec *spec)
{
	uint32_t bytes = spec_room(rig, spec);
	uint32_t children = rig_view(rig, ref).children;

	bytes += children * rig->limit_max * (uint32_t)sizeof(uint64_t);
	rig_make_room(rig, 0, bytes);
	rig_make_watches(rig, spec->n_watches);
	core_update(rig->core, ref, spec, rig->now_ms);
}

/* /user with this spec, made if it does not exist. */
struct ref
rig_user(struct rig *rig, const struct spec *spec)
{
	struct ref user = core_ref(rig->core, CORE_USER);

	if (!core_valid(rig->core, user))
		return rig_add(rig, core_ref(rig->core, CORE_ROOT), REF_NONE, spec);
	rig_update(rig, user, spec);
	return user;
}

void
rig_forget(struct rig *rig)
{
	rig->n_log = 0;
	rig->answered = 0;
}

static void
rig_take(struct rig *rig)
{
	if (rig->n_log + rig->list.n > rig->cap_log) {
		rig->cap_log = rig->cap_log * 2 + CORE_ACTIONS_MAX;
		rig->log = must_alloc(rig->log, rig->cap_log * sizeof(*rig->log));
	}
	if (rig->n_log > RIG_ACTIONS_MAX && rig->fault == NULL)
		rig->fault = "too many actions";
	if (rig->list.n > 0)
		memcpy(rig->log + rig->n_log, rig->list.at,
		       rig->list.n * sizeof(*rig->log));
	rig->n_log += rig->list.n;
	rig->list.n = 0;
}

static void
rig_check(struct rig *rig)
{
	const char *complaint;

	if (rig->unchecked || rig->fault != NULL)
		return;
	complaint = core_check(rig->core);
	if (complaint != NULL)
		rig->fault = complaint;
}

/* One event of this turn; rig_settle() ends the turn. */
void
rig_post(struct rig *rig, const struct event *event)
{
	core_post(rig->core, rig->now_ms, event, &rig->list);
	if (rig->list.n > CORE_POST_ACTIONS && rig->fault == NULL)
		rig->fault = "core_post: more actions than CORE_POST_ACTIONS";
	rig_take(rig);
	rig_check(rig);
}

void
rig_settle(struct rig *rig)
{
	uint32_t n = 0;

	while (core_settle(rig->core, rig->now_ms, &rig->list)) {
		rig_take(rig);
		rig_check(rig);
		if (++n > RIG_SETTLES_MAX) {
			rig->fault = "core_settle: never says that it is done";
			break;
		}
	}
	rig_take(rig);
	rig_check(rig);
	if (!rig->unchecked && rig->fault == NULL)
		rig->fault = rig_wrong_goal(rig);
}

void
rig_turn(struct rig *rig, const struct event *event)
{
	rig_post(rig, event);
	rig_settle(rig);
}

void
rig_tick(struct rig *rig)
{
	const struct event tick = {.kind = EVENT_TICK, .ref = REF_NONE};

	rig_turn(rig, &tick);
}

/* Let time pass, with a tick at each deadline; false: it ticks without end. */
bool
rig_advance(struct rig *rig, uint64_t to_ms)
{
	uint32_t same = 0;

	while (core_deadline(rig->core) <= to_ms) {
		uint64_t due_ms = core_deadline(rig->core);

		same = due_ms > rig->now_ms ? 0 : same + 1;
		if (same > 1000)
			return false;
		if (due_ms > rig->now_ms)
			rig->now_ms = due_ms;
		rig_tick(rig);
	}
	rig->now_ms = to_ms;
	return true;
}

void
rig_event(struct rig *rig, enum event_kind kind, struct ref ref)
{
	rig_turn(rig, &(struct event){.kind = kind, .ref = ref});
}

void
rig_spawned(struct rig *rig, struct ref ref)
{
	const struct event event = {
	    .kind = EVENT_SPAWNED, .ref = ref, .life = rig_view(rig, ref).process.life};

	rig_turn(rig, &event);
}

void
rig_spawn_fails(struct rig *rig, struct ref ref, int error)
{
	const struct event event = {.kind = EVENT_SPAWN_FAILED,
	                            .ref = ref,
	                            .life = rig_view(rig, ref).process.life,
	                            .error = error,
	                            .key = "setuid"};

	rig_turn(rig, &event);
}

/* Its newest process exits with `code` and leaves nothing behind. */
void
rig_exits(struct rig *rig, struct ref ref, int code)
{
	const struct event event = {.kind = EVENT_EXITED,
	                            .ref = ref,
	                            .life = rig_view(rig, ref).process.life,
	                            .code = code,
	                            .gone = true};

	rig_turn(rig, &event);
}

/* Its newest process is killed by a signal and leaves nothing behind. */
void
rig_dies(struct rig *rig, struct ref ref, int signo, bool core)
{
	const struct event event = {.kind = EVENT_EXITED,
	                            .ref = ref,
	                            .life = rig_view(rig, ref).process.life,
	                            .code = -1,
	                            .signal = signo,
	                            .core = core,
	                            .gone = true};

	rig_turn(rig, &event);
}

/* Answer the requests of the last turns until no more come at this instant: every spawn
 * succeeds, a process that is stopped or killed ends at once. */
void
rig_runs(struct rig *rig)
{
	for (uint32_t n = 0; n < 10000; n++) {
		bool any = false;
		size_t end = rig->n_log;

		for (; rig->answered < end; rig->answered++) {
			const struct action action = rig->log[rig->answered];
			struct event event = {.ref = action.ref, .life = action.life};

			if (action.kind == ACTION_SPAWN) {
				event.kind = EVENT_SPAWNED;
			} else if (action.kind == ACTION_STOP ||
			           action.kind == ACTION_KILL) {
				event.kind = EVENT_EXITED;
				event.code = -1;
				event.signal = action.kind == ACTION_STOP ? 15 : 9;
				event.gone = true;
			} else {
				continue;
			}
			rig_post(rig, &event);
			any = true;
		}
		if (any)
			rig_settle(rig);
		else if (core_deadline(rig->core) <= rig->now_ms)
			rig_tick(rig);
		else
			return;
	}
	rig->fault = "never comes to rest";
}

/* Only whether a restart comes matters: delays end at once. */
void
rig_hurry(struct rig *rig, struct ref ref)
{
	if (rig_view(rig, ref).state == STATE_BACKOFF)
		rig_event(rig, EVENT_START, ref);
	rig_runs(rig);
}

struct node_view
rig_view(const struct rig *rig, struct ref ref)
{
	struct node_view view;

	memset(&view, 0, sizeof(view));
	ASSERT(core_valid(rig->core, ref));
	core_view(rig->core, ref, rig->now_ms, &view);
	return view;
}

/* How many actions of this kind the log has for this actor. */
size_t
rig_count(const struct rig *rig, enum action_kind kind, struct ref ref)
{
	size_t n = 0;

	for (size_t i = 0; i < rig->n_log; i++)
		if (rig->log[i].kind == kind && ref_equal(rig->log[i].ref, ref))
			n++;
	return n;
}

const struct action *
rig_last(const struct rig *rig, enum action_kind kind, struct ref ref)
{
	for (size_t i = rig->n_log; i-- > 0;)
		if (rig->log[i].kind == kind && ref_equal(rig->log[i].ref, ref))
			return &rig->log[i];
	return NULL;
}

/* The newest report of this kind about this actor, or NULL. */
const struct action *
rig_report(const struct rig *rig, enum report report, struct ref ref)
{
	for (size_t i = rig->n_log; i-- > 0;) {
		const struct action *action = &rig->log[i];

		if (action->kind == ACTION_REPORT && action->report == report &&
		    ref_equal(action->ref, ref))
			return action;
	}
	return NULL;
}
