/* SPDX-License-Identifier: ISC */
/* page_keys.c - what each key of the page does. */
#include "config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ctl/page/page.h"

static char program[] = "supctl";
static char no_color[] = "--no-color";
static char no_wait[] = "--no-wait";
static char signal_option[] = "-s";

/* Say this on the last line, until the next key. */
static void __attribute__((format(printf, 3, 4)))
note(struct page *page, bool bad, const char *format, ...)
{
	va_list arguments;

	strbuf_clear(&page->message);
	va_start(arguments, format);
	strbuf_vaddf(&page->message, format, arguments);
	va_end(arguments);
	page->message_is_bad = bad;
}

/* ---- to act ------------------------------------------------------------------------ */

/* Run the verb for the actor of `target`.  What it leads to is seen on the page. */
static void
act(struct page *page)
{
	char *words[8] = {program, no_color};
	char verb[16];
	size_t n = 2;

	if (page->act.fd >= 0) {
		note(page, true, "not done: %s has not ended yet",
		     strbuf_str(&page->act_is));
		return;
	}
	ASSERT(strlen(page->verb) < sizeof(verb));
	strcpy(verb, page->verb);
	words[n++] = verb;
	if (strcmp(verb, "kill") == 0) {
		words[n++] = signal_option;
		words[n++] = page->input;
	} else if (strcmp(verb, "fail") != 0) {
		words[n++] = no_wait;
	}
	words[n++] = page->target.data;
	words[n] = NULL;
	strbuf_clear(&page->act_says);
	strbuf_clear(&page->act_is);
	strbuf_addf(&page->act_is, "%s %s", verb, strbuf_str(&page->target));
	int r = rerun_open(&page->act, page->ctl, words);
	if (r < 0)
		note(page, true, "%s: %s", strbuf_str(&page->act_is), strerror(-r));
	else
		note(page, false, "%s ...", strbuf_str(&page->act_is));
}

/* The verb has ended: tell how. */
void
page_end_act(struct page *page)
{
	const int status = rerun_close(&page->act);
	const char *says = strbuf_str(&page->act_says);

	if (status == 0)
		note(page, false, "%s: done", strbuf_str(&page->act_is));
	else if (says[0] != '\0')
		note(page, true, "%.*s", (int)strcspn(says, "\n"), says);
	else
		note(page, true, "%s: exit status %d", strbuf_str(&page->act_is), status);
}

/* Begin with a verb for the chosen actor; true if there is one. */
static bool
aim(struct page *page, const char *verb)
{
	const struct row *row = page_chosen(page);

	if (row == NULL)
		return false;
	page->verb = verb;
	page->input[0] = '\0';
	strbuf_clear(&page->target);
	strbuf_adds(&page->target, snapshot_text(&page->top.now, row->path));
	return true;
}

static void
ask(struct page *page, const char *verb, enum page_mode mode)
{
	if (aim(page, verb))
		page->mode = mode;
}

/* ---- to type ----------------------------------------------------------------------- */

/* Take a key of a text; false: it is none. */
static bool
edit(char *text, int key)
{
	const size_t len = strlen(text);

	if (key == SCREEN_BACKSPACE && len > 0)
		text[len - 1] = '\0';
	else if (key > ' ' && key < 127 && len + 1 < PAGE_INPUT_MAX) {
		text[len] = (char)key;
		text[len + 1] = '\0';
	} else {
		return key == SCREEN_BACKSPACE;
	}
	return true;
}

static void
filter_key(struct page *page, int key)
{
	if (key == SCREEN_ESCAPE)
		page->filter[0] = '\0';
	else if (edit(page->filter, key))
		return;
	else if (key != SCREEN_ENTER)
		page_move(page, key == SCREEN_DOWN ? 1 : key == SCREEN_UP ? -1 : 0);
	if (key == SCREEN_ESCAPE || key == SCREEN_ENTER)
		page->mode = PAGE_LIST;
}

