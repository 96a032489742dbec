/* SPDX-License-Identifier: ISC */
/* bounded.c - look at files that may never answer, for a bounded time. */
#include "config.h"

#include "os/bounded.h"

#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The end of a process that was killed or has closed its pipe is waited for so long. */
#define END_MS 100

/* All that is written until the writer closes the pipe, fills the buffer or is late. */
static ssize_t
take(int fd, uint64_t until_ms, char *buf, size_t size)
{
	size_t used = 0;

	for (;;) {
		const uint64_t now_ms = clock_mono_ms();
		struct pollfd in = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (now_ms >= until_ms || used == size)
			return used == size ? (ssize_t)used : -ETIMEDOUT;
		if (poll(&in, 1, (int)(until_ms - now_ms)) <= 0)
			continue;
		n = read(fd, buf + used, size - used);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return (ssize_t)used;
		used += n > 0 ? (size_t)n : 0;
	}
}

/* One that hangs in the kernel is reaped with the orphans when it has ended. */
static void
end(pid_t pid)
{
	const uint64_t until_ms = clock_mono_ms() + END_MS;

	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) == 0 && clock_mono_ms() < until_ms)
		(void)poll(NULL, 0, 1);
}

/*
 * Run a function in a copy of this process, which has no other descriptors than the one
 * that it writes its answer to, and take the answer.  It is killed when it is done, late,
 * or has written `size` bytes.
 *
 * Returns the number of bytes in `buf`; -ETIMEDOUT when the function did not return in
 * time, else -errno.  Call with SIGCHLD not ignored.
 */
ssize_t
os_run_bounded(bounded_fn *run, void *data, int timeout_ms, char *buf, size_t size)
{
	const uint64_t until_ms = clock_mono_ms() + (uint64_t)timeout_ms;
	ssize_t n;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(ends[1], STDIN_FILENO) == STDIN_FILENO &&
		    close_range(STDIN_FILENO + 1, UINT32_MAX, 0) == 0)
			run(STDIN_FILENO, data);
		_exit(0);
	}
	n = pid < 0 ? -errno : 0;
	fd_close(&ends[1]);
	if (pid > 0) {
		n = take(ends[0], until_ms, buf, size);
		end(pid);
	}
	fd_close(&ends[0]);
	return n;
}
