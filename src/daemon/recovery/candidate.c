/* SPDX-License-Identifier: ISC */
/* candidate.c - can this binary go on where another supd is?  Asked before an upgrade. */
#include "config.h"

#include "daemon/recovery/candidate.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/text/conf.h"
#include "daemon/report/config_errors.h"
#include "daemon/state/options.h"
#include "ledger/ledger.h"
#include "walker/walker.h"

const char *
candidate_kind(char buf[CANDIDATE_KIND_MAX])
{
	(void)snprintf(buf, CANDIDATE_KIND_MAX, "%" PRIx64, walker_kind());
	return buf;
}

/* The last line of what we say; returns the exit status. */
static int
answer(json_t *take_verdict, int status)
{
	CLEANUP_FREE char *text = json_dumps(take_verdict, JSON_COMPACT);
	int r = text != NULL ? printf("\n%s\n", text) : -1;

	json_decref(take_verdict);
	return r < 0 || fflush(stdout) != 0 ? EX_OSERR : status;
}

/* True if this binary can read the block that the running supd keeps in memory. */
static bool
can_read(const char *kind, struct err *err)
{
	char own[CANDIDATE_KIND_MAX];

	if (strcmp(kind, candidate_kind(own)) != 0) {
		err_set(err, 0,
		        "supd " PACKAGE_VERSION " talks to its outermost process "
		        "in another way than the supd that runs");
		return false;
	}
	struct ledger *ledger = ledger_open(CANDIDATE_LEDGER_FD, err);
	if (ledger == NULL)
		return false;
	ledger_free(ledger);
	CLEANUP(conf_drop) struct conf *conf = conf_unpack(CANDIDATE_CONF_FD, err);
	return conf != NULL;
}

int
candidate_run(const struct supd_options *options)
{
	CLEANUP(conf_reports_done) struct conf_reports reports = {0};
	struct err err = {0};
	json_t *verdict;

	if (!can_read(options->can_adopt, &err))
		return answer(json_pack("{s:s}", "message", err.text), EX_DATAERR);
	CLEANUP(conf_drop)
	struct conf *conf = conf_load(
	    options->conf_file,
	    &(const struct conf_options){.boot = true, .environ = environ}, &reports);
	if (conf == NULL)
		verdict =
		    config_errors_json(&reports, options->conf_file, "it cannot be read");
	else
		verdict = json_pack("{s:s}", "version", PACKAGE_VERSION);
	return answer(verdict, conf == NULL ? EX_CONFIG : EX_OK);
}
