/* SPDX-License-Identifier: ISC */
/* test_plan.c - what changes from one configuration to the next. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tests/conf/support.h"

/* The plan as lines "kind path: key key". */
static char *
plan_between(const char *old_text, const char *new_text)
{
	struct conf *old = load_text(old_text);
	struct conf *new_conf = load_text(new_text);
	struct conf_plan plan = {0};
	struct strbuf out;
	size_t n_moved = 0;

	strbuf_init(&out, 1 << 16);
	ck_assert_int_eq(conf_plan_make(old, new_conf, &plan), 0);
	for (size_t i = 0; i < plan.n; i++) {
		const struct conf_change *change = &plan.at[i];
		const struct conf_actor *actor =
		    change->new_index != CONF_NONE ? &new_conf->actors[change->new_index]
		                                   : &old->actors[change->old_index];

		if (change->kind == CHANGE_UNCHANGED)
			continue;
		ck_assert_int_eq(change->kind == CHANGE_ADDED,
		                 change->old_index == CONF_NONE);
		ck_assert_int_eq(change->kind == CHANGE_REMOVED,
		                 change->new_index == CONF_NONE);
		n_moved += change->kind == CHANGE_ADDED ||
		           (change->n_keys > 0 &&
		            strcmp(change->keys[change->n_keys - 1], "order") == 0);
		strbuf_addf(&out, "%s %s", change_names[change->kind], actor->path);
		for (size_t k = 0; k < change->n_keys; k++)
			strbuf_addf(&out, " %s", change->keys[k]);
		strbuf_addc(&out, '\n');
	}
	ck_assert_uint_eq(plan.n_added + plan.n_moved, n_moved);
	conf_plan_done(&plan);
	conf_free(old);
	conf_free(new_conf);
	return strbuf_take(&out);
}

static const struct {
	const char *from;
	const char *to;
	const char *plan;
} plans[] = {
    /* nothing */
    {"children: {a: {command: [x], shutdown: 60s}}\n",
     "\n\nchildren:\n  a: {shutdown: 1m, command: x}\n", ""},
    {"children: {a: {command: [x]}}\n", "children: {a: {command: [x], shutdown: 5s}}\n",
     ""},
    {"children: {a: {command: [x], output: log}}\n",
     "children: {a: {command: [x], output: {stdout: log, stderr: log}}}\n", ""},
    {"children: {a: {command: [x], output: 'pipe:b'}, b: {command: [x]}}\n",
     "children: {a: {command: [x], output: 'pipe:/user/b', log: {max_size: 10240K}}, "
     "b: {command: [x]}}\n",
     ""},
    {"children: {}\n", "on_crash: kill\nchildren: {}\n", ""},
    /* in place or not */
    {"children: {a: {command: [x]}}\n",
     "children: {a: {command: [x], log: {keep: 2, format: json}}}\n",
     "updated /user/a log.format log.keep\n"},
    {"children: {a: {command: [x]}}\n",
     "children: {a: {command: [x], output: {stderr: journal}}}\n",
     "restarted /user/a output.stderr\n"},
    {"children: {a: {command: [x]}}\n", "children: {a: {command: [x], shutdown: 6s}}\n",
     "updated /user/a shutdown\n"},
    {"children: {a: {command: [x]}}\n", "children: {a: {command: [y], shutdown: 6s}}\n",
     "restarted /user/a command shutdown\n"},
    {"children: {a: {command: [x], environment: {A: b}}}\n",
     "children: {a: {command: [x], environment: {C: d}}}\n",
     "restarted /user/a environment.A environment.C\n"},
    {"children: {a: {command: [x], backoff: none}}\n",
     "children: {a: {command: [x], backoff: {min: 1s}}}\n",
     "updated /user/a backoff backoff.factor backoff.jitter backoff.max backoff.min "
     "backoff.on backoff.reset backoff.reset_after\n"},
    {"children: {a: {command: [x]}}\n", "children: {a: {command: [x], ready: notify}}\n",
     "restarted /user/a ready start_timeout\n"},
    {"defaults: {restart: transient}\nchildren: {a: {command: [x]}, b: {command: [x]}}\n",
     "children: {a: {command: [x]}, b: {command: [x], restart: transient}}\n",
     "updated /user/a restart\n"},
    /* supervisors */
    {"children: {s: {children: {a: {command: [x]}}}}\n",
     "strategy: one_for_all\n"
     "children: {s: {intensity: unlimited, children: {a: {command: [x]}}}}\n",
     "updated /user strategy\n"
     "updated /user/s intensity intensity.restarts intensity.within\n"},
    {"decider: default\nchildren: {}\n",
     "decider: [{when: any, then: stop}]\nchildren: {}\n", "updated /user decider\n"},
    /* come and go */
    {"children: {a: {command: [x]}, b: {command: [x]}}\n",
     "children: {c: {command: [x]}, b: {command: [x]}}\n",
     "added /user/c\nremoved /user/a\n"},
    {"children: {s: {children: {a: {command: [x]}, b: {command: [x]}}}}\n",
     "children: {}\n", "removed /user/s\nremoved /user/s/a\nremoved /user/s/b\n"},
    {"children: {a: {command: [x], replicas: 3}}\n",
     "children: {a: {command: [x], replicas: 1}}\n",
     "removed /user/a@2\nremoved /user/a@3\n"},
    /* another kind is another actor */
    {"children: {a: {command: [x]}, b: {command: [x]}}\n",
     "children: {a: {children: {c: {command: [x]}}}, b: {command: [x]}}\n",
     "added /user/a kind\nadded /user/a/c\nremoved /user/a kind\n"},
    {"children: {a: {children: {c: {command: [x]}}}}\n",
     "children: {a: {command: [x]}}\n",
     "added /user/a kind\nremoved /user/a kind\nremoved /user/a/c\n"},
    /* what becomes of clients is no matter of the process, where they come is */
    {"children: {a: {command: [x], sockets: {s: 'tcp:*:80'}}}\n",
     "children: {a: {command: [x], start_on: connect, sockets: {s: {listen: 'tcp:*:80', "
     "while_down: refuse, rate: 3/s, backlog: 7}}}}\n",
     "updated /user/a sockets.s start_on\n"},
    {"children: {a: {command: [x], sockets: {s: 'tcp:*:80'}}}\n",
     "children: {a: {command: [x], sockets: {s: {listen: 'tcp:*:81'}}}}\n",
     "restarted /user/a sockets.s\n"},
    {"children: {a: {command: [x], sockets: {s: 'tcp:*:80'}}}\n",
     "children: {a: {command: [x], sockets: {t: 'tcp:*:80'}}}\n",
     "restarted /user/a sockets.s sockets.t\n"},
    {"children: {a: {command: [x], sockets: {s: 'tcp:*:80'}}}\n",
     "children: {a: {command: [x], sockets: {s: 'udp:*:80'}}}\n",
     "restarted /user/a sockets.s\n"},
    /* order */
    {"children: {a: {command: [x]}, b: {command: [x]}, c: {command: [x]}}\n",
     "children: {c: {command: [x]}, a: {command: [x]}, b: {command: [x]}}\n",
     "updated /user/c order\n"},
    {"children: {a: {command: [x]}, b: {command: [x]}, c: {command: [x]}}\n",
     "children: {n: {command: [x]}, b: {command: [x]}, m: {command: [x]}, "
     "c: {command: [x]}, a: {command: [x], shutdown: 1s}}\n",
     "added /user/n\nadded /user/m\nupdated /user/a shutdown order\n"},
    {"children: {s: {children: {a: {command: [x]}, b: {command: [x]}}}, "
     "t: {children: {a: {command: [x]}}}}\n",
     "children: {t: {children: {a: {command: [x]}}}, "
     "s: {children: {b: {command: [y]}, a: {command: [x]}}}}\n",
     "updated /user/t order\nrestarted /user/s/b command order\n"},
};

