/* SPDX-License-Identifier: ISC */
/* child.c - the supervised process of the benchmark: child RESULTS INDEX
 *
 * Takes the time before anything else, writes {pid, time} into its slot of the results
 * file, and waits to be killed.  Without a C library, whose start would cost more than
 * everything that is to be measured.
 */
#include "config.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#define AT_FDCWD_ -100L
#define O_WRONLY_ 1L

#if defined(__x86_64__)

#define ENTRY                       \
	__asm__(".globl _start\n"   \
	        "_start:\n"         \
	        "	xor %ebp, %ebp\n" \
	        "	mov %rsp, %rdi\n" \
	        "	and $-16, %rsp\n" \
	        "	call child_main\n")

static long
call(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
	                 : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

#define ENTRY                     \
	__asm__(".globl _start\n" \
	        "_start:\n"       \
	        "	mov x29, #0\n"  \
	        "	mov x0, sp\n"   \
	        "	bl child_main\n")

static long
call(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc #0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
	                 : "memory");
	return x0;
}

#else
#error "bench/child.c: write the system call of this architecture"
#endif

ENTRY;

/* A slot of the results file, as bench.py reads it. */
struct slot {
	uint64_t pid;
	uint64_t start_ns;
};

static long
parse_number(const char *text)
{
	long n = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (*text - '0');
	return n;
}

/* Called by _start with what the kernel left on the stack: argc, argv. */
__attribute__((noreturn)) void child_main(const long *stack);

void
child_main(const long *stack)
{
	const char *const *argv = (const char *const *)(stack + 1);
	struct timespec now;
	struct slot slot;
	long fd;

	(void)call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
	slot.pid = (uint64_t)call(SYS_getpid, 0, 0, 0, 0);
	slot.start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (stack[0] != 3)
		(void)call(SYS_exit, 2, 0, 0, 0);
	fd = call(SYS_openat, AT_FDCWD_, (long)argv[1], O_WRONLY_, 0);
	if (call(SYS_pwrite64, fd, (long)&slot, sizeof(slot),
	         parse_number(argv[2]) * (long)sizeof(slot)) != (long)sizeof(slot))
		(void)call(SYS_exit, 3, 0, 0, 0);
	(void)call(SYS_close, fd, 0, 0, 0);
	for (;;)
		(void)call(SYS_ppoll, 0, 0, 0, 0);
}
