/* SPDX-License-Identifier: ISC */
/* exec.c - the walker becomes another binary, with everything that it holds. */
#include "config.h"

#include "walker/private.h"
#include "walker/walker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/fd.h"

/* Close-on-exec, or not, for all that is passed on. */
static void
set_cloexec(const struct walker *walker, int flag)
{
	const struct walker_state *s = &walker->s;
	const int own[] = {s->binary_fd, s->lock_fd, s->exits_fd, s->ledger_fd,
	                   s->link_fd};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] >= 0)
			(void)fcntl(own[i], F_SETFD, flag);
	for (size_t i = 0; i <= walker->vault.mask; i++)
		if (walker->vault.slots[i].fd != 0)
			(void)fcntl(walker->vault.slots[i].fd, F_SETFD, flag);
}

/* State and vault in a memfd at ROLE_FD, sealed. */
static int
pack(struct walker *walker)
{
	int fd = memfd_create("supd-walker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	/* Where descriptors are so few that it is in use. */
	if (fd != ROLE_FD && fcntl(ROLE_FD, F_GETFD) >= 0) {
		(void)close(fd);
		return -EBUSY;
	}
	r = fd_write_all(fd, &walker->s, sizeof(walker->s));
	for (size_t i = 0; r == 0 && i <= walker->vault.mask; i++)
		if (walker->vault.slots[i].fd != 0)
			r = fd_write_all(fd, &walker->vault.slots[i],
			                 sizeof(struct vault_slot));
	if (r == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = -errno;
	if (r == 0 && fd == ROLE_FD)
		return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0;
	if (r == 0 && dup2(fd, ROLE_FD) < 0)
		r = -errno;
	(void)close(fd);
	return r;
}

/*
 * Go on as the binary that guardians run now: same process, same children, same link.
 * Where that fails, as the one that this is.  Signals stay blocked and pending.
 */
void
walker_exec(struct walker *walker)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	r = pack(walker);
	if (r == 0) {
		set_cloexec(walker, 0);
		(void)execveat(walker->s.binary_fd, "", walker->walker_argv, environ,
		               AT_EMPTY_PATH);
		r = -errno;
		set_cloexec(walker, FD_CLOEXEC);
		(void)close(ROLE_FD);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	walker_say("the walker stays the old one, it cannot run the new one: %s",
	           strerror(-r));
}

/* What walker_exec() leaves can be taken by binaries that have the same number here. */
uint64_t
walker_kind(void)
{
	return (uint64_t)LINK_VERSION << 32 | sizeof(struct walker_state);
}

/*
 * Take what walker_exec() left for us; the vault is ready.  Returns 0, or -errno with a
 * sentence when it is not for us: -EPERM when nobody but a user can have called.
 */
int
walker_unpack(struct walker *walker, struct err *err)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	struct walker_state *s = &walker->s;
	struct vault_slot slot;
	int r;

	if ((fcntl(ROLE_FD, F_GET_SEALS) & seals) != seals ||
	    pread(ROLE_FD, s, sizeof(*s), 0) != (ssize_t)sizeof(*s) ||
	    s->pid != getpid()) {
		err_set(err, 0, "this role is not for users");
		return -EPERM;
	}
	if (s->bytes != sizeof(*s) || s->version != LINK_VERSION) {
		err_set(err, 0, "the walker before was of another version");
		return -EPROTO;
	}
	r = vault_init(&walker->vault, (size_t)s->vault_max);
	if (r < 0) {
		err_set(err, -r, "memory for the vault");
		return r;
	}
	for (off_t at = sizeof(*s);
	     pread(ROLE_FD, &slot, sizeof(slot), at) == (ssize_t)sizeof(slot);
	     at += (off_t)sizeof(slot))
		(void)vault_store(&walker->vault, slot.key, slot.fd);
	(void)close(ROLE_FD);
	set_cloexec(walker, FD_CLOEXEC);
	return 0;
}
