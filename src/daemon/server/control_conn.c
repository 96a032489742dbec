/* SPDX-License-Identifier: ISC */
/* control_conn.c - one connection: bytes in and out, one call at a time. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "daemon/server/control_private.h"
#include "daemon/state/post.h"
#include "helper/watchers.h"
#include "os/self/fd.h"
#include "os/socket/rights.h"

/* How many steps are done for one connection before the others have their turn: a call is
 * begun and goes on once, or two calls are answered. */
#define STEPS_MAX 2

/* ---- bytes ------------------------------------------------------------------------- */

static bool
wants_input(const struct conn *conn)
{
	return !conn->over.in && !conn->over.both &&
	       conn->reader.messages < CONTROL_CALLS_MAX &&
	       varlink_reader_waiting(&conn->reader) <= VARLINK_IN_MAX &&
	       conn_unsent(conn) < CONTROL_OUT_STREAM;
}

/* Read once: what came, or that nothing will come any more. */
void
conn_read(struct conn *conn)
{
	char data[VARLINK_FEED_MAX];

	if (!wants_input(conn))
		return;
	ssize_t n = rights_read(conn, data, sizeof(data));
	if (n > 0) {
		int r = varlink_reader_feed(&conn->reader, data, (size_t)n);

		conn->over.both = r < 0;
		if (r == -ENOMEM)
			reply_without_memory(conn);
	} else if (n == 0) {
		conn->over.in = true;
	} else if (errno != EAGAIN && errno != EINTR) {
		conn->over.in = true;
		conn_go_mute(conn);
	}
}

/* ---- hang-ups -------------------------------------------------------------------- */

/* True if the client closed its end altogether, not only for writing. */
static bool
has_hung_up(const struct conn *conn)
{
	return poll(&(struct pollfd){.fd = conn->fd}, 1, 0) > 0;
}

static void
on_hangup(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct conn *conn = io->data;

	conn->over.in = true;
	conn_go_mute(conn);
	conn_run(conn);
}

/*
 * A client that closed its sending side, or that has sent as many calls as may wait, is
 * always readable and always writable: neither can be watched without spinning.  That it
 * goes away is to be seen all the same, and only epoll itself can tell.
 */
static void
watch_hangup(struct conn *conn)
{
	if (conn->hangup_fd >= 0)
		return;
	conn->hangup_fd = fd_raise(epoll_create1(EPOLL_CLOEXEC));
	if (conn->hangup_fd < 0 || epoll_ctl(conn->hangup_fd, EPOLL_CTL_ADD, conn->fd,
	                                     &(struct epoll_event){.events = 0}) < 0) {
		/* Out of descriptors: it is seen when there is something to send. */
		fd_close(&conn->hangup_fd);
		return;
	}
	io_prepare(&conn->hangup_io, on_hangup, conn);
	io_begin(conn->control->uses.loop, &conn->hangup_io, conn->hangup_fd, EV_READ);
}

static void
unwatch_hangup(struct conn *conn)
{
	if (conn->hangup_fd < 0)
		return;
	ev_io_stop(conn->control->uses.loop, &conn->hangup_io);
	fd_close(&conn->hangup_fd);
}

