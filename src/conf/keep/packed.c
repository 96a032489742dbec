/* SPDX-License-Identifier: ISC */
/* packed.c - the parts of a configuration, for packing and unpacking. */
#include "config.h"

#include "conf/keep/packed.h"

#include <string.h>

#include "base/assert.h"
#include "base/sum.h"

#define TEXT(type, member)                    \
	{                                     \
		offsetof(type, member), false \
	}
#define NAME(type, member)                   \
	{                                    \
		offsetof(type, member), true \
	}
#define ARRAY(type, member, count, shape)                      \
	{                                                      \
		offsetof(type, member), offsetof(type, count), \
		    sizeof(((type *)NULL)->count), &(shape)    \
	}
#define LIST(type, member)                              \
	{                                               \
		offsetof(type, member), 0, 0, &one_text \
	}
#define TEXTS(list)  .texts = (list), .n_texts = ARRAY_SIZE(list)
#define ARRAYS(list) .arrays = (list), .n_arrays = ARRAY_SIZE(list)

/* ---- the small ones ---- */

static const struct packed_text one_text_texts[] = {{0, true}};
static const struct packed_shape one_text = {sizeof(char *), TEXTS(one_text_texts)};

static const struct packed_shape group = {.size = sizeof(gid_t)};
static const struct packed_shape cpus = {.size = sizeof(unsigned long)};
static const struct packed_shape limit = {.size = sizeof(struct conf_limit)};
static const struct packed_shape rule = {.size = sizeof(struct rule)};

static const struct packed_text key_texts[] = {
    NAME(struct conf_key, key),
    NAME(struct conf_key, value),
};
static const struct packed_shape key = {sizeof(struct conf_key), TEXTS(key_texts)};

static const struct packed_text socket_texts[] = {
    NAME(struct conf_socket, name),       NAME(struct conf_socket, address),
    TEXT(struct conf_socket, asked_user), TEXT(struct conf_socket, asked_group),
    TEXT(struct conf_socket, reply),      TEXT(struct conf_socket, handler_path),
};
static const struct packed_shape a_socket = {sizeof(struct conf_socket),
                                             TEXTS(socket_texts)};

static const struct packed_text recipe_texts[] = {TEXT(struct conf_recipe, text)};
static const struct packed_shape recipe = {sizeof(struct conf_recipe),
                                           TEXTS(recipe_texts)};
static const struct packed_text watch_texts[] = {NAME(struct conf_watch, path)};
static const struct packed_array watch_arrays[] = {LIST(struct conf_watch, run)};
static const struct packed_shape watch = {sizeof(struct conf_watch), TEXTS(watch_texts),
                                          ARRAYS(watch_arrays)};
static const struct packed_shape watch_spec = {.size = sizeof(struct watch_spec)};
static const struct packed_text need_texts[] = {NAME(struct conf_need, path)};
static const struct packed_shape need = {sizeof(struct conf_need), TEXTS(need_texts)};
static const struct packed_shape need_spec = {.size = sizeof(struct need_spec)};

static const struct packed_array defaults_arrays[] = {
    ARRAY(struct conf_defaults, keys, n_keys, key),
};
static const struct packed_shape defaults = {.size = sizeof(struct conf_defaults),
                                             ARRAYS(defaults_arrays)};

/* ---- those that have some ---- */

