/* SPDX-License-Identifier: ISC */
/* launch.c - from an actor's configuration to a running process. */
#include "config.h"

#include "daemon/launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "conf/read/envfile.h"
#include "daemon/launch/identity.h"
#include "daemon/launch/limiting.h"
#include "daemon/launch/outputs.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/notify.h"
#include "daemon/messages/output.h"
#include "daemon/messages/readiness.h"
#include "daemon/messages/rundir.h"
#include "daemon/messages/stores.h"
#include "daemon/sockets/grown.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "daemon/state/system.h"
#include "ledger/ledger.h"
#include "os/self/fd.h"

#define NAMES_MAX (SPAWN_FDS_MAX * STORE_NAME_MAX)

/* Prepare for launches, one at a time; -errno. */
int
launch_init(struct launch *launch, const struct launcher *launcher, struct err *err)
{
	const int r = environment_init(&launch->environment, launcher->origin->environ);

	launch->launcher = launcher;
	if (r < 0)
		err_set(err, -r, "environment");
	return r;
}

/* ---- environment ------------------------------------------------------------------- */

/* The descriptors of a process from 3 on: sockets in the order of the file, handled
 * sockets, the descriptor of readiness, then its stored descriptors (DECISIONS 28). */
struct passed {
	int fds[SPAWN_FDS_MAX];
	const char *names[SPAWN_FDS_MAX]; /* borrowed; of supd's own actors: none */
	size_t n;
	size_t n_listen; /* so many of them are told of in LISTEN_FDS */
	int ready_fd; /* among them, to be closed, as is a helper's channel; -1: none */
};
_Static_assert(3 + CONF_SOCKETS_MAX + CONF_FD_STORE_MAX < SPAWN_FDS_MAX &&
                   CONF_READY_FD_MAX < SPAWN_FDS_MAX,
               "a process may have more descriptors than can be handed over");

/* The program to be executed, with its own part of arguments and environment. */
struct program {
	const char *file;
	char **argv;
	struct passed passed; /* descriptors from 3 on */
	char *listen_pid;     /* where its pid goes in the environment, or NULL */
	char *watchdog_pid;
	int cgroup_fd;
	bool is_limited; /* that cgroup may run out of memory of its own */
};

static char *
add_passed(struct environment *environment, const struct passed *passed)
{
	char memory[NAMES_MAX];
	struct strbuf names;

	if (passed->n_listen == 0 || passed->names[0] == NULL)
		return NULL;
	strbuf_borrow(&names, memory, sizeof(memory));
	for (size_t i = 0; i < passed->n_listen; i++) {
		strbuf_adds(&names, i == 0 ? "" : ":");
		strbuf_adds(&names, passed->names[i]);
	}
	if (names.failed)
		environment->failed = -E2BIG;
	(void)environment_add(environment, "LISTEN_FDS", "%zu", passed->n_listen);
	(void)environment_set(environment, "LISTEN_FDNAMES", strbuf_str(&names));
	/* Room for the child's own pid, which is known only when it is born. */
	return environment_add(environment, "LISTEN_PID", "%010d", 0);
}

/* Begin the environment with what all processes of the actor are told; -errno. */
int
launch_begin_environment(struct launch *launch, const struct actor *actor,
                         const char *mark)
{
	const struct launcher *launcher = launch->launcher;
	struct environment *environment = &launch->environment;
	CLEANUP_FREE char *directory = NULL;

	environment_begin(environment, actor->conf->process);
	(void)environment_set(environment, "SUPD_PATH", actor->path);
	(void)environment_set(environment, "SUPD_SOCKET", launcher->origin->control_path);
	(void)environment_set(environment, "SUPD_ID", mark);
	(void)environment_set(environment, "SUPD_WALKER", launcher->origin->walker_mark);
	if (!actor->conf->process->kept.runtime_directory)
		return 0;
	int r = rundir_open(launcher->messages->rundirs, actor, &directory);
	if (r == 0)
		(void)environment_set(environment, "RUNTIME_DIRECTORY", directory);
	return r;
}

