/* SPDX-License-Identifier: ISC */
/* client.c - one connection to a supd: calls out, replies in, with a deadline. */
#include "config.h"

#include "ctl/wire/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bounds.h"
#include "base/cleanup.h"

#define INTERFACE_PREFIX "io.supd.Control."
/* How much is read at a time.  Each page of more than that would be touched once, which
 * takes longer than another call of recv(). */
#define RECEIVE_BYTES (16 * 1024)

/* CLOCK_MONOTONIC in milliseconds. */
uint64_t
client_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* A client of the supd at this socket; nothing is connected yet. */
void
client_init(struct client *client, const char *path)
{
	*client = (struct client){
	    .path = path,
	    .fd = -1,
	    .hangup_fd = -1,
	    .deadline_ms = CLIENT_FOREVER,
	};
	varlink_reader_init(&client->reader, VARLINK_REPLY_MAX);
}

static void
disconnect(struct client *client)
{
	if (client->fd >= 0)
		(void)close(client->fd);
	client->fd = -1;
	varlink_reader_done(&client->reader);
	varlink_reader_init(&client->reader, VARLINK_REPLY_MAX);
}

/* Close the connection and give back what it holds. */
void
client_done(struct client *client)
{
	disconnect(client);
	varlink_reader_done(&client->reader);
}

/* Milliseconds for poll(): -1 for ever, 0 when the deadline is past. */
static int
poll_timeout(const struct client *client)
{
	uint64_t now = client_now_ms();

	if (client->deadline_ms == CLIENT_FOREVER)
		return -1;
	if (client->deadline_ms <= now)
		return 0;
	return client->deadline_ms - now > INT_MAX ? INT_MAX
	                                           : (int)(client->deadline_ms - now);
}

/* A Unix socket's connect waits while the queue of the server is full: bound it. */
static void
bound_connect(const struct client *client, int fd)
{
	int timeout = poll_timeout(client);
	struct timeval tv = {timeout / 1000, timeout % 1000 * 1000};

	if (timeout == 0)
		tv.tv_usec = 1000;
	if (timeout >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

/*
 * Connect, anew if there was a connection.  The error is that of connect(2): -ENOENT and
 * -ECONNREFUSED when no supd is there, -EACCES when it is not for this user, -ETIME.
 */
int
client_connect(struct client *client, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(client->path);

	disconnect(client);
	if (len >= sizeof(address.sun_path))
		return err_set(err, ENAMETOOLONG, "%.200s", client->path);
	memcpy(address.sun_path, client->path, len);
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, errno, "socket");
	bound_connect(client, fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, errno == EAGAIN ? ETIME : errno, "%s", client->path);
	client->fd = fd;
	fd = -1;
	client->connected_ms = client_now_ms();
	return 0;
}

/* The process at the other end as the kernel knows it, 0 when it is not visible. */
pid_t
client_peer_pid(const struct client *client)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	return getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0
	           ? 0
	           : peer.pid;
}

/* The pause before the next attempt: none before the first one after a loss. */
static int
next_pause(struct client *client, uint64_t left_ms)
{
	int pause_ms = client->pause_ms;

	client->pause_ms =
	    pause_ms == 0 ? CLIENT_PAUSE_MS : SMALLER(pause_ms * 2, CLIENT_PAUSE_MS_MAX);
	return (uint64_t)pause_ms < left_ms ? pause_ms : (int)left_ms;
}

/*
 * Was the connection that of another guardian than the one lost before?  A connection
 * that a living guardian closes is none; where its process is not visible a connection
 * that held was.
 */
static void
count_guardian(struct client *client, uint64_t held_ms)
{
	const pid_t pid = client_peer_pid(client);

	if (held_ms >= CLIENT_ROW_MS)
		client->n_lost = 0;
	if (pid != 0 ? pid != client->lost_pid : held_ms >= CLIENT_HELD_MS)
		client->n_lost++;
	client->lost_pid = pid;
}

/*
 * The time without a connection begins.  A stop or a watch may be without a message for
 * hours and outlive any number of takeovers: a connection that held counts as one.
 */
