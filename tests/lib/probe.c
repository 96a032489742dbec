/* SPDX-License-Identifier: ISC */
/* probe.c - an actor for the tests: tells what happens to it and does what it is told.
 *
 * probe DIR NAME [ACTION...]
 *
 * Each line that it writes to the fifo DIR/log is "NANOSECONDS KIND NAME PID [MORE]" with
 * CLOCK_MONOTONIC; one write each, so that the fifo holds them in the order in which they
 * happened.  Kinds: S started, t got the stop signal, s got another signal, x about to
 * exit, r sent READY=1, R wrote a report, F forked, d a daemon was born, a answered a
 * client, D found that another life of its name has not ended yet, E was asked for an
 * echo.
 *
 * Actions come from the command line, then as datagrams to the abstract unix socket
 * "probe.DIR.PID" (of DIR only the last part).  "250:exit=1" is done 250 ms later,
 * "?FILE:exit=1" only if the file exists.  See obey() for all of them.
 */
#include "config.h"

#include "tests/lib/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LISTEN_MAX 16

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

void
probe_tell(const struct probe *probe, char kind, const char *more)
{
	char line[TEXT_MAX];
	int len =
	    snprintf(line, sizeof(line), "%llu %c %s %ld%s%s\n",
	             (unsigned long long)now_ns(), kind, probe->name, (long)getpid(),
	             more == NULL ? "" : " ", more == NULL ? "" : more);

	if (len > 0 && write(probe->log_fd, line, (size_t)len) < 0)
		_exit(99);
}

static void
end(const struct probe *probe, int code)
{
	char more[16];

	snprintf(more, sizeof(more), "%d", code);
	probe_tell(probe, 'x', more);
	_exit(code);
}

static int
signal_number(const char *name)
{
	for (int signo = 1; signo < NSIG; signo++) {
		const char *known = sigabbrev_np(signo);

		if (known != NULL && strcmp(known, name) == 0)
			return signo;
	}
	return atoi(name);
}

/* ---- actions ----------------------------------------------------------------------- */

static void
behave_by_default(int signo)
{
	sigset_t set;

	signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void
do_later(struct probe *probe, uint64_t delay_ms, const char *text)
{
	for (size_t i = 0; i < LATER_MAX; i++) {
		struct later *later = &probe->later[i];

		if (later->due_ms != 0)
			continue;
		later->due_ms = now_ns() / 1000000U + delay_ms;
		snprintf(later->text, sizeof(later->text), "%s", text);
		return;
	}
}

static void
do_exit(struct probe *probe, const char *value)
{
	end(probe, atoi(value));
}

static void
do_raise(struct probe *probe, const char *value)
{
	(void)probe;
	behave_by_default(signal_number(value));
	kill(getpid(), signal_number(value));
}

static void
do_default(struct probe *probe, const char *value)
{
	(void)probe;
	behave_by_default(signal_number(value));
}

static void
do_ignore(struct probe *probe, const char *value)
{
	(void)value;
	probe->ignores_stop = true;
}

static void
do_delay(struct probe *probe, const char *value)
{
	probe->stop_delay_ms = strtoul(value, NULL, 10);
}

static void
do_ready(struct probe *probe, const char *value)
{
	(void)value;
	probe_notify(probe, "READY=1");
}

static void
do_notify(struct probe *probe, const char *value)
{
	probe_notify(probe, value);
}

static void
do_flood(struct probe *probe, const char *value)
{
	(void)probe;
	probe_flood(value);
}

static void
do_report(struct probe *probe, const char *value)
{
	(void)value;
	probe_report(probe);
	probe_tell(probe, 'R', NULL);
}

static void
do_say(struct probe *probe, const char *value)
{
	(void)probe;
	printf("%s\n", value);
	fflush(stdout);
}

static void
do_moan(struct probe *probe, const char *value)
{
	(void)probe;
	fprintf(stderr, "%s\n", value);
}

/* Lines numbered downwards, a line each millisecond. */
static void
do_drip(struct probe *probe, const char *value)
{
	char text[32];
	long n = strtol(value, NULL, 10);

	printf("drip %ld\n", n);
	fflush(stdout);
	if (n <= 1) {
		probe_tell(probe, 'E', "dry");
		return;
	}
	snprintf(text, sizeof(text), "drip=%ld", n - 1);
	do_later(probe, 1, text);
}

static void
do_serve(struct probe *probe, const char *value)
{
	probe->serves = true;
	probe->serve_max = strtol(value, NULL, 10);
}

/* Its clients send a line: `crash` is exit 1 without an answer. */
static void
do_talk(struct probe *probe, const char *value)
{
	(void)value;
	probe->serves = probe->asks = true;
}

/* Bind to a name, as the command socket needs: abstract, "KIND.DIR.WHO". */
static bool
bind_name(const struct probe *probe, int fd, const char *kind, const char *who)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s.%s.%s",
	                   kind, probe->dir, who);

	return bind(fd, (struct sockaddr *)&address,
	            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
	                        (size_t)len)) == 0;
}

