/* SPDX-License-Identifier: ISC */
/* pack_conf.c - pack a configuration into a sealed block that outlives its files. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/sum.h"
#include "conf/keep/packed.h"
#include "conf/text/arena.h"

static const char keeping[] = "keeping the configuration in memory";

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* What a process or a spec is packed to at the end of the block as it was before. */
struct image {
	void *bytes;
	size_t len;
};

/* What several actors may have in common: the processes, or the specs, each once. */
struct shared {
	const struct packed_shape *shape;
	size_t offset; /* of an actor's pointer to its own */
	unsigned char *at;
	struct image *images;
	struct map by_sum; /* of an image, to its place from 1 */
	uint32_t n;
};

#define PLACES_MAX 256
#define BYTES_MIN  65536
/* Texts of a usual actor that no other actor has. */
#define TEXTS_EACH 3

/* The place of the text at this address. */
struct placed_text {
	const char *text;
	uint32_t place;
};

/* A block that is being made: all but the texts, the texts, and where each text is. */
struct packer {
	struct packed_visitor visitor;
	unsigned char *block;
	size_t used, cap;
	struct strbuf texts;
	struct map places;
	/* Of those met lately, by their address: thousands of actors have the same. */
	struct placed_text lately[PLACES_MAX];
	struct arena memory; /* for the shared, until the block is whole */
};

/* Room for so many bytes at the end of the block, zeroed. */
static int
add_room(struct packer *packer, size_t bytes, size_t *ret_at)
{
	size_t needed = packed_align(packer->used + bytes);
	size_t cap = packer->cap > 0 ? packer->cap : BYTES_MIN;

	while (cap < needed)
		cap *= 2;
	if (cap > packer->cap) {
		void *block = realloc(packer->block, cap);

		if (block == NULL)
			return -ENOMEM;
		packer->block = block;
		packer->cap = cap;
	}
	memset(packer->block + packer->used, 0, needed - packer->used);
	*ret_at = packer->used;
	packer->used = needed;
	return 0;
}

/* What stands for a text: the same for two that read the same; 0: out of memory. */
static uint64_t
place_text(struct packer *packer, const char *text)
{
	struct placed_text *lately = &packer->lately[(uintptr_t)text / 4 % PLACES_MAX];
	uint32_t place;

	if (lately->text == text)
		return lately->place;
	if (!map_get_name(&packer->places, text, &place)) {
		/* There are fewer bytes than CONF_MEMORY_MAX. */
		place = (uint32_t)packer->texts.len + 1;
		strbuf_add(&packer->texts, text, strlen(text) + 1);
		if (packer->texts.failed ||
		    map_put_name(&packer->places, text, place) < 0)
			return 0;
	}
	*lately = (struct placed_text){text, place};
	return place;
}

static int
pack_texts(struct packed_visitor *visitor, const struct packed_shape *shape, size_t at,
           size_t n)
{
	struct packer *packer = (struct packer *)visitor;
	unsigned char *thing = packer->block + at;

	for (size_t i = 0; i < n; i++, thing += shape->size) {
		for (size_t j = 0; j < shape->n_texts; j++) {
			unsigned char *member = thing + shape->texts[j].offset;
			const char *text;

			memcpy(&text, member, sizeof(text));
			if (text == NULL)
				continue;
			uint64_t place = place_text(packer, text);
			if (place == 0)
				return -ENOMEM;
			memcpy(member, &place, sizeof(place));
		}
	}
	return 0;
}

/* How many there are before the NULL at the end. */
static size_t
count_list(const unsigned char *list)
{
	const char *text;
	size_t n = 0;

	for (;;) {
		memcpy(&text, list + n * sizeof(text), sizeof(text));
		if (text == NULL)
			return n;
		n++;
	}
}

