/* SPDX-License-Identifier: ISC */
/* probe.c - /system/probe: connects to what is probed, and tells what came of it.
 *
 * The guardian counts the time: a question that is not answered is forgotten when it says
 * so.
 */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "helper/connect.h"
#include "helper/helper.h"
#include "probe/probe.h"

/* An answer for which there was no room is told again after so long. */
#define AGAIN_S 0.05

/* A question that was put; id 0: a free place. */
struct asking {
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
	struct asking at[HELPER_QUESTIONS_MAX];
};

static void
drop(struct asking *asking)
{
	(void)connecting_stop(&asking->connecting);
	ev_io_stop(asking->loop, &asking->io);
	ev_timer_stop(asking->loop, &asking->again);
	probe_done(&asking->probe);
	asking->id = 0;
}

static void
answer(struct asking *asking)
{
	const struct probe_result *result = &asking->result;
	const struct helper_message message = {
	    .kind = HELPER_ANSWER,
	    .id = asking->id,
	    .answer = {.is_good = result->answer == PROBE_IS_GOOD,
	               .is_none = result->answer == PROBE_IS_NONE,
	               .error = result->error,
	               .status = result->status}};

	ev_io_stop(asking->loop, &asking->io);
	if (helper_send(HELPER_FD, &message, NULL, 0) == 0) {
		drop(asking);
		return;
	}
	ev_timer_set(&asking->again, AGAIN_S, 0.);
	ev_timer_start(asking->loop, &asking->again);
}

/* Take the result: the probe goes on, or is over. */
static void
take(struct asking *asking)
{
	const struct probe *probe = &asking->probe;

	if (asking->result.answer != PROBE_GOES_ON) {
		answer(asking);
		return;
	}
	ev_io_stop(asking->loop, &asking->io);
	ev_io_set(&asking->io, probe->fd,
	          probe->wants == PROBE_WANTS_READ ? EV_READ : EV_WRITE);
	ev_io_start(asking->loop, &asking->io);
}

/* A queue that is full (EAGAIN) is not served (DECISIONS 56). */
static void
on_connected(void *arg, int error)
{
	struct asking *asking = arg;

	asking->result = error == 0 ? (struct probe_result){.answer = PROBE_IS_GOOD}
	                            : probe_failed(error);
	answer(asking);
}

static void
on_io(struct ev_loop *loop, ev_io *io, int revents)
{
	struct asking *asking = io->data;

	(void)loop;
	(void)revents;
	probe_continue(&asking->probe, &asking->result);
	take(asking);
}

static void
on_again(struct ev_loop *loop, ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	answer(timer->data);
}

static void
begin(struct asking *asking, const struct helper_message *message)
{
	const char *address = helper_next_text(message, NULL);
	const char *resource = helper_next_text(message, address);
	const struct probe_question question = {
	    .host = address,
	    .port = message->question.port,
	    .resource = message->question.is_http ? resource : NULL,
	    .name = helper_next_text(message, resource),
	};

	drop(asking);
	asking->id = message->id;
	if (message->question.is_unix) {
		connecting_start(&asking->connecting, address);
		return;
	}
	probe_begin(&asking->probe, &question, &asking->result);
	take(asking);
}

/* Time is up, or there is no interest any more.  What was not tried is no bad answer. */
static void
forget(struct asking *asking)
{
	const struct probe_result none = {.answer = PROBE_IS_NONE};

	if (!connecting_stop(&asking->connecting)) {
		drop(asking);
		return;
	}
	asking->result = none;
	answer(asking);
}

static void
on_message(void *own, const struct helper_message *message, const int *take_fds,
           size_t n_fds)
{
	struct questions *questions = own;
	struct asking *asking = &questions->at[message->id % HELPER_QUESTIONS_MAX];

	if (message->kind == HELPER_QUESTION)
		begin(asking, message);
	else if (message->kind == HELPER_FORGET && asking->id == message->id)
		forget(asking);
	for (size_t i = 0; i < n_fds; i++)
		(void)close(take_fds[i]);
}

static void *
start(struct helper *helper)
{
	struct questions *questions = calloc(1, sizeof(*questions));

	if (questions == NULL)
		return NULL;
	connector_init(&questions->connector, helper->loop);
	for (uint32_t i = 0; i < HELPER_QUESTIONS_MAX; i++) {
		struct asking *asking = &questions->at[i];

		asking->loop = helper->loop;
		connecting_init(&asking->connecting, &questions->connector, on_connected,
		                asking);
		probe_init(&asking->probe);
		ev_io_init(&asking->io, on_io, -1, 0);
		ev_timer_init(&asking->again, on_again, 0., 0.);
		asking->io.data = asking->again.data = asking;
	}
	return questions;
}

const struct helper_role helper_probe = {CONFINE_CLIENT, start, on_message};
