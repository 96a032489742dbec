/* SPDX-License-Identifier: ISC */
/* procs.c - the processes of the actors: born, told, reaped, gone.
 *
 * Deaths are seen through one epoll of pidfds, so that one death costs the same among
 * ten thousand as among ten; a walk over all children is only for strangers, stops and
 * continues, and at most ten times a second.
 */
#include "config.h"

#include "daemon/procs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/map.h"
#include "daemon/launch.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/shell.h"
#include "os/containment.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/spawn.h"

#define COLLECT_BATCH 256
/* A walk over all children happens at most once in so long. */
#define WALK_SECONDS 0.1
/* How often leftovers without a cgroup are looked for again. */
#define SWEEP_SECONDS 0.02
/* How long a missed notification of the cgroup may delay us. */
#define RECHECK_SECONDS 0.1
#define NONE            UINT32_MAX

/* The process of one actor. */
struct proc {
	struct ref ref;
	uint32_t life;
	pid_t pid; /* 0: none, or reaped */
	int pidfd;
	bool used; /* the containment is open */
	bool stopping;
	bool killing;
	bool deferred;       /* waits for its elder: never two processes of one path */
	bool leftover;       /* the main process is reaped, something else may not be */
	bool fresh;          /* the core was not told of its end yet */
	uint32_t next, prev; /* among the leftovers */
	struct containment containment;
	struct reap end;
	bool ended;
	const char *failed_step;
};

struct procs {
	struct shell *shell;
	struct proc *at; /* by slot */
	uint32_t cap;
	struct map by_pid;
	struct launcher launcher;
	int epoll_fd;
	ev_io death;
	ev_io cgroup;
	ev_signal child;
	ev_timer walk;
	ev_timer sweep;
	struct proc_sweep *sweeper;
	uint32_t leftovers; /* first of the list */
};

static struct proc *
proc_of(const struct procs *procs, struct ref ref, uint32_t life)
{
	struct proc *proc;

	if (ref.slot >= procs->cap)
		return NULL;
	proc = &procs->at[ref.slot];
	return proc->used && proc->life == life && proc->ref.tenant == ref.tenant ? proc
	                                                                          : NULL;
}

static const struct proc *
current(const struct procs *procs, struct ref ref)
{
	const struct proc *proc = ref.slot < procs->cap ? &procs->at[ref.slot] : NULL;

	return proc != NULL && proc->used && proc->ref.tenant == ref.tenant ? proc : NULL;
}

static struct proc *
proc_by_pid(const struct procs *procs, pid_t pid)
{
	uint32_t slot;

	return map_get(&procs->by_pid, (uint64_t)pid, &slot) ? &procs->at[slot] : NULL;
}

static void
post(struct procs *procs, const struct proc *proc, struct event event)
{
	event.ref = proc->ref;
	event.life = proc->life;
	shell_post(procs->shell, &event);
}

/* ---- leftovers --------------------------------------------------------------------- */

static void
leftover_add(struct procs *procs, struct proc *proc)
{
	uint32_t slot = (uint32_t)(proc - procs->at);

	proc->leftover = true;
	proc->prev = NONE;
	proc->next = procs->leftovers;
	if (proc->next != NONE)
		procs->at[proc->next].prev = slot;
	procs->leftovers = slot;
}

/* As long as anything is left over, look again: soon without a cgroup, else just in case
 * the kernel's notification was missed. */
static void
arm_sweep(struct procs *procs)
{
	bool cgroups_only = true;

	if (procs->leftovers == NONE || ev_is_active(&procs->sweep))
		return;
	for (uint32_t slot = procs->leftovers; slot != NONE && cgroups_only;
	     slot = procs->at[slot].next)
		cgroups_only =
		    procs->at[slot].containment.is_cgroup && !procs->at[slot].killing;
	ev_timer_set(&procs->sweep, cgroups_only ? RECHECK_SECONDS : SWEEP_SECONDS, 0.);
	ev_timer_start(procs->shell->loop, &procs->sweep);
}

static void
leftover_remove(struct procs *procs, struct proc *proc)
{
	if (!proc->leftover)
		return;
	proc->leftover = false;
	if (proc->prev != NONE)
		procs->at[proc->prev].next = proc->next;
	else
		procs->leftovers = proc->next;
	if (proc->next != NONE)
		procs->at[proc->next].prev = proc->prev;
}

