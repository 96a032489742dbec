/* SPDX-License-Identifier: ISC */
/* page_draw.c - the page, line by line. */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "ctl/page/page.h"
#include "ctl/text/actor.h"

/* The lines around the rows: what there is, titles, the pane's title, keys. */
#define LINES_AROUND 3
/* A page of fewer lines has no pane. */
#define HEIGHT_WITH_PANE 14
/* From this width on there are all columns. */
#define WIDTH_OF_ALL   110
#define PATH_MIN       12
#define PATH_MAX_WIDTH 64
#define REMARK_MIN     20

enum column {
	COLUMN_STATE,
	COLUMN_PID,
	COLUMN_CPU,
	COLUMN_MEMORY,
	COLUMN_PROCS,
	COLUMN_UPTIME,
	COLUMN_RESTARTS,
	COLUMN_HISTORY,
	COLUMNS
};

static const struct {
	const char *title;
	uint32_t width; /* with the space before it */
	bool always;    /* also on a narrow page */
	bool left;
	enum figure figure;
} columns[COLUMNS] = {
    [COLUMN_STATE] = {" STATE", 11, true, true, FIGURE_NONE},
    [COLUMN_PID] = {"PID", 8, false, false, FIGURE_PID},
    [COLUMN_CPU] = {"CPU", 7, true, false, FIGURE_CPU},
    [COLUMN_MEMORY] = {"MEMORY", 8, true, false, FIGURE_MEMORY},
    [COLUMN_PROCS] = {"PROCS", 6, false, false, FIGURE_PROCS},
    [COLUMN_UPTIME] = {"UPTIME", 8, true, false, FIGURE_UPTIME},
    [COLUMN_RESTARTS] = {"RESTARTS", 9, true, false, FIGURE_RESTARTS},
    [COLUMN_HISTORY] = {" IN 10 MIN", 11, true, true, FIGURE_NONE},
};

static const char help[] =
    "supctl top: the actors of a supd, as they change\n"
    "\n"
    "  up down  k j       choose an actor; also page up, page down, home (g), end (G)\n"
    "  p c m r u          in the order of the tree, by cpu, memory, restarts, uptime\n"
    "  /                  show only what has this text in its path or state\n"
    "  escape             show all again\n"
    "\n"
    "  l e d v            below: its log, the story of its failures (explain),\n"
    "                     all details (status), its events\n"
    "  n                  nothing below\n"
    "  [ ]                back and forth in what is below\n"
    "  enter              only what is below, and back\n"
    "\n"
    "  S                  start the actor\n"
    "  X R                stop, restart it: asks\n"
    "  K                  send a signal to its process: asks for which\n"
    "  F                  let it fail, and its supervisor decide: asks\n"
    "\n"
    "  q                  end top; the actors go on\n"
    "\n"
    "IN 10 MIN: starts after the first, a bar for each of the last ten minutes.\n";

/* ---- a row ------------------------------------------------------------------------- */

static uint32_t
width_of_columns(const struct screen *screen)
{
	uint32_t width = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].always || screen->width >= WIDTH_OF_ALL)
			width += columns[i].width;
	return width;
}

/* What is left for the names. */
static uint32_t
room_for_paths(const struct screen *screen)
{
	const uint32_t taken = width_of_columns(screen);
	uint32_t left =
	    screen->width > taken + PATH_MIN ? screen->width - taken : PATH_MIN;

	/* On a wide page remarks stand behind the figures, not far from the names. */
	if (screen->width >= WIDTH_OF_ALL && left > 2 * REMARK_MIN)
		left = left / 2 < PATH_MAX_WIDTH ? left / 2 : PATH_MAX_WIDTH;
	return left;
}

static void
put_column(const struct page *page, const struct row *row, enum column column,
           struct region *region)
{
	const char *state = snapshot_text(&page->top.now, row->state);
	const uint32_t room = columns[column].width - 1;
	enum colour colour = COLOUR_NONE;
	struct region at = *region;
	CLEANUP(strbuf_done) struct strbuf sb = STRBUF(1024);

	if (column == COLUMN_STATE) {
		strbuf_adds(&sb, state);
		if (!region->reversed && page->away_ms == 0)
			colour = actor_state_colour((struct span){state, strlen(state)});
	} else if (column == COLUMN_HISTORY) {
		history_draw(&page->history, row, page->ctl->out.utf8, &sb);
	} else {
		rows_add_figure(&sb, row, columns[column].figure);
	}
	at.column++;
	at.room = room;
	if (!columns[column].left && sb.len < room) {
		at.column += room - (uint32_t)sb.len;
		at.room = (uint32_t)sb.len;
	}
	(void)screen_put(&page->screen, &at, colour, strbuf_str(&sb));
	region->column += columns[column].width;
}

/* The lines of the tree, from the supervisors above to the actor. */
static void
add_branches(const struct page *page, const struct page_row *shown, uint32_t top_depth,
             struct strbuf *sb)
{
	const struct row *row = &page->top.now.rows[shown->row];
	const bool utf8 = page->ctl->out.utf8;

