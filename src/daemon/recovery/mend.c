/* SPDX-License-Identifier: ISC */
/* mend.c - repair: actors with an unreadable record in the ledger are ended, to begin
 * anew. */
#include "config.h"

#include "daemon/recovery/mend.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/messages/notify.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/record.h"
#include "daemon/state/shell.h"
#include "daemon/processes/strays.h"

/* An actor of the configuration below this one that has no slot yet, in file order. */
static uint32_t
find_nameless(const struct shell *shell, uint32_t parent)
{
	const struct conf *conf = shell->conf;

	for (uint32_t i = 0; i < conf->n_actors; i++)
		if (conf->actors[i].parent == parent &&
		    actors_find(&shell->actors, conf->actors[i].path).slot ==
		        REF_NONE.slot)
			return i;
	return CONF_NONE;
}

/* Siblings stand in the tree as in the file: the first node without a name has the first
 * name without a node. */
static int
name_added(struct shell *shell, struct ref ref, const struct node_view *view)
{
	struct grown *grown = additions_find(shell, view->addition_id);
	const uint32_t i = view->addition_index;
	int r;

	if (grown == NULL || i >= grown->spec.n)
		return -EBADMSG;
	r = actors_restore(&shell->actors, ref, grown->conf->actors[i].path, REF_NONE);
	if (r < 0)
		return r;
	actors_assign(&shell->actors, ref, grown->conf, grown->id, i);
	actors_get(&shell->actors, ref)->grown = grown;
	additions_use(grown);
	return 0;
}

static int
name_of_file(struct shell *shell, struct ref ref)
{
	const struct ref parent = core_parent(shell->core, ref);
	const struct actor *above = actors_get(&shell->actors, parent);
	uint32_t index =
	    find_nameless(shell, above == NULL ? CONF_NONE : above->conf_index);
	int r;

	if (index == CONF_NONE || (above != NULL && above->conf_id != shell->conf_id))
		return -EBADMSG;
	r = actors_restore(&shell->actors, ref, shell->conf->actors[index].path,
	                   REF_NONE);
	if (r < 0)
		return r;
	actors_assign(&shell->actors, ref, shell->conf, shell->conf_id, index);
	return 0;
}

static int
name(struct shell *shell, struct ref ref)
{
	struct node_view view;
	int r;

	core_view(shell->core, ref, shell->now_ms, &view);
	r = view.addition_id != 0 ? name_added(shell, ref, &view)
	                          : name_of_file(shell, ref);
	if (r < 0)
		return r;
	shell->actors.at[ref.slot].is_mended = true;
	shell->procs->at[ref.slot] = (struct proc){
	    .ref = ref, .pidfd = -1, .next = PROCS_NONE, .prev = PROCS_NONE};
	containment_init(&shell->procs->at[ref.slot].containment);
	notify_adopt(shell->notify, ref);
	log_line(LOG_LEVEL_ERROR,
	         "%s: what was put down of it is damaged: it is killed and starts anew",
	         shell->actors.at[ref.slot].path);
	return 0;
}

int
mend_names(struct shell *shell, struct err *err)
{
	const struct ref root = core_ref(shell->core, CORE_ROOT);

	/* Parents come before their children. */
	for (struct ref ref = core_next(shell->core, root, root);
	     ref.slot != REF_NONE.slot; ref = core_next(shell->core, root, ref)) {
		int r = shell->actors.at[ref.slot].is_mended ? name(shell, ref) : 0;

		if (r < 0) {
			err_set(err, -r, "a damaged record of the ledger");
			return r;
		}
	}
	return 0;
}

static void
kill_life(struct shell *shell, struct ref ref, uint32_t life, struct leftovers *ret_found)
{
	struct containment *containment = &shell->procs->at[ref.slot].containment;
	const char *path = shell->actors.at[ref.slot].path;
	char mark[PROC_MARK_MAX], variable[PROC_MARK_MAX + 16];
	const struct leftover_hunt hunt = {
	    .variable = variable, .beat = keeper_beat_of, .arg = shell};

	launch_mark(shell, ref.slot, life, mark);
	(void)snprintf(variable, sizeof(variable), "SUPD_ID=%s", mark);
	(void)leftover_kill(&hunt, ret_found);
	/* Find also the processes that have lost the mark in their environment. */
	containment_adopt(containment, &shell->cgroups, path, mark);
	if (!containment->is_cgroup)
		return;
	(void)containment_kill(containment, &shell->cgroups, NULL);
	/* It may have had limits. */
	containment_adopt_limited(containment, path);
	(void)containment_kill(containment, &shell->cgroups, NULL);
}

void
mend_processes(struct shell *shell)
{
	for (uint32_t slot = 0; slot < shell->procs->cap; slot++) {
		struct proc *proc = &shell->procs->at[slot];
		struct leftovers found;
		struct node_view view;

		if (!shell->actors.at[slot].is_mended ||
		    !core_valid(shell->core, proc->ref))
			continue;
		shell->actors.at[slot].is_mended = false;
		core_view(shell->core, proc->ref, shell->now_ms, &view);
		/* Started by us, in what the one before us did not get to. */
		if (!view.alive || proc->life == view.life)
			continue;
		kill_life(shell, proc->ref, view.life, &found);
		proc->life = view.life;
		if (!strays_mend(shell->procs, proc, &found)) {
			proc->ended = true;
			proc->end =
			    (struct reap){.kind = REAP_SIGNALED, .status = SIGKILL};
			record_slot(shell, slot);
		}
		leftovers_done(&found);
	}
}
