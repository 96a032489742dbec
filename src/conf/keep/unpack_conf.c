/* SPDX-License-Identifier: ISC */
/* unpack_conf.c - a configuration from the block that it was packed to. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/sum.h"
#include "conf/keep/packed.h"

/* A block in which places become pointers again. */
struct unpack {
	struct packed_visitor visitor;
	unsigned char *block;
	size_t used;  /* up to here everything has its owner */
	size_t texts; /* where they begin; the last byte of all is a NUL */
	size_t bytes;
};

static int
unpack_texts(struct packed_visitor *visitor, const struct packed_shape *shape, size_t at,
             size_t n)
{
	struct unpack *unpack = (struct unpack *)visitor;
	unsigned char *thing = unpack->block + at;
	const char *texts = (const char *)unpack->block + unpack->texts;
	const size_t len = unpack->bytes - unpack->texts;

	for (size_t i = 0; i < n; i++, thing += shape->size) {
		for (size_t j = 0; j < shape->n_texts; j++) {
			unsigned char *member = thing + shape->texts[j].offset;
			uint64_t place;

			memcpy(&place, member, sizeof(place));
			if (place > len || (place == 0 && shape->texts[j].required))
				return -EBADMSG;
			const char *text = place > 0 ? texts + (place - 1) : NULL;
			memcpy(member, &text, sizeof(text));
		}
	}
	return 0;
}

/* How many there are before the NULL at the end, which must be there. */
static int
count_list(const struct unpack *unpack, size_t at, size_t *ret_n)
{
	uint64_t place = 1;

	for (*ret_n = 0; unpack->texts - at >= sizeof(place); at += sizeof(place)) {
		memcpy(&place, unpack->block + at, sizeof(place));
		if (place == 0)
			return 0;
		(*ret_n)++;
	}
	return -EBADMSG;
}

/* An array can only be where the one before it ends. */
static int
unpack_array(struct packed_visitor *visitor, const struct packed_array *array, size_t at,
             size_t *ret_at, size_t *ret_n)
{
	struct unpack *unpack = (struct unpack *)visitor;
	unsigned char *member = unpack->block + at + array->offset;
	const bool has_end = array->count_size == 0;
	uint64_t place;

	memcpy(&place, member, sizeof(place));
	*ret_at = unpack->used;
	*ret_n = has_end ? 0 : packed_count(array, unpack->block + at);
	if (place == 0)
		return *ret_n == 0 ? 0 : -EBADMSG;
	if (place != unpack->used ||
	    (has_end && count_list(unpack, unpack->used, ret_n) < 0) ||
	    *ret_n > (unpack->texts - unpack->used) / array->of->size)
		return -EBADMSG;
	unpack->used = packed_align(unpack->used + (*ret_n + has_end) * array->of->size);
	const void *pointer = unpack->block + place;
	memcpy(member, &pointer, sizeof(pointer));
	return unpack->used <= unpack->texts ? 0 : -EBADMSG;
}

/* ---- is it whole? ---- */

static bool
places_are_sound(const struct conf *conf, const struct conf_key *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (keys[i].file >= conf->n_files && keys[i].file != CONF_NONE)
			return false;
	return true;
}

static bool
defaults_are_sound(const struct conf *conf)
{
	for (uint32_t i = 0; i < conf->common.n_defaults; i++)
		if (!places_are_sound(conf, conf->common.defaults[i].keys,
		                      conf->common.defaults[i].n_keys))
			return false;
	return true;
}

/* True if each number of this spec that is used as an index is within its bounds. */
static bool
spec_is_sound(const struct conf_spec *spec)
{
	const struct spec *core = &spec->core;

	if ((unsigned int)core->kind >= NODE_KIND_MAX ||
	    core->n_watches > SPEC_WATCHES_MAX || core->n_needs > SPEC_NEEDS_MAX)
		return false;
	for (uint32_t i = 0; i < core->n_watches; i++)
		if ((unsigned int)core->watches[i].reaction >= REACTION_MAX ||
		    (core->watches[i].reaction == REACTION_RUN) !=
		        (spec->watches[i].run != NULL))
			return false;
	for (uint32_t i = 0; i < core->n_needs; i++)
		if ((unsigned int)core->needs[i].level >= NEED_MAX)
			return false;
	return true;
}

/* The same of an actor, and of its spec. */
static bool
actor_is_sound(const struct conf *conf, uint32_t index)
{
	const struct conf_actor *actor = &conf->actors[index];
	const bool has_process = actor->spec->core.kind != NODE_SUPERVISOR;

	if (index == 0 ? actor->parent != CONF_NONE : actor->parent >= index)
		return false;
	return strchr(actor->path, '/') != NULL &&
	       (actor->base == NULL || strchr(actor->path, '@') != NULL) &&
	       actor->place.file < conf->n_files && spec_is_sound(actor->spec) &&
	       (!has_process || actor->argv != NULL) &&
	       places_are_sound(conf, actor->keys, actor->n_keys) &&
	       actor->defaults < conf->common.n_defaults;
}

static int
index_paths(struct conf *conf)
{
	int r = map_reserve(&conf->by_path, conf->n_actors);

	if (!defaults_are_sound(conf))
		return -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < conf->n_actors; i++) {
		struct conf_actor *actor = &conf->actors[i];
		const uintptr_t process = (uintptr_t)actor->process;
		const uintptr_t spec = (uintptr_t)actor->spec;

		if (process - 1 >= conf->common.n_processes ||
		    spec - 1 >= conf->common.n_specs)
			return -EBADMSG;
		actor->process = &conf->common.processes[process - 1];
		actor->spec = &conf->common.specs[spec - 1];
		if (!actor_is_sound(conf, i))
			return -EBADMSG;
		r = map_put_name(&conf->by_path, actor->path, i);
	}
	return r == 0 && conf->by_path.n != conf->n_actors ? -EBADMSG : r;
}

