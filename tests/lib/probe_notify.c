/* SPDX-License-Identifier: ISC */
/* probe_notify.c - what the actor for the tests tells supd of itself. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/probe.h"

/* A socket that sends to NOTIFY_SOCKET; -1: there is none. */
static int
connect_to_supd(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = path == NULL ? 0 : strlen(path);
	int fd;

	if (len == 0 || len >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&to,
	            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void
probe_notify(const struct probe *probe, const char *text)
{
	int fd = connect_to_supd();

	if (fd < 0)
		return;
	if (strstr(text, "READY=1") != NULL)
		probe_tell(probe, 'r', NULL);
	(void)!send(fd, text, strlen(text), 0);
	close(fd);
}

/* Tell it without end, and how often it was told, as fast as supd takes it. */
void
probe_flood(const char *text)
{
	char message[TEXT_MAX];
	int fd = connect_to_supd();

	for (unsigned long n = 1;; n++) {
		int len = snprintf(message, sizeof(message), "%s\nSTATUS=%lu", text, n);

		if (send(fd, message, (size_t)len, 0) < 0)
			_exit(98);
	}
}
