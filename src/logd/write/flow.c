/* SPDX-License-Identifier: ISC */
/* flow.c - streams from place to place: when a stream is looked at, and in which order.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "logd/write/logd_private.h"
#include "os/self/clock.h"

/* How long to wait for more; a stream moves from one to the next as its pipe fills. */
static const uint64_t pause_ns[LOOP_PAUSES] = {250000, 1000000, 4000000};

#define PAUSE_FIRST 1

/* No pipe is smaller. */
#define SIZE_LEAST 4096

/* A busy pipe is made so large that its writer goes on while a piece is taken out of it;
 * for as many streams as memory allows us to. */
#define LARGE_BYTES (2 * BATCH_BYTES)
#define LARGE_MAX   128

/* Of a file; they do not pass while supd ends. */
static const int lasting_errors[] = {EROFS,  EACCES, EPERM, ENOTDIR,
                                     EISDIR, ENOENT, ELOOP, ENAMETOOLONG};

/* How many pieces are written before we look for events again. */
#define TURN_MAX 64

/* How many events are asked for at once. */
#define HURRY_MAX 64

static int
watch_stream(struct logd *logd, struct stream *stream, uint32_t events)
{
	return epoll_ctl(logd->epoll, EPOLL_CTL_ADD, stream->source.fd,
	                 &(struct epoll_event){.events = events,
	                                       .data.u64 = stream->source.entry}) < 0
	           ? -errno
	           : 0;
}

/* Take the stream out of the place it is in. */
void
flow_leave(struct logd *logd, struct stream *stream)
{
	switch (stream->place) {
	case STREAM_ARMED:
	case STREAM_PARTIAL:
		/* Remove the pipe from epoll altogether: each watcher costs its writer
		 * time. */
		(void)epoll_ctl(logd->epoll, EPOLL_CTL_DEL, stream->source.fd, NULL);
		break;
	case STREAM_PAUSING:
		TAILQ_REMOVE(&logd->pausing[stream->pause], stream, by_place);
		break;
	case STREAM_READY:
		TAILQ_REMOVE(&logd->ready, stream, by_place);
		break;
	case STREAM_WAITING:
	case STREAM_ENDED:
		break;
	}
	stream->place = STREAM_ENDED;
}

/* Its turn comes. */
void
flow_make_ready(struct logd *logd, struct stream *stream)
{
	flow_leave(logd, stream);
	stream->place = STREAM_READY;
	TAILQ_INSERT_TAIL(&logd->ready, stream, by_place);
}

/* More may be coming. */
static void
pause_stream(struct logd *logd, struct stream *stream)
{
	flow_leave(logd, stream);
	stream->place = STREAM_PAUSING;
	stream->due_ns = clock_mono_ns() + pause_ns[stream->pause];
	/* All streams of a list pause equally long, so the list is in order. */
	TAILQ_INSERT_TAIL(&logd->pausing[stream->pause], stream, by_place);
}

/* Nothing is there: epoll is to tell when something is. */
static void
arm(struct logd *logd, struct stream *stream)
{
	flow_leave(logd, stream);
	stream->pause = PAUSE_FIRST;
	/* Without memory for it we look ourselves, now and then. */
	if (watch_stream(logd, stream, EPOLLIN) == 0)
		stream->place = STREAM_ARMED;
	else
		pause_stream(logd, stream);
}

/* A part of a line was read already: only new bytes matter. */
static void
await_rest(struct logd *logd, struct stream *stream, size_t left)
{
	flow_leave(logd, stream);
	stream->left = (uint32_t)left;
	stream->pause = PAUSE_FIRST;
	if (watch_stream(logd, stream, EPOLLIN | EPOLLET) == 0)
		stream->place = STREAM_PARTIAL;
	else
		pause_stream(logd, stream);
}

/* Begin with a new stream.  Most have nothing to say yet: epoll tells when they have. */
void
flow_start(struct logd *logd, struct stream *stream)
{
	stream->place = STREAM_ENDED;
	if (logd->stopping) {
		stream->flush = true;
		stream->owed = (uint32_t)batch_pipe_fill(stream->source.fd);
	}
	stream->pause = PAUSE_FIRST;
	/* What a log process before us had begun with the file is to be ended, too. */
	if (logd->stopping || stream->sink->pack_due ||
	    deliver_owes(&logd->delivery, stream))
		flow_make_ready(logd, stream);
	else
		arm(logd, stream);
}

/* Ask for the size of a pipe, once something is in it. */
static void
measure(struct stream *stream)
{
	if (stream->size != 0)
		return;
	const int size = fcntl(stream->source.fd, F_GETPIPE_SZ);
	stream->size = size > 0 ? (uint32_t)size : SIZE_LEAST;
}

/* epoll says that the pipe has data, or has lost its last writer. */
void
flow_on_event(struct logd *logd, struct stream *stream)
{
	const size_t fill = batch_pipe_fill(stream->source.fd);

	if (stream->place != STREAM_ARMED && stream->place != STREAM_PARTIAL)
		return;
	/* Watching begins with an event for data that was known before. */
	if (stream->place == STREAM_PARTIAL && fill == stream->left)
		return;
	measure(stream);
	if (fill == 0)
		flow_leave(logd, stream);
	else if (fill >= stream->size / 2)
		flow_make_ready(logd, stream);
	else
		pause_stream(logd, stream);
}

