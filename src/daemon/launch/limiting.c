/* SPDX-License-Identifier: ISC */
/* limiting.c - what all processes of an actor together may use: its cgroup's limits. */
#include "config.h"

#include "daemon/launch/limiting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "daemon/state/log.h"

#define TEXT_BYTES 64

/*
 * True if the actor is to live in a cgroup with controllers.  For its limits; or because
 * a rule asks whether it was killed for want of memory, where the kernel can tell.
 */
bool
limiting_is_wanted(struct cgroup_root *root, const struct actor *actor)
{
	const struct conf_process *process = actor->conf->process;

	return process->cgroup.given != 0 ||
	       (process->asks_for_oom && cgroup_root_limit(root) == 0 &&
	        names_list_has(root->controllers, "memory"));
}

/* As the kernel wants to have it written. */
static void
write_value(enum cgroup_key key, uint64_t value, char ret[TEXT_BYTES])
{
	char number[24] = "max", period[24] = "";

	if (value != CGROUP_UNLIMITED)
		(void)snprintf(number, sizeof(number), "%" PRIu64, value);
	if (key == CGROUP_CPU_MAX)
		(void)snprintf(period, sizeof(period), " %d", CGROUP_CPU_PERIOD_US);
	(void)snprintf(ret, TEXT_BYTES, "%s%s%s",
	               (key == CGROUP_IO_WEIGHT ? "default " : ""), number, period);
}

/* Where in the files a limit of the actor stands. */
static const struct conf_key *
find_key(const struct actor *actor, enum cgroup_key key)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "cgroup.%s", cgroup_key_names[key]);
	return conf_keys_find(actor->conf, name);
}

/* Log a limit that cannot be kept: actor, key, place in the file and reason. */
static void
complain(const struct conf *conf, const struct actor *actor, enum cgroup_key key,
         const char *why, int error)
{
	const struct conf_key *where = find_key(actor, key);
	const bool is_optional = actor->conf->process->cgroup.optional;
	const bool is_placed = where != NULL && where->file < conf->n_files;

	log_line(is_optional ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR,
	         "%s: %s:%u: cgroup.%s: %s%s%s%s", actor->path,
	         is_placed ? conf->files[where->file] : "?",
	         is_placed ? (unsigned int)where->line : 0, cgroup_key_names[key], why,
	         error != 0 ? ": " : "", error != 0 ? strerror(error) : "",
	         is_optional ? "; it runs without" : "");
}

/* Set a limit; 0 or -errno, which was logged. */
static int
set_one(const struct cgroup_root *root, const struct conf *conf,
        const struct actor *actor, const struct containment *containment,
        enum cgroup_key key)
{
	char text[TEXT_BYTES], why[CGROUP_PATH_MAX + CGROUP_LEAF_MAX + 128];

	if (!containment->is_limited) {
		complain(conf, actor, key,
		         "there is no cgroup of its own: none is delegated to supd", 0);
		return -EOPNOTSUPP;
	}
	if (!names_list_has(root->controllers, cgroup_controllers[key])) {
		(void)snprintf(why, sizeof(why),
		               "the controller %s is not delegated to supd (%s/limited "
		               "has: %s)",
		               cgroup_controllers[key], root->path,
		               root->controllers[0] != '\0' ? root->controllers : "none");
		complain(conf, actor, key, why, 0);
		return -EOPNOTSUPP;
	}
	write_value(key, actor->conf->process->cgroup.value[key], text);
	struct leaf_name leaf = leaf_of(containment);
	int r = cgroup_leaf_set(root, leaf.text, cgroup_files[key], text);
	if (r < 0) {
		(void)snprintf(why, sizeof(why), "write \"%s\" to %s/%s/%s", text,
		               root->path, leaf.text + strlen("../"), cgroup_files[key]);
		complain(conf, actor, key, why, -r);
	}
	return r;
}

/*
 * Set all limits that the actor has, before anything is born into its cgroup.  Returns 0;
 * or -errno when one cannot be kept that is not optional: what it is was logged, and
 * *ret_which is its enum cgroup_key.
 */
int
limiting_apply(const struct cgroup_root *root, const struct conf *conf,
               const struct actor *actor, const struct containment *containment,
               int *ret_which)
{
	const struct conf_cgroup *cgroup = &actor->conf->process->cgroup;
	int failed = 0;

	for (enum cgroup_key key = 0; key < CGROUP_KEY_MAX; key++) {
		int r = 0;

		if ((cgroup->given >> key & 1) != 0)
			r = set_one(root, conf, actor, containment, key);
		if (r != 0 && failed == 0 && !cgroup->optional) {
			failed = r;
			*ret_which = (int)key;
		}
	}
	return failed;
}
