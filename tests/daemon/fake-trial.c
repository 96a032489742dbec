/* SPDX-License-Identifier: ISC */
/* fake-trial.c - no configuration is ever on trial. */
#include "config.h"

#include "daemon/trial.h"

#include <errno.h>

bool
trial_is_on(const struct trial *trial)
{
	(void)trial;
	return false;
}

int
trial_apply(struct trial *trial, struct reload *reload, uint64_t ms, struct err *err)
{
	(void)trial;
	(void)reload;
	(void)ms;
	err_set(err, ENOMEM, "nothing is tried here");
	return -ENOMEM;
}

void
trial_await(struct trial *trial, trial_fn *on_end, void *user)
{
	(void)trial;
	(void)on_end;
	(void)user;
}

void
trial_forget(struct trial *trial)
{
	(void)trial;
}
