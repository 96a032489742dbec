/* SPDX-License-Identifier: ISC */
/* log.c - what supd itself has to say. */
#include "config.h"

#include "daemon/state/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/say.h"
#include "os/socket/sock.h"

#define LINE_MAX_BYTES 2048
#define SYSLOG_SOCKET  "/dev/log"
/* Before each line of a file stand a time and a level. */
#define STAMP_BYTES 33
/* … and in a file of JSON the names of the members. */
#define JSON_BYTES 72

/* The one sink of the process. */
static struct log_sink {
	enum log_level level;
	enum log_target target;
	int fd;        /* -1: stderr */
	bool is_plain; /* a plain file, which never makes a writer wait */
	char path[4096];
	struct conf_log limits; /* of the file; max_size 0: none */
	uint64_t size;          /* of the file, about */
	unsigned long dropped;
	log_taker *take; /* instead of stderr; NULL: none */
	void *arg;
	log_flusher *flush;
	void *flush_arg;
} sink = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR, .fd = -1};

/* syslog(3)'s numbers for our levels. */
static const int priorities[] = {
    [LOG_LEVEL_DEBUG] = 7,   [LOG_LEVEL_INFO] = 6,  [LOG_LEVEL_NOTICE] = 5,
    [LOG_LEVEL_WARNING] = 4, [LOG_LEVEL_ERROR] = 3,
};

static int
open_socket(const char *path, struct err *err)
{
	int fd = sock_connect_unix(path, SOCK_DGRAM);

	if (fd < 0)
		err_set(err, -fd, "log to %s", path);
	return fd;
}

static int
open_file(const char *path, struct err *err)
{
	(void)fd_mkdir_parents(path, 0755);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
	return fd < 0 ? err_set(err, errno, "log to %s", path) : fd_raise(fd);
}

/* Remember whether what the lines go to now is a plain file, and its size. */
static void
look_at(int fd)
{
	struct stat st = {0};

	(void)fstat(fd, &st);
	sink.is_plain = S_ISREG(st.st_mode);
	sink.size = (uint64_t)st.st_size;
}

int
log_open(enum log_level level, enum log_target target, const char *directory,
         struct err *err)
{
	char path[sizeof(sink.path)] = "";
	int fd = -1;

	if (target == LOG_TARGET_AUTO)
		target = say_is_journal(STDERR_FILENO) ? LOG_TARGET_JOURNAL
		                                       : LOG_TARGET_STDERR;
	if (target == LOG_TARGET_JOURNAL)
		fd = open_socket(JOURNAL_SOCKET, err);
	else if (target == LOG_TARGET_SYSLOG)
		fd = open_socket(SYSLOG_SOCKET, err);
	else if (target == LOG_TARGET_FILE) {
		(void)snprintf(path, sizeof(path), "%s/supd.log", directory);
		fd = open_file(path, err);
	}
	if (fd < 0 && target != LOG_TARGET_STDERR)
		return fd;
	log_close();
	sink.level = level;
	sink.target = target;
	sink.fd = fd;
	look_at(fd >= 0 ? fd : STDERR_FILENO);
	memcpy(sink.path, path, sizeof(path));
	return 0;
}

/* Open the log file again, after it was moved away. */
void
log_reopen(void)
{
	if (sink.target != LOG_TARGET_FILE)
		return;
	int fd = open_file(sink.path, NULL);
	if (fd < 0)
		return;
	(void)close(sink.fd);
	sink.fd = fd;
	look_at(fd);
}

void
log_limit(const struct conf_log *limits)
{
	sink.limits = *limits;
}

const char *
log_file(bool *ret_json)
{
	*ret_json = sink.limits.json;
	return sink.target == LOG_TARGET_FILE ? sink.path : NULL;
}

enum log_target
log_goes_to(void)
{
	return sink.target == LOG_TARGET_STDERR && say_is_journal(STDERR_FILENO)
	           ? LOG_TARGET_JOURNAL
	           : sink.target;
}

/* The file has grown: is it to be set aside? */
static void
grow(size_t len)
{
	sink.size += len + (sink.limits.json ? JSON_BYTES : STAMP_BYTES);
	if (sink.target != LOG_TARGET_FILE || sink.limits.max_size == 0 ||
	    sink.size < sink.limits.max_size)
		return;
	if (log_set_aside(sink.path, sink.fd, &sink.limits) == 0)
		log_reopen();
	else
		/* Not again at each line. */
		sink.size = 0;
}

/* Back to stderr. */
void
log_close(void)
{
	if (sink.fd >= 0)
		(void)close(sink.fd);
	sink.fd = -1;
	sink.is_plain = false;
	sink.target = LOG_TARGET_STDERR;
}

