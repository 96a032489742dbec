/* SPDX-License-Identifier: ISC */
/* verb_config.c - the verbs about the configuration file: check, diff, apply. */
#include "config.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "ctl/text/phrase.h"
#include "ctl/text/table.h"
#include "ctl/verb/verb.h"
#include "paths.h"

#define PROGRAM_BYTES_MAX  4096
#define EXIT_CONFIG_ERRORS 78

/* The directory of the running supctl, with a slash at its end; false if not known. */
static bool
own_directory(char ret[PROGRAM_BYTES_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PROGRAM_BYTES_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (slash == NULL)
		return false;
	slash[1] = '\0';
	return true;
}

/*
 * The supd to ask: $SUPD, the one beside supctl, the one in the sbin beside supctl's
 * bin, the one where it was to be installed, or else any in PATH.
 */
static void
find_supd(char ret[PROGRAM_BYTES_MAX])
{
	static const char *const beside[] = {"supd", "../sbin/supd"};
	const char *named = getenv("SUPD");
	char directory[PROGRAM_BYTES_MAX];

	if (named != NULL && named[0] != '\0') {
		(void)snprintf(ret, PROGRAM_BYTES_MAX, "%s", named);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(beside) && own_directory(directory); i++) {
		int n = snprintf(ret, PROGRAM_BYTES_MAX, "%s%s", directory, beside[i]);

		if (n < PROGRAM_BYTES_MAX && access(ret, X_OK) == 0)
			return;
	}
	(void)snprintf(ret, PROGRAM_BYTES_MAX, "%s",
	               access(SUPD_BIN, X_OK) == 0 ? SUPD_BIN : "supd");
}

static int
wait_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return CTL_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Say what is wrong with a file, as supd --check does; its exit status is passed on. */
int
verb_check(struct ctl *ctl, char **names, uint32_t n)
{
	char option_check[] = "--check";
	char option_file[] = "-c";
	char program[PROGRAM_BYTES_MAX];
	char *argv[] = {program, option_check, NULL, NULL, NULL};
	pid_t pid;
	int status;

	if (n > 0) {
		argv[2] = option_file;
		argv[3] = names[0];
	}
	find_supd(program);
	status = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
	if (status != 0) {
		complain(ctl, NULL,
		         "%s: %s (supd checks the file; $SUPD may name the program)",
		         program, strerror(status));
		return CTL_FAILED;
	}
	status = wait_child(pid);
	if (status == EXIT_CONFIG_ERRORS)
		complain(ctl, n > 0 ? names[0] : NULL,
		         "the configuration has errors (exit status 78)");
	return status;
}

static enum colour
change_colour(const char *change)
{
	if (strcmp(change, "added") == 0)
		return COLOUR_GOOD;
	if (strcmp(change, "removed") == 0)
		return COLOUR_BAD;
	return COLOUR_BUSY;
}

/* A line for each actor that changes, with the keys that do, and a line for all. */
static int
print_plan(struct ctl *ctl, const json_t *plan)
{
	struct table table;
	const json_t *change;
	size_t i;
	int r;

	table_init(&table, 3);
	json_array_foreach(plan, i, change)
	{
		const char *what = phrase_text(change, "change");
		const char *path = phrase_text(change, "path");
		const json_t *keys = json_object_get(change, "keys");
		struct strbuf *sb;
		size_t k;

		if (strcmp(what, "unchanged") == 0)
			continue;
		print_text(table_begin(&table), what, strlen(what));
		table_end(&table, change_colour(what));
		print_text(table_begin(&table), path, strlen(path));
		table_end(&table, COLOUR_NONE);
		sb = table_begin(&table);
		for (k = 0; k < json_array_size(keys); k++) {
			const char *key = json_string_value(json_array_get(keys, k));

			strbuf_adds(sb, k > 0 ? ", " : "");
			print_text(sb, key != NULL ? key : "?",
			           key != NULL ? strlen(key) : 1);
		}
		table_end(&table, COLOUR_NONE);
	}
	r = table_print(&table, &ctl->out, "");
	table_done(&table);
	phrase_print_plan(&ctl->out.buf, plan);
	strbuf_addc(&ctl->out.buf, '\n');
	return r < 0 ? ctl_no_memory(ctl) : 0;
}

/* Call for a plan and print it. */
static int
plan(struct ctl *ctl, struct call *call)
{
	struct reply reply;
	json_t *answer;
	int status = ctl_call(ctl, call, &reply);

	if (status == 0)
		status = ctl_load(ctl, call, &reply, &answer);
	ctl_call_done(call);
	if (status != 0)
		return status;
	if (ctl->options.json) {
		ctl_array_print(ctl, &reply, "plan");
	} else {
		status = print_plan(ctl, json_object_get(answer, "plan"));
	}
	json_decref(answer);
	return status;
}

/* What apply would do. */
int
verb_diff(struct ctl *ctl, char **names, uint32_t n)
{
	struct call call = {.method = "Diff", .repeat = true};

	(void)names;
	(void)n;
	return plan(ctl, &call);
}

/* Put the file into force: all of it, or nothing when something is wrong.  With
 * --rollback it is on trial for so long, and all is as it was before if that fails. */
int
verb_apply(struct ctl *ctl, char **names, uint32_t n)
{
	const bool on_trial = (ctl->options.given & OPTION_ROLLBACK) != 0;
	struct call call = {.method = "Apply", .repeat = !on_trial};
	uint64_t ms;
	int status;

	(void)names;
	(void)n;
	if (on_trial && (duration_parse(ctl->options.rollback, &ms) < 0 || ms == 0 ||
	                 ms > INT64_MAX)) {
		complain(ctl, NULL, "--rollback '%s': write a duration, as 5s or 1m30s",
		         ctl->options.rollback);
		return CTL_USAGE;
	}
	if (!on_trial && (ctl->options.given & OPTION_COMMIT) != 0) {
		complain(ctl, NULL, "--commit-when-ready: write --rollback too");
		return CTL_USAGE;
	}
	if (on_trial)
		call.parameters = json_pack("{s:I,s:b}", "rollback_ms", (json_int_t)ms,
		                            "commit_when_ready",
		                            (ctl->options.given & OPTION_COMMIT) != 0);
	status = plan(ctl, &call);
	if (on_trial && (status == CTL_FAILED || status == CTL_TIMED_OUT) &&
	    !ctl->unreachable)
		complain(
		    ctl, NULL,
		    "not kept: 'supctl diff' compares the file with what is in force");
	return status;
}
