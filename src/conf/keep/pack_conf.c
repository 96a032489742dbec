/* SPDX-License-Identifier: ISC */
/* pack_conf.c - pack a configuration into a sealed block that outlives its files. */
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

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* A block in the making: all but the texts, the texts, and which of them are there. */
struct packer {
	struct packed_visitor visitor;
	unsigned char *block;
	size_t used;
	size_t cap;
	struct strbuf texts;
	struct map places;
};

/* Room for so many bytes at the end of the block, zeroed. */
static int
add_room(struct packer *packer, size_t bytes, size_t *ret_at)
{
	size_t needed = packed_align(packer->used + bytes);
	size_t cap = packer->cap;

	while (cap < needed)
		cap = cap == 0 ? 65536 : cap * 2;
	if (cap > packer->cap) {
		unsigned char *larger = realloc(packer->block, cap);

		if (larger == NULL)
			return -ENOMEM;
		packer->block = larger;
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
	uint32_t place;

	if (map_get_name(&packer->places, text, &place))
		return place;
	if (packer->texts.len >= UINT32_MAX)
		return 0;
	place = (uint32_t)packer->texts.len + 1;
	strbuf_add(&packer->texts, text, strlen(text) + 1);
	if (packer->texts.failed || map_put_name(&packer->places, text, place) < 0)
		return 0;
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
			uint64_t place;

			memcpy(&text, member, sizeof(text));
			if (text == NULL)
				continue;
			place = place_text(packer, text);
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
	uint64_t place;
	size_t bytes;
	int r;

	memcpy(&source, member, sizeof(source));
	*ret_at = 0;
	*ret_n = 0;
	if (source == NULL)
		return 0;
	if (array->count_size > 0)
		*ret_n = packed_count(array, packer->block + at);
	else
		*ret_n = count_list(source);
	bytes = (*ret_n + (array->count_size == 0)) * array->of->size;
	r = add_room(packer, bytes, ret_at);
	if (r < 0)
		return r;
	memcpy(packer->block + *ret_at, source, bytes);
	place = *ret_at;
	memcpy(packer->block + at + array->offset, &place, sizeof(place));
	return 0;
}

static int
pack_all(struct packer *packer, const struct conf *conf)
{
	struct conf *copy;
	size_t head;
	size_t at;
	int r = add_room(packer, sizeof(struct packed_head), &head);

	if (r == 0)
		r = add_room(packer, sizeof(*conf), &at);
	if (r < 0)
		return r;
	memcpy(packer->block + at, conf, sizeof(*conf));
	/* What is private is made anew. */
	copy = (struct conf *)(packer->block + at);
	copy->by_path = (struct map){0};
	copy->memory = NULL;
	copy->found = NULL;
	copy->block.at = NULL;
	copy->block.bytes = 0;
	copy->block.is_mapped = false;
	copy->block.sealed_fd = -1;
	return packed_visit(&packer->visitor, at);
}

/* ---- the file ---- */

static int
write_all(int fd, const void *data, size_t len)
{
	const unsigned char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The kernel keeps the block for every holder of the descriptor. */
static int
write_block(const void *block, size_t bytes)
{
	int fd = memfd_create("supd-conf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, block, bytes);
	if (r == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		r = -errno;
	if (r == 0)
		return fd;
	(void)close(fd);
	return r;
}

/* Put the texts behind the rest, and fill in the head. */
static int
finish_block(struct packer *packer)
{
	struct packed_head *head;
	size_t texts;
	int r = add_room(packer, packer->texts.len + 1, &texts);

	if (r < 0)
		return r;
	memcpy(packer->block + texts, strbuf_str(&packer->texts), packer->texts.len);
	head = (struct packed_head *)packer->block;
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
	struct packer packer = {.visitor = {pack_texts, pack_array}};
	int r;

	strbuf_init(&packer.texts, CONF_MEMORY_MAX);
	map_init(&packer.places);
	r = pack_all(&packer, conf);
	if (r == 0)
		r = finish_block(&packer);
	strbuf_done(&packer.texts);
	map_done(&packer.places);
	if (r == 0) {
		*ret_block = packer.block;
		*ret_bytes = packer.used;
		return 0;
	}
	err_set(err, -r, "keeping the configuration in memory");
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
	void *block;
	size_t bytes;
	int r;

	if (conf->block.sealed_fd >= 0) {
		r = fcntl(conf->block.sealed_fd, F_DUPFD_CLOEXEC, 0);
		if (r < 0)
			err_set(err, errno, "keeping the configuration in memory");
		return r < 0 ? -err->code : r;
	}
	r = conf_pack_block(conf, &block, &bytes, err);
	if (r < 0)
		return r;
	r = write_block(block, bytes);
	if (r < 0)
		err_set(err, -r, "keeping the configuration in memory");
	free(block);
	return r;
}

/* All of a memory file, to be read; NULL. */
static void *
map_all(int fd, size_t *ret_bytes)
{
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	*ret_bytes = (size_t)st.st_size;
	at = mmap(NULL, *ret_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* True if two configurations are the same, with the places in their files: both are
 * packed into the same bytes.  False also without memory. */
bool
conf_packs_alike(const struct conf *a, const struct conf *b)
{
	struct err err;
	int a_fd = conf_pack(a, &err), b_fd = conf_pack(b, &err);
	size_t a_bytes = 0, b_bytes = 0;
	void *a_at = map_all(a_fd, &a_bytes), *b_at = map_all(b_fd, &b_bytes);
	const bool is_same = a_at != NULL && b_at != NULL && a_bytes == b_bytes &&
	                     memcmp(a_at, b_at, a_bytes) == 0;

	if (a_at != NULL)
		(void)munmap(a_at, a_bytes);
	if (b_at != NULL)
		(void)munmap(b_at, b_bytes);
	if (a_fd >= 0)
		(void)close(a_fd);
	if (b_fd >= 0)
		(void)close(b_fd);
	return is_same;
}
