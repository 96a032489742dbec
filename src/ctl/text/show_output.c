/* SPDX-License-Identifier: ISC */
/* show_output.c - the last lines that an actor wrote, in its block. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "ctl/text/show.h"

#define LINES 10

struct shown_output {
	struct out *out;
	const char *label;
	const char *indent;
	uint32_t n;
};

struct shown_line {
	struct span time;
	struct span stream;
	struct span text;
};

static int
take_line(void *user, const struct call *call, const struct reply *reply)
{
	static const struct scan_field fields[] = {
	    {"time", SCAN_STRING, offsetof(struct shown_line, time)},
	    {"stream", SCAN_STRING, offsetof(struct shown_line, stream)},
	    {"text", SCAN_STRING, offsetof(struct shown_line, text)},
	};
	struct shown_output *output = user;
	struct strbuf *sb = &output->out->buf;
	struct shown_line line = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
	struct scan scan;

	(void)call;
	scan_init(&scan, reply->parameters);
	if (reply->parameters.at != NULL)
		scan_fields(&scan, fields, ARRAY_SIZE(fields), &line);
	/* Without a stream there was no line. */
	if (scan.bad || line.stream.len == 0 || line.text.at == NULL)
		return 0;
	if (output->n++ == 0)
		show_label(output->out, output->label);
	else
		strbuf_adds(sb, output->indent);
	if (line.time.at != NULL) {
		show_when(output->out, line.time, true);
		strbuf_adds(sb, "  ");
	}
	print_span(sb, line.text);
	strbuf_addc(sb, '\n');
	return 0;
}

/*
 * The last lines of an actor.  Where its output is not captured, or cannot be had, the
 * block does without; 0 or the exit status of what went wrong for good.
 */
int
show_output(struct ctl *ctl, struct span path)
{
	struct shown_output output = {&ctl->out, "output", "            ", 0};
	struct call call = {.method = "Logs", .more = true};
	struct strbuf name;
	struct reply reply;
	struct err err;
	int status;
	int r;

	strbuf_init(&name, 2 * path.len + 2);
	span_decode(path, &name);
	call.parameters =
	    json_pack("{s:[s], s:i}", "names", strbuf_str(&name), "lines", LINES);
	strbuf_done(&name);
	r = ctl_stream(ctl, &call, take_line, &output, &reply, &err, &status);
	ctl_call_done(&call);
	/* The rest is worth more than these lines. */
	if (r == -ECONNRESET)
		r = client_reconnect(&ctl->client, &err);
	return r < 0 ? ctl_give_up(ctl, &call, r, &err) : status;
}
