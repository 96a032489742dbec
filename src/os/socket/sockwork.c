/* SPDX-License-Identifier: ISC */
/* sockwork.c - the files of unix sockets and fifos, made and removed by a child. */
#include "config.h"

#include "os/socket/sockwork.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/pass.h"
#include "os/socket/sockfile.h"
#include "os/socket/sockplace.h"

/* How often the time for an operation is halved, once with each late operation. */
#define HALVINGS_MAX 5
/* All that sockwork_once() does may take so long. */
#define ONCE_MS 2000
/* The bytes of the name of a user or group. */
#define OWNER_MAX 256

struct order {
	enum sockwork_kind kind;
	struct sock_file file; /* with the texts below */
	char path[PATH_MAX];
	char user[OWNER_MAX]; /* "": file.uid says it */
	char group[OWNER_MAX];
};

struct answer {
	int r;
	struct err err;
	struct sockwork_seen seen;
};

static const char *
kind_of(const struct sock_file *file)
{
	return file->type == 0 ? "fifo" : "unix socket";
}

/* ---- the child --------------------------------------------------------------------- */

/* True if the file gets a second name, in case a program removes the first.  A socket
 * that supd serves itself needs none: no other program has it. */
static bool
has_second_name(const struct sock_file *file)
{
	return !file->refuses_rights;
}

static void
say_unknown(const struct sock_file *file, struct err *err)
{
	err_set(err, 0,
	        "unix socket %s: supd cannot tell its file from others without "
	        "CAP_NET_ADMIN, and others than root can change the directory",
	        file->path);
}

static int
open_file(const struct sock_file *file, struct err *err)
{
	int fd = file->type == 0 ? sock_open_fifo(file, err) : sock_open_unix(file, err);
	int at = -1;

	if (fd == -EPERM && file->is_contested)
		say_unknown(file, err);
	if (fd >= 0 && has_second_name(file))
		at = sockfile_find(fd, file->name, !file->is_contested);
	if (at >= 0)
		(void)sockfile_secure(at, file->name, true);
	fd_close(&at);
	return fd;
}

static int
adjust(int at, const struct sock_file *file, struct err *err)
{
	int r = sockfile_adjust(at, file->mode, file->uid, file->gid);

	if (!has_second_name(file) || sockfile_restore(at, file->name) < 0 ||
	    sockfile_secure(at, file->name, false) != -ENOENT)
		return r;
	return err_say(err, -ENOENT,
	               "%s is another file by now: its clients do not find the socket",
	               file->path);
}

/* True if the file of the name has all that it is to be given. */
static bool
has_all(const struct sock_file *file)
{
	struct stat st;

	return lstat(file->name, &st) == 0 &&
	       (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode)) &&
	       (st.st_mode & 07777) == file->mode &&
	       (file->uid == (uid_t)-1 || file->uid == st.st_uid) &&
	       (file->gid == (gid_t)-1 || file->gid == st.st_gid);
}

/* Do it with the file of what is open, and with no other. */
static int
change(const struct order *order, struct err *err)
{
	const struct sock_file *file = &order->file;
	const bool gives = order->kind == SOCKWORK_ADJUST;
	int at = sockfile_find(file->fd, file->name,
	                       gives ? !file->is_shared : !file->is_contested);
	int r = 0;

	if (at == -EPERM && gives && has_all(file))
		return 0;
	if (at == -EPERM)
		say_unknown(file, err);
	if (at < 0)
		return at;
	if (gives)
		r = adjust(at, file, err);
	else if (order->kind == SOCKWORK_RESTORE)
		r = sockfile_restore(at, file->name);
	else
		sockfile_remove(at, file->name);
	if (r == -ENOENT && order->kind == SOCKWORK_RESTORE)
		err_set(err, 0, "%s and its second name were removed", order->path);
	fd_close(&at);
	return r;
}

/* Set the owner from the names, which may take as long as the user database does; 0, or
 * -ENOENT with a sentence. */
static int
find_owner(struct order *order, struct err *err)
{
	const char *user = order->user, *group = order->group;

	/* A number needs no user database: that may be why it has to be looked up here.
	 */
	if (user[0] != '\0' && !id_parse(user, &order->file.uid)) {
		const struct passwd *passwd = getpwnam(user);
		if (passwd == NULL)
			return err_say(err, -ENOENT, "user %s is unknown", user);
		order->file.uid = passwd->pw_uid;
	}
	if (group[0] != '\0' && !id_parse(group, &order->file.gid)) {
		const struct group *entry = getgrnam(group);
		if (entry == NULL)
			return err_say(err, -ENOENT, "group %s is unknown", group);
		order->file.gid = entry->gr_gid;
	}
	return 0;
}

