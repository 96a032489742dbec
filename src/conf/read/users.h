/* SPDX-License-Identifier: ISC */
/* users.h - users and groups by name or number, looked up once (private to conf/). */
#ifndef CONF_USERS_H
#define CONF_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"
#include "conf/text/arena.h"

struct user {
	uid_t uid;
	gid_t gid;
	bool has_gid; /* false: a number that the user database does not know */
	char *name;   /* NULL likewise */
	char *home, *shell;
	gid_t *groups;
	size_t n_groups;
};

struct users {
	const struct conf_options *options;
	struct arena *arena; /* names, homes and groups: kept by the configuration */
	struct map user_index, group_index;
	struct user **users;
	size_t n_users;
};

void users_init(struct users *users, struct arena *arena,
                const struct conf_options *options);
void users_done(struct users *users);
const struct user *users_find(struct users *users, const char *name, struct err *err);
/* The groups of a user with another primary group than in the database; 0, or -errno. */
int users_groups_with(struct users *users, const struct user *user, gid_t gid,
                      gid_t **ret_groups, size_t *ret_n);
int users_find_group(struct users *users, const char *name, gid_t *ret_gid,
                     struct err *err);

#endif
