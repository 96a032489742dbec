/* SPDX-License-Identifier: ISC */
/* sockwork.h - the files of unix sockets and fifos, made and removed by a child.
 *
 * A path leads wherever its author wants, and what is mounted there may hang: see
 * bounded.h.  One child does all that is asked for until sockwork_done(), as long as none
 * of it hangs; the next one goes on behind what does.
 *
 *	struct sockwork work;
 *
 *	sockwork_begin(&work, &bounded, 2000);
 *	fd = sockwork_do(&work, owner, SOCKWORK_OPEN, &file, &err);
 *	sockwork_done(&work);
 */
#ifndef OS_SOCKET_SOCKWORK_H
#define OS_SOCKET_SOCKWORK_H

#include "base/err.h"
#include "os/self/bounded.h"
#include "os/socket/sock.h"

enum sockwork_kind {
	SOCKWORK_OPEN,    /* sock_open_unix() or _fifo(), and a second name: returns it */
	SOCKWORK_ADJUST,  /* both names, mode and owner of what is open */
	SOCKWORK_RESTORE, /* sockfile_restore(): 1 if that was necessary */
	SOCKWORK_REMOVE,  /* sockfile_remove() */
	SOCKWORK_WATCH, /* fd_watch_directory() of its directory: returns a descriptor */
	SOCKWORK_LOOK,  /* see what is at the path … */
	SOCKWORK_CONNECT, /* … and connect to it, to see whether a server listens */
};

/* What is at a path. */
struct sockwork_seen {
	dev_t dev;    /* of the file of a socket … */
	ino_t ino;    /* … 0: there is none */
	bool is_live; /* as sock_unix_is_live(), with SOCKWORK_CONNECT */
};

struct sockwork {
	struct bounded *bounded;
	int patience_ms; /* of an operation */
	uint64_t until_ms;
	int id; /* -1: no child yet */
	int fd;
	struct sockwork_seen seen; /* by the last SOCKWORK_LOOK or SOCKWORK_CONNECT */
};

void sockwork_begin(struct sockwork *work, struct bounded *bounded, int timeout_ms);
int sockwork_do(struct sockwork *work, uint64_t owner, enum sockwork_kind kind,
                const struct sock_file *file, struct err *err);
void sockwork_done(struct sockwork *work);

int sockwork_once(struct bounded *bounded, uint64_t owner, enum sockwork_kind kind,
                  const struct sock_file *file, struct err *err);

#endif