/*
 * Move the streams at the end of their pause.  Returns the next end of a pause,
 * UINT64_MAX: none.
 */
uint64_t
flow_wake(struct logd *logd, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < LOOP_PAUSES; i++) {
		struct stream *stream;

		while ((stream = TAILQ_FIRST(&logd->pausing[i])) != NULL &&
		       stream->due_ns <= now_ns)
			flow_make_ready(logd, stream);
		if (stream != NULL && stream->due_ns < next)
			next = stream->due_ns;
	}
	return next;
}

/* Give a busy stream a larger pipe, so that it need not wait for us. */
static void
enlarge(struct logd *logd, struct stream *stream)
{
	if (stream->large || logd->n_large >= LARGE_MAX)
		return;
	/* Refused to users with many pipes: then the size stays. */
	int size = fcntl(stream->source.fd, F_SETPIPE_SZ, LARGE_BYTES);
	stream->large = true;
	logd->n_large++;
	if (size > 0)
		stream->size = (uint32_t)size;
}

/* All that it held when we were told to end is written. */
static void
settle_stop(struct stream *stream, size_t taken, size_t left)
{
	stream->owed -= taken < stream->owed ? (uint32_t)taken : stream->owed;
	if (stream->owed == 0 || left == 0)
		stream->done = true;
}

/*
 * Where a stream goes after a piece of `taken` bytes, when it had held `fill`.  What came
 * since was not looked at: there may be a whole line in it.
 */
static void
go_on(struct logd *logd, struct stream *stream, size_t fill, size_t taken)
{
	const size_t left = batch_pipe_fill(stream->source.fd);

	if (left == 0 && stream->flush)
		display_end_line(&logd->delivery.display, stream);
	if (left == 0)
		stream->flush = false;
	if (logd->stopping)
		settle_stop(stream, taken, left);
	if (stream->done) {
		flow_leave(logd, stream);
	} else if (left == 0 && stream->dropped) {
		intake_forget(logd, stream);
	} else if (left == 0 && fill < stream->size / 16) {
		arm(logd, stream);
	} else if (taken == 0 && !stream->flush && left <= fill) {
		/* A pipe full of one unfinished line would never get the end of the line.
		 */
		if (left < stream->size / 4 * 3) {
			await_rest(logd, stream, left);
			return;
		}
		stream->flush = true;
		flow_make_ready(logd, stream);
	} else if (stream->flush || stream->dropped || left >= stream->size / 4) {
		flow_make_ready(logd, stream);
	} else {
		pause_stream(logd, stream);
	}
}

/* True if it is no use to try again in a few seconds.  Sockets and full disks come
 * round. */
static bool
is_hopeless(const struct sink *sink)
{
	if (sink->target != FEED_TO_FILE)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(lasting_errors); i++)
		if (sink->error == lasting_errors[i])
			return true;
	return false;
}

/* Wait for a sink that takes nothing now.  A stream that is to end does not wait for
 * ever: its data stays in the pipe, for the next log process if there is one. */
static void
wait_for_sink(const struct logd *logd, struct stream *stream)
{
	stream->place = STREAM_WAITING;
	if (logd->stopping && is_hopeless(stream->sink))
		stream->done = true;
}

/* True if output is dropped while the file is in this trouble.  A shortage of ours
 * passes. */
static bool
drops(const struct sink *sink)
{
	return sink->target == FEED_TO_FILE && sink->log.drop && sink->error != EMFILE &&
	       sink->error != ENFILE && sink->error != ENOMEM;
}

/* The sink is in trouble: its stream waits, or goes on without what it has written. */
static void
do_without(struct logd *logd, struct stream *stream, size_t fill)
{
	ssize_t n = -EBUSY;

	if (drops(stream->sink))
		n = fill > 0 ? deliver_drop(&logd->delivery, stream) : 0;
	match_tell(logd, stream);
	if (n < 0)
		wait_for_sink(logd, stream);
	else
		go_on(logd, stream, fill, (size_t)n);
}

/* Begin to compress what was set aside, if that is wanted and not under way. */
void
flow_pack(struct logd *logd, struct sink *sink)
{
	if (!sink->pack_due || sink->packer > 0)
		return;
	sink->pack_due = false;
	int r = sink_pack(sink);
	if (r < 0)
		trouble_packed(logd, sink, -r);
}

