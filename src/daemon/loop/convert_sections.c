/* SPDX-License-Identifier: ISC */
/* convert_sections.c - files of sections with `key=value`: supervisord.conf, units. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "daemon/loop/convert_actor.h"

/* ---- lines that go on -------------------------------------------------------------- */

static bool
is_comment(const char *text)
{
	return text[0] == '\0' || text[0] == '#' || text[0] == ';';
}

/* A line of supervisord.conf without its comment. */
static const char *
without_comment(char *line)
{
	char *comment = strstr(line, " ;");

	if (comment != NULL)
		*comment = '\0';
	return convert_trim(line);
}

/* A unit: a backslash at the end; comments in between are left out. */
static void
join_backslashes(FILE *file, struct strbuf *text)
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	while (text->len > 0 && text->data[text->len - 1] == '\\') {
		const char *more = "#";

		strbuf_truncate(text, text->len - 1);
		while (is_comment(more) && more[0] != '\0' &&
		       getline(&line, &size, file) > 0)
			more = convert_trim(line);
		strbuf_addc(text, ' ');
		strbuf_adds(text, is_comment(more) ? "" : more);
	}
}

/* supervisord.conf: a line that begins with a blank belongs to the one before. */
static void
join_indented(FILE *file, struct strbuf *text)
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	int c;

	while ((c = getc(file)) == ' ' || c == '\t') {
		const char *more =
		    getline(&line, &size, file) > 0 ? without_comment(line) : "";

		if (!is_comment(more)) {
			strbuf_addc(text, ' ');
			strbuf_adds(text, more);
		}
	}
	if (c != EOF)
		(void)ungetc(c, file);
}

/* The next line with all that continues it, in `text`; false: there is none. */
static bool
read_line(FILE *file, bool is_unit, struct strbuf *text)
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	bool any = false;

	strbuf_clear(text);
	while (!any && getline(&line, &size, file) > 0) {
		const char *own = is_unit ? convert_trim(line) : without_comment(line);

		any = !is_comment(own);
		if (any)
			strbuf_adds(text, own);
	}
	if (any && is_unit)
		join_backslashes(file, text);
	else if (any)
		join_indented(file, text);
	return any && !text->failed;
}

/* ---- a unit ------------------------------------------------------------------------ */

/* A unit is an actor with the name of its file. */
void
convert_unit(FILE *file, const char *path, struct strbuf *out)
{
	const char *name = names_last(path);
	struct converted actor;

	CLEANUP(strbuf_done) struct strbuf text = STRBUF(CONVERT_TEXT_MAX);
	convert_begin(&actor, name, strcspn(name, "."));
	while (read_line(file, true, &text)) {
		char *equals = strchr(text.data, '=');

		if (text.data[0] == '[' || equals == NULL)
			continue;
		*equals = '\0';
		convert_take(&actor, convert_systemd, convert_n_systemd,
		             convert_trim(text.data), convert_trim(equals + 1));
	}
	convert_end(&actor, out);
}

/* ---- supervisord.conf -------------------------------------------------------------- */

#define SECTIONS_MAX 1024

/* A program, as text, or a group of them. */
struct section {
	char name[CONVERT_NAME_BYTES]; /* of the actor */
	struct strbuf text;
	char *programs;  /* owned, NULL: a program */
	bool is_member;  /* of a group */
	bool is_printed; /* a group that became a supervisor */
};

struct sections {
	struct section at[SECTIONS_MAX];
	size_t n;
	struct converted actor; /* of the section that is read */
	enum { IS_OTHER, IS_PROGRAM, IS_GROUP } kind;
};

static void
end_section(struct sections *sections, struct strbuf *out)
{
	struct section *section = &sections->at[sections->n];

	if (sections->kind == IS_OTHER)
		return;
	if (sections->kind == IS_PROGRAM) {
		convert_end(&sections->actor, &section->text);
	} else {
		/* Of a group only what it has no equivalent for is to be told. */
		strbuf_adds(&section->text, strbuf_str(&sections->actor.notes));
		strbuf_done(&sections->actor.notes);
		strbuf_done(&sections->actor.keys);
		if (section->programs == NULL)
			section->programs = strdup("");
	}
	if (section->text.failed || section->text.len > CONVERT_TEXT_MAX)
		out->failed = true;
	sections->n++;
	sections->kind = IS_OTHER;
}

static void
begin_section(struct sections *sections, const char *header, struct strbuf *out)
{
	static const char *const prefixes[] = {
	    [IS_OTHER] = NULL, [IS_PROGRAM] = "program:", [IS_GROUP] = "group:"};
	const size_t len = strcspn(header, "]");

	for (int i = IS_PROGRAM; i <= IS_GROUP; i++) {
		const size_t skip = strlen(prefixes[i]);
		struct section *section = &sections->at[sections->n];

		if (strncmp(header, prefixes[i], skip) != 0 || len <= skip)
			continue;
		if (sections->n == SECTIONS_MAX) {
			out->failed = true;
			return;
		}
		convert_begin(&sections->actor, header + skip, len - skip);
		*section = (struct section){.text = STRBUF(CONVERT_TEXT_MAX)};
		memcpy(section->name, sections->actor.name, sizeof(section->name));
		sections->kind = i == IS_PROGRAM ? IS_PROGRAM : IS_GROUP;
		return;
	}
	strbuf_addf(out, "  # no equivalent: [%.*s]\n", (int)len, header);
}