/* Copy an array to the end of the block, as it is, and point to it. */
static int
pack_array(struct packed_visitor *visitor, const struct packed_array *array, size_t at,
           size_t *ret_at, size_t *ret_n)
{
	struct packer *packer = (struct packer *)visitor;
	unsigned char *member = packer->block + at + array->offset;
	const unsigned char *source;

	memcpy(&source, member, sizeof(source));
	*ret_at = 0;
	*ret_n = 0;
	if (source == NULL)
		return 0;
	*ret_n = array->count_size > 0 ? packed_count(array, packer->block + at)
	                               : count_list(source);
	size_t bytes = (*ret_n + (array->count_size == 0)) * array->of->size;
	int r = add_room(packer, bytes, ret_at);
	if (r < 0)
		return r;
	memcpy(packer->block + *ret_at, source, bytes);
	uint64_t place = *ret_at;
	memcpy(packer->block + at + array->offset, &place, sizeof(place));
	return 0;
}

/* ---- equal processes are one, and specs ---- */

/* Pack a process or a spec at the end of the block, and take it back; *ret is valid until
 * more is packed. */
static int
pack_image(struct packer *packer, const struct packed_shape *shape, const void *thing,
           struct image *ret)
{
	size_t at;
	int r = add_room(packer, shape->size, &at);

	if (r < 0)
		return r;
	memcpy(packer->block + at, thing, shape->size);
	r = packed_visit_thing(&packer->visitor, shape, at);
	*ret = (struct image){packer->block + at, packer->used - at};
	packer->used = at;
	return r;
}

/* The place of a process or a spec among those that are kept, from 1; a new one is kept,
 * too, with its image.  Equal sums are no proof: an author may make a process that has
 * the sum of another actor's. */
static int
find_place(struct packer *packer, struct shared *shared, const void *thing,
           uint32_t *ret_place)
{
	struct image image;
	int r = pack_image(packer, shared->shape, thing, &image);

	if (r < 0)
		return r;
	const uint64_t sum = sum_bytes(image.bytes, image.len, 0);
	if (map_get(&shared->by_sum, sum, ret_place) &&
	    shared->images[*ret_place - 1].len == image.len &&
	    memcmp(shared->images[*ret_place - 1].bytes, image.bytes, image.len) == 0)
		return 0;
	void *copy = arena_alloc(&packer->memory, image.len, 1);
	if (copy == NULL)
		return -ENOMEM;
	shared->images[shared->n] =
	    (struct image){memcpy(copy, image.bytes, image.len), image.len};
	memcpy(shared->at + shared->n * shared->shape->size, thing, shared->shape->size);
	*ret_place = ++shared->n;
	return map_put(&shared->by_sum, sum, *ret_place);
}

/* Keep each process or spec once, and have the actors point to its place: most actors
 * differ in their command alone. */
static int
share(struct packer *packer, struct conf_actor *actors, uint32_t n, struct shared *shared)
{
	const void *thing, *last = NULL;
	uint32_t place = 0;
	int r = 0;

	shared->at = arena_alloc(&packer->memory, n, shared->shape->size);
	shared->images = arena_alloc(&packer->memory, n, sizeof(*shared->images));
	if (packer->memory.failed)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		char *member = (char *)&actors[i] + shared->offset;

		memcpy(&thing, member, sizeof(thing));
		if (last == NULL || memcmp(thing, last, shared->shape->size) != 0)
			r = find_place(packer, shared, thing, &place);
		last = thing;
		memcpy(member, &(uintptr_t){place}, sizeof(uintptr_t));
	}
	map_done(&shared->by_sum);
	return r;
}

static int
pack_all(struct packer *packer, const struct conf *conf)
{
	struct conf_actor *actors =
	    arena_alloc(&packer->memory, conf->n_actors, sizeof(*actors));
	struct shared processes = {.shape = &packed_process,
	                           .offset = offsetof(struct conf_actor, process)};
	struct shared specs = {.shape = &packed_spec,
	                       .offset = offsetof(struct conf_actor, spec)};
	const size_t at = packed_align(sizeof(struct packed_head));
	size_t head;
	int r = actors == NULL
	            ? -ENOMEM
	            : map_reserve(&packer->places, TEXTS_EACH * conf->n_actors);

	if (r == 0)
		r = add_room(packer, at + sizeof(*conf), &head);
	if (r < 0)
		return r;
	memcpy(actors, conf->actors, conf->n_actors * sizeof(*actors));
	r = share(packer, actors, conf->n_actors, &processes);
	if (r == 0)
		r = share(packer, actors, conf->n_actors, &specs);
	if (r < 0)
		return r;
	struct conf *copy = (struct conf *)(packer->block + at);
	memcpy(copy, conf, PACKED_CONF_BYTES);
	copy->actors = actors;
	copy->common.processes = (struct conf_process *)(void *)processes.at;
	copy->common.n_processes = processes.n;
	copy->common.specs = (struct conf_spec *)(void *)specs.at;
	copy->common.n_specs = specs.n;
	return packed_visit(&packer->visitor, at);
}

