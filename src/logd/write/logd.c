/* SPDX-License-Identifier: ISC */
/* logd.c - /system/log: the loop and its signals. */
#include "config.h"

#include "logd/write/logd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "logd/write/logd_private.h"
#include "os/self/clock.h"
#include "os/self/confine.h"
#include "os/self/fd.h"

#define EVENTS_MAX 256

/* ---- compressing ---- */

/* A child has ended: find its sink, and begin with the next file to be compressed. */
static void
reap(struct logd *logd)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (uint32_t i = 0; i < logd->table.n_sinks; i++) {
			struct sink *sink = logd->table.sink_at[i];

			if (sink->packer != pid)
				continue;
			sink->packer = 0;
			trouble_packed(logd, sink, status == 0 ? 0 : EIO);
			sink_tidy(sink);
			sink->pack_due = status == 0;
			flow_pack(logd, sink);
			break;
		}
	}
}

/* ---- the loop ---- */

static void
on_signal(struct logd *logd)
{
	struct signalfd_siginfo info;

	while (read(logd->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == LOGD_STOP && !logd->stopping)
			flow_stop(logd);
		else if (info.ssi_signo == SIGUSR1)
			/* Each file is opened by its name again. */
			logd_close_sinks(logd, 0);
		else if (info.ssi_signo == SIGCHLD)
			reap(logd);
	}
}

static void
on_feed(struct logd *logd, uint32_t events)
{
	if (events & EPOLLOUT) {
		if (logd->hello_owed)
			intake_hello(logd);
		if (logd->trouble_owed)
			trouble_tell(logd);
		if (logd->match_owed)
			match_tell_all(logd);
	}
	if ((events & ~(uint32_t)EPOLLOUT) != 0)
		intake_read(logd);
	if (logd->alone) {
		(void)epoll_ctl(logd->epoll, EPOLL_CTL_DEL, logd->feed, NULL);
		if (logd->pending)
			batch_give_up(&logd->delivery.batch);
		logd->pending = false;
		flow_stop(logd);
	}
}

/* Wait until something is there, but no longer than until then. */
static void
wait_until(const struct logd *logd, uint64_t until_ns)
{
	struct pollfd fd = {.fd = logd->epoll, .events = POLLIN};
	const uint64_t now_ns = clock_mono_ns();
	const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec left = {
	    .tv_sec = (time_t)(left_ns / 1000000000),
	    .tv_nsec = (long)(left_ns % 1000000000),
	};

	(void)ppoll(&fd, 1, &left, NULL);
}

/* Take what has happened; wait for it until then, UINT64_MAX: for ever. */
static void
take_events(struct logd *logd, uint64_t until_ns)
{
	struct epoll_event events[EVENTS_MAX];

	if (until_ns != UINT64_MAX)
		wait_until(logd, until_ns);
	int n =
	    epoll_wait(logd->epoll, events, EVENTS_MAX, until_ns == UINT64_MAX ? -1 : 0);

	for (int i = 0; i < n; i++) {
		const uint64_t about = events[i].data.u64;

		if (about < STATE_STREAMS_MAX && logd->table.by_entry[about] != NULL)
			flow_on_event(logd, logd->table.by_entry[about]);
	}
	/* Last, since streams may go: an entry must mean what it meant to epoll. */
	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == ABOUT_SIGNALS)
			on_signal(logd);
		else if (events[i].data.u64 == ABOUT_FEED)
			on_feed(logd, events[i].events);
	}
}

/* True if we are to end, and all is written that is to be. */
static bool
is_over(const struct logd *logd)
{
	const struct stream *stream = NULL;

	if (!logd->stopping || (!logd->complete && !logd->alone))
		return false;
	while ((stream = stream_table_next(&logd->table, stream)) != NULL) {
		if (!stream->done)
			return false;
	}
	return true;
}

/* When to wake, if nothing comes. */
static uint64_t
next_wake(struct logd *logd)
{
	const uint64_t now_ns = clock_mono_ns();
	uint64_t next_ns = flow_wake(logd, now_ns);
	uint64_t retry_ms = trouble_wake(logd, now_ns / 1000000);

	if (logd->again_ms != 0 && now_ns / 1000000 >= logd->again_ms)
		intake_hello(logd);
	if (logd->again_ms != 0 && logd->again_ms < retry_ms)
		retry_ms = logd->again_ms;
	if (retry_ms != UINT64_MAX && retry_ms * 1000000 < next_ns)
		next_ns = retry_ms * 1000000;
	if (!TAILQ_EMPTY(&logd->ready) && !logd->pending)
		next_ns = 0;
	return next_ns;
}

