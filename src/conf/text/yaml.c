/* SPDX-License-Identifier: ISC */
/* yaml.c - from text to a tree of nodes that know their line and column.
 *
 * libyaml's events are assembled with a stack of our own.  Anchors, aliases and `<<` are
 * resolved here; readers of the tree see plain mappings.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cleanup.h"
#include "conf/text/yaml_assembly.h"

/* The keys and indexes that lead to what is being read, and `last` if there is one. */
static void
write_way(const struct assembly *assembly, const char *last, struct strbuf *out)
{
	for (size_t i = 0; i < assembly->n_frames; i++) {
		const struct frame *frame = &assembly->frames[i];
		size_t end =
		    i + 1 < assembly->n_frames ? frame[1].first : assembly->n_pile;
		const struct yaml *key =
		    end > frame->first ? assembly->pile[end - 1] : NULL;

		if (frame->node->type == NODE_LIST)
			strbuf_addf(out, "[%zu]", end - frame->first);
		else if ((end - frame->first) % 2 == 1 && key->type == NODE_TEXT)
			strbuf_addf(out, "%s%s", out->len > 0 ? "." : "", key->text);
	}
	if (last != NULL)
		strbuf_addf(out, "%s%s", out->len > 0 ? "." : "", last);
}

/* Report a fault of the text, at `last`, a key, if that is not NULL; returns -EINVAL. */
int
yaml_complain(const struct assembly *assembly, const char *last, size_t line,
              size_t column, const char *fmt, ...)
{
	const struct yaml_source *source = assembly->source;
	char message[512];
	CLEANUP(strbuf_done) struct strbuf way = STRBUF(65536);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	write_way(assembly, last, &way);
	reports_add(source->reports, CONF_ERROR,
	            &(struct spot){source->name, (uint32_t)line, (uint32_t)column},
	            strbuf_str(&way), message);
	return -EINVAL;
}

/* libyaml's words for what people do most often, and ours. */
static const struct {
	const char *theirs, *ours;
} sentences[] = {
    {"found character that cannot start any token",
     "this character cannot stand here; quote the text, and indent with spaces, not "
     "tabs"},
    {"mapping values are not allowed in this context",
     "a second `:` in this line; quote the text, or mend the indentation"},
    {"did not find expected key",
     "a key was expected here; look at the indentation, and for a missing `:`"},
    {"could not find expected ':'", "a key without its `:`"},
    {"did not find expected node content", "a value was expected here"},
    {"did not find expected '-' indicator",
     "a `-` was expected here; look at the indentation of the list"},
    {"did not find expected ',' or ']'", "a `,` or the closing `]` is missing"},
    {"did not find expected ',' or '}'", "a `,` or the closing `}` is missing"},
    {"found unexpected end of stream", "the file ends in the middle of a quoted text"},
    {"found undefined tag handle", "an unknown `!` tag; quote the text"},
    {"control characters are not allowed", "a control character; a file is plain UTF-8"},
    {"invalid leading UTF-8 octet", "a byte that is not UTF-8"},
    {"invalid trailing UTF-8 octet", "a byte that is not UTF-8"},
    {"incomplete UTF-8 octet sequence", "a byte that is not UTF-8"},
};

static const char *
in_our_words(const char *problem)
{
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
		if (strcmp(sentences[i].theirs, problem) == 0)
			return sentences[i].ours;
	return problem;
}

