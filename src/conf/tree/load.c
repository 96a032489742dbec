/* SPDX-License-Identifier: ISC */
/* load.c - read a file and all that it includes; give back a whole configuration. */
#include "config.h"

#include "conf/tree/load.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "conf/read/expand.h"
#include "conf/read/needs.h"
#include "conf/read/read.h"
#include "conf/read/read_output.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"
#include "conf/text/file.h"
#include "conf/text/load_wait.h"
#include "conf/tree/build.h"
#include "conf/tree/lint.h"
#include "conf/tree/recipe.h"

/* A load; freed when it ends. */
struct file_load {
	struct reader reader;
	struct users users;
	struct arena scratch;
	struct stat stats[CONF_FILES_MAX];
	size_t bytes;                             /* read so far */
	const struct yaml *roots[CONF_FILES_MAX]; /* NULL: could not be read */
};

static void
report_at(struct file_load *load, const struct yaml *at, const char *message)
{
	static const struct trail trail = {NULL, "include", 0};

	if (at != NULL)
		reader_error(&load->reader, at, &trail, "%s", message);
	else
		reports_add(load->reader.reports, CONF_ERROR,
		            &(struct spot){load->reader.conf->files[0], 0, 0}, "",
		            message);
}

/* ---- files ---- */

static bool
was_read(const struct file_load *load, const struct stat *stat)
{
	for (uint32_t i = 0; i < load->reader.conf->n_files; i++)
		if (load->stats[i].st_dev == stat->st_dev &&
		    load->stats[i].st_ino == stat->st_ino)
			return true;
	return false;
}

/* Read one file; `from` is where it was included, NULL for the main file. */
static void
load_file(struct file_load *load, const char *path, const struct yaml *from)
{
	struct reader *reader = &load->reader;
	struct conf *conf = reader->conf;
	struct file_text file;
	const struct yaml *root = NULL;
	struct err err;

	if (from == NULL)
		conf->files[0] = arena_dup(reader->keep, path);
	wait_begin(reader->options, false, "the file %s", path);
	int r =
	    file_read(reader->scratch, path, CONF_BYTES_MAX - load->bytes, &file, &err);
	wait_end(reader->options);
	if (r < 0) {
		conf->n_files += from == NULL;
		report_at(load, from, err.text);
		return;
	}
	if (from != NULL && was_read(load, &file.stat))
		return;
	if (conf->n_files == CONF_FILES_MAX) {
		report_at(load, from, "too many files are included");
		return;
	}
	load->bytes += file.len;
	load->stats[conf->n_files] = file.stat;
	conf->files[conf->n_files] = arena_dup(reader->keep, path);
	struct yaml_source source = {
	    .name = conf->files[conf->n_files],
	    .file = conf->n_files++,
	    .text = file.text,
	    .len = file.len,
	    .arena = reader->scratch,
	    .reports = reader->reports,
	};
	if (source.name == NULL)
		return;
	if (yaml_parse(&source, &root) == -ENOMEM)
		reader->scratch->failed = true;
	if (root != NULL && !(root->type == NODE_TEXT && node_is_empty(root)))
		load->roots[source.file] = root;
	else if (from == NULL && reader->reports->n_errors == 0)
		report_at(load, NULL, "the file is empty; write at least `children: {}`");
	lint_file(source.name, &file.stat, reader->options, reader->reports);
}

/* For glob(): a directory that is not there has no matches, which is fine. */
static int
on_glob_error(const char *path UNUSED, int code)
{
	return code != ENOENT && code != ENOTDIR;
}

static void
include_matches(struct file_load *load, const char *pattern, const struct yaml *from)
{
	glob_t found = {0};

	wait_begin(load->reader.options, false, "the directory of %s", pattern);
	int r = glob(pattern, 0, on_glob_error, &found);
	wait_end(load->reader.options);
	if (r == GLOB_NOSPACE)
		load->reader.scratch->failed = true;
	else if (r == GLOB_ABORTED)
		report_at(load, from, "a directory of this pattern cannot be read");
	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		load_file(load, found.gl_pathv[i], from);
	globfree(&found);
}

/* One entry of `include`, relative to the main file. */
static void
include_entry(struct file_load *load, const struct yaml *entry, const char *main_file)
{
	const char *slash = strrchr(main_file, '/');
	int dir_len = slash != NULL ? (int)(slash - main_file) + 1 : 0;

	if (entry->text[0] == '/')
		dir_len = 0;
	if (entry->text[0] == '\0') {
		report_at(load, entry, "an empty path");
		return;
	}
	char *path =
	    arena_printf(load->reader.scratch, "%.*s%s", dir_len, main_file, entry->text);
	if (path == NULL)
		return;
	if (strpbrk(entry->text, "*?[") != NULL)
		include_matches(load, path, entry);
	else
		load_file(load, path, entry);
}

