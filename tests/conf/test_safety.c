/* SPDX-License-Identifier: ISC */
/* test_safety.c - what others than root can change, and root is to execute or obey. */
#include "config.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/conf/support.h"
#include "tests/lib/check_main.h"

#define DIR_MAX 256

/* Load main.yaml: its first report has this severity and message; NULL: there is none. */
static void
expect_safety(const char *message, enum conf_severity severity)
{
	struct conf_reports reports;
	struct conf *conf = load_main(true, &reports);

	ck_assert_uint_eq(reports.n, message != NULL);
	if (message != NULL) {
		ck_assert_int_eq(reports.at[0].severity, severity);
		ck_assert_ptr_nonnull(strstr(reports.at[0].message, message));
	}
	ck_assert_int_eq(conf == NULL, message != NULL && severity == CONF_ERROR);
	conf_free(conf);
	conf_reports_done(&reports);
}

/* Root refuses what sshd would refuse; others are told. */
START_TEST(a_file_that_others_can_write_is_refused_for_root)
{
	const enum conf_severity grave = geteuid() == 0 ? CONF_ERROR : CONF_WARNING;

	put_file("main.yaml", "children: {}\n");
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(chmod(support_path("main.yaml"), 0664), 0);
	expect_safety("(mode 0664), and so change what supd runs; try chmod g-w", grave);
	ck_assert_int_eq(chmod(support_path("main.yaml"), 0646), 0);
	expect_safety("everybody can write to the file", grave);
}
END_TEST

START_TEST(a_file_of_another_owner_is_refused_for_root)
{
	put_file("main.yaml", "children: {}\n");
	CHECK_NEEDS(geteuid() == 0, "root");
	ck_assert_int_eq(chown(support_path("main.yaml"), 65534, 0), 0);
	expect_safety(
	    "belongs to user 65534, who can change what supd runs; try chown root",
	    CONF_ERROR);
}
END_TEST

/* A container may be given files of another owner. */
START_TEST(a_start_only_warns_of_another_owner)
{
	struct conf_options options = {.warn = true};
	struct conf_reports reports;
	struct conf *conf;

	put_file("main.yaml", "children: {}\n");
	CHECK_NEEDS(geteuid() == 0, "root");
	ck_assert_int_eq(chown(support_path("main.yaml"), 65534, 0), 0);
	conf = conf_load(support_path("main.yaml"), &options, &reports);
	ck_assert_ptr_nonnull(conf);
	ck_assert_uint_eq(reports.n, 1);
	ck_assert_int_eq(reports.at[0].severity, CONF_WARNING);
	conf_free(conf);
	conf_reports_done(&reports);
}
END_TEST

START_TEST(a_directory_on_the_way_that_others_can_write_is_refused_for_root)
{
	put_file("main.yaml", "children: {}\n");
	CHECK_NEEDS(geteuid() == 0, "root");
	ck_assert_int_eq(chmod(support_path("."), 0777), 0);
	expect_safety("everybody can write to the directory", CONF_ERROR);
	/* As /tmp is: only root can replace files of root there. */
	ck_assert_int_eq(chmod(support_path("."), 01777), 0);
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(chown(support_path("main.yaml"), 65534, 0), 0);
	expect_safety("everybody can write to the directory", CONF_ERROR);
}
END_TEST

START_TEST(an_included_file_that_others_can_write_is_refused_for_root)
{
	put_file("main.yaml", "include: more.yaml\nchildren: {}\n");
	put_file("more.yaml", "children: {}\n");
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(chmod(support_path("more.yaml"), 0666), 0);
	expect_safety("everybody can write to the file",
	              geteuid() == 0 ? CONF_ERROR : CONF_WARNING);
}
END_TEST