/* The reader of libyaml knows only the offset. */
static void
locate_offset(const struct yaml_source *source, size_t offset, size_t *ret_line,
              size_t *ret_column)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < offset && i < source->len; i++) {
		unsigned char c = (unsigned char)source->text[i];

		if (c == '\n') {
			line++;
			column = 1;
		} else if ((c & 0xc0) != 0x80) {
			column++;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

static int
complain_of_syntax(const struct assembly *assembly, const yaml_parser_t *parser)
{
	const struct yaml_source *source = assembly->source;
	const char *problem =
	    parser->problem != NULL ? parser->problem : "it cannot be parsed";
	size_t line = parser->problem_mark.line + 1;
	size_t column = parser->problem_mark.column + 1;

	if (parser->error == YAML_READER_ERROR)
		locate_offset(source, parser->problem_offset, &line, &column);
	if (parser->context != NULL && parser->context_mark.line + 1 < line)
		return yaml_complain(assembly, NULL, line, column,
		                     "not valid YAML: %s (%s that begins at line %zu)",
		                     in_our_words(problem), parser->context,
		                     parser->context_mark.line + 1);
	return yaml_complain(assembly, NULL, line, column, "not valid YAML: %s",
	                     in_our_words(problem));
}

/* Put a complete node where it belongs: into the innermost open one, or at the top. */
static int
put_node(struct assembly *assembly, const struct yaml *node)
{
	if (assembly->n_frames == 0) {
		assembly->root = node;
		return 0;
	}
	if (!ARRAY_RESERVE(assembly->pile, assembly->n_pile, assembly->pile_cap))
		return -ENOMEM;
	assembly->pile[assembly->n_pile++] = node;
	return 0;
}

static int
remember_anchor(struct assembly *assembly, const char *anchor, const struct yaml *node)
{
	if (anchor == NULL)
		return 0;
	if (!ARRAY_RESERVE(assembly->anchors, assembly->n_anchors, assembly->anchors_cap))
		return -ENOMEM;
	assembly->anchors[assembly->n_anchors] = node;
	return map_put_name(&assembly->anchor_index, anchor,
	                    (uint32_t)assembly->n_anchors++);
}

static struct yaml *
node_at(struct assembly *assembly, enum node_type type, const yaml_event_t *event)
{
	return node_new(assembly->source->arena, type,
	                &(struct yaml){
	                    .file = assembly->source->file,
	                    .line = (uint32_t)event->start_mark.line + 1,
	                    .column = (uint32_t)event->start_mark.column + 1,
	                });
}

/* YAML's own tags change nothing; others, as `!include`, are errors, since they would
 * have no effect. */
static void
check_tag(struct assembly *assembly, const yaml_event_t *event, const yaml_char_t *tag)
{
	const char *text = (const char *)tag;

	if (text != NULL && strncmp(text, "tag:yaml.org,2002:", 18) != 0 &&
	    strcmp(text, "!") != 0)
		yaml_complain(assembly, NULL, event->start_mark.line + 1,
		              event->start_mark.column + 1,
		              "the tag `%.60s` means nothing here; quote the text if it "
		              "begins with `!`",
		              text);
}

static char *
copy_anchor(struct assembly *assembly, const yaml_char_t *anchor)
{
	return anchor == NULL ? NULL
	                      : arena_dup(assembly->source->arena, (const char *)anchor);
}

static int
on_text(struct assembly *assembly, const yaml_event_t *event)
{
	const char *value = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	struct yaml *node = node_at(assembly, NODE_TEXT, event);

	if (node == NULL)
		return -ENOMEM;
	if (memchr(value, '\0', len) != NULL)
		yaml_complain(assembly, NULL, node->line, node->column,
		              "a text cannot hold a NUL character");
	node->text = arena_copy(assembly->source->arena, value, len);
	if (node->text == NULL)
		return -ENOMEM;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	              event->data.scalar.plain_implicit != 0;
	node->dollar = strchr(node->text, '$') != NULL;
	check_tag(assembly, event, event->data.scalar.tag);
	int r = remember_anchor(assembly,
	                        copy_anchor(assembly, event->data.scalar.anchor), node);
	return r < 0 ? r : put_node(assembly, node);
}

static int
on_open(struct assembly *assembly, const yaml_event_t *event, enum node_type type,
        const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (assembly->n_frames == NODE_HEIGHT_MAX) {
		return yaml_complain(assembly, NULL, event->start_mark.line + 1,
		                     event->start_mark.column + 1,
		                     "nested deeper than %d levels of lists and mappings",
		                     NODE_HEIGHT_MAX);
	}
	struct yaml *node = node_at(assembly, type, event);
	if (node == NULL)
		return -ENOMEM;
	check_tag(assembly, event, tag);
	assembly->frames[assembly->n_frames++] = (struct frame){
	    .node = node,
	    .anchor = copy_anchor(assembly, anchor),
	    .first = assembly->n_pile,
	};
	return 0;
}

static int
on_alias(struct assembly *assembly, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	size_t line = event->start_mark.line + 1;
	size_t column = event->start_mark.column + 1;
	uint32_t index;

	for (size_t i = 0; i < assembly->n_frames; i++) {
		const char *open = assembly->frames[i].anchor;

		if (open == NULL || strcmp(open, name) != 0)
			continue;
		return yaml_complain(
		    assembly, NULL, line, column,
		    "the alias `*%.60s` stands inside the very thing it names", name);
	}
	if (!map_get_name(&assembly->anchor_index, name, &index)) {
		return yaml_complain(
		    assembly, NULL, line, column,
		    "the alias `*%.60s` has no anchor `&%.60s` before it", name, name);
	}
	const struct yaml *target = assembly->anchors[index];
	assembly->aliased += target->weight;
	if (assembly->aliased > NODE_ALIASED_MAX) {
		return yaml_complain(
		    assembly, NULL, line, column,
		    "the aliases up to here stand for more than %d nodes; "
		    "this file is refused",
		    NODE_ALIASED_MAX);
	}
	if (assembly->n_frames + target->height > NODE_HEIGHT_MAX) {
		return yaml_complain(assembly, NULL, line, column,
		                     "nested deeper than %d levels of lists and mappings",
		                     NODE_HEIGHT_MAX);
	}
	return put_node(assembly, target);
}

static int
finish_list(struct assembly *assembly, const struct frame *frame)
{
	struct yaml *node = frame->node;

	node->n = assembly->n_pile - frame->first;
	node->items = arena_alloc(assembly->source->arena, node->n, sizeof(*node->items));
	if (node->items == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < node->n; i++) {
		node->items[i] = assembly->pile[frame->first + i];
		node_count_part(node, node->items[i]);
	}
	return 0;
}

static int
on_close(struct assembly *assembly)
{
	int r;

	ASSERT(assembly->n_frames > 0);
	struct frame frame = assembly->frames[assembly->n_frames - 1];
	if (frame.node->type == NODE_LIST) {
		r = finish_list(assembly, &frame);
	} else {
		CLEANUP(map_done) struct map seen = {0};

		r = yaml_fill_map(assembly, &frame, &seen);
	}
	if (r < 0)
		return r;
	assembly->n_pile = frame.first;
	assembly->n_frames--;
	r = remember_anchor(assembly, frame.anchor, frame.node);
	return r < 0 ? r : put_node(assembly, frame.node);
}

static int
on_document(struct assembly *assembly, const yaml_event_t *event)
{
	if (assembly->n_documents++ == 0)
		return 0;
	return yaml_complain(assembly, NULL, event->start_mark.line + 1,
	                     event->start_mark.column + 1,
	                     "a second document begins here; a file holds one");
}

static int
on_event(struct assembly *assembly, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	case YAML_DOCUMENT_START_EVENT:
		return on_document(assembly, event);
	case YAML_SCALAR_EVENT:
		return on_text(assembly, event);
	case YAML_ALIAS_EVENT:
		return on_alias(assembly, event);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(assembly, event, NODE_LIST,
		               event->data.sequence_start.anchor,
		               event->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return on_open(assembly, event, NODE_MAP,
		               event->data.mapping_start.anchor,
		               event->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return on_close(assembly);
	}
	return 0;
}

static int
parse_events(struct assembly *assembly, yaml_parser_t *parser)
{
	bool ended = false;

	while (!ended) {
		yaml_event_t event;

		if (yaml_parser_parse(parser, &event) == 0)
			return parser->error == YAML_MEMORY_ERROR
			           ? -ENOMEM
			           : complain_of_syntax(assembly, parser);
		ended = event.type == YAML_STREAM_END_EVENT;
		int r = on_event(assembly, &event);
		yaml_event_delete(&event);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Read one document.  *ret_root is NULL for a file without any content; it lives in
 * source->arena.  What is wrong is added to source->reports: -EINVAL if reading could
 * not go on to the end, 0 otherwise (with duplicate keys, say, reported all the same).
 * -ENOMEM is not reported.
 */
int
yaml_parse(const struct yaml_source *source, const struct yaml **ret_root)
{
	CLEANUP_FREE struct assembly *assembly = calloc(1, sizeof(*assembly));
	yaml_parser_t parser;

	if (assembly == NULL || yaml_parser_initialize(&parser) == 0)
		return -ENOMEM;
	assembly->source = source;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)source->text,
	                             source->len);
	int r = parse_events(assembly, &parser);
	if (r == 0)
		*ret_root = assembly->root;
	yaml_parser_delete(&parser);
	map_done(&assembly->anchor_index);
	free(assembly->pile);
	free(assembly->anchors);
	return r;
}
