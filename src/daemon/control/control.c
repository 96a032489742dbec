/* SPDX-License-Identifier: ISC */
/* control.c - the control socket: listening, accepting, the list of connections, turns.
 */
#include "config.h"

#include "daemon/control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/control/handlers.h"
#include "daemon/sockets/control_file.h"
#include "daemon/state/actors.h"
#include "daemon/state/events.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "helper/watchers.h"
#include "ledger/link.h"
#include "os/self/fd.h"
#include "os/socket/rights.h"

static size_t
count_of_uid(const struct control *control, uid_t uid)
{
	const struct conn *conn;
	size_t n = 0;

	TAILQ_FOREACH (conn, &control->conns, link) {
		if (conn->peer.uid == uid)
			n++;
	}
	return n;
}

static bool
has_room_for(const struct control *control, uid_t uid)
{
	bool privileged = uid == 0 || uid == geteuid();
	size_t max = control->uses.file->clients_max;

	if (max == 0)
		max = CONTROL_CONNS_MAX;
	if (!privileged)
		max -= max / 4 < CONTROL_CONNS_KEPT ? max / 4 : CONTROL_CONNS_KEPT;
	return control->n_conns < max &&
	       count_of_uid(control, uid) < CONTROL_CONNS_UID_MAX;
}

/* Serve a connected client; refused by closing when there are too many already. */
void
control_adopt(struct control *control, int take_fd, const struct sock_peer *peer)
{
	if (!has_room_for(control, peer->uid)) {
		rights_close(control, take_fd, peer->uid);
		return;
	}
	struct conn *conn = control_insert(control, take_fd, peer);
	if (conn == NULL)
		return;
	/* Most clients have written their call by now: one turn of the loop less. */
	conn_read(conn);
	conn_run(conn);
}

/* No more of them for a while: a level-triggered socket would otherwise wake us at once.
 */
static void
pause_accepting(struct control *control)
{
	ev_io_stop(control->uses.loop, &control->accept_io);
	timer_begin(control->uses.loop, &control->accept_timer, CONTROL_ACCEPT_PAUSE);
}

static void
on_accept_again(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
	struct control *control = timer->data;

	conn_hold_reserve(control);
	ev_io_start(loop, &control->accept_io);
}

