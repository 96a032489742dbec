/* SPDX-License-Identifier: ISC */
/* identities.c - users and groups that were not known at boot, looked up again. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/read/read.h"
#include "conf/tree/load.h"

/* How much is written at once, as bounded_run() wants it. */
#define PIECE_MAX 65536

/* What was found.  The groups follow, and then the texts: name, home and shell, or the
 * sentence that says what is unknown; each is ended by a NUL. */
struct identity_answer {
	bool is_found;
	bool is_group; /* not found: that is a group */
	bool has_user; /* as in struct conf_process */
	bool has_name; /* the texts are those of a user; else they are empty */
	uid_t uid;
	gid_t gid;
	uint64_t n_groups;
	uint64_t n_text; /* bytes */
};

/* What an answer said, for as long as the configuration. */
struct conf_found {
	struct conf_found *next;
	gid_t bytes[];
};

static void
write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size < PIECE_MAX ? size : PIECE_MAX);

		if (n < 0)
			return;
		at += n;
		size -= (size_t)n;
	}
}

static void
write_answer(const struct conf_process *found, int fd)
{
	const char *const of_user[] = {found->identity.user_name, found->identity.home,
	                               found->identity.shell};
	struct identity_answer answer = {
	    .is_found = found->identity.unknown == NULL,
	    .is_group = found->identity.unknown_is_group,
	    .has_user = found->identity.has_user,
	    .has_name = found->identity.user_name != NULL,
	    .uid = found->identity.uid,
	    .gid = found->identity.gid,
	    .n_groups = found->identity.n_groups,
	};

	if (!answer.is_found)
		answer.n_text = strlen(found->identity.unknown) + 1;
	for (size_t i = 0; answer.is_found && answer.has_name && i < 3; i++)
		answer.n_text += strlen(of_user[i]) + 1;
	write_all(fd, &answer, sizeof(answer));
	write_all(fd, found->identity.groups, found->identity.n_groups * sizeof(gid_t));
	if (!answer.is_found)
		write_all(fd, found->identity.unknown,
		          strlen(found->identity.unknown) + 1);
	for (size_t i = 0; answer.is_found && answer.has_name && i < 3; i++)
		write_all(fd, of_user[i], strlen(of_user[i]) + 1);
}

/*
 * Look up the user and groups of a process, and write the answer to `fd`.  This may take
 * as long as the user database does: call this function in a copy of the process, as the
 * memory need not be freed there (bounded_run()).
 */
void
conf_identify(const struct conf_process *process, int fd)
{
	const struct conf_options options = {.boot = true};
	struct conf_process found = {0};
	struct conf_actor actor = {.process = &found};
	struct conf_reports reports = {0};
	struct conf *conf = conf_new();
	struct arena scratch = ARENA(CONF_MEMORY_MAX);
	struct users users;
	struct yaml keys[] = {
	    {.text = "user"}, {.text = "group"}, {.text = "supplementary_groups"}};
	struct yaml values[3] = {{.text = process->identity.asked_user},
	                         {.text = process->identity.asked_group},
	                         {.type = NODE_LIST}};
	struct node_pair pairs[3];
	struct yaml map = {.type = NODE_MAP, .pairs = pairs};

	if (conf == NULL)
		return;
	conf->files[0] = arena_dup(conf->memory, "");
	users_init(&users, conf->memory, &options);
	struct reader reader = {
	    .options = &options,
	    .reports = &reports,
	    .conf = conf,
	    .keep = conf->memory,
	    .scratch = &scratch,
	    .users = &users,
	};
	while (process->identity.asked_groups != NULL &&
	       process->identity.asked_groups[values[2].n] != NULL)
		values[2].n++;
	values[2].items = arena_alloc(&scratch, values[2].n + 1, sizeof(struct yaml *));
	for (size_t i = 0; values[2].items != NULL && i < values[2].n; i++)
		values[2].items[i] =
		    node_text(&scratch, &map, process->identity.asked_groups[i]);
	for (size_t i = 0; i < 3; i++)
		if (i < 2 ? values[i].text != NULL : values[i].n > 0)
			pairs[map.n++] = (struct node_pair){&keys[i], &values[i]};
	read_identity(&reader, &map, &actor, NULL);
	if (!conf->memory->failed && !scratch.failed)
		write_answer(&found, fd);
}

/* Forget the answers. */
void
conf_drop_identities(struct conf *conf)
{
	while (conf->found != NULL) {
		struct conf_found *next = conf->found->next;

		free(conf->found);
		conf->found = next;
	}
}

static void
take_found(struct conf_process *process, const struct identity_answer *answer,
           struct conf_found *found)
{
	char *text = (char *)(found->bytes + answer->n_groups);

	process->identity.unknown = NULL;
	process->identity.has_user = answer->has_user;
	process->identity.uid = answer->uid;
	process->identity.gid = answer->gid;
	process->identity.groups = answer->n_groups > 0 ? found->bytes : NULL;
	process->identity.n_groups = answer->n_groups;
	if (!answer->has_name)
		return;
	process->identity.user_name = text;
	process->identity.home =
	    process->identity.user_name + strlen(process->identity.user_name) + 1;
	process->identity.shell =
	    process->identity.home + strlen(process->identity.home) + 1;
}

/*
 * Take over what conf_identify() wrote about this process, which is one of the
 * configuration's.  0: it has its ids now; -ENOENT: process->unknown_is_group says of
 * which kind is what is unknown still; -EBADMSG: that is no answer; -ENOMEM.
 */
int
conf_take_identity(struct conf *conf, struct conf_process *process, const void *answer,
                   size_t size)
{
	struct identity_answer head;

	if (size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, answer, sizeof(head));
	size -= sizeof(head);
	if (head.n_groups > size / sizeof(gid_t) ||
	    head.n_text != size - head.n_groups * sizeof(gid_t))
		return -EBADMSG;
	if (!head.is_found) {
		process->identity.unknown_is_group = head.is_group;
		return -ENOENT;
	}
	struct conf_found *found = malloc(sizeof(*found) + size + 1);
	if (found == NULL)
		return -ENOMEM;
	memcpy(found->bytes, (const char *)answer + sizeof(head), size);
	found->next = conf->found;
	conf->found = found;
	conf_unseal(conf);
	take_found(process, &head, found);
	return 0;
}
