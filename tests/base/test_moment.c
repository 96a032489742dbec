/* SPDX-License-Identifier: ISC */
/* test_moment.c - times as RFC 3339 and as people write them. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/assert.h"
#include "base/moment.h"
#include "tests/lib/check_main.h"

#define S UINT64_C(1000000)
/* 2026-11-21T09:12:33.123Z */
#define THEN (UINT64_C(1795252353) * S + 123000)

START_TEST(a_time_of_rfc_3339_is_read_whatever_its_zone_and_fraction)
{
	static const struct {
		const char *text;
		uint64_t us;
	} cases[] = {
	    {"2026-11-21T09:12:33.123Z", THEN},
	    {"2026-11-21T09:12:33.123456Z", THEN + 456},
	    {"2026-11-21T09:12:33.1234569Z", THEN + 456},
	    {"2026-11-21T10:12:33.123+01:00", THEN},
	    {"2026-11-21 04:42:33.123-04:30", THEN},
	    {"2026-11-21t09:12:33z", THEN - 123000},
	    {"1970-01-01T00:00:00Z", 0},
	};
	uint64_t us;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_int_eq(moment_parse(cases[i].text, &us), 0);
		ck_assert_uint_eq(us, cases[i].us);
	}
}
END_TEST

START_TEST(what_is_no_time_of_rfc_3339_is_refused)
{
	static const char *const cases[] = {
	    "",
	    "now",
	    "2026-11-21",
	    "2026-11-21T09:12Z9",
	    "2026-11-21T09:12:33",
	    "2026-13-21T09:12:33Z",
	    "2026-11-00T09:12:33Z",
	    "2026-11-21T24:12:33Z",
	    "2026-11-21T09:60:33Z",
	    "2026-11-21T09:12:33Zx",
	    "2026-11-21T09:12:33+1:00",
	    "1969-12-31T23:59:59Z",
	    "1970-01-01T00:00:00+01:00",
	    "2026-1-21T09:12:33Z",
	    " 2026-11-21T09:12:33Z",
	};
	uint64_t us = 7;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_int_eq(moment_parse(cases[i], &us), -EINVAL);
	ck_assert_uint_eq(us, 7);
}
END_TEST

/* In a zone five and a half hours ahead of UTC: there it is 14:42:33. */
START_TEST(people_write_times_of_their_zone_or_how_long_ago)
{
	static const struct {
		const char *text;
		uint64_t us;
	} cases[] = {
	    {"2026-11-21T09:12:33.123Z", THEN},
	    {"2026-11-21T14:42:33.123", THEN},
	    {"2026-11-21 14:42", THEN - 33 * S - 123000},
	    {"2026-11-21", THEN - (14 * 3600 + 42 * 60 + 33) * S - 123000},
	    {"14:42:33.123", THEN},
	    {"14:42", THEN - 33 * S - 123000},
	    {"10m", THEN - 600 * S},
	    {"1h30m", THEN - 5400 * S},
	    {"0s", THEN},
	    {"5 min ago", THEN - 300 * S},
	    {"5min ago", THEN - 300 * S},
	    {"1 hour 30 minutes ago", THEN - 5400 * S},
	    {"1h 30m ago", THEN - 5400 * S},
	    {"2 weeks", THEN - 14 * 86400 * S},
	    {"3 days ago", THEN - 3 * 86400 * S},
	    {"20 secs ago", THEN - 20 * S},
	    {"now", THEN - 123000},
	    {"today", THEN - (14 * 3600 + 42 * 60 + 33) * S - 123000},
	    {"yesterday", THEN - (38 * 3600 + 42 * 60 + 33) * S - 123000},
	    {"infinity", 0},
	    /* Not today yet: yesterday. */
	    {"14:43", THEN + 27 * S - 123000 - 86400 * S},
	    {"23:00", THEN - (15 * 3600 + 42 * 60 + 33) * S - 123000},
	};
	uint64_t us;

	ck_assert_int_eq(setenv("TZ", "XST-5:30", 1), 0);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_int_eq(moment_parse_past(cases[i].text, THEN, &us), 0);
		ck_assert_msg(us == cases[i].us, "%s: %lld s off", cases[i].text,
		              (long long)(us - cases[i].us) / (long long)S);
	}
}
END_TEST

START_TEST(what_people_cannot_mean_is_refused)
{
	static const char *const cases[] = {
	    "",
	    "10",
	    "soon",
	    "25:00",
	    "14:4",
	    "14:42x",
	    "2026-11-21T",
	    "2026-11-21x",
	    "-5m",
	    "ago",
	    "5 ago",
	    "5 fortnights ago",
	    "min",
	    "5 min agos",
	    "tomorrow",
	    "99999999999999999999 d ago",
	    "3155760000 s 3155760000 s",
	};
	uint64_t us;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_int_eq(moment_parse_past(cases[i], THEN, &us), -EINVAL);
}
END_TEST

CHECK_MAIN("moment", a_time_of_rfc_3339_is_read_whatever_its_zone_and_fraction,
           what_is_no_time_of_rfc_3339_is_refused,
           people_write_times_of_their_zone_or_how_long_ago,
           what_people_cannot_mean_is_refused)
