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

/* The greatest length of the text. */
#define SCRAPE_BYTES_MAX (64 * 1024 * 1024)

struct ev_loop;

/* What the figures are about; borrowed. */
struct scraped {
	const struct engine *engine;
	const struct actors *actors;
	const struct events *events;
	const struct recording *recording;
	const struct origin *origin;
	const struct procs *procs;
	struct bounded *bounded; /* the readers are among these */
	struct output *output;   /* NULL: nothing is captured */
};

/* A text that is whole.  It stays for as long as it is held; but of those that are held
 * for slow readers only the newest few are kept. */
struct scrape_text {
	TAILQ_ENTRY(scrape_text) link;
	unsigned int holders;
	bool is_kept;
	bool is_lost; /* it is gone: `text` is empty */
	struct strbuf text;
};

/* A request for the figures; lives with its owner until it is answered or cancelled. */
struct scrape_request {
	TAILQ_ENTRY(scrape_request) link;
	uint64_t number; /* that of the text that will answer the request; 0: it was not
	                    asked */
	/* Called once, from the loop.  NULL: it would be too long, or there is no memory.
	 * The text is borrowed during the call; see scrape_text_hold(). */
	void (*on_text)(struct scrape_request *request, struct scrape_text *text);
};

void scraper_open(struct ev_loop *loop, const struct scraped *about);
void scraper_close(void);
void scraper_ask(struct scrape_request *request);
void scraper_cancel(struct scrape_request *request);
void scrape_text_hold(struct scrape_text *text);
void scrape_text_drop(struct scrape_text *text);

#endif
