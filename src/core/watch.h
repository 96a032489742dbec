/* SPDX-License-Identifier: ISC */
/* watch.h - what waits for an actor: commands until it is as they want it, actors that
 * watch it (private to core/; the types are those of node.h).
 */
#ifndef CORE_WATCH_H
#define CORE_WATCH_H

#include "core/core.h"

struct node;
struct turn;
struct watch;

/* wait.c */
void wait_init(struct core *core);
void wait_move(struct core *core, const struct core *old);
void wait_add(struct turn *turn, struct node *node, uint64_t token,
              enum wait_for wait_for, bool command);
void wait_remove(struct core *core, uint64_t token);
void wait_state_changed(struct core *core, struct node *node);
void wait_failed(struct core *core, struct node *node, const struct cause *cause);
void wait_terminated(struct core *core, struct node *node);
void wait_node_freed(struct core *core, struct node *node);
bool wait_flush(struct turn *turn);

/* watch.c */
void watch_init(struct core *core);
void watch_named(struct core *core, struct node *node);
struct node *watch_find_named(const struct core *core, uint64_t name);
bool watch_is_coming(const struct core *core, const struct node *node);
void watch_move(struct core *core, const struct core *old);
void watch_take_spec(struct core *core, struct node *node, const struct watch_spec *specs,
                     uint32_t n);
void watch_begun(struct core *core, struct node *node);
void watch_revoke(struct core *core, struct node *node);
void watch_restore(struct core *core, struct node *node);
void watch_ended(struct core *core, struct node *node, bool was_started);
void watch_node_freed(struct core *core, struct node *node);
void watch_register(struct core *core, struct node *node);
void watch_run_begun(struct core *core, struct watch *watch);
void watch_run_ended(struct core *core, struct watch *watch);
void watch_was_told(struct core *core, struct watch *watch);
void watch_state_changed(struct core *core, struct node *node);
void watch_look_early(struct core *core);
const char *watch_check(const struct core *core);

#endif
