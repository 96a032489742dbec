/* SPDX-License-Identifier: ISC */
/* roster.c - actors, a line each. */
#include "config.h"

#include "ctl/text/roster.h"

enum roster_column {
	COLUMN_PATH,
	COLUMN_STATE,
	COLUMN_PID,
	COLUMN_UPTIME,
	COLUMN_RESTARTS,
	COLUMN_REMARK,
	ROSTER_COLUMNS
};

/* Path, state, process, remark. */
#define OUTCOME_COLUMNS 4

/* An empty list. */
void
roster_init(struct roster *roster)
{
	static const char *const names[ROSTER_COLUMNS] = {
	    [COLUMN_PATH] = "PATH",         [COLUMN_STATE] = "STATE",
	    [COLUMN_PID] = "PID",           [COLUMN_UPTIME] = "UPTIME",
	    [COLUMN_RESTARTS] = "RESTARTS", [COLUMN_REMARK] = "REMARK",
	};

	roster->is_list = true;
	table_init(&roster->table, ROSTER_COLUMNS);
	for (size_t i = 0; i < ROSTER_COLUMNS; i++)
		table_add(&roster->table, COLOUR_DIM, names[i]);
}

/* An empty list without a header, for the outcome of an action. */
void
roster_init_outcome(struct roster *roster)
{
	roster->is_list = false;
	table_init(&roster->table, OUTCOME_COLUMNS);
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

static void
add_number(struct table *table, int64_t n)
{
	strbuf_add_number(table_begin(table), n > 0 ? (uint64_t)n : 0);
	table_end(table, COLOUR_NONE);
}

static void
add_figures(struct table *table, const struct actor_view *actor)
{
	if (actor->pid > 0)
		add_number(table, actor->pid);
	else
		table_add(table, COLOUR_NONE, "-");
	if (actor->uptime_ms >= 0) {
		print_age(table_begin(table), (uint64_t)actor->uptime_ms);
		table_end(table, COLOUR_NONE);
	} else {
		table_add(table, COLOUR_NONE, "-");
	}
	add_number(table, actor->restarts);
}

static void
add_process(struct table *table, const struct actor_view *actor)
{
	struct strbuf *sb = table_begin(table);

	if (actor->pid > 0) {
		strbuf_adds(sb, "pid ");
		strbuf_add_number(sb, (uint64_t)actor->pid);
	}
	table_end(table, COLOUR_NONE);
}

/* Add an actor; the view is not needed any more afterwards. */
void
roster_add(struct roster *roster, const struct actor_view *actor)
{
	const struct span state = actor_state(actor);
	struct table *table = &roster->table;

	print_span(table_begin(table), actor->path);
	table_end(table, COLOUR_NONE);

	print_span(table_begin(table), state);
	table_end(table, actor_state_colour(state));

	if (!roster->is_list)
		add_process(table, actor);
	else
		add_figures(table, actor);

	actor_print_remark(table_begin(table), actor);
	table_end(table, COLOUR_NONE);
}

/* How many actors it has. */
size_t
roster_rows(const struct roster *roster)
{
	return roster->table.n / roster->table.columns - roster->is_list;
}

/* Print all lines, and nothing if there are none; -ENOMEM when they could not be kept. */
int
roster_print(struct roster *roster, struct out *out, const char *indent)
{
	if (!roster->table.failed && roster_rows(roster) == 0)
		return 0;
	return table_print(&roster->table, out, indent);
}
