/* SPDX-License-Identifier: ISC */
/* test_pack.c - what was packed is unpacked as it was, or not at all. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/sum.h"
#include "conf/keep/packed.h"
#include "conf/text/arena.h"
#include "tests/conf/support.h"

/* ---- use ---- */

static const char everything[] =
    "control: {socket: /run/x.sock, group: root, observers: 7}\n"
    "log: {level: debug, target: stderr, directory: /logs}\n"
    "on_crash: kill\nstart: parallel\n"
    "include: [more.yaml]\n"
    "decider: [{when: {exit: [75], exec: [ENOENT]}, then: stop, log: off}, otp]\n"
    "on_failure: [{when: any, then: restart, backoff: {min: 1s}}]\n"
    "children:\n"
    "  a:\n"
    "    command: [x, y, '']\n"
    "    description: all of it\n"
    "    user: root\n"
    "    supplementary_groups: [7, 8]\n"
    "    root: /\n"
    "    directory: /srv\n"
    "    stdin: file:/dev/zero\n"
    "    environment_file: [-/no/file, -/no/other]\n"
    "    clear_environment: true\n"
    "    nice: 3\n"
    "    oom_score_adj: 1000\n"
    "    cpu_affinity: [0]\n"
    "    scheduler: {policy: batch}\n"
    "    io_priority: {class: idle}\n"
    "    capabilities: {bounding: [kill], ambient: []}\n"
    "    no_new_privileges: true\n"
    "    environment: {A: b, C: 'd e'}\n"
    "    limits: {nofile: '10:1K', core: unlimited}\n"
    "    output: {stdout: file:/var/log/a, stderr: pipe:w@2}\n"
    "    log: {keep: 7, format: json}\n"
    "    sockets: {http: 'tcp:127.0.0.1:80', u: {listen: 'unix:/x', mode: \"0600\"},\n"
    "      r: {listen: 'udp:*:0', while_down: {reply: gone}, rate: 5/s},\n"
    "      h: {listen: 'fifo:/y', while_down: {handler: w@1}}}\n"
    "    on_failure: [{when: {signal: [SEGV]}, then: escalate}]\n"
    "    ready: {http: 'http://localhost:80/x?y', interval: 3s}\n"
    "    health: {exec: [test, -e, /x], failures: 4}\n"
    "  s: {needs: {a: ready, w: started}, start: parallel, children: {w: {command: [z], "
    "environment: {}, limits: {}}}}\n"
    "  w: {command: [w], replicas: 3}\n";

static struct conf *
load_everything(void)
{
	put_file("more.yaml", "children: {m: {command: [more]}}\n");
	return load_text(everything);
}

START_TEST(a_thawed_configuration_needs_nothing_of_the_old_one)
{
	struct conf *conf = load_everything();
	struct conf *again = load_everything();
	int fd = pack_good(conf);
	struct conf *unpacked;

	conf_free(conf);
	ck_assert_int_eq(unlink(support_path("main.yaml")), 0);
	ck_assert_int_eq(unlink(support_path("more.yaml")), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END) > 0, 1);
	unpacked = unpack_good(fd);
	ck_assert_int_eq(close(fd), 0);
	same_conf(again, unpacked);
	ck_assert_str_eq(key_of(unpacked, "/user/a", "output.stderr"),
	                 "\"pipe:/user/w@2\"");
	ck_assert_uint_eq(unpacked->n_files, 2);
	conf_free(unpacked);
	conf_free(again);
}
END_TEST

START_TEST(one_block_is_thawed_as_often_as_one_likes)
{
	struct conf *conf = load_everything();
	int fd = pack_good(conf);
	struct conf *one = unpack_good(fd);
	struct conf *two = unpack_good(fd);

	same_conf(one, two);
	ck_assert(conf_packs_alike(one, conf));
	conf_free(one);
	same_conf(conf, two);
	conf_free(two);
	conf_free(conf);
	(void)close(fd);
}
END_TEST

