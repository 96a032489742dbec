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
#include <time.h>

#include "base/ansi.h"
#include "base/assert.h"
#include "base/map.h"
#include "base/moment.h"
#include "ctl/verb/verb.h"

#define ACTORS_MAX   4096
#define TEXT_MAX     (8 * 1024 * 1024)
#define FOLLOW_LINES 10
#define NAME_WIDTH   32

/* An actor and how far its log was read. */
struct log_place {
	char *path;     /* owned */
	char *position; /* owned, NULL: not known */
};

struct log_stream {
	struct ctl *ctl;
	char **names;
	uint32_t n_names;
	bool follow;
	int64_t lines; /* -1: all */
	char since[64];
	struct log_place places[ACTORS_MAX];
	uint32_t n;
	struct map by_path;
	bool named;    /* more than one actor: their names go in front */
	bool progress; /* something came since the last call */
	size_t width;
	struct strbuf text; /* scratch */
};

/* One reply. */
struct log_line {
	struct span path;
	struct span time;
	struct span stream;
	struct span text;
	struct span bytes; /* in base64, where the text is not what was written */
};

/* ---- where we are ------------------------------------------------------------------ */

static const char *
short_name(const char *path)
{
	return strncmp(path, "/user/", 6) == 0 ? path + 6 : path;
}

/* All actors are told of before the first line, so that names stand above each other. */
static void
make_room(struct log_stream *stream, const char *path)
{
	struct strbuf name;
	size_t width;

	strbuf_init(&name, TEXT_MAX);
	print_text(&name, short_name(path), strlen(short_name(path)));
	width = print_width(strbuf_str(&name), name.len);
	if (width > stream->width && width <= NAME_WIDTH)
		stream->width = width;
	strbuf_done(&name);
}

/* The place of an actor, a new one if need be; NULL: there is no room. */
static struct log_place *
find_place(struct log_stream *stream, struct span path)
{
	struct strbuf *text = &stream->text;
	struct log_place *place;
	uint32_t i;

	strbuf_clear(text);
	span_decode(path, text);
	if (map_get_name(&stream->by_path, strbuf_str(text), &i))
		return &stream->places[i];
	if (stream->n == ACTORS_MAX)
		return NULL;
	place = &stream->places[stream->n];
	place->path = strdup(strbuf_str(text));
	if (place->path == NULL ||
	    map_put_name(&stream->by_path, place->path, stream->n) < 0)
		return NULL;
	make_room(stream, place->path);
	stream->n++;
	return place;
}

/* Remember how far we are: the place stands behind the "@" of the stream, which is cut.
 */