static void
take_line(struct sections *sections, char *text)
{
	struct section *section = &sections->at[sections->n];
	char *equals = strchr(text, '=');

	if (equals == NULL || sections->kind == IS_OTHER)
		return;
	*equals = '\0';
	const char *value = convert_trim(equals + 1);
	if (sections->kind == IS_GROUP && strcmp(convert_trim(text), "programs") == 0)
		section->programs =
		    section->programs != NULL ? section->programs : strdup(value);
	else
		convert_take(&sections->actor, convert_supervisord,
		             sections->kind == IS_GROUP ? 0 : convert_n_supervisord,
		             convert_trim(text), value);
}

/* The program of this name; NULL: none, or it is in another group already. */
static struct section *
find_program(struct sections *sections, const char *name)
{
	struct converted actor;

	/* Sections have the names of their actors, with other characters replaced. */
	convert_begin(&actor, name, strlen(name));
	for (size_t i = 0; i < sections->n; i++) {
		struct section *section = &sections->at[i];

		if (section->programs == NULL && !section->is_member &&
		    strcmp(section->name, actor.name) == 0)
			return section;
	}
	return NULL;
}

/* A supervisor with its programs, each two levels deeper. */
static void
print_group(struct sections *sections, struct section *group, struct strbuf *out)
{
	char *rest = group->programs;
	bool any = false;

	strbuf_adds(out, strbuf_str(&group->text));
	for (char *name = strtok_r(rest, ", \t", &rest); name != NULL;
	     name = strtok_r(NULL, ", \t", &rest)) {
		struct section *program = find_program(sections, name);

		if (program == NULL) {
			strbuf_addf(out, "  # no program of the group %s: %s\n",
			            group->name, name);
			continue;
		}
		if (!any)
			strbuf_addf(out, "  %s:\n    children:\n", group->name);
		any = group->is_printed = true;
		program->is_member = true;
		for (const char *line = strbuf_str(&program->text); *line != '\0';
		     line += strcspn(line, "\n") + 1)
			strbuf_addf(out, "    %.*s\n", (int)strcspn(line, "\n"), line);
	}
}

/* True if a supervisor stands where the actor of a program alone would. */
static bool
is_taken(const struct sections *sections, const char *name)
{
	for (size_t i = 0; i < sections->n; i++)
		if (sections->at[i].is_printed && strcmp(sections->at[i].name, name) == 0)
			return true;
	return false;
}

/* A program that is in no group; it has another name where a group has the same. */
static void
print_program(const struct sections *sections, const struct section *program,
              struct strbuf *out)
{
	const char *text = strbuf_str(&program->text);
	char header[CONVERT_NAME_BYTES + 8];

	(void)snprintf(header, sizeof(header), "  %s:\n", program->name);
	const char *at = is_taken(sections, program->name) ? strstr(text, header) : NULL;
	if (at != NULL) {
		strbuf_add(out, text, (size_t)(at - text));
		strbuf_addf(out, "  %s-program:   # a group has the name %s\n",
		            program->name, program->name);
		text = at + strlen(header);
	}
	strbuf_adds(out, text);
}

static void
print_sections(struct sections *sections, struct strbuf *out)
{
	for (size_t i = 0; i < sections->n; i++)
		if (sections->at[i].programs != NULL)
			print_group(sections, &sections->at[i], out);
	for (size_t i = 0; i < sections->n; i++) {
		const struct section *section = &sections->at[i];

		if (section->programs == NULL && !section->is_member)
			print_program(sections, section, out);
	}
	for (size_t i = 0; i < sections->n; i++) {
		strbuf_done(&sections->at[i].text);
		free(sections->at[i].programs);
	}
}

/* Each program is an actor, each group a supervisor of its programs. */
void
convert_supervisor(FILE *file, struct strbuf *out)
{
	CLEANUP_FREE struct sections *sections = calloc(1, sizeof(*sections));

	if (sections == NULL) {
		out->failed = true;
		return;
	}
	CLEANUP(strbuf_done) struct strbuf text = STRBUF(CONVERT_TEXT_MAX);
	while (!out->failed && read_line(file, false, &text)) {
		if (text.data[0] == '[') {
			end_section(sections, out);
			begin_section(sections, text.data + 1, out);
		} else {
			take_line(sections, text.data);
		}
	}
	end_section(sections, out);
	print_sections(sections, out);
}
