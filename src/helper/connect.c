/* SPDX-License-Identifier: ISC */
/* connect.c - are unix sockets served?  Connections made by children of a helper process.
 */
#include "config.h"

#include "helper/connect.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sum.h"
#include "helper/watchers.h"
#include "os/self/pass.h"
#include "os/socket/sock.h"

/* How long the other connections wait for one; half of that with each child that is left
 * alone, a few times: many paths may hang at once. */
#define MOMENT_S     0.1
#define HALVINGS_MAX 5

/* In the child: one connection after another, until the channel ends. */
static void
serve(int fd, void *data UNUSED)
{
	char path[CONNECTING_PATH_BYTES];

	while (pass_receive(fd, 0, path, sizeof(path), NULL) == sizeof(path)) {
		int r = sock_connect_unix(path, SOCK_STREAM);
		const int error = r < 0 ? -r : 0;

		/* Close first: that may hang, too, in what the server has sent. */
		if (r >= 0)
			(void)close(r);
		(void)pass_send(fd, &error, sizeof(error), NULL, 0);
	}
}

/* Give the connection that is due to a child; 0, or an errno: it is not tried. */
static int
begin_connection(struct connecting *connecting)
{
	struct connector *connector = connecting->connector;
	struct bounded *children = &connector->children;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		bounded_reaped(children, pid);
	if (bounded_hangs(children, fnv_text(connecting->path)))
		return ETIMEDOUT;
	if (connector->id < 0)
		connector->id = bounded_open(
		    children, &(struct bounded_task){connector->n_opened++, serve, NULL},
		    &connector->fd);
	if (connector->id < 0)
		return ENOBUFS;
	connecting->id = connector->id;
	connecting->fd = connector->fd;
	connector->id = -1;
	/* The channel of a child that died ends. */
	(void)pass_send(connecting->fd, connecting->path, sizeof(connecting->path), NULL,
	                MSG_DONTWAIT);
	io_begin(connector->loop, &connecting->io, connecting->fd, EV_READ);
	return 0;
}

/* Begin the next connections, unless a child is at work for the one before. */
static void
begin_due_connections(struct connector *connector)
{
	const unsigned int n_halved =
	    connector->n_left < HALVINGS_MAX ? connector->n_left : HALVINGS_MAX;

	while (connector->now == NULL && connector->waiting != NULL) {
		struct connecting *connecting = connector->waiting;

		connector->waiting = connecting->next;
		connecting->waits = false;
		int error = begin_connection(connecting);
		if (error != 0) {
			connecting->done(connecting->arg, error);
			continue;
		}
		connector->now = connecting;
		ev_now_update(connector->loop);
		timer_begin(connector->loop, &connector->moment,
		            MOMENT_S / (1U << n_halved));
	}
}

static void
on_moment(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct connector *connector = timer->data;

	connector->now = NULL;
	connector->n_left++;
	begin_due_connections(connector);
}

/* Its child is not at work for it any more. */
static void
leave(struct connecting *connecting)
{
	struct connector *connector = connecting->connector;

	ev_io_stop(connector->loop, &connecting->io);
	if (connector->now == connecting) {
		connector->now = NULL;
		ev_timer_stop(connector->loop, &connector->moment);
	} else {
		connector->n_left--;
	}
	connecting->id = -1;
}

static void
on_channel(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct connecting *connecting = io->data;
	struct connector *connector = connecting->connector;
	int id = connecting->id, fd = connecting->fd;
	int error = ENOBUFS;

	ssize_t n = pass_receive(fd, MSG_DONTWAIT, &error, sizeof(error), NULL);
	if (n == -EAGAIN)
		return;
	leave(connecting);
	if (n == sizeof(error) && connector->id < 0) {
		connector->id = id;
		connector->fd = fd;
	} else {
		bounded_end(&connector->children, id, &fd);
	}
	connecting->done(connecting->arg, error);
	begin_due_connections(connector);
}

/* Connect when the turn of the connection comes; the path is copied. */
void
connecting_start(struct connecting *connecting, const char *path)
{
	struct connecting **last = &connecting->connector->waiting;

	memset(connecting->path, 0, sizeof(connecting->path));
	(void)strncpy(connecting->path, path, sizeof(connecting->path) - 1);
	while (*last != NULL)
		last = &(*last)->next;
	*last = connecting;
	connecting->next = NULL;
	connecting->waits = true;
	begin_due_connections(connecting->connector);
}

/* Give up the connection, if one was asked for; true if it had not begun yet. */
bool
connecting_stop(struct connecting *connecting)
{
	struct connector *connector = connecting->connector;
	struct connecting **at = &connector->waiting;
	const bool waited = connecting->waits;
	int id = connecting->id, fd = connecting->fd;

	if (waited) {
		while (*at != connecting)
			at = &(*at)->next;
		*at = connecting->next;
		connecting->waits = false;
	} else if (id >= 0) {
		leave(connecting);
		bounded_leave(&connector->children, fnv_text(connecting->path), id, &fd);
		begin_due_connections(connector);
	}
	return waited;
}

/* Nothing is wanted yet. */
void
connecting_init(struct connecting *connecting, struct connector *connector,
                connecting_done *done, void *arg)
{
	*connecting = (struct connecting){.connector = connector,
	                                  .done = done,
	                                  .arg = arg,
	                                  .id = -1,
	                                  .fd = -1,
	                                  .io.data = connecting};
	ev_io_init(&connecting->io, on_channel, -1, 0);
}

/* For all connections of this process, which reaps no child itself. */
void
connector_init(struct connector *connector, struct ev_loop *loop)
{
	*connector = (struct connector){
	    .loop = loop, .id = -1, .fd = -1, .moment.data = connector};
	ev_timer_init(&connector->moment, on_moment, 0., 0.);
}
