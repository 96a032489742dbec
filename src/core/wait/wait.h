/* SPDX-License-Identifier: ISC */
/* wait.h - inside the decision room: commands, needs and watches that wait for an actor,
 * and its entry into a state.
 */
#ifndef CORE_WAIT_H
#define CORE_WAIT_H

#include "core/tree/turn.h"

/* How far a watch has come with the present incarnation of its watcher. */
enum watch_state {
	WATCH_IDLE,  /* nothing to tell: the watcher is down, or was told already */
	WATCH_NEW,   /* to be registered: is the target alive? */
	WATCH_ARMED, /* the end of the target will be told */
	WATCH_DUE,   /* it ended; the watcher has not been told yet */
	/* the target is below the watcher, which has stopped its children */
	WATCH_REVOKED,
};

/* What a watcher is told of an end. */
struct telling {
	struct ref ended;
	uint32_t incarnation; /* 0: nobody has that path */
	bool confirmed, child_failed;
	struct cause cause;
};

struct watch {
	uint64_t name;               /* stands for the path of the target */
	uint32_t watcher;            /* NONE: not in use */
	uint32_t next;               /* of the same watcher; or of those not in use */
	uint32_t target;             /* NONE: nobody has that path */
	uint32_t next_for, prev_for; /* others for the same target */
	uint32_t next_named;         /* the next watch with its name in the same bucket */
	uint32_t index;
	enum reaction reaction;
	int32_t signal;
	enum watch_state state;
	bool early;  /* armed, though the target has not begun yet: it may never */
	bool unseen; /* revoked before the target had begun */

	/* WATCH_DUE */
	uint64_t order; /* the lower the earlier */
	struct telling due;

	/* the command of REACTION_RUN that is under way, and what it is about */
	uint32_t run_serial; /* 0: none */
	struct telling run;
};

/* The bucket of a name. */
static inline struct names *
names_of(const struct core *core, uint64_t name)
{
	return (struct names *)core_block(core, core->at.names) + name % core->size.nodes;
}

/* A watch that is known to exist. */
static inline struct watch *
watch_in(const struct core *core, uint32_t i)
{
	return (struct watch *)core_block(core, core->at.watches) + i;
}

/* NULL for NONE. */
static inline struct watch *
watch_at(const struct core *core, uint32_t i)
{
	return i == NONE ? NULL : watch_in(core, i);
}

/* node_state.c */
void state_set(struct core *core, struct node *node, enum node_state state);
void state_count_failed(struct core *core, const struct node *node, int change);

/* wait.c */
void wait_init(struct core *core);
void wait_move(struct core *core, const struct core *old);
bool wait_is_full(const struct core *core);
void wait_add(struct turn *turn, struct node *node, uint64_t token,
              enum wait_for wait_for, bool command);
void wait_remove(struct core *core, uint64_t token);
void wait_state_changed(struct core *core, struct node *node);
void wait_failed(struct core *core, struct node *node, const struct cause *cause);
void wait_terminated(struct core *core, struct node *node);
void wait_node_freed(struct core *core, struct node *node);
bool wait_flush(struct turn *turn);

/* gate.c */
void gate_named(struct core *core, struct node *node);
void gate_take_spec(struct core *core, struct node *node, const struct need_spec *needs);
void gate_move(struct core *core);
void gate_move_needs(struct core *core, struct node *node, const struct core *old);
bool gate_admits(struct core *core, struct node *node);
bool gate_is_next(const struct core *core, const struct node *node);
void gate_leave(struct core *core, struct node *node);
void gate_stand_by(struct node *node);
void gate_end_standby(struct node *node);
void gate_state_changed(struct core *core, const struct node *node);
void gate_node_freed(struct core *core, struct node *node);
const struct node *gate_needed(const struct core *core, const struct node *node,
                               bool *ret_absent);
uint64_t gate_unmet(const struct core *core, const struct node *node);
const char *gate_check(const struct core *core);

/* watch_list.c */
uint32_t watch_index(const struct core *core, const struct watch *watch);
void watch_init(struct core *core);
void watch_named(struct core *core, struct node *node);
struct node *watch_find_named(const struct core *core, uint64_t name);
void watch_move(struct core *core, const struct core *old);
void watch_take_spec(struct core *core, struct node *node, const struct watch_spec *specs,
                     uint32_t n);
void watch_node_freed(struct core *core, struct node *node);

/* watch.c */
void watch_look(struct core *core, struct node *watcher);
void watch_set_state(struct core *core, struct watch *watch, enum watch_state state);
void watch_arm(struct core *core, struct watch *watch);
void watch_fall_due(struct core *core, struct watch *watch, bool confirmed);
bool watch_is_coming(const struct core *core, const struct node *node);
void watch_begun(struct core *core, struct node *node);
void watch_revoke(struct core *core, struct node *node);
void watch_restore(struct core *core, struct node *node);
void watch_ended(struct core *core, struct node *node, bool was_started);
void watch_register(struct core *core, struct node *node);
void watch_run_begun(struct core *core, struct watch *watch);
void watch_run_ended(struct core *core, struct watch *watch);
void watch_was_told(struct core *core, struct watch *watch);
void watch_state_changed(struct core *core, struct node *node);
void watch_look_early(struct core *core);
const char *watch_check(const struct core *core);

#endif
