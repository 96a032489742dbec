/* SPDX-License-Identifier: ISC */
/* witness.h - the witness of a run: it sees inputs and actions only, keeps its own idea
 * of what is alive and wanted, and knows the invariants by their numbers.
 */
#ifndef TESTS_SIM_WITNESS_H
#define TESTS_SIM_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/rig.h"
#include "tests/sim/tape.h"

/* The newest process of an actor. */
struct process {
	uint32_t life;
	bool there;     /* asked for, and not gone */
	bool spawned;   /* acknowledged */
	bool main_dead; /* something else may be left */
	bool ready;
	bool stopped; /* STOP was sent */
	bool killed;
	bool frozen;
	uint64_t spawned_ms;
	uint64_t ready_ms;
	bool unkillable; /* that was told */
	bool left;       /* by a supd that died: it was killed before the boot */
	uint64_t stopped_ms;
	uint64_t killed_ms;
	uint64_t ended_ms;    /* of the main process */
	uint64_t extended_ms; /* it asked for time until then */
	uint64_t asked;       /* seq of the SPAWN */
	uint64_t asked_ms;
	uint32_t barrier; /* number of the group that wants it gone, 0: none */
};

/* One of its watches. */
struct watched {
	uint64_t name;
	uint64_t since; /* seq when it got it */
	uint64_t told;  /* seq when it was told last, */
	uint64_t end;   /* … and of which end; 0: of none that was seen */
	uint64_t own;   /* seq of an end that the watcher itself has brought about, */
	bool is_only;   /* … and all that were before are told */
};

/* What is known of the well-being of a process. */
struct wellbeing {
	uint64_t every_ms; /* the period of its watchdog, 0: none */
	uint64_t heard_ms; /* when that began anew */
	bool armed;
	bool stood;  /* its clocks may have stood since then */
	bool paused; /* stopped by somebody else */
	bool probing;
	uint32_t serial; /* of the newest probe */
	uint32_t bad, good;
	uint64_t sick;             /* seq of the probe that was one too many */
	uint64_t watchdog_expired; /* seq of the process's report of a hang */
	uint64_t stamp;            /* of the newest message */
	uint32_t kinds;            /* … and what was in it */
};

struct witnessed {
	bool used;
	struct ref ref;
	uint32_t parent; /* slot */
	const struct spec *spec;
	uint64_t name;
	bool spec_changed; /* since its newest process was asked for to stop */
	struct process process;
	struct wellbeing wellbeing;
	uint32_t life_max;
	uint64_t joined;  /* seq when it was added by a command, 0: it was not */
	uint64_t deleted; /* seq of the command */
	bool is_fresh;    /* … and was not ready yet */
	bool must_go;     /* … and failed before it was */

	/* seq of the last reason for … */
	uint64_t up;        /* … coming up (again) */
	uint64_t down;      /* … staying down */
	uint64_t told_down; /* … the same, by command or reload */
	uint64_t stop;      /* … being signalled */
	uint64_t hold;
	uint64_t own_stop;    /* … going down because of its own watch */
	uint64_t taken;       /* … staying down with its group, or by a death pact */
	uint64_t was_stopped; /* … seen as stopped */
	uint64_t kept_down;   /* … not being started with its supervisor */
	uint64_t started;     /* as a supervisor: seq of its newest start */
	uint64_t passed; /* seq when it last was ready or had ended: its turn is over */
	uint64_t
	    reached[NEED_MAX]; /* seq when the needs of others for it were last met */
	bool removing;
	bool may_be_stopped; /* for a reason from before */
	bool unsure;         /* should the actor run?  undecided */

	/* the hook under way, or the newest */
	struct {
		uint32_t serial; /* 0: none is */
		enum hook hook;
		bool killed;
		uint64_t asked; /* seq */
		uint64_t asked_ms;
	} hook;
	bool is_needed; /* it starts on demand, and may start */
	bool prepared;  /* a pre_start succeeded since the newest process */
	/* standing still */
	uint32_t suspends;        /* commands granted, less commands taken back */
	bool may_forget;          /* these may be forgotten: it was started, or ended */
	bool stands;              /* suspended was told, and not resumed */
	uint64_t stands_since_ms; /* since when */

