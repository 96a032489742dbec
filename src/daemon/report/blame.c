/* SPDX-License-Identifier: ISC */
/* blame.c - which line of the file asked for what could not be done. */
#include "config.h"

#include "daemon/report/blame.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/report/report.h"
#include "daemon/sockets/grown.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/state/actors.h"
#include "os/spawn/spawn.h"

/* The keys that may have asked for a step, the most particular one first.  One that ends
 * with a dot goes on with the second word of the step: "limits.nofile". */
static const struct {
	enum spawn_step step;
	const char *keys[3];
} asking[] = {
    {SPAWN_STEP_CGROUP, {"cgroup.", "containment", NULL}},
    {SPAWN_STEP_OOM, {"oom_score_adj", NULL}},
    {SPAWN_STEP_LIMIT, {"limits.", NULL}},
    {SPAWN_STEP_NICE, {"nice", NULL}},
    {SPAWN_STEP_CPUS, {"cpu_affinity", NULL}},
    {SPAWN_STEP_SCHEDULER, {"scheduler.policy", NULL}},
    {SPAWN_STEP_IO_PRIORITY, {"io_priority.class", NULL}},
    {SPAWN_STEP_ROOT, {"root", NULL}},
    {SPAWN_STEP_BOUNDING, {"capabilities.bounding", NULL}},
    {SPAWN_STEP_AMBIENT, {"capabilities.ambient", NULL}},
    {SPAWN_STEP_NO_NEW_PRIVILEGES, {"no_new_privileges", NULL}},
    {SPAWN_STEP_GROUPS, {"supplementary_groups", "user", "group"}},
    {SPAWN_STEP_GID, {"group", "user", NULL}},
    {SPAWN_STEP_UID, {"user", "group", NULL}},
    {SPAWN_STEP_DIRECTORY, {"directory", NULL}},
    {SPAWN_STEP_EXEC, {"command", NULL}},
    {SPAWN_STEP_ENVIRONMENT, {"environment", "environment_file", NULL}},
    {SPAWN_STEP_ENVIRONMENT_FILE, {"environment_file", NULL}},
    {SPAWN_STEP_USER, {"user", NULL}},
    {SPAWN_STEP_GROUP, {"group", "supplementary_groups", NULL}},
    {SPAWN_STEP_INPUT, {"stdin", NULL}},
    {SPAWN_STEP_OUTPUT, {"output.stdout", "output.stderr", NULL}},
};

/* The key as the file has it, or NULL if the key is a default. */
static const struct conf_key *
find_written(const struct conf_actor *conf, const char *name, const char *detail)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < conf->n_keys; i++) {
		const struct conf_key *key = &conf->keys[i];

		if (strncmp(key->key, name, len) != 0)
			continue;
		if (name[len - 1] == '.' ? strcmp(key->key + len, detail) == 0
		                         : key->key[len] == '\0')
			return key;
	}
	return NULL;
}

/* The socket that could not be opened, or cannot now; false: all of them are open. */
static bool
blame_socket(struct strbuf *sb, const struct reporter *reporter,
             const struct actor *actor)
{
	const struct conf *conf = conf_of_actor(reporter->actors, actor);
	uint32_t index = 0;
	const struct mailboxes *mailboxes =
	    mailboxes_for(reporter->sockets, actor, &index);
	const struct mailbox *mailbox;
	size_t i = 0;

	if (mailboxes == NULL)
		return false;
	while ((mailbox = mailboxes_of(mailboxes, index, i)) != NULL && mailbox->fd >= 0)
		i++;
	if (mailbox == NULL || mailbox->socket->place.file >= conf->n_files)
		return false;
	const struct conf_socket *found = mailbox->socket;
	strbuf_addf(sb, "`sockets.%s`, %s:%s", found->name,
	            socket_kind_names[found->kind], found->address);
	if (found->kind == SOCKET_TCP || found->kind == SOCKET_UDP)
		strbuf_addf(sb, " port %u", (unsigned int)found->port);
	strbuf_addf(sb, ", at %s:%u", conf->files[found->place.file],
	            (unsigned int)found->place.line);
	return true;
}

/* What follows the name of the step, "" if nothing does; NULL: that is another step. */
static const char *
detail_of(const char *text, enum spawn_step step)
{
	const size_t len = strlen(spawn_step_names[step]);

	if (strncmp(text, spawn_step_names[step], len) != 0)
		return NULL;
	if (text[len] == ' ')
		return text + len + 1;
	return text[len] == '\0' ? text + len : NULL;
}

/*
 * "`group` at supd.yaml:12": which key of the actor asked for this step of its start, and
 * where it stands.  The step is as cause_step() names it, "" for the exec itself.  false:
 * none did, or the actor is not known any more.
 */
bool
blame_step(struct strbuf *sb, const struct reporter *reporter, const struct actor *actor,
           const char *step)
{
	const char *name = step[0] == '\0' ? spawn_step_names[SPAWN_STEP_EXEC] : step;

	if (actor == NULL || actor->conf == NULL)
		return false;
	const struct conf *conf = conf_of_actor(reporter->actors, actor);
	if (detail_of(name, SPAWN_STEP_SOCKET) != NULL)
		return blame_socket(sb, reporter, actor);
	for (size_t i = 0; i < ARRAY_SIZE(asking); i++) {
		const char *detail = detail_of(name, asking[i].step);

		for (size_t j = 0; j < ARRAY_SIZE(asking[i].keys); j++) {
			const struct conf_key *key = NULL;

			if (detail != NULL && asking[i].keys[j] != NULL)
				key =
				    find_written(actor->conf, asking[i].keys[j], detail);
			if (key != NULL && key->file < conf->n_files) {
				strbuf_addf(sb, "`%s` at %s:%u", key->key,
				            conf->files[key->file],
				            (unsigned int)key->line);
				return true;
			}
		}
	}
	return false;
}
