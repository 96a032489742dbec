/* SPDX-License-Identifier: ISC */
/* plan_text.c - the plan of Diff and Apply, for people. */
#include "config.h"

#include "ctl/text/plan_text.h"

#include <string.h>

#include "base/assert.h"
#include "ctl/text/phrase.h"

/* Longer values are cut, in bytes. */
#define VALUE_MAX 100

/* What becomes of an actor, by `change` and `effect`; "" is any effect. */
static const struct plan_word {
	const char *change, *effect, *future, *past;
	const char *to;     /* behind a number, of what is to come */
	const char *summed; /* … of what was done; "": that is to come, too */
	enum colour colour;
} words[] = {
    {"updated", "", "will be updated", "updated", "to update", "updated", COLOUR_BUSY},
    {"restarted", "start", "will be started", "started", "to start", "started",
     COLOUR_BUSY},
    {"restarted", "later", "will change at its next start", "changes at its next start",
     "to change at the next start", "", COLOUR_DIM},
    {"restarted", "", "will be restarted", "restarted", "to restart", "restarted",
     COLOUR_BUSY},
    {"added", "later", "will be added, not started", "added, not started",
     "to add without a start", "added without a start", COLOUR_GOOD},
    {"added", "", "will be added", "added", "to add", "added", COLOUR_GOOD},
    {"removed", "", "will be removed", "removed", "to remove", "removed", COLOUR_BAD},
    {"unchanged", "", "", "", "unchanged", "unchanged", COLOUR_NONE},
};

/* The row for a change; NULL: it is none that is known. */
static const struct plan_word *
find_word(const json_t *change)
{
	const char *kind = phrase_text(change, "change");
	const char *effect = phrase_text(change, "effect");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].change, kind) == 0 &&
		    (words[i].effect[0] == '\0' || strcmp(words[i].effect, effect) == 0))
			return &words[i];
	return NULL;
}

/* A value is JSON text: a string without its quotes, where it is one; "-": not set. */
static void
print_value(struct out *out, const json_t *value)
{
	const char *text = json_string_value(value);
	json_auto_t *parsed =
	    text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;

	if (json_is_string(parsed) && json_string_length(parsed) > 0)
		text = json_string_value(parsed);
	if (text == NULL)
		text = "-";
	size_t len = strlen(text);
	/* Not in the middle of a character. */
	if (len > VALUE_MAX)
		for (len = VALUE_MAX; len > 0 && (text[len] & 0xc0) == 0x80; len--)
			;
	print_text(&out->buf, text, len);
	if (text[len] != '\0')
		strbuf_adds(&out->buf, "...");
}

/* "    environment.LANG  C.UTF-8 -> C", a line for each key. */
static void
print_values(struct out *out, const json_t *values)
{
	const json_t *value;
	size_t i;

	json_array_foreach(values, i, value)
	{
		const char *key = phrase_text(value, "key");

		strbuf_adds(&out->buf, "    ");
		print_text(&out->buf, key, strlen(key));
		if (json_is_string(json_object_get(value, "old")) ||
		    json_is_string(json_object_get(value, "new"))) {
			strbuf_adds(&out->buf, "  ");
			print_value(out, json_object_get(value, "old"));
			strbuf_adds(&out->buf, out->utf8 ? " \xe2\x86\x92 " : " -> ");
			print_value(out, json_object_get(value, "new"));
		}
		strbuf_addc(&out->buf, '\n');
	}
}

/* The names of the keys alone, where there is no room for values. */
static void
print_keys(struct out *out, const json_t *keys)
{
	const json_t *key;
	size_t i;

	json_array_foreach(keys, i, key)
	{
		const char *text = json_string_value(key);

		strbuf_adds(&out->buf, i == 0 ? "  " : ", ");
		print_text(&out->buf, text != NULL ? text : "?",
		           text != NULL ? strlen(text) : 1);
	}
}

static void
print_change(struct out *out, const struct plan_word *word, const json_t *change,
             size_t width, bool is_done)
{
	const char *path = phrase_text(change, "path");
	const char *text = is_done ? word->past : word->future;
	const json_t *values = json_object_get(change, "values");

	print_colour(out, word->colour, text);
	print_pad(&out->buf, strlen(text), width);
	print_text(&out->buf, path, strlen(path));
	if (!json_is_array(values))
		print_keys(out, json_object_get(change, "keys"));
	strbuf_addc(&out->buf, '\n');
	print_values(out, values);
}

/*
 * Print a line for each actor that changes, with the old and the new value of each key,
 * and how many they are in all; as what is to come, or what was done.
 */
void
plan_text_print(struct out *out, const json_t *plan, bool is_done)
{
	size_t counts[ARRAY_SIZE(words)] = {0};
	const char *separator = "";
	const json_t *change;
	size_t width = 0, i;

	json_array_foreach(plan, i, change)
	{
		const struct plan_word *word = find_word(change);

		if (word == NULL)
			continue;
		counts[word - words]++;
		if (strlen(is_done ? word->past : word->future) > width)
			width = strlen(is_done ? word->past : word->future);
	}
	json_array_foreach(plan, i, change)
	{
		const struct plan_word *word = find_word(change);

		if (word != NULL && word->future[0] != '\0')
			print_change(out, word, change, width, is_done);
	}
	for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
		if (counts[k] == 0)
			continue;
		strbuf_addf(&out->buf, "%s%zu %s", separator, counts[k],
		            is_done && words[k].summed[0] != '\0' ? words[k].summed
		                                                  : words[k].to);
		separator = ", ";
	}
	strbuf_adds(&out->buf, separator[0] == '\0' ? "nothing to do\n" : "\n");
}