	/* death watch: seq of … */
	uint64_t begun; /* … the beginning of this incarnation, 0: down */
	uint64_t ended; /* … the final end of the newest one */
	struct watched watches[SIM_WATCHES];
	uint32_t running; /* serial of the command of one of them, 0: none */
	bool may_run;     /* another watcher may: it may have lost that watch */
	uint32_t pacts;   /* so many ends it has to fail of, and did not yet */

	/* significance */
	bool exited_by_itself; /* its end is by itself */
	bool may_be_natural;
	bool may_go_on;          /* its failure may be told once more, one level up */
	uint64_t retired;        /* as a supervisor: seq when its work was done, */
	uint64_t may_be_retired; /* … or may have been before it went down anyway */

	/* the end of supd */
	int32_t last_status; /* of its newest process, as a shell has it */
	bool has_status;

	/* backoff */
	uint32_t failures;
	uint64_t due_ms;   /* no automatic start before */
	uint64_t due_up;   /* the `up` of its start */
	uint64_t delay_ms; /* begins anew whenever one of them is gone */
	bool counted_stop; /* a normal end that a backoff `on: stop` counts */
	bool renewed;      /* counters may have been forgotten */

	/* pace */
	uint32_t short_lives; /* in a row, at least */
	uint32_t no_room;     /* starts in a row that there was no room for */
	uint64_t paced;       /* seq of its end, or of such a start, … */
	uint64_t paced_ms;    /* … before which no automatic start comes */

	/* intensity, as a supervisor */
	uint64_t *grants; /* every automatic restart: time * 2, + 1 if it counts surely */
	uint32_t n_grants;
	uint32_t first_grant; /* those before were forgotten with an earlier life */
	bool intensity_changed;
	uint64_t gave_up;         /* seq, until that is decided */
	bool start_failed;        /* its start failed, until the decision, */
	struct ref failed_child;  /* … because of this child, */
	struct cause start_cause; /* … which failed with this cause */

	/* resumes of a dead process: a ring, and how many there were */
	uint64_t resumed_ms[5];
	uint32_t n_resumed;

	/* this turn */
	int owed;  /* failures that must be told */
	int maybe; /* so many more may be told */
	int told;
	enum node_state before; /* state before this input */
	uint64_t before_since_ms;
	uint64_t stopping; /* seq when it was first seen stopping, 0: it is not */
	bool is_stopping;  /* so it was told, without a stop or a start since */
};

struct witness {
	struct rig *rig;
	const struct tape *tape;
	struct witnessed nodes[SIM_NODES_MAX];
	const struct op *op; /* that is looked at */
	struct ref joined[SIM_ADDED];
	uint32_t n_joined;
	uint64_t seq;
	uint64_t op_began;       /* seq */
	bool op_deletes;         /* the delete of a present actor */
	bool op_refused;         /* a refused command */
	bool op_same;            /* the turn had a specification that is as before */
	bool clean;              /* no command, no reload */
	bool punctual;           /* every tick came when it was due */
	uint64_t hurry;          /* seq of the newest command that starts an actor */
	bool undying;            /* a process was unkillable */
	struct action escalated; /* the newest, unless a failure was decided since */
	bool quit;
	bool shutdown;
	bool exited;
	int32_t exit_status;
	bool ends;     /* supd by itself, for exit_code_from, */
	size_t end_at; /* … before the action with this index */
	bool is_status_unsure;
	bool has_zero; /* the status of a named actor, or */
	int32_t end_statuses[SIM_NODES_MAX];
	uint32_t n_end_statuses;
	bool user_failed;     /* /user did, and no supervisor is above it */
	uint32_t climber;     /* slot of the failure that is on its way up, */
	uint64_t climb_began; /* seq of its input */
	uint32_t climbed_to;  /* … and how far up it is: the depth */
	bool quiet;           /* the turn had only events that must not have any effect */
	uint64_t turn_began;  /* seq */
	uint32_t turn_events;
	bool ticked; /* the turn had a tick */
	size_t turn_actions;
	uint32_t barriers;                   /* numbers given out */
	uint64_t barrier_tops[SIM_BARRIERS]; /* ring: set of slots */
	struct {
		uint64_t token;
		bool command;
		enum event_kind kind;
	} tokens[SIM_TOKENS_MAX];
	uint32_t n_tokens;
	uint64_t name_ended[SIM_NAMES + 1]; /* seq of the newest end of one so called */
	bool name_shared[SIM_NAMES + 1];    /* there were two at a time */
	uint32_t serial;                    /* of the newest hook */
	uint32_t run_serial;                /* of the newest command of a watch */
	uint64_t commotions;                /* ends that had somebody restarted */
	uint64_t unwaited;                  /* the newest token that was given up */
	uint64_t hash;                      /* of all actions */
	char wrong[SIM_WRONG_MAX];
};