START_TEST(a_plan_sees_what_changed_since_it_was_frozen)
{
	struct conf *conf =
	    load_text("children: {a: {command: [x]}, b: {command: [x]}}\n");
	struct conf *now =
	    load_text("children: {a: {command: [y]}, c: {command: [x]}}\n");
	int fd = pack_good(conf);
	struct conf *unpacked = unpack_good(fd);
	struct conf_plan plan = {0};

	conf_free(conf);
	ck_assert(!conf_packs_alike(unpacked, now));
	ck_assert_int_eq(conf_plan_make(unpacked, now, &plan), 0);
	ck_assert_uint_eq(plan.n, 4);
	ck_assert_int_eq(plan.at[1].kind, CHANGE_RESTARTED);
	ck_assert_str_eq(plan.at[1].keys[0], "command");
	ck_assert_int_eq(plan.at[2].kind, CHANGE_ADDED);
	ck_assert_int_eq(plan.at[3].kind, CHANGE_REMOVED);
	conf_plan_done(&plan);
	conf_free(unpacked);
	conf_free(now);
	(void)close(fd);
}
END_TEST

START_TEST(a_frozen_configuration_cannot_be_changed)
{
	struct conf *conf = load_everything();
	int fd = pack_good(conf);
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(fcntl(fd, F_GET_SEALS) & seals, seals);
	ck_assert_int_eq(pwrite(fd, "x", 1, 100), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(ftruncate(fd, 0), -1);
	conf_free(conf);
	(void)close(fd);
}
END_TEST

START_TEST(a_block_is_not_larger_than_what_it_was_made_of)
{
	struct conf *conf =
	    load_text("defaults: {environment: {A: b}, output: {stdout: file:/x}}\n"
	              "children: {w: {command: [x, '${replica}'], replicas: 1000}}\n");
	int fd = pack_good(conf);
	struct stat stat_buf;

	ck_assert_int_eq(fstat(fd, &stat_buf), 0);
	ck_assert_uint_lt((size_t)stat_buf.st_size,
	                  conf->memory->used + conf->n_actors * sizeof(*conf->actors));
	conf_free(conf);
	(void)close(fd);
}
END_TEST

START_TEST(what_the_system_refuses_is_said)
{
	struct conf *conf = load_everything();
	struct rlimit usual;
	struct rlimit tight;
	struct err err = {0};

	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &usual), 0);
	tight = (struct rlimit){1000, usual.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
	ck_assert_int_eq(conf_pack(conf, &err), -EFBIG);
	ck_assert_ptr_nonnull(strstr(err.text, "File too large"));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &usual), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	tight = (struct rlimit){0, usual.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
	ck_assert_int_eq(conf_pack(conf, &err), -EMFILE);
	ck_assert_ptr_nonnull(strstr(err.text, "Too many open files"));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
	expect_same_when_thawed(conf);
	conf_free(conf);
}
END_TEST

/* ---- damage ---- */

struct block {
	unsigned char *bytes;
	size_t len;
};

static struct block
take_block(void)
{
	struct conf *conf = load_everything();
	int fd = pack_good(conf);
	struct block block;
	struct stat stat_buf;

	ck_assert_int_eq(fstat(fd, &stat_buf), 0);
	block.len = (size_t)stat_buf.st_size;
	block.bytes = malloc(block.len);
	ck_assert_ptr_nonnull(block.bytes);
	ck_assert_int_eq(pread(fd, block.bytes, block.len, 0), (ssize_t)block.len);
	(void)close(fd);
	conf_free(conf);
	return block;
}

