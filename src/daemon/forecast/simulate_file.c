/* SPDX-License-Identifier: ISC */
/* simulate_file.c - `supd --simulate`: a configuration file, and what its policy will do.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/forecast/forecast.h"
#include "daemon/forecast/simulate.h"
#include "daemon/reload/reload.h"

/* The tree of a file, of which nothing runs. */
struct model {
	const struct conf *conf;
	struct core *core;
	struct ref *refs; /* by index in the configuration */
};

static const char *
path_of(const void *user, struct ref ref)
{
	const struct model *model = user;

	for (uint32_t i = 0; i < model->conf->n_actors; i++)
		if (model->refs[i].slot == ref.slot)
			return model->conf->actors[i].path;
	return "/";
}

static int
model_init(struct model *model, const struct conf *conf, uint64_t seed)
{
	struct core_size size = {.nodes = 1 + conf->n_actors};

	size.pool_bytes = core_root_bytes() + (uint32_t)reload_pool_bytes(conf);
	size.watches = reload_watches(conf);
	void *memory = malloc(core_bytes(&size));
	*model = (struct model){.conf = conf};
	model->refs = calloc(conf->n_actors, sizeof(*model->refs));
	if (memory == NULL || model->refs == NULL) {
		free(memory);
		return -ENOMEM;
	}
	model->core = core_init(memory, &size, seed);
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];
		struct ref parent = actor->parent == CONF_NONE
		                        ? core_ref(model->core, CORE_ROOT)
		                        : model->refs[actor->parent];

		struct spec spec;

		conf_name_spec(actor, &spec);
		model->refs[i] = core_add(model->core, parent, REF_NONE, &spec, 0);
	}
	return 0;
}

static void
model_done(struct model *model)
{
	free(model->core);
	free(model->refs);
}

/* The sentence about a worker without steps. */
static const char *
why_not(int r)
{
	switch (r) {
	case -EINVAL:
		return "it does not start by itself";
	case -EOVERFLOW:
		return "there is no end in sight";
	case -E2BIG:
		return "there is more than fits here";
	default:
		return "out of memory";
	}
}

static int
print_worker(const struct simulation *simulation, const struct model *model, uint32_t i,
             struct strbuf *summaries)
{
	CLEANUP(strbuf_done) struct strbuf steps = STRBUF(SIMULATE_BYTES_MAX);
	int r = simulate(simulation, model->refs[i], &steps, summaries);
	(void)printf("%s, if it is killed %u times as soon as it is ready:\n%s",
	             model->conf->actors[i].path, simulation->times, strbuf_str(&steps));
	if (r < 0)
		(void)printf("%12s  %s\n", "", why_not(r));
	return r == -ENOMEM ? EX_OSERR : EX_OK;
}

static int
print_all(const struct model *model)
{
	/* Not at 0: what is due at once has a time before. */
	struct forecast *booted = forecast_new(model->core, 1);
	struct simulation simulation = {
	    .conf = model->conf,
	    .times = SIMULATE_TIMES,
	    .path = path_of,
	    .user = model,
	};
	int status = EX_OK;

	CLEANUP(strbuf_done) struct strbuf summaries = STRBUF(SIMULATE_BYTES_MAX);
	if (booted == NULL || !forecast_boot(booted)) {
		forecast_free(booted);
		return EX_OSERR;
	}
	simulation.core = forecast_core(booted);
	simulation.now_ms = forecast_now(booted);
	(void)simulate_parse_cause("signal:KILL", &simulation.cause);
	for (uint32_t i = 0; i < model->conf->n_actors && status == EX_OK; i++)
		if (model->conf->actors[i].spec->core.kind != NODE_SUPERVISOR)
			status = print_worker(&simulation, model, i, &summaries);
	(void)fputs(strbuf_str(&summaries), stdout);
	forecast_free(booted);
	return status;
}

int
simulate_file(const char *file, uint64_t seed)
{
	CLEANUP(conf_reports_done) struct conf_reports reports;
	CLEANUP(conf_drop)
	struct conf *conf =
	    conf_load(file, &(const struct conf_options){.environ = environ}, &reports);
	struct model model;
	int status = EX_CONFIG;

	conf_reports_print(&reports);
	if (conf != NULL) {
		status =
		    model_init(&model, conf, seed) == 0 ? print_all(&model) : EX_OSERR;
		model_done(&model);
	}
	if (status == EX_OSERR)
		(void)fputs("supd: out of memory\n", stderr);
	return fflush(stdout) == 0 ? status : EX_OSERR;
}
