/* SPDX-License-Identifier: ISC */
/* verb_events.c - events: the event stream, from the ring and then as it comes. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/suggest.h"
#include "ctl/text/event_text.h"
#include "ctl/text/kept.h"
#include "ctl/text/phrase.h"
#include "ctl/verb/verb.h"
#include "events/vocabulary.h"

#define FOLLOW_EVENTS 10

struct event_stream {
	struct ctl *ctl;
	const char *pattern; /* or NULL */
	bool follow;
	bool keeps;        /* events are kept back until the ring was told */
	int64_t lines;     /* the last so many of the ring; -1: all */
	uint64_t types;    /* a bit for each kind that is wanted */
	int64_t until;     /* the last number that is wanted; -1: no bound */
	uint64_t since_us; /* of times, 0: no bound */
	uint64_t until_us;
	int64_t since; /* the last number that was seen; -1: from the beginning */
	int64_t supd;  /* pid of the supd that numbers the events, 0: not known */
	bool again;    /* this is not the first subscription */
	bool progress; /* an event came since the last subscription */
	struct event_text text;
	struct kept_lines kept;
	struct kept_origin kept_all;
};

/* Events that were dropped before they could be read; only without a pattern one sees. */
static void
note_gap(const struct event_stream *stream, int64_t seq)
{
	if (stream->again && stream->pattern == NULL && stream->since >= 0 &&
	    seq > stream->since + 1)
		complain(stream->ctl, NULL, "%lld events are lost",
		         (long long)(seq - stream->since - 1));
}

/* True if kind, number and time fit the options. */
static bool
is_wanted(const struct event_stream *stream, const json_t *event, int64_t seq)
{
	const int kind =
	    names_find(report_names, NOTICE_MAX, phrase_text(event, "event"));
	uint64_t us;

	if (stream->types != 0 && (kind < 0 || (stream->types >> kind & 1) == 0))
		return false;
	if (stream->until >= 0 && seq > stream->until)
		return false;
	if (stream->since_us == 0 && stream->until_us == 0)
		return true;
	if (moment_parse(phrase_text(event, "time"), &us) < 0)
		return false;
	return us >= stream->since_us &&
	       (stream->until_us == 0 || us <= stream->until_us);
}

/* Print an event, or keep it, as JSON. */
static int
print_event(struct event_stream *stream, struct span raw, const json_t *event)
{
	struct ctl *ctl = stream->ctl;

	if (stream->keeps) {
		event_text_make_room(&stream->text, event);
		if (kept_add(&stream->kept, &stream->kept_all, stream->lines, raw.at,
		             raw.len) < 0)
			return ctl_no_memory(ctl);
		return 0;
	}
	if (ctl->options.json) {
		print_json_line(&ctl->out, raw);
	} else {
		event_text_print(&stream->text, &ctl->out, event);
	}
	if (client_has_next(&ctl->client)) {
		print_flush_if_full(&ctl->out);
	} else {
		event_text_flush(&stream->text, &ctl->out);
		print_flush(&ctl->out);
	}
	return 0;
}

static int
take_event(void *user, const struct call *call, const struct reply *reply)
{
	static const struct scan_field fields[] = {SCAN_MEMBER("event", SCAN_RAW, 0)};
	struct event_stream *stream = user;
	struct ctl *ctl = stream->ctl;
	struct span raw = {NULL, 0};
	struct reply inner = {0};
	json_auto_t *event = NULL;

	if (reply->parameters.at == NULL)
		return 0;
	/* If the ring has no events the reply has none. */
	if (scan_read(reply->parameters, fields, ARRAY_SIZE(fields), &raw) &&
	    (!span_is_object(raw) || raw.len <= 2))
		return 0;
	inner.parameters = raw;
	int status = ctl_load(ctl, call, &inner, &event);
	if (status != 0)
		return status;
	int64_t seq = phrase_number(event, "seq");
	note_gap(stream, seq);
	stream->since = seq > stream->since ? seq : stream->since;
	stream->again = false;
	stream->progress = true;
	if (is_wanted(stream, event, seq))
		status = print_event(stream, raw, event);
	return status;
}

static bool
follows(const struct ctl *ctl)
{
	return (ctl->options.given & OPTION_FOLLOW) != 0;
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
	json_auto_t *pong = NULL;
	int status = ctl_ask(stream->ctl, &call, &reply, &pong);

	if (status != 0)
		return status;
	int64_t supd = phrase_number(pong, "walker_pid");
	if (supd <= 0)
		supd = phrase_number(pong, "pid");
	if (stream->supd != 0 && stream->supd != supd)
		stream->since = -1;
	stream->supd = supd;
	return 0;
}

static json_t *
make_parameters(const struct event_stream *stream)
{
	return json_pack("{s:o*, s:o*, s:o*}", "pattern", json_string(stream->pattern),
	                 "since", stream->since >= 0 ? json_integer(stream->since) : NULL,
	                 "follow", stream->follow ? json_true() : NULL);
}

