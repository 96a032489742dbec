/* SPDX-License-Identifier: ISC */
/* verb_tree.c - tree: the supervision tree, drawn, or for Graphviz. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "ctl/text/roster.h"
#include "ctl/verb/verb.h"

#define TREE_NODES_MAX (1024 * 1024)

enum tree_column { COLUMN_NAME, COLUMN_STATE, COLUMN_WHAT, COLUMN_REMARK, TREE_COLUMNS };

/* An actor of the tree; the offsets are into tree.text. */
struct tree_node {
	size_t path, path_len, json, json_len, depth;
	size_t parent; /* SIZE_MAX: none that is drawn */
	bool last;     /* of its parent's children */
};

struct tree {
	struct ctl *ctl;
	const char *top; /* the path it begins at, NULL: all of it */
	struct strbuf text;
	struct tree_node *nodes;
	size_t n, cap;
	bool failed;
};

static struct span
node_path(const struct tree *tree, const struct tree_node *node)
{
	return (struct span){strbuf_str(&tree->text) + node->path, node->path_len};
}

static struct tree_node *
new_node(struct tree *tree)
{
	if (tree->n == TREE_NODES_MAX || !ARRAY_RESERVE(tree->nodes, tree->n, tree->cap))
		return NULL;
	return &tree->nodes[tree->n++];
}

/* Parents come first: the parent is the last node before that is less deep. */
static size_t
find_parent(const struct tree *tree, size_t child)
{
	size_t at = child > 0 ? child - 1 : SIZE_MAX;

	while (at != SIZE_MAX && tree->nodes[at].depth >= tree->nodes[child].depth)
		at = tree->nodes[at].parent;
	return at;
}

static void
add_node(void *user, const struct actor_view *actor)
{
	struct tree *tree = user;

	if (tree->top != NULL && !actor_is_within(actor->path, tree->top))
		return;
	struct tree_node *node = new_node(tree);
	if (node == NULL || tree->text.failed) {
		tree->failed = true;
		return;
	}
	*node = (struct tree_node){
	    .path = tree->text.len + (size_t)(actor->path.at - actor->raw.at),
	    .path_len = actor->path.len,
	    .json = tree->text.len,
	    .json_len = actor->raw.len,
	    .depth = roster_path_depth(actor->path),
	};
	strbuf_add(&tree->text, actor->raw.at, actor->raw.len);
	node->parent = find_parent(tree, tree->n - 1);
}

/* From the end: the first child of a parent that is met is its last one. */
static void
mark_last(struct tree *tree)
{
	CLEANUP_FREE bool *met = calloc(tree->n + 1, sizeof(*met));

	if (met == NULL) {
		tree->failed = true;
		return;
	}
	for (size_t i = tree->n; i-- > 0;) {
		size_t parent = tree->nodes[i].parent;
		size_t at = parent == SIZE_MAX ? tree->n : parent;

		tree->nodes[i].last = !met[at];
		met[at] = true;
	}
}

/* The lines that lead to a node: from its oldest ancestor to itself. */
static void
draw_branch(struct strbuf *sb, const struct tree *tree, size_t at, bool utf8)
{
	const char *steps[ROSTER_DEPTH_MAX];
	size_t n = 0, i = at;

	while (tree->nodes[i].parent != SIZE_MAX && n < ROSTER_DEPTH_MAX) {
		bool last = tree->nodes[i].last;

		if (i == at && utf8)
			steps[n] = last ? "\xe2\x94\x94\xe2\x94\x80 "
			                : "\xe2\x94\x9c\xe2\x94\x80 ";
		else if (i == at)
			steps[n] = last ? "`- " : "|- ";
		else if (last)
			steps[n] = "   ";
		else
			steps[n] = utf8 ? "\xe2\x94\x82  " : "|  ";
		n++;
		i = tree->nodes[i].parent;
	}
	while (n > 0)
		strbuf_adds(sb, steps[--n]);
}

/* The text behind a name: "one_for_one, restarts: 2 of at most 5" or "pid 4711, up 3m".
 */
static void
describe(struct strbuf *sb, const struct actor_view *actor)
{
	size_t start = sb->len;

	if (actor->strategy.at != NULL)
		print_span(sb, actor->strategy);
	if (actor->strategy.at != NULL && actor->window.n > 0) {
		strbuf_adds(sb, ", restarts: ");
		actor_print_window(sb, actor);
	}
	if (actor->pid > 0) {
		strbuf_adds(sb, sb->len > start ? ", pid " : "pid ");
		strbuf_add_number(sb, (uint64_t)actor->pid);
	}
	if (actor->pid > 0 && actor->uptime_ms >= 0) {
		strbuf_adds(sb, ", up ");
		print_age(sb, (uint64_t)actor->uptime_ms);
	}
	if (actor->restarts > 0)
		strbuf_addf(sb, "%s%lld restart%s", sb->len > start ? ", " : "",
		            (long long)actor->restarts, actor->restarts == 1 ? "" : "s");
}