/* Two lives of one name at a time are told; the name is free when this one has ended. */
static void
do_alone(struct probe *probe, const char *value)
{
	(void)value;
	if (!bind_name(probe, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "life",
	               probe->name))
		probe_tell(probe, 'D', NULL);
}

/* The commands before this are done. */
static void
do_echo(struct probe *probe, const char *value)
{
	probe_tell(probe, 'E', value);
}

static void
do_daemon(struct probe *probe, const char *value)
{
	probe_daemonize(probe, strcmp(value, "hydra") == 0, strcmp(value, "bare") == 0);
}

static void
do_fork(struct probe *probe, const char *value)
{
	probe_fork(probe, strtol(value, NULL, 10));
}

static void
do_unfork(struct probe *probe, const char *value)
{
	(void)value;
	probe_end_forks(probe);
}

static void
obey_plain(struct probe *probe, const char *name, const char *value)
{
	static const struct {
		const char *name;
		void (*act)(struct probe *probe, const char *value);
	} verbs[] = {
	    {"exit", do_exit},     {"raise", do_raise},   {"default", do_default},
	    {"ignore", do_ignore}, {"delay", do_delay},   {"ready", do_ready},
	    {"notify", do_notify}, {"report", do_report}, {"say", do_say},
	    {"moan", do_moan},     {"serve", do_serve},   {"daemon", do_daemon},
	    {"fork", do_fork},     {"unfork", do_unfork}, {"alone", do_alone},
	    {"echo", do_echo},     {"drip", do_drip},     {"talk", do_talk},
	    {"flood", do_flood},
	};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, name) == 0) {
			verbs[i].act(probe, value);
			return;
		}
	}
	end(probe, 97);
}

/* Carry out an action; see the top of this file for its two prefixes. */
static void
obey(struct probe *probe, const char *action)
{
	char text[TEXT_MAX];
	const char *colon = strchr(action, ':');
	struct stat st;

	if (action[0] == '?' && colon != NULL) {
		snprintf(text, sizeof(text), "%.*s", (int)(colon - action - 1),
		         action + 1);
		if (stat(text, &st) < 0)
			return;
		action = colon + 1;
		colon = NULL;
	}
	if (action[0] >= '0' && action[0] <= '9' && colon != NULL) {
		do_later(probe, strtoul(action, NULL, 10), colon + 1);
		return;
	}
	snprintf(text, sizeof(text), "%s", action);
	char *value = strchr(text, '=');
	if (value != NULL)
		*value++ = '\0';
	obey_plain(probe, text, value == NULL ? "" : value);
}

/* ---- the loop ---------------------------------------------------------------------- */

