/* SPDX-License-Identifier: ISC */
/* words_actor.c - the last words of an actor's process, from its pipes. */
#include "config.h"

#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/messages/words.h"
#include "daemon/state/actors.h"
#include "daemon/state/events.h"

/* More than the lines can have: what is in front of them tells where they begin. */
#define TAIL_BYTES (WORDS_BYTES_MAX + 1024)

/*
 * Add the last words of an actor's newest process to the event that has begun, also what
 * the log process did not get to yet; nothing where its output is not captured.  Never
 * waits.
 */
void
words_of_actor(const struct messages *messages, struct ref ref, struct events *events)
{
	const struct actor *actor = actors_get(messages->actors, ref);
	const struct conf_process *process;
	struct words words = {.n = 0};
	char last[TAIL_BYTES];
	char first[TAIL_BYTES];
	bool is_cut;
	size_t len;

	if (actor == NULL || actor->conf == NULL ||
	    actor->conf->spec.kind == NODE_SUPERVISOR || messages->output == NULL)
		return;
	process = &actor->conf->process;
	if (!conf_output_is_captured(&process->output.out) &&
	    !conf_output_is_captured(&process->output.err))
		return;
	/* What went wrong is on the standard error: it stands last. */
	if (!process->output.out_is_err &&
	    conf_output_is_captured(&process->output.err)) {
		len = output_tail(messages->output, actor->path, FEED_STDERR, last,
		                  sizeof(last), &is_cut);
		words_add(&words, last, len, is_cut);
	}
	if (conf_output_is_captured(&process->output.out)) {
		len = output_tail(messages->output, actor->path,
		                  process->output.out_is_err ? FEED_OUTPUT : FEED_STDOUT,
		                  first, sizeof(first), &is_cut);
		words_add(&words, first, len, is_cut);
	}
	events_open(events, FIELD_LAST_WORDS);
	for (size_t i = 0; i < words.n; i++)
		events_add(events, words.lines[i].text, words.lines[i].len);
	events_close(events);
}
