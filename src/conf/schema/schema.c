/* SPDX-License-Identifier: ISC */
/* schema.c - finding keys, and understanding the texts behind them. */
#include "config.h"

#include "conf/schema/schema.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/suggest.h"
#include "base/sum.h"

/* An answer of schema_find(), by a hash of the name: an actor has mostly the keys that
 * the actor before it has. */
static struct found {
	const struct schema_table *table;
	unsigned int where;
	const struct schema_key *key;
} found[64];

/*
 * The key of that name at a place of `where`; failing that, the key of that name at any
 * place; NULL: no key has the name.
 */
const struct schema_key *
schema_find(const struct schema_table *table, const char *name, unsigned int where)
{
	const size_t place = fnv_text(name) % ARRAY_SIZE(found);
	const struct schema_key *elsewhere = NULL;

	if (found[place].table == table && found[place].where == where &&
	    strcmp(found[place].key->name, name) == 0)
		return found[place].key;
	for (size_t i = 0; i < table->n_keys; i++) {
		const struct schema_key *key = &table->keys[i];

		if (strcmp(key->name, name) != 0)
			continue;
		elsewhere = key;
		if ((key->where & where) != 0)
			break;
	}
	if (elsewhere != NULL)
		found[place] = (struct found){table, where, elsewhere};
	return elsewhere;
}

/* What a key of a mapping of this type may hold; NULL: there is no such key. */
const struct schema_type *
schema_below(const struct schema_type *type, const char *name)
{
	if (type->values != NULL || type->table == NULL)
		return type->values;
	const struct schema_key *key = schema_find(type->table, name, AT_NESTED);
	return key != NULL ? key->type : NULL;
}

/* "found, did you mean", as the end of the sentence about a text that was not understood.
 */
static void
explain(const struct schema_type *type, const struct yaml *node, struct err *why)
{
	if (node_is_empty(node)) {
		err_set(why, 0, "nothing is written here; write %s", type->allowed);
		return;
	}
	const char *meant = synonym_of_value(type, node->text);
	if (meant == NULL) {
		struct suggest suggest = {.word = node->text};

		for (size_t i = 0; i < type->n_words; i++)
			suggest_try(&suggest, type->words[i]);
		meant = suggest.best;
	}
	if (meant != NULL)
		err_set(why, 0,
		        "`%.100s` is not allowed here, did you mean `%s`? Write %s",
		        node->text, meant, type->allowed);
	else
		err_set(why, 0, "`%.100s` is not allowed here; write %s", node->text,
		        type->allowed);
}

/* Keep the value of a text: it is checked, read and shown, but scanned only once.  Nodes
 * lie in arenas, so none is constant memory. */
static void
keep_value(const struct yaml *node, const struct schema_type *type,
           const struct value *value)
{
	struct yaml *own = (struct yaml *)(uintptr_t)node;

	own->scanned_as = type;
	own->value = *value;
}

/*
 * Understand a text as a value of this type.  -EINVAL with the whole sentence in `why`;
 * otherwise *ret_value is filled.
 */
int
schema_scan(const struct schema_type *type, const struct yaml *node,
            struct value *ret_value, struct err *why)
{
	struct text_scan scan = {
	    .type = type, .node = node, .text = node->text, .why = why};
	int word = -1;

	ASSERT(node->type == NODE_TEXT);
	if (node->scanned_as != type) {
		why->text[0] = '\0';
		if (type->n_words > 0)
			word = names_find(type->words, type->n_words, node->text);
		if (word < 0 && type->empty_is_word && node_is_empty(node))
			word = 0;
		if (word < 0 && (type->scan == NULL || node_is_empty(node) ||
		                 type->scan(&scan) < 0)) {
			if (why->text[0] == '\0')
				explain(type, node, why);
			return -EINVAL;
		}
		keep_value(node, type, &(struct value){word, scan.number});
	}
	*ret_value = node->value;
	return 0;
}
