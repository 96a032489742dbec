/* SPDX-License-Identifier: ISC */
/* verb_top.c - top: what actors take of the machine, as it changes. */
#include "config.h"

#include "base/assert.h"
#include "base/names.h"
#include "ctl/text/actor.h"
#include "ctl/text/screen.h"
#include "ctl/text/table.h"
#include "ctl/verb/verb.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFRESH_MS 1000
/* How long supd may take to answer, without --timeout. */
#define ANSWER_MS 10000
#define ROWS_MAX  (1024 * 1024)
/* On the page: the width of everything behind the path, and the lines around the rows. */
#define FIGURES_WIDTH 57
#define PATH_MIN      8
#define LINES_AROUND  3

enum sort_key { SORT_CPU, SORT_MEMORY, SORT_RESTARTS, SORT_UPTIME, SORT_PATH, SORT_MAX };
static const char *const sort_names[SORT_MAX] = {"cpu", "memory", "restarts", "uptime",
                                                 "path"};

struct row {
	uint32_t path; /* in texts, as the state */
	uint32_t state;
	uint32_t order; /* as supd told them */
	bool is_supervisor;
	int64_t pid;
	int64_t cpu_usec;  /* -1: not known, as for the others */
	int64_t cpu_milli; /* of one processor, in thousandths */
	int64_t memory;
	int64_t processes;
	int64_t uptime_ms;
	int64_t restarts;
};

/* The figures of all actors at one moment. */
struct look {
	struct strbuf texts;
	struct row *rows;
	size_t n;
	size_t cap;
	uint64_t at_ms;
	bool failed;
};

struct top {
	struct ctl *ctl;
	enum sort_key sort;
	struct look now;
	struct look before; /* in the order of the pids */
	uint32_t running;
	uint32_t failed;
	size_t first; /* row on the page */
};

/* ---- to look ----------------------------------------------------------------------- */

static void
look_done(struct look *look)
{
	strbuf_done(&look->texts);
	free(look->rows);
	*look = (struct look){0};
}

static uint32_t
keep_text(struct look *look, struct span text)
{
	const uint32_t at = (uint32_t)look->texts.len;

	print_span(&look->texts, text);
	strbuf_add(&look->texts, "", 1);
	return at;
}

static const char *
text_at(const struct look *look, uint32_t at)
{
	return look->texts.data + at;
}

static bool
has_room(struct look *look)
{
	const size_t cap = look->cap == 0 ? 64 : 2 * look->cap;
	struct row *rows;

	if (look->n < look->cap)
		return true;
	rows = cap > ROWS_MAX ? NULL : realloc(look->rows, cap * sizeof(*rows));
	if (rows == NULL)
		return false;
	look->rows = rows;
	look->cap = cap;
	return true;
}

static int
compare_pids(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

/* Of the same process: what it took since the last look; else since it was started. */
static int64_t
share_of_time(const struct top *top, const struct row *row)
{
	const struct look *before = &top->before;
	const struct row *same =
	    before->n == 0 || row->pid <= 0
	        ? NULL
	        : bsearch(row, before->rows, before->n, sizeof(*row), compare_pids);
	int64_t usec = row->cpu_usec, ms = row->uptime_ms;

	if (row->cpu_usec < 0)
		return -1;
	if (same != NULL && same->cpu_usec >= 0 && same->cpu_usec <= row->cpu_usec) {
		usec -= same->cpu_usec;
		ms = (int64_t)(top->now.at_ms - before->at_ms);
	}
	/* Microseconds in milliseconds are thousandths. */
	return ms > 0 ? usec / ms : 0;
}

static void
on_actor_seen(void *user, const struct actor_view *actor)
{
	struct top *top = user;
	struct look *seen = &top->now;
	struct row *row;

	if (top->ctl->options.json) {
		ctl_array_add(top->ctl, actor->raw);
		return;
	}
	if (!has_room(seen)) {
		seen->failed = true;
		return;
	}
	row = &seen->rows[seen->n];
	*row = (struct row){
	    .path = keep_text(seen, actor->path),
	    .state = keep_text(seen, actor->state),
	    .order = (uint32_t)seen->n,
	    .is_supervisor = actor_is_supervisor(actor),
	    .pid = actor->pid,
	    .cpu_usec = actor->has_resources ? actor->resources.cpu_usec : -1,
	    .memory = actor->has_resources ? actor->resources.memory_bytes : -1,
	    .processes = actor->has_resources ? actor->resources.processes : -1,
	    .uptime_ms = actor->uptime_ms,
	    .restarts = actor->restarts,
	};
	row->cpu_milli = share_of_time(top, row);
	top->running += span_is(actor->state, "running");
	top->failed += span_is(actor->state, "failed");
	seen->n++;
}

/* The greatest first, unknown values last; equal rows stay in the order of supd's reply.
 */
static int
compare_rows(const void *a, const void *b, void *user)
{
	const struct top *top = user;
	const struct row *left = a, *right = b;
	int64_t l = 0, r = 0;

	switch (top->sort) {
	case SORT_CPU:
		l = left->cpu_milli;
		r = right->cpu_milli;
		break;
	case SORT_MEMORY:
		l = left->memory;
		r = right->memory;
		break;
	case SORT_RESTARTS:
		l = left->restarts;
		r = right->restarts;
		break;
	case SORT_UPTIME:
		l = left->uptime_ms;
		r = right->uptime_ms;
		break;
	case SORT_PATH:
	case SORT_MAX:
		break;
	}
	if (l != r)
		return l > r ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

/* Look at all actors; what was seen last is what was before. */
static int
look(struct top *top)
{
	int status;

	look_done(&top->before);
	top->before = top->now;
	if (top->before.n > 0)
		qsort(top->before.rows, top->before.n, sizeof(*top->before.rows),
		      compare_pids);
	top->now = (struct look){.at_ms = client_now_ms()};
	strbuf_init(&top->now.texts, OUT_BYTES_MAX);
	top->running = top->failed = 0;
	if (top->ctl->options.timeout_ms == CLIENT_FOREVER)
		top->ctl->client.deadline_ms = client_now_ms() + ANSWER_MS;
	status = actors_status(top->ctl, NULL, true, on_actor_seen, top);
	if (status == 0 && (top->now.failed || top->now.texts.failed))
		status = ctl_no_memory(top->ctl);
	return status;
}

static void
sort_rows(struct top *top)
{
	if (top->now.n > 0)
		qsort_r(top->now.rows, top->now.n, sizeof(*top->now.rows), compare_rows,
		        top);
}

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
add_cell(struct strbuf *sb, const struct look *seen, const struct row *row,
         uint32_t column)
{
	switch (column) {
	case 0:
		strbuf_adds(sb, text_at(seen, row->path));
		break;
	case 1:
		strbuf_adds(sb, text_at(seen, row->state));
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
colour_of(const struct look *seen, const struct row *row)
{
	const char *state = text_at(seen, row->state);

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

	draw_path(out, text_at(&top->now, row->path), path_room);
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
		sort_rows(top);
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

		status = look(top);
		sort_rows(top);
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
		status = look(top);
		if (ctl->options.json) {
			ctl_array_end(ctl);
		} else if (status == 0) {
			sort_rows(top);
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
	look_done(&top.now);
	look_done(&top.before);
	return status;
}
