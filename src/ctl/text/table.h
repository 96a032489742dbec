/* SPDX-License-Identifier: ISC */
/* table.h - aligned columns: collect the cells, then print them as wide as they must be.
 *
 * Owns the text of its cells, one buffer for all.  The last column is not padded.
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "ctl/wire/print.h"

#define TABLE_COLUMNS_MAX 8
#define TABLE_CELLS_MAX   (8 * 1024 * 1024)
#define TABLE_BYTES_MAX   (256 * 1024 * 1024)

struct cell {
	uint32_t offset, len, width;
	enum colour colour;
};

struct table {
	uint32_t columns;
	size_t widths[TABLE_COLUMNS_MAX];
	struct cell *cells;
	size_t n, cap;
	struct strbuf text;
	size_t cell_start;
	bool failed; /* out of memory: table_print() says so */
};

void table_init(struct table *table, uint32_t columns);
void table_done(struct table *table);
struct strbuf *table_begin(struct table *table);
void table_end(struct table *table, enum colour colour);
void table_add(struct table *table, enum colour colour, const char *text);
int table_print(struct table *table, struct out *out, const char *indent);

#endif
