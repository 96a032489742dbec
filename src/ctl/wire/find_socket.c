/* SPDX-License-Identifier: ISC */
/* find_socket.c - which supd is meant, where the command line does not say. */
#include "config.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/wire/ctl.h"
#include "paths.h"
#include "varlink/places.h"

#define SOCKET_NAME "control.sock"
/* Of an entry in /proc/net/unix: it listens. */
#define LISTENS 0x10000

/* True for a socket that root or this user has made: that of another user could be a
 * trap. */
static bool
is_ours(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       (st.st_uid == geteuid() || st.st_uid == 0);
}

/* DIR/control.sock, owned by the caller; NULL: out of memory. */
static char *
below(const char *directory)
{
	char *path = NULL;

	return asprintf(&path, "%s/" SOCKET_NAME, directory) < 0 ? NULL : path;
}

/* The usual places of a user other than root; NULL: nothing is there. */
static char *
find_usual(void)
{
	const struct passwd *entry = getpwuid(geteuid());
	struct places_from from = {
	    .runtime = getenv("XDG_RUNTIME_DIR"),
	    .home = getenv("HOME"),
	    .state = getenv("XDG_STATE_HOME"),
	    .temporary = getenv("TMPDIR"),
	    .uid = (unsigned int)geteuid(),
	};
	char directory[4096];

	if (from.home == NULL && entry != NULL)
		from.home = entry->pw_dir;
	for (int i = 0; geteuid() != 0 && i < PLACES_MAX; i++) {
		if (places_runtime(&from, i, directory, sizeof(directory)) < 0)
			continue;
		char *path = below(directory);
		if (path != NULL && is_ours(path))
			return path;
		free(path);
	}
	return NULL;
}

/* The path in a line of /proc/net/unix, if it is a control socket that listens and that
 * we have made; else NULL. */
static const char *
own_socket(char *line)
{
	unsigned int flags = 0;
	int at = 0;
	struct stat st;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s %n", &flags, &at) < 1 || at == 0)
		return NULL;
	char *path = line + at;
	if ((flags & LISTENS) == 0 || path[0] != '/' ||
	    strlen(path) <= strlen("/" SOCKET_NAME) ||
	    strcmp(path + strlen(path) - strlen("/" SOCKET_NAME), "/" SOCKET_NAME) != 0)
		return NULL;
	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid()
	           ? path
	           : NULL;
}

/* The only supd that this user runs; NULL: there is none, or more than one. */
static char *
find_only(void)
{
	CLEANUP_FILE FILE *sockets = fopen("/proc/net/unix", "re");
	char *found = NULL;
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	int n = 0;

	while (sockets != NULL && getline(&line, &size, sockets) > 0) {
		const char *path = own_socket(line);

		if (path == NULL || (found != NULL && strcmp(found, path) == 0))
			continue;
		free(found);
		found = strdup(path);
		n++;
	}
	if (n == 1)
		return found;
	free(found);
	return NULL;
}

/*
 * The socket to talk to, owned by the caller: -s, -r, $SUPD_SOCKET, for others than root
 * a usual place where there is one, the system's, ./run, the only supd of this user.
 * NULL: out of memory.
 */
char *
ctl_find_socket(const char *socket, const char *directory)
{
	const char *path = socket != NULL ? socket : getenv("SUPD_SOCKET");
	const char *const common[] = {SUPD_RUNDIR "/" SOCKET_NAME, "run/" SOCKET_NAME};

	if (socket == NULL && directory != NULL)
		return below(directory);
	if (path != NULL && path[0] != '\0')
		return strdup(strncmp(path, "unix:", 5) == 0 ? path + 5 : path);
	char *found = find_usual();
	for (size_t i = 0; found == NULL && i < 2; i++)
		if (is_ours(common[i]))
			found = strdup(common[i]);
	if (found == NULL)
		found = find_only();
	return found != NULL ? found : strdup(common[0]);
}
