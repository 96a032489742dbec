/* SPDX-License-Identifier: ISC */
/* signals.c - known signals at the start, and as descriptors afterwards. */
#include "config.h"

#include "os/self/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/self/fd.h"

/* True if this process ignores the signal, as after nohup(1).  To be called before
 * signals_reset(). */
bool
signals_is_ignored(int signo)
{
	struct sigaction now;

	return sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/*
 * Set every disposition to its default and empty the mask.  The first thing that supd
 * does: a parent that ignores SIGCHLD would make our children vanish unreaped, one that
 * blocks it would keep their end from us, and both survive exec (execve(2)).
 */
void
signals_reset(void)
{
	sigset_t none;

	/* KILL, STOP and the C library's own refuse; they are never ignored. */
	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &(const struct sigaction){.sa_handler = SIG_DFL},
		                NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * From now on these signals only make the descriptor readable, and no other signal is
 * blocked; writing to a pipe without a reader is an ordinary error.  The mask and pending
 * signals stay over an exec, so a program that calls this again misses none.  Returns the
 * descriptor, non-blocking, close-on-exec, at or above FD_WINDOW, or -errno.
 */
int
signals_open(uint32_t wanted)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (int signo = 1; signo < 32; signo++)
		if (wanted & SIGNAL_BIT(signo))
			(void)sigaddset(&set, signo);
	int fd = fd_raise(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
	if (fd < 0)
		return -errno;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	return fd;
}

/*
 * Listen to this signal alone; the others stay as they are.  While the signal is pending
 * a second one changes nothing and causes no wakeup.  Programs that are started must have
 * their mask emptied.  Returns as signals_open().
 */
int
signals_listen(int signo)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, signo);
	int fd = fd_raise(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
	if (fd < 0)
		return -errno;
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return fd;
}

/* The signals that came since the last call. */
uint32_t
signals_take(int fd)
{
	struct signalfd_siginfo info;
	uint32_t came = 0;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo < 32)
			came |= SIGNAL_BIT(info.ssi_signo);
	return came;
}