static int
build_environment(struct launch *launch, const struct actor *actor, const char *mark,
                  struct program *program, enum spawn_step *ret_step)
{
	struct environment *environment = &launch->environment;
	char address[NOTIFY_NAME_MAX];
	int r = launch_begin_environment(launch, actor, mark);

	if (r == 0 && actor->conf->process->readiness.notify) {
		r = notify_open(launch->launcher->messages->notify, actor->ref, address);
		if (r >= 0)
			(void)environment_set(environment, "NOTIFY_SOCKET", address);
	}
	if (r < 0)
		return r;
	if (actor->conf->spec->core.watchdog_ms > 0) {
		(void)environment_add(
		    environment, "WATCHDOG_USEC", "%llu",
		    (unsigned long long)actor->conf->spec->core.watchdog_ms * 1000);
		program->watchdog_pid =
		    environment_add(environment, "WATCHDOG_PID", "%010d", 0);
	}
	program->listen_pid = add_passed(environment, &program->passed);
	return environment_end(environment, ret_step);
}

/* ---- the process ------------------------------------------------------------------- */

static size_t
fill_limits(const struct rlimit *nofile, const struct conf_process *process,
            struct spawn_limit limits[LAUNCH_LIMITS_MAX])
{
	size_t n = 0;

	limits[n++] = (struct spawn_limit){RLIMIT_NOFILE, *nofile};
	for (size_t i = 0; i < process->n_limits && n < LAUNCH_LIMITS_MAX; i++)
		limits[n++] = (struct spawn_limit){process->limits[i].resource,
		                                   process->limits[i].value};
	return n;
}

/* Add the descriptor of readiness, at its number; 0 or -errno. */
static int
add_ready_fd(const struct launcher *launcher, const struct actor *actor,
             struct passed *passed)
{
	const struct conf_process *process = actor->conf->process;

	if (process->readiness.sign != READY_BY_FD)
		return 0;
	passed->ready_fd = readiness_open(launcher->messages->readiness, actor);
	if (passed->ready_fd < 0)
		return passed->ready_fd;
	while (passed->n < (size_t)process->readiness.fd - 3)
		passed->fds[passed->n++] = SPAWN_FD_CLOSED;
	passed->names[passed->n] = "ready";
	passed->fds[passed->n++] = passed->ready_fd;
	return 0;
}

/* Stored descriptors come last.  Where there are some, LISTEN_FDS counts the descriptor
 * of readiness before them, too. */
static void
add_stored(const struct launcher *launcher, const struct actor *actor,
           struct passed *passed)
{
	size_t n = stores_of(launcher->messages->stores, actor->ref,
	                     passed->fds + passed->n, passed->names + passed->n);

	passed->n += n;
	if (n > 0)
		passed->n_listen = passed->n;
}

static int
find_passed(const struct launcher *launcher, const struct actor *actor,
            struct passed *ret)
{
	enum helper_name helper;
	struct mailbox *mailbox;

	*ret = (struct passed){.ready_fd = -1};
	if (system_is_helper(launcher->system, actor, &helper)) {
		ret->fds[0] = ret->ready_fd =
		    helpers_launch(launcher->sockets->helpers, helper);
		ret->n = 1;
		return ret->ready_fd < 0 ? ret->ready_fd : 0;
	}
	if (system_has(actor)) {
		output_log_fds(launcher->messages->output, ret->fds);
		ret->n = 4;
		return 0;
	}
	for (size_t i = 0;
	     (mailbox = standin_hand_over(launcher->sockets, actor, i)) != NULL; i++) {
		ret->fds[ret->n] = mailbox->fd;
		ret->names[ret->n++] = mailbox->socket->name;
	}
	ret->n_listen = ret->n;
	int r = add_ready_fd(launcher, actor, ret);
	add_stored(launcher, actor, ret);
	return r;
}

/* What the child is to be. */
static void
fill_spawn(struct launch *launch, const struct actor *actor,
           const struct outputs *outputs, const struct program *program,
           struct spawn_trace *trace)
{
	const struct launcher *launcher = launch->launcher;
	const struct conf_process *process = actor->conf->process;

