/* SPDX-License-Identifier: ISC */
/* metrics.c - /system/metrics: figures by HTTP.
 *
 * One request a connection.  The guardian is asked for the figures once a second at the
 * most, however many clients there are: later clients share the answer.  When all places
 * are taken the client that has been idle for longest makes room.
 */
#include "config.h"

#include "helper/helper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "os/clock.h"
#include "os/fd.h"

#define REQUEST_MAX  8192
#define HEAD_MAX     256
#define CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
/* So many clients at a time; of more, one that was idle for so long makes room. */
#define CLIENTS_MAX 64
#define IDLE_MS     1000
/* How long a request may take, what is sent may stand still, and its end may take. */
#define REQUEST_SECONDS 10.
#define SEND_SECONDS    30.
#define END_SECONDS     2.
/* How long no client is accepted after descriptors or memory ran out. */
#define PAUSE_SECONDS 1.
/* So old may the figures be, and when the guardian is asked again if it did not hear. */
#define FRESH_MS      1000
#define AGAIN_SECONDS 0.1

enum client_state {
	CLIENT_ASKS,  /* the request is not complete */
	CLIENT_WAITS, /* the figures are asked for */
	CLIENT_GETS,  /* the answer is being sent */
	CLIENT_ENDS,  /* it was: until the other end is closed as well */
};

/* What the guardian said. */
struct text {
	uint32_t holders;
	char *data; /* a mapped file */
	size_t len;
};

struct client {
	struct metrics *metrics;
	TAILQ_ENTRY(client) link;
	int fd;
	enum client_state state;
	uint64_t moved_ms; /* when it last did something */
	ev_io io;
	ev_timer timer;
	bool head_only;
	char in[REQUEST_MAX + 1];
	size_t in_len;
	char head[HEAD_MAX]; /* of the answer, and its text where it is no figures */
	size_t head_len;
	struct text *text;
	size_t sent; /* of both */
};

TAILQ_HEAD(clients, client);

struct metrics {
	struct ev_loop *loop;
	int fd; /* listening, or -1 */
	ev_io accept_io;
	ev_timer pause;
	struct clients clients; /* the client that moved last is at the end */
	size_t n_clients;
	struct text *text; /* the newest; NULL: none yet */
	uint64_t text_ms;
	bool is_asking;
	ev_timer again; /* the guardian could not be asked */
};

/* ---- texts ---------------------------------------------------------------------------
 */

/* One holder less; NULL is fine. */
static void
text_drop(struct text *text)
{
	if (text == NULL || --text->holders > 0)
		return;
	if (text->len > 0)
		(void)munmap(text->data, text->len);
	free(text);
}

