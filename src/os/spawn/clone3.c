/* SPDX-License-Identifier: ISC */
/* clone3.c - the clone3 system call with a stack of the child's own. */
#include "config.h"

#include "os/spawn/clone3.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A sanitizer's shadow memory must not be shared with a child; see spawn.c. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(SYS_clone3) && !defined(SANITIZED) && defined(__x86_64__) && defined(__LP64__)

static long
enter(struct clone_args *args, int (*fn)(void *), void *arg)
{
	register int (*in_r12)(void *) __asm__("r12") = fn;
	register void *in_r13 __asm__("r13") = arg;
	long r;

	__asm__ volatile("syscall\n\t"
	                 "testq %%rax, %%rax\n\t"
	                 "jnz 1f\n\t"
	                 "xorl %%ebp, %%ebp\n\t"
	                 "andq $-16, %%rsp\n\t"
	                 "movq %%r13, %%rdi\n\t"
	                 "call *%%r12\n\t"
	                 "ud2\n"
	                 "1:"
	                 : "=a"(r)
	                 : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(in_r12),
	                   "r"(in_r13)
	                 : "rcx", "r11", "memory", "cc");
	return r;
}

static long
call(long number, long a, long b, long c, long d, long e)
{
	register long in_r10 __asm__("r10") = d;
	register long in_r8 __asm__("r8") = e;
	long r;

	__asm__ volatile("syscall"
	                 : "=a"(r)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(in_r10), "r"(in_r8)
	                 : "rcx", "r11", "memory", "cc");
	return r;
}

#elif defined(SYS_clone3) && !defined(SANITIZED) && defined(__aarch64__)

static long
enter(struct clone_args *args, int (*fn)(void *), void *arg)
{
	register long in_x0 __asm__("x0") = (long)args;
	register size_t in_x1 __asm__("x1") = sizeof(*args);
	register long in_x8 __asm__("x8") = SYS_clone3;
	register int (*in_x19)(void *) __asm__("x19") = fn;
	register void *in_x20 __asm__("x20") = arg;

	__asm__ volatile("svc #0\n\t"
	                 "cbnz x0, 1f\n\t"
	                 "mov x29, #0\n\t"
	                 "mov x0, x20\n\t"
	                 "blr x19\n\t"
	                 "brk #1\n"
	                 "1:"
	                 : "+r"(in_x0)
	                 : "r"(in_x1), "r"(in_x8), "r"(in_x19), "r"(in_x20)
	                 : "memory", "cc");
	return in_x0;
}

static long
call(long number, long a, long b, long c, long d, long e)
{
	register long in_x0 __asm__("x0") = a;
	register long in_x1 __asm__("x1") = b;
	register long in_x2 __asm__("x2") = c;
	register long in_x3 __asm__("x3") = d;
	register long in_x4 __asm__("x4") = e;
	register long in_x8 __asm__("x8") = number;

	__asm__ volatile("svc #0"
	                 : "+r"(in_x0)
	                 : "r"(in_x1), "r"(in_x2), "r"(in_x3), "r"(in_x4), "r"(in_x8)
	                 : "memory", "cc");
	return in_x0;
}

#else

#define NO_ENTRY 1

static long
enter(struct clone_args *args UNUSED, int (*fn)(void *), void *arg UNUSED)
{
	(void)fn;
	return -ENOSYS;
}

/* A child of this process has a copy of its memory, and so an errno of its own. */
static long
call(long number, long a, long b, long c, long d, long e)
{
	const long r = syscall(number, a, b, c, d, e);

	return r < 0 ? -errno : r;
}

#endif

/* True if the kernel lets us.  A filter of system calls may not, on any kernel. */
bool
os_clone3_exists(void)
{
#ifdef NO_ENTRY
	return false;
#else
	/* A kernel that has clone3 finds a size of 0 invalid. */
	return syscall(SYS_clone3, NULL, (size_t)0) < 0 && errno == EINVAL;
#endif
}

/*
 * Start a child that runs fn(arg) on the stack in args, which must be set, and never
 * returns from it.  Returns its pid, or -errno; -ENOSYS where os_clone3_exists() says no.
 */
pid_t
os_clone3(struct clone_args *args, int (*fn)(void *), void *arg)
{
	return (pid_t)enter(args, fn, arg);
}

/*
 * A system call of up to five arguments that leaves errno alone where os_clone3() makes
 * children that share it with us.  Returns what the kernel returns, -errno included.
 */
long
os_quiet_syscall(long number, long a, long b, long c, long d, long e)
{
	return call(number, a, b, c, d, e);
}
