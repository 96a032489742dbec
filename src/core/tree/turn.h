/* SPDX-License-Identifier: ISC */
/* turn.h - inside the decision room: what every part of a turn needs, the actions that it
 * appends, the tree, its deadlines and the queue of nodes to be looked at.
 */
#ifndef CORE_TURN_H
#define CORE_TURN_H

#include "core/tree/node.h"

/* A turn: the context of every move. */
struct turn {
	struct core *core;
	uint64_t now_ms;
	struct action_list *out;
};

/* turn.c */
extern const struct cause unkillable_cause;
struct action *turn_act(struct turn *turn, enum action_kind kind,
                        const struct node *node);
struct action *turn_report(struct turn *turn, enum report report,
                           const struct node *node);
void turn_exit(struct turn *turn);
bool turn_has_room(const struct turn *turn);

/* walk.c */
struct node *node_find(const struct core *core, struct ref ref);
struct node *node_lookup(const struct core *core, struct ref ref);
struct node *node_next(const struct core *core, const struct node *top,
                       const struct node *node);
bool node_takes_starts(const struct core *core, const struct node *node);
bool node_is_doomed(const struct core *core, const struct node *node);
bool node_revives(const struct node *member);
bool node_is_final(const struct node *node);
bool node_has_unkillable(const struct core *core, const struct node *top);

/* node_queue.c */
void queue_node(struct core *core, struct node *node);
void queue_parent(struct core *core, const struct node *node);
struct node *queue_take(struct core *core);

/* Let the children be stopped from the last on, or started from the first on. */
static inline void
children_begin(struct core *core, struct node *supervisor, enum operation op)
{
	children_of(supervisor)->op = op;
	children_of(supervisor)->cursor =
	    op == OP_STOP ? supervisor->links.last : supervisor->links.first;
	queue_node(core, supervisor);
}

/* part.c */
void part_join(struct core *core, struct node *child);
void part_leave(struct core *core, struct node *child);
void part_line_up(struct core *core, struct node *child, bool is_sequenced);
void part_pass(struct core *core, struct node *child);

/* run.c */
void run_begins(struct node *node);
void run_created(struct node *node);
void run_cleaned(struct node *node);
void run_ready(struct node *node);
void run_not_ready(struct node *node);
void run_forget_ready(struct node *node);
void run_exits(struct node *node, bool by_itself);
void run_terminated(struct node *node);
void run_renew(struct node *node);

/* pool.c */
uint64_t *pool_stamps(const struct core *core, const struct window *window);
void pool_copy(struct core *core, const void *source, uint64_t bytes, uint32_t *ret_at);
const struct rule *pool_rules(const struct core *core, uint32_t at);
bool pool_has_spec(struct node *node, const struct spec *spec);
void pool_drop_spec(struct core *core, struct node *node);
void pool_take_children(struct core *core, struct node *node, enum node_kind kind,
                        const struct node_children *children);
void pool_take_rules(struct core *core, struct node *node, const struct spec *spec);
uint32_t pool_limit_stamps(const struct node *parent);
void pool_resize(struct core *core, struct window *window, const uint64_t *old,
                 uint32_t cap);
void pool_move(struct core *core, struct node *node, const struct core *old);

/* deadline.c */
void deadline_arm(struct core *core, struct node *node, enum node_timer timer,
                  uint64_t now_ms, uint64_t delay_ms);
void deadline_clear(struct core *core, struct node *node, enum node_timer timer);
void deadline_extend(struct core *core, struct node *node, enum node_timer timer,
                     uint64_t now_ms, uint64_t delay_ms);
void deadline_look(struct core *core, struct node *node, uint64_t now_ms);
uint64_t deadline_due(const struct core *core, const struct node *node,
                      enum node_timer timer);
bool deadline_next(struct core *core, uint64_t now_ms, uint32_t *ret_slot,
                   enum node_timer *ret_timer);

#endif
