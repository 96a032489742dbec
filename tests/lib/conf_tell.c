/* SPDX-License-Identifier: ISC */
/* conf_tell.c - print what the configuration room says: of a file, or its schema. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/text/conf.h"

static int
tell_schema(void)
{
	char *schema = conf_schema_json();

	if (schema == NULL)
		return EXIT_FAILURE;
	(void)fputs(schema, stdout);
	free(schema);
	return EXIT_SUCCESS;
}

/* The reports, and each actor with its keys. */
static int
tell_file(const char *file)
{
	struct conf_options options = {.warn = true, .environ = environ};
	struct conf_reports reports = {0};
	struct strbuf out;
	struct conf *conf;

	strbuf_init(&out, 1 << 24);
	conf = conf_load(file, &options, &reports);
	conf_reports_format(&reports, &out);
	for (uint32_t i = 0; conf != NULL && i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		struct conf_keys keys = conf_keys(conf, actor);
		const struct conf_key *key;

		strbuf_addf(&out, "%s\n", actor->path);
		while ((key = conf_keys_next(&keys)) != NULL)
			strbuf_addf(&out, "\t%s: %s\n", key->key, key->value);
	}
	(void)fputs(strbuf_str(&out), stdout);
	strbuf_done(&out);
	conf_reports_done(&reports);
	conf_free(conf);
	return conf != NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--schema") == 0)
		return tell_schema();
	if (argc == 2)
		return tell_file(argv[1]);
	(void)fputs("usage: conf_tell FILE | --schema\n", stderr);
	return 64;
}
