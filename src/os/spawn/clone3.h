/* SPDX-License-Identifier: ISC */
/* clone3.h - the clone3 system call with a stack of the child's own.
 *
 * The C library does not offer it.  With CLONE_VM a child that returned from a function
 * on its parent's stack would destroy it, so the child enters `fn` on the new stack
 * straight from the kernel, and never leaves it.  Without CLONE_VM args->stack may be 0:
 * the child goes on, on its copy of the stack.
 */
#ifndef OS_SPAWN_CLONE3_H
#define OS_SPAWN_CLONE3_H

#include <linux/sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* Older kernel headers lack some. */
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

bool os_clone3_exists(void);
pid_t os_clone3(struct clone_args *args, int (*fn)(void *), void *arg);
long os_quiet_syscall(long number, long a, long b, long c, long d, long e);

#endif