	for (uint32_t depth = top_depth + 1;
	     depth <= row->depth && depth <= PAGE_DEPTH_MAX; depth++) {
		const bool more = (shown->branches >> depth & 1) != 0;

		if (depth < row->depth)
			strbuf_adds(sb, !more ? "   " : utf8 ? "\xe2\x94\x82  " : "|  ");
		else if (utf8)
			strbuf_adds(sb, more ? "\xe2\x94\x9c\xe2\x94\x80 "
			                     : "\xe2\x94\x94\xe2\x94\x80 ");
		else
			strbuf_adds(sb, more ? "|- " : "`- ");
	}
}

/* In the tree its name at its place, else its path; of what is too long the end. */
static void
put_name(const struct page *page, const struct page_row *shown,
         const struct region *region)
{
	const struct snapshot *now = &page->top.now;
	const struct row *row = &now->rows[shown->row];
	const uint32_t top_depth = now->rows[page->shown[0].row].depth;
	const char *path = snapshot_text(now, row->path), *slash = strrchr(path, '/');
	struct region at = *region;
	CLEANUP(strbuf_done) struct strbuf sb = STRBUF(4096);

	if (page->top.sort == SORT_PATH && row->depth > top_depth && slash != NULL) {
		add_branches(page, shown, top_depth, &sb);
		path = slash + 1;
	}
	at.column += screen_put(&page->screen, &at, COLOUR_NONE, strbuf_str(&sb));
	at.room = region->column + region->room > at.column
	              ? region->column + region->room - at.column
	              : 0;
	if (at.room > 1 && print_width(path, strlen(path)) > at.room) {
		at.column += screen_put(&page->screen, &at, COLOUR_NONE, "<");
		at.room--;
		while (print_width(path, strlen(path)) > at.room)
			path += screen_fit(path, 1);
	}
	(void)screen_put(&page->screen, &at, COLOUR_NONE, path);
}

static void
put_row(const struct page *page, size_t i, uint32_t line)
{
	const struct page_row *shown = &page->shown[i];
	const struct row *row = &page->top.now.rows[shown->row];
	struct region region = {.line = line, .room = page->screen.width};

	region.reversed = i == page->cursor;
	if (region.reversed)
		for (; region.column < page->screen.width; region.column++)
			(void)screen_put(&page->screen, &region, COLOUR_NONE, " ");
	region.column = 0;
	region.room = room_for_paths(&page->screen);
	put_name(page, shown, &region);
	region.column = region.room;
	for (size_t column = 0; column < COLUMNS; column++)
		if (columns[column].always || page->screen.width >= WIDTH_OF_ALL)
			put_column(page, row, (enum column)column, &region);
	region.column += 2;
	region.room = page->screen.width;
	if (page->screen.width >= WIDTH_OF_ALL)
		(void)screen_put(&page->screen, &region, COLOUR_NONE,
		                 snapshot_text(&page->top.now, row->remark));
}

static void
put_titles(const struct page *page, uint32_t line)
{
	struct region region = {.line = line, .room = page->screen.width};

	(void)screen_put(&page->screen, &region, COLOUR_BOLD, "ACTOR");
	region.column = room_for_paths(&page->screen);
	for (size_t i = 0; i < COLUMNS; i++) {
		struct region at = region;

		if (!columns[i].always && page->screen.width < WIDTH_OF_ALL)
			continue;
		if (!columns[i].left)
			at.column +=
			    columns[i].width - (uint32_t)strlen(columns[i].title);
		(void)screen_put(&page->screen, &at, COLOUR_BOLD, columns[i].title);
		region.column += columns[i].width;
	}
}

/* ---- the lines around -------------------------------------------------------------- */

static void
put_summary(const struct page *page)
{
	const struct snapshot *now = &page->top.now;
	struct region region = {.room = page->screen.width};
	int64_t cpu = 0, memory = 0;
	CLEANUP(strbuf_done) struct strbuf sb = STRBUF(1024);

	for (size_t i = 0; i < now->n; i++) {
		const int64_t *figures = now->rows[i].figures;

		cpu += figures[FIGURE_CPU] > 0 ? figures[FIGURE_CPU] : 0;
		memory += figures[FIGURE_MEMORY] > 0 ? figures[FIGURE_MEMORY] : 0;
	}
	if (page->away_ms != 0) {
		strbuf_adds(&sb, "supd does not answer since ");
		print_age(&sb, client_now_ms() - page->away_ms);
		strbuf_adds(&sb, "; trying again.  This is what was last seen:");
	} else {
		strbuf_addf(&sb, "%zu actors, %u running, %u failed; cpu ", now->n,
		            now->running, now->down);
		rows_add_share(&sb, cpu);
		strbuf_adds(&sb, ", memory ");
		print_bytes(&sb, (uint64_t)memory);
		strbuf_addf(&sb, "; by %s", rows_sort_names[page->top.sort]);
		if (page->filter[0] != '\0' && page->mode != PAGE_FILTER)
			strbuf_addf(&sb, "; only '%s'", page->filter);
		if (page->n_shown > page->rows)
			strbuf_addf(&sb, "; %zu to %zu of %zu", page->first + 1,
			            page->first + page->rows, page->n_shown);
	}
	(void)screen_put(&page->screen, &region,
	                 page->away_ms != 0 ? COLOUR_BAD : COLOUR_NONE, strbuf_str(&sb));
}

