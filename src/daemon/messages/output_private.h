/* SPDX-License-Identifier: ISC */
/* output_private.h - what the files about pipes share.
 *
 *	output.c          made, named, given to processes
 *	output_prepare.c  several are made at once
 *	output_spare.c    where descriptors are scarce the walker alone has them
 *	output_feed.c     what the log process is told of them, and says
 *	output_show.c     how they are shown on supd's own standard output
 *	output_last.c     what was said, and the end of a pipe
 */
#ifndef DAEMON_OUTPUT_PRIVATE_H
#define DAEMON_OUTPUT_PRIVATE_H

#include <ev.h>

#include "base/log_pace.h"
#include "daemon/messages/output.h"
#include "logd/read/tail.h"

/* Beside the streams of feed.h: what is an actor's standard input. */
#define PIPE_INPUT FEED_STREAM_MAX

/* No message for all is under way. */
#define IDLE SIZE_MAX

struct output_pipe {
	/* Both ends of a pipe, or the write end alone, for processes, or neither. */
	struct tail_stream stream; /* it began with the newest process */
	char *path;
	uint64_t said; /* number of bytes known to be written */
	/* a sum of what the log process was told of it that only a configuration
	 * changes; 0: it does not know it */
	uint64_t told;
	/* the number of its last use among all uses of pipes; 0: it was not used, or was
	 * closed since */
	uint64_t used;
	uint8_t name; /* enum feed_stream or PIPE_INPUT */
	bool is_writer;
	bool is_kept;     /* the walker has it for certain */
	bool is_adopted;  /* of a guardian before us: when it began is not known */
	bool is_quiet;    /* the pipe has no writer that could write more */
	bool is_silent;   /* and the newest process had said nothing */
	bool is_prepared; /* no process has had it yet */
};

/* The ends of a new pipe; -1: of a pipe that was made before. */
struct output_ends {
	int reader; /* does not wait */
	int writer;
	bool is_new; /* the table did not have the pipe yet, which the walker may have */
};

struct output {
	const struct messages *messages;
	ev_io io;
	ev_timer again; /* what could not be named, for want of descriptors */
	int feed[2];    /* ours, the log process's */
	int state;
	struct tail tail;
	int staging[2];
	struct output_pipe *pipes;
	size_t n, cap;
	size_t n_named[PIPE_INPUT + 1]; /* of the pipes */
	struct map by_key;
	struct log_pace trouble; /* of the lines about files that cannot be written */
	uint64_t n_used;         /* how often pipes were used */
	size_t n_spare;          /* pipes that are held, but for inputs */
	size_t spare_max;        /* SIZE_MAX: descriptors are not scarce */
	size_t hand;             /* where the next pipe to close is looked for */
	uint64_t instance;       /* of the log process, 0: it said nothing yet */
	size_t cursor;           /* the stream that is named next */
	bool begun;
	bool only_changes; /* unchanged streams are left out */
	/* a file could not be written since the log process keeps its state: until then
	 * no actor's files are asked about */
	bool was_troubled;
	bool shows_all; /* also what has no `stdout` in `output` */
	uint32_t look;  /* set of enum feed_look; 0: nothing is shown */
	uint32_t width; /* columns of the longest name that is shown */
	struct feed_message message;
	struct feed_message saying; /* said in the midst of others */
};

struct output_pipe *output_find(const struct output *output, const char *path,
                                unsigned int name);
int output_enter(struct output *output, const char *path, unsigned int name, int fd,
                 struct output_pipe **ret);
int output_make_pipe(struct output_ends *ret);
void output_close_ends(struct output_ends *ends);
int output_hold(struct output *output, struct output_pipe *pipe);
void output_let_go(struct output *output, struct output_pipe *pipe);
int output_become_writer(struct output_pipe *pipe, int take_writer);
int output_say(struct output *output, enum feed_kind kind, uint64_t key);
void output_name_again(struct output *output);
void output_name_changes(struct output *output);
void output_name_all(struct output *output);
void output_name_one(struct output *output, struct output_pipe *pipe, bool is_new,
                     int reader);
void output_on_again(struct ev_loop *loop, ev_timer *timer, int revents);
void output_on_feed(struct ev_loop *loop, ev_io *io, int revents);
bool output_is_told_of_lives(const struct output *output,
                             const struct conf_process *process);
void output_choose_look(struct output *output);
bool output_is_shown(const struct output *output, const struct conf_output *target);
int output_say_look(struct output *output);

#endif
