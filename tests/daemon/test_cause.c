/* SPDX-License-Identifier: ISC */
/* test_cause.c - causes and rules in words. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/state/cause.h"
#include "tests/lib/check_main.h"

static void
check_cause(struct cause cause, const char *kind, const char *text)
{
	struct strbuf sb;
	json_t *object;

	strbuf_init(&sb, 1000);
	cause_json(&sb, &cause, NULL);
	object = json_loads(strbuf_str(&sb), 0, NULL);
	ck_assert_msg(object != NULL, "%s", strbuf_str(&sb));
	ck_assert_uint_eq(json_object_size(object), 7);
	ck_assert_str_eq(json_string_value(json_object_get(object, "kind")), kind);
	ck_assert_str_eq(json_string_value(json_object_get(object, "text")), text);
	json_decref(object);
	strbuf_done(&sb);
}

START_TEST(causes_are_told_in_plain_words)
{
	check_cause((struct cause){.kind = CAUSE_EXIT, .code = 3}, "exit",
	            "exited with 3");
	check_cause(
	    (struct cause){.kind = CAUSE_CORE, .code = -1, .signal = 11, .core = true},
	    "core", "killed by SIGSEGV (core dumped)");
	check_cause((struct cause){.kind = CAUSE_SIGNAL, .code = -1, .signal = 9},
	            "signal", "killed by SIGKILL");
	check_cause((struct cause){.kind = CAUSE_SIGNAL, .code = -1, .signal = 36},
	            "signal", "killed by SIGRTMIN+2");
	check_cause((struct cause){.kind = CAUSE_EXEC, .code = -1, .error = ENOENT},
	            "exec", "could not be executed: ENOENT (No such file or directory)");
	check_cause(
	    (struct cause){
	        .kind = CAUSE_EXEC, .code = -1, .error = EPERM, .key = "setgid"},
	    "exec",
	    "could not be executed (exec: setgid: EPERM, Operation not permitted)");
	check_cause(
	    (struct cause){
	        .kind = CAUSE_EXEC, .code = -1, .error = ELOOP, .key = "open output"},
	    "exec",
	    "could not be executed (exec: open output: ELOOP, it is a symbolic link)");
	check_cause((struct cause){.kind = CAUSE_START_TIMEOUT, .code = -1},
	            "start_timeout", "did not become ready within its start_timeout");
	check_cause((struct cause){.kind = CAUSE_EARLY_EXIT, .code = 0}, "early_exit",
	            "ended before it was ready (exited with 0)");
	check_cause((struct cause){.kind = CAUSE_NORMAL, .code = -1, .signal = 15},
	            "normal", "ended by SIGTERM");
	check_cause(
	    (struct cause){
	        .kind = CAUSE_SELF_REPORT, .code = -1, .error = EIO, .key = "disk"},
	    "self_report", "reported a failure of its own: disk (Input/output error)");
	check_cause((struct cause){.kind = CAUSE_STOPPED, .code = -1, .signal = 19},
	            "stopped", "was stopped by SIGSTOP");
	check_cause((struct cause){.kind = CAUSE_STOPPED, .code = -1}, "stopped",
	            "stopped");
	for (int kind = 0; kind < CAUSE_KIND_MAX; kind++) {
		const struct cause cause = {.kind = (enum cause_kind)kind, .code = -1};
		struct strbuf sb;

		strbuf_init(&sb, 1000);
		cause_json(&sb, &cause, NULL);
		json_t *object = json_loads(strbuf_str(&sb), 0, NULL);
		ck_assert_ptr_nonnull(object);
		json_decref(object);
		strbuf_done(&sb);
	}
}
END_TEST

static void
check_rule(enum preset preset, struct place place, uint8_t reason, const char *expected)
{
	char name[] = "supd.yaml";
	char *files[] = {name};
	const struct conf conf = {.files = files, .n_files = 1};
	struct strbuf sb;

	strbuf_init(&sb, 1000);
	rule_text(&sb, &conf, preset, place, reason);
	ck_assert_str_eq(strbuf_str(&sb), expected);
	strbuf_done(&sb);
}

START_TEST(a_kind_beyond_the_last_is_told_by_no_phrase)
{
	const struct cause cause = {.kind = (enum cause_kind)(CAUSE_KIND_MAX + 1000)};
	struct strbuf sb = STRBUF(1000);

	cause_text(&sb, &cause, NULL);
	ck_assert_str_eq(strbuf_str(&sb), "");
	strbuf_done(&sb);
}
END_TEST

START_TEST(a_rule_is_a_place_a_preset_or_a_reason)
{
	const struct place nowhere = {0, 0};

	check_rule(PRESET_LIST, (struct place){0, 12}, DECIDED_BY_RULE, "supd.yaml:12");
	check_rule(PRESET_OTP, (struct place){0, 12}, DECIDED_BY_RULE, "supd.yaml:12");
	check_rule(PRESET_DEFAULT, nowhere, DECIDED_BY_RULE, "preset default");
	check_rule(PRESET_LIST, nowhere, DECIDED_NO_RULE_MATCHED, "no rule matched");
	check_rule(PRESET_DEFAULT, nowhere, DECIDED_LIMIT,
	           "preset default (limit exceeded)");
	check_rule(PRESET_LIST, (struct place){0, 12}, DECIDED_INTENSITY,
	           "supd.yaml:12 (intensity exceeded)");
	check_rule(PRESET_DEFAULT, (struct place){9, 12}, DECIDED_BY_RULE,
	           "preset default");
}
END_TEST

CHECK_MAIN("cause in words", causes_are_told_in_plain_words,
           a_kind_beyond_the_last_is_told_by_no_phrase,
           a_rule_is_a_place_a_preset_or_a_reason)
