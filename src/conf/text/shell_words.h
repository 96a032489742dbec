/* SPDX-License-Identifier: ISC */
/* shell_words.h - a command line split by the shell's quoting rules, and nothing else of
 * it (private to conf/).
 */
#ifndef CONF_WORDS_H
#define CONF_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "conf/text/arena.h"

#define WORDS_MAX 4096

int words_split(struct arena *arena, const char *text, char ***ret_words, size_t *ret_n,
                struct err *err);
bool words_want_shell(const char *text, char *ret_what, size_t size);

#endif
