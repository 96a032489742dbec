/* SPDX-License-Identifier: ISC */
/* readables.c - descriptors of actors, by slot, that are read when they can be. */
#include "config.h"

#include "daemon/messages/readables.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "os/self/fd.h"

#define DRAIN_BATCH 64

/* No descriptor yet; on_io, with this data, when there is something to drain.  -errno. */
int
readables_open(struct readables *readables, struct ev_loop *loop, readables_io *on_io,
               void *data)
{
	*readables = (struct readables){.loop = loop};
	readables->epoll_fd = fd_raise(epoll_create1(EPOLL_CLOEXEC));
	if (readables->epoll_fd < 0)
		return -errno;
	ev_io_init(&readables->io, on_io, readables->epoll_fd, EV_READ);
	readables->io.data = data;
	ev_io_start(loop, &readables->io);
	return 0;
}

/* The descriptors are the caller's to close. */
void
readables_close(struct readables *readables)
{
	ev_io_stop(readables->loop, &readables->io);
	fd_close(&readables->epoll_fd);
}

/* Read this one, too; on an error it is closed.  0 or -errno. */
int
readables_add(struct readables *readables, uint32_t slot, int take_fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = slot};

	if (epoll_ctl(readables->epoll_fd, EPOLL_CTL_ADD, take_fd, &event) < 0) {
		int r = -errno;

		(void)close(take_fd);
		return r;
	}
	readables->n_open++;
	return 0;
}

/* Close this one. */
void
readables_remove(struct readables *readables, int *fd)
{
	(void)epoll_ctl(readables->epoll_fd, EPOLL_CTL_DEL, *fd, NULL);
	fd_close(fd);
	readables->n_open--;
}

/* Each that can be read once: the kernel moves one that was reported to the end. */
void
readables_drain(struct readables *readables, readables_fn *drain, void *data)
{
	struct epoll_event events[DRAIN_BATCH];

	for (uint32_t seen = 0; seen < readables->n_open; seen += DRAIN_BATCH) {
		int n = epoll_wait(readables->epoll_fd, events, DRAIN_BATCH, 0);

		for (int i = 0; i < n; i++)
			drain(data, events[i].data.u32);
		if (n < DRAIN_BATCH)
			return;
	}
}