/* ---- the file ---- */

/* Put the texts behind the rest, and fill in the head. */
static int
finish_block(struct packer *packer)
{
	size_t texts;
	int r = add_room(packer, packer->texts.len + 1, &texts);

	if (r < 0)
		return r;
	memcpy(packer->block + texts, strbuf_str(&packer->texts), packer->texts.len);
	struct packed_head *head = (struct packed_head *)packer->block;
	*head = (struct packed_head){
	    .magic = PACKED_MAGIC,
	    .layout = packed_layout(),
	    .bytes = packer->used,
	    .texts = texts,
	    .sum = sum_bytes(head + 1, packer->used - sizeof(*head), 0),
	};
	return 0;
}

/*
 * The whole configuration, with everything in force, in one block without pointers, which
 * the caller frees: conf_unpack_block() makes a configuration of it again.  -errno, with
 * a sentence in `err`.
 */
int
conf_pack_block(const struct conf *conf, void **ret_block, size_t *ret_bytes,
                struct err *err)
{
	struct packer packer = {
	    .visitor = {pack_texts, pack_array},
	    .texts = STRBUF(CONF_MEMORY_MAX),
	    .memory = ARENA(CONF_MEMORY_MAX),
	};
	int r = pack_all(&packer, conf);

	if (r == 0)
		r = finish_block(&packer);
	strbuf_done(&packer.texts);
	map_done(&packer.places);
	arena_done(&packer.memory);
	if (r < 0) {
		free(packer.block);
		return err_set(err, -r, keeping);
	}
	*ret_block = packer.block;
	*ret_bytes = packer.used;
	return 0;
}

/*
 * The same in a sealed memory file: no file, no environment and no user database is
 * needed to get it back with conf_unpack().  The caller closes the descriptor, which is
 * born with CLOEXEC; its position does not matter.  What came from such a file, and was
 * not changed since, is the same file again.  -errno, with a sentence in `err`.
 */
int
conf_pack(const struct conf *conf, struct err *err)
{
	CLEANUP_FREE void *block = NULL;
	size_t bytes = 0;
	int r =
	    conf->block.sealed_fd < 0 ? conf_pack_block(conf, &block, &bytes, err) : 0;

	if (r < 0)
		return r;
	int fd = block == NULL
	             ? fcntl(conf->block.sealed_fd, F_DUPFD_CLOEXEC, 0)
	             : memfd_create("supd-conf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Where memory is full a write is short, without an error. */
	if (fd >= 0)
		errno = ENOSPC;
	if (fd >= 0 && (block == NULL || (ftruncate(fd, (off_t)bytes) == 0 &&
	                                  write(fd, block, bytes) == (ssize_t)bytes &&
	                                  fcntl(fd, F_ADD_SEALS, SEALS) == 0)))
		return fd;
	r = err_set(err, errno, keeping);
	if (fd >= 0)
		(void)close(fd);
	return r;
}

static bool
read_head(const struct conf *conf, struct packed_head *ret)
{
	struct err err;
	CLEANUP_CLOSE int fd = conf_pack(conf, &err);

	return fd >= 0 && pread(fd, ret, sizeof(*ret), 0) == sizeof(*ret);
}

/* True if two configurations are the same, with the places in their files: both are
 * packed into as many bytes with the same sum.  False also without memory. */
bool
conf_packs_alike(const struct conf *a, const struct conf *b)
{
	struct packed_head a_head, b_head;

	return read_head(a, &a_head) && read_head(b, &b_head) &&
	       memcmp(&a_head, &b_head, sizeof(a_head)) == 0;
}
