/* SPDX-License-Identifier: ISC */
/* pack.c - compress what was set aside, in a process of its own.
 *
 * The packed file gets its name when it is complete and on the disk, with the time of
 * the other one, by which rotate.c knows that this one may go.  While that is being done
 * no file of the log changes its number.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "logd/write/gzip.h"
#include "logd/write/sink.h"
#include "os/self/signals.h"

struct pack_names {
	char plain[PATH_MAX], packed[PATH_MAX], partial[PATH_MAX];
};

/* Find the newest file that is not compressed; false: there is none, or its path is too
 * long. */
static bool
find_plain(const struct sink *sink, struct pack_names *ret)
{
	struct stat st;

	for (unsigned int i = 1; i <= sink->log.keep; i++) {
		int n = snprintf(ret->partial, PATH_MAX, "%s.%u.gz.part", sink->path, i);

		if (n >= PATH_MAX)
			return false;
		(void)snprintf(ret->plain, PATH_MAX, "%s.%u", sink->path, i);
		(void)snprintf(ret->packed, PATH_MAX, "%.*s", n - 5, ret->partial);
		if (lstat(ret->plain, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(ret->packed, F_OK) < 0)
			return true;
	}
	return false;
}

/* Compress from the one to the other; true if that went well. */
static bool
run_gzip(int in, int out)
{
	const pid_t pid = gzip_start(GZIP_PACK, in, out);
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int
pack(const struct pack_names *names)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat st;
	int in = open(names->plain, O_RDONLY | O_CLOEXEC);

	/* A gzip that was killed may be in the middle of its last write: not into this.
	 */
	(void)unlink(names->partial);
	int out = open(names->partial, flags, 0640);
	if (in < 0 || out < 0 || fstat(in, &st) < 0)
		return 1;
	times[1] = st.st_mtim;
	if (!run_gzip(in, out) || futimens(out, times) < 0 || fsync(out) < 0 ||
	    rename(names->partial, names->packed) < 0) {
		(void)unlink(names->partial);
		return 1;
	}
	return 0;
}

/*
 * Begin to compress the newest plain file, where compression is wanted and none is under
 * way: sink->packer is the process; the caller waits for its end.  Returns 0, also where
 * nothing is to be done, or -errno.
 */
int
sink_pack(struct sink *sink)
{
	struct pack_names names;
	pid_t parent = getpid();

	if (!sink->log.compress || sink->packer > 0 || !find_plain(sink, &names))
		return 0;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		signals_reset();
		/* A process that renames files must not outlive its log process. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		(void)setpriority(PRIO_PROCESS, 0, 19);
		_exit(pack(&names));
	}
	sink->packer = pid;
	return 0;
}

/* End the compression under way; its incomplete file stays behind. */
void
sink_pack_stop(struct sink *sink)
{
	if (sink->packer == 0)
		return;
	/* It may have ended already: its pid is ours until we wait for it. */
	(void)kill(sink->packer, SIGKILL);
	while (waitpid(sink->packer, NULL, 0) < 0 && errno == EINTR)
		continue;
	sink->packer = 0;
}
