/* SPDX-License-Identifier: ISC */
/* output.c - the pipes between actors and the log process, and from actor to actor. */
#include "config.h"

#include "daemon/messages/output_private.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "daemon/state/log.h"
#include "daemon/processes/procs.h"
#include "daemon/state/shell.h"
#include "ledger/link.h"
#include "logd/write/state.h"
#include "logd/read/tail.h"
#include "os/fd.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define SYSLOG_SOCKET  "/dev/log"

/* As many pipes as the log process takes. */
#define PIPES_MAX STATE_STREAMS_MAX

/* Where in the vault the log process finds what it needs. */
enum kept { KEPT_FEED = 1, KEPT_FEED_LOG, KEPT_STATE, KEPT_STAGING, KEPT_STAGING_IN };

/* ---- pipes ---------------------------------------------------------------------------
 */

/* 56 bits of FNV-1a of the path and what it is for. */
static uint64_t
key_of(const char *path, unsigned int name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *path != '\0'; path++)
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	hash = (hash ^ (0x100 + name)) * UINT64_C(0x100000001b3);
	return VAULT_KEY(VAULT_PIPE, hash ^ hash >> 56);
}

/* The pipe of this actor and purpose, or NULL. */
struct output_pipe *
output_find(const struct output *output, const char *path, unsigned int name)
{
	uint32_t at;

	if (!map_get(&output->by_key, key_of(path, name), &at) ||
	    strcmp(output->pipes[at].path, path) != 0)
		return NULL;
	return &output->pipes[at];
}

static int
make_pipe(void)
{
	int fds[2];
	int fd;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fd = fd_reopen(fds[0], O_RDWR | O_NONBLOCK);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return fd_raise(fd);
}

static int
reserve(struct output *output)
{
	size_t cap = output->cap == 0 ? 16 : 2 * output->cap;
	struct output_pipe *pipes;

	if (output->n < output->cap)
		return 0;
	if (output->n == PIPES_MAX)
		return -ENOSPC;
	pipes = reallocarray(output->pipes, cap, sizeof(*pipes));
	if (pipes == NULL)
		return -ENOMEM;
	output->pipes = pipes;
	output->cap = cap;
	return 0;
}

/* Enter a pipe; `fd` is the table's if this succeeds.  -errno. */
static int
enter(struct output *output, const char *path, unsigned int name, int fd,
      struct output_pipe **ret)
{
	const uint64_t key = key_of(path, name);
	char *copy = strdup(path);
	uint32_t at;
	int r = copy == NULL ? -ENOMEM : reserve(output);

	if (r == 0 && map_get(&output->by_key, key, &at))
		r = -EEXIST;
	if (r == 0)
		r = map_put(&output->by_key, key, (uint32_t)output->n);
	if (r < 0) {
		free(copy);
		return r;
	}
	*ret = &output->pipes[output->n++];
	**ret = (struct output_pipe){
	    .stream = {key, fd, STATE_NONE},
	    .path = copy,
	    .name = name,
	};
	return 0;
}

/* ---- the feed ------------------------------------------------------------------------
 */

static void
watch(struct output *output, int events)
{
	ev_io_stop(output->shell->loop, &output->io);
	ev_io_set(&output->io, output->feed[0], events);
	ev_io_start(output->shell->loop, &output->io);
}

static void
fill_log(struct feed_log *ret, const struct conf_log *log)
{
	*ret = (struct feed_log){
	    .max_size = log->max_size,
	    .total = log->total,
	    .max_age_ms = log->max_age_ms == DURATION_INFINITE ? 0 : log->max_age_ms,
	    .keep = log->keep,
	    .timestamps = log->timestamps,
	    .json = log->json,
	    .compress = log->compress,
	};
}

/* Where a line begins to count for the process that is there; FEED_AS_BEFORE: only the
 * log process may know. */
