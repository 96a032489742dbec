/* SPDX-License-Identifier: ISC */
/* readiness.h - `ready: {fd: N}`: a process says that it is ready by a newline on a
 * descriptor that it was given, or by closing it (s6's notification-fd).
 *
 * The walker keeps our end of each pipe: a newline written while no guardian listened is
 * read by the next guardian.
 */
#ifndef DAEMON_READINESS_H
#define DAEMON_READINESS_H

#include "base/err.h"
#include "core/core.h"
#include "daemon/state/actors.h"

struct messages;

struct readiness *readiness_new(const struct messages *messages, struct err *err);
void readiness_free(struct readiness *readiness);
int readiness_reserve(struct readiness *readiness, uint32_t slots);

/* Make a pipe for a new process of the actor.  Returns the end for the process, which the
 * caller closes as soon as the process has it; or -errno. */
int readiness_open(struct readiness *readiness, const struct actor *actor);
void readiness_close(struct readiness *readiness, struct ref ref);

/* Go on with the pipe that this actor had under a guardian before us, if it had one. */
void readiness_adopt(struct readiness *readiness, struct ref ref);

/* Take in everything that was said by now. */
void readiness_drain(struct readiness *readiness);

#endif
