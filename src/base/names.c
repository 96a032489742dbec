/* SPDX-License-Identifier: ISC */
/* names.c - enums and their names from one X-macro list; lists of names. */
#include "config.h"

#include "base/names.h"

#include <string.h>

/* The index of `name` in a table of n names, or -1.  Exact, case matters. */
int
names_find(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] != NULL && names[i][0] == name[0] &&
		    strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

/* True if `word` is among `words`, which are separated by blanks. */
bool
names_list_has(const char *words, const char *word)
{
	const size_t len = strlen(word);

	for (; *words != '\0'; words += strspn(words, " ")) {
		const size_t n = strcspn(words, " ");

		if (n == len && memcmp(words, word, n) == 0)
			return true;
		words += n;
	}
	return false;
}

/* What is behind the last slash of a path, or all of it: a part of it, borrowed. */
const char *
names_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The value of a variable in a list of "NAME=value" (NULL is empty); NULL: not there. The
 * name has `len` bytes. */
const char *
environ_find(char *const *variables, const char *name, size_t len)
{
	for (size_t i = 0; variables != NULL && variables[i] != NULL; i++)
		if (strncmp(variables[i], name, len) == 0 && variables[i][len] == '=')
			return variables[i] + len + 1;
	return NULL;
}
