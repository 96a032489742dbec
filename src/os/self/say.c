/* SPDX-License-Identifier: ISC */
/* say.c - one line for people, in the form of supd's log, without ever waiting. */
#include "config.h"

#include "os/self/say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "os/self/clock.h"

/* syslog(3)'s number for a warning. */
#define PRIORITY_ERROR   3
#define PRIORITY_WARNING 4

/* True if this is what the journal gave to us.  JOURNAL_STREAM names its device and
 * inode. */
bool
say_is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream != NULL && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* A text, as a part of a line; writev(2) does not write there. */
static struct iovec
as_part(const char *text)
{
	return (struct iovec){.iov_base = (void *)(uintptr_t)text,
	                      .iov_len = strlen(text)};
}

/* Write the parts of a line if nothing has to be waited for; else false. */
static bool
put_line(int fd, bool is_plain, const struct iovec *parts, int n)
{
	return (is_plain ||
	        poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) > 0) &&
	       writev(fd, parts, n) >= 0;
}

/*
 * Write a line with its time and level; to the journal, which knows the time, with its
 * priority, a number of syslog(3), as in sd-daemon(3).  A full pipe or a stopped terminal
 * is not waited for; where poll(2) reports writable, a line of PIPE_BUF bytes fits.  A
 * plain file is not polled. false when the line is lost.
 */
bool
say_line(int fd, bool is_plain, int priority, const char *level, const char *line)
{
	char stamp[CLOCK_TEXT_MAX], memory[CLOCK_TEXT_MAX + 16];
	struct strbuf head;

	strbuf_borrow(&head, memory, sizeof(memory));
	if (!is_plain && say_is_journal(fd)) {
		strbuf_addf(&head, "<%d>", priority);
	} else {
		strbuf_adds(&head, clock_format(clock_wall_us(), 3, stamp));
		strbuf_addc(&head, ' ');
		strbuf_adds(&head, level);
		/* Levels take eight columns, a blank at least among them. */
		strbuf_add(&head, "        ", 8 - strnlen(level, 7));
	}
	return put_line(fd, is_plain,
	                (const struct iovec[]){as_part(strbuf_str(&head)), as_part(line),
	                                       as_part("\n")},
	                3);
}

/* As say_line(), for a line that has all parts but its newline. */
bool
say_raw(int fd, bool is_plain, const char *line)
{
	return put_line(fd, is_plain,
	                (const struct iovec[]){as_part(line), as_part("\n")}, 2);
}

__attribute__((format(printf, 3, 0))) static void
say_as(int priority, const char *level, const char *fmt, va_list ap)
{
	char text[512];
	char memory[4 * sizeof(text)];
	struct strbuf line;

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	/* A path of a stranger controls no terminal. */
	strbuf_borrow(&line, memory, sizeof(memory));
	strbuf_add_visible(&line, text, strlen(text));
	(void)say_line(STDERR_FILENO, false, priority, level, strbuf_str(&line));
}

/* Warn on standard error. */
void
say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_as(PRIORITY_WARNING, "warning", fmt, ap);
	va_end(ap);
}

/* Tell on standard error why it ends here. */
void
say_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_as(PRIORITY_ERROR, "error", fmt, ap);
	va_end(ap);
}

/* Print why a program does not start, in the form of a usage message.  Arguments and
 * paths may come from strangers: control characters are shown as escapes.
 */
void
say_refusal(const char *fmt, ...)
{
	va_list ap;

	CLEANUP(strbuf_done) struct strbuf raw = STRBUF(8192);
	CLEANUP(strbuf_done) struct strbuf line = STRBUF(4 * 8192);
	va_start(ap, fmt);
	strbuf_vaddf(&raw, fmt, ap);
	va_end(ap);
	strbuf_add_visible(&line, strbuf_str(&raw), raw.len);
	(void)fprintf(stderr, "supd: %s\n", strbuf_str(&line));
}
