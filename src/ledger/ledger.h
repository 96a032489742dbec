/* SPDX-License-Identifier: ISC */
/* ledger.h - what survives the death of a guardian at any instruction.
 *
 * One memfd, allocated in full, sealed, and mapped shared; it grows only by being
 * replaced.  It holds
 *
 *	the core, twice: the live copy, in which the guardian steps, and the checkpoint,
 *		which is what it was when the journal was empty
 *	the journal: every event that was given to the core since, put down before
 *	how many of the actions that came of them were performed
 *	a record for each slot: what the daemon knows of the process in it
 *	a record for each task that runs
 *	facts of supd as a whole, the ring of events, what was on the way to be spawned
 *
 * The same events give the same actions: so the checkpoint and the journal are the state,
 * whatever became of the live copy.  A successor restores the checkpoint, replays the
 * journal, performs what was not performed, and compares the records with the core.
 *
 * Whatever can be torn is there twice until it is whole, and switched by one store:
 * death at any instruction leaves the one or the other.  A header, a core, a journal or
 * a record that no guardian can have written is reported (-EBADMSG), and the ledger with
 * it is given up: see DECISIONS 9.  Nothing here allocates after ledger_new() and
 * ledger_open().  One process writes at a time.
 */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/core.h"
#include "os/process/reap.h"
#include "os/spawn/spawn.h"

/* Of layout and meaning: another version cannot be read. */
#define LEDGER_VERSION 35

struct ledger_size {
	uint32_t slots;
	uint32_t journal;  /* entries between two checkpoints */
	size_t core_bytes; /* of one copy */
	size_t core_sure;  /* so much of one is used soon; told to ledger_begin() alone */
	size_t events_bytes; /* of the ring of events, opaque */
};

struct ledger *ledger_begin(const struct ledger_size *size, struct err *err);
int ledger_take(struct ledger *ledger, struct err *err);
struct ledger *ledger_complete(struct ledger *take_ledger, struct err *err);
struct ledger *ledger_new(const struct ledger_size *size, struct err *err);
struct ledger *ledger_open(int take_fd, struct err *err);
void ledger_free(struct ledger *ledger);
int ledger_fd(const struct ledger *ledger);
void ledger_size(const struct ledger *ledger, struct ledger_size *ret);

/* ---- the core ---- */

/* A checkpoint moves the core: fetch the pointer again after it. */
void *ledger_core(const struct ledger *ledger);
void ledger_checkpoint(struct ledger *ledger, const struct core_used *used);
int ledger_restore(struct ledger *ledger);

/* ---- the journal ---- */

enum journal_kind { JOURNAL_POST, JOURNAL_SETTLE };

struct journal_entry {
	uint64_t now_ms;
	uint64_t tag; /* the caller's own */
	struct event event;
	uint32_t kind; /* enum journal_kind */
	uint32_t sum;  /* with epoch and place; looked at by ledger_entry() */
};

bool ledger_has_room(const struct ledger *ledger, uint32_t entries);
void ledger_prepare(struct ledger *ledger, enum journal_kind kind, uint64_t now_ms,
                    const struct event *event, uint64_t tag);
void ledger_commit(struct ledger *ledger);
uint32_t ledger_entries(const struct ledger *ledger);
const struct journal_entry *ledger_entry(const struct ledger *ledger, uint32_t i);

/* How many actions were performed since the checkpoint; and which checkpoint that is. */
uint32_t ledger_performed(const struct ledger *ledger);
void ledger_set_performed(struct ledger *ledger, uint32_t n);
uint32_t ledger_epoch(const struct ledger *ledger);
uint64_t ledger_state(const struct ledger *ledger);

/* ---- the records ---- */

/* What the process was asked to do. */
struct ledger_asked {
	bool killing;
	uint8_t stop;         /* enum proc_stop */
	uint8_t stop_command; /* enum stop_command */
	uint8_t reloads;
};

/* Why the spawn failed, as in struct spawn_result. */
struct ledger_failed {
	int16_t error; /* 0: it did not */
	uint8_t step;  /* enum spawn_step */
	int8_t which;
};

struct ledger_record {
	struct ref ref;         /* REF_NONE: the slot is free */
	struct ref predecessor; /* as in daemon/state/actors.h */
	struct ref successor;
	/* the configuration the actor came with; 0: supd's own actors */
	uint64_t conf_id;
	uint32_t conf_index;
	uint32_t life; /* of the process that the rest is about; 0: none yet */
	struct ledger_failed failed;
	struct ledger_asked asked;
	int32_t pid;         /* 0: none, or reaped */
	uint32_t ready_life; /* the life that has said READY=1 */
	int32_t leader;      /* the process that `pid` replaced by MAINPID=; 0: none */
	int32_t hung;        /* a child that was given up, and may not be gone; 0: none */
	uint64_t main_start; /* when the leader was started */
	uint64_t hung_since; /* when the child was given up */
	/* 1 + how much its stdout and stderr had said before it; 0: not known */
	uint64_t match_from[2];
	uint8_t state; /* enum proc_state; `end` is how when it is LEFT or GONE */
	bool removed;  /* its configuration is not in force any more */
	bool frozen;   /* something of it may stand still, or is to */
	bool sigstopped, is_cgroup;
	bool is_limited; /* … with controllers */
	uint8_t unused[2];
	struct reap end;
	uint64_t process_started_ms, dead_letters, failed_at_wall_us;
};

