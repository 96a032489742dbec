/* SPDX-License-Identifier: ISC */
/* fake_trial.c - no configuration is ever on trial. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/reload/before.h"
#include "daemon/reload/loading.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/trial.h"
#include "tests/lib/fake_rooms.h"

static struct fake *
fake_of(struct reloader *reloader)
{
	return (struct fake *)(void *)((char *)reloader -
	                               offsetof(struct fake, reloader));
}

bool
trial_is_on(const struct trial *trial)
{
	(void)trial;
	return false;
}

int
trial_apply(struct trial *trial, struct reload *reload, uint64_t ms, bool ends_early,
            struct err *err)
{
	(void)trial;
	(void)reload;
	(void)ms;
	(void)ends_early;
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

/* ---- a file that is reloaded ---- */

static char conf_file[] = FAKE_CONF_FILE;

struct conf_loading *
loading_begin(struct reloader *reloader, const char *file, enum loading_use use,
              loading_fn *on_ready, void *user)
{
	(void)reloader;
	(void)file;
	(void)use;
	(void)on_ready;
	(void)user;
	return NULL;
}

bool
loading_is_current(const struct conf_loading *loading)
{
	(void)loading;
	return true;
}

void
loading_end(struct conf_loading *loading)
{
	(void)loading;
}

struct conf *
loading_add(const struct reloader *reloader, const struct conf_addition *addition,
            struct conf_reports *ret_reports, struct err *err)
{
	(void)reloader;
	(void)addition;
	(void)ret_reports;
	(void)err;
	return NULL;
}

void
loading_add_replicas(const struct reloader *reloader,
                     const struct conf_addition *addition, const uint32_t *numbers,
                     uint32_t n, const struct conf_taker *taker,
                     struct conf_reports *ret_reports, struct err *err)
{
	(void)reloader;
	(void)addition;
	(void)numbers;
	(void)n;
	(void)taker;
	(void)ret_reports;
	(void)err;
}

int
reload_prepare(struct reloader *reloader, const char *file, struct conf_loading *loading,
               struct reload *ret, struct err *err)
{
	struct fake *fake = fake_of(reloader);
	static const char *keys[] = {"shutdown"};

	(void)loading;
	*ret = (struct reload){.file = file != NULL ? file : conf_file,
	                       .conf = reloader->actors->conf};
	if (fake->prepare_result < 0) {
		ret->reports.at = calloc(1, sizeof(*ret->reports.at));
		ret->reports.at[0] = (struct conf_report){
		    .severity = CONF_ERROR,
		    .file = conf_file,
		    .line = 3,
		    .column = 5,
		    .path = conf_file,
		    .message = conf_file,
		};
		ret->reports.n = 1;
		err_set(err, 0, "not loaded");
		return fake->prepare_result;
	}
	ret->plan.at = calloc(1, sizeof(*ret->plan.at));
	ret->plan.at[0] =
	    (struct conf_change){CHANGE_UPDATED, CORE_USER, CORE_USER, keys, 1};
	ret->plan.n = 1;
	return 0;
}

int
before_prepare(const struct reloader *reloader, struct reload *ret, struct err *err)
{
	(void)reloader;
	*ret = (struct reload){0};
	err_set(err, 0, "nothing was in force before");
	return -ENODATA;
}

bool
reload_reruns(const struct reloader *reloader, const struct reload *reload,
              const struct conf_change *change, struct ref ref)
{
	(void)reloader;
	(void)reload;
	(void)change;
	(void)ref;
	return true;
}

int
reload_apply(struct reloader *reloader, struct reload *reload, struct err *err)
{
	(void)reload;
	(void)err;
	fake_of(reloader)->applied = true;
	return 0;
}

void
reload_done(struct reloader *reloader, struct reload *reload)
{
	(void)reloader;
	free(reload->reports.at);
	free(reload->plan.at);
	*reload = (struct reload){0};
}
