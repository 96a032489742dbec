/* SPDX-License-Identifier: ISC */
/* show.c - an actor in a block of lines. */
#include "config.h"

#include "ctl/text/show.h"

#include <string.h>

#include "base/cleanup.h"
#include "ctl/text/roster.h"

#define LABEL_WIDTH       10
#define SHOWN_OUTPUTS_MAX 20

static void
collect(void *user, const struct actor_view *actor)
{
	struct shown_collection *collection = user;

	strbuf_add(&collection->text, actor->raw.at, actor->raw.len);
	if (actor_is_supervisor(actor))
		collection->supervisors = true;
	if (!span_is(actor->state, "running"))
		collection->down = true;
}

/* Begin a line of a block. */
void
show_label(struct out *out, const char *label)
{
	for (size_t i = strlen(label); i < LABEL_WIDTH; i++)
		strbuf_addc(&out->buf, ' ');
	print_colour(out, COLOUR_DIM, label);
	strbuf_adds(&out->buf, "  ");
}

/* A part of a line and what leads to it; nothing where the part is not there. */
static void
show_part(struct out *out, const char *before, struct span part)
{
	if (part.at == NULL)
		return;
	strbuf_adds(&out->buf, before);
	print_span(&out->buf, part);
}

/* What leads to a time, and the time, of RFC 3339, for people. */
void
show_when(struct out *out, const char *before, struct span when, bool with_ms)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF(2 * when.len);

	span_decode(when, &text);
	strbuf_adds(&out->buf, before);
	print_when(&out->buf, strbuf_str(&text), with_ms);
}

static void
show_head(struct out *out, const struct actor_view *actor)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF(8 * actor->path.len + 8);

	print_span(&path, actor->path);
	print_coloured(out, COLOUR_BOLD, strbuf_str(&path), path.len);
	if (actor->description.len > 0)
		show_part(out, " - ", actor->description);
	strbuf_addc(&out->buf, '\n');

	show_label(out, "kind");
	print_span(&out->buf, actor->kind);
	show_part(out, ", ", actor->restart);
	show_part(out, ", ", actor->strategy);
	strbuf_addc(&out->buf, '\n');
}

static void
show_state(struct out *out, const struct actor_view *actor)
{
	const struct span state = actor_state(actor);

	show_label(out, "state");
	print_coloured(out, actor_state_colour(state), state.at, state.len);
	if (actor->uptime_ms >= 0) {
		strbuf_adds(&out->buf, " for ");
		print_age(&out->buf, (uint64_t)actor->uptime_ms);
	}
	if (actor->since.at != NULL)
		show_when(out, ", since ", actor->since, false);
	if (span_is(actor->state, "running") && !actor->ready)
		strbuf_adds(&out->buf, ", not ready");
	if (actor->held)
		strbuf_adds(&out->buf, ", held (start releases it)");
	if (actor->sigstopped)
		strbuf_adds(&out->buf, ", stopped by a signal that supd did not send");
	if (actor->suspended > 1)
		strbuf_addf(&out->buf, ", suspended %lld times",
		            (long long)actor->suspended);
	strbuf_addc(&out->buf, '\n');
	if (actor_waits(actor)) {
		show_label(out, "waits for");
		actor_print_waits_for(&out->buf, actor);
		strbuf_addc(&out->buf, '\n');
	}
}

static void
show_process(struct out *out, const struct actor_view *actor)
{
	if (actor->pid > 0) {
		show_label(out, "pid");
		strbuf_addf(&out->buf, "%lld", (long long)actor->pid);
		if (actor->generation > 1)
			strbuf_addf(&out->buf, "; it was started %lld times",
			            (long long)actor->generation);
		strbuf_addc(&out->buf, '\n');
	}
	if (actor->status.at != NULL && actor->status.len > 0) {
		show_label(out, "status");
		strbuf_addc(&out->buf, '"');
		print_span(&out->buf, actor->status);
		strbuf_adds(&out->buf, "\"\n");
	}
	if (actor->missed.lost > 0) {
		show_label(out, "lost");
		strbuf_addf(&out->buf, "%lld bytes of output\n",
		            (long long)actor->missed.lost);
	}
	if (actor->missed.dead_letters > 0) {
		show_label(out, "dead");
		strbuf_addf(&out->buf, "%lld letters\n",
		            (long long)actor->missed.dead_letters);
	}
}