static void
note_loss(struct client *client, uint64_t now_ms)
{
	const uint64_t held_ms = client->fd >= 0 ? now_ms - client->connected_ms : 0;

	if (client->fd >= 0)
		count_guardian(client, held_ms);
	if (held_ms >= CLIENT_HELD_MS) {
		client->lost_ms = 0;
		client->pause_ms = 0;
	}
	if (client->lost_ms == 0)
		client->lost_ms = now_ms;
}

/*
 * Connect again after a connection was lost: as long as the deadline allows, or for
 * CLIENT_RECONNECT_MS since the last message or the end of the last connection that held
 * for CLIENT_HELD_MS, with growing pauses; where the socket is gone altogether never for
 * longer than that.  -ETIME past the deadline, -ECONNRESET when a supd is there that
 * closes every connection, -EOWNERDEAD when CLIENT_LOST_MAX guardians in a row have ended
 * without a message, maybe of what they were asked, else what the last attempt said.
 */
int
client_reconnect(struct client *client, struct err *err)
{
	uint64_t now_ms = client_now_ms();
	int r = -ECONNRESET;

	note_loss(client, now_ms);
	if (client->n_lost >= CLIENT_LOST_MAX)
		return -EOWNERDEAD;
	uint64_t give_up_ms = client->lost_ms + CLIENT_RECONNECT_MS;
	if (client->deadline_ms != CLIENT_FOREVER)
		give_up_ms = client->deadline_ms;
	for (; now_ms < give_up_ms; now_ms = client_now_ms()) {
		(void)poll(NULL, 0, next_pause(client, give_up_ms - now_ms));
		r = client_connect(client, err);
		if (r == 0 || r == -EACCES || r == -EPERM)
			return r;
		/* If even the file of the socket is gone supd has ended in order, and
		 * does not return. */
		if (r == -ENOENT &&
		    client_now_ms() >= client->lost_ms + CLIENT_RECONNECT_MS)
			return r;
	}
	return client->deadline_ms != CLIENT_FOREVER ? -ETIME : r;
}

/*
 * Wait until the connection has what is asked for.  -ETIME past the deadline, -EPIPE
 * when the reader of hangup_fd went away (a pipe tells so by POLLERR).
 */
static int
wait_for(struct client *client, short events)
{
	struct pollfd fds[2] = {
	    {.fd = client->fd, .events = events},
	    {.fd = client->hangup_fd},
	};

	for (;;) {
		int n = poll(fds, ARRAY_SIZE(fds), poll_timeout(client));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -ETIME;
		if (n > 0 && fds[0].revents != 0)
			return 0;
		if (n > 0)
			return -EPIPE;
	}
}

