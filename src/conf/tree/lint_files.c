/* SPDX-License-Identifier: ISC */
/* lint_files.c - files and programs that a start needs: are they there, and safe? */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conf/read/envfile.h"
#include "conf/read/expand.h"
#include "conf/read/keys.h"
#include "conf/text/safe.h"
#include "conf/tree/lint.h"

#define MESSAGE_MAX 1024

/* ---- commands ---- */

enum found { FOUND_NOTHING, FOUND_NOT_EXECUTABLE, FOUND_PROGRAM };

/* Open a file to look at; the root is this directory, also of links. */
static int
open_below(const char *root, const char *path)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	                             .resolve = RESOLVE_IN_ROOT};
	const int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = -1;

	if (top >= 0) {
		fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
		(void)close(top);
	}
	return fd;
}

/* As stat(2), but the root is this directory, also of links; NULL: the root of all. */
static int
stat_below(const char *root, const char *path, struct stat *ret)
{
	int fd;
	int r;

	if (root == NULL)
		return stat(path, ret);
	fd = open_below(root, path);
	r = fd >= 0 ? fstat(fd, ret) : -1;
	if (fd >= 0)
		(void)close(fd);
	return r;
}

/* The path of a file below that root as this process sees it; "" if it cannot be told. */
static void
resolve_below(const char *root, const char *path, char ret[PATH_MAX])
{
	const int fd = open_below(root, path);
	char name[64];
	ssize_t n = -1;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (fd >= 0) {
		n = readlink(name, ret, PATH_MAX - 1);
		(void)close(fd);
	}
	ret[n > 0 ? n : 0] = '\0';
}

static enum found
look_at(const char *root, const char *path)
{
	struct stat stat_buf;

	if (stat_below(root, path, &stat_buf) < 0)
		return errno == EACCES ? FOUND_PROGRAM : FOUND_NOTHING;
	if (!S_ISREG(stat_buf.st_mode) || (stat_buf.st_mode & 0111) == 0)
		return FOUND_NOT_EXECUTABLE;
	return FOUND_PROGRAM;
}

/* What the last of the environment files says. */
static void
take_path(void *data, const char *key, const char *value)
{
	struct strbuf *path = data;

	if (strcmp(key, "PATH") != 0)
		return;
	strbuf_clear(path);
	strbuf_adds(path, value);
}

/* Where this process will look for programs; freed by the caller. */
static void
find_path(const struct lint *lint, const struct conf_process *process, struct strbuf *ret)
{
	const char *path = environ_find(process->world.environment, "PATH", 4);

	if (path == NULL && !process->world.clear_environment)
		path = environ_find(lint->options->environ, "PATH", 4);
	if (path == NULL)
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	strbuf_init(ret, ENVFILE_BYTES_MAX);
	strbuf_adds(ret, path);
	for (char **file = process->world.environment_files;
	     file != NULL && *file != NULL; file++)
		(void)envfile_read(*file, take_path, ret, NULL);
}

/* The first program of that name; ret_where: the path of it. */
static enum found
look_in_path(const char *root, const char *path, const char *name,
             char ret_where[PATH_MAX])
{
	enum found best = FOUND_NOTHING;

	while (*path != '\0' && best != FOUND_PROGRAM) {
		size_t len = strcspn(path, ":");
		struct strbuf candidate;
		enum found found = FOUND_NOTHING;

		strbuf_init(&candidate, 65536);
		strbuf_add(&candidate, path, len);
		strbuf_addf(&candidate, "%s%s", len > 0 ? "/" : "", name);
		if (!candidate.failed)
			found = look_at(root, strbuf_str(&candidate));
		if (found == FOUND_PROGRAM)
			(void)snprintf(ret_where, PATH_MAX, "%s", strbuf_str(&candidate));
		strbuf_done(&candidate);
		if (found > best)
			best = found;
		path += len + (path[len] == ':');
	}
	return best;
}

/*
 * Report a file that this actor's process executes or obeys, if others than root and the
 * actor's own user can change the file: an error if every user can.  A group may own
 * /usr/local on many machines, and a container's user may own the files.
 */
static void
check_safety(const struct lint *lint, const struct conf_actor *actor, const char *key,
             const char *path)
{
	const struct conf_process *process = &actor->process;
	struct safety_report report;
	char message[MESSAGE_MAX];

	if (geteuid() != 0 ||
	    safety_of(path, process->identity.has_user ? process->identity.uid : 0,
	              &report) == SAFE)
		return;
	keys_report(lint, report.safety == UNSAFE ? CONF_ERROR : CONF_WARNING, actor, key,
	            "%s", safety_format(&report, message, sizeof(message)));
}

