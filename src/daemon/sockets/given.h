/* SPDX-License-Identifier: ISC */
/* given.h - the sockets that supd was started with, as by a systemd socket unit.
 *
 * An actor's socket of the same name, or of the same address, is one of these: it is not
 * opened, and not closed, its file is left alone.  The walker keeps them as long as it
 * lives, so that a later configuration has them, too.
 */
#ifndef DAEMON_GIVEN_H
#define DAEMON_GIVEN_H

#include <sys/types.h>

struct mailboxes;
struct keeper;

struct given *given_new(struct keeper *keeper, char **variables, pid_t walker_pid);
void given_free(struct given *given);

/* Put them where they belong, by name and address, else by name, else by address. */
void given_assign(const struct given *given, struct mailboxes *mailboxes);

#endif
