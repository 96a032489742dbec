/* SPDX-License-Identifier: ISC */
/* verb_events.c - events: the event stream, from the ring and then as it comes. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "ctl/text/phrase.h"
#include "ctl/verb/verb.h"

#define PATH_WIDTH_MIN 16
#define PATH_WIDTH_MAX 48
#define EVENT_WIDTH    9

struct event_stream {
	struct ctl *ctl;
	const char *pattern; /* or NULL */
	bool follow;
	int64_t since; /* the last number that was seen; -1: from the beginning */
	int64_t supd;  /* pid of the supd that numbers the events, 0: not known */
	bool again;    /* this is not the first subscription */
	bool progress; /* an event came since the last subscription */
	size_t path_width;
};

static enum colour
event_colour(const char *event)
{
	static const struct {
		const char *event;
		enum colour colour;
	} colours[] = {
	    {"ready", COLOUR_GOOD},
	    {"failure", COLOUR_BAD},
	    {"gave_up", COLOUR_BAD},
	    {"escalated", COLOUR_BAD},
	    {"killed_after_timeout", COLOUR_BUSY},
	    {"unkillable", COLOUR_BAD},
	    {"backoff", COLOUR_BUSY},
	    {"shortage", COLOUR_BUSY},
	    {"command", COLOUR_BOLD},
	    {"supd", COLOUR_BOLD},
	    {"applied", COLOUR_BOLD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(colours); i++)
		if (strcmp(colours[i].event, event) == 0)
			return colours[i].colour;
	return COLOUR_NONE;
}

/* Print a line: time, actor, event, and its meaning in words. */
static void
print_event(struct event_stream *stream, const json_t *event)
{
	struct out *out = &stream->ctl->out;
	const char *path = phrase_text(event, "path");
	const char *name = phrase_text(event, "event");
	size_t start;
	size_t width;

	print_when(&out->buf, phrase_text(event, "time"), true);
	strbuf_adds(&out->buf, "  ");
	start = out->buf.len;
	print_text(&out->buf, path, strlen(path));
	width = print_width(strbuf_str(&out->buf) + start, out->buf.len - start);
	if (width > stream->path_width && width <= PATH_WIDTH_MAX)
		stream->path_width = width;
	print_pad(&out->buf, width, stream->path_width);
	/* Names of events are supd's own, but that is for supd to say. */
	start = out->buf.len;
	print_text(&out->buf, name, strlen(name));
	width = out->buf.len - start;
	if (event_colour(name) != COLOUR_NONE) {
		out->buf.len = start;
		print_colour(out, event_colour(name), name);
	}
	start = out->buf.len;
	print_pad(&out->buf, width, EVENT_WIDTH);
	phrase_print(&out->buf, event, out->utf8);
	while (out->buf.len > start && out->buf.data[out->buf.len - 1] == ' ')
		out->buf.len--;
	strbuf_addc(&out->buf, '\n');
}

/* Events that were dropped before they could be read; only without a pattern one sees. */
static void
note_gap(const struct event_stream *stream, int64_t seq)
{
	if (stream->again && stream->pattern == NULL && stream->since >= 0 &&
	    seq > stream->since + 1)
		complain(stream->ctl, NULL, "%lld events are lost",
		         (long long)(seq - stream->since - 1));
}

static int
take_event(void *user, const struct call *call, const struct reply *reply)
{
	static const struct scan_field fields[] = {{"event", SCAN_RAW, 0}};
	struct event_stream *stream = user;
	struct ctl *ctl = stream->ctl;
	struct span raw = {NULL, 0};
	struct reply inner = {0};
	struct scan scan;
	json_t *event;
	int64_t seq;
	int status;

	if (reply->parameters.at == NULL)
		return 0;
	scan_init(&scan, reply->parameters);
	scan_fields(&scan, fields, ARRAY_SIZE(fields), &raw);
	/* A ring without events answers with none. */
	if (!scan.bad && (!span_is_object(raw) || raw.len <= 2))
		return 0;
	inner.parameters = raw;
	status = ctl_load(ctl, call, &inner, &event);
	if (status != 0)
		return status;
	seq = phrase_number(event, "seq");
	note_gap(stream, seq);
	stream->since = seq > stream->since ? seq : stream->since;
	stream->again = false;
	stream->progress = true;
	if (ctl->options.json) {
		print_json(&ctl->out, raw);
		strbuf_addc(&ctl->out.buf, '\n');
	} else {
		print_event(stream, event);
	}
	json_decref(event);
	if (client_has_next(&ctl->client))
		print_flush_if_full(&ctl->out);
	else
		print_flush(&ctl->out);
	return 0;
}

/*
 * Which supd numbers the events?  A guardian that came back goes on counting under the
 * same walker; another supd begins anew, and all its events are new.
 */
static int
identify(struct event_stream *stream)
{
	struct call call = {.method = "Ping", .repeat = true};
	struct reply reply;
	int64_t supd;
	json_t *pong;
	int status = ctl_call(stream->ctl, &call, &reply);

	if (status == 0)
		status = ctl_load(stream->ctl, &call, &reply, &pong);
	if (status != 0)
		return status;
	supd = phrase_number(pong, "walker_pid");
	if (supd <= 0)
		supd = phrase_number(pong, "pid");
	json_decref(pong);
	if (stream->supd != 0 && stream->supd != supd)
		stream->since = -1;
	stream->supd = supd;
	return 0;
}

static json_t *
make_parameters(const struct event_stream *stream)
{
	json_t *parameters = json_object();

	if (stream->pattern != NULL)
		(void)json_object_set_new(parameters, "pattern",
		                          json_string(stream->pattern));
	if (stream->since >= 0)
		(void)json_object_set_new(parameters, "since",
		                          json_integer(stream->since));
	if (stream->follow)
		(void)json_object_set_new(parameters, "follow", json_true());
	return parameters;
}

/* One subscription, to its end: 0 and *again, or the exit status. */
static int
subscribe(struct event_stream *stream, bool *again)
{
	struct ctl *ctl = stream->ctl;
	struct call call = {.method = "Events", .target = stream->pattern, .more = true};
	struct reply reply;
	struct err err;
	int status = stream->follow ? identify(stream) : ctl_connect(ctl);
	int r;

	*again = false;
	if (status != 0)
		return status;
	stream->progress = false;
	call.parameters = make_parameters(stream);
	r = ctl_stream(ctl, &call, take_event, stream, &reply, &err, &status);
	ctl_call_done(&call);
	if (r == -ECONNRESET && stream->follow) {
		r = client_reconnect(&ctl->client, &err);
		*again = r == 0;
	} else if (r == 1 && stream->follow && stream->progress &&
	           span_is(reply.error, "io.supd.Control.SlowConsumer")) {
		*again = true;
	} else if (r == 1) {
		return complain_refusal(ctl, &call, &reply);
	}
	return r < 0 ? ctl_give_up(ctl, &call, r, &err) : status;
}

/* What happened, from the ring of supd; with -f also what happens from now on. */
int
verb_events(struct ctl *ctl, char **names, uint32_t n)
{
	struct event_stream stream = {
	    .ctl = ctl,
	    .pattern = n > 0 ? names[0] : NULL,
	    .follow = (ctl->options.given & OPTION_FOLLOW) != 0,
	    .since = -1,
	    .path_width = PATH_WIDTH_MIN,
	};
	bool again = true;
	int status = 0;

	if ((ctl->options.given & OPTION_SINCE) != 0 &&
	    !ctl_parse_number(ctl->options.since, &stream.since)) {
		complain(ctl, NULL, "--since '%s': write the number of an event",
		         ctl->options.since);
		return CTL_USAGE;
	}
	if (stream.follow)
		ctl->client.hangup_fd = ctl->out.fd;
	while (again && status == 0) {
		status = subscribe(&stream, &again);
		stream.again = true;
	}
	return status;
}
