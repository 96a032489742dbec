/* SPDX-License-Identifier: ISC */
/* log_rotate.c - supd's own log, where it is a file, is set aside as those of actors are.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "conf/text/conf.h"
#include "daemon/state/log.h"
#include "logd/write/sink.h"
#include "os/self/fd.h"

#define COPY_BYTES (1024 * 1024)

/* The whole of one file into a new one; 0 or -errno. */
static int
copy(const char *from, const char *to)
{
	CLEANUP(fd_close)
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	CLEANUP(fd_close)
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	ssize_t n = in < 0 || out < 0 ? -1 : 1;

	while (n > 0)
		n = sendfile(out, in, NULL, COPY_BYTES);
	return n < 0 ? -errno : 0;
}

/* The file was set aside: let a copy take its place there, and the file, which others
 * have open, come back empty. */
static int
exchange(const char *path, int fd)
{
	char aside[PATH_MAX], beside[PATH_MAX];

	(void)snprintf(aside, sizeof(aside), "%s.1", path);
	(void)snprintf(beside, sizeof(beside), "%s.copy", path);
	int r = copy(aside, beside);
	if (rename(aside, path) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(beside, aside) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(beside);
	else if (ftruncate(fd, 0) < 0)
		r = -errno;
	return r;
}

/*
 * Set the file aside; its writers open it anew.  A row of renames in the directory of the
 * log: a file system that hangs here would have hung the last line.  Where the file is
 * supd's standard error, too, as with -d, actors with `output: inherit` write to it and
 * go on with what they have: then a copy is set aside, and `fd`, the file, is emptied.
 * 0 or -errno: then the file goes on.
 */
int
log_set_aside(const char *path, int fd, const struct conf_log *limits)
{
	struct stat own, inherited;
	const bool is_shared =
	    fstat(fd, &own) == 0 && fstat(STDERR_FILENO, &inherited) == 0 &&
	    own.st_dev == inherited.st_dev && own.st_ino == inherited.st_ino;

	if (is_shared && limits->keep == 0)
		return ftruncate(fd, 0) < 0 ? -errno : 0;
	struct sink *sink = sink_new(
	    FEED_TO_FILE, path,
	    &(const struct feed_log){
	        .max_size = limits->max_size,
	        .total = limits->total,
	        .max_age_ms =
	            limits->max_age_ms == DURATION_INFINITE ? 0 : limits->max_age_ms,
	        .keep = limits->keep,
	    });
	int r = sink == NULL ? -ENOMEM : sink_rotate(sink);
	sink_free(sink);
	return r == 0 && is_shared ? exchange(path, fd) : r;
}
