/* SPDX-License-Identifier: ISC */
/* metrics.c - figures for whoever fetches them: /metrics by HTTP. */
#include "config.h"

#include "daemon/metrics.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/sum.h"
#include "daemon/log.h"
#include "daemon/scrape.h"
#include "daemon/shell.h"
#include "ledger/link.h"
#include "os/fd.h"
#include "os/sock.h"
#include "os/sockfile.h"

#define BACKLOG      64
#define REQUEST_MAX  8192
#define HEAD_MAX     256
#define CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
/* How long a request may take, what is sent may stand still, and its end may take. */
#define REQUEST_SECONDS 10.
#define SEND_SECONDS    30.
#define END_SECONDS     2.
/* How long nobody is accepted after descriptors or memory ran out. */
#define PAUSE_SECONDS 1.

enum client_state {
	CLIENT_ASKS,  /* the request is not complete */
	CLIENT_WAITS, /* the figures are being collected */
	CLIENT_GETS,  /* the answer is being sent */
	CLIENT_ENDS,  /* it was: until the other end is closed as well */
};

struct client {
	struct metrics *metrics;
	TAILQ_ENTRY(client) link;
	int fd;
	enum client_state state;
	ev_io io;
	ev_timer timer;
	struct scrape_request request;
	bool head_only;
	char in[REQUEST_MAX + 1];
	size_t in_len;
	char head[HEAD_MAX]; /* of the answer, and its text where it is no figures */
	size_t head_len;
	struct scrape_text *text;
	size_t sent; /* of both */
};

TAILQ_HEAD(clients, client);

struct metrics {
	struct shell *shell;
	int fd;          /* listening, or -1 */
	uint64_t key;    /* under which the walker keeps it */
	char *unix_path; /* its file, or NULL */
	ev_io accept_io;
	ev_timer pause;
	struct clients clients;
	size_t n_clients;
};

/* ---- answers ----------------------------------------------------------------------- */

static void
drop(struct client *client)
{
	struct metrics *metrics = client->metrics;
	struct ev_loop *loop = metrics->shell->loop;

	scraper_cancel(metrics->shell->scraper, &client->request);
	ev_io_stop(loop, &client->io);
	ev_timer_stop(loop, &client->timer);
	TAILQ_REMOVE(&metrics->clients, client, link);
	metrics->n_clients--;
	(void)close(client->fd);
	scrape_text_drop(client->text);
	free(client);
	/* There is room for one more. */
	if (metrics->fd >= 0 && !ev_is_active(&metrics->pause))
		ev_io_start(loop, &metrics->accept_io);
}

