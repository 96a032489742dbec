/* SPDX-License-Identifier: ISC */
/* verb_logs.c - logs: what actors said, and then what they say.
 *
 * supd is asked to tell with each line which place in the log is behind it ("@", see
 * io.supd.Control(7)).  When the connection is lost it is asked to go on there, so that
 * no line is lost or printed twice, however many have the same time or none.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "ctl/verb/logs.h"
#include "ctl/verb/verb.h"

#define TEXT_MAX (8 * 1024 * 1024)

/* ---- where we are ------------------------------------------------------------------ */

/* The place of an actor, a new one if need be; NULL: there is no room. */
struct log_place *
logs_place(struct log_stream *stream, struct span path)
{
	struct strbuf *text = &stream->text;
	uint32_t i;

	strbuf_clear(text);
	span_decode(path, text);
	if (map_get_name(&stream->by_path, strbuf_str(text), &i))
		return &stream->places[i];
	if (stream->n == LOGS_ACTORS_MAX)
		return NULL;
	struct log_place *place = &stream->places[stream->n];
	place->path = strdup(strbuf_str(text));
	if (place->path == NULL ||
	    map_put_name(&stream->by_path, place->path, stream->n) < 0)
		return NULL;
	log_make_room(&stream->style, place->path);
	stream->n++;
	return place;
}

/* Remember how far we are: the place stands behind the "@" of the stream, which is cut.
 */
static int
take_position(struct log_place *place, struct log_line *line)
{
	const char *at = memchr(line->stream.at, '@', line->stream.len);

	if (at == NULL)
		return 0;
	size_t len = (size_t)(line->stream.at + line->stream.len - at) - 1;
	free(place->position);
	place->position = strndup(at + 1, len);
	line->stream.len -= len + 1;
	return place->position == NULL ? -ENOMEM : 0;
}

static void
places_done(struct log_stream *stream)
{
	for (uint32_t i = 0; i < stream->n; i++) {
		free(stream->places[i].path);
		free(stream->places[i].position);
	}
	map_done(&stream->by_path);
}

/* True if the call filters lines, so that supd cannot count those to print. */
static bool
selects(const struct log_stream *stream)
{
	return stream->pattern.text != NULL || stream->until[0] != '\0';
}

/* Where to begin: at the first call by what the user wants, then by where we are. */
static void
add_since(const struct log_stream *stream, json_t *parameters)
{
	CLEANUP(strbuf_done) struct strbuf since = STRBUF(TEXT_MAX);
	bool known = false;

	strbuf_addc(&since, '@');
	for (uint32_t i = 0; i < stream->n; i++) {
		const struct log_place *place = &stream->places[i];

		if (place->position == NULL)
			continue;
		strbuf_addf(&since, " %s %s", place->path, place->position);
		known = true;
	}
	if (!known) {
		strbuf_adds(&since, stream->since);
		/* Of those that match the last may be further back. */
		if (stream->lines >= 0 && !selects(stream))
			(void)json_object_set_new(parameters, "lines",
			                          json_integer(stream->lines));
	}
	(void)json_object_set_new(parameters, "since", json_string(strbuf_str(&since)));
}

static json_t *
make_parameters(const struct log_stream *stream)
{
	json_t *parameters = json_object();
	json_t *names = json_array();

	for (uint32_t i = 0; i < stream->n_names; i++)
		(void)json_array_append_new(names, json_string(stream->names[i]));
	(void)json_object_set_new(parameters, "names", names);
	add_since(stream, parameters);
	if (stream->follow)
		(void)json_object_set_new(parameters, "follow", json_true());
	return parameters;
}

/* ---- replies ----------------------------------------------------------------------- */

/* True if each line begins with the name of its actor, because there are or may be
 * several actors. */
bool
logs_are_named(const struct log_stream *stream)
{
	return stream->n > 1 || stream->n_names > 1 || stream->everything;
}

/* True if the line came after --until; one without a time did not. */
static bool
is_too_late(const struct log_stream *stream, const struct log_line *line)
{
	return stream->until[0] != '\0' && line->time.at != NULL &&
	       line->time.len == LOGS_TIME_LEN &&
	       strncmp(line->time.at, stream->until, LOGS_TIME_LEN) > 0;
}

