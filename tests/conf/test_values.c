/* SPDX-License-Identifier: ISC */
/* test_values.c - what is written arrives in the specs, and so do the defaults. */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "conf/schema/schema.h"
#include "tests/conf/support.h"

/* One key of a worker `a`, and the JSON of the key that comes of it. */
static const struct {
	const char *written;
	const char *key;
	const char *json;
} worker_keys[] = {
    {"shutdown: 60s", "shutdown", "\"1m\""},
    {"shutdown: brutal_kill", "shutdown", "\"brutal_kill\""},
    {"shutdown: infinity", "shutdown", "\"infinity\""},
    {"shutdown: 0s", "shutdown", "\"0s\""},
    {"restart: temporary", "restart", "\"temporary\""},
    {"enabled: false", "enabled", "false"},
    {"stop_signal: SIGINT", "stop_signal", "\"INT\""},
    {"watchdog: 10s", "watchdog", "\"10s\""},
    {"watchdog_signal: QUIT", "watchdog_signal", "\"QUIT\""},
    {"stopped_is_failure: true", "stopped_is_failure", "true"},
    {"stop_signal: 2", "stop_signal", "\"INT\""},
    {"stop_signal: 40", "stop_signal", "\"RTMIN+6\""},
    {"stop_signal: SIGRTMAX-1", "stop_signal", "\"RTMIN+29\""},
    {"success: {exit: [0, 64-78, tempfail]}", "success.exit", "[0,\"64-78\",75]"},
    {"success: {exit: ok}", "success.exit", "0"},
    {"success: {exit: [0]}", "success.signals", "[\"HUP\",\"INT\",\"TERM\",\"PIPE\"]"},
    {"backoff: none", "backoff", "\"none\""},
    {"backoff: {min: 1s, max: 60s}", "backoff.reset_after", "\"30s500ms\""},
    {"backoff: {factor: 1.50, jitter: 0.25}", "backoff.factor", "1.5"},
    {"backoff: {factor: 1.50, jitter: 0.25}", "backoff.jitter", "0.25"},
    {"backoff: {reset: manual, on: stop}", "backoff.on", "\"stop\""},
    {"ready: notify", "start_timeout", "\"1m30s\""},
    {"ready: exit", "start_timeout", "\"infinity\""},
    {"ready: exit", "restart", "\"transient\""},
    {"{ready: exit, restart: temporary}", "restart", "\"temporary\""},
    {"{ready: exit, restart: never}", "restart", "\"never\""},
    {"ready: {after: 5s}", "ready.after", "\"5s\""},
    {"ready: {tcp: 'localhost:80'}", "ready.interval", "\"1s\""},
    {"ready: {tcp: 'localhost:80'}", "start_timeout", "\"1m30s\""},
    {"ready: {exec: 'a b', timeout: 60s}", "ready.timeout", "\"1m\""},
    {"ready: {exec: 'a b', timeout: 60s}", "ready.exec", "[\"a\",\"b\"]"},
    {"restart: permanent", "health", "\"off\""},
    {"health: off", "health", "\"off\""},
    {"health: {unix: /s}", "health.interval", "\"10s\""},
    {"health: {unix: /s}", "health.timeout", "\"1s\""},
    {"health: {unix: /s}", "health.failures", "3"},
    {"health: {unix: /s, successes: 2}", "health.successes", "2"},
    {"health: {unix: /s}", "health.initial_delay", "\"0s\""},
    {"umask: \"027\"", "umask", "\"027\""},
    {"limits: {nofile: 1K, core: unlimited}", "limits.nofile", "\"1K\""},
    {"output: null", "output.stderr", "\"null\""},
    {"output: {stdout: inherit}", "output.stderr", "\"log\""},
    {"output: journal", "output.stdout", "\"journal\""},
    {"output: syslog", "output.stderr", "\"syslog\""},
    {"{output: 'pipe:b'}, b: {command: [x]}", "output.stdout", "\"pipe:/user/b\""},
    {"{output: {stderr: 'pipe:/user/b'}}, b: {command: [x]}", "output.stderr",
     "\"pipe:/user/b\""},
    {"log: {}", "log.max_size", "\"10M\""},
    {"log: {keep: 0}", "log.total", "\"50M\""},
    {"log: {keep: 0}", "log.keep", "0"},
    {"log: {max_size: 10485760}", "log.max_size", "\"10M\""},
    {"log: {max_size: 4096}", "log.max_size", "\"4K\""},
    {"log: {max_size: 5000}", "log.max_size", "5000"},
    {"log: {total: 1024G}", "log.total", "\"1T\""},
    {"log: {max_age: 168h}", "log.max_age", "\"7d\""},
    {"log: {compress: true}", "log.compress", "true"},
    {"enabled: true", "log.max_age", "\"infinity\""},
    {"enabled: true", "log.timestamps", "true"},
    {"enabled: true", "log.format", "\"text\""},
    {"environment: {A: 5, B: \"\"}", "environment.A", "\"5\""},
    {"environment: {A: 5, B: \"\"}", "environment.B", "\"\""},
    {"on_failure: [{when: {exit: 75}, then: stop}, otp]", "on_failure",
     "[{\"when\":{\"exit\":75},\"then\":\"stop\"},\"otp\"]"},
    {"description: \"a \\\"b\\\"\"", "description", "\"a \\\"b\\\"\""},
    {"enabled: true", "on_failure", "(none)"},
    {"enabled: true", "user", "(none)"},
    {"enabled: true", "strategy", "(none)"},
};

