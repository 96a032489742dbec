/* SPDX-License-Identifier: ISC */
/* proc_sweep.c - find processes by descent: a sweep of /proc for what a dead parent left.
 */
#include "config.h"

#include "os/process/proc_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cleanup.h"
#include "os/process/proc_file.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* How long the mark of a process that executes its program is waited for. */
#define EXEC_MS 3000

enum { SWEEP_TRIES = 16 };

/* How far a process is.  One that ends has its children still, but its name no more; one
 * that executes a program has no name yet. */
enum life { LIVES, EXECUTES, ENDS, ENDED };

/* One living process below us. */
struct swept {
	pid_t pid;
	uint64_t start;
	pid_t origin_session; /* of supd's own child that the process descends from */
	char mark[PROC_MARK_MAX];
	bool executes; /* that child is about to execute, and has no mark yet */
};

struct proc_sweep {
	struct swept *all;
	size_t n, cap;
	pid_t self;
	pid_t subreaper;           /* orphans are its children */
	int list_fd;               /* their list; -1 before it is read */
	pid_t left[PROC_LEFT_MAX]; /* 0, or a guardian that was left behind */
	bool is_unsure;  /* everything changed while we looked, again and again; or … */
	size_t n_unsure; /* … so many execute a program, and have no mark yet */
	struct map executing; /* their pids: when each was first found so, in ms … */
	struct map was_executing; /* … and those of the sweep before */
	struct map seen;          /* pid to index */
	struct map dead; /* pids of orphans that had ended before the last listing */
	pid_t *pids;     /* scratch: the children of one process */
	size_t n_pids, pids_cap;
};

/*
 * Make a sweep, for the calling process and not for its children.  The subreaper, which
 * is the caller or a process above, is single-threaded.  NULL without memory.
 */
struct proc_sweep *
proc_sweep_new(pid_t subreaper)
{
	struct proc_sweep *sweep = calloc(1, sizeof(*sweep));

	if (sweep == NULL)
		return NULL;
	*sweep =
	    (struct proc_sweep){.self = getpid(), .subreaper = subreaper, .list_fd = -1};
	return sweep;
}

/* Give back its memory. */
void
proc_sweep_free(struct proc_sweep *sweep)
{
	if (sweep == NULL)
		return;
	map_done(&sweep->seen);
	map_done(&sweep->dead);
	map_done(&sweep->executing);
	map_done(&sweep->was_executing);
	fd_close(&sweep->list_fd);
	free(sweep->all);
	free(sweep->pids);
	free(sweep);
}

/* Orphans go to another process from now on. */
void
proc_sweep_follow(struct proc_sweep *sweep, pid_t subreaper)
{
	fd_close(&sweep->list_fd);
	sweep->subreaper = subreaper;
}

/* Look also at the children of guardians that were left behind, and have not ended: see
 * walker/judge.c.  What does not fit is left out. */
void
proc_sweep_include_left(struct proc_sweep *sweep, const pid_t *left, size_t n)
{
	for (size_t i = 0; i < n && i < PROC_LEFT_MAX; i++)
		sweep->left[i] = left[i];
}

static int
add_pid(pid_t pid, void *arg)
{
	struct proc_sweep *sweep = arg;

	if (!ARRAY_RESERVE(sweep->pids, sweep->n_pids, sweep->pids_cap))
		return -ENOMEM;
	sweep->pids[sweep->n_pids++] = pid;
	return 0;
}

/* The same for kernels without "children" files: look at everybody's parent. */
static int
add_children_by_parent(struct proc_sweep *sweep, pid_t pid)
{
	CLEANUP_DIR DIR *all = opendir("/proc");
	struct dirent *entry;
	struct proc_stat line;
	int r = 0;

	if (all == NULL)
		return -errno;
	while (r == 0 && (entry = readdir(all)) != NULL) {
		pid_t other = (pid_t)strtol(entry->d_name, NULL, 10);

		if (other > 0 && proc_stat_read(other, &line) == 0 && line.parent == pid)
			r = add_pid(other, sweep);
	}
	return r;
}