/* This life is over.  The cgroup lives as long as the actor: the next life has it. */
static void
proc_close(struct procs *procs, struct proc *proc)
{
	leftover_remove(procs, proc);
	containment_unwatch(&proc->containment, &procs->shell->cgroups);
	if (!proc->containment.is_cgroup)
		(void)containment_close(&proc->containment, &procs->shell->cgroups);
	proc->used = false;
}

static void
proc_gone(struct procs *procs, struct proc *proc)
{
	post(procs, proc, (struct event){.kind = EVENT_GONE, .code = -1});
	proc_close(procs, proc);
}

/* Look at everybody whose main process is gone: one sweep of /proc serves them all. */
static void
check_leftovers(struct procs *procs)
{
	struct shell *shell = procs->shell;
	bool swept = false;
	uint32_t slot = procs->leftovers;

	while (slot != NONE) {
		struct proc *proc = &procs->at[slot];

		slot = proc->next;
		if (proc->fresh)
			continue;
		if (!swept && containment_needs_sweep(&proc->containment)) {
			(void)proc_sweep_take(procs->sweeper, &procs->by_pid);
			swept = true;
		}
		if (containment_is_empty(&proc->containment, procs->sweeper)) {
			proc_gone(procs, proc);
		} else if (proc->killing) {
			/* Whatever was forked meanwhile, too. */
			(void)containment_kill(&proc->containment, &shell->cgroups,
			                       procs->sweeper);
		}
	}
}

static void
on_sweep(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct procs *procs = timer->data;

	(void)loop;
	(void)revents;
	check_leftovers(procs);
	arm_sweep(procs);
}

static void
on_cgroup(struct ev_loop *loop, ev_io *io, int revents)
{
	struct procs *procs = io->data;
	uint64_t tokens[64];

	(void)loop;
	(void)revents;
	while (cgroup_root_next(&procs->shell->cgroups, tokens, ARRAY_SIZE(tokens)) > 0)
		continue;
	check_leftovers(procs);
}

/* ---- ends ---- */

static void
forget_pid(struct procs *procs, struct proc *proc)
{
	map_remove(&procs->by_pid, (uint64_t)proc->pid);
	if (proc->pidfd >= 0) {
		/* Before the close: a copy in a child would keep it in the epoll. */
		(void)epoll_ctl(procs->epoll_fd, EPOLL_CTL_DEL, proc->pidfd, NULL);
		fd_close(&proc->pidfd);
	}
	proc->pid = 0;
}

/* The main process ended: noted first, told when all that died with it is known. */
static void
proc_ended(struct procs *procs, struct proc *proc, const struct reap *reap)
{
	struct actor *actor = actors_get(&procs->shell->actors, proc->ref);

	forget_pid(procs, proc);
	containment_reaped(&proc->containment);
	proc->end = *reap;
	proc->ended = true;
	proc->fresh = true;
	if (actor != NULL) {
		actor->pid = 0;
		actor->sigstopped = false;
	}
	leftover_add(procs, proc);
}

/* Tell the core of an end, and whether anything else is left of the actor. */
static void
tell_end(struct procs *procs, struct proc *proc)
{
	struct shell *shell = procs->shell;
	const struct reap *reap = &proc->end;
	struct event event = {.kind = EVENT_EXITED, .code = -1};

	proc->fresh = false;
	if (reap->kind == REAP_EXITED)
		event.code = reap->status;
	else
		event.signal = reap->status;
	event.core = reap->kind == REAP_DUMPED;
	event.gone = containment_is_empty(&proc->containment, procs->sweeper);
	post(procs, proc, event);
	if (event.gone) {
		proc_close(procs, proc);
		return;
	}
	(void)containment_watch(&proc->containment, &shell->cgroups, proc->ref.slot);
	if (proc->stopping)
		procs_stop(procs, proc->ref, proc->life);
}

/* Tell of all that ended: one sweep of /proc serves them all. */
static void
tell_ends(struct procs *procs)
{
	bool swept = false;
	uint32_t slot = procs->leftovers;

	while (slot != NONE) {
		struct proc *proc = &procs->at[slot];

		slot = proc->next;
		if (!proc->fresh)
			continue;
		if (!swept && containment_needs_sweep(&proc->containment)) {
			(void)proc_sweep_take(procs->sweeper, &procs->by_pid);
			swept = true;
		}
		tell_end(procs, proc);
	}
	arm_sweep(procs);
}

