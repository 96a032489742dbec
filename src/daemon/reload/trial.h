/* SPDX-License-Identifier: ISC */
/* trial.h - a configuration on trial: nothing that it starts, restarts or updates may
 * fail meanwhile, and all of that must be ready at the end; else the configuration before
 * is in force again.
 *
 * The walker keeps the configuration before, and the end of the trial stands in the
 * ledger: so a new guardian goes on with the trial.
 */
#ifndef DAEMON_TRIAL_H
#define DAEMON_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/core.h"

struct reload;
struct reloader;

/* The longest one. */
#define TRIAL_MS_MAX (UINT64_C(24) * 3600 * 1000)

enum trial_end {
	TRIAL_KEPT,  /* nothing failed, and everything is ready */
	TRIAL_BACK,  /* the configuration before is in force again */
	TRIAL_STUCK, /* it should be, but could not be put into force */
	TRIAL_LEFT,  /* supd shuts down: no verdict */
};

/* How a trial ended, and because of which actor. */
struct trial_result {
	enum trial_end end;
	struct ref ref;
	enum node_state state; /* before anything was taken back */
	bool has_failed;       /* for this cause; else it was not ready in time */
	struct cause cause;
	/* path of the actor; borrowed during the call */
	const char *path;
	uint64_t since_wall_us; /* since when the one before is in force */
};

/* Told once, unless it was forgotten; the configuration is in force by then. */
typedef void trial_fn(void *user, const struct trial_result *result);

struct trial *trial_new(struct reloader *reloader);
void trial_free(struct trial *trial);
bool trial_is_on(const struct trial *trial);

int trial_apply(struct trial *trial, struct reload *reload, uint64_t ms, bool ends_early,
                struct err *err);
void trial_on_failure(struct trial *trial, struct ref ref, const struct cause *cause);
void trial_await(struct trial *trial, trial_fn *on_end, void *user);
void trial_adopt(struct trial *trial);
void trial_on_turn(struct trial *trial);

#endif
