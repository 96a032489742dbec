/* SPDX-License-Identifier: ISC */
/* describe.h - the effective keys of an actor as JSON. */
#ifndef DAEMON_DESCRIBE_H
#define DAEMON_DESCRIBE_H

#include <jansson.h>

#include "conf/text/conf.h"

json_t *describe_json(const struct conf *conf, const struct conf_actor *actor);

#endif