/* Pointers for places, in the copy that is ours. */
static int
unpack_block(struct conf *conf)
{
	const struct packed_head *head = conf->block.at;
	const size_t at = packed_align(sizeof(*head));
	unsigned char *block = conf->block.at;
	size_t bytes = conf->block.bytes;
	const struct conf *inner = (const struct conf *)(block + at);

	if (sum_bytes(head + 1, bytes - sizeof(*head), 0) != head->sum)
		return -EBADMSG;
	struct unpack unpack = {
	    .visitor = {unpack_texts, unpack_array},
	    .block = block,
	    .used = packed_align(at + sizeof(*conf)),
	    .texts = head->texts,
	    .bytes = bytes,
	};
	if (unpack.texts < unpack.used || unpack.texts >= bytes ||
	    block[bytes - 1] != '\0')
		return -EBADMSG;
	int r = packed_visit(&unpack.visitor, at);
	if (r < 0)
		return r;
	if (unpack.used != unpack.texts || inner->n_actors == 0 ||
	    inner->n_actors > CONF_ACTORS_MAX || inner->n_files == 0 ||
	    inner->n_files > CONF_FILES_MAX)
		return -EBADMSG;
	memcpy(conf, inner, PACKED_CONF_BYTES);
	return index_paths(conf);
}

/* ---- the file ---- */

/* Is this the head of a block, and of one that we understand, of so many bytes? */
static int
check_head(const struct packed_head *head, size_t bytes, struct err *err)
{
	if (head->magic != PACKED_MAGIC)
		return err_say(err, -EBADMSG, "there is no configuration in this memory");
	if (head->layout != packed_layout())
		return err_say(
		    err, -EPROTO,
		    "the configuration in memory was put there by another version "
		    "of supd");
	if (head->bytes != bytes ||
	    bytes < packed_align(sizeof(*head)) + packed_align(sizeof(struct conf)))
		return err_say(err, -EBADMSG, "the configuration in memory is not whole");
	return 0;
}

/* True if the file holds a packed configuration; ret_bytes is its size. */
static int
check_file(int fd, size_t *ret_bytes, struct err *err)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_WRITE;
	struct packed_head head = {0};
	struct stat stat_buf;
	int r = fcntl(fd, F_GET_SEALS);

	if (r < 0 || (r & seals) != seals)
		return err_say(err, -EBADMSG,
		               "there is no sealed configuration in this descriptor");
	if (fstat(fd, &stat_buf) < 0)
		return err_set(err, errno, "the configuration in memory");
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		head.magic = 0;
	*ret_bytes = stat_buf.st_size < 0 ? 0 : (size_t)stat_buf.st_size;
	return check_head(&head, *ret_bytes, err);
}

/* A copy of the block that is our own to change. */
static int
read_block(int fd, size_t bytes, struct conf *conf)
{
	void *block =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, fd, 0);

	if (block == MAP_FAILED)
		return -errno;
	conf->block.at = block;
	conf->block.is_mapped = true;
	return 0;
}

/* A configuration for a block of so many bytes; NULL: out of memory. */
static struct conf *
new_conf(size_t bytes)
{
	struct conf *conf = calloc(1, sizeof(*conf));

	if (conf != NULL)
		conf->block = (struct conf_block){.bytes = bytes, .sealed_fd = -1};
	return conf;
}

/* Unpack the block that the configuration has, where r is 0; else, and where that fails,
 * say why and free the configuration. */
static struct conf *
unpack_or_free(struct conf *conf, int r, struct err *err)
{
	if (r == 0)
		r = unpack_block(conf);
	if (r == 0)
		return conf;
	if (r == -EBADMSG)
		err_set(err, 0, "the configuration in memory is damaged");
	else
		err_set(err, -r, "the configuration in memory");
	conf_free(conf);
	return NULL;
}

/*
 * The configuration that was packed to this descriptor, which stays the caller's.  It is
 * equal to that which was packed and is used and freed like one that was loaded.  NULL:
 * the block is damaged, strange, or from another version, or there is no memory; `err`
 * says which.
 */
struct conf *
conf_unpack(int fd, struct err *err)
{
	size_t bytes = 0;

	if (check_file(fd, &bytes, err) < 0)
		return NULL;
	struct conf *conf = new_conf(bytes);
	int r = conf == NULL ? -ENOMEM : read_block(fd, bytes, conf);
	conf = unpack_or_free(conf, r, err);
	/* Without a descriptor the configuration is packed on demand. */
	if (conf != NULL)
		conf->block.sealed_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return conf;
}

/*
 * The same of what conf_pack_block() made, which stays the caller's; it begins at a
 * multiple of PACKED_ALIGN.
 */
struct conf *
conf_unpack_block(const void *block, size_t bytes, struct err *err)
{
	struct packed_head head = {0};

	if (bytes >= sizeof(head))
		memcpy(&head, block, sizeof(head));
	if (check_head(&head, bytes, err) < 0)
		return NULL;
	struct conf *conf = new_conf(bytes);
	if (conf != NULL)
		conf->block.at = malloc(bytes);
	if (conf == NULL || conf->block.at == NULL)
		return unpack_or_free(conf, -ENOMEM, err);
	memcpy(conf->block.at, block, bytes);
	return unpack_or_free(conf, 0, err);
}