static uint64_t
begun_at(const struct output *output, const struct output_pipe *pipe, struct ref ref)
{
	uint64_t first = pipe->begun + 1;

	if (pipe->is_adopted)
		first =
		    procs_awaits(output->shell->procs, ref, pipe->name == FEED_STDERR);
	return first == 0 ? FEED_AS_BEFORE : first;
}

/* From where on the line counts that tells that the actor is ready; 0: not any more. */
static uint64_t
awaits(const struct output *output, const struct output_pipe *pipe, struct ref ref,
       const struct node_view *view)
{
	if (view->state != STATE_STARTING && view->state != STATE_SUSPENDED)
		return 0;
	return begun_at(output, pipe, ref);
}

/* Say of a stream what is known of it; false: it goes nowhere (any more). */
static bool
describe(struct output *output, const struct output_pipe *pipe)
{
	struct shell *shell = output->shell;
	const struct ref ref = actors_find(&shell->actors, pipe->path);
	const struct actor *actor = actors_get(&shell->actors, ref);
	struct feed_message *message = &output->message;
	const struct conf_process *process;
	const struct conf_output *target;
	char file[PATH_MAX];
	struct node_view view = {0};

	if (actor == NULL || pipe->name >= FEED_STREAM_MAX)
		return false;
	process = &actor->conf->process;
	target = pipe->name == FEED_STDERR ? &process->err : &process->out;
	/* A temporary one that has gone may have left something in its pipe. */
	if (core_valid(shell->core, ref))
		core_view(shell->core, ref, shell->now_ms, &view);
	*message = (struct feed_message){
	    .kind = FEED_STREAM,
	    .key = pipe->stream.key,
	    .stream = pipe->name,
	    .incarnation = view.incarnation,
	    /* The core counts a process when its start is acknowledged. */
	    .generation = view.generation + (view.alive && !view.spawned),
	};
	fill_log(&message->log, &process->log);
	(void)snprintf(file, sizeof(file), "%s%s.log", shell->conf->log_directory,
	               pipe->path);
	if (target->kind == OUTPUT_JOURNAL) {
		message->target = FEED_TO_JOURNAL;
		(void)snprintf(file, sizeof(file), "%s", JOURNAL_SOCKET);
	} else if (target->kind == OUTPUT_SYSLOG) {
		message->target = FEED_TO_SYSLOG;
		(void)snprintf(file, sizeof(file), "%s", SYSLOG_SOCKET);
	}
	if (feed_set_text(message, pipe->path, file) < 0)
		return false;
	if (process->ready_sign != READY_BY_LOG)
		return true;
	message->awaits = awaits(output, pipe, ref, &view);
	return feed_set_pattern(message, process->ready_pattern) == 0;
}