static void
on_signal(struct probe *probe)
{
	struct signalfd_siginfo info;
	char more[16];

	if (read(probe->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo != SIGTERM && info.ssi_signo != SIGINT) {
		snprintf(more, sizeof(more), "%u", info.ssi_signo);
		probe_tell(probe, 's', more);
		return;
	}
	probe_tell(probe, 't', NULL);
	if (probe->ignores_stop)
		return;
	if (probe->stop_delay_ms > 0)
		do_later(probe, probe->stop_delay_ms, "exit=0");
	else
		end(probe, 0);
}

static void
on_letter(struct probe *probe, int fd)
{
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	struct sockaddr *sender = (struct sockaddr *)&from;
	char text[200];

	if (recvfrom(fd, text, sizeof(text) - 1, 0, sender, &from_len) < 0)
		from_len = read(fd, text, sizeof(text) - 1) < 0;
	probe_tell(probe, 'a', NULL);
	snprintf(text, sizeof(text), "%.100s %ld\n", probe->name, (long)getpid());
	if (from_len > sizeof(from.ss_family))
		(void)sendto(fd, text, strlen(text), 0, sender, from_len);
}

/* Every client gets the name and pid of this process, and the connection is closed. */
static void
on_client(struct probe *probe, int listen_fd)
{
	char answer[200];
	int client = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (client < 0 && (errno == EOPNOTSUPP || errno == ENOTSOCK))
		on_letter(probe, listen_fd);
	if (client < 0)
		return;
	if (probe->asks && read(client, answer, sizeof(answer)) > 0 &&
	    strncmp(answer, "crash", 5) == 0)
		end(probe, 1);
	(void)recv(client, answer, sizeof(answer), MSG_DONTWAIT); /* else it is reset */
	snprintf(answer, sizeof(answer), "%.100s %ld\n", probe->name, (long)getpid());
	(void)!write(client, answer, strlen(answer));
	close(client);
	probe_tell(probe, 'a', NULL);
	if (probe->serve_max > 0 && --probe->serve_max == 0)
		end(probe, 1);
}

static void
on_command(struct probe *probe)
{
	char text[TEXT_MAX];
	ssize_t n = recv(probe->command_fd, text, sizeof(text) - 1, 0);

	if (n > 0) {
		text[n] = '\0';
		obey(probe, text);
	}
}

static int
run_later(struct probe *probe)
{
	uint64_t now_ms = now_ns() / 1000000U;
	uint64_t next_ms = UINT64_MAX;

	for (size_t i = 0; i < LATER_MAX; i++) {
		struct later *later = &probe->later[i];

		if (later->due_ms == 0)
			continue;
		if (later->due_ms <= now_ms) {
			later->due_ms = 0;
			obey(probe, later->text);
		}
	}
	/* What was done may have put something off, into any place. */
	for (size_t i = 0; i < LATER_MAX; i++)
		if (probe->later[i].due_ms != 0 && probe->later[i].due_ms < next_ms)
			next_ms = probe->later[i].due_ms;
	return next_ms == UINT64_MAX ? -1 : (int)(next_ms - now_ms);
}

static void
run(struct probe *probe)
{
	const char *listen_fds = getenv("LISTEN_FDS");
	int n_listen = listen_fds == NULL ? 0 : atoi(listen_fds);

	for (;;) {
		struct pollfd fds[2 + LISTEN_MAX] = {
		    {.fd = probe->signal_fd, .events = POLLIN},
		    {.fd = probe->command_fd, .events = POLLIN},
		};
		nfds_t n = 2;
		int timeout_ms = run_later(probe);

		for (int i = 0; probe->serves && i < n_listen && n < 2 + LISTEN_MAX; i++)
			fds[n++] = (struct pollfd){.fd = 3 + i, .events = POLLIN};
		if (poll(fds, n, timeout_ms) <= 0)
			continue;
		if (fds[0].revents != 0)
			on_signal(probe);
		if (fds[1].revents != 0)
			on_command(probe);
		for (nfds_t i = 2; i < n; i++) {
			if (fds[i].revents != 0)
				on_client(probe, fds[i].fd);
		}
	}
}

static void
open_all(struct probe *probe)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};
	char path[600];
	char pid[16];
	sigset_t set;

	snprintf(path, sizeof(path), "%.500s/log", probe->dir);
	probe->log_fd = open(path, O_RDWR | O_CLOEXEC);
	probe->command_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	if (!bind_name(probe, probe->command_fd, "probe", pid))
		_exit(96);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	probe->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
}

int
main(int argc, char **argv)
{
	struct probe probe = {.log_fd = -1};
	bool reports = argc > 3 && strcmp(argv[3], "report") == 0;

	if (argc < 3)
		return 64;
	probe.dir = argv[1];
	probe.name = argv[2];
	if (reports)
		probe_report(&probe); /* before anything of its own is open or changed */
	open_all(&probe);
	if (probe.log_fd < 0)
		return 95;
	probe_tell(&probe, 'S', NULL);
	if (reports)
		probe_tell(&probe, 'R', NULL);
	for (int i = reports ? 4 : 3; i < argc; i++)
		obey(&probe, argv[i]);
	run(&probe);
}
