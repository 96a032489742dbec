/* SPDX-License-Identifier: ISC */
/* test_replay.c - a core that dies with its guardian, again and again, and one that
 * lives.
 *
 * The simulator makes up what happens.  Once it is given to a core in plain memory; then
 * to one in a ledger, by writers that are killed at some moment, each going on from
 * checkpoint and journal.  In the end both cores are the same, byte for byte, and so is
 * what the world was asked to do.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/ledger/suites.h"
#include "tests/sim/sim.h"

#define SEEDS        200
#define ENTRIES      24
#define DELAY_US     500
#define ACTIONS_MAX  40000
#define POOL_BYTES   131072
#define POOL_RESERVE 32768

/* Behind the core, in the same block. */
struct trailer {
	uint32_t next_op; /* that the checkpoint has not seen */
	uint32_t actions; /* that were performed before it */
};

/* The acts that the world was asked for. Outlives every process of the test. */
struct deeds {
	_Atomic uint32_t n;
	_Atomic uint32_t doubled;
	struct action at[ACTIONS_MAX];
};

struct stage {
	const struct tape *tape;
	struct ledger *ledger; /* NULL: plain memory */
	struct core *core;
	struct trailer *trailer;
	struct deeds *deeds;
	uint32_t seen;      /* actions since the checkpoint */
	uint32_t performed; /* the number of them by earlier processes */
	struct action_list list;
};

static const struct core_size core_room_needed = {
    .nodes = SIM_NODES_MAX,
    .pool_bytes = POOL_BYTES,
    .waiters = 16,
    .watches = SIM_NODES_MAX * SIM_WATCHES,
};

static size_t
block_bytes(void)
{
	return core_bytes(&core_room_needed) + sizeof(struct trailer);
}

static void
set_block(struct stage *stage, void *block)
{
	stage->core = block;
	stage->trailer =
	    (struct trailer *)((char *)block + core_bytes(&core_room_needed));
}

/* Do the same thing again, if at all, directly after death: it may be the last only. */
static void
do_deed(struct stage *stage, uint32_t i, const struct action *action)
{
	struct deeds *deeds = stage->deeds;

	if (i >= ACTIONS_MAX)
		_exit(3);
	if (i < deeds->n) {
		if (i + 1 != deeds->n ||
		    memcmp(&deeds->at[i], action, sizeof(*action)) != 0)
			_exit(4);
		deeds->doubled++;
		return;
	}
	if (i != deeds->n)
		_exit(5);
	deeds->at[i] = *action;
	atomic_store(&deeds->n, i + 1);
}

static void
perform(struct stage *stage)
{
	for (uint32_t i = 0; i < stage->list.n; i++) {
		if (stage->seen++ < stage->performed)
			continue;
		do_deed(stage, stage->trailer->actions + stage->seen - 1,
		        &stage->list.at[i]);
		if (stage->ledger != NULL)
			ledger_set_performed(stage->ledger, stage->seen);
	}
	stage->list.n = 0;
}

/* Give it to the core; the journal knows of it. */
static void
give(struct stage *stage, bool settle, uint64_t now_ms, const struct event *event)
{
	bool more = settle;

	if (!settle)
		core_post(stage->core, now_ms, event, &stage->list);
	perform(stage);
	while (more) {
		more = core_settle(stage->core, now_ms, &stage->list);
		perform(stage);
	}
}

/* An addition comes with specifications, which are in the vault and in no journal. */
static void
add(struct stage *stage, const struct op *op)
{
	struct spec named[SIM_ADDED];
	struct addition addition = {.n = op->n_added};
	struct event event = op->event;

	for (uint32_t i = 0; i < op->n_added; i++) {
		named[i] = stage->tape->specs[op->added[i].spec].spec;
		named[i].name = op->added[i].name;
		addition.at[i].spec = &named[i];
		addition.at[i].parent = op->added[i].parent;
	}
	event.addition = &addition;
	give(stage, false, op->now_ms, &event);
}

