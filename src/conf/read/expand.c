/* SPDX-License-Identifier: ISC */
/* expand.c - ${name} in texts: parameters, the actor itself, the environment. */
#include "config.h"

#include "conf/read/expand.h"

#include <string.h>

#include "base/names.h"
#include "base/suggest.h"
#include "conf/text/place.h"

/* A text that is being expanded, and what to say if it cannot be. */
struct expansion {
	struct reader *reader;
	const struct scope *scope;
	const struct yaml *at; /* the text */
	struct strbuf out;
	struct err why; /* without a text: no fault so far */
};

/* ${env:NAME} or ${env:NAME:-TEXT}; as in the shell, :- also stands in for an empty one.
 */
static void
add_env(struct expansion *expansion, const char *text)
{
	const char *fallback = strstr(text, ":-");
	size_t len = fallback != NULL ? (size_t)(fallback - text) : strlen(text);
	const char *value = environ_find(expansion->reader->options->environ, text, len);

	if (fallback != NULL && (value == NULL || value[0] == '\0'))
		value = fallback + 2;
	if (value != NULL)
		strbuf_adds(&expansion->out, value);
	else
		err_set(&expansion->why, 0,
		        "`${env:%.80s}`: there is no such environment variable; write "
		        "${env:%.80s:-TEXT} to go on without it",
		        text, text);
}

static const char *
find_parameter(const struct scope *scope, const char *name)
{
	for (; scope != NULL; scope = scope->outer) {
		const struct yaml *value = node_get(scope->with, name);

		if (value != NULL && value->type == NODE_TEXT) {
			node_use(node_key(scope->with, name));
			return value->text;
		}
	}
	return NULL;
}

static void
explain_undefined(struct expansion *expansion, const char *name)
{
	static const char *const built_in[] = {"actor.name", "actor.path", "replica",
	                                       "file.dir"};
	struct suggest suggest = {.word = name};

	for (const struct scope *scope = expansion->scope; scope != NULL;
	     scope = scope->outer)
		for (size_t i = 0; scope->with != NULL && i < scope->with->n; i++)
			suggest_try(&suggest, scope->with->pairs[i].key->text);
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		suggest_try(&suggest, built_in[i]);
	if (strcmp(name, "replica") == 0)
		err_set(&expansion->why, 0,
		        "`${replica}` has a meaning only with `replicas`");
	else if (environ_find(expansion->reader->options->environ, name, strlen(name)) !=
	         NULL)
		err_set(&expansion->why, 0,
		        "`${%.80s}` is no parameter of `with`; for the variable of the "
		        "environment write ${env:%.80s}, for a variable of the shell "
		        "$${%.80s}",
		        name, name, name);
	else if (suggest.best != NULL)
		err_set(&expansion->why, 0,
		        "`${%.80s}` is not defined, did you mean `${%.80s}`?", name,
		        suggest.best);
	else
		err_set(&expansion->why, 0,
		        "`${%.80s}` is not defined: no parameter of that name in `with`; "
		        "a variable of the environment is ${env:%.80s}, one of the shell "
		        "$${%.80s}",
		        name, name, name);
}

static const char *
find_built_in(const struct expansion *expansion, const char *name)
{
	const struct scope *scope = expansion->scope;
	const struct reader *reader = expansion->reader;

	if (strcmp(name, "file.dir") == 0)
		return place_directory(reader->scratch,
		                       reader->conf->files[expansion->at->file]);
	if (strcmp(name, "actor.name") == 0)
		return scope->name;
	if (strcmp(name, "actor.path") == 0)
		return scope->path;
	if (strcmp(name, "replica") != 0)
		return NULL;
	while (scope != NULL && scope->replica == NULL)
		scope = scope->outer;
	return scope != NULL ? scope->replica : NULL;
}

static void
add_name(struct expansion *expansion, const char *name)
{
	if (strncmp(name, "env:", 4) == 0) {
		add_env(expansion, name + 4);
		return;
	}
	const char *value = find_built_in(expansion, name);
	if (value == NULL)
		value = find_parameter(expansion->scope, name);
	if (value != NULL)
		strbuf_adds(&expansion->out, value);
	else
		explain_undefined(expansion, name);
}

/* What stands between "${" and "}" at `text`; returns what follows, NULL at a fault. */
static const char *
add_braced(struct expansion *expansion, const char *text)
{
	const char *end = strchr(text, '}');
	char name[256];

	if (end == NULL || (size_t)(end - text) >= sizeof(name)) {
		err_set(&expansion->why, 0,
		        "`${%.40s` has no closing `}`; write $${ for a dollar", text);
		return NULL;
	}
	memcpy(name, text, (size_t)(end - text));
	name[end - text] = '\0';
	add_name(expansion, name);
	return end + 1;
}

