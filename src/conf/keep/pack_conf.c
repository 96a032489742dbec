/* SPDX-License-Identifier: ISC */
/* pack_conf.c - pack a configuration into a sealed block that outlives its files. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sum.h"
#include "conf/keep/packed.h"
#include "conf/text/arena.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* What a process is packed to at the end of the block as it was before. */
struct image {
	void *bytes;
	size_t len;
};

#define PLACES_MAX 256
/* Bytes of a usual actor in the block, and its texts that no other actor has. */
#define BYTES_MIN  65536
#define BYTES_EACH 1024
#define TEXTS_EACH 4

/* The place of the text at this address. */
struct placed_text {
	const char *text;
	uint32_t place;
};

/* A block that is being made: all but the texts, the texts, and where each text is. */
struct packer {
	struct packed_visitor visitor;
	int fd; /* the memory file that is mapped as the block; -1: it is allocated */
	unsigned char *block;
	size_t used, cap;
	struct strbuf texts;
	struct map places;
	/* Of those met lately, by their address: thousands of actors have the same. */
	struct placed_text lately[PLACES_MAX];
	struct arena memory; /* of what follows */
	struct conf_process *processes;
	struct image *images; /* of these processes */
	uint32_t n_processes;
	uint32_t *process_of; /* for each actor the place of its process, from 1 */
};

/* Make the block so large: pages that remain unused take no memory.  -errno. */
static int
size_block(struct packer *packer, size_t cap)
{
	void *block;

	if (packer->fd >= 0 && ftruncate(packer->fd, (off_t)cap) < 0)
		return -errno;
	if (packer->fd < 0)
		block = realloc(packer->block, cap);
	else if (packer->block == NULL)
		block =
		    mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_SHARED, packer->fd, 0);
	else
		block = mremap(packer->block, packer->cap, cap, MREMAP_MAYMOVE);
	if (block == NULL || (packer->fd >= 0 && block == MAP_FAILED))
		return -ENOMEM;
	packer->block = block;
	packer->cap = cap;
	return 0;
}