/* What a reload does, which no journal has; false: it does not fit in here. */
static bool
reload(struct stage *stage, const struct op *op)
{
	struct spec spec = stage->tape->specs[op->spec].spec;
	struct core_size room;

	core_room(stage->core, &room);
	if (room.nodes == 0 || room.pool_bytes < POOL_RESERVE ||
	    room.watches < SIM_WATCHES)
		return false;
	spec.name = op->name;
	switch (op->kind) {
	case OP_ADD:
		(void)core_add(stage->core, op->ref, op->before, &spec, op->now_ms);
		break;
	case OP_UPDATE:
		core_update(stage->core, op->ref, &spec, op->now_ms);
		break;
	case OP_REMOVE:
		core_remove(stage->core, op->ref, op->now_ms);
		break;
	case OP_BOUNCE:
		core_restart(stage->core, op->ref, op->now_ms);
		break;
	case OP_PLACE:
		core_place_before(stage->core, op->ref, op->before);
		break;
	case OP_RESTORE:
		core_restore(stage->core, op->ref, op->now_ms);
		break;
	case OP_POST:
		add(stage, op);
		break;
	case OP_SETTLE:
	case OP_MOVE:
		break;
	}
	return true;
}

static bool
is_journaled(const struct op *op)
{
	return op->kind == OP_SETTLE ||
	       (op->kind == OP_POST && op->event.kind != EVENT_ADD);
}

/* All the first `next_op` inputs were given: the state is this from now on. */
static void
checkpoint(struct stage *stage, uint32_t next_op)
{
	stage->trailer->next_op = next_op;
	stage->trailer->actions += stage->seen;
	stage->seen = 0;
	stage->performed = 0;
	ledger_checkpoint(stage->ledger, &(struct core_used){.first = block_bytes()});
	set_block(stage, ledger_core(stage->ledger));
}

/* Become what the one before was; the next input's number. */
static uint32_t
catch_up(struct stage *stage)
{
	uint32_t n = ledger_entries(stage->ledger);

	if (ledger_restore(stage->ledger) != 0)
		_exit(6);
	set_block(stage, ledger_core(stage->ledger));
	stage->performed = ledger_performed(stage->ledger);
	for (uint32_t i = 0; i < n; i++) {
		const struct journal_entry *entry = ledger_entry(stage->ledger, i);

		give(stage, entry->kind == JOURNAL_SETTLE, entry->now_ms, &entry->event);
	}
	return stage->trailer->next_op + n;
}

/* A guardian: until all is done, or death. */
static void
guard(struct stage *stage, const struct ledger *old)
{
	int fd = dup(ledger_fd(old));
	struct err err;
	uint32_t next;

	/* Without a message to the frame of the tests: a process killed in the midst of a
	 * message leaves half of it. */
	stage->ledger = fd < 0 ? NULL : ledger_open(fd, &err);
	if (stage->ledger == NULL)
		_exit(7);
	next = catch_up(stage);
	while (next < stage->tape->n_ops) {
		const struct op *op = &stage->tape->ops[next];
		bool settle = op->kind == OP_SETTLE;

		if (is_journaled(op)) {
			if (!ledger_has_room(stage->ledger, 1))
				checkpoint(stage, next);
			append_entry(stage->ledger,
			             settle ? JOURNAL_SETTLE : JOURNAL_POST, op->now_ms,
			             settle ? NULL : &op->event, next);
			give(stage, settle, op->now_ms, &op->event);
		} else {
			(void)reload(stage, op);
			checkpoint(stage, next + 1);
		}
		next++;
	}
	_exit(0);
}

/*
 * True: the process came to the end. Its successors live longer after many deaths, or the
 * replay alone would take a whole life.
 */
static bool
guard_and_die(struct stage *stage, const struct ledger *ledger, struct rng *rng,
              uint32_t deaths)
{
	const uint64_t patience = UINT64_C(1) << (deaths / 8 < 9 ? deaths / 8 : 9);
	const uint64_t ns = rng_below(rng, (uint64_t)DELAY_US * 1000 * patience);
	const struct timespec delay = {
	    .tv_sec = (time_t)(ns / 1000000000),
	    .tv_nsec = (long)(ns % 1000000000),
	};
	int status;
	pid_t pid = fork();

	if (pid == 0)
		guard(stage, ledger);
	(void)nanosleep(&delay, NULL);
	/* The frame of the tests is told of each ck_assert, and is not made for as many
	 * as there are deaths. */
	if (pid < 0 || kill(pid, SIGKILL) != 0 || waitpid(pid, &status, 0) != pid)
		ck_abort_msg("fork, kill or wait: %s", strerror(errno));
	if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : status != 0)
		ck_abort_msg("seed %llu: status %x",
		             (unsigned long long)stage->tape->seed, status);
	return !WIFSIGNALED(status);
}

