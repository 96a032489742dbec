/* SPDX-License-Identifier: ISC */
/* read.c - from checked values to the members of specs. */
#include "config.h"

#include "conf/read/read.h"

#include <limits.h>
#include <string.h>

#include "base/assert.h"
#include "base/names.h"
#include "base/units.h"
#include "conf/read/expand.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"
#include "conf/text/place.h"

/* The value of a text that was found to be good. */
struct value
read_value(const struct schema_type *type, const struct yaml *node)
{
	struct value value = {.word = -1};
	struct err why;

	(void)schema_scan(type, node, &value, &why);
	return value;
}

/*
 * A path that stands in this node, as an absolute one: it is relative to the file of the
 * node, "~" is the home of the user of supd.  Lives as long as the configuration; NULL:
 * out of memory.
 */
char *
read_path(struct reader *reader, const struct yaml *node, const char *text)
{
	const char *home = NULL;
	char buf[PATH_MAX];

	if (text[0] == '~')
		home = conf_own_home(
		    environ_find(reader->options->environ, "HOME", strlen("HOME")), buf,
		    sizeof(buf));
	return place_path(reader->keep, text, reader->conf->files[node->file], home);
}

/* The same for the path of a socket, which may not become too long; NULL as well then. */
char *
read_socket_path(struct reader *reader, const struct yaml *node, const char *text,
                 const struct trail *trail)
{
	char *path = read_path(reader, node, text);

	if (path == NULL || strlen(path) <= SOCKET_PATH_MAX)
		return path;
	reader_error(
	    reader, node, trail,
	    "the path of a socket has at most %zu bytes, this one, %.200s, has %zu",
	    SOCKET_PATH_MAX, path, strlen(path));
	return NULL;
}

static void
store_number(uint64_t number, void *member, size_t size)
{
	uint32_t narrow = (uint32_t)number;
	bool truth = number != 0;

	ASSERT(size == sizeof(bool) || size == sizeof(uint32_t) ||
	       size == sizeof(uint64_t));
	if (size == sizeof(bool))
		memcpy(member, &truth, size);
	else if (size == sizeof(uint32_t))
		memcpy(member, &narrow, size);
	else
		memcpy(member, &number, size);
}

/* Into the member of `target` that the table names: a copy of a text, a word's index. */
static void
store(struct reader *reader, const struct schema_key *key, const struct yaml *node,
      void *target, const struct trail *trail)
{
	const struct conf_actor *actor = target;
	char *member = (key->owner == OWNER_SPEC      ? (char *)&actor->spec->core
	                : key->owner == OWNER_PROCESS ? (char *)actor->process
	                                              : (char *)target) +
	               key->offset;

	if (key->size == 0)
		return;
	if (key->type == &schema_command) {
		read_words(reader, node, trail, (char ***)(void *)member);
		return;
	}
	if (key->type->scan == scan_text || key->type->scan == scan_path) {
		char *copy = key->type->scan == scan_path
		                 ? read_path(reader, node, node->text)
		                 : arena_dup(reader->keep, node->text);

		ASSERT(key->size == sizeof(copy));
		memcpy(member, &copy, sizeof(copy));
		return;
	}
	struct value value = read_value(key->type, node);
	store_number(value.word >= 0 ? (uint64_t)value.word : value.number, member,
	             key->size);
}

/* Take over one value: by the key's own reader, or into a member of `target`. */
void
read_key(struct reader *reader, const struct schema_key *key, const struct yaml *node,
         void *target, const struct trail *trail)
{
	if (key->read != NULL)
		key->read(reader, node, target, trail);
	else
		store(reader, key, node, target, trail);
}

/* Take over the plain keys of one of the small mappings. */
void
read_table(struct reader *reader, const struct yaml *map,
           const struct schema_table *table, void *target)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct schema_key *key =
		    schema_find(table, map->pairs[i].key->text, AT_NESTED);

		ASSERT(key != NULL);
		ASSERT(key->read == NULL);
		store(reader, key, map->pairs[i].value, target, NULL);
	}
}

/* ---- sets ---- */

/* Add a list of exit codes, or one. */
void
read_exit_set(const struct yaml *node, struct exit_set *set)
{
	for (size_t i = 0; i < node_n_items(node); i++) {
		uint64_t range =
		    read_value(&schema_exit_codes, node_item(node, i)).number;

		exit_set_add(set, RANGE_FIRST(range), RANGE_LAST(range));
	}
}

/* Add a list of signals, or one. */
void
read_signal_set(const struct yaml *node, struct signal_set *set)
{
	for (size_t i = 0; i < node_n_items(node); i++)
		signal_set_add(
		    set, (int)read_value(&schema_signal, node_item(node, i)).number);
}

/* ---- every actor ---- */

