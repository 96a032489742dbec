/* SPDX-License-Identifier: ISC */
/* link.c - the link between guardian and walker: any packets, with any descriptors.
 *
 * The same packets are what a guardian says to its walker, and what a walker hands over.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "ledger/handover.h"
#include "os/self/fd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/packets.h"
#include "walker/private.h"

const unsigned int fuzz_runs = 300;

enum { WALKER, GUARDIAN };

static void
pair(int fds[2])
{
	ASSERT(link_pair(fds) == 0);
	ASSERT(fcntl(fds[GUARDIAN], F_SETFL, O_NONBLOCK) == 0);
}

/* Its table is made once: a walker keeps it until the end. */
static struct walker the_walker;

static struct walker *
walker_get(int link_fd)
{
	struct err err;

	if (the_walker.vault.slots == NULL)
		ASSERT(vault_open(&the_walker.vault, 0, &err) == 0);
	if (the_walker.exits == NULL)
		the_walker.exits = exits_new(&err);
	ASSERT(the_walker.exits != NULL);
	notifier_open(&the_walker.systemd, (char *[]){NULL}, 0);
	watchdog_init(&the_walker.watchdog, 0, 0);
	the_walker.handing = (struct handing){link_fd, -1, -1, HANDING_NEWS, .at = 0};
	the_walker.lock_fd = the_walker.name_fd = the_walker.binary_fd =
	    the_walker.old_fd = -1;
	return &the_walker;
}

/* Close the descriptors that the link keeps, and have children close their own. */
static void
empty(struct vault *vault)
{
	uint64_t key;
	size_t at = 0;
	int fd;

	while (vault_next(vault, &at, 1, &key, &fd) == 1)
		(void)close(fd);
	memset(vault->slots, 0, (vault->mask + 1) * sizeof(*vault->slots));
	vault->n = 0;
	for (size_t i = 0; i < vault->n_waiting; i++)
		(void)close(vault->waiting[i]);
	vault->n_waiting = 0;
	for (size_t i = 0; i < BOUNDED_MAX; i++)
		if (vault->closers.pids[i] > 0)
			(void)waitpid(vault->closers.pids[i], NULL, 0);
	vault->closers = (struct bounded){0};
}

static void
as_walker(struct packets packets)
{
	struct walker *walker;
	int fds[2];

	pair(fds);
	walker = walker_get(fds[WALKER]);
	while (packets_send(&packets, fds[GUARDIAN]))
		guardian_receive(walker);
	fd_close(&walker->handing.link_fd);
	fd_close(&walker->handing.ledger_fd);
	fd_close(&walker->lock_fd);
	fd_close(&walker->binary_fd);
	fd_close(&walker->old_fd);
	notifier_close(&walker->systemd);
	empty(&walker->vault);
	(void)close(fds[GUARDIAN]);
}

static void
as_guardian(struct packets packets)
{
	struct handover handover;
	struct err err;
	int fds[2];

	pair(fds);
	while (packets_send(&packets, fds[WALKER]))
		;
	(void)close(fds[WALKER]);
	if (handover_receive(fds[GUARDIAN], &handover, &err) == 0) {
		for (size_t i = 1; i < handover.n; i++)
			ASSERT(handover.vault[i - 1].key <= handover.vault[i].key);
		for (uint64_t kind = VAULT_CONTROL; kind <= VAULT_GIVEN; kind++) {
			int fd = handover_take(&handover, VAULT_KEY(kind, 0));

			fd_close(&fd);
		}
		ASSERT(strnlen(handover.hello.binary, sizeof(handover.hello.binary)) <
		       sizeof(handover.hello.binary));
		(void)handover_drop_rest(&handover);
	}
	handover_done(&handover);
	(void)close(fds[GUARDIAN]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct free_fds before = free_fds();

	as_walker((struct packets){data, size});
	as_guardian((struct packets){data, size});
	free_fds_check(&before);
	return 0;
}