/* The life of a core to which nothing happens; the tape ends where it is full. */
static void
live_undisturbed(struct stage *stage, struct tape *tape)
{
	for (uint32_t i = 0; i < tape->n_ops; i++) {
		const struct op *op = &tape->ops[i];

		if (is_journaled(op))
			give(stage, op->kind == OP_SETTLE, op->now_ms, &op->event);
		else if (!reload(stage, op))
			tape->n_ops = i;
	}
}

static void *
shared_memory(size_t bytes)
{
	void *memory =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	return memory;
}

static void
make_up(struct tape *tape, uint64_t seed)
{
	struct run *run = malloc(sizeof(*run));

	ck_assert_ptr_nonnull(run);
	tape->seed = seed;
	run_begin(run, tape, false);
	world_play(run);
	run_end(run);
	free(run);
	ck_assert_str_eq(tape->wrong, "");
}

static struct ledger *
ledger_with_core(uint64_t seed)
{
	const struct ledger_size size = {.slots = 1,
	                                 .journal = ENTRIES,
	                                 .core_bytes = block_bytes(),
	                                 .events_bytes = 1};
	struct err err;
	struct ledger *ledger = ledger_new(&size, &err);

	ck_assert_ptr_nonnull(ledger);
	(void)core_init(ledger_core(ledger), &core_room_needed, seed);
	ledger_checkpoint(ledger, &(struct core_used){.first = block_bytes()});
	return ledger;
}

/* How often somebody died. */
static uint32_t
compare(struct tape *tape, struct deeds *deeds, struct deeds *want, struct rng *rng)
{
	struct ledger *ledger = ledger_with_core(tape->seed);
	struct stage plain = {.tape = tape, .deeds = want};
	struct stage stage = {.tape = tape, .deeds = deeds};
	void *block = calloc(1, block_bytes());
	uint32_t deaths = 0;

	ck_assert_ptr_nonnull(block);
	set_block(&plain, block);
	(void)core_init(block, &core_room_needed, tape->seed);
	live_undisturbed(&plain, tape);
	while (!guard_and_die(&stage, ledger, rng, deaths))
		deaths++;

	stage.ledger = open_again(ledger);
	ck_assert_uint_eq(catch_up(&stage), tape->n_ops);
	ck_assert_uint_eq(deeds->n, want->n);
	ck_assert_int_eq(memcmp(deeds->at, want->at, want->n * sizeof(want->at[0])), 0);
	const struct core_used used = core_used(plain.core);
	ck_assert_mem_eq(stage.core, plain.core, used.first);
	ck_assert_mem_eq((char *)stage.core + used.later_at,
	                 (char *)plain.core + used.later_at, used.later);
	ck_assert_ptr_null(core_check(stage.core));
	ck_assert_uint_le(deeds->doubled, deaths);
	ledger_free(stage.ledger);
	ledger_free(ledger);
	free(block);
	return deaths;
}

START_TEST(a_core_that_died_at_any_moment_is_the_one_that_did_not)
{
	struct tape *tape = shared_memory(sizeof(*tape));
	struct deeds *deeds = shared_memory(sizeof(*deeds));
	struct deeds *want = shared_memory(sizeof(*want));
	uint32_t deaths = 0;
	uint32_t actions = 0;
	struct rng rng;

	rng_seed(&rng, 3);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		make_up(tape, seed);
		deeds->n = want->n = 0;
		deeds->doubled = 0;
		deaths += compare(tape, deeds, want, &rng);
		actions += want->n;
	}
	ck_assert_uint_gt(deaths, SEEDS);
	ck_assert_uint_gt(actions, SEEDS * 10);
	ck_assert_int_eq(munmap(tape, sizeof(*tape)), 0);
	ck_assert_int_eq(munmap(deeds, sizeof(*deeds)), 0);
	ck_assert_int_eq(munmap(want, sizeof(*want)), 0);
}
END_TEST

Suite *
replay_suite(void)
{
	Suite *suite = suite_create("replay");
	TCase *tcase = tcase_create("replay");

	tcase_set_timeout(tcase, 300);
	tcase_set_tags(tcase, "deaths");
	tcase_add_test(tcase, a_core_that_died_at_any_moment_is_the_one_that_did_not);
	suite_add_tcase(suite, tcase);
	return suite;
}