void ledger_write(struct ledger *ledger, uint32_t slot,
                  const struct ledger_record *record);
int ledger_read(const struct ledger *ledger, uint32_t slot, struct ledger_record *ret);

/* STATUS= of a process: not kept twice, cut off at LEDGER_STATUS_MAX - 1 bytes, or less
 * for the sake of a whole character.  After a death it is whole or empty. */
#define LEDGER_STATUS_MAX 256
void ledger_set_status(struct ledger *ledger, uint32_t slot, const char *text);
const char *ledger_status(const struct ledger *ledger, uint32_t slot);

/* ---- tasks ---- */

/* How many tasks run at once; see daemon/processes/tasks.h. */
#define LEDGER_TASKS_MAX 512

/* A task of an actor, and what it was ordered for. */
struct ledger_task {
	struct ref ref; /* the actor the task is for; REF_NONE: this place is free */
	uint32_t serial, life;
	uint64_t timeout_ms;
	uint64_t deadline_ms; /* 0: the task has not begun, or has no timeout */
	uint64_t told_seq;    /* of the event that tells of its failure; 0: none yet */
	struct cause cause;
	int32_t pid;   /* 0: none, or reaped */
	int32_t error; /* it could not be started: errno */
	uint8_t kind;  /* enum task_kind */
	uint8_t which;
	uint8_t reason; /* enum task_reason */
	uint8_t step;   /* it could not be started: enum spawn_step */
	bool is_late, killing;
	bool ended; /* `end` is how */
	bool is_cgroup;
	bool is_left; /* its end was told, though it could not be killed */
	struct reap end;
};

void ledger_write_task(struct ledger *ledger, uint32_t place,
                       const struct ledger_task *task);
int ledger_read_task(const struct ledger *ledger, uint32_t place,
                     struct ledger_task *ret);

/* ---- starts under way ---- */

/* How many processes may be on their way to their programs at once. */
#define LEDGER_SPAWNS 8

/* What is between clone and exec.  The kernel writes pid, the child step and code. */
struct ledger_spawn {
	_Atomic uint32_t life; /* 0: nothing is on the way */
	uint32_t
	    task; /* 0: the main process of an actor; else the place of a task, + 1 */
	struct ref ref;
	struct spawn_trace trace;
	uint64_t begun_ms; /* its time runs from here */
};

struct ledger_spawn *ledger_spawn(const struct ledger *ledger, uint32_t place);

/* ---- supd as a whole ---- */

struct ledger_facts {
	uint64_t secret[2];  /* 128 random bits, in every SUPD_ID and nowhere else */
	uint64_t conf_id;    /* the configuration in force: VAULT_KEY(VAULT_CONF, id) */
	uint64_t started_ms; /* the first guardian */
	uint64_t upgrade_ms; /* when the last one made room; 0: it did not */
	uint64_t
	    trial_since_ms; /* the configuration is on trial: daemon/reload/trial.h */
	uint64_t trial_until_ms; /* 0: it is not */
	uint64_t conf_wall_us;   /* since when the configuration is in force */
	uint64_t before_wall_us; /* … and was the one before, while it is on trial */
	bool trial_ends_early;   /* as soon as everything is ready */
	bool is_ready;           /* READY=1 was sent */
	bool shutting_down;
	char version[32]; /* the version of the binary that wrote the ledger */
};

void ledger_set_facts(struct ledger *ledger, const struct ledger_facts *facts);
int ledger_facts(const struct ledger *ledger, struct ledger_facts *ret);

/* Memory of the ring of events; zero at first. */
void *ledger_events(const struct ledger *ledger);

/* Incarnations of names that are free: 64-bit hash of the path.  When there are too many
 * the name that came first is forgotten, 0 as all that are not known. */
#define LEDGER_PAST_MAX 4096
void ledger_set_past(struct ledger *ledger, const char *path, uint32_t incarnation);
uint32_t ledger_past(const struct ledger *ledger, const char *path);

/* Commands that were accepted and what was answered: see daemon/control_token. */
#define LEDGER_TOKENS_BYTES (2 * 1024 * 1024)
void *ledger_tokens(const struct ledger *ledger);

/* To a new ledger everything of another one but core, journal, and records of slots. */
void ledger_copy(struct ledger *ledger, const struct ledger *old);

#endif