/* One subscription, to its end: 0 and *again, or the exit status. */
static int
subscribe(struct event_stream *stream, bool *again)
{
	struct ctl *ctl = stream->ctl;
	CLEANUP(ctl_call_done)
	struct call call = {.method = "Events", .target = stream->pattern, .more = true};
	struct stream_end end;
	const int status = follows(ctl) ? identify(stream) : ctl_connect(ctl);

	*again = false;
	if (status != 0)
		return status;
	stream->progress = false;
	call.parameters = make_parameters(stream);
	int r = ctl_stream(ctl, &call, take_event, stream, &end);
	if (r == -ECONNRESET && follows(ctl)) {
		r = client_reconnect(&ctl->client, &end.err);
		*again = r == 0;
	} else if (r == 1 && follows(ctl) && stream->progress &&
	           span_is(end.reply.error, "io.supd.Control.SlowConsumer")) {
		*again = true;
	} else if (r == 1) {
		return complain_refusal(ctl, &call, &end.reply);
	}
	return r < 0 ? ctl_give_up(ctl, &call, r, &end.err) : end.status;
}

static int
read_all(struct event_stream *stream)
{
	bool again = true;
	int status = 0;

	while (again && status == 0) {
		status = subscribe(stream, &again);
		stream->again = true;
	}
	event_text_flush(&stream->text, &stream->ctl->out);
	return status;
}

static void
print_kept(void *user, const char *text, size_t len)
{
	struct event_stream *stream = user;
	struct out *out = &stream->ctl->out;

	if (stream->ctl->options.json) {
		print_json_line(out, (struct span){text, len});
	} else {
		json_auto_t *event = json_loadb(text, len, 0, NULL);

		event_text_print(&stream->text, out, event);
	}
	print_flush_if_full(out);
}

/* The ring: the last of what is wanted, and how wide the paths are, is known at its end.
 */
static int
read_ring(struct event_stream *stream)
{
	const bool follow = stream->follow;

	stream->keeps = true;
	stream->follow = false;
	int status = read_all(stream);
	kept_each(&stream->kept, false, print_kept, stream);
	event_text_flush(&stream->text, &stream->ctl->out);
	print_flush(&stream->ctl->out);
	kept_done(&stream->kept);
	stream->keeps = false;
	stream->follow = follow;
	stream->again = false;
	return status;
}

/* ---- the options ------------------------------------------------------------------- */

/* "failure,backoff"; false: a word is no event, which was said. */
static bool
parse_types(struct event_stream *stream, const char *text)
{
	while (*text != '\0') {
		const size_t len = strcspn(text, ",");
		char name[32];
		struct suggest suggest = {.word = name};

		(void)snprintf(name, sizeof(name), "%.*s", (int)len, text);
		int kind = names_find(report_names, NOTICE_MAX, name);
		if (kind < 0) {
			for (int i = 0; i < NOTICE_MAX; i++)
				suggest_try(&suggest, report_names[i]);
			complain(stream->ctl, NULL,
			         "--type: no event is called '%s'%s%s%s", name,
			         suggest.best != NULL ? ", did you mean '" : "",
			         suggest.best != NULL ? suggest.best : "",
			         suggest.best != NULL ? "'?" : "");
			return false;
		}
		stream->types |= UINT64_C(1) << kind;
		text += len + (text[len] == ',');
	}
	return true;
}

/* The number of an event or a time; false: it was said that it is neither. */
static bool
parse_bound(struct event_stream *stream, const char *option, const char *text,
            int64_t *ret_seq, uint64_t *ret_us)
{
	if (ctl_parse_number(text, ret_seq) ||
	    moment_parse_past(text, (uint64_t)time(NULL) * 1000000, ret_us) == 0)
		return true;
	complain(stream->ctl, NULL,
	         "%s '%s': write the number of an event, or a time, as %s", option, text,
	         MOMENT_FORMS);
	return false;
}

static int
configure(struct event_stream *stream)
{
	const struct options *options = &stream->ctl->options;
	const unsigned int given = options->given;

	stream->follow = (given & OPTION_FOLLOW) != 0;
	if (stream->follow && (given & OPTION_UNTIL) != 0)
		return complain_of(stream->ctl, CTL_USAGE, NULL,
		                   "-f has no end: leave out --until");
	if (((given & OPTION_SINCE) != 0 &&
	     !parse_bound(stream, "--since", options->since, &stream->since,
	                  &stream->since_us)) ||
	    ((given & OPTION_UNTIL) != 0 &&
	     !parse_bound(stream, "--until", options->until, &stream->until,
	                  &stream->until_us)) ||
	    ((given & OPTION_TYPE) != 0 && !parse_types(stream, options->types)))
		return CTL_USAGE;
	stream->text.each = (stream->types >> NOTICE_ADOPTED & 1) != 0;
	if (stream->follow && (given & OPTION_SINCE) == 0)
		stream->lines = FOLLOW_EVENTS;
	if ((given & OPTION_LINES) != 0 &&
	    !ctl_parse_lines(options->lines, &stream->lines))
		return complain_of(stream->ctl, CTL_USAGE, NULL,
		                   "-n '%s': write a number, or all", options->lines);
	return 0;
}

/* What happened, from the ring of supd; with -f also what happens from now on. */
int
verb_events(struct ctl *ctl, char **names, uint32_t n)
{
	struct event_stream stream = {
	    .ctl = ctl,
	    .pattern = n > 0 ? names[0] : NULL,
	    .lines = -1,
	    .since = -1,
	    .until = -1,
	};
	int status = configure(&stream);

	if (follows(ctl))
		ctl->client.hangup_fd = ctl->out.fd;
	if (status == 0)
		status = read_ring(&stream);
	if (status == 0 && stream.follow && ctl_may_go_on(ctl))
		status = read_all(&stream);
	return status;
}