static void
watch(struct client *client, int events, double seconds)
{
	struct ev_loop *loop = client->metrics->shell->loop;

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
on_text(struct scrape_request *request, struct scrape_text *text)
{
	struct client *client =
	    (struct client *)(void *)((char *)request - offsetof(struct client, request));
	int n;

	if (text == NULL) {
		answer(client, "503 Service Unavailable", "no memory for the figures\n");
		return;
	}
	n = snprintf(client->head, sizeof(client->head),
	             "HTTP/1.1 200 OK\r\nContent-Type: " CONTENT_TYPE "\r\n"
	             "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	             text->sb.len);
	ASSERT(n > 0 && (size_t)n < sizeof(client->head));
	client->head_len = (size_t)n;
	if (!client->head_only)
		client->text = scrape_text_hold(text);
	client->state = CLIENT_GETS;
	watch(client, EV_WRITE, SEND_SECONDS);
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
	client->state = CLIENT_WAITS;
	watch(client, 0, 0);
	scraper_ask(client->metrics->shell->scraper, &client->request);
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
		data = client->text->sb.data + (client->sent - client->head_len);
		len = client->text->sb.len - (client->sent - client->head_len);
	}
	return send(client->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
transmit(struct client *client)
{
	const size_t all =
	    client->head_len + (client->text != NULL ? client->text->sb.len : 0);
	ssize_t n = 0;

	while (client->sent < all && (n = send_some(client)) > 0)
		client->sent += (size_t)n;
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		drop(client);
	} else if (client->sent < all) {
		/* It moved: its time begins anew. */
		watch(client, EV_WRITE, SEND_SECONDS);
	} else {
		(void)shutdown(client->fd, SHUT_WR);
		client->state = CLIENT_ENDS;
		watch(client, EV_READ, END_SECONDS);
	}
}

static void
on_io(struct ev_loop *loop, ev_io *io, int revents)
{
	struct client *client = io->data;

	(void)loop;
	(void)revents;
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
	client->request.on_text = on_text;
	ev_io_init(&client->io, on_io, take_fd, EV_READ);
	ev_timer_init(&client->timer, on_timeout, REQUEST_SECONDS, 0.);
	client->io.data = client->timer.data = client;
	TAILQ_INSERT_TAIL(&metrics->clients, client, link);
	metrics->n_clients++;
	watch(client, EV_READ, REQUEST_SECONDS);
}

static void
on_accept(struct ev_loop *loop, ev_io *io, int revents)
{
	struct metrics *metrics = io->data;
	int fd = 0;

	(void)revents;
	while (fd >= 0 && metrics->n_clients < METRICS_CLIENTS_MAX) {
		fd = accept4(metrics->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			admit(metrics, fd_raise(fd));
	}
	/* The others queue until one is done, or there are descriptors again. */
	if (fd >= 0) {
		ev_io_stop(loop, io);
	} else if (err_is_shortage(errno)) {
		ev_io_stop(loop, io);
		ev_timer_set(&metrics->pause, PAUSE_SECONDS, 0.);
		ev_timer_start(loop, &metrics->pause);
	}
}

static void
on_pause(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct metrics *metrics = timer->data;

	(void)revents;
	if (metrics->fd >= 0)
		ev_io_start(loop, &metrics->accept_io);
}

/* ---- the socket -------------------------------------------------------------------- */

static uint64_t
key_of(const struct conf *conf)
{
	const char *address = conf->metrics_address;

	return VAULT_KEY(VAULT_METRICS, sum_bytes(address, strlen(address),
	                                          (uint64_t)conf->metrics_kind << 16 |
	                                              conf->metrics_port));
}

/* Observers may, and whoever may control; as nobody is asked who he is, its group. */
static gid_t
group_of(const struct conf *conf)
{
	if (conf->has_observers)
		return conf->observers_gid;
	return conf->has_control_group ? conf->control_gid : getegid();
}

/*
 * Open what the configuration asks for: the caller then uses or cancels it.  *ret_fd is
 * -1 where there is nothing to be opened: it listens there already, or nowhere.  -errno
 * and a sentence.
 */
int
metrics_open(struct metrics *metrics, const struct conf *conf, int *ret_fd,
             struct err *err)
{
	int fd;

	*ret_fd = -1;
	if (!conf->has_metrics || (metrics->fd >= 0 && metrics->key == key_of(conf)))
		return 0;
	/* One that a guardian before us had. */
	fd = shell_take(metrics->shell, key_of(conf));
	if (fd < 0 && conf->metrics_kind == SOCKET_TCP)
		fd = sock_listen_tcp(conf->metrics_address, conf->metrics_port, BACKLOG,
		                     err);
	else if (fd < 0)
		fd = sock_listen_unix(conf->metrics_address, BACKLOG, 0660, (uid_t)-1,
		                      group_of(conf), err);
	if (fd < 0) {
		err_prefix(err, "metrics.listen");
		return fd;
	}
	*ret_fd = fd_raise(fd);
	shell_keep(metrics->shell, key_of(conf), *ret_fd);
	return 0;
}

static void
close_socket(struct metrics *metrics, uint64_t key, const char *unix_path, int *fd)
{
	if (*fd < 0)
		return;
	shell_release(metrics->shell, key);
	if (unix_path != NULL)
		(void)unlink(unix_path);
	fd_close(fd);
}

/* What metrics_open() opened is not used after all. */
void
metrics_cancel(struct metrics *metrics, const struct conf *conf, int take_fd)
{
	if (take_fd >= 0)
		close_socket(metrics, key_of(conf),
		             conf->metrics_kind == SOCKET_UNIX ? conf->metrics_address
		                                               : NULL,
		             &take_fd);
}

static void
stop_listening(struct metrics *metrics)
{
	ev_io_stop(metrics->shell->loop, &metrics->accept_io);
	ev_timer_stop(metrics->shell->loop, &metrics->pause);
	close_socket(metrics, metrics->key, metrics->unix_path, &metrics->fd);
	free(metrics->unix_path);
	metrics->unix_path = NULL;
}

/* The configuration is in force: listen where it says, with what metrics_open() gave.
 * Whoever is being served is served. */
void
metrics_use(struct metrics *metrics, const struct conf *conf, int take_fd)
{
	int r = 0;

	if (!conf->has_metrics || take_fd >= 0)
		stop_listening(metrics);
	if (take_fd >= 0) {
		metrics->fd = take_fd;
		metrics->key = key_of(conf);
		if (conf->metrics_kind == SOCKET_UNIX)
			metrics->unix_path = strdup(conf->metrics_address);
		ev_io_set(&metrics->accept_io, take_fd, EV_READ);
		if (metrics->n_clients < METRICS_CLIENTS_MAX)
			ev_io_start(metrics->shell->loop, &metrics->accept_io);
	}
	if (metrics->unix_path != NULL)
		r = sockfile_adjust(metrics->unix_path, 0660, (uid_t)-1, group_of(conf));
	if (r < 0)
		(void)log_errno(r, "mode of %s", metrics->unix_path);
}

/* NULL: out of memory. */
struct metrics *
metrics_new(struct shell *shell)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (metrics == NULL)
		return NULL;
	metrics->shell = shell;
	metrics->fd = -1;
	TAILQ_INIT(&metrics->clients);
	ev_io_init(&metrics->accept_io, on_accept, -1, EV_READ);
	ev_timer_init(&metrics->pause, on_pause, 0., 0.);
	metrics->accept_io.data = metrics->pause.data = metrics;
	return metrics;
}

/* Nobody is served any more; NULL is fine. */
void
metrics_free(struct metrics *metrics)
{
	if (metrics == NULL)
		return;
	stop_listening(metrics);
	while (!TAILQ_EMPTY(&metrics->clients))
		drop(TAILQ_FIRST(&metrics->clients));
	free(metrics);
}
