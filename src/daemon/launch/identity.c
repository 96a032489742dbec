/* SPDX-License-Identifier: ISC */
/* identity.c - as which user and groups is an actor started that were unknown at boot?
 *
 * The user database may be a server that does not answer.  So a copy of the guardian asks
 * it, and is not waited for any longer than ASK_MS; and one that is slow is asked rarely:
 * in between, a user that was unknown is unknown still.
 */
#include "config.h"

#include "daemon/launch/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/text/conf.h"
#include "daemon/launch/launch.h"
#include "daemon/sockets/grown.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "ledger/ledger.h"
#include "os/self/bounded.h"
#include "os/self/clock.h"

#define ASK_MS     500
#define SLOW_MS    50
#define PAUSES     20 /* times what the last answer took */
#define ANSWER_MAX (512 * 1024)

/* After an answer that took long nothing is asked for a while. */
static struct {
	uint64_t until_ms;
	bool is_silent; /* the user database did not answer the last time */
} quiet;

static void
ask(int fd, void *data)
{
	conf_identify(data, fd);
}

static int
ask_bounded(const struct launcher *launcher, struct conf_process *process)
{
	const uint64_t begun_ms = clock_mono_ms();

	if (begun_ms < quiet.until_ms)
		return quiet.is_silent ? -ETIMEDOUT : -ENOENT;
	char *answer = malloc(ANSWER_MAX);
	if (answer == NULL)
		return -ENOMEM;
	ssize_t n = bounded_run(launcher->bounded,
	                        &(struct bounded_task){BOUNDED_USERS, ask, process},
	                        ASK_MS, answer, ANSWER_MAX);
	if (n >= 0)
		n = conf_take_identity(launcher->actors->conf, process, answer,
		                       (size_t)n);
	free(answer);
	uint64_t took_ms = clock_mono_ms() - begun_ms;
	quiet.is_silent = n == -ETIMEDOUT;
	if (took_ms >= SLOW_MS)
		quiet.until_ms = begun_ms + took_ms * PAUSES;
	return (int)n;
}

/*
 * Look up the users and groups of an actor that were not known at boot, before one of its
 * processes is started; at once 0 where all are known.  -ENOENT: there is still none;
 * -ETIMEDOUT: the user database does not answer; or another error.  *ret_step says which
 * step of the start that was.  Takes ASK_MS at most.
 */
int
identity_settle(const struct launcher *launcher, const struct actor *actor,
                enum spawn_step *ret_step)
{
	const struct conf *conf = launcher->actors->conf;
	struct err err;

	if (actor->conf->process->identity.unknown == NULL)
		return 0;
	*ret_step = SPAWN_STEP_USER;
	/* Of an earlier configuration: it is about to go. */
	if (conf_of_actor(launcher->actors, actor) != conf || actor->grown != NULL)
		return -ENOENT;
	struct conf_process *process = conf->actors[actor->conf - conf->actors].process;
	int r = ask_bounded(launcher, process);
	if (process->identity.unknown_is_group)
		*ret_step = SPAWN_STEP_GROUP;
	if (r < 0) {
		log_line(LOG_LEVEL_ERROR, "%s: %s", actor->path,
		         r == -ETIMEDOUT ? "the user database does not answer"
		                         : process->identity.unknown);
		return r;
	}
	/* The next guardian is to know it, too: the process is about to be there. */
	r = keeper_keep_conf(launcher->keeper, conf, launcher->facts->conf_id, &err);
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
	return 0;
}
