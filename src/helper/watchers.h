/* SPDX-License-Identifier: ISC */
/* watchers.h - libev's watchers in one call each: for supd, and for its helper processes.
 */
#ifndef HELPER_WATCHERS_H
#define HELPER_WATCHERS_H

#include <ev.h>

/* A watcher that does not run; the callback finds `data` in it. */
static inline void
timer_prepare(ev_timer *timer, void (*call)(struct ev_loop *, ev_timer *, int),
              void *data)
{
	ev_init(timer, call);
	timer->data = data;
}

static inline void
io_prepare(ev_io *io, void (*call)(struct ev_loop *, ev_io *, int), void *data)
{
	ev_init(io, call);
	io->data = data;
}

/* Call once, in so many seconds; what was to come before is forgotten. */
static inline void
timer_begin(struct ev_loop *loop, ev_timer *timer, double seconds)
{
	ev_timer_stop(loop, timer);
	ev_timer_set(timer, seconds, 0.);
	ev_timer_start(loop, timer);
}

/* Watch this descriptor for these events; for none the watcher only stops. */
static inline void
io_begin(struct ev_loop *loop, ev_io *io, int fd, int events)
{
	ev_io_stop(loop, io);
	ev_io_set(io, fd, events);
	if (events != 0)
		ev_io_start(loop, io);
}

#endif
