/* SPDX-License-Identifier: ISC */
/* questions.c - /system/probe: connects to what is probed, and tells what came of it.
 *
 * The guardian counts the time: a question that is not answered is forgotten when it says
 * so.
 */
#include "config.h"

#include <stdlib.h>

#include "helper/connect.h"
#include "helper/helper.h"
#include "helper/watchers.h"
#include "probe/probe.h"

/* An answer for which there was no room is told again after so long. */
#define AGAIN_S 0.05

/* A question that was put; id 0: a free place. */
struct open_question {
	struct ev_loop *loop;
	uint32_t id;
	struct connecting connecting; /* to a unix socket */
	struct probe probe;
	struct probe_result result;
	ev_io io;
	ev_timer again;
};

struct questions {
	struct connector connector;
	struct open_question at[HELPER_QUESTIONS_MAX];
};

static void
drop(struct open_question *open)
{
	(void)connecting_stop(&open->connecting);
	ev_io_stop(open->loop, &open->io);
	ev_timer_stop(open->loop, &open->again);
	probe_done(&open->probe);
	open->id = 0;
}

static void
answer(struct open_question *open)
{
	const struct probe_result *result = &open->result;
	const struct helper_message message = {
	    .kind = HELPER_ANSWER,
	    .id = open->id,
	    .answer = {.is_good = result->answer == PROBE_IS_GOOD,
	               .is_none = result->answer == PROBE_IS_NONE,
	               .error = result->error,
	               .status = result->status}};

	ev_io_stop(open->loop, &open->io);
	if (helper_send(HELPER_FD, &message, NULL) == 0)
		drop(open);
	else
		timer_begin(open->loop, &open->again, AGAIN_S);
}

/* Take the result: the probe goes on, or is over. */
static void
take(struct open_question *open)
{
	const struct probe *probe = &open->probe;

	if (open->result.answer != PROBE_GOES_ON)
		answer(open);
	else
		io_begin(open->loop, &open->io, probe->fd,
		         probe->wants == PROBE_WANTS_READ ? EV_READ : EV_WRITE);
}

/* A queue that is full (EAGAIN) is not served (DECISIONS 56). */
static void
on_connected(void *arg, int error)
{
	struct open_question *open = arg;

	open->result = error != 0 ? probe_failed(error)
	                          : (struct probe_result){.answer = PROBE_IS_GOOD};
	answer(open);
}

static void
on_io(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct open_question *open = io->data;

	probe_continue(&open->probe, &open->result);
	take(open);
}

static void
on_again(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	answer(timer->data);
}

static void
begin_question(struct open_question *open, const struct helper_message *message)
{
	const char *address = helper_next_text(message, NULL);
	const char *resource = helper_next_text(message, address);

	drop(open);
	open->id = message->id;
	if (message->question.is_unix) {
		connecting_start(&open->connecting, address);
		return;
	}
	probe_begin(&open->probe,
	            &(const struct probe_question){
	                .host = address,
	                .port = message->question.port,
	                .resource = message->question.is_http ? resource : NULL,
	                .name = helper_next_text(message, resource),
	            },
	            &open->result);
	take(open);
}

/* Time is up, or there is no interest any more.  What was not tried is no bad answer. */
static void
forget(struct open_question *open)
{
	if (!connecting_stop(&open->connecting)) {
		drop(open);
	} else {
		open->result = (struct probe_result){.answer = PROBE_IS_NONE};
		answer(open);
	}
}

static size_t
on_message(void *own, const struct helper_message *message, const int *fds UNUSED,
           size_t n_fds UNUSED)
{
	struct questions *questions = own;
	struct open_question *open = &questions->at[message->id % HELPER_QUESTIONS_MAX];

	if (message->kind == HELPER_QUESTION)
		begin_question(open, message);
	else if (message->kind == HELPER_FORGET && open->id == message->id)
		forget(open);
	return 0;
}

static void *
start(struct helper *helper)
{
	struct questions *questions = calloc(1, sizeof(*questions));

	if (questions == NULL)
		return NULL;
	connector_init(&questions->connector, helper->loop);
	for (uint32_t i = 0; i < HELPER_QUESTIONS_MAX; i++) {
		struct open_question *open = &questions->at[i];

		open->loop = helper->loop;
		connecting_init(&open->connecting, &questions->connector, on_connected,
		                open);
		probe_init(&open->probe);
		io_prepare(&open->io, on_io, open);
		timer_prepare(&open->again, on_again, open);
	}
	return questions;
}

const struct helper_role helper_probe = {CONFINE_CLIENT, start, on_message};