/* `success`: keys that are absent keep their defaults. */
void
read_success(struct reader *reader UNUSED, const struct yaml *node, void *target,
             const struct trail *trail UNUSED)
{
	struct conf_actor *actor = target;
	const struct yaml *exits = node_get(node, "exit");
	const struct yaml *signals = node_get(node, "signals");

	if (exits != NULL) {
		actor->spec->core.success_exits = (struct exit_set){0};
		read_exit_set(exits, &actor->spec->core.success_exits);
	}
	if (signals != NULL) {
		actor->spec->core.success_signals = (struct signal_set){0};
		read_signal_set(signals, &actor->spec->core.success_signals);
	}
}

/* What the backoff's keys must be to each other: Akka's BackoffSupervisor, and ours. */
static void
check_backoff(struct reader *reader, const struct yaml *node,
              const struct backoff_spec *backoff, const struct trail *trail)
{
	const struct yaml *reset_after = node_get(node, "reset_after");
	char buf[3][DURATION_TEXT_MAX];

	if (backoff->max_ms < backoff->min_ms) {
		reader_error(reader, node, trail, "`max` (%s) is smaller than `min` (%s)",
		             duration_format(backoff->max_ms, buf[0]),
		             duration_format(backoff->min_ms, buf[1]));
		return;
	}
	if (reset_after != NULL && (backoff->reset_after_ms < backoff->min_ms ||
	                            backoff->reset_after_ms > backoff->max_ms))
		reader_warn(reader, reset_after, &(struct trail){trail, "reset_after", 0},
		            "%s is outside of `min` to `max` (%s to %s)",
		            duration_format(backoff->reset_after_ms, buf[0]),
		            duration_format(backoff->min_ms, buf[1]),
		            duration_format(backoff->max_ms, buf[2]));
}

/* `backoff`: `none` or a mapping; reset_after follows from min and max by default. */
void
read_backoff(struct reader *reader, const struct yaml *node, void *target,
             const struct trail *trail)
{
	struct backoff_spec *backoff = &((struct conf_actor *)target)->spec->core.backoff;

	if (node->type == NODE_TEXT) {
		backoff->none = true;
		return;
	}
	read_table(reader, node, schema_backoff.table, backoff);
	if (node_get(node, "reset_after") == NULL)
		backoff->reset_after_ms = (backoff->min_ms + backoff->max_ms) / 2;
	check_backoff(reader, node, backoff, trail);
}

/* `shutdown`: a duration, brutal_kill or infinity. */
void
read_shutdown(struct reader *reader UNUSED, const struct yaml *node, void *target,
              const struct trail *trail UNUSED)
{
	struct spec *spec = &((struct conf_actor *)target)->spec->core;
	struct value value = read_value(&schema_shutdown, node);

	if (value.word == SHUTDOWN_WORD_BRUTAL_KILL) {
		spec->stop.mode = SHUTDOWN_BRUTAL_KILL;
	} else if (value.number == DURATION_INFINITE) {
		spec->stop.mode = SHUTDOWN_INFINITY;
	} else {
		spec->stop.mode = SHUTDOWN_TIMEOUT;
		spec->stop.shutdown_ms = value.number;
	}
}

/* ---- supervisors ---- */

/* `intensity`: of a mapping what is not written keeps its default. */
void
read_intensity(struct reader *reader, const struct yaml *node, void *target,
               const struct trail *trail UNUSED)
{
	struct intensity_spec *intensity =
	    &((struct conf_actor *)target)->spec->core.policy.intensity;

	intensity->unlimited = node->type == NODE_TEXT;
	if (node->type == NODE_MAP)
		read_table(reader, node, schema_intensity.table, intensity);
}

/* `limit`: -1 restarts is no limit, which makes sense only without a period. */
void
read_limit(struct reader *reader, const struct yaml *node, void *target,
           const struct trail *trail)
{
	struct limit_spec *limit =
	    &((struct conf_actor *)target)->spec->core.policy.limit;
	const struct yaml *restarts = node_get(node, "restarts");
	uint64_t n = read_value(&schema_limit_restarts, restarts).number;

	*limit =
	    (struct limit_spec){.on = n != UINT64_MAX, .within_ms = DURATION_INFINITE};
	read_table(reader, node, schema_limit.table, limit);
	if (limit->on)
		limit->restarts = (uint32_t)n;
	else if (limit->within_ms != DURATION_INFINITE)
		reader_error(reader, restarts, trail,
		             "`restarts: -1` is no limit, and has no use for `within`; "
		             "write a number of restarts, or no `within`");
}

/*
 * Which actor is meant by a name that another one refers to, as an absolute path: a
 * relative one begins at the supervisor of that actor.  Lives as long as the
 * configuration; NULL: out of memory.
 */
char *
read_reference(struct reader *reader, const struct conf_actor *actor, const char *name)
{
	if (name[0] == '/')
		return arena_dup(reader->keep, name);
	ASSERT(actor->parent != CONF_NONE);
	return arena_printf(reader->keep, "%s/%s",
	                    reader->conf->actors[actor->parent].path, name);
}
