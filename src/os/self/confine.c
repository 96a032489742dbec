/* SPDX-License-Identifier: ISC */
/* confine.c - a helper process gives up, for good, what it does not need. */
#include "config.h"

#include "os/self/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

#define BIT(capability) (UINT64_C(1) << (capability))

/* The capabilities that each kind of process keeps. */
static const uint64_t kept[CONFINE_MAX] = {
    /* log.directory may have any owner; and the bounds on the pipes of one user, and on
     * the last blocks of a disk, are not for it. */
    [CONFINE_LOG] = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_SYS_RESOURCE),
    /* The files of an actor are opened as their owner. */
    [CONFINE_READER] = BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SETUID) | BIT(CAP_SETGID),
    /* Nothing is opened: it is for the sockets that a path leads to. */
    [CONFINE_LETTERS] = BIT(CAP_DAC_OVERRIDE),
    [CONFINE_CLIENT] = BIT(CAP_DAC_OVERRIDE),
};

/* ---- capabilities and new privileges ---- */

/* For the process and, by the bounding set, for all that it executes. */
static int
drop_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	/* Without CAP_SETPCAP the bounding set stays; no_new_privs does its work. */
	for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if ((keep >> i & 1) == 0)
			(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	memset(data, 0, sizeof(data));
	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(keep >> (32 * i));
		data[i].effective &= data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* ---- system calls ---- */

#ifdef HAVE_SECCOMP

#ifdef __s390__
#define CLONE_FLAGS_ARGUMENT 1
#else
#define CLONE_FLAGS_ARGUMENT 0
#endif

/* Names, not numbers: a call that this machine or its libseccomp lacks is skipped. */

#define RUNNING                                                                         \
	"arch_prctl brk clock_getres clock_gettime clock_nanosleep close close_range "  \
	"dup dup2 dup3 epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait "    \
	"eventfd2 exit exit_group fcntl fcntl64 fstat fstat64 fstatfs futex "           \
	"futex_time64 get_robust_list getcpu getegid geteuid getgid getpgrp getpid "    \
	"getppid getrandom getrlimit getsid gettid gettimeofday getuid _llseek lseek "  \
	"madvise membarrier mmap mmap2 mprotect mremap munmap nanosleep pause pipe "    \
	"pipe2 poll ppoll ppoll_time64 pread64 preadv prlimit64 pselect6 pwrite64 "     \
	"pwritev read readv restart_syscall riscv_flush_icache rseq rt_sigaction "      \
	"rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait "      \
	"sched_getaffinity sched_yield select set_robust_list set_tid_address "         \
	"setrlimit sigaltstack signalfd4 sigreturn sysinfo tgkill time timerfd_create " \
	"timerfd_settime ugetrlimit uname write writev "

#define SEARCHING                                                                      \
	"access chdir faccessat faccessat2 fadvise64 fadvise64_64 flock fstatat64 "    \
	"getcwd getdents getdents64 inotify_add_watch inotify_init1 inotify_rm_watch " \
	"lstat lstat64 newfstatat readlink readlinkat stat stat64 statfs statx "

#define WRITING                                                                  \
	"chmod copy_file_range creat fallocate fchmod fchmodat fchown fchown32 " \
	"fdatasync fsync ftruncate ftruncate64 link linkat memfd_create mkdir "  \
	"mkdirat open openat rename renameat renameat2 rmdir sendfile splice "   \
	"sync_file_range tee truncate umask unlink unlinkat utimensat vmsplice "

/* A child confines itself, too: hence the first three calls. */
#define FORKING                                                                     \
	"capget capset seccomp fork kill pidfd_open pidfd_send_signal setpriority " \
	"wait4 waitid waitpid "

#define OTHER_USER                                                           \
	"setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups " \
	"setgroups32 setresgid setresgid32 setresuid setresuid32 setuid "    \
	"setuid32 "

#define TALKING                                                                    \
	"accept accept4 connect getpeername getsockname getsockopt recv recvfrom " \
	"recvmmsg recvmsg send sendmmsg sendmsg sendto setitimer setsockopt "      \
	"shutdown socketpair splice "

static const char *const allowed[CONFINE_MAX] = {
    [CONFINE_LOG] = RUNNING SEARCHING WRITING FORKING
    "connect getpeername getsockname getsockopt recvmsg sendmsg sendto setsockopt",
    [CONFINE_READER] = RUNNING SEARCHING FORKING OTHER_USER,
    /* Memory, and reads and writes of the two open descriptors. */
    [CONFINE_GZIP] = "brk exit exit_group futex futex_time64 madvise mmap mmap2 mprotect "
                     "mremap munmap read restart_syscall rt_sigprocmask rt_sigreturn "
                     "sigreturn write",
    [CONFINE_SERVER] = RUNNING TALKING,
    [CONFINE_LETTERS] = RUNNING TALKING,
    [CONFINE_CLIENT] = RUNNING TALKING "fork kill wait4 waitid waitpid",
};

static int
allow(scmp_filter_ctx filter, const char *name, unsigned int n,
      const struct scmp_arg_cmp *args)
{
	const int number = seccomp_syscall_resolve_name(name);

	return number == __NR_SCMP_ERROR
	           ? 0
	           : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, n, args);
}

