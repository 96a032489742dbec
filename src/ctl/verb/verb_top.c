/* SPDX-License-Identifier: ISC */
/* verb_top.c - top: what actors take of the machine, as it changes. */
#include "config.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "ctl/page/rows.h"
#include "ctl/page/terminal.h"
#include "ctl/text/actor.h"
#include "ctl/text/table.h"
#include "ctl/verb/verb.h"

#define REFRESH_MS 1000
/* How long supd may take to answer, without --timeout. */
#define ANSWER_MS 10000

/* Behind the path and the state. */
static const struct {
	const char *title;
	enum figure figure;
} columns[] = {
    {"PID", FIGURE_PID},     {"CPU", FIGURE_CPU},       {"MEMORY", FIGURE_MEMORY},
    {"PROCS", FIGURE_PROCS}, {"UPTIME", FIGURE_UPTIME}, {"RESTARTS", FIGURE_RESTARTS},
};

static enum colour
colour_of(const struct snapshot *seen, const struct row *row)
{
	const char *state = snapshot_text(seen, row->state);

	return actor_state_colour((struct span){state, strlen(state)});
}

/* All of them, as wide as they must be. */
static int
print_plain(struct top *top)
{
	CLEANUP(table_done) struct table table;

	table_init(&table, 2 + ARRAY_SIZE(columns));
	table_add(&table, COLOUR_BOLD, "ACTOR");
	table_add(&table, COLOUR_BOLD, "STATE");
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_add(&table, COLOUR_BOLD, columns[i].title);
	for (size_t i = 0; i < top->now.n; i++) {
		const struct row *row = &top->now.rows[i];

		table_add(&table, COLOUR_NONE, snapshot_text(&top->now, row->path));
		table_add(&table, colour_of(&top->now, row),
		          snapshot_text(&top->now, row->state));
		for (size_t k = 0; k < ARRAY_SIZE(columns); k++) {
			rows_add_figure(table_begin(&table), row, columns[k].figure);
			table_end(&table, COLOUR_NONE);
		}
	}
	return table_print(&table, &top->ctl->out, "") < 0 ? ctl_no_memory(top->ctl) : 0;
}

/* Print the table `times` times, each below the last. */
static int
print_times(struct top *top, int64_t times)
{
	struct ctl *ctl = top->ctl;
	int status = 0;

	for (int64_t i = 0; i < times && status == 0 && ctl_may_go_on(ctl); i++) {
		if (i > 0) {
			strbuf_adds(&ctl->out.buf, ctl->options.json ? "" : "\n");
			print_flush(&ctl->out);
			(void)poll(NULL, 0, REFRESH_MS);
		}
		if (ctl->options.json)
			ctl_array_begin(ctl);
		status = top_look(top);
		if (ctl->options.json) {
			ctl_array_end(ctl);
		} else if (status == 0) {
			top_sort(top);
			status = print_plain(top);
		}
	}
	return status;
}

static int
find_sort(const struct ctl *ctl, enum sort_key *ret)
{
	int found = names_find(rows_sort_names, SORT_MAX, ctl->options.sort);

	if (found < 0)
		return complain_of(
		    ctl, CTL_USAGE, NULL,
		    "--sort '%s': write cpu, memory, restarts, uptime or path",
		    ctl->options.sort);
	*ret = (enum sort_key)found;
	return 0;
}

static bool
is_for_a_page(const struct ctl *ctl)
{
	return (ctl->options.given & OPTION_LINES) == 0 && !ctl->options.json &&
	       ctl->out.terminal && isatty(STDIN_FILENO) == 1;
}

/* What actors take of the machine: on a terminal until q is pressed, else once, or as
 * often as was asked for. */
int
verb_top(struct ctl *ctl, char **names UNUSED, uint32_t n UNUSED)
{
	struct top top = {.ctl = ctl, .answer_ms = ANSWER_MS};
	int64_t times = 1;
	int status = 0;

	if ((ctl->options.given & OPTION_SORT) != 0)
		status = find_sort(ctl, &top.sort);
	if (status == 0 && (ctl->options.given & OPTION_LINES) != 0 &&
	    (!ctl_parse_number(ctl->options.lines, &times) || times < 1)) {
		complain(ctl, NULL, "-n '%s': write how often", ctl->options.lines);
		status = CTL_USAGE;
	}
	if (status != 0)
		return status;
	if (is_for_a_page(ctl) && ctl->terminal == NULL)
		return terminal_execute(ctl);
	if (is_for_a_page(ctl) && ctl->terminal->run_page != NULL)
		return ctl->terminal->run_page(
		    ctl, (ctl->options.given & OPTION_SORT) != 0 ? top.sort : SORT_PATH);
	status = print_times(&top, times);
	snapshot_done(&top.now);
	snapshot_done(&top.before);
	return status;
}
