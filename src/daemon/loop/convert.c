/* SPDX-License-Identifier: ISC */
/* convert.c - a first configuration: an example, or what another supervisor's says.
 *
 * What has no equivalent becomes a comment above the actor, so that nothing is lost
 * without a word.
 */
#include "config.h"

#include "daemon/loop/convert.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "conf/text/shell_words.h"
#include "daemon/loop/convert_settings.h"

#define NAME_BYTES 100
#define TEXT_MAX   (1024 * 1024)

static const char example[] =
    "# A first tree.  'supd FILE' runs it here, 'supctl status' looks at it; "
    "supd.yaml(5)\n"
    "# has all keys.  Relative paths begin at the directory of this file.\n"
    "children:\n"
    "  hello:\n"
    "    shell: \"while sleep 5; do echo hello; done\"\n"
    "#  web:\n"
    "#    command: ./server --port 8080\n"
    "#    ready: {tcp: \"127.0.0.1:8080\"}     # the next one starts when this answers\n"
    "#    environment_file: -.env\n"
    "#  worker:\n"
    "#    command: ./worker\n"
    "#    replicas: 2\n"
    "#  migrate:\n"
    "#    command: ./migrate\n"
    "#    ready: exit                        # runs once, to its end\n";

static const char *const part_keys[PART_MAX] = {
    "",        "environment", "environment_file", "hooks",
    "backoff", "limits",      "cgroup",           "success"};

struct converted {
	char name[NAME_BYTES];
	struct strbuf keys;
	struct strbuf parts[PART_MAX];
	struct strbuf notes;
};

/* ---- values ------------------------------------------------------------------------ */

/* As a text of YAML; a dollar that supd would replace is doubled. */
static void
add_text(struct strbuf *out, const char *text)
{
	struct strbuf plain;

	strbuf_init(&plain, TEXT_MAX);
	for (; *text != '\0'; text++) {
		if (text[0] == '$' && (text[1] == '{' || text[1] == '$'))
			strbuf_addc(&plain, '$');
		strbuf_addc(&plain, *text);
	}
	strbuf_add_json(out, strbuf_str(&plain));
	strbuf_done(&plain);
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
	char *copy = strdup(value);
	char *rest = copy;
	char *variable;
	bool good = copy != NULL;

	while (good && (variable = next_variable(&rest)) != NULL) {
		char *equals = strchr(variable, '=');

		good = equals != NULL && equals > variable;
		if (!good)
			break;
		*equals = '\0';
		strbuf_adds(out, out->len > 0 ? ", " : "");
		strbuf_addf(out, "%s: ", variable);
		add_text(out, equals + 1);
	}
	free(copy);
	return good;
}

/* A command without what a unit may have before it. */
static void
add_command(struct strbuf *out, const char *value)
{
	add_text(out, value + strspn(value, "-@+!:"));
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
		add_text(out, value);
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

static void
actor_begin(struct converted *actor, const char *name, size_t len)
{
	if (len >= NAME_BYTES)
		len = NAME_BYTES - 1;
	memcpy(actor->name, name, len);
	actor->name[len] = '\0';
	for (char *p = actor->name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) &&
		    (p == actor->name || strchr("_.-", *p) == NULL))
			*p = p == actor->name ? 'x' : '-';
	strbuf_init(&actor->keys, TEXT_MAX);
	strbuf_init(&actor->notes, TEXT_MAX);
	for (int i = 0; i < PART_MAX; i++)
		strbuf_init(&actor->parts[i], TEXT_MAX);
}

static void
note(struct converted *actor, const char *key, const char *value)
{
	strbuf_addf(&actor->notes, "  # no equivalent: %s=", key);
	strbuf_add_visible(&actor->notes, value, strlen(value));
	strbuf_addc(&actor->notes, '\n');
}

/* Has the actor this key already?  A second one would be an error of the file. */
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
	struct strbuf text;
	bool good;

	if (setting->form == AS_VARIABLES)
		return add_variables(&actor->parts[setting->part], value);
	if (setting->form == AS_NOTHING) {
		if (setting->ours[0] != '\0' && has_key(actor, setting->ours))
			return false;
		if (setting->ours[0] != '\0')
			strbuf_addf(&actor->keys, "    %s\n", setting->ours);
		return true;
	}
	strbuf_init(&text, TEXT_MAX);
	good = add_value(&text, setting, value);
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
	strbuf_done(&text);
	return good;
}

static void
take(struct converted *actor, const struct setting *settings, size_t n, const char *key,
     const char *value)
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

static void
actor_end(struct converted *actor, struct strbuf *out)
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

/* ---- files ------------------------------------------------------------------------- */

