/* SPDX-License-Identifier: ISC */
/* exhaust.c - every sequence of so many inputs, on small trees, under the eyes of the
 * witness.
 *
 * exhaust [LENGTH [TREE]]
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
#define LETTER_MAP(X)                                       \
	X(LETTER_NORMAL, "normal")                          \
	X(LETTER_ABNORMAL, "abnormal")                      \
	X(LETTER_LEFTOVER, "leftover")                      \
	X(LETTER_STOP, "stop")                              \
	X(LETTER_HOLD, "hold")                              \
	X(LETTER_START, "start")                            \
	X(LETTER_RESTART, "restart")                        \
	X(LETTER_DELETE, "delete")                          \
	X(LETTER_KILL, "kill")                              \
	X(LETTER_PAIR, "pair")                              \
	X(LETTER_ADD, "add")                                \
	X(LETTER_BREAK, "exec failure")                     \
	X(LETTER_NEXT, "what is asked")                     \
	X(LETTER_SECOND, "what is asked, the second first") \
	X(LETTER_TIMER, "timer")
enum letter { LETTER_MAP(AS_ENUM) LETTER_MAX };

#define LETTER_WHOM LETTER_PAIR /* those before are for each actor */

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

static void
expect(struct explorer *explorer, struct event event)
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
		expect(explorer, event);
	}
	run->n_work = 0;
}

static void
give(struct explorer *explorer, const struct event *event)
{
	explorer->inputs++;
	(void)run_event(&explorer->run, event);
}

static void
settle(struct explorer *explorer)
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
static bool
happen(struct explorer *explorer, uint32_t i)
{
	struct branch *branch = &explorer->branch;
	struct event event = branch->pending[i];

	branch->n_pending--;
	memmove(&branch->pending[i], &branch->pending[i + 1],
	        (branch->n_pending - i) * sizeof(event));
	if (!comes_true(explorer, &event))
		return false;
	give(explorer, &event);
	settle(explorer);
	if (event.kind == EVENT_SPAWNED &&
	    explorer->run.witness.nodes[event.ref.slot].spec->start.ready == READY_TOLD) {
		event.kind = EVENT_READY;
		expect(explorer, event);
	}
	return true;
}

static bool
timer_is_due(const struct explorer *explorer)
{
	return core_deadline(explorer->run.rig.core) <= explorer->run.rig.now_ms;
}

static void
tick(struct explorer *explorer)
{
	const struct event event = {.kind = EVENT_TICK, .ref = REF_NONE};

	give(explorer, &event);
	settle(explorer);
}

/* Until nothing more is asked for at this instant. */
static void
answer_all(struct explorer *explorer)
{
	for (uint32_t n = 0; !is_over(explorer); n++) {
		if (explorer->branch.n_pending > 0)
			(void)happen(explorer, 0);
		else if (timer_is_due(explorer))
			tick(explorer);
		else
			return;
		if (n > CALM_TURNS)
			witness_blame(&explorer->run.witness, "I35 no rest");
	}
}

/* ---- letters ----------------------------------------------------------------------- */

static bool
end(struct explorer *explorer, const struct witnessed *node, int code, bool gone)
{
	struct event event = {
	    .kind = EVENT_EXITED, .ref = node->ref, .code = code, .gone = gone};

	if (!node->process.there || !node->process.spawned || node->process.main_dead)
		return false;
	event.life = node->process.life;
	give(explorer, &event);
	if (!gone) {
		event.kind = EVENT_GONE;
		expect(explorer, event);
	}
	return true;
}

/* The first two that live die together. */
static bool
pair(struct explorer *explorer)
{
	const struct witnessed *two[2];
	uint32_t n = 0;

	for (uint32_t i = CORE_USER + 1; i < NODES_MAX && n < 2; i++) {
		const struct witnessed *node = &explorer->run.witness.nodes[i];

		if (node->used && node->process.there && node->process.spawned &&
		    !node->process.main_dead)
			two[n++] = node;
	}
	if (n < 2)
		return false;
	if (core_compare_order(explorer->run.rig.core, two[0]->ref, two[1]->ref) > 0) {
		const struct witnessed *swap = two[0];

		two[0] = two[1];
		two[1] = swap;
	}
	return end(explorer, two[0], 1, true) && end(explorer, two[1], 1, true);
}

static bool
command(struct explorer *explorer, const struct witnessed *node, enum event_kind kind,
        bool hold)
{
	const struct event event = {.kind = kind,
	                            .ref = node->ref,
	                            .hold = hold,
	                            .token = ++explorer->branch.token};
	struct node_view view;

	if (!core_valid(explorer->run.rig.core, node->ref))
		return false;
	view = rig_view(&explorer->run.rig, node->ref);
	if (kind == EVENT_START && view.state == STATE_RUNNING)
		return false;
	if (kind == EVENT_KILL && view.state != STATE_RUNNING &&
	    view.state != STATE_STARTING)
		return false;
	give(explorer, &event);
	return true;
}