	launch->fds[0] = outputs->in;
	launch->fds[1] = outputs->out.fd;
	launch->fds[2] = outputs->err.fd;
	for (size_t i = 0; i < program->passed.n; i++)
		launch->fds[3 + i] = program->passed.fds[i];
	launch->spawn = (struct spawn){
	    .file = program->file,
	    .path = environment_get(&launch->environment, "PATH"),
	    .argv = program->argv,
	    .envp = launch->environment.vars,
	    .listen_pid = program->listen_pid,
	    .watchdog_pid = program->watchdog_pid,
	    .files = {outputs->in_file, outputs->out.file, outputs->err.file},
	    .environment_files = process->world.environment_files,
	    .on_file = environment_take_file,
	    .on_file_data = &launch->environment,
	    .room = launch->environment.room,
	    .room_size = ENVFILE_BYTES_MAX + 1,
	    .fds = launch->fds,
	    .n_fds = 3 + program->passed.n,
	    .cgroup_fd = program->cgroup_fd,
	    .has_ids = process->identity.has_user,
	    .uid = process->identity.uid,
	    .gid = process->identity.gid,
	    .groups = process->identity.groups,
	    .n_groups = process->identity.n_groups,
	    .limits = launch->limits,
	    .n_limits = fill_limits(&launcher->origin->nofile, process, launch->limits),
	    .attributes = &process->attributes,
	    .root = process->world.root,
	    .is_apart = program->is_limited,
	    .keeps_oom = system_is_spared(launcher->system, actor),
	    .umask = process->world.umask,
	    .trace = trace,
	    .directory =
	        process->world.directory != NULL ? process->world.directory : "/",
	};
	ASSERT(launch->spawn.n_fds <= SPAWN_FDS_MAX);
	ASSERT(process->identity.unknown == NULL);
}

/* True if the processes of this actor live in a cgroup of its own. */
bool
launch_in_cgroup(const struct cgroup_root *cgroups, const struct actor *actor)
{
	return actor->conf->process->containment != CONTAINMENT_SESSION &&
	       cgroups->fd >= 0;
}

/* The containment for one more life; a cgroup that the actor has already is used again.
 */
static int
open_containment(const struct launcher *launcher, const struct actor *actor,
                 struct proc_mark mark, struct containment *containment,
                 int *ret_cgroup_fd)
{
	const bool in_cgroup = launch_in_cgroup(launcher->cgroups, actor);
	const bool limited = in_cgroup && limiting_is_wanted(launcher->cgroups, actor);
	int r = 0;

	if (containment->is_cgroup && (!in_cgroup || containment->is_limited != limited))
		r = containment_close(containment, launcher->cgroups);
	if (r == -EBUSY)
		return r;
	if (!containment->is_cgroup)
		r = limited ? containment_open_limited(containment, launcher->cgroups,
		                                       actor->path, mark)
		            : containment_open(containment,
		                               in_cgroup ? launcher->cgroups : NULL,
		                               actor->path, mark);
	if (r < 0)
		return r;
	containment->mark = mark;
	return containment_prepare(containment, launcher->cgroups, ret_cgroup_fd);
}

/* Draw the secret in the marks of this supd, which every guardian after this one takes
 * over.  0 or -errno: without it strangers could speak for actors. */
