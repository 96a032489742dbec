/* SPDX-License-Identifier: ISC */
/* output.c - the pipes between actors and the log process, and from actor to actor. */
#include "config.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/sum.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/output_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "helper/watchers.h"
#include "ledger/link.h"
#include "logd/read/tail.h"
#include "logd/write/state.h"
#include "os/self/fd.h"
#include "os/self/pass.h"

/* As many pipes as the log process takes. */
#define PIPES_MAX STATE_STREAMS_MAX

/* Where in the vault the log process finds what it needs. */
enum kept { KEPT_FEED = 1, KEPT_FEED_LOG, KEPT_STATE, KEPT_STAGING, KEPT_STAGING_IN };

/* ---- pipes ------------------------------------------------------------------------- */

/* 56 bits of FNV-1a of the path and what it is for. */
static uint64_t
output_key(const char *path, unsigned int name)
{
	const uint64_t hash = fnv_add(fnv_text(path), 0x100 + name);

	return VAULT_KEY(VAULT_PIPE, hash ^ hash >> 56);
}

/* The pipe of this actor and purpose, or NULL. */
struct output_pipe *
output_find(const struct output *output, const char *path, unsigned int name)
{
	uint32_t at;

	/* As of most names: the search for what is not there would cost as much. */
	return output->n_named[name] == 0 ||
	               !map_get(&output->by_key, output_key(path, name), &at) ||
	               strcmp(output->pipes[at].path, path) != 0
	           ? NULL
	           : &output->pipes[at];
}

/* Close those that are there. */
void
output_close_ends(struct output_ends *ends)
{
	fd_close(&ends->reader);
	fd_close(&ends->writer);
}

/* Both ends of a new pipe in one descriptor, and each.  -errno. */
int
output_make_pipe(struct output_ends *ret)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret = (struct output_ends){fds[0], fd_raise(fds[1]), true};
	int fd = fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0
	             ? -errno
	             : fd_reopen(fds[0], O_RDWR | O_NONBLOCK);
	if (fd < 0)
		output_close_ends(ret);
	return fd_raise(fd);
}

/* Enter a pipe; `fd` is the table's if this succeeds.  -errno. */
int
output_enter(struct output *output, const char *path, unsigned int name, int fd,
             struct output_pipe **ret)
{
	const uint64_t key = output_key(path, name);
	char *copy = strdup(path);
	uint32_t at;
	int r = output->n >= PIPES_MAX ? -ENOSPC : 0;

	if (copy == NULL || !ARRAY_RESERVE(output->pipes, output->n, output->cap))
		r = -ENOMEM;
	if (r == 0 && map_get(&output->by_key, key, &at))
		r = -EEXIST;
	if (r == 0)
		r = map_put(&output->by_key, key, (uint32_t)output->n);
	if (r < 0) {
		free(copy);
		return r;
	}
	output->n_named[name]++;
	*ret = &output->pipes[output->n++];
	**ret = (struct output_pipe){
	    .stream = {.key = key, .pipe_fd = fd, .entry = (uint32_t)(output->n - 1)},
	    .path = copy,
	    .name = (uint8_t)name,
	};
	return 0;
}

/* ---- what outlives us -------------------------------------------------------------- */

static int
take_kept(struct output *output)
{
	int *const places[] = {&output->feed[0], &output->feed[1], &output->state,
	                       &output->staging[0], &output->staging[1]};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		*places[i] = keeper_take(output->messages->keeper,
		                         VAULT_KEY(VAULT_LOG, KEPT_FEED + i));
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
	const struct messages *messages = output->messages;

	output->state = state_new(err);
	if (output->state < 0)
		return output->state;
	int r = pass_pair(output->feed);
	if (r == 0 && pipe2(output->staging, O_CLOEXEC) < 0)
		r = -errno;
	if (r < 0)
		return err_set(err, -r, "pipes for the log process");
	output->state = fd_raise(output->state);
	for (int i = 0; i < 2; i++) {
		output->feed[i] = fd_raise(output->feed[i]);
		output->staging[i] = fd_raise(output->staging[i]);
		keeper_keep(messages->keeper, VAULT_KEY(VAULT_LOG, KEPT_FEED + i),
		            output->feed[i]);
		keeper_keep(messages->keeper, VAULT_KEY(VAULT_LOG, KEPT_STAGING + i),
		            output->staging[i]);
	}
	keeper_keep(messages->keeper, VAULT_KEY(VAULT_LOG, KEPT_STATE), output->state);
	return 0;
}

/* The pipes: those that were kept, or none yet.  NULL with a sentence. */
struct output *
output_new(const struct messages *messages, struct err *err)
{
	struct output *output = err_calloc(sizeof(*output), err, "the actors' pipes");

	if (output == NULL)
		return NULL;
	*output = (struct output){.messages = messages,
	                          .feed = {-1, -1},
	                          .state = -1,
	                          .staging = {-1, -1},
	                          .cursor = IDLE,
	                          .spare_max = SIZE_MAX,
	                          .io.data = output,
	                          .again.data = output};
	tail_init(&output->tail);
	ev_init(&output->io, output_on_feed);
	ev_init(&output->again, output_on_again);
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
	output->was_troubled = tail_is_troubled(&output->tail);
	io_begin(messages->loop, &output->io, output->feed[0], EV_READ);
	return output;
}

