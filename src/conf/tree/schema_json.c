/* SPDX-License-Identifier: ISC */
/* schema_json.c - the table of keys as a JSON Schema, for editors and other programs. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "conf/read/read.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

#define SCHEMA_BYTES_MAX (1024 * 1024)
#define TYPES_MAX        256

/* Types met on the way: each becomes one definition, to keep the schema flat. */
struct types {
	const struct schema_type *at[TYPES_MAX];
	size_t n;
};

static void
meet(struct types *types, const struct schema_type *type)
{
	if (type == NULL)
		return;
	for (size_t i = 0; i < types->n; i++)
		if (types->at[i] == type)
			return;
	ASSERT(types->n < TYPES_MAX);
	types->at[types->n++] = type;
}

/* All types that can be reached from the top. */
static void
meet_all(struct types *types)
{
	meet(types, &schema_top);
	for (size_t i = 0; i < types->n; i++) {
		const struct schema_type *type = types->at[i];

		meet(types, type->items);
		meet(types, type->values);
		for (size_t j = 0; type->table != NULL && j < type->table->n_keys; j++)
			if ((type->table->keys[j].where & type->where) != 0)
				meet(types, type->table->keys[j].type);
	}
}

/* Before the next of n parts. */
static void
separate(struct strbuf *out, size_t *n)
{
	if ((*n)++ > 0)
		strbuf_adds(out, ",");
}

/* True if null is a value: it is a word of this type, or stands for the word that YAML
 * reads as null. */
static bool
may_be_null(const struct schema_type *type)
{
	return type->empty_is_word || names_find(type->words, type->n_words, "null") >= 0;
}

static void
add_words(struct strbuf *out, const struct schema_type *type)
{
	strbuf_adds(out, "[");
	for (size_t i = 0; i < type->n_words; i++) {
		strbuf_adds(out, i > 0 ? "," : "");
		if (type->show == SHOW_BOOLEAN)
			strbuf_adds(out, "true");
		else
			strbuf_add_json(out, type->words[i]);
	}
	strbuf_adds(out, may_be_null(type) ? ",null]" : "]");
}

static void
add_bounds(struct strbuf *out, const struct schema_type *type, uint64_t unit)
{
	strbuf_addf(out, ",\"minimum\":%lld,\"maximum\":%llu",
	            (long long)type->min / (long long)unit,
	            (unsigned long long)(type->max / unit));
}

/* Text that is one of the words or matches the pattern, or a number. */
static void
add_pattern(struct strbuf *out, const struct schema_type *type)
{
	strbuf_addf(out, "{\"type\":[\"string\"%s%s]",
	            type->integers ? ",\"integer\"" : "",
	            may_be_null(type) ? ",\"null\"" : "");
	if (type->pattern != NULL) {
		CLEANUP(strbuf_done) struct strbuf pattern = STRBUF(SCHEMA_BYTES_MAX);

		for (size_t i = 0; i < type->n_words; i++)
			strbuf_addf(&pattern, "^%s$|", type->words[i]);
		strbuf_adds(&pattern, type->pattern);
		strbuf_adds(out, ",\"pattern\":");
		strbuf_add_json(out, strbuf_str(&pattern));
	}
	if (type->integers)
		add_bounds(out, type, 1);
}

static void
add_number(struct strbuf *out, const struct schema_type *type)
{
	const bool is_milli = type->show == SHOW_MILLI;

	/* A word may stand for a number, as `infinity`. */
	if (type->n_words > 0) {
		strbuf_addf(out, "{\"type\":[\"string\",\"%s\"],\"pattern\":\"",
		            is_milli ? "number" : "integer");
		for (size_t i = 0; i < type->n_words; i++)
			strbuf_addf(out, "%s^%s$", i > 0 ? "|" : "", type->words[i]);
		strbuf_adds(out, "\"");
	} else {
		strbuf_addf(out, "{\"type\":\"%s\"", is_milli ? "number" : "integer");
	}
	add_bounds(out, type, is_milli ? 1000 : 1);
}

static void
add_scanned(struct strbuf *out, const struct schema_type *type)
{
	if (type->show == SHOW_BOOLEAN)
		strbuf_adds(out, "{\"type\":\"boolean\"");
	else if (type->show == SHOW_INTEGER || type->show == SHOW_MILLI)
		add_number(out, type);
	else if (type->scan == scan_text)
		strbuf_adds(out, "{\"type\":[\"string\",\"number\",\"boolean\"]");
	else
		add_pattern(out, type);
}

/* A value that is no list and no mapping; editors show the message where it is wrong. */
static void
add_scalar(struct strbuf *out, const struct schema_type *type)
{
	CLEANUP(strbuf_done) struct strbuf message = STRBUF(SCHEMA_BYTES_MAX);

	if (type->scan != NULL) {
		add_scanned(out, type);
	} else {
		strbuf_adds(out, "{\"enum\":");
		add_words(out, type);
	}
	strbuf_addf(&message, "write %s", type->allowed);
	strbuf_adds(out, ",\"errorMessage\":");
	strbuf_add_json(out, strbuf_str(&message));
	strbuf_adds(out, "}");
}

