/* SPDX-License-Identifier: ISC */
/* output_show.c - how the output of actors is shown on supd's own standard output. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/messages/messages.h"
#include "daemon/messages/output_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "daemon/state/system.h"

/* Names are aligned up to so many columns: a longer one only moves its own lines. */
#define WIDTH_MAX 24

static bool
wants_colours(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no_color == NULL || no_color[0] == '\0') && term != NULL &&
	       strcmp(term, "dumb") != 0;
}

static enum log_show
show_of(const struct supd_options *options, const struct conf *conf)
{
	return options->log_show >= 0 ? (enum log_show)options->log_show : conf->log_show;
}

/*
 * How all output is shown, by what the command line, the file and standard output are: a
 * set of enum feed_look.  0: only what asks for it by `output: stdout` is.
 */
uint32_t
output_look(const struct supd_options *options, const struct conf *conf)
{
	const enum log_show show = show_of(options, conf);
	const bool is_terminal = isatty(STDOUT_FILENO) == 1;

	if (show == LOG_SHOW_JSON)
		return FEED_LOOK_JSON;
	if (show == LOG_SHOW_OFF || (show == LOG_SHOW_AUTO && !is_terminal))
		return 0;
	return is_terminal && wants_colours() ? FEED_LOOK_TEXT | FEED_LOOK_COLOURS
	                                      : FEED_LOOK_TEXT;
}

/* True if the output to this target stands on supd's standard output, too. */
bool
output_is_shown(const struct output *output, const struct conf_output *target)
{
	return target->is_shown || (output->shows_all && conf_output_is_captured(target));
}

/* Let the log process show a line of supd's own among those of actors, in their order;
 * false: it does not take the line. */
static bool
take_line(void *arg, int priority, const char *line)
{
	struct output *output = arg;
	const struct messages *messages = output->messages;
	const struct ref ref = actors_find(messages->actors, SYSTEM_LOG_PATH);

	if (messages->engine->core == NULL || !core_valid(messages->engine->core, ref))
		return false;
	const struct node_view view = engine_view(messages->engine, ref);
	/* It will be there in a moment, or is; but not while it ends, or is to come
	 * again: what it is told then it would tell late. */
	if ((!view.process.alive && view.process.life > 0) ||
	    view.state == STATE_STOPPING)
		return false;
	output->saying = (struct feed_message){.kind = FEED_SAY, .error = priority};
	return feed_set_text(&output->saying, "", line) == 0 &&
	       feed_send(output->feed[0], &output->saying, -1) == 0;
}

static uint32_t
width_of(const struct output *output, const struct conf_actor *actor)
{
	const size_t len = strlen(actor->path), top = strlen("/user/");

	if (len <= top || actor->spec->core.kind == NODE_SUPERVISOR ||
	    (!output_is_shown(output, &actor->process->output.out) &&
	     !output_is_shown(output, &actor->process->output.err)))
		return 0;
	return (uint32_t)(len - top < WIDTH_MAX ? len - top : WIDTH_MAX);
}

/* A configuration is in force: choose how its actors' output is shown. */
void
output_choose_look(struct output *output)
{
	const struct messages *messages = output->messages;
	const struct conf *conf = messages->actors->conf;
	const uint32_t look = output_look(messages->origin->options, conf);

	output->shows_all = look != 0;
	output->look = look != 0 ? look : FEED_LOOK_TEXT;
	output->width = (uint32_t)strlen("supd");
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const uint32_t width = width_of(output, &conf->actors[i]);

		if (width > output->width)
			output->width = width;
	}
	if (output_say_look(output) == 0)
		log_divert(output->shows_all ? take_line : NULL, output);
}

/* Tell the log process.  0 or -errno. */
int
output_say_look(struct output *output)
{
	output->message = (struct feed_message){
	    .kind = FEED_SHOW, .show = output->look, .colour = output->width};
	return feed_send(output->feed[0], &output->message, -1);
}