static void
on_stopped_or_continued(struct procs *procs, const struct reap *reap)
{
	struct proc *proc = proc_by_pid(procs, reap->pid);
	struct actor *actor =
	    proc == NULL ? NULL : actors_get(&procs->shell->actors, proc->ref);

	if (actor != NULL)
		actor->sigstopped = reap->kind == REAP_STOPPED;
}

/* Everybody: strangers that came to us as orphans, stops, continues, merged signals. */
static void
on_walk(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct procs *procs = timer->data;
	struct reap reap;

	(void)loop;
	(void)revents;
	notify_drain(procs->shell->notify);
	(void)procs_collect(procs);
	while (os_reap_any(&reap) > 0) {
		struct proc *proc = proc_by_pid(procs, reap.pid);

		if (reap.kind == REAP_STOPPED || reap.kind == REAP_CONTINUED)
			on_stopped_or_continued(procs, &reap);
		else if (proc != NULL)
			proc_ended(procs, proc, &reap);
	}
	tell_ends(procs);
}

static void
on_child(struct ev_loop *loop, ev_signal *signal, int revents)
{
	struct procs *procs = signal->data;

	(void)revents;
	if (!ev_is_active(&procs->walk)) {
		ev_timer_set(&procs->walk, WALK_SECONDS, 0.);
		ev_timer_start(loop, &procs->walk);
	}
}

/* Reap one by its pidfd; false when there was nothing to reap after all. */
static bool
collect_one(struct procs *procs, uint32_t slot)
{
	struct proc *proc = &procs->at[slot];
	struct reap reap;
	int r;

	if (proc->pid == 0)
		return false;
	r = os_reap_pidfd(proc->pidfd, proc->pid, &reap);
	if (r == 0)
		return false;
	if (r < 0) {
		/* Somebody else reaped it: how it ended is not known any more. */
		reap = (struct reap){.pid = proc->pid, .kind = REAP_SIGNALED};
		log_line(LOG_LEVEL_ERROR, "pid %d of %s was reaped by somebody else",
		         (int)proc->pid, shell_path(procs->shell, proc->ref));
		reap.status = SIGKILL;
	}
	proc_ended(procs, proc, &reap);
	return true;
}

size_t
procs_collect(struct procs *procs)
{
	struct epoll_event events[COLLECT_BATCH];
	size_t collected = 0;
	int n;

	do {
		n = epoll_wait(procs->epoll_fd, events, COLLECT_BATCH, 0);
		for (int i = 0; i < n; i++)
			collected += collect_one(procs, events[i].data.u32);
	} while (n == COLLECT_BATCH);
	if (collected > 0)
		tell_ends(procs);
	return collected;
}

static void
on_death(struct ev_loop *loop, ev_io *io, int revents)
{
	struct procs *procs = io->data;

	(void)loop;
	(void)revents;
	/* A program that says READY and dies must be seen ready first. */
	notify_drain(procs->shell->notify);
	(void)procs_collect(procs);
}

/* ---- births ---- */

static void
spawn_failed(struct procs *procs, struct proc *proc, int error, const char *step)
{
	proc->failed_step = step;
	post(procs, proc,
	     (struct event){.kind = EVENT_SPAWN_FAILED, .code = -1, .error = error});
	proc_close(procs, proc);
}

static void
proc_born(struct procs *procs, struct proc *proc, const struct spawn_result *result)
{
	struct shell *shell = procs->shell;
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = proc->ref.slot};
	struct actor *actor = actors_get(&shell->actors, proc->ref);

	proc->pid = result->pid;
	proc->pidfd = result->pidfd;
	containment_born(&proc->containment, result->pid);
	/* There is room: procs_reserve(). */
	(void)map_put(&procs->by_pid, (uint64_t)result->pid, proc->ref.slot);
	if (result->pidfd >= 0) {
		/* Out of the window of low numbers, which spawns need. */
		proc->pidfd = fd_raise(result->pidfd);
		(void)epoll_ctl(procs->epoll_fd, EPOLL_CTL_ADD, proc->pidfd, &event);
	}
	if (actor != NULL) {
		actor->pid = result->pid;
		actor->process_started_ms = shell->now_ms;
		actor->sigstopped = false;
		free(actor->status);
		actor->status = NULL;
	}
	post(procs, proc, (struct event){.kind = EVENT_SPAWNED, .code = -1});
}