static void
add_reference(struct strbuf *out, const struct schema_type *type)
{
	strbuf_addf(out, "{\"$ref\":\"#/$defs/%s\"}", type->name);
}

static void
add_property(struct strbuf *out, const struct schema_key *key)
{
	strbuf_add_json(out, key->name);
	strbuf_addf(out, ":{\"$ref\":\"#/$defs/%s\",\"description\":", key->type->name);
	strbuf_add_json(out, key->text);
	if (key->fallback != NULL)
		strbuf_addf(out, ",\"default\":%s", key->fallback);
	strbuf_adds(out, "}");
}

static void
add_table(struct strbuf *out, const struct schema_type *type)
{
	size_t n = 0;

	strbuf_adds(
	    out, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
	for (size_t i = 0; i < type->table->n_keys; i++) {
		const struct schema_key *key = &type->table->keys[i];

		if ((key->where & type->where) == 0)
			continue;
		separate(out, &n);
		add_property(out, key);
	}
	strbuf_adds(out, "}");
	if (type->table->required != NULL)
		strbuf_addf(out, ",\"required\":[\"%s\"]", type->table->required);
	strbuf_adds(out, "}");
}

static void
add_mapping(struct strbuf *out, const struct schema_type *type)
{
	strbuf_adds(out, "{\"type\":\"object\",\"additionalProperties\":");
	add_reference(out, type->values);
	if (type->names_pattern != NULL) {
		strbuf_adds(out, ",\"propertyNames\":{\"pattern\":");
		strbuf_add_json(out, type->names_pattern);
		strbuf_adds(out, "}");
	}
	strbuf_adds(out, "}");
}

/* True if there is any key in this view of the table; else the object is always empty. */
static bool
has_properties(const struct schema_type *type)
{
	for (size_t i = 0; type->table != NULL && i < type->table->n_keys; i++)
		if ((type->table->keys[i].where & type->where) != 0)
			return true;
	return false;
}

/* The kinds of values that a type takes, each an object; how many there are. */
static size_t
add_forms(struct strbuf *out, const struct schema_type *type)
{
	size_t n = 0;

	if (type->n_words > 0 || type->scan != NULL) {
		separate(out, &n);
		add_scalar(out, type);
	}
	if (type->items != NULL) {
		separate(out, &n);
		strbuf_adds(out, "{\"type\":\"array\",\"items\":");
		add_reference(out, type->items);
		strbuf_adds(out, "}");
	}
	if (has_properties(type)) {
		separate(out, &n);
		add_table(out, type);
	}
	if (type->values != NULL) {
		separate(out, &n);
		add_mapping(out, type);
	}
	return n;
}

/* Where there is only one kind it stands by itself: a program then says what is wrong in
 * it, rather than that no alternative fits.  A scalar may also have ${name}. */
static void
add_definition(struct strbuf *out, const struct schema_type *type)
{
	const bool is_scalar = type->n_words > 0 || type->scan != NULL;
	CLEANUP(strbuf_done) struct strbuf forms = STRBUF(SCHEMA_BYTES_MAX);

	strbuf_add_json(out, type->name);
	strbuf_adds(out, ":{\"title\":");
	strbuf_add_json(out, type->name);
	strbuf_adds(out, ",\"description\":");
	strbuf_add_json(out, type->allowed);
	/* Editors complete from examples, before there is a value that could be tried. */
	if (type->n_words > 0) {
		strbuf_adds(out, ",\"examples\":");
		add_words(out, type);
	}
	if (is_scalar) {
		strbuf_adds(out,
		            ",\"if\":{\"type\":\"string\",\"pattern\":\"\\\\$\\\\{\"},"
		            "\"else\":{\"title\":");
		strbuf_add_json(out, type->name);
	}
	if (add_forms(&forms, type) == 1)
		strbuf_addf(out, ",%s", strbuf_str(&forms) + 1);
	else
		strbuf_addf(out, ",\"anyOf\":[%s]}", strbuf_str(&forms));
	strbuf_adds(out, is_scalar ? "}" : "");
	out->failed |= forms.failed;
}

/*
 * The JSON Schema (draft 2020-12) of a configuration file, made from the table that
 * drives the parser.  The caller frees it.  NULL: out of memory.
 */
char *
conf_schema_json(void)
{
	struct types types = {.n = 0};
	struct strbuf out = STRBUF(SCHEMA_BYTES_MAX);

	meet_all(&types);
	strbuf_adds(&out, "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	                  "\"$id\":\"https://example.org/supd/supd.schema.json\","
	                  "\"title\":\"supd.yaml\",\"examples\":[{\"children\":{\"web\":{"
	                  "\"command\":[\"/usr/local/bin/web\",\"--port\",\"8000\"],"
	                  "\"ready\":{\"tcp\":\"127.0.0.1:8000\"}}}}],"
	                  "\"$ref\":\"#/$defs/top\",\"$defs\":{\n");
	for (size_t i = 0; i < types.n; i++) {
		if (i > 0)
			strbuf_adds(&out, ",\n");
		add_definition(&out, types.at[i]);
	}
	strbuf_adds(&out, "\n}}\n");
	return strbuf_take(&out);
}
