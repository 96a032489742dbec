/* SPDX-License-Identifier: ISC */
/* unsent.c - what the walker is to keep, or to drop, and was not told yet. */
#include "config.h"

#include "daemon/state/unsent.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/state/log.h"
#include "helper/watchers.h"
#include "os/self/fd.h"
#include "os/socket/closer.h"

/* How many descriptors may wait at once.  Half of them may come from the stores of
 * actors, which may choose descriptors that can never be sent. */
#define UNSENT_MAX 1024
#define STORED_MAX (UNSENT_MAX / 2)

/* They are sent again after so long, and then after twice that each time. */
#define AGAIN_MIN_S 0.1
#define AGAIN_MAX_S 5.

/* In place of the message's kind: only the close of a copy is left to be done. */
#define UNSENT_CLOSE LINK_KIND_MAX

struct item {
	enum link_kind kind; /* LINK_STORE, LINK_DROP, LINK_LOCK, or UNSENT_CLOSE */
	int fd;              /* ours; -1: LINK_DROP */
	uint64_t key;        /* 0: LINK_LOCK */
};

struct unsent {
	struct ev_loop *loop;
	struct bounded *closers; /* of copies */
	int link_fd;
	struct log_pace *pace; /* the keeper's */
	ev_timer timer;
	double seconds; /* of the last wait */
	bool is_told;   /* that descriptors are not kept */
	size_t n;
	struct item items[UNSENT_MAX];
};

static int
send_item(const struct unsent *unsent, const struct item *item, bool may_wait)
{
	struct link_message message = {.kind = item->kind};

	if (item->kind == UNSENT_CLOSE)
		return closer_close(unsent->closers, item->key, &item->fd, 1);
	if (item->kind != LINK_LOCK) {
		message.n = 1;
		message.keys[0] = item->key;
	}
	int r = (may_wait ? link_send : link_try)(unsent->link_fd, &message, &item->fd,
	                                          item->kind != LINK_DROP);
	/* That the walker is gone is seen, and told, elsewhere. */
	return r == -EPIPE ? 0 : r;
}

/*
 * True if this message drops an entry that a newer entry of its kind replaces, and that
 * is not sent yet: if the old entry went first, neither would be there for a moment.
 * Other kinds have places of their own.
 */
static bool
waits_for_newer(const struct unsent *unsent, enum link_kind kind, uint64_t key)
{
	const enum vault_kind what = VAULT_KIND_OF(key);

	if (kind != LINK_DROP ||
	    (what != VAULT_CONF && what != VAULT_ADDITIONS && what != VAULT_BEFORE))
		return false;
	for (size_t i = 0; i < unsent->n; i++)
		if (unsent->items[i].kind == LINK_STORE &&
		    VAULT_KIND_OF(unsent->items[i].key) == what)
			return true;
	return false;
}

/* A newer message about this key makes the one that waits void.  Its descriptor is kept
 * as an UNSENT_CLOSE, because the last close of a copy may hang. */
static void
forget(struct unsent *unsent, enum link_kind kind, uint64_t key)
{
	for (size_t i = 0; i < unsent->n; i++) {
		struct item *item = &unsent->items[i];

		if (item->key != key || item->kind == UNSENT_CLOSE ||
		    (item->kind == LINK_LOCK) != (kind == LINK_LOCK))
			continue;
		if (item->kind == LINK_DROP)
			*item = unsent->items[--unsent->n];
		else
			item->kind = UNSENT_CLOSE;
		return;
	}
}

/* Try to send what the walker is to drop, or all other items; the last -errno, or 0. */
static int
try_all(struct unsent *unsent, bool drops)
{
	size_t n = 0;
	int code = 0;

	for (size_t i = 0; i < unsent->n; i++) {
		struct item item = unsent->items[i];
		int r = 0;

		if ((item.kind == LINK_DROP) != drops ||
		    waits_for_newer(unsent, item.kind, item.key) ||
		    (r = send_item(unsent, &item, false)) < 0)
			unsent->items[n++] = item;
		else if (item.kind != LINK_DROP && item.kind != UNSENT_CLOSE)
			/* The walker has the descriptor: close this copy. */
			fd_close(&item.fd);
		if (r < 0)
			code = r;
	}
	unsent->n = n;
	return code;
}

/* How many descriptors would be lost with us, in stores and elsewhere? */
static size_t
count(const struct unsent *unsent, bool stored)
{
	size_t n = 0;

	for (size_t i = 0; i < unsent->n; i++)
		n += (unsent->items[i].kind == LINK_STORE ||
		      unsent->items[i].kind == LINK_LOCK) &&
		     (VAULT_KIND_OF(unsent->items[i].key) == VAULT_STORED) == stored;
	return n;
}

