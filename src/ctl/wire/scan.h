/* SPDX-License-Identifier: ISC */
/* scan.h - read JSON text in place, from left to right, without building a tree of it.
 *
 * The status of ten thousand actors is several megabytes: only what is printed is looked
 * at.  A span points into the text and lives as long as it; nothing here allocates.  The
 * scanner is told what to expect: anything else sets `bad`, after which every function
 * says that there is no more.  It never leaves the text, whatever is in it.
 */
#ifndef CTL_SCAN_H
#define CTL_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/wire/span.h"

#define SCAN_DEPTH_MAX 64

struct scan {
	const char *p;
	const char *end;
	bool bad;
};

enum scan_type { SCAN_STRING, SCAN_INT, SCAN_BOOL, SCAN_RAW };

/* A member of an object and where it goes: a span, an int64_t or a bool. */
struct scan_field {
	const char *name;
	enum scan_type type;
	size_t offset;
};

void scan_init(struct scan *scan, struct span text);
void scan_object(struct scan *scan);
bool scan_member(struct scan *scan, struct span *ret_name);
void scan_array(struct scan *scan);
bool scan_element(struct scan *scan);
struct span scan_string(struct scan *scan);
void scan_int(struct scan *scan, int64_t *ret);
void scan_bool(struct scan *scan, bool *ret);
struct span scan_value(struct scan *scan);
void scan_fields(struct scan *scan, const struct scan_field *fields, size_t n, void *ret);

#endif
