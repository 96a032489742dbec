/* SPDX-License-Identifier: ISC */
/* readables.h - descriptors of actors, by slot, that are read when they can be. */
#ifndef DAEMON_READABLES_H
#define DAEMON_READABLES_H

#include <ev.h>
#include <stdint.h>

struct readables {
	struct ev_loop *loop;
	int epoll_fd;
	ev_io io;
	uint32_t n_open;
};

typedef void readables_fn(void *data, uint32_t slot);
typedef void readables_io(struct ev_loop *loop, ev_io *io, int revents);

int readables_open(struct readables *readables, struct ev_loop *loop, readables_io *on_io,
                   void *data);
void readables_close(struct readables *readables);
int readables_add(struct readables *readables, uint32_t slot, int take_fd);
void readables_remove(struct readables *readables, int *fd);
void readables_drain(struct readables *readables, readables_fn *drain, void *data);

#endif
