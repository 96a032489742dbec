/* SPDX-License-Identifier: ISC */
/* ansi.h - output of programs for a terminal: their colours may pass, nothing else does.
 *
 * A terminal obeys what is written to it.  What programs and strangers wrote goes there
 * only through here or through strbuf_add_visible(), which lets no colours pass.
 */
#ifndef BASE_ANSI_H
#define BASE_ANSI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define ANSI_RESET "\x1b[0m"

void ansi_add_output(struct strbuf *sb, const char *text, size_t len, bool colours);
size_t ansi_colour_length(const char *p, const char *end);
const char *ansi_of_name(const char *name);
const char *ansi_of_number(size_t n);

#endif
