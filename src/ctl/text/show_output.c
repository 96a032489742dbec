/* SPDX-License-Identifier: ISC */
/* show_output.c - the last lines that an actor wrote, in its block. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "ctl/text/actor.h"
#include "ctl/text/journalctl.h"
#include "ctl/text/show.h"

#define LINES            10
#define SOCKET_BYTES_MAX 4096
/* The lines are waited for so long: the disk that they are on may hang. */
#define PATIENCE_MS 3000
#define LATE        "(no answer in 3s: the log cannot be read now, perhaps its disk hangs)"

#define LABEL  "output"
#define INDENT "            "

struct shown_output {
	struct out *out;
	uint32_t n;
	struct strbuf *journal; /* the socket of its entries there; "": there is none */
	bool in_journal;
};

struct shown_line {
	struct span time, stream, text;
};

static void
print_line(struct shown_output *output, struct span time, struct span text)
{
	struct strbuf *sb = &output->out->buf;

	if (output->n++ == 0)
		show_label(output->out, LABEL);
	else
		strbuf_adds(sb, INDENT);
	if (time.at != NULL) {
		show_when(output->out, "", time, true);
		strbuf_adds(sb, "  ");
	}
	print_span(sb, text);
	strbuf_addc(sb, '\n');
}

static int
take_line(void *user, const struct call *call UNUSED, const struct reply *reply)
{
	static const struct scan_field fields[] = {
	    SCAN_FIELD(SCAN_STRING, struct shown_line, time),
	    SCAN_FIELD(SCAN_STRING, struct shown_line, stream),
	    SCAN_FIELD(SCAN_STRING, struct shown_line, text),
	};
	struct shown_output *output = user;
	struct shown_line line = {{NULL, 0}, {NULL, 0}, {NULL, 0}};

	/* A reply without a stream has no line; a stream "@…" tells a position. */
	if (!scan_read(reply->parameters, fields, ARRAY_SIZE(fields), &line) ||
	    line.stream.len == 0 || line.stream.at[0] == '@' || line.text.at == NULL)
		return 0;
	if (line.stream.len > 7 && memcmp(line.stream.at, "journal@", 8) == 0) {
		output->in_journal = true;
		strbuf_clear(output->journal);
		span_decode(line.text, output->journal);
		return 0;
	}
	print_line(output, line.time, line.text);
	return 0;
}

/* The last lines of the journal, or where they are. */
static void
show_journal(struct ctl *ctl, struct shown_output *output, char *path)
{
	const struct journal_query query = {.socket = strbuf_str(output->journal),
	                                    .paths = &path,
	                                    .n_paths = 1,
	                                    .since = "",
	                                    .lines = LINES};
	struct journal journal = {.pid = -1};

	if (query.socket[0] != '\0' && journal_open(&journal, ctl, &query) == 0)
		for (; journal_peek(&journal); journal_take(&journal))
			print_line(output, journal.line.time, journal.line.text);
	journal_close(&journal);
	if (output->n > 0)
		return;
	show_label(output->out, LABEL);
	if (query.socket[0] != '\0') {
		strbuf_adds(&output->out->buf, "in the journal: journalctl SUPD_PATH=");
		print_text(&output->out->buf, path, strlen(path));
	} else {
		strbuf_adds(&output->out->buf,
		            "goes to the journal, and there is none on this machine");
	}
	strbuf_addc(&output->out->buf, '\n');
}

/* Where else the output goes, as supd says. */
static void
show_elsewhere(struct shown_output *output, const struct reply *reply)
{
	static const struct scan_field fields[] = {
	    SCAN_MEMBER("message", SCAN_STRING, 0)};
	struct span message = {NULL, 0};

	if (!span_is(reply->error, "io.supd.Control.InvalidState") ||
	    !scan_read(reply->parameters, fields, ARRAY_SIZE(fields), &message) ||
	    message.at == NULL)
		return;
	show_label(output->out, LABEL);
	print_span(&output->out->buf, message);
	strbuf_addc(&output->out->buf, '\n');
}

/*
 * The block of an actor with its last lines, or where its output is.  supd looks for them
 * while the block is made.  Where they cannot be had the block does without; 0 or the
 * exit status of what went wrong for good.
 */
int
show_output(struct ctl *ctl, const struct actor_view *actor,
            const struct shown_collection *all)
{
	CLEANUP(strbuf_done) struct strbuf socket = STRBUF(SOCKET_BYTES_MAX);
	struct shown_output output = {.out = &ctl->out, .journal = &socket};
	CLEANUP_FREE char *name = span_copy(actor->path);
	const struct call call = {.method = "Logs"};
	const uint64_t deadline_ms = ctl->client.deadline_ms;
	struct stream_end end;

	/* With places, so that supd tells of the journal, too. */
	int r =
	    client_send(&ctl->client, call.method,
	                json_pack("{s:[s], s:i, s:s}", "names", name != NULL ? name : "",
	                          "lines", LINES, "since", "@"),
	                true, &end.err);
	end.status = show_actor(ctl, actor, all);
	if (r == 0 && end.status == 0) {
		const uint64_t end_ms = client_now_ms() + PATIENCE_MS;

		ctl->client.deadline_ms = end_ms < deadline_ms ? end_ms : deadline_ms;
		r = ctl_take_replies(ctl, &call, take_line, &output, &end);
		ctl->client.deadline_ms = deadline_ms;
	}
	if (r == 1)
		show_elsewhere(&output, &end.reply);
	if (output.in_journal && name != NULL)
		show_journal(ctl, &output, name);
	if (r == -ETIME && client_now_ms() < deadline_ms) {
		print_line(&output, (struct span){NULL, 0},
		           (struct span){LATE, sizeof(LATE) - 1});
		ctl->output_hangs = true;
		r = -ECONNRESET;
	}
	/* The rest is worth more than these lines. */
	if (r == -ECONNRESET)
		r = client_reconnect(&ctl->client, &end.err);
	return r < 0 ? ctl_give_up(ctl, &call, r, &end.err) : end.status;
}