/*
 * Send what can be sent by now, without waiting.  0: everything is kept, but perhaps for
 * what is in the stores of actors, which need not be what can be sent; or -errno.
 */
int
unsent_flush(struct unsent *unsent)
{
	const int code = try_all(unsent, false);

	(void)try_all(unsent, true);
	size_t n = count(unsent, false);
	if (unsent->is_told && n + count(unsent, true) == 0) {
		unsent->is_told = false;
		log_paced(unsent->pace, LOG_LEVEL_NOTICE,
		          "the walker keeps all descriptors again");
	}
	return n == 0 ? 0 : code;
}

static void
arm(struct unsent *unsent, double seconds)
{
	if (ev_is_active(&unsent->timer))
		return;
	unsent->seconds = seconds < AGAIN_MAX_S ? seconds : AGAIN_MAX_S;
	timer_begin(unsent->loop, &unsent->timer, unsent->seconds);
}

static void
on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct unsent *unsent = timer->data;

	(void)unsent_flush(unsent);
	if (unsent->n > 0)
		arm(unsent, 2 * unsent->seconds);
}

static bool
has_room(const struct unsent *unsent, uint64_t key)
{
	return unsent->n < (VAULT_KIND_OF(key) == VAULT_STORED ? STORED_MAX : UNSENT_MAX);
}

/* It could not be sent, because of r; false: nor can it later. */
static bool
add(struct unsent *unsent, const struct item *item, int r)
{
	int fd = -1;

	if (!has_room(unsent, item->key))
		return false;
	if (item->fd >= 0) {
		fd = fcntl(item->fd, F_DUPFD_CLOEXEC, FD_WINDOW);
		if (fd < 0)
			return false;
		if (!unsent->is_told)
			log_paced(unsent->pace, LOG_LEVEL_ERROR,
			          "the walker cannot be given descriptors to keep (%s): "
			          "they are sent again; until then a crash of supd would "
			          "lose them",
			          strerror(-r));
		unsent->is_told = true;
	}
	unsent->items[unsent->n] = *item;
	unsent->items[unsent->n++].fd = fd;
	arm(unsent, AGAIN_MIN_S);
	return true;
}

/*
 * Tell the walker to keep a copy of this descriptor under the key (LINK_STORE), or as the
 * lock (LINK_LOCK), or to drop what the key has (LINK_DROP): now, or as soon as that can
 * be.  What was to be told of the same before is void.  The descriptor is the caller's.
 */
void
unsent_send(struct unsent *unsent, enum link_kind kind, uint64_t key, int fd)
{
	const struct item item = {.kind = kind, .fd = fd, .key = key};
	int r = 0;

	forget(unsent, kind, key);
	if (!waits_for_newer(unsent, kind, key)) {
		/* Wait only once for a reader that does not read. */
		r = send_item(unsent, &item, unsent->n == 0);
		if (r == 0)
			return;
	}
	if (add(unsent, &item, r))
		return;
	if (r == 0)
		r = send_item(unsent, &item, false);
	if (r < 0)
		log_paced(unsent->pace, LOG_LEVEL_ERROR, "tell the walker (%s): %s",
		          link_names[kind], strerror(-r));
}

/* unsent_send() of LINK_STORE for several, LINK_STORE_MAX at most, none of which was sent
 * before: with one message where that is possible. */
void
unsent_store_all(struct unsent *unsent, const uint64_t *keys, const int *fds, size_t n)
{
	struct link_message message = {.kind = LINK_STORE, .n = (uint32_t)n};

	ASSERT(n <= LINK_STORE_MAX);
	memcpy(message.keys, keys, n * sizeof(*keys));
	if (n == 0 ||
	    (unsent->n == 0 && link_try(unsent->link_fd, &message, fds, n) == 0))
		return;
	for (size_t i = 0; i < n; i++)
		unsent_send(unsent, LINK_STORE, keys[i], fds[i]);
}

/* Nothing is unsent; NULL without memory. */
struct unsent *
unsent_new(struct ev_loop *loop, struct bounded *closers, int link_fd,
           struct log_pace *pace)
{
	struct unsent *unsent = calloc(1, sizeof(*unsent));

	if (unsent == NULL)
		return NULL;
	*unsent = (struct unsent){.loop = loop,
	                          .closers = closers,
	                          .link_fd = link_fd,
	                          .pace = pace,
	                          .timer.data = unsent};
	ev_timer_init(&unsent->timer, on_timer, AGAIN_MIN_S, 0.);
	return unsent;
}

/* Try no longer; NULL is fine.  The copies are left to the end of this process. */
void
unsent_free(struct unsent *unsent)
{
	if (unsent == NULL)
		return;
	ev_timer_stop(unsent->loop, &unsent->timer);
	free(unsent);
}