/* A user that replaces the link chooses the file, however safe the one there now is. */
START_TEST(a_link_that_others_can_replace_is_refused_for_root)
{
	CHECK_NEEDS(geteuid() == 0, "root");
	put_file("good.yaml", "include: way/more.yaml\nchildren: {}\n");
	put_file("more.yaml", "children: {}\n");
	ck_assert_int_eq(mkdir(support_path("files"), 0755), 0);
	ck_assert_int_eq(mkdir(support_path("ways"), 0755), 0);
	ck_assert_int_eq(symlink("../good.yaml", support_path("files/link")), 0);
	ck_assert_int_eq(symlink("..", support_path("ways/link")), 0);
	ck_assert_int_eq(symlink("ways/link", support_path("way")), 0);
	ck_assert_int_eq(symlink("files/link", support_path("main.yaml")), 0);
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(chmod(support_path("files"), 0777), 0);
	expect_safety("everybody can write to the directory", CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("files"), 01777), 0);
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(lchown(support_path("files/link"), 65534, 0), 0);
	expect_safety("everybody can write to the directory", CONF_ERROR);
	ck_assert_int_eq(lchown(support_path("files/link"), 0, 0), 0);
	ck_assert_int_eq(chmod(support_path("ways"), 0777), 0);
	expect_safety("everybody can write to the directory", CONF_ERROR);
	/* A link that leads to itself is an error like another, and ends. */
	ck_assert_int_eq(unlink(support_path("main.yaml")), 0);
	ck_assert_int_eq(symlink("main.yaml", support_path("main.yaml")), 0);
	expect_safety("symbolic links", CONF_ERROR);
}
END_TEST

/* The actor's own user may own it. */
START_TEST(a_program_that_others_can_write_is_refused_for_root)
{
	char text[1024];

	CHECK_NEEDS(geteuid() == 0, "root");
	put_file("prog", "#!/bin/sh\n");
	put_file("variables", "A=b\n");
	ck_assert_int_eq(chmod(support_path("prog"), 0755), 0);
	(void)snprintf(
	    text, sizeof(text),
	    "children: {a: {command: [\"%s\"], user: \"65534\", group: \"0\"}}\n",
	    support_path("prog"));
	put_file("main.yaml", text);
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(chown(support_path("prog"), 65534, 0), 0);
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(chown(support_path("prog"), 65533, 0), 0);
	expect_safety("belongs to user 65533", CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("prog"), 0775), 0);
	expect_safety("its group can write", CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("prog"), 0757), 0);
	expect_safety("everybody can write", CONF_ERROR);
	(void)snprintf(text, sizeof(text),
	               "children: {a: {command: [/bin/true], restart: transient, "
	               "environment_file: \"%s\"}}\n",
	               support_path("variables"));
	put_file("main.yaml", text);
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(chmod(support_path("variables"), 0666), 0);
	expect_safety("everybody can write", CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("variables"), 0664), 0);
	expect_safety("its group can write", CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("variables"), 0644), 0);
	ck_assert_int_eq(chown(support_path("variables"), 65533, 0), 0);
	expect_safety("belongs to user 65533", CONF_ERROR);
}
END_TEST

START_TEST(a_program_below_a_root_that_others_can_write_is_refused_for_root)
{
	char text[1024];

	CHECK_NEEDS(geteuid() == 0, "root");
	ck_assert_int_eq(mkdir(support_path("tree"), 0755), 0);
	put_file("tree/prog", "#!/bin/sh\n");
	ck_assert_int_eq(chmod(support_path("tree/prog"), 0755), 0);
	ck_assert_int_eq(symlink("/prog", support_path("tree/link")), 0);
	(void)snprintf(text, sizeof(text),
	               "children: {a: {command: [/link], root: \"%s\"}}\n",
	               support_path("tree"));
	put_file("main.yaml", text);
	expect_safety(NULL, CONF_WARNING);
	ck_assert_int_eq(chmod(support_path("tree/prog"), 0757), 0);
	expect_safety("everybody can write to the file", CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("tree/prog"), 0755), 0);
	ck_assert_int_eq(chmod(support_path("tree"), 0777), 0);
	expect_safety("everybody can write to the directory", CONF_ERROR);
}
END_TEST

/* ---- files that a command executes beside its program ---- */

