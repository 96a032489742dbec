/* SPDX-License-Identifier: ISC */
/* alone.c - before supd begins: no other supd is there, and nothing that another left. */
#include "config.h"

#include "daemon/loop/alone.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/text/conf_process.h"
#include "daemon/loop/owner.h"
#include "daemon/loop/supd.h"
#include "daemon/reload/reload.h"
#include "daemon/sockets/control_file.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "ledger/handover.h"
#include "ledger/ledger.h"
#include "os/process/leftover.h"
#include "os/self/clock.h"

/* A supd that was killed holds its socket no longer than so long. */
#define DYING_MS      1000
#define DYING_LOOK_MS 20

/* What a supd before us may have left behind. */
struct quarry {
	struct leftover_hunt hunt;
	uid_t *uids;
	char variable[SUPD_PATH_MAX + 16];
};

static void
quarry_done(struct quarry *quarry)
{
	free(quarry->uids);
}

/* Only processes of users that this configuration (or NULL) has are looked at.  0 or
 * -ENOMEM; to be freed in any case. */
static int
quarry_init(struct quarry *ret, struct supd *supd, const struct conf *conf)
{
	const uint32_t n_actors = conf == NULL ? 0 : conf->n_actors;

	*ret = (struct quarry){.hunt = {.variable = ret->variable,
	                                .beat = keeper_beat_of,
	                                .arg = supd->keeper},
	                       .uids = calloc(n_actors + 1, sizeof(*ret->uids))};
	(void)snprintf(ret->variable, sizeof(ret->variable), "SUPD_SOCKET=%s",
	               supd->origin.control_path);
	ret->hunt.uids = ret->uids;
	if (ret->uids == NULL)
		return -ENOMEM;
	ret->uids[ret->hunt.n_uids++] = getuid();
	for (uint32_t i = 0; i < n_actors; i++) {
		const struct conf_identity *identity = &conf->actors[i].process->identity;

		if (identity->has_user &&
		    identity->uid != ret->uids[ret->hunt.n_uids - 1])
			ret->uids[ret->hunt.n_uids++] = identity->uid;
	}
	return 0;
}

/* True if a process answers at our control socket.  If the path does not answer, none
 * does. */
static bool
is_control_live(struct supd *supd)
{
	struct err err;

	return control_file_do(supd->control_file, SOCKWORK_CONNECT, NULL, (gid_t)-1,
	                       &err) == 0 &&
	       supd->control_file->work.seen.is_live;
}

/* True if another supd has our control socket. */
static bool
is_another_there(struct supd *supd)
{
	bool is_live = is_control_live(supd);

	/* One that was killed just now may take a moment to let go of its socket. */
	for (int ms = 0; is_live && ms < DYING_MS; ms += DYING_LOOK_MS) {
		(void)poll(NULL, 0, DYING_LOOK_MS);
		is_live = is_control_live(supd);
	}
	if (is_live)
		log_line(LOG_LEVEL_ERROR, "another supd answers at %s",
		         supd->origin.control_path);
	return is_live;
}

/* Kill what a supd that is no more left behind: it would run twice, and holds sockets.
 * *found is empty before. */
void
alone_end_leftovers(struct supd *supd, const struct conf *conf, struct leftovers *found)
{
	CLEANUP(quarry_done) struct quarry quarry;
	int r = quarry_init(&quarry, supd, conf);

	if (r == 0)
		r = leftover_kill(&quarry.hunt, found);
	if (r < 0)
		(void)log_errno(r, "look for processes of a supd that died");
}

void
alone_end_all(struct supd *supd, const struct conf *conf)
{
	CLEANUP(leftovers_done) struct leftovers found = {0};

	alone_end_leftovers(supd, conf, &found);
	if (found.n_left > 0)
		log_line(LOG_LEVEL_ERROR,
		         "%zu processes cannot be killed; supd ends without them",
		         found.n_left);
}

/* The same for the guardian before us: descent identifies its processes, too. */
size_t
alone_end_actors(struct supd *supd)
{
	const struct leftover_hunt any_user = {.beat = keeper_beat_of,
	                                       .arg = supd->keeper};
	size_t n = 0;
	int r = leftover_kill_below(&any_user, supd->origin.walker_pid,
	                            keeper_handover(supd->keeper)->hello.left,
	                            LINK_LEFT_MAX, &n);

	if (r < 0)
		(void)log_errno(r, "end the processes of the guardian before");
	return n;
}

/*
 * Take room for this configuration, and meanwhile find out whether another supd lives
 * with actors that look like leftovers: they are not to be touched.  False: another
 * lives, which was told.  *ret_room: the caller's, NULL without memory; *ret_clean: there
 * are no leftovers.
 */
bool
alone_prepare(struct supd *supd, const struct conf *conf, struct ledger **ret_room,
              bool *ret_clean)
{
	struct leftover_search *search = NULL;
	struct err err;

	if (is_another_there(supd))
		return false;
	CLEANUP(quarry_done) struct quarry quarry;
	if (quarry_init(&quarry, supd, conf) == 0)
		search = leftover_begin(&quarry.hunt, supd->origin.walker_pid);
	*ret_room = reload_new_room(
	    supd->reloader, &(struct coming){.conf = conf, .n_added = conf->n_actors},
	    &err);
	const pid_t owner = leftover_owner_end(search, ret_clean);
	if (owner != 0)
		log_line(LOG_LEVEL_ERROR,
		         "another supd with the control socket %s is alive (pid %d), "
		         "although its socket is gone: stop it first",
		         supd->origin.control_path, (int)owner);
	return owner == 0;
}
