/* SPDX-License-Identifier: ISC */
/* support.h - files to load, and what to expect of them. */
#ifndef TESTS_CONF_SUPPORT_H
#define TESTS_CONF_SUPPORT_H

#include <check.h>

#include "conf/text/conf.h"

/* Each test has a directory of its own, made and removed by the fixture. */
void support_setup(void);
void support_teardown(void);
const char *support_path(const char *name);

/* Write a file of the directory; "main.yaml" is what the functions below load. */
void put_file(const char *name, const char *text);
void put_bytes(const char *name, const char *bytes, size_t len);

/* Load main.yaml; the reports are "line:column: path: message" lines, errors only. */
struct conf *load_text(const char *text);
struct conf *load_main(bool warn, struct conf_reports *ret_reports);
void expect_errors(const char *text, const char *expected);
void expect_first(const char *text, const char *expected);
void expect_warnings(const char *text, const char *expected);
void expect_fault(const char *text, const char *place, const char *words);

/* An actor, or a key of an actor, that must exist. */
const struct conf_actor *actor_at(const struct conf *conf, const char *path);
const char *key_of(const struct conf *conf, const char *path, const char *key);

void same_conf(const struct conf *a, const struct conf *b);
int pack_good(const struct conf *conf);
struct conf *unpack_good(int fd);
/* Every configuration that a test loads goes through this. */
void expect_same_when_thawed(const struct conf *conf);

TCase *new_case(const char *name);

Suite *suite_attributes(void);
Suite *suite_yaml(void);
Suite *suite_faults(void);
Suite *suite_reports(void);
Suite *suite_values(void);
Suite *suite_process_values(void);
Suite *suite_compose(void);
Suite *suite_pack(void);
Suite *suite_pack_shares(void);
Suite *suite_output(void);
Suite *suite_plan(void);
Suite *suite_lint(void);
Suite *suite_safety(void);
Suite *suite_noise(void);
Suite *suite_starved(void);

#endif
