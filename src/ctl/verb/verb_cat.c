/* SPDX-License-Identifier: ISC */
/* verb_cat.c - cat: the configuration in force, as YAML, and where each key comes from.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "ctl/text/actor.h"
#include "ctl/text/phrase.h"
#include "ctl/verb/verb.h"

/* Where one value comes from: "  # supd.yaml:12", or nothing. */
static void
add_origin(struct strbuf *sb, const json_t *origins, const char *key, const char *inner)
{
	size_t key_len = strlen(key);
	const json_t *origin;
	size_t i;

	json_array_foreach(origins, i, origin)
	{
		const char *name = phrase_text(origin, "key");
		const char *file = phrase_text(origin, "file");

		if (strncmp(name, key, key_len) != 0)
			continue;
		name += key_len;
		if (inner == NULL && name[0] != '\0')
			continue;
		if (inner != NULL && (name[0] != '.' || strcmp(name + 1, inner) != 0))
			continue;
		strbuf_adds(sb, "  # ");
		print_text(sb, file, strlen(file));
		if (phrase_number(origin, "line") > 0)
			strbuf_addf(sb, ":%lld",
			            (long long)phrase_number(origin, "line"));
		return;
	}
}

/* True if YAML would read this word as a string, without quotes. */
static bool
is_plain(const char *text)
{
	static const char *const others[] = {"null", "true", "false", "yes", "no",
	                                     "on",   "off",  "y",     "n"};
	size_t len = strlen(text);

	/* Letters first: what begins with a digit may be a number or a time. */
	if (len == 0 ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                 "0123456789_-./") != len)
		return false;
	if (strchr("0123456789-.", text[0]) != NULL)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcasecmp(text, others[i]) == 0)
			return false;
	return true;
}

static void
add_string(struct ctl *ctl, const char *text)
{
	if (is_plain(text))
		strbuf_adds(&ctl->out.buf, text);
	else
		print_quoted(&ctl->out, text);
}

/* A value on one line: JSON is YAML. */
static void
add_value(struct ctl *ctl, const json_t *value)
{
	if (json_is_string(value)) {
		add_string(ctl, json_string_value(value));
		return;
	}
	CLEANUP_FREE char *text =
	    json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(VARLINK_REAL_DIGITS));
	if (text != NULL)
		print_json(&ctl->out, (struct span){text, strlen(text)});
}

/* The members of an object that is the value of a key, one a line. */
static void
add_members(struct ctl *ctl, const char *key, json_t *object, const json_t *origins)
{
	struct strbuf *sb = &ctl->out.buf;
	const char *inner;
	json_t *value;

	add_origin(sb, origins, key, NULL);
	strbuf_addc(sb, '\n');
	json_object_foreach(object, inner, value)
	{
		strbuf_adds(sb, "  ");
		add_string(ctl, inner);
		strbuf_adds(sb, ": ");
		add_value(ctl, value);
		add_origin(sb, origins, key, inner);
		strbuf_addc(sb, '\n');
	}
}

/* The elements of an array of objects, one a line. */
static void
add_elements(struct ctl *ctl, const char *key, const json_t *array, const json_t *origins)
{
	struct strbuf *sb = &ctl->out.buf;
	const json_t *value;
	size_t i;

	add_origin(sb, origins, key, NULL);
	strbuf_addc(sb, '\n');
	json_array_foreach(array, i, value)
	{
		char index[24];

		(void)snprintf(index, sizeof(index), "%zu", i);
		strbuf_adds(sb, "  - ");
		add_value(ctl, value);
		add_origin(sb, origins, key, index);
		strbuf_addc(sb, '\n');
	}
}

/* True if the key, or a part of it, is in a file. */
static bool
is_set(const json_t *origins, const char *key)
{
	const size_t len = strlen(key);
	const json_t *origin;
	size_t i;

	json_array_foreach(origins, i, origin)
	{
		const char *name = phrase_text(origin, "key");

		if (strncmp(name, key, len) == 0 &&
		    (name[len] == '\0' || name[len] == '.') &&
		    phrase_number(origin, "line") > 0)
			return true;
	}
	return false;
}

static void
print_key(struct ctl *ctl, const char *key, json_t *value, const json_t *origins)
{
	add_string(ctl, key);
	strbuf_addc(&ctl->out.buf, ':');
	if (json_is_object(value) && json_object_size(value) > 0) {
		add_members(ctl, key, value, origins);
	} else if (json_is_object(json_array_get(value, 0))) {
		add_elements(ctl, key, value, origins);
	} else {
		strbuf_addc(&ctl->out.buf, ' ');
		add_value(ctl, value);
		add_origin(&ctl->out.buf, origins, key, NULL);
		strbuf_addc(&ctl->out.buf, '\n');
	}
}

/* What was set first, then the defaults. */
static void
print_spec(struct ctl *ctl, const char *name, json_t *spec, const json_t *origins)
{
	struct strbuf *sb = &ctl->out.buf;
	const char *heading = "\n# defaults\n";
	const char *key;
	json_t *value;

	if (ctl->shown++ > 0)
		strbuf_addc(sb, '\n');
	strbuf_adds(sb, "# ");
	print_text(sb, name, strlen(name));
	strbuf_addc(sb, '\n');
	json_object_foreach(spec, key, value)
	{
		if (is_set(origins, key))
			print_key(ctl, key, value, origins);
	}
	json_object_foreach(spec, key, value)
	{
		if (is_set(origins, key))
			continue;
		strbuf_adds(sb, heading);
		heading = "";
		print_key(ctl, key, value, origins);
	}
}

static int
cat_one(struct ctl *ctl, const char *name)
{
	CLEANUP(ctl_call_done)
	struct call call = {.method = "Describe",
	                    .target = name,
	                    .parameters = json_pack("{s:s}", "name", name),
	                    .repeat = true};
	struct reply reply;
	json_auto_t *answer = NULL;
	int status = ctl_ask(ctl, &call, &reply, &answer);

	if (status != 0)
		return status;
	if (ctl->options.json) {
		print_json_line(&ctl->out, reply.parameters);
	} else {
		print_spec(ctl, name, json_object_get(answer, "spec"),
		           json_object_get(answer, "origin"));
	}
	return 0;
}

/* The effective keys of each actor. */
int
verb_cat(struct ctl *ctl, char **names, uint32_t n)
{
	return actors_act(ctl, names, n, cat_one);
}
