/* SPDX-License-Identifier: ISC */
/* check.c - is this what the schema allows?  And if not, a report for each fault. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cleanup.h"
#include "base/suggest.h"
#include "conf/read/read.h"

#define MESSAGE_MAX   1024
#define PATH_MAX_KEYS (2 * NODE_HEIGHT_MAX)

/* A value that waits to be checked. */
struct work {
	const struct yaml *node;
	const struct schema_type *type;
	const struct trail *trail;
};

struct checker {
	struct reader *reader;
	struct work *work;
	size_t n_work, cap;
	bool good;
};

/* "children.db.command[2]" */
static void
write_trail(const struct trail *trail, struct strbuf *out)
{
	const struct trail *steps[PATH_MAX_KEYS];
	size_t n = 0;

	for (; trail != NULL && n < PATH_MAX_KEYS; trail = trail->up)
		steps[n++] = trail;
	while (n > 0) {
		const struct trail *step = steps[--n];

		if (step->name == NULL)
			strbuf_addf(out, "[%zu]", step->index);
		else
			strbuf_addf(out, "%s%s", out->len > 0 ? "." : "", step->name);
	}
}

/*
 * Report at a node: a fault, and the file will not be used; or a doubt, if the caller
 * wants to hear of it.
 */
void
reader_report(struct reader *reader, enum conf_severity severity, const struct yaml *at,
              const struct trail *trail, const char *fmt, ...)
{
	char message[MESSAGE_MAX];
	CLEANUP(strbuf_done) struct strbuf path = STRBUF(65536);
	va_list ap;

	if (severity == CONF_WARNING && (!reader->options->warn || reader->lenient))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	write_trail(trail, &path);
	reports_add(reader->reports, severity,
	            &(struct spot){reader->conf->files[at->file], at->line, at->column},
	            strbuf_str(&path), message);
}

/* A user or group is not known: at boot the actor has to wait for it (DECISIONS 62),
 * later the file is wrong.  True at boot. */
bool
reader_report_unknown(struct reader *reader, const struct yaml *at,
                      const struct trail *trail, const char *text)
{
	const bool boot = reader->options->boot;

	reader_report(reader, boot ? CONF_WARNING : CONF_ERROR, at, trail, "%s%s", text,
	              boot ? "; until then the actor cannot be started" : "");
	return boot;
}

static void
push(struct checker *checker, const struct yaml *node, const struct schema_type *type,
     struct trail step)
{
	struct trail *trail = arena_alloc(checker->reader->scratch, 1, sizeof(*trail));

	if (trail == NULL)
		return;
	if (!ARRAY_RESERVE(checker->work, checker->n_work, checker->cap)) {
		checker->reader->scratch->failed = true;
		return;
	}
	*trail = step;
	checker->work[checker->n_work++] = (struct work){node, type, trail};
}

static void
check_text(struct checker *checker, const struct work *work)
{
	const struct schema_type *type = work->type;
	struct value value;
	struct err why;

	if (work->node->bad) {
		checker->good = false;
		return;
	}
	if (checker->reader->lenient && strstr(work->node->text, "${") != NULL)
		return;
	if (type->scan == NULL && type->n_words == 0) {
		reader_error(checker->reader, work->node, work->trail, "%s; write %s",
		             node_is_empty(work->node) ? "nothing is written here"
		                                       : "a text is not allowed here",
		             type->allowed);
		checker->good = false;
		return;
	}
	if (schema_scan(type, work->node, &value, &why) == 0)
		return;
	reader_error(checker->reader, work->node, work->trail, "%s", why.text);
	checker->good = false;
}

static void
check_list(struct checker *checker, const struct work *work)
{
	if (work->type->items == NULL) {
		reader_error(checker->reader, work->node, work->trail,
		             "a list is not allowed here; write %s", work->type->allowed);
		checker->good = false;
		return;
	}
	for (size_t i = 0; i < work->node->n; i++)
		push(checker, work->node->items[i], work->type->items,
		     (struct trail){work->trail, NULL, i});
}

/* A key that resembles none: name all there are, if they are few. */
static void
refuse_stranger(struct reader *reader, const struct yaml *map, const struct yaml *name,
                const struct schema_type *type, const struct trail *trail)
{
	CLEANUP(strbuf_done) struct strbuf all = STRBUF(MESSAGE_MAX / 2);

	if (type->table->is_long) {
		reader_error(reader, name, trail, "unknown key `%.100s`; %s", name->text,
		             synonym_place(type, map, name->text));
		return;
	}
	for (size_t i = 0; i < type->table->n_keys; i++)
		strbuf_addf(&all, "%s%s", all.len > 0 ? ", " : "",
		            type->table->keys[i].name);
	reader_error(reader, name, trail, "unknown key `%.100s`; there are: %s",
	             name->text, strbuf_str(&all));
}