/* Close our ends; what the walker keeps stays. */
void
output_free(struct output *output)
{
	if (output == NULL)
		return;
	log_divert(NULL, NULL);
	ev_io_stop(output->messages->loop, &output->io);
	ev_timer_stop(output->messages->loop, &output->again);
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
	const struct messages *messages = output->messages;

	for (uint32_t slot = 0; slot < messages->actors->cap; slot++) {
		const struct actor *actor = &messages->actors->at[slot];
		struct output_pipe *pipe;

		if (actor->path == NULL)
			continue;
		for (unsigned int name = 0; name <= PIPE_INPUT; name++) {
			int fd =
			    keeper_take(messages->keeper, output_key(actor->path, name));

			if (fd < 0)
				continue;
			if (output_enter(output, actor->path, name, fd, &pipe) < 0) {
				(void)close(fd);
				continue;
			}
			pipe->is_adopted = pipe->is_kept = true;
			output_let_go(output, pipe);
		}
	}
}

/* ---- for a process ----------------------------------------------------------------- */

/* The pipe of this actor and purpose, held; a new one where there is none, with its ends
 * for the caller to close.  -errno. */
static int
output_get(struct output *output, const char *path, unsigned int name,
           struct output_pipe **ret, struct output_ends *ret_ends)
{
	*ret = output_find(output, path, name);
	*ret_ends = (struct output_ends){-1, -1, *ret == NULL};
	if (*ret != NULL)
		return output_hold(output, *ret);
	int fd = keeper_take(output->messages->keeper, output_key(path, name));
	bool is_kept = fd >= 0;
	if (!is_kept)
		fd = output_make_pipe(ret_ends);
	if (fd < 0)
		return fd;
	int r = output_enter(output, path, name, fd, ret);
	if (r < 0) {
		(void)close(fd);
		output_close_ends(ret_ends);
		return r;
	}
	if (is_kept)
		(*ret)->stream.begun = tail_total(&output->tail, &(*ret)->stream, 0);
	keeper_keep(output->messages->keeper, (*ret)->stream.key, fd);
	return 0;
}

/* True if the log process has to know of each new life. */
bool
output_is_told_of_lives(const struct output *output, const struct conf_process *process)
{
	return output_is_shown(output, &process->output.out) ||
	       output_is_shown(output, &process->output.err) ||
	       process->output.log.json || process->readiness.sign == READY_BY_LOG ||
	       process->output.out.kind == OUTPUT_JOURNAL ||
	       process->output.out.kind == OUTPUT_SYSLOG ||
	       process->output.err.kind == OUTPUT_JOURNAL ||
	       process->output.err.kind == OUTPUT_SYSLOG;
}

/* Of a pipe that the walker keeps we need no more than what processes get: this write
 * end, or another one where it is -1.  -errno. */
int
output_become_writer(struct output_pipe *pipe, int take_writer)
{
	int fd =
	    take_writer >= 0 ? take_writer : fd_reopen(pipe->stream.pipe_fd, O_WRONLY);

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
output_open(struct output *output, const struct actor *actor, bool is_task,
            enum feed_stream name)
{
	const struct conf_process *process = actor->conf->process;
	struct output_pipe *pipe;
	struct output_ends ends;
	int r = output_get(output, actor->path, name, &pipe, &ends);

	if (r < 0)
		return r;
	/* Give the pipe to the actor's user, so that the process can open /dev/stdout and
	 * /dev/stderr. */
	if ((ends.is_new || pipe->is_prepared) && process->identity.has_user)
		(void)!fchown(pipe->stream.pipe_fd, process->identity.uid,
		              process->identity.gid);
	if (!is_task) {
		if (!ends.is_new && !pipe->is_silent && !pipe->is_prepared)
			pipe->stream.begun =
			    tail_total(&output->tail, &pipe->stream, pipe->said);
		pipe->is_adopted = false;
	}
	if (ends.is_new || (!is_task && output_is_told_of_lives(output, process)))
		output_name_one(output, pipe, ends.is_new, ends.reader);
	fd_close(&ends.reader);
	if (!is_task)
		pipe->is_quiet = pipe->is_silent = pipe->is_prepared = false;
	/* Flags that an earlier life has set (O_NONBLOCK, ...) are not for this life. */
	if (!pipe->is_writer)
		r = output_become_writer(pipe, ends.writer);
	else if (!is_task)
		r = fcntl(pipe->stream.pipe_fd, F_SETFL, 0);
	output_let_go(output, pipe);
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
	struct output_ends ends;

	if (for_reader && output_find(output, path, PIPE_INPUT) == NULL)
		return -ENOENT;
	int r = output_get(output, path, PIPE_INPUT, &pipe, &ends);
	if (r < 0)
		return r;
	output_close_ends(&ends);
	return fd_reopen(pipe->stream.pipe_fd, for_reader ? O_RDONLY : O_WRONLY);
}

static int
make_inputs(struct output *output, const struct conf_output *target)
{
	struct output_pipe *pipe;
	struct output_ends ends;

	if (target->kind != OUTPUT_PIPE)
		return 0;
	int r = output_get(output, target->file, PIPE_INPUT, &pipe, &ends);
	output_close_ends(&ends);
	return r;
}

/*
 * Another configuration is in force: make the pipes from actor to actor, so that each
 * actor finds them at its start, and tell the log process every target. -errno.
 */
int
output_configure(struct output *output)
{
	const struct conf *conf = output->messages->actors->conf;
	int r = 0;

	for (uint32_t i = 0; i < conf->n_actors && r == 0; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		if (actor->spec->core.kind == NODE_SUPERVISOR)
			continue;
		r = make_inputs(output, &actor->process->output.out);
		if (r == 0)
			r = make_inputs(output, &actor->process->output.err);
	}
	output_choose_look(output);
	output_name_changes(output);
	output_name_all(output);
	return r < 0 ? r : 0;
}
