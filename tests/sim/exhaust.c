/* SPDX-License-Identifier: ISC */
/* exhaust.c - every sequence of so many inputs, on small trees, under the eyes of the
 * witness.
 *
 * exhaust [LENGTH [TREE]], or SIM_LETTERS=LENGTH exhaust
 *
 * A state that was there before with as many letters to come is not gone into again.  A
 * tree is two or three actors below /user; the larger ones get a letter less.  In a
 * prompt world whatever the core asks for happens before the next letter; in a slow one
 * it is a letter of its own, which may go wrong.  After each sequence the world gets
 * calm, and supd is shut down.
 */
#include "config.h"

#include "tests/sim/exhaust.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"

#define LENGTH 4 /* of `make check` */
/* ---- the world --------------------------------------------------------------------- */

static bool
is_fine(const struct explorer *explorer)
{
	return explorer->run.witness.wrong[0] == '\0';
}

static bool
is_over(const struct explorer *explorer)
{
	return !is_fine(explorer) || explorer->run.witness.exited;
}

void
explorer_expect(struct explorer *explorer, struct event event)
{
	struct branch *branch = &explorer->branch;

	if (branch->n_pending == PENDING_MAX)
		witness_blame(&explorer->run.witness, "(exhaust) too much is asked");
	else
		branch->pending[branch->n_pending++] = event;
}

/* What the core asked for will happen. */
static void
take_work(struct explorer *explorer)
{
	struct run *run = &explorer->run;

	for (uint32_t i = 0; i < run->n_work; i++) {
		const struct action *action = &run->work[i];
		struct event event = {
		    .ref = action->ref, .life = action->life, .code = -1, .gone = true};

		if (action->kind == ACTION_PROBE || action->kind == ACTION_CONTINUE)
			continue;
		if (action->kind == ACTION_SPAWN) {
			event.kind = EVENT_SPAWNED;
			if (explorer->branch.breaks) {
				event.kind = EVENT_SPAWN_FAILED;
				event.error = ENOENT;
				explorer->branch.breaks = false;
			}
		} else if (run->witness.nodes[action->ref.slot].process.main_dead) {
			event.kind = EVENT_GONE;
		} else {
			event.kind = EVENT_EXITED;
			event.signal = action->kind == ACTION_STOP ? SIGTERM : SIGKILL;
		}
		explorer_expect(explorer, event);
	}
	run->n_work = 0;
}

void
explorer_give(struct explorer *explorer, const struct event *event)
{
	explorer->inputs++;
	(void)run_event(&explorer->run, event);
}

void
explorer_settle(struct explorer *explorer)
{
	if (is_fine(explorer))
		(void)run_settle(&explorer->run);
	take_work(explorer);
}

/* Can that still happen? */
static bool
comes_true(const struct explorer *explorer, const struct event *event)
{
	const struct witnessed *node = &explorer->run.witness.nodes[event->ref.slot];
	const struct process *process = &node->process;

	if (!node->used || !process->there || process->life != event->life)
		return false;
	if (event->kind == EVENT_SPAWNED || event->kind == EVENT_SPAWN_FAILED)
		return !process->spawned;
	if (event->kind == EVENT_GONE)
		return process->main_dead;
	return process->spawned && !process->main_dead;
}

/* The i-th thing that was asked for happens, in a turn of its own. */
bool
explorer_happen(struct explorer *explorer, uint32_t i)
{
	struct branch *branch = &explorer->branch;
	struct event event = branch->pending[i];

	branch->n_pending--;
	memmove(&branch->pending[i], &branch->pending[i + 1],
	        (branch->n_pending - i) * sizeof(event));
	if (!comes_true(explorer, &event))
		return false;
	explorer_give(explorer, &event);
	explorer_settle(explorer);
	if (event.kind == EVENT_SPAWNED &&
	    explorer->run.witness.nodes[event.ref.slot].spec->start.ready == READY_TOLD) {
		event.kind = EVENT_READY;
		explorer_expect(explorer, event);
	}
	return true;
}

static bool
timer_is_due(const struct explorer *explorer)
{
	return core_deadline(explorer->run.rig.core) <= explorer->run.rig.now_ms;
}