/* Make an executable file below the directory of the test, DIR in its text is that. */
static void
put_program(const char *name, const char *text)
{
	char path[DIR_MAX], filled[4 * DIR_MAX];
	const char *at = strstr(text, "DIR");

	(void)snprintf(path, sizeof(path), "%s", support_path("."));
	(void)snprintf(filled, sizeof(filled), "%.*s%s%s",
	               (int)(at == NULL ? strlen(text) : (size_t)(at - text)), text,
	               at == NULL ? "" : path, at == NULL ? "" : at + 3);
	put_file(name, filled);
	ck_assert_int_eq(chmod(support_path(name), 0755), 0);
}

/* Of two files the second is executed when the first is: below DIR. */
static const struct {
	const char *program;
	const char *command;
} executions[] = {
    {"#!DIR/other\n", "[DIR/prog]"},
    {"#! DIR/other -x\n", "[DIR/prog, a]"},
    {"#!/usr/bin/env DIR/other\n", "[DIR/prog]"},
    {"#!/usr/bin/env -S A=b DIR/other -x\n", "[DIR/prog]"},
    {"#!/usr/bin/env other\n", "[DIR/prog]"},
    {"", "[/bin/sh, DIR/other]"},
    {"", "[/bin/sh, -e, DIR/other, a]"},
    {"", "[/bin/sh, -o, noglob, DIR/other]"},
    {"", "[sh, other]"},
    {"", "[/usr/bin/env, A=b, sh, DIR/other]"},
    {"", "[/usr/bin/env, DIR/other]"},
    {"", "[python3.11, -u, DIR/other]"},
};

/* An actor with that command, and the directory of the test as its own and in PATH. */
static void
put_command(const char *command, const char *more)
{
	char dir[DIR_MAX], text[8 * DIR_MAX];
	const char *at = strstr(command, "DIR");

	(void)snprintf(dir, sizeof(dir), "%s", support_path("."));
	dir[strlen(dir) - 2] = '\0';
	(void)snprintf(text, sizeof(text),
	               "children:\n  a:\n    command: %.*s%s%s\n    directory: %s\n"
	               "    environment: {PATH: '/usr/bin:/bin:%s'}\n%s",
	               (int)(at == NULL ? strlen(command) : (size_t)(at - command)),
	               command, at == NULL ? "" : dir, at == NULL ? "" : at + 3, dir, dir,
	               more);
	put_file("main.yaml", text);
}

START_TEST(what_a_program_executes_is_refused_for_root)
{
	CHECK_NEEDS(geteuid() == 0, "root");
	put_program("prog", executions[_i].program);
	put_program("other", "");
	put_program("python3.11", "");
	put_command(executions[_i].command, "");
	expect_safety(NULL, CONF_ERROR);
	ck_assert_int_eq(chown(support_path("other"), 65533, 0), 0);
	expect_safety("other belongs to user 65533", CONF_ERROR);
	put_command(executions[_i].command, "    user: '65533'\n    group: '0'\n");
	expect_safety(NULL, CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("other"), 0775), 0);
	expect_safety("its group can write to the file", CONF_ERROR);
}
END_TEST

/* These do not execute it. */
static const char *const harmless[] = {
    "[/bin/sh, -c, 'sleep 9', ./other]",
    "[/bin/sh, ./prog, ./other]",
    "[/bin/cat, ./other]",
    "[./python3.11, -m, http.server, ./other]",
    "[/bin/sh, /nonexistent, ./other]",
};

START_TEST(an_argument_that_is_not_executed_may_belong_to_others)
{
	CHECK_NEEDS(geteuid() == 0, "root");
	put_program("prog", "");
	put_program("other", "");
	put_program("python3.11", "");
	ck_assert_int_eq(chmod(support_path("other"), 0777), 0);
	put_command(harmless[_i], "");
	expect_safety(NULL, CONF_ERROR);
}
END_TEST

