/* SPDX-License-Identifier: ISC */
/* reader.c - the process that reads what actors said, for calls of Logs. */
#include "config.h"

#include "logd/read/reader.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/moment.h"
#include "logd/read/reader_owner.h"
#include "logd/read/reader_source.h"
#include "logd/read/reader_watch.h"
#include "os/self/fd.h"
#include "os/self/say.h"

/* Answers are collected up to so many bytes. */
#define OUT_BYTES    (32 * 1024)
#define FIELDS       5
#define NO_DIRECTORY (-1)

const char *const reader_format_names[] = {READER_FORMAT_MAP(AS_NAME)};

struct log_reader {
	char *request; /* the texts that the sources point into */
	size_t request_len;
	struct source *sources;
	size_t n;
	bool follow, positions;
	struct source_start start;
	int out_fd;
	struct strbuf out;
};

/* ---- the request ------------------------------------------------------------------- */

/* 1, 0 if there is no more request, -errno. */
static int
read_request(struct log_reader *reader, int fd)
{
	reader->request = malloc(READER_BYTES_MAX);
	if (reader->request == NULL)
		return -ENOMEM;
	ssize_t n = read(fd, reader->request, READER_BYTES_MAX);
	reader->request_len = n > 0 ? (size_t)n : 0;
	return n < 0 ? -errno : n > 0;
}

