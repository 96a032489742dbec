/* SPDX-License-Identifier: ISC */
/* test_death.c - thousands of writers on one ledger, each killed at some moment.
 *
 * The state is a core that is nothing but a chain of events.  Each writer opens the
 * ledger, restores, replays, looks at everything, and goes on; a page that is shared says
 * how far it has come.
 */
#include "config.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/sum.h"
#include "tests/ledger/suites.h"

#define KILLS       3000
#define DELAY_US    400
#define STATUS_SLOT 1

/* What was begun, and what was done for certain: numbers of events. */
struct progress {
	_Atomic uint32_t begun;
	_Atomic uint32_t appended;
	_Atomic uint32_t performed;
	_Atomic uint32_t recorded;
	_Atomic uint32_t named;
};

/* Filled to the brim: a core that is torn has parts of different ages. */
struct chain {
	uint32_t n;
	uint32_t unused;
	uint64_t links[(CORE_BYTES - 8) / 8];
};

static uint64_t
link_after(uint64_t link, uint32_t n)
{
	return sum_bytes(&link, sizeof(link), n);
}

static void
chain_step(struct chain *chain, const struct event *event)
{
	uint64_t link = link_after(chain->links[0], event->life);

	chain->n++;
	for (size_t i = 0; i < sizeof(chain->links) / sizeof(chain->links[0]); i++)
		chain->links[i] = link;
}

static bool
chain_is_whole(const struct chain *chain)
{
	for (size_t i = 0; i < sizeof(chain->links) / sizeof(chain->links[0]); i++)
		if (chain->links[i] != chain->links[0])
			return false;
	return true;
}

/* The core as it was left: checkpoint and journal. */
static const char *
catch_up(struct ledger *ledger)
{
	struct chain *chain;

	if (ledger_restore(ledger) != 0)
		return "the checkpoint is gone";
	chain = ledger_core(ledger);
	if (!chain_is_whole(chain))
		return "the checkpoint is torn";
	for (uint32_t i = 0; i < ledger_entries(ledger); i++) {
		const struct journal_entry *entry = ledger_entry(ledger, i);

		if (entry->tag != chain->n + 1 || !event_is(&entry->event, chain->n + 1))
			return "an entry is wrong";
		chain_step(chain, &entry->event);
	}
	return NULL;
}

/* The newest number up to n that is about this slot, 0: none. */
static uint32_t
newest_for(uint32_t slot, uint32_t n)
{
	uint32_t back = (n - slot) % SLOTS;

	return back < n ? n - back : 0;
}

static const char *
look_at_records(const struct ledger *ledger, const struct progress *progress)
{
	uint32_t sure = progress->recorded;
	struct ledger_record record;

	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		uint32_t old = newest_for(slot, sure);
		uint32_t young = newest_for(slot, progress->begun);
		int r = ledger_read(ledger, slot, &record);

		if (r < 0 ? old != 0
		          : !record_is(&record, old) && !record_is(&record, young))
			return "a record is neither the old one nor the new one";
	}
	return NULL;
}

static const char *
name_of(uint32_t n, char ret[32])
{
	snprintf(ret, 32, "/user/%u", n % (LEDGER_PAST_MAX + 9));
	return ret;
}

/* Everything that is in it; NULL: all is well. */
static const char *
look(struct ledger *ledger, const struct progress *progress)
{
	const char *wrong = catch_up(ledger);
	const struct chain *chain = ledger_core(ledger);
	const char *status = ledger_status(ledger, STATUS_SLOT);
	struct ledger_facts facts;
	char name[32];
	uint32_t done;

	if (wrong == NULL)
		wrong = look_at_records(ledger, progress);
	if (wrong != NULL)
		return wrong;
	if (chain->n != progress->appended && chain->n != progress->begun)
		return "an event is missing or was never given";
	done = chain->n - ledger_entries(ledger) + ledger_performed(ledger);
	if (done < progress->performed || done > progress->begun)
		return "the number of actions is wrong";
	if (progress->recorded > 0 &&
	    (ledger_facts(ledger, &facts) < 0 || facts.secret[0] < progress->recorded ||
	     facts.secret[0] > progress->begun || facts.conf_id != facts.secret[0]))
		return "the facts are wrong";
	if (status[0] != '\0' && strncmp(status + 1, " of the text", 12) != 0)
		return "the text is torn";
	if (progress->named > 0 &&
	    ledger_past(ledger, name_of(progress->named, name)) != progress->named)
		return "a name is forgotten";
	return NULL;
}

