/* SPDX-License-Identifier: ISC */
/* keys.h - every effective key of an actor, and where its value came from
 * (private to conf/).
 */
#ifndef CONF_KEYS_H
#define CONF_KEYS_H

#include <stdarg.h>

#include "conf/read/read.h"

struct way;

/* A whole configuration, and where reports about it go. */
struct lint {
	const struct conf *conf;
	const struct conf_options *options;
	struct conf_reports *reports;
};

void keys_make(struct reader *reader, const struct yaml *map,
               const struct schema_type *view, struct conf_actor *actor);
void keys_add(const struct lint *lint, enum conf_severity severity,
              const struct conf_actor *actor, const char *key, const char *message);
void keys_report(const struct lint *lint, enum conf_severity severity,
                 const struct conf_actor *actor, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void keys_vreport(const struct lint *lint, enum conf_severity severity,
                  const struct conf_actor *actor, const char *key, const char *fmt,
                  va_list ap) __attribute__((format(printf, 5, 0)));
void keys_write_circle(const struct conf *conf, const struct way *way, uint32_t back,
                       struct strbuf *out);
struct lint keys_lint(const struct reader *reader);
void keys_refuse_stranger(struct reader *reader, const struct conf_actor *actor,
                          const char *key, const char *path);

#endif
