/* SPDX-License-Identifier: ISC */
/* bare.c - what the machine allows: bare copy|share|overlap N CHILD RESULTS [CGROUP]
 *
 * Starts N children and starts each again when it dies, and nothing else: clone with a
 * pidfd, exec, epoll, waitid.  SIGTERM: stop all of them, reap them, end.
 *
 *	copy     vfork semantics; the child gets a copy of the table of descriptors
 *	share    the child shares the table, and leaves it with close_range(2)
 *	overlap  the same, and a session of its own; 16 of them at once are between clone
 *	         and exec, instead of one for which the loop waits
 *
 * With the directory of a cgroup each child has a cgroup of its own in it, and writes
 * into a pipe of its own, of which one descriptor has both ends: the system calls that
 * such a child cannot be had without.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/spawn/clone3.h"

#define CHILDREN_MAX 100000
#define BATCH        64
#define STACK_BYTES  (64 * 1024)
#define STOP_TAG     UINT32_MAX
#define PLACES       16
/* Here the outputs of children wait for them. */
#define OUTPUTS 100

struct child {
	pid_t pid;
	int pidfd;
	int cgroup; /* its directory; 0: none */
	int output;
};

enum mode { MODE_COPY, MODE_SHARE, MODE_OVERLAP, MODE_MAX };

static const char *const mode_names[] = {"copy", "share", "overlap"};

/* What a child needs until it has exec'd. */
struct place {
	enum mode mode;
	uint32_t in_use; /* cleared by the kernel */
	int output;      /* in the table; 0: none */
	char *stack;
	char *argv[4]; /* CHILD RESULTS INDEX NULL */
	char index[16];
};

struct bare {
	int epoll_fd;
	enum mode mode;
	uint32_t n;
	uint32_t next; /* place */
	int cgroups;   /* the directory; -1: none */
	struct child *children;
	struct place places[PLACES];
};

static void
give_up(const char *what)
{
	perror(what);
	exit(1);
}

/* In memory that is the parent's, too: system calls and nothing else. */
static int
become_child(void *context)
{
	struct place *place = context;
	const uint64_t no_signals = 0;

	if (place->mode == MODE_OVERLAP)
		(void)syscall(SYS_setsid);
	if (place->output != 0) {
		(void)syscall(SYS_close_range, OUTPUTS + PLACES, ~0U,
		              CLOSE_RANGE_UNSHARE);
		(void)syscall(SYS_dup2, place->output, 1);
		(void)syscall(SYS_dup2, place->output, 2);
		(void)syscall(SYS_close_range, 3, ~0U, 0);
	} else if (place->mode != MODE_COPY) {
		(void)syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_UNSHARE);
	}
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL,
	              sizeof(no_signals));
	(void)syscall(SYS_execve, place->argv[0], place->argv, NULL);
	(void)syscall(SYS_exit, 127);
	return 127;
}

/* The next place, once its last child has exec'd. */
static struct place *
take_place(struct bare *bare)
{
	struct place *place = &bare->places[bare->next];
	uint32_t in_use;

	if (bare->mode == MODE_OVERLAP)
		bare->next = (bare->next + 1) % PLACES;
	while ((in_use = __atomic_load_n(&place->in_use, __ATOMIC_ACQUIRE)) != 0)
		(void)syscall(SYS_futex, &place->in_use, FUTEX_WAIT, in_use, NULL, NULL,
		              0);
	return place;
}

/* Its cgroup, and its pipe, with the first start. */
static void
contain(const struct bare *bare, struct place *place, struct child *child)
{
	char both[32];
	int ends[2];

	if (bare->cgroups < 0)
		return;
	if (child->cgroup == 0) {
		if (mkdirat(bare->cgroups, place->index, 0755) < 0 ||
		    pipe2(ends, O_CLOEXEC) < 0)
			give_up("cgroup and pipe");
		child->cgroup = openat(bare->cgroups, place->index, O_RDONLY | O_CLOEXEC);
		(void)snprintf(both, sizeof(both), "/proc/self/fd/%d", ends[1]);
		child->output = open(both, O_RDWR | O_CLOEXEC);
		if (child->cgroup < 0 || child->output < 0)
			give_up("cgroup and pipe");
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
	place->output = OUTPUTS + (int)(place - bare->places);
	if (dup3(child->output, place->output, O_CLOEXEC) < 0)
		give_up("dup3");
}

/* The cgroups are empty. */
static void
remove_cgroups(const struct bare *bare)
{
	char name[16];

	for (uint32_t i = 0; bare->cgroups >= 0 && i < bare->n; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		(void)unlinkat(bare->cgroups, name, AT_REMOVEDIR);
	}
}

static void
start_child(struct bare *bare, uint32_t i)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
	struct child *child = &bare->children[i];
	struct place *place = take_place(bare);
	struct clone_args args = {
	    .flags = CLONE_VM | CLONE_PIDFD,
	    .exit_signal = SIGCHLD,
	    .pidfd = (uintptr_t)&child->pidfd,
	    .child_tid = (uintptr_t)&place->in_use,
	    .stack = (uintptr_t)place->stack,
	    .stack_size = STACK_BYTES,
	};

	args.flags |= bare->mode == MODE_COPY ? 0 : CLONE_FILES;
	args.flags |= bare->mode == MODE_OVERLAP ? CLONE_CHILD_CLEARTID : CLONE_VFORK;
	place->in_use = bare->mode == MODE_OVERLAP;
	(void)snprintf(place->index, sizeof(place->index), "%u", i);
	contain(bare, place, child);
	if (child->cgroup > 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned int)child->cgroup;
	}
	child->pid = os_clone3(&args, become_child, place);
	if (child->pid < 0)
		give_up("clone3");
	if (epoll_ctl(bare->epoll_fd, EPOLL_CTL_ADD, child->pidfd, &event) < 0)
		give_up("epoll_ctl");
}