/* Watch the directory that has the name of a socket's file. */
static int
watch_above(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";

	if (slash != NULL)
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path) + 1, path);
	return fd_watch_directory(dir, err);
}

/*
 * Go to the directory of the file: only root has to look at the way there, and a path
 * that is not absolute begins where supd was started.  0 or -errno with a sentence.
 */
static int
go_there(struct order *order, struct err *err)
{
	struct sock_file *file = &order->file;
	struct sockplace place;

	file->name = file->path;
	if (geteuid() != 0 || file->path[0] != '/')
		return 0;
	int r = sockplace_find(file->path, &place, err);
	if (r == 0 && fchdir(place.dir_fd) < 0)
		r = -errno;
	fd_close(&place.dir_fd);
	if (r < 0 && err->text[0] == '\0')
		err_set(err, -r, "unix socket or fifo %s", file->path);
	else if (r < 0)
		err_prefix(err, "unix socket or fifo %s", file->path);
	if (r < 0)
		return r;
	file->name = place.name;
	file->chooser = place.uid;
	file->is_contested = place.is_contested;
	file->is_shared = !place.is_root_s_alone;
	/* What that user's rights have made is supd's own all the same. */
	if (place.uid != 0 && file->uid == (uid_t)-1)
		file->uid = geteuid();
	if (place.uid != 0 && file->gid == (gid_t)-1)
		file->gid = getegid();
	return 0;
}

