/* SPDX-License-Identifier: ISC */
/* process.c - what a process needs: command, identity, environment, output. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "conf/read/own_rights.h"
#include "conf/read/read.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

/* The kernel's "overflow" id: no rights, where a mistake would ask for it. */
#define ID_NOBODY 65534

/* A command, split into words already; *ret_argv is written only if it is one. */
void
read_words(struct reader *reader, const struct yaml *node, const struct trail *trail,
           char ***ret_argv)
{
	if (node->type != NODE_LIST)
		return;
	if (node->n == 0 || node->items[0]->text[0] == '\0') {
		reader_error(
		    reader, node, trail,
		    "the command is empty; its first word is the program to execute");
		return;
	}
	char **argv = arena_alloc(reader->keep, node->n + 1, sizeof(*argv));
	char **before = reader->words;
	if (argv == NULL)
		return;
	for (size_t i = 0; i < node->n; i++) {
		const char *word = node->items[i]->text;

		/* Mostly all words but one are those of the last command. */
		if (before != NULL && *before != NULL && strcmp(*before, word) == 0)
			argv[i] = *before;
		else
			argv[i] = arena_dup(reader->keep, word);
		if (before != NULL && *before != NULL)
			before++;
	}
	/* A program without a slash is looked for in PATH. */
	if (argv[0] != NULL && argv[0][0] != '/' && strchr(argv[0], '/') != NULL)
		argv[0] = read_path(reader, node->items[0], argv[0]);
	reader->words = argv;
	*ret_argv = argv;
}

/* `environment`: what the file adds, as KEY=value. */
void
read_environment(struct reader *reader, const struct yaml *node, void *target,
                 const struct trail *trail UNUSED)
{
	struct conf_actor *actor = target;
	char **environment = arena_alloc(reader->keep, node->n + 1, sizeof(*environment));

	if (environment == NULL)
		return;
	for (size_t i = 0; i < node->n; i++)
		environment[i] =
		    arena_printf(reader->keep, "%s=%s", node->pairs[i].key->text,
		                 node->pairs[i].value->text);
	actor->process->world.environment = environment;
}

/* What can never be set is an error, what cannot be set by us a warning. */
static void
check_limit(struct reader *reader, const struct yaml *node, const struct trail *trail,
            const struct conf_limit *limit)
{
	const struct rights *rights = rights_get(reader);
	struct rlimit own;

	if (rights == NULL || getrlimit((__rlimit_resource_t)limit->resource, &own) < 0)
		return;
	if (limit->resource == RLIMIT_NOFILE && limit->value.rlim_max > rights->nr_open)
		reader_error(reader, node, trail,
		             "no process of this machine may have more than %llu "
		             "descriptors (sysctl fs.nr_open)",
		             (unsigned long long)rights->nr_open);
	else if (limit->value.rlim_max > own.rlim_max)
		rights_want(reader, node, trail, CAPABILITY_SYS_RESOURCE,
		            "a hard limit above %llu, which supd has itself,",
		            (unsigned long long)own.rlim_max);
}

/* `limits`: the soft limit is set with the hard one unless both are written. */
void
read_limits(struct reader *reader, const struct yaml *node, void *target,
            const struct trail *trail)
{
	struct conf_process *process = ((struct conf_actor *)target)->process;

	process->limits = arena_alloc(reader->keep, node->n, sizeof(*process->limits));
	for (size_t i = 0; process->limits != NULL && i < node->n; i++) {
		const struct schema_key *key =
		    schema_find(&schema_limit_names, node->pairs[i].key->text, AT_NESTED);
		struct conf_limit *limit = &process->limits[process->n_limits++];

		ASSERT(key != NULL);
		limit->resource =
		    schema_limit_resource((size_t)(key - schema_limit_names.keys));
		(void)rlimit_parse(node->pairs[i].value->text, &limit->value);
		check_limit(reader, node->pairs[i].value,
		            &(struct trail){trail, node->pairs[i].key->text, 0}, limit);
	}
}

