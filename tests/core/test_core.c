/* SPDX-License-Identifier: ISC */
/* test_core.c - run the tables of the decision core. */
#include "config.h"

#include <stdlib.h>

#include "base/units.h"
#include "tests/core/suites.h"
#include "tests/lib/check_main.h"

struct spec
plain_worker(void)
{
	struct spec spec;

	spec_default(&spec, NODE_WORKER);
	spec.backoff.none = true;
	return spec;
}

struct spec
plain_supervisor(void)
{
	struct spec spec;

	spec_default(&spec, NODE_SUPERVISOR);
	spec.backoff.none = true;
	spec.policy.intensity.unlimited = true;
	return spec;
}

/* A tree with n equal children below `top`; not started yet. */
void
family_init(struct family *family, const struct spec *top, const struct spec *child,
            uint32_t n)
{
	struct spec user = plain_supervisor();
	struct ref root;

	user.policy.decider.preset = PRESET_STOPPING;
	rig_init(&family->rig, 4, 42);
	root = rig_user(&family->rig, &user);
	family->top = rig_add(&family->rig, root, REF_NONE, top);
	family->n = 0;
	for (uint32_t i = 0; i < n; i++)
		family_add(family, child);
}

void
family_add(struct family *family, const struct spec *child)
{
	ck_assert_uint_lt(family->n, FAMILY_MAX);
	family->child[family->n++] = rig_add(&family->rig, family->top, REF_NONE, child);
}

/* Boot it; every process starts, readiness by notification is not given. */
void
family_boot(struct family *family)
{
	rig_event(&family->rig, EVENT_BOOT, REF_NONE);
	rig_runs(&family->rig);
	ck_assert_ptr_null(family->rig.fault);
	rig_forget(&family->rig);
}

void
family_done(struct family *family)
{
	ck_assert_ptr_null(family->rig.fault);
	rig_done(&family->rig);
}

int
main(void)
{
	SRunner *runner = srunner_create(suite_cause());

	srunner_add_suite(runner, suite_decider());
	srunner_add_suite(runner, suite_window());
	srunner_add_suite(runner, suite_backoff());
	srunner_add_suite(runner, suite_pace());
	srunner_add_suite(runner, suite_pool());
	srunner_add_suite(runner, suite_group());
	srunner_add_suite(runner, suite_door());
	return check_run(runner);
}
