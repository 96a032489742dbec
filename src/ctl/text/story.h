/* SPDX-License-Identifier: ISC */
/* story.h - the story of an actor as supd tells it, in the reader's own form. */
#ifndef CTL_STORY_H
#define CTL_STORY_H

#include <stddef.h>

#include "base/strbuf.h"

void story_print(struct strbuf *sb, const char *text, size_t len);

#endif