static int
take_position(struct log_stream *stream, struct log_line *line)
{
	const char *at = memchr(line->stream.at, '@', line->stream.len);
	struct log_place *place = find_place(stream, line->path);
	size_t len;

	if (place == NULL)
		return -ENOMEM;
	if (at == NULL)
		return 0;
	len = (size_t)(line->stream.at + line->stream.len - at) - 1;
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

/* Where to begin: at the first call by what the user wants, then by where we are. */
static void
add_since(const struct log_stream *stream, json_t *parameters)
{
	struct strbuf since;
	bool known = false;

	strbuf_init(&since, TEXT_MAX);
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
		if (stream->lines >= 0)
			(void)json_object_set_new(parameters, "lines",
			                          json_integer(stream->lines));
	}
	(void)json_object_set_new(parameters, "since", json_string(strbuf_str(&since)));
	strbuf_done(&since);
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

/* ---- what is printed --------------------------------------------------------------- */

/* In a colour of its own, as wide as the longest of those that were told of. */
static void
print_name(struct log_stream *stream, const char *path)
{
	struct out *out = &stream->ctl->out;
	const char *name = short_name(path);
	size_t start;
	size_t width;

	if (out->colour)
		strbuf_adds(&out->buf, ansi_of_name(name));
	start = out->buf.len;
	print_text(&out->buf, name, strlen(name));
	width = print_width(strbuf_str(&out->buf) + start, out->buf.len - start);
	for (; width < stream->width; width++)
		strbuf_addc(&out->buf, ' ');
	strbuf_adds(&out->buf, " |");
	if (out->colour)
		strbuf_adds(&out->buf, ANSI_RESET);
	strbuf_addc(&out->buf, ' ');
}

/* As it was written; for a terminal with nothing but its colours that would control it.
 */
static void
print_output(struct log_stream *stream, const char *text, size_t len)
{
	struct out *out = &stream->ctl->out;

	if (out->terminal)
		ansi_add_output(&out->buf, text, len, out->colour);
	else
		strbuf_add(&out->buf, text, len);
}

static void
add_member(struct strbuf *sb, const char *name, struct span value)
{
	strbuf_adds(sb, name);
	if (value.at == NULL) {
		strbuf_adds(sb, "null");
		return;
	}
	strbuf_addc(sb, '"');
	strbuf_add(sb, value.at, value.len);
	strbuf_addc(sb, '"');
}

static void
print_object(struct log_stream *stream, const struct log_line *line)
{
	struct strbuf *text = &stream->text;

	strbuf_clear(text);
	add_member(text, "{\"path\": ", line->path);
	add_member(text, ", \"time\": ", line->time);
	add_member(text, ", \"stream\": ", line->stream);
	add_member(text, ", \"text\": ", line->text);
	if (line->bytes.at != NULL)
		add_member(text, ", \"bytes\": ", line->bytes);
	strbuf_addc(text, '}');
	print_json(&stream->ctl->out, (struct span){strbuf_str(text), text->len});
}

static void
print_line(struct log_stream *stream, const struct log_line *line)
{
	struct strbuf *text = &stream->text;

	if (stream->ctl->options.json) {
		print_object(stream, line);
	} else {
		strbuf_clear(text);
		span_decode(line->path, text);
		if (stream->named)
			print_name(stream, strbuf_str(text));
		strbuf_clear(text);
		if (line->bytes.at != NULL && !stream->ctl->out.terminal)
			span_decode_base64(line->bytes, text);
		else
			span_decode(line->text, text);
		print_output(stream, strbuf_str(text), text->len);
	}
	strbuf_addc(&stream->ctl->out.buf, '\n');
}

/* ---- replies ----------------------------------------------------------------------- */

/* Several names mean several actors; else supd tells of all before the first line. */
static bool
is_named(const struct log_stream *stream)
{
	return stream->n > 1 || stream->n_names > 1;
}

static int
take_line(void *user, const struct call *call, const struct reply *reply)
{
	static const struct scan_field fields[] = {
	    {"path", SCAN_STRING, offsetof(struct log_line, path)},
	    {"time", SCAN_STRING, offsetof(struct log_line, time)},
	    {"stream", SCAN_STRING, offsetof(struct log_line, stream)},
	    {"text", SCAN_STRING, offsetof(struct log_line, text)},
	    {"bytes", SCAN_STRING, offsetof(struct log_line, bytes)},
	};
	struct log_stream *stream = user;
	struct ctl *ctl = stream->ctl;
	struct log_line line = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
	struct scan scan;

	if (reply->parameters.at == NULL)
		return 0;
	scan_init(&scan, reply->parameters);
	scan_fields(&scan, fields, ARRAY_SIZE(fields), &line);
	if (scan.bad || line.path.at == NULL || line.stream.at == NULL ||
	    line.text.at == NULL) {
		complain(ctl, call->target, "supd's answer is malformed");
		return CTL_FAILED;
	}
	stream->progress = true;
	/* With nothing logged there is a single reply without a line. */
	if (line.path.len == 0)
		return 0;
	if (take_position(stream, &line) < 0 || stream->text.failed)
		return ctl_no_memory(ctl);
	/* No line, but where an actor begins. */
	if (line.stream.len == 0)
		return 0;
	stream->named = is_named(stream);
	print_line(stream, &line);
	if (client_has_next(&ctl->client))
		print_flush_if_full(&ctl->out);
	else
		print_flush(&ctl->out);
	return 0;
}

/* Of several that are followed one is gone: the others go on. */
static bool
drop_name(struct log_stream *stream, const struct reply *reply)
{
	json_t *parameters;
	const char *name;
	uint32_t n = 0;
	bool dropped;

	if (stream->n == 0 || reply->parameters.at == NULL ||
	    !span_is(reply->error, "io.supd.Control.NoSuchActor"))
		return false;
	parameters = json_loadb(reply->parameters.at, reply->parameters.len, 0, NULL);
	name = json_string_value(json_object_get(parameters, "name"));
	for (uint32_t i = 0; i < stream->n_names; i++)
		if (name == NULL || strcmp(stream->names[i], name) != 0)
			stream->names[n++] = stream->names[i];
	dropped = n > 0 && n < stream->n_names;
	if (dropped)
		stream->n_names = n;
	json_decref(parameters);
	return dropped;
}

/* May an error of a call that follows be answered with another call? */
static bool
goes_on(struct log_stream *stream, const struct reply *reply)
{
	if (span_is(reply->error, "io.supd.Control.SlowConsumer"))
		return stream->progress;
	return drop_name(stream, reply);
}

/* One call, to its end: 0 and *again, or the exit status. */
static int
subscribe(struct log_stream *stream, bool *again)
{
	struct ctl *ctl = stream->ctl;
	struct call call = {.method = "Logs", .more = true};
	struct reply reply;
	struct err err;
	int status = ctl_connect(ctl);
	int r;

	*again = false;
	if (status != 0)
		return status;
	if (stream->n_names == 1)
		call.target = stream->names[0];
	stream->progress = false;
	call.parameters = make_parameters(stream);
	r = ctl_stream(ctl, &call, take_line, stream, &reply, &err, &status);
	ctl_call_done(&call);
	if (r == -ECONNRESET) {
		r = client_reconnect(&ctl->client, &err);
		*again = r == 0;
	} else if (r == 1) {
		*again = stream->follow && goes_on(stream, &reply);
		if (!*again)
			return complain_refusal(ctl, &call, &reply);
	}
	return r < 0 ? ctl_give_up(ctl, &call, r, &err) : status;
}

/* ---- the verb ---------------------------------------------------------------------- */

/* --since as supd wants it, a time of RFC 3339. */
static bool
parse_since(const char *text, char *ret, size_t size)
{
	struct timespec now;
	uint64_t us;
	size_t len;
	time_t seconds;
	struct tm tm;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (moment_parse_past(
	        text, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
	        &us) < 0)
		return false;
	seconds = (time_t)(us / 1000000);
	if (gmtime_r(&seconds, &tm) == NULL)
		return false;
	len = strftime(ret, size, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ret + len, size - len, ".%03uZ", (unsigned int)(us / 1000 % 1000));
	return true;
}

static bool
parse_lines(const char *text, int64_t *ret)
{
	if (strcmp(text, "all") != 0)
		return ctl_parse_number(text, ret);
	*ret = -1;
	return true;
}

/* What the options say; without them all of it, and before following the last lines. */
static int
configure(struct log_stream *stream)
{
	const struct options *options = &stream->ctl->options;

	stream->follow = (options->given & OPTION_FOLLOW) != 0;
	stream->lines = -1;
	if (stream->follow && (options->given & OPTION_SINCE) == 0)
		stream->lines = FOLLOW_LINES;
	if ((options->given & OPTION_LINES) != 0 &&
	    !parse_lines(options->lines, &stream->lines)) {
		complain(stream->ctl, NULL, "-n '%s': write a number, or all",
		         options->lines);
		return CTL_USAGE;
	}
	if ((options->given & OPTION_SINCE) != 0 &&
	    !parse_since(options->since, stream->since, sizeof(stream->since))) {
		complain(stream->ctl, NULL,
		         "--since '%s': write a time, as 14:30 or 2026-11-21T14:30:00Z, "
		         "or how long ago, as 10m",
		         options->since);
		return CTL_USAGE;
	}
	return 0;
}

/* What actors said, merged by time; with -f also what they say from now on. */
int
verb_logs(struct ctl *ctl, char **names, uint32_t n)
{
	struct log_stream *stream = calloc(1, sizeof(*stream));
	bool again = true;
	int status;

	if (stream == NULL)
		return ctl_no_memory(ctl);
	stream->ctl = ctl;
	stream->names = names;
	stream->n_names = n;
	map_init(&stream->by_path);
	strbuf_init(&stream->text, TEXT_MAX);
	status = configure(stream);
	if (stream->follow)
		ctl->client.hangup_fd = ctl->out.fd;
	while (again && status == 0)
		status = subscribe(stream, &again);
	places_done(stream);
	strbuf_done(&stream->text);
	free(stream);
	return status;
}
