/* SPDX-License-Identifier: ISC */
/* seat.c - the files by which supd is found: runtime directory, lock, control socket. */
#include "config.h"

#include "daemon/loop/seat.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "daemon/control/control.h"
#include "daemon/loop/owner.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/rundir.h"
#include "daemon/report/report.h"
#include "daemon/sockets/control_file.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "helper/watchers.h"
#include "ledger/handover.h"
#include "os/self/fd.h"
#include "os/self/signals.h"

#define LOCK "supd.lock"
/* Whatever is done in the directories, it is looked at so often at most. */
#define CHECK_SECONDS 0.1
/* When something cannot be made anew it is tried again after so long, then twice as long.
 */
#define RETRY_SECONDS_MIN 1.
#define RETRY_SECONDS_MAX 60.

static struct seat {
	struct supd *supd; /* NULL: nothing is watched yet */
	dev_t lock_dev;
	ino_t lock_ino;
	int of_lock;   /* the runtime directory, ... */
	int above;     /* ... the directory above, ... */
	int of_socket; /* ... and the control socket's; -1: none tells of a removal */
	int signal_fd; /* a name in one of them is gone */
	ev_io changed;
	ev_timer timer;
	double retry_seconds; /* 0: nothing is missing */
} the_seat = {.of_lock = -1, .above = -1, .of_socket = -1, .signal_fd = -1};

/* ---- notice ------------------------------------------------------------------------ */

static void
look_soon(struct seat *seat)
{
	timer_begin(seat->supd->loop, &seat->timer, CHECK_SECONDS);
}

static void
on_change(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct seat *seat = io->data;

	(void)signals_take(io->fd);
	if (!ev_is_active(&seat->timer))
		look_soon(seat);
}

/* Watch this directory in place of the one before. */
static void
begin_watch(int *watch, int take_fd, bool is_above, struct err *err)
{
	int r = take_fd < 0 ? take_fd : fd_tell_removals(take_fd, is_above);

	fd_close(watch);
	*watch = take_fd;
	if (take_fd >= 0 && r < 0)
		err_set(err, -r, "watch a directory of supd's own files");
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "%s: its removal is noticed at SIGHUP only",
		         err->text);
}

/* Watch the directories that have the names now. */
static void
watch_directories(struct seat *seat)
{
	struct err err;
	int fd = fd_watch_directory(seat->supd->origin.runtime_dir, &err);
	int above = fd < 0 ? -1 : openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	begin_watch(&seat->of_lock, fd, false, &err);
	/* A directory that only others may list: its removal is noticed all the same. */
	if (above >= 0)
		begin_watch(&seat->above, fd_raise(above), true, &err);
	/* Its author chose the path: a child enters the directory. */
	fd = control_file_do(seat->supd->control_file, SOCKWORK_WATCH, NULL, (gid_t)-1,
	                     &err);
	begin_watch(&seat->of_socket, fd, false, &err);
}

/* ---- make anew --------------------------------------------------------------------- */

static bool
has_lock(const struct seat *seat)
{
	struct stat st;

	CLEANUP(strbuf_done) struct strbuf path = STRBUF(PATH_MAX);
	strbuf_addf(&path, "%s/" LOCK, seat->supd->origin.runtime_dir);
	return !path.failed && lstat(strbuf_str(&path), &st) == 0 &&
	       st.st_dev == seat->lock_dev && st.st_ino == seat->lock_ino;
}

/* The directory and the lock in it; the walker holds it, as it did the one before. */
static int
renew_lock(struct seat *seat)
{
	struct err err = {0};
	struct stat st;
	CLEANUP(fd_close) int fd = fd_lock(seat->supd->origin.runtime_dir, LOCK, &err);

	if (fd < 0) {
		log_line(LOG_LEVEL_ERROR, "%s",
		         fd == -EWOULDBLOCK ? "another supd has locked the runtime "
		                              "directory that was removed"
		                            : err.text);
		return fd;
	}
	if (fstat(fd, &st) == 0) {
		seat->lock_dev = st.st_dev;
		seat->lock_ino = st.st_ino;
	}
	keeper_lock(seat->supd->keeper, fd);
	/* The actors' directories were removed with the runtime directory. */
	rundirs_renew(seat->supd->messages->rundirs);
	return 0;
}

static int
renew(struct seat *seat, bool lost_lock, bool lost_socket)
{
	struct supd *supd = seat->supd;
	struct err err = {0};
	int r = 0;

	if (lost_lock) {
		log_line(LOG_LEVEL_ERROR,
		         "the runtime directory %s or the lock in it was removed: it is "
		         "made anew",
		         supd->origin.runtime_dir);
		r = renew_lock(seat);
	}
	if (r < 0 || !lost_socket)
		return r;
	log_line(LOG_LEVEL_ERROR, "the control socket %s was removed: it is made anew",
	         supd->origin.control_path);
	r = control_listen_again(supd->control, &err);
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
	return r;
}

/* Try again later, and tell that only now and then. */
static void
retry(struct seat *seat)
{
	seat->retry_seconds = LARGER(2 * seat->retry_seconds, RETRY_SECONDS_MIN);
	seat->retry_seconds = SMALLER(seat->retry_seconds, RETRY_SECONDS_MAX);
	timer_begin(seat->supd->loop, &seat->timer, seat->retry_seconds);
}

static void
check(struct seat *seat)
{
	ev_timer_stop(seat->supd->loop, &seat->timer);
	bool lost_lock = !has_lock(seat);
	bool lost_socket = !control_is_found(seat->supd->control);
	if (lost_lock || lost_socket) {
		if (renew(seat, lost_lock, lost_socket) < 0) {
			retry(seat);
			return;
		}
		report_supd(seat->supd->reporter, "files_lost");
		watch_directories(seat);
		/* Look once more, as a file may have been removed again before the watch.
		 */
		look_soon(seat);
	}
	seat->retry_seconds = 0;
}

static void
on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	check(timer->data);
}

/* ---- start and end ----------------------------------------------------------------- */

int
seat_open(struct supd *supd, struct err *err)
{
	struct seat *seat = &the_seat;

	seat->signal_fd = signals_listen(SIGIO);
	if (seat->signal_fd < 0)
		return err_set(err, -seat->signal_fd, "watch over the runtime directory");
	seat->supd = supd;
	io_prepare(&seat->changed, on_change, seat);
	io_begin(supd->loop, &seat->changed, seat->signal_fd, EV_READ);
	seat->lock_dev = (dev_t)keeper_handover(supd->keeper)->hello.lock_dev;
	seat->lock_ino = (ino_t)keeper_handover(supd->keeper)->hello.lock_ino;
	timer_prepare(&seat->timer, on_timer, seat);
	watch_directories(seat);
	/* They may have been removed while nothing watched. */
	check(seat);
	return 0;
}

void
seat_check(void)
{
	if (the_seat.supd != NULL)
		check(&the_seat);
}

void
seat_close(void)
{
	struct seat *seat = &the_seat;

	if (seat->supd == NULL)
		return;
	fd_close(&seat->of_lock);
	fd_close(&seat->above);
	fd_close(&seat->of_socket);
	ev_io_stop(seat->supd->loop, &seat->changed);
	fd_close(&seat->signal_fd);
	ev_timer_stop(seat->supd->loop, &seat->timer);
	seat->supd = NULL;
}
