/* SPDX-License-Identifier: ISC */
/* rundir.c - `runtime_directory`: a directory of its own for an actor. */
#include "config.h"

#include "daemon/messages/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "daemon/state/actors.h"
#include "daemon/state/log.h"
#include "os/cgroup/cgroup.h"
#include "os/self/fd.h"
#include "os/self/remove.h"

#define ACTORS "actors"
#define GONE   "gone"
/* How many entries are removed in a turn of the loop, and at most at the end of supd. */
#define REMOVE_TURN 256
#define REMOVE_END  100000

struct rundirs {
	struct ev_loop *loop;
	const struct actors *actors;
	const char *runtime_dir;
	int top_fd; /* supd's runtime directory */
	int actors_fd;
	int gone_fd; /* -1: neither is there yet */
	uint32_t serial;
	ev_idle idle; /* something is left to be removed */
	bool complained;
};

/* Descriptors that stay open while any actor has a directory; made at the first. */
static int
open_places(struct rundirs *rundirs)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	if (rundirs->gone_fd >= 0)
		return 0;
	if (rundirs->top_fd < 0)
		rundirs->top_fd = fd_raise(open(rundirs->runtime_dir, flags));
	if (rundirs->top_fd < 0)
		return -errno;
	if ((mkdirat(rundirs->top_fd, ACTORS, 0755) < 0 && errno != EEXIST) ||
	    (mkdirat(rundirs->top_fd, GONE, 0700) < 0 && errno != EEXIST))
		return -errno;
	if (rundirs->actors_fd < 0)
		rundirs->actors_fd = fd_raise(openat(rundirs->top_fd, ACTORS, flags));
	if (rundirs->actors_fd < 0)
		return -errno;
	/* Whatever umask supd was started with. */
	(void)fchmod(rundirs->actors_fd, 0755);
	rundirs->gone_fd = fd_raise(openat(rundirs->top_fd, GONE, flags));
	return rundirs->gone_fd < 0 ? -errno : 0;
}

/* ---- away -------------------------------------------------------------------------- */

/* One of what is being removed; false: nothing is, or it cannot be. */
static bool
remove_next(struct rundirs *rundirs)
{
	int fd = openat(rundirs->gone_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry = NULL;
	int r = -ENOENT;

	if (dir == NULL) {
		fd_close(&fd);
		return false;
	}
	while (r < 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		r = os_remove_some(rundirs->gone_fd, entry->d_name, REMOVE_TURN);
		if (r < 0 && !rundirs->complained)
			(void)log_errno(r, "remove what is left of a runtime directory "
			                   "(" GONE "/)");
		rundirs->complained = rundirs->complained || r < 0;
	}
	return r >= 0;
}

static void
on_idle(struct ev_loop *loop, ev_idle *idle, int revents UNUSED)
{
	if (!remove_next(idle->data))
		ev_idle_stop(loop, idle);
}

/* Move the directory of this actor out of the way, under a name that is free. */
static void
set_aside(struct rundirs *rundirs, const char *name)
{
	char aside[16];
	int r;

	do {
		(void)snprintf(aside, sizeof(aside), "%u", rundirs->serial++);
		r = renameat2(rundirs->actors_fd, name, rundirs->gone_fd, aside,
		              RENAME_NOREPLACE);
	} while (r < 0 && errno == EEXIST);
	if (r == 0)
		ev_idle_start(rundirs->loop, &rundirs->idle);
	else if (errno != ENOENT)
		(void)log_errno(-errno, "clear the runtime directory %s", name);
}

/* All that is in actors/ is moved out of the way. */
static void
set_all_aside(struct rundirs *rundirs)
{
	int fd = openat(rundirs->actors_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (dir == NULL)
		fd_close(&fd);
	else
		while ((entry = readdir(dir)) != NULL)
			if (strcmp(entry->d_name, ".") != 0 &&
			    strcmp(entry->d_name, "..") != 0)
				set_aside(rundirs, entry->d_name);
}

void
rundirs_begin(struct rundirs *rundirs, bool is_anew)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF(PATH_MAX);
	strbuf_addf(&path, "%s/" GONE, rundirs->runtime_dir);
	if (path.failed || access(strbuf_str(&path), F_OK) < 0 ||
	    open_places(rundirs) < 0)
		return;
	if (is_anew)
		set_all_aside(rundirs);
	ev_idle_start(rundirs->loop, &rundirs->idle);
}

void
rundir_clear(struct rundirs *rundirs, const struct actor *actor)
{
	char name[CGROUP_LEAF_MAX];

	if (open_places(rundirs) < 0)
		return;
	cgroup_leaf_name(actor->path, name);
	set_aside(rundirs, name);
}

/* ---- there ------------------------------------------------------------------------- */

/* The directory was root's until now: no other user could change anything in it. */
static int
give_to_owner(int fd, const struct conf_process *process)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!process->identity.has_user ||
	    (st.st_uid == process->identity.uid && st.st_gid == process->identity.gid))
		return 0;
	return fchown(fd, process->identity.uid, process->identity.gid) < 0 ? -errno : 0;
}

