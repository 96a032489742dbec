/* SPDX-License-Identifier: ISC */
/* run.c - give inputs to a core and its witness, made up or from a tape. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

#define RUN_NODES_MAX (SIM_NODES_MAX - 8)
#define MOVE_EVERY    16 /* turns of a replay */

/* An empty core on a tape that is new or, replaying, already there. */
void
run_begin(struct run *run, struct tape *tape, bool replaying)
{
	memset(run, 0, sizeof(*run));
	run->tape = tape;
	run->replaying = replaying;
	if (!replaying) {
		tape->n_ops = 0;
		tape->n_specs = 0;
	}
	tape->wrong[0] = '\0';
	rig_init(&run->rig, 4, tape->seed);
	witness_init(&run->witness, &run->rig, tape);
}

/* What was seen goes to the tape. */
void
run_end(struct run *run)
{
	run->tape->hash = run->witness.hash;
	memcpy(run->tape->wrong, run->witness.wrong, sizeof(run->tape->wrong));
	witness_done(&run->witness);
	rig_done(&run->rig);
}

/* Is the name free, but for actors that go or are hidden? */
bool
run_name_is_free(const struct run *run, uint64_t name)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX && name != 0; i++) {
		const struct witnessed *node = &run->witness.nodes[i];

		if (node->used && node->name == name && !node->removing)
			return false;
	}
	return true;
}

/* Is it one of the file's, and of this supervisor? */
static bool
is_place(const struct run *run, struct ref ref, struct ref parent)
{
	return core_valid(run->rig.core, ref) &&
	       !rig_view(&run->rig, ref).growth.is_added &&
	       ref_equal(core_parent(run->rig.core, ref), parent);
}

static bool
can_add(const struct run *run, const struct op *op)
{
	const struct core *core = run->rig.core;
	struct core_size room;
	struct node_view view;

	core_room(core, &room);
	if (run->rig.size.nodes - room.nodes >= RUN_NODES_MAX ||
	    !core_valid(core, op->ref) || !run_name_is_free(run, op->name))
		return false;
	view = rig_view(&run->rig, op->ref);
	if (view.kind == NODE_WORKER || view.growth.removing ||
	    view.depth + 1 > SIM_DEPTH_MAX)
		return false;
	return op->before.slot == UINT32_MAX || is_place(run, op->before, op->ref);
}

/* Have all that come with this command names that are free, and a place? */
static bool
can_join(const struct run *run, const struct op *op)
{
	const struct core *core = run->rig.core;
	struct core_size room;

	core_room(core, &room);
	if (op->n_added == 0 ||
	    run->rig.size.nodes - room.nodes + op->n_added > RUN_NODES_MAX)
		return false;
	for (uint32_t i = 0; i < op->n_added; i++) {
		if (!run_name_is_free(run, op->added[i].name))
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (op->added[k].name != 0 &&
			    op->added[k].name == op->added[i].name)
				return false;
	}
	return !core_valid(core, op->event.ref) ||
	       rig_view(&run->rig, op->event.ref).depth + op->n_added <= SIM_DEPTH_MAX;
}

/* Was the actor deleted, or did it end as a temporary child, below a present supervisor?
 */
static bool
can_come_back(const struct run *run, struct ref ref)
{
	const struct witnessed *node = &run->witness.nodes[ref.slot % SIM_NODES_MAX];
	const struct witnessed *parent = &run->witness.nodes[node->parent];

	return node->used && ref_equal(node->ref, ref) && parent->used &&
	       !core_valid(run->rig.core, ref) &&
	       core_valid(run->rig.core, parent->ref) && !parent->removing;
}

/* Could the daemon ask for this?  A shortened tape asks for much that it could not. */
static bool
is_possible(const struct run *run, const struct op *op)
{
	const struct core *core = run->rig.core;
	const struct sim_spec *spec = &run->tape->specs[op->spec];

	switch (op->kind) {
	case OP_POST:
		return op->event.kind != EVENT_ADD || can_join(run, op);
	case OP_SETTLE:
	case OP_MOVE:
		return true;
	case OP_RESTORE:
		return op->ref.slot > CORE_USER && can_come_back(run, op->ref);
	case OP_ADD:
		return can_add(run, op);
	case OP_UPDATE:
		return core_valid(core, op->ref) && op->ref.slot != CORE_ROOT &&
		       rig_view(&run->rig, op->ref).kind == spec->spec.kind;
	case OP_REMOVE:
	case OP_BOUNCE:
		return core_valid(core, op->ref) && op->ref.slot > CORE_USER &&
		       !rig_view(&run->rig, op->ref).growth.removing;
	case OP_PLACE:
		return core_valid(core, op->ref) && op->ref.slot > CORE_USER &&
		       !ref_equal(op->ref, op->before) &&
		       is_place(run, op->ref, core_parent(core, op->ref)) &&
		       (op->before.slot == UINT32_MAX ||
		        is_place(run, op->before, core_parent(core, op->ref)));
	}
	return false;
}

