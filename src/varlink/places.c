/* SPDX-License-Identifier: ISC */
/* places.c - where the runtime directory of a user's supd may be. */
#include "config.h"

#include "varlink/places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

static bool
is_absolute(const char *path)
{
	return path != NULL && path[0] == '/';
}

/*
 * The runtime directory of a user other than root, from the best place (0) to the last
 * (PLACES_MAX - 1): that of the session, below the home, below the temporary directory.
 * 0; -ENOENT: this user has no such place; -ENAMETOOLONG.
 */
int
places_runtime(const struct places_from *from, int which, char *buf, size_t size)
{
	int n = -1;

	if (which == 0 && is_absolute(from->runtime))
		n = snprintf(buf, size, "%s/supd", from->runtime);
	else if (which == 1 && is_absolute(from->state))
		n = snprintf(buf, size, "%s/supd/run", from->state);
	else if (which == 1 && is_absolute(from->home))
		n = snprintf(buf, size, "%s/.local/state/supd/run", from->home);
	else if (which == 2)
		n = snprintf(buf, size, "%s/supd-%u",
		             is_absolute(from->temporary) ? from->temporary : "/tmp",
		             from->uid);
	if (n < 0)
		return -ENOENT;
	return (size_t)n < size ? 0 : -ENAMETOOLONG;
}