START_TEST(a_plan_says_what_becomes_of_each_actor)
{
	char *plan = plan_between(plans[_i].from, plans[_i].to);

	ck_assert_str_eq(plan, plans[_i].plan);
	free(plan);
}
END_TEST

START_TEST(every_actor_is_in_the_plan_once)
{
	struct conf *old =
	    load_text("children: {a: {command: [x]}, b: {command: [x]}}\n");
	struct conf *new_conf =
	    load_text("children: {b: {command: [x]}, c: {command: [x]}}\n");
	struct conf_plan plan = {0};

	ck_assert_int_eq(conf_plan_make(old, new_conf, &plan), 0);
	ck_assert_uint_eq(plan.n, 4);
	ck_assert_int_eq(plan.at[0].kind, CHANGE_UNCHANGED);
	ck_assert_uint_eq(plan.at[0].old_index, 0);
	ck_assert_uint_eq(plan.at[1].old_index, 2);
	ck_assert_uint_eq(plan.at[1].new_index, 1);
	ck_assert_int_eq(plan.at[2].kind, CHANGE_ADDED);
	ck_assert_int_eq(plan.at[3].kind, CHANGE_REMOVED);
	ck_assert_uint_eq(plan.at[3].old_index, 1);
	conf_plan_done(&plan);
	conf_plan_done(&plan);
	conf_free(old);
	conf_free(new_conf);
}
END_TEST

Suite *
suite_plan(void)
{
	Suite *suite = suite_create("plan");
	TCase *tcase = new_case("plan");

	tcase_add_loop_test(tcase, a_plan_says_what_becomes_of_each_actor, 0,
	                    (int)ARRAY_SIZE(plans));
	tcase_add_test(tcase, every_actor_is_in_the_plan_once);
	suite_add_tcase(suite, tcase);
	return suite;
}
