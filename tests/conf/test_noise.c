/* SPDX-License-Identifier: ISC */
/* test_noise.c - whatever a file holds, it is read or refused, and nothing is lost. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"
#include "tests/conf/support.h"

#define TURNS_PER_TEXT 150
#define TEXT_MAX       8192

/* Files that use every part of the room, to be spoilt. */
static const char *const corpus[] = {
    "control: {socket: /run/x, mode: \"0666\", group: root, observers: root}\n"
    "log: {level: info, target: auto, directory: /var/log/x}\n"
    "on_crash: kill\n"
    "include: [none.d/*.yaml]\n"
    "defaults: {environment: {A: b}, backoff: {min: 1s, max: 5s}}\n"
    "templates:\n"
    "  w: &w {command: [run, \"${queue}\"], restart: transient, with: {queue: q}}\n"
    "strategy: rest_for_one\n"
    "intensity: {restarts: 5, within: 60s}\n"
    "limit: {restarts: 3, within: 10s, window: fixed, on_exceed: escalate}\n"
    "children:\n"
    "  a: {use: w, with: {queue: pages}, replicas: 3}\n"
    "  b: {<<: *w, command: sleep 'a b' \"c\", output: pipe:a@2}\n"
    "  s:\n"
    "    start: parallel\n"
    "    children: {c: {command: [x]}, d: {children: {}}}\n",
    "decider:\n"
    "  - {when: {exit: [75, 64-78, tempfail], signal: [SEGV]}, then: resume, log: off}\n"
    "  - {when: [oom, {core: ABRT}], then: stop, backoff: {min: 1s}}\n"
    "  - default\n"
    "children:\n"
    "  a:\n"
    "    command: [/bin/sh, -c, 'exit $${?}']\n"
    "    user: root\n"
    "    sockets: {http: 'tcp:127.0.0.1:80', u: {listen: 'unix:/x', mode: \"0600\"}}\n"
    "    limits: {nofile: 10:1K, core: unlimited}\n"
    "    output: {stdout: file:/x, stderr: null}\n"
    "    log: {max_size: 1M, keep: 3, max_age: 7d, format: json, compress: true}\n"
    "    ready: {after: 5s}\n"
    "    health: {http: 'http://[::1]:80/x?y', interval: 1s, failures: 2}\n"
    "    success: {exit: [0], signals: [HUP]}\n"
    "    on_failure: [{when: any, then: escalate}]\n",
};

/* What is put into them; each has its own way of going wrong. */
static const char *const pieces[] = {
    "{",
    "}",
    "[",
    "]",
    ": ",
    "- ",
    "\n",
    "  ",
    "&a ",
    "*a",
    "<<: ",
    "${",
    "}",
    "$$",
    "\"",
    "'",
    "#",
    "\t",
    "\xff",
    "\x01",
    "---\n",
    "...\n",
    "!x ",
    "? ",
    "| ",
    "null",
    "~",
    "0",
    "-1",
    "infinity",
    "99999999999999999999",
    "5s",
    "children:",
    "command:",
    "use: w",
    "${a}",
    "${env:X}",
    "*w",
    "&w ",
};

static size_t
spoil(struct rng *rng, char *text, size_t len)
{
	size_t at = rng_below(rng, len + 1);
	const char *piece = pieces[rng_below(rng, ARRAY_SIZE(pieces))];
	size_t cut = rng_below(rng, 3) == 0 ? rng_below(rng, 12) : 0;
	size_t added = rng_below(rng, 4) != 0 ? strlen(piece) : 0;

	if (cut > len - at)
		cut = len - at;
	if (len + added >= TEXT_MAX)
		added = 0;
	memmove(text + at + added, text + at + cut, len - at - cut);
	memcpy(text + at, piece, added);
	return len - cut + added;
}

/* Whatever comes back must hold together. */
static void
check_result(const struct conf *conf, const struct conf_reports *reports)
{
	struct strbuf out;

	ck_assert_int_eq(conf != NULL, reports->n_errors == 0);
	strbuf_init(&out, 1 << 22);
	conf_reports_format(reports, &out);
	ck_assert(!out.failed);
	strbuf_done(&out);
	if (conf == NULL)
		return;
	ck_assert_uint_ge(conf->n_actors, 1);
	for (uint32_t i = 1; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		ck_assert_uint_lt(actor->parent, i);
		ck_assert_uint_eq(conf_find(conf, actor->path), i);
		if (actor->spec->core.kind == NODE_WORKER)
			ck_assert_ptr_nonnull(actor->argv);
	}
}

START_TEST(spoilt_files_are_read_or_refused)
{
	char text[TEXT_MAX];
	struct rng rng;

	rng_seed(&rng, 4711 + (uint64_t)_i);
	for (int turn = 0; turn < TURNS_PER_TEXT; turn++) {
		const char *from = corpus[(size_t)_i % ARRAY_SIZE(corpus)];
		size_t len = strlen(from);
		struct conf_reports reports;
		struct conf_plan plan = {0};
		struct conf *conf;

		memcpy(text, from, len);
		for (uint64_t n = rng_below(&rng, 4) + 1; n > 0; n--)
			len = spoil(&rng, text, len);
		put_bytes("main.yaml", text, len);
		conf = load_main(true, &reports);
		check_result(conf, &reports);
		if (conf != NULL)
			ck_assert_int_eq(conf_plan_make(conf, conf, &plan), 0);
		conf_plan_done(&plan);
		conf_free(conf);
		conf_reports_done(&reports);
	}
}
END_TEST

START_TEST(a_file_may_end_anywhere)
{
	const char *from = corpus[_i];

	for (size_t len = 0; len < strlen(from); len += 7) {
		struct conf_reports reports;
		struct conf *conf;

		put_bytes("main.yaml", from, len);
		conf = load_main(true, &reports);
		check_result(conf, &reports);
		conf_free(conf);
		conf_reports_done(&reports);
	}
}
END_TEST

START_TEST(the_corpus_itself_is_good)
{
	conf_free(load_text(corpus[_i]));
}
END_TEST

Suite *
suite_noise(void)
{
	Suite *suite = suite_create("noise");
	TCase *tcase = new_case("noise");

	tcase_add_loop_test(tcase, the_corpus_itself_is_good, 0, (int)ARRAY_SIZE(corpus));
	tcase_add_loop_test(tcase, spoilt_files_are_read_or_refused, 0, 10);
	tcase_add_loop_test(tcase, a_file_may_end_anywhere, 0, (int)ARRAY_SIZE(corpus));
	suite_add_tcase(suite, tcase);
	return suite;
}