static int
put_block(const void *bytes, size_t len, bool seal)
{
	int fd = memfd_create("block", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	if (seal)
		ck_assert_int_eq(
		    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
		    0);
	return fd;
}

/* NULL or a configuration; NULL with a sentence.  Closes the descriptor. */
static struct conf *
try_thaw(int take_fd, struct err *err)
{
	struct conf *conf;

	*err = (struct err){0};
	conf = conf_unpack(take_fd, err);
	ck_assert_int_eq(conf == NULL, err->text[0] != '\0');
	(void)close(take_fd);
	return conf;
}

static void
expect_refused(int take_fd, const char *words)
{
	struct err err;
	struct conf *conf = try_thaw(take_fd, &err);

	ck_assert_msg(conf == NULL, "taken, instead of: %s", words);
	ck_assert_msg(strstr(err.text, words) != NULL, "not \"%s\": %s", words, err.text);
}

START_TEST(every_flipped_bit_is_found)
{
	struct block block = take_block();
	struct err err;
	struct rng rng;

	rng_seed(&rng, 1);
	for (size_t i = 0; i < block.len; i++) {
		unsigned char flip = (unsigned char)(1u << rng_below(&rng, 8));

		block.bytes[i] ^= flip;
		ck_assert_ptr_null(
		    try_thaw(put_block(block.bytes, block.len, true), &err));
		block.bytes[i] ^= flip;
	}
	conf_free(try_thaw(put_block(block.bytes, block.len, true), &err));
	ck_assert_str_eq(err.text, "");
	free(block.bytes);
}
END_TEST

/* A block that is damaged and pretends to be whole. */
static void
repair(struct block *block)
{
	struct packed_head head;

	memcpy(&head, block->bytes, sizeof(head));
	head.sum = sum_bytes(block->bytes + sizeof(head), block->len - sizeof(head), 0);
	memcpy(block->bytes, &head, sizeof(head));
}

/* Read every value; a value may be nonsense, but its memory must exist. */
static void
use(const struct conf *conf)
{
	struct conf_plan plan = {0};
	struct spec spec;
	int fd = pack_good(conf);

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		ck_assert_uint_eq(conf_find(conf, actor->path), i);
		ck_assert_ptr_nonnull(conf->files[actor->place.file]);
		if (i > 0)
			ck_assert_ptr_nonnull(conf->actors[actor->parent].path);
		ck_assert_ptr_nonnull(conf_name(actor));
		conf_name_spec(actor, &spec);
		ck_assert_uint_ne(spec.name, 0);
		for (uint32_t k = 0; k < spec.n_watches; k++)
			(void)conf_find(conf, actor->spec->watches[k].path);
		for (uint32_t k = 0; k < spec.n_needs; k++)
			(void)conf_find(conf, actor->spec->needs[k].path);
	}
	ck_assert_int_eq(conf_plan_make(conf, conf, &plan), 0);
	conf_plan_done(&plan);
	(void)close(fd);
}

START_TEST(damage_that_the_sum_does_not_show_leads_nowhere)
{
	struct block good = take_block();
	struct block bad = {malloc(good.len), good.len};
	struct rng rng;
	unsigned int n_taken = 0;
	unsigned int n_refused = 0;

	ck_assert_ptr_nonnull(bad.bytes);
	rng_seed(&rng, 2);
	for (unsigned int i = 0; i < 8000; i++) {
		const size_t first = sizeof(struct packed_head);
		struct conf *conf;
		struct err err;
		int fd;

		memcpy(bad.bytes, good.bytes, good.len);
		for (uint64_t n = 1 + rng_below(&rng, 3); n > 0; n--)
			bad.bytes[first + rng_below(&rng, bad.len - first)] ^=
			    (unsigned char)(1u << rng_below(&rng, 8));
		repair(&bad);
		fd = put_block(bad.bytes, bad.len, true);
		conf = try_thaw(fd, &err);
		n_refused += conf == NULL;
		n_taken += conf != NULL;
		if (conf != NULL)
			use(conf);
		conf_free(conf);
	}
	ck_assert_uint_gt(n_taken, 100);
	ck_assert_uint_gt(n_refused, 100);
	free(good.bytes);
	free(bad.bytes);
}
END_TEST

