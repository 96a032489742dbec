/* SPDX-License-Identifier: ISC */
/* exposition.c - /system/metrics: figures by HTTP.
 *
 * One request a connection.  The guardian is asked for the figures once a second at the
 * most, however many clients there are: later clients share the answer.  When all places
 * are taken the client that has been idle for longest makes room.
 */
#include "config.h"

#include "helper/exposition.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/err.h"
#include "helper/helper.h"
#include "helper/watchers.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* How many clients are served at a time; for more a client makes room that was idle for
 * IDLE_MS. */
#define CLIENTS_MAX 64
#define IDLE_MS     1000
/* How long no client is accepted after descriptors or memory ran out. */
#define PAUSE_SECONDS 1.
/* When the guardian is asked again, if it could not be asked. */
#define AGAIN_SECONDS 0.1

/* One holder less; NULL is fine. */
void
figures_drop(struct figures *text)
{
	if (text == NULL || --text->holders > 0)
		return;
	if (text->len > 0)
		(void)munmap(text->data, text->len);
	free(text);
}

/* What is in a file; NULL without memory. */
static struct figures *
figures_new(int fd)
{
	struct figures *text = calloc(1, sizeof(*text));
	const off_t size = lseek(fd, 0, SEEK_END);

	if (text == NULL || size < 0) {
		free(text);
		return NULL;
	}
	*text = (struct figures){.holders = 1, .len = (size_t)size};
	if (size > 0)
		text->data = mmap(NULL, text->len, PROT_READ, MAP_SHARED, fd, 0);
	if (text->data == MAP_FAILED) {
		free(text);
		return NULL;
	}
	return text;
}

/* The figures have come, or cannot be had: NULL. */
static void
answer_waiting(struct exposition *metrics, struct figures *text)
{
	struct http_client *client;

	TAILQ_FOREACH (client, &metrics->clients, link) {
		if (client->state != CLIENT_WAITS)
			continue;
		if (text != NULL)
			http_answer_figures(client, text);
		else
			http_answer(client, "503 Service Unavailable",
			            "no memory for the figures\n");
	}
}

/* Have the guardian say the figures, unless it was asked already. */
void
exposition_ask(struct exposition *metrics)
{
	if (metrics->is_asking || ev_is_active(&metrics->again))
		return;
	metrics->is_asking =
	    helper_send(HELPER_FD, &(const struct helper_message){.kind = HELPER_ASK},
	                NULL) == 0;
	if (!metrics->is_asking)
		timer_begin(metrics->loop, &metrics->again, AGAIN_SECONDS);
}

static void
on_again(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	exposition_ask(timer->data);
}

/* ---- clients ----------------------------------------------------------------------- */

/* A place for one more.  0; else so many milliseconds have to pass: all are busy. */
static uint64_t
clients_make_room(struct exposition *metrics)
{
	const uint64_t now_ms = clock_mono_ms();
	struct http_client *client;

	if (metrics->n_clients < CLIENTS_MAX)
		return 0;
	TAILQ_FOREACH (client, &metrics->clients, link) {
		uint64_t idle_ms = now_ms - client->moved_ms;

		/* This client waits for the guardian. */
		if (client->state == CLIENT_WAITS)
			continue;
		if (client->state != CLIENT_ENDS && idle_ms < IDLE_MS)
			return IDLE_MS - idle_ms;
		http_drop(client);
		return 0;
	}
	return IDLE_MS;
}

static void
pause_accepting(struct exposition *metrics, double seconds)
{
	ev_io_stop(metrics->loop, &metrics->accept_io);
	timer_begin(metrics->loop, &metrics->pause, seconds);
}

/* Accept a single client: its request is read before another client may take its place.
 */
static void
on_accept(struct ev_loop *loop, ev_io *io, int revents UNUSED)
{
	struct exposition *metrics = io->data;
	uint64_t wait_ms = clients_make_room(metrics);

	if (wait_ms > 0) {
		pause_accepting(metrics, (double)wait_ms / 1e3);
		return;
	}
	int fd = accept4(metrics->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		http_admit(metrics, fd);
	else if (err_is_shortage(errno))
		pause_accepting(metrics, PAUSE_SECONDS);
	else if (errno == EINVAL)
		/* The guardian has closed it, and is about to say so. */
		ev_io_stop(loop, io);
}

static void
on_pause(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
	struct exposition *metrics = timer->data;

	if (metrics->fd >= 0)
		ev_io_start(loop, &metrics->accept_io);
}

/* ---- what the guardian says -------------------------------------------------------- */

/* Serve this socket from now on, or none; clients that are there are served. */
static void
listen_at(struct exposition *metrics, int take_fd)
{
	ev_io_stop(metrics->loop, &metrics->accept_io);
	ev_timer_stop(metrics->loop, &metrics->pause);
	fd_close(&metrics->fd);
	metrics->fd = take_fd;
	if (take_fd >= 0)
		io_begin(metrics->loop, &metrics->accept_io, take_fd, EV_READ);
}

static size_t
on_message(void *own, const struct helper_message *message, const int *fds, size_t n_fds)
{
	struct exposition *metrics = own;
	struct figures *text = NULL;

	if (message->kind == HELPER_LISTEN) {
		listen_at(metrics, n_fds > 0 ? fds[0] : -1);
		return 1;
	}
	if (message->kind == HELPER_TEXT) {
		if (n_fds > 0)
			text = figures_new(fds[0]);
		metrics->is_asking = false;
		metrics->text_ms = clock_mono_ms();
		figures_drop(metrics->text);
		metrics->text = text;
		answer_waiting(metrics, text);
	}
	return 0;
}

static void *
start(struct helper *helper)
{
	struct exposition *metrics = calloc(1, sizeof(*metrics));

	if (metrics == NULL)
		return NULL;
	*metrics = (struct exposition){
	    .loop = helper->loop,
	    .fd = -1,
	    .accept_io.data = metrics,
	    .pause.data = metrics,
	    .again.data = metrics,
	};
	TAILQ_INIT(&metrics->clients);
	ev_io_init(&metrics->accept_io, on_accept, -1, EV_READ);
	/* Requests of connected clients are read first. */
	ev_set_priority(&metrics->accept_io, EV_MINPRI);
	ev_timer_init(&metrics->pause, on_pause, 0., 0.);
	ev_timer_init(&metrics->again, on_again, 0., 0.);
	return metrics;
}

const struct helper_role helper_metrics = {CONFINE_SERVER, start, on_message};