/* A line across, with what the pane below is about. */
static void
put_pane_title(const struct page *page, uint32_t line)
{
	const char *dash = page->ctl->out.utf8 ? "\xe2\x94\x80" : "-";
	const struct row *row = page_chosen(page);
	struct region region = {.line = line, .room = page->screen.width};
	CLEANUP(strbuf_done) struct strbuf sb = STRBUF(64 * 1024);

	for (; region.column < page->screen.width; region.column++)
		(void)screen_put(&page->screen, &region, COLOUR_DIM, dash);
	region.column = 2;
	strbuf_addf(&sb, " %s of %s ", pane_title(&page->pane),
	            strbuf_str(&page->pane.path));
	region.column += screen_put(&page->screen, &region, COLOUR_BOLD, strbuf_str(&sb));
	/* Where the row has no room for it. */
	if (row != NULL && page->screen.width < WIDTH_OF_ALL &&
	    snapshot_text(&page->top.now, row->remark)[0] != '\0') {
		strbuf_clear(&sb);
		strbuf_addf(&sb, "%s ", snapshot_text(&page->top.now, row->remark));
		(void)screen_put(&page->screen, &region, COLOUR_BUSY, strbuf_str(&sb));
	}
}

/* The last line: a question, a message, or the keys. */
static void
put_bottom(const struct page *page)
{
	struct region region = {.line = page->screen.height - 1,
	                        .room = page->screen.width};
	enum colour colour = COLOUR_BOLD;
	CLEANUP(strbuf_done) struct strbuf sb = STRBUF(64 * 1024);

	if (page->mode == PAGE_FILTER) {
		strbuf_addf(&sb, "/%s_", page->filter);
	} else if (page->mode == PAGE_SIGNAL) {
		strbuf_addf(&sb, "signal to %s (TERM): %s_", strbuf_str(&page->target),
		            page->input);
	} else if (page->mode == PAGE_CONFIRM) {
		strbuf_addf(&sb, "%s %s? y or n", page->verb, strbuf_str(&page->target));
	} else if (page->message.len > 0) {
		strbuf_adds(&sb, strbuf_str(&page->message));
		colour = page->message_is_bad ? COLOUR_BAD : COLOUR_GOOD;
	} else {
		strbuf_adds(&sb, "?:help /:filter l:log e:story S:start X:stop R:restart "
		                 "K:signal F:fail q:quit");
		colour = COLOUR_NONE;
	}
	(void)screen_put(&page->screen, &region, colour, strbuf_str(&sb));
}

/* ---- all --------------------------------------------------------------------------- */

static void
put_help(const struct screen *screen)
{
	struct region region = {.room = screen->width};
	const char *text = help;
	char line[128];

	while (*text != '\0') {
		const size_t len = strcspn(text, "\n");

		memcpy(line, text, len);
		line[len] = '\0';
		(void)screen_put(screen, &region, COLOUR_NONE, line);
		region.line++;
		text += len + 1;
	}
}

/* The rows around the cursor; then where the pane begins. */
static uint32_t
put_rows(struct page *page, uint32_t lines)
{
	page->rows = lines;
	if (page->cursor < page->first)
		page->first = page->cursor;
	if (page->cursor >= page->first + lines)
		page->first = page->cursor - lines + 1;
	if (page->first + lines > page->n_shown)
		page->first = page->n_shown > lines ? page->n_shown - lines : 0;
	for (uint32_t i = 0; i < lines && page->first + i < page->n_shown; i++)
		put_row(page, page->first + i, 2 + i);
	return 2 + lines;
}

static void
put_all(struct page *page)
{
	const uint32_t inside =
	    page->screen.height > LINES_AROUND ? page->screen.height - LINES_AROUND : 1;
	const bool has_pane =
	    page->pane.kind != PANE_NONE && page->screen.height >= HEIGHT_WITH_PANE;
	uint32_t lines = inside, line = 1;

	if (!has_pane || !page->pane_only) {
		put_titles(page, 1);
		if (has_pane)
			lines -= 1 + inside * 2 / 5;
		/* What a few actors leave over belongs to the pane. */
		if (has_pane && page->n_shown < lines)
			lines = page->n_shown > 3 ? (uint32_t)page->n_shown : 3;
		line = put_rows(page, lines);
	}
	put_summary(page);
	if (has_pane) {
		put_pane_title(page, line);
		pane_draw(&page->pane, &page->screen, line + 1,
		          page->screen.height - line - 2);
	}
	put_bottom(page);
}

/* Draw the page as it is now. */
void
page_draw(struct page *page)
{
	screen_begin(&page->screen);
	if (page->mode == PAGE_HELP)
		put_help(&page->screen);
	else
		put_all(page);
	screen_end();
}