static void
launch_it(struct procs *procs, struct proc *proc, const struct actor *actor)
{
	struct spawn_result result;
	int r = launch(&procs->launcher, procs->shell, actor, proc->life,
	               &proc->containment, &result);

	if (r < 0)
		spawn_failed(procs, proc, -r, result.step);
	else
		proc_born(procs, proc, &result);
}

void
procs_spawn(struct procs *procs, struct ref ref, uint32_t life)
{
	struct shell *shell = procs->shell;
	const struct actor *actor = actors_get(&shell->actors, ref);
	struct proc *proc = &procs->at[ref.slot];

	ASSERT(actor != NULL);
	ASSERT(!proc->used);
	*proc = (struct proc){
	    .containment = proc->containment,
	    .ref = ref,
	    .life = life,
	    .pidfd = -1,
	    .used = true,
	    .next = NONE,
	    .prev = NONE,
	    .failed_step = "",
	};
	proc->deferred = actors_get(&shell->actors, actor->elder) != NULL;
	if (!proc->deferred)
		launch_it(procs, proc, actor);
}

/* The elder of this actor is gone. */
void
procs_inherit(struct procs *procs, struct ref heir)
{
	const struct actor *actor = actors_get(&procs->shell->actors, heir);
	struct proc *proc = actor == NULL ? NULL : &procs->at[heir.slot];

	if (proc == NULL || !proc->used || !proc->deferred ||
	    proc->ref.tenant != heir.tenant)
		return;
	proc->deferred = false;
	/* Removed as well, meanwhile: it has no place among the actors any more. */
	if (actor->conf_owner != NULL)
		spawn_failed(procs, proc, ECANCELED, "removed");
	else
		launch_it(procs, proc, actor);
}

/* ---- told ---- */

/* Ask it to end: the main process, or, when that is gone already, whatever is left. */
void
procs_stop(struct procs *procs, struct ref ref, uint32_t life)
{
	struct proc *proc = proc_of(procs, ref, life);
	const struct actor *actor = actors_get(&procs->shell->actors, ref);
	int signo;

	if (proc == NULL || actor == NULL)
		return;
	proc->stopping = true;
	signo = actor->conf->process.stop_signal;
	if (proc->pid != 0) {
		(void)kill(proc->pid, signo);
		/* One that is stopped cannot hear it. */
		if (actor->sigstopped || os_reap_is_stopped(proc->pidfd))
			(void)kill(proc->pid, SIGCONT);
		return;
	}
	if (containment_needs_sweep(&proc->containment))
		(void)proc_sweep_take(procs->sweeper, &procs->by_pid);
	(void)containment_signal(&proc->containment, &procs->shell->cgroups,
	                         procs->sweeper, signo);
	(void)containment_signal(&proc->containment, &procs->shell->cgroups,
	                         procs->sweeper, SIGCONT);
}

/* Kill it and everything that it forked. */
void
procs_kill(struct procs *procs, struct ref ref, uint32_t life)
{
	struct proc *proc = proc_of(procs, ref, life);

	if (proc == NULL)
		return;
	proc->killing = true;
	proc->stopping = true;
	if (proc->pid != 0)
		(void)kill(proc->pid, SIGKILL);
	if (!proc->containment.is_cgroup)
		(void)proc_sweep_take(procs->sweeper, &procs->by_pid);
	(void)containment_kill(&proc->containment, &procs->shell->cgroups,
	                       procs->sweeper);
}

static void
clear(struct procs *procs, struct proc *proc)
{
	fd_close(&proc->pidfd);
	(void)containment_close(&proc->containment, &procs->shell->cgroups);
	*proc = (struct proc){.ref = REF_NONE, .pidfd = -1, .failed_step = ""};
	containment_init(&proc->containment);
}

/* The slot is given back; the core waited until nothing was left. */
void
procs_forget(struct procs *procs, struct ref ref)
{
	if (ref.slot < procs->cap && procs->at[ref.slot].ref.tenant == ref.tenant)
		clear(procs, &procs->at[ref.slot]);
}

int
procs_signal(struct procs *procs, struct ref ref, int signo)
{
	const struct proc *proc = current(procs, ref);

	if (proc == NULL || proc->pid == 0)
		return -ESRCH;
	/* It is not reaped yet: the pid is its own. */
	return kill(proc->pid, signo) < 0 ? -errno : 0;
}