void
explorer_tick(struct explorer *explorer)
{
	const struct event event = {.kind = EVENT_TICK, .ref = REF_NONE};

	explorer_give(explorer, &event);
	explorer_settle(explorer);
}

/* Until nothing more is asked for at this instant. */
void
explorer_answer_all(struct explorer *explorer)
{
	for (uint32_t n = 0; !is_over(explorer); n++) {
		if (explorer->branch.n_pending > 0)
			(void)explorer_happen(explorer, 0);
		else if (timer_is_due(explorer))
			explorer_tick(explorer);
		else
			return;
		if (n > CALM_TURNS)
			witness_blame(&explorer->run.witness, "I35 no rest");
	}
}

/* ---- back and forth ---------------------------------------------------------------- */

static void
save(struct explorer *explorer, struct saved *saved)
{
	struct run *run = &explorer->run;
	const struct core_used used = core_used(run->rig.core);
	const size_t bytes = used.later > 0 ? used.later_at + used.later : used.first;

	saved->branch = explorer->branch;
	saved->witness = run->witness;
	for (uint32_t i = 0; i < NODES_MAX; i++)
		memcpy(saved->grants[i], run->witness.nodes[i].grants,
		       sizeof(saved->grants[i]));
	saved->size = run->rig.size;
	saved->now_ms = run->rig.now_ms;
	saved->n_ops = run->tape->n_ops;
	saved->limit_max = run->rig.limit_max;
	if (saved->bytes < bytes) {
		free(saved->core);
		saved->core = malloc(bytes);
		if (saved->core == NULL)
			abort();
	}
	saved->bytes = bytes;
	memcpy(saved->core, run->rig.core, bytes);
}

static void
restore(struct explorer *explorer, const struct saved *saved)
{
	struct run *run = &explorer->run;

	if (core_bytes(&run->rig.size) != core_bytes(&saved->size)) {
		free(run->rig.core);
		run->rig.core = malloc(core_bytes(&saved->size));
		if (run->rig.core == NULL)
			abort();
	}
	memcpy(run->rig.core, saved->core, saved->bytes);
	explorer->branch = saved->branch;
	run->witness = saved->witness;
	for (uint32_t i = 0; i < NODES_MAX; i++)
		memcpy(run->witness.nodes[i].grants, saved->grants[i],
		       sizeof(saved->grants[i]));
	run->rig.size = saved->size;
	run->rig.now_ms = saved->now_ms;
	run->tape->n_ops = saved->n_ops;
	run->rig.limit_max = saved->limit_max;
	run->rig.fault = NULL;
	run->n_work = 0;
	rig_forget(&run->rig);
}

/* The world gets calm; then supd has to end. */
static void
epilogue(struct explorer *explorer)
{
	const struct event shutdown = {.kind = EVENT_SHUTDOWN, .ref = REF_NONE};
	struct run *run = &explorer->run;
	uint64_t end_ms = run->rig.now_ms + CALM_MS;

	explorer->branch.breaks = false;
	explorer_answer_all(explorer);
	for (uint32_t n = 0; !is_over(explorer); n++) {
		uint64_t due_ms = core_deadline(run->rig.core);

		if (due_ms == DURATION_INFINITE)
			break;
		if (due_ms > end_ms || n > CALM_TURNS)
			witness_blame(&run->witness,
			              "I35 a calm world never comes to rest");
		(void)explorer_timer(explorer);
		explorer_answer_all(explorer);
	}
	if (is_over(explorer))
		return;
	witness_calm(&run->witness);
	explorer_give(explorer, &shutdown);
	explorer_settle(explorer);
	explorer_answer_all(explorer);
	if (is_fine(explorer) && !run->witness.exited)
		witness_blame(&run->witness, "I35 a shutdown that never ends");
}

static bool
go_on(struct explorer *explorer, enum letter letter, uint32_t whom, struct saved *saved)
{
	bool played = explorer_play(explorer, letter, whom);

	if (!is_fine(explorer))
		return false;
	if (!played && explorer->run.tape->n_ops == saved->n_ops)
		explorer->branch = saved->branch;
	else if (!played)
		restore(explorer, saved);
	return played;
}

