/* SPDX-License-Identifier: ISC */
/* connect.h - are unix sockets served?  Connections made by children of a helper process.
 *
 * A path leads wherever its author wants, and what is mounted there may hang: see
 * os/self/bounded.h.  One child makes one connection after another.  Where that takes
 * more than a moment the child is left alone with it, and another child makes those that
 * wait.  A path that keeps its child although that was killed hangs: as long as the child
 * is there, no other is lost to it.
 *
 *	connector_init(&connector, loop);
 *	connecting_init(&connecting, &connector, on_done, arg);
 *	connecting_start(&connecting, path);
 *	and on_done(arg, error) is called, perhaps at once
 *	connecting_stop(&connecting);
 */
#ifndef HELPER_CONNECT_H
#define HELPER_CONNECT_H

#include <ev.h>
#include <stdbool.h>
#include <sys/un.h>

#include "os/self/bounded.h"

/* Room for one byte more than the longest path, so that a longer path is noticed. */
#define CONNECTING_PATH_BYTES (sizeof(((struct sockaddr_un *)0)->sun_path) + 1)

/* What the connections of a process have in common. */
struct connector {
	struct ev_loop *loop;
	struct bounded children;
	uint64_t n_opened;          /* children, from the beginning */
	int id;                     /* the child that has nothing to do; -1: none, … */
	int fd;                     /* … and the channel to it */
	struct connecting *waiting; /* in the order of their turns */
	struct connecting *now; /* is being made, for no more than a moment; or NULL */
	unsigned int n_left;    /* are being made by children that are left alone */
	ev_timer moment;
};

/* 0: it was made, and closed; or an errno.  ETIMEDOUT: the path hangs; ENOBUFS: it could
 * not be tried. */
typedef void connecting_done(void *arg, int error);

/* One connection; only connect.c looks inside. */
struct connecting {
	struct connector *connector;
	connecting_done *done;
	void *arg;
	struct connecting *next; /* of those that wait */
	char path[CONNECTING_PATH_BYTES];
	bool waits;
	int id; /* the child that makes the connection; -1: none, … */
	int fd; /* … and the channel to it */
	ev_io io;
};

void connector_init(struct connector *connector, struct ev_loop *loop);
void connecting_init(struct connecting *connecting, struct connector *connector,
                     connecting_done *done, void *arg);
void connecting_start(struct connecting *connecting, const char *path);
bool connecting_stop(struct connecting *connecting);

#endif
