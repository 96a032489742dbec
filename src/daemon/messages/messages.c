/* SPDX-License-Identifier: ISC */
/* messages.c - what actors say, and keep with supd: the state of this room. */
#include "config.h"

#include "daemon/messages/messages.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/messages/output.h"
#include "daemon/messages/readiness.h"
#include "daemon/messages/rundir.h"
#include "daemon/messages/stores.h"
#include "daemon/state/options.h"

struct messages *
messages_new(const struct messages *with, notify_main_pid *on_main_pid, void *data,
             struct err *err)
{
	struct messages *messages =
	    err_calloc(sizeof(*messages), err, "messages of actors");

	if (messages == NULL)
		return NULL;
	*messages = *with;
	if ((messages->notify = notify_new(messages, on_main_pid, data, err)) != NULL &&
	    (messages->readiness = readiness_new(messages, err)) != NULL &&
	    (messages->stores = stores_new(with->loop, with->keeper, err)) != NULL &&
	    (messages->rundirs = rundirs_new(with->loop, with->actors,
	                                     with->origin->runtime_dir, err)) != NULL &&
	    (messages->output = output_new(messages, err)) != NULL)
		return messages;
	messages_free(messages);
	return NULL;
}

void
messages_free(struct messages *messages)
{
	if (messages == NULL)
		return;
	notify_free(messages->notify);
	readiness_free(messages->readiness);
	stores_free(messages->stores);
	rundirs_free(messages->rundirs);
	output_free(messages->output);
	free(messages);
}

int
messages_reserve(struct messages *messages, uint32_t slots)
{
	int r = notify_reserve(messages->notify, slots);

	if (r == 0)
		r = readiness_reserve(messages->readiness, slots);
	return r < 0 ? r : stores_reserve(messages->stores, slots);
}