/* The state of the core, and of what will happen to it. */
static uint64_t
state_of(const struct explorer *explorer)
{
	const struct core *core = explorer->run.rig.core;
	const struct branch *branch = &explorer->branch;
	uint64_t hash = digest(core) + branch->breaks;

	for (uint32_t i = 0; i < branch->n_pending; i++)
		hash = digest_event(hash, core, &branch->pending[i]);
	return hash;
}

/*
 * A letter was played: go on from there?  Whatever is new comes to its end in a calm
 * world first.
 */
static bool
look(struct explorer *explorer, uint32_t depth)
{
	struct saved *saved = &explorer->saved[depth];
	const bool is_last = explorer->run.witness.exited || depth == explorer->length;

	if (!seen_enter(explorer->seen, state_of(explorer), explorer->length - depth))
		return false;
	explorer->states++;
	save(explorer, saved);
	epilogue(explorer);
	if (is_fine(explorer))
		restore(explorer, saved);
	return !is_last;
}

/* Every sequence of `length` letters from here on; iterative, a level a letter. */
static void
explore(struct explorer *explorer)
{
	uint32_t next[LENGTH_MAX + 1] = {0};
	uint32_t depth = 0;

	save(explorer, &explorer->saved[0]);
	while (is_fine(explorer)) {
		struct saved *saved = &explorer->saved[depth];
		enum letter letter = (enum letter)(next[depth] / NODES_MAX);
		uint32_t whom = next[depth] % NODES_MAX;

		if (letter == LETTER_MAX) {
			if (depth-- == 0)
				return;
			restore(explorer, &explorer->saved[depth]);
			continue;
		}
		next[depth]++;
		if (letter < LETTER_WHOM ? whom <= CORE_USER : whom != 0)
			continue;
		if (!go_on(explorer, letter, whom, saved))
			continue;
		if (look(explorer, depth + 1))
			next[++depth] = 0;
		else if (is_fine(explorer))
			restore(explorer, saved);
	}
}

static void
begin(struct explorer *explorer)
{
	const struct event boot = {.kind = EVENT_BOOT, .ref = REF_NONE};

	explorer_give(explorer, &boot);
	explorer_settle(explorer);
	explorer_answer_all(explorer);
}

/* All sequences on one tree, in a process of its own; how many, or 0: something is wrong.
 */
static uint64_t
explore_tree(struct tape *tape, uint32_t tree, uint32_t length, uint64_t *shared)
{
	int status;
	pid_t pid;

	*shared = 0;
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		struct explorer *explorer = calloc(1, sizeof(*explorer));

		if (explorer == NULL)
			abort();
		explorer->length = length;
		explorer->seen = seen_new();
		tape->seed = 1;
		run_begin(&explorer->run, tape, false);
		trees_plant(explorer, tree);
		begin(explorer);
		strcpy(tape->wrong, "died");
		explore(explorer);
		run_end(&explorer->run);
		*shared = explorer->states;
		_exit(tape->wrong[0] != '\0');
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? *shared : 0;
}

int
main(int argc, char **argv)
{
	const char *given = argc > 1 ? argv[1] : getenv("SIM_LETTERS");
	uint32_t length = given != NULL ? (uint32_t)atoi(given) : LENGTH;
	uint32_t from = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	uint32_t to = argc > 2 ? from + 1 : trees_count();
	struct tape *tape =
	    mmap(NULL, sizeof(*tape) + sizeof(uint64_t), PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int failed = 0;

	if (tape == MAP_FAILED || length < 2 || length > LENGTH_MAX || to > trees_count())
		abort();
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%u\n", to - from);
	for (uint32_t tree = from; tree < to; tree++) {
		uint32_t letters = length - trees_shape(tree)->fewer;
		uint64_t n = explore_tree(tape, tree, letters, (uint64_t *)(tape + 1));

		if (n == 0) {
			failed++;
			printf("# tree %u: %s\n", tree, tape->wrong);
			shrink(tape);
		}
		printf(
		    "%s %u - %s below %s in a %s world: %llu states within %u letters\n",
		    n != 0 ? "ok" : "not ok", tree - from + 1, trees_shape(tree)->text,
		    strategy_names[trees_strategy(tree)],
		    trees_are_slow(tree) ? "slow" : "prompt", (unsigned long long)n,
		    letters);
	}
	return failed == 0 ? 0 : 1;
}
