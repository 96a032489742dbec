/* SPDX-License-Identifier: ISC */
/* reload_now.c - SIGHUP: a child reads the file, which is applied when that is done.
 *
 * The guardian supervises meanwhile.  A signal that comes while the file is read may be
 * about a change that was not seen: after the apply the file is read once more.
 */
#include "config.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "daemon/reload/loading.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/trial.h"
#include "daemon/report/systemd.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"

static void
log_report(const struct conf_report *report)
{
	CLEANUP(strbuf_done) struct strbuf sb = STRBUF(8192);
	conf_report_format(report, &sb);
	log_line(report->severity == CONF_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING,
	         "%s", strbuf_str(&sb));
}

/* True if a reload may begin, else the log says why not.  In a shutdown nothing is
 * started any more, and systemd, told STOPPING=1, expects no READY=1. */
static bool
may_reload(const struct reloader *reloader)
{
	if (reloader->recording->facts.shutting_down)
		log_line(LOG_LEVEL_WARNING, "not reloaded: supd is shutting down");
	else if (trial_is_on(reloader->trial))
		log_line(LOG_LEVEL_WARNING, "not reloaded: a configuration is on trial");
	else
		return true;
	return false;
}

/* Apply what was read; without `for_hangup` it is read now. */
static void
apply_it(struct reloader *reloader)
{
	struct reload reload;
	struct err err = {0};
	int r = reload_prepare(reloader, NULL, reloader->for_hangup, &reload, &err);

	for (size_t i = 0; i < reload.reports.n; i++)
		log_report(&reload.reports.at[i]);
	if (r == 0)
		r = reload_apply(reloader, &reload, &err);
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "reload: %s", err.text);
	reload_done(&reload);
}

static void on_ready(void *user);

static void
begin_reload(struct reloader *reloader)
{
	reloader->hangup_again = false;
	reloader->for_hangup = loading_begin(reloader, reloader->origin->conf_file,
	                                     LOADING_APPLY, on_ready, reloader);
	if (reloader->for_hangup != NULL)
		return;
	apply_it(reloader);
	systemd_reloaded(reloader->reporter);
}

static void
on_ready(void *user)
{
	struct reloader *reloader = user;
	/* Another configuration came into force while it was read. */
	bool is_stale = !loading_is_current(reloader->for_hangup);

	if (!is_stale && may_reload(reloader))
		apply_it(reloader);
	loading_end(reloader->for_hangup);
	reloader->for_hangup = NULL;
	if ((is_stale || reloader->hangup_again) && may_reload(reloader))
		begin_reload(reloader);
	else if (!reloader->recording->facts.shutting_down)
		systemd_reloaded(reloader->reporter);
}

/* Have the file read and applied, and the outcome logged. */
void
reload_now(struct reloader *reloader)
{
	if (!may_reload(reloader))
		return;
	systemd_reloading(reloader->reporter);
	if (reloader->for_hangup != NULL)
		reloader->hangup_again = true;
	else
		begin_reload(reloader);
}

/* True while the file is read for that: an upgrade waits, so that it is not forgotten. */
bool
reload_is_reading(const struct reloader *reloader)
{
	return reloader->for_hangup != NULL;
}

/* This guardian ends. */
void
reload_now_cancel(struct reloader *reloader)
{
	loading_end(reloader->for_hangup);
	reloader->for_hangup = NULL;
}
