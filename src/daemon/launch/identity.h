/* SPDX-License-Identifier: ISC */
/* identity.h - as which user and groups is an actor started that were unknown at boot? */
#ifndef DAEMON_IDENTITY_H
#define DAEMON_IDENTITY_H

#include "os/spawn/spawn.h"

struct actor;
struct launcher;

int identity_settle(const struct launcher *launcher, const struct actor *actor,
                    enum spawn_step *ret_step);

#endif
