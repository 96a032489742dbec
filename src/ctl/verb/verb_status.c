/* SPDX-License-Identifier: ISC */
/* verb_status.c - status and list: how actors are, a line each. */
#include "config.h"

#include "ctl/text/roster.h"
#include "ctl/text/show.h"
#include "ctl/verb/verb.h"

struct listing {
	struct ctl *ctl;
	struct roster roster;
	bool down; /* an actor of the list is not running */
};

static void
list_actor(void *user, const struct actor_view *actor)
{
	struct listing *listing = user;

	if (!span_is(actor->state, "running"))
		listing->down = true;
	if ((listing->ctl->options.given & OPTION_FAILED) != 0 && !actor_is_unwell(actor))
		return;
	if (listing->ctl->options.json)
		ctl_array_add(listing->ctl, actor->raw);
	else
		roster_add(&listing->roster, actor);
}

/* Of several statuses the one that says the most. */
static int
worse(int a, int b)
{
	return a > b ? a : b;
}

/* List what each name selects, or everything; in JSON of what was named its resources,
 * too. */
static int
list_all(struct ctl *ctl, char **names, uint32_t n, bool resources)
{
	struct listing listing = {.ctl = ctl};
	enum actors_depth depth = ACTORS_BRIEF;
	int status = 0;

	roster_init(&listing.roster);
	if (ctl->options.json) {
		depth = resources && n > 0 ? ACTORS_WITH_RESOURCES : ACTORS_WHOLE;
		ctl_array_begin(ctl);
	}
	if (n == 0)
		status = actors_status(ctl, NULL, depth, list_actor, &listing);
	for (uint32_t i = 0; i < n && ctl_may_go_on(ctl); i++)
		status = worse(status,
		               actors_status(ctl, names[i], depth, list_actor, &listing));
	if (ctl->options.json)
		ctl_array_end(ctl);
	else if (roster_print(&listing.roster, &ctl->out, "") < 0)
		status = ctl_no_memory(ctl);
	roster_done(&listing.roster);
	if (n > 0 && listing.down)
		status = worse(status, CTL_NOT_RUNNING);
	return status;
}

/*
 * A line for each actor, or for those that are not well; with names a block for each.  3
 * if one that was named is not running; without names the states decide nothing.
 */
int
verb_status(struct ctl *ctl, char **names, uint32_t n)
{
	bool down = false;
	int status = 0;

	if (n == 0 || ctl->options.json || (ctl->options.given & OPTION_FAILED) != 0)
		return list_all(ctl, names, n, true);
	for (uint32_t i = 0; i < n && ctl_may_go_on(ctl); i++)
		status = worse(status, show(ctl, names[i], &down));
	return down ? worse(status, CTL_NOT_RUNNING) : status;
}

/* A line for each actor, also with names. */
int
verb_list(struct ctl *ctl, char **names, uint32_t n)
{
	return list_all(ctl, names, n, false);
}
