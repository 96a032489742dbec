/* SPDX-License-Identifier: ISC */
/* rerun.c - a verb of supctl, run by this program in a child of its own. */
#include "config.h"

#include "ctl/page/rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/wire/ctl.h"

/* What is read at once. */
#define READ_BYTES (64 * 1024)

/* Give the child signals and a socket as on a command line, and its output to where it is
 * to go; false: it cannot be done. */
static bool
prepare(const struct ctl *ctl, int output, int errors)
{
	sigset_t none;

	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGQUIT, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	return (output < 0 || dup2(output, STDOUT_FILENO) >= 0) &&
	       (errors < 0 || dup2(errors, STDERR_FILENO) >= 0) &&
	       setenv("SUPD_SOCKET", ctl->socket, 1) == 0;
}

/*
 * Run supctl with these words, which end with NULL, on the socket of `ctl`; with `output`
 * and `errors` as its standard output and error, where they are not -1.  Its pid, or
 * -errno.
 */
pid_t
rerun_begin(const struct ctl *ctl, char *const *words, int output, int errors)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid < 0 ? -errno : pid;
	if (prepare(ctl, output, errors))
		(void)execv("/proc/self/exe", words);
	complain(ctl, NULL, "run supctl: %s", strerror(errno));
	_exit(CTL_FAILED);
}

/* The exit status of a child, 128 + signal if it was killed. */
int
rerun_await(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The same, with all that it says in a pipe and nothing to read; 0 or -errno. */
int
rerun_open(struct rerun *rerun, const struct ctl *ctl, char *const *words)
{
	int ends[2];

	*rerun = (struct rerun){.fd = -1};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	rerun->pid = rerun_begin(ctl, words, ends[1], ends[1]);
	(void)close(ends[1]);
	if (rerun->pid < 0) {
		const int r = (int)rerun->pid;

		(void)close(ends[0]);
		rerun->pid = 0;
		return r;
	}
	rerun->fd = ends[0];
	return 0;
}

/* Take what can be read now, waiting for it if there is nothing; false: that was all. */
bool
rerun_read(struct rerun *rerun, struct strbuf *sb)
{
	char bytes[READ_BYTES];
	ssize_t n;

	do {
		n = read(rerun->fd, bytes, sizeof(bytes));
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		strbuf_add(sb, bytes, (size_t)n);
	return n > 0;
}

/* Wait for the end of the child; its exit status. */
int
rerun_close(struct rerun *rerun)
{
	int status = 0;

	if (rerun->fd >= 0)
		(void)close(rerun->fd);
	if (rerun->pid > 0)
		status = rerun_await(rerun->pid);
	*rerun = (struct rerun){.fd = -1};
	return status;
}

/* End the child, which only looks. */
void
rerun_kill(struct rerun *rerun)
{
	if (rerun->pid > 0)
		(void)kill(rerun->pid, SIGKILL);
	(void)rerun_close(rerun);
}
