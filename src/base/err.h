/* SPDX-License-Identifier: ISC */
/* err.h - one failure, as a number for the program and a sentence for a person.
 *
 * The callee fills it and returns; only the caller that decides what happens next
 * prints it.  Owns no memory.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

struct err {
	int code; /* an errno value, or 0 when the sentence says it all */
	char text[480];
};

int err_set(struct err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int err_say(struct err *err, int r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void err_prefix(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
const char *err_name(int code);
const char *err_of_file(int code);
int err_code(const char *name);
bool err_is_shortage(int code);
void *err_calloc(size_t size, struct err *err, const char *what);

#endif
