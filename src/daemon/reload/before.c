/* SPDX-License-Identifier: ISC */
/* before.c - the configuration that was in force before the last apply, for an undo.
 *
 * The walker keeps it under the number of the configuration that took its place: a
 * guardian that dies in the midst of an apply leaves the right one, whichever of the two
 * configurations its successor finds in force.
 */
#include "config.h"

#include "daemon/reload/before.h"

#include <errno.h>

#include "daemon/reload/reload.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "daemon/state/recording.h"
#include "ledger/link.h"
#include "os/self/fd.h"

#define KEY(id) VAULT_KEY(VAULT_BEFORE, id)

/*
 * Compare the configuration in force with the one before; changes nothing.  -ENODATA:
 * there is none; or another -errno, with a sentence.
 */
int
before_prepare(const struct reloader *reloader, struct reload *ret, struct err *err)
{
	*ret = (struct reload){.file = "the configuration before"};
	if (reloader->before_fd < 0)
		return err_say(err, -ENODATA,
		               "no other configuration was in force before");
	ret->conf = conf_unpack(reloader->before_fd, err);
	if (ret->conf == NULL)
		return -EBADMSG;
	int r = conf_plan_make(reloader->actors->conf, ret->conf, &ret->plan);
	if (r < 0)
		err_set(err, -r, "compare with %s", ret->file);
	return r;
}

/*
 * Before a configuration is in force, under this number: have kept what an undo of it
 * leads to, which is the one in force.  A trial leaves that as it is until its end.  What
 * is returned, -1 for nothing, is for before_cancel() or before_use().  Returns 0; or
 * -errno with a sentence.
 */
int
before_keep(struct reloader *reloader, const struct reload *reload, uint64_t id,
            int *ret_fd, struct err *err)
{
	const struct conf *conf = reloader->actors->conf;
	int fd = reloader->before_fd;

	/* A call that is repeated because its answer was lost does not count. */
	if (!reload->keeps_before && !conf_packs_alike(conf, reload->conf)) {
		fd = fd_raise(conf_pack(conf, err));
		if (fd < 0)
			return fd;
	}
	if (fd >= 0)
		keeper_keep(reloader->keeper, KEY(id), fd);
	*ret_fd = fd;
	return 0;
}

/* The configuration of this number is not applied. */
void
before_cancel(struct reloader *reloader, uint64_t id, int take_fd)
{
	keeper_release(reloader->keeper, KEY(id));
	if (take_fd != reloader->before_fd)
		fd_close(&take_fd);
}

/* The one that took the place of this number is in force, and handed over. */
void
before_use(struct reloader *reloader, uint64_t id, int take_fd)
{
	keeper_release(reloader->keeper, KEY(id));
	if (take_fd == reloader->before_fd)
		return;
	fd_close(&reloader->before_fd);
	reloader->before_fd = take_fd;
}

/* The configuration in force, of this number, which was on trial, stays: an undo leads to
 * this one. */
void
before_replace(struct reloader *reloader, uint64_t id, int take_fd)
{
	fd_close(&reloader->before_fd);
	reloader->before_fd = take_fd;
	keeper_keep(reloader->keeper, KEY(id), take_fd);
}

/* What the walker kept of the configuration before the one of this number; -1: nothing.
 */
int
before_take(struct keeper *keeper, uint64_t id)
{
	return fd_raise(keeper_take(keeper, KEY(id)));
}
