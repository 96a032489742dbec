/* SPDX-License-Identifier: ISC */
/* inherited.h - the sockets that supd was started with, as by a systemd socket unit.
 *
 * An actor's socket of the same name, or of the same address, is one of these: it is not
 * opened, and not closed, its file is left alone.  The walker keeps them as long as it
 * lives, so that a later configuration has them, too.
 */
#ifndef DAEMON_INHERITED_H
#define DAEMON_INHERITED_H

#include <sys/types.h>

struct mailboxes;
struct keeper;

struct inherited *inherited_new(struct keeper *keeper, char **variables,
                                pid_t walker_pid);
void inherited_free(struct inherited *inherited);

/* Put them where they belong, by name and address, else by name, else by address. */
void inherited_assign(const struct inherited *inherited, struct mailboxes *mailboxes);

#endif