/* 157 C21. */
START_TEST(a_key_is_shown_in_one_spelling)
{
	const char *written = worker_keys[_i].written;
	struct conf *conf;
	char text[512];

	if (written[0] == '{')
		(void)snprintf(text, sizeof(text), "children: {a: {command: [x], %s}\n",
		               written + 1);
	else
		(void)snprintf(text, sizeof(text), "children: {a: {command: [x], %s}}\n",
		               written);
	conf = load_text(text);
	ck_assert_str_eq(key_of(conf, "/user/a", worker_keys[_i].key),
	                 worker_keys[_i].json);
	conf_free(conf);
}
END_TEST

START_TEST(a_worker_has_the_defaults_of_the_reference)
{
	struct conf *conf = load_text("children: {a: {command: [x, y]}}\n");
	const struct conf_actor *a = actor_at(conf, "/user/a");
	struct spec expected;

	spec_default(&expected, NODE_WORKER);
	ck_assert_int_eq(memcmp(&a->spec->core, &expected, sizeof(expected)), 0);
	ck_assert_str_eq(conf_name(a), "a");
	ck_assert_uint_eq(a->parent, 0);
	ck_assert_uint_eq(a->place.line, 1);
	ck_assert_uint_eq(a->column, 12);
	ck_assert_ptr_null(a->base);
	ck_assert_ptr_null(a->description);
	ck_assert_str_eq(a->argv[0], "x");
	ck_assert_str_eq(a->argv[1], "y");
	ck_assert_ptr_null(a->argv[2]);
	ck_assert(!a->process->identity.has_user);
	ck_assert_ptr_null(a->process->world.directory);
	ck_assert_uint_eq(a->process->world.umask, 0022);
	ck_assert_int_eq(a->process->output.out.kind, OUTPUT_LOG);
	ck_assert(a->process->output.out_is_err);
	ck_assert_int_eq(a->process->containment, CONTAINMENT_AUTO);
	ck_assert_int_eq(a->process->orders.stop_signal, SIGTERM);
	ck_assert(!a->process->readiness.notify);
	conf_free(conf);
}
END_TEST

