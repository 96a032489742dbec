/* SPDX-License-Identifier: ISC */
/* users.c - users and groups by name or number, looked up once. */
#include "config.h"

#include "conf/read/users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "conf/text/conf.h"
#include "conf/text/load_wait.h"

#define LOOKUP_BYTES_MAX (1024 * 1024)
#define GROUPS_MAX       65536

/* Nothing is known yet; what is found will live in `arena`. */
void
users_init(struct users *users, struct arena *arena, const struct conf_options *options)
{
	*users = (struct users){.arena = arena, .options = options};
}

/* Forget the index; what was handed out lives on in the arena. */
void
users_done(struct users *users)
{
	map_done(&users->user_index);
	map_done(&users->group_index);
	free(users->users);
	users->users = NULL;
}

/* Tell the parent which name is looked up: the user database may be a server, and may not
 * answer. */
static void
begin_lookup(const struct users *users, const char *kind, const char *name)
{
	wait_begin(users->options, true, "the user database (%s %.100s)", kind, name);
}

/*
 * The groups of a user with this group of its own: it, and those that list the user by
 * name (initgroups(3)).  The group of the user database is not among them where `group`
 * of the configuration takes its place.
 */
int
users_groups_with(struct users *users, const struct user *user, gid_t gid,
                  gid_t **ret_groups, size_t *ret_n)
{
	int n = 32;

	for (;;) {
		CLEANUP_FREE gid_t *groups = calloc((size_t)n, sizeof(*groups));
		int room = n, r;

		if (groups == NULL)
			return -ENOMEM;
		begin_lookup(users, "user", user->name);
		r = getgrouplist(user->name, gid, groups, &n);
		wait_end(users->options);
		if (r >= 0) {
			gid_t *kept = arena_alloc(users->arena, (size_t)n, sizeof(gid_t));

			if (kept != NULL)
				memcpy(kept, groups, (size_t)n * sizeof(gid_t));
			*ret_groups = kept;
			*ret_n = kept != NULL ? (size_t)n : 0;
			return kept != NULL ? 0 : -ENOMEM;
		}
		if (n <= room || n > GROUPS_MAX)
			return -EINVAL;
	}
}

static int
fill_user(struct users *users, const struct passwd *found, struct user *user)
{
	*user = (struct user){
	    .uid = found->pw_uid,
	    .gid = found->pw_gid,
	    .has_gid = true,
	    .name = arena_dup(users->arena, found->pw_name),
	    .home = arena_dup(users->arena, found->pw_dir),
	    .shell = arena_dup(users->arena, found->pw_shell),
	};
	if (user->name == NULL || user->home == NULL || user->shell == NULL)
		return -ENOMEM;
	return users_groups_with(users, user, user->gid, &user->groups, &user->n_groups);
}

/* Ask the user database: 1 found, 0 not there, or -errno. */
static int
ask_user(struct users *users, const char *name, struct user *user)
{
	int r = ERANGE;

	if (users->options->no_users)
		return -ETIMEDOUT;
	for (size_t size = 4096; r == ERANGE && size <= LOOKUP_BYTES_MAX; size *= 4) {
		CLEANUP_FREE char *buffer = malloc(size);
		struct passwd entry, *found = NULL;
		id_t id;

		if (buffer == NULL)
			return -ENOMEM;
		begin_lookup(users, "user", name);
		r = id_parse(name, &id) ? getpwuid_r(id, &entry, buffer, size, &found)
		                        : getpwnam_r(name, &entry, buffer, size, &found);
		wait_end(users->options);
		if (found != NULL)
			r = fill_user(users, found, user);
		if (found != NULL)
			return r < 0 ? r : 1;
	}
	/* Libraries disagree on what "no such user" is: 0, ENOENT, ESRCH, … */
	return r == ENOMEM || r == EMFILE || r == ENFILE ? -r : 0;
}

