/* SPDX-License-Identifier: ISC */
/* fake_walker.c - the other end of the keeper's link: what the walker would keep. */
#include "config.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/state/keeper.h"
#include "ledger/link.h"
#include "tests/lib/fake_rooms.h"

/* Keep and drop what the guardian has asked for. */
void
fake_walk(struct fake *fake)
{
	struct link_message message;
	int fds[LINK_FDS_MAX];
	size_t n_fds;

	while (link_receive(fake->walker_fd, MSG_DONTWAIT, &message, fds, &n_fds) > 0) {
		if (message.kind == LINK_STORE)
			(void)vault_store_all(&fake->vault, message.keys, fds, message.n);
		else if (message.kind == LINK_DROP)
			vault_drop_all(&fake->vault, message.keys, message.n);
	}
}

static int
compare_keys(const void *a, const void *b)
{
	const struct handover_entry *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

/* A link to a new guardian, which gets what is kept. */
void
fake_begin_link(struct fake *fake)
{
	static const struct keeper_news no_news;
	struct handover *handover = &fake->handover;
	uint64_t key;
	size_t at = 0;
	int fds[2];

	if (fake->vault.slots == NULL)
		ASSERT(vault_open(&fake->vault, 0, &(struct err){0}) == 0);
	ASSERT(link_pair(fds) == 0);
	fake->walker_fd = fds[0];
	*handover = (struct handover){.link_fd = fds[1], .exits_fd = -1, .ledger_fd = -1};
	handover->vault = calloc(fake->vault.n + 1, sizeof(*handover->vault));
	while (vault_next(&fake->vault, &at, 1, &key, fds) == 1)
		handover->vault[handover->n++] =
		    (struct handover_entry){key, dup(fds[0])};
	qsort(handover->vault, handover->n, sizeof(*handover->vault), compare_keys);
	fake->supd.keeper = fake->reporter.keeper = keeper_new(handover);
	ASSERT(fake->supd.keeper != NULL);
	fake->uses.keeper = fake->supd.keeper;
	ASSERT(keeper_listen(fake->supd.keeper, fake->supd.loop, &fake->supd.closers,
	                     &no_news) == 0);
}

static void
end_link(struct fake *fake)
{
	fake_walk(fake);
	keeper_free(fake->supd.keeper);
	(void)close(fake->handover.link_fd);
	handover_done(&fake->handover);
	(void)close(fake->walker_fd);
}

void
fake_hand_over(struct fake *fake)
{
	end_link(fake);
	fake_begin_link(fake);
}

void
fake_settle(struct fake *fake)
{
	keeper_settled(fake->supd.keeper);
	fake_walk(fake);
}

void
fake_end_walker(struct fake *fake)
{
	end_link(fake);
	vault_done(&fake->vault);
}
