/* SPDX-License-Identifier: ISC */
/* reader_owner.c - open a file that an actor chose, with no more rights than its user. */
#include "config.h"

#include "logd/read/reader_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/self/fsuser.h"

/* Of more supplementary groups it has the first ones: fewer rights, never more. */
enum { GROUPS_MAX = 256 };

/* True if that is an owner. */
bool
reader_owner_is(const char *text)
{
	return strspn(text, "0123456789:") == strlen(text) &&
	       (text[0] == '\0' || strchr(text, ':') != NULL);
}

/* The next number of the text, which goes on behind it. */
static unsigned int
take_number(const char **text)
{
	char *end;
	unsigned long number = strtoul(*text, &end, 10);

	*text = end + (*end == ':');
	return (unsigned int)number;
}

/* Have the rights of the owner at the file system; -EPERM. */
static int
enter(const char *owner)
{
	const uid_t uid = take_number(&owner);
	const gid_t gid = take_number(&owner);
	gid_t groups[GROUPS_MAX];
	size_t n = 0;

	while (*owner != '\0' && n < GROUPS_MAX)
		groups[n++] = take_number(&owner);
	return fsuser_become(uid, gid, groups, n);
}

/*
 * Open as this owner: root has its rights for that moment, any other user has no others
 * than its own.  The descriptor or -errno.
 */
int
reader_owner_open(const char *owner, const char *path, int flags)
{
	const bool is_as_owner = owner[0] != '\0' && geteuid() == 0;
	int r = is_as_owner ? enter(owner) : 0;

	if (r == 0) {
		r = open(path, flags);
		r = r < 0 ? -errno : r;
	}
	if (is_as_owner)
		fsuser_return();
	return r;
}