static void
go_on(struct ledger *ledger, struct progress *progress)
{
	struct chain *chain = ledger_core(ledger);
	const uint32_t n = chain->n + 1;
	const struct event event = event_of(n);
	const struct ledger_record record = record_of(n % SLOTS, n);
	const struct ledger_facts facts = {.secret = {n}, .conf_id = n};
	char text[64];

	atomic_store(&progress->begun, n);
	append_entry(ledger, JOURNAL_POST, n, &event, n);
	atomic_store(&progress->appended, n);
	chain_step(chain, &event);
	ledger_set_performed(ledger, ledger_entries(ledger));
	atomic_store(&progress->performed, n);
	ledger_write(ledger, n % SLOTS, &record);
	ledger_set_facts(ledger, &facts);
	atomic_store(&progress->recorded, n);
	snprintf(text, sizeof(text), "%c of the text of %u", 'a' + n % 26, n);
	ledger_set_status(ledger, STATUS_SLOT, text);
	ledger_set_past(ledger, name_of(n, text), n);
	atomic_store(&progress->named, n);
	if (!ledger_has_room(ledger, 1))
		ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
}

/* The writer before may have died between its append and its record. */
static void
make_up(struct ledger *ledger)
{
	const struct chain *chain = ledger_core(ledger);
	const uint32_t n = chain->n;
	const struct ledger_record record = record_of(n % SLOTS, n);
	const struct ledger_facts facts = {.secret = {n}, .conf_id = n};

	if (n > 0) {
		ledger_write(ledger, n % SLOTS, &record);
		ledger_set_facts(ledger, &facts);
	}
	ledger_set_performed(ledger, ledger_entries(ledger));
	if (!ledger_has_room(ledger, 1))
		ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
}

static void
write_for_ever(const struct ledger *old, struct progress *progress)
{
	struct ledger *ledger = open_again(old);
	const char *wrong = look(ledger, progress);

	if (wrong != NULL)
		_exit(1);
	make_up(ledger);
	for (;;)
		go_on(ledger, progress);
}

static void
kill_one(const struct ledger *ledger, struct progress *progress, struct rng *rng)
{
	const struct timespec delay = {
	    .tv_nsec = (long)rng_below(rng, (uint64_t)DELAY_US * 1000)};
	uint32_t begun = progress->begun;
	int status;
	pid_t pid = fork();

	/* A process that may be killed at any moment tells the frame of the tests
	 * nothing. */
	if (pid == 0)
		write_for_ever(ledger, progress);
	ck_assert_int_gt(pid, 0);
	/* Now and then one dies before it comes to anything. */
	while (rng_below(rng, 4) != 0 && progress->begun == begun &&
	       waitpid(pid, NULL, WNOHANG | WNOWAIT) == 0)
		continue;
	(void)nanosleep(&delay, NULL);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	              "a successor ended with status %x", status);
}

START_TEST(nothing_is_torn_or_lost_by_thousands_of_deaths)
{
	struct ledger *ledger = new_ledger();
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
	                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rng rng;

	ck_assert_ptr_ne(progress, MAP_FAILED);
	rng_seed(&rng, 20);
	for (int i = 0; i < KILLS; i++) {
		uint32_t sure = progress->appended;
		struct ledger *again;
		const char *wrong;

		kill_one(ledger, progress, &rng);
		again = open_again(ledger);
		wrong = look(again, progress);
		ck_assert_msg(wrong == NULL, "death %d: %s", i, wrong);
		ck_assert_uint_ge(((struct chain *)ledger_core(again))->n, sure);
		ledger_free(again);
	}
	/* Deep into the ring of names. */
	ck_assert_uint_gt(progress->appended, LEDGER_PAST_MAX * 2);
	ck_assert_int_eq(munmap(progress, sizeof(*progress)), 0);
	ledger_free(ledger);
}
END_TEST

Suite *
death_suite(void)
{
	Suite *suite = suite_create("death");
	TCase *tcase = tcase_create("death");

	tcase_set_timeout(tcase, 300);
	tcase_set_tags(tcase, "deaths");
	tcase_add_test(tcase, nothing_is_torn_or_lost_by_thousands_of_deaths);
	suite_add_tcase(suite, tcase);
	return suite;
}
