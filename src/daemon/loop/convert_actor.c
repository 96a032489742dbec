/* SPDX-License-Identifier: ISC */
/* convert_actor.c - an actor, from the settings of another supervisor. */
#include "config.h"

#include "daemon/loop/convert_actor.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "base/cleanup.h"

static const char *const part_keys[PART_MAX] = {
    "",        "environment", "environment_file", "hooks",
    "backoff", "limits",      "cgroup",           "success"};

/* ---- values ------------------------------------------------------------------------ */

/* As a text of YAML; a dollar that supd would replace is doubled. */
void
convert_add_text(struct strbuf *out, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf plain = STRBUF(CONVERT_TEXT_MAX);
	for (; *text != '\0'; text++) {
		if (text[0] == '$' && (text[1] == '{' || text[1] == '$'))
			strbuf_addc(&plain, '$');
		strbuf_addc(&plain, *text);
	}
	strbuf_add_json(out, strbuf_str(&plain));
}

/* "10", "10s", "1min 30s"; false: it is no duration of ours. */
static bool
add_duration(struct strbuf *out, const char *text)
{
	static const char *const units[][2] = {
	    {"ms", "ms"}, {"min", "m"}, {"m", "m"},  {"sec", "s"},
	    {"s", "s"},   {"h", "h"},   {"hr", "h"}, {"d", "d"},
	};
	bool any = false;

	if (strcmp(text, "infinity") == 0) {
		strbuf_adds(out, text);
		return true;
	}
	while (*text != '\0') {
		const size_t digits = strspn(text, "0123456789");
		const char *unit = text + digits + strspn(text + digits, " ");
		const size_t len = strspn(unit, "abcdefghijklmnopqrstuvwxyz");
		const char *ours = len == 0 ? "s" : NULL;

		for (size_t i = 0; i < ARRAY_SIZE(units) && ours == NULL; i++)
			if (strlen(units[i][0]) == len &&
			    strncmp(unit, units[i][0], len) == 0)
				ours = units[i][1];
		if (digits == 0 || ours == NULL)
			return false;
		strbuf_addf(out, "%.*s%s", (int)digits, text, ours);
		text = unit + len + strspn(unit + len, " ");
		any = true;
	}
	return any;
}

/* The next variable of `A=1,B="2 3"` or `A=1 "B=2 3"`; NULL: there is none. */
static char *
next_variable(char **text)
{
	char *to = *text + strspn(*text, " ,");
	char *begin = to;
	char *from = to;
	char quote = '\0';

	for (; *from != '\0' && (quote != '\0' || strchr(" ,", *from) == NULL); from++) {
		if (*from == quote)
			quote = '\0';
		else if (quote == '\0' && (*from == '"' || *from == '\''))
			quote = *from;
		else
			*to++ = *from;
	}
	*text = *from != '\0' ? from + 1 : from;
	*to = '\0';
	return to > begin ? begin : NULL;
}

static bool
add_variables(struct strbuf *out, const char *value)
{
	CLEANUP_FREE char *copy = strdup(value);
	char *rest = copy;
	char *variable;

	while (copy != NULL && (variable = next_variable(&rest)) != NULL) {
		char *equals = strchr(variable, '=');

		if (equals == NULL || equals == variable)
			return false;
		*equals = '\0';
		strbuf_adds(out, out->len > 0 ? ", " : "");
		strbuf_addf(out, "%s: ", variable);
		convert_add_text(out, equals + 1);
	}
	return copy != NULL;
}

/* A command without what a unit may have before it. */
static void
add_command(struct strbuf *out, const char *value)
{
	convert_add_text(out, value + strspn(value, "-@+!:"));
}

/* One value in the form of ours; false: it has none. */
static bool
add_value(struct strbuf *out, const struct setting *setting, const char *value)
{
	switch (setting->form) {
	case AS_COMMAND:
		add_command(out, value);
		return true;
	case AS_DURATION:
		return add_duration(out, value);
	case AS_SIGNAL:
	case AS_TEXT:
		convert_add_text(out, value);
		return true;
	case AS_CODES:
		if (value[strspn(value, "0123456789, ")] != '\0')
			return false;
		strbuf_adds(out, "[0");
		for (const char *at = value; *at != '\0'; at += strspn(at, ", ")) {
			const size_t len = strspn(at, "0123456789");

			if (len > 0 && atoi(at) != 0)
				strbuf_addf(out, ", %.*s", (int)len, at);
			at += len;
		}
		strbuf_addc(out, ']');
		return true;
	case AS_VARIABLES:
	case AS_NOTHING:
		break;
	}
	return false;
}