static const struct packed_text process_texts[] = {
    TEXT(struct conf_process, identity.unknown),
    TEXT(struct conf_process, identity.asked_user),
    TEXT(struct conf_process, identity.asked_group),
    TEXT(struct conf_process, identity.user_name),
    TEXT(struct conf_process, identity.home),
    TEXT(struct conf_process, identity.shell),
    TEXT(struct conf_process, world.root),
    TEXT(struct conf_process, world.directory),
    TEXT(struct conf_process, world.input),
    TEXT(struct conf_process, output.out.file),
    TEXT(struct conf_process, output.err.file),
    TEXT(struct conf_process, readiness.pattern),
    TEXT(struct conf_process, readiness.probe.address),
    TEXT(struct conf_process, readiness.probe.host),
    TEXT(struct conf_process, readiness.probe.resource),
    TEXT(struct conf_process, health.address),
    TEXT(struct conf_process, health.host),
    TEXT(struct conf_process, health.resource),
};
static const struct packed_array process_arrays[] = {
    LIST(struct conf_process, identity.asked_groups),
    LIST(struct conf_process, world.environment),
    LIST(struct conf_process, world.environment_files),
    LIST(struct conf_process, orders.stop_command),
    LIST(struct conf_process, orders.reload_command),
    LIST(struct conf_process, readiness.probe.command),
    LIST(struct conf_process, health.command),
    LIST(struct conf_process, hooks[HOOK_PRE_START]),
    LIST(struct conf_process, hooks[HOOK_POST_START]),
    LIST(struct conf_process, hooks[HOOK_PRE_RESTART]),
    LIST(struct conf_process, hooks[HOOK_POST_RESTART]),
    LIST(struct conf_process, hooks[HOOK_PRE_STOP]),
    LIST(struct conf_process, hooks[HOOK_POST_STOP]),
    ARRAY(struct conf_process, identity.groups, identity.n_groups, group),
    ARRAY(struct conf_process, attributes.cpus, attributes.n_cpus, cpus),
    ARRAY(struct conf_process, limits, n_limits, limit),
    ARRAY(struct conf_process, sockets, n_sockets, a_socket),
};
const struct packed_shape packed_process = {sizeof(struct conf_process),
                                            TEXTS(process_texts), ARRAYS(process_arrays)};

static const struct packed_array spec_arrays[] = {
    ARRAY(struct conf_spec, core.on_failure.rules, core.on_failure.n_rules, rule),
    ARRAY(struct conf_spec, core.policy.decider.rules, core.policy.decider.n_rules, rule),
    ARRAY(struct conf_spec, core.watches, core.n_watches, watch_spec),
    ARRAY(struct conf_spec, watches, core.n_watches, watch),
    ARRAY(struct conf_spec, core.needs, core.n_needs, need_spec),
    ARRAY(struct conf_spec, needs, core.n_needs, need),
};
const struct packed_shape packed_spec = {.size = sizeof(struct conf_spec),
                                         ARRAYS(spec_arrays)};

static const struct packed_text actor_texts[] = {
    NAME(struct conf_actor, path),
    TEXT(struct conf_actor, description),
    TEXT(struct conf_actor, base),
};
static const struct packed_array actor_arrays[] = {
    ARRAY(struct conf_actor, keys, n_keys, key),
    LIST(struct conf_actor, argv),
};
static const struct packed_shape packed_actor = {
    sizeof(struct conf_actor), TEXTS(actor_texts), ARRAYS(actor_arrays)};

static const struct packed_text conf_texts[] = {
    TEXT(struct conf, control_socket),
    TEXT(struct conf, metrics_address),
    NAME(struct conf, log_directory),
};
static const struct packed_array conf_arrays[] = {
    ARRAY(struct conf, files, n_files, one_text),
    ARRAY(struct conf, recipes, n_recipes, recipe),
    ARRAY(struct conf, common.defaults, common.n_defaults, defaults),
    ARRAY(struct conf, common.processes, common.n_processes, packed_process),
    ARRAY(struct conf, common.specs, common.n_specs, packed_spec),
    ARRAY(struct conf, actors, n_actors, packed_actor),
};
static const struct packed_shape packed_conf = {sizeof(struct conf), TEXTS(conf_texts),
                                                ARRAYS(conf_arrays)};

/* ---- the way through it ---- */

/* Visit an array, and the texts of its elements. */
static int
visit_array(struct packed_visitor *visitor, const struct packed_array *array, size_t at,
            size_t *ret_below, size_t *ret_n)
{
	int r = visitor->on_array(visitor, array, at, ret_below, ret_n);

	if (r == 0 && array->of->n_texts > 0)
		r = visitor->on_things(visitor, array->of, *ret_below, *ret_n);
	return r;
}

/* Visit the arrays of a thing, and the arrays of what is in those. */
static int
visit_arrays(struct packed_visitor *visitor, const struct packed_shape *shape, size_t at)
{
	size_t below, n, deeper, n_deeper;
	int r = 0;

	for (size_t i = 0; r == 0 && i < shape->n_arrays; i++) {
		const struct packed_shape *of = shape->arrays[i].of;

		r = visit_array(visitor, &shape->arrays[i], at, &below, &n);
		for (size_t j = 0; r == 0 && j < n * of->n_arrays; j++)
			r = visit_array(visitor, &of->arrays[j % of->n_arrays],
			                below + j / of->n_arrays * of->size, &deeper,
			                &n_deeper);
	}
	return r;
}

