/* SPDX-License-Identifier: ISC */
/* supd.c - one run of supd, from a configuration file to an exit status. */
#include "config.h"

#include "daemon/supd.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "daemon/control.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/notify.h"
#include "daemon/procs.h"
#include "daemon/reload.h"
#include "daemon/report.h"
#include "daemon/shell.h"
#include "daemon/systemd.h"
#include "ledger/handover.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/leftover.h"
#include "os/reap.h"
#include "os/signals.h"
#include "os/sock.h"
#include "paths.h"

/* Descriptors of supd itself: log, loop, what a spawn takes for a moment. */
#define OWN_FDS 40
/* And of each actor: pidfd, cgroup, notify socket. */
#define FDS_PER_ACTOR 3
/* And so many clients, fewer where descriptors are short. */
#define CLIENTS_MAX 512
#define CLIENTS_MIN 8

/* ---- defaults ------------------------------------------------------------------------
 */

/* /etc/supd/supd.yaml for root, below the user's configuration directory otherwise. */
const char *
supd_default_conf(char buf[SUPD_PATH_MAX])
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (geteuid() == 0)
		return SUPD_CONF;
	if (config != NULL && config[0] == '/')
		(void)snprintf(buf, SUPD_PATH_MAX, "%s/supd/supd.yaml", config);
	else
		(void)snprintf(buf, SUPD_PATH_MAX, "%s/.config/supd/supd.yaml",
		               home != NULL ? home : "");
	return buf;
}

/* $RUNTIME_DIRECTORY, else /run/supd, else $XDG_RUNTIME_DIR/supd (CONTROL.md). */
const char *
supd_default_runtime_dir(char buf[SUPD_PATH_MAX])
{
	const char *given = getenv("RUNTIME_DIRECTORY");
	const char *user = getenv("XDG_RUNTIME_DIR");

	if (given != NULL && given[0] == '/') {
		/* systemd may name several, the first is ours. */
		(void)snprintf(buf, SUPD_PATH_MAX, "%.*s", (int)strcspn(given, ":"),
		               given);
		return buf;
	}
	if (geteuid() == 0 || user == NULL || user[0] != '/')
		return SUPD_RUNDIR;
	(void)snprintf(buf, SUPD_PATH_MAX, "%s/supd", user);
	return buf;
}

/* Everything that was found, one line each, on stderr. */
void
supd_print_reports(const struct conf_reports *reports)
{
	struct strbuf sb;

	strbuf_init(&sb, 16 * 1024 * 1024);
	conf_reports_format(reports, &sb);
	(void)fputs(strbuf_str(&sb), stderr);
	strbuf_done(&sb);
}

/* ---- signals
 * --------------------------------------------------------------------------- */

struct signals {
	ev_io link;
	bool has_terminal;
	bool is_alone; /* the walker has died */
};

static void
begin_shutdown(struct shell *shell, enum event_kind kind)
{
	/* Once is enough, however often it is asked for. */
	if (shell->shutting_down && kind == EVENT_SHUTDOWN)
		return;
	if (!shell->shutting_down) {
		shell->shutting_down = true;
		systemd_stopping(shell);
		report_supd(shell, "shutting_down");
	}
	shell_post(shell, &(struct event){.kind = kind, .ref = REF_NONE, .code = -1});
}

void
shell_shut_down(struct shell *shell)
{
	begin_shutdown(shell, EVENT_SHUTDOWN);
}

static bool
has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

/* From a person it asks for the new configuration; from a terminal that went away it is
 * the end (DECISIONS 13). */
static void
on_hangup(struct shell *shell)
{
	if (shell->signals->has_terminal && !has_terminal())
		begin_shutdown(shell, EVENT_SHUTDOWN);
	else
		reload_now(shell);
}

static void
on_signal(struct shell *shell, uint32_t signo)
{
	if (signo == SIGTERM || signo == SIGINT)
		begin_shutdown(shell, EVENT_SHUTDOWN);
	else if (signo == SIGQUIT)
		begin_shutdown(shell, EVENT_QUIT);
	else if (signo == SIGHUP)
		on_hangup(shell);
	else if (signo == SIGUSR1)
		log_reopen();
}

/* Nobody would start us again, nor keep what is ours (DECISIONS 11). */
static void
on_walker_gone(struct shell *shell)
{
	log_line(LOG_LEVEL_ERROR, "supd's outermost process has died: shutting down");
	ev_io_stop(shell->loop, &shell->signals->link);
	shell->signals->is_alone = true;
	begin_shutdown(shell, EVENT_SHUTDOWN);
}

static void
on_link(struct ev_loop *loop, ev_io *watcher, int revents)
{
	struct shell *shell = watcher->data;
	struct link_message message;
	int fds[LINK_FDS_MAX], r;
	size_t n_fds;

	(void)loop;
	(void)revents;
	while ((r = link_receive(shell->handover->link_fd, MSG_DONTWAIT, &message, fds,
	                         &n_fds)) == 1) {
		for (size_t i = 0; i < n_fds; i++)
			fd_close(&fds[i]);
		if (message.kind == LINK_SIGNAL)
			on_signal(shell, message.n);
	}
	if (r == 0)
		on_walker_gone(shell);
}

