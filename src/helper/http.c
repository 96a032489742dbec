/* SPDX-License-Identifier: ISC */
/* http.c - a client of /system/metrics: one request, one answer. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "helper/exposition.h"
#include "helper/watchers.h"
#include "os/self/clock.h"

#define CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
/* How long a request may take, what is sent may stand still, and its end may take. */
#define REQUEST_SECONDS 10.
#define SEND_SECONDS    30.
#define END_SECONDS     2.

/* Close the connection and free the client. */
void
http_drop(struct http_client *client)
{
	struct exposition *metrics = client->metrics;
	struct ev_loop *loop = metrics->loop;

	ev_io_stop(loop, &client->io);
	ev_timer_stop(loop, &client->timer);
	TAILQ_REMOVE(&metrics->clients, client, link);
	metrics->n_clients--;
	(void)close(client->fd);
	figures_drop(client->text);
	free(client);
}

static void
http_watch(struct http_client *client, int events, double seconds)
{
	struct ev_loop *loop = client->metrics->loop;

	io_begin(loop, &client->io, client->fd, events);
	ev_timer_stop(loop, &client->timer);
	if (seconds > 0)
		timer_begin(loop, &client->timer, seconds);
}

/* What is sent first: the head for `len` bytes, and the line if that is all of them. */
static void
answer(struct http_client *client, const char *status, const char *type, size_t len,
       const char *line)
{
	int n = snprintf(client->head, sizeof(client->head),
	                 "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
	                 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
	                 status, type, len, client->head_only ? "" : line);

	ASSERT(n > 0 && (size_t)n < sizeof(client->head));
	client->head_len = (size_t)n;
	client->state = CLIENT_GETS;
	http_watch(client, EV_WRITE, SEND_SECONDS);
}

/* An answer without figures: a line for a person. */
void
http_answer(struct http_client *client, const char *status, const char *line)
{
	answer(client, status, "text/plain; charset=utf-8", strlen(line), line);
}

/* Is all well, by the figures? */
static void
answer_health(struct http_client *client, const struct figures *text)
{
	static const char well[] = "\nsupd_actors_unhealthy 0\n";

	if (memmem(text->data, text->len, well, sizeof(well) - 1) != NULL)
		http_answer(client, "200 OK", "healthy\n");
	else
		http_answer(client, "503 Service Unavailable",
		            "not healthy: 'supctl status --failed' says what is wrong\n");
}

/* The figures as an answer, or what they say of the health. */
void
http_answer_figures(struct http_client *client, struct figures *text)
{
	if (client->wants_health) {
		answer_health(client, text);
		return;
	}
	if (!client->head_only) {
		text->holders++;
		client->text = text;
	}
	answer(client, "200 OK", CONTENT_TYPE, text->len, "");
}

/* True if it is this path, alone or before a query. */
static bool
is_path(const char *target, const char *path)
{
	const size_t len = strlen(path);

	return strncmp(target, path, len) == 0 &&
	       (target[len] == '\0' || target[len] == '?');
}

/* The request is complete, or will not be. */
static void
http_take_request(struct http_client *client)
{
	struct exposition *metrics = client->metrics;
	char method[16], target[256], version[16];

	if (sscanf(client->in, "%15s %255s %15s", method, target, version) != 3 ||
	    strncmp(version, "HTTP/1.", 7) != 0) {
		http_answer(client, "400 Bad Request", "this is no request of HTTP/1\n");
		return;
	}
	client->head_only = strcmp(method, "HEAD") == 0;
	if (!client->head_only && strcmp(method, "GET") != 0) {
		http_answer(client, "405 Method Not Allowed\r\nAllow: GET, HEAD",
		            "only GET and HEAD\n");
		return;
	}
	client->wants_health = is_path(target, "/healthz");
	if (!client->wants_health && !is_path(target, "/metrics")) {
		http_answer(client, "404 Not Found",
		            "the figures are at /metrics, the health at /healthz\n");
		return;
	}
	if (metrics->text != NULL && clock_mono_ms() - metrics->text_ms < FRESH_MS) {
		http_answer_figures(client, metrics->text);
		return;
	}
	client->state = CLIENT_WAITS;
	http_watch(client, 0, SEND_SECONDS);
	exposition_ask(metrics);
}

static bool
http_is_complete(const struct http_client *client)
{
	return strstr(client->in, "\r\n\r\n") != NULL ||
	       strstr(client->in, "\n\n") != NULL;
}

static void
http_receive(struct http_client *client)
{
	ssize_t n = recv(client->fd, client->in + client->in_len,
	                 REQUEST_MAX - client->in_len, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		http_drop(client);
	if (n <= 0)
		return;
	client->in_len += (size_t)n;
	client->in[client->in_len] = '\0';
	if (http_is_complete(client))
		http_take_request(client);
	else if (client->in_len == REQUEST_MAX)
		http_answer(client, "431 Request Header Fields Too Large",
		            "the request is too long\n");
}

/* Wait for the other end to be closed: what it still sends would have the answer thrown
 * away, if it came to a closed socket. */
static void
http_discard(struct http_client *client)
{
	char buf[4096];
	ssize_t n = recv(client->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		http_drop(client);
}

static ssize_t
http_send_some(const struct http_client *client)
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
http_send(struct http_client *client)
{
	const size_t all =
	    client->head_len + (client->text != NULL ? client->text->len : 0);
	ssize_t n = 0;

	while (client->sent < all && (n = http_send_some(client)) > 0)
		client->sent += (size_t)n;
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		http_drop(client);
	} else if (client->sent < all) {
		/* The client took data: its time begins anew. */
		http_watch(client, EV_WRITE, SEND_SECONDS);
	} else {
		(void)shutdown(client->fd, SHUT_WR);
		client->state = CLIENT_ENDS;
		http_watch(client, EV_READ, END_SECONDS);
	}
}

static void
http_touch(struct http_client *client)
{
	struct http_clients *clients = &client->metrics->clients;

	client->moved_ms = clock_mono_ms();
	TAILQ_REMOVE(clients, client, link);
	TAILQ_INSERT_TAIL(clients, client, link);
}

static void
on_io(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct http_client *client = io->data;

	http_touch(client);
	switch (client->state) {
	case CLIENT_ASKS:
		http_receive(client);
		break;
	case CLIENT_GETS:
		http_send(client);
		break;
	case CLIENT_ENDS:
		http_discard(client);
		break;
	case CLIENT_WAITS:
		break;
	}
}

static void
on_timeout(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	http_drop(timer->data);
}

/* Takes the descriptor; without memory the client is turned away. */
void
http_admit(struct exposition *metrics, int take_fd)
{
	struct http_client *client = calloc(1, sizeof(*client));

	if (client == NULL) {
		(void)close(take_fd);
		return;
	}
	client->metrics = metrics;
	client->fd = take_fd;
	client->moved_ms = clock_mono_ms();
	io_prepare(&client->io, on_io, client);
	timer_prepare(&client->timer, on_timeout, client);
	TAILQ_INSERT_TAIL(&metrics->clients, client, link);
	metrics->n_clients++;
	http_watch(client, EV_READ, REQUEST_SECONDS);
}
