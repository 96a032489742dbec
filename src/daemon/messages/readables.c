/* SPDX-License-Identifier: ISC */
/* readables.c - descriptors of actors that are read when they can be, or dropped when
 * their other end hangs up. */
#include "config.h"

#include "daemon/messages/readables.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "os/self/fd.h"

/* No descriptor yet; on_io, with this data, when there is something to drain.  -errno. */
int
readables_open(struct readables *readables, struct ev_loop *loop, readables_io *on_io,
               void *data)
{
	*readables = (struct readables){
	    .loop = loop,
	    .epoll_fd = fd_raise(epoll_create1(EPOLL_CLOEXEC)),
	    .io.data = data,
	};
	if (readables->epoll_fd < 0)
		return -errno;
	ev_io_init(&readables->io, on_io, readables->epoll_fd, EV_READ);
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

/* Drain the descriptor at these events, and when the other end hangs up: 0, -errno. */
int
readables_watch(struct readables *readables, uint64_t key, uint32_t events, int fd)
{
	if (epoll_ctl(readables->epoll_fd, EPOLL_CTL_ADD, fd,
	              &(struct epoll_event){.events = events, .data.u64 = key}) < 0)
		return -errno;
	readables->n_open++;
	return 0;
}

/* Read the descriptor, too; on an error the descriptor is closed.  0 or -errno. */
int
readables_add(struct readables *readables, uint64_t key, int take_fd)
{
	const int r = readables_watch(readables, key, EPOLLIN, take_fd);

	if (r < 0)
		(void)close(take_fd);
	return r;
}

/* Close the descriptor, watched or not. */
void
readables_remove(struct readables *readables, int *fd)
{
	if (epoll_ctl(readables->epoll_fd, EPOLL_CTL_DEL, *fd, NULL) == 0)
		readables->n_open--;
	fd_close(fd);
}

/* Each that can be read once: the kernel moves those that were reported to the end, so
 * what is not drained now has to wait here for its turn. */
void
readables_drain(struct readables *readables, readables_fn *drain, void *data)
{
	uint32_t seen = 0;

	while (seen < readables->n_open) {
		const bool has_waited = readables->at < readables->n;

		if (!has_waited) {
			seen += READABLES_BATCH;
			readables->at = 0;
			readables->n = epoll_wait(readables->epoll_fd, readables->events,
			                          READABLES_BATCH, 0);
		}
		while (readables->at < readables->n &&
		       drain(data, readables->events[readables->at].data.u64))
			readables->at++;
		if (readables->at < readables->n ||
		    (!has_waited && readables->n < READABLES_BATCH))
			return;
	}
}