/* One piece of one stream. */
static void
deliver_one(struct logd *logd, struct stream *stream)
{
	struct sink *sink = stream->sink;
	const size_t fill = batch_pipe_fill(stream->source.fd);
	const bool owes = deliver_owes(&logd->delivery, stream);

	measure(stream);
	if (stream->shown == FEED_SHOWN_ALL && !logd->stopping &&
	    display_is_full(&logd->delivery.display)) {
		stream->place = STREAM_WAITING;
		return;
	}
	if (sink->error != 0 && sink->due_ms > clock_mono_ms()) {
		do_without(logd, stream, fill);
		return;
	}
	ssize_t n = fill > 0 || owes ? deliver(&logd->delivery, stream) : 0;
	match_tell(logd, stream);
	logd_use_sink(logd, sink);
	if (n == -EMFILE || n == -ENFILE)
		logd_close_sinks(logd, logd->n_used / 2);
	if (n < 0) {
		trouble_begin(logd, sink, (int)-n);
		do_without(logd, stream, fill);
		return;
	}
	if (n > 0 || (owes && !deliver_owes(&logd->delivery, stream)))
		trouble_end(logd, sink, stream);
	trouble_rotation(logd, sink);
	if (sink->log.compress)
		flow_pack(logd, sink);
	if (fill >= stream->size / 4 * 3)
		enlarge(logd, stream);
	if (fill >= stream->size / 2 && stream->pause > 0)
		stream->pause--;
	else if (fill < stream->size / 8 && stream->pause + 1 < LOOP_PAUSES)
		stream->pause++;
	go_on(logd, stream, fill, (size_t)n);
}

/* A piece of each stream that is ready, in turn. */
void
flow_deliver(struct logd *logd)
{
	for (unsigned int i = 0; i < TURN_MAX; i++) {
		struct stream *stream = TAILQ_FIRST(&logd->ready);

		if (stream == NULL)
			return;
		flow_leave(logd, stream);
		deliver_one(logd, stream);
	}
}

/* Make those ready that epoll knows to have something, before their pause; true: it may
 * know of more. */
static bool
hurry_some(struct logd *logd)
{
	struct epoll_event events[HURRY_MAX];
	const int n = epoll_wait(logd->epoll, events, HURRY_MAX, 0);
	bool any = false;

	for (int i = 0; i < n; i++) {
		const uint64_t about = events[i].data.u64;
		struct stream *stream =
		    about < STATE_STREAMS_MAX ? logd->table.by_entry[about] : NULL;

		if (stream == NULL ||
		    (stream->place == STREAM_PARTIAL &&
		     batch_pipe_fill(stream->source.fd) == stream->left))
			continue;
		flow_make_ready(logd, stream);
		any = true;
	}
	return any && n == HURRY_MAX;
}

/*
 * Deliver what streams hold now, a piece of each, before something is shown that came
 * later: those that epoll has not told of yet and those that pause are not left out.
 */
void
flow_hurry(struct logd *logd)
{
	struct stream *stream;
	size_t n = 0;

	while (hurry_some(logd))
		;
	(void)flow_wake(logd, UINT64_MAX);
	TAILQ_FOREACH (stream, &logd->ready, by_place)
		n++;
	for (; n > 0 && (stream = TAILQ_FIRST(&logd->ready)) != NULL; n--) {
		flow_leave(logd, stream);
		deliver_one(logd, stream);
	}
}

/* Write all that is in a pipe now, as far as its sink takes it. */
void
flow_deliver_all(struct logd *logd, struct stream *stream)
{
	size_t owed = batch_pipe_fill(stream->source.fd);

	if (logd->pending)
		return;
	stream->flush = true;
	while (owed > 0) {
		ssize_t n = deliver(&logd->delivery, stream);

		if (n <= 0)
			break;
		owed -= (size_t)n < owed ? (size_t)n : owed;
	}
	match_tell(logd, stream);
	logd_use_sink(logd, stream->sink);
	stream->flush = false;
}

/* Standard output takes what is shown, as far as it does; streams that waited go on. */
void
flow_show(struct logd *logd)
{
	struct display *display = &logd->delivery.display;
	const bool was_full = display_is_full(display);
	const bool has_rest = display_flush(display);
	struct epoll_event event = {.events = EPOLLOUT, .data.u64 = ABOUT_SHOW};
	struct stream *stream = NULL;

	if (display->fd < 0)
		display->is_watched = false;
	else if (has_rest != display->is_watched &&
	         epoll_ctl(logd->epoll, has_rest ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
	                   display->fd, &event) == 0)
		display->is_watched = has_rest;
	if (!was_full || display_is_full(display))
		return;
	while ((stream = stream_table_next(&logd->table, stream)) != NULL) {
		if (stream->place == STREAM_WAITING && stream->sink->error == 0)
			flow_make_ready(logd, stream);
	}
}

/* We are to end: what is in the pipes now is written first. */
void
flow_stop(struct logd *logd)
{
	struct stream *stream = NULL;

	logd->stopping = true;
	while ((stream = stream_table_next(&logd->table, stream)) != NULL) {
		stream->flush = true;
		stream->owed = (uint32_t)batch_pipe_fill(stream->source.fd);
		/* Once more, at once, before it is given up. */
		if (is_hopeless(stream->sink))
			stream->sink->due_ms = 0;
		if (stream->place != STREAM_WAITING || stream->sink->error == 0 ||
		    is_hopeless(stream->sink))
			flow_make_ready(logd, stream);
	}
}
