/* SPDX-License-Identifier: ISC */
/* bounded.h - do in a child what may never return.
 *
 * open(2), bind(2), unlink(2), close(2) and others enter the file system of a file: one
 * in user space (FUSE) or on the network answers when it likes, and SIGKILL does not end
 * that wait.  The user database may be a server.  So a child does such a thing, and
 * whatever becomes of it, we go on.  A child that hangs keeps its place until it has
 * ended: there are few places, and fewer for one owner, which is any number that the
 * caller chooses.
 *
 * Either nobody waits for the child (bounded_start()), or it has a channel to say what
 * came of it (bounded_open(), bounded_answer(), bounded_run()).
 */
#ifndef OS_SELF_BOUNDED_H
#define OS_SELF_BOUNDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many children may be at work, and how many for one owner. */
#define BOUNDED_MAX     64
#define BOUNDED_OWN_MAX 4

/* All of it 0: no child is at work. */
struct bounded {
	pid_t pids[BOUNDED_MAX]; /* 0: the place is free */
	uint64_t owners[BOUNDED_MAX];
	bool is_late[BOUNDED_MAX];           /* it was killed for that */
	uint64_t rest_until_ms[BOUNDED_MAX]; /* … and its owner rests until then */
};

/* What a child does; `fd` is its end of the channel, -1 if it has none. */
typedef void bounded_fn(int fd, void *data);

struct bounded_task {
	uint64_t owner;
	bounded_fn *run;
	void *data;
};

void bounded_done(struct bounded *bounded);
void bounded_reaped(struct bounded *bounded, pid_t pid);
bool bounded_has_room(struct bounded *bounded, uint64_t owner);
bool bounded_works(struct bounded *bounded, int id);
bool bounded_hangs(struct bounded *bounded, uint64_t owner);
unsigned int bounded_count_late(struct bounded *bounded);

int bounded_start(struct bounded *bounded, const struct bounded_task *task);
int bounded_open(struct bounded *bounded, const struct bounded_task *task, int *ret_fd);
void bounded_end(struct bounded *bounded, int id, int *fd);
void bounded_leave(struct bounded *bounded, uint64_t owner, int id, int *fd);
void bounded_end_late(struct bounded *bounded, uint64_t owner, int id, int *fd);

int bounded_answer(int fd, uint64_t until_ms, void *ret_answer, size_t size, int *ret_fd);
ssize_t bounded_take(int fd, uint64_t until_ms, char *buf, size_t size);
ssize_t bounded_run(struct bounded *bounded, const struct bounded_task *task,
                    int timeout_ms, char *buf, size_t size);

#endif
