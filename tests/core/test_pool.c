/* SPDX-License-Identifier: ISC */
/* test_pool.c - what nodes have in the pool: those that are alike share a spec. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/core/suites.h"

#define MANY 200

static uint32_t
room_of(const struct family *f)
{
	struct core_size room;

	core_room(f->rig.core, &room);
	return room.pool_bytes;
}

/* So many bytes of the pool are taken when an actor with this spec is added. */
static uint32_t
taken_by(struct family *f, const struct spec *spec)
{
	uint32_t before;

	rig_make_room(&f->rig, 1, core_spec_bytes(spec, NULL));
	before = room_of(f);
	(void)rig_add(&f->rig, f->top, REF_NONE, spec);
	return before - room_of(f);
}

START_TEST(an_actor_that_is_like_another_takes_no_spec)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family f;

	family_init(&f, &top, &worker, 1);
	ck_assert_uint_eq(taken_by(&f, &worker) + core_shared_bytes(),
	                  core_spec_bytes(&worker, NULL));
	worker.name = 4711;
	worker.base = 4712;
	ck_assert_uint_eq(taken_by(&f, &worker) + core_shared_bytes(),
	                  core_spec_bytes(&worker, NULL));
	worker.stop.shutdown_ms++;
	ck_assert_uint_eq(taken_by(&f, &worker), core_spec_bytes(&worker, NULL));
	family_done(&f);
}
END_TEST

/* Is the byte at this place one of the field? */
#define IS_IN(place, field)                     \
	((place)-offsetof(struct spec, field) < \
	 sizeof(((const struct spec *)NULL)->field))

START_TEST(specs_are_the_same_but_for_their_names_and_where_their_lists_are)
{
	const struct spec one = plain_worker();

	for (size_t at = 0; at < sizeof(one); at++) {
		const bool is_left_out = IS_IN(at, name) || IS_IN(at, base) ||
		                         IS_IN(at, watches) || IS_IN(at, needs) ||
		                         IS_IN(at, policy.decider.rules) ||
		                         IS_IN(at, on_failure.rules);
		struct spec other;

		memcpy(&other, &one, sizeof(other));
		((unsigned char *)&other)[at] ^= 1;
		ck_assert_int_eq(core_spec_is_shared(&one, &other), is_left_out);
	}
}
END_TEST

START_TEST(an_update_leaves_those_alone_that_were_like_it)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct spec other = worker;
	struct family f;

	other.restart = RESTART_NEVER;
	family_init(&f, &top, &worker, 3);
	rig_update(&f.rig, f.child[1], &other);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rig_view(&f.rig, f.child[0]).restart, RESTART_PERMANENT);
		ck_assert_int_eq(rig_view(&f.rig, f.child[1]).restart, RESTART_NEVER);
		ck_assert_int_eq(rig_view(&f.rig, f.child[2]).restart, RESTART_PERMANENT);
		rig_move(&f.rig);
	}
	family_done(&f);
}
END_TEST

START_TEST(a_spec_without_nodes_is_found_again_or_lost_by_moving)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family f;
	uint32_t in_use;

	family_init(&f, &top, &worker, 1);
	rig_make_room(&f.rig, 1, (MANY + 2) * core_spec_bytes(&worker, NULL));
	in_use = core_pool_in_use(f.rig.core);
	for (uint64_t i = 1; i <= MANY; i++) {
		worker.stop.shutdown_ms = i;
		rig_update(&f.rig, f.child[0], &worker);
		ck_assert_uint_eq(core_pool_in_use(f.rig.core), in_use);
	}
	worker.stop.shutdown_ms = 1;
	in_use = room_of(&f);
	rig_update(&f.rig, f.child[0], &worker);
	ck_assert_uint_eq(room_of(&f), in_use);
	rig_move(&f.rig);
	ck_assert_uint_eq(f.rig.size.pool_bytes - room_of(&f),
	                  core_pool_in_use(f.rig.core));
	family_done(&f);
}
END_TEST

START_TEST(a_removed_actor_leaves_the_spec_to_others)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct spec other = worker;
	struct family f;
	uint32_t in_use;

	other.restart = RESTART_TRANSIENT;
	family_init(&f, &top, &worker, 2);
	in_use = core_pool_in_use(f.rig.core);
	family_add(&f, &other);
	ck_assert_uint_eq(core_pool_in_use(f.rig.core),
	                  in_use + core_spec_bytes(&other, NULL));
	core_remove(f.rig.core, f.child[0], f.rig.now_ms);
	core_remove(f.rig.core, f.child[2], f.rig.now_ms);
	rig_settle(&f.rig);
	ck_assert(!core_valid(f.rig.core, f.child[2]));
	ck_assert_uint_eq(core_pool_in_use(f.rig.core) + core_spec_bytes(&worker, NULL),
	                  in_use + core_shared_bytes());
	ck_assert_int_eq(rig_view(&f.rig, f.child[1]).restart, RESTART_PERMANENT);
	family_done(&f);
}
END_TEST

START_TEST(memory_for_calls_that_never_waited_is_left_alone)
{
	const struct core_size size = {
	    .nodes = 4, .pool_bytes = 4096, .waiters = 16, .watches = 4};
	const size_t sure = core_sure_bytes(&size), all = core_bytes(&size);
	unsigned char *memory = malloc(2 * all), *moved = memory + all;
	struct core *core;

	ck_assert_ptr_nonnull(memory);
	ck_assert_uint_gt(all, sure);
	memset(memory, 0xA5, 2 * all);
	core = core_move(moved, &size, core_init(memory, &size, 1));
	ck_assert_uint_eq(core_used(core).first, sure);
	ck_assert_uint_eq(core_used(core).later, 0);
	for (size_t i = sure; i < all; i++) {
		ck_assert_uint_eq(memory[i], 0xA5);
		ck_assert_uint_eq(moved[i], 0xA5);
	}
	free(memory);
}
END_TEST

Suite *
suite_pool(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = tcase_create("pool");

	tcase_add_test(tcase, an_actor_that_is_like_another_takes_no_spec);
	tcase_add_test(tcase,
	               specs_are_the_same_but_for_their_names_and_where_their_lists_are);
	tcase_add_test(tcase, an_update_leaves_those_alone_that_were_like_it);
	tcase_add_test(tcase, a_spec_without_nodes_is_found_again_or_lost_by_moving);
	tcase_add_test(tcase, a_removed_actor_leaves_the_spec_to_others);
	tcase_add_test(tcase, memory_for_calls_that_never_waited_is_left_alone);
	suite_add_tcase(suite, tcase);
	return suite;
}
