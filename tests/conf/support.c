/* SPDX-License-Identifier: ISC */
/* support.c - files to load, and what to expect of them. */
#include "config.h"

#include "tests/conf/support.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What ${env:…} sees; the same wherever the tests run. */
static char env_path[] = "PATH=/usr/bin:/bin";
static char env_port[] = "PORT=8080";
static char env_empty[] = "EMPTY=";
static char env_home[] = "HOME=/home/tester";
static char *test_environ[] = {env_path, env_port, env_empty, env_home, NULL};

/* The directory of the test that runs in this process. */
static char directory[64];
static char paths[4][256];
static size_t next_path;

void
support_setup(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(directory, sizeof(directory), "%.40s/supd-conf-XXXXXX",
	               tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(directory));
}

static int
remove_one(const char *path, const struct stat *stat_buf, int type, struct FTW *ftw)
{
	(void)stat_buf;
	(void)type;
	(void)ftw;
	(void)remove(path);
	return 0;
}

void
support_teardown(void)
{
	(void)nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path of a file of the test; valid until the test ends, at most a few of them. */
const char *
support_path(const char *name)
{
	char *path = paths[next_path++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

void
put_bytes(const char *name, const char *bytes, size_t len)
{
	int fd = open(support_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	(void)fchmod(fd, 0644);
	(void)close(fd);
}

void
put_file(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

struct conf *
load_main(bool warn, struct conf_reports *ret_reports)
{
	struct conf_options options = {.warn = warn,
	                               .look = true,
	                               .environ = test_environ,
	                               .controllers = "memory pids"};

	/* conf_load() initialises the options. */
	memset(ret_reports, 0x5a, sizeof(*ret_reports));
	return conf_load(support_path("main.yaml"), &options, ret_reports);
}

/* All reports without the directory of the test in front. */
static char *
format(const struct conf_reports *reports)
{
	struct strbuf all;
	struct strbuf out;
	const char *at;

	strbuf_init(&all, 1 << 20);
	strbuf_init(&out, 1 << 20);
	conf_reports_format(reports, &all);
	for (at = strbuf_str(&all); *at != '\0';) {
		size_t len = strlen(directory);

		if (strncmp(at, directory, len) == 0 && at[len] == '/')
			at += len + 1;
		else
			strbuf_addc(&out, *at++);
	}
	strbuf_done(&all);
	return strbuf_take(&out);
}

/* Load main.yaml with this text; the caller frees all three. */
static struct conf *
load_and_format(const char *text, bool warn, struct conf_reports *ret_reports,
                char **ret_found)
{
	struct conf *conf;

	put_file("main.yaml", text);
	conf = load_main(warn, ret_reports);
	*ret_found = format(ret_reports);
	if (conf != NULL)
		expect_same_when_thawed(conf);
	return conf;
}

/* A configuration that must be good; the caller frees it. */
struct conf *
load_text(const char *text)
{
	struct conf_reports reports;
	char *found;
	struct conf *conf = load_and_format(text, false, &reports, &found);

	ck_assert_msg(conf != NULL, "not loaded: %s", found);
	free(found);
	conf_reports_done(&reports);
	return conf;
}

static void
expect_reports(const char *text, bool warn, const char *expected)
{
	struct conf_reports reports;
	char *found;
	struct conf *conf = load_and_format(text, warn, &reports, &found);

	ck_assert_str_eq(found, expected);
	ck_assert_int_eq(conf != NULL, reports.n_errors == 0);
	free(found);
	conf_free(conf);
	conf_reports_done(&reports);
}

/* Load, and compare all that is reported with `expected`, to the letter. */
void
expect_errors(const char *text, const char *expected)
{
	expect_reports(text, false, expected);
}

void
expect_warnings(const char *text, const char *expected)
{
	expect_reports(text, true, expected);
}

/* Of all that is reported the first is this, to the letter. */
void
expect_first(const char *text, const char *expected)
{
	struct conf_reports reports;
	char *found;
	struct conf *conf = load_and_format(text, false, &reports, &found);

	*strchrnul(found, '\n') = '\0';
	ck_assert_str_eq(found, expected);
	ck_assert_ptr_null(conf);
	free(found);
	conf_reports_done(&reports);
}

/* Exactly one report: at `place` ("line:column: error: path"), with `words` in it. */
void
expect_fault(const char *text, const char *place, const char *words)
{
	struct conf_reports reports;
	char start[256];
	char *found;
	struct conf *conf =
	    load_and_format(text, strstr(place, ": warning: ") != NULL, &reports, &found);

	(void)snprintf(start, sizeof(start), "main.yaml:%s: ", place);
	ck_assert_msg(strncmp(found, start, strlen(start)) == 0, "not at %s:\n%s", place,
	              found);
	ck_assert_msg(strstr(found, words) != NULL, "not \"%s\":\n%s", words, found);
	ck_assert_msg(reports.n == 1, "more than one:\n%s", found);
	free(found);
	conf_free(conf);
	conf_reports_done(&reports);
}

const struct conf_actor *
actor_at(const struct conf *conf, const char *path)
{
	uint32_t index = conf_find(conf, path);

	ck_assert_msg(index != CONF_NONE, "there is no %s", path);
	ck_assert_str_eq(conf->actors[index].path, path);
	return &conf->actors[index];
}

/* The JSON of a key, or "(none)". */
const char *
key_of(const struct conf *conf, const char *path, const char *key)
{
	struct conf_keys keys = conf_keys(conf, actor_at(conf, path));
	const struct conf_key *at;

	while ((at = conf_keys_next(&keys)) != NULL)
		if (strcmp(at->key, key) == 0)
			return at->value;
	return "(none)";
}

TCase *
new_case(const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, support_setup, support_teardown);
	tcase_set_timeout(tcase, 60);
	return tcase;
}
