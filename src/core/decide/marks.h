/* SPDX-License-Identifier: ISC */
/* marks.h - inside the decision room: the files that decide.  They read the tree, change
 * goals and marks, and ask for moves through motion.h.
 */
#ifndef CORE_MARKS_H
#define CORE_MARKS_H

#include "core/decide/pace.h"
#include "core/tree/turn.h"
#include "core/wait/wait.h"

/* command.c */
void command_reply(struct turn *turn, const struct event *event,
                   enum reply_result result);
void command_want_down(struct turn *turn, struct node *node);
void command_start(struct turn *turn, struct node *node, const struct event *event);
void command_stop(struct turn *turn, struct node *node, const struct event *event);
void command_restart(struct turn *turn, struct node *node, const struct event *event);
void command_reset(struct turn *turn, struct node *top, const struct event *event);
void command_kill(struct turn *turn, struct node *node, const struct event *event);
void command_suspend(struct turn *turn, struct node *node, const struct event *event);
void command_resume(struct turn *turn, struct node *node, const struct event *event);
void command_wait(struct turn *turn, struct node *node, const struct event *event);

/* decider.c */
struct decision {
	enum directive directive;
	enum rule_log log;
	enum preset preset;
	struct place place;
	enum decision_reason reason;
	uint32_t backoff_keys;
	struct backoff_spec backoff;
};

static inline void
decision_set(struct decision *decision, enum directive directive,
             enum decision_reason reason)
{
	decision->directive = directive;
	decision->reason = reason;
}

bool cause_is_init(const struct cause *cause);
bool cause_is_shortage(const struct cause *cause);
void decider_decide(const struct core *core, const struct node *node,
                    const struct cause *cause, struct decision *ret);
bool decider_names(const struct core *core, const struct node *node, int32_t error);

/* failure.c */
void failure_handle(struct turn *turn, struct node *node, const struct cause *cause,
                    struct node *origin);
void failure_normal_end(struct turn *turn, struct node *node);
void failure_give_up(struct turn *turn, struct node *supervisor);
void failure_unkillable(struct turn *turn, struct node *node, const struct cause *cause);
void failure_escalate(struct turn *turn, struct node *supervisor,
                      const struct cause *cause, struct node *origin,
                      const struct decision *decision);

/* carry_out.c */
void carry_out(struct turn *turn, struct node *node, struct node *origin,
               const struct cause *cause, const struct decision *decision);
void carry_out_stop(struct turn *turn, struct node *node,
                    const struct decision *decision);
void carry_out_give_up(struct turn *turn, struct node *supervisor, struct node *offender,
                       struct node *origin);
void carry_out_in_stop(struct turn *turn, struct node *node, struct node *origin,
                       const struct cause *cause);
void carry_out_fail_start(struct turn *turn, struct node *supervisor, struct node *child,
                          struct node *origin, const struct cause *cause);

/* failure_report.c */
bool failure_was_start(const struct node *supervisor);
bool failure_is_moot(const struct turn *turn, const struct node *node);
bool failure_concerns_one(const struct decision *decision);
struct node *failure_began_at(const struct core *core, struct node *origin);
struct action *failure_report(struct turn *turn, struct node *node, struct node *origin,
                              const struct cause *cause, const struct decision *decision);
void failure_remember(struct turn *turn, struct node *node, struct node *origin,
                      const struct cause *cause, const struct decision *decision);
void failure_inherit(struct node *supervisor, const struct node *child);
void failure_brings_down(struct node *node);
void failure_is_over(struct node *node);
void failure_report_escalated(struct turn *turn, const struct node *supervisor,
                              struct node *origin, const struct cause *cause,
                              const struct decision *decision);

/* strategy.c */
void strategy_restart(struct turn *turn, struct node *node, uint64_t delay_ms);
void strategy_stop(struct turn *turn, struct node *node);
bool strategy_joins(const struct core *core, const struct node *node);
void strategy_leave(struct core *core, struct node *node);
void strategy_number(struct core *core, struct node *parent, const struct node *newcomer);
bool strategy_in_scope(const struct core *core, const struct node *child,
                       const struct node *sibling);

