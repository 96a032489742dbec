/* SPDX-License-Identifier: ISC */
/* helper.h - a helper process of supd: rights given up, one loop, one channel.
 *
 * A helper ends when the guardian does: the channel ends then.
 */
#ifndef HELPER_HELPER_H
#define HELPER_HELPER_H

#include <ev.h>

#include "helper/wire.h"
#include "os/self/confine.h"

/* What all helpers have in common. */
struct helper {
	struct ev_loop *loop;
	ev_io io;        /* on the channel */
	ev_periodic far; /* keeps libev from waking up once a minute */
	const struct helper_role *role;
	void *own;     /* what role->start made */
	uint32_t owed; /* messages that were acted upon, and HELPER_DONE not said */
};

/* What a helper does.  on_message keeps the first descriptors of a message, and returns
 * how many; the others are closed. */
struct helper_role {
	/* the rights the helper needs; all others are dropped */
	enum confine_kind needs;
	void *(*start)(struct helper *helper); /* NULL: no memory */
	size_t (*on_message)(void *own, const struct helper_message *message,
	                     const int *fds, size_t n_fds);
};

extern const struct helper_role helper_letters;
extern const struct helper_role helper_metrics;
extern const struct helper_role helper_probe;

int helper_find(const char *role);
int helper_run(enum helper_name name);

#endif