/* ---- actors ------------------------------------------------------------------------ */

/* An actor of this name, so far without keys. */
void
convert_begin(struct converted *actor, const char *name, size_t len)
{
	if (len >= CONVERT_NAME_BYTES)
		len = CONVERT_NAME_BYTES - 1;
	memcpy(actor->name, name, len);
	actor->name[len] = '\0';
	for (char *p = actor->name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) &&
		    (p == actor->name || strchr("_.-", *p) == NULL))
			*p = p == actor->name ? 'x' : '-';
	strbuf_init(&actor->keys, CONVERT_TEXT_MAX);
	strbuf_init(&actor->notes, CONVERT_TEXT_MAX);
	for (int i = 0; i < PART_MAX; i++)
		strbuf_init(&actor->parts[i], CONVERT_TEXT_MAX);
}

static void
note(struct converted *actor, const char *key, const char *value)
{
	strbuf_addf(&actor->notes, "  # no equivalent: %s=", key);
	strbuf_add_visible(&actor->notes, value, strlen(value));
	strbuf_addc(&actor->notes, '\n');
}

/* True if the actor has this key already.  A second one would be an error of the file. */
static bool
has_key(const struct converted *actor, const char *key)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "    %.*s: ", (int)strcspn(key, ":"), key);
	return strstr(strbuf_str(&actor->keys), line) != NULL;
}

/* Take one setting over; false: a comment has to tell of it. */
static bool
take_setting(struct converted *actor, const struct setting *setting, const char *value)
{
	if (setting->form == AS_VARIABLES)
		return add_variables(&actor->parts[setting->part], value);
	if (setting->form == AS_NOTHING) {
		if (setting->ours[0] != '\0' && has_key(actor, setting->ours))
			return false;
		if (setting->ours[0] != '\0')
			strbuf_addf(&actor->keys, "    %s\n", setting->ours);
		return true;
	}
	CLEANUP(strbuf_done) struct strbuf text = STRBUF(CONVERT_TEXT_MAX);
	bool good = add_value(&text, setting, value);
	if (good && setting->part == PART_FILES) {
		struct strbuf *files = &actor->parts[PART_FILES];

		strbuf_addf(files, "%s%s", files->len > 0 ? ", " : "", strbuf_str(&text));
	} else if (good && setting->part != PART_NONE) {
		struct strbuf *part = &actor->parts[setting->part];

		good = strstr(strbuf_str(part), setting->ours) == NULL;
		if (good)
			strbuf_addf(part, "%s%s: %s", part->len > 0 ? ", " : "",
			            setting->ours, strbuf_str(&text));
	} else if (good) {
		good = !has_key(actor, setting->ours);
		if (good)
			strbuf_addf(&actor->keys, "    %s: %s\n", setting->ours,
			            strbuf_str(&text));
	}
	return good;
}

/* Take `key=value` over by the table, else as a comment. */
void
convert_take(struct converted *actor, const struct setting *settings, size_t n,
             const char *key, const char *value)
{
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(settings[i].theirs, key) != 0 ||
		    (settings[i].value != NULL &&
		     strcasecmp(settings[i].value, value) != 0))
			continue;
		/* %n of a unit, %(here)s of supervisord. */
		if (strchr(value, '%') == NULL &&
		    take_setting(actor, &settings[i], value))
			return;
		break;
	}
	note(actor, key, value);
}

/* Append the actor, with what has no equivalent above it, and give back the memory. */
void
convert_end(struct converted *actor, struct strbuf *out)
{
	strbuf_adds(out, strbuf_str(&actor->notes));
	strbuf_addf(out, "  %s:\n", actor->name);
	strbuf_adds(out, strbuf_str(&actor->keys));
	if (!has_key(actor, "command") && !has_key(actor, "shell"))
		strbuf_adds(out, "    command: \"false\"  # nothing was said\n");
	/* Not every machine has the controllers. */
	if (actor->parts[PART_CGROUP].len > 0)
		strbuf_adds(&actor->parts[PART_CGROUP], ", optional: true");
	for (int i = PART_NONE + 1; i < PART_MAX; i++) {
		if (actor->parts[i].len > 0)
			strbuf_addf(out,
			            i == PART_FILES ? "    %s: [%s]\n" : "    %s: {%s}\n",
			            part_keys[i], strbuf_str(&actor->parts[i]));
		strbuf_done(&actor->parts[i]);
	}
	strbuf_done(&actor->keys);
	strbuf_done(&actor->notes);
}

/* A text without blanks around it; cuts the end off. */
char *
convert_trim(char *text)
{
	text += strspn(text, " \t\r\n");
	char *end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}
