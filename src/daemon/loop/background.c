/* SPDX-License-Identifier: ISC */
/* background.c - `supd -d`: supd in the background, once it is ready.
 *
 * The process that was started is its service manager until then: it listens to READY=1
 * of sd_notify(3), so that walker and guardian need not know that they are in the
 * background.
 */
#include "config.h"

#include "daemon/loop/background.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/text/conf.h"
#include "daemon/state/log.h"
#include "os/self/fd.h"
#include "os/self/say.h"
#include "os/socket/sdnotify.h"

/* How much of supd's own log is shown when supd has ended before it was ready. */
#define SHOWN_MAX 8192

/* supd's own log, which is the standard error of a supd in the background. */
struct own_log {
	const char *path;
	int in, out;
	off_t start; /* what was there before */
};

/* Opened as the guardian will open it; 0 or an exit status, which was said. */
static int
open_log(const char *conf_file, struct own_log *ret)
{
	CLEANUP(conf_reports_done) struct conf_reports reports;
	CLEANUP(conf_drop)
	struct conf *conf = conf_load(
	    conf_file, &(const struct conf_options){.environ = environ}, &reports);
	struct err err = {0};
	bool is_json;

	conf_reports_print(&reports);
	if (conf != NULL &&
	    log_open(LOG_LEVEL_INFO, LOG_TARGET_FILE, conf->log_directory, &err) == 0) {
		ret->path = log_file(&is_json);
		ret->in = open(ret->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		ret->out = open(ret->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
		if (ret->in < 0 || ret->out < 0)
			err_set(&err, errno, "log to %s", ret->path);
	}
	if (err.text[0] == '\0')
		return conf == NULL ? EX_CONFIG : EX_OK;
	say_refusal("%s", err.text);
	return EX_OSERR;
}

/* The child: a session without a terminal, which goes on as supd. */
static int
leave_terminal(const struct own_log *own_log, const char *address)
{
	const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	(void)unsetenv("WATCHDOG_USEC");
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
	    dup2(null_fd, STDOUT_FILENO) < 0 || dup2(own_log->out, STDERR_FILENO) < 0 ||
	    setenv("NOTIFY_SOCKET", address, 1) < 0) {
		say_refusal("to the background: %s", strerror(errno));
		_exit(EX_OSERR);
	}
	return -1;
}

/* True if the supd with this pid has sent READY=1.  Takes all messages that the socket
 * has. */
static bool
is_ready(int notify_fd, pid_t pid)
{
	struct notify_message message;
	bool ready = false;
	size_t len;
	int r;

	while ((r = notify_peek(notify_fd, &message)) != 0) {
		const char *value = r == 1 && message.pid == pid
		                        ? notify_value(&message, "READY", &len)
		                        : NULL;

		ready |= value != NULL && len == 1 && *value == '1';
		notify_skip(notify_fd);
	}
	return ready;
}

/* What has come to the log since; the end of that, if it is long. */
static void
show_log(const struct own_log *own_log)
{
	char text[SHOWN_MAX + 1];
	const off_t end = lseek(own_log->in, 0, SEEK_END);
	const off_t from =
	    end - own_log->start > SHOWN_MAX ? end - SHOWN_MAX : own_log->start;
	const ssize_t n = pread(own_log->in, text, SHOWN_MAX, from);
	const char *begin = text;

	if (n <= 0)
		return;
	text[n] = '\0';
	if (from > own_log->start && strchr(text, '\n') != NULL)
		begin = strchr(text, '\n') + 1;
	(void)fputs(begin, stderr);
}

/* Wait until that is ready or has ended; the exit status. */
static int
wait_for(pid_t pid, int notify_fd, const struct own_log *own_log)
{
	struct pollfd fds[2] = {
	    {.fd = notify_fd, .events = POLLIN},
	    {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN}};
	int status = 0;

	if (fds[1].fd < 0) {
		say_refusal("to the background: %s", strerror(errno));
		return EX_OSERR;
	}
	do {
		(void)poll(fds, 2, -1);
		if (is_ready(notify_fd, pid))
			return EX_OK;
	} while (waitpid(pid, &status, WNOHANG) != pid);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	show_log(own_log);
	say_refusal("ended with status %d before it was ready; its log is %s", status,
	            own_log->path);
	return status;
}

/*
 * Fork, and go on as supd in the background.  To be called before the walker begins.
 *
 * Returns -1 in the child, which is supd: it has a session of its own, its standard
 * error is supd's own log, the other two are /dev/null.  Elsewhere the exit status: 0
 * once supd is ready, or that of a supd that ended before, and standard error says why.
 */
int
background_start(const char *conf_file)
{
	struct own_log own_log = {.in = -1, .out = -1};
	char address[NOTIFY_NAME_MAX];
	struct err err;
	int notify_fd, status = open_log(conf_file, &own_log);

	if (status != EX_OK)
		return status;
	own_log.start = lseek(own_log.in, 0, SEEK_END);
	notify_fd = notify_listen("supd-d", &err);
	if (notify_fd < 0) {
		say_refusal("%s", err.text);
		return EX_OSERR;
	}
	if (notify_address(notify_fd, address) < 0)
		return EX_OSERR;
	pid_t pid = fork();
	if (pid == 0)
		return leave_terminal(&own_log, address);
	if (pid > 0)
		return wait_for(pid, notify_fd, &own_log);
	say_refusal("to the background: %s", strerror(errno));
	return EX_OSERR;
}
