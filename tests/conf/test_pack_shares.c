/* SPDX-License-Identifier: ISC */
/* test_pack_shares.c - equal processes of a packed configuration are one, and specs. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/sum.h"
#include "conf/keep/packed.h"
#include "tests/conf/support.h"

/* Which of the processes of a frozen configuration the actor has. */
static uint32_t
process_of(const struct conf *conf, const char *path)
{
	return (uint32_t)(actor_at(conf, path)->process - conf->common.processes);
}

/* Which of its specs. */
static uint32_t
spec_of(const struct conf *conf, const char *path)
{
	return (uint32_t)(actor_at(conf, path)->spec - conf->common.specs);
}

START_TEST(equal_processes_are_kept_once)
{
	static const struct {
		const char *keys;
		bool is_other;
	} rows[] = {
	    {"", false},
	    {", restart: temporary", false},
	    {", environment: {A: b}", true},
	    {", nice: 1", true},
	    {", limits: {core: 1}", true},
	    {", hooks: {pre_start: [x]}", true},
	    {", directory: /b", true},
	};
	struct strbuf text;
	struct conf *unpacked, *conf;
	char path[50];
	int fd;

	strbuf_init(&text, 10000);
	strbuf_adds(&text, "children:\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		strbuf_addf(&text,
		            "  a%zu: {command: [/%zu]%s}\n  b%zu: {command: [x]%s}\n", i,
		            i, rows[i].keys, i, rows[i].keys);
	conf = load_text(strbuf_str(&text));
	fd = pack_good(conf);
	unpacked = unpack_good(fd);
	same_conf(conf, unpacked);
	for (uint32_t i = 0, last = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t process;

		(void)snprintf(path, sizeof(path), "/user/a%u", i);
		process = process_of(unpacked, path);
		ck_assert_str_eq(actor_at(unpacked, path)->argv[0] + 1, path + 7);
		path[6] = 'b';
		ck_assert_uint_eq(process_of(unpacked, path), process);
		if (i > 0 && !rows[i].is_other)
			ck_assert_uint_eq(process, process_of(unpacked, "/user/a0"));
		else if (i > 0)
			ck_assert_uint_gt(process, last);
		last = process > last ? process : last;
	}
	strbuf_done(&text);
	conf_free(unpacked);
	conf_free(conf);
	(void)close(fd);
}
END_TEST

START_TEST(equal_specs_are_kept_once)
{
	static const char *const keys[] = {
	    "",
	    ", restart: temporary",
	    ", shutdown: 3s",
	    ", backoff: none",
	    ", success: {exit: [3]}",
	    ", start_on: boot, watchdog: 3s",
	    ", ready: {after: 1s}",
	    ", needs: {z: started}",
	    ", needs: {z: ready}",
	    ", watch: {z: {run: [x]}}",
	    ", watch: {z: {run: [y]}}",
	    ", watch: {/user/z: {run: [y, z]}}",
	};
	struct strbuf text;
	struct conf *unpacked, *conf;
	char path[50];
	int fd;

	strbuf_init(&text, 10000);
	strbuf_adds(&text, "children:\n  z: {command: [x]}\n");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		strbuf_addf(
		    &text,
		    "  a%zu: {command: [/%zu]%s}\n  b%zu: {command: [x], nice: 1%s}\n", i,
		    i, keys[i], i, keys[i]);
	conf = load_text(strbuf_str(&text));
	fd = pack_good(conf);
	unpacked = unpack_good(fd);
	same_conf(conf, unpacked);
	ck_assert_uint_eq(spec_of(unpacked, "/user/a0"), spec_of(unpacked, "/user/z"));
	/* That of /user is the first. */
	ck_assert_uint_eq(unpacked->common.n_specs, 1 + ARRAY_SIZE(keys));
	for (uint32_t i = 0; i < ARRAY_SIZE(keys); i++) {
		(void)snprintf(path, sizeof(path), "/user/a%u", i);
		ck_assert_uint_eq(spec_of(unpacked, path), 1 + i);
		path[6] = 'b';
		ck_assert_uint_eq(spec_of(unpacked, path), 1 + i);
	}
	strbuf_done(&text);
	conf_free(unpacked);
	conf_free(conf);
	(void)close(fd);
}
END_TEST

