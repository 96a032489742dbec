/* SPDX-License-Identifier: ISC */
/* control_file.h - the file of the control socket.
 *
 * Its path is what its author chose: all of this is done in a child.
 */
#ifndef DAEMON_CONTROL_FILE_H
#define DAEMON_CONTROL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/socket/sockwork.h"

/* The most clients that are connected, and that wait to be. */
#define CONTROL_CONNS_MAX 512

/* All that is done with it at once takes so long at most: half of it for the child that
 * works, and the rest for its end. */
#define CONTROL_FILE_MS 2000

struct conf;

struct control_file {
	int fd; /* of the socket, owned by the control server; -1: not open */
	struct bounded *bounded; /* the child is of these; borrowed */
	const char *path;        /* borrowed; NULL: not known yet */
	/* The most connections that leave the actors their descriptors; 0:
	 * CONTROL_CONNS_MAX. */
	uint32_t clients_max;
	/* The child that does all until control_file_end(), and what it has seen: at
	 * first without a child, id -1. */
	struct sockwork work;
};

/* Begin and end the use of one child for every control_file_do() between, in so many
 * milliseconds. */
void control_file_begin(struct control_file *file, int timeout_ms);
void control_file_end(struct control_file *file);

/* Have something done with the file by that child, or else by a child for this alone: the
 * path is what its author chose.  Its mode is that which this configuration (NULL: none)
 * wants.  Returns as sockwork_do(). */
int control_file_do(struct control_file *file, enum sockwork_kind kind,
                    const struct conf *conf, gid_t gid, struct err *err);

#endif
