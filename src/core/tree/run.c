/* SPDX-License-Identifier: ISC */
/* run.c - how far a node came in this incarnation and before, and how often. */
#include "config.h"

#include "core/tree/turn.h"

#include "core/pure.h"

/* Count the begin of a run as a restart of its kind, unless it is the first. */
static void
count_restart(struct node_run *run)
{
	run->started_as =
	    run->begun != BEGUN_NEVER ? run->restart_kind : RESTART_KIND_MAX;
	run->restart_kind = RESTART_KIND_MAX;
	if (run->started_as < RESTART_KIND_MAX)
		run->restarts_by[run->started_as]++;
}

/* A start begins, of a new incarnation unless one is under way. */
void
run_begins(struct node *node)
{
	struct node_run *run = &node->run;

	run->incarnation += run->begun == BEGUN_BEFORE;
	count_restart(run);
	run->begun = BEGUN_NOW;
	run->created = false;
	run->exited_by_itself = false;
	run->attempts++;
	/* What is DONE is ready, and begins anew. */
	if (run->readied == READIED_NOW)
		run->readied = READIED_NOT;
}

/* The process of the node runs; of a supervisor without a process the children may start.
 */
void
run_created(struct node *node)
{
	node->run.created = true;
	node->run.generation++;
}

/* What was created is gone, or is left behind: there is nothing to clean up after. */
void
run_cleaned(struct node *node)
{
	node->run.created = false;
}

/* The node is ready. */
void
run_ready(struct node *node)
{
	node->run.readied = READIED_NOW;
	node->run.was_ready = true;
}

/* The node is not ready any more, until its next start is over. */
void
run_not_ready(struct node *node)
{
	if (node_is_ready(node))
		node->run.readied = READIED_BEFORE;
}

/* The node is to be ready for the first time, as far as its incarnation goes. */
void
run_forget_ready(struct node *node)
{
	node->run.readied = READIED_NOT;
}

/* Its end is normal and final; by itself: it may be what its supervisor has waited for.
 */
void
run_exits(struct node *node, bool by_itself)
{
	node->run.exited_by_itself = by_itself;
}

/* Its incarnation has terminated. */
void
run_terminated(struct node *node)
{
	node->run.begun = BEGUN_BEFORE;
}

/* Its supervisor starts anew. */
void
run_renew(struct node *node)
{
	node->run.attempts = 0;
	node->run.was_ready = false;
}