/* A umask of 002 and a group for each user: useradd(8), pam_umask(8). */
START_TEST(the_group_of_a_user_alone_may_write_what_the_user_owns)
{
	const struct passwd *user = getpwnam("daemon");
	const struct group *group = getgrnam("daemon");

	CHECK_NEEDS(geteuid() == 0 && user != NULL && group != NULL &&
	                group->gr_mem[0] == NULL,
	            "root, and a group without members");
	put_program("prog", "");
	put_command("[DIR/prog]", "    user: daemon\n");
	ck_assert_int_eq(chown(support_path("prog"), user->pw_uid, group->gr_gid), 0);
	ck_assert_int_eq(chmod(support_path("prog"), 0775), 0);
	expect_safety(NULL, CONF_ERROR);
	ck_assert_int_eq(chown(support_path("prog"), 0, group->gr_gid), 0);
	ck_assert_int_eq(chmod(support_path("prog"), 0775), 0);
	expect_safety("its group can write to the file", CONF_ERROR);
	ck_assert_int_eq(chown(support_path("prog"), user->pw_uid, 65533), 0);
	ck_assert_int_eq(chmod(support_path("prog"), 0775), 0);
	expect_safety("its group can write to the file", CONF_ERROR);
}
END_TEST

/* ---- templates that no actor uses ---- */

static const char *const keys[] = {
    "command: [%s/prog]",          "command: '%s/prog ${a}'",
    "command: [/bin/sh, %s/prog]", "command: [/bin/sh], hooks: {pre_start: [%s/prog]}",
    "stop_command: [%s/prog]",     "reload_command: %s/prog",
    "ready: {exec: [%s/prog]}",    "health: {exec: [%s/prog]}",
    "environment_file: %s/prog",   "environment_file: ['-%s/prog']",
};

static void
put_template(const char *key, const char *more)
{
	char dir[DIR_MAX], text[8 * DIR_MAX], made[4 * DIR_MAX];
	const char *at = strstr(key, "%s");

	(void)snprintf(dir, sizeof(dir), "%s", support_path("."));
	(void)snprintf(made, sizeof(made), "%.*s%s%s", (int)(at - key), key, dir, at + 2);
	(void)snprintf(text, sizeof(text), "templates: {t: {%s%s}}\nchildren: {}\n", made,
	               more);
	put_file("main.yaml", text);
}

START_TEST(a_template_that_no_actor_uses_is_refused_for_root)
{
	CHECK_NEEDS(geteuid() == 0, "root");
	put_program("prog", "");
	put_template(keys[_i], "");
	expect_safety(NULL, CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("prog"), 0757), 0);
	expect_safety("everybody can write to the file", CONF_ERROR);
	ck_assert_int_eq(chmod(support_path("prog"), 0775), 0);
	expect_safety("its group can write to the file", CONF_ERROR);
	/* An actor may be the owner's. */
	ck_assert_int_eq(chown(support_path("prog"), 65533, 0), 0);
	ck_assert_int_eq(chmod(support_path("prog"), 0755), 0);
	expect_safety(NULL, CONF_ERROR);
	put_template(keys[_i], ", user: daemon");
	expect_safety("belongs to user 65533", CONF_ERROR);
}
END_TEST

Suite *
suite_safety(void)
{
	Suite *suite = suite_create("safety");
	TCase *tcase = new_case("safety");

	tcase_add_test(tcase, a_file_that_others_can_write_is_refused_for_root);
	tcase_add_test(tcase, a_file_of_another_owner_is_refused_for_root);
	tcase_add_test(tcase, a_start_only_warns_of_another_owner);
	tcase_add_test(tcase,
	               a_directory_on_the_way_that_others_can_write_is_refused_for_root);
	tcase_add_test(tcase, an_included_file_that_others_can_write_is_refused_for_root);
	tcase_add_test(tcase, a_link_that_others_can_replace_is_refused_for_root);
	tcase_add_test(tcase, a_program_that_others_can_write_is_refused_for_root);
	tcase_add_test(tcase,
	               a_program_below_a_root_that_others_can_write_is_refused_for_root);
	tcase_add_loop_test(tcase, what_a_program_executes_is_refused_for_root, 0,
	                    (int)ARRAY_SIZE(executions));
	tcase_add_loop_test(tcase, an_argument_that_is_not_executed_may_belong_to_others,
	                    0, (int)ARRAY_SIZE(harmless));
	tcase_add_test(tcase, the_group_of_a_user_alone_may_write_what_the_user_owns);
	tcase_add_loop_test(tcase, a_template_that_no_actor_uses_is_refused_for_root, 0,
	                    (int)ARRAY_SIZE(keys));
	suite_add_tcase(suite, tcase);
	return suite;
}
