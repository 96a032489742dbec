/* SPDX-License-Identifier: ISC */
/* bare.c - what the machine allows: bare N CHILD RESULTS
 *
 * Starts N children and starts each again when it dies, and nothing else: clone with
 * vfork semantics and a pidfd, exec, epoll, waitid.  SIGTERM: stop all of them, reap
 * them, end.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN_MAX 100000
#define BATCH        64
#define STACK_BYTES  (64 * 1024)
#define STOP_TAG     UINT32_MAX

struct child {
	pid_t pid;
	int pidfd;
};

struct bare {
	int epoll_fd;
	uint32_t n;
	struct child *children;
	char *stack;   /* of the child until it has exec'd */
	char *argv[4]; /* CHILD RESULTS INDEX NULL */
	char index[16];
	sigset_t no_signals;
};

static void
give_up(const char *what)
{
	perror(what);
	exit(1);
}

static int
become_child(void *context)
{
	const struct bare *bare = context;

	(void)sigprocmask(SIG_SETMASK, &bare->no_signals, NULL);
	(void)execv(bare->argv[0], bare->argv);
	_exit(127);
}

static void
start_child(struct bare *bare, uint32_t i)
{
	const int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
	struct child *child = &bare->children[i];

	(void)snprintf(bare->index, sizeof(bare->index), "%u", i);
	child->pid =
	    clone(become_child, bare->stack + STACK_BYTES, flags, bare, &child->pidfd);
	if (child->pid < 0)
		give_up("clone");
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

int
main(int argc, char **argv)
{
	struct bare bare = {0};
	unsigned long n = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;

	if (n < 1 || n > CHILDREN_MAX) {
		(void)fprintf(stderr, "usage: bare N CHILD RESULTS\n");
		return 64;
	}
	bare.n = (uint32_t)n;
	bare.children = calloc(n, sizeof(*bare.children));
	bare.stack = malloc(STACK_BYTES);
	bare.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (bare.children == NULL || bare.stack == NULL || bare.epoll_fd < 0)
		give_up("bare");
	bare.argv[0] = argv[2];
	bare.argv[1] = argv[3];
	bare.argv[2] = bare.index;
	(void)sigemptyset(&bare.no_signals);
	watch_sigterm(&bare);
	for (uint32_t i = 0; i < bare.n; i++)
		start_child(&bare, i);
	run(&bare);
	stop(&bare);
	free(bare.children);
	free(bare.stack);
	return 0;
}
