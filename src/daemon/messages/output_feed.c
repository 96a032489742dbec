/* SPDX-License-Identifier: ISC */
/* output_feed.c - what the log process is told of streams, and says of them. */
#include "config.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/sum.h"
#include "base/units.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/output_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "daemon/state/proctable.h"
#include "daemon/state/recording.h"
#include "helper/watchers.h"
#include "os/self/fd.h"
#include "os/self/say.h"

#define SYSLOG_SOCKET "/dev/log"

/* After so long what could not be named, for want of descriptors, is named again. */
#define AGAIN_S 0.1

/* How many streams are named to the log process before other work has its turn. */
#define NAMED_AT_ONCE 64

static void
output_watch_feed(struct output *output, int events)
{
	io_begin(output->messages->loop, &output->io, output->feed[0], events);
}

static void
fill_feed_log(struct feed_log *ret, const struct conf_log *log)
{
	*ret = (struct feed_log){
	    .max_size = log->max_size,
	    .total = log->total,
	    .max_age_ms = log->max_age_ms == DURATION_INFINITE ? 0 : log->max_age_ms,
	    .keep = log->keep,
	    .timestamps = log->timestamps,
	    .json = log->json,
	    .compress = log->compress,
	    .drop = log->drop,
	};
}

/* Where a line begins to count for the process that is there; FEED_AS_BEFORE: only the
 * log process may know. */
static uint64_t
pipe_begun_at(const struct output *output, const struct output_pipe *pipe, struct ref ref)
{
	uint64_t first = pipe->stream.begun + 1;

	if (pipe->is_adopted)
		first = proctable_match_from(output->messages->proctable, ref,
		                             pipe->name == FEED_STDERR);
	return first == 0 ? FEED_AS_BEFORE : first;
}

/* From where on the line counts that tells that the actor is ready; 0: not any more. */
static uint64_t
pipe_match_from(const struct output *output, const struct output_pipe *pipe,
                struct ref ref, const struct node_view *view)
{
	return view->state != STATE_STARTING && view->state != STATE_SUSPENDED
	           ? 0
	           : pipe_begun_at(output, pipe, ref);
}

/* Say of a stream what is known of it; false: it goes nowhere (any more). */
static bool
pipe_describe(struct output *output, const struct output_pipe *pipe)
{
	const struct messages *messages = output->messages;
	const struct ref ref = actors_find(messages->actors, pipe->path);
	const struct actor *actor = actors_get(messages->actors, ref);
	struct feed_message *message = &output->message;
	char file[PATH_MAX];
	struct node_view view = {0};

	if (actor == NULL || pipe->name >= FEED_STREAM_MAX)
		return false;
	const struct conf_process *process = actor->conf->process;
	const struct conf_output *target =
	    pipe->name == FEED_STDERR ? &process->output.err : &process->output.out;
	/* A temporary actor that is gone may have left something in its pipe. */
	if (core_valid(messages->engine->core, ref))
		core_view(messages->engine->core, ref, messages->engine->now_ms, &view);
	*message = (struct feed_message){
	    .kind = FEED_STREAM,
	    .key = pipe->stream.key,
	    .stream = pipe->name,
	    .incarnation = view.run.incarnation,
	    /* The core counts a process when its start is acknowledged. */
	    .generation =
	        view.run.generation + (view.process.alive && !view.process.spawned),
	};
	fill_feed_log(&message->log, &process->output.log);
	(void)snprintf(file, sizeof(file), "%s%s.log",
	               messages->actors->conf->log_directory, pipe->path);
	if (target->kind == OUTPUT_JOURNAL) {
		message->target = FEED_TO_JOURNAL;
		(void)snprintf(file, sizeof(file), "%s", JOURNAL_SOCKET);
	} else if (target->kind == OUTPUT_SYSLOG) {
		message->target = FEED_TO_SYSLOG;
		(void)snprintf(file, sizeof(file), "%s", SYSLOG_SOCKET);
	} else if (target->kind == OUTPUT_STDOUT) {
		message->target = FEED_TO_STDOUT;
		(void)snprintf(file, sizeof(file), "stdout");
	}
	if (output_is_shown(output, target))
		message->show = target->is_shown && !process->output.log.drop
		                    ? FEED_SHOWN_ALL
		                    : FEED_SHOWN_IN_TIME;
	message->colour = ref.slot;
	if (feed_set_text(message, pipe->path, file) < 0)
		return false;
	if (process->readiness.sign != READY_BY_LOG)
		return true;
	message->match_from = pipe_match_from(output, pipe, ref, &view);
	return feed_set_pattern(message, process->readiness.pattern) == 0;
}

