/* SPDX-License-Identifier: ISC */
/* freeze.c - pack a configuration into a sealed block that outlives its files. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/sum.h"
#include "conf/keep/frozen.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* A block in the making: all but the texts, the texts, and which of them are there. */
struct freezer {
	struct frozen_visitor visitor;
	unsigned char *block;
	size_t used;
	size_t cap;
	struct strbuf texts;
	struct map places;
};

/* Room for so many bytes at the end of the block, zeroed. */
static int
add_room(struct freezer *freezer, size_t bytes, size_t *ret_at)
{
	size_t needed = frozen_align(freezer->used + bytes);
	size_t cap = freezer->cap;

	while (cap < needed)
		cap = cap == 0 ? 65536 : cap * 2;
	if (cap > freezer->cap) {
		unsigned char *larger = realloc(freezer->block, cap);

		if (larger == NULL)
			return -ENOMEM;
		freezer->block = larger;
		freezer->cap = cap;
	}
	memset(freezer->block + freezer->used, 0, needed - freezer->used);
	*ret_at = freezer->used;
	freezer->used = needed;
	return 0;
}

/* What stands for a text: the same for two that read the same; 0: out of memory. */
static uint64_t
place_text(struct freezer *freezer, const char *text)
{
	uint32_t place;

	if (map_get_name(&freezer->places, text, &place))
		return place;
	if (freezer->texts.len >= UINT32_MAX)
		return 0;
	place = (uint32_t)freezer->texts.len + 1;
	strbuf_add(&freezer->texts, text, strlen(text) + 1);
	if (freezer->texts.failed || map_put_name(&freezer->places, text, place) < 0)
		return 0;
	return place;
}

static int
freeze_texts(struct frozen_visitor *visitor, const struct frozen_shape *shape, size_t at,
             size_t n)
{
	struct freezer *freezer = (struct freezer *)visitor;
	unsigned char *thing = freezer->block + at;

	for (size_t i = 0; i < n; i++, thing += shape->size) {
		for (size_t j = 0; j < shape->n_texts; j++) {
			unsigned char *member = thing + shape->texts[j].offset;
			const char *text;
			uint64_t place;

			memcpy(&text, member, sizeof(text));
			if (text == NULL)
				continue;
			place = place_text(freezer, text);
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
freeze_array(struct frozen_visitor *visitor, const struct frozen_array *array, size_t at,
             size_t *ret_at, size_t *ret_n)
{
	struct freezer *freezer = (struct freezer *)visitor;
	unsigned char *member = freezer->block + at + array->offset;
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
		*ret_n = frozen_count(array, freezer->block + at);
	else
		*ret_n = count_list(source);
	bytes = (*ret_n + (array->count_size == 0)) * array->of->size;
	r = add_room(freezer, bytes, ret_at);
	if (r < 0)
		return r;
	memcpy(freezer->block + *ret_at, source, bytes);
	place = *ret_at;
	memcpy(freezer->block + at + array->offset, &place, sizeof(place));
	return 0;
}

static int
freeze_all(struct freezer *freezer, const struct conf *conf)
{
	struct conf *copy;
	size_t head;
	size_t at;
	int r = add_room(freezer, sizeof(struct frozen_head), &head);

	if (r == 0)
		r = add_room(freezer, sizeof(*conf), &at);
	if (r < 0)
		return r;
	memcpy(freezer->block + at, conf, sizeof(*conf));
	/* What is private is made anew. */
	copy = (struct conf *)(freezer->block + at);
	copy->by_path = (struct map){0};
	copy->memory = NULL;
	copy->found = NULL;
	copy->thawed = NULL;
	copy->thawed_bytes = 0;
	copy->is_mapped = false;
	return frozen_visit(&freezer->visitor, at);
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
finish_block(struct freezer *freezer)
{
	struct frozen_head *head;
	size_t texts;
	int r = add_room(freezer, freezer->texts.len + 1, &texts);

	if (r < 0)
		return r;
	memcpy(freezer->block + texts, strbuf_str(&freezer->texts), freezer->texts.len);
	head = (struct frozen_head *)freezer->block;
	*head = (struct frozen_head){
	    .magic = FROZEN_MAGIC,
	    .layout = frozen_layout(),
	    .bytes = freezer->used,
	    .texts = texts,
	    .sum = sum_bytes(head + 1, freezer->used - sizeof(*head), 0),
	};
	return 0;
}

/*
 * The whole configuration, with everything in force, in one block without pointers, which
 * the caller frees: conf_thaw_block() makes a configuration of it again.  -errno, with a
 * sentence in `err`.
 */
int
conf_freeze_block(const struct conf *conf, void **ret_block, size_t *ret_bytes,
                  struct err *err)
{
	struct freezer freezer = {.visitor = {freeze_texts, freeze_array}};
	int r;

	strbuf_init(&freezer.texts, CONF_MEMORY_MAX);
	map_init(&freezer.places);
	r = freeze_all(&freezer, conf);
	if (r == 0)
		r = finish_block(&freezer);
	strbuf_done(&freezer.texts);
	map_done(&freezer.places);
	if (r == 0) {
		*ret_block = freezer.block;
		*ret_bytes = freezer.used;
		return 0;
	}
	err_set(err, -r, "keeping the configuration in memory");
	free(freezer.block);
	return r;
}

/*
 * The same in a sealed memory file: no file, no environment and no user database is
 * needed to get it back with conf_thaw().  The caller closes the descriptor, which is
 * born with CLOEXEC; its position does not matter.  -errno, with a sentence in `err`.
 */
int
conf_freeze(const struct conf *conf, struct err *err)
{
	void *block;
	size_t bytes;
	int r = conf_freeze_block(conf, &block, &bytes, err);

	if (r < 0)
		return r;
	r = write_block(block, bytes);
	if (r < 0)
		err_set(err, -r, "keeping the configuration in memory");
	free(block);
	return r;
}