/* List the children of pid in sweep->pids. */
static int
list_children(struct proc_sweep *sweep, pid_t pid)
{
	int r;

	sweep->n_pids = 0;
	/* The subreaper is single-threaded: read its first file, which stays open. */
	if (pid == sweep->subreaper) {
		r = proc_children_again(&sweep->list_fd, pid, add_pid, sweep);
		return r == -ENOENT ? add_children_by_parent(sweep, pid) : r;
	}
	r = proc_children(pid, 0, add_pid, sweep);
	if (r == -ENOENT && kill(pid, 0) == 0)
		return add_children_by_parent(sweep, pid);
	return r == -ENOENT ? 0 : r;
}

static int
add_swept(struct proc_sweep *sweep, const struct swept *swept)
{
	if (sweep->n == PROC_SWEEP_MAX)
		return -E2BIG;
	if (!ARRAY_RESERVE(sweep->all, sweep->n, sweep->cap) ||
	    map_put(&sweep->seen, (uint64_t)swept->pid, (uint32_t)sweep->n) < 0)
		return -ENOMEM;
	sweep->all[sweep->n++] = *swept;
	return 0;
}

/* Add all descendants of the entries from `first` on; the list is the queue. */
static int
add_descendants(struct proc_sweep *sweep, size_t first)
{
	struct proc_stat line;
	uint32_t known;
	int r = 0;

	for (size_t i = first; i < sweep->n && r == 0; i++) {
		r = list_children(sweep, sweep->all[i].pid);
		for (size_t k = 0; k < sweep->n_pids && r == 0; k++) {
			struct swept below = sweep->all[i];

			below.pid = sweep->pids[k];
			if (map_get(&sweep->seen, (uint64_t)below.pid, &known) ||
			    proc_stat_read(below.pid, &line) < 0 ||
			    proc_stat_is_dead(&line))
				continue;
			below.start = line.start;
			r = add_swept(sweep, &below);
		}
	}
	return r;
}

/* Who is this orphan? */
static enum life
look_at_orphan(pid_t pid, struct swept *ret)
{
	struct proc_stat line;

	*ret = (struct swept){.pid = pid};
	if (proc_stat_read(pid, &line) < 0 || proc_stat_is_dead(&line))
		return ENDED;
	ret->start = line.start;
	ret->origin_session = line.session;
	int r = proc_mark_read(pid, ret->mark);
	if (ret->mark[0] != '\0')
		return LIVES;
	/* The mark of a dead process cannot be read. */
	if (proc_stat_read(pid, &line) < 0 || proc_stat_is_dead(&line))
		return ENDED;
	if ((line.flags & PROC_IS_EXITING) != 0 && line.state != 'Z')
		return ENDS;
	return r == -EAGAIN ? EXECUTES : LIVES;
}

/* True if the process is a guardian that was left behind.  Its environment may be out of
 * reach for as long as it sleeps, and its children are looked at by themselves. */
static bool
is_left(const struct proc_sweep *sweep, pid_t pid)
{
	for (size_t i = 0; i < PROC_LEFT_MAX; i++)
		if (sweep->left[i] == pid)
			return true;
	return false;
}

/* It may have any mark, until it has executed its program, or that takes too long.  0 or
 * -ENOMEM. */
static int
take_executing(struct proc_sweep *sweep, pid_t pid)
{
	const uint32_t now_ms = (uint32_t)clock_mono_ms();
	uint32_t since_ms = now_ms;

	(void)map_get(&sweep->was_executing, (uint64_t)pid, &since_ms);
	sweep->n_unsure += now_ms - since_ms < EXEC_MS;
	return map_put(&sweep->executing, (uint64_t)pid, since_ms) < 0 ? -ENOMEM : 0;
}