START_TEST(the_user_guardian_is_a_supervisor_without_a_limit)
{
	struct conf *conf = load_text("children: {}\n");
	const struct conf_actor *user = actor_at(conf, "/user");

	ck_assert_uint_eq(conf->n_actors, 1);
	ck_assert_int_eq(user->spec->core.kind, NODE_SUPERVISOR);
	ck_assert(user->spec->core.policy.intensity.unlimited);
	ck_assert_uint_eq(user->parent, CONF_NONE);
	ck_assert_str_eq(key_of(conf, "/user", "intensity"), "\"unlimited\"");
	ck_assert_str_eq(key_of(conf, "/user", "shutdown"), "(none)");
	conf_free(conf);
}
END_TEST

START_TEST(a_supervisor_has_the_defaults_of_the_reference)
{
	struct conf *conf = load_text("children: {s: {children: {}}}\n");
	const struct conf_actor *s = actor_at(conf, "/user/s");
	struct spec expected;

	spec_default(&expected, NODE_SUPERVISOR);
	ck_assert_int_eq(memcmp(&s->spec->core, &expected, sizeof(expected)), 0);
	ck_assert_str_eq(key_of(conf, "/user/s", "intensity.restarts"), "5");
	ck_assert_str_eq(key_of(conf, "/user/s", "intensity.within"), "\"1m\"");
	ck_assert_str_eq(key_of(conf, "/user/s", "shutdown"), "\"infinity\"");
	ck_assert_str_eq(key_of(conf, "/user/s", "command"), "(none)");
	ck_assert_str_eq(key_of(conf, "/user/s", "limit.within"), "(none)");
	conf_free(conf);
}
END_TEST

START_TEST(supervisor_keys_arrive)
{
	struct conf *conf = load_text("strategy: rest_for_one\n"
	                              "intensity: {restarts: 3}\n"
	                              "limit: {restarts: 2, within: 10s, window: fixed, "
	                              "on_exceed: escalate}\n"
	                              "start: parallel\n"
	                              "stop: parallel\n"
	                              "decider: escalating\n"
	                              "on_failure: [{when: any, then: restart}]\n"
	                              "backoff: {min: 1s}\n"
	                              "children: {}\n");
	const struct spec *spec = &actor_at(conf, "/user")->spec->core;

	ck_assert_int_eq(spec->policy.strategy, STRATEGY_REST_FOR_ONE);
	ck_assert(!spec->policy.intensity.unlimited);
	ck_assert_uint_eq(spec->policy.intensity.restarts, 3);
	ck_assert_uint_eq(spec->policy.intensity.within_ms, 60000);
	ck_assert(spec->policy.limit.on && spec->policy.limit.fixed &&
	          spec->policy.limit.escalate);
	ck_assert_uint_eq(spec->policy.limit.restarts, 2);
	ck_assert_uint_eq(spec->policy.limit.within_ms, 10000);
	ck_assert(spec->policy.start_parallel && spec->policy.stop_parallel);
	ck_assert_int_eq(spec->policy.decider.preset, PRESET_ESCALATING);
	ck_assert_uint_eq(spec->on_failure.n_rules, 1);
	ck_assert_uint_eq(spec->backoff.min_ms, 1000);
	conf_free(conf);
}
END_TEST

START_TEST(a_limit_of_minus_one_is_none)
{
	struct conf *conf = load_text("limit: {restarts: -1}\nchildren: {}\n");

	ck_assert(!actor_at(conf, "/user")->spec->core.policy.limit.on);
	conf_free(conf);
	conf = load_text("limit: {restarts: 0}\nchildren: {}\n");
	ck_assert(actor_at(conf, "/user")->spec->core.policy.limit.on);
	ck_assert_uint_eq(actor_at(conf, "/user")->spec->core.policy.limit.within_ms,
	                  DURATION_INFINITE);
	conf_free(conf);
}
END_TEST

