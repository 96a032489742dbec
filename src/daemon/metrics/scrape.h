/* SPDX-License-Identifier: ISC */
/* scrape.h - the figures about supd and its actors, as OpenMetrics text.
 *
 * Looking at thousands of processes takes time: it is done piece by piece, between turns
 * of the loop, for a single reader at a time; readers that ask meanwhile share the next
 * text.
 */
#ifndef DAEMON_SCRAPE_H
#define DAEMON_SCRAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/strbuf.h"

/* So long may the text be. */
#define SCRAPE_BYTES_MAX (64 * 1024 * 1024)

struct shell;

/* A request for the figures; lives with its owner until it is answered or cancelled. */
struct scrape_request {
	TAILQ_ENTRY(scrape_request) link;
	bool is_waiting;
	/* Called once, from the loop.  NULL: it would be too long, or there is no memory.
	 * The text is borrowed during the call. */
	void (*on_text)(struct scrape_request *request, const struct strbuf *text);
};

void scraper_open(struct shell *shell);
void scraper_close(void);
void scraper_ask(struct scrape_request *request);
void scraper_cancel(struct scrape_request *request);

#endif
