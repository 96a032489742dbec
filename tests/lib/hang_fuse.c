/* SPDX-License-Identifier: ISC */
/* hang_fuse.c - a file system with answers that come late or never, like a hung mount.
 *
 * usage: hang_fuse [-a] [-u UID:GID] [-h OP,OP...] [-d US] [-c FILE] DIR [MODE]
 *
 * Mounts a FUSE file system on DIR in namespaces of its own, as the user UID:GID (root
 * only; default: the caller's).  Every name in it is a regular file of UID with mode 0755
 * and the content of FILE ("hang\n" without it), but "." and "dir", which are
 * directories. Writes to a file succeed and are forgotten.  Other processes of
 * UID:GID reach it as /proc/PID/root/DIR/NAME; with -a, as root, so do all others, root
 * among them, and unix sockets and fifos can be made in it, one of each name that begins
 * with "s" or "p", and removed.  Nothing is left when the server ends, and
 * all that waits for it then gets ECONNABORTED.
 *
 * A request of a kind named by -h (see `operations`) gets no answer until SIGUSR1: then
 * the requests that are held are answered, and all later ones at once.  SIGUSR2: hold
 * again.  With -d it is answered after so many microseconds, and that time
 * (CLOCK_MONOTONIC) is told: "late OP NS".  Other lines on stdout, each flushed: "ready
 * PID", "held OP PID-OF-CALLER", "done STATUS" for the end of the child that MODE asks
 * for:
 *
 *   serve                  no child (the default)
 *   read                   reads the file DIR/f to its end
 *   exec ARG...            executes DIR/f
 *   send ADDRESS TEXT      opens DIR/f, sends TEXT and the descriptor to the unix
 * datagram socket ADDRESS (@ begins an abstract one), then waits
 */
#include "config.h"

#include "tests/lib/hang_fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST_MAX = 1 << 17, CONTENT_MAX = 4 << 20, HELD_MAX = 256, HELD_BYTES = 512 };
enum { NODE_ROOT = 1, NODE_FILE = 2, NODE_DIR = 3, NODE_MADE = 4 };

static const struct operation {
	const char *name;
	uint32_t opcode;
} operations[] = {
    {"lookup", FUSE_LOOKUP}, {"getattr", FUSE_GETATTR}, {"access", FUSE_ACCESS},
    {"open", FUSE_OPEN},     {"read", FUSE_READ},       {"write", FUSE_WRITE},
    {"flush", FUSE_FLUSH},   {"release", FUSE_RELEASE}, {"poll", FUSE_POLL},
    {"mknod", FUSE_MKNOD},   {"unlink", FUSE_UNLINK},
};

struct held {
	const char *name;
	char request[HELD_BYTES]; /* begins with its header; what is written is cut off */
};

static struct server {
	int fd;
	uid_t uid;
	gid_t gid;
	const char *names; /* of the operations that are held, with commas; or NULL */
	bool is_holding;
	bool is_for_all;
	long delay_us; /* the time that each takes; 0: until a signal */
	uint32_t made; /* the mode of what was made last; 0: nothing is there */
	char *content;
	size_t size;
	struct held held[HELD_MAX];
	size_t n_held;
} server = {.names = NULL};

void
hang_fuse_fail(const char *what)
{
	(void)fprintf(stderr, "hang_fuse: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* It cannot be mounted.  Tests are skipped only where the kernel has not what that takes,
 * or does not let us have it. */
static void
fail_to_mount(const char *what)
{
	const bool is_lacking = errno == EPERM || errno == EACCES || errno == ENOENT ||
	                        errno == ENODEV || errno == ENOSPC;

	(void)fprintf(stderr, "hang_fuse: %s: %s\n", what, strerror(errno));
	exit(is_lacking ? HANG_FUSE_LACKS : 1);
}

static void
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail_to_mount(path);
	(void)close(fd);
}

/* ---- answers ----------------------------------------------------------------------- */

static char answer_buffer[sizeof(struct fuse_out_header) + REQUEST_MAX];

static void
reply(const struct fuse_in_header *in, int code, const void *data, size_t size)
{
	const struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + size),
	                                       .error = -code,
	                                       .unique = in->unique};

	memcpy(answer_buffer, &header, sizeof(header));
	if (size > 0)
		memcpy(answer_buffer + sizeof(header), data, size);
	/* ENOENT: the caller is gone. */
	if (write(server.fd, answer_buffer, header.len) < 0 && errno != ENOENT)
		hang_fuse_fail("answer");
}

