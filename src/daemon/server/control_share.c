/* SPDX-License-Identifier: ISC */
/* control_share.c - the share of an observer in what all clients use.
 *
 * Connections, waiting calls, streams, readers and memory have bounds for all clients;
 * below each there is a bound for every user with mere observer rights, and another for
 * all of them together, so that an observer keeps out neither other observers nor clients
 * with control.
 */
#include "config.h"

#include "daemon/server/control_private.h"
#include "daemon/state/actors.h"

/* ---- memory ------------------------------------------------------------------------ */

/* True if the replies that observers do not read leave room for one more. */
static bool
has_bytes(const struct conn *conn)
{
	const struct conn *other;
	size_t own = 0, all = 0;

	TAILQ_FOREACH (other, &conn->control->conns, link) {
		size_t unsent = conn_unsent(other);

		if (unsent != 0 && other->observes) {
			all += unsent;
			if (other->peer.uid == conn->peer.uid)
				own += unsent;
		}
	}
	return own <= CONTROL_OUT_UID && all <= CONTROL_OUT_OBSERVED;
}

/*
 * True if the next call of this connection may be begun.  Not while replies wait that
 * were not read, its own or those of other observers; share_freed() lets it go on.
 */
bool
share_may_begin(struct conn *conn)
{
	if (conn_unsent(conn) >= CONTROL_OUT_STREAM)
		return false;
	share_forget(conn);
	/* A connection without its client gets no replies and is soon closed. */
	if (conn->reader.messages == 0 || conn->over.out || !conn->observes ||
	    has_bytes(conn))
		return true;
	conn->held_back = true;
	conn->control->n_held_back++;
	return false;
}

/* ---- waiting and streams ----------------------------------------------------------- */

/* True if this call may wait for n more actors. */
bool
share_has_waiters(const struct conn *conn, size_t n)
{
	const struct control *control = conn->control;
	const struct conn *other;
	size_t own = n, all = n;

	if (control->n_waiters + n > WAITERS_MAX)
		return false;
	if (!conn->observes)
		return true;
	TAILQ_FOREACH (other, &control->conns, link) {
		if (other->busy && other->call.n_open != 0 && other->observes) {
			all += other->call.n_open;
			if (other->peer.uid == conn->peer.uid)
				own += other->call.n_open;
		}
	}
	return own <= CONTROL_WAITERS_UID && all <= CONTROL_WAITERS_OBSERVED;
}

/* True if this observer may have another call of that kind, below `max`.  Other clients
 * always may. */
bool
share_has_stream(const struct conn *conn, enum call_state kind, size_t max)
{
	const struct conn *other;
	size_t n = 0;

	if (!conn->observes)
		return true;
	TAILQ_FOREACH (other, &conn->control->conns, link) {
		if (other->busy && other->call.state == kind && other->observes &&
		    other->peer.uid == conn->peer.uid)
			n++;
	}
	return n < max;
}

/*
 * An observer's call may look for so many names among so many actors; false: that is
 * replied.  What is written as a path is found without looking.
 */
bool
share_may_search(struct conn *conn, const json_t *names)
{
	const struct actors *actors = conn->control->uses.actors;
	size_t n = 0;

	if (!conn->observes)
		return true;
	for (size_t i = 0; i < json_array_size(names); i++)
		n += json_string_value(json_array_get(names, i))[0] != '/';
	if (n <= 1 || n * actors->cap <= CONTROL_SEARCH_MAX)
		return true;
	return reply_limit(conn, "names", (int)(CONTROL_SEARCH_MAX / actors->cap));
}
