/* SPDX-License-Identifier: ISC */
/* test_environment.c - what of supd's own environment an actor finds. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/launch/environment.h"
#include "tests/lib/check_main.h"

/* All variables, with a blank behind each. */
static void
join(char *ret, size_t size, const struct environment *environment)
{
	size_t used = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < environment->n; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s ",
		                         environment->vars[i]);
}

/* Take apart what is separated by blanks, in place. */
static void
split(char *text, char *ret[], size_t max)
{
	size_t n = 0;

	for (char *var = strtok(text, " "); var != NULL; var = strtok(NULL, " ")) {
		ck_assert_uint_lt(n + 1, max);
		ret[n++] = var;
	}
	ret[n] = NULL;
}

START_TEST(each_variable_is_inherited_once)
{
	static const struct {
		const char *own;
		const char *configured;
		const char *found;
	} cases[] = {
	    {"A=1 B=2 A=3", "", "A=1 B=2 "},
	    {"A=1 B=2 A=3", "A=9", "A=9 B=2 "},
	    {"B= AB=1 B=2", "", "B= AB=1 "},
	    {"A A=1 A=2", "", "A A=1 "},
	    {"SUPD_PATH=/x A=1 SUPD_PATH=/y A=2", "", "A=1 "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char own[200], configured[200], found[200];
		char *own_vars[10], *configured_vars[10];
		const struct conf_process process = {.world.environment =
		                                         configured_vars};
		struct environment environment;

		(void)snprintf(own, sizeof(own), "%s", cases[i].own);
		(void)snprintf(configured, sizeof(configured), "%s", cases[i].configured);
		split(own, own_vars, ARRAY_SIZE(own_vars));
		split(configured, configured_vars, ARRAY_SIZE(configured_vars));
		ck_assert_int_eq(environment_init(&environment, own_vars), 0);
		environment_begin(&environment, &process);
		join(found, sizeof(found), &environment);
		ck_assert_str_eq(found, cases[i].found);
		environment_done(&environment);
	}
}
END_TEST

CHECK_MAIN("environment", each_variable_is_inherited_once)