static void
show_resources(struct out *out, const struct resources_view *resources)
{
	struct strbuf *sb = &out->buf;

	show_label(out, "uses");
	size_t start = sb->len;
	if (resources->memory_bytes >= 0) {
		strbuf_adds(sb, "memory ");
		print_bytes(sb, (uint64_t)resources->memory_bytes);
	}
	if (resources->cpu_usec >= 0) {
		strbuf_adds(sb, sb->len > start ? ", cpu " : "cpu ");
		print_age(sb, (uint64_t)resources->cpu_usec / 1000);
	}
	if (resources->processes >= 0)
		strbuf_addf(sb, "%s%lld process%s", sb->len > start ? ", " : "",
		            (long long)resources->processes,
		            resources->processes == 1 ? "" : "es");
	if (resources->descriptors >= 0)
		strbuf_addf(sb, "%s%lld descriptors", sb->len > start ? ", " : "",
		            (long long)resources->descriptors);
	if (resources->read_bytes >= 0 && resources->write_bytes >= 0) {
		strbuf_adds(sb, sb->len > start ? ", read " : "read ");
		print_bytes(sb, (uint64_t)resources->read_bytes);
		strbuf_adds(sb, ", written ");
		print_bytes(sb, (uint64_t)resources->write_bytes);
	}
	strbuf_addc(sb, '\n');
}

/* " (2 failure, 1 group)": the kinds of restarts that there were. */
static void
show_kinds(struct strbuf *sb, struct span kinds)
{
	const char *separator = " (";
	struct span name;
	struct scan scan;

	if (!span_is_object(kinds))
		return;
	scan_init(&scan, kinds);
	scan_object(&scan);
	while (scan_member(&scan, &name)) {
		const struct span n = scan_value(&scan);

		if (n.at == NULL || span_is(n, "0"))
			continue;
		strbuf_adds(sb, separator);
		strbuf_add(sb, n.at, n.len);
		strbuf_addc(sb, ' ');
		print_span(sb, name);
		separator = ", ";
	}
	strbuf_adds(sb, separator[0] == ',' ? ")" : "");
}

static void
show_exit(struct out *out, const struct exit_view *last_exit)
{
	show_label(out, "last exit");
	print_span(&out->buf, last_exit->cause.text);
	if (last_exit->killed_after_ms >= 0) {
		strbuf_adds(&out->buf, ": did not stop within ");
		print_age(&out->buf, (uint64_t)last_exit->killed_after_ms);
		strbuf_adds(&out->buf, ", killed");
	}
	show_when(out, ", ", last_exit->at, false);
	strbuf_addc(&out->buf, '\n');
}

static void
show_restarts(struct out *out, const struct actor_view *actor)
{
	show_label(out, "restarts");
	strbuf_addf(&out->buf, "%lld", (long long)actor->restarts);
	show_kinds(&out->buf, actor->raw_restarts_by);
	if (actor->window.n > 0) {
		strbuf_adds(&out->buf,
		            actor_is_supervisor(actor) ? "; of its children " : "; ");
		actor_print_window(&out->buf, actor);
	}
	strbuf_addc(&out->buf, '\n');
	if (!actor->backoff.is_there)
		return;
	show_label(out, "backoff");
	strbuf_addf(&out->buf, "%lld failure%s in a row, delay ",
	            (long long)actor->backoff.failures,
	            actor->backoff.failures == 1 ? "" : "s");
	print_age(&out->buf, (uint64_t)actor->backoff.delay_ms);
	if (actor->backoff.due_in_ms >= 0) {
		strbuf_adds(&out->buf, ", restart in ");
		print_age(&out->buf, (uint64_t)actor->backoff.due_in_ms);
	}
	strbuf_addc(&out->buf, '\n');
}