/* The key that was probably meant by this name; NULL: none. */
static const char *
nearest_key(const struct schema_type *type, const char *name)
{
	const char *meant = synonym_of_key(type, name);
	struct suggest suggest = {.word = name};

	if (meant != NULL)
		return meant;
	for (size_t i = 0; i < type->table->n_keys; i++)
		if ((type->table->keys[i].where & type->where) != 0)
			suggest_try(&suggest, type->table->keys[i].name);
	return suggest.best;
}

/*
 * The key of that name in `map`, if it may stand in a mapping of this type.  NULL: it may
 * not, which was reported.
 */
const struct schema_key *
check_key(struct reader *reader, const struct yaml *map, const struct yaml *name,
          const struct schema_type *type, const struct trail *up)
{
	const struct schema_key *key = schema_find(type->table, name->text, type->where);
	struct trail trail = {up, name->text, 0};

	if (key != NULL && (key->where & type->where) != 0)
		return key;
	if (key != NULL) {
		reader_error(reader, name, &trail, "`%s` %s", name->text,
		             schema_misplaced(key, type->where));
		return NULL;
	}
	const char *remark = synonym_remark(type, name->text);
	const char *meant = nearest_key(type, name->text);
	if (node_is_unindented(map, name->text))
		reader_error(reader, name, &trail,
		             "unknown key `%.100s`, did you mean an actor below "
		             "`children`? Indent it",
		             name->text);
	else if (remark != NULL)
		reader_error(reader, name, &trail, "unknown key `%.100s`: %s", name->text,
		             remark);
	else if (meant != NULL)
		reader_error(reader, name, &trail,
		             "unknown key `%.100s`, did you mean `%s`?", name->text,
		             meant);
	else
		refuse_stranger(reader, map, name, type, &trail);
	return NULL;
}

static void
check_known_keys(struct checker *checker, const struct work *work)
{
	const char *required = work->type->table->required;
	size_t n_good = 0;

	for (size_t i = 0; i < work->node->n; i++) {
		const struct node_pair *pair = &work->node->pairs[i];
		const struct schema_key *key = check_key(
		    checker->reader, work->node, pair->key, work->type, work->trail);

		if (key == NULL)
			continue;
		n_good++;
		push(checker, pair->value, key->type,
		     (struct trail){work->trail, pair->key->text, 0});
	}
	if (n_good < work->node->n)
		checker->good = false;
	/* With another key refused, the missing one would only be noise. */
	if (required == NULL || n_good < work->node->n ||
	    node_get(work->node, required) != NULL)
		return;
	reader_error(checker->reader, work->node, work->trail, "`%s` is missing here",
	             required);
	checker->good = false;
}

/* True if the name may be part of what it is used for: a path, an environment variable,
 * or LISTEN_FDNAMES. */
static bool
name_matches(const struct schema_type *type, const struct yaml *name)
{
	if (type->names_pattern == NULL)
		return true;
	if (strcmp(type->names_pattern, "^[^=]+$") == 0)
		return name->text[0] != '\0' && strchr(name->text, '=') == NULL;
	return node_is_name(name);
}

static void
check_any_keys(struct checker *checker, const struct work *work)
{
	for (size_t i = 0; i < work->node->n; i++) {
		const struct node_pair *pair = &work->node->pairs[i];

		if (!name_matches(work->type, pair->key)) {
			reader_error(checker->reader, pair->key, work->trail,
			             "`%.100s` cannot be a name here; names match %s",
			             pair->key->text, work->type->names_pattern);
			checker->good = false;
		}
		push(checker, pair->value, work->type->values,
		     (struct trail){work->trail, pair->key->text, 0});
	}
}

static void
check_map(struct checker *checker, const struct work *work)
{
	if (work->type->values != NULL) {
		check_any_keys(checker, work);
	} else if (work->type->table != NULL) {
		check_known_keys(checker, work);
	} else {
		reader_error(checker->reader, work->node, work->trail,
		             "a mapping is not allowed here; write %s",
		             work->type->allowed);
		checker->good = false;
	}
}

/*
 * Look at a value and everything below it, and report all that the schema does not
 * allow.  True: nothing was found, and the value can be read.
 */
bool
check_value(struct reader *reader, const struct yaml *node,
            const struct schema_type *type, const struct trail *trail)
{
	struct checker checker = {.reader = reader, .good = true};
	struct work work = {node, type, trail};

	for (;;) {
		switch (work.node->type) {
		case NODE_TEXT:
			check_text(&checker, &work);
			break;
		case NODE_LIST:
			check_list(&checker, &work);
			break;
		case NODE_MAP:
			check_map(&checker, &work);
			break;
		}
		if (checker.n_work == 0)
			break;
		work = checker.work[--checker.n_work];
	}
	free(checker.work);
	return checker.good && !reader->scratch->failed;
}