/* True if it was dead and is reaped now. */
static bool
reap_child(struct bare *bare, uint32_t i)
{
	struct child *child = &bare->children[i];
	siginfo_t info = {0};

	if (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG) < 0 ||
	    info.si_pid == 0)
		return false;
	/* A child on its way to exec may hold a copy: close alone would not do. */
	(void)epoll_ctl(bare->epoll_fd, EPOLL_CTL_DEL, child->pidfd, NULL);
	(void)close(child->pidfd);
	child->pid = 0;
	return true;
}

static void
run(struct bare *bare)
{
	struct epoll_event events[BATCH];

	for (;;) {
		int n = epoll_wait(bare->epoll_fd, events, BATCH, -1);

		for (int k = 0; k < n; k++) {
			if (events[k].data.u32 == STOP_TAG)
				return;
			if (reap_child(bare, events[k].data.u32))
				start_child(bare, events[k].data.u32);
		}
	}
}

static void
stop(struct bare *bare)
{
	uint32_t left = bare->n;
	struct epoll_event events[BATCH];

	for (uint32_t i = 0; i < bare->n; i++)
		(void)kill(bare->children[i].pid, SIGTERM);
	while (left > 0) {
		int n = epoll_wait(bare->epoll_fd, events, BATCH, -1);

		for (int k = 0; k < n; k++) {
			if (events[k].data.u32 != STOP_TAG &&
			    reap_child(bare, events[k].data.u32))
				left--;
		}
	}
}

static void
watch_sigterm(const struct bare *bare)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = STOP_TAG};
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0 || epoll_ctl(bare->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		give_up("signalfd");
}

static void
make_places(struct bare *bare, char **argv)
{
	for (int i = 0; i < PLACES; i++) {
		struct place *place = &bare->places[i];

		*place = (struct place){.mode = bare->mode, .stack = malloc(STACK_BYTES)};
		if (place->stack == NULL)
			give_up("bare");
		place->argv[0] = argv[0];
		place->argv[1] = argv[1];
		place->argv[2] = place->index;
	}
}

int
main(int argc, char **argv)
{
	struct bare bare = {.mode = MODE_MAX, .cgroups = -1};
	unsigned long n = argc == 5 || argc == 6 ? strtoul(argv[2], NULL, 10) : 0;

	for (int i = 0; n > 0 && i < MODE_MAX; i++)
		if (strcmp(argv[1], mode_names[i]) == 0)
			bare.mode = (enum mode)i;
	if (n < 1 || n > CHILDREN_MAX || bare.mode == MODE_MAX) {
		(void)fprintf(
		    stderr, "usage: bare copy|share|overlap N CHILD RESULTS [CGROUP]\n");
		return 64;
	}
	bare.n = (uint32_t)n;
	bare.children = calloc(n, sizeof(*bare.children));
	bare.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (bare.children == NULL || bare.epoll_fd < 0)
		give_up("bare");
	if (argc == 6)
		bare.cgroups = open(argv[5], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (argc == 6 && bare.cgroups < 0)
		give_up(argv[5]);
	/* Descriptors from here on are not among those that wait for children. */
	if (bare.cgroups >= 0)
		for (int fd = bare.cgroups + 1; fd < OUTPUTS + PLACES;)
			fd = dup(bare.cgroups);
	make_places(&bare, argv + 3);
	watch_sigterm(&bare);
	for (uint32_t i = 0; i < bare.n; i++)
		start_child(&bare, i);
	run(&bare);
	stop(&bare);
	remove_cgroups(&bare);
	free(bare.children);
	for (int i = 0; i < PLACES; i++)
		free(bare.places[i].stack);
	return 0;
}
