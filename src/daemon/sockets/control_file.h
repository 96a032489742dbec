/* SPDX-License-Identifier: ISC */
/* control_file.h - the file of the control socket.
 *
 * Its path is what its author chose: all of this is done in a child.
 */
#ifndef DAEMON_CONTROL_FILE_H
#define DAEMON_CONTROL_FILE_H

#include <stdbool.h>

#include "base/err.h"
#include "os/socket/sockwork.h"

/* So many clients at most are connected, and wait to be. */
#define CONTROL_CONNS_MAX 512

struct shell;

/* Look at the file of the socket, and with `connects` whether it is live: as
 * sockwork_look(). */
int control_file_look(struct shell *shell, bool connects, struct sockwork_seen *ret);

/* Have something done with it, its mode being that of the configuration: as
 * sockwork_do(). */
int control_file_do(struct shell *shell, enum sockwork_kind kind, gid_t gid,
                    struct err *err);

#endif