static int
allow_names(scmp_filter_ctx filter, const char *names)
{
	char name[32];
	int r = 0;

	for (const char *at = names; *at != '\0' && r == 0;) {
		const size_t len = strcspn(at, " ");

		ASSERT(len < sizeof(name));
		memcpy(name, at, len);
		name[len] = '\0';
		r = allow(filter, name, 0, NULL);
		at += len + strspn(at + len, " ");
	}
	return r;
}

/* The call where, of this argument, the bits of the mask have this value. */
static int
allow_where(scmp_filter_ctx filter, const char *name, unsigned int argument,
            uint64_t mask, uint64_t value)
{
	return allow(
	    filter, name, 1,
	    &(const struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, mask, value});
}

/* Calls of which a single use is harmless. */
static int
allow_uses(scmp_filter_ctx filter, enum confine_kind kind)
{
	static const int requests[] = {FIONREAD, FIONBIO, TCGETS};
	static const int options[] = {PR_SET_PDEATHSIG, PR_SET_NAME, PR_GET_NAME};
	static const int families[] = {AF_UNIX, AF_INET, AF_INET6};
	const uint64_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
	const uint64_t spaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET |
	                        CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;
	const bool confines = kind == CONFINE_LOG || kind == CONFINE_READER;
	size_t n_families = 0;
	int r = 0;

	if (kind == CONFINE_GZIP)
		return 0;
	if (kind == CONFINE_LOG || kind == CONFINE_CLIENT)
		n_families = kind == CONFINE_LOG ? 1 : ARRAY_SIZE(families);
	for (size_t i = 0; i < ARRAY_SIZE(requests) && r == 0; i++)
		r = allow_where(filter, "ioctl", 1, UINT32_MAX, (uint32_t)requests[i]);
	/* Its children give up more, by prctl(2). */
	if (r == 0 && confines)
		r = allow(filter, "prctl", 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(options) && r == 0 && !confines; i++)
		r = allow_where(filter, "prctl", 0, UINT32_MAX, (uint32_t)options[i]);
	for (size_t i = 0; i < n_families && r == 0; i++)
		r = allow_where(filter, "socket", 0, UINT32_MAX, (uint32_t)families[i]);
	/* Files for reading only; what may write has the whole of open(2). */
	if (r == 0 && kind == CONFINE_READER) {
		r = allow_where(filter, "open", 1, writes, O_RDONLY);
		if (r == 0)
			r = allow_where(filter, "openat", 2, writes, O_RDONLY);
	}
	/* Not clone3, the flags of which are out of a filter's sight. */
	if (r == 0 && (confines || kind == CONFINE_CLIENT))
		r = allow_where(filter, "clone", CLONE_FLAGS_ARGUMENT, spaces, 0);
	return r;
}

static int
filter_calls(enum confine_kind kind)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));

	if (filter == NULL)
		return -ENOMEM;
	int r = allow_names(filter, allowed[kind]);
	if (r == 0)
		r = allow_uses(filter, kind);
	if (r == 0) {
		/* A table, not a list, for kernels that look at it for each call. */
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
		r = seccomp_load(filter);
	}
	seccomp_release(filter);
	return r;
}

#else

/* Built without libseccomp, or instrumented: a sanitizer needs calls of its own. */
static int
filter_calls(enum confine_kind kind UNUSED)
{
	return 0;
}

#endif

/*
 * Give up what this kind of process does not need: capabilities, privileges by way of
 * programs that are executed (PR_SET_NO_NEW_PRIVS), and system calls (seccomp(2), where
 * supd was built with libseccomp).  There is no way back.
 *
 * What fails is passed over.  Returns 0, or the first -errno with a sentence: the process
 * has more rights than it needs then, and may go on.
 */
int
os_confine(enum confine_kind kind, struct err *err)
{
	const char *what = "capabilities";
	int r = drop_capabilities(kept[kind]);

	int next = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
	if (r == 0 && next < 0) {
		what = "new privileges";
		r = next;
	}
	next = filter_calls(kind);
	if (r == 0 && next < 0) {
		what = "system calls";
		r = next;
	}
	if (r < 0)
		err_set(err, -r, "cannot give up %s that are not needed", what);
	return r;
}
