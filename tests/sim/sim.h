/* SPDX-License-Identifier: ISC */
/* sim.h - the simulator: random trees in a world that misbehaves, watched from outside.
 *
 * A run is a list of inputs (struct op).  They are made up while the run goes on (gen.c,
 * world.c), and can be given again, to the same or to a shortened list (replay.c,
 * shrink.c).  The witness (witness*.c) sees inputs and actions only, keeps its own idea
 * of what is alive and wanted, and knows the invariants by their numbers.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "core/core.h"
#include "tests/lib/rig.h"
#include "tests/sim/tape.h"
#include "tests/sim/witness.h"

/* ---- a run ------------------------------------------------------------------------ */

#define RUN_WORK_MAX 1024

struct run {
	struct tape *tape;
	struct rig rig;
	struct witness witness;
	bool replaying; /* what is given is on the tape already */
	bool open;      /* a turn is under way */
	uint32_t turns;
	struct action work[RUN_WORK_MAX]; /* what the world has to do */
	uint32_t n_work;
};

void run_begin(struct run *run, struct tape *tape, bool replaying);
void run_end(struct run *run);
bool run_op(struct run *run, const struct op *op);
bool run_event(struct run *run, const struct event *event);
bool run_settle(struct run *run);
bool run_name_is_free(const struct run *run, uint64_t name);
uint32_t run_spec_number(const struct run *run, const struct spec *spec);
void run_replay(struct tape *tape, const struct op *ops, uint32_t n_ops);

/* gen.c */
bool one_in(struct rng *rng, uint64_t n);
enum node_kind gen_kind(struct rng *rng);
uint32_t gen_spec(struct tape *tape, struct rng *rng, enum node_kind kind, bool clean);
uint64_t gen_name(const struct run *run, struct rng *rng);
void gen_tree(struct run *run, struct rng *rng, bool clean);

/* world.c, stimulus.c: the world, and what people do to it. */
#define WORLD_QUEUE_MAX 4096

struct inhabitant {
	struct ref ref;
	uint32_t life; /* of the present process, 0: none */
	bool up;       /* its start was acknowledged */
	bool main_dead;
	bool told; /* to stop, or killed */
	bool frozen;
	bool paused;
};

struct hook_at_work {
	struct ref ref;
	uint32_t serial; /* 0: none */
};

struct happening {
	uint64_t at_ms;
	struct event event;
	bool spontaneous; /* does not happen in a calm world */
};

struct world {
	struct run *run;
	struct rng rng;
	bool clean; /* no commands, no reloads */
	bool calm;
	bool undying; /* not every process dies of SIGKILL … */
	struct rng
	    deaths; /* … from separate random numbers: so old seeds keep their meaning */
	uint64_t fail_one_in;  /* spawns */
	uint64_t crash_one_in; /* processes end by themselves */
	struct inhabitant who[SIM_NODES_MAX];
	struct hook_at_work hooks[SIM_NODES_MAX];
	struct hook_at_work commands[SIM_NODES_MAX]; /* of watches */
	struct happening queue[WORLD_QUEUE_MAX];
	uint32_t n_queue;
	uint64_t next_command_ms;
	uint64_t commotions; /* of the witness, some turns ago */
	bool in_a_cycle;
	uint64_t last_token;
	uint64_t last_stamp;
	uint64_t last_addition;
};

/* world_act.c: what the core asks for. */
struct event world_event(const struct inhabitant *who, enum event_kind kind);
struct event world_some_end(struct world *world, const struct inhabitant *who);
const struct spec *world_spec(const struct world *world, const struct inhabitant *who);
void world_perform(struct world *world);

void world_play(struct run *run);
void world_expect(struct world *world, uint64_t in_ms, const struct event *event,
                  bool spontaneous);
void world_left(struct world *world);
void world_living(struct world *world, const struct inhabitant *who,
                  const struct spec *spec);
void world_probe(struct world *world, const struct action *action);
bool world_says(struct world *world, struct inhabitant *who, const struct event *event);
void stimulus_same(struct world *world);
void stimulus_command(struct world *world);
void stimulus_resume_all(struct world *world);
void stimulus_reload(struct world *world);
void stimulus_noise(struct world *world);

/* digest.c: states that are the same. */
struct seen;
uint64_t digest(const struct core *core);
uint64_t digest_event(uint64_t hash, const struct core *core, const struct event *event);
struct seen *seen_new(void);
void seen_free(struct seen *seen);
bool seen_enter(struct seen *seen, uint64_t hash, uint32_t letters);

/* shrink.c */
void shrink(struct tape *tape);
void op_print(const struct op *op, uint64_t start_ms);
void action_print(const struct action *action);

#endif
