/* SPDX-License-Identifier: ISC */
/* sdnotify.h - both ends of the notify protocol of systemd (sd_notify(3)). */
#ifndef OS_SOCKET_SDNOTIFY_H
#define OS_SOCKET_SDNOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

/* The sending side: supd to its service manager. */
struct notifier {
	int fd; /* -1: nobody listens */
	struct sockaddr_un address;
	socklen_t address_len;
	uint64_t watchdog_us; /* 0: none wanted */
};

void notifier_open(struct notifier *notifier, char *const *environ_now, pid_t main_pid);
void notifier_close(struct notifier *notifier);
int notifier_send(const struct notifier *notifier, const char *text);

/* The receiver: an abstract datagram socket, a name for each actor. */
#define NOTIFY_MESSAGE_MAX 4096
#define NOTIFY_FDS_MAX     64
/* An address as NOTIFY_SOCKET has it, with its NUL. */
#define NOTIFY_NAME_MAX 110

struct notify_message {
	pid_t
	    pid; /* of the sender, from SCM_CREDENTIALS; 0: of a foreign pid namespace */
	uid_t uid;
	size_t len;
	char text[NOTIFY_MESSAGE_MAX + 1]; /* lines KEY=value, NUL-terminated */
	uint64_t stamp_ns; /* when it was sent: tells it from others; 0: unknown */
	bool has_more_fds; /* further descriptors, not taken */
	size_t n_fds;
	int fds[NOTIFY_FDS_MAX]; /* owned by the caller, CLOEXEC */
};

int notify_listen(const char *prefix, struct err *err);
int notify_address(int fd, char ret[NOTIFY_NAME_MAX]);
int notify_peek(int fd, struct notify_message *ret);
int notify_peek_fds(int fd, struct notify_message *ret);
void notify_skip(int fd);
void notify_skip_sent(int fd, uint64_t stamp_ns);
const char *notify_value(const struct notify_message *message, const char *key,
                         size_t *ret_len);

#endif