int
launch_draw_secret(struct ledger_facts *facts)
{
	ssize_t n;

	do {
		n = getrandom(facts->secret, sizeof(facts->secret), 0);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(facts->secret) ? 0 : -errno;
}

/* Clone into the containment, which was prepared. */
static int
begin_spawn(struct launch *launch, struct containment *containment,
            struct spawn_place **ret_place, struct spawn_result *ret)
{
	const struct launcher *launcher = launch->launcher;
	struct spawn *spawn = &launch->spawn;
	int r = os_spawn_begin(launcher->spawner, spawn, ret_place, ret);

	/* A leaf that was kept open may have been removed by hand. */
	if ((r == -ENOENT || r == -ENODEV) && spawn->cgroup_fd >= 0 &&
	    containment_prepare_again(containment, launcher->cgroups,
	                              &spawn->cgroup_fd) == 0)
		r = os_spawn_begin(launcher->spawner, spawn, ret_place, ret);
	return r;
}

/*
 * Begin to start one process of the actor; its containment is opened in any case and is
 * the caller's to close.  0 with its place: os_spawn_is_over() tells when os_spawn_end()
 * is to follow, and until then the launch, the actor's configuration and the intent are
 * the child's.  Or -errno with result.step saying what failed.
 */
int
launch_begin(struct launching *launching, const struct actor *actor, uint32_t life,
             struct containment *containment)
{
	struct launch *launch = launching->launch;
	struct spawn_result *ret = &launching->result;
	const struct launcher *launcher = launch->launcher;
	struct program program = {
	    .passed.ready_fd = -1,
	    /* The binary that runs, whatever is on the disk by now.  A child finds it by
	     * its own name: its guardian may die before. */
	    .file = system_has(actor) ? "/proc/self/exe" : actor->conf->argv[0],
	    .argv = actor->conf->argv,
	    .cgroup_fd = -1,
	};
	struct outputs outputs;
	const struct proc_mark mark = {launcher->facts->secret, actor->ref.slot, life};

	*ret = (struct spawn_result){.pid = -1, .pidfd = -1, .which = -1, .said = ""};
	ret->step = SPAWN_STEP_CGROUP;
	int r = open_containment(launcher, actor, mark, containment, &program.cgroup_fd);
	if (r == 0)
		r = limiting_apply(launcher->cgroups,
		                   conf_of_actor(launcher->actors, actor), actor,
		                   containment, &ret->which);
	if (r < 0)
		goto done;
	program.is_limited = containment->is_limited;
	r = identity_settle(launcher, actor, &ret->step);
	if (r < 0)
		goto done;
	r = mailboxes_reopen(launcher->sockets, actor);
	if (r < 0) {
		ret->step = SPAWN_STEP_SOCKET;
		goto done;
	}
	r = find_passed(launcher, actor, &program.passed);
	if (r < 0) {
		ret->step = SPAWN_STEP_FDS;
		goto done;
	}
	ret->step = SPAWN_STEP_ENVIRONMENT;
	r = build_environment(launch, actor, proc_mark_text(&mark).text, &program,
	                      &ret->step);
	if (r < 0)
		goto done;
	r = outputs_open(launcher->messages->output, actor, false, &outputs, &ret->step);
	if (r < 0)
		goto done;
	fill_spawn(launch, actor, &outputs, &program, &launching->intent->trace);
	r = begin_spawn(launch, containment, &launching->place, ret);
	outputs_close(&outputs);
done:
	fd_close(&program.passed.ready_fd);
	containment_begun(containment, launcher->cgroups);
	return r;
}

/*
 * Begin to start another command, as the actor's own would be: with its user, its
 * directory, its output, but nothing to read and none of its sockets.  The environment
 * was built by the caller, in the launch.  As launch_begin().
 */
int
launch_helper(struct launching *launching, const struct actor *actor, char **argv,
              int cgroup_fd)
{
	struct launch *launch = launching->launch;
	struct spawn_result *ret = &launching->result;
	const struct launcher *launcher = launch->launcher;
	struct outputs outputs;

	*ret = (struct spawn_result){.pid = -1, .pidfd = -1, .which = -1, .said = ""};
	int r =
	    outputs_open(launcher->messages->output, actor, true, &outputs, &ret->step);
	if (r < 0)
		return r;
	fill_spawn(launch, actor, &outputs,
	           &(const struct program){
	               .file = argv[0], .argv = argv, .cgroup_fd = cgroup_fd},
	           &launching->intent->trace);
	r = os_spawn_begin(launcher->spawner, &launch->spawn, &launching->place, ret);
	outputs_close(&outputs);
	return r;
}
