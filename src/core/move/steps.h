/* SPDX-License-Identifier: ISC */
/* steps.h - inside the decision room: the steps of a start, of a stop, and of the
 * sequences of children.  Only the files that move may include this
 * (tests/lint/layers.sh).
 */
#ifndef CORE_STEPS_H
#define CORE_STEPS_H

#include "core/decide/motion.h"

/* reconcile.c */
bool reconcile_run(struct turn *turn);

/* hooks.c */
bool hooks_run(struct turn *turn, struct node *node, enum hook hook);
void hooks_kill(struct turn *turn, struct node *node);
void hooks_due(struct turn *turn, struct node *node);
void hooks_ended(struct turn *turn, struct node *node);

/* hook_events.c */
void hooks_done(struct turn *turn, struct node *node, const struct event *event);

/* up.c */
void up_start(struct turn *turn, struct node *node);

/* down.c */
void down_step(struct turn *turn, struct node *node);
void down_settle(struct turn *turn, struct node *node);
void down_terminated(struct turn *turn, struct node *node);
void down_kill(struct turn *turn, struct node *node);
void down_overdue(struct turn *turn, struct node *node);
void down_spawned(struct turn *turn, struct node *node);
void down_stop_sent(struct turn *turn, struct node *node);

/* children.c */
void children_close(struct node *supervisor);
void children_open(struct turn *turn, struct node *supervisor);
void children_stop(struct turn *turn, struct node *supervisor);
void children_advance(struct turn *turn, struct node *supervisor);

/* node_process.c */
void process_order(struct turn *turn, struct node *node);
void process_found(struct node *node, uint32_t life);
void process_runs(struct node *node);
void process_ended(struct node *node, bool is_gone);
void process_lost(struct node *node);
void process_killed(struct node *node, enum process_kill how);
void process_survives(struct node *node);
void process_survives_no_more(struct node *node);

/* process_events.c */
void process_spawned(struct turn *turn, struct node *node);
void process_spawn_failed(struct turn *turn, struct node *node,
                          const struct event *event);
void process_told_ready(struct turn *turn, struct node *node);
void process_exited(struct turn *turn, struct node *node, const struct event *event);
void process_gone(struct turn *turn, struct node *node);

/* unkillable.c */
void unkillable_left(struct turn *turn, struct node *node, const struct event *event);
void unkillable_found(struct turn *turn, struct node *node);
void unkillable_leave(struct turn *turn, struct node *node);
void unkillable_hold(struct turn *turn, struct node *node);
void unkillable_gone(struct turn *turn, struct node *node);

#endif
