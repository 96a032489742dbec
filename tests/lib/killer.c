/* SPDX-License-Identifier: ISC */
/* killer.c - ends a process at a chosen system call, to see whether it matters.
 *
 * killer [-v] [-w] [-t TIMES] PID N [SIGNAL]     end PID at its N-th stop from now
 * killer [-v] [-w] [-t TIMES] PID NAME [SIGNAL]  ... at the entry of that system call
 * killer [-v] [-w] [-t TIMES] PID NAME:KIND ...  ... or at its exit, or at a birth in it
 * killer [-v] [-w] PID count                     count its stops until stdin ends
 *
 * A stop is the entry of a system call, its exit, and the moment in between at which a
 * new child exists that has not run yet ("born").  The target's own children run on
 * untouched.  With -w PID is the parent of the targets: each child of it is a target from
 * its birth on, and TIMES of them are ended, one after the other, each at its N-th stop.
 * No target is a child that shares the descriptors of its parent, to close some of them,
 * nor any that is born while a target lives.
 *
 * stdout: "attached" once stops are counted; "killed PID N entry|born|exit NAME"; "ended
 * PID N" if a target ended by itself after N stops.  At the end of stdin: "stops N" and a
 * line "NAME TIMES" for each system call; then everything is let go.  With -v every stop
 * is told, too.
 */
#include "config.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL_MAX  1024
#define EARLY_MAX 16

#define FORKS   (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)
#define OPTIONS (FORKS | PTRACE_O_TRACESYSGOOD)

struct killer {
	pid_t parent;          /* of the targets, 0 without -w */
	pid_t target;          /* 0: none lives */
	long kill_at;          /* 0: not by number */
	const char *kill_name; /* NULL: not by name */
	const char *kill_kind;
	int signo;
	long times;
	bool talks;
	long n_stops;
	size_t call; /* the system call that the target is in */
	long calls[CALL_MAX];
	pid_t early[EARLY_MAX]; /* children seen before their parent told of them */
};

static const struct {
	long number;
	const char *name;
} known[] = {
    {SYS_accept4, "accept4"},
    {SYS_bind, "bind"},
    {SYS_brk, "brk"},
    {SYS_clock_gettime, "clock_gettime"},
    {SYS_clone, "clone"},
    {SYS_clone3, "clone3"},
    {SYS_close, "close"},
    {SYS_close_range, "close_range"},
    {SYS_connect, "connect"},
    {SYS_dup3, "dup3"},
    {SYS_epoll_create1, "epoll_create1"},
    {SYS_epoll_ctl, "epoll_ctl"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_eventfd2, "eventfd2"},
    {SYS_execve, "execve"},
    {SYS_execveat, "execveat"},
    {SYS_exit_group, "exit_group"},
    {SYS_faccessat, "faccessat"},
    {SYS_fallocate, "fallocate"},
    {SYS_fchmod, "fchmod"},
    {SYS_fcntl, "fcntl"},
    {SYS_fstat, "fstat"},
    {SYS_fstatfs, "fstatfs"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_getcwd, "getcwd"},
    {SYS_getdents64, "getdents64"},
    {SYS_getpid, "getpid"},
    {SYS_getppid, "getppid"},
    {SYS_getrandom, "getrandom"},
    {SYS_getsockopt, "getsockopt"},
    {SYS_gettid, "gettid"},
    {SYS_ioctl, "ioctl"},
    {SYS_kill, "kill"},
    {SYS_listen, "listen"},
    {SYS_lseek, "lseek"},
    {SYS_madvise, "madvise"},
    {SYS_memfd_create, "memfd_create"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_mmap, "mmap"},
    {SYS_mprotect, "mprotect"},
    {SYS_mremap, "mremap"},
    {SYS_munmap, "munmap"},
    {SYS_newfstatat, "newfstatat"},
    {SYS_openat, "openat"},
    {SYS_pidfd_open, "pidfd_open"},
    {SYS_pidfd_send_signal, "pidfd_send_signal"},
    {SYS_pipe2, "pipe2"},
    {SYS_prctl, "prctl"},
    {SYS_pread64, "pread64"},
    {SYS_prlimit64, "prlimit64"},
    {SYS_read, "read"},
    {SYS_readlinkat, "readlinkat"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_rt_sigaction, "rt_sigaction"},
    {SYS_rt_sigprocmask, "rt_sigprocmask"},
    {SYS_rt_sigreturn, "rt_sigreturn"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_sendto, "sendto"},
    {SYS_set_robust_list, "set_robust_list"},
    {SYS_setsockopt, "setsockopt"},
    {SYS_signalfd4, "signalfd4"},
    {SYS_socket, "socket"},
    {SYS_socketpair, "socketpair"},
    {SYS_statx, "statx"},
    {SYS_timerfd_create, "timerfd_create"},
    {SYS_timerfd_settime, "timerfd_settime"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_waitid, "waitid"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "epoll_wait"},
#endif
#ifdef SYS_open
    {SYS_open, "open"},
    {SYS_access, "access"},
    {SYS_readlink, "readlink"},
    {SYS_mkdir, "mkdir"},
    {SYS_unlink, "unlink"},
    {SYS_chmod, "chmod"},
    {SYS_rmdir, "rmdir"},
    {SYS_rename, "rename"},
    {SYS_poll, "poll"},
    {SYS_arch_prctl, "arch_prctl"},
#endif
};

