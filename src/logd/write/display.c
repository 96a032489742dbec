/* SPDX-License-Identifier: ISC */
/* display.c - what actors print and supd says, on standard output as well. */
#include "config.h"

#include "logd/write/display.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ansi.h"
#include "logd/write/feed.h"
#include "logd/write/stream.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* How much may wait to be taken before lines are left out or streams wait. */
#define FULL_BYTES (256 * 1024)
/* One piece of a stream more, every byte of it an escape. */
#define OUT_BYTES_MAX (16 * 1024 * 1024)

/* Where a write could wait, so much is written after poll(2) has said that there is room:
 * Linux says so of a terminal while fewer bytes than that wait for it. */
#define CAREFUL_BYTES 256

#define BOLD "\x1b[1m"

/* When supd ends, standard output has so long to take the rest. */
#define FINISH_MS 1000

/* Nothing is shown. */
void
display_init(struct display *display)
{
	*display = (struct display){
	    .fd = -1,
	    .out = STRBUF(OUT_BYTES_MAX),
	    .text = STRBUF(OUT_BYTES_MAX),
	};
}

/* Give back what it holds. */
void
display_close(struct display *display)
{
	fd_close(&display->fd);
	strbuf_done(&display->out);
	strbuf_done(&display->text);
}

/*
 * Our standard output with a description of its own, so that it never waits and others
 * that have it open do not learn of that.  A file never waits; a terminal of another user
 * cannot be opened anew, nor can a socket.
 */
static void
open_output(struct display *display)
{
	struct stat st;
	int fd = -1;

	if (fstat(STDOUT_FILENO, &st) < 0)
		return;
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		fd =
		    open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	display->must_poll = fd < 0 && !S_ISREG(st.st_mode);
	display->fd = fd >= 0 ? fd : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

/* How lines look from now on. */
void
display_set(struct display *display, uint32_t look, uint32_t width)
{
	if (look != 0 && display->look == 0 && display->fd < 0)
		open_output(display);
	display->look = look;
	display->width = width;
}

/* ---- lines ------------------------------------------------------------------------- */

/* A line as it is to be shown: of which process, and what. */
struct display_line {
	const char *path;   /* "/": supd itself */
	const char *stream; /* its name in JSON */
	const char *level;  /* there, too; NULL: none */
	const char *colour; /* of the name */
	const char *begin;  /* a sequence that the text begins with, or "" */
	const char *text;
	size_t len;
};

static void
add_json(struct strbuf *out, const struct display_line *line)
{
	char now[CLOCK_TEXT_MAX];

	strbuf_addf(out,
	            "{\"time\":\"%s\",\"path\":", clock_format(clock_wall_us(), 3, now));
	strbuf_add_json(out, line->path);
	strbuf_addf(out, ",\"stream\":\"%s\",", line->stream);
	if (line->level != NULL)
		strbuf_addf(out, "\"level\":\"%s\",", line->level);
	strbuf_adds(out, "\"text\":");
	strbuf_add_json_bytes(out, line->text, line->len);
	strbuf_adds(out, "}\n");
}

static void
add_text(const struct display *display, struct strbuf *out,
         const struct display_line *line)
{
	const bool colours = (display->look & FEED_LOOK_COLOURS) != 0;
	const char *name = line->path;

	if (strcmp(name, "/") == 0)
		name = "supd";
	else if (strncmp(name, "/user/", strlen("/user/")) == 0)
		name += strlen("/user/");
	if (colours)
		strbuf_adds(out, line->colour);
	strbuf_addf(out, "%-*s |", (int)display->width, name);
	if (colours)
		strbuf_addf(out, ANSI_RESET "%s", line->begin);
	strbuf_addc(out, ' ');
	ansi_add_output(out, line->text, line->len, colours);
	if (colours && line->begin[0] != '\0')
		strbuf_adds(out, ANSI_RESET);
	strbuf_addc(out, '\n');
}

static void
add_line(struct display *display, const struct display_line *line)
{
	const size_t before = display->out.len;

	if ((display->look & FEED_LOOK_JSON) != 0)
		add_json(&display->out, line);
	else
		add_text(display, &display->out, line);
	/* Without memory the view lacks a line, whole. */
	if (display->out.failed) {
		display->out.failed = false;
		strbuf_truncate(&display->out, before);
		display->n_left_out++;
	}
}

/* Say how many lines the view lacks, when there is room again. */
static void
tell_left_out(struct display *display)
{
	char text[96];
	struct display_line line = {.path = "/",
	                            .stream = "supd",
	                            .level = "warning",
	                            .colour = BOLD,
	                            .begin = ""};

	if (display->n_left_out == 0)
		return;
	line.text = text;
	line.len =
	    (size_t)snprintf(text, sizeof(text),
	                     "%" PRIu64 " lines are not shown here: they were not read "
	                     "in time",
	                     display->n_left_out);
	display->n_left_out = 0;
	add_line(display, &line);
}

static void
display_line(struct display *display, const struct stream *stream, const char *text,
             size_t len)
{
	const struct display_line line = {
	    .path = stream->actor,
	    .stream = feed_stream_names[stream->name],
	    .colour = ansi_of_number(stream->colour),
	    .begin = "",
	    .text = text,
	    .len = len,
	};

	if (stream->shown == FEED_SHOWN_IN_TIME && display->out.len >= FULL_BYTES) {
		display->n_left_out++;
		return;
	}
	tell_left_out(display);
	add_line(display, &line);
}

/* Keep the begin of a line, of which the rest follows.  A line that is too long is shown
 * in parts. */
static void
keep_part(struct display *display, struct stream *stream, const char *data, size_t len)
{
	const char *end = data + len;

	while (data < end) {
		struct strbuf *line = stream->line;

		if (line == NULL)
			line = stream->line = calloc(1, sizeof(*line));
		if (line == NULL)
			return;
		line->limit = DISPLAY_LINE_MAX;
		len = DISPLAY_LINE_MAX - line->len;
		len = len < (size_t)(end - data) ? len : (size_t)(end - data);
		strbuf_add(line, data, len);
		data += len;
		if (line->len == DISPLAY_LINE_MAX || line->failed)
			display_end_line(display, stream);
	}
}

/* Show the next piece of a stream, if it is shown.  A line that is not complete waits for
 * its end. */
void
display_take(struct display *display, struct stream *stream, const char *data, size_t len)
{
	const char *end = data + len;

	if (stream->shown == FEED_SHOWN_NOT || display->fd < 0 || display->look == 0)
		return;
	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));

		if (newline == NULL) {
			keep_part(display, stream, data, (size_t)(end - data));
			return;
		}
		if (stream->line == NULL && newline - data <= DISPLAY_LINE_MAX) {
			display_line(display, stream, data, (size_t)(newline - data));
		} else {
			keep_part(display, stream, data, (size_t)(newline - data));
			display_end_line(display, stream);
		}
		data = newline + 1;
	}
}

