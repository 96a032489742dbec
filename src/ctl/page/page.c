/* SPDX-License-Identifier: ISC */
/* page.c - the page of `supctl top`: all actors, their figures, and one of them closer.
 */
#include "config.h"

#include "ctl/page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/wire/ctl.h"

#define REFRESH_MS 1000
/* A key is not to wait for longer than this for a supd that does not answer. */
#define ANSWER_MS 2000

static void
init(struct page *page, struct ctl *ctl, enum sort_key sort)
{
	*page = (struct page){
	    .ctl = ctl,
	    .top = {.ctl = ctl, .sort = sort, .answer_ms = ANSWER_MS},
	    .act = {.fd = -1},
	    .target = STRBUF(OUT_BYTES_MAX),
	    .message = STRBUF(OUT_BYTES_MAX),
	    .act_is = STRBUF(OUT_BYTES_MAX),
	    .act_says = STRBUF(64 * 1024),
	};
	pane_init(&page->pane, ctl);
}

/* What is under way goes on without its reader. */
static void
done(struct page *page)
{
	pane_done(&page->pane);
	history_done(&page->history);
	snapshot_done(&page->top.now);
	snapshot_done(&page->top.before);
	strbuf_done(&page->target);
	strbuf_done(&page->message);
	strbuf_done(&page->act_is);
	strbuf_done(&page->act_says);
	free(page->shown);
}

/* supd went away, perhaps to come back: what was seen last stays. */
static void
note_absence(struct page *page)
{
	struct ctl *ctl = page->ctl;

	client_done(&ctl->client);
	ctl->unreachable = false;
	if (page->away_ms == 0)
		page->away_ms = client_now_ms();
}

/* True if the next look can be better. */
static bool
may_come_back(const struct page *page, int status)
{
	if (status == CTL_DENIED || page->ctl->reader_gone)
		return false;
	return status != CTL_TIMED_OUT || page->ctl->options.timeout_ms == CLIENT_FOREVER;
}

/* Look at supd; an exit status that ends the page, or 0. */
static int
look(struct page *page)
{
	int status = top_look(&page->top);

	if (status != 0 && !may_come_back(page, status))
		return status;
	if (status != 0) {
		screen_forget_messages(&page->screen);
		note_absence(page);
	} else {
		if (page->away_ms != 0)
			pane_restart(&page->pane);
		page->away_ms = 0;
		if (history_update(&page->history, &page->top) < 0)
			return ctl_no_memory(page->ctl);
	}
	return page_list(page) < 0 ? ctl_no_memory(page->ctl) : 0;
}

/* Wait for a key, or for what children say, until it is so late. */
static int
wait_and_take(struct page *page, uint64_t until_ms)
{
	struct pollfd fds[] = {
	    {.fd = client_now_ms() >= page->pane.read_ms ? page->pane.rerun.fd : -1,
	     .events = POLLIN},
	    {.fd = page->act.fd, .events = POLLIN},
	};
	int key = screen_wait(&page->screen, fds, 2, pane_next_ms(&page->pane, until_ms));

	(void)poll(fds, 2, 0);
	pane_turn(&page->pane, client_now_ms(), fds[0].revents != 0);
	if (fds[1].revents != 0 && !rerun_read(&page->act, &page->act_says))
		page_end_act(page);
	return key;
}

/* Draw and take keys until the next look; false: that was enough. */
static bool
take_keys(struct page *page, int *ret_status)
{
	const uint64_t next_ms = client_now_ms() + REFRESH_MS;

	while (client_now_ms() < next_ms) {
		page_draw(page);
		if (!page_key(page, wait_and_take(page, next_ms)))
			return false;
		if (page_list(page) < 0) {
			*ret_status = ctl_no_memory(page->ctl);
			return false;
		}
	}
	return true;
}

static int
stay(struct page *page)
{
	int status = 0;
	int r = screen_open(&page->screen, &page->ctl->out);

	if (r == -ENOTSUP) {
		const char *term = getenv("TERM");

		return complain_of(
		    page->ctl, CTL_FAILED, NULL,
		    "no page can be drawn on a terminal of the type '%s' ($TERM); "
		    "'supctl top -n 1' prints a table",
		    term == NULL ? "" : term);
	}
	if (r < 0)
		return complain_of(page->ctl, CTL_FAILED, NULL, "the terminal: %s",
		                   strerror(-r));
	page_move(page, 0);
	while (take_keys(page, &status) && status == 0)
		status = look(page);
	screen_close(&page->screen);
	return status;
}

/* Stay on the terminal of standard input and output until q is pressed; supctl's exit
 * status. */
int
page_run(struct ctl *ctl, enum sort_key sort)
{
	struct page page;

	init(&page, ctl, sort);
	/* Without a supd at the start there is no page. */
	int status = top_look(&page.top);
	if (status == 0 &&
	    (history_load(&page.history, &page.top) < 0 || page_list(&page) < 0))
		status = ctl_no_memory(ctl);
	if (status == 0)
		status = stay(&page);
	done(&page);
	return status;
}
