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
	const char *p, *end;
	bool bad;
};

enum scan_type { SCAN_STRING, SCAN_INT, SCAN_BOOL, SCAN_RAW, SCAN_OBJECT, SCAN_NOTHING };

/*
 * A member of an object and where it goes: a span, an int64_t or a bool, or for an object
 * a struct that begins with a bool, which becomes true if it is there.
 */
struct scan_field {
	const char *text; /* its name as it stands in the object, with quotes and colon */
	size_t len;       /* of that */
	enum scan_type type;
	size_t offset;
	const struct scan_field *inner; /* the members of an object */
	size_t n_inner;
};

#define SCAN_NAME(name) "\"" name "\":", sizeof("\"" name "\":") - 1

/* A member with this name; its value goes to this offset. */
#define SCAN_MEMBER(name, type, offset)                     \
	{                                                   \
		SCAN_NAME(name), (type), (offset), NULL, 0, \
	}
/* The same that is called as its member of the struct. */
#define SCAN_FIELD(type, where, member) \
	SCAN_MEMBER(#member, type, offsetof(where, member))
/* An object; its members are in a table of their own. */
#define SCAN_INNER(name, offset, table)                          \
	{                                                        \
		SCAN_NAME(name), SCAN_OBJECT, (offset), (table), \
		    sizeof(table) / sizeof((table)[0]),          \
	}
/* A member that is not wanted: what is sent is in the table, so that it is found at once.
 */
#define SCAN_OTHER(name) SCAN_MEMBER(name, SCAN_NOTHING, 0)

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
bool scan_read(struct span text, const struct scan_field *fields, size_t n, void *ret);

#endif
