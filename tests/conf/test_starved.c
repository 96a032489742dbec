/* SPDX-License-Identifier: ISC */
/* test_starved.c - a configuration is read and composed, and a call of malloc(3) fails.
 *
 * It is for the GNU C library, of which malloc can be replaced while its own stays at
 * hand under another name: libyaml and the C library itself are starved, too.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "tests/conf/support.h"
#include "tests/lib/check_main.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_STARVE true

/* What is counted between begin() and end(). */
static struct {
	bool is_on;
	bool for_good; /* each call fails after the first that did */
	long left;     /* calls until that */
	long failed;
	long kept; /* blocks that were not given back */
} starve;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static bool
fails(void)
{
	if (!starve.is_on ||
	    (starve.left-- != 0 && !(starve.for_good && starve.failed > 0)))
		return false;
	starve.failed++;
	errno = ENOMEM;
	return true;
}

static void *
counted(void *memory)
{
	starve.kept += starve.is_on && memory != NULL;
	return memory;
}

void *
malloc(size_t size)
{
	return fails() ? NULL : counted(__libc_malloc(size));
}

void *
calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__libc_calloc(n, size));
}

void *
realloc(void *memory, size_t size)
{
	if (fails())
		return NULL;
	return memory == NULL ? counted(__libc_malloc(size))
	                      : __libc_realloc(memory, size);
}

void
free(void *memory)
{
	starve.kept -= starve.is_on && memory != NULL;
	__libc_free(memory);
}

static void
begin(long n, bool for_good)
{
	starve.for_good = for_good;
	starve.left = n;
	starve.failed = starve.kept = 0;
	starve.is_on = true;
}

/* How many calls failed; all memory that was taken since begin() was given back. */
static long
end(long n)
{
	starve.is_on = false;
	ck_assert_msg(starve.kept == 0, "%ld blocks are lost after call %ld", starve.kept,
	              n);
	return starve.failed;
}

/* What the test itself takes meanwhile does not fail. */
static void
pause_count(bool is_paused)
{
	starve.is_on = !is_paused;
}
#else
#define CAN_STARVE false

static void
begin(long n, bool for_good)
{
	(void)n;
	(void)for_good;
}

static long
end(long n)
{
	(void)n;
	return 0;
}

static void
pause_count(bool is_paused)
{
	(void)is_paused;
}
#endif

/* Includes, templates, defaults, parameters, replicas, merges, and a user to look up. */
static const char composed[] =
    "include: [more.yaml, wide.yaml, conf.d/*.yaml]\n"
    "log: {level: debug, directory: /logs}\n"
    "metrics: {listen: 'tcp:127.0.0.1:9'}\n"
    "defaults: {environment: {A: b}, shutdown: 3s}\n"
    "decider: [{when: {exit: [75], exec: [ENOENT]}, then: stop, log: off}, otp]\n"
    "children:\n"
    "  a: {use: worker, with: {queue: mail}, replicas: 3}\n"
    "  b:\n"
    "    <<: &shared {user: root, supplementary_groups: [7, 8], umask: \"077\"}\n"
    "    command: \"run --port ${env:PORT} 'two words'\"\n"
    "    environment_file: [-/no/file]\n"
    "    sockets: {http: 'tcp:127.0.0.1:80', u: {listen: 'unix:/x', mode: \"0600\"}}\n"
    "    output: {stdout: file:/var/log/b, stderr: pipe:c}\n"
    "    limits: {nofile: '10:1K'}\n"
    "    ready: {http: 'http://localhost:80/x', interval: 3s}\n"
    "  c: {<<: *shared, command: [c], needs: {a@1: ready}}\n"
    "  s: {use: pair, replicas: 2, strategy: rest_for_one}\n";

/* A mapping that is larger than what a merge has room for at first. */
static const char wide[] =
    "children: {w: {use: wide, environment: {A: b}}}\n"
    "templates: {wide: {command: [x], environment: {\n"
    "    V0: x, V1: x, V2: x, V3: x, V4: x, V5: x, V6: x,\n"
    "    V7: x, V8: x, V9: x, V10: x, V11: x, V12: x, V13: x,\n"
    "    V14: x, V15: x, V16: x, V17: x, V18: x, V19: x, V20: x,\n"
    "    V21: x, V22: x, V23: x, V24: x, V25: x, V26: x, V27: x,\n"
    "    V28: x, V29: x, V30: x, V31: x, V32: x, V33: x, V34: x,\n"
    "    V35: x, V36: x, V37: x, V38: x, V39: x, V40: x, V41: x,\n"
    "    V42: x, V43: x, V44: x, V45: x, V46: x, V47: x, V48: x,\n"
    "    V49: x, V50: x, V51: x, V52: x, V53: x, V54: x, V55: x,\n"
    "    V56: x, V57: x, V58: x, V59: x, V60: x, V61: x, V62: x,\n"
    "    V63: x, V64: x, V65: x, V66: x, V67: x, V68: x, V69: x}}}\n";

