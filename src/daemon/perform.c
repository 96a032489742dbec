/* SPDX-License-Identifier: ISC */
/* perform.c - each action of the core to exactly one room. */
#include "config.h"

#include "daemon/perform.h"

#include "daemon/control.h"
#include "daemon/notify.h"
#include "daemon/procs.h"
#include "daemon/reload.h"
#include "daemon/report.h"
#include "daemon/shell.h"

static void
removed(struct shell *shell, const struct action *action)
{
	const struct actor *actor = actors_get(&shell->actors, action->ref);
	const struct ref heir = actor != NULL ? actor->heir : REF_NONE;

	if (action->kept)
		return;
	notify_close(shell->notify, action->ref);
	procs_forget(shell->procs, action->ref);
	reload_release(shell, action->ref);
	actors_clear(&shell->actors, action->ref, action->incarnation);
	procs_inherit(shell->procs, heir);
}

static void
perform_one(struct shell *shell, const struct action *action)
{
	switch (action->kind) {
	case ACTION_SPAWN:
		procs_spawn(shell->procs, action->ref, action->life);
		break;
	case ACTION_STOP:
		procs_stop(shell->procs, action->ref, action->life);
		break;
	case ACTION_KILL:
		procs_kill(shell->procs, action->ref, action->life);
		break;
	case ACTION_REMOVED:
		removed(shell, action);
		break;
	case ACTION_REPLY:
		control_on_reply(shell->control, action);
		break;
	case ACTION_EXIT:
		shell->exiting = true;
		shell->exit_status = action->status;
		break;
	case ACTION_REPORT:
		report(shell, action);
		break;
	case ACTION_KIND_MAX:
		break;
	}
}

void
perform(struct shell *shell, const struct action_list *actions)
{
	for (uint32_t i = 0; i < actions->n; i++)
		perform_one(shell, &actions->at[i]);
}
