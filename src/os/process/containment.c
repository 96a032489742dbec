/* SPDX-License-Identifier: ISC */
/* containment.c - everything that an actor's process forked, whatever it did to hide. */
#include "config.h"

#include "os/process/containment.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "os/process/proc_file.h"
#include "os/self/fd.h"

/* An empty containment, as containment_close() leaves it. */
void
containment_init(struct containment *c)
{
	*c = (struct containment){.events_fd = -1, .leaf_fd = -1};
}

static int
make_leaf(struct containment *c, const struct cgroup_root *root)
{
	int r = cgroup_leaf_make(root, leaf_of(c).text);

	if (r < 0) {
		containment_init(c);
		return r;
	}
	c->is_cgroup = true;
	/* An existing leaf may have been killed. */
	c->is_spent = r == 0;
	return 0;
}

/*
 * Prepare the containment of the actor with this path.  With a root that is open: its
 * own cgroup; without (NULL, or one that is not open): its session.  `mark` is what its
 * processes will have as SUPD_ID, no other actor's.
 *
 * Returns 0, or -errno when the cgroup cannot be made; then c is as after
 * containment_init() and may be opened without a root.
 */
int
containment_open(struct containment *c, const struct cgroup_root *root, const char *path,
                 struct proc_mark mark)
{
	containment_init(c);
	c->mark = mark;
	if (root == NULL || root->fd < 0)
		return 0;
	c->path = path;
	return make_leaf(c, root);
}

/*
 * The same with a root that is open, for an actor with limits: its cgroup has all the
 * controllers that can be had (root->controllers).
 */
int
containment_open_limited(struct containment *c, struct cgroup_root *root,
                         const char *path, struct proc_mark mark)
{
	int r = cgroup_root_limit(root);

	containment_init(c);
	if (r < 0)
		return r;
	c->mark = mark;
	containment_adopt_limited(c, path);
	return make_leaf(c, root);
}

/*
 * As containment_open(), for an actor with processes started by an earlier guardian.  The
 * cgroup is expected to exist; with many actors it is not looked at.  As it may have been
 * killed, the next life gets a fresh cgroup.
 */
void
containment_adopt(struct containment *c, const struct cgroup_root *root, const char *path,
                  struct proc_mark mark)
{
	containment_init(c);
	c->is_foreign = true;
	c->mark = mark;
	if (root == NULL || root->fd < 0)
		return;
	c->path = path;
	c->is_cgroup = true;
	c->is_spent = true;
}

/* Its cgroup has limits, or is to have them; to be said after it was adopted. */
void
containment_adopt_limited(struct containment *c, const char *path)
{
	c->path = path;
	c->is_limited = true;
}

/* The leaf is no more. */
static void
let_leaf_go(struct containment *c, struct cgroup_root *root)
{
	containment_shut(c, root);
	containment_unwatch(c, root);
}

/*
 * The actor is no more: remove its cgroup.  Returns 0 and c is as after
 * containment_init(); or -EBUSY, and nothing has changed: it is not empty yet.  Another
 * -errno says that the directory had to be left behind.
 */
int
containment_close(struct containment *c, struct cgroup_root *root)
{
	int r = 0;

	if (c->is_cgroup) {
		r = cgroup_leaf_remove(root, leaf_of(c).text);
		if (r == -EBUSY)
			return r;
		let_leaf_go(c, root);
	}
	containment_init(c);
	return r;
}

/*
 * Get ready for a new main process. ret_cgroup_fd is for os_spawn(), and valid until
 * containment_begun(): -1 without a cgroup.
 *
 * A leaf that was killed is replaced by a fresh leaf: on Linux 6.18 a process born into
 * the old leaf with CLONE_INTO_CGROUP is killed, too.  A leaf with limits is replaced as
 * well, so that its counters are those of a single life.
 *
 * Returns 0; -EBUSY when the leaf is not empty: its processes are killed, so that it will
 * be; or -errno.
 */