/* Report if nothing can be executed by this command, or what others may change. */
static void
check_program(const struct lint *lint, const struct conf_actor *actor, const char *key,
              char *const *argv)
{
	const struct conf_process *process = &actor->process;
	const char *directory =
	    process->world.directory != NULL ? process->world.directory : "/";
	const char *name;
	char where[PATH_MAX], outside[PATH_MAX];
	struct strbuf path;
	enum found found;

	if (argv == NULL)
		return;
	name = argv[0];
	(void)snprintf(where, sizeof(where), "%s", name);
	if (name[0] == '/') {
		found = look_at(process->world.root, name);
	} else if (strchr(name, '/') != NULL) {
		found = look_in_path(process->world.root, directory, name, where);
	} else {
		find_path(lint, process, &path);
		found = look_in_path(process->world.root, strbuf_str(&path), name, where);
		strbuf_done(&path);
	}
	if (found == FOUND_PROGRAM && process->world.root == NULL) {
		check_safety(lint, actor, key, where);
	} else if (found == FOUND_PROGRAM) {
		resolve_below(process->world.root, where, outside);
		check_safety(lint, actor, key, outside);
	}
	if (found == FOUND_NOTHING)
		lint_warn(lint, actor, key, "there is no program `%.200s`%s%s%.200s",
		          name, strchr(name, '/') != NULL ? "" : " in PATH",
		          process->world.root != NULL ? " below " : "",
		          process->world.root != NULL ? process->world.root : "");
	else if (found == FOUND_NOT_EXECUTABLE)
		lint_warn(lint, actor, key, "`%.200s` is not an executable file", name);
}

static void
check_commands(const struct lint *lint, const struct conf_actor *actor)
{
	check_program(lint, actor, "command", actor->process.argv);
	check_program(lint, actor, "stop_command", actor->process.orders.stop_command);
	check_program(lint, actor, "reload_command",
	              actor->process.orders.reload_command);
	check_program(lint, actor, "ready.exec", actor->process.readiness.probe.command);
	check_program(lint, actor, "health.exec", actor->process.health.command);
	for (size_t hook = 0; hook < HOOK_MAX; hook++) {
		char key[64];

		if (actor->process.hooks[hook] != NULL) {
			(void)snprintf(key, sizeof(key), "hooks.%s", hook_names[hook]);
			check_program(lint, actor, key, actor->process.hooks[hook]);
		}
	}
	for (uint32_t i = 0; i < actor->spec.n_watches; i++) {
		char key[CONF_PATH_MAX + 16];

		(void)snprintf(key, sizeof(key), "watch.%s", actor->watches[i].path);
		check_program(lint, actor, key, actor->watches[i].run);
	}
}

/* ---- files and programs needed at a start ---- */

/* Warn of a file that root, the user of this check, can read, but the actor's user, the
 * user of the process, cannot. */
static void
check_readable(const struct lint *lint, const struct conf_actor *actor, const char *key,
               const char *path)
{
	const struct conf_process *process = &actor->process;
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
	const struct conf_process *process = &actor->process;
	struct stat stat_buf;

	for (char **file = process->world.environment_files;
	     file != NULL && *file != NULL; file++) {
		check_safety(lint, actor, "environment_file", *file + (**file == '-'));
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
	    stat_below(process->world.root, process->world.directory, &stat_buf) < 0 &&
	    (errno == ENOENT || errno == ENOTDIR))
		lint_warn(lint, actor, "directory",
		          "there is no directory `%.200s`%s%.200s",
		          process->world.directory,
		          process->world.root != NULL ? " below " : "",
		          process->world.root != NULL ? process->world.root : "");
}

/*
 * Report a file with commands for supd that other users can write.  For root that is an
 * error, as for sshd; another owner is none, as files in a container may have one.
 */
void
lint_file(const char *name, const struct stat *stat_buf, bool warn,
          struct conf_reports *reports)
{
	struct spot spot = {name, 0, 0};
	struct safety_report report = {.safety = SAFE};
	char message[MESSAGE_MAX];

	if (geteuid() == 0)
		(void)safety_of(name, 0, &report);
	else
		safety_of_file(name, stat_buf, geteuid(), &report);
	if (report.safety == SAFE)
		return;
	if (geteuid() == 0 && report.safety != SAFE_BUT_FOR_OWNER)
		reports_add(reports, CONF_ERROR, &spot, "",
		            safety_format(&report, message, sizeof(message)));
	else if (warn)
		reports_add(reports, CONF_WARNING, &spot, "",
		            safety_format(&report, message, sizeof(message)));
}