/* The name of a system call, or its number; `text` is for the latter. */
static const char *
call_name(size_t call, char text[24])
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].number == (long)call)
			return known[i].name;
	}
	snprintf(text, 24, "%zu", call);
	return text;
}

static void
fail(const char *what)
{
	fprintf(stderr, "killer: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Let a tracee go on; it may have been killed meanwhile, its end is then reported. */
static void
go_on(enum __ptrace_request request, pid_t pid, int signo)
{
	if (ptrace(request, pid, NULL, (void *)(intptr_t)signo) < 0 && errno != ESRCH)
		fail("ptrace");
}

static void
tell_stop(const struct killer *killer, const char *word, const char *kind)
{
	char text[24];

	printf("%s %d %ld %s %s\n", word, (int)killer->target, killer->n_stops, kind,
	       call_name(killer->call, text));
	fflush(stdout);
}

/*
 * End the target where it stands.  SIGKILL: what it was about to do does not happen.
 * Others come as they would by themselves, when the system call is over.
 */
static void
strike(struct killer *killer, const char *kind)
{
	pid_t pid = killer->target;

	kill(pid, killer->signo);
	if (killer->signo == SIGKILL) {
		while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	} else {
		go_on(PTRACE_DETACH, pid, 0);
	}
	tell_stop(killer, "killed", kind);
	killer->target = 0;
	killer->times--;
}

/* Count a stop of the target; is it the one? */
static bool
count_stop(struct killer *killer, const char *kind)
{
	char text[24];

	killer->n_stops++;
	if (killer->talks)
		tell_stop(killer, "stop", kind);
	if (killer->times <= 0)
		return false;
	if (killer->kill_name != NULL)
		return strcmp(kind, killer->kill_kind) == 0 &&
		       strcmp(call_name(killer->call, text), killer->kill_name) == 0;
	return killer->n_stops == killer->kill_at;
}

static void
on_call(struct killer *killer)
{
	struct __ptrace_syscall_info info = {0};
	const char *kind = "exit";

	if (ptrace(PTRACE_GET_SYSCALL_INFO, killer->target, sizeof(info), &info) < 0) {
		if (errno != ESRCH)
			fail("PTRACE_GET_SYSCALL_INFO");
		return;
	}
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		kind = "entry";
		killer->call = info.entry.nr < CALL_MAX ? info.entry.nr : CALL_MAX - 1;
		killer->calls[killer->call]++;
	}
	if (count_stop(killer, kind))
		strike(killer, kind);
	else
		go_on(PTRACE_SYSCALL, killer->target, 0);
}

/* Has this child's first stop been seen already? Forget the note of it. */
static bool
was_early(struct killer *killer, pid_t child)
{
	for (size_t i = 0; i < EARLY_MAX; i++) {
		if (killer->early[i] == child) {
			killer->early[i] = 0;
			return true;
		}
	}
	return false;
}

static void
note_early(struct killer *killer, pid_t child)
{
	for (size_t i = 0; i < EARLY_MAX; i++) {
		if (killer->early[i] == 0) {
			killer->early[i] = child;
			return;
		}
	}
	errno = EOVERFLOW;
	fail("too many children");
}

/* Has this child of the parent come to be a target, or only to do the parent's work?
 * Where the kernel cannot compare them it is a target. */
static bool
is_target(const struct killer *killer, pid_t child)
{
	return killer->times > 0 && killer->target == 0 &&
	       syscall(SYS_kcmp, killer->parent, child, KCMP_FILES, 0, 0) != 0;
}

/* `pid` has a new child: a target perhaps if pid is the parent, else it is let go at
 * once. */
static void
on_born(struct killer *killer, pid_t pid)
{
	unsigned long message = 0;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &message) < 0)
		return;
	pid_t child = (pid_t)message;
	if (!was_early(killer, child)) {
		while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
			;
	}
	if (pid == killer->parent) {
		if (is_target(killer, child)) {
			killer->target = child;
			killer->n_stops = 0;
			go_on(PTRACE_SYSCALL, child, 0);
		} else {
			go_on(PTRACE_DETACH, child, 0);
		}
		go_on(PTRACE_CONT, pid, 0);
		return;
	}
	/* The target dies before the child has run: it is an orphan from the beginning.
	 */
	if (count_stop(killer, "born"))
		strike(killer, "born");
	else
		go_on(PTRACE_SYSCALL, pid, 0);
	go_on(PTRACE_DETACH, child, 0);
}