int
containment_prepare(struct containment *c, struct cgroup_root *root, int *ret_cgroup_fd)
{
	if (c->is_spent || (c->is_limited && c->session != 0)) {
		int r = cgroup_leaf_renew(root, leaf_of(c).text);

		/* A process that came into it meanwhile belongs to no actor: kill it. */
		if (r == -EBUSY)
			(void)cgroup_leaf_kill(root, leaf_of(c).text);
		if (r < 0)
			return r;
		let_leaf_go(c, root);
		c->is_spent = false;
		c->is_frozen = false;
	}
	if (c->is_frozen) {
		int r = containment_freeze(c, root, false);

		if (r < 0)
			return r;
	}
	if (c->is_cgroup && c->leaf_fd < 0) {
		int fd = cgroup_leaf_open(root, leaf_of(c).text);

		/* The empty leaf was removed by hand. */
		if (fd == -ENOENT && cgroup_leaf_make(root, leaf_of(c).text) >= 0)
			fd = cgroup_leaf_open(root, leaf_of(c).text);
		if (fd < 0)
			return fd;
		c->leaf_fd = fd;
	}
	*ret_cgroup_fd = c->leaf_fd;
	return 0;
}

/*
 * The clone was refused with -ENOENT or -ENODEV: the leaf that was kept open is gone, as
 * by hand.  Make it anew.  As containment_prepare().
 */
int
containment_prepare_again(struct containment *c, struct cgroup_root *root,
                          int *ret_cgroup_fd)
{
	let_leaf_go(c, root);
	return containment_prepare(c, root, ret_cgroup_fd);
}

/* The clone was made, or will not be.  The next one finds the leaf open where that is one
 * of the root->kept_max that may stay open. */
void
containment_begun(struct containment *c, struct cgroup_root *root)
{
	if (!c->is_kept && c->leaf_fd >= 0 && root->n_kept < root->kept_max) {
		c->is_kept = true;
		root->n_kept++;
	} else if (!c->is_kept) {
		containment_shut(c, root);
	}
}

/* Its leaf stays open no longer: the next life opens it anew. */
void
containment_shut(struct containment *c, struct cgroup_root *root)
{
	root->n_kept -= c->is_kept;
	c->is_kept = false;
	fd_close(&c->leaf_fd);
	if (!c->is_watched)
		fd_close(&c->events_fd);
}

/* The main process was started; it leads a session of its own. */
void
containment_born(struct containment *c, pid_t pid)
{
	ASSERT(pid > 0);
	c->session = pid;
	c->leader_start = 0;
	c->is_main_alive = true;
	c->is_foreign = false;
}

/*
 * Another process of the actor is the main process from now on.  It does not lead its
 * session; the former main process is an ordinary member.  As a child of ours it is in no
 * sweep of orphans: we know it by its start.
 */
void
containment_told(struct containment *c, pid_t pid)
{
	struct proc_stat line;

	if (c->is_main_alive && !c->is_foreign && proc_stat_read(c->session, &line) == 0)
		c->leader_start = line.start;
	c->is_main_alive = false;
	c->told = pid;
}

/* True if the process that was the main process still lives, as a child of ours. */
static bool
leader_lives(const struct containment *c)
{
	struct proc_stat line;

	return c->leader_start != 0 && proc_stat_read(c->session, &line) == 0 &&
	       proc_same_start(line.start, c->leader_start) && !proc_stat_is_dead(&line);
}

/*
 * True if everything is gone that the actor's process ever forked.  With a cgroup
 * `sweep` is not looked at; else it must have been taken after the last event that
 * matters, the reaping or the last kill.  In doubt it is not empty.
 */
bool
containment_is_empty(struct containment *c, const struct cgroup_root *root,
                     const struct proc_sweep *sweep)
{
	if (c->leaf_fd >= 0 && c->events_fd < 0)
		c->events_fd = cgroup_leaf_events(root, leaf_of(c).text);
	if (c->is_cgroup)
		return cgroup_leaf_populated(root, leaf_of(c).text, c->events_fd) == 0;
	if (c->is_main_alive || c->told > 0 || leader_lives(c))
		return false;
	if (c->session == 0)
		return true;
	ASSERT(sweep != NULL);
	return !proc_sweep_has(sweep, c->session, proc_mark_text(&c->mark).text);
}