/* What is in a file; NULL without memory. */
static struct text *
text_new(int fd)
{
	struct text *text = calloc(1, sizeof(*text));
	const off_t size = lseek(fd, 0, SEEK_END);

	if (text == NULL || size < 0) {
		free(text);
		return NULL;
	}
	*text = (struct text){.holders = 1, .len = (size_t)size};
	if (size > 0)
		text->data = mmap(NULL, text->len, PROT_READ, MAP_SHARED, fd, 0);
	if (text->data == MAP_FAILED) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- answers ----------------------------------------------------------------------- */

static void
drop(struct client *client)
{
	struct metrics *metrics = client->metrics;
	struct ev_loop *loop = metrics->loop;

	ev_io_stop(loop, &client->io);
	ev_timer_stop(loop, &client->timer);
	TAILQ_REMOVE(&metrics->clients, client, link);
	metrics->n_clients--;
	(void)close(client->fd);
	text_drop(client->text);
	free(client);
}

static void
watch(struct client *client, int events, double seconds)
{
	struct ev_loop *loop = client->metrics->loop;

	ev_io_stop(loop, &client->io);
	ev_io_set(&client->io, client->fd, events);
	if (events != 0)
		ev_io_start(loop, &client->io);
	ev_timer_stop(loop, &client->timer);
	ev_timer_set(&client->timer, seconds, 0.);
	if (seconds > 0)
		ev_timer_start(loop, &client->timer);
}

/* An answer without figures: a line for a person. */
static void
answer(struct client *client, const char *status, const char *line)
{
	int n = snprintf(client->head, sizeof(client->head),
	                 "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
	                 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
	                 status, strlen(line), client->head_only ? "" : line);

	ASSERT(n > 0 && (size_t)n < sizeof(client->head));
	client->head_len = (size_t)n;
	client->state = CLIENT_GETS;
	watch(client, EV_WRITE, SEND_SECONDS);
}

static void
answer_figures(struct client *client, struct text *text)
{
	int n = snprintf(client->head, sizeof(client->head),
	                 "HTTP/1.1 200 OK\r\nContent-Type: " CONTENT_TYPE "\r\n"
	                 "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	                 text->len);

	ASSERT(n > 0 && (size_t)n < sizeof(client->head));
	client->head_len = (size_t)n;
	if (!client->head_only) {
		text->holders++;
		client->text = text;
	}
	client->state = CLIENT_GETS;
	watch(client, EV_WRITE, SEND_SECONDS);
}

/* The figures have come, or cannot be had: NULL. */
static void
answer_all(struct metrics *metrics, struct text *text)
{
	struct client *client;

	TAILQ_FOREACH (client, &metrics->clients, link) {
		if (client->state != CLIENT_WAITS)
			continue;
		if (text != NULL)
			answer_figures(client, text);
		else
			answer(client, "503 Service Unavailable",
			       "no memory for the figures\n");
	}
}

/* Have the guardian say the figures, unless it was asked already. */
static void
ask_guardian(struct metrics *metrics)
{
	const struct helper_message ask = {.kind = HELPER_ASK};

	if (metrics->is_asking || ev_is_active(&metrics->again))
		return;
	metrics->is_asking = helper_send(HELPER_FD, &ask, NULL, 0) == 0;
	if (!metrics->is_asking) {
		ev_timer_set(&metrics->again, AGAIN_SECONDS, 0.);
		ev_timer_start(metrics->loop, &metrics->again);
	}
}

static void
on_again(struct ev_loop *loop, ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	ask_guardian(timer->data);
}

/* ---- requests ---------------------------------------------------------------------- */

/* Does the path end here, before a query or the rest of the line? */
static bool
is_figures(const char *target)
{
	static const char path[] = "/metrics";
	const size_t len = sizeof(path) - 1;

	return strncmp(target, path, len) == 0 &&
	       (target[len] == '\0' || target[len] == '?');
}

/* The request is complete, or will not be. */
static void
take_request(struct client *client)
{
	struct metrics *metrics = client->metrics;
	char method[16], target[256], version[16];

	if (sscanf(client->in, "%15s %255s %15s", method, target, version) != 3 ||
	    strncmp(version, "HTTP/1.", 7) != 0) {
		answer(client, "400 Bad Request", "this is no request of HTTP/1\n");
		return;
	}
	client->head_only = strcmp(method, "HEAD") == 0;
	if (!client->head_only && strcmp(method, "GET") != 0) {
		answer(client, "405 Method Not Allowed\r\nAllow: GET, HEAD",
		       "only GET and HEAD\n");
		return;
	}
	if (!is_figures(target)) {
		answer(client, "404 Not Found", "the figures are at /metrics\n");
		return;
	}
	if (metrics->text != NULL && clock_mono_ms() - metrics->text_ms < FRESH_MS) {
		answer_figures(client, metrics->text);
		return;
	}
	client->state = CLIENT_WAITS;
	watch(client, 0, SEND_SECONDS);
	ask_guardian(metrics);
}

static bool
is_complete(const struct client *client)
{
	return strstr(client->in, "\r\n\r\n") != NULL ||
	       strstr(client->in, "\n\n") != NULL;
}

/* Returns false when the client is gone and freed. */
static bool
receive(struct client *client)
{
	ssize_t n = recv(client->fd, client->in + client->in_len,
	                 REQUEST_MAX - client->in_len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0) {
		drop(client);
		return false;
	}
	client->in_len += (size_t)n;
	client->in[client->in_len] = '\0';
	if (is_complete(client))
		take_request(client);
	else if (client->in_len == REQUEST_MAX)
		answer(client, "431 Request Header Fields Too Large",
		       "the request is too long\n");
	return true;
}

/* Wait for the other end to be closed: what it still sends would have the answer thrown
 * away, if it came to a closed socket. */
static void
discard(struct client *client)
{
	char buf[4096];
	ssize_t n = recv(client->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		drop(client);
}

static ssize_t
send_some(const struct client *client)
{
	const char *data = client->head + client->sent;
	size_t len = client->head_len - client->sent;

	if (client->sent >= client->head_len) {
		data = client->text->data + (client->sent - client->head_len);
		len = client->text->len - (client->sent - client->head_len);
	}
	return send(client->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
transmit(struct client *client)
{
	const size_t all =
	    client->head_len + (client->text != NULL ? client->text->len : 0);
	ssize_t n = 0;

	while (client->sent < all && (n = send_some(client)) > 0)
		client->sent += (size_t)n;
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		drop(client);
	} else if (client->sent < all) {
		/* The client took data: its time begins anew. */
		watch(client, EV_WRITE, SEND_SECONDS);
	} else {
		(void)shutdown(client->fd, SHUT_WR);
		client->state = CLIENT_ENDS;
		watch(client, EV_READ, END_SECONDS);
	}
}

static void
move(struct client *client)
{
	struct clients *clients = &client->metrics->clients;

	client->moved_ms = clock_mono_ms();
	TAILQ_REMOVE(clients, client, link);
	TAILQ_INSERT_TAIL(clients, client, link);
}

static void
on_io(struct ev_loop *loop, ev_io *io, int revents)
{
	struct client *client = io->data;

	(void)loop;
	(void)revents;
	move(client);
	switch (client->state) {
	case CLIENT_ASKS:
		(void)receive(client);
		break;
	case CLIENT_GETS:
		transmit(client);
		break;
	case CLIENT_ENDS:
		discard(client);
		break;
	case CLIENT_WAITS:
		break;
	}
}

static void
on_timeout(struct ev_loop *loop, ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	drop(timer->data);
}

/* ---- clients ----------------------------------------------------------------------- */

/* Takes the descriptor; without memory the client is turned away. */
static void
admit(struct metrics *metrics, int take_fd)
{
	struct client *client = calloc(1, sizeof(*client));

	if (client == NULL) {
		(void)close(take_fd);
		return;
	}
	client->metrics = metrics;
	client->fd = take_fd;
	client->moved_ms = clock_mono_ms();
	ev_io_init(&client->io, on_io, take_fd, EV_READ);
	ev_timer_init(&client->timer, on_timeout, REQUEST_SECONDS, 0.);
	client->io.data = client->timer.data = client;
	TAILQ_INSERT_TAIL(&metrics->clients, client, link);
	metrics->n_clients++;
	watch(client, EV_READ, REQUEST_SECONDS);
}

/* A place for one more.  0; else so many milliseconds have to pass: all are busy. */
static uint64_t
make_room(struct metrics *metrics)
{
	const uint64_t now_ms = clock_mono_ms();
	struct client *client;

	if (metrics->n_clients < CLIENTS_MAX)
		return 0;
	TAILQ_FOREACH (client, &metrics->clients, link) {
		uint64_t idle_ms = now_ms - client->moved_ms;

		/* This client waits for the guardian. */
		if (client->state == CLIENT_WAITS)
			continue;
		if (client->state != CLIENT_ENDS && idle_ms < IDLE_MS)
			return IDLE_MS - idle_ms;
		drop(client);
		return 0;
	}
	return IDLE_MS;
}

static void
pause_for(struct metrics *metrics, double seconds)
{
	ev_io_stop(metrics->loop, &metrics->accept_io);
	ev_timer_stop(metrics->loop, &metrics->pause);
	ev_timer_set(&metrics->pause, seconds, 0.);
	ev_timer_start(metrics->loop, &metrics->pause);
}

/* Accept a single client: its request is read before another client may take its place.
 */
static void
on_accept(struct ev_loop *loop, ev_io *io, int revents)
{
	struct metrics *metrics = io->data;
	uint64_t wait_ms = make_room(metrics);
	int fd;

	(void)revents;
	if (wait_ms > 0) {
		pause_for(metrics, (double)wait_ms / 1e3);
		return;
	}
	fd = accept4(metrics->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		admit(metrics, fd);
	else if (err_is_shortage(errno))
		pause_for(metrics, PAUSE_SECONDS);
	else if (errno == EINVAL)
		/* The guardian has closed it, and is about to say so. */
		ev_io_stop(loop, io);
}

static void
on_pause(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct metrics *metrics = timer->data;

	(void)revents;
	if (metrics->fd >= 0)
		ev_io_start(loop, &metrics->accept_io);
}

/* ---- what the guardian says -----------------------------------------------------------
 */

/* Serve this socket from now on, or none; clients that are there are served. */
static void
listen_at(struct metrics *metrics, int take_fd)
{
	ev_io_stop(metrics->loop, &metrics->accept_io);
	ev_timer_stop(metrics->loop, &metrics->pause);
	fd_close(&metrics->fd);
	metrics->fd = take_fd;
	if (take_fd < 0)
		return;
	ev_io_set(&metrics->accept_io, take_fd, EV_READ);
	ev_io_start(metrics->loop, &metrics->accept_io);
}

static void
on_message(void *own, const struct helper_message *message, const int *take_fds,
           size_t n_fds)
{
	struct metrics *metrics = own;
	struct text *text = NULL;
	size_t kept = 0;

	if (message->kind == HELPER_LISTEN) {
		listen_at(metrics, n_fds > 0 ? take_fds[0] : -1);
		kept = 1;
	} else if (message->kind == HELPER_TEXT) {
		if (n_fds > 0)
			text = text_new(take_fds[0]);
		metrics->is_asking = false;
		metrics->text_ms = clock_mono_ms();
		text_drop(metrics->text);
		metrics->text = text;
		answer_all(metrics, text);
	}
	for (size_t i = kept; i < n_fds; i++)
		(void)close(take_fds[i]);
}

static void *
start(struct helper *helper)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (metrics == NULL)
		return NULL;
	metrics->loop = helper->loop;
	metrics->fd = -1;
	TAILQ_INIT(&metrics->clients);
	ev_io_init(&metrics->accept_io, on_accept, -1, EV_READ);
	/* Requests of connected clients are read first. */
	ev_set_priority(&metrics->accept_io, EV_MINPRI);
	ev_timer_init(&metrics->pause, on_pause, 0., 0.);
	ev_timer_init(&metrics->again, on_again, 0., 0.);
	metrics->accept_io.data = metrics->pause.data = metrics->again.data = metrics;
	return metrics;
}

const struct helper_role helper_metrics = {CONFINE_SERVER, start, on_message};
