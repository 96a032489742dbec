/* SPDX-License-Identifier: ISC */
/* names.h - enums and their names from one X-macro list; lists of names.
 *
 *	#define COLOUR_MAP(X) X(COLOUR_RED, "red") X(COLOUR_BLUE, "blue")
 *	enum colour { COLOUR_MAP(AS_ENUM) COLOUR_MAX };
 *	static const char *const colour_names[] = {COLOUR_MAP(AS_NAME)};
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define AS_ENUM(symbol, name) symbol,
#define AS_NAME(symbol, name) [symbol] = name,

/* Behind an enum of which each actor has a value: it takes one byte. */
#define ONE_BYTE __attribute__((packed))

int names_find(const char *const *names, size_t n, const char *name);
bool names_list_has(const char *words, const char *word);
const char *names_last(const char *path);
const char *environ_find(char *const *variables, const char *name, size_t len);

#endif
