/* SPDX-License-Identifier: ISC */
/* keys.h - every effective key of an actor, and where its value came from
 * (private to conf/).
 */
#ifndef CONF_KEYS_H
#define CONF_KEYS_H

#include "conf/read.h"

void keys_make(struct reader *reader, const struct node *map, unsigned int where,
               struct conf_actor *actor);
void keys_path(const struct conf *conf, const struct conf_actor *actor, const char *key,
               struct strbuf *out);
const struct conf_key *keys_find(const struct conf_actor *actor, const char *key);

#endif
