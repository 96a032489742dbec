/* SPDX-License-Identifier: ISC */
/* schema_show.c - a value as JSON, in one spelling only: 60s and 1m are the same. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "conf/schema/schema_scan.h"

#define SHOW_BYTES_MAX  (16 * 1024 * 1024)
#define SHOW_HEIGHT_MAX 8

/* A list or mapping that is being printed. */
struct open_part {
	const struct yaml *node;
	const struct schema_type *type;
	size_t next;
};

static void
show_milli(uint64_t milli, struct strbuf *out)
{
	char decimals[8] = "";
	size_t len = 3;

	strbuf_addf(out, "%u", (unsigned int)(milli / 1000));
	if (milli % 1000 == 0)
		return;
	for (uint64_t rest = milli % 1000; len > 0; rest /= 10)
		decimals[--len] = (char)('0' + rest % 10);
	len = 3;
	while (decimals[len - 1] == '0')
		decimals[--len] = '\0';
	strbuf_addf(out, ".%s", decimals);
}

static void
show_range(uint64_t number, struct strbuf *out)
{
	if (RANGE_FIRST(number) == RANGE_LAST(number))
		strbuf_addf(out, "%u", RANGE_FIRST(number));
	else
		strbuf_addf(out, "\"%u-%u\"", RANGE_FIRST(number), RANGE_LAST(number));
}

static void
show_signal(int signo, struct strbuf *out)
{
	if (strcmp(signal_name(signo), "SIG?") == 0)
		strbuf_addf(out, "%d", signo);
	else
		strbuf_add_json(out, signal_name(signo) + 3);
}

/* "10M", or as a bare number what is no multiple of any unit. */
static void
show_size(uint64_t bytes, struct strbuf *out)
{
	char buf[SIZE_TEXT_MAX];

	(void)size_format(bytes, buf);
	if (strpbrk(buf, "KMGT") != NULL)
		strbuf_add_json(out, buf);
	else
		strbuf_adds(out, buf);
}

static void
show_number(const struct schema_type *type, const struct yaml *node, uint64_t number,
            struct strbuf *out)
{
	char buf[DURATION_TEXT_MAX];

	switch (type->show) {
	case SHOW_TEXT:
		strbuf_add_json(out, node->text);
		return;
	case SHOW_INTEGER:
		if (type->min < 0)
			strbuf_addf(out, "%lld", (long long)number);
		else
			strbuf_addf(out, "%llu", (unsigned long long)number);
		return;
	case SHOW_MILLI:
		show_milli(number, out);
		return;
	case SHOW_BOOLEAN:
		strbuf_adds(out, number != 0 ? "true" : "false");
		return;
	case SHOW_DURATION:
		strbuf_add_json(out, duration_format(number, buf));
		return;
	case SHOW_SIZE:
		show_size(number, out);
		return;
	case SHOW_SIGNAL:
		show_signal((int)number, out);
		return;
	case SHOW_CAPABILITY:
		strbuf_add_json(out, conf_capability_name((int)number));
		return;
	case SHOW_RANGE:
		show_range(number, out);
		return;
	}
}

static void
show_text(const struct schema_type *type, const struct yaml *node, struct strbuf *out)
{
	struct value value;
	struct err why;

	if (schema_scan(type, node, &value, &why) < 0)
		strbuf_add_json(out, node->text);
	else if (value.word < 0)
		show_number(type, node, value.number, out);
	else if (strcmp(type->words[value.word], "true") == 0)
		strbuf_adds(out, "true");
	else
		strbuf_add_json(out, type->words[value.word]);
}

/* Print the opening of the next part of a list or mapping, and say what it is. */
static const struct yaml *
next_part(struct open_part *level, struct strbuf *out)
{
	const struct yaml *node = level->node;
	size_t i = level->next++;

	if (i > 0)
		strbuf_addc(out, ',');
	if (node->type == NODE_LIST)
		return node->items[i];
	strbuf_add_json(out, node->pairs[i].key->text);
	strbuf_addc(out, ':');
	return node->pairs[i].value;
}

/*
 * A value that was found to be good as JSON text, which the caller frees.  NULL: out of
 * memory.
 */
char *
schema_show(const struct schema_type *type, const struct yaml *node)
{
	struct open_part levels[SHOW_HEIGHT_MAX];
	size_t n = 0;
	struct strbuf out = STRBUF(SHOW_BYTES_MAX);

	while (node != NULL) {
		if (type == NULL || (node->type != NODE_TEXT && n == SHOW_HEIGHT_MAX)) {
			strbuf_adds(&out, "null");
		} else if (node->type == NODE_TEXT) {
			show_text(type, node, &out);
		} else {
			strbuf_addc(&out, node->type == NODE_LIST ? '[' : '{');
			levels[n++] = (struct open_part){node, type, 0};
		}
		node = NULL;
		while (n > 0 && levels[n - 1].next == levels[n - 1].node->n)
			strbuf_addc(&out,
			            levels[--n].node->type == NODE_LIST ? ']' : '}');
		if (n > 0) {
			struct open_part *level = &levels[n - 1];

			type =
			    level->node->type == NODE_LIST
			        ? level->type->items
			        : schema_below(level->type,
			                       level->node->pairs[level->next].key->text);
			node = next_part(level, &out);
		}
	}
	return strbuf_take(&out);
}
