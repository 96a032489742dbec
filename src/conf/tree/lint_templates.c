/* SPDX-License-Identifier: ISC */
/* lint_templates.c - refuses unsafe programs and files of templates, used or not. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "conf/text/shell_words.h"
#include "conf/tree/lint.h"
#include "conf/tree/program.h"

/* A template, as far as it is known without an actor. */
struct template_look {
	struct reader *reader;
	struct program_search program;
	const struct trail *trail;
};

/* The text under that key, unless it depends on the actor. */
static char *
known_text(struct reader *reader, const struct yaml *map, const char *key)
{
	const struct yaml *node = node_get(map, key);

	if (node == NULL || node->type != NODE_TEXT || node->dollar)
		return NULL;
	return arena_dup(reader->scratch, node->text);
}

/* The words of a command; NULL: the program depends on the actor, or there is none. */
static char **
words_of(struct reader *reader, const struct yaml *node)
{
	char **words = NULL;
	size_t n;
	struct err err;

	if (node->type == NODE_TEXT) {
		if (words_split(reader->scratch, node->text, &words, &n, &err) < 0 ||
		    n == 0)
			return NULL;
	} else if (node->type == NODE_LIST && node->n > 0) {
		words = arena_alloc(reader->scratch, node->n + 1, sizeof(*words));
		for (size_t i = 0; words != NULL && i < node->n; i++)
			words[i] = arena_dup(reader->scratch, node->items[i]->text);
	}
	return words == NULL || words[0] == NULL || strchr(words[0], '$') != NULL ? NULL
	                                                                          : words;
}

static void
refuse(const struct template_look *look, const struct yaml *at, const char *key,
       const struct safety_report *report)
{
	char text[SAFETY_TEXT_MAX];

	if (report->safety != SAFE)
		reader_error(look->reader, at, &(struct trail){look->trail, key, 0}, "%s",
		             safety_format(report, text, sizeof(text)));
}

static void
look_at_command(const struct template_look *look, const struct yaml *map, const char *key)
{
	const struct yaml *node = node_get(map, key);
	struct safety_report report;
	char **words = node != NULL ? words_of(look->reader, node) : NULL;

	if (words == NULL)
		return;
	(void)program_look(&look->program, words, &report);
	refuse(look, node, key, &report);
}

static void
look_at_file(const struct template_look *look, const struct yaml *node)
{
	struct safety_report report = {.safety = SAFE};
	const char *path = node->text + (node->text[0] == '-');

	if (node->dollar || path[0] != '/')
		return;
	program_look_at(&look->program, path, &report);
	refuse(look, node, "environment_file", &report);
}

static void
look_at_template(const struct template_look *look, const struct yaml *map)
{
	const struct yaml *hooks = node_get(map, "hooks");
	const struct yaml *files = node_get(map, "environment_file");

	look_at_command(look, map, "command");
	look_at_command(look, map, "stop_command");
	look_at_command(look, map, "reload_command");
	look_at_command(look, node_get(map, "ready"), "exec");
	look_at_command(look, node_get(map, "health"), "exec");
	for (size_t i = 0; hooks != NULL && hooks->type == NODE_MAP && i < hooks->n; i++)
		look_at_command(look, hooks, hooks->pairs[i].key->text);
	for (size_t i = 0; files != NULL && i < node_n_items(files); i++)
		look_at_file(look, node_item(files, i));
}

/*
 * For root: report what others than root and the user of a template can change.  Where an
 * actor is to say which user that is, every owner is good, and the group of that owner.
 */
void
lint_templates(struct reader *reader, const struct yaml *templates)
{
	static const struct trail top = {NULL, "templates", 0};

	for (size_t i = 0; templates != NULL && geteuid() == 0 && i < templates->n; i++) {
		const struct yaml *map = templates->pairs[i].value;
		const struct trail trail = {&top, templates->pairs[i].key->text, 0};
		struct conf_process process = {
		    .world = {.root = known_text(reader, map, "root"),
		              .directory = known_text(reader, map, "directory")}};
		struct template_look look = {
		    reader,
		    {reader->options, &process, {TRUST_OWNER, TRUST_NO_GROUP}},
		    &trail};
		char *name = known_text(reader, map, "user");
		struct err err;
		const struct user *user =
		    name != NULL ? users_find(reader->users, name, &err) : NULL;

		if (user != NULL) {
			process.identity.has_user = true;
			process.identity.uid = user->uid;
			process.identity.user_name = user->name;
			look.program.trust = program_trust(&process);
		}
		/* A root that the actor chooses: the programs are not known. */
		if (map->type == NODE_MAP &&
		    (process.world.root != NULL || node_get(map, "root") == NULL))
			look_at_template(&look, map);
	}
}