/* Name one stream, with its descriptor or, if it is known already, without. */
static int
name_stream(struct output *output, const struct output_pipe *pipe, bool is_new)
{
	int fd = -1;
	int r;

	if (!describe(output, pipe))
		return 0;
	if (is_new) {
		fd = fd_reopen(pipe->stream.pipe_fd, O_RDONLY | O_NONBLOCK);
		if (fd < 0)
			return fd;
	}
	r = feed_send(output->feed[0], &output->message, fd);
	fd_close(&fd);
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

/* Go on naming all streams, as far as the feed takes it now. */
static void
name_all(struct output *output)
{
	int r = 0;

	if (output->cursor == IDLE)
		return;
	if (!output->begun)
		r = output_say(output, FEED_BEGIN, 0);
	output->begun = r == 0;
	while (r == 0 && output->cursor < output->n) {
		r = name_stream(output, &output->pipes[output->cursor], true);
		/* Without a descriptor for it now it is named another time. */
		if (r == 0)
			output->cursor++;
	}
	if (r == 0)
		r = output_say(output, FEED_END, 0);
	if (r == 0)
		output->cursor = IDLE;
	watch(output, r == 0 ? EV_READ : EV_READ | EV_WRITE);
}

/* All have to be named anew: something could not be said. */
void
output_name_again(struct output *output)
{
	if (output->instance == 0)
		return;
	output->cursor = 0;
	output->begun = false;
	watch(output, EV_READ | EV_WRITE);
}

/* Say something of one stream, if the log process knows of streams already. */
static void
tell(struct output *output, const struct output_pipe *pipe, bool is_new)
{
	if (output->instance == 0)
		return;
	/* Pipes behind the cursor will be named as they are then. */
	if (output->cursor != IDLE &&
	    (size_t)(pipe - output->pipes) >= (size_t)output->cursor)
		return;
	if (name_stream(output, pipe, is_new) < 0)
		output_name_again(output);
}

/* A line has come that tells that an actor is ready: put down first, then told. */
static void
take_match(struct output *output, uint64_t key, uint64_t awaited)
{
	struct shell *shell = output->shell;
	struct event event = {.kind = EVENT_READY, .code = -1};
	const struct actor *actor;
	uint64_t begun;
	uint32_t at;

	if (!map_get(&output->by_key, key, &at))
		return;
	event.ref = actors_find(&shell->actors, output->pipes[at].path);
	actor = actors_get(&shell->actors, event.ref);
	if (actor == NULL || actor->conf->process.ready_sign != READY_BY_LOG)
		return;
	/* An earlier process wrote that line. */
	begun = begun_at(output, &output->pipes[at], event.ref);
	if (begun != FEED_AS_BEFORE && awaited != begun)
		return;
	event.life = procs_life(shell->procs, event.ref);
	if (procs_told(shell->procs, event.ref))
		shell_post(shell, &event);
}

static void
heed(struct output *output)
{
	const struct feed_message *message = &output->message;

	if (message->kind == FEED_HELLO) {
		output->instance = message->instance;
		output_name_again(output);
	} else if (message->kind == FEED_MATCH) {
		take_match(output, message->key, message->awaits);
	} else if (message->kind == FEED_TROUBLE) {
		/* An actor that fills and empties a disk causes as many as it likes. */
		log_paced(&output->trouble,
		          message->error != 0 ? LOG_LEVEL_ERROR : LOG_LEVEL_NOTICE,
		          "log: %s", feed_actor(message));
	}
}

static void
on_feed(struct ev_loop *loop, ev_io *io, int revents)
{
	struct output *output = io->data;
	int fd = -1;

	(void)loop;
	if ((revents & EV_READ) != 0) {
		while (feed_receive(output->feed[0], &output->message, &fd) == 1) {
			fd_close(&fd);
			heed(output);
		}
	}
	name_all(output);
}

/* ---- what outlives us ----------------------------------------------------------------
 */

static int
take_kept(struct output *output)
{
	int *const places[] = {&output->feed[0], &output->feed[1], &output->state,
	                       &output->staging[0], &output->staging[1]};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		*places[i] =
		    shell_take(output->shell, VAULT_KEY(VAULT_LOG, KEPT_FEED + i));
		if (*places[i] < 0)
			return -ENOENT;
		*places[i] = fd_raise(*places[i]);
	}
	return 0;
}

static void
close_kept(struct output *output)
{
	fd_close(&output->feed[0]);
	fd_close(&output->feed[1]);
	fd_close(&output->state);
	fd_close(&output->staging[0]);
	fd_close(&output->staging[1]);
}

static int
make_kept(struct output *output, struct err *err)
{
	struct shell *shell = output->shell;
	int r;

	output->state = state_new(err);
	if (output->state < 0)
		return output->state;
	r = feed_pair(output->feed);
	if (r == 0 && pipe2(output->staging, O_CLOEXEC) < 0)
		r = -errno;
	if (r < 0) {
		err_set(err, -r, "pipes for the log process");
		return r;
	}
	output->state = fd_raise(output->state);
	for (int i = 0; i < 2; i++) {
		output->feed[i] = fd_raise(output->feed[i]);
		output->staging[i] = fd_raise(output->staging[i]);
		shell_keep(shell, VAULT_KEY(VAULT_LOG, KEPT_FEED + i), output->feed[i]);
		shell_keep(shell, VAULT_KEY(VAULT_LOG, KEPT_STAGING + i),
		           output->staging[i]);
	}
	shell_keep(shell, VAULT_KEY(VAULT_LOG, KEPT_STATE), output->state);
	return 0;
}