int
rundir_open(struct rundirs *rundirs, const struct actor *actor, char **ret_path)
{
	char name[CGROUP_LEAF_MAX];
	int r = open_places(rundirs);

	if (r < 0)
		return r;
	cgroup_leaf_name(actor->path, name);
	bool is_new = mkdirat(rundirs->actors_fd, name, 0755) == 0;
	if (!is_new && errno != EEXIST)
		return -errno;
	/* A kept directory is the actor's: a file system may be mounted on it. */
	CLEANUP(fd_close) int fd = fd_open_directory(rundirs->actors_fd, name);
	if (fd < 0)
		return fd;
	r = give_to_owner(fd, actor->conf->process);
	if (is_new && r == 0 && fchmod(fd, 0755) < 0)
		r = -errno;
	if (r < 0)
		return r;
	if (asprintf(ret_path, "%s/" ACTORS "/%s", rundirs->runtime_dir, name) >= 0)
		return 0;
	*ret_path = NULL;
	return -ENOMEM;
}

void
rundirs_renew(struct rundirs *rundirs)
{
	const struct actors *actors = rundirs->actors;

	ev_idle_stop(rundirs->loop, &rundirs->idle);
	fd_close(&rundirs->gone_fd);
	fd_close(&rundirs->actors_fd);
	fd_close(&rundirs->top_fd);
	for (uint32_t slot = 0; slot < actors->cap; slot++) {
		const struct actor *actor = &actors->at[slot];
		CLEANUP_FREE char *path = NULL;

		if (actor->ref.slot == REF_NONE.slot || actor->pid == 0 ||
		    !actor->conf->process->kept.runtime_directory)
			continue;
		int r = rundir_open(rundirs, actor, &path);
		if (r < 0)
			(void)log_errno(r, "the runtime directory of %s", actor->path);
	}
}

/* ---- all of them ------------------------------------------------------------------- */

struct rundirs *
rundirs_new(struct ev_loop *loop, const struct actors *actors, const char *runtime_dir,
            struct err *err)
{
	struct rundirs *rundirs =
	    err_calloc(sizeof(*rundirs), err, "runtime directories");

	if (rundirs == NULL)
		return NULL;
	*rundirs = (struct rundirs){
	    .loop = loop,
	    .actors = actors,
	    .runtime_dir = runtime_dir,
	    .top_fd = -1,
	    .actors_fd = -1,
	    .gone_fd = -1,
	    .idle.data = rundirs,
	};
	ev_idle_init(&rundirs->idle, on_idle);
	ev_set_priority(&rundirs->idle, EV_MINPRI);
	return rundirs;
}

/* Once the last actor is gone: so is, as far as that is quickly done, what they left. */
void
rundirs_free(struct rundirs *rundirs)
{
	if (rundirs == NULL)
		return;
	ev_idle_stop(rundirs->loop, &rundirs->idle);
	if (rundirs->gone_fd >= 0) {
		for (int i = 0; i < REMOVE_END / REMOVE_TURN; i++)
			if (!remove_next(rundirs))
				break;
		(void)unlinkat(rundirs->top_fd, GONE, AT_REMOVEDIR);
		(void)unlinkat(rundirs->top_fd, ACTORS, AT_REMOVEDIR);
	}
	fd_close(&rundirs->gone_fd);
	fd_close(&rundirs->actors_fd);
	fd_close(&rundirs->top_fd);
	free(rundirs);
}
