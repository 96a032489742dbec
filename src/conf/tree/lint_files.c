/* SPDX-License-Identifier: ISC */
/* lint_files.c - files and programs that a start needs: are they there, and safe? */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/read/keys.h"
#include "conf/text/safe.h"
#include "conf/tree/lint.h"
#include "conf/tree/program.h"

#define MESSAGE_MAX 1024

/* Report a file that the actor's process executes or obeys, if users other than root and
 * its own can change the file. */
static void
check_safety(const struct lint *lint, const struct conf_actor *actor, const char *key,
             const struct safety_report *report)
{
	char message[MESSAGE_MAX];

	if (geteuid() == 0 && report->safety != SAFE)
		keys_report(lint, CONF_ERROR, actor, key, "%s",
		            safety_format(report, message, sizeof(message)));
}

/* Warn of a command without a program that can be executed, or with one that other users
 * can change. */
static void
check_program(const struct lint *lint, const struct conf_actor *actor, const char *key,
              char *const *argv)
{
	const struct conf_process *process = actor->process;
	const struct program_search program = {lint->options, process,
	                                       program_trust(process)};
	struct safety_report report;

	if (argv == NULL)
		return;
	enum found found = program_look(&program, argv, &report);
	check_safety(lint, actor, key, &report);
	if (found == FOUND_NOTHING)
		lint_warn(lint, actor, key, "there is no program `%.200s`%s%s%.200s",
		          argv[0], strchr(argv[0], '/') != NULL ? "" : " in PATH",
		          process->world.root != NULL ? " below " : "",
		          process->world.root != NULL ? process->world.root : "");
	else if (found == FOUND_NOT_EXECUTABLE)
		lint_warn(lint, actor, key, "`%.200s` is not an executable file",
		          argv[0]);
}

static void
check_commands(const struct lint *lint, const struct conf_actor *actor)
{
	check_program(lint, actor, "command", actor->argv);
	check_program(lint, actor, "stop_command", actor->process->orders.stop_command);
	check_program(lint, actor, "reload_command",
	              actor->process->orders.reload_command);
	check_program(lint, actor, "ready.exec", actor->process->readiness.probe.command);
	check_program(lint, actor, "health.exec", actor->process->health.command);
	for (size_t hook = 0; hook < HOOK_MAX; hook++) {
		char key[64];

		if (actor->process->hooks[hook] != NULL) {
			(void)snprintf(key, sizeof(key), "hooks.%s", hook_names[hook]);
			check_program(lint, actor, key, actor->process->hooks[hook]);
		}
	}
	for (uint32_t i = 0; i < actor->spec->core.n_watches; i++) {
		char key[CONF_PATH_MAX + 16];

		(void)snprintf(key, sizeof(key), "watch.%s",
		               actor->spec->watches[i].path);
		check_program(lint, actor, key, actor->spec->watches[i].run);
	}
}

/* Warn of a file that root, the user of this check, can read, but the actor's user, the
 * user of the process, cannot. */
static void
check_readable(const struct lint *lint, const struct conf_actor *actor, const char *key,
               const char *path)
{
	const struct conf_process *process = actor->process;
	struct stat st;
	mode_t wanted = S_IROTH;

	if (geteuid() != 0 || !process->identity.has_user || process->identity.uid == 0 ||
	    path == NULL || stat(path, &st) < 0)
		return;
	for (size_t i = 0; i < process->identity.n_groups; i++)
		if (st.st_gid == process->identity.groups[i])
			wanted = S_IRGRP;
	if (st.st_gid == process->identity.gid)
		wanted = S_IRGRP;
	if (st.st_uid == process->identity.uid)
		wanted = S_IRUSR;
	if ((st.st_mode & wanted) == 0)
		lint_warn(
		    lint, actor, key,
		    "user %u cannot read %.200s, and the process opens it as that user: "
		    "the start will fail",
		    (unsigned int)process->identity.uid, path);
}

static bool
is_missing(const char *path)
{
	struct stat stat_buf;

	return path != NULL && stat(path, &stat_buf) < 0 && errno != EACCES;
}

/* Report files and programs of an actor that are not there, or that others can change. */
void
lint_files(const struct lint *lint, const struct conf_actor *actor)
{
	const struct conf_process *process = actor->process;
	const struct trust trust = program_trust(process);
	struct safety_report report;
	struct stat stat_buf;

	for (char **file = process->world.environment_files;
	     file != NULL && *file != NULL; file++) {
		(void)safety_of(*file + (**file == '-'), &trust, &report);
		check_safety(lint, actor, "environment_file", &report);
		check_readable(lint, actor, "environment_file", *file + (**file == '-'));
	}
	check_readable(lint, actor, "stdin", process->world.input);
	if (is_missing(process->world.input))
		lint_warn(lint, actor, "stdin", "there is no file `%.200s`",
		          process->world.input);
	if (is_missing(process->world.root))
		lint_warn(lint, actor, "root", "there is no directory `%.200s`",
		          process->world.root);
	else
		check_commands(lint, actor);
	if (process->world.directory != NULL && !is_missing(process->world.root) &&
	    program_stat(process->world.root, process->world.directory, &stat_buf) < 0 &&
	    (errno == ENOENT || errno == ENOTDIR))
		lint_warn(lint, actor, "directory",
		          "there is no directory `%.200s`%s%.200s",
		          process->world.directory,
		          process->world.root != NULL ? " below " : "",
		          process->world.root != NULL ? process->world.root : "");
}

/*
 * Report a file with commands for supd that other users can change.  For root that is an
 * error, as for sshd; but a start only warns of another owner, as files that a container
 * is given may have one.
 */
void
lint_file(const char *name, const struct stat *stat_buf,
          const struct conf_options *options, struct conf_reports *reports)
{
	struct safety_report report = {.safety = SAFE};
	char message[MESSAGE_MAX];

	if (geteuid() == 0)
		(void)safety_of(name, &TRUST_ROOT, &report);
	else
		safety_of_file(name, stat_buf, &(struct trust){geteuid(), TRUST_NO_GROUP},
		               &report);
	bool is_error =
	    geteuid() == 0 && (report.safety != SAFE_BUT_FOR_OWNER || options->look);
	if (report.safety != SAFE && (is_error || options->warn))
		reports_add(reports, is_error ? CONF_ERROR : CONF_WARNING,
		            &(struct spot){name, 0, 0}, "",
		            safety_format(&report, message, sizeof(message)));
}