static void
signal_key(struct page *page, int key)
{
	if (edit(page->input, key))
		return;
	if (key == SCREEN_ENTER || key == SCREEN_ESCAPE)
		page->mode = PAGE_LIST;
	if (key == SCREEN_ENTER) {
		if (page->input[0] == '\0')
			strcpy(page->input, "TERM");
		act(page);
	}
}

static void
confirm_key(struct page *page, int key)
{
	page->mode = PAGE_LIST;
	if (key == 'y')
		act(page);
	else
		note(page, false, "%s %s: not done", page->verb,
		     strbuf_str(&page->target));
}

/* ---- to look ----------------------------------------------------------------------- */

static void
show_kind(struct page *page, enum pane_kind kind)
{
	const struct row *row = page_chosen(page);

	pane_choose(&page->pane, kind,
	            row == NULL ? "" : snapshot_text(&page->top.now, row->path));
	if (kind == PANE_NONE)
		page->pane_only = false;
}

/* Keys of the list by which something else is shown; false: it is another one. */
static bool
look_key(struct page *page, int key)
{
	static const char sorts[SORT_MAX] = {'c', 'm', 'r', 'u', 'p'};
	static const char kinds[PANE_MAX] = {'l', 'e', 'd', 'v', 'n'};

	for (size_t i = 0; i < SORT_MAX; i++)
		if (key == sorts[i]) {
			page->top.sort = (enum sort_key)i;
			return true;
		}
	for (size_t i = 0; i < PANE_MAX; i++)
		if (key == kinds[i]) {
			show_kind(page, (enum pane_kind)i);
			return true;
		}
	return false;
}

static bool
move_key(struct page *page, int key)
{
	const int64_t rows = page->rows > 1 ? page->rows - 1 : 1;

	if (key == 'j' || key == SCREEN_DOWN)
		page_move(page, 1);
	else if (key == 'k' || key == SCREEN_UP)
		page_move(page, -1);
	else if (key == SCREEN_PAGE_DOWN || key == ' ')
		page_move(page, rows);
	else if (key == SCREEN_PAGE_UP)
		page_move(page, -rows);
	else if (key == 'g' || key == SCREEN_FIRST)
		page_move(page, -(int64_t)page->n_shown);
	else if (key == 'G' || key == SCREEN_LAST)
		page_move(page, (int64_t)page->n_shown);
	else if (key == '[' || key == ']')
		pane_scroll(&page->pane, key == '[', 5);
	else
		return false;
	return true;
}

static void
list_key(struct page *page, int key)
{
	if (look_key(page, key) || move_key(page, key))
		return;
	if (key == SCREEN_ENTER)
		page->pane_only = !page->pane_only && page->pane.kind != PANE_NONE;
	else if (key == SCREEN_ESCAPE)
		page->filter[0] = '\0';
	else if (key == '/')
		page->mode = PAGE_FILTER;
	else if (key == '?' || key == 'h')
		page->mode = PAGE_HELP;
	else if (key == 'S' && aim(page, "start"))
		act(page);
	else if (key == 'X')
		ask(page, "stop", PAGE_CONFIRM);
	else if (key == 'R')
		ask(page, "restart", PAGE_CONFIRM);
	else if (key == 'F')
		ask(page, "fail", PAGE_CONFIRM);
	else if (key == 'K')
		ask(page, "kill", PAGE_SIGNAL);
}

/* Act on a key; false: that was enough. */
bool
page_key(struct page *page, int key)
{
	if (key == SCREEN_END)
		return false;
	if (key == SCREEN_TIME || key == SCREEN_RESIZED)
		return true;
	/* A message was seen. */
	strbuf_clear(&page->message);
	switch (page->mode) {
	case PAGE_LIST:
		if (key == 'q')
			return false;
		list_key(page, key);
		break;
	case PAGE_FILTER:
		filter_key(page, key);
		break;
	case PAGE_SIGNAL:
		signal_key(page, key);
		break;
	case PAGE_CONFIRM:
		confirm_key(page, key);
		break;
	case PAGE_HELP:
		page->mode = PAGE_LIST;
		break;
	}
	return true;
}
