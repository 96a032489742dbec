/* SPDX-License-Identifier: ISC */
/* alone.h - before supd begins: no other supd is there, and nothing that another left. */
#ifndef DAEMON_ALONE_H
#define DAEMON_ALONE_H

#include <stdbool.h>
#include <stddef.h>

struct conf;
struct ledger;
struct leftovers;
struct supd;

bool alone_prepare(struct supd *supd, const struct conf *conf, struct ledger **ret_room,
                   bool *ret_clean);
void alone_end_leftovers(struct supd *supd, const struct conf *conf,
                         struct leftovers *found);
void alone_end_all(struct supd *supd, const struct conf *conf);
size_t alone_end_actors(struct supd *supd);

#endif