static char *
trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r\n");
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* `name: command`, a line of a shell each. */
static void
convert_procfile(FILE *file, struct strbuf *out)
{
	char *line = NULL;
	size_t size = 0;
	char what[32];

	while (getline(&line, &size, file) > 0) {
		char *colon = strchr(line, ':');
		struct converted actor;
		const char *command;

		if (trim(line)[0] == '#' || trim(line)[0] == '\0')
			continue;
		if (colon == NULL) {
			strbuf_addf(out, "  # no process: %s\n", trim(line));
			continue;
		}
		*colon = '\0';
		command = trim(colon + 1);
		actor_begin(&actor, trim(line), strlen(trim(line)));
		strbuf_addf(&actor.keys, "    %s: ",
		            words_want_shell(command, what, sizeof(what)) ? "shell"
		                                                          : "command");
		add_text(&actor.keys, command);
		strbuf_addc(&actor.keys, '\n');
		if (strstr(command, "PORT") != NULL)
			strbuf_adds(&actor.notes,
			            "  # foreman sets PORT: add `environment: {PORT: "
			            "\"5000\"}`\n");
		actor_end(&actor, out);
	}
	free(line);
}

/* The name in a section that is an actor; NULL: it is none. */
static const char *
section_name(const char *section, bool is_unit, const char *file)
{
	const char *slash = strrchr(file, '/');

	if (!is_unit)
		return strncmp(section, "program:", strlen("program:")) == 0
		           ? section + strlen("program:")
		           : NULL;
	return slash != NULL ? slash + 1 : file;
}

/* Sections with `key=value`: supervisord.conf, a unit. */
static void
convert_sections(FILE *file, const char *path, bool is_unit, struct strbuf *out)
{
	struct converted actor;
	char *line = NULL;
	size_t size = 0;
	bool is_open = is_unit;

	if (is_unit) {
		const char *name = section_name("", true, path);

		actor_begin(&actor, name, strcspn(name, "."));
	}
	while (getline(&line, &size, file) > 0) {
		char *text = trim(line);
		char *equals = strchr(text, '=');

		if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
			continue;
		if (text[0] == '[' && !is_unit) {
			const char *name;

			text[strcspn(text, "]")] = '\0';
			name = section_name(text + 1, false, path);
			if (is_open)
				actor_end(&actor, out);
			is_open = name != NULL;
			if (is_open)
				actor_begin(&actor, name, strlen(name));
			else
				strbuf_addf(out, "  # no equivalent: [%s]\n", text + 1);
		} else if (text[0] != '[' && equals != NULL && is_open) {
			char *comment = is_unit ? NULL : strstr(equals, " ;");

			if (comment != NULL)
				*comment = '\0';
			*equals = '\0';
			take(&actor, is_unit ? convert_systemd : convert_supervisord,
			     is_unit ? convert_n_systemd : convert_n_supervisord,
			     trim(text), trim(equals + 1));
		} else if (text[0] != '[' && is_open) {
			note(&actor, "the line before goes on", text);
		}
	}
	if (is_open)
		actor_end(&actor, out);
	free(line);
}

static int
convert_file(const char *kind, const char *path, struct strbuf *out)
{
	FILE *file = fopen(path, "re");

	if (file == NULL) {
		(void)fprintf(stderr, "supd: cannot read %s: %s\n", path,
		              strerror(errno));
		return EX_NOINPUT;
	}
	strbuf_addf(out, "  # from %s\n", path);
	if (strcmp(kind, "procfile") == 0)
		convert_procfile(file, out);
	else
		convert_sections(file, path, strcmp(kind, "systemd") == 0, out);
	(void)fclose(file);
	return EX_OK;
}

/*
 * Print a first configuration: an example without words, else KIND FILE…, where KIND is
 * procfile, supervisord or systemd.  Returns the exit status.
 */
int
convert_print(char *const *words, int n)
{
	struct strbuf out;
	int status = EX_OK;

	if (n == 0) {
		(void)fputs(example, stdout);
		return fflush(stdout) == 0 ? EX_OK : EX_OSERR;
	}
	if (n == 1 ||
	    (strcmp(words[0], "procfile") != 0 && strcmp(words[0], "supervisord") != 0 &&
	     strcmp(words[0], "systemd") != 0)) {
		(void)fprintf(stderr,
		              "supd: --init takes nothing, or procfile, supervisord "
		              "or systemd, and files\n");
		return EX_USAGE;
	}
	strbuf_init(&out, TEXT_MAX);
	strbuf_adds(&out, "children:\n");
	for (int i = 1; i < n && status == EX_OK; i++)
		status = convert_file(words[0], words[i], &out);
	if (status == EX_OK && !out.failed)
		(void)fputs(strbuf_str(&out), stdout);
	if (out.failed)
		status = EX_OSERR;
	strbuf_done(&out);
	return fflush(stdout) == 0 ? status : EX_OSERR;
}