/*
 * Signal all processes of a session, where `sweep` was taken this turn.  The group is
 * signalled as such only while its leader is not reaped: after that another group may
 * have its number.
 */
static int
signal_session(const struct containment *c, struct proc_sweep *sweep, int signo)
{
	int code = 0, count;

	if (c->session == 0)
		return 0;
	if (c->told > 0)
		code = proc_sweep_add_tree(sweep, c->told, proc_mark_text(&c->mark).text);
	if (leader_lives(c)) {
		code =
		    proc_sweep_add_tree(sweep, c->session, proc_mark_text(&c->mark).text);
		(void)kill(c->session, signo);
	}
	if (c->is_main_alive) {
		/* SIGKILL goes to the whole group at once; another signal to the main
		 * process alone, for the others get it by the sweep, once. */
		pid_t target = signo == SIGKILL ? -c->session : c->session;

		/* Look before: of a dead process the children cannot be found any more.
		 */
		code =
		    proc_sweep_add_tree(sweep, c->session, proc_mark_text(&c->mark).text);
		/* If the walker reaps the process, its number may be reused at any
		 * moment. */
		if (!c->is_foreign && kill(target, signo) < 0 && errno != ESRCH)
			code = -errno;
	}
	count =
	    proc_sweep_signal(sweep, c->session, proc_mark_text(&c->mark).text, signo);
	return count < 0 ? count : code;
}

/*
 * Signal every process of the actor, once.  What is forked meanwhile may be missed.
 * Without a cgroup `sweep` must have been taken this turn; the descendants of the main
 * process are added to it.  Returns 0 or -errno.
 */
int
containment_signal(const struct containment *c, const struct cgroup_root *root,
                   struct proc_sweep *sweep, int signo)
{
	if (c->is_cgroup) {
		int r = cgroup_leaf_signal(root, leaf_of(c).text, signo);
		return r < 0 ? r : 0;
	}
	ASSERT(sweep != NULL);
	return signal_session(c, sweep, signo);
}

/*
 * Kill all of it.  A cgroup dies as a whole.  Without one, what forks in this very
 * moment may get away: sweep and kill again, at once and in every turn, until it is
 * empty.  `sweep` as for containment_signal().  Returns 0 or -errno.
 */
int
containment_kill(struct containment *c, const struct cgroup_root *root,
                 struct proc_sweep *sweep)
{
	if (c->is_cgroup) {
		c->is_spent = true;
		return cgroup_leaf_kill(root, leaf_of(c).text);
	}
	ASSERT(sweep != NULL);
	return signal_session(c, sweep, SIGKILL);
}

/*
 * With a cgroup: let everything in it stand still, or go on; the kernel does so for what
 * is forked meanwhile, too.  It may take a moment until the last one does.  A process
 * that was stopped by a signal stays so.  Returns 0 or -errno.
 */
int
containment_freeze(struct containment *c, const struct cgroup_root *root, bool freeze)
{
	ASSERT(c->is_cgroup);
	int r = cgroup_leaf_freeze(root, leaf_of(c).text, freeze);
	if (r == 0)
		c->is_frozen = freeze;
	return r;
}

/* Add all processes below the main process, wherever that is. */
static void
add_below_main(const struct containment *c, struct proc_sweep *sweep)
{
	if (c->is_main_alive || leader_lives(c))
		(void)proc_sweep_add_tree(sweep, c->session,
		                          proc_mark_text(&c->mark).text);
	if (c->told > 0)
		(void)proc_sweep_add_tree(sweep, c->told, proc_mark_text(&c->mark).text);
}

/*
 * Without a cgroup: stop all processes of the actor but its main process, which the
 * caller can signal by better means. `sweep` must have been taken this turn.  Returns the
 * number of processes that still ran, the main process among them.
 *
 * A fork under way when the signal comes is completed.  So call this again, with a new
 * sweep, until the number is 0 twice in a row: then all processes stood still already
 * when their children were read.
 */
