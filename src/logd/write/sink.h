/* SPDX-License-Identifier: ISC */
/* sink.h - where streams go: a file and those that were set aside, or a socket.
 *
 * A sink that cannot be written to is in trouble: it is left alone for a pause that
 * grows, its streams wait in their pipes, and it is told once; once more when it is
 * over.
 */
#ifndef LOGD_SINK_H
#define LOGD_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "logd/write/feed.h"

TAILQ_HEAD(sinks, sink);
TAILQ_HEAD(streams, stream);

struct sink {
	struct feed_log log;
	struct streams streams;
	uint64_t device, inode;
	TAILQ_ENTRY(sink) by_use; /* in the list of sinks that may be open */
	TAILQ_ENTRY(sink) by_trouble;
	/* with an error: when it is tried again; without: when a trouble that has ended
	 * is told to be over */
	uint64_t due_ms;
	uint64_t aged_ms; /* when max_age was looked at last */
	int fd;           /* -1: closed */
	pid_t packer;     /* it compresses this log; 0: none */
	uint32_t pause_ms;
	int16_t error;        /* errno; 0: all is well */
	int16_t told;         /* the error that was told last */
	int16_t rotate_error; /* why the file was not set aside last time; 0: no error */
	int16_t rotate_told, pack_told;
	enum feed_target target;
	bool in_use, in_trouble;
	bool pack_due; /* something was set aside */
	char path[];
};

struct sink *sink_new(enum feed_target target, const char *path,
                      const struct feed_log *log);
void sink_free(struct sink *sink);

/* Files. */
int sink_open(struct sink *sink, uint64_t *ret_size);
void sink_close(struct sink *sink);
int sink_ends_in_line(const struct sink *sink, uint64_t size);
int sink_write(const struct sink *sink, uint64_t offset, const char *data, size_t len);
int sink_splice(const struct sink *sink, uint64_t offset, int pipe_fd, size_t len,
                size_t *ret_done);
int sink_cut(const struct sink *sink, uint64_t size);

/* Files that were set aside: rotate.c. */
uint64_t sink_limit(const struct sink *sink);
int sink_rotate(struct sink *sink);
void sink_tidy(struct sink *sink);

/* Compression: pack.c. */
int sink_pack(struct sink *sink);
void sink_pack_stop(struct sink *sink);

#endif
