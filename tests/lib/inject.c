/* SPDX-License-Identifier: ISC */
/* inject.c - makes a process do what no test could bring about from outside.
 *
 * usage: inject PID spin         it executes one instruction for ever
 *        inject PID open PATH    its next system call opens PATH, whatever comes of that
 *
 * The process is to be in a system call, waiting.  It is stopped, its registers are
 * changed, and it is let go: what it does afterwards makes no sense, so it is to be
 * killed.  A process that says first that it has woken up has said so, as nothing hangs
 * that was not woken up.  Exit status 77: not on this machine.
 */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Below what the compiler may use under the stack pointer. */
#define STACK_BYTES 4096

#if defined(__x86_64__)
#define HERE
/* jmp to itself */
#define SPIN       0xfeeb
#define SPIN_BITS  16
#define CALL_BYTES 2
#define PLACE      rip
#define STACK      rsp
#define CALL       orig_rax

/* Let the process repeat its last system call with these arguments. */
static void
set_call(struct user_regs_struct *regs, long number, const uint64_t arguments[3])
{
	regs->rip -= CALL_BYTES;
	regs->rax = (uint64_t)number;
	regs->rdi = arguments[0];
	regs->rsi = arguments[1];
	regs->rdx = arguments[2];
}

/* Nothing is begun again. */
static void
end_call(struct user_regs_struct *regs)
{
	regs->orig_rax = (uint64_t)-1;
}
#elif defined(__aarch64__)
#define HERE
/* b to itself */
#define SPIN       0x14000000
#define SPIN_BITS  32
#define CALL_BYTES 4
#define PLACE      pc
#define STACK      sp
#define CALL       regs[8]

static void
set_call(struct user_regs_struct *regs, long number, const uint64_t arguments[3])
{
	regs->pc -= CALL_BYTES;
	regs->regs[8] = (uint64_t)number;
	for (int i = 0; i < 3; i++)
		regs->regs[i] = arguments[i];
}

static void
end_call(struct user_regs_struct *regs)
{
	(void)regs;
}
#endif

#ifdef HERE
#ifdef SYS_epoll_wait
#define EPOLL_WAIT SYS_epoll_wait
#else
#define EPOLL_WAIT SYS_epoll_pwait
#endif

static int
fail(const char *what)
{
	(void)fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
	return EXIT_FAILURE;
}

static int
poke_text(pid_t pid, uint64_t at, const char *text)
{
	const size_t bytes = strlen(text) + 1;

	for (size_t i = 0; i < bytes; i += sizeof(long)) {
		const size_t left = bytes - i;
		long word = 0;

		memcpy(&word, text + i, left < sizeof(word) ? left : sizeof(word));
		if (ptrace(PTRACE_POKEDATA, pid, (void *)(at + i), (void *)word) < 0)
			return -1;
	}
	return 0;
}

/* The next instruction of the process becomes a jump to itself, in a private copy of the
 * page. */
static int
spin(pid_t pid, struct user_regs_struct *regs)
{
	void *at = (void *)regs->PLACE;
	long word = ptrace(PTRACE_PEEKTEXT, pid, at, NULL);
	const unsigned long mask = (1UL << SPIN_BITS) - 1;

	end_call(regs);
	word = (long)(((unsigned long)word & ~mask) | SPIN);
	return (int)ptrace(PTRACE_POKETEXT, pid, at, (void *)word);
}

static int
change(pid_t pid, struct user_regs_struct *regs, const char *what, const char *path)
{
	const uint64_t room = (regs->STACK - STACK_BYTES) & ~UINT64_C(15);

	if (strcmp(what, "spin") == 0)
		return spin(pid, regs);
	if (path == NULL || poke_text(pid, room, path) < 0)
		return -1;
	end_call(regs);
	set_call(regs, SYS_openat,
	         (const uint64_t[]){(uint64_t)AT_FDCWD, room, O_RDONLY});
	return 0;
}

/* Let it go on to the next stop. */
static bool
go(pid_t pid, int request)
{
	return ptrace(request, pid, NULL, NULL) == 0 && waitpid(pid, NULL, __WALL) == pid;
}

/* The first call after it has woken up is over, unless that only waits again. */
static bool
pass_a_call(pid_t pid, struct user_regs_struct *regs, struct iovec *area)
{
	if (!go(pid, PTRACE_SYSCALL) ||
	    ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)NT_PRSTATUS, area) < 0)
		return false;
	if (regs->CALL != SYS_epoll_pwait && regs->CALL != EPOLL_WAIT)
		return go(pid, PTRACE_SYSCALL);
	return ptrace(PTRACE_CONT, pid, NULL, NULL) == 0 && go(pid, PTRACE_INTERRUPT);
}

static int
inject(pid_t pid, const char *what, const char *path)
{
	struct user_regs_struct regs;
	struct iovec area = {&regs, sizeof(regs)};
	void *const status = (void *)(uintptr_t)NT_PRSTATUS;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		return errno == EPERM ? 77 : fail("seize");
	if (!go(pid, PTRACE_INTERRUPT) || !pass_a_call(pid, &regs, &area))
		return fail("interrupt");
	if (ptrace(PTRACE_GETREGSET, pid, status, &area) < 0)
		return fail("look at the registers");
	if (change(pid, &regs, what, path) < 0)
		return fail("change it");
	if (ptrace(PTRACE_SETREGSET, pid, status, &area) < 0 ||
	    ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0)
		return fail("let it go");
	return EXIT_SUCCESS;
}
#else
static int
inject(pid_t pid, const char *what, const char *path)
{
	(void)pid;
	(void)what;
	(void)path;
	return 77;
}
#endif

int
main(int argc, char **argv)
{
	if (argc < 3)
		return EXIT_FAILURE;
	return inject((pid_t)atoi(argv[1]), argv[2], argc > 3 ? argv[3] : NULL);
}
