/* SPDX-License-Identifier: ISC */
/* program.c - the files that a command executes: its program, the interpreters that this
 * names in its first line, and the script that an interpreter is given.
 */
#include "config.h"

#include "conf/tree/program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "conf/read/envfile.h"

/* What the kernel reads of a file to find its interpreter, and how often. */
#define HEAD_MAX         256
#define HEAD_WORDS_MAX   16
#define INTERPRETERS_MAX 5

/* Open a file to look at it.  The path, and links on it, begin at this root directory. */
static int
open_below(const char *root, const char *path)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	                             .resolve = RESOLVE_IN_ROOT};
	CLEANUP_CLOSE int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return top < 0 ? -1 : (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
}

/* As stat(2), but the root is this directory, also of links; NULL: the root of all. */
int
program_stat(const char *root, const char *path, struct stat *ret)
{
	if (root == NULL)
		return stat(path, ret);
	CLEANUP_CLOSE int fd = open_below(root, path);
	return fd >= 0 ? fstat(fd, ret) : -1;
}

/* The path of a file below that root as this process sees it; "" if it cannot be told. */
static void
resolve_below(const char *root, const char *path, char ret[PATH_MAX])
{
	CLEANUP_CLOSE int fd = open_below(root, path);
	char name[64];

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ssize_t n = fd >= 0 ? readlink(name, ret, PATH_MAX - 1) : -1;
	ret[n > 0 ? n : 0] = '\0';
}

static enum found
look_at(const char *root, const char *path)
{
	struct stat stat_buf;

	if (program_stat(root, path, &stat_buf) < 0)
		return errno == EACCES ? FOUND_PROGRAM : FOUND_NOTHING;
	return !S_ISREG(stat_buf.st_mode) || (stat_buf.st_mode & 0111) == 0
	           ? FOUND_NOT_EXECUTABLE
	           : FOUND_PROGRAM;
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
find_path(const struct program_search *program, struct strbuf *ret)
{
	const struct conf_process *process = program->process;
	const char *path = environ_find(process->world.environment, "PATH", 4);

	if (path == NULL && !process->world.clear_environment)
		path = environ_find(program->options->environ, "PATH", 4);
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
		CLEANUP(strbuf_done) struct strbuf candidate = STRBUF(65536);
		enum found found = FOUND_NOTHING;

		strbuf_add(&candidate, path, len);
		strbuf_addf(&candidate, "%s%s", len > 0 ? "/" : "", name);
		if (!candidate.failed)
			found = look_at(root, strbuf_str(&candidate));
		if (found == FOUND_PROGRAM)
			(void)snprintf(ret_where, PATH_MAX, "%s", strbuf_str(&candidate));
		if (found > best)
			best = found;
		path += len + (path[len] == ':');
	}
	return best;
}

/* ---- what else is executed ---- */

/* A program that executes the file named by the first argument. */
static const struct interpreter {
	const char *name;
	const char *code; /* with one of these letters an option has the code itself */
} interpreters[] = {
    {"sh", "c"},   {"ash", "c"},     {"bash", "c"},    {"dash", "c"},  {"ksh", "c"},
    {"mksh", "c"}, {"zsh", "c"},     {"python", "cm"}, {"pypy", "cm"}, {"perl", "eE"},
    {"ruby", "e"}, {"node", "ep"},   {"nodejs", "ep"}, {"php", "r"},   {"lua", "e"},
    {"tclsh", ""}, {"Rscript", "e"},
};

/* The interpreter at this path, with any version at the end of its name; NULL: the
 * program is no interpreter. */
static const struct interpreter *
find_interpreter(const char *path)
{
	const char *name = names_last(path);
	size_t len = strlen(name);

	while (len > 0 && strchr("0123456789.", name[len - 1]) != NULL)
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(interpreters); i++)
		if (strlen(interpreters[i].name) == len &&
		    strncmp(interpreters[i].name, name, len) == 0)
			return &interpreters[i];
	return NULL;
}

static bool
is_env(const char *path)
{
	return strcmp(names_last(path), "env") == 0;
}

/* Behind the options and variables of env(1). */
static char *const *
skip_env(char *const *argv)
{
	while (*argv != NULL && ((*argv)[0] == '-' || strchr(*argv, '=') != NULL))
		argv++;
	return argv;
}

/* Look at a file, as this process sees its path.  ret: unchanged if it is as safe. */
void
program_look_at(const struct program_search *program, const char *path,
                struct safety_report *ret)
{
	struct safety_report report;

	if (safety_of(path, &program->trust, &report) <= ret->safety)
		return;
	if (program->trust.uid == TRUST_OWNER && report.safety != UNSAFE &&
	    report.stat.st_uid != 0)
		return;
	*ret = report;
}

