/* SPDX-License-Identifier: ISC */
/* closer.c - close in a child (bounded.h) what another program has sent us. */
#include "config.h"

#include "os/socket/closer.h"

#include <unistd.h>

#include "base/assert.h"
#include "os/socket/sdnotify.h"

/* The task of a child: descriptors, or the next datagram of a socket if it was sent then.
 */
struct rest {
	const int *fds;
	size_t n;
	int socket_fd;
	uint64_t stamp_ns;
};

static void
close_all(int fd UNUSED, void *data)
{
	const struct rest *rest = data;

	for (size_t i = 0; i < rest->n; i++)
		(void)close(rest->fds[i]);
}

/*
 * Close up to CLOSER_FDS_MAX descriptors, some time.
 *
 * Returns 0, and their numbers are not ours any more; -EAGAIN while too many children are
 * at work, or another -errno: then they are the caller's still.
 */
int
closer_close(struct bounded *bounded, uint64_t owner, const int *take_fds, size_t n)
{
	struct rest rest = {.fds = take_fds, .n = n};

	ASSERT(n <= CLOSER_FDS_MAX);
	int r = n == 0 ? 0
	               : bounded_start(bounded,
	                               &(struct bounded_task){owner, close_all, &rest});
	return r < 0 ? r : 0;
}

/* The datagram after that one is for the guardian. */
static void
drop(int fd UNUSED, void *data)
{
	const struct rest *rest = data;

	notify_skip_sent(rest->socket_fd, rest->stamp_ns);
}

/*
 * Throw away the next datagram of a socket of notify_listen(), with the descriptors in
 * it, some time: the one that was sent at stamp_ns, no other.  Returns a number for
 * bounded_works(), or -errno as closer_close().
 */
int
closer_drop(struct bounded *bounded, uint64_t owner, int socket_fd, uint64_t stamp_ns)
{
	return bounded_start(
	    bounded, &(struct bounded_task){
	                 owner, drop,
	                 &(struct rest){.socket_fd = socket_fd, .stamp_ns = stamp_ns}});
}