static void
on_stop(struct killer *killer, pid_t pid, int status)
{
	enum __ptrace_request request =
	    pid == killer->target ? PTRACE_SYSCALL : PTRACE_CONT;
	int signo = WSTOPSIG(status);
	int event = status >> 16;

	if (pid != killer->target && pid != killer->parent)
		note_early(killer, pid);
	else if (signo == (SIGTRAP | 0x80))
		on_call(killer);
	else if (event == PTRACE_EVENT_STOP && signo != SIGTRAP)
		go_on(PTRACE_LISTEN, pid, 0);
	else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	         event == PTRACE_EVENT_CLONE)
		on_born(killer, pid);
	else
		go_on(request, pid, event == 0 ? signo : 0);
}

static void
on_end(struct killer *killer, pid_t pid)
{
	if (pid == killer->target) {
		printf("ended %d %ld\n", (int)pid, killer->n_stops);
		fflush(stdout);
		killer->target = 0;
	}
	if (pid == killer->parent)
		killer->times = 0;
}

/* Is there still something to do? */
static bool
take_all(struct killer *killer)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(status))
			on_stop(killer, pid, status);
		else
			on_end(killer, pid);
	}
	if (killer->parent == 0)
		return killer->target != 0;
	return killer->times > 0;
}

static void
summarize(const struct killer *killer)
{
	char text[24];

	printf("stops %ld\n", killer->n_stops);
	for (size_t i = 0; i < CALL_MAX; i++) {
		if (killer->calls[i] > 0)
			printf("%s %ld\n", call_name(i, text), killer->calls[i]);
	}
}

/* A traced process goes on unharmed when this program ends. */
static void
run(struct killer *killer, int signals)
{
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
	                        {.fd = signals, .events = POLLIN}};

	while (take_all(killer)) {
		struct signalfd_siginfo info;
		char byte;

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents != 0 && read(signals, &info, sizeof(info)) < 0)
			fail("signalfd");
		if (fds[0].revents != 0 && read(STDIN_FILENO, &byte, 1) <= 0)
			break;
	}
	summarize(killer);
}

static int
watch_children(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		fail("signalfd");
	return fd;
}

static int
signal_number(const char *name)
{
	for (int signo = 1; signo < NSIG; signo++) {
		const char *abbreviation = sigabbrev_np(signo);

		if (abbreviation != NULL && strcmp(abbreviation, name) == 0)
			return signo;
	}
	return SIGKILL;
}

/* "17", "count", "clone3" or "clone3:born". */
static void
aim(struct killer *killer, char *where)
{
	char *colon = strchr(where, ':');

	killer->kill_at = strtol(where, NULL, 10);
	if (killer->kill_at > 0 || strcmp(where, "count") == 0)
		return;
	killer->kill_name = where;
	killer->kill_kind = "entry";
	if (colon != NULL) {
		*colon = '\0';
		killer->kill_kind = colon + 1;
	}
}

int
main(int argc, char **argv)
{
	struct killer killer = {.signo = SIGKILL, .times = 1};
	bool of_parent = false;
	int option;

	while ((option = getopt(argc, argv, "vwt:")) != -1) {
		if (option == 'v')
			killer.talks = true;
		else if (option == 'w')
			of_parent = true;
		else if (option == 't')
			killer.times = strtol(optarg, NULL, 10);
		else
			return 64;
	}
	if (argc - optind < 2)
		return 64;
	pid_t pid = (pid_t)strtol(argv[optind], NULL, 10);
	aim(&killer, argv[optind + 1]);
	if (argc - optind > 2)
		killer.signo = signal_number(argv[optind + 2]);
	int signals = watch_children();
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(intptr_t)OPTIONS) < 0)
		fail("PTRACE_SEIZE");
	if (of_parent) {
		killer.parent = pid;
	} else {
		/* A stop, so that from there on system calls are stops. */
		killer.target = pid;
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
			fail("PTRACE_INTERRUPT");
		int status;
		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			return 1;
		on_stop(&killer, pid, status);
	}
	puts("attached");
	fflush(stdout);
	run(&killer, signals);
	return 0;
}