START_TEST(a_block_that_is_cut_off_or_too_long_is_refused)
{
	struct block block = take_block();
	unsigned char *longer = calloc(1, block.len + 8);

	ck_assert_ptr_nonnull(longer);
	memcpy(longer, block.bytes, block.len);
	for (size_t len = 0; len < block.len; len += 8)
		expect_refused(put_block(block.bytes, len, true), "configuration");
	expect_refused(put_block(longer, block.len + 8, true), "is not whole");
	free(longer);
	free(block.bytes);
}
END_TEST

START_TEST(what_is_no_frozen_configuration_is_refused)
{
	static const char zeros[65536];
	struct block block = take_block();
	struct packed_head head;
	int ends[2];

	expect_refused(put_block("", 0, true), "no configuration in this memory");
	expect_refused(put_block(zeros, sizeof(zeros), true),
	               "no configuration in this memory");
	expect_refused(put_block(block.bytes, block.len, false), "no sealed");
	expect_refused(open("/dev/zero", O_RDONLY | O_CLOEXEC), "no sealed");
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	expect_refused(ends[0], "no sealed");
	(void)close(ends[1]);
	expect_refused(-1, "no sealed");
	memcpy(&head, block.bytes, sizeof(head));
	head.layout++;
	memcpy(block.bytes, &head, sizeof(head));
	repair(&block);
	expect_refused(put_block(block.bytes, block.len, true),
	               "by another version of supd");
	free(block.bytes);
}
END_TEST

/* ---- what ships ---- */

/* The environments that the actors want. */
static char shop_dir[] = "SHOP_DIR=/srv/shop";
static char redis[] = "REDIS_SERVER=/usr/bin/redis-server";
static char nginx[] = "NGINX=/usr/sbin/nginx";
static char crawler_run[] = "CRAWLER_RUN=/run/crawler";
static char crawler_port[] = "CRAWLER_PORT=8080";
static char directory[] = "PWD=/srv";
static char crawler_programs[] = "CRAWLER_BIN=/srv/crawler/bin";
static char *example_environ[] = {
    shop_dir, redis, nginx, crawler_run, crawler_port, directory, crawler_programs, NULL};

static const char *const shipped[] = {
    "etc/supd.yaml",
    "examples/services/supd.yaml",
    "examples/crawler/supd.yaml",
};

START_TEST(the_examples_are_the_same_when_thawed)
{
	const char *source = getenv("top_srcdir");
	struct conf_options options = {.warn = false, .environ = example_environ};
	struct conf_reports reports;
	struct conf *conf;
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", source != NULL ? source : ".",
	               shipped[_i]);
	conf = conf_load(path, &options, &reports);
	ck_assert_msg(conf != NULL, "%s was not loaded", path);
	expect_same_when_thawed(conf);
	conf_free(conf);
	conf_reports_done(&reports);
}
END_TEST

Suite *
suite_pack(void)
{
	Suite *suite = suite_create("pack");
	TCase *tcase = new_case("pack");

	tcase_add_test(tcase, a_thawed_configuration_needs_nothing_of_the_old_one);
	tcase_add_test(tcase, one_block_is_thawed_as_often_as_one_likes);
	tcase_add_test(tcase, a_plan_sees_what_changed_since_it_was_frozen);
	tcase_add_test(tcase, a_frozen_configuration_cannot_be_changed);
	tcase_add_test(tcase, a_block_is_not_larger_than_what_it_was_made_of);
	tcase_add_test(tcase, what_the_system_refuses_is_said);
	tcase_add_test(tcase, every_flipped_bit_is_found);
	tcase_add_test(tcase, damage_that_the_sum_does_not_show_leads_nowhere);
	tcase_add_test(tcase, a_block_that_is_cut_off_or_too_long_is_refused);
	tcase_add_test(tcase, what_is_no_frozen_configuration_is_refused);
	tcase_add_loop_test(tcase, the_examples_are_the_same_when_thawed, 0,
	                    (int)(sizeof(shipped) / sizeof(shipped[0])));
	suite_add_tcase(suite, tcase);
	return suite;
}
