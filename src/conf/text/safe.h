/* SPDX-License-Identifier: ISC */
/* safe.h - the users that may change a file that root trusts.
 *
 * The rule is safe_path() of sshd: the file, and each directory on the way to it, belong
 * to root or to the trusted user, and neither group nor others may write to them.  In
 * addition a directory with the sticky bit is good if its entry belongs to root or to the
 * trusted user: /tmp is such a directory.  And what the trusted user owns may be written
 * by a group of that user alone: a umask of 002 makes such files.
 */
#ifndef CONF_SAFE_H
#define CONF_SAFE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What safety_format() says is no longer. */
#define SAFETY_TEXT_MAX 512

enum safety {
	SAFE,
	SAFE_BUT_FOR_OWNER, /* an owner that is neither root nor trusted */
	SAFE_BUT_FOR_GROUP, /* which may write */
	UNSAFE,             /* everybody may write */
};

/* Where a path is the least safe. */
struct safety_report {
	enum safety safety;
	char path[PATH_MAX];
	struct stat stat;
};

/* The user, beside root, that a file is trusted to. */
struct trust {
	uid_t uid;
	gid_t gid; /* of which only that user is a member; TRUST_NO_GROUP: of none */
};

#define TRUST_NO_GROUP ((gid_t)-1)
#define TRUST_ROOT     ((struct trust){0, TRUST_NO_GROUP})

enum safety safety_of(const char *path, const struct trust *trust,
                      struct safety_report *ret);
void safety_of_file(const char *path, const struct stat *stat, const struct trust *trust,
                    struct safety_report *ret);
const char *safety_format(const struct safety_report *report, char *buf, size_t size);

#endif