static void
show_failure(struct out *out, const struct actor_view *actor)
{
	const struct failure_view *failure = &actor->failure;

	show_label(out, "failure");
	print_span(&out->buf, failure->cause.text);
	if (failure->at.at != NULL)
		show_when(out, ", ", failure->at, false);
	if (failure->origin.at != NULL &&
	    (failure->origin.len != actor->path.len ||
	     memcmp(failure->origin.at, actor->path.at, actor->path.len) != 0))
		show_part(out, ", began in ", failure->origin);
	strbuf_adds(&out->buf, out->utf8 ? " \xe2\x86\x92 " : " -> ");
	print_span(&out->buf, failure->directive);
	if (failure->rule.at != NULL) {
		show_part(out, " (", failure->rule);
		strbuf_addc(&out->buf, ')');
	}
	strbuf_addc(&out->buf, '\n');
}

/* True if `path` is that of a child of `parent`. */
static bool
is_child(struct span path, struct span parent)
{
	size_t len = span_is(parent, "/") ? 0 : parent.len;

	return path.len > len + 1 && memcmp(path.at, parent.at, len) == 0 &&
	       path.at[len] == '/' &&
	       memchr(path.at + len + 1, '/', path.len - len - 1) == NULL;
}

/* The children of a supervisor, by their last names. */
static void
gather_children(const struct shown_collection *all, const struct actor_view *parent,
                struct roster *ret)
{
	struct actor_view child;
	struct scan scan;

	scan_init(&scan, (struct span){strbuf_str(&all->text), all->text.len});
	while (scan.p < scan.end && actor_read(&scan, &child)) {
		if (!is_child(child.path, parent->path))
			continue;
		child.path = actor_name(&child);
		roster_add(ret, &child);
	}
}

/* Print the block of an actor but for its output; `all` has its children, if any.
 * Returns 0 or an exit status. */
int
show_actor(struct ctl *ctl, const struct actor_view *actor,
           const struct shown_collection *all)
{
	CLEANUP(roster_done) struct roster children;
	struct out *out = &ctl->out;

	roster_init(&children);
	gather_children(all, actor, &children);
	show_head(out, actor);
	show_state(out, actor);
	show_process(out, actor);
	show_details(out, actor);
	if (actor->resources.is_there)
		show_resources(out, &actor->resources);
	show_restarts(out, actor);
	if (actor->last_exit.is_there)
		show_exit(out, &actor->last_exit);
	if (actor->failure.is_there)
		show_failure(out, actor);
	if (roster_rows(&children) == 0)
		return 0;
	show_label(out, "children");
	strbuf_addf(&out->buf, "%zu\n", roster_rows(&children));
	return roster_print(&children, out, "            ") < 0 ? ctl_no_memory(ctl) : 0;
}

static int
show_all(struct ctl *ctl, const struct shown_collection *selected,
         const struct shown_collection *all)
{
	struct actor_view actor;
	uint32_t shown = 0;
	struct scan scan;
	int status;

	scan_init(&scan, (struct span){strbuf_str(&selected->text), selected->text.len});
	while (scan.p < scan.end && actor_read(&scan, &actor)) {
		if (ctl->shown++ > 0)
			strbuf_addc(&ctl->out.buf, '\n');
		/* Each is a call more, and supd reads files for it. */
		if (!span_is(actor.kind, "supervisor") && !ctl->output_hangs &&
		    shown++ < SHOWN_OUTPUTS_MAX)
			status = show_output(ctl, &actor, all);
		else
			status = show_actor(ctl, &actor, all);
		if (status != 0)
			return status;
		print_flush_if_full(&ctl->out);
	}
	return 0;
}

/* Print a block for each actor that a name selects.  *down: one of them does not run. */
int
show(struct ctl *ctl, const char *name, bool *down)
{
	struct shown_collection selected = {.text = STRBUF(OUT_BYTES_MAX)};
	struct shown_collection all = {.text = STRBUF(OUT_BYTES_MAX)};
	int status = actors_status(ctl, name, ACTORS_WITH_RESOURCES, collect, &selected);

	if (status == 0 && selected.supervisors)
		status = actors_status(ctl, NULL, ACTORS_BRIEF, collect, &all);
	if (status == 0 && (selected.text.failed || all.text.failed))
		status = ctl_no_memory(ctl);
	if (status == 0)
		status = show_all(ctl, &selected, &all);
	*down = *down || selected.down;
	strbuf_done(&selected.text);
	strbuf_done(&all.text);
	return status;
}