/* The next text of the request, or NULL. */
static const char *
next_text(const struct log_reader *reader, size_t *at)
{
	const char *text = reader->request + *at;

	if (*at >= reader->request_len)
		return NULL;
	const char *end = memchr(text, '\0', reader->request_len - *at);
	if (end == NULL)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

static int
parse_source(struct source *source, const char *const texts[FIELDS])
{
	const char *blank = strchrnul(texts[2], ' ');
	const char *owner = blank + (*blank == ' ');
	const char *socket = "";
	const char *position = texts[3];
	char name[16];

	(void)snprintf(name, sizeof(name), "%.*s", (int)(blank - texts[2]), texts[2]);
	int format = names_find(reader_format_names, READER_FORMAT_MAX, name);
	if (format == READER_JOURNAL) {
		socket = owner;
		owner = "";
		/* What a file of that name has is old, and would be taken for new. */
		if (access(JOURNAL_SOCKET, F_OK) < 0) {
			socket = "";
			position = READER_END;
		}
	}
	if (format < 0 || !reader_owner_is(owner) || strchr(texts[4], '/') == NULL)
		return -EBADMSG;
	*source = (struct source){
	    .path = texts[0],
	    .stream = texts[1],
	    .format = (enum reader_format)format,
	    .owner = owner,
	    .socket = socket,
	    .position = position,
	    .name = texts[4],
	    .is_changed = true,
	    .file_watch = -1,
	    .directory_watch = NO_DIRECTORY,
	};
	reader_file_init(&source->file);
	return 0;
}

static int
parse_head(struct log_reader *reader, size_t *at)
{
	const char *follow = next_text(reader, at);
	const char *lines = next_text(reader, at);
	const char *since = next_text(reader, at);
	const char *positions = next_text(reader, at);
	struct source_start *start = &reader->start;

	if (positions == NULL)
		return -EBADMSG;
	reader->follow = follow[0] == '1';
	reader->positions = positions[0] == '1';
	start->lines = strcmp(lines, "all") == 0 ? -1 : strtoll(lines, NULL, 10);
	if (since[0] == '\0')
		return 0;
	start->since = since;
	if (!reader_time_is(since, strlen(since)))
		return -EBADMSG;
	return moment_parse(since, &start->since_us) < 0 ? -EBADMSG : 0;
}

static int
parse_request(struct log_reader *reader)
{
	size_t at = 0;
	int r = parse_head(reader, &at);

	reader->sources = calloc(READER_SOURCES_MAX, sizeof(*reader->sources));
	if (reader->sources == NULL)
		return -ENOMEM;
	while (r == 0 && at < reader->request_len) {
		const char *texts[FIELDS];

		for (size_t i = 0; i < FIELDS; i++) {
			texts[i] = next_text(reader, &at);
			if (texts[i] == NULL)
				return -EBADMSG;
		}
		if (reader->n == READER_SOURCES_MAX)
			return -E2BIG;
		r = parse_source(&reader->sources[reader->n], texts);
		if (r == 0)
			reader->n++;
	}
	return r;
}

/* ---- the answer -------------------------------------------------------------------- */

/* Write what is collected; -EPIPE when the reader of the answers is gone. */
static int
flush(struct log_reader *reader)
{
	int r = fd_write_all(reader->out_fd, strbuf_str(&reader->out), reader->out.len);

	if (reader->out.failed)
		return -ENOMEM;
	strbuf_clear(&reader->out);
	return r;
}

/* True if two sources are of one actor.  The sources of an actor stand together. */
static bool
is_same_actor(const struct log_reader *reader, size_t a, size_t b)
{
	return strcmp(reader->sources[a].path, reader->sources[b].path) == 0;
}

/* The position of an actor in all of its sources; "" if positions were not asked for. */
static void
add_position(struct log_reader *reader, size_t i, struct strbuf *sb)
{
	size_t first = i, end = i;

	if (!reader->positions)
		return;
	while (first > 0 && is_same_actor(reader, first - 1, i))
		first--;
	while (end < reader->n && is_same_actor(reader, end, i))
		end++;
	for (size_t at = first; at < end; at++) {
		char position[SOURCE_POSITION_MAX];

		source_position(&reader->sources[at], position);
		strbuf_addf(sb, "%s%s", at > first ? "+" : "", position);
	}
}

static void
add_answer(struct log_reader *reader, size_t i, const struct reader_line *line,
           const char *stream)
{
	CLEANUP(strbuf_done)
	struct strbuf position = STRBUF(READER_SOURCES_MAX * SOURCE_POSITION_MAX);

	add_position(reader, i, &position);
	reader_line_add(&reader->out, line, reader->sources[i].path, stream,
	                strbuf_str(&position));
}

/* This cannot be read; it is the last answer. */
static int
complain(struct log_reader *reader, size_t i, int r)
{
	const char *path = i < reader->n ? reader->sources[i].path : "/";
	const char *name = i < reader->n ? reader->sources[i].name : "logs";

	strbuf_addf(&reader->out, "!%s ", path);
	if (r == -EINVAL)
		strbuf_add_visible(&reader->out, "its output is no regular file", 29);
	else if (r == -EIO)
		strbuf_addf(&reader->out, "%s: cannot be read or unpacked", name);
	else
		strbuf_addf(&reader->out, "%s: %s", name, err_of_file(-r));
	strbuf_addc(&reader->out, '\n');
	(void)flush(reader);
	return r;
}

/* ---- merging ----------------------------------------------------------------------- */

/* When the next line of a source was written, as far as that is known; "" comes first. */
static const char *
time_of(const struct source *source)
{
	return source->head.time != NULL ? source->head.time : source->time;
}

/* Have the next lines of all sources; the earliest of them, or reader->n if there are
 * none. */
static int
find_earliest(struct log_reader *reader, size_t *ret)
{
	const struct source *best = NULL;

	*ret = reader->n;
	for (size_t i = 0; i < reader->n; i++) {
		struct source *source = &reader->sources[i];

		if (!source->has_head && source->is_changed) {
			int r = source_peek(source, reader->start.since, reader->follow);

			if (r < 0)
				return complain(reader, i, r);
			source->is_changed = r > 0;
		}
		if (source->has_head &&
		    (best == NULL ||
		     strncmp(time_of(source), time_of(best), READER_TIME_LEN) < 0)) {
			best = source;
			*ret = i;
		}
	}
	return 0;
}

/* Answer with everything that is there, in the order of time, and, without `follow`, that
 * this was all. */
static int
tell_all(struct log_reader *reader)
{
	for (;;) {
		size_t i;
		int r = find_earliest(reader, &i);

		if (r < 0)
			return r;
		if (i == reader->n && !reader->follow)
			strbuf_adds(&reader->out, READER_WHOLE "\n");
		if (i == reader->n)
			return flush(reader);
		struct source *source = &reader->sources[i];
		source_take(source);
		add_answer(reader, i, &source->head, source->stream);
		r = reader->out.len >= OUT_BYTES ? flush(reader) : 0;
		if (r < 0)
			return r;
	}
}

static int
begin_reading(struct log_reader *reader)
{
	const struct reader_line nothing = {.text = ""};

	for (size_t i = 0; i < reader->n; i++) {
		int r = source_begin(&reader->sources[i], &reader->start);

		if (r < 0)
			return complain(reader, i, r);
	}
	for (size_t i = 0; reader->positions && i < reader->n; i++) {
		const char *socket = reader->sources[i].socket;
		const struct reader_line entries = {.text = socket,
		                                    .len = strlen(socket)};

		if (i == 0 || !is_same_actor(reader, i - 1, i))
			add_answer(reader, i, &nothing, "");
		if (reader->sources[i].format == READER_JOURNAL)
			add_answer(reader, i, &entries, "journal");
	}
	return 0;
}

static int
serve(struct log_reader *reader)
{
	CLEANUP(fd_close) int inotify_fd = reader->follow ? watch_open() : -1;
	bool more = reader->follow;
	int r = begin_reading(reader);

	do {
		if (r == 0)
			r = tell_all(reader);
		if (r < 0)
			break;
		more = reader->follow &&
		       watch_wait(inotify_fd, reader->out_fd, reader->sources, reader->n);
	} while (more);
	return r;
}

/* Read a request and answer it: 1 if another may come, 0 after the last, -errno. */
static int
answer_next(int request_fd, int out_fd)
{
	struct log_reader reader = {
	    .start.lines = -1,
	    .out_fd = out_fd,
	    .out = STRBUF(OUT_BYTES + 2 * READER_RECORD_MAX),
	};
	const int more = read_request(&reader, request_fd);
	int r = more <= 0 ? more : parse_request(&reader);

	if (r < 0)
		(void)complain(&reader, reader.n, r);
	else if (more > 0)
		r = serve(&reader);
	for (size_t i = 0; i < reader.n; i++)
		reader_file_done(&reader.sources[i].file);
	free(reader.sources);
	free(reader.request);
	strbuf_done(&reader.out);
	return r == 0 && !reader.follow ? more : r;
}

/*
 * Answer one request after the other; one that asks to follow is the last, and goes on
 * until the answers find no reader.  Returns an exit status.
 */
int
reader_run(int request_fd, int out_fd)
{
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	do {
		r = answer_next(request_fd, out_fd);
	} while (r > 0);
	return r == 0 || r == -EPIPE ? EX_OK : EX_IOERR;
}
