/* SPDX-License-Identifier: ISC */
/* motion.h - inside the decision room: what a decision may ask of the files that move.
 *
 * Strategies mark, reconcile moves: a node that is queued is moved one step towards its
 * goal when its turn comes.  Whatever must be seen in the order of its decision, as the
 * stop of a failed actor, begins at once.
 */
#ifndef CORE_MOTION_H
#define CORE_MOTION_H

#include "core/tree/turn.h"

/* up.c */
void up_step(struct turn *turn, struct node *node);

/* down.c */
void down_bring(struct turn *turn, struct node *node);
void down_wait_turn(struct core *core, struct node *node);
void down_come_back(struct turn *turn, struct node *node);
enum node_state down_pending_state(const struct core *core, const struct node *node);

/* children.c */
bool children_are_down(const struct node *supervisor);
void children_group_due(struct turn *turn, struct node *supervisor);

#endif