static void
watch_link(struct shell *shell, struct signals *signals)
{
	*signals = (struct signals){.has_terminal = has_terminal()};
	ev_io_init(&signals->link, on_link, shell->handover->link_fd, EV_READ);
	signals->link.data = shell;
	ev_io_start(shell->loop, &signals->link);
	shell->signals = signals;
}

/* Only the walker is in the foreground of its terminal; who writes there from the
 * background may be stopped for it. */
static void
set_signals(void)
{
	sigset_t output;

	signals_reset();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&output);
	(void)sigaddset(&output, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &output, NULL);
}

/* ---- start
 * ------------------------------------------------------------------------------ */

/* How many descriptors the actors and supd's own rooms need. */
static uint64_t
count_fds(const struct conf *conf)
{
	uint64_t n = OWN_FDS + (uint64_t)conf->n_actors * FDS_PER_ACTOR;

	for (uint32_t i = 0; i < conf->n_actors; i++)
		n += conf->actors[i].process.n_sockets;
	return n;
}

/* Ask for enough descriptors; what there are fewer of, clients go without first. */
static void
raise_limit(struct shell *shell, const struct conf *conf)
{
	uint64_t needed = count_fds(conf);
	struct rlimit limit;
	struct err err;

	shell->clients_max = CLIENTS_MAX;
	if (fd_raise_limit(needed + CLIENTS_MAX, &err) == 0)
		return;
	log_line(LOG_LEVEL_WARNING,
	         "%s; starts may fail and be retried: raise LimitNOFILE= or 'ulimit -Hn'",
	         err.text);
	if (fd_limit(&limit) < 0 || limit.rlim_cur >= needed + CLIENTS_MAX)
		return;
	shell->clients_max = CLIENTS_MIN;
	if (limit.rlim_cur > needed + CLIENTS_MIN)
		shell->clients_max = (uint32_t)(limit.rlim_cur - needed);
}

static int
open_log(const struct conf *conf, const struct supd_options *options)
{
	enum log_level level = conf->log_level;
	enum log_target target = conf->log_target;
	struct err err;

	if (options->log_level >= 0)
		level = (enum log_level)options->log_level;
	if (options->log_target >= 0)
		target = (enum log_target)options->log_target;
	if (log_open(level, target, conf->log_directory, &err) == 0)
		return 0;
	log_line(LOG_LEVEL_WARNING, "%s; logging to stderr", err.text);
	return log_open(level, LOG_TARGET_STDERR, conf->log_directory, &err);
}

static bool
is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Who may connect; what they may do is looked up at each call. */
static void
set_control_mode(const struct shell *shell)
{
	const struct conf *conf = shell->conf;
	gid_t gid = conf->has_control_group ? conf->control_gid : getegid();

	if (chown(shell->control_path, (uid_t)-1, gid) < 0 ||
	    chmod(shell->control_path, conf->control_mode) < 0)
		(void)log_errno(-errno, "mode of %s", shell->control_path);
}

void
shell_conf_changed(struct shell *shell, const struct conf *old)
{
	const struct conf *conf = shell->conf;

	if (conf->log_level != old->log_level || conf->log_target != old->log_target ||
	    !is_same_text(conf->log_directory, old->log_directory))
		(void)open_log(conf, shell->options);
	if (!is_same_text(conf->control_socket, old->control_socket))
		log_line(LOG_LEVEL_WARNING,
		         "control.socket was changed: that takes a restart of supd");
	if (conf->control_mode != old->control_mode ||
	    conf->has_control_group != old->has_control_group ||
	    conf->control_gid != old->control_gid)
		set_control_mode(shell);
	raise_limit(shell, conf);
}

static char *
control_path(const struct conf *conf, const char *runtime_dir)
{
	struct strbuf sb;

	if (conf->control_socket != NULL)
		return strdup(conf->control_socket);
	strbuf_init(&sb, SUPD_PATH_MAX);
	strbuf_addf(&sb, "%s/control.sock", runtime_dir);
	return strbuf_take(&sb);
}

static uint64_t
seed_of(const struct supd_options *options)
{
	uint64_t seed = options->seed;

	if (!options->has_seed && getrandom(&seed, sizeof(seed), 0) < 0)
		seed = clock_mono_ns();
	return seed;
}

/* Everything that runs around the tree; 0 or an exit status. */
static int
open_rooms(struct shell *shell, const struct conf *conf)
{
	struct err err = {0};

	shell->loop = ev_loop_new(EVFLAG_NOENV | EVFLAG_AUTO);
	if (shell->loop == NULL) {
		log_line(LOG_LEVEL_ERROR, "event loop: %s", strerror(errno));
		return EX_OSERR;
	}
	if (cgroup_root_open(&shell->cgroups, &err) < 0)
		log_line(LOG_LEVEL_INFO,
		         "no cgroup of its own for each actor (%s): sessions instead",
		         err.text);
	if (events_init(&shell->events) < 0)
		err_set(&err, ENOMEM, "event stream");
	else if ((shell->turn = loop_new(shell, &err)) != NULL &&
	         (shell->procs = procs_new(shell, &err)) != NULL &&
	         (shell->notify = notify_new(shell, &err)) != NULL)
		shell->control_path = control_path(conf, shell->runtime_dir);
	if (shell->control_path == NULL) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		return EX_OSERR;
	}
	return 0;
}

