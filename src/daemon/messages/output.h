/* SPDX-License-Identifier: ISC */
/* output.h - the pipes between actors and the log process, and from actor to actor.
 *
 * Each is made once and outlives both of its ends, every guardian and every log process:
 * it is in the vault, as is the state of the log process.  The walker keeps both ends of
 * a pipe, so that a writer always has a reader.  The guardian has a single descriptor of
 * each pipe, for the output of processes the write end, so that a start opens nothing; it
 * never reads from a pipe.  Where descriptors are scarce it has as many of the pipes for
 * output as there is room for, which were used last, and fetches others from the walker.
 */
#ifndef DAEMON_OUTPUT_H
#define DAEMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "daemon/messages/words.h"
#include "daemon/state/actors.h"
#include "logd/write/feed.h"
#include "logd/write/logd.h"

/* More than the last words have room for: what is in front of them tells where they
 * begin. */
#define OUTPUT_LAST_BYTES (WORDS_BYTES_MAX + 1024)

/* So many pipes for output are held at least, however scarce descriptors are. */
#define OUTPUT_HELD_MIN 32

/* The last that a process said on a stream. */
struct output_last {
	char text[OUTPUT_LAST_BYTES];
	size_t len;
	bool is_cut; /* there is more in front of it */
};

struct supd_options;

struct output *output_new(const struct messages *messages, struct err *err);
void output_free(struct output *output);
void output_log_fds(const struct output *output, int ret[4]);
void output_adopt(struct output *output);
uint32_t output_look(const struct supd_options *options, const struct conf *conf);
int output_configure(struct output *output);
int output_open(struct output *output, const struct actor *actor, bool is_task,
                enum feed_stream name);
void output_spare(struct output *output, size_t max);
void output_foresee(const struct output *output, const struct actor *actor);
void output_prepare(struct output *output, const struct actor *const *actors, size_t n);
int output_open_input(struct output *output, const char *path, bool for_reader);
void output_begun(const struct output *output, const struct actor *actor,
                  uint64_t ret_match_from[2]);
void output_flush(struct output *output, const struct actor *actor);
void output_drop(struct output *output, const char *path);
void output_reopen(struct output *output);
int output_blocked(struct output *output, const char *path, uint64_t *ret_lost);
void output_tail(struct output *output, const char *path, enum feed_stream name,
                 struct output_last *ret);

#endif