/* Look at the children of the subreaper, or of a guardian that was left behind; the
 * answers of try_sweep(). */
static int
sweep_children(struct proc_sweep *sweep, pid_t parent, const struct map *known)
{
	bool is_stable = true;
	uint32_t value;
	int r = list_children(sweep, parent);

	for (size_t i = 0; i < sweep->n_pids && r == 0; i++) {
		const pid_t pid = sweep->pids[i];
		struct swept orphan;

		if (pid == sweep->self || is_left(sweep, pid) ||
		    map_get(known, (uint64_t)pid, &value) ||
		    map_get(&sweep->dead, (uint64_t)pid, &value))
			continue;
		enum life life = look_at_orphan(pid, &orphan);
		/* An orphan that ends after the listing may leave us another orphan. */
		is_stable = is_stable && (life == LIVES || life == EXECUTES);
		orphan.executes = life == EXECUTES;
		if (life == EXECUTES)
			r = take_executing(sweep, pid);
		if (r == 0 && (life == LIVES || life == EXECUTES))
			r = add_swept(sweep, &orphan);
		else if (life == ENDED)
			r = map_put(&sweep->dead, (uint64_t)pid, 0) < 0 ? -ENOMEM : 0;
	}
	return r < 0 ? r : is_stable;
}

/* One listing.  Returns 1 if it can be relied upon, 0 if not, or -errno. */
static int
try_sweep(struct proc_sweep *sweep, const struct map *known)
{
	int found = 1, r = 0;

	sweep->n = sweep->n_unsure = 0;
	map_done(&sweep->seen);
	/* Before the subreaper, which gets their children when they end. */
	for (size_t i = 0; i < PROC_LEFT_MAX && found == 1; i++)
		if (sweep->left[i] > 0)
			found = sweep_children(sweep, sweep->left[i], known);
	if (found >= 0) {
		r = sweep_children(sweep, sweep->subreaper, known);
		found = r < 0 ? r : found == 1 && r == 1;
	}
	if (found >= 0)
		r = add_descendants(sweep, 0);
	return r < 0 ? r : found;
}

/*
 * Find every living orphan, that is every child of the subreaper outside `known` (keyed
 * by pid) but us, and all its descendants.  The dead only make work.
 *
 * A process that forks and ends, again and again, may be gone when we look at it, before
 * its child is in our list.  So the list counts only if every process in it lived when it
 * was looked at, or had ended before the list was made: then each process that lived at
 * the beginning has an ancestor in the list.  Otherwise the list is made again; if that
 * never succeeds, proc_sweep_has() says that any process may exist.  So it does as
 * long as an orphan is in the midst of an exec, for EXEC_MS at most: take another sweep.
 *
 * Returns 0, -E2BIG when there are more than PROC_SWEEP_MAX (the first are listed),
 * -ENOMEM, or another -errno when /proc cannot be read; then nothing is certain either.
 */
int
proc_sweep_take(struct proc_sweep *sweep, const struct map *known)
{
	int r = 0;

	map_done(&sweep->dead);
	map_done(&sweep->was_executing);
	sweep->was_executing = sweep->executing;
	sweep->executing = (struct map){0};
	for (int i = 0; i < SWEEP_TRIES && r == 0; i++)
		r = try_sweep(sweep, known);
	sweep->is_unsure = r != 1 || sweep->n_unsure > 0;
	return r < 0 ? r : 0;
}

/*
 * Add the descendants of a main process that still lives, itself not included, as
 * belonging to its session and mark.  Returns as proc_sweep_take().
 */
int
proc_sweep_add_tree(struct proc_sweep *sweep, pid_t main_pid, const char *mark)
{
	struct swept main = {
	    .pid = main_pid,
	    .origin_session = main_pid,
	};
	const size_t first = sweep->n;

	ASSERT(strlen(mark) < sizeof(main.mark));
	memcpy(main.mark, mark, strlen(mark) + 1);
	int r = add_swept(sweep, &main);
	if (r < 0)
		return r;
	r = add_descendants(sweep, first);
	/* The caller signals the main process by better means. */
	sweep->all[first] = sweep->all[--sweep->n];
	return r;
}