static void
put_files(void)
{
	put_file("main.yaml", composed);
	put_file("more.yaml", "templates:\n"
	                      "  worker: {command: [work, '${queue}', '${actor.name}']}\n"
	                      "children: {m: {use: worker, with: {queue: x}}}\n");
	ck_assert_int_eq(mkdir(support_path("conf.d"), 0755), 0);
	put_file("conf.d/1.yaml",
	         "templates:\n"
	         "  pair:\n"
	         "    children: {one: {command: [x, '${replica}']},\n"
	         "               two: {use: worker, with: {queue: y}}}\n");
	put_file("wide.yaml", wide);
}

/* What is starved: see starve_each(). */
typedef struct conf *make_fn(const struct conf *from, struct conf_reports *ret_reports);

/* The call n fails: the configuration is the good one, or there is an error. */
static long
starve_once(make_fn *make, const struct conf *from, const struct conf *good, long n,
            bool for_good)
{
	struct conf_reports reports;
	struct conf *conf;

	begin(n, for_good);
	conf = make(from, &reports);
	pause_count(true);
	ck_assert_msg((conf == NULL) == (reports.n_errors > 0), "call %ld: %zu errors", n,
	              reports.n_errors);
	ck_assert_msg(conf == NULL || conf_packs_alike(conf, good),
	              "call %ld: another configuration, %u actors instead of %u", n,
	              conf == NULL ? 0 : conf->n_actors, good->n_actors);
	pause_count(false);
	conf_free(conf);
	conf_reports_done(&reports);
	return end(n);
}

/* Make it, as often as it calls malloc(3): the call n alone fails, and all from n on. */
static void
starve_each(make_fn *make, const struct conf *from)
{
	struct conf_reports reports;
	struct conf *good = make(from, &reports);

	ck_assert_uint_eq(reports.n_errors, 0);
	for (int for_good = 0; for_good < 2; for_good++) {
		long n = 0;

		while (starve_once(make, from, good, n, for_good) > 0)
			n++;
		ck_assert_int_gt(n, 10);
	}
	conf_free(good);
	conf_reports_done(&reports);
}

static struct conf *
load(const struct conf *from, struct conf_reports *ret_reports)
{
	(void)from;
	return load_main(true, ret_reports);
}

START_TEST(files_are_read_or_refused_whatever_call_of_malloc_fails)
{
	CHECK_NEEDS(CAN_STARVE, "a malloc that can be replaced");
	put_files();
	starve_each(load, NULL);
}
END_TEST

static struct conf *
add_of_template(const struct conf *from, struct conf_reports *ret_reports)
{
	static const char *const with[] = {"queue", "x y", NULL};
	const struct conf_addition addition = {
	    .parent = "/user/s@1", .name = "added", .use = "worker", .with = with};
	const struct conf_options options = {0};

	return conf_compose(from, &addition, &options, ret_reports);
}

static struct conf *
add_replica(const struct conf *from, struct conf_reports *ret_reports)
{
	const struct conf_addition addition = {
	    .parent = "/user", .name = "s", .replica = 3};
	const struct conf_options options = {0};

	return conf_compose(from, &addition, &options, ret_reports);
}

static char program[] = "x";

static struct conf *
add_command(const struct conf *from, struct conf_reports *ret_reports)
{
	char *const command[] = {program, program, NULL};
	const struct conf_addition addition = {
	    .parent = "/user", .name = "added", .command = command};
	const struct conf_options options = {0};

	return conf_compose(from, &addition, &options, ret_reports);
}

static make_fn *const additions[] = {add_of_template, add_replica, add_command};

START_TEST(actors_are_composed_or_refused_whatever_call_of_malloc_fails)
{
	struct conf_reports reports;
	struct conf *conf;

	CHECK_NEEDS(CAN_STARVE, "a malloc that can be replaced");
	put_files();
	conf = load_main(false, &reports);
	starve_each(additions[_i], conf);
	conf_free(conf);
	conf_reports_done(&reports);
}
END_TEST

static struct conf *
pack_and_unpack(const struct conf *from, struct conf_reports *ret_reports)
{
	struct err err = {0};
	int fd = conf_pack(from, &err);
	struct conf *conf = fd >= 0 ? conf_unpack(fd, &err) : NULL;

	*ret_reports = (struct conf_reports){0};
	if (fd >= 0)
		(void)close(fd);
	ret_reports->n_errors = conf == NULL;
	return conf;
}

START_TEST(configurations_are_packed_or_refused_whatever_call_of_malloc_fails)
{
	struct conf_reports reports;
	struct conf *conf;

	CHECK_NEEDS(CAN_STARVE, "a malloc that can be replaced");
	put_files();
	conf = load_main(false, &reports);
	starve_each(pack_and_unpack, conf);
	conf_free(conf);
	conf_reports_done(&reports);
}
END_TEST

Suite *
suite_starved(void)
{
	Suite *suite = suite_create("starved");
	TCase *tcase = new_case("starved");

	tcase_add_test(tcase, files_are_read_or_refused_whatever_call_of_malloc_fails);
	tcase_add_loop_test(tcase,
	                    actors_are_composed_or_refused_whatever_call_of_malloc_fails,
	                    0, (int)ARRAY_SIZE(additions));
	tcase_add_test(
	    tcase, configurations_are_packed_or_refused_whatever_call_of_malloc_fails);
	suite_add_tcase(suite, tcase);
	return suite;
}
