/* SPDX-License-Identifier: ISC */
/* walker_host.c - the real walker with a guardian that does what a test tells it.
 *
 * walker_host DIR [MS [TRIAL]]: the walker, with DIR as its runtime directory; a guardian
 * has MS to adopt, a new binary TRIAL to be trusted (0). Its guardian connects to the
 * socket DIR/control, tells there what happens to it, and obeys, a line each.
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ledger/exits.h"
#include "ledger/handover.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/socket/sock.h"
#include "walker/walker.h"

#define KEYS_MAX 4096

struct fake {
	struct handover handover;
	struct exits *exits;
	int control;
	bool is_silent; /* gives no answer to the walker */
};

static void tell(const struct fake *fake, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
tell(const struct fake *fake, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (dprintf(fake->control, "%s\n", text) < 0)
		_exit(EXIT_FAILURE);
}

static void
send_link(const struct fake *fake, const struct link_message *message, const int *fds,
          size_t n_fds)
{
	if (link_send(fake->handover.link_fd, message, fds, n_fds) < 0)
		tell(fake, "unsent %s", link_names[message->kind]);
}

/* The number that a file contains. */
static int
file_of(unsigned long long number)
{
	int fd = fd_raise(memfd_create("fake", MFD_CLOEXEC));

	if (fd < 0 || dprintf(fd, "%llu\n", number) < 0)
		_exit(EXIT_FAILURE);
	return fd;
}

static unsigned long long
number_in(int fd)
{
	char text[32] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

static void
store(const struct fake *fake, unsigned long long first, unsigned long long n,
      unsigned long long content)
{
	struct link_message message = {.kind = LINK_STORE};
	int fds[LINK_FDS_MAX];

	for (unsigned long long i = 0; i < n; i++) {
		message.keys[message.n] = first + i;
		fds[message.n++] = file_of(content + i);
		if (message.n < LINK_STORE_MAX && i + 1 < n)
			continue;
		send_link(fake, &message, fds, message.n);
		while (message.n > 0)
			(void)close(fds[--message.n]);
	}
}

static void
drop(const struct fake *fake, unsigned long long first, unsigned long long n)
{
	for (unsigned long long i = 0; i < n; i++) {
		struct link_message message = {.kind = LINK_DROP, .n = 1};

		message.keys[0] = first + i;
		send_link(fake, &message, NULL, 0);
	}
}

/* n: in a ledger the number of actors. */
static void
pass_file(const struct fake *fake, enum link_kind kind, int fd, uint32_t n)
{
	send_link(fake, &(struct link_message){.kind = kind, .n = n}, &fd, 1);
	(void)close(fd);
}

static void
notify(const struct fake *fake, const char *text)
{
	struct link_message message = {.kind = LINK_NOTIFY, .n = (uint32_t)strlen(text)};

	memcpy(message.text, text, message.n);
	send_link(fake, &message, NULL, 0);
}

/* A child, with SIGTERM blocked, that ends with this status at SIGTERM. */
static pid_t
child(int status)
{
	pid_t pid = fork();
	sigset_t wanted;
	int signo;

	if (pid != 0)
		return pid;
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGTERM);
	(void)sigwait(&wanted, &signo);
	_exit(status);
}

/* Die in the middle of storing for ever: the alarm comes at some instruction. */
static void
store_until_killed(const struct fake *fake, int us)
{
	(void)ualarm((useconds_t)us, 0);
	for (unsigned long long i = 0;; i = (i + 1) % 125)
		store(fake, 5000 + i * 16, 16, 5000 + i * 16);
}

static void
hang(bool deaf)
{
	if (deaf)
		(void)signal(SIGABRT, SIG_IGN);
	for (;;)
		(void)pause();
}

/* End by a signal; the handler of a sanitizer would make an exit of it. */
static void
die(int signo)
{
	(void)signal(signo, SIG_DFL);
	(void)raise(signo);
}

/* Do nothing until SIGTERM, which is blocked. */
static void
nap(void)
{
	sigset_t wanted;
	int signo;

	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGTERM);
	(void)sigwait(&wanted, &signo);
}

/* A child that at SIGTERM sends on our link, as we would if we lived on. */
static pid_t
heir(const struct fake *fake)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	nap();
	store(fake, 5000, 3, 5000);
	drop(fake, 1, 10);
	pass_file(fake, LINK_LEDGER, file_of(99), 0);
	send_link(fake, &(struct link_message){.kind = LINK_STATUS, .n = 9}, NULL, 0);
	tell(fake, "done sending");
	_exit(0);
}

