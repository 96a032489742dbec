/* SPDX-License-Identifier: ISC */
/* page_list.c - the actors that the page shows, their order, and the chosen actor. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "ctl/page/page.h"

static bool
matches(const struct page *page, const struct row *row)
{
	const struct snapshot *now = &page->top.now;

	return page->filter[0] == '\0' ||
	       strcasestr(snapshot_text(now, row->path), page->filter) != NULL ||
	       strcasestr(snapshot_text(now, row->state), page->filter) != NULL;
}

/* From the last row to the first: what matches, and in the tree what is above it. */
static void
select_rows(struct page *page)
{
	const struct snapshot *now = &page->top.now;
	const bool is_tree = page->top.sort == SORT_PATH;
	uint32_t wanted = 0; /* the row above that is less deep than this */
	uint64_t more = 0;
	size_t to = now->n;

	for (size_t i = now->n; i-- > 0;) {
		const struct row *row = &now->rows[i];
		const uint32_t depth =
		    row->depth < PAGE_DEPTH_MAX ? row->depth : PAGE_DEPTH_MAX;

		if (!matches(page, row) && !(is_tree && row->depth < wanted))
			continue;
		wanted = row->depth;
		more &= (UINT64_C(2) << depth) - 1;
		page->shown[--to] = (struct page_row){(uint32_t)i, more};
		more |= UINT64_C(1) << depth;
	}
	page->n_shown = now->n - to;
	memmove(page->shown, page->shown + to, page->n_shown * sizeof(*page->shown));
}

/* The cursor stays with its actor, or about where that was. */
static void
find_cursor(struct page *page)
{
	const struct snapshot *now = &page->top.now;
	const char *path = strbuf_str(&page->pane.path);

	for (size_t i = 0; i < page->n_shown; i++) {
		const struct row *row = &now->rows[page->shown[i].row];

		if (strcmp(snapshot_text(now, row->path), path) == 0) {
			page->cursor = i;
			return;
		}
	}
	page_move(page, 0);
}

/* The actor under the cursor; NULL: none is shown. */
const struct row *
page_chosen(const struct page *page)
{
	return page->cursor < page->n_shown
	           ? &page->top.now.rows[page->shown[page->cursor].row]
	           : NULL;
}

/* Move the cursor so many rows down, or up, and select the actor there. */
void
page_move(struct page *page, int64_t by)
{
	const int64_t last = (int64_t)page->n_shown - 1;
	const int64_t to = SMALLER((int64_t)page->cursor + by, last);

	page->cursor = to > 0 ? (size_t)to : 0;
	const struct row *row = page_chosen(page);
	if (row != NULL)
		pane_choose(&page->pane, page->pane.kind,
		            snapshot_text(&page->top.now, row->path));
}

/* After a look, or with another order or filter: make the list anew.  0 or -ENOMEM. */
int
page_list(struct page *page)
{
	struct page_row *shown =
	    reallocarray(page->shown, page->top.now.n + 1, sizeof(*shown));

	if (shown == NULL)
		return -ENOMEM;
	page->shown = shown;
	top_sort(&page->top);
	select_rows(page);
	find_cursor(page);
	const struct row *row = page_chosen(page);
	if (row != NULL)
		pane_notice(&page->pane, row->generation,
		            snapshot_text(&page->top.now, row->state));
	return 0;
}
