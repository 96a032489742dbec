/* SPDX-License-Identifier: ISC */
/* exec.c - the walker becomes another binary, with everything that it holds. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "os/self/say.h"
#include "walker/private.h"
#include "walker/walker.h"

static void
keep_open(const struct walker *walker, bool keep)
{
	const int own[] = {ROLE_FD,
	                   walker->lock_fd,
	                   walker->name_fd,
	                   walker->binary_fd,
	                   walker->handing.link_fd,
	                   walker->handing.exits_fd,
	                   walker->handing.ledger_fd};

	/* An element of -1 does no harm. */
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		(void)fcntl(own[i], F_SETFD, keep ? 0 : FD_CLOEXEC);
	vault_keep_open(&walker->vault, keep);
}

/*
 * Go on as the binary that guardians run now: same process, same children, same link.
 * Where that fails, as the one that this is.  The signals that matter are blocked at all
 * times, so those that come meanwhile are pending afterwards.
 */
void
exec_walker(struct walker *walker)
{
	int r = role_begin();

	if (r == 0)
		r = role_write(walker, WALKER_KEPT);
	if (r == 0)
		r = vault_write(&walker->vault);
	if (r == 0) {
		keep_open(walker, true);
		r = role_exec(walker->binary_fd, walker->arguments, ROLE_WALKER);
		keep_open(walker, false);
	}
	say("the walker keeps the old binary, because the new binary cannot be executed: "
	    "%s",
	    strerror(-r));
}

/* What exec_walker() leaves can be taken by binaries that have the same number here. */
uint64_t
walker_kind(void)
{
	return (uint64_t)LINK_VERSION << 32 | WALKER_KEPT;
}

/* Take what exec_walker() left for us.  Returns 0 or an exit status: EX_USAGE when the
 * call can only come from a user. */
int
exec_resume(struct walker *walker)
{
	struct err err;

	if (!role_read(walker, WALKER_KEPT, 0) ||
	    walker->handing.hello.walker_pid != getpid()) {
		say("%s: this role is not for users", ROLE_WALKER);
		return EX_USAGE;
	}
	err_set(&err, 0, "it is of another version");
	if (walker->kind == walker_kind())
		walker->exits = exits_resume(walker->handing.exits_fd, &err);
	if (walker->exits == NULL || vault_read(&walker->vault, WALKER_KEPT, &err) < 0) {
		say("take over from the walker before: %s", err.text);
		return EX_OSERR;
	}
	keep_open(walker, false);
	return 0;
}