void witness_init(struct witness *witness, struct rig *rig, const struct tape *tape);
void witness_done(struct witness *witness);
void witness_before(struct witness *witness);
void witness_op(struct witness *witness, const struct op *op, const struct spec *spec);
void witness_added(struct witness *witness, struct ref ref, struct ref parent,
                   const struct spec *spec, uint64_t name);
void witness_actions(struct witness *witness);
void witness_after(struct witness *witness, const struct op *op);
void witness_doubt(struct witness *witness, const struct witnessed *top);
void witness_owe(struct witness *witness, struct witnessed *node);
void witness_blame(struct witness *witness, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* witness_tree.c: what the parts of the witness share. */
struct witnessed *witness_find(struct witness *witness, struct ref ref);
struct witnessed *witness_parent(struct witness *witness, const struct witnessed *node);
bool witness_below(const struct witness *witness, const struct witnessed *node,
                   const struct witnessed *top);
bool witness_in_group(const struct witness *witness, const struct witnessed *child,
                      const struct witnessed *sibling);
void witness_mark(struct witness *witness, const struct witnessed *top,
                  const uint64_t *field);
void witness_forget_barriers(struct witness *witness, const struct witnessed *top);
void witness_leave_barriers(struct witness *witness, const struct witnessed *node);
bool witness_group_is_doomed(struct witness *witness, const struct witnessed *node);
bool witness_is_kept(struct witness *witness, const struct witnessed *node);
bool witness_anyone_there(const struct witness *witness, const struct witnessed *top);

/* witness_act.c, witness_event.c, witness_report.c */
void witness_event(struct witness *witness, const struct event *event);
bool witness_left(struct witness *witness, const struct event *event);
void witness_spawn(struct witness *witness, const struct action *action);
void witness_signal(struct witness *witness, const struct action *action);
void witness_report(struct witness *witness, const struct action *action);
void witness_count(struct witness *witness, struct witnessed *supervisor, bool sure);

/* witness_group.c: what is stopped and started together. */
void witness_restarted(struct witness *witness, struct witnessed *node, bool group);
void witness_may_restart(struct witness *witness, struct witnessed *node);
void witness_renew(struct witness *witness, const struct witnessed *top);
void witness_delayed(struct witness *witness, const struct witnessed *node,
                     uint64_t delay_ms);
void witness_gone(struct witness *witness, const struct witnessed *node);
void witness_new_barrier(struct witness *witness);
void witness_raise_barrier(struct witness *witness, const struct witnessed *top);
void witness_stopped(struct witness *witness, struct witnessed *node, bool group);

/* witness_pace.c: how fast what ends at once, or cannot be started, is tried again. */
bool witness_is_shortage(const struct event *event);
void witness_pace_ended(struct witness *witness, struct witnessed *node, bool own);
void witness_pace_told(struct witness *witness, struct witnessed *node,
                       uint64_t delay_ms);
bool witness_pace_may_be(uint64_t delay_ms);
void witness_pace_normal(struct witness *witness, struct witnessed *node);
void witness_no_room(struct witness *witness, struct witnessed *node);
void witness_pace_spawn(struct witness *witness, struct witnessed *node);
void witness_pace_renew(struct witness *witness);

/* witness_command.c: commands and their replies. */
bool witness_restart_is_due(struct witness *witness, const struct witnessed *node);
void witness_command(struct witness *witness, const struct event *event);
void witness_reply(struct witness *witness, const struct action *action);

/* witness_dynamic.c: actors that come and go at run time. */
void witness_joined(struct witness *witness, const struct action *action);
void witness_check_joined(struct witness *witness);
void witness_delete(struct witness *witness, const struct event *event);
void witness_leave(struct witness *witness, struct witnessed *top);
void witness_restored(struct witness *witness, struct witnessed *top);
void witness_not_added(struct witness *witness, struct witnessed *node,
                       const struct action *report);
void witness_check_lost(struct witness *witness, const struct witnessed *node);

/* witness_needs.c: needs. */
void witness_reached(struct witness *witness, struct witnessed *node);
void witness_reports_reached(struct witness *witness, const struct action *report);
void witness_check_needs(struct witness *witness, const struct witnessed *node);
bool witness_unmet(struct witness *witness, const struct witnessed *node);
bool witness_holds_up(struct witness *witness);

/* witness_living.c: failures of a process that lives. */
bool witness_living(struct witness *witness, struct witnessed *node,
                    const struct event *event);
void witness_living_ready(struct witness *witness, struct witnessed *node);
void witness_living_heard(struct witness *witness, struct witnessed *node);
void witness_probe(struct witness *witness, const struct action *action);
void witness_continue(struct witness *witness, const struct action *action);
bool witness_living_failed(struct witness *witness, struct witnessed *node,
                           const struct cause *cause);
void witness_check_living(struct witness *witness, const struct witnessed *node,
                          const struct node_view *view);

/* witness_demand.c: actors that start on demand. */
bool witness_demand(struct witness *witness, const struct event *event);
void witness_is_done(struct witness *witness, struct witnessed *node);
void witness_listen(struct witness *witness, const struct action *action);
bool witness_is_awaited(struct witness *witness, const struct witnessed *node);
void witness_demand_changed(struct witness *witness, struct witnessed *node,
                            const struct spec *spec);
void witness_demanded(struct witness *witness, struct witnessed *node);

/* witness_hook.c */
void witness_hook(struct witness *witness, const struct action *action);
void witness_hook_kill(struct witness *witness, const struct action *action);
bool witness_hook_done(struct witness *witness, const struct event *event);
void witness_check_hook(struct witness *witness, const struct witnessed *node);
/* witness_suspend.c: suspended actors. */
void witness_suspended(struct witness *witness, const struct action *reply,
                       enum event_kind kind);
void witness_freeze(struct witness *witness, const struct action *action);
void witness_stands(struct witness *witness, const struct action *report);
void witness_check_suspended(struct witness *witness, struct witnessed *node,
                             const struct node_view *view);
bool witness_runs(enum node_state state);

/* witness_significant.c: what ends with the work of others. */
void witness_significant(struct witness *witness, struct witnessed *child);
bool witness_is_leaving(struct witness *witness, const struct witnessed *at);
void witness_ended_normally(struct witness *witness, struct witnessed *supervisor);
void witness_group_stopped(struct witness *witness, struct witnessed *leader);
bool witness_retires(const struct witnessed *node);
void witness_retiring(struct witness *witness, struct witnessed *node,
                      enum node_state state);
void witness_check_retired(struct witness *witness, const struct witnessed *node);

/* witness_exit.c: what ends supd. */
void witness_exit_status(struct witnessed *node, const struct event *event);
void witness_exit_look(struct witness *witness);
void witness_exit_begin(struct witness *witness);
void witness_exit_check(struct witness *witness);
void witness_exit_turn(struct witness *witness);
bool witness_exit_in_vain(struct witness *witness, const struct action *report);

/* witness_watch.c: death watch. */
void witness_watches(struct witness *witness, struct witnessed *node);
void witness_begins(struct witness *witness, struct witnessed *node);
void witness_ends(struct witness *witness, const struct action *report);
void witness_told(struct witness *witness, const struct action *report);
void witness_message(struct witness *witness, const struct action *action);
bool witness_message_done(struct witness *witness, const struct event *event);
void witness_check_watches(struct witness *witness, const struct witnessed *node);

/* witness_turn.c: what must hold between turns, and when the world is calm. */
bool witness_is_healthy(const struct witness *witness, const struct witnessed *node);
void witness_turn_over(struct witness *witness);
void witness_calm(struct witness *witness);

#endif
