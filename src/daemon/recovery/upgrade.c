/* SPDX-License-Identifier: ISC */
/* upgrade.c - the binary on disk takes over from the one that runs. */
#include "config.h"

#include "daemon/recovery/upgrade.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "conf/text/conf.h"
#include "daemon/recovery/candidate.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/options.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "helper/watchers.h"
#include "ledger/handover.h"
#include "ledger/ledger.h"
#include "os/process/reap.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/role.h"
#include "os/spawn/spawn.h"

/* How long the new binary may take to say whether it can. */
#define CHECK_SECONDS 30
/* And to end when it was killed. */
#define END_MS 1000
/* What it says: a thousand errors of a file at most. */
#define SAID_MAX (4 * 1024 * 1024)
/* And how much of other output is quoted. */
#define QUOTE_MAX    400
#define SENTENCE_MAX 4096

struct upgrade {
	const struct upgrader *upgrader;
	upgrade_on_checked *on_checked;
	void *user;
	int binary_fd;
	pid_t pid;
	int pidfd;
	int fd; /* its output; -1: it has ended */
	ev_io io;
	ev_timer timer;
	struct strbuf said;
	enum upgrade_verdict verdict;
	json_t *errors;
	struct strbuf sentence;
};

/* ---- the file ---------------------------------------------------------------------- */

const char *
upgrade_path(const char *binary, char buf[UPGRADE_PATH_MAX])
{
	static const char deleted[] = " (deleted)";

	(void)snprintf(buf, UPGRADE_PATH_MAX, "%s", binary);
	size_t len = strlen(buf);
	/* What the kernel says of a file that was replaced before supd was started. */
	if (len >= sizeof(deleted) &&
	    strcmp(buf + len - (sizeof(deleted) - 1), deleted) == 0)
		buf[len - (sizeof(deleted) - 1)] = '\0';
	return buf;
}

static int
open_binary(const char *binary, struct err *err)
{
	char path[UPGRADE_PATH_MAX];
	struct stat st;
	int fd = fd_raise(open(upgrade_path(binary, path), O_PATH | O_CLOEXEC));

	if (fd < 0)
		return err_say(err, -1, "it cannot be opened: %s", strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0)
		return fd;
	err_set(err, 0, "it is not an executable file");
	(void)close(fd);
	return -1;
}

/* ---- what it says ------------------------------------------------------------------ */

/* Quote the end of its output, on a single line. */
static void
add_quote(struct strbuf *sentence, const struct strbuf *said)
{
	const char *text = strbuf_str(said);
	size_t len = said->len, skipped = 0;

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	while (skipped < len && (text[skipped] == '\n' || len - skipped > QUOTE_MAX))
		skipped++;
	if (len == skipped)
		return;
	CLEANUP(strbuf_done) struct strbuf line = STRBUF(QUOTE_MAX + 1);
	strbuf_add(&line, text + skipped, len - skipped);
	for (size_t i = 0; i < line.len; i++)
		if (line.data[i] == '\n')
			line.data[i] = ' ';
	strbuf_adds(sentence, "; it says: ");
	strbuf_add_visible(sentence, strbuf_str(&line), line.len);
}

/* The last line, without its end. */
static const char *
last_line(struct strbuf *said)
{
	(void)strbuf_str(said);
	while (said->len > 0 && said->data[said->len - 1] == '\n')
		said->data[--said->len] = '\0';
	char *newline = said->len > 0 ? strrchr(said->data, '\n') : NULL;
	return newline != NULL ? newline + 1 : strbuf_str(said);
}

static void
judge(struct upgrade *upgrade)
{
	json_auto_t *said = json_loads(last_line(&upgrade->said), 0, NULL);
	const char *message = json_string_value(json_object_get(said, "message"));

	if (json_is_string(json_object_get(said, "version"))) {
		upgrade->verdict = UPGRADE_FIT;
	} else if (json_is_array(json_object_get(said, "errors"))) {
		upgrade->verdict = UPGRADE_CONF;
		upgrade->errors = json_incref(said);
	} else if (message != NULL) {
		strbuf_adds(&upgrade->sentence, message);
	} else {
		strbuf_adds(
		    &upgrade->sentence,
		    "the binary is not a supd that can take over from the running supd");
		add_quote(&upgrade->sentence, &upgrade->said);
	}
}