/* The pipes of a shell: those that were kept, or none yet.  NULL with a sentence. */
struct output *
output_new(struct shell *shell, struct err *err)
{
	struct output *output = calloc(1, sizeof(*output));

	if (output == NULL) {
		err_set(err, ENOMEM, "the actors' pipes");
		return NULL;
	}
	*output = (struct output){.shell = shell,
	                          .feed = {-1, -1},
	                          .state = -1,
	                          .staging = {-1, -1},
	                          .cursor = IDLE};
	tail_init(&output->tail);
	ev_init(&output->io, on_feed);
	output->io.data = output;
	if (take_kept(output) == 0) {
		/* The log process does not know that there is a new guardian. */
		(void)output_say(output, FEED_ASK, 0);
	} else {
		close_kept(output);
		if (make_kept(output, err) < 0) {
			output_free(output);
			return NULL;
		}
	}
	tail_open(&output->tail, output->state);
	ev_io_set(&output->io, output->feed[0], EV_READ);
	ev_io_start(shell->loop, &output->io);
	return output;
}

/* Close our ends; what the walker keeps stays. */
void
output_free(struct output *output)
{
	if (output == NULL)
		return;
	ev_io_stop(output->shell->loop, &output->io);
	for (size_t i = 0; i < output->n; i++) {
		fd_close(&output->pipes[i].stream.pipe_fd);
		free(output->pipes[i].path);
	}
	tail_close(&output->tail);
	close_kept(output);
	free(output->pipes);
	map_done(&output->by_key);
	free(output);
}

/* What the log process gets as LOGD_FEED, LOGD_STATE, LOGD_STAGING and the one behind. */
void
output_log_fds(const struct output *output, int ret[4])
{
	ret[0] = output->feed[1];
	ret[1] = output->state;
	ret[2] = output->staging[0];
	ret[3] = output->staging[1];
}

/* Take the pipes of the actors that were taken over. */
void
output_adopt(struct output *output)
{
	struct shell *shell = output->shell;

	for (uint32_t slot = 0; slot < shell->actors.cap; slot++) {
		const struct actor *actor = &shell->actors.at[slot];
		struct output_pipe *pipe;

		if (actor->path == NULL)
			continue;
		for (unsigned int name = 0; name <= PIPE_INPUT; name++) {
			int fd = shell_take(shell, key_of(actor->path, name));

			if (fd >= 0 && enter(output, actor->path, name, fd, &pipe) < 0)
				(void)close(fd);
			else if (fd >= 0)
				pipe->is_adopted = true;
		}
	}
}

/* ---- for a process -------------------------------------------------------------------
 */

/* The pipe of this actor and purpose; a new one where there is none.  -errno. */
static int
get(struct output *output, const char *path, unsigned int name, struct output_pipe **ret,
    bool *ret_is_new)
{
	bool is_kept;
	int fd, r;

	*ret = output_find(output, path, name);
	*ret_is_new = *ret == NULL;
	if (*ret != NULL)
		return 0;
	fd = shell_take(output->shell, key_of(path, name));
	is_kept = fd >= 0;
	if (!is_kept)
		fd = make_pipe();
	if (fd < 0)
		return fd;
	r = enter(output, path, name, fd, ret);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	if (is_kept)
		(*ret)->begun = tail_total(&output->tail, &(*ret)->stream, 0);
	shell_keep(output->shell, (*ret)->stream.key, fd);
	return 0;
}