static struct fuse_attr
attributes_of(uint64_t node)
{
	return (struct fuse_attr){
	    .ino = node,
	    .size = node == NODE_FILE ? server.size : 0,
	    .nlink = 1,
	    .mode = node == NODE_FILE   ? S_IFREG | 0755
	            : node == NODE_MADE ? server.made
	                                : S_IFDIR | 0755,
	    .uid = server.uid,
	    .gid = server.gid,
	};
}

static void
reply_entry(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = {
	    .nodeid = strcmp(name, "dir") == 0 ? NODE_DIR : NODE_FILE,
	};

	if (server.is_for_all && (name[0] == 's' || name[0] == 'p' || name[0] == '.')) {
		out.nodeid = NODE_MADE;
		if (server.made == 0 || name[0] == '.') {
			reply(in, ENOENT, NULL, 0);
			return;
		}
	}
	out.attr = attributes_of(out.nodeid);
	reply(in, 0, &out, sizeof(out));
}

static void
reply_read(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	size_t left = read->offset < server.size ? server.size - read->offset : 0;

	reply(in, 0, server.content + (left > 0 ? read->offset : 0),
	      left < read->size ? left : read->size);
}

static void
answer(const struct fuse_in_header *in)
{
	const void *body = in + 1;
	const struct fuse_init_out init = {
	    .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536};
	const struct fuse_attr_out attr = {.attr = attributes_of(in->nodeid)};
	const struct fuse_open_out opened = {.fh = 1};
	const struct fuse_poll_out ready = {.revents = POLLIN | POLLOUT};
	struct fuse_write_out written = {0};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply_entry(in, body);
		break;
	case FUSE_MKNOD:
		server.made = ((const struct fuse_mknod_in *)body)->mode;
		reply_entry(in, (const char *)body + sizeof(struct fuse_mknod_in));
		break;
	case FUSE_UNLINK:
		server.made = 0;
		reply(in, 0, NULL, 0);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		reply(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		reply_read(in, body);
		break;
	case FUSE_WRITE:
		written.size = ((const struct fuse_write_in *)body)->size;
		reply(in, 0, &written, sizeof(written));
		break;
	case FUSE_POLL:
		reply(in, 0, &ready, sizeof(ready));
		break;
	case FUSE_ACCESS:
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FSYNC:
		reply(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(in, ENOSYS, NULL, 0);
	}
}

/* ---- what is held ------------------------------------------------------------------ */

/* The name of the operation if -h names it, else NULL. */
static const char *
held_name(uint32_t opcode)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		const char *name = operations[i].name;
		size_t length = strlen(name);
		const char *at = server.names;

		if (operations[i].opcode != opcode)
			continue;
		for (; at != NULL; at = strchr(at, ',')) {
			at += *at == ',';
			if (strncmp(at, name, length) == 0 &&
			    (at[length] == ',' || at[length] == '\0'))
				return name;
		}
	}
	return NULL;
}

