/* SPDX-License-Identifier: ISC */
/* tape.h - the inputs of a run, which can be given again. */
#ifndef TESTS_SIM_TAPE_H
#define TESTS_SIM_TAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"

#define SIM_NODES_MAX  48 /* slots of a tree */
#define SIM_SPECS_MAX  256
#define SIM_RULES_MAX  4
#define SIM_OPS_MAX    60000
#define SIM_DEPTH_MAX  6 /* "/" is 0 */
#define SIM_STAMPS_MAX 4096
#define SIM_TOKENS_MAX 1024
#define SIM_WRONG_MAX  240
#define SIM_BARRIERS   64
#define SIM_WATCHES    3 /* of one actor */
#define SIM_NEEDS      2
#define SIM_NAMES      20 /* an actor has one of these, or none */
#define SIM_ADDED      3  /* come at most with one EVENT_ADD */
#define UNDYING_ONE_IN 5  /* runs have processes that SIGKILL does not end */
#define LEFT_ONE_IN    7  /* runs begin with processes that a dead supd has left */
/* In runs with this remainder the actors that run once stay listed: none of `seeds`. */
#define NEVER_ONE_IN 26
#define NEVER_REST   4
/* In runs with this remainder some actors are named by exit_code_from: of `seeds` only
 * those that were found so. */
#define EXIT_ONE_IN 31
#define EXIT_REST   28

enum op_kind {
	OP_POST,   /* an event, within a turn */
	OP_SETTLE, /* end of the turn */
	OP_ADD,
	OP_UPDATE,
	OP_REMOVE,
	OP_BOUNCE,
	OP_PLACE,
	OP_RESTORE, /* a deleted actor of the file */
	OP_MOVE,    /* the core goes to other memory */
};

/* The actor of an EVENT_ADD. */
struct newcomer {
	uint32_t spec;
	uint32_t parent; /* index of an earlier one */
	uint64_t name;
};

struct op {
	enum op_kind kind;
	uint64_t now_ms;
	struct event event;
	struct ref ref;    /* whom: parent of ADD */
	struct ref before; /* ADD, PLACE */
	uint32_t spec;     /* ADD, UPDATE */
	uint64_t name;     /* of who is added; 0: none */
	struct newcomer added[SIM_ADDED];
	uint32_t n_added;
};

struct sim_spec {
	struct spec spec;
	struct rule decider[SIM_RULES_MAX];
	struct rule on_failure[SIM_RULES_MAX];
	struct watch_spec watches[SIM_WATCHES];
	struct need_spec needs[SIM_NEEDS];
};

/* Everything that a run was given, and what came of it.  Shared with the parent process,
 * which looks at it when the run's process has died.
 */
struct tape {
	uint64_t seed;
	struct op ops[SIM_OPS_MAX];
	uint32_t n_ops;
	struct sim_spec specs[SIM_SPECS_MAX];
	uint32_t n_specs;
	uint64_t hash; /* of all actions */
	char wrong[SIM_WRONG_MAX];
	bool verbose; /* print inputs and actions */
};

#endif
