/* SPDX-License-Identifier: ISC */
/* logd_private.h - what the parts of the log process share; included only by them.
 *
 * A stream is in one place at a time (stream.h).  When something is in its pipe we wait
 * a little, so that a reader that wakes for every line does not slow the writer; then
 * pieces are brought to the sinks in turn, one of each stream, so that none starves the
 * others.  When all pipes are empty nothing wakes.
 */
#ifndef LOGD_PRIVATE_H
#define LOGD_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "logd/write/deliver.h"
#include "logd/write/feed.h"
#include "logd/write/state.h"
#include "logd/write/stream.h"

#define LOOP_PAUSES 3

/* What an event is about, where it is no stream. */
#define ABOUT_FEED    UINT64_MAX
#define ABOUT_SIGNALS (UINT64_MAX - 1)
#define ABOUT_SHOW    (UINT64_MAX - 2)

struct logd {
	struct state state;
	struct delivery delivery;
	struct stream_table table;
	int feed; /* borrowed */
	int epoll, signals;

	uint64_t instance;
	bool is_addressed; /* FEED_BEGIN came with our number */
	bool complete;     /* and FEED_END */
	bool pending;      /* a batch of a predecessor must be finished first */
	bool alone;        /* the other end of the feed is closed */
	bool hello_owed;   /* the feed was full */
	bool trouble_owed; /* the same */
	bool match_owed;   /* the same */
	bool stopping;
	uint64_t again_ms; /* when to say HELLO once more; 0: never */

	struct streams ready;
	struct streams pausing[LOOP_PAUSES];
	struct sinks troubled;
	struct sinks used; /* the least recently used first */
	uint32_t n_used;
	uint64_t fds_max; /* so many descriptors may be open */
	uint32_t n_large;
	struct strbuf kept; /* lines of supd's own: a digit for the priority, text, NUL */
	struct feed_message message;
};

/* intake.c: the feed. */
void intake_hello(struct logd *logd);
void intake_read(struct logd *logd);
void intake_forget(struct logd *logd, struct stream *stream);
void intake_show_kept(struct logd *logd);

/* match.c: lines that are waited for. */
void match_tell(struct logd *logd, struct stream *stream);
void match_tell_all(struct logd *logd);

/* flow.c: streams from place to place. */
void flow_start(struct logd *logd, struct stream *stream);
void flow_leave(struct logd *logd, struct stream *stream);
void flow_make_ready(struct logd *logd, struct stream *stream);
void flow_on_event(struct logd *logd, struct stream *stream);
uint64_t flow_wake(struct logd *logd, uint64_t now_ns);
void flow_deliver(struct logd *logd);
void flow_hurry(struct logd *logd);
void flow_deliver_all(struct logd *logd, struct stream *stream);
void flow_pack(struct logd *logd, struct sink *sink);
void flow_stop(struct logd *logd);
void flow_show(struct logd *logd);

/* trouble.c: sinks that do not take what comes. */
void trouble_begin(struct logd *logd, struct sink *sink, int error);
void trouble_end(struct logd *logd, struct sink *sink, const struct stream *written);
void trouble_tell(struct logd *logd);
void trouble_leave(struct logd *logd, struct sink *sink);
uint64_t trouble_wake(struct logd *logd, uint64_t now_ms);
void trouble_rotation(struct logd *logd, struct sink *sink);
void trouble_packed(struct logd *logd, struct sink *sink, int error);

/* descriptors.c */
void logd_use_sink(struct logd *logd, struct sink *sink);
void logd_unuse_sink(struct logd *logd, struct sink *sink);
void logd_close_sinks(struct logd *logd, uint32_t most);
void logd_watch_feed(struct logd *logd);

#endif