/* A sum of what was described, but for what each life changes; never 0. */
static uint64_t
sum_of(const struct feed_message *message)
{
	const struct feed_log *log = &message->log;
	const uint64_t values[] = {message->target, message->show,   message->colour,
	                           log->max_size,   log->total,      log->max_age_ms,
	                           log->keep,       log->timestamps, log->json,
	                           log->compress,   log->drop};

	return sum_bytes(message->text, message->text_len,
	                 sum_bytes(values, sizeof(values), 1)) |
	       1;
}

/* Name one stream to the log process, with its read end: `reader`, or another descriptor
 * of the pipe where that is -1; a stream that the log process knows goes without. */
static int
pipe_name(struct output *output, struct output_pipe *pipe, bool is_new, int reader)
{
	CLEANUP(fd_close) int fd = -1;

	if (!pipe_describe(output, pipe)) {
		pipe->told = 0;
		return 0;
	}
	if (is_new && reader < 0) {
		int r = output_hold(output, pipe);
		if (r < 0)
			return r;
		fd = reader = fd_reopen(pipe->stream.pipe_fd, O_RDONLY | O_NONBLOCK);
		output_let_go(output, pipe);
		if (fd < 0)
			return fd;
	}
	int r = feed_send(output->feed[0], &output->message, is_new ? reader : -1);
	if (r == 0)
		pipe->told = sum_of(&output->message);
	return r;
}

/* Tell the log process what it knows otherwise of a stream, if anything.  0 or -errno. */
static int
pipe_name_change(struct output *output, struct output_pipe *pipe)
{
	if (pipe_describe(output, pipe))
		return pipe->told == sum_of(&output->message)
		           ? 0
		           : pipe_name(output, pipe, pipe->told == 0, -1);
	if (pipe->told == 0)
		return 0;
	int r = output_say(output, FEED_DROP, pipe->stream.key);
	if (r == 0)
		pipe->told = 0;
	return r;
}

/* Say something that needs no more than a key.  0 or -errno. */
int
output_say(struct output *output, enum feed_kind kind, uint64_t key)
{
	output->message =
	    (struct feed_message){.kind = kind, .key = key, .instance = output->instance};
	return feed_send(output->feed[0], &output->message, -1);
}

/* Go on naming all streams, or those that have changed: some of them, as far as the feed
 * takes it now. */
void
output_name_all(struct output *output)
{
	const size_t end = output->cursor + NAMED_AT_ONCE;
	const bool is_for_all = !output->only_changes;
	int r = 0;

	if (output->cursor == IDLE)
		return;
	if (!output->begun && is_for_all)
		r = output_say(output, FEED_BEGIN, 0);
	if (r == 0 && !output->begun)
		r = output_say_look(output);
	output->begun = r == 0;
	while (r == 0 && output->cursor < output->n) {
		struct output_pipe *pipe = &output->pipes[output->cursor];

		r = is_for_all ? pipe_name(output, pipe, true, -1)
		               : pipe_name_change(output, pipe);
		/* Its processes had their end when that could not be said. */
		if (r == 0 && pipe->is_quiet && is_for_all)
			r = output_say(output, FEED_FLUSH, pipe->stream.key);
		/* Without a descriptor for it now it is named another time. */
		if (r == 0 && ++output->cursor == end)
			r = -EAGAIN;
	}
	if (r == 0 && is_for_all)
		r = output_say(output, FEED_END, 0);
	if (r == 0)
		output->cursor = IDLE;
	output_watch_feed(output, r == -EAGAIN ? EV_READ | EV_WRITE : EV_READ);
	if (r < 0 && r != -EAGAIN && !ev_is_active(&output->again)) {
		timer_begin(output->messages->loop, &output->again, AGAIN_S);
	}
}

void
output_on_again(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	output_name_all(timer->data);
}

/* All have to be named anew: something could not be said. */
void
output_name_again(struct output *output)
{
	if (output->instance == 0)
		return;
	output->cursor = 0;
	output->begun = false;
	output->only_changes = false;
	output_watch_feed(output, EV_READ | EV_WRITE);
}

