/* SPDX-License-Identifier: ISC */
/* suites.h - the tables of the decision core, a suite a subject. */
#ifndef TESTS_CORE_SUITES_H
#define TESTS_CORE_SUITES_H

#include <check.h>

#include "tests/lib/rig.h"

/* /user with a supervisor of n running workers. */
#define FAMILY_MAX 10
struct family {
	struct rig rig;
	struct ref top;
	struct ref child[FAMILY_MAX];
	uint32_t n;
};

/* Specs to begin with: no backoff, no limits that could strike. */
struct spec plain_worker(void);
struct spec plain_supervisor(void);
void family_init(struct family *family, const struct spec *top, const struct spec *child,
                 uint32_t n);
void family_add(struct family *family, const struct spec *child);
void family_boot(struct family *family);
void family_done(struct family *family);

Suite *suite_cause(void);
Suite *suite_decider(void);
Suite *suite_window(void);
Suite *suite_backoff(void);
Suite *suite_pace(void);
Suite *suite_pool(void);
Suite *suite_group(void);
Suite *suite_door(void);

#endif
