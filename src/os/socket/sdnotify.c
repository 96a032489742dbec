/* SPDX-License-Identifier: ISC */
/* sdnotify.c - both ends of the notify protocol of systemd (sd_notify(3)). */
#include "config.h"

#include "os/socket/sdnotify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/names.h"
#include "os/self/fd.h"

/* A decimal number without sign or blanks, at most max; 0 for anything else. */
static uint64_t
number(const char *text, uint64_t max)
{
	char *end;
	unsigned long long n;

	if (text == NULL || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	n = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && n <= max ? n : 0;
}

/* The address of a name that starts with '/' or '@' (abstract); its length, or 0. */
static socklen_t
address_of(const char *name, struct sockaddr_un *ret)
{
	size_t len = strlen(name);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (len < 2 || len >= sizeof(ret->sun_path) || (name[0] != '/' && name[0] != '@'))
		return 0;
	memcpy(ret->sun_path, name, len);
	if (name[0] == '@')
		ret->sun_path[0] = '\0';
	else
		len++; /* a path is sent with its NUL */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

/*
 * Read NOTIFY_SOCKET, a path or an abstract name, and WATCHDOG_USEC, which counts only
 * where WATCHDOG_PID is absent or main_pid, the pid of the process that was started.  The
 * environment is not changed.  A notifier without a listener (fd -1) is fine: its
 * messages are dropped.
 */
void
notifier_open(struct notifier *notifier, char *const *environ_now, pid_t main_pid)
{
	const char *name =
	    environ_find(environ_now, "NOTIFY_SOCKET", strlen("NOTIFY_SOCKET"));
	const char *pid =
	    environ_find(environ_now, "WATCHDOG_PID", strlen("WATCHDOG_PID"));

	*notifier = (struct notifier){.fd = -1};
	if (name == NULL)
		return;
	notifier->address_len = address_of(name, &notifier->address);
	if (notifier->address_len == 0)
		return;
	notifier->fd = fd_raise(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (notifier->fd < 0)
		return;
	if (pid == NULL || number(pid, INT32_MAX) == (uint64_t)main_pid)
		notifier->watchdog_us = number(
		    environ_find(environ_now, "WATCHDOG_USEC", strlen("WATCHDOG_USEC")),
		    UINT64_MAX);
}

/* Stop telling anybody anything. */
void
notifier_close(struct notifier *notifier)
{
	fd_close(&notifier->fd);
	notifier->watchdog_us = 0;
}

/*
 * Send a message, lines KEY=value.  Never waits.  Returns 0, also without a listener, or
 * -errno: -EAGAIN when the listener's queue is full, try again later.
 */
int
notifier_send(const struct notifier *notifier, const char *text)
{
	ssize_t n;

	if (notifier->fd < 0)
		return 0;
	do {
		n = sendto(notifier->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
		           (const struct sockaddr *)&notifier->address,
		           notifier->address_len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* PREFIX/ and 128 random bits, without NUL; the length of the address, or 0. */
static socklen_t
random_address(const char *prefix, struct sockaddr_un *ret)
{
	uint64_t bits[2];

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return 0;
	int n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1,
	                 "%s/%016" PRIx64 "%016" PRIx64, prefix, bits[0], bits[1]);
	if (n < 0 || (size_t)n >= sizeof(ret->sun_path) - 1)
		return 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/*
 * Open a socket that actors send to: abstract, so that it needs no directory and leaves
 * nothing behind, at an address below `prefix` that cannot be computed.  It can be read
 * in /proc/net/unix, and any local user can send to it: check the sender.
 *
 * Returns a non-blocking descriptor, at or above FD_WINDOW, or -errno with a sentence.
 */
int
notify_listen(const char *prefix, struct err *err)
{
	struct sockaddr_un address;
	const socklen_t size = random_address(prefix, &address);
	const int on = 1;
	int code = ENAMETOOLONG;
	int fd = -1;

	if (size > 0) {
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd >= 0 &&
		    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
		    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0 &&
		    bind(fd, (const struct sockaddr *)&address, size) == 0)
			return fd_raise(fd);
		code = errno;
	}
	err_set(err, code, "open notify socket @%s/", prefix);
	fd_close(&fd);
	return -code;
}

/* Where a socket of notify_listen() is reached, as NOTIFY_SOCKET has it; 0 or -errno. */
int
notify_address(int fd, char ret[NOTIFY_NAME_MAX])
{
	struct sockaddr_un address = {0};
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	int len = (int)(size - offsetof(struct sockaddr_un, sun_path)) - 1;
	if (len < 1 || address.sun_path[0] != '\0')
		return -EINVAL;
	(void)snprintf(ret, NOTIFY_NAME_MAX, "@%.*s", len, address.sun_path + 1);
	return 0;
}

/* What the kernel puts in front of the descriptors … */
struct control_of_sender {
	_Alignas(struct cmsghdr) char data[CMSG_SPACE(sizeof(struct ucred)) +
	                                   CMSG_SPACE(sizeof(struct timespec))];
};
/* … and with them. */
union ucred_control {
	struct cmsghdr align;
	char data[sizeof(struct control_of_sender) +
	          CMSG_SPACE(sizeof(int) * NOTIFY_FDS_MAX)];
};

/* Take the sender and the descriptors out of the control part.  false: no sender. */
static bool
take_control(struct msghdr *header, struct notify_message *ret)
{
	bool has_sender = false;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL;
	     c = CMSG_NXTHDR(header, c)) {
		const size_t len = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS) {
			ret->n_fds = len / sizeof(int);
			memcpy(ret->fds, CMSG_DATA(c), ret->n_fds * sizeof(int));
		} else if (c->cmsg_type == SCM_CREDENTIALS) {
			struct ucred cred;

			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			ret->pid = cred.pid;
			ret->uid = cred.uid;
			has_sender = true;
		} else if (c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec sent;

			memcpy(&sent, CMSG_DATA(c), sizeof(sent));
			ret->stamp_ns =
			    (uint64_t)sent.tv_sec * 1000000000 + (uint64_t)sent.tv_nsec;
		}
	}
	return has_sender;
}

/* Look at the next message, with room for so many bytes of control data. */
static int
peek(int fd, size_t control_bytes, struct notify_message *ret)
{
	union ucred_control control;
	struct msghdr header = {
	    .msg_iov =
	        &(struct iovec){.iov_base = ret->text, .iov_len = NOTIFY_MESSAGE_MAX},
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = control_bytes,
	};
	ssize_t n;

	ret->n_fds = 0;
	ret->has_more_fds = false;
	do {
		n = recvmsg(fd, &header, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	ret->stamp_ns = 0;
	ret->len = (size_t)n;
	ret->text[ret->len] = '\0';
	bool has_sender = take_control(&header, ret);
	ret->has_more_fds = header.msg_flags & MSG_CTRUNC;
	if (header.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	return !has_sender || strlen(ret->text) != ret->len ? -EBADMSG : 1;
}

/*
 * Look at the next message, which stays the next one.  Never waits.
 *
 * Returns 1 and fills ret; 0 if nothing is there.  Where has_more_fds is set, descriptors
 * are with it, which are not taken and which no file system is told of: see
 * notify_peek_fds() and closer_drop().  A message that cannot be used is -EMSGSIZE where
 * the text is longer than NOTIFY_MESSAGE_MAX, -EBADMSG where it contains a NUL or tells
 * no sender; ret says of these, too, when it was sent and whether it has descriptors. Any
 * other -errno is about the socket.
 */
int
notify_peek(int fd, struct notify_message *ret)
{
	return peek(fd, sizeof(struct control_of_sender), ret);
}

/*
 * The same, and take copies of the descriptors that are with it, up to NOTIFY_FDS_MAX:
 * has_more_fds says that there were more, or no room for them in our table.  They are the
 * caller's whatever is returned, and are not to be closed by close(2): see closer.h.
 */
int
notify_peek_fds(int fd, struct notify_message *ret)
{
	return peek(fd, sizeof(union ucred_control), ret);
}

/* Discard the next message; other processes hold its descriptors, too, if it has any. */
void
notify_skip(int fd)
{
	ssize_t n;

	do {
		n = recv(fd, NULL, 0, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
}

/* Discard the next message if it was sent at this time.  May wait without end, if the
 * message holds the last reference to a descriptor. */
void
notify_skip_sent(int fd, uint64_t stamp_ns)
{
	struct notify_message message;

	if (notify_peek(fd, &message) != 0 && message.stamp_ns == stamp_ns)
		notify_skip(fd);
}

/*
 * The value of the first line "key=value", or NULL.  Not NUL-terminated: ret_len says
 * how long it is.  Points into the message.
 */
const char *
notify_value(const struct notify_message *message, const char *key, size_t *ret_len)
{
	const size_t key_len = strlen(key);
	const char *line = message->text;

	for (;;) {
		size_t len = strcspn(line, "\n");

		if (len > key_len && line[key_len] == '=' &&
		    memcmp(line, key, key_len) == 0) {
			*ret_len = len - key_len - 1;
			return line + key_len + 1;
		}
		if (line[len] == '\0')
			return NULL;
		line += len + 1;
	}
}
