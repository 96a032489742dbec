/* SPDX-License-Identifier: ISC */
/* log_directory.c - where the actors' log files go, and whether they can. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "conf/tree/load.h"

/* Where the actors' log files go by default. */
void
log_directory_set(struct reader *reader)
{
	struct conf *conf = reader->conf;
	char **variables = reader->options->environ;
	const char *state =
	    environ_find(variables, "XDG_STATE_HOME", strlen("XDG_STATE_HOME"));
	const char *home = environ_find(variables, "HOME", strlen("HOME"));
	char buf[PATH_MAX];

	if (conf->log_directory != NULL)
		return;
	home = geteuid() == 0 ? NULL : conf_own_home(home, buf, sizeof(buf));
	if (geteuid() != 0 && state != NULL && state[0] == '/')
		conf->log_directory = arena_printf(conf->memory, "%s/supd", state);
	else if (home != NULL)
		conf->log_directory =
		    arena_printf(conf->memory, "%s/.local/state/supd", home);
	else
		conf->log_directory = arena_dup(conf->memory, "/var/log/supd");
}

/*
 * True if a file can be made in this directory.  One without a name tells, where the
 * file system has such; of the others those of the kernel take none, whatever their
 * modes say.
 */
static bool
takes_files(const char *directory)
{
	static const long kernels_own[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,
	                                   CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
	                                   TRACEFS_MAGIC,       SECURITYFS_MAGIC};
	CLEANUP_CLOSE int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	struct statfs system;

	if (fd >= 0)
		return true;
	if ((errno != EOPNOTSUPP && errno != EISDIR) || statfs(directory, &system) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kernels_own); i++)
		if ((long)system.f_type == kernels_own[i])
			return false;
	return true;
}

/* True if files may be made there, or in the part of the way that exists.  A path is
 * absolute. */
static bool
is_writable(const char *directory)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", directory) >= (int)sizeof(path))
		return false;
	for (;;) {
		char *slash = strrchr(path, '/');

		if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0)
			return takes_files(path);
		if (errno != ENOENT || slash == NULL || path[1] == '\0')
			return false;
		slash[slash == path ? 1 : 0] = '\0';
	}
}

/* `log.directory`: known now rather than when the first line is lost. */
void
log_directory_check(struct reader *reader, const struct yaml *top)
{
	const struct yaml *node = node_get(node_get(top, "log"), "directory");
	struct trail log_trail = {NULL, "log", 0};
	struct trail trail = {&log_trail, "directory", 0};

	if (node == NULL || node->type != NODE_TEXT || node->text[0] != '/' ||
	    is_writable(node->text))
		return;
	reader_warn(
	    reader, node, &trail,
	    "user %u cannot write there: actors with `output: log` will wait when "
	    "they print",
	    (unsigned int)geteuid());
}