START_TEST(a_period_may_be_infinite)
{
	struct conf *conf =
	    load_text("intensity: {restarts: 1, within: infinity}\nchildren: {}\n");

	ck_assert_uint_eq(actor_at(conf, "/user")->spec->core.policy.intensity.within_ms,
	                  DURATION_INFINITE);
	conf_free(conf);
}
END_TEST

static const char rules_text[] =
    "decider:\n"
    "  - {when: {exit: [75, 1-3]}, then: resume}\n"
    "  - {when: {signal: [SEGV], core: ABRT}, then: restart}\n"
    "  - {when: {exec: [ENOENT, EACCES]}, then: stop, log: off}\n"
    "  - when: [oom, killed, {exit: [9]}]\n"
    "    then: escalate\n"
    "  - {when: init, then: stop, backoff: {min: 5s, jitter: 0}}\n"
    "  - {when: {watchdog, health: true}, then: resume}\n"
    "  - {when: {self_report: [disk, EIO]}, then: stop}\n"
    "  - {when: exec, then: stop, backoff: none}\n"
    "  - default\n"
    "  - {when: {self_report: disk}, then: stop}\n"
    "  - {when: any, then: restart}\n"
    "children: {}\n";

START_TEST(rules_arrive_with_their_places)
{
	struct conf *conf = load_text(rules_text);
	const struct decider *decider =
	    &actor_at(conf, "/user")->spec->core.policy.decider;
	const struct rule *rules = decider->rules;

	ck_assert_uint_eq(decider->n_rules, 11);
	ck_assert_int_eq(decider->preset, PRESET_LIST);
	ck_assert(exit_set_has(&rules[0].exits, 75) && exit_set_has(&rules[0].exits, 2));
	ck_assert(!exit_set_has(&rules[0].exits, 4));
	ck_assert_int_eq(rules[0].then, DIRECTIVE_RESUME);
	ck_assert_uint_eq(rules[0].kinds, 0);
	ck_assert(signal_set_has(&rules[1].signals, SIGSEGV));
	ck_assert(signal_set_has(&rules[1].cores, SIGABRT));
	ck_assert_int_eq(rules[2].errnos[0], ENOENT);
	ck_assert_int_eq(rules[2].errnos[1], EACCES);
	ck_assert_int_eq(rules[2].errnos[2], 0);
	ck_assert_int_eq(rules[2].log, RULE_LOG_OFF);
	ck_assert_uint_eq(rules[3].kinds, 1U << CAUSE_OOM | 1U << CAUSE_KILLED);
	ck_assert(exit_set_has(&rules[3].exits, 9));
	ck_assert_uint_eq(rules[4].kinds, 1U << CAUSE_EXEC | 1U << CAUSE_START_TIMEOUT |
	                                      1U << CAUSE_EARLY_EXIT);
	ck_assert_uint_eq(rules[4].backoff_keys, BACKOFF_KEY_MIN | BACKOFF_KEY_JITTER);
	ck_assert_uint_eq(rules[4].backoff.min_ms, 5000);
	ck_assert_uint_eq(rules[5].kinds, 1U << CAUSE_WATCHDOG | 1U << CAUSE_HEALTH);
	ck_assert_uint_eq(rules[6].kinds, 0);
	ck_assert_str_eq(rules[6].keys[0], "disk");
	ck_assert_str_eq(rules[6].keys[1], "EIO");
	ck_assert_str_eq(rules[6].keys[2], "");
	ck_assert_uint_eq(rules[7].kinds, 1U << CAUSE_EXEC);
	ck_assert_uint_eq(rules[7].backoff_keys, BACKOFF_KEY_NONE);
	ck_assert_int_eq(rules[8].preset, PRESET_DEFAULT);
	ck_assert_str_eq(rules[9].keys[0], "disk");
	ck_assert_uint_eq(rules[10].kinds & 1U << CAUSE_NORMAL, 0);
	ck_assert_uint_ne(rules[10].kinds & 1U << CAUSE_UNKNOWN, 0);
	for (uint32_t i = 0; i < decider->n_rules; i++) {
		ck_assert_uint_eq(rules[i].place.file, 0);
		ck_assert_uint_eq(rules[i].place.line, i < 4 ? i + 2 : i + 3);
	}
	conf_free(conf);
}
END_TEST