static bool
change(struct explorer *explorer, enum op_kind kind, struct ref ref)
{
	const struct op op = {.kind = kind,
	                      .now_ms = explorer->run.rig.now_ms,
	                      .ref = ref,
	                      .before = REF_NONE,
	                      .spec = explorer->spare};
	struct core_size room;

	core_room(explorer->run.rig.core, &room);
	if (kind == OP_ADD && explorer->run.rig.size.nodes - room.nodes >= NODES_MAX - 1)
		return false;
	return run_op(&explorer->run, &op);
}

static bool
for_whom(struct explorer *explorer, enum letter letter, const struct witnessed *node)
{
	if (!node->used || !core_valid(explorer->run.rig.core, node->ref))
		return false;
	switch (letter) {
	case LETTER_NORMAL:
		return end(explorer, node, 0, true);
	case LETTER_ABNORMAL:
		return end(explorer, node, 1, true);
	case LETTER_LEFTOVER:
		return explorer->slow && end(explorer, node, 1, false);
	case LETTER_STOP:
	case LETTER_HOLD:
		return command(explorer, node, EVENT_STOP, letter == LETTER_HOLD);
	case LETTER_START:
		return command(explorer, node, EVENT_START, false);
	case LETTER_RESTART:
		return command(explorer, node, EVENT_RESTART, false);
	case LETTER_DELETE:
		return change(explorer, OP_REMOVE, node->ref);
	case LETTER_KILL:
		return command(explorer, node, EVENT_KILL, false);
	case LETTER_PAIR:
	case LETTER_ADD:
	case LETTER_BREAK:
	case LETTER_NEXT:
	case LETTER_SECOND:
	case LETTER_TIMER:
	case LETTER_MAX:
		break;
	}
	return false;
}

/* The clock goes to the next timer, as far as an actor could wait. */
static bool
timer(struct explorer *explorer)
{
	uint64_t due_ms = core_deadline(explorer->run.rig.core);

	if (due_ms == DURATION_INFINITE)
		return false;
	if (due_ms > explorer->run.rig.now_ms)
		explorer->run.rig.now_ms = due_ms;
	tick(explorer);
	return true;
}

/* Carry out a letter; false: the letter means nothing in this state. */
static bool
play(struct explorer *explorer, enum letter letter, uint32_t whom)
{
	struct branch *branch = &explorer->branch;

	switch (letter) {
	case LETTER_PAIR:
		if (!pair(explorer))
			return false;
		break;
	case LETTER_ADD:
		if (!change(explorer, OP_ADD,
		            core_ref(explorer->run.rig.core, CORE_USER)))
			return false;
		break;
	case LETTER_BREAK:
		if (branch->breaks)
			return false;
		branch->breaks = true;
		return true;
	case LETTER_NEXT:
		return branch->n_pending > 0 && happen(explorer, 0);
	case LETTER_SECOND:
		return branch->n_pending > 1 && happen(explorer, 1);
	case LETTER_TIMER:
		if (!timer(explorer))
			return false;
		break;
	case LETTER_NORMAL:
	case LETTER_ABNORMAL:
	case LETTER_LEFTOVER:
	case LETTER_STOP:
	case LETTER_HOLD:
	case LETTER_START:
	case LETTER_RESTART:
	case LETTER_DELETE:
	case LETTER_KILL:
	case LETTER_MAX:
		if (!for_whom(explorer, letter, &explorer->run.witness.nodes[whom]))
			return false;
		break;
	}
	settle(explorer);
	if (!explorer->slow)
		answer_all(explorer);
	return true;
}

/* ---- back and forth ---------------------------------------------------------------- */

static void
save(struct explorer *explorer, struct saved *saved)
{
	struct run *run = &explorer->run;
	size_t bytes = core_snapshot_bytes(run->rig.core);

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

	if (core_snapshot_bytes(run->rig.core) != saved->bytes) {
		free(run->rig.core);
		run->rig.core = malloc(saved->bytes);
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
	answer_all(explorer);
	for (uint32_t n = 0; !is_over(explorer); n++) {
		uint64_t due_ms = core_deadline(run->rig.core);

		if (due_ms == DURATION_INFINITE)
			break;
		if (due_ms > end_ms || n > CALM_TURNS)
			witness_blame(&run->witness,
			              "I35 a calm world never comes to rest");
		(void)timer(explorer);
		answer_all(explorer);
	}
	if (is_over(explorer))
		return;
	witness_calm(&run->witness);
	give(explorer, &shutdown);
	settle(explorer);
	answer_all(explorer);
	if (is_fine(explorer) && !run->witness.exited)
		witness_blame(&run->witness, "I35 a shutdown that never ends");
}

static bool
go_on(struct explorer *explorer, enum letter letter, uint32_t whom, struct saved *saved)
{
	bool played = play(explorer, letter, whom);

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

	give(explorer, &boot);
	settle(explorer);
	answer_all(explorer);
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
	uint32_t length = argc > 1 ? (uint32_t)atoi(argv[1]) : LENGTH;
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
