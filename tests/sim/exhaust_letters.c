/* SPDX-License-Identifier: ISC */
/* exhaust_letters.c - the letters: what can happen next to a small tree. */
#include "config.h"

#include "base/units.h"
#include "tests/sim/exhaust.h"

static bool
end(struct explorer *explorer, const struct witnessed *node, int code, bool gone)
{
	struct event event = {
	    .kind = EVENT_EXITED, .ref = node->ref, .code = code, .gone = gone};

	if (!node->process.there || !node->process.spawned || node->process.main_dead)
		return false;
	event.life = node->process.life;
	explorer_give(explorer, &event);
	if (!gone) {
		event.kind = EVENT_GONE;
		explorer_expect(explorer, event);
	}
	return true;
}

/* The first two that live die together. */
static bool
pair(struct explorer *explorer)
{
	const struct witnessed *two[2];
	uint32_t n = 0;

	for (uint32_t i = CORE_USER + 1; i < NODES_MAX && n < 2; i++) {
		const struct witnessed *node = &explorer->run.witness.nodes[i];

		if (node->used && node->process.there && node->process.spawned &&
		    !node->process.main_dead)
			two[n++] = node;
	}
	if (n < 2)
		return false;
	if (core_compare_order(explorer->run.rig.core, two[0]->ref, two[1]->ref) > 0) {
		const struct witnessed *swap = two[0];

		two[0] = two[1];
		two[1] = swap;
	}
	return end(explorer, two[0], 1, true) && end(explorer, two[1], 1, true);
}

static bool
command(struct explorer *explorer, const struct witnessed *node, enum event_kind kind,
        bool hold)
{
	const struct event event = {.kind = kind,
	                            .ref = node->ref,
	                            .hold = hold,
	                            .token = ++explorer->branch.token};
	struct node_view view;

	if (!core_valid(explorer->run.rig.core, node->ref))
		return false;
	view = rig_view(&explorer->run.rig, node->ref);
	if (kind == EVENT_START && view.state == STATE_RUNNING)
		return false;
	if (kind == EVENT_KILL && view.state != STATE_RUNNING &&
	    view.state != STATE_STARTING)
		return false;
	explorer_give(explorer, &event);
	return true;
}

static bool
change(struct explorer *explorer, enum op_kind kind, struct ref ref)
{
	const struct op op = {.kind = kind,
	                      .now_ms = explorer->run.rig.now_ms,
	                      .ref = ref,
	                      .before = REF_NONE,
	                      .spec = explorer->spare};
	struct core_size room;

	core_room(explorer->run.rig.core, &room);
	if (kind == OP_ADD && explorer->run.rig.size.nodes - room.nodes >= NODES_MAX - 1)
		return false;
	return run_op(&explorer->run, &op);
}

static bool
for_whom(struct explorer *explorer, enum letter letter, const struct witnessed *node)
{
	if (!node->used || !core_valid(explorer->run.rig.core, node->ref))
		return false;
	switch (letter) {
	case LETTER_NORMAL:
		return end(explorer, node, 0, true);
	case LETTER_ABNORMAL:
		return end(explorer, node, 1, true);
	case LETTER_LEFTOVER:
		return explorer->slow && end(explorer, node, 1, false);
	case LETTER_STOP:
	case LETTER_HOLD:
		return command(explorer, node, EVENT_STOP, letter == LETTER_HOLD);
	case LETTER_START:
		return command(explorer, node, EVENT_START, false);
	case LETTER_RESTART:
		return command(explorer, node, EVENT_RESTART, false);
	case LETTER_DELETE:
		return change(explorer, OP_REMOVE, node->ref);
	case LETTER_KILL:
		return command(explorer, node, EVENT_KILL, false);
	case LETTER_PAIR:
	case LETTER_ADD:
	case LETTER_BREAK:
	case LETTER_NEXT:
	case LETTER_SECOND:
	case LETTER_TIMER:
	case LETTER_MAX:
		break;
	}
	return false;
}

/* The clock goes to the next timer, as far as an actor could wait. */
bool
explorer_timer(struct explorer *explorer)
{
	uint64_t due_ms = core_deadline(explorer->run.rig.core);

	if (due_ms == DURATION_INFINITE)
		return false;
	if (due_ms > explorer->run.rig.now_ms)
		explorer->run.rig.now_ms = due_ms;
	explorer_tick(explorer);
	return true;
}

/* Carry out a letter; false: the letter means nothing in this state. */
bool
explorer_play(struct explorer *explorer, enum letter letter, uint32_t whom)
{
	struct branch *branch = &explorer->branch;

	switch (letter) {
	case LETTER_PAIR:
		if (!pair(explorer))
			return false;
		break;
	case LETTER_ADD:
		if (!change(explorer, OP_ADD,
		            core_ref(explorer->run.rig.core, CORE_USER)))
			return false;
		break;
	case LETTER_BREAK:
		if (branch->breaks)
			return false;
		branch->breaks = true;
		return true;
	case LETTER_NEXT:
		return branch->n_pending > 0 && explorer_happen(explorer, 0);
	case LETTER_SECOND:
		return branch->n_pending > 1 && explorer_happen(explorer, 1);
	case LETTER_TIMER:
		if (!explorer_timer(explorer))
			return false;
		break;
	case LETTER_NORMAL:
	case LETTER_ABNORMAL:
	case LETTER_LEFTOVER:
	case LETTER_STOP:
	case LETTER_HOLD:
	case LETTER_START:
	case LETTER_RESTART:
	case LETTER_DELETE:
	case LETTER_KILL:
	case LETTER_MAX:
		if (!for_whom(explorer, letter, &explorer->run.witness.nodes[whom]))
			return false;
		break;
	}
	explorer_settle(explorer);
	if (!explorer->slow)
		explorer_answer_all(explorer);
	return true;
}