/* ---- asked ---- */

bool
procs_contains(struct procs *procs, struct ref ref, pid_t pid)
{
	const struct proc *proc = current(procs, ref);

	if (proc == NULL || pid <= 0)
		return false;
	return proc->pid == pid ||
	       containment_has(&proc->containment, &procs->shell->cgroups, pid);
}

uint32_t
procs_life(const struct procs *procs, struct ref ref)
{
	const struct proc *proc = current(procs, ref);

	return proc == NULL ? 0 : proc->life;
}

const struct reap *
procs_last_end(const struct procs *procs, struct ref ref)
{
	const struct proc *proc = ref.slot < procs->cap ? &procs->at[ref.slot] : NULL;

	return proc != NULL && proc->ended ? &proc->end : NULL;
}

const char *
procs_failed_step(const struct procs *procs, struct ref ref)
{
	const struct proc *proc = ref.slot < procs->cap ? &procs->at[ref.slot] : NULL;

	return proc != NULL && proc->failed_step != NULL ? proc->failed_step : "";
}

/* ---- all of them ---- */

int
procs_reserve(struct procs *procs, uint32_t slots)
{
	struct proc *grown;

	if (map_reserve(&procs->by_pid, slots) < 0)
		return -ENOMEM;
	if (slots <= procs->cap)
		return 0;
	grown = realloc(procs->at, sizeof(*grown) * slots);
	if (grown == NULL)
		return -ENOMEM;
	for (uint32_t slot = procs->cap; slot < slots; slot++) {
		grown[slot] =
		    (struct proc){.ref = REF_NONE, .pidfd = -1, .failed_step = ""};
		containment_init(&grown[slot].containment);
	}
	procs->at = grown;
	procs->cap = slots;
	return 0;
}

static void
watch(struct procs *procs)
{
	struct ev_loop *loop = procs->shell->loop;

	ev_io_init(&procs->death, on_death, procs->epoll_fd, EV_READ);
	procs->death.data = procs;
	ev_io_start(loop, &procs->death);
	ev_signal_init(&procs->child, on_child, SIGCHLD);
	procs->child.data = procs;
	ev_signal_start(loop, &procs->child);
	ev_timer_init(&procs->walk, on_walk, WALK_SECONDS, 0.);
	procs->walk.data = procs;
	ev_timer_init(&procs->sweep, on_sweep, SWEEP_SECONDS, 0.);
	procs->sweep.data = procs;
	ev_io_init(&procs->cgroup, on_cgroup, procs->shell->cgroups.watch_fd, EV_READ);
	procs->cgroup.data = procs;
	if (procs->shell->cgroups.watch_fd >= 0)
		ev_io_start(loop, &procs->cgroup);
}

struct procs *
procs_new(struct shell *shell, struct err *err)
{
	struct procs *procs = calloc(1, sizeof(*procs));
	int r;

	if (procs == NULL) {
		err_set(err, ENOMEM, "table of processes");
		return NULL;
	}
	procs->shell = shell;
	procs->leftovers = NONE;
	map_init(&procs->by_pid);
	procs->epoll_fd = fd_raise(epoll_create1(EPOLL_CLOEXEC));
	procs->sweeper = proc_sweep_new();
	r = launcher_init(&procs->launcher, shell->environ, err);
	if (r < 0 || procs->epoll_fd < 0 || procs->sweeper == NULL) {
		if (r == 0)
			err_set(err, errno, "watch processes");
		procs_free(procs);
		return NULL;
	}
	watch(procs);
	return procs;
}

void
procs_free(struct procs *procs)
{
	struct ev_loop *loop;

	if (procs == NULL)
		return;
	loop = procs->shell->loop;
	ev_io_stop(loop, &procs->death);
	ev_io_stop(loop, &procs->cgroup);
	ev_signal_stop(loop, &procs->child);
	ev_timer_stop(loop, &procs->walk);
	ev_timer_stop(loop, &procs->sweep);
	for (uint32_t slot = 0; slot < procs->cap; slot++)
		clear(procs, &procs->at[slot]);
	fd_close(&procs->epoll_fd);
	proc_sweep_free(procs->sweeper);
	launcher_done(&procs->launcher);
	map_done(&procs->by_pid);
	free(procs->at);
	free(procs);
}
