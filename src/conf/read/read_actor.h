/* SPDX-License-Identifier: ISC */
/* read_actor.h - one actor from its effective keys (private to conf/). */
#ifndef CONF_ACTOR_H
#define CONF_ACTOR_H

#include "conf/read/expand.h"
#include "conf/read/read.h"

void actor_read(struct reader *reader, const struct yaml *map, const struct scope *scope,
                const struct trail *trail, struct conf_actor *actor);

#endif
