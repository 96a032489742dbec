/* SPDX-License-Identifier: ISC */
/* verb_top.c - top: what actors take of the machine, as it changes. */
#include "config.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/names.h"
#include "ctl/text/actor.h"
#include "ctl/text/screen.h"
#include "ctl/text/table.h"
#include "ctl/verb/top_rows.h"
#include "ctl/verb/verb.h"

#define REFRESH_MS 1000
/* On the page: the width of everything behind the path, and the lines around the rows. */
#define FIGURES_WIDTH 57
#define PATH_MIN      8
#define LINES_AROUND  3

static const char *const sort_names[SORT_MAX] = {"cpu", "memory", "restarts", "uptime",
                                                 "path"};

/* ---- to show ----------------------------------------------------------------------- */

static void
add_share(struct strbuf *sb, int64_t milli)
{
	if (milli < 0)
		strbuf_addc(sb, '-');
	else
		strbuf_addf(sb, "%lld.%lld%%", (long long)milli / 10,
		            (long long)milli % 10);
}

static void
add_number(struct strbuf *sb, int64_t n)
{
	if (n < 0)
		strbuf_addc(sb, '-');
	else
		strbuf_add_number(sb, (uint64_t)n);
}

static void
add_bytes(struct strbuf *sb, int64_t bytes)
{
	if (bytes < 0)
		strbuf_addc(sb, '-');
	else
		print_bytes(sb, (uint64_t)bytes);
}

static void
add_age(struct strbuf *sb, int64_t ms)
{
	if (ms < 0)
		strbuf_addc(sb, '-');
	else
		print_age(sb, (uint64_t)ms);
}

/* The columns behind the path: "STATE PID CPU MEMORY PROCS UPTIME RESTARTS". */
#define COLUMNS 8
static const char *const titles[COLUMNS] = {"ACTOR",  "STATE", "PID",    "CPU",
                                            "MEMORY", "PROCS", "UPTIME", "RESTARTS"};
static const uint32_t widths[COLUMNS] = {0, 9, 8, 7, 8, 6, 8, 9};

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
		add_number(sb, row->pid > 0 ? row->pid : -1);
		break;
	case 3:
		add_share(sb, row->cpu_milli);
		break;
	case 4:
		add_bytes(sb, row->memory);
		break;
	case 5:
		add_number(sb, row->processes);
		break;
	case 6:
		add_age(sb, row->uptime_ms);
		break;
	default:
		add_number(sb, row->restarts);
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
	struct table table;
	int r;

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
	r = table_print(&table, &top->ctl->out, "");
	table_done(&table);
	return r < 0 ? ctl_no_memory(top->ctl) : 0;
}

/* The end of a path is what tells it from others. */
static void
draw_path(struct out *out, const char *path, size_t room)
{
	const size_t len = strlen(path);

	if (len <= room) {
		strbuf_adds(&out->buf, path);
		print_pad(&out->buf, len, room);
		return;
	}
	strbuf_addc(&out->buf, '<');
	strbuf_adds(&out->buf, path + (len - (room - 1)));
	strbuf_adds(&out->buf, "  ");
}

static void
draw_row(struct top *top, const struct row *row, size_t path_room)
{
	struct out *out = &top->ctl->out;

	draw_path(out, snapshot_text(&top->now, row->path), path_room);
	for (uint32_t column = 1; column < COLUMNS; column++) {
		struct strbuf cell;

		strbuf_init(&cell, 256);
		add_cell(&cell, &top->now, row, column);
		if (column > 1)
			for (size_t n = cell.len; n < widths[column]; n++)
				strbuf_addc(&out->buf, ' ');
		print_coloured(out, column == 1 ? colour_of(&top->now, row) : COLOUR_NONE,
		               strbuf_str(&cell), cell.len);
		if (column == 1)
			for (size_t n = cell.len; n < widths[column]; n++)
				strbuf_addc(&out->buf, ' ');
		strbuf_done(&cell);
	}
	screen_end_line(out);
}

static void
draw_titles(struct out *out, size_t path_room)
{
	struct strbuf line;

	strbuf_init(&line, 1024);
	strbuf_adds(&line, titles[0]);
	print_pad(&line, strlen(titles[0]), path_room);
	for (uint32_t column = 1; column < COLUMNS; column++)
		strbuf_addf(&line, column == 1 ? "%-*s" : "%*s", (int)widths[column],
		            titles[column]);
	print_coloured(out, COLOUR_BOLD, strbuf_str(&line), line.len);
	screen_end_line(out);
	strbuf_done(&line);
}