START_TEST(actors_that_share_a_spec_have_names_of_their_own)
{
	struct conf *conf = load_text("children:\n"
	                              "  a: {command: [x], replicas: 2}\n"
	                              "  b: {command: [x]}\n");
	int fd = pack_good(conf);
	struct conf *unpacked = unpack_good(fd);
	static const struct {
		const char *path, *name, *base;
	} rows[] = {
	    {"/user/a@1", "a@1", "/user/a"},
	    {"/user/a@2", "a@2", "/user/a"},
	    {"/user/b", "b", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct conf_actor *actor = actor_at(unpacked, rows[i].path);
		const char *base = rows[i].base;
		struct spec spec;

		ck_assert_str_eq(conf_name(actor), rows[i].name);
		ck_assert_uint_eq(spec_of(unpacked, rows[i].path), 1);
		conf_name_spec(actor, &spec);
		ck_assert_uint_eq(spec.name,
		                  sum_bytes(rows[i].path, strlen(rows[i].path), 0));
		ck_assert_uint_eq(spec.base,
		                  base == NULL ? 0 : sum_bytes(base, strlen(base), 0));
		spec.name = spec.base = 0;
		ck_assert_int_eq(memcmp(&spec, &actor->spec->core, sizeof(spec)), 0);
	}
	conf_free(unpacked);
	conf_free(conf);
	(void)close(fd);
}
END_TEST

/* Is the block taken, with this as the place of what all its actors share? */
static bool
is_taken(const void *block, size_t bytes, size_t offset, uint64_t place)
{
	unsigned char *copy = malloc(bytes);
	struct packed_head *head = (struct packed_head *)(void *)copy;
	const struct conf *conf =
	    (const struct conf *)(void *)(copy + packed_align(sizeof(*head)));
	struct conf *unpacked;
	struct err err = {0};

	memcpy(copy, block, bytes);
	memcpy(copy + (uintptr_t)conf->actors + offset, &place, sizeof(place));
	head->sum = sum_bytes(head + 1, bytes - sizeof(*head), 0);
	unpacked = conf_unpack_block(copy, bytes, &err);
	if (unpacked == NULL)
		ck_assert_ptr_nonnull(strstr(err.text, "is damaged"));
	conf_free(unpacked);
	free(copy);
	return unpacked != NULL;
}

START_TEST(a_place_that_nothing_has_is_damage)
{
	static const size_t offsets[] = {offsetof(struct conf_actor, process),
	                                 offsetof(struct conf_actor, spec)};
	/* Two processes and two specs: of /user and of its child. */
	static const uint64_t bad[] = {0, 3, 4, UINT32_MAX, UINT64_MAX};
	struct conf *conf = load_text("children: {a: {command: [x], nice: 1}}\n");
	struct err err;
	size_t bytes;
	void *block;

	ck_assert_int_eq(conf_pack_block(conf, &block, &bytes, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		ck_assert(is_taken(block, bytes, offsets[i], 1));
		for (size_t j = 0; j < ARRAY_SIZE(bad); j++)
			ck_assert(!is_taken(block, bytes, offsets[i], bad[j]));
	}
	free(block);
	conf_free(conf);
}
END_TEST

#define SMALL_N      200
#define VARIATIONS_N 12
#define SOCKETS      7 /* the place of the key below */

/* Two values of a key of the process, and its default. */
static const char *const variations[VARIATIONS_N][3] = {
    {"", ", environment: {A: b}", ", environment: {A: b, B: a}"},
    {"", ", nice: 1", ", nice: 2"},
    {"", ", limits: {core: 1}", ", limits: {core: 1, nofile: '10:1K'}"},
    {"", ", directory: /a", ", directory: /b"},
    {"", ", hooks: {pre_start: [x]}", ", hooks: {post_stop: [x]}"},
    {"", ", output: {stdout: file:/x}", ", output: {stderr: file:/x}"},
    {"", ", supplementary_groups: [7]", ", supplementary_groups: [7, 8]"},
    {"", ", sockets: {h: 'tcp:127.0.0.1:0'}", ", sockets: {i: 'tcp:127.0.0.1:0'}"},
    {"", ", health: {exec: [x, y]}", ", health: {exec: [x]}"},
    {"", ", ready: {exec: [x, y]}", ", ready: {exec: [x], interval: 3s}"},
    {"", ", environment_file: [-/a]", ", environment_file: [-/a, -/b]"},
    {"", ", stdin: file:/dev/zero", ", root: /"},
};

/* The values of an actor's keys, of which few are not the default. */
struct small {
	uint8_t value[VARIATIONS_N];
};

static struct conf *
load_small(struct rng *rng, struct small *ret)
{
	struct strbuf text;
	struct conf *conf;

	strbuf_init(&text, SMALL_N * 200);
	strbuf_adds(&text, "children:\n");
	for (unsigned int i = 0; i < SMALL_N; i++) {
		ret[i] = (struct small){0};
		for (uint64_t n = rng_below(rng, 3); n > 0; n--)
			ret[i].value[rng_below(rng, VARIATIONS_N)] =
			    (uint8_t)rng_below(rng, 3);
		strbuf_addf(&text, "  a%u: {command: [/%u]", i, i % 7);
		for (size_t j = 0; j < VARIATIONS_N; j++)
			strbuf_adds(&text, variations[j][ret[i].value[j]]);
		strbuf_adds(&text, "}\n");
	}
	conf = load_text(strbuf_str(&text));
	strbuf_done(&text);
	return conf;
}

static bool
are_equal(const struct small *a, const struct small *b)
{
	/* A socket knows its place in the file, which is another one for each actor. */
	return memcmp(a, b, sizeof(*a)) == 0 && a->value[SOCKETS] == 0;
}

/* Two actors have one process if all of its keys are the same. */
static void
expect_shared(const struct conf *conf, const struct small *smalls)
{
	const struct conf_process *processes[SMALL_N];
	char path[50];

	for (unsigned int i = 0; i < SMALL_N; i++) {
		(void)snprintf(path, sizeof(path), "/user/a%u", i);
		processes[i] = actor_at(conf, path)->process;
		for (unsigned int j = 0; j < i; j++)
			if ((processes[i] == processes[j]) !=
			    are_equal(&smalls[i], &smalls[j]))
				ck_abort_msg("a%u and a%u have %s process", j, i,
				             processes[i] == processes[j] ? "one"
				                                          : "no common");
	}
}

START_TEST(each_of_many_actors_has_its_own_process_again_whichever_are_shared)
{
	struct small smalls[SMALL_N];
	struct rng rng;

	rng_seed(&rng, 3);
	for (unsigned int i = 0; i < 15; i++) {
		struct conf *conf = load_small(&rng, smalls);
		int fd = pack_good(conf);
		struct conf *unpacked = unpack_good(fd);

		same_conf(conf, unpacked);
		expect_shared(unpacked, smalls);
		conf_free(unpacked);
		expect_same_when_thawed(conf);
		conf_free(conf);
		(void)close(fd);
	}
}
END_TEST

Suite *
suite_pack_shares(void)
{
	Suite *suite = suite_create("pack_shares");
	TCase *tcase = new_case("pack_shares");

	tcase_add_test(tcase, equal_processes_are_kept_once);
	tcase_add_test(tcase, equal_specs_are_kept_once);
	tcase_add_test(tcase, actors_that_share_a_spec_have_names_of_their_own);
	tcase_add_test(tcase, a_place_that_nothing_has_is_damage);
	tcase_add_test(
	    tcase, each_of_many_actors_has_its_own_process_again_whichever_are_shared);
	suite_add_tcase(suite, tcase);
	return suite;
}