/* Without `user`: supd's own user, and the groups that it has. */
static void
keep_own_user(struct reader *reader, struct conf_identity *id)
{
	int n = getgroups(0, NULL);

	id->uid = geteuid();
	id->gid = getegid();
	id->groups = arena_alloc(reader->keep, n > 0 ? (size_t)n : 1, sizeof(gid_t));
	if (id->groups == NULL)
		return;
	n = getgroups(n > 0 ? n : 0, id->groups);
	id->n_groups = n > 0 ? (size_t)n : 0;
}

/* At boot the actor has to wait for it (DECISIONS 62), later the file is wrong. */
static void
report_unknown(struct reader *reader, const struct yaml *node, struct conf_identity *id,
               const struct trail *trail, const char *text)
{
	if (reader_report_unknown(reader, node, trail, text) && id->unknown == NULL)
		id->unknown = arena_dup(reader->keep, text);
}

static void
take_user(struct reader *reader, const struct yaml *node, bool has_group,
          struct conf_identity *id, const struct trail *trail)
{
	struct err err;
	const struct user *user = users_find(reader->users, node->text, &err);

	if (user == NULL) {
		report_unknown(reader, node, id, trail, err.text);
		return;
	}
	if (!user->has_gid && !has_group) {
		err_set(&err, 0,
		        "the user database does not know %.100s, and so no group of it; "
		        "write `group` too",
		        node->text);
		report_unknown(reader, node, id, trail, err.text);
	}
	id->uid = user->uid;
	id->gid = user->gid;
	id->groups = user->groups;
	id->n_groups = user->n_groups;
	id->user_name = user->name;
	id->home = user->home;
	id->shell = user->shell;
}

/* `group`: in place of that of the user database, also among its other groups. */
static void
take_group(struct reader *reader, const struct yaml *node, const struct yaml *user,
           struct conf_identity *id, const struct trail *trail)
{
	struct err err;

	if (users_find_group(reader->users, node->text, &id->gid, &err) < 0) {
		report_unknown(reader, node, id, trail, err.text);
		return;
	}
	const struct user *known =
	    user != NULL ? users_find(reader->users, user->text, &err) : NULL;
	if (known == NULL || known->name == NULL)
		return;
	int r =
	    users_groups_with(reader->users, known, id->gid, &id->groups, &id->n_groups);
	if (r < 0)
		reader_error(reader, node, trail, "look up the groups of `%.100s`: %s",
		             user->text, strerror(-r));
}

