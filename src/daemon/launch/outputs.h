/* SPDX-License-Identifier: ISC */
/* outputs.h - standard input, output and error of a child. */
#ifndef DAEMON_OUTPUTS_H
#define DAEMON_OUTPUTS_H

#include "daemon/state/actors.h"
#include "os/spawn/spawn.h"

struct output;

/* Where a child's output goes. */
struct output_fd {
	int fd;           /* -1: none */
	const char *file; /* that the child is to open; NULL: none */
	bool is_ours;     /* the descriptor is ours: close it when the child has it */
};

struct outputs {
	int in;
	const char *in_file; /* that the child is to open; NULL: none */
	struct output_fd out, err;
};

/* What the child, a task or the actor's own process, will have.  0, or -errno with the
 * step of the start that failed. */
int outputs_open(struct output *room, const struct actor *actor, bool is_task,
                 struct outputs *ret, enum spawn_step *ret_step);

/* The child has them. */
void outputs_close(struct outputs *outputs);

#endif
