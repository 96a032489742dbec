/* SPDX-License-Identifier: ISC */
/* metrics.c - what a client sends to /system/metrics, in pieces of any length.
 *
 * The first byte is the length of the pieces, the second says whether there are figures.
 * Every answer is whole: a head, and as many bytes as that says.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "helper/helper.h"
#include "os/self/pass.h"
#include "tests/fuzz/fuzz.h"

const unsigned int fuzz_runs = 400;

#define FIGURES   "# EOF\n"
#define TURNS_MAX 64

/* One process for all inputs, as for all clients. */
struct served {
	struct helper helper;
	int guardian_fd;
	struct sockaddr_un address;
	socklen_t address_len;
};

static void
say(struct served *served, enum helper_kind kind, const int *take_fds, size_t n)
{
	const struct helper_message message = {.kind = kind};

	size_t i = helper_metrics.on_message(served->helper.own, &message, take_fds, n);
	for (; i < n; i++)
		(void)close(take_fds[i]);
}

static void
listen_somewhere(struct served *served)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	served->address = (struct sockaddr_un){.sun_family = AF_UNIX};
	served->address_len = sizeof(served->address);
	/* The kernel chooses a name. */
	ASSERT(fd >= 0);
	ASSERT(bind(fd, (struct sockaddr *)&served->address, sizeof(sa_family_t)) == 0);
	ASSERT(getsockname(fd, (struct sockaddr *)&served->address,
	                   &served->address_len) == 0);
	ASSERT(listen(fd, 8) == 0);
	say(served, HELPER_LISTEN, &fd, 1);
}

static struct served the_server; /* made once */

static struct served *
served_get(void)
{
	int fds[2];

	if (the_server.helper.own != NULL)
		return &the_server;
	ASSERT(pass_pair(fds) == 0);
	the_server.guardian_fd = fcntl(fds[0], F_DUPFD_CLOEXEC, HELPER_FD + 1);
	ASSERT(the_server.guardian_fd >= 0);
	ASSERT(dup2(fds[1], HELPER_FD) == HELPER_FD);
	the_server.helper.role = &helper_metrics;
	the_server.helper.loop = ev_loop_new(EVFLAG_AUTO);
	ASSERT(the_server.helper.loop != NULL);
	the_server.helper.own = helper_metrics.start(&the_server.helper);
	ASSERT(the_server.helper.own != NULL);
	listen_somewhere(&the_server);
	return &the_server;
}

/* The guardian's answer, if it is asked. */
static void
turn(struct served *served, bool has_figures)
{
	struct helper_message asked;
	int fd;

	ev_run(served->helper.loop, EVRUN_NOWAIT);
	if (helper_receive(served->guardian_fd, &asked) != 1)
		return;
	ASSERT(asked.kind == HELPER_ASK);
	fd = has_figures ? memfd_create("figures", MFD_CLOEXEC) : -1;
	if (fd >= 0)
		ASSERT(write(fd, FIGURES, strlen(FIGURES)) == (ssize_t)strlen(FIGURES));
	say(served, HELPER_TEXT, &fd, fd >= 0);
}

static void
check_answer(const char *answer)
{
	static const char length[] = "Content-Length: ";
	const char *at = strstr(answer, length);
	const char *body = strstr(answer, "\r\n\r\n");
	const char *figures = strstr(answer, FIGURES);
	unsigned long n;

	if (answer[0] == '\0')
		return;
	ASSERT(strncmp(answer, "HTTP/1.1 ", 9) == 0);
	ASSERT(at != NULL && body != NULL && at < body);
	ASSERT(sscanf(at + strlen(length), "%lu", &n) == 1);
	/* Of a HEAD there is none. */
	ASSERT(body[4] == '\0' || strlen(body + 4) == n);
	ASSERT(figures == NULL || strncmp(answer, "HTTP/1.1 200 ", 13) == 0);
}

static void
take_answer(struct served *served, int fd, bool has_figures)
{
	char answer[1024];
	size_t len = 0;

	for (int i = 0; i < TURNS_MAX && len < sizeof(answer) - 1; i++) {
		ssize_t n;

		turn(served, has_figures);
		n = recv(fd, answer + len, sizeof(answer) - 1 - len, MSG_DONTWAIT);
		if (n == 0)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	answer[len] = '\0';
	check_answer(answer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct served *served = served_get();
	size_t piece;
	bool has_figures;
	int fd;

	if (size < 2)
		return 0;
	piece = data[0] == 0 ? size : data[0];
	has_figures = data[1] % 2 != 0;
	/* The figures of the input before are none of this one's. */
	say(served, HELPER_TEXT, NULL, 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ASSERT(fd >= 0);
	ASSERT(connect(fd, (struct sockaddr *)&served->address, served->address_len) ==
	       0);
	turn(served, has_figures);
	for (size_t at = 2; at < size; at += piece) {
		const size_t left = size - at;

		(void)send(fd, data + at, piece < left ? piece : left, MSG_NOSIGNAL);
		turn(served, has_figures);
	}
	take_answer(served, fd, has_figures);
	(void)close(fd);
	turn(served, has_figures);
	return 0;
}
