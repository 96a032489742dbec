/* SPDX-License-Identifier: ISC */
/* roster.c - actors, a line each. */
#include "config.h"

#include "ctl/text/roster.h"

#include <string.h>

enum roster_column {
	COLUMN_PATH,
	COLUMN_STATE,
	COLUMN_PID,
	COLUMN_UP,
	COLUMN_RESTARTS,
	COLUMN_REMARK,
	ROSTER_COLUMNS
};

/* An empty roster. */
void
roster_init(struct roster *roster)
{
	*roster = (struct roster){0};
	table_init(&roster->table, ROSTER_COLUMNS);
}

/* Give back the memory. */
void
roster_done(struct roster *roster)
{
	table_done(&roster->table);
}

/* How many parts a path has: 0 for "/", 1 for "/user". */
size_t
roster_path_depth(struct span path)
{
	size_t depth = 0;

	for (size_t i = 0; i + 1 < path.len; i++)
		depth += path.at[i] == '/';
	return depth;
}

/* Is the path that of a child, or of a child's child, of the ancestor? */
static bool
is_below(const struct roster *roster, const struct ancestor *ancestor, struct span path)
{
	const char *text = strbuf_str(&roster->table.text) + ancestor->path_offset;
	size_t len = ancestor->path_len;

	if (len == 1)
		return true; /* of "/" */
	return len > 0 && path.len > len && path.at[len] == '/' &&
	       memcmp(path.at, text, len) == 0;
}

/* Note where this actor is, for its children; a failed child shows at its supervisor. */
static void
follow(struct roster *roster, const struct actor_view *actor, size_t row,
       size_t path_offset, size_t path_len)
{
	size_t depth = roster_path_depth(actor->path);
	bool running = span_is(actor->state, "running");

	if (depth >= ROSTER_DEPTH_MAX)
		return;
	roster->ancestors[depth] = (struct ancestor){
	    .row = row,
	    .path_offset = path_offset,
	    .path_len = path_len,
	    .running = running && actor_is_supervisor(actor),
	};
	if (depth > 0 && span_is(actor->state, "failed")) {
		struct ancestor *parent = &roster->ancestors[depth - 1];

		if (parent->running && is_below(roster, parent, actor->path))
			table_replace(&roster->table, parent->row, COLUMN_STATE,
			              COLOUR_BUSY, "degraded");
	}
}

static void
add_count(struct table *table, const char *before, int64_t n, const char *after)
{
	struct strbuf *sb = table_begin(table);

	strbuf_adds(sb, before);
	strbuf_add_number(sb, (uint64_t)n);
	strbuf_adds(sb, after);
	table_end(table, COLOUR_NONE);
}

/* Add an actor; the view is not needed any more afterwards. */
void
roster_add(struct roster *roster, const struct actor_view *actor)
{
	struct table *table = &roster->table;
	size_t row = table_rows(table);
	size_t path_offset = table->text.len;
	size_t path_len;
	struct strbuf *sb = table_begin(table);

	print_span(sb, actor->path);
	path_len = sb->len - path_offset;
	table_end(table, COLOUR_NONE);

	print_span(table_begin(table), actor->state);
	table_end(table, actor_state_colour(actor->state));
	follow(roster, actor, row, path_offset, path_len);

	if (actor->pid > 0)
		add_count(table, "pid ", actor->pid, "");
	else
		table_add(table, COLOUR_NONE, "-");

	sb = table_begin(table);
	strbuf_adds(sb, actor->uptime_ms >= 0 ? "up " : "-");
	if (actor->uptime_ms >= 0)
		print_age(sb, (uint64_t)actor->uptime_ms);
	table_end(table, COLOUR_NONE);

	add_count(table, "", actor->restarts > 0 ? actor->restarts : 0,
	          actor->restarts == 1 ? " restart" : " restarts");

	actor_print_remark(table_begin(table), actor);
	table_end(table, COLOUR_NONE);
}

/* Print all lines; -ENOMEM when they could not be kept. */
int
roster_print(struct roster *roster, struct out *out, const char *indent)
{
	return table_print(&roster->table, out, indent);
}
