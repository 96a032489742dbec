/* SPDX-License-Identifier: ISC */
/* waiting.c - the actors that an actor waits for before its start: a sibling, and its
 * needs.
 */
#include "config.h"

#include "daemon/report/waiting.h"

#include <string.h>

#include "daemon/report/report.h"
#include "daemon/report/resolve.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"

/* How many of the replicas that are waited for are named; the others are not. */
#define NAMED_MAX 16

/* Goes through the actors that an actor waits for. */
struct waiting {
	const struct reporter *reporter;
	const struct node_view *view;
	const char *path; /* the actor waited for */
	const char *what; /* until when: "to be ready", … */
	bool elder_done;
	uint32_t need;
	uint32_t n; /* number of actors named for this need */
	struct ref at;
};

static bool
lacks(const struct waiting *waiting, uint32_t need)
{
	return (waiting->view->unmet >> need & 1) != 0;
}

/* Go to the next actor of a need; if no actor has that name, to the name itself, once.
 * False: that was all. */
static bool
next_of_need(struct waiting *waiting, const struct conf_actor *conf)
{
	const struct reporter *reporter = waiting->reporter;
	const bool is_first = waiting->n++ == 0;

	if (waiting->n > NAMED_MAX)
		return false;
	waiting->at = core_unmet_next(reporter->engine->core, waiting->view->ref,
	                              waiting->need, waiting->at);
	if (!ref_is_none(waiting->at))
		waiting->path = actors_path(reporter->actors, waiting->at);
	else if (is_first)
		waiting->path = conf->spec->needs[waiting->need].path;
	else
		return false;
	return true;
}

static const char *const phrases[NEED_MAX] = {
    [NEED_STARTED] = "to be started",
    [NEED_READY] = "to be ready",
    [NEED_COMPLETED] = "to complete",
};

/* True if the actor stands behind that sibling in the order of starts. */
static bool
is_younger(const struct core *core, struct ref ref, struct ref sibling)
{
	do {
		sibling = core_next_sibling(core, sibling);
	} while (!ref_is_none(sibling) && sibling.slot != ref.slot);
	return !ref_is_none(sibling);
}

/* The next actor; false: none is left. */
static bool
next(struct waiting *waiting)
{
	const struct node_view *view = waiting->view;
	const struct actor *actor = actors_get(waiting->reporter->actors, view->ref);
	const struct conf_actor *conf = actor == NULL ? NULL : actor->conf;

	if (!waiting->elder_done) {
		waiting->elder_done = true;
		if (!ref_is_none(view->waits_for)) {
			waiting->what = is_younger(waiting->reporter->engine->core,
			                           view->ref, view->waits_for)
			                    ? "to be ready"
			                    : "to be restarted";
			waiting->path =
			    actors_path(waiting->reporter->actors, view->waits_for);
			return true;
		}
	}
	while (conf != NULL && waiting->need < conf->spec->core.n_needs) {
		waiting->what = phrases[conf->spec->core.needs[waiting->need].level];
		/* As an elder sibling it has been named already. */
		while (lacks(waiting, waiting->need) && next_of_need(waiting, conf))
			if (ref_is_none(waiting->at) ||
			    waiting->at.slot != view->waits_for.slot)
				return true;
		waiting->need++;
		waiting->n = 0;
		waiting->at = REF_NONE;
	}
	return false;
}

static struct waiting
waiting_of(const struct reporter *reporter, const struct node_view *view)
{
	return (struct waiting){.reporter = reporter, .view = view, .at = REF_NONE};
}

void
waiting_json(struct strbuf *sb, const struct reporter *reporter,
             const struct node_view *view)
{
	struct waiting waiting = waiting_of(reporter, view);
	char separator = '[';

	if (ref_is_none(view->waits_for) && view->unmet == 0) {
		strbuf_adds(sb, "null");
		return;
	}
	while (next(&waiting)) {
		strbuf_addc(sb, separator);
		strbuf_add_json(sb, waiting.path);
		separator = ',';
	}
	strbuf_adds(sb, separator == '[' ? "null" : "]");
}

bool
waiting_text(struct strbuf *sb, const struct reporter *reporter,
             const struct node_view *view)
{
	struct waiting waiting = waiting_of(reporter, view);
	const char *separator = "";

	while (next(&waiting)) {
		strbuf_addf(sb, "%s%s %s", separator, waiting.path, waiting.what);
		separator = ", ";
	}
	return *separator != '\0';
}

bool
waiting_has(const struct reporter *reporter, const struct node_view *view,
            const char *path)
{
	struct waiting waiting = waiting_of(reporter, view);

	while (next(&waiting))
		if (strcmp(waiting.path, path) == 0)
			return true;
	return false;
}