static bool
has_group(const gid_t *groups, size_t n, gid_t gid)
{
	for (size_t i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* `supplementary_groups`: besides those that the user has anyway. */
static void
add_groups(struct reader *reader, const struct yaml *node, struct conf_identity *id,
           const struct trail *trail)
{
	const size_t n = node_n_items(node);
	gid_t *groups = arena_alloc(reader->keep, id->n_groups + n, sizeof(gid_t));
	struct err err;

	if (groups == NULL)
		return;
	if (id->n_groups > 0)
		memcpy(groups, id->groups, id->n_groups * sizeof(gid_t));
	id->groups = groups;
	for (size_t i = 0; i < n; i++) {
		const struct yaml *item = node_item(node, i);
		gid_t gid;

		if (users_find_group(reader->users, item->text, &gid, &err) < 0)
			report_unknown(reader, item, id,
			               node->type == NODE_LIST
			                   ? &(struct trail){trail, NULL, i}
			                   : trail,
			               err.text);
		else if (!has_group(groups, id->n_groups, gid))
			groups[id->n_groups++] = gid;
	}
}

/* True if supd itself has all groups that were asked for. */
static bool
groups_are_own(struct reader *reader, const struct conf_identity *id)
{
	struct conf_identity own = {0};

	keep_own_user(reader, &own);
	for (size_t i = 0; i < id->n_groups; i++)
		if (id->groups[i] != own.gid &&
		    !has_group(own.groups, own.n_groups, id->groups[i]))
			return false;
	return true;
}

static void
want_rights(struct reader *reader, const struct yaml *node,
            const struct conf_identity *id, const struct trail *trail)
{
	if (id->has_user && id->uid != geteuid())
		rights_want(reader, node, trail, CAPABILITY_SETUID, "to become user %u",
		            (unsigned int)id->uid);
	else if (id->has_user)
		rights_want(reader, node, trail, CAPABILITY_SETGID, "another group");
}

/* Keep the names for a later lookup; until then the process has no user and groups. */
static void
keep_asked(struct reader *reader, const struct yaml *user, const struct yaml *group,
           const struct yaml *more, struct conf_identity *id)
{
	const size_t n = more != NULL ? node_n_items(more) : 0;

	if (user != NULL)
		id->asked_user = arena_dup(reader->keep, user->text);
	if (group != NULL)
		id->asked_group = arena_dup(reader->keep, group->text);
	if (n > 0)
		id->asked_groups = arena_alloc(reader->keep, n + 1, sizeof(char *));
	for (size_t i = 0; id->asked_groups != NULL && i < n; i++)
		id->asked_groups[i] = arena_dup(reader->keep, node_item(more, i)->text);
	id->has_user = true;
	id->uid = ID_NOBODY;
	id->gid = ID_NOBODY;
	id->groups = NULL;
	id->n_groups = 0;
	id->user_name = id->home = id->shell = NULL;
}

/*
 * `user`, `group` and `supplementary_groups` of an actor, with all that the user database
 * knows: unknown ones are errors now, not when a process is started, but for boot.  An
 * ordinary user's supd that is asked to run something as that very user has nothing to
 * switch, which it could not.
 */
void
read_identity(struct reader *reader, const struct yaml *map, struct conf_actor *actor,
              const struct trail *up)
{
	struct conf_identity *id = &actor->process->identity;
	const struct yaml *user = node_get(map, "user");
	const struct yaml *group = node_get(map, "group");
	const struct yaml *more = node_get(map, "supplementary_groups");
	struct trail user_trail = {up, "user", 0};
	struct trail group_trail = {up, "group", 0};
	struct trail more_trail = {up, "supplementary_groups", 0};

	if (user == NULL && group == NULL && more == NULL)
		return;
	if (user != NULL)
		take_user(reader, user, group != NULL, id, &user_trail);
	else
		keep_own_user(reader, id);
	bool user_is_known = id->unknown == NULL;
	if (group != NULL)
		take_group(reader, group, user, id, &group_trail);
	if (more != NULL)
		add_groups(reader, more, id, &more_trail);
	if (id->unknown != NULL) {
		id->unknown_is_group = user_is_known;
		keep_asked(reader, user, group, more, id);
		return;
	}
	id->has_user = geteuid() == 0 || id->uid != geteuid() || id->gid != getegid() ||
	               (more != NULL && !groups_are_own(reader, id));
	if (user != NULL)
		want_rights(reader, user, id, &user_trail);
	else if (group != NULL)
		want_rights(reader, group, id, &group_trail);
	else
		want_rights(reader, more, id, &more_trail);
}

/* `keep_on_restart`: a list of words. */
void
read_keep_on_restart(struct reader *reader UNUSED, const struct yaml *node, void *target,
                     const struct trail *trail UNUSED)
{
	struct conf_process *process = ((struct conf_actor *)target)->process;

	process->kept.fds_on_restart = false;
	process->kept.directory_on_restart = false;
	for (size_t i = 0; node->type == NODE_LIST && i < node->n; i++) {
		if (read_value(&schema_keep_item, node->items[i]).word == 0)
			process->kept.fds_on_restart = true;
		else
			process->kept.directory_on_restart = true;
	}
}
