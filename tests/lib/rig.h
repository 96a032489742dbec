/* SPDX-License-Identifier: ISC */
/* rig.h - a core on the bench: its memory, its turns, and all that came out of them.
 *
 * For tests only.  Running out of memory ends the program.  A rig grows its core by
 * itself when an actor is added; `moves` counts how often it changed its address.
 */
#ifndef TESTS_LIB_RIG_H
#define TESTS_LIB_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

struct rig {
	struct core *core;
	struct core_size size;
	uint64_t now_ms;
	uint32_t moves;
	struct action_list list;
	struct action *log; /* every action since rig_forget() */
	size_t n_log;
	size_t cap_log;
	size_t answered;    /* how much of the log rig_runs() has answered */
	const char *fault;  /* the first complaint of core_check(), or of the rig */
	uint32_t limit_max; /* the largest limit of any supervisor so far */
	bool unchecked;     /* do not call core_check(), nor rig_wrong_goal() */
};

void rig_init(struct rig *rig, uint32_t nodes, uint64_t seed);
void rig_done(struct rig *rig);
struct ref rig_user(struct rig *rig, const struct spec *spec);
struct ref rig_add(struct rig *rig, struct ref parent, struct ref before,
                   const struct spec *spec);
void rig_make_room(struct rig *rig, uint32_t nodes, uint32_t bytes);
void rig_make_watches(struct rig *rig, uint32_t watches);
void rig_make_room_for(struct rig *rig, const struct addition *addition);
void rig_update(struct rig *rig, struct ref ref, const struct spec *spec);
void rig_move(struct rig *rig);
void rig_forget(struct rig *rig);
void rig_post(struct rig *rig, const struct event *event);
void rig_settle(struct rig *rig);
void rig_turn(struct rig *rig, const struct event *event);
void rig_tick(struct rig *rig);
bool rig_advance(struct rig *rig, uint64_t to_ms);

void rig_event(struct rig *rig, enum event_kind kind, struct ref ref);
void rig_spawned(struct rig *rig, struct ref ref);
void rig_spawn_fails(struct rig *rig, struct ref ref, int error);
void rig_exits(struct rig *rig, struct ref ref, int code);
void rig_dies(struct rig *rig, struct ref ref, int signo, bool core);
void rig_runs(struct rig *rig);
void rig_hurry(struct rig *rig, struct ref ref);

struct node_view rig_view(const struct rig *rig, struct ref ref);
size_t rig_count(const struct rig *rig, enum action_kind kind, struct ref ref);
const struct action *rig_last(const struct rig *rig, enum action_kind kind,
                              struct ref ref);
const struct action *rig_report(const struct rig *rig, enum report report,
                                struct ref ref);
const char *rig_wrong_goal(const struct rig *rig);
bool ref_equal(struct ref a, struct ref b);

#endif