/* The event, with the specifications that it brings along. */
static void
post(struct run *run, const struct op *op)
{
	struct spec named[SIM_ADDED];
	struct addition addition = {.n = op->n_added};
	struct event event = op->event;

	for (uint32_t i = 0; i < op->n_added; i++) {
		named[i] = run->tape->specs[op->added[i].spec].spec;
		named[i].name = op->added[i].name;
		addition.at[i].spec = &named[i];
		addition.at[i].parent = op->added[i].parent;
	}
	if (event.kind == EVENT_ADD) {
		event.addition = &addition;
		rig_make_room_for(&run->rig, &addition);
	}
	rig_post(&run->rig, &event);
}

static void
apply(struct run *run, const struct op *op)
{
	struct rig *rig = &run->rig;
	const struct spec *spec = &run->tape->specs[op->spec].spec;
	struct spec named = *spec;
	struct ref ref;

	switch (op->kind) {
	case OP_POST:
		post(run, op);
		run->open = true;
		break;
	case OP_SETTLE:
		rig_settle(rig);
		run->open = false;
		run->turns++;
		break;
	case OP_ADD:
		named.name = op->name;
		ref = rig_add(rig, op->ref, op->before, &named);
		witness_added(&run->witness, ref, op->ref, spec, op->name);
		break;
	case OP_UPDATE:
		named.name = run->witness.nodes[op->ref.slot].name;
		rig_update(rig, op->ref, &named);
		break;
	case OP_REMOVE:
		core_remove(rig->core, op->ref, rig->now_ms);
		break;
	case OP_BOUNCE:
		core_restart(rig->core, op->ref, rig->now_ms);
		break;
	case OP_PLACE:
		core_place_before(rig->core, op->ref, op->before);
		break;
	case OP_RESTORE:
		core_restore(rig->core, op->ref, rig->now_ms);
		break;
	case OP_MOVE:
		rig_move(rig);
		break;
	}
}

/* The act of the world for this action. */
static void
keep_work(struct run *run)
{
	for (size_t i = 0; i < run->rig.n_log && !run->replaying; i++) {
		const struct action *action = &run->rig.log[i];

		if (action->kind != ACTION_SPAWN && action->kind != ACTION_STOP &&
		    action->kind != ACTION_KILL && action->kind != ACTION_HOOK &&
		    action->kind != ACTION_HOOK_KILL && action->kind != ACTION_FREEZE &&
		    action->kind != ACTION_THAW && action->kind != ACTION_REACT &&
		    action->kind != ACTION_PROBE && action->kind != ACTION_CONTINUE &&
		    action->kind != ACTION_LISTEN)
			continue;
		if (run->n_work == RUN_WORK_MAX)
			witness_blame(&run->witness, "too much to do in one turn");
		else
			run->work[run->n_work++] = *action;
	}
}

/* One input; false: something is wrong, or the input was not possible. */
bool
run_op(struct run *run, const struct op *op)
{
	struct tape *tape = run->tape;

	if (!is_possible(run, op))
		return false;
	if (!run->replaying) {
		if (tape->n_ops == SIM_OPS_MAX) {
			witness_blame(&run->witness, "I35 the run never ends");
			return false;
		}
		tape->ops[tape->n_ops++] = *op;
	}
	if (op->now_ms > run->rig.now_ms)
		run->rig.now_ms = op->now_ms;
	witness_before(&run->witness);
	witness_op(&run->witness, op, &tape->specs[op->spec].spec);
	if (tape->verbose)
		op_print(op, 1000);
	apply(run, op);
	for (size_t i = 0; tape->verbose && i < run->rig.n_log; i++)
		action_print(&run->rig.log[i]);
	keep_work(run);
	witness_actions(&run->witness);
	witness_after(&run->witness, op);
	return run->witness.wrong[0] == '\0';
}

bool
run_event(struct run *run, const struct event *event)
{
	const struct op op = {
	    .kind = OP_POST, .now_ms = run->rig.now_ms, .event = *event};

	return run_op(run, &op);
}

bool
run_settle(struct run *run)
{
	const struct op op = {.kind = OP_SETTLE, .now_ms = run->rig.now_ms};

	return run_op(run, &op);
}

/* Where in the pool this specification is. */
uint32_t
run_spec_number(const struct run *run, const struct spec *spec)
{
	return (uint32_t)((const struct sim_spec *)spec - run->tape->specs);
}

/*
 * Give all these inputs to a new core, which is moved to other memory now and then.
 * What is wrong, and the hash of the actions, go to the tape.
 */
void
run_replay(struct tape *tape, const struct op *ops, uint32_t n_ops)
{
	struct run *run = malloc(sizeof(*run));
	uint32_t moved = 0;

	if (run == NULL)
		abort();
	run_begin(run, tape, true);
	for (uint32_t i = 0; i < n_ops && run->witness.wrong[0] == '\0'; i++) {
		bool reload = ops[i].kind != OP_POST && ops[i].kind != OP_SETTLE;

		/* A reload comes between turns, also on a shortened tape. */
		if (reload && run->open)
			(void)run_settle(run);
		(void)run_op(run, &ops[i]);
		if (!run->open && run->turns - moved >= MOVE_EVERY) {
			moved = run->turns;
			rig_move(&run->rig);
		}
	}
	run_end(run);
	free(run);
}
