/* SPDX-License-Identifier: ISC */
/* system.h - supd's own actors: /system, /system/log, and its helper processes.
 *
 * They are in the core like any other, started before /user and stopped after it, but in
 * no configuration: conf_id 0 is this table.  No plan has them, no status that is not
 * asked for them by their paths.
 */
#ifndef DAEMON_SYSTEM_H
#define DAEMON_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/text/conf.h"
#include "core/core.h"
#include "daemon/state/actors.h"
#include "helper/wire.h"

#define SYSTEM_PATH     "/system"
#define SYSTEM_LOG_PATH SYSTEM_PATH "/log"
#define SYSTEM_LOG_ROLE "@log"

/* The places in the table: /system, /system/log, then the helpers. */
enum {
	SYSTEM_TOP,
	SYSTEM_LOG,
	SYSTEM_HELPERS,
	SYSTEM_ACTORS = SYSTEM_HELPERS + HELPER_MAX
};

struct system *system_new(void);
struct conf *system_conf(struct system *system);
bool system_has(const struct actor *actor);
bool system_is_helper(const struct system *system, const struct actor *actor,
                      enum helper_name *ret);
bool system_is_spared(const struct system *system, const struct actor *actor);
const char *system_helper_path(enum helper_name name);

#endif
