/* SPDX-License-Identifier: ISC */
/* table.c - aligned columns. */
#include "config.h"

#include "ctl/text/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"

/* An empty table of so many columns. */
void
table_init(struct table *table, uint32_t columns)
{
	ASSERT(columns > 0);
	ASSERT(columns <= TABLE_COLUMNS_MAX);
	*table = (struct table){.columns = columns};
	strbuf_init(&table->text, TABLE_BYTES_MAX);
}

/* Give back the memory. */
void
table_done(struct table *table)
{
	free(table->cells);
	strbuf_done(&table->text);
}

/* Begin a cell; its text is appended to what is returned. */
struct strbuf *
table_begin(struct table *table)
{
	table->cell_start = table->text.len;
	return &table->text;
}

static struct cell
make_cell(struct table *table, enum colour colour, uint32_t column)
{
	size_t len = table->text.len - table->cell_start;
	const char *text = strbuf_str(&table->text) + table->cell_start;
	/* Nothing stands behind the last. */
	size_t width = column + 1 < table->columns ? print_width(text, len) : 0;

	if (width > table->widths[column])
		table->widths[column] = width;
	return (struct cell){
	    .offset = (uint32_t)table->cell_start,
	    .len = (uint32_t)len,
	    .width = (uint32_t)width,
	    .colour = colour,
	};
}

/* End a cell; rows fill from left to right. */
void
table_end(struct table *table, enum colour colour)
{
	if (table->failed || table->text.failed || table->n == TABLE_CELLS_MAX ||
	    !ARRAY_RESERVE(table->cells, table->n, table->cap)) {
		table->failed = true;
		return;
	}
	table->cells[table->n] =
	    make_cell(table, colour, (uint32_t)table->n % table->columns);
	table->n++;
}

/* A whole cell of trusted text. */
void
table_add(struct table *table, enum colour colour, const char *text)
{
	strbuf_adds(table_begin(table), text);
	table_end(table, colour);
}

static void
print_row(const struct table *table, struct out *out, const struct cell *cells)
{
	const char *text = strbuf_str(&table->text);
	uint32_t last = table->columns;

	while (last > 0 && cells[last - 1].len == 0)
		last--;
	for (uint32_t i = 0; i < last; i++) {
		print_coloured(out, cells[i].colour, text + cells[i].offset,
		               cells[i].len);
		if (i + 1 < last)
			print_pad(&out->buf, cells[i].width, table->widths[i]);
	}
	strbuf_addc(&out->buf, '\n');
}

/* Print all rows.  -ENOMEM when they could not all be collected; nothing is printed. */
int
table_print(struct table *table, struct out *out, const char *indent)
{
	if (table->failed)
		return -ENOMEM;
	for (size_t i = 0; i + table->columns <= table->n; i += table->columns) {
		strbuf_adds(&out->buf, indent);
		print_row(table, out, &table->cells[i]);
		print_flush_if_full(out);
	}
	return 0;
}
