/* SPDX-License-Identifier: ISC */
/* readiness.c - `ready: {fd: N}`: a newline on a descriptor that the process was given.
 */
#include "config.h"

#include "daemon/messages/readiness.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/readables.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "daemon/state/post.h"
#include "daemon/state/proctable.h"
#include "daemon/state/recording.h"
#include "ledger/link.h"
#include "os/self/fd.h"

/* How much is looked at in one go; a pipe with more is looked at again. */
#define LOOK_BYTES 4096

struct readiness {
	const struct messages *messages;
	struct readables readables;
	int scratch[2]; /* what is looked at without being taken out */
	int *fds;       /* by slot, our end; -1: none */
	uint32_t cap;
};

static uint64_t
key_of(struct ref ref)
{
	return VAULT_KEY(VAULT_READY, (uint64_t)ref.slot << 24 | (ref.tenant & 0xffffff));
}

/* It is ready: put down first, then told. */
static void
tell_ready(const struct readiness *readiness, struct ref ref)
{
	if (record_ready(readiness->messages->recording, ref))
		post_event(
		    readiness->messages->post,
		    &(const struct event){
		        .kind = EVENT_READY,
		        .ref = ref,
		        .life = proctable_life(readiness->messages->proctable, ref),
		        .code = -1,
		    });
}

/* Look at the content of the pipe: its length; 0: no writer is left; -errno. */
static ssize_t
look(const struct readiness *readiness, int fd, char buf[LOOK_BYTES])
{
	ssize_t n;

	do {
		n = tee(fd, readiness->scratch[1], LOOK_BYTES, SPLICE_F_NONBLOCK);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	return read(readiness->scratch[0], buf, (size_t)n) == n ? n : -EIO;
}

void
readiness_close(struct readiness *readiness, struct ref ref)
{
	if (ref.slot >= readiness->cap || readiness->fds[ref.slot] < 0)
		return;
	readables_remove(&readiness->readables, &readiness->fds[ref.slot]);
	keeper_release(readiness->messages->keeper, key_of(ref));
}

/*
 * Take in what this actor says; false: there is no room, and it waits for the next turn.
 * A newline is read only when the event about it is posted.  The end of the file means
 * the same, unless it came with the end of the process.
 */
static bool
listen_to(void *data, uint64_t slot)
{
	struct readiness *readiness = data;
	const struct ref ref = readiness->messages->actors->at[slot].ref;
	const int fd = readiness->fds[slot];
	char buf[LOOK_BYTES];

	/* Else it stays where it is until the next turn. */
	if (fd < 0 || !post_has_room(readiness->messages->post, 1) ||
	    proctable_is_coming(readiness->messages->proctable, ref))
		return post_has_room(readiness->messages->post, 1);
	ssize_t n = look(readiness, fd, buf);
	if ((n > 0 && memchr(buf, '\n', (size_t)n) != NULL) ||
	    (n == 0 && !proctable_is_ending(readiness->messages->proctable, ref)))
		tell_ready(readiness, ref);
	if (n > 0)
		(void)!read(fd, buf, (size_t)n);
	else if (n != -EAGAIN)
		readiness_close(readiness, ref);
	return true;
}

void
readiness_drain(struct readiness *readiness)
{
	readables_drain(&readiness->readables, listen_to, readiness);
}

static void
on_readable(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	readiness_drain(io->data);
}

static int
watch_pipe(struct readiness *readiness, struct ref ref, int take_fd)
{
	const int r = readables_add(&readiness->readables, ref.slot, take_fd);

	if (r == 0)
		readiness->fds[ref.slot] = take_fd;
	return r;
}

void
readiness_adopt(struct readiness *readiness, struct ref ref)
{
	int fd = keeper_take(readiness->messages->keeper, key_of(ref));

	if (fd >= 0)
		(void)watch_pipe(readiness, ref, fd);
}

int
readiness_open(struct readiness *readiness, const struct actor *actor)
{
	const struct conf_process *process = actor->conf->process;
	const struct ref ref = actor->ref;
	int fds[2];

	ASSERT(ref.slot < readiness->cap);
	readiness_close(readiness, ref);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fds[0] = fd_raise(fds[0]);
	fds[1] = fd_raise(fds[1]);
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	/* Give the pipe to the actor's user, so that the process can open /dev/fd/N. */
	if (process->identity.has_user)
		(void)!fchown(fds[1], process->identity.uid, process->identity.gid);
	int r = watch_pipe(readiness, ref, fds[0]);
	if (r < 0) {
		(void)close(fds[1]);
		return r;
	}
	/* Kept before there is a process, so that a new guardian reads the pipe. */
	keeper_keep(readiness->messages->keeper, key_of(ref), fds[0]);
	return fds[1];
}

/* Room for so many slots; -ENOMEM. */
int
readiness_reserve(struct readiness *readiness, uint32_t slots)
{
	const int closed = -1;

	return ARRAY_EXTEND(readiness->fds, slots, readiness->cap, &closed) ? 0 : -ENOMEM;
}

struct readiness *
readiness_new(const struct messages *messages, struct err *err)
{
	struct readiness *readiness = calloc(1, sizeof(*readiness));
	int r = readiness == NULL ? -ENOMEM
	                          : readables_open(&readiness->readables, messages->loop,
	                                           on_readable, readiness);

	if (r == 0 && pipe2(readiness->scratch, O_CLOEXEC | O_NONBLOCK) < 0) {
		r = -errno;
		readables_close(&readiness->readables);
	}
	if (r < 0) {
		err_set(err, -r, "pipes for readiness");
		free(readiness);
		return NULL;
	}
	readiness->messages = messages;
	readiness->scratch[0] = fd_raise(readiness->scratch[0]);
	readiness->scratch[1] = fd_raise(readiness->scratch[1]);
	return readiness;
}

void
readiness_free(struct readiness *readiness)
{
	if (readiness == NULL)
		return;
	readables_close(&readiness->readables);
	for (uint32_t slot = 0; slot < readiness->cap; slot++)
		fd_close(&readiness->fds[slot]);
	fd_close(&readiness->scratch[0]);
	fd_close(&readiness->scratch[1]);
	free(readiness->fds);
	free(readiness);
}
