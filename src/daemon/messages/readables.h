/* SPDX-License-Identifier: ISC */
/* readables.h - descriptors of actors that are read when they can be, or dropped when
 * their other end hangs up. */
#ifndef DAEMON_READABLES_H
#define DAEMON_READABLES_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define READABLES_BATCH 64

struct readables {
	struct ev_loop *loop;
	int epoll_fd;
	ev_io io;
	uint32_t n_open;
	/* What was reported last; from `at` on it is still to be drained. */
	struct epoll_event events[READABLES_BATCH];
	int at, n;
};

/* false: nothing more can be taken now; the next drain begins with this one. */
typedef bool readables_fn(void *data, uint64_t key);
typedef void readables_io(struct ev_loop *loop, ev_io *io, int revents);

int readables_open(struct readables *readables, struct ev_loop *loop, readables_io *on_io,
                   void *data);
void readables_close(struct readables *readables);
int readables_watch(struct readables *readables, uint64_t key, uint32_t events, int fd);
int readables_add(struct readables *readables, uint64_t key, int take_fd);
void readables_remove(struct readables *readables, int *fd);
void readables_drain(struct readables *readables, readables_fn *drain, void *data);

#endif