/* Does the log process have to know of each new life? */
bool
output_is_told_of_lives(const struct conf_process *process)
{
	return process->log.json || process->ready_sign == READY_BY_LOG ||
	       process->out.kind == OUTPUT_JOURNAL ||
	       process->out.kind == OUTPUT_SYSLOG ||
	       process->err.kind == OUTPUT_JOURNAL || process->err.kind == OUTPUT_SYSLOG;
}

/* Of a pipe that the walker keeps we need no more than what processes get.  -errno. */
static int
become_writer(struct output_pipe *pipe)
{
	int fd = fd_reopen(pipe->stream.pipe_fd, O_WRONLY);

	if (fd < 0)
		return fd;
	fd_close(&pipe->stream.pipe_fd);
	pipe->stream.pipe_fd = fd_raise(fd);
	pipe->is_writer = true;
	return 0;
}

/*
 * The end of a pipe that a process of this actor writes to, for what goes through the
 * log process: ours, the same one for each life.  What a helper says is said as by the
 * life that is there, or was.  -errno.
 */
int
output_open(struct output *output, const struct actor *actor, bool is_helper,
            enum feed_stream name)
{
	const struct conf_process *process = &actor->conf->process;
	struct output_pipe *pipe;
	bool is_new;
	int r = get(output, actor->path, name, &pipe, &is_new);

	if (r < 0)
		return r;
	/* Give the pipe to the actor's user, so that the process can open /dev/stdout and
	 * /dev/stderr. */
	if (is_new && process->has_user)
		(void)!fchown(pipe->stream.pipe_fd, process->uid, process->gid);
	if (!is_helper) {
		if (!is_new && !pipe->is_silent)
			pipe->begun =
			    tail_total(&output->tail, &pipe->stream, pipe->said);
		pipe->is_adopted = false;
	}
	if (is_new || (!is_helper && output_is_told_of_lives(process)))
		tell(output, pipe, is_new);
	if (is_helper)
		return pipe->is_writer || (r = become_writer(pipe)) == 0
		           ? pipe->stream.pipe_fd
		           : r;
	pipe->is_quiet = false;
	pipe->is_silent = false;
	/* Flags that an earlier life has set (O_NONBLOCK, ...) are not for this life. */
	r = pipe->is_writer ? fcntl(pipe->stream.pipe_fd, F_SETFL, 0)
	                    : become_writer(pipe);
	return r < 0 ? r : pipe->stream.pipe_fd;
}

/*
 * An end of the pipe that is an actor's standard input: the read end, or the write end
 * for other actors.  The caller's; -errno; -ENOENT for a reader without writers.
 */
int
output_open_input(struct output *output, const char *path, bool for_reader)
{
	struct output_pipe *pipe;
	bool is_new;
	int r;

	if (for_reader && output_find(output, path, PIPE_INPUT) == NULL)
		return -ENOENT;
	r = get(output, path, PIPE_INPUT, &pipe, &is_new);
	if (r < 0)
		return r;
	return fd_reopen(pipe->stream.pipe_fd, for_reader ? O_RDONLY : O_WRONLY);
}

static int
make_inputs(struct output *output, const struct conf_output *target)
{
	struct output_pipe *pipe;
	bool is_new;

	if (target->kind != OUTPUT_PIPE)
		return 0;
	return get(output, target->file, PIPE_INPUT, &pipe, &is_new);
}

/*
 * Another configuration is in force: make the pipes from actor to actor, so that each
 * actor finds them at its start, and tell the log process every target. -errno.
 */
int
output_configure(struct output *output)
{
	const struct conf *conf = output->shell->conf;
	int r = 0;

	for (uint32_t i = 0; i < conf->n_actors && r == 0; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		if (actor->spec.kind == NODE_SUPERVISOR)
			continue;
		r = make_inputs(output, &actor->process.out);
		if (r == 0)
			r = make_inputs(output, &actor->process.err);
	}
	output_name_again(output);
	name_all(output);
	return r < 0 ? r : 0;
}