/* Room for so many bytes at the end of the block, zeroed. */
static int
add_room(struct packer *packer, size_t bytes, size_t *ret_at)
{
	size_t needed = packed_align(packer->used + bytes);
	size_t cap = packer->cap;

	while (cap < needed)
		cap *= 2;
	if (cap > packer->cap) {
		int r = size_block(packer, cap);

		if (r < 0)
			return r;
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

/* ---- equal processes are one ---- */

/* Pack the process at the end of the block, and take it back; *ret is valid until more is
 * packed. */
static int
pack_image(struct packer *packer, const struct conf_process *process, struct image *ret)
{
	size_t at;
	int r = add_room(packer, sizeof(*process), &at);

	if (r < 0)
		return r;
	memcpy(packer->block + at, process, sizeof(*process));
	r = packed_visit_process(&packer->visitor, at);
	*ret = (struct image){packer->block + at, packer->used - at};
	packer->used = at;
	return r;
}

/* Keep a process that no actor before has, with its image. */
static int
add_process(struct packer *packer, const struct conf_process *process,
            const struct image *image)
{
	struct image *copy = &packer->images[packer->n_processes];

	*copy = (struct image){arena_alloc(&packer->memory, image->len, 1), image->len};
	if (copy->bytes == NULL)
		return -ENOMEM;
	memcpy(copy->bytes, image->bytes, image->len);
	packer->processes[packer->n_processes++] = *process;
	return 0;
}

/* Find each process once: most actors differ in their command alone.  Equal sums are no
 * proof: what an author writes may be made to have the sum of another process. */
static int
find_processes(struct packer *packer, const struct conf *conf)
{
	CLEANUP(map_done) struct map by_sum = {0};
	int r = 0;

	packer->processes =
	    arena_alloc(&packer->memory, conf->n_actors, sizeof(*packer->processes));
	packer->images =
	    arena_alloc(&packer->memory, conf->n_actors, sizeof(*packer->images));
	packer->process_of =
	    arena_alloc(&packer->memory, conf->n_actors, sizeof(*packer->process_of));
	if (packer->processes == NULL || packer->images == NULL ||
	    packer->process_of == NULL)
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < conf->n_actors; i++) {
		uint32_t *place = &packer->process_of[i];
		struct image image;

		if (i > 0 && conf->actors[i].process == conf->actors[i - 1].process) {
			*place = place[-1];
			continue;
		}
		r = pack_image(packer, conf->actors[i].process, &image);
		if (r < 0)
			break;
		uint64_t sum = sum_bytes(image.bytes, image.len, 0);
		if (map_get(&by_sum, sum, place) &&
		    packer->images[*place - 1].len == image.len &&
		    memcmp(packer->images[*place - 1].bytes, image.bytes, image.len) == 0)
			continue;
		r = add_process(packer, conf->actors[i].process, &image);
		*place = packer->n_processes;
		if (r == 0)
			r = map_put(&by_sum, sum, *place);
	}
	return r;
}

/* The pointer of an actor holds the place of the process, from 1. */
static void
place_processes(const struct packer *packer, const struct conf *copy)
{
	unsigned char *actor = packer->block + (uintptr_t)copy->actors;

	for (uint32_t i = 0; i < copy->n_actors; i++, actor += sizeof(*copy->actors)) {
		const uint64_t place = packer->process_of[i];

		memcpy(actor + offsetof(struct conf_actor, process), &place,
		       sizeof(place));
	}
}

static int
pack_all(struct packer *packer, const struct conf *conf)
{
	size_t head, at;
	int r = map_reserve(&packer->places, TEXTS_EACH * conf->n_actors);

	if (r == 0)
		r = size_block(packer, BYTES_MIN + (size_t)conf->n_actors * BYTES_EACH);
	if (r == 0)
		r = add_room(packer, sizeof(struct packed_head), &head);
	if (r == 0)
		r = add_room(packer, sizeof(*conf), &at);
	if (r == 0)
		r = find_processes(packer, conf);
	if (r < 0)
		return r;
	memcpy(packer->block + at, conf, sizeof(*conf));
	/* What is private is made anew. */
	struct conf *copy = (struct conf *)(packer->block + at);
	copy->common.processes = packer->processes;
	copy->common.n_processes = packer->n_processes;
	copy->by_path = (struct map){0};
	copy->memory = NULL;
	copy->found = NULL;
	copy->block = (struct conf_block){.sealed_fd = -1};
	r = packed_visit(&packer->visitor, at);
	if (r == 0)
		place_processes(packer, (struct conf *)(packer->block + at));
	return r;
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

/* Pack into the packer's block; -errno, with a sentence in `err`. */
static int
pack(struct packer *packer, const struct conf *conf, struct err *err)
{
	packer->visitor = (struct packed_visitor){pack_texts, pack_array};
	packer->texts = STRBUF(CONF_MEMORY_MAX);
	packer->memory = ARENA(CONF_MEMORY_MAX);
	int r = pack_all(packer, conf);
	if (r == 0)
		r = finish_block(packer);
	strbuf_done(&packer->texts);
	map_done(&packer->places);
	arena_done(&packer->memory);
	return r < 0 ? err_set(err, -r, "keeping the configuration in memory") : 0;
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
	struct packer packer = {.fd = -1};
	int r = pack(&packer, conf, err);

	if (r == 0) {
		*ret_block = packer.block;
		*ret_bytes = packer.used;
		return 0;
	}
	free(packer.block);
	return r;
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
	struct packer packer = {.fd = -1};

	packer.fd = conf->block.sealed_fd >= 0
	                ? fcntl(conf->block.sealed_fd, F_DUPFD_CLOEXEC, 0)
	                : memfd_create("supd-conf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (packer.fd < 0)
		return err_set(err, errno, "keeping the configuration in memory");
	if (conf->block.sealed_fd >= 0)
		return packer.fd;
	int r = pack(&packer, conf, err);
	if (packer.block != NULL)
		(void)munmap(packer.block, packer.cap);
	if (r == 0 && (ftruncate(packer.fd, (off_t)packer.used) < 0 ||
	               fcntl(packer.fd, F_ADD_SEALS, SEALS) < 0))
		r = err_set(err, errno, "keeping the configuration in memory");
	if (r == 0)
		return packer.fd;
	(void)close(packer.fd);
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