/* What supd said about a node, read once more. */
static struct actor_view
node_actor(const struct tree *tree, const struct tree_node *node)
{
	struct span json = {strbuf_str(&tree->text) + node->json, node->json_len};
	struct actor_view actor = {0};
	struct scan scan;

	scan_init(&scan, json);
	(void)actor_read(&scan, &actor); /* it was read before */
	actor.state = actor_state(&actor);
	return actor;
}

static int
draw(struct tree *tree)
{
	struct out *out = &tree->ctl->out;
	CLEANUP(table_done) struct table table;

	mark_last(tree);
	table_init(&table, TREE_COLUMNS);
	for (size_t i = 0; i < tree->n; i++) {
		const struct tree_node *node = &tree->nodes[i];
		struct actor_view actor = node_actor(tree, node);
		struct strbuf *sb = table_begin(&table);

		draw_branch(sb, tree, i, out->utf8);
		print_span(sb,
		           node->parent == SIZE_MAX ? actor.path : actor_name(&actor));
		table_end(&table, COLOUR_NONE);
		print_span(table_begin(&table), actor.state);
		table_end(&table, actor_state_colour(actor.state));
		describe(table_begin(&table), &actor);
		table_end(&table, COLOUR_NONE);
		actor_print_remark(table_begin(&table), &actor);
		table_end(&table, COLOUR_NONE);
	}
	return tree->failed ? -1 : table_print(&table, out, "");
}

/* A string of Graphviz. */
static void
add_quoted(struct strbuf *sb, struct span text)
{
	CLEANUP(strbuf_done) struct strbuf plain = STRBUF(8 * text.len + 8);

	print_span(&plain, text);
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.data[i] == '"' || plain.data[i] == '\\')
			strbuf_addc(sb, '\\');
		strbuf_addc(sb, plain.data[i]);
	}
}

static const char *
dot_colour(struct span state)
{
	switch (actor_state_colour(state)) {
	case COLOUR_GOOD:
		return "darkgreen";
	case COLOUR_BAD:
		return "red";
	case COLOUR_BUSY:
		return "orange";
	case COLOUR_DIM:
		return "gray";
	case COLOUR_NONE:
	case COLOUR_BOLD:
		break;
	}
	return "black";
}

static void
draw_dot(struct tree *tree)
{
	struct strbuf *sb = &tree->ctl->out.buf;

	strbuf_adds(sb, "digraph supd {\n\tnode [shape=box];\n");
	for (size_t i = 0; i < tree->n; i++) {
		const struct tree_node *node = &tree->nodes[i];
		struct actor_view actor = node_actor(tree, node);

		strbuf_adds(sb, "\t\"");
		add_quoted(sb, actor.path);
		strbuf_adds(sb, "\" [label=\"");
		add_quoted(sb,
		           node->parent == SIZE_MAX ? actor.path : actor_name(&actor));
		if (actor.strategy.at != NULL) {
			strbuf_adds(sb, "\\n");
			add_quoted(sb, actor.strategy);
		}
		strbuf_adds(sb, "\\n");
		add_quoted(sb, actor.state);
		strbuf_addf(sb, "\", color=%s];\n", dot_colour(actor.state));
		if (node->parent != SIZE_MAX) {
			strbuf_adds(sb, "\t\"");
			add_quoted(sb, node_path(tree, &tree->nodes[node->parent]));
			strbuf_adds(sb, "\" -> \"");
			add_quoted(sb, actor.path);
			strbuf_adds(sb, "\";\n");
		}
		print_flush_if_full(&tree->ctl->out);
	}
	strbuf_adds(sb, "}\n");
}

static void
list_json(struct tree *tree)
{
	ctl_array_begin(tree->ctl);
	for (size_t i = 0; i < tree->n; i++)
		ctl_array_add(tree->ctl, node_actor(tree, &tree->nodes[i]).raw);
	ctl_array_end(tree->ctl);
}

static void
take_path(void *user, const struct actor_view *actor)
{
	struct strbuf *path = user;

	/* A glob may mean several; the first of them in start order is taken. */
	if (path->len == 0)
		span_decode(actor->path, path);
}

/* Print the tree, or the part below one actor. */
int
verb_tree(struct ctl *ctl, char **names, uint32_t n)
{
	struct tree tree = {.ctl = ctl, .text = STRBUF(OUT_BYTES_MAX)};
	CLEANUP(strbuf_done) struct strbuf top = STRBUF(VARLINK_IN_MAX);
	int status = 0;

	if (n > 0)
		status = actors_status(ctl, names[0], ACTORS_BRIEF, take_path, &top);
	tree.top = n > 0 ? strbuf_str(&top) : NULL;
	if (status == 0)
		status = actors_status(ctl, NULL, ACTORS_WHOLE, add_node, &tree);
	if (status == 0 && !tree.failed && ctl->options.json)
		list_json(&tree);
	else if (status == 0 && (ctl->options.given & OPTION_DOT) != 0)
		draw_dot(&tree);
	else if (status == 0 && draw(&tree) < 0)
		tree.failed = true;
	if (tree.failed)
		status = ctl_no_memory(ctl);
	free(tree.nodes);
	strbuf_done(&tree.text);
	return status;
}
