/* SPDX-License-Identifier: ISC */
/* datagram.c - lines for the journal and for syslog: a datagram each.
 *
 * The protocol of the journal is systemd.io/JOURNAL_NATIVE_PROTOCOL, that of syslog what
 * syslog(3) writes to /dev/log.  A datagram that was sent cannot be taken back: killed
 * between sending and taking out of the pipe, at most the lines of one piece are sent
 * again.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "logd/write/deliver.h"
#include "logd/write/format.h"
#include "logd/write/match.h"
#include "os/self/fd.h"
#include "os/self/pass.h"
#include "os/socket/sock.h"

#define PRIORITY_INFO   6
#define FACILITY_DAEMON 3

/* A line, as it is to be sent. */
struct letter {
	const char *text;
	size_t len;
	int priority;
};

/* Take the priority from the front of the line, as sd-daemon(3) has it: "<3>". */
static struct letter
read_priority(const char *line, size_t len)
{
	if (len >= 3 && line[0] == '<' && line[1] >= '0' && line[1] <= '7' &&
	    line[2] == '>')
		return (struct letter){line + 3, len - 3, line[1] - '0'};
	return (struct letter){line, len, PRIORITY_INFO};
}

/* Connect to where the socket is now.  0 or -errno. */
static int
connect_sink(struct sink *sink)
{
	/* Standard output is not a socket of ours: show.c. */
	if (sink->fd >= 0 || sink->target == FEED_TO_STDOUT)
		return 0;
	int fd = sock_connect_unix(sink->path, SOCK_DGRAM);
	if (fd < 0)
		return fd;
	sink->fd = fd;
	return 0;
}

/* A field of the journal's protocol; what is not a plain line goes with its length. */
static void
add_field(struct strbuf *out, const char *name, const char *value, size_t len)
{
	strbuf_adds(out, name);
	if (memchr(value, '\n', len) == NULL && memchr(value, '\0', len) == NULL) {
		strbuf_addc(out, '=');
	} else {
		unsigned char size[8];

		for (size_t i = 0; i < sizeof(size); i++)
			size[i] = (unsigned char)((uint64_t)len >> 8 * i);
		strbuf_addc(out, '\n');
		strbuf_add(out, size, sizeof(size));
	}
	strbuf_add(out, value, len);
	strbuf_addc(out, '\n');
}

static void
add_number(struct strbuf *out, const char *name, uint64_t n)
{
	strbuf_adds(out, name);
	strbuf_addc(out, '=');
	strbuf_add_number(out, n);
	strbuf_addc(out, '\n');
}

static void
write_for_journal(struct strbuf *out, const struct stream *stream,
                  const struct letter *letter)
{
	const char *name = names_last(stream->actor);
	const char *source = feed_stream_names[stream->name];
	/* As actors of the same path have one, too, below another supd. */
	const char *socket = getenv("SUPD_SOCKET");

	add_number(out, "PRIORITY", (uint64_t)letter->priority);
	add_field(out, "SYSLOG_IDENTIFIER", name, strlen(name));
	if (stream->pid > 0)
		add_number(out, "SYSLOG_PID", (uint64_t)stream->pid);
	add_field(out, "SUPD_PATH", stream->actor, strlen(stream->actor));
	if (socket != NULL)
		add_field(out, "SUPD_SOCKET", socket, strlen(socket));
	add_number(out, "SUPD_INCARNATION", stream->incarnation);
	add_number(out, "SUPD_GENERATION", stream->generation);
	add_field(out, "SUPD_STREAM", source, strlen(source));
	add_field(out, "MESSAGE", letter->text, letter->len);
}

static void
write_for_syslog(struct strbuf *out, const struct stream *stream,
                 const struct letter *letter)
{
	const time_t now = time(NULL);
	struct tm tm = {0};
	char stamp[32];

	/* The names of the months are those of the C locale: nothing sets another. */
	(void)localtime_r(&now, &tm);
	(void)strftime(stamp, sizeof(stamp), "%b %e %H:%M:%S", &tm);
	strbuf_addf(out, "<%d>%s %s", FACILITY_DAEMON << 3 | letter->priority, stamp,
	            names_last(stream->actor));
	if (stream->pid > 0)
		strbuf_addf(out, "[%d]", (int)stream->pid);
	strbuf_adds(out, ": ");
	strbuf_add(out, letter->text, letter->len);
}

/* What is too large for a datagram goes as a sealed memfd.  0 or -errno. */
static int
send_as_file(const struct sink *sink, const struct strbuf *text)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	CLEANUP(fd_close)
	int fd = memfd_create("supd-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	int r = fd_write_all(fd, text->data, text->len);
	if (r == 0 && fcntl(fd, F_ADD_SEALS, seals) < 0)
		r = -errno;
	if (r == 0)
		r = pass_send(sink->fd, "", 0, &(struct pass_fds){&fd, 1}, MSG_DONTWAIT);
	return r;
}

/* Send one line.  0 or -errno: then it was not sent. */
static int
send_line(struct delivery *delivery, struct stream *stream, const char *line, size_t len)
{
	const struct letter letter = read_priority(line, len);
	struct strbuf *out = &delivery->text;
	struct sink *sink = stream->sink;

	/* As the journal itself does with the lines of services. */
	if (letter.len == 0 || sink->target == FEED_TO_STDOUT)
		return 0;
	strbuf_clear(out);
	if (sink->target == FEED_TO_JOURNAL)
		write_for_journal(out, stream, &letter);
	else
		write_for_syslog(out, stream, &letter);
	if (out->failed)
		return -ENOMEM;
	int r = pass_send(sink->fd, out->data, out->len, NULL, MSG_DONTWAIT);
	if ((r == -EMSGSIZE || r == -ENOBUFS) && sink->target == FEED_TO_JOURNAL)
		r = send_as_file(sink, out);
	return r;
}

/* deliver() for a stream that goes line by line to the journal or to syslog, or is only
 * shown (display.h). */
ssize_t
deliver_lines(struct delivery *delivery, struct stream *stream)
{
	struct batch *batch = &delivery->batch;
	struct sink *sink = stream->sink;
	size_t used = 0;
	int r = connect_sink(sink);

	if (r < 0)
		return r;
	ssize_t n = batch_peek(batch, stream->source.fd);
	if (n > 0)
		r = batch_load(batch, (size_t)n);
	if (n <= 0 || r < 0)
		return n <= 0 ? n : r;
	while (used < (size_t)n && r == 0) {
		const char *line = batch->data + used;
		size_t text = 0;
		size_t len = format_line(line, (size_t)n - used, stream->flush, &text);

		if (len == 0)
			break;
		r = send_line(delivery, stream, line, text);
		if (r == 0)
			used += len;
	}
	match_lines(batch->state, stream, batch->data, used);
	if (r < 0 && r != -EAGAIN && r != -ENOMEM)
		sink_close(sink);
	if (used == 0)
		return r;
	size_t tail = used < STATE_RING_BYTES ? used : STATE_RING_BYTES;
	state_say(batch->state, stream->source.entry, used - tail,
	          batch->data + used - tail, tail);
	batch_set_line(batch, 0, 0);
	r = batch_take(batch, &stream->source, used);
	return r < 0 ? r : (ssize_t)used;
}
