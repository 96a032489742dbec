/* SPDX-License-Identifier: ISC */
/* page.h - the page of `supctl top`: all actors, their figures, and one of them closer.
 */
#ifndef CTL_PAGE_H
#define CTL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/page/history.h"
#include "ctl/page/pane.h"
#include "ctl/page/rows.h"
#include "ctl/page/screen.h"

#define PAGE_DEPTH_MAX 60
#define PAGE_INPUT_MAX 64

/* What keys are for. */
enum page_mode { PAGE_LIST, PAGE_FILTER, PAGE_SIGNAL, PAGE_CONFIRM, PAGE_HELP };

/* A row that is shown, among top.now.rows. */
struct page_row {
	uint32_t row;
	uint64_t branches; /* bit N: at depth N more comes below */
};

struct page {
	struct ctl *ctl;
	struct top top;
	struct history history;
	struct screen screen;
	struct pane pane;
	struct page_row *shown;
	size_t n_shown;
	size_t first;  /* of those shown: the first on the page */
	size_t cursor; /* and the chosen one */
	uint32_t rows; /* that have room on the page */
	enum page_mode mode;
	bool pane_only;
	char filter[PAGE_INPUT_MAX];
	char input[PAGE_INPUT_MAX]; /* the signal, as it is typed */
	const char *verb;           /* to be confirmed or completed */
	struct strbuf target;       /* the actor it is for */
	struct strbuf message;
	bool message_is_bad;
	struct rerun act;     /* the verb under way */
	struct strbuf act_is; /* and its actor */
	struct strbuf act_says;
	uint64_t away_ms; /* since when supd does not answer; 0: it does */
};

/* page.c */
int page_run(struct ctl *ctl, enum sort_key sort);

/* page_keys.c */
bool page_key(struct page *page, int key);
void page_end_act(struct page *page);

/* page_list.c */
int page_list(struct page *page);
const struct row *page_chosen(const struct page *page);
void page_move(struct page *page, int64_t by);

/* page_draw.c */
void page_draw(struct page *page);

#endif