/* Take the visitor through a process or a spec by itself: its texts and its arrays. */
int
packed_visit_thing(struct packed_visitor *visitor, const struct packed_shape *shape,
                   size_t at)
{
	int r = visitor->on_things(visitor, shape, at, 1);

	return r < 0 ? r : visit_arrays(visitor, shape, at);
}

/*
 * Take the visitor through the configuration at `at`: itself, its files, its actors, and
 * what each of those has.  What a visitor returns below 0 ends the visit.
 */
int
packed_visit(struct packed_visitor *visitor, size_t at)
{
	size_t below, n;
	int r = visitor->on_things(visitor, &packed_conf, at, 1);

	for (size_t i = 0; r == 0 && i < packed_conf.n_arrays; i++) {
		const struct packed_shape *of = packed_conf.arrays[i].of;

		r = visit_array(visitor, &packed_conf.arrays[i], at, &below, &n);
		for (size_t j = 0; r == 0 && j < n; j++)
			r = visit_arrays(visitor, of, below + j * of->size);
	}
	return r;
}

/* The number of elements of an array, which a member of the struct at `thing` counts. */
size_t
packed_count(const struct packed_array *array, const void *thing)
{
	const void *at = (const char *)thing + array->count_offset;

	ASSERT(array->count_size == sizeof(uint32_t) ||
	       array->count_size == sizeof(size_t));
	return array->count_size == sizeof(size_t) ? *(const size_t *)at
	                                           : *(const uint32_t *)at;
}

/* Round `bytes` up to the next multiple of PACKED_ALIGN. */
size_t
packed_align(size_t bytes)
{
	return (bytes + PACKED_ALIGN - 1) / PACKED_ALIGN * PACKED_ALIGN;
}

/* ---- the layout ---- */

static uint64_t
add_number(uint64_t sum, size_t number)
{
	return sum_bytes(&number, sizeof(number), sum);
}

static uint64_t
add_shape(uint64_t sum, const struct packed_shape *shape)
{
	sum = add_number(sum, shape->size);
	for (size_t i = 0; i < shape->n_texts; i++)
		sum = add_number(sum, shape->texts[i].offset);
	for (size_t i = 0; i < shape->n_arrays; i++) {
		const struct packed_array *array = &shape->arrays[i];

		sum = add_number(sum, array->offset);
		sum = add_number(sum, array->count_offset);
		sum = add_number(sum, array->of->size);
		for (size_t j = 0; j < array->of->n_texts; j++)
			sum = add_number(sum, array->of->texts[j].offset);
	}
	return sum;
}

/*
 * A number that another program has only if it means the same by a block: the version,
 * sizes and places of members, and the words for what is kept as a number.
 */
uint64_t
packed_layout(void)
{
	static const struct {
		const char *const *words;
		size_t n;
	} lists[] = {
	    {node_kind_names, NODE_KIND_MAX},
	    {restart_type_names, RESTART_TYPE_MAX},
	    {strategy_names, STRATEGY_MAX},
	    {directive_names, DIRECTIVE_MAX},
	    {cause_kind_names, CAUSE_KIND_MAX},
	    {preset_names, PRESET_MAX},
	    {rule_log_names, RULE_LOG_MAX},
	    {reaction_names, REACTION_MAX},
	    {need_names, NEED_MAX},
	    {hook_names, HOOK_MAX},
	    {output_names, OUTPUT_MAX},
	    {containment_names, CONTAINMENT_MAX},
	    {probe_kind_names, PROBE_KIND_MAX},
	    {socket_kind_names, SOCKET_KIND_MAX},
	    {while_down_names, WHILE_DOWN_MAX},
	    {log_level_names, LOG_LEVEL_MAX},
	    {log_target_names, LOG_TARGET_MAX},
	    {log_show_names, LOG_SHOW_MAX},
	};
	uint64_t sum = add_number(PACKED_VERSION, sizeof(struct packed_head));

	sum = add_shape(sum, &packed_conf);
	for (size_t i = 0; i < ARRAY_SIZE(conf_arrays); i++)
		sum = add_shape(sum, conf_arrays[i].of);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t j = 0; j < lists[i].n; j++)
			sum =
			    sum_bytes(lists[i].words[j], strlen(lists[i].words[j]), sum);
	return sum;
}
