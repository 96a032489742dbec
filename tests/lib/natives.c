/* SPDX-License-Identifier: ISC */
/* natives.c - to be preloaded under valgrind: system calls that it does not know are made
 * beside it.
 *
 * valgrind 3.19 answers ENOSYS to pidfd_open, pidfd_send_signal and openat2, and ends a
 * program that forks with shared descriptors.  None of them writes into the memory of its
 * caller, so that memcheck misses nothing.
 */
#include "config.h"

#include <asm/prctl.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

#ifdef __x86_64__

struct call {
	long number;
	long arguments[6];
};

/* A system call as it is. valgrind runs this outside of the program's thread: neither
 * errno nor what guards the stack is there. */
__attribute__((no_stack_protector)) static long
make_call(const struct call *call)
{
	register long r10 __asm__("r10") = call->arguments[3];
	register long r8 __asm__("r8") = call->arguments[4];
	register long r9 __asm__("r9") = call->arguments[5];
	long r;

	__asm__ volatile("syscall"
	                 : "=a"(r)
	                 : "a"(call->number), "D"(call->arguments[0]),
	                   "S"(call->arguments[1]), "d"(call->arguments[2]), "r"(r10),
	                   "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return r;
}

/* What valgrind calls; its own number of the thread comes first. */
__attribute__((no_stack_protector)) static long
make_beside(long thread, const struct call *call)
{
	(void)thread;
	return make_call(call);
}

static bool
is_unknown(long number)
{
	return number == SYS_pidfd_open || number == SYS_pidfd_send_signal ||
	       number == SYS_openat2;
}

static long
result(long r)
{
	if (r >= 0 || r < -4095)
		return r;
	errno = (int)-r;
	return -1;
}

/* The system call, beside valgrind where need be; -errno. */
static long
lead(const struct call *call)
{
	if (is_unknown(call->number) && RUNNING_ON_VALGRIND)
		return (long)VALGRIND_NON_SIMD_CALL1(make_beside, call);
	return make_call(call);
}

/* Instead of that of clone3.h. */
long I_REPLACE_SONAME_FNNAME_ZU(NONE, os_quiet_syscall)(long number, long a, long b,
                                                        long c, long d, long e);

long
I_REPLACE_SONAME_FNNAME_ZU(NONE, os_quiet_syscall)(long number, long a, long b, long c,
                                                   long d, long e)
{
	return lead(&(struct call){number, {a, b, c, d, e, 0}});
}

/* Instead of the C library's. */
long
syscall(long number, ...)
{
	struct call call = {.number = number};
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		call.arguments[i] = va_arg(list, long);
	va_end(list);
	return result(lead(&call));
}

/* A child with our descriptors and a copy of our memory. */
struct child {
	struct call clone;
	struct call set_thread;
	int (*fn)(void *);
	void *argument;
};

/* The child stays beside valgrind, of which it knows no lock; first it finds its errno
 * again. */
__attribute__((no_stack_protector)) static long
clone_beside(long thread, const struct child *child)
{
	const long r = make_beside(thread, &child->clone);

	if (r == 0) {
		(void)make_call(&child->set_thread);
		_exit(child->fn(child->argument));
	}
	return r;
}

/* Instead of the C library's, as bounded.c calls it; the child does without the stack. */
int
clone(int (*fn)(void *), void *stack, int flags, void *argument, ...)
{
	struct child child = {
	    .clone = {SYS_clone, {flags}},
	    .set_thread = {SYS_arch_prctl,
	                   {ARCH_SET_FS, (long)(intptr_t)__builtin_thread_pointer()}},
	    .fn = fn,
	    .argument = argument,
	};

	(void)stack;
	if (RUNNING_ON_VALGRIND && flags == (CLONE_FILES | SIGCHLD))
		return (int)result((long)VALGRIND_NON_SIMD_CALL1(clone_beside, &child));
	errno = ENOSYS;
	return -1;
}

#endif
