/* SPDX-License-Identifier: ISC */
/* pace.h - how often: delays, the floor below them, starts without room (private to
 * core/).
 *
 * Included by node.h, which has what is named here.
 */
#ifndef CORE_PACE_H
#define CORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct cause;
struct core;
struct decision;
struct node;
struct turn;

void pace_begun(struct turn *turn, struct node *node);
void pace_ended(const struct turn *turn, struct node *node, bool own);
uint64_t pace_delay_floor(const struct turn *turn, struct node *node);
uint64_t pace_delay(struct turn *turn, struct node *node,
                    const struct decision *decision);
void pace_reset(struct core *core, struct node *node);
void pace_forget(struct core *core, struct node *node);
void pace_renew(struct core *core, struct node *node);
bool pace_waits_for_room(struct turn *turn, struct node *node, const struct cause *cause);

#endif
