/* SPDX-License-Identifier: ISC */
/* convert_actor.h - an actor, from the settings of another supervisor. */
#ifndef DAEMON_CONVERT_ACTOR_H
#define DAEMON_CONVERT_ACTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "daemon/loop/convert_settings.h"

#define CONVERT_NAME_BYTES 100
#define CONVERT_TEXT_MAX   (1024 * 1024)

struct converted {
	char name[CONVERT_NAME_BYTES];
	struct strbuf keys;
	struct strbuf parts[PART_MAX];
	struct strbuf notes;
};

void convert_begin(struct converted *actor, const char *name, size_t len);
void convert_take(struct converted *actor, const struct setting *settings, size_t n,
                  const char *key, const char *value);
void convert_end(struct converted *actor, struct strbuf *out);
void convert_add_text(struct strbuf *out, const char *text);
char *convert_trim(char *text);

/* convert_sections.c */
void convert_supervisor(FILE *file, struct strbuf *out);
void convert_unit(FILE *file, const char *path, struct strbuf *out);

#endif
