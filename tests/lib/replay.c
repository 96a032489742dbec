/* SPDX-License-Identifier: ISC */
/* replay.c - reads along in the ledger of a running supd, and does it all again.
 *
 * replay FD-PATH OUT
 *
 * FD-PATH is the ledger's descriptor below /proc/WALKER/fd.  Every entry of the journal
 * is taken before it is overwritten, and given to a core that began as the first
 * checkpoint. At each later checkpoint that core has to be the same, byte for byte; so it
 * does when stdin ends, and then as many actions were performed as came of it.  What the
 * core reported goes to OUT, a line each: EVENT SLOT INCARNATION GENERATION.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sum.h"
#include "ledger/layout.h"

#define POLL_MS  1
#define PATIENCE 5000 /* polls until what is read at the end is all there is */

struct reader {
	struct ledger *ledger;
	FILE *out;
	struct core *core; /* ours */
	size_t core_bytes;
	uint32_t epoch;
	struct journal_entry *entries; /* of this epoch, so far */
	uint32_t n;
	uint32_t given;   /* the number of entries that the core knows */
	uint32_t actions; /* that came of these entries */
	uint64_t epochs;
	uint64_t total;
	struct action_list list;
};

static _Noreturn void
fail(const struct reader *reader, const char *what)
{
	printf("wrong: %s (epoch %u, %u entries, %llu epochs before)\n", what,
	       reader->epoch, reader->n, (unsigned long long)reader->epochs);
	exit(1);
}

static const void *
copy_of(const struct reader *reader, uint32_t which)
{
	return ledger_at(reader->ledger, reader->ledger->layout.cores[which & 1]);
}

/* True if what counts of our core is the same in this copy. */
static bool
is_same(const struct reader *reader, const void *copy)
{
	const struct core_used used = core_used(reader->core);
	const char *ours = (const char *)reader->core, *other = copy;

	return memcmp(ours, other, used.first) == 0 &&
	       memcmp(ours + used.later_at, other + used.later_at, used.later) == 0;
}

/* ---- our core ---------------------------------------------------------------------- */

static void
take_actions(struct reader *reader)
{
	for (uint32_t i = 0; i < reader->list.n; i++) {
		const struct action *action = &reader->list.at[i];

		if (action->kind == ACTION_REPORT)
			fprintf(reader->out, "%s %u %u %u\n",
			        report_names[action->report], action->ref.slot,
			        action->incarnation, action->generation);
	}
	reader->actions += reader->list.n;
	reader->list.n = 0;
}

/* What our core was not given yet. */
static void
replay(struct reader *reader)
{
	for (; reader->given < reader->n; reader->given++) {
		const struct journal_entry *entry = &reader->entries[reader->given];
		bool more = entry->kind == JOURNAL_SETTLE;

		if (!more)
			core_post(reader->core, entry->now_ms, &entry->event,
			          &reader->list);
		take_actions(reader);
		while (more) {
			more = core_settle(reader->core, entry->now_ms, &reader->list);
			take_actions(reader);
		}
	}
}

/* ---- reading ----------------------------------------------------------------------- */

/* The i-th entry, if it is one of this epoch. */
static bool
take_entry(struct reader *reader, uint32_t i)
{
	const struct journal_entry *from =
	    (const struct journal_entry *)ledger_at(reader->ledger,
	                                            reader->ledger->layout.journal) +
	    i;
	struct journal_entry *to = &reader->entries[i];

	if (i >= reader->ledger->header->journal)
		return false;
	memcpy(to, from, sizeof(*to));
	return to->sum == sum_fold(sum_bytes(to, offsetof(struct journal_entry, sum),
	                                     (uint64_t)reader->epoch << 32 | i));
}

/* Until nothing more of this epoch is there.  What was overwritten was taken before. */
static void
take_entries(struct reader *reader)
{
	while (take_entry(reader, reader->n))
		reader->n++;
}

/* There is a new checkpoint: is it what our core is? */
static void
turn_the_page(struct reader *reader, uint32_t epoch)
{
	take_entries(reader);
	replay(reader);
	if (epoch != reader->epoch + 1)
		fail(reader, "a checkpoint was missed");
	if (!is_same(reader, copy_of(reader, epoch)) &&
	    ledger_epoch(reader->ledger) == epoch)
		fail(reader, "the same events give another core");
	reader->total += reader->n;
	reader->epochs++;
	reader->epoch = epoch;
	reader->n = 0;
	reader->given = 0;
	reader->actions = 0;
}

static void
look(struct reader *reader)
{
	uint32_t epoch = ledger_epoch(reader->ledger);

	if (epoch != reader->epoch)
		turn_the_page(reader, epoch);
	take_entries(reader);
	replay(reader);
}

/* Everything is quiet: nothing is committed while we look. */
static bool
is_the_same(struct reader *reader)
{
	const uint32_t epoch = ledger_epoch(reader->ledger);
	const uint32_t n = ledger_entries(reader->ledger);

	look(reader);
	return reader->n == n && is_same(reader, copy_of(reader, ~reader->epoch)) &&
	       reader->actions == ledger_performed(reader->ledger) &&
	       epoch == ledger_epoch(reader->ledger) &&
	       n == ledger_entries(reader->ledger);
}

/* From the first checkpoint on; its slots are told in start order. */
static void
begin(struct reader *reader, const char *path)
{
	struct err err = {0};
	struct ref root;

	reader->ledger = ledger_open(open(path, O_RDWR | O_CLOEXEC), &err);
	if (reader->ledger == NULL) {
		printf("wrong: %s: %s\n", path, err.text);
		exit(1);
	}
	reader->core_bytes = (size_t)reader->ledger->header->core_bytes;
	reader->core = malloc(reader->core_bytes);
	reader->entries =
	    calloc(reader->ledger->header->journal, sizeof(*reader->entries));
	if (reader->core == NULL || reader->entries == NULL)
		abort();
	reader->epoch = ledger_epoch(reader->ledger);
	memcpy(reader->core, copy_of(reader, reader->epoch), reader->core_bytes);
	if (ledger_epoch(reader->ledger) != reader->epoch)
		fail(reader, "it goes too fast");
	root = core_ref(reader->core, CORE_ROOT);
	printf("slots");
	for (struct ref at = core_next(reader->core, root, root);
	     core_valid(reader->core, at); at = core_next(reader->core, root, at))
		printf(" %u", at.slot);
	printf("\n");
}

int
main(int argc, char **argv)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	uint32_t patience = PATIENCE;

	if (argc != 3 || reader == NULL)
		return 64;
	setvbuf(stdout, NULL, _IOLBF, 0);
	reader->out = fopen(argv[2], "we");
	if (reader->out == NULL)
		return 71;
	begin(reader, argv[1]);
	while (poll(&input, 1, POLL_MS) == 0)
		look(reader);
	while (!is_the_same(reader)) {
		if (patience-- == 0)
			fail(reader,
			     "in the end the cores, or the numbers of actions, differ");
		(void)poll(NULL, 0, POLL_MS);
	}
	if (fclose(reader->out) != 0)
		return 71;
	printf("%llu epochs %llu entries\n", (unsigned long long)reader->epochs,
	       (unsigned long long)(reader->total + reader->n));
	ledger_free(reader->ledger);
	free(reader->core);
	free(reader->entries);
	free(reader);
	return 0;
}