/* significant.c */
void significant_begins(struct node *node);
void significant_ended(struct turn *turn, struct node *child);
void significant_group_stopped(struct turn *turn, struct node *supervisor);
void significant_settled(struct turn *turn, struct node *top);
void significant_look(struct turn *turn);
int32_t significant_status(const struct core *core);

/* react.c */
struct cause react_cause(const struct event *event);
void react_advance(struct turn *turn, struct node *node);
void react_done(struct turn *turn, struct node *node, const struct event *event);

/* suspend.c */
uint32_t suspend_count(const struct core *core, const struct node *node);
bool suspend_add(struct core *core, struct node *node);
void suspend_take(struct core *core, struct node *node);
void suspend_clear(struct core *core, struct node *node);
void suspend_others(struct core *core, struct node *node);
void suspend_below(struct core *core, struct node *node);
void suspend_below_end(struct core *core, struct node *node);
void suspend_decided(struct core *core, struct node *node);
void suspend_updated(struct core *core, struct node *supervisor);
void suspend_apply(struct turn *turn, struct node *node);
void suspend_end(struct turn *turn, struct node *node);

/* dynamic.c */
void dynamic_add(struct turn *turn, struct node *supervisor, const struct event *event);
void dynamic_delete(struct turn *turn, struct node *node, const struct event *event);
void dynamic_remove(struct core *core, struct node *top);
void dynamic_show(struct core *core, struct node *top);
void dynamic_settled(struct turn *turn, struct node *node);
void dynamic_forget(struct core *core, struct node *supervisor);
struct node *dynamic_first(const struct core *core, const struct node *supervisor);

/* living.c */
void living_take_key(char ret[CAUSE_KEY_MAX], const struct event *event);
bool living_hears(struct node *node, const struct event *event);
void living_renew_watchdog(struct core *core, struct node *node);
void living_set_watchdog(struct core *core, struct node *node, uint64_t period_ms);
void living_extend(struct core *core, struct node *node, uint64_t period_ms);
void living_stand(struct core *core, struct node *node);
void living_continued(struct core *core, struct node *node);
void living_expire(struct node *node, bool is_expired);
void living_renewed(struct node *node);
void living_grant(struct turn *turn, struct node *node, uint64_t granted_ms);
void living_spawned(struct turn *turn, struct node *node);
void living_ready(struct core *core, struct node *node);
void living_resume(struct turn *turn, struct node *node, const struct cause *cause);
void living_ended(struct core *core, struct node *node);
void living_updated(struct core *core, struct node *node, const struct probe_spec *old);
struct cause living_unready(const struct node *node);
void living_frozen(struct core *core, struct node *node);
bool living_is_up(const struct node *node);
bool living_is_probed(const struct node *node);
void living_probe(struct turn *turn, struct node *node);
void living_arm_probe(struct core *core, struct node *node, enum probing probing);

/* living_failure.c */
void living_trigger_watchdog(struct turn *turn, struct node *node);
void living_self_report(struct turn *turn, struct node *node, const struct event *event);
void living_paused(struct turn *turn, struct node *node, const struct event *event);
void living_probed(struct turn *turn, struct node *node, const struct event *event);
void living_due(struct turn *turn, struct node *node, enum node_timer timer);

/* growth.c */
struct node *node_add(struct core *core, struct node *supervisor, struct node *before,
                      const struct spec *spec);
void node_join(struct core *core, struct node *supervisor, struct node *node);
void node_free(struct turn *turn, struct node *node);

/* blocker.c */
void blocker_look(struct turn *turn);
struct node *blocker_ended(const struct core *core, const struct node *node);

/* demand.c */
void demand_stand_by(struct turn *turn, struct node *node);
bool demand_waits(const struct node *node);
void demand_done(struct turn *turn, struct node *node);
void demand_begun(struct core *core, struct node *node);
void demand_over(struct turn *turn, struct node *node);
void demand_updated(struct core *core, struct node *node);

#endif