/* Name the streams that may have changed; all streams, if that is under way already. */
void
output_name_changes(struct output *output)
{
	const bool is_for_all = output->cursor != IDLE && !output->only_changes;

	output_name_again(output);
	output->only_changes = !is_for_all;
}

/* Say something of one stream, if the log process knows of streams already; the read end
 * of a new pipe stays the caller's, -1: there is none. */
void
output_name_one(struct output *output, struct output_pipe *pipe, bool is_new, int reader)
{
	if (output->instance == 0)
		return;
	/* Pipes behind the cursor will be named as they are then. */
	if (output->cursor != IDLE && !output->only_changes &&
	    (size_t)(pipe - output->pipes) >= (size_t)output->cursor)
		return;
	if (pipe_name(output, pipe, is_new, reader) < 0)
		output_name_again(output);
}

/* A line has come that tells that an actor is ready: put down first, then told. */
static void
output_take_match(struct output *output, uint64_t key, uint64_t awaited)
{
	const struct messages *messages = output->messages;
	struct event event = {.kind = EVENT_READY, .code = -1};
	uint32_t at;

	if (!map_get(&output->by_key, key, &at))
		return;
	event.ref = actors_find(messages->actors, output->pipes[at].path);
	const struct actor *actor = actors_get(messages->actors, event.ref);
	if (actor == NULL || actor->conf->process->readiness.sign != READY_BY_LOG)
		return;
	/* An earlier process wrote that line. */
	uint64_t begun = pipe_begun_at(output, &output->pipes[at], event.ref);
	if (begun != FEED_AS_BEFORE && awaited != begun)
		return;
	event.life = proctable_life(messages->proctable, event.ref);
	if (record_ready(messages->recording, event.ref))
		post_event(messages->post, &event);
}

/* The file of a stream cannot be written, or is written again. */
static void
output_tell_blocked(struct output *output, uint64_t key, int error, const char *file)
{
	const struct messages *messages = output->messages;
	struct event_head head = {.kind = error != 0 ? NOTICE_OUTPUT_BLOCKED
	                                             : NOTICE_OUTPUT_UNBLOCKED};
	uint64_t lost;
	uint32_t at;

	if (!map_get(&output->by_key, key, &at))
		return;
	struct ref ref = actors_find(messages->actors, output->pipes[at].path);
	if (!core_valid(messages->engine->core, ref))
		return;
	const struct node_view view = engine_view(messages->engine, ref);
	head.path = actors_path(messages->actors, ref);
	head.incarnation = view.run.incarnation;
	head.generation = view.run.generation;
	(void)output_blocked(output, head.path, &lost);
	events_begin(messages->events, &head);
	events_text(messages->events, FIELD_FILE, file);
	if (error != 0)
		events_text(messages->events, FIELD_REASON, strerror(error));
	else
		events_number(messages->events, FIELD_LOST, (int64_t)lost);
	events_end(messages->events);
}

static void
output_take_trouble(struct output *output, const struct feed_message *message)
{
	const enum log_level level =
	    message->error != 0 ? LOG_LEVEL_ERROR : LOG_LEVEL_NOTICE;

	output->was_troubled = true;
	/* An actor that fills and empties a disk causes any number of them. */
	if (feed_actor(message)[0] != '\0')
		log_paced(&output->trouble, level, "log: %s", feed_actor(message));
	output_tell_blocked(output, message->key, message->error, feed_path(message));
}

static void
output_take_message(struct output *output)
{
	const struct feed_message *message = &output->message;

	if (message->kind == FEED_HELLO) {
		output->instance = message->instance;
		output_name_again(output);
	} else if (message->kind == FEED_MATCH) {
		output_take_match(output, message->key, message->match_from);
	} else if (message->kind == FEED_TROUBLE) {
		output_take_trouble(output, message);
	}
}

/* The log process says something, or the feed takes more. */
void
output_on_feed(struct ev_loop *loop UNUSED, ev_io *io, int revents)
{
	struct output *output = io->data;
	int fd = -1;

	if ((revents & EV_READ) != 0) {
		while (feed_receive(output->feed[0], &output->message, &fd) == 1) {
			fd_close(&fd);
			output_take_message(output);
		}
	}
	output_name_all(output);
}
