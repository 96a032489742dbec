/* SPDX-License-Identifier: ISC */
/* notify.h - what processes say of themselves: READY=1, STATUS=…, over sd_notify(3).
 *
 * Each actor that has a NOTIFY_SOCKET has an abstract address of its own, so that a
 * helper that speaks and ends at once is still known by where it spoke.
 */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <sys/types.h>

#include "base/err.h"
#include "core/core.h"
#include "os/socket/sdnotify.h"

struct messages;

/* The actor says that this process of its own is its main process from now on (MAINPID=).
 */
typedef void notify_main_pid(void *data, struct ref ref, pid_t pid);

struct notify *notify_new(const struct messages *messages, notify_main_pid *on_main_pid,
                          void *data, struct err *err);
void notify_free(struct notify *notify);
int notify_reserve(struct notify *notify, uint32_t slots);

/* Go on with the socket that it had under a guardian before us, if it had one. */
void notify_adopt(struct notify *notify, struct ref ref);

/* The actor's NOTIFY_SOCKET, opened if it is not yet; -errno. */
int notify_open(struct notify *notify, struct ref ref, char ret_address[NOTIFY_NAME_MAX]);
void notify_close(struct notify *notify, struct ref ref);

/* Take in everything that was said by now. */
void notify_drain(struct notify *notify);
/* The process in this slot has ended: take in what it has said, also out of its turn. */
void notify_hear(struct notify *notify, uint32_t slot);
/* The process in this slot has begun: take the messages that waited for its start. */
void notify_resume(struct notify *notify, uint32_t slot);

#endif
