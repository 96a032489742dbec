/* SPDX-License-Identifier: ISC */
/* child.c - a child as in the file: its name, its template, its replicas. */
#include "config.h"

#include "conf/tree/child.h"

#include <string.h>

#include "base/suggest.h"
#include "conf/schema/schema_types.h"
#include "conf/tree/recipe.h"

static const struct yaml *
find_template(struct builder *builder, const struct yaml *use, const struct trail *trail)
{
	const struct yaml *templates = builder->input->templates;
	struct suggest suggest = {.word = use->text};
	uint32_t i;

	if (map_get_name(&builder->templates, use->text, &i))
		return templates->pairs[i].value;
	for (size_t j = 0; templates != NULL && j < templates->n; j++)
		suggest_try(&suggest, templates->pairs[j].key->text);
	if (suggest.best != NULL)
		reader_error(builder->reader, use, trail,
		             "there is no template `%.100s`, did you mean `%s`?",
		             use->text, suggest.best);
	else
		reader_error(builder->reader, use, trail, "there is no template `%.100s`",
		             use->text);
	return NULL;
}

/* `shell: TEXT` is the command, before anything is laid over it; its key says how its
 * value is read, and what reports name. */
static const struct yaml *
take_shell(struct builder *builder, const struct yaml *map, const struct trail *trail)
{
	struct reader *reader = builder->reader;
	struct arena *arena = reader->scratch;
	const struct yaml *text = node_get(map, "shell");

	if (text == NULL)
		return map;
	if (node_get(map, "command") != NULL) {
		reader_error(reader, text, &(struct trail){trail, "shell", 0},
		             "an actor has a `shell` or a `command`, not both");
		return map;
	}
	struct yaml *key = node_text(arena, node_key(map, "shell"), "command");
	struct yaml *copy = node_copy_map(arena, map, 0);
	if (key == NULL || copy == NULL)
		return map;
	key->is_shell = true;
	for (size_t i = 0; i < copy->n; i++)
		if (copy->pairs[i].value == text)
			copy->pairs[i].key = key;
	return copy;
}

/* An actor's own keys over its template's over the defaults. */
static const struct yaml *
lay_over(struct builder *builder, const struct brood *brood, const struct yaml *own,
         const struct trail *trail, bool *ret_is_broken)
{
	struct reader *reader = builder->reader;
	const struct yaml *use = node_get(own, "use");
	const struct yaml *map = take_shell(builder, own, trail);
	const struct yaml *defaults = builder->input->defaults;
	struct trail below = {trail, "use", 0};

	if (use != NULL)
		use = expand(reader, use, brood->scope, &below);
	if (use != NULL && check_value(reader, use, &schema_text, &below)) {
		const struct yaml *base = find_template(builder, use, &below);

		if (base != NULL && base->type == NODE_MAP)
			map = node_merge(reader->scratch,
			                 take_shell(builder, base, &below), map);
		*ret_is_broken = base == NULL || base->type != NODE_MAP;
	} else {
		*ret_is_broken = use != NULL;
	}
	if (map == NULL)
		return NULL;
	if (node_get(map, "children") != NULL && node_get(map, "command") == NULL)
		defaults = builder->supervisor_defaults;
	return node_merge(reader->scratch, defaults, map);
}

/* There may be more of them at run time. */
static void
note_replicas(struct builder *builder, const struct brood *brood,
              const struct child *child)
{
	struct reader *reader = builder->reader;

	recipes_note(reader,
	             arena_printf(reader->scratch, "%s/%s",
	                          reader->conf->actors[brood->index].path,
	                          child->name->text),
	             brood->children->pairs[brood->next - 1].value, brood->scope);
}

static void
count_replicas(struct builder *builder, const struct brood *brood, struct child *child,
               const struct trail *trail)
{
	struct trail below = {trail, "replicas", 0};
	const struct yaml *replicas = node_get(child->map, "replicas");

	child->n = 1;
	if (replicas == NULL || (builder->is_addition && builder->n_broods == 1)) {
		child->replicas = builder->replica > 0 ? child->name : NULL;
		child->n = builder->replica > 0 ? builder->replica : 1;
		child->done = child->n - 1;
		return;
	}
	replicas = expand(builder->reader, replicas, brood->scope, &below);
	if (replicas == NULL ||
	    !check_value(builder->reader, replicas, &schema_replicas, &below))
		return;
	child->replicas = replicas;
	note_replicas(builder, brood, child);
	child->n = (uint32_t)read_value(&schema_replicas, replicas).number;
	if (child->n == 0) {
		builder->left_out_some = true;
		child->n = builder->only_checks;
	}
}

/* True if a child has replicas, by itself or by its template. */
static bool
is_replicated(struct builder *builder, const struct yaml *own)
{
	const struct yaml *use = node_get(own, "use");
	uint32_t i;

	if (node_get(own, "replicas") != NULL)
		return true;
	if (use == NULL || use->type != NODE_TEXT ||
	    !map_get_name(&builder->templates, use->text, &i))
		return false;
	return node_get(builder->input->templates->pairs[i].value, "replicas") != NULL;
}

/* An actor x@3 written by hand beside x with replicas would be ambiguous. */
static void
check_replica_name(struct builder *builder, const struct brood *brood,
                   const struct yaml *name, const struct trail *trail)
{
	const char *at = strrchr(name->text, '@');
	char base[CONF_NAME_MAX + 1];
	uint32_t i;

	if (at == NULL || at[1] == '\0' || strspn(at + 1, "0123456789") != strlen(at + 1))
		return;
	size_t len = (size_t)(at - name->text);
	if (len >= sizeof(base))
		return;
	memcpy(base, name->text, len);
	base[len] = '\0';
	if (!map_get_name(&brood->names, base, &i))
		return;
	const struct node_pair *pair = &brood->children->pairs[i];
	if (is_replicated(builder, pair->value))
		reader_error(
		    builder->reader, name, trail,
		    "`%s` is a name of the replicas of `%s` (line %u); take another",
		    name->text, base, pair->key->line);
}

static bool
check_name(struct builder *builder, const struct yaml *name, const struct trail *trail)
{
	if (!node_is_name(name)) {
		reader_error(
		    builder->reader, name, trail,
		    "`%.100s` cannot be the name of an actor; names begin with a "
		    "letter or digit and go on with letters, digits and _ . @ -",
		    name->text);
		return false;
	}
	if (strlen(name->text) <= CONF_NAME_MAX)
		return true;
	reader_error(builder->reader, name, trail, "a name has at most %d characters",
	             CONF_NAME_MAX);
	return false;
}

/* Make ready the next child that is written below a supervisor. */
void
child_open(struct builder *builder, struct brood *brood)
{
	const struct node_pair *pair = &brood->children->pairs[brood->next++];
	struct trail trail = {brood->trail, pair->key->text, 0};
	struct child child = {.name = pair->key};

	check_replica_name(builder, brood, pair->key, &trail);
	if (check_name(builder, pair->key, &trail)) {
		if (pair->value->type == NODE_MAP)
			child.map = lay_over(builder, brood, pair->value, &trail,
			                     &child.is_broken);
		else if (node_is_empty(pair->value))
			reader_error(builder->reader, pair->value, &trail,
			             "nothing is written here; write %s",
			             schema_actor.allowed);
		else
			reader_error(builder->reader, pair->value, &trail,
			             "%s is not an actor; write %s",
			             node_type_name(pair->value), schema_actor.allowed);
	}
	if (child.map != NULL)
		count_replicas(builder, brood, &child, &trail);
	brood->child = child;
}