static void
load_includes(struct file_load *load, const char *main_file)
{
	static const struct scope nothing = {0};
	static const struct trail trail = {NULL, "include", 0};
	const struct yaml *include = node_get(load->roots[0], "include");

	if (include != NULL)
		include = expand(&load->reader, include, &nothing, &trail);
	if (include == NULL ||
	    !check_value(&load->reader, include, &schema_include, &trail))
		return;
	for (size_t i = 0; i < node_n_items(include); i++)
		include_entry(load, node_item(include, i), main_file);
}

/* ---- what the files say together ---- */

/* A file is a mapping, and an included one has only some of the keys. */
static void
check_roots(struct file_load *load)
{
	struct reader *reader = &load->reader;

	for (uint32_t i = 0; i < reader->conf->n_files; i++) {
		const struct yaml *root = load->roots[i];

		if (root == NULL)
			continue;
		if (root->type != NODE_MAP) {
			reader_error(
			    reader, root, NULL, "%s instead of %s", node_type_name(root),
			    i == 0 ? schema_top.allowed : schema_included.allowed);
			load->roots[i] = NULL;
			continue;
		}
		for (size_t j = 0; i > 0 && j < root->n; j++)
			(void)check_key(reader, root, root->pairs[j].key,
			                &schema_included, NULL);
	}
}

static size_t
count_pairs(const struct file_load *load, const char *key)
{
	size_t n = 0;

	for (uint32_t i = 0; i < load->reader.conf->n_files; i++) {
		const struct yaml *map = node_get(load->roots[i], key);

		if (map != NULL && map->type == NODE_MAP)
			n += map->n;
	}
	return n;
}

static void
gather_from(struct file_load *load, const struct yaml *map, const char *key,
            struct yaml *all, struct map *seen)
{
	struct reader *reader = &load->reader;
	struct trail top = {NULL, key, 0};

	for (size_t i = 0; i < map->n; i++) {
		const struct yaml *name = map->pairs[i].key;
		struct trail trail = {&top, name->text, 0};
		uint32_t first;

		if (map_get_name(seen, name->text, &first)) {
			const struct yaml *other = all->pairs[first].key;

			reader_error(reader, name, &trail,
			             "`%.100s` is written twice, first at %s:%u",
			             name->text, reader->conf->files[other->file],
			             other->line);
			continue;
		}
		if (map_put_name(seen, name->text, (uint32_t)all->n) < 0)
			reader->scratch->failed = true;
		all->dollar = all->dollar || map->pairs[i].value->dollar;
		all->pairs[all->n++] = map->pairs[i];
	}
}

/* The mappings under `key` of all files as one, those of the main file first. */
static const struct yaml *
gather(struct file_load *load, const char *key)
{
	struct reader *reader = &load->reader;
	const struct yaml *first = node_get(load->roots[0], key);
	CLEANUP(map_done) struct map seen = {0};

	if (reader->conf->n_files == 1 && (first == NULL || first->type == NODE_MAP))
		return first;
	struct yaml *all = node_with_room(reader->scratch, NODE_MAP,
	                                  first != NULL ? first : load->roots[0],
	                                  count_pairs(load, key));
	if (all == NULL)
		return NULL;
	for (uint32_t i = 0; i < reader->conf->n_files; i++) {
		const struct yaml *map = node_get(load->roots[i], key);

		if (map != NULL && map->type == NODE_MAP)
			gather_from(load, map, key, all, &seen);
		else if (map != NULL)
			reader_error(
			    reader, map, &(struct trail){NULL, key, 0},
			    "%s is not allowed here; write a mapping, {} for none",
			    node_type_name(map));
	}
	return all;
}

/* ---- supd's own keys ---- */

static void
read_own_key(struct file_load *load, const char *name)
{
	static const struct scope nothing = {0};
	struct reader *reader = &load->reader;
	const struct yaml *value = node_get(load->roots[0], name);
	const struct schema_key *key = schema_find(&schema_keys, name, AT_TOP);
	struct trail trail = {NULL, name, 0};

	ASSERT(key != NULL);
	if (value != NULL)
		value = expand(reader, value, &nothing, &trail);
	if (value != NULL && check_value(reader, value, key->type, &trail))
		read_key(reader, key, value, reader->conf, &trail);
}

/* Look at what no actor may ever use, too. */
static void
check_unused(struct file_load *load, const struct yaml *node, const char *name)
{
	struct reader *reader = &load->reader;
	const struct schema_key *key = schema_find(&schema_keys, name, AT_TOP);

	ASSERT(key != NULL);
	if (node == NULL)
		return;
	reader->lenient = true;
	(void)check_value(reader, node, key->type, &(struct trail){NULL, name, 0});
	reader->lenient = false;
}

/* ---- the whole ---- */