/* What was begun is a line, although no newline ends it. */
void
display_end_line(struct display *display, struct stream *stream)
{
	if (stream->line != NULL)
		display_line(display, stream, strbuf_str(stream->line),
		             stream->line->len);
	display_forget_line(stream);
}

/* Nothing was begun. */
void
display_forget_line(struct stream *stream)
{
	if (stream->line != NULL)
		strbuf_done(stream->line);
	free(stream->line);
	stream->line = NULL;
}

/* Show a line of supd's own, with its level of syslog(3). */
void
display_say(struct display *display, int priority, const char *text)
{
	static const char *const levels[] = {"error",   "error",  "error", "error",
	                                     "warning", "notice", "info",  "debug"};
	const struct display_line line = {
	    .path = "/",
	    .stream = "supd",
	    .level = levels[priority & 7],
	    .colour = BOLD,
	    .begin = priority <= 3   ? "\x1b[31m"
	             : priority == 4 ? "\x1b[33m"
	                             : "",
	    .text = text,
	    .len = strlen(text),
	};

	if (display->fd < 0 || display->look == 0)
		return;
	if (display->out.len >= FULL_BYTES) {
		display->n_left_out++;
		return;
	}
	tell_left_out(display);
	add_line(display, &line);
}

/* ---- standard output --------------------------------------------------------------- */

/* True if so much output waits for the reader that the streams wait, too, of which
 * nothing may be left out. */
bool
display_is_full(const struct display *display)
{
	return display->out.len >= FULL_BYTES;
}

/* Write once.  How many bytes were taken; 0: none now; -errno. */
static ssize_t
write_some(const struct display *display, const char *data, size_t len)
{
	struct pollfd room = {.fd = display->fd, .events = POLLOUT};

	if (display->must_poll) {
		if (poll(&room, 1, 0) <= 0)
			return 0;
		len = len < CAREFUL_BYTES ? len : CAREFUL_BYTES;
	}
	ssize_t n = write(display->fd, data, len);
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* Write what is taken now.  True: something is left. */
bool
display_flush(struct display *display)
{
	size_t done = 0;
	ssize_t n = 0;

	if (display->fd < 0)
		return false;
	do {
		if (done == display->out.len) {
			strbuf_clear(&display->out);
			done = 0;
			tell_left_out(display);
		}
		n = 0;
		if (done < display->out.len)
			n = write_some(display, display->out.data + done,
			               display->out.len - done);
		done += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	strbuf_consume(&display->out, done);
	/* The terminal is gone, or the pipe has no reader and will never have one. */
	if (n < 0) {
		strbuf_clear(&display->out);
		fd_close(&display->fd);
	}
	return display->out.len > 0;
}

/* We end: give standard output a moment to take the rest. */
void
display_finish(struct display *display)
{
	const uint64_t until_ms = clock_mono_ms() + FINISH_MS;
	uint64_t now_ms = clock_mono_ms();

	while (now_ms < until_ms && display_flush(display)) {
		(void)poll(&(struct pollfd){.fd = display->fd, .events = POLLOUT}, 1,
		           (int)(until_ms - now_ms));
		now_ms = clock_mono_ms();
	}
}