/* Find the program, and where it is for this process; "": it cannot be told. */
static enum found
search_program(const struct program_search *program, const char *name,
               char ret_outside[PATH_MAX])
{
	const struct conf_world *world = &program->process->world;
	char where[PATH_MAX];
	enum found found;

	ret_outside[0] = '\0';
	(void)snprintf(where, sizeof(where), "%s", name);
	if (name[0] == '/') {
		found = look_at(world->root, name);
	} else if (strchr(name, '/') != NULL) {
		found = look_in_path(world->root,
		                     world->directory != NULL ? world->directory : "/",
		                     name, where);
	} else {
		CLEANUP(strbuf_done) struct strbuf path;

		find_path(program, &path);
		found = look_in_path(world->root, strbuf_str(&path), name, where);
	}
	if (found == FOUND_PROGRAM && world->root == NULL)
		(void)snprintf(ret_outside, PATH_MAX, "%s", where);
	else if (found == FOUND_PROGRAM)
		resolve_below(world->root, where, ret_outside);
	return found;
}

/* Split the first line of a script, without its "#!"; false: the file is none. */
static bool
read_interpreter(const char *path, char line[HEAD_MAX + 1],
                 char *ret_words[HEAD_WORDS_MAX])
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, line, HEAD_MAX) : -1;
	char *save = NULL;
	size_t i = 0;

	line[n > 0 ? n : 0] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return false;
	line[strcspn(line, "\n")] = '\0';
	ret_words[0] = strtok_r(line + 2, " \t", &save);
	while (i < HEAD_WORDS_MAX - 1 && ret_words[i] != NULL)
		ret_words[++i] = strtok_r(NULL, " \t", &save);
	ret_words[HEAD_WORDS_MAX - 1] = NULL;
	return ret_words[0] != NULL;
}

/* The program of this name, and the interpreters that execute the program. */
static enum found
look_at_program(const struct program_search *program, const char *name,
                struct safety_report *ret)
{
	char line[HEAD_MAX + 1], outside[PATH_MAX];
	char *words[HEAD_WORDS_MAX];
	enum found found, first = FOUND_NOTHING;

	for (int n = 0; n <= INTERPRETERS_MAX && name != NULL; n++) {
		found = search_program(program, name, outside);
		first = n == 0 ? found : first;
		if (found != FOUND_PROGRAM || outside[0] == '\0')
			break;
		program_look_at(program, outside, ret);
		if (n > 0 && is_env(name) && words[1] != NULL) {
			name = *skip_env(words + 1);
			words[1] = NULL;
			continue;
		}
		name = read_interpreter(outside, line, words) ? words[0] : NULL;
	}
	return first;
}

/* The script that an interpreter is given: the first argument that is a file. */
static void
look_at_script(const struct program_search *program,
               const struct interpreter *interpreter, char *const *argv,
               struct safety_report *ret)
{
	const struct conf_world *world = &program->process->world;
	char where[PATH_MAX], outside[PATH_MAX];
	bool may_be_value = false;
	struct stat st;

	for (; *argv != NULL; argv++) {
		if ((*argv)[0] == '-') {
			if ((*argv)[1] != '-' &&
			    strpbrk(*argv, interpreter->code) != NULL)
				return;
			may_be_value = true;
			continue;
		}
		(void)snprintf(where, sizeof(where), "%s%s%s",
		               (*argv)[0] == '/'          ? ""
		               : world->directory != NULL ? world->directory
		                                          : "",
		               (*argv)[0] == '/' ? "" : "/", *argv);
		if (program_stat(world->root, where, &st) == 0 && S_ISREG(st.st_mode))
			break;
		/* `-o pipefail` of a shell: the script comes later. */
		if (!may_be_value)
			return;
		may_be_value = false;
	}
	if (*argv == NULL)
		return;
	if (world->root != NULL)
		resolve_below(world->root, where, outside);
	program_look_at(program, world->root != NULL ? outside : where, ret);
}

/*
 * Find the program of a command.  ret: the least safe of the files that it executes, as
 * far as that can be told without executing it.
 */
enum found
program_look(const struct program_search *program, char *const *argv,
             struct safety_report *ret)
{
	ret->safety = SAFE;
	enum found found = look_at_program(program, argv[0], ret);
	if (is_env(argv[0]) && *skip_env(argv + 1) != NULL) {
		argv = skip_env(argv + 1);
		(void)look_at_program(program, argv[0], ret);
	}
	const struct interpreter *interpreter = find_interpreter(argv[0]);
	if (interpreter != NULL)
		look_at_script(program, interpreter, argv + 1, ret);
	return found;
}

/* The group of the user's name, if no other user is listed as its member. */
static gid_t
private_group(const char *user)
{
	struct group entry, *found = NULL;
	char buffer[65536];

	if (user == NULL ||
	    getgrnam_r(user, &entry, buffer, sizeof(buffer), &found) != 0 ||
	    found == NULL)
		return TRUST_NO_GROUP;
	for (char **member = found->gr_mem; *member != NULL; member++)
		if (strcmp(*member, user) != 0)
			return TRUST_NO_GROUP;
	return found->gr_gid;
}

/* The user and group that may own the files of this process, beside root. */
struct trust
program_trust(const struct conf_process *process)
{
	if (geteuid() != 0 || !process->identity.has_user || process->identity.uid == 0)
		return TRUST_ROOT;
	return (struct trust){process->identity.uid,
	                      private_group(process->identity.user_name)};
}
