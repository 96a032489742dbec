/* SPDX-License-Identifier: ISC */
/* batch.h - a piece of a stream, on its way from the pipe to where it belongs.
 *
 * It is looked at without being taken out (tee(2)), written, and only then taken out,
 * by way of the staging pipe: state.h says why a death in between loses and doubles
 * nothing.  What cannot be written simply stays where it is, and the writer waits.
 */
#ifndef LOGD_BATCH_H
#define LOGD_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "logd/write/state.h"

/* As much is looked at with one go; less where the kernel grants only small pipes. */
#define BATCH_BYTES (256 * 1024)

struct batch {
	struct state *state;
	int scratch[2]; /* of this process: pieces are copied here to be looked at */
	int staging[2]; /* of the vault: what is being taken out */
	int null;
	size_t max;
	bool notes; /* the piece begins with a note of what was lost before it */
	char *data; /* what batch_load() got */
};

/* A stream, as far as taking from it goes. */
struct batch_source {
	int fd;
	uint32_t entry;
	uint64_t pipe; /* its inode */
};

int batch_open(struct batch *batch, struct state *state, const int staging[2],
               struct err *err);
void batch_close(struct batch *batch);
int batch_recover(struct batch *batch);
int batch_resume(struct batch *batch, const struct batch_source *source);
void batch_give_up(struct batch *batch);

size_t batch_pipe_fill(int fd);
ssize_t batch_peek(struct batch *batch, int fd);
int batch_load(struct batch *batch, size_t len);
void batch_discard(struct batch *batch);
int batch_begin(struct batch *batch, const char *path, uint64_t device, uint64_t inode,
                uint64_t offset);
void batch_abandon(struct batch *batch);
void batch_set_line(struct batch *batch, uint64_t inode, uint64_t end);
int batch_take(struct batch *batch, const struct batch_source *source, size_t len);
int batch_drop(struct batch *batch, const struct batch_source *source, size_t len);

#endif
