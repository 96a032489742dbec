/* SPDX-License-Identifier: ISC */
/* descriptors.c - how many files the log process has open, and when it looks at its feed.
 */
#include "config.h"

#include <sys/epoll.h>

#include "logd/write/logd_private.h"

/* Descriptors for all but streams and sinks, and how many sinks may always be open. */
#define FDS_SPARE 64
#define SINKS_MIN 16
#define SINKS_MAX 8192

/* The sink is not to be found by logd_close_sinks() any more. */
void
logd_unuse_sink(struct logd *logd, struct sink *sink)
{
	if (!sink->in_use)
		return;
	TAILQ_REMOVE(&logd->used, sink, by_use);
	sink->in_use = false;
	logd->n_used--;
}

/* Close sinks until at most so many are open. */
void
logd_close_sinks(struct logd *logd, uint32_t most)
{
	while (logd->n_used > most) {
		struct sink *sink = TAILQ_FIRST(&logd->used);

		logd_unuse_sink(logd, sink);
		sink_close(sink);
	}
}

/* The sink was used just now; those that were not for the longest time are closed. */
void
logd_use_sink(struct logd *logd, struct sink *sink)
{
	uint64_t most = SINKS_MIN;

	if (sink->in_use)
		TAILQ_REMOVE(&logd->used, sink, by_use);
	else
		logd->n_used++;
	sink->in_use = true;
	TAILQ_INSERT_TAIL(&logd->used, sink, by_use);
	if (logd->n_used <= SINKS_MIN)
		return;
	if (logd->fds_max > FDS_SPARE + logd->table.n_streams + SINKS_MIN)
		most = logd->fds_max - FDS_SPARE - logd->table.n_streams;
	logd_close_sinks(logd, most < SINKS_MAX ? (uint32_t)most : SINKS_MAX);
}

/* epoll tells when the feed has something and, if we owe something, when it has room. */
void
logd_watch_feed(struct logd *logd)
{
	const bool owes = logd->hello_owed || logd->trouble_owed || logd->match_owed;
	struct epoll_event event = {
	    .events = owes ? EPOLLIN | EPOLLOUT : EPOLLIN,
	    .data.u64 = ABOUT_FEED,
	};

	/* It was added at the start: this cannot fail. */
	if (!logd->alone)
		(void)epoll_ctl(logd->epoll, EPOLL_CTL_MOD, logd->feed, &event);
}
