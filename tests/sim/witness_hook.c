/* SPDX-License-Identifier: ISC */
/* witness_hook.c - what may be asked of hooks: when, how many, and for how long. */
#include "config.h"

#include "base/units.h"
#include "tests/sim/sim.h"

/* Does this hook fit the state of its process? */
static bool
is_in_place(const struct witnessed *node, enum hook hook)
{
	const struct process *process = &node->process;

	switch (hook) {
	case HOOK_PRE_START:
	case HOOK_POST_STOP:
		return !process->there;
	case HOOK_POST_START:
	case HOOK_POST_RESTART:
		return node->spec->kind == NODE_SUPERVISOR || process->ready ||
		       node->spec->start.ready != READY_TOLD;
	case HOOK_PRE_STOP:
		return node->spec->kind == NODE_SUPERVISOR ||
		       (process->there && !process->main_dead && !process->stopped);
	case HOOK_PRE_RESTART:
		return !process->stopped;
	case HOOK_MAX:
		break;
	}
	return false;
}

/* ACTION_HOOK */
void
witness_hook(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (node == NULL) {
		witness_blame(witness, "H1 a hook of somebody unknown");
		return;
	}
	if (node->hook.serial != 0)
		witness_blame(witness, "H1 slot %u has two hooks", node->ref.slot);
	if (action->serial <= witness->serial)
		witness_blame(witness, "H1 slot %u: an old serial", node->ref.slot);
	if (!node->spec_changed && (node->spec->hooks >> action->call.hook & 1) == 0)
		witness_blame(witness, "H2 slot %u has no %s", node->ref.slot,
		              hook_names[action->call.hook]);
	if (!is_in_place(node, action->call.hook))
		witness_blame(witness, "H3 slot %u: a %s now", node->ref.slot,
		              hook_names[action->call.hook]);
	if (action->call.hook == HOOK_PRE_START && node->hold != 0)
		witness_blame(witness, "I4 slot %u is held and starts", node->ref.slot);
	witness->serial = action->serial;
	node->prepared = false;
	if (action->call.hook == HOOK_PRE_START)
		witness_begins(witness, node);
	if (action->call.hook == HOOK_PRE_START)
		witness_check_needs(witness, node);
	node->hook.serial = action->serial;
	node->hook.hook = action->call.hook;
	node->hook.killed = false;
	node->hook.asked = witness->seq;
	node->hook.asked_ms = witness->rig->now_ms;
	/* The process lived long enough; the report comes only after its hook. */
	if ((action->call.hook == HOOK_POST_START ||
	     action->call.hook == HOOK_POST_RESTART) &&
	    node->spec->start.ready == READY_AFTER && node->process.there) {
		node->process.ready = true;
		node->process.ready_ms = witness->rig->now_ms;
	}
	/* The phase of its last process is over. */
	if (action->call.hook == HOOK_PRE_START)
		node->process.barrier = 0;
}

/* ACTION_HOOK_KILL */
void
witness_hook_kill(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);
	struct node_view view;

	if (node == NULL || node->hook.serial == 0 ||
	    node->hook.serial != action->serial || node->hook.killed) {
		witness_blame(witness, "H4 the kill of a hook that does not run");
		return;
	}
	node->hook.killed = true;
	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	if (view.state != STATE_STOPPING && !node->spec_changed &&
	    witness->rig->now_ms < node->hook.asked_ms + node->spec->hook_timeout_ms)
		witness_blame(witness, "H4 slot %u: a hook is killed too early",
		              node->ref.slot);
}

/* EVENT_HOOK_DONE; false: it cannot have any effect (I34). */
bool
witness_hook_done(struct witness *witness, const struct event *event)
{
	struct witnessed *node = witness_find(witness, event->ref);
	bool failed = event->code != 0 || event->signal != 0 || event->error != 0;
	uint64_t begun;

	if (node == NULL || node->hook.serial == 0 || node->hook.serial != event->serial)
		return false;
	node->hook.serial = 0;
	/* An actor that is to go down may still run its post_restart before its turn
	 * comes.
	 */
	begun = node->spec->kind == NODE_SUPERVISOR ? node->started : node->process.asked;
	if (node->hook.hook == HOOK_PRE_START)
		begun = node->hook.asked;
	if (begun == 0 || begun > node->hook.asked)
		begun = node->hook.asked;
	if (node->hook.hook == HOOK_PRE_START) {
		node->prepared = !failed && !node->hook.killed;
		if (failed && !node->hook.killed) {
			node->has_status = true;
			node->last_status = CORE_EXIT_GAVE_UP;
		}
		/* What a hook that was killed comes to depends on why it was. */
		node->has_status = node->has_status && !node->hook.killed;
	}
	if (node->hook.hook != HOOK_PRE_START && node->hook.hook != HOOK_POST_RESTART)
		return true;
	if (node->hook.killed || node->stop > begun || node->may_be_stopped ||
	    node->process.barrier != 0 || witness_is_kept(witness, node) ||
	    witness_is_leaving(witness, witness_parent(witness, node)))
		node->maybe++;
	else if (failed)
		node->owed++;
	if (failed || node->hook.killed)
		node->passed = witness->seq;
	return true;
}

/* Between turns: no actor waits for a hook beyond the hook's timeout. */
void
witness_check_hook(struct witness *witness, const struct witnessed *node)
{
	if (node->hook.serial == 0)
		return;
	if (witness->ticked && !node->hook.killed && !node->spec_changed &&
	    witness->rig->now_ms > node->hook.asked_ms + node->spec->hook_timeout_ms)
		witness_blame(witness, "H4 slot %u: its hook should have been killed",
		              node->ref.slot);
}