/* True if a line of this level would be written. */
bool
log_wants(enum log_level level)
{
	return level >= sink.level;
}

/* From now on `take` is offered what would go to standard error; NULL: no more. */
void
log_divert(log_taker *take, void *arg)
{
	sink.take = take;
	sink.arg = arg;
}

void
log_put_off(log_flusher *flush, void *arg)
{
	sink.flush = flush;
	sink.flush_arg = arg;
}

/* Nothing is more urgent: write the lines that were put off. */
void
log_flush(void)
{
	log_flusher *const flush = sink.flush;

	/* Lines that the flusher itself writes need no flush before them. */
	sink.flush = NULL;
	if (flush != NULL)
		flush(sink.flush_arg);
	sink.flush = flush;
}

static bool
send_datagram(const char *text, size_t len)
{
	return send(sink.fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* {"time":"…","level":"…","message":"…"} */
static bool
emit_json(int fd, enum log_level level, const char *line)
{
	char memory[6 * LINE_MAX_BYTES + 256], stamp[CLOCK_TEXT_MAX];
	struct strbuf text;

	strbuf_borrow(&text, memory, sizeof(memory));
	strbuf_addf(&text, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":",
	            clock_format(clock_wall_us(), 3, stamp), log_level_names[level]);
	strbuf_add_json(&text, line);
	strbuf_addc(&text, '}');
	return say_raw(fd, sink.is_plain, strbuf_str(&text));
}

static bool
emit(enum log_level level, const char *line)
{
	const int fd = sink.fd >= 0 ? sink.fd : STDERR_FILENO;
	char text[LINE_MAX_BYTES + 256];
	int n = 0;

	switch (sink.target) {
	case LOG_TARGET_JOURNAL:
		n = snprintf(text, sizeof(text),
		             "PRIORITY=%d\nSYSLOG_IDENTIFIER=supd\nMESSAGE=%s\n",
		             priorities[level], line);
		return send_datagram(text, (size_t)n);
	case LOG_TARGET_SYSLOG:
		n = snprintf(text, sizeof(text), "<%d>supd[%d]: %s",
		             (3 << 3) | priorities[level], (int)getpid(), line);
		return send_datagram(text, (size_t)n);
	case LOG_TARGET_STDERR:
		if (sink.take != NULL && sink.take(sink.arg, priorities[level], line))
			return true;
		break;
	case LOG_TARGET_AUTO:
	case LOG_TARGET_FILE:
	case LOG_TARGET_MAX:
		break;
	}
	/* The journal has fields of its own. */
	if (sink.limits.json && !(fd == STDERR_FILENO && say_is_journal(fd)))
		return emit_json(fd, level, line);
	return say_line(fd, sink.is_plain, priorities[level], log_level_names[level],
	                line);
}

/* A line is one line, and nothing in it controls a terminal. */
static void
make_harmless(char *line)
{
	const char *end = line + strlen(line);
	size_t n;

	for (char *p = line; *p != '\0'; p += n > 0 ? n : 1) {
		/* As almost all are. */
		n = *p >= ' ' && *p <= '~' ? 0 : strbuf_control_length(p, end);
		if (n > 0)
			memset(p, ' ', n);
	}
}

__attribute__((format(printf, 2, 0))) static void
vlog(enum log_level level, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES], note[64];

	(void)vsnprintf(line, sizeof(line), fmt, ap);
	make_harmless(line);
	if (sink.dropped > 0) {
		(void)snprintf(note, sizeof(note), "%lu lines of this log were lost",
		               sink.dropped);
		if (!emit(LOG_LEVEL_WARNING, note)) {
			sink.dropped++;
			return;
		}
		sink.dropped = 0;
	}
	if (!emit(level, line))
		sink.dropped++;
	else
		grow(strlen(line));
}

/* Write a line, if its level is wanted. */
void
log_line(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (!log_wants(level))
		return;
	log_flush();
	va_start(ap, fmt);
	vlog(level, fmt, ap);
	va_end(ap);
}

/* The same at most LOG_PACE_MAX times in LOG_PACE_MS, with how many lines were left out
 * meanwhile. */
void
log_paced(struct log_pace *pace, enum log_level level, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	uint64_t n_held;
	va_list ap;

	if (!log_wants(level) ||
	    !log_pace_admit(pace, LOG_PACE_MS, LOG_PACE_MAX, clock_mono_ms(), &n_held))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n_held == 0)
		log_line(level, "%s", text);
	else
		log_line(level, "%s (and %llu more like it, not logged)", text,
		         (unsigned long long)n_held);
}

/* Log a system error (r is -errno) and return it: the caller decides and logs, once. */
int
log_errno(int r, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_line(LOG_LEVEL_ERROR, "%s: %s", text, strerror(-r));
	return r;
}