static int
watch_fd(struct logd *logd, int fd, uint64_t about)
{
	return epoll_ctl(logd->epoll, EPOLL_CTL_ADD, fd,
	                 &(struct epoll_event){.events = EPOLLIN, .data.u64 = about}) < 0
	           ? -errno
	           : 0;
}

/* Signals come through a descriptor; a file that grows too large is an error. */
static int
open_loop(struct logd *logd)
{
	sigset_t ours;

	(void)sigemptyset(&ours);
	(void)sigaddset(&ours, LOGD_STOP);
	(void)sigaddset(&ours, SIGUSR1);
	(void)sigaddset(&ours, SIGCHLD);
	sigset_t all = ours;
	(void)sigaddset(&all, SIGXFSZ);
	(void)sigaddset(&all, SIGPIPE);
	(void)sigaddset(&all, SIGHUP);
	(void)sigaddset(&all, SIGINT);
	(void)sigaddset(&all, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	logd->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	logd->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (logd->signals < 0 || logd->epoll < 0)
		return -errno;
	int r = watch_fd(logd, logd->signals, ABOUT_SIGNALS);
	return r < 0 ? r : watch_fd(logd, logd->feed, ABOUT_FEED);
}

static int
start(struct logd *logd, const struct logd_fds *fds, struct err *err)
{
	int r = open_loop(logd);

	/* Streams have a descriptor each; with a small limit they get fewer files. */
	logd->fds_max = fd_raise_limit_up_to(STATE_STREAMS_MAX);
	if (r == 0)
		r = state_open(&logd->state, fds->state, err);
	if (r == 0)
		r = batch_open(&logd->delivery.batch, &logd->state, fds->staging, err);
	if (r == 0)
		r = stream_table_open(&logd->table, &logd->state);
	if (r < 0)
		return r;
	strbuf_init(&logd->delivery.text, DELIVER_TEXT_MAX);
	r = batch_recover(&logd->delivery.batch);
	logd->pending = r == 1;
	/* What cannot be cut back stays: a piece of that file is there twice. */
	if (r < 0)
		(void)fprintf(stderr,
		              "supd: log: %s: cannot undo what was half written: %s\n",
		              logd->state.head->batch.path, strerror(-r));
	intake_hello(logd);
	return 0;
}

static void
stop(struct logd *logd)
{
	logd_close_sinks(logd, 0);
	if (logd->table.by_entry != NULL)
		stream_table_close(&logd->table);
	batch_close(&logd->delivery.batch);
	strbuf_done(&logd->delivery.text);
	strbuf_done(&logd->kept);
	display_close(&logd->delivery.display);
	state_close(&logd->state);
	fd_close(&logd->epoll);
	fd_close(&logd->signals);
	free(logd);
}

/*
 * Be the log process, until LOGD_STOP: then what is in the pipes at that moment is
 * written first, whatever that takes.  The descriptors stay the caller's.
 *
 * Returns the exit status: 0, or 71 where it could not start, which was said on stderr.
 */
int
logd_run(const struct logd_fds *fds)
{
	struct logd *logd = calloc(1, sizeof(*logd));
	struct err err = {0};

	if (logd == NULL)
		return 71;
	logd->feed = fds->feed;
	logd->epoll = logd->signals = -1;
	logd->delivery.batch = (struct batch){.scratch = {-1, -1}, .null = -1};
	display_init(&logd->delivery.display);
	strbuf_init(&logd->kept, FEED_TEXT_MAX * 64);
	TAILQ_INIT(&logd->ready);
	TAILQ_INIT(&logd->troubled);
	TAILQ_INIT(&logd->used);
	for (unsigned int i = 0; i < LOOP_PAUSES; i++)
		TAILQ_INIT(&logd->pausing[i]);
	int r = start(logd, fds, &err);
	if (r < 0)
		(void)fprintf(stderr, "supd: log: cannot start: %s: %s\n", strerror(-r),
		              err.text);
	else if (os_confine(CONFINE_LOG, &err) < 0)
		(void)fprintf(stderr, "supd: log: %s\n", err.text);
	while (r == 0 && !is_over(logd)) {
		take_events(logd, next_wake(logd));
		if (!logd->pending)
			flow_deliver(logd);
		flow_show(logd);
	}
	intake_show_kept(logd);
	if (r == 0)
		display_finish(&logd->delivery.display);
	stop(logd);
	return r < 0 ? 71 : 0;
}
