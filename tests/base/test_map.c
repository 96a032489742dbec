/* SPDX-License-Identifier: ISC */
/* test_map.c - what was put into a map is found, whatever else comes and goes. */
#include "config.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "tests/lib/check_main.h"

#define KEYS  1000
#define STEPS 20000

static const size_t reserved[] = {0, 1, 11, 12, 13, 100, KEYS};

START_TEST(a_map_knows_what_was_put_and_not_removed)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		bool is_there[KEYS] = {0};
		uint32_t values[KEYS] = {0};
		struct map map = {0};
		size_t n = 0;

		ck_assert_int_eq(map_reserve(&map, reserved[i]), 0);
		for (uint32_t step = 0; step < STEPS; step++) {
			const size_t key = (size_t)rand() % (i % 2 == 0 ? KEYS : 40);
			const bool is_put = rand() % 3 != 0;
			uint32_t value = 0;

			ck_assert(map_get(&map, key, &value) == is_there[key]);
			if (is_there[key])
				ck_assert_uint_eq(value, values[key]);
			n -= is_there[key];
			is_there[key] = is_put;
			values[key] = step;
			n += is_put;
			if (is_put)
				ck_assert_int_eq(map_put(&map, key, step), 0);
			else
				map_remove(&map, key);
			ck_assert_uint_eq(map.n, n);
		}
		map_done(&map);
	}
}
END_TEST

/* Callers rely on it where nothing may fail. */
START_TEST(a_map_does_not_grow_up_to_what_was_reserved)
{
	for (size_t n = 0; n < 200; n++) {
		struct map map = {0};
		char names[200][8];

		ck_assert_int_eq(map_reserve(&map, n), 0);
		const struct map_entry *before = map.entries;
		for (uint32_t i = 0; i < n; i++) {
			(void)snprintf(names[i], sizeof(names[i]), "%u", i);
			ck_assert_int_eq(map_put_name(&map, names[i], i), 0);
		}
		ck_assert(n == 0 || map.entries == before);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t value = UINT32_MAX;

			ck_assert(map_get_name(&map, names[i], &value));
			ck_assert_uint_eq(value, i);
			map_remove_name(&map, names[i]);
			ck_assert(!map_get_name(&map, names[i], &value));
		}
		ck_assert_uint_eq(map.n, 0);
		map_done(&map);
	}
}
END_TEST

CHECK_MAIN("map", a_map_knows_what_was_put_and_not_removed,
           a_map_does_not_grow_up_to_what_was_reserved)