static void
update_watcher(struct conn *conn)
{
	int events =
	    (wants_input(conn) ? EV_READ : 0) | (conn_unsent(conn) > 0 ? EV_WRITE : 0);

	if (events == 0)
		watch_hangup(conn);
	else
		unwatch_hangup(conn);
	if (ev_is_active(&conn->io) && (conn->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	io_begin(conn->control->uses.loop, &conn->io, conn->fd, events);
}

static void
on_io(struct ev_loop *loop UNUSED, ev_io *io, int revents)
{
	struct conn *conn = io->data;

	if ((revents & EV_READ) != 0)
		conn_read(conn);
	conn_run(conn);
}

/* ---- life ------------------------------------------------------------------------- */

/* A descriptor that can be given up, to let one more client in when all are in use. */
void
conn_hold_reserve(struct control *control)
{
	if (control->reserve_fd < 0)
		control->reserve_fd = fd_raise(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

/* A descriptor is free again: fill up the reserve, and go on accepting. */
static void
conn_closed(struct control *control)
{
	if (control->closing || control->uses.file->fd < 0)
		return;
	conn_hold_reserve(control);
	if (ev_is_active(&control->accept_timer)) {
		ev_timer_stop(control->uses.loop, &control->accept_timer);
		ev_io_start(control->uses.loop, &control->accept_io);
	}
}

/* A new connection, not in any list yet; takes the descriptor, also on failure. */
static struct conn *
conn_new(struct control *control, int take_fd, const struct sock_peer *peer)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL) {
		reply_to_stranger(take_fd);
		rights_close(control, take_fd, peer->uid);
		return NULL;
	}
	*conn = (struct conn){
	    .control = control,
	    .fd = take_fd,
	    .hangup_fd = -1,
	    .peer = *peer,
	    .may_bring = rights_may_come(take_fd),
	    .io.data = conn,
	    .out = STRBUF(CONTROL_OUT_MAX),
	};
	conn->observes = !auth_allows(conn, ACCESS_CONTROL);
	varlink_reader_init(&conn->reader, VARLINK_IN_MAX);
	ev_io_init(&conn->io, on_io, take_fd, EV_READ);
	return conn;
}

/* A connection that nothing was read from yet; NULL without memory. */
struct conn *
control_insert(struct control *control, int take_fd, const struct sock_peer *peer)
{
	struct conn *conn = conn_new(control, take_fd, peer);

	if (conn == NULL)
		return NULL;
	TAILQ_INSERT_TAIL(&control->conns, conn, link);
	control->n_conns++;
	return conn;
}

/* Close the connection, forget its call and remove it from all lists. */
void
conn_free(struct conn *conn)
{
	struct control *control = conn->control;

	ASSERT(!conn->running);
	if (conn->busy)
		call_finish(conn);
	if (conn->in_attention)
		TAILQ_REMOVE(&control->attention, conn, attention_link);
	share_forget(conn);
	TAILQ_REMOVE(&control->conns, conn, link);
	control->n_conns--;
	unwatch_hangup(conn);
	/* Before the close: the kernel is to forget the number while it is still ours. */
	ev_io_stop(control->uses.loop, &conn->io);
	if (conn->is_kept)
		(void)close(conn->fd);
	else
		rights_close(control, conn->fd, conn->peer.uid);
	varlink_reader_done(&conn->reader);
	strbuf_done(&conn->out);
	free(conn);
	share_freed(control);
	conn_closed(control);
}

/* ---- calls ------------------------------------------------------------------------ */

/* The call is over: release its waiters and its memory. */
void
call_finish(struct conn *conn)
{
	struct served_call *call = &conn->call;

	wait_forget(conn);
	ev_timer_stop(conn->control->uses.loop, &call->timer);
	for (size_t i = 0; i < call->n_targets; i++)
		free(call->targets[i].path);
	free(call->targets);
	free(call->answers);
	free(call->base_path);
	ref_list_done(&call->list);
	if (call->release != NULL)
		call->release(conn);
	free(call->plan);
	varlink_call_done(&call->message);
	*call = (struct served_call){0};
	conn->busy = false;
}

/* Take the next call out of the buffer and begin it; false: there is none. */
static bool
next_call(struct conn *conn)
{
	json_t *message;

	if (!share_may_begin(conn))
		return false;
	int r = varlink_reader_next(&conn->reader, &message, NULL);
	if (r == 0)
		return false;
	conn->call = (struct served_call){0};
	conn->caller.is_known = false;
	if (r > 0)
		r = varlink_call_parse(message, &conn->call.message, NULL);
	if (r < 0) {
		conn->over.both = true;
		if (r == -ENOMEM)
			reply_without_memory(conn);
		return false;
	}
	conn->busy = true;
	call_dispatch(conn);
	if (conn->call.state == CALL_FINISHED)
		call_finish(conn);
	return true;
}

/* True if the call waits for a later turn, or for the end of this turn, because it asks
 * the core, or for what the core has decided. */
static bool
call_is_early(const struct conn *conn)
{
	const enum call_state state = conn->call.state;
	const uint64_t turn = conn->control->turn;

	if ((state == CALL_HELD && turn < conn->call.turn) ||
	    (state == CALL_NEXT_TURN && turn <= conn->call.turn))
		return true;
	return post_is_stepping(conn->control->uses.post) &&
	       (state == CALL_HELD || state == CALL_NEXT_TURN || state == CALL_TARGETS ||
	        state == CALL_AGAIN || state == CALL_WATCH);
}

/* Go on with the call; false: it waits. */
static bool
progress(struct conn *conn)
{
	struct served_call *call = &conn->call;

	if (call_is_early(conn)) {
		control_attend(conn);
		return false;
	}
	switch (call->state) {
	case CALL_HELD:
		call->state = CALL_FINISHED;
		call_dispatch(conn);
		if (call->state != CALL_FINISHED)
			return true;
		break;
	case CALL_NEXT_TURN:
		wait_finish(conn);
		return true;
	case CALL_TARGETS:
		if (call->n_open > 0)
			return false;
		wait_finish(conn);
		return true;
	case CALL_AGAIN:
	case CALL_WATCH:
	case CALL_LIST:
	case CALL_EVENTS:
	case CALL_LOGS:
		return call->progress(conn);
	case CALL_METRICS:
		return call->progress != NULL && call->progress(conn);
	case CALL_LOADING:
	case CALL_UPGRADE:
	case CALL_TRIAL:
		return false;
	case CALL_FINISHED:
		break;
	}
	call_finish(conn);
	return true;
}

/* True if the call only ends when something happens. */
static bool
waits(const struct conn *conn)
{
	const struct served_call *call = &conn->call;

	return conn->busy &&
	       (call->state == CALL_TARGETS || call->state == CALL_WATCH ||
	        call->state == CALL_AGAIN || call->state == CALL_LOGS ||
	        call->state == CALL_UPGRADE || call->state == CALL_METRICS ||
	        call->state == CALL_TRIAL ||
	        (call->state == CALL_EVENTS && call->until_seq == UINT64_MAX));
}

static bool
is_over(const struct conn *conn)
{
	if (conn->over.both)
		return true;
	if (!conn->over.in)
		return false;
	/* The client went away: its commands go on without it. */
	if (conn->busy)
		return waits(conn) && conn_unsent(conn) == 0 &&
		       (conn->over.out || has_hung_up(conn));
	return conn->reader.messages == 0 && conn_unsent(conn) == 0;
}

/*
 * Do what can be done now: send, go on with the call, begin the next one.  What is left
 * to do after that comes after the others have had their turn.
 *
 * The connection is freed here, and only here, when it has come to its end: the caller
 * does not touch it afterwards.
 */
void
conn_run(struct conn *conn)
{
	bool moved = true;

	conn->running = true;
	for (int steps = 0; moved && steps < STEPS_MAX && !conn->over.both; steps++) {
		conn_flush(conn);
		moved = conn->busy ? progress(conn) : next_call(conn);
	}
	const size_t unsent = conn_unsent(conn);
	conn_flush(conn);
	conn->running = false;
	/* A list waits for room, and there is room now. */
	if (moved || conn_unsent(conn) < unsent)
		control_attend(conn);
	if (is_over(conn))
		conn_free(conn);
	else
		update_watcher(conn);
}