int
containment_stop(const struct containment *c, struct proc_sweep *sweep)
{
	if (c->session == 0)
		return 0;
	int moved = c->is_main_alive && !proc_is_stopped(c->session);
	moved += c->told > 0 && !proc_is_stopped(c->told);
	if (leader_lives(c) && !proc_is_stopped(c->session)) {
		moved++;
		(void)kill(c->session, SIGSTOP);
	}
	add_below_main(c, sweep);
	return moved + proc_sweep_stop(sweep, c->session, proc_mark_text(&c->mark).text);
}

/*
 * Without a cgroup: continue all processes that containment_stop() stops, so not the main
 * process: one that handles SIGCONT gets it once.  `sweep` must have been taken this
 * turn.
 */
void
containment_continue(const struct containment *c, struct proc_sweep *sweep)
{
	if (c->session == 0)
		return;
	add_below_main(c, sweep);
	if (leader_lives(c))
		(void)kill(c->session, SIGCONT);
	(void)proc_sweep_signal(sweep, c->session, proc_mark_text(&c->mark).text,
	                        SIGCONT);
}

/*
 * True if the kernel has killed a process of this containment since its main process was
 * started, because the memory limit was reached.  False also where that is not counted:
 * without a cgroup with the memory controller.
 */
bool
containment_ran_out_of_memory(const struct containment *c, const struct cgroup_root *root)
{
	uint64_t n;

	return c->is_limited &&
	       cgroup_leaf_number(root, leaf_of(c).text, "memory.events", "oom_kill",
	                          &n) == 0 &&
	       n > 0;
}

/*
 * True if the process has the actor's mark, and the mark counts.  As each process chooses
 * its environment itself, the mark counts only if the user of the process may look into
 * the actor's processes anyway.
 */
static bool
has_mark(const struct containment *c, pid_t pid, uid_t uid)
{
	uid_t its;

	return c->mark.secret != NULL && proc_uid_read(pid, &its) == 0 &&
	       (its == uid || its == 0 || its == geteuid()) &&
	       proc_has_mark(pid, proc_mark_text(&c->mark).text);
}

/*
 * True if this living process is one of the actor's, which runs as `uid`.  For a message
 * that claims to be from it.  Without a cgroup a process in another session is
 * recognised by its mark and its user: the actor's, root, or ours.
 */
bool
containment_has(const struct containment *c, const struct cgroup_root *root, pid_t pid,
                uid_t uid)
{
	if (pid <= 0)
		return false;
	if ((c->is_main_alive && pid == c->session) || (c->told > 0 && pid == c->told))
		return true;
	if (c->is_cgroup)
		return cgroup_leaf_has(root, leaf_of(c).text, pid);
	return (c->session != 0 && getsid(pid) == c->session) || has_mark(c, pid, uid);
}

/*
 * Wait for the end of what is in the cgroup: root->watch_fd will tell this token (see
 * cgroup_root_next()).  Ask containment_is_empty() after this and after each token.
 * Returns 0, also where it is watched already or has no cgroup, or -errno.
 */
int
containment_watch(struct containment *c, struct cgroup_root *root, uint64_t token)
{
	if (!c->is_cgroup || c->is_watched)
		return 0;
	if (c->events_fd < 0)
		c->events_fd = cgroup_leaf_events(root, leaf_of(c).text);
	int r = c->events_fd < 0 ? c->events_fd
	                         : cgroup_leaf_watch(root, c->events_fd, token);
	c->is_watched = r == 0;
	return r;
}

/* Wait no longer; no token comes after this. */
void
containment_unwatch(struct containment *c, struct cgroup_root *root)
{
	/* Not left to close(2): a copy of it in a child would keep it in the set. */
	if (c->is_watched)
		(void)epoll_ctl(root->watch_fd, EPOLL_CTL_DEL, c->events_fd, NULL);
	c->is_watched = false;
	if (c->leaf_fd < 0)
		fd_close(&c->events_fd);
}
