/* SPDX-License-Identifier: ISC */
/* hung.c - children that were given up before their program. */
#include "config.h"

#include "daemon/launch/hung.h"

#include <poll.h>
#include <stdlib.h>

#include "os/self/fd.h"

/* How many are remembered, at most a single child of an actor. */
enum { HUNG_MAX = 1024 };

struct hung_child {
	struct ref ref;
	int pidfd; /* readable when it has ended */
};

static bool
has_ended(const struct hung_child *child)
{
	struct pollfd end = {.fd = child->pidfd, .events = POLLIN};

	return poll(&end, 1, 0) > 0;
}

/* Forget children that have ended meanwhile. */
static void
drop_ended(struct hung *hung)
{
	size_t kept = 0;

	for (size_t i = 0; i < hung->n; i++) {
		if (has_ended(&hung->at[i]))
			fd_close(&hung->at[i].pidfd);
		else
			hung->at[kept++] = hung->at[i];
	}
	hung->n = kept;
}

/*
 * Remember the child of this actor; the pidfd is taken.  Where that fails for want of
 * memory it is forgotten: its actor may be started although it is not gone.
 */
void
hung_add(struct hung *hung, struct ref ref, int pidfd)
{
	const size_t cap = hung->cap == 0 ? 8 : 2 * hung->cap;
	struct hung_child *grown;

	if (hung->n == hung->cap && hung->cap < HUNG_MAX) {
		grown = reallocarray(hung->at, cap, sizeof(*grown));
		if (grown != NULL) {
			hung->at = grown;
			hung->cap = cap;
		}
	}
	if (hung->n < hung->cap && pidfd >= 0)
		hung->at[hung->n++] = (struct hung_child){.ref = ref, .pidfd = pidfd};
	else
		fd_close(&pidfd);
}

/* True if a given-up child of this actor is not gone. */
bool
hung_has(struct hung *hung, struct ref ref)
{
	if (hung->n == 0)
		return false;
	drop_ended(hung);
	for (size_t i = 0; i < hung->n; i++)
		if (hung->at[i].ref.slot == ref.slot &&
		    hung->at[i].ref.tenant == ref.tenant)
			return true;
	return false;
}

void
hung_done(struct hung *hung)
{
	for (size_t i = 0; i < hung->n; i++)
		fd_close(&hung->at[i].pidfd);
	free(hung->at);
	*hung = (struct hung){0};
}