START_TEST(limits_of_a_cgroup_arrive_as_the_kernel_counts_them)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a: {command: [x], cgroup: {memory_max: 512M, memory_high: max,\n"
	              "    pids_max: 64}}\n"
	              "  b: {command: [x], cgroup: {optional: true, cpu_max: '250.5%',\n"
	              "    cpu_weight: 10, io_weight: 10000}}\n"
	              "  c: {command: [x]}\n");
	const struct conf_cgroup *a = &actor_at(conf, "/user/a")->process->cgroup;
	const struct conf_cgroup *b = &actor_at(conf, "/user/b")->process->cgroup;

	ck_assert_uint_eq(a->given, 1u << CGROUP_MEMORY_MAX | 1u << CGROUP_MEMORY_HIGH |
	                                1u << CGROUP_PIDS_MAX);
	ck_assert_uint_eq(a->value[CGROUP_MEMORY_MAX], UINT64_C(512) << 20);
	ck_assert_uint_eq(a->value[CGROUP_MEMORY_HIGH], CGROUP_UNLIMITED);
	ck_assert_uint_eq(a->value[CGROUP_PIDS_MAX], 64);
	ck_assert(!a->optional && b->optional);
	ck_assert_uint_eq(b->value[CGROUP_CPU_MAX], 250500);
	ck_assert_uint_eq(b->value[CGROUP_CPU_WEIGHT], 10);
	ck_assert_uint_eq(b->value[CGROUP_IO_WEIGHT], 10000);
	ck_assert_uint_eq(actor_at(conf, "/user/c")->process->cgroup.given, 0);
	conf_free(conf);
}
END_TEST

START_TEST(a_rule_for_lack_of_memory_names_the_actors_that_it_covers)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a: {command: [x], on_failure: [{when: oom, then: stop}]}\n"
	              "  b: {command: [x], on_failure: [{when: any, then: stop}]}\n"
	              "  s:\n"
	              "    decider: [{when: [oom, killed], then: stop}, default]\n"
	              "    children: {c: {command: [x]}, t: {children: {d: {command: "
	              "[x]}}}}\n");

	ck_assert(actor_at(conf, "/user/a")->process->asks_for_oom);
	ck_assert(!actor_at(conf, "/user/b")->process->asks_for_oom);
	ck_assert(actor_at(conf, "/user/s/c")->process->asks_for_oom);
	ck_assert(actor_at(conf, "/user/s/t/d")->process->asks_for_oom);
	conf_free(conf);
}
END_TEST

START_TEST(supds_own_keys_arrive)
{
	struct conf *conf =
	    load_text("control: {socket: /run/x.sock, group: root, observers: 7}\n"
	              "log: {level: debug, target: stderr, directory: /logs}\n"
	              "on_crash: kill\n"
	              "children: {}\n");

	ck_assert_str_eq(conf->control_socket, "/run/x.sock");
	ck_assert_uint_eq(conf->control_mode, 0666);
	ck_assert(conf->has_control_group);
	ck_assert_uint_eq(conf->control_gid, 0);
	ck_assert(conf->has_observers);
	ck_assert_uint_eq(conf->observers_gid, 7);
	ck_assert_int_eq(conf->log_level, LOG_LEVEL_DEBUG);
	ck_assert_int_eq(conf->log_target, LOG_TARGET_STDERR);
	ck_assert_str_eq(conf->log_directory, "/logs");
	ck_assert(conf->on_crash_kill);
	conf_free(conf);
	conf = load_text("on_crash: adopt\nchildren: {}\n");
	ck_assert(!conf->on_crash_kill);
	conf_free(conf);
	conf = load_text("children: {}\n");
	ck_assert(!conf->on_crash_kill);
	ck_assert_ptr_null(conf->control_socket);
	ck_assert_uint_eq(conf->control_mode, 0660);
	ck_assert_int_eq(conf->log_level, LOG_LEVEL_MAX);
	ck_assert_int_eq(conf->log_target, LOG_TARGET_AUTO);
	ck_assert_str_eq(conf->log_directory, geteuid() == 0
	                                          ? "/var/log/supd"
	                                          : "/home/tester/.local/state/supd");
	conf_free(conf);
}
END_TEST

