/* SPDX-License-Identifier: ISC */
/* keys.h - every effective key of an actor, and where its value came from
 * (private to conf/).
 */
#ifndef CONF_KEYS_H
#define CONF_KEYS_H

#include <stdarg.h>

#include "conf/read/read.h"

void keys_make(struct reader *reader, const struct yaml *map,
               const struct schema_type *view, struct conf_actor *actor);
void keys_report(struct conf_reports *reports, enum conf_severity severity,
                 const struct conf *conf, const struct conf_actor *actor, const char *key,
                 const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void keys_vreport(struct conf_reports *reports, enum conf_severity severity,
                  const struct conf *conf, const struct conf_actor *actor,
                  const char *key, const char *fmt, va_list ap)
    __attribute__((format(printf, 6, 0)));
void keys_refuse_stranger(struct reader *reader, const struct conf_actor *actor,
                          const char *key, const char *path);

#endif