static bool
is_wanted(struct log_stream *stream, const struct log_line *line)
{
	struct strbuf *text = &stream->text;

	if (stream->pattern.text == NULL)
		return true;
	strbuf_clear(text);
	span_decode(line->text, text);
	return pattern_matches(&stream->pattern, strbuf_str(text), text->len);
}

/* Print the line now, or keep what is to be printed. */
static int
print_log(struct log_stream *stream, struct log_place *place, const struct log_line *line)
{
	struct out *out = &stream->ctl->out;
	const size_t start = out->buf.len;

	stream->style.named = logs_are_named(stream);
	log_print(out, &stream->style, line);
	if (stream->keeps) {
		int r = kept_add(&stream->kept, &place->lines, stream->lines,
		                 strbuf_str(&out->buf) + start, out->buf.len - start);
		strbuf_truncate(&out->buf, start);
		return r;
	}
	if (!stream->in_journal.is_child && client_has_next(&stream->ctl->client))
		print_flush_if_full(out);
	else
		print_flush(out);
	return 0;
}

/* Print a line, unless it is not wanted; an exit status other than 0 ends it all. */
int
logs_take(struct log_stream *stream, struct log_place *place, const struct log_line *line)
{
	stream->done = is_too_late(stream, line);
	if (stream->done)
		return CTL_FAILED;
	if (is_wanted(stream, line) && print_log(stream, place, line) < 0)
		return ctl_no_memory(stream->ctl);
	return 0;
}

static int
take_line(void *user, const struct call *call, const struct reply *reply)
{
	static const struct scan_field fields[] = {
	    SCAN_FIELD(SCAN_STRING, struct log_line, path),
	    SCAN_FIELD(SCAN_STRING, struct log_line, time),
	    SCAN_FIELD(SCAN_STRING, struct log_line, stream),
	    SCAN_FIELD(SCAN_STRING, struct log_line, text),
	    SCAN_FIELD(SCAN_STRING, struct log_line, bytes),
	};
	struct log_stream *stream = user;
	struct ctl *ctl = stream->ctl;
	struct log_line line = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};

	if (reply->parameters.at == NULL)
		return 0;
	if (!scan_read(reply->parameters, fields, ARRAY_SIZE(fields), &line) ||
	    line.path.at == NULL || line.stream.at == NULL || line.text.at == NULL)
		return complain_of(ctl, CTL_FAILED, call->target,
		                   "supd's answer is malformed");
	stream->progress = true;
	/* With nothing logged there is a single reply without a line. */
	if (line.path.len == 0)
		return 0;
	struct log_place *place = logs_place(stream, line.path);
	if (place == NULL || take_position(place, &line) < 0 || stream->text.failed)
		return ctl_no_memory(ctl);
	/* No line, but where an actor begins; perhaps the last answer for a while. */
	if (line.stream.len == 0)
		return client_has_next(&ctl->client) || !stream->follow
		           ? 0
		           : logs_begin_journal(stream);
	if (span_is(line.stream, "journal"))
		return logs_note_journal(stream, place, line.text);
	int status = logs_begin_journal(stream);
	if (status == 0 && !stream->follow && line.time.at != NULL)
		status = logs_drain_journal(stream, &line.time);
	return status != 0 ? status : logs_take(stream, place, &line);
}

/* True if one of several actors that are followed is gone: its name is dropped, and the
 * others go on. */
static bool
drop_name(struct log_stream *stream, const struct reply *reply)
{
	uint32_t n = 0;

	if (stream->n == 0 || reply->parameters.at == NULL ||
	    !span_is(reply->error, "io.supd.Control.NoSuchActor"))
		return false;
	json_auto_t *parameters =
	    json_loadb(reply->parameters.at, reply->parameters.len, 0, NULL);
	const char *name = json_string_value(json_object_get(parameters, "name"));
	for (uint32_t i = 0; i < stream->n_names; i++)
		if (name == NULL || strcmp(stream->names[i], name) != 0)
			stream->names[n++] = stream->names[i];
	bool dropped = n > 0 && n < stream->n_names;
	if (dropped)
		stream->n_names = n;
	return dropped;
}