static void
obey(struct fake *fake, char *line)
{
	unsigned long long a = 0, b = 0, c = 0;
	char *text = strchr(line, ' ');
	const struct link_message adopted = {.kind = LINK_ADOPTED};

	if (text != NULL)
		*text++ = '\0';
	if (text != NULL)
		(void)sscanf(text, "%llu %llu %llu", &a, &b, &c);
	if (strcmp(line, "exit") == 0)
		_exit((int)a);
	else if (strcmp(line, "die") == 0)
		die((int)a);
	else if (strcmp(line, "adopt") == 0)
		send_link(fake, &adopted, NULL, 0);
	else if (strcmp(line, "store") == 0)
		store(fake, a, b, c);
	else if (strcmp(line, "drop") == 0)
		drop(fake, a, b);
	else if (strcmp(line, "drop-rest") == 0)
		(void)handover_drop_rest(&fake->handover);
	else if (strcmp(line, "ledger") == 0)
		pass_file(fake, LINK_LEDGER, file_of(a), (uint32_t)b);
	else if (strcmp(line, "upgrade") == 0)
		pass_file(fake, LINK_UPGRADE, open(text, O_PATH | O_CLOEXEC), 0);
	else if (strcmp(line, "notify") == 0)
		notify(fake, text);
	else if (strcmp(line, "child") == 0)
		tell(fake, "child %d", child((int)a));
	else if (strcmp(line, "heir") == 0)
		tell(fake, "heir %d", heir(fake));
	else if (strcmp(line, "storm") == 0)
		store_until_killed(fake, (int)a);
	else if (strcmp(line, "take") == 0 && exits_peek(fake->exits, &(struct reap){0}))
		for (struct reap reap; exits_peek(fake->exits, &reap);
		     exits_take(fake->exits))
			tell(fake, "end %d %d %d", reap.pid, reap.kind, reap.status);
	else if (strcmp(line, "hang") == 0)
		hang(a != 0);
	else if (strcmp(line, "silence") == 0)
		fake->is_silent = a != 0;
	else if (strcmp(line, "beat") == 0)
		send_link(fake, &(struct link_message){.kind = LINK_ALIVE}, NULL, 0);
	else if (strcmp(line, "room") == 0)
		send_link(fake,
		          &(struct link_message){.kind = LINK_ROOM, .n = (uint32_t)a},
		          NULL, 0);
	else if (strcmp(line, "nap") == 0)
		nap();
	tell(fake, "done %s", line);
}

static void
hear(struct fake *fake)
{
	struct link_message message;
	int fds[LINK_FDS_MAX];
	size_t n;
	int r = link_receive(fake->handover.link_fd, MSG_DONTWAIT, &message, fds, &n);

	if (r == 0) {
		tell(fake, "eof");
		_exit(70);
	}
	if (r == 1 && message.kind == LINK_ASK) {
		if (!fake->is_silent)
			send_link(fake,
			          &(struct link_message){.kind = LINK_ALIVE, .n = 1},
			          NULL, 0);
	} else if (r == 1)
		tell(fake, "%s %u", link_names[message.kind], message.n);
}

/* Are all given files there, and each in its place? */
static void
greet(const struct fake *fake)
{
	const struct link_hello *hello = &fake->handover.hello;
	unsigned long long low = 0, high = 0;
	int n_wrong = 0, n_moved = 0;

	for (size_t i = 0; i < fake->handover.n; i++) {
		const struct handover_entry *entry = &fake->handover.vault[i];
		unsigned long long number = number_in(entry->fd);

		n_moved += number != entry->key;
		n_wrong += number == 0 || entry->fd < FD_WINDOW;
	}
	if (fake->handover.n > 0) {
		low = fake->handover.vault[0].key;
		high = fake->handover.vault[fake->handover.n - 1].key;
	}
	tell(fake,
	     "hello pid=%d walker=%d attempts=%u crashes=%u upgrade=%d back=%d last=%d "
	     "kind=%d "
	     "status=%d ledger=%llu vault=%zu low=%llu high=%llu wrong=%d moved=%d "
	     "group=%d nofile=%ju left=%d",
	     getpid(), hello->walker_pid, hello->attempts, hello->crashes,
	     hello->is_upgrade, hello->fell_back, hello->last_end.pid,
	     hello->last_end.kind, hello->last_end.status,
	     hello->has_ledger ? number_in(fake->handover.ledger_fd) : 0,
	     fake->handover.n, low, high, n_wrong, n_moved, getpgrp(),
	     (uintmax_t)hello->nofile.rlim_cur, hello->left[0]);
}

static int
guard(const char *dir)
{
	struct fake fake = {.control = -1};
	struct pollfd fds[2];
	char path[4096], line[4096];
	struct err err;
	sigset_t term;
	FILE *control;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &term, NULL);
	(void)snprintf(path, sizeof(path), "%s/control", dir);
	fake.control = sock_connect_unix(path, SOCK_STREAM);
	if (fake.control < 0 || handover_receive(ROLE_FD, &fake.handover, &err) < 0)
		return 1;
	(void)sock_set_blocking(fake.control, true);
	(void)fcntl(ROLE_FD, F_SETFD, FD_CLOEXEC);
	fake.exits = exits_open(fcntl(fake.handover.exits_fd, F_DUPFD_CLOEXEC, 3), &err);
	control = fdopen(dup(fake.control), "re");
	if (fake.exits == NULL || control == NULL)
		return 1;
	(void)setvbuf(control, NULL, _IONBF, 0);
	greet(&fake);
	fds[0] = (struct pollfd){.fd = ROLE_FD, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = fake.control, .events = POLLIN};
	while (poll(fds, 2, -1) >= 0) {
		if (fds[0].revents != 0)
			hear(&fake);
		if (fds[1].revents == 0)
			continue;
		if (fgets(line, sizeof(line), control) == NULL)
			return 0;
		line[strcspn(line, "\n")] = '\0';
		obey(&fake, line);
	}
	return 1;
}

int
main(int argc, char **argv)
{
	const struct walker_times times = {
	    .adopt_ms = argc > 2 ? strtoull(argv[2], NULL, 10) : WALKER_ADOPT_MS,
	    .trial_ms = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
	};

	if (argc > 2 && strcmp(argv[1], ROLE_GUARDIAN) == 0)
		return guard(argv[2]);
	if (argc > 2 && strcmp(argv[1], ROLE_WALKER) == 0) {
		argv[1] = argv[0];
		return walker_resume(argv + 1);
	}
	return argc > 1 ? walker_run(argv[1], argv, &times) : 1;
}
