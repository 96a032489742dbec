/* SPDX-License-Identifier: ISC */
/* conf.c - a configuration: read, told, frozen, thawed, compared, grown. */
#include "config.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "conf/text/conf.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"

const unsigned int fuzz_runs = 800;

static char *no_environment[] = {NULL};
static char program[] = "true";

/* With one actor more, of a template and of a command. */
static void
grow(const struct conf *conf, const struct conf_options *options)
{
	char *const command[] = {program, NULL};
	const char *const with[] = {"a", "b", NULL};
	const struct conf_addition additions[] = {
	    {.parent = "/user", .name = "grown", .command = command},
	    {.parent = "/user", .name = "grown", .use = "t", .with = with},
	    {.parent = "/user", .name = "a", .replica = 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(additions); i++) {
		struct conf_reports reports;

		/* Their callers have looked. */
		if ((additions[i].use != NULL && !conf_has_template(conf, "t")) ||
		    (additions[i].replica > 0 && !conf_has_replicas(conf, "/user/a")))
			continue;
		conf_free(conf_compose(conf, &additions[i], options, &reports));
		conf_reports_done(&reports);
	}
}

/* A configuration that survives a guardian is unchanged. */
static void
keep(const struct conf *conf)
{
	struct conf_plan plan;
	struct conf *again;
	struct err err;
	size_t bytes;
	void *block;

	/* Memory of the heap is seldom zeroed. */
	(void)mallopt(M_PERTURB, 0x5a);
	ASSERT(conf_pack_block(conf, &block, &bytes, &err) == 0);
	again = conf_unpack_block(block, bytes, &err);
	free(block);
	ASSERT(again != NULL);
	if (conf_plan_make(conf, again, &plan) == 0)
		conf_plan_done(&plan);
	conf_free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct conf_options options = {.warn = true, .environ = no_environment};
	struct conf_reports reports;
	struct strbuf text;
	struct conf *conf;

	if (!fuzz_is_alone(data, size))
		return 0;
	conf = conf_load(fuzz_file("conf.yaml", data, size), &options, &reports);
	strbuf_init(&text, 1 << 20);
	conf_reports_format(&reports, &text);
	strbuf_done(&text);
	conf_reports_done(&reports);
	if (conf != NULL) {
		keep(conf);
		grow(conf, &options);
	}
	conf_free(conf);
	return 0;
}