static int
accept_one(struct control *control)
{
	struct sock_peer peer;

	if (!rights_tend(control))
		return -EMFILE;
	int fd =
	    accept4(control->uses.file->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return -errno;
	fd = fd_raise(fd);
	if (sock_peer(fd, &peer) < 0)
		rights_close(control, fd, (uid_t)-1);
	else
		control_adopt(control, fd, &peer);
	return 0;
}

static void
on_accept(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct control *control = io->data;
	int r = 0;

	/* A bounded number at a time: a flood of clients does not hold up the actors. */
	for (int i = 0; r == 0 && i < 64; i++)
		r = accept_one(control);
	if (err_is_shortage(-r) && control->reserve_fd >= 0) {
		fd_close(&control->reserve_fd);
		/* With every descriptor taken an operator can still get in. */
		r = accept_one(control);
		conn_hold_reserve(control);
	}
	if (err_is_shortage(-r))
		pause_accepting(control);
}

/* A server without a socket. NULL: out of memory. */
struct control *
control_alloc(const struct control_uses *uses)
{
	struct control *control = calloc(1, sizeof(*control));

	if (control == NULL)
		return NULL;
	*control = (struct control){
	    .uses = *uses,
	    .interfaces = control_interfaces,
	    .reserve_fd = -1,
	    .free_waiter = UINT32_MAX,
	    .seen_seq = uses->events->next_seq,
	};
	TAILQ_INIT(&control->conns);
	TAILQ_INIT(&control->attention);
	TAILQ_INIT(&control->readers);
	timer_prepare(&control->accept_timer, on_accept_again, control);
	timer_prepare(&control->spare_timer, logs_on_spare, control);
	return control;
}

/* A new socket at the path, which the walker keeps; -errno with a sentence. */
static int
open_socket(struct control *control, struct err *err)
{
	const struct conf *conf = control->uses.actors->conf;
	gid_t gid = conf->has_control_group ? conf->control_gid : (gid_t)-1;
	int fd = control_file_do(control->uses.file, SOCKWORK_OPEN, conf, gid, err);

	if (fd < 0)
		return fd;
	/* Clients are to see that we are at the other end, not the child that made it. */
	(void)listen(fd, CONTROL_CONNS_MAX);
	keeper_keep(control->uses.keeper, VAULT_KEY(VAULT_CONTROL, 0), fd);
	control->owns_path = true;
	control->file = (struct sockwork_seen){0};
	return fd;
}

static int
listen_at(struct control *control, struct err *err)
{
	int fd = keeper_take(control->uses.keeper, VAULT_KEY(VAULT_CONTROL, 0));

	control->owns_path = fd >= 0;
	/* An older supd may have made it; and clients are to see another process at the
	 * other end. */
	if (fd >= 0) {
		rights_refuse(fd);
		(void)listen(fd, CONTROL_CONNS_MAX);
	}
	if (fd < 0)
		fd = open_socket(control, err);
	control->uses.file->fd = fd;
	return fd < 0 ? fd : 0;
}

bool
control_is_found(struct control *control)
{
	const bool is_known = control->file.ino != 0;
	const struct sockwork_seen *seen = &control->uses.file->work.seen;
	struct err err;

	/* Where nothing can be seen, nothing can be made anew. */
	if (control_file_do(control->uses.file,
	                    is_known ? SOCKWORK_LOOK : SOCKWORK_CONNECT, NULL, (gid_t)-1,
	                    &err) < 0)
		return true;
	/* As long as our file is not known, a file at which a server listens is ours: a
	 * guardian may have died between making its file and telling. */
	if (!is_known && seen->is_live)
		control->file = *seen;
	return seen->ino != 0 && seen->dev == control->file.dev &&
	       seen->ino == control->file.ino;
}

int
control_listen_again(struct control *control, struct err *err)
{
	const struct control_uses *uses = &control->uses;
	const bool is_paused = ev_is_active(&control->accept_timer);
	int fd = open_socket(control, err);

	if (fd < 0)
		return fd;
	ev_io_stop(uses->loop, &control->accept_io);
	(void)close(uses->file->fd);
	uses->file->fd = fd;
	ev_io_set(&control->accept_io, fd, EV_READ);
	if (!is_paused)
		ev_io_start(uses->loop, &control->accept_io);
	return 0;
}

/*
 * Serve at the path of the control socket, with mode and group of the configuration.
 *
 * NULL and a sentence when it cannot be had, in particular when another supd listens
 * there; the socket of a dead one is replaced.
 */
struct control *
control_new(const struct control_uses *uses, struct err *err)
{
	struct control *control = control_alloc(uses);

	if (control == NULL) {
		err_set(err, ENOMEM, "control server");
		return NULL;
	}
	if (listen_at(control, err) < 0) {
		control_free(control);
		return NULL;
	}
	tokens_init(control);
	conn_hold_reserve(control);
	io_prepare(&control->accept_io, on_accept, control);
	io_begin(uses->loop, &control->accept_io, uses->file->fd, EV_READ);
	return control;
}

/* Close everything and remove the socket; NULL is fine.  Nothing is posted any more. */
void
control_free(struct control *control)
{
	struct err err;

	if (control == NULL)
		return;
	struct control_file *file = control->uses.file;
	control->closing = true;
	while (!TAILQ_EMPTY(&control->conns))
		conn_free(TAILQ_FIRST(&control->conns));
	logs_free_all(control);
	if (file->fd >= 0)
		ev_io_stop(control->uses.loop, &control->accept_io);
	ev_timer_stop(control->uses.loop, &control->accept_timer);
	if (control->owns_path &&
	    control_file_do(file, SOCKWORK_REMOVE, NULL, (gid_t)-1, &err) < 0)
		log_line(LOG_LEVEL_WARNING, "%s: its file is left", err.text);
	fd_close(&file->fd);
	fd_close(&control->reserve_fd);
	free(control->waiters);
	free(control);
}

static void
attend_followers(struct control *control)
{
	struct conn *conn;

	TAILQ_FOREACH (conn, &control->conns, link) {
		if (conn->busy && conn->call.state == CALL_EVENTS)
			control_attend(conn);
	}
}

/*
 * After every turn: send what the core has answered, and new events to calls that follow
 * them.  Costs nothing without either.
 */
void
control_on_turn(struct control *control)
{
	size_t n = 0;
	struct conn *conn;

	control->turn++;
	logs_on_turn(control);
	if (control->seen_seq != control->uses.events->next_seq) {
		control->seen_seq = control->uses.events->next_seq;
		if (control->n_followers > 0)
			attend_followers(control);
	}
	TAILQ_FOREACH (conn, &control->attention, attention_link) {
		n++;
	}
	/* Those that come to the list meanwhile are for the next turn. */
	for (; n > 0; n--) {
		conn = TAILQ_FIRST(&control->attention);
		TAILQ_REMOVE(&control->attention, conn, attention_link);
		conn->in_attention = false;
		conn_run(conn);
	}
}

bool
control_has_clients(const struct control *control)
{
	return control != NULL && control->n_conns > 0;
}

bool
control_is_waiting(const struct control *control)
{
	return !TAILQ_EMPTY(&control->attention);
}
