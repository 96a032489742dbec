/* SPDX-License-Identifier: ISC */
/* parameters.c - parameters in `with` that nothing uses. */
#include "config.h"

#include <string.h>

#include "base/suggest.h"
#include "conf/schema/schema_types.h"
#include "conf/tree/child.h"

/* Remember the `with` of the actor itself, to find parameters that nothing uses.  The
 * `with` of a template may give more than this actor needs. */
void
parameters_note(struct builder *builder, const struct brood *brood,
                const struct scope *scope, const struct trail *trail)
{
	const struct yaml *with =
	    node_get(brood->children->pairs[brood->next - 1].value, "with");

	if (with == NULL || with->type != NODE_MAP || scope->with == NULL)
		return;
	struct parameters *given =
	    arena_alloc(builder->reader->scratch, 1, sizeof(*given));
	if (given == NULL)
		return;
	*given = (struct parameters){builder->given, with, scope, trail};
	builder->given = given;
}

/* A parameter that is used, is not given, and has nearly this name. */
static const char *
nearest(const struct parameters *given, const char *name)
{
	struct suggest suggest = {.word = name};

	for (const struct scope *scope = given->scope; scope != NULL;
	     scope = scope->outer)
		for (size_t i = 0; scope->with != NULL && i < scope->with->n; i++) {
			const struct yaml *key = scope->with->pairs[i].key;

			if (key->used && node_get(given->with, key->text) == NULL)
				suggest_try(&suggest, key->text);
		}
	return suggest.best;
}

/* In a file a parameter too many is doubtful; in a command it is a mistake. */
static void
report(struct builder *builder, const struct parameters *given, const struct yaml *key)
{
	struct reader *reader = builder->reader;
	const bool is_command = builder->is_addition && builder->replica == 0;
	const char *meant = nearest(given, key->text);
	const struct trail with = {given->trail, "with", 0};
	const struct trail trail = {&with, key->text, 0};

	reader_report(reader, is_command ? CONF_ERROR : CONF_WARNING, key, &trail,
	              "nothing uses the parameter `%.80s`%s%.80s%s", key->text,
	              meant != NULL ? "; did you mean `"
	                            : ": there is no ${…} with this name",
	              meant != NULL ? meant : "", meant != NULL ? "`?" : "");
}

/*
 * Report what was given and is not used; not beside errors, which may be why nothing
 * uses it.  Aliases and templates share keys: used in one place is enough.
 */
void
parameters_check(struct builder *builder)
{
	const struct parameters *given = builder->given;

	if (builder->reader->reports->n_errors > 0)
		given = NULL;
	for (; given != NULL; given = given->next)
		for (size_t i = 0; i < given->with->n; i++)
			if (!given->with->pairs[i].key->used)
				report(builder, given, given->with->pairs[i].key);
	builder->given = NULL;
}