START_TEST(home_is_the_variable_s_or_the_user_s)
{
	const struct passwd *own = getpwuid(geteuid());
	const char *known = own != NULL ? own->pw_dir : NULL;
	static const char *const none[] = {NULL, "", "relative/home"};
	char buf[512];

	ck_assert_str_eq(conf_own_home("/home/tester", buf, sizeof(buf)), "/home/tester");
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		ck_assert_pstr_eq(conf_own_home(none[i], buf, sizeof(buf)), known);
	ck_assert_ptr_null(conf_own_home("/home/tester", buf, 5));
}
END_TEST

static unsigned int n_scans;

static int
count_scan(struct text_scan *scan)
{
	n_scans++;
	scan->number = strlen(scan->text);
	return scan->text[0] == '?' ? -EINVAL : 0;
}

START_TEST(a_text_is_scanned_once_for_a_type)
{
	const struct schema_type one = {.name = "one", .scan = count_scan};
	const struct schema_type other = {.name = "other", .scan = count_scan};
	struct yaml node = {.type = NODE_TEXT, .text = "four"};
	struct yaml wrong = {.type = NODE_TEXT, .text = "?"};
	struct value value;
	struct err why;

	n_scans = 0;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(schema_scan(&one, &node, &value, &why), 0);
		ck_assert_int_eq(value.word, -1);
		ck_assert_uint_eq(value.number, 4);
	}
	ck_assert_uint_eq(n_scans, 1);
	/* An alias may stand where the anchor's type is not meant. */
	ck_assert_int_eq(schema_scan(&other, &node, &value, &why), 0);
	ck_assert_uint_eq(n_scans, 2);
	/* What is refused is not kept. */
	ck_assert_int_eq(schema_scan(&one, &wrong, &value, &why), -EINVAL);
	ck_assert_int_eq(schema_scan(&one, &wrong, &value, &why), -EINVAL);
	ck_assert_uint_eq(n_scans, 4);
}
END_TEST

Suite *
suite_values(void)
{
	Suite *suite = suite_create("values");
	TCase *tcase = new_case("values");

	tcase_add_loop_test(tcase, a_key_is_shown_in_one_spelling, 0,
	                    (int)ARRAY_SIZE(worker_keys));
	tcase_add_test(tcase, a_worker_has_the_defaults_of_the_reference);
	tcase_add_test(tcase, the_user_guardian_is_a_supervisor_without_a_limit);
	tcase_add_test(tcase, a_supervisor_has_the_defaults_of_the_reference);
	tcase_add_test(tcase, supervisor_keys_arrive);
	tcase_add_test(tcase, a_limit_of_minus_one_is_none);
	tcase_add_test(tcase, a_period_may_be_infinite);
	tcase_add_test(tcase, rules_arrive_with_their_places);
	tcase_add_test(tcase, limits_of_a_cgroup_arrive_as_the_kernel_counts_them);
	tcase_add_test(tcase, a_rule_for_lack_of_memory_names_the_actors_that_it_covers);
	tcase_add_test(tcase, supds_own_keys_arrive);
	tcase_add_test(tcase, home_is_the_variable_s_or_the_user_s);
	tcase_add_test(tcase, a_text_is_scanned_once_for_a_type);
	suite_add_tcase(suite, tcase);
	return suite;
}
