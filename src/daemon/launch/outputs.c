/* SPDX-License-Identifier: ISC */
/* outputs.c - standard input, output and error of a child. */
#include "config.h"

#include "daemon/launch/outputs.h"

#include <unistd.h>

#include "daemon/messages/output.h"
#include "os/self/fd.h"

/* What the child, a task or the actor's own process, will have as standard error, or else
 * as standard output; 0 or -errno. */
static int
open_output(struct output *room, const struct actor *actor, bool is_task,
            enum feed_stream name, struct output_fd *ret)
{
	const struct conf_process *process = actor->conf->process;
	const struct conf_output *output =
	    name == FEED_STDERR ? &process->output.err : &process->output.out;
	int fd = -1;

	*ret = (struct output_fd){.fd = -1};
	switch (output->kind) {
	case OUTPUT_LOG:
	case OUTPUT_JOURNAL:
	case OUTPUT_SYSLOG:
	case OUTPUT_STDOUT:
		fd = output_open(room, actor, is_task, name);
		break;
	case OUTPUT_PIPE:
		fd = output_open_input(room, output->file, false);
		ret->is_ours = true;
		break;
	case OUTPUT_FILE:
		ret->file = output->file;
		return 0;
	case OUTPUT_INHERIT:
		fd = name == FEED_STDERR ? STDERR_FILENO : STDOUT_FILENO;
		break;
	case OUTPUT_NULL:
	case OUTPUT_MAX:
		return 0;
	}
	if (fd < 0)
		return fd;
	ret->fd = fd;
	return 0;
}

void
outputs_close(struct outputs *outputs)
{
	fd_close(&outputs->in);
	if (outputs->err.is_ours)
		fd_close(&outputs->err.fd);
	if (outputs->out.is_ours)
		fd_close(&outputs->out.fd);
}

int
outputs_open(struct output *room, const struct actor *actor, bool is_task,
             struct outputs *ret, enum spawn_step *ret_step)
{
	const struct conf_process *process = actor->conf->process;

	*ret = (struct outputs){.in = -1, .err.fd = -1};
	*ret_step = SPAWN_STEP_OUTPUT;
	int r = open_output(room, actor, is_task,
	                    process->output.out_is_err ? FEED_OUTPUT : FEED_STDOUT,
	                    &ret->out);
	if (r < 0)
		return r;
	/* Standard input: a file, or the pipe of the actors that write to this actor, or
	 * nothing.
	 */
	if (!is_task && process->world.input != NULL)
		ret->in_file = process->world.input;
	else if (!is_task)
		ret->in = output_open_input(room, actor->path, true);
	if (process->output.out_is_err && process->output.out.kind != OUTPUT_INHERIT) {
		ret->err.fd = ret->out.fd;
		ret->err.file = ret->out.file;
		return 0;
	}
	r = open_output(room, actor, is_task, FEED_STDERR, &ret->err);
	if (r < 0)
		outputs_close(ret);
	return r;
}
