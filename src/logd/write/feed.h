/* SPDX-License-Identifier: ISC */
/* feed.h - what the guardian and the log process say to each other.
 *
 * A SOCK_SEQPACKET pair, one message a packet.  Both ends live in the vault, so what one
 * side finds in it may be meant for a predecessor.  A log process begins with FEED_HELLO
 * and its number; it heeds nothing until FEED_BEGIN comes with that number, and closes
 * the descriptors of the rest.  A new guardian sends FEED_ASK, which makes the log
 * process take a new number and begin like that again.
 *
 * Neither side waits for the other: the guardian sends what does not fit later, and the
 * log process always reads.
 */
#ifndef LOGD_FEED_H
#define LOGD_FEED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "base/pattern.h"

#define FEED_TEXT_MAX (2 * PATH_MAX + PATTERN_MAX + 1)

/* From the guardian to the log process, then the other way round. */
#define FEED_MAP(X)                \
	X(FEED_ASK, "ask")         \
	X(FEED_BEGIN, "begin")     \
	X(FEED_STREAM, "stream")   \
	X(FEED_DROP, "drop")       \
	X(FEED_FLUSH, "flush")     \
	X(FEED_END, "end")         \
	X(FEED_REOPEN, "reopen")   \
	X(FEED_SHOW, "show")       \
	X(FEED_SAY, "say")         \
	X(FEED_HELLO, "hello")     \
	X(FEED_TROUBLE, "trouble") \
	X(FEED_MATCH, "match")
enum feed_kind { FEED_MAP(AS_ENUM) FEED_KIND_MAX };

/*
 * FEED_ASK      a new guardian: say HELLO
 * FEED_BEGIN    instance: the streams that follow, up to FEED_END, are all there are;
 *               those that were known and are not among them go
 * FEED_STREAM   1 descriptor, the read end of a pipe with a file description of its own:
 *               from now on this is a stream; without a descriptor: what is known of the
 *               stream `key` has changed.  A changed life ends a line that is not
 *               complete: what the pipe holds belongs to the life before
 * FEED_DROP     key: write what is in its pipe and forget it
 * FEED_FLUSH    key: the pipe has no writer now; an incomplete line counts as complete
 * FEED_END      all streams were named
 * FEED_REOPEN   open the files by their names again, as after logrotate(8)
 * FEED_SHOW     show: how output is shown from now on (enum feed_look); colour: columns
 *               of the longest name.  Every log process takes this and the next
 * FEED_SAY      error, a level of syslog(3), and a line of supd's own as path, to be
 *               shown among the output of actors
 * FEED_HELLO    instance: tell me all
 * FEED_MATCH    key, match_from: a line of the stream matches its pattern
 * FEED_TROUBLE  key, error (errno, 0: it is over), path: what the stream writes stays in
 *               its pipe, or is dropped; a sentence in `actor` for the first stream of a
 *               file alone.  Without a key: the sentence alone
 */

#define FEED_STREAM_MAP(X)       \
	X(FEED_STDOUT, "stdout") \
	X(FEED_STDERR, "stderr") \
	X(FEED_OUTPUT, "output")
enum feed_stream { FEED_STREAM_MAP(AS_ENUM) FEED_STREAM_MAX } ONE_BYTE;

#define FEED_TARGET_MAP(X)            \
	X(FEED_TO_FILE, "file")       \
	X(FEED_TO_JOURNAL, "journal") \
	X(FEED_TO_SYSLOG, "syslog")   \
	X(FEED_TO_STDOUT, "stdout")
enum feed_target { FEED_TARGET_MAP(AS_ENUM) FEED_TARGET_MAX } ONE_BYTE;

/* How output is shown on our standard output. */
enum feed_look {
	FEED_LOOK_TEXT = 1,    /* name | line */
	FEED_LOOK_COLOURS = 2, /* and in colours */
	FEED_LOOK_JSON = 4,    /* or one JSON object a line */
};

/* Is the output of a stream shown?  What is not read in time is left out, or waited for.
 */
enum feed_shown {
	FEED_SHOWN_NOT,
	FEED_SHOWN_IN_TIME,
	FEED_SHOWN_ALL,
	FEED_SHOWN_MAX
} ONE_BYTE;

#define FEED_AS_BEFORE UINT64_MAX

struct feed_log {
	uint64_t max_size; /* of one file; 0: without limit */
	uint64_t total;    /* of all files of the log; 0: without limit */
	/* the age at which a set-aside file is deleted; 0: without limit */
	uint64_t max_age_ms;
	uint32_t keep;
	bool timestamps, json, compress;
	bool drop; /* rather than wait while the file cannot be written */
};

struct feed_message {
	uint32_t kind;
	uint32_t stream; /* enum feed_stream */
	uint32_t target; /* enum feed_target */
	int32_t error;
	uint64_t instance, key;
	/*
	 * FEED_STREAM with a pattern: tell of the first line that matches and ends behind
	 * the first match_from - 1 bytes of the stream, also if that was before; 0: of
	 * none, FEED_AS_BEFORE: as was said last.
	 */
	uint64_t match_from;
	uint32_t incarnation, generation;
	int32_t pid; /* 0: none */
	uint32_t text_len;
	uint32_t show;   /* enum feed_shown; FEED_SHOW: set of enum feed_look */
	uint32_t colour; /* any number: that of the colour of its name */
	struct feed_log log;
	/* The path of the actor, of the file or of the socket, and the pattern to look
	 * for, if any; each with its NUL. */
	char text[FEED_TEXT_MAX];
};

extern const char *const feed_stream_names[];

int feed_set_text(struct feed_message *message, const char *actor, const char *path);
const char *feed_actor(const struct feed_message *message);
const char *feed_path(const struct feed_message *message);
int feed_set_pattern(struct feed_message *message, const char *pattern);
const char *feed_pattern(const struct feed_message *message);
int feed_send(int fd, const struct feed_message *message, int pipe_fd);
int feed_receive(int fd, struct feed_message *ret, int *ret_fd);

#endif
