/* SPDX-License-Identifier: ISC */
/* handover.c - what the walker gives to a new guardian. */
#include "config.h"

#include "ledger/handover.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "os/self/fd.h"

/* Nothing was handed over. */
static void
handover_init(struct handover *handover)
{
	*handover = (struct handover){.link_fd = -1, .exits_fd = -1, .ledger_fd = -1};
}

/* Close the descriptors that no room took; the walker is not told, and its vault keeps
 * them. */
void
handover_done(struct handover *handover)
{
	for (size_t i = 0; i < handover->n; i++)
		fd_close(&handover->vault[i].fd);
	fd_close(&handover->exits_fd);
	fd_close(&handover->ledger_fd);
	free(handover->vault);
	handover_init(handover);
}

static int
take_hello(struct handover *handover, const struct link_message *message, const int *fds,
           size_t n_fds)
{
	if (message->hello.version != LINK_VERSION)
		return -EPROTO;
	if (handover->exits_fd >= 0)
		return -EBADMSG;
	handover->hello = message->hello;
	handover->exits_fd = fds[0];
	handover->ledger_fd = n_fds > 1 ? fds[1] : -1;
	return 0;
}

static int
take_vault(struct handover *handover, const struct link_message *message, const int *fds,
           size_t n_fds)
{
	if (n_fds == 0 || handover->exits_fd < 0)
		return -EBADMSG;
	if (!ARRAY_RESIZE(handover->vault, handover->n + n_fds))
		return -ENOMEM;
	for (size_t i = 0; i < n_fds; i++)
		handover->vault[handover->n++] =
		    (struct handover_entry){message->keys[i], fds[i]};
	return 0;
}

static int
take_message(struct handover *handover, const struct link_message *message,
             const int *fds, size_t n_fds)
{
	if (message->kind == LINK_HELLO)
		return take_hello(handover, message, fds, n_fds);
	if (message->kind == LINK_VAULT)
		return take_vault(handover, message, fds, n_fds);
	return message->kind == LINK_END && handover->exits_fd >= 0 ? 1 : -EBADMSG;
}

static int
compare(const void *a, const void *b)
{
	uint64_t left = ((const struct handover_entry *)a)->key;
	uint64_t right = ((const struct handover_entry *)b)->key;

	return (left > right) - (left < right);
}

/* What to tell of a link that ended or broke. */
static void
explain(int r, struct err *err)
{
	if (r == 0)
		err_set(err, 0, "the walker has gone");
	else if (r == -EPROTO)
		err_set(err, 0, "the walker is of another version");
	else if (r == -EBADMSG)
		err_set(err, 0, "the walker sent a message that cannot be understood");
	else
		err_set(err, -r, "receive from the walker");
}

/*
 * Receive all that the walker hands over, waiting until it is complete.  link_fd stays
 * the caller's; it is noted in ret.
 *
 * Returns 0, or -errno with a sentence; then ret is as after handover_init().
 */
int
handover_receive(int link_fd, struct handover *ret, struct err *err)
{
	struct handover handover;
	struct link_message message;
	int fds[LINK_FDS_MAX];
	size_t n_fds;
	int r, end = 0;

	handover_init(&handover);
	while (end == 0) {
		r = link_receive(link_fd, 0, &message, fds, &n_fds);
		end = r == 1 ? take_message(&handover, &message, fds, n_fds) : r;
		if (r == 1 && end < 0)
			for (size_t i = 0; i < n_fds; i++)
				fd_close(&fds[i]);
		if (r == 0 || end < 0) {
			explain(r == 0 ? 0 : end, err);
			handover_done(&handover);
			handover_init(ret);
			return r == 0 ? -EPIPE : end;
		}
	}
	/* The walker sends in the order of its hash table. */
	if (handover.n > 1)
		qsort(handover.vault, handover.n, sizeof(*handover.vault), compare);
	handover.link_fd = link_fd;
	*ret = handover;
	return 0;
}

/*
 * Take what was stored under this key: the descriptor is the caller's, close-on-exec and
 * at or above FD_WINDOW.  -1 where there is nothing, or it was taken.  The walker keeps
 * its copy until it is told LINK_DROP.
 */
int
handover_take(struct handover *handover, uint64_t key)
{
	struct handover_entry *found = NULL;
	int fd = -1;

	if (handover->n > 0)
		found =
		    bsearch(&(const struct handover_entry){.key = key}, handover->vault,
		            handover->n, sizeof(*handover->vault), compare);
	if (found != NULL) {
		fd = found->fd;
		found->fd = -1;
	}
	return fd;
}

/*
 * Close the descriptors that no room took and tell the walker to close them, too.  To be
 * called when every room has had the chance.  Returns 0, or -errno when the walker could
 * not be told.
 */
int
handover_drop_rest(struct handover *handover)
{
	struct link_message message = {.kind = LINK_DROP};
	int r = 0;

	for (size_t i = 0; i < handover->n; i++) {
		struct handover_entry *entry = &handover->vault[i];

		if (entry->fd >= 0)
			message.keys[message.n++] = entry->key;
		fd_close(&entry->fd);
		if (message.n == LINK_FDS_MAX ||
		    (i + 1 == handover->n && message.n > 0)) {
			int sent = link_send(handover->link_fd, &message, NULL, 0);

			r = sent < 0 ? sent : r;
			message.n = 0;
		}
	}
	return r;
}