static void
load_all(struct file_load *load, const char *file)
{
	struct reader *reader = &load->reader;

	load_file(load, file, NULL);
	if (reader->conf->n_files == 0 || reader->scratch->failed)
		return;
	if (load->roots[0] != NULL && load->roots[0]->type == NODE_MAP)
		load_includes(load, file);
	check_roots(load);
	if (load->roots[0] == NULL)
		return;
	read_own_key(load, "control");
	read_own_key(load, "log");
	read_own_key(load, "metrics");
	read_own_key(load, "on_crash");
	log_directory_set(reader);
	log_directory_check(reader, load->roots[0]);
	struct tree_input input = {
	    .top = load->roots[0],
	    .children = gather(load, "children"),
	    .templates = gather(load, "templates"),
	    .defaults = node_get(load->roots[0], "defaults"),
	};
	check_unused(load, input.templates, "templates");
	check_unused(load, input.defaults, "defaults");
	if (input.templates != NULL && input.templates->type != NODE_MAP)
		input.templates = NULL;
	if (input.defaults != NULL && input.defaults->type != NODE_MAP)
		input.defaults = NULL;
	recipes_begin(reader, &input);
	tree_build(reader, &input);
	exit_code_from_take(reader, load->roots[0]);
	recipes_end(reader);
	sockets_check(reader);
	pipes_check(reader);
	needs_check(reader);
	if (reader->options->warn && reader->reports->n_errors == 0)
		lint_tree(&(struct lint){reader->conf, reader->options, reader->reports});
	/* Those in use were looked at as their actors. */
	if (reader->options->look && reader->reports->n_errors == 0)
		lint_templates(reader, input.templates);
}

/* Free a configuration with everything it owns; NULL is fine. */
void
conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	map_done(&conf->by_path);
	conf_drop_identities(conf);
	if (conf->block.at == NULL) {
		free(conf->actors);
		free(conf->common.defaults);
	} else if (conf->block.is_mapped) {
		(void)munmap(conf->block.at, conf->block.bytes);
	} else {
		free(conf->block.at);
	}
	if (conf->memory != NULL)
		arena_done(conf->memory);
	free(conf->memory);
	conf_unseal(conf);
	free(conf);
}

/* An empty configuration with memory of its own; NULL without any. */
struct conf *
conf_new(void)
{
	struct conf *conf = calloc(1, sizeof(*conf));

	if (conf == NULL)
		return NULL;
	conf->block.sealed_fd = -1;
	conf->control_mode = 0660;
	conf->log_level = LOG_LEVEL_MAX;
	log_default(&conf->own_log);
	conf->memory = calloc(1, sizeof(*conf->memory));
	if (conf->memory != NULL) {
		*conf->memory = ARENA(CONF_MEMORY_MAX);
		conf->files =
		    arena_alloc(conf->memory, CONF_FILES_MAX, sizeof(*conf->files));
		if (conf->files != NULL)
			return conf;
	}
	conf_free(conf);
	return NULL;
}

/* Report a lack of memory. */
void
report_no_memory(const char *file, struct conf_reports *reports)
{
	reports_add(reports, CONF_ERROR, &(struct spot){file, 0, 0}, "",
	            "there is not enough memory for what this file asks for");
}

/* Done with the reader: what it read, or NULL where that has errors. */
struct conf *
reader_end(struct reader *reader, const char *file)
{
	struct conf *conf = reader->conf;

	if (reader->scratch->failed || reader->keep->failed)
		report_no_memory(file, reader->reports);
	reports_sort(reader->reports, conf->files, conf->n_files);
	users_done(reader->users);
	map_done(&reader->sets.by_sum);
	arena_done(reader->scratch);
	if (reader->reports->n_errors == 0)
		return conf;
	conf_free(conf);
	return NULL;
}

/*
 * Read `file` and what it includes.  Either all is well, and a configuration comes back,
 * which the caller frees; or NULL, and ret_reports has every fault that was found, in the
 * order of the files and lines.  Warnings are there in both cases, if options->warn.
 * ret_reports need not be initialised; the caller calls conf_reports_done().
 */
struct conf *
conf_load(const char *file, const struct conf_options *options,
          struct conf_reports *ret_reports)
{
	CLEANUP_FREE struct file_load *load = calloc(1, sizeof(*load));
	struct conf *conf = conf_new();

	*ret_reports = (struct conf_reports){0};
	if (load == NULL || conf == NULL) {
		report_no_memory(file, ret_reports);
		conf_free(conf);
		return NULL;
	}
	load->scratch = ARENA(CONF_MEMORY_MAX);
	users_init(&load->users, conf->memory, options);
	load->reader = (struct reader){
	    .options = options,
	    .reports = ret_reports,
	    .conf = conf,
	    .keep = conf->memory,
	    .scratch = &load->scratch,
	    .users = &load->users,
	};
	load_all(load, file);
	return reader_end(&load->reader, file);
}