/* What a supd that was killed left behind would run twice, and hold its sockets. */
static void
end_leftovers(struct shell *shell)
{
	struct strbuf variable;
	size_t n = 0;
	int r;

	strbuf_init(&variable, SUPD_PATH_MAX + 16);
	strbuf_addf(&variable, "SUPD_SOCKET=%s", shell->control_path);
	r = leftover_kill(strbuf_str(&variable), &n);
	strbuf_done(&variable);
	if (r < 0)
		(void)log_errno(r, "look for processes of a supd that died");
	if (n > 0)
		report_leftovers(shell, n);
}

static int
boot(struct shell *shell, struct conf *conf, const struct supd_options *options)
{
	struct err err = {0};

	/* Whoever answers there has living actors that look like leftovers. */
	if (sock_unix_is_live(shell->control_path)) {
		log_line(LOG_LEVEL_ERROR, "another supd answers at %s",
		         shell->control_path);
		return EX_UNAVAILABLE;
	}
	end_leftovers(shell);
	if (reload_boot(shell, conf, seed_of(options), &err) < 0) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		return EX_OSERR;
	}
	shell->control = control_new(shell, &err);
	if (shell->control == NULL) {
		log_line(LOG_LEVEL_ERROR, "control socket: %s", err.text);
		return err.code == EADDRINUSE ? EX_UNAVAILABLE : EX_OSERR;
	}
	return 0;
}

static void
close_rooms(struct shell *shell)
{
	if (shell->control != NULL)
		control_flush(shell->control);
	control_free(shell->control);
	systemd_close(shell);
	if (shell->conf != NULL)
		mailboxes_close(&shell->mailboxes, shell->conf);
	procs_free(shell->procs);
	notify_free(shell->notify);
	loop_free(shell->turn);
	events_done(&shell->events);
	actors_done(&shell->actors);
	reload_free(shell);
	cgroup_root_close(&shell->cgroups);
	free(shell->core);
	free(shell->control_path);
	if (shell->loop != NULL)
		ev_loop_destroy(shell->loop);
	os_spawn_done(&shell->spawner);
	log_close();
}

static int
run_in(struct shell *shell, struct conf *conf, const struct supd_options *options)
{
	const struct link_message adopted = {.kind = LINK_ADOPTED};
	struct signals signals;
	int status;

	(void)open_log(conf, options);
	raise_limit(shell, conf);
	if (os_become_subreaper() < 0)
		log_line(LOG_LEVEL_WARNING, "cannot become a subreaper: %s",
		         strerror(errno));
	status = open_rooms(shell, conf);
	if (status != 0)
		return status;
	watch_link(shell, &signals);
	systemd_open(shell);
	status = boot(shell, conf, options);
	if (status != 0)
		return status;
	/* Reading the configuration took more memory than keeping it does. */
	(void)malloc_trim(0);
	report_supd(shell, "started");
	(void)link_send(shell->handover->link_fd, &adopted, NULL, 0);
	shell_post(shell, &(struct event){.kind = EVENT_BOOT, .ref = REF_NONE});
	loop_run(shell->turn);
	return signals.is_alone ? EX_SOFTWARE : shell->exit_status;
}

/* Be the guardian until the end; returns supd's exit status (CONTROL.md).  The handover
 * and its link stay the caller's. */
int
supd_run(const struct supd_options *options, struct handover *handover)
{
	const struct conf_options how = {.warn = true, .environ = environ};
	struct shell shell = {.handover = handover, .environ = environ, .systemd.fd = -1};
	struct conf_reports reports;
	struct conf *conf;
	int status;

	set_signals();
	cgroup_root_init(&shell.cgroups);
	shell.nofile = handover->hello.nofile;
	shell.walker_pid = handover->hello.walker_pid;
	/* First of all that opens descriptors: they are to be born above its window. */
	status = os_spawn_init(&shell.spawner);
	if (status < 0) {
		(void)log_errno(status, "prepare to start processes");
		return EX_OSERR;
	}
	shell.clients_max = CLIENTS_MAX;
	shell.now_ms = clock_mono_ms();
	shell.started_ms = shell.now_ms;
	conf = conf_load(options->conf_file, &how, &reports);
	supd_print_reports(&reports);
	conf_reports_done(&reports);
	if (conf == NULL)
		return EX_CONFIG;
	shell.conf_file = options->conf_file;
	shell.runtime_dir = options->runtime_dir;
	shell.options = options;
	status = run_in(&shell, conf, options);
	if (shell.conf != NULL)
		conf = NULL;
	close_rooms(&shell);
	conf_free(shell.conf);
	conf_free(conf);
	return status;
}