static int
send_all(struct client *client, const char *data, size_t left)
{
	while (left > 0) {
		ssize_t n = send(client->fd, data, left, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = 0;

		if (n >= 0) {
			data += n;
			left -= (size_t)n;
		} else if (errno == EAGAIN) {
			r = wait_for(client, POLLOUT);
		} else if (errno != EINTR) {
			r = -ECONNRESET;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Send a call of io.supd.Control.  -ECONNRESET when the connection is lost, -ETIME,
 * -EMSGSIZE when it is longer than supd accepts.
 */
int
client_send(struct client *client, const char *method, json_t *take_parameters, bool more,
            struct err *err)
{
	char name[64] = INTERFACE_PREFIX;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF(VARLINK_IN_MAX);

	ASSERT(strlen(method) < sizeof(name) - sizeof(INTERFACE_PREFIX));
	strcat(name, method);
	json_auto_t *call = varlink_make_call(name, take_parameters, more, false);
	int r = call == NULL ? -ENOMEM : varlink_write(&out, call, VARLINK_IN_MAX);
	if (r == 0)
		r = client->fd < 0 ? -ECONNRESET
		                   : send_all(client, strbuf_str(&out), out.len);
	if (r < 0)
		err_set(err, -r, "send %s", method);
	return r;
}

/*
 * Take apart a reply of a stream that has the form which supd writes; false: it has
 * another.  The parameters lie between two texts that are known: so they are read once,
 * and not before that to find their end.
 */
static bool
parse_continued(struct span message, struct reply *ret)
{
	static const char before[] = "{\"parameters\":{";
	static const char behind[] = "},\"continues\":true}";
	const size_t head = sizeof(before) - 2, tail = sizeof(behind) - 2;

	if (message.len < head + tail + 2 || memcmp(message.at, before, head + 1) != 0 ||
	    memcmp(message.at + message.len - tail - 1, behind, tail + 1) != 0)
		return false;
	*ret = (struct reply){
	    .parameters = {message.at + head, message.len - head - tail},
	    .continues = true,
	};
	return true;
}

/* Take a message apart; -EBADMSG when it is no reply of Varlink. */
static int
parse_reply(struct span message, struct reply *ret, struct err *err)
{
	static const struct scan_field fields[] = {
	    SCAN_FIELD(SCAN_STRING, struct reply, error),
	    SCAN_FIELD(SCAN_RAW, struct reply, parameters),
	    SCAN_FIELD(SCAN_BOOL, struct reply, continues),
	};
	struct reply reply = {0};

	if (parse_continued(message, ret))
		return 0;
	bool good = scan_read(message, fields, ARRAY_SIZE(fields), &reply);
	if (good && reply.parameters.at != NULL && !span_is_object(reply.parameters)) {
		good = span_is(reply.parameters, "null");
		reply.parameters = (struct span){NULL, 0};
	}
	if (!good)
		return err_say(err, -EBADMSG, "supd's answer is malformed");
	*ret = reply;
	return 0;
}

/* Read what has come; -ECONNRESET at the end of the connection. */
static int
receive(struct client *client)
{
	char data[RECEIVE_BYTES];
	ssize_t n = recv(client->fd, data, sizeof(data), MSG_DONTWAIT);

	if (n > 0)
		return varlink_reader_feed(&client->reader, data, (size_t)n);
	if (n == 0)
		return -ECONNRESET;
	if (errno == EAGAIN)
		return wait_for(client, POLLIN);
	return errno == EINTR ? 0 : -ECONNRESET;
}

/*
 * The next reply. -ECONNRESET when the connection is lost (err says so), -ETIME past the
 * deadline, -EPIPE when the reader of our output is gone, -EBADMSG and -EMSGSIZE when
 * supd sent what the protocol forbids.
 */
int
client_next(struct client *client, struct reply *ret, struct err *err)
{
	for (;;) {
		struct span message;
		int r =
		    varlink_reader_next_text(&client->reader, &message.at, &message.len);

		if (r > 0) {
			client->lost_ms = 0;
			client->pause_ms = 0;
			client->n_lost = 0;
			client->lost_pid = 0;
			return parse_reply(message, ret, err);
		}
		r = client->fd < 0 ? -ECONNRESET : receive(client);
		if (r == -ECONNRESET)
			err_set(err, 0, "supd closed the connection");
		else if (r == -ETIME)
			err_set(err, 0, "no answer in time");
		else if (r < 0)
			err_set(err, -r, "receive");
		if (r < 0)
			return r;
	}
}

/* True if client_next() gives a reply without waiting. */
bool
client_has_next(const struct client *client)
{
	return client->reader.messages > 0;
}

/*
 * Has the process of pidfd (-1: not asked for) ended? 0 when it has, within
 * CLIENT_GONE_MS; 1 when not; -ETIME past the deadline.
 */
int
client_wait_gone(const struct client *client, int pidfd)
{
	struct pollfd process = {.fd = pidfd, .events = POLLIN};
	int left_ms = poll_timeout(client), n;

	if (pidfd < 0)
		return 0;
	if (left_ms < 0 || left_ms > CLIENT_GONE_MS)
		left_ms = CLIENT_GONE_MS;
	do {
		n = poll(&process, 1, left_ms);
	} while (n < 0 && errno == EINTR);
	if (n != 0)
		return 0;
	return poll_timeout(client) == 0 ? -ETIME : 1;
}

/*
 * Wait until supd is gone: its connection has ended, and so has the process of pidfd.
 * Replies that still come are dropped.  0, 1 when only the connection has ended, or
 * -ETIME.
 */
int
client_wait_end(struct client *client, int pidfd)
{
	struct reply reply;
	int r = 0;

	while (r >= 0)
		r = client_next(client, &reply, NULL);
	return r == -ETIME ? r : client_wait_gone(client, pidfd);
}