/* ---- the child --------------------------------------------------------------------- */

/* The candidate has ended, or is not wanted any more.  It must be gone before supd is.  A
 * candidate that takes longer to die than END_MS is reaped with the strangers. */
static void
stop(struct upgrade *upgrade)
{
	struct ev_loop *loop = upgrade->upgrader->loop;
	struct reap reap;

	ev_io_stop(loop, &upgrade->io);
	ev_timer_stop(loop, &upgrade->timer);
	/* As long as it is ours to reap the pid is its own. */
	if (upgrade->pid > 0 && os_reap_peek(upgrade->pidfd, upgrade->pid, &reap) == 0)
		(void)kill(upgrade->pid, SIGKILL);
	if (upgrade->pid > 0)
		(void)os_reap_wait(upgrade->pidfd, upgrade->pid, END_MS, &reap);
	upgrade->pid = 0;
	fd_close(&upgrade->pidfd);
	fd_close(&upgrade->fd);
}

static void
finish_upgrade(struct upgrade *upgrade)
{
	stop(upgrade);
	if (upgrade->verdict == UPGRADE_OPEN)
		upgrade->verdict = UPGRADE_REFUSED;
	upgrade->on_checked(upgrade->user);
}

static void
on_said(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct upgrade *upgrade = io->data;
	char data[16 * 1024];
	ssize_t n = read(upgrade->fd, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		strbuf_add(&upgrade->said, data, (size_t)n);
	if (upgrade->said.failed)
		strbuf_adds(&upgrade->sentence, "its output is too long");
	else if (n <= 0)
		judge(upgrade);
	else
		return;
	finish_upgrade(upgrade);
}

static void
on_timeout(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct upgrade *upgrade = timer->data;

	strbuf_addf(&upgrade->sentence,
	            "the new binary did not say within %d s whether it can take over",
	            CHECK_SECONDS);
	finish_upgrade(upgrade);
}

/* Execute the file that was opened, even if another file has its name by now. */
static int
spawn(struct upgrade *upgrade, int out_fd, int conf_fd, struct spawn_result *ret)
{
	char *const no_environment[] = {NULL};
	char kind[CANDIDATE_KIND_MAX], question[CANDIDATE_KIND_MAX + 16], file[32];
	const struct upgrader *upgrader = upgrade->upgrader;
	const int fds[] = {-1,      out_fd,
	                   out_fd,  ledger_fd(upgrader->recording->ledger),
	                   conf_fd, upgrade->binary_fd};
	struct spawn spawn = {
	    .file = file,
	    .envp = upgrader->origin->environ != NULL ? upgrader->origin->environ
	                                              : no_environment,
	    .fds = fds,
	    .n_fds = ARRAY_SIZE(fds),
	    .cgroup_fd = -1,
	    .umask = SPAWN_UMASK_INHERIT,
	};

	_Static_assert(CANDIDATE_LEDGER_FD == 3 && CANDIDATE_CONF_FD == 4,
	               "places in fds[]");
	(void)snprintf(question, sizeof(question), "--can-adopt=%s",
	               candidate_kind(kind));
	(void)snprintf(file, sizeof(file), "/proc/self/fd/%zu", ARRAY_SIZE(fds) - 1);
	/* Our own command line; where a role stands, the question. */
	CLEANUP_FREE char **argv = role_arguments(upgrader->origin->options->argv);
	if (argv == NULL)
		return -ENOMEM;
	argv[1] = question;
	spawn.argv = argv;
	return os_spawn(upgrader->spawner, &spawn, ret);
}

static int
start(struct upgrade *upgrade, struct err *err)
{
	struct spawn_result result = {.pid = -1, .pidfd = -1};
	const struct upgrader *upgrader = upgrade->upgrader;
	CLEANUP(fd_close) int conf_fd = conf_pack(upgrader->actors->conf, err);
	int ends[2];

	if (conf_fd < 0)
		return conf_fd;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	int r = spawn(upgrade, ends[1], conf_fd, &result);
	(void)close(ends[1]);
	if (r < 0) {
		err_set(err, 0, "it cannot be run: %s",
		        r == -ETIMEDOUT ? "timeout" : strerror(-r));
		fd_close(&result.pidfd);
		(void)close(ends[0]);
		return r;
	}
	upgrade->pid = result.pid;
	upgrade->pidfd = result.pidfd;
	upgrade->fd = fd_raise(ends[0]);
	io_begin(upgrader->loop, &upgrade->io, upgrade->fd, EV_READ);
	ev_timer_start(upgrader->loop, &upgrade->timer);
	return 0;
}

struct upgrade *
upgrade_new(const struct upgrader *upgrader, upgrade_on_checked *on_checked, void *user,
            struct err *err)
{
	struct upgrade *upgrade = err_calloc(sizeof(*upgrade), err, "upgrade");

	if (upgrade == NULL)
		return NULL;
	*upgrade = (struct upgrade){
	    .upgrader = upgrader,
	    .on_checked = on_checked,
	    .user = user,
	    .pidfd = -1,
	    .fd = -1,
	    .io.data = upgrade,
	    .timer.data = upgrade,
	    .said = STRBUF(SAID_MAX),
	    .sentence = STRBUF(SENTENCE_MAX),
	};
	ev_io_init(&upgrade->io, on_said, -1, EV_READ);
	ev_timer_init(&upgrade->timer, on_timeout, CHECK_SECONDS, 0.);
	upgrade->binary_fd = open_binary(upgrader->origin->binary, err);
	if (upgrade->binary_fd < 0 || start(upgrade, err) < 0) {
		upgrade_free(upgrade);
		return NULL;
	}
	return upgrade;
}

void
upgrade_free(struct upgrade *upgrade)
{
	if (upgrade == NULL)
		return;
	stop(upgrade);
	fd_close(&upgrade->binary_fd);
	strbuf_done(&upgrade->said);
	strbuf_done(&upgrade->sentence);
	json_decref(upgrade->errors);
	free(upgrade);
}

enum upgrade_verdict
upgrade_verdict(const struct upgrade *upgrade)
{
	return upgrade->verdict;
}

json_t *
upgrade_errors(const struct upgrade *upgrade)
{
	return upgrade->errors;
}

const char *
upgrade_sentence(const struct upgrade *upgrade)
{
	return strbuf_str(&upgrade->sentence);
}

/* ---- making room ------------------------------------------------------------------- */

/*
 * A checkpoint, so that what the new binary would decide otherwise is not decided again;
 * then the time, the binary, the end.  Whenever we die in between, the one or the other
 * takes over, and knows which it is.
 */
int
upgrade_go(struct upgrade *upgrade)
{
	const struct upgrader *upgrader = upgrade->upgrader;

	ASSERT(upgrade->verdict == UPGRADE_FIT);
	post_checkpoint(upgrader->post);
	upgrader->recording->facts.upgrade_ms = clock_mono_ms();
	record_facts(upgrader->recording);
	int r = keeper_upgrade(upgrader->keeper, upgrade->binary_fd);
	if (r < 0) {
		upgrader->recording->facts.upgrade_ms = 0;
		record_facts(upgrader->recording);
		return r;
	}
	upgrader->engine->exit_status = EXIT_UPGRADE;
	upgrader->engine->exiting = true;
	return 0;
}

/* ---- on the other side ------------------------------------------------------------- */

void
upgrade_tell(const struct link_hello *hello, const struct ledger *ledger,
             struct upgrade_story *ret)
{
	struct ledger_facts facts;
	uint64_t since_ms = hello->died_ms;

	*ret = (struct upgrade_story){
	    .is_upgrade = hello->is_upgrade,
	    .fell_back = hello->fell_back,
	};
	if (ledger_facts(ledger, &facts) == 0) {
		(void)snprintf(ret->from, sizeof(ret->from), "%s", facts.version);
		/* Others may have tried before us. */
		if ((ret->is_upgrade || ret->fell_back) && facts.upgrade_ms != 0)
			since_ms = facts.upgrade_ms;
	}
	ret->outage_ms = clock_mono_ms() - since_ms;
}