static bool
belongs(const struct swept *swept, pid_t session, const char *mark)
{
	return swept->origin_session == session ||
	       (mark[0] != '\0' && strcmp(swept->mark, mark) == 0);
}

/*
 * True if the sweep found anything that belongs to this session, in whatever group, or
 * to this mark.  "" is no mark.  In doubt it did.
 */
bool
proc_sweep_has(const struct proc_sweep *sweep, pid_t session, const char *mark)
{
	bool has = sweep->is_unsure;

	for (size_t i = 0; i < sweep->n && !has; i++)
		has = belongs(&sweep->all[i], session, mark);
	return has;
}

/* Signal the process that had this pid and start time, and no other. */
static int
signal_one(const struct swept *swept, int signo)
{
	struct proc_stat line;
	CLEANUP(fd_close) int fd = (int)syscall(SYS_pidfd_open, swept->pid, 0);

	if (fd < 0 && errno == ESRCH)
		return 0;
	/* What is true now stays true of the pidfd. */
	if (proc_stat_read(swept->pid, &line) < 0 ||
	    !proc_same_start(line.start, swept->start))
		return 0;
	int r = fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0)
	                : kill(swept->pid, signo);
	return r < 0 && errno != ESRCH ? -errno : r == 0;
}

/*
 * Signal everything in the sweep that belongs to this session or mark, youngest first.
 * Returns how many were signalled, or the last -errno when none could be.
 */
int
proc_sweep_signal(const struct proc_sweep *sweep, pid_t session, const char *mark,
                  int signo)
{
	int count = 0, code = 0;

	for (size_t i = sweep->n; i-- > 0;) {
		if (!belongs(&sweep->all[i], session, mark))
			continue;
		int r = signal_one(&sweep->all[i], signo);
		if (r < 0)
			code = r;
		else
			count += r;
	}
	return count > 0 ? count : code;
}

/*
 * Stop (SIGSTOP) the processes of the sweep that belong to this session or mark.  Returns
 * the number of processes that still ran.
 */
int
proc_sweep_stop(const struct proc_sweep *sweep, pid_t session, const char *mark)
{
	struct proc_stat line;
	int count = 0;

	for (size_t i = 0; i < sweep->n; i++)
		if (belongs(&sweep->all[i], session, mark) &&
		    proc_stat_read(sweep->all[i].pid, &line) == 0 && line.state != 'T' &&
		    line.state != 't' && !proc_stat_is_dead(&line))
			count += signal_one(&sweep->all[i], SIGSTOP) == 1;
	return count;
}

/*
 * Signal everything in the sweep but what came of children that are in this session.
 * Returns how many were signalled.
 */
int
proc_sweep_signal_all(const struct proc_sweep *sweep, pid_t spared_session, int signo)
{
	int count = 0;

	for (size_t i = sweep->n; i-- > 0;)
		if (sweep->all[i].origin_session != spared_session)
			count += signal_one(&sweep->all[i], signo) == 1;
	return count;
}

/*
 * Kill everything in the sweep that has a mark, other than `own`, or of which it cannot
 * be known because it hangs in an exec.  Returns how many were signalled.
 */
int
proc_sweep_kill_marked(const struct proc_sweep *sweep, const char *own)
{
	int count = 0;

	for (size_t i = sweep->n; i-- > 0;) {
		const struct swept *swept = &sweep->all[i];

		if (swept->executes
		        ? !sweep->is_unsure
		        : swept->mark[0] != '\0' && strcmp(swept->mark, own) != 0)
			count += signal_one(swept, SIGKILL) == 1;
	}
	return count;
}
