/* SPDX-License-Identifier: ISC */
/* exhaust.h - small trees, and what is kept while all that can happen to them is tried.
 */
#ifndef TESTS_SIM_EXHAUST_H
#define TESTS_SIM_EXHAUST_H

#include "tests/sim/sim.h"

#define LENGTH_MAX  8
#define NODES_MAX   8 /* slots of a tree, "/" and /user included */
#define PENDING_MAX 24
#define GRANTS_MAX  32 /* remembered of each supervisor */
#define CALM_TURNS  400
#define CALM_MS     UINT64_C(100000)

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

struct branch {
	struct event pending[PENDING_MAX];
	uint32_t n_pending;
	bool breaks; /* the next start fails */
	bool stale;  /* the timer has nothing to do with what was asked */
	uint64_t token;
};

/* All that a letter changes. */
struct saved {
	struct branch branch;
	struct witness witness;
	uint64_t grants[NODES_MAX][GRANTS_MAX];
	struct core_size size;
	uint64_t now_ms;
	uint32_t n_ops;
	uint32_t limit_max;
	void *core;
	size_t bytes;
};

struct explorer {
	struct run run;
	struct branch branch;
	struct saved saved[LENGTH_MAX + 1];
	bool slow;
	uint32_t length;
	struct seen *seen;
	uint64_t states;
	uint64_t inputs;
	uint32_t spare; /* spec of who is added */
};

/* exhaust.c: the world */
bool explorer_happen(struct explorer *explorer, uint32_t i);
void explorer_give(struct explorer *explorer, const struct event *event);
void explorer_tick(struct explorer *explorer);
void explorer_expect(struct explorer *explorer, struct event event);
void explorer_settle(struct explorer *explorer);
void explorer_answer_all(struct explorer *explorer);

/* exhaust_letters.c */
bool explorer_play(struct explorer *explorer, enum letter letter, uint32_t whom);
bool explorer_timer(struct explorer *explorer);

/* exhaust_trees.c */
struct shape {
	const char *text;
	uint32_t actors;
	uint32_t supervisor; /* which of them, or none */
	uint32_t fewer;      /* so many letters less than the smallest trees */
};

uint32_t trees_count(void);
const struct shape *trees_shape(uint32_t tree);
enum strategy trees_strategy(uint32_t tree);
bool trees_are_slow(uint32_t tree);
void trees_plant(struct explorer *explorer, uint32_t tree);

#endif