static void
draw_summary(struct top *top)
{
	struct strbuf *sb = &top->ctl->out.buf;
	int64_t cpu = 0, memory = 0;

	for (size_t i = 0; i < top->now.n; i++) {
		cpu += top->now.rows[i].cpu_milli > 0 ? top->now.rows[i].cpu_milli : 0;
		memory += top->now.rows[i].memory > 0 ? top->now.rows[i].memory : 0;
	}
	strbuf_addf(sb, "%zu actors, %u running, %u failed; cpu ", top->now.n,
	            top->running, top->failed);
	add_share(sb, cpu);
	strbuf_adds(sb, ", memory ");
	add_bytes(sb, memory);
	screen_end_line(&top->ctl->out);
}

static void
draw(struct top *top, struct screen *screen)
{
	struct out *out = &top->ctl->out;
	size_t path_room, lines;

	screen_begin(screen, out);
	/* On a page that is narrower still the lines are cut off. */
	path_room = screen->width > FIGURES_WIDTH + PATH_MIN
	                ? screen->width - FIGURES_WIDTH
	                : PATH_MIN;
	lines = screen->height > LINES_AROUND ? screen->height - LINES_AROUND : 1;
	if (top->first + lines > top->now.n)
		top->first = top->now.n > lines ? top->now.n - lines : 0;
	draw_summary(top);
	draw_titles(out, path_room);
	for (size_t i = 0; i < lines; i++) {
		if (top->first + i < top->now.n)
			draw_row(top, &top->now.rows[top->first + i], path_room);
		else
			screen_end_line(out);
	}
	strbuf_addf(&out->buf, "by %s; sort: ", sort_names[top->sort]);
	strbuf_adds(&out->buf, "c m r u p, scroll: j k, q quits");
	screen_end(out);
}

/* ---- to stay ----------------------------------------------------------------------- */

/* Act on a key; false: that was enough. */
static bool
take_key(struct top *top, int key)
{
	static const char sort_keys[SORT_MAX] = {'c', 'm', 'r', 'u', 'p'};

	for (size_t i = 0; i < SORT_MAX; i++) {
		if (key != sort_keys[i])
			continue;
		top->sort = (enum sort_key)i;
		top_sort(top);
		top->first = 0;
	}
	if (key == 'j')
		top->first++;
	if (key == 'k' && top->first > 0)
		top->first--;
	return key != 'q' && key != SCREEN_END;
}

static int
stay(struct top *top)
{
	struct screen screen;
	bool goes_on = true;
	int status = 0;
	int r = screen_open(&screen, &top->ctl->out);

	if (r < 0) {
		complain(top->ctl, NULL, "the terminal: %s", strerror(-r));
		return CTL_FAILED;
	}
	while (goes_on && status == 0 && ctl_may_go_on(top->ctl)) {
		const uint64_t next_ms = client_now_ms() + REFRESH_MS;
		int key = SCREEN_RESIZED;

		status = top_look(top);
		top_sort(top);
		while (goes_on && status == 0 && key != SCREEN_TIME) {
			draw(top, &screen);
			key = screen_wait(&screen, next_ms);
			goes_on = take_key(top, key);
		}
	}
	screen_close(&screen, &top->ctl->out);
	return status;
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
	int found = names_find(sort_names, SORT_MAX, ctl->options.sort);

	if (found < 0) {
		complain(ctl, NULL,
		         "--sort '%s': write cpu, memory, restarts, uptime or path",
		         ctl->options.sort);
		return CTL_USAGE;
	}
	*ret = (enum sort_key)found;
	return 0;
}

/* What actors take of the machine: on a terminal until q is pressed, else once, or as
 * often as was asked for. */
int
verb_top(struct ctl *ctl, char **names, uint32_t n)
{
	const bool counted = (ctl->options.given & OPTION_LINES) != 0;
	struct top top = {.ctl = ctl};
	int64_t times = 1;
	int status = 0;

	(void)names;
	(void)n;
	if ((ctl->options.given & OPTION_SORT) != 0)
		status = find_sort(ctl, &top.sort);
	if (status == 0 && counted &&
	    (!ctl_parse_number(ctl->options.lines, &times) || times < 1)) {
		complain(ctl, NULL, "-n '%s': write how often", ctl->options.lines);
		status = CTL_USAGE;
	}
	if (status == 0 && !counted && !ctl->options.json && ctl->out.terminal &&
	    isatty(STDIN_FILENO) == 1)
		status = stay(&top);
	else if (status == 0)
		status = print_times(&top, times);
	snapshot_done(&top.now);
	snapshot_done(&top.before);
	return status;
}