/* Let the time of the request go by. */
static void
delay(const char *name)
{
	const struct timespec time = {.tv_nsec = server.delay_us * 1000};
	struct timespec now;

	(void)nanosleep(&time, NULL);
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	printf("late %s %lld\n", name, (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	(void)fflush(stdout);
}

/* Keep the request for later and say so; false if it is to be answered now. */
static bool
hold(const struct fuse_in_header *in)
{
	const char *name = server.is_holding ? held_name(in->opcode) : NULL;
	struct held *held = &server.held[server.n_held];

	if (name != NULL && server.delay_us > 0)
		delay(name);
	if (name == NULL || server.delay_us > 0 || server.n_held == HELD_MAX)
		return false;
	held->name = name;
	memcpy(held->request, in, in->len < HELD_BYTES ? in->len : HELD_BYTES);
	server.n_held++;
	printf("held %s %u\n", name, in->pid);
	(void)fflush(stdout);
	return true;
}

static union {
	struct fuse_in_header header;
	char bytes[REQUEST_MAX];
} incoming;

static void
on_request(void)
{
	ssize_t n = read(server.fd, &incoming, sizeof(incoming));

	if (n < 0 && errno == ENODEV)
		exit(0);
	/* ENOENT: the caller was killed before its request was read. */
	if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
		hang_fuse_fail("read a request");
	if (n > 0 && !hold(&incoming.header))
		answer(&incoming.header);
}

static void
on_signal(int fd)
{
	struct signalfd_siginfo info;
	int status;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		hang_fuse_fail("read a signal");
	server.is_holding =
	    info.ssi_signo == SIGUSR2 || (info.ssi_signo == SIGCHLD && server.is_holding);
	if (info.ssi_signo == SIGCHLD && waitpid(-1, &status, WNOHANG) > 0) {
		printf("done %d\n",
		       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
		(void)fflush(stdout);
	}
	if (info.ssi_signo != SIGUSR1)
		return;
	for (size_t i = 0; i < server.n_held; i++)
		answer((const void *)server.held[i].request);
	server.n_held = 0;
}

/* ---- the mount --------------------------------------------------------------------- */

/* A device that an ordinary user may open, where no other process sees it: below DIR, in
 * a mount namespace of our own.  Root only. */
static void
make_device(const char *dir, char *path, size_t size)
{
	struct stat st;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("device", dir, "tmpfs", MS_NOSUID, "mode=755,size=64k") < 0)
		fail_to_mount(dir);
	(void)snprintf(path, size, "%s/fuse", dir);
	(void)umask(0);
	if (stat("/dev/fuse", &st) < 0 || mknod(path, S_IFCHR | 0666, st.st_rdev) < 0)
		fail_to_mount(path);
	if (setgroups(0, NULL) < 0 || setresgid(server.gid, server.gid, server.gid) < 0 ||
	    setresuid(server.uid, server.uid, server.uid) < 0)
		hang_fuse_fail("change the user");
	/* Else other processes of the user do not get at /proc/PID/root. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* A mount of root's own: no other one has anything to say there, be it as root. */
static void
mount_for_all(const char *dir)
{
	char text[256];

	server.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	(void)snprintf(text, sizeof(text),
	               "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
	               server.fd);
	if (server.fd < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("hang_fuse", dir, "fuse", MS_NOSUID | MS_NODEV, text) < 0)
		fail_to_mount("mount");
}

static void
mount_it(const char *dir)
{
	char device[4096] = "/dev/fuse";
	char text[256];

	if (server.is_for_all) {
		mount_for_all(dir);
		return;
	}
	if (geteuid() == 0)
		make_device(dir, device, sizeof(device));
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		fail_to_mount("unshare");
	write_file("/proc/self/setgroups", "deny");
	(void)snprintf(text, sizeof(text), "%u %u 1", server.uid, server.uid);
	write_file("/proc/self/uid_map", text);
	(void)snprintf(text, sizeof(text), "%u %u 1", server.gid, server.gid);
	write_file("/proc/self/gid_map", text);
	server.fd = open(device, O_RDWR | O_CLOEXEC);
	if (server.fd < 0)
		fail_to_mount(device);
	(void)snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=%u,group_id=%u",
	               server.fd, server.uid, server.gid);
	if (mount("hang_fuse", dir, "fuse", MS_NOSUID | MS_NODEV, text) < 0)
		fail_to_mount("mount");
}

static void
read_content(const char *path)
{
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	server.content = malloc(CONTENT_MAX);
	if (server.content == NULL || (path != NULL && fd < 0))
		hang_fuse_fail(path);
	if (path == NULL) {
		server.size = strlen(strcpy(server.content, "hang\n"));
		return;
	}
	while ((n = read(fd, server.content + server.size, CONTENT_MAX - server.size)) >
	       0)
		server.size += (size_t)n;
	if (n < 0)
		hang_fuse_fail(path);
	(void)close(fd);
}

int
main(int argc, char **argv)
{
	struct pollfd polled[2] = {{.events = POLLIN}, {.events = POLLIN}};
	const char *file = NULL, *dir;
	sigset_t signals, none;
	int option;

	server.uid = getuid();
	server.gid = getgid();
	while ((option = getopt(argc, argv, "+au:h:d:c:")) != -1) {
		if (option == 'a')
			server.is_for_all = true;
		else if (option == 'h')
			server.names = optarg;
		else if (option == 'd')
			server.delay_us = atol(optarg);
		else if (option == 'c')
			file = optarg;
		else if (option != 'u' ||
		         sscanf(optarg, "%u:%u", &server.uid, &server.gid) != 2)
			return 2;
	}
	if (optind >= argc)
		return 2;
	dir = argv[optind];
	argv += optind + 1;
	server.is_holding = true;
	read_content(file);
	(void)sigemptyset(&none);
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGUSR1);
	(void)sigaddset(&signals, SIGUSR2);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	mount_it(dir);
	polled[0].fd = server.fd;
	polled[1].fd = signalfd(-1, &signals, SFD_CLOEXEC);
	printf("ready %d\n", getpid());
	(void)fflush(stdout);
	if (argv[0] != NULL && strcmp(argv[0], "serve") != 0 && fork() == 0) {
		/* Or the server's own end would not end the connection. */
		(void)close(server.fd);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		hang_fuse_child(dir, argv);
	}
	for (;;) {
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			hang_fuse_fail("poll");
		if (polled[1].revents != 0)
			on_signal(polled[1].fd);
		if (polled[0].revents != 0)
			on_request();
	}
}
