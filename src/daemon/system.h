/* SPDX-License-Identifier: ISC */
/* system.h - supd's own actors: /system and /system/log.
 *
 * They are in the core like any other, started before /user and stopped after it, but in
 * no configuration: conf_id 0 is this table.  No plan has them, no status that is not
 * asked for them by their paths.
 */
#ifndef DAEMON_SYSTEM_H
#define DAEMON_SYSTEM_H

#include "conf/conf.h"
#include "core/core.h"
#include "daemon/actors.h"

#include <stdbool.h>
#include <stdint.h>

#define SYSTEM_ACTORS   2
#define SYSTEM_LOG_PATH "/system/log"
#define SYSTEM_LOG_ROLE "@log"

struct system;

struct system *system_new(void);
void system_free(struct system *system);
struct conf *system_conf(struct system *system);
bool system_has(const struct actor *actor);
const char *system_file(const struct system *system);

#endif