/* True if an error of a call that follows may be answered with another call. */
static bool
goes_on(struct log_stream *stream, const struct reply *reply)
{
	return span_is(reply->error, "io.supd.Control.SlowConsumer")
	           ? stream->progress
	           : drop_name(stream, reply);
}

/* One call, to its end: 0 and *again, or the exit status. */
static int
subscribe(struct log_stream *stream, bool *again)
{
	struct ctl *ctl = stream->ctl;
	CLEANUP(ctl_call_done) struct call call = {.method = "Logs", .more = true};
	struct stream_end end;
	const int status = ctl_connect(ctl);

	*again = false;
	if (status != 0)
		return status;
	if (stream->n_names == 1 && !stream->everything)
		call.target = stream->names[0];
	stream->progress = false;
	call.parameters = make_parameters(stream);
	int r = ctl_stream(ctl, &call, take_line, stream, &end);
	if (r == -ECONNRESET) {
		r = client_reconnect(&ctl->client, &end.err);
		*again = r == 0;
	} else if (r == 1) {
		*again = stream->follow && goes_on(stream, &end.reply);
		if (!*again)
			return complain_refusal(ctl, &call, &end.reply);
	}
	return r < 0 ? ctl_give_up(ctl, &call, r, &end.err) : end.status;
}

/* Call again as often as the stream takes: a connection may be lost. */
static int
read_all(struct log_stream *stream)
{
	bool again = true;
	int status = 0;

	while (again && status == 0)
		status = subscribe(stream, &again);
	if (status == 0 && !stream->follow)
		status = logs_begin_journal(stream);
	if (status == 0 && !stream->follow)
		status = logs_drain_journal(stream, NULL);
	/* Also when the rest of it is not wanted. */
	journal_close(&stream->in_journal.journal);
	return stream->done ? 0 : status;
}

/* ---- the verb ---------------------------------------------------------------------- */

static void
print_kept(void *user, const char *text, size_t len)
{
	struct out *out = user;

	strbuf_add(&out->buf, text, len);
	print_flush_if_full(out);
}

/*
 * The lines that are there.  The last ones of those that match, and the newest line, are
 * known when all are read: these are kept until then.
 */
static int
read_past(struct log_stream *stream)
{
	const bool reverse = (stream->ctl->options.given & OPTION_REVERSE) != 0;
	const bool follow = stream->follow;

	stream->keeps = reverse || (selects(stream) && stream->lines >= 0);
	if (follow && !stream->keeps)
		return 0;
	stream->follow = false;
	int status = read_all(stream);
	if (stream->kept.left_out > 0)
		complain(stream->ctl, NULL, "%llu older lines are left out",
		         (unsigned long long)stream->kept.left_out);
	kept_each(&stream->kept, reverse, print_kept, &stream->ctl->out);
	kept_done(&stream->kept);
	print_flush(&stream->ctl->out);
	stream->keeps = false;
	stream->follow = follow;
	stream->done = !follow;
	stream->in_journal.is_past = true;
	stream->in_journal.n_read = 0;
	return status;
}

/* What actors said, merged by time; with -f also what they say from now on.  Without a
 * name it is what all said. */
int
verb_logs(struct ctl *ctl, char **names, uint32_t n)
{
	struct log_stream *stream = calloc(1, sizeof(*stream));
	char user[] = "/user";
	char *all[] = {user};

	if (stream == NULL)
		return ctl_no_memory(ctl);
	stream->ctl = ctl;
	stream->in_journal.journal.pid = -1;
	stream->everything = n == 0;
	stream->names = n == 0 ? all : names;
	stream->n_names = n == 0 ? 1 : n;
	stream->text = STRBUF(TEXT_MAX);
	int status = logs_configure(stream);
	if (stream->follow)
		ctl->client.hangup_fd = ctl->out.fd;
	if (status == 0)
		status = read_past(stream);
	if (status == 0 && !stream->done)
		status = read_all(stream);
	places_done(stream);
	free(stream->in_journal.socket);
	pattern_done(&stream->pattern);
	kept_done(&stream->kept);
	strbuf_done(&stream->text);
	free(stream);
	return status;
}