/* A path at which nothing can be seen has no socket. */
static void
look_at(const struct order *order, struct sockwork_seen *ret)
{
	struct stat st;

	if (lstat(order->path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		ret->dev = st.st_dev;
		ret->ino = st.st_ino;
	}
	ret->is_live = order->kind == SOCKWORK_CONNECT && sock_unix_is_live(order->path);
}

/* The answer, or -errno; *ret_fd is what was opened. */
static int
carry_out_there(struct order *order, int *ret_fd, struct err *err)
{
	if (order->kind == SOCKWORK_WATCH)
		return *ret_fd = watch_above(order->path, err);
	int r = go_there(order, err);
	/* A directory that is gone has no files. */
	if (order->kind == SOCKWORK_REMOVE && (r == -ENOENT || r == -ENOTDIR))
		return 0;
	if (r == 0 && (order->kind == SOCKWORK_OPEN || order->kind == SOCKWORK_ADJUST))
		r = find_owner(order, err);
	if (r < 0)
		return r;
	if (order->kind == SOCKWORK_OPEN)
		return *ret_fd = open_file(&order->file, err);
	r = change(order, err);
	return r == -ENOENT && order->kind == SOCKWORK_REMOVE ? 0 : r;
}

static void
carry_out(int fd, struct order *order)
{
	struct answer answer = {0};
	CLEANUP(fd_close) int opened = -1;

	if (order->kind == SOCKWORK_LOOK || order->kind == SOCKWORK_CONNECT)
		look_at(order, &answer.seen);
	else
		answer.r = carry_out_there(order, &opened, &answer.err);
	if (answer.r < 0 && answer.err.text[0] == '\0')
		err_set(&answer.err, -answer.r, "%s %s", kind_of(&order->file),
		        order->path);
	(void)pass_send(fd, &answer, sizeof(answer),
	                &(struct pass_fds){&opened, opened >= 0}, 0);
}

static void
serve(int fd, void *data UNUSED)
{
	struct order order;
	int given = -1;

	while (pass_receive(fd, 0, &order, sizeof(order),
	                    &(struct pass_fds){&given, 1}) == sizeof(order)) {
		order.file.path = order.path;
		order.file.fd = given;
		carry_out(fd, &order);
		fd_close(&given);
	}
}

/* ---- the parent -------------------------------------------------------------------- */

/* What is asked for takes at most this time altogether, each operation at most half of
 * it, and then sockwork_done(). */
void
sockwork_begin(struct sockwork *work, struct bounded *bounded, int timeout_ms)
{
	*work = (struct sockwork){.bounded = bounded,
	                          .patience_ms = timeout_ms / 2,
	                          .until_ms = clock_mono_ms() + (uint64_t)timeout_ms,
	                          .id = -1,
	                          .fd = -1};
}

/* End the child, if there was need of one. */
void
sockwork_done(struct sockwork *work)
{
	if (work->id >= 0)
		bounded_end(work->bounded, work->id, &work->fd);
	work->id = -1;
}

/* Copy a text that may be NULL; false: there is no room for it. */
static bool
copy(char *to, size_t size, const char *text)
{
	const int n = snprintf(to, size, "%s", text != NULL ? text : "");

	return n >= 0 && (size_t)n < size;
}

static uint64_t
until(const struct sockwork *work)
{
	const unsigned int n_late = bounded_count_late(work->bounded);
	const uint64_t until_ms =
	    clock_mono_ms() + ((uint64_t)work->patience_ms >>
	                       (n_late < HALVINGS_MAX ? n_late : HALVINGS_MAX));

	return until_ms < work->until_ms ? until_ms : work->until_ms;
}

/* True if the order hands a descriptor that is open already to the child. */
static bool
gives_fd(const struct order *order)
{
	return order->kind == SOCKWORK_ADJUST || order->kind == SOCKWORK_RESTORE ||
	       order->kind == SOCKWORK_REMOVE;
}

/* The answer of the child, which is made if there is none. */
static int
ask(struct sockwork *work, uint64_t owner, const struct order *order,
    struct answer *ret_answer, int *ret_fd)
{
	if (bounded_hangs(work->bounded, owner) || clock_mono_ms() >= work->until_ms)
		return -ETIMEDOUT;
	if (work->id < 0)
		work->id = bounded_open(
		    work->bounded, &(struct bounded_task){owner, serve, NULL}, &work->fd);
	if (work->id < 0)
		return work->id;
	int fd = order->file.fd;
	int r = pass_send(work->fd, order, sizeof(*order),
	                  &(struct pass_fds){&fd, gives_fd(order)}, MSG_DONTWAIT);
	if (r == 0)
		r = bounded_answer(work->fd, until(work), ret_answer, sizeof(*ret_answer),
		                   ret_fd);
	if (r == 0)
		return 0;
	if (r == -ETIMEDOUT)
		bounded_end_late(work->bounded, owner, work->id, &work->fd);
	else
		bounded_end(work->bounded, work->id, &work->fd);
	work->id = -1;
	return r;
}

/*
 * Have one thing done with a unix socket (file->type is that of the socket) or a fifo
 * (file->type is 0); of file only what it is about has to be set.  The child looks up
 * file->user and file->group, which take the place of the ids; -ENOENT: one is unknown.
 *
 * Returns what the function in enum sockwork_kind does; -ETIMEDOUT: it was not done in
 * time, or there is no time left; after that the owner, which is a number for the path,
 * is not tried for some seconds, nor as long as its child hangs.  On an error err has a
 * sentence.
 */
int
sockwork_do(struct sockwork *work, uint64_t owner, enum sockwork_kind kind,
            const struct sock_file *file, struct err *err)
{
	struct order order = {.kind = kind, .file = *file};
	struct answer answer = {0};
	int fd = -1;

	int r = copy(order.path, sizeof(order.path), file->path) &&
	                copy(order.user, sizeof(order.user), file->user) &&
	                copy(order.group, sizeof(order.group), file->group)
	            ? ask(work, owner, &order, &answer, &fd)
	            : -ENAMETOOLONG;
	if (r < 0)
		return err_set(err, -r, "%s %s", kind_of(file), file->path);
	*err = answer.err;
	work->seen = answer.seen;
	if ((kind != SOCKWORK_OPEN && kind != SOCKWORK_WATCH) || answer.r < 0 || fd >= 0)
		return fd >= 0 ? fd : answer.r;
	return err_set(err, EMFILE, "unix socket %s", file->path);
}

/* A single sockwork_do(), with a child of its own. */
int
sockwork_once(struct bounded *bounded, uint64_t owner, enum sockwork_kind kind,
              const struct sock_file *file, struct err *err)
{
	struct sockwork work;

	sockwork_begin(&work, bounded, ONCE_MS);
	int r = sockwork_do(&work, owner, kind, file, err);
	sockwork_done(&work);
	return r;
}
