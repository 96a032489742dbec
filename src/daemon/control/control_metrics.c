/* SPDX-License-Identifier: ISC */
/* control_metrics.c - Metrics: the figures, in one reply or in pieces. */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "daemon/control/handlers.h"

/* How much of the text is in each reply of a stream, and the rest of the last line. */
#define PIECE_BYTES (32 * 1024)

/* How much the next piece has: whole lines. */
static size_t
piece_length(const char *text, size_t left)
{
	const char *end = left > PIECE_BYTES
	                      ? memchr(text + PIECE_BYTES, '\n', left - PIECE_BYTES)
	                      : NULL;

	return end != NULL ? (size_t)(end - text) + 1 : left;
}

static void
reply_figures(struct conn *conn, const char *text, size_t len, bool continues)
{
	struct strbuf *out = reply_begin(conn);

	strbuf_adds(out, "{\"openmetrics\":");
	strbuf_add_json_bytes(out, text, len);
	strbuf_addc(out, '}');
	reply_end(conn, continues);
}

/* Send more of the text; false: the client has to read first. */
static bool
figures_progress(struct conn *conn)
{
	struct served_call *call = &conn->call;
	const struct strbuf *text = &call->served_text.text->text;

	if (call->served_text.text->is_lost) {
		reply_error(conn, CONTROL_INTERFACE ".SlowConsumer",
		            json_pack("{s:i}", "dropped", 1));
		call_finish(conn);
		return true;
	}
	if (conn_unsent(conn) >= CONTROL_OUT_STREAM)
		return false;
	while (conn->busy && !conn->over.both && conn_unsent(conn) < CONTROL_OUT_STREAM) {
		const char *at = text->data + call->position;
		const size_t left = text->len - call->position;
		const size_t n = piece_length(at, left);

		call->position += n;
		reply_figures(conn, at, n, n < left);
		if (n == left)
			call_finish(conn);
	}
	return true;
}

static void
drop_figures(struct conn *conn)
{
	scrape_text_drop(conn->call.served_text.text);
}

static void
on_figures(struct scrape_request *request, struct scrape_text *text)
{
	struct served_call *call =
	    (struct served_call *)(void *)((char *)request -
	                                   offsetof(struct served_call,
	                                            served_text.request));
	struct conn *conn =
	    (struct conn *)(void *)((char *)call - offsetof(struct conn, call));

	if (text != NULL && call->message.more) {
		scrape_text_hold(text);
		call->served_text.text = text;
		call->release = drop_figures;
		call->progress = figures_progress;
	} else {
		if (text == NULL)
			reply_limit(conn, "metrics", SCRAPE_BYTES_MAX);
		else
			reply_figures(conn, text->text.data, text->text.len, false);
		call->state = CALL_FINISHED;
		call->release = NULL;
	}
	conn_run(conn);
}

static void
cancel_scrape(struct conn *conn)
{
	scraper_cancel(&conn->call.served_text.request);
}

/* Metrics: the figures that are served at metrics.listen; with `more` in pieces of whole
 * lines, of which no one is long, however many actors there are. */
void
handle_metrics(struct conn *conn)
{
	conn->call.state = CALL_METRICS;
	conn->call.release = cancel_scrape;
	conn->call.served_text.request = (struct scrape_request){.on_text = on_figures};
	scraper_ask(&conn->call.served_text.request);
}
