/* SPDX-License-Identifier: ISC */
/* private.h - the files of the walker among themselves. */
#ifndef WALKER_PRIVATE_H
#define WALKER_PRIVATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/log_pace.h"
#include "ledger/exits.h"
#include "ledger/handing.h"
#include "os/cgroup/cgroup.h"
#include "os/self/signals.h"
#include "os/socket/sdnotify.h"
#include "walker/respawn.h"
#include "walker/walker.h"
#include "walker/watchdog.h"

/* Signals that end supd. */
#define ENDING (SIGNAL_BIT(SIGTERM) | SIGNAL_BIT(SIGINT) | SIGNAL_BIT(SIGQUIT))

struct walker {
	/* Plain data, which the walker takes along when it executes itself. */
	uint64_t kind; /* walker_kind(): of another one nothing can be known */
	int lock_fd;
	int name_fd;       /* the lock that lasts when the directory is removed; or -1 */
	int binary_fd;     /* what guardians run */
	int old_fd;        /* the one before, until the new one is trusted; or -1 */
	pid_t guardian;    /* 0: none */
	bool adopted;      /* this one supervises */
	bool is_new;       /* this guardian runs a binary on trial */
	bool is_stopped;   /* this one, by a signal */
	bool ever_adopted; /* one of them did */
	uint64_t adopted_ms;
	uint32_t ending;   /* signals that end supd: every guardian is told them */
	uint32_t n_ending; /* how often supd was asked to end */
	uint32_t n_actors; /* that the ledger has room for */
	struct walker_times times;
	struct handing handing;
	struct respawn respawn;
	struct watchdog watchdog;
	char cgroup[CGROUP_PATH_MAX];

	/* What each walker makes for itself. */
	struct vault vault;
	struct exits *exits;
	struct notifier systemd;
	int signal_fd;
	int exit_status; /* -1: goes on */
	int told_status; /* by this guardian: supd exits with it, if the guardian with 0
	                  */
	uint64_t now_ms;
	struct log_pace losses; /* of the lines about what the guardian sent in vain */
	char **arguments;       /* with a place for the role */
};
#define WALKER_KEPT offsetof(struct walker, vault)

void guardian_know_lock(struct walker *walker);
void guardian_start(struct walker *walker);
void guardian_receive(struct walker *walker);
void guardian_watch(struct walker *walker);
void guardian_rouse(struct walker *walker);
void guardian_hurry(struct walker *walker);
void guardian_died(struct walker *walker, const struct reap *end);
bool guardian_is_left(struct walker *walker, const struct reap *news);
uint64_t guardian_trial_ms(const struct walker *walker);

void end_processes(const struct walker *walker);
void end_forgotten(const struct walker *walker);

void exec_walker(struct walker *walker);
int exec_resume(struct walker *walker);

#endif
