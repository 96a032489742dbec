/* SPDX-License-Identifier: ISC */
/* phrase.h - an event of the stream, said in words. */
#ifndef CTL_PHRASE_H
#define CTL_PHRASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

void phrase_print(struct strbuf *sb, const json_t *event, bool utf8);
const char *phrase_text(const json_t *object, const char *key);
int64_t phrase_number(const json_t *object, const char *key);

#endif