static const struct user *
remember_user(struct users *users, const char *name, const struct user *user)
{
	struct user **larger =
	    reallocarray(users->users, users->n_users + 1, sizeof(struct user *));
	const char *key = arena_dup(users->arena, name);
	struct user *kept = arena_alloc(users->arena, 1, sizeof(*kept));

	if (larger != NULL)
		users->users = larger;
	if (larger == NULL || key == NULL || kept == NULL ||
	    map_put_name(&users->user_index, key, (uint32_t)users->n_users) < 0)
		return NULL;
	*kept = *user;
	users->users[users->n_users++] = kept;
	return kept;
}

/*
 * The home of supd's own user: $HOME, else the home in the user database; either counts
 * only if it is absolute.  NULL: no home; otherwise the path is in buf.
 */
const char *
conf_own_home(const char *variable, char *buf, size_t size)
{
	struct passwd entry, *found = NULL;
	CLEANUP_FREE char *bytes = NULL;
	const char *home = variable;
	int n = -1;

	if (home == NULL || home[0] != '/') {
		bytes = malloc(LOOKUP_BYTES_MAX);
		if (bytes != NULL)
			(void)getpwuid_r(geteuid(), &entry, bytes, LOOKUP_BYTES_MAX,
			                 &found);
		home = found != NULL ? found->pw_dir : NULL;
	}
	if (home != NULL && home[0] == '/')
		n = snprintf(buf, size, "%s", home);
	return n >= 0 && (size_t)n < size ? buf : NULL;
}

/*
 * A user by name or number, with home, shell and all groups.  A number that the database
 * does not know is a user without those.  NULL: err says why.
 */
const struct user *
users_find(struct users *users, const char *name, struct err *err)
{
	struct user user = {0};
	uint32_t index;
	id_t id;

	if (map_get_name(&users->user_index, name, &index))
		return users->users[index];
	int r = ask_user(users, name, &user);
	if (r == -ETIMEDOUT) {
		err_set(err, 0, "the user database does not answer (user %.100s)", name);
		return NULL;
	}
	if (r < 0) {
		err_set(err, -r, "look up the user `%.100s`", name);
		return NULL;
	}
	if (r == 0 && !id_parse(name, &id)) {
		err_set(err, 0, "there is no user `%.100s` on this machine", name);
		return NULL;
	}
	if (r == 0)
		user.uid = id;
	const struct user *kept = remember_user(users, name, &user);
	if (kept == NULL)
		err_set(err, ENOMEM, "look up the user `%.100s`", name);
	return kept;
}

/* A group by name or number; -ENOENT, or what else prevented it, and err says why. */
int
users_find_group(struct users *users, const char *name, gid_t *ret_gid, struct err *err)
{
	int r = ERANGE;
	const char *key;
	uint32_t known;
	id_t id;

	if (map_get_name(&users->group_index, name, &known)) {
		*ret_gid = known;
		return 0;
	}
	if (id_parse(name, &id)) {
		*ret_gid = id;
		return 0;
	}
	if (users->options->no_users)
		return err_say(err, -ETIMEDOUT,
		               "the user database does not answer (group %.100s)", name);
	for (size_t size = 4096; r == ERANGE && size <= LOOKUP_BYTES_MAX; size *= 4) {
		CLEANUP_FREE char *buffer = malloc(size);
		struct group entry, *found = NULL;

		if (buffer == NULL)
			return -ENOMEM;
		begin_lookup(users, "group", name);
		r = getgrnam_r(name, &entry, buffer, size, &found);
		wait_end(users->options);
		if (found != NULL)
			known = found->gr_gid;
		if (found == NULL)
			continue;
		key = arena_dup(users->arena, name);
		if (key != NULL)
			(void)map_put_name(&users->group_index, key, known);
		*ret_gid = known;
		return 0;
	}
	return err_say(err, -ENOENT, "there is no group `%.100s` on this machine", name);
}
