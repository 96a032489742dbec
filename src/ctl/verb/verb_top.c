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

#define COLUMNS 8
static const char *const titles[COLUMNS] = {"ACTOR",  "STATE", "PID",    "CPU",
                                            "MEMORY", "PROCS", "UPTIME", "RESTARTS"};

static void
add_cell(struct strbuf *sb, const struct snapshot *seen, const struct row *row,
         uint32_t column)
{
	switch (column) {
	case 0:
		strbuf_adds(sb, snapshot_text(seen, row->path));
		break;
	case 1:
		strbuf_adds(sb, snapshot_text(seen, row->state));
		break;
	case 2:
		rows_add_number(sb, row->pid > 0 ? row->pid : -1);
		break;
	case 3:
		rows_add_share(sb, row->cpu_milli);
		break;
	case 4:
		rows_add_bytes(sb, row->memory);
		break;
	case 5:
		rows_add_number(sb, row->processes);
		break;
	case 6:
		rows_add_age(sb, row->uptime_ms);
		break;
	default:
		rows_add_number(sb, row->restarts);
		break;
	}
}

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

	table_init(&table, COLUMNS);
	for (uint32_t i = 0; i < COLUMNS; i++)
		table_add(&table, COLOUR_BOLD, titles[i]);
	for (size_t i = 0; i < top->now.n; i++) {
		const struct row *row = &top->now.rows[i];

		for (uint32_t column = 0; column < COLUMNS; column++) {
			add_cell(table_begin(&table), &top->now, row, column);
			table_end(&table,
			          column == 1 ? colour_of(&top->now, row) : COLOUR_NONE);
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