static struct yaml *
expand_text(struct expansion *expansion, const struct yaml *node,
            const struct trail *trail)
{
	const char *text = node->text;
	struct yaml *copy = node_text(expansion->reader->scratch, node, text);

	if (copy == NULL)
		return NULL;
	strbuf_clear(&expansion->out);
	expansion->at = node;
	expansion->why.text[0] = '\0';
	while (text != NULL && *text != '\0') {
		if (text[0] == '$' && text[1] == '{') {
			text = add_braced(expansion, text + 2);
		} else {
			strbuf_addc(&expansion->out, *text);
			text += text[0] == '$' && text[1] == '$' ? 2 : 1;
		}
	}
	if (expansion->why.text[0] == '\0' && expansion->out.failed)
		err_set(&expansion->why, 0, "the text grows beyond %d bytes",
		        EXPAND_BYTES_MAX);
	copy->dollar = false;
	copy->bad = expansion->why.text[0] != '\0';
	if (copy->bad)
		reader_error(expansion->reader, node, trail, "%s", expansion->why.text);
	else
		copy->text =
		    arena_dup(expansion->reader->scratch, strbuf_str(&expansion->out));
	return copy->text != NULL ? copy : NULL;
}

/* A list or mapping that is being copied. */
struct expansion_step {
	const struct yaml *from;
	struct yaml *to;
	size_t next;
	const struct trail *trail;
};

static struct yaml *
open_copy(struct arena *arena, const struct yaml *from)
{
	struct yaml *to = node_with_room(arena, from->type, from, from->n);

	if (to != NULL)
		to->n = from->n;
	return to;
}

static void
put_part(struct expansion_step *step, const struct yaml *part)
{
	size_t i = step->next++;

	if (step->from->type == NODE_LIST)
		step->to->items[i] = part;
	else
		step->to->pairs[i] = (struct node_pair){step->from->pairs[i].key, part};
}

/* Copy what has a dollar in it; the rest is shared.  False: out of memory. */
static bool
copy_all(struct expansion *expansion, struct expansion_step *steps, size_t n)
{
	struct arena *arena = expansion->reader->scratch;

	while (n > 0) {
		struct expansion_step *step = &steps[n - 1];

		if (step->next == step->from->n) {
			n--;
			continue;
		}
		const struct yaml *part = step->from->type == NODE_LIST
		                              ? step->from->items[step->next]
		                              : step->from->pairs[step->next].value;
		if (!part->dollar) {
			put_part(step, part);
			continue;
		}
		struct trail *trail = arena_alloc(arena, 1, sizeof(*trail));
		if (trail == NULL)
			return false;
		*trail = (struct trail){step->trail, NULL, step->next};
		if (step->from->type == NODE_MAP)
			trail->name = step->from->pairs[step->next].key->text;
		if (part->type == NODE_TEXT) {
			struct yaml *text = expand_text(expansion, part, trail);

			if (text == NULL)
				return false;
			put_part(step, text);
			continue;
		}
		if (n == NODE_HEIGHT_MAX)
			return false;
		steps[n] =
		    (struct expansion_step){part, open_copy(arena, part), 0, trail};
		if (steps[n].to == NULL)
			return false;
		put_part(step, steps[n++].to);
	}
	return true;
}

/*
 * A copy of a value with every ${name} replaced; `$$` becomes `$`, a `$` before anything
 * else stands for itself.  What is not defined is reported, and its text marked as bad.
 * NULL: out of memory.
 */
const struct yaml *
expand(struct reader *reader, const struct yaml *node, const struct scope *scope,
       const struct trail *trail)
{
	if (!node->dollar)
		return node;
	struct expansion expansion = {
	    .reader = reader, .scope = scope, .out = STRBUF(EXPAND_BYTES_MAX)};
	struct expansion_step steps[NODE_HEIGHT_MAX];
	const struct yaml *copy = NULL;
	if (node->type == NODE_TEXT) {
		copy = expand_text(&expansion, node, trail);
	} else {
		steps[0] = (struct expansion_step){node, open_copy(reader->scratch, node),
		                                   0, trail};
		if (steps[0].to != NULL && copy_all(&expansion, steps, 1))
			copy = steps[0].to;
	}
	strbuf_done(&expansion.out);
	return copy;
}
