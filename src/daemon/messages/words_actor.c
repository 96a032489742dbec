/* SPDX-License-Identifier: ISC */
/* words_actor.c - the last words of an actor's process, from its pipes. */
#include "config.h"

#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/messages/words.h"
#include "daemon/state/actors.h"
#include "daemon/state/events.h"

/*
 * Add the last words of an actor's newest process to the event that has begun, also what
 * the log process did not get to yet; nothing where its output is not captured.  Never
 * waits.
 */
void
words_of_actor(const struct messages *messages, struct ref ref, struct events *events)
{
	const struct actor *actor = actors_get(messages->actors, ref);
	struct words words = {.n = 0};
	struct output_last last, first;

	if (actor == NULL || actor->conf == NULL ||
	    actor->conf->spec->core.kind == NODE_SUPERVISOR || messages->output == NULL)
		return;
	const struct conf_process *process = actor->conf->process;
	if (!conf_output_is_captured(&process->output.out) &&
	    !conf_output_is_captured(&process->output.err))
		return;
	/* What went wrong is on the standard error: it stands last. */
	if (!process->output.out_is_err &&
	    conf_output_is_captured(&process->output.err)) {
		output_tail(messages->output, actor->path, FEED_STDERR, &last);
		words_add(&words, last.text, last.len, last.is_cut);
	}
	if (conf_output_is_captured(&process->output.out)) {
		output_tail(messages->output, actor->path,
		            process->output.out_is_err ? FEED_OUTPUT : FEED_STDOUT,
		            &first);
		words_add(&words, first.text, first.len, first.is_cut);
	}
	events_open(events, FIELD_LAST_WORDS);
	for (size_t i = 0; i < words.n; i++)
		events_add(events, words.lines[i].text, words.lines[i].len);
	events_close(events);
}
