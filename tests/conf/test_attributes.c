/* SPDX-License-Identifier: ISC */
/* test_attributes.c - rights and priorities: what is written arrives, what cannot be is
 * told at its place.
 */
#include "config.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/rng.h"
#include "conf/read/envfile.h"
#include "tests/conf/support.h"

/* One key of a worker `a`, and the JSON of the key that comes of it. */
static const struct {
	const char *written;
	const char *key;
	const char *json;
} shown[] = {
    {"nice: -20", "nice", "-20"},
    {"nice: 19", "nice", "19"},
    {"nice: -1", "nice", "-1"},
    {"nice: 0", "nice", "0"},
    {"enabled: true", "nice", "(none)"},
    {"oom_score_adj: -1000", "oom_score_adj", "-1000"},
    {"oom_score_adj: 1000", "oom_score_adj", "1000"},
    {"cpu_affinity: [0]", "cpu_affinity", "[0]"},
    {"cpu_affinity: 0-0", "cpu_affinity", "0"},
    {"scheduler: {policy: batch}", "scheduler.policy", "\"batch\""},
    {"scheduler: {policy: batch}", "scheduler.priority", "(none)"},
    {"scheduler: {policy: idle, priority: 0}", "scheduler.priority", "0"},
    {"scheduler: {policy: fifo}", "scheduler.priority", "1"},
    {"scheduler: {policy: rr, priority: 99}", "scheduler.priority", "99"},
    {"io_priority: {class: best-effort}", "io_priority.level", "4"},
    {"io_priority: {class: realtime, level: 0}", "io_priority.level", "0"},
    {"io_priority: {class: idle}", "io_priority.level", "(none)"},
    {"io_priority: {class: idle}", "io_priority.class", "\"idle\""},
    {"capabilities: {bounding: [CAP_NET_RAW, chown, cap_kill, NET_ADMIN]}",
     "capabilities.bounding", "[\"net_raw\",\"chown\",\"kill\",\"net_admin\"]"},
    {"capabilities: {ambient: CAP_CHECKPOINT_RESTORE}", "capabilities.ambient",
     "\"checkpoint_restore\""},
    {"capabilities: {ambient: []}", "capabilities.ambient", "[]"},
    {"no_new_privileges: true", "no_new_privileges", "true"},
    {"enabled: true", "no_new_privileges", "false"},
    {"root: /srv", "root", "\"/srv\""},
    {"enabled: true", "root", "(none)"},
    {"clear_environment: true", "clear_environment", "true"},
    {"environment_file: -/no/such/file", "environment_file", "\"-/no/such/file\""},
    {"environment_file: [-/a, -/b]", "environment_file", "[\"-/a\",\"-/b\"]"},
    {"supplementary_groups: [root, 7]", "supplementary_groups", "[\"root\",\"7\"]"},
    {"stdin: file:/dev/zero", "stdin", "\"file:/dev/zero\""},
    {"stdin: null", "stdin", "\"null\""},
    {"enabled: true", "stdin", "\"null\""},
    {"limits: {core: '0:unlimited'}", "limits.core", "\"0:unlimited\""},
};

/* 157 C21. */
START_TEST(a_key_is_shown_in_one_spelling)
{
	struct conf *conf;
	char text[512];

	(void)snprintf(text, sizeof(text), "children: {a: {command: [x], %s}}\n",
	               shown[_i].written);
	conf = load_text(text);
	ck_assert_str_eq(key_of(conf, "/user/a", shown[_i].key), shown[_i].json);
	conf_free(conf);
}
END_TEST

/* One key of a worker `a`; where in the line the fault is, and words of the sentence. */
static const struct {
	const char *written;
	const char *place;
	const char *words;
} faults[] = {
    {"nice: 20", "1:36: error: children.a.nice",
     "write a number from -20, which is before all others, to 19"},
    {"nice: -21", "1:36: error: children.a.nice", "`-21` is not allowed here"},
    {"nice: -", "1:36: error: children.a.nice", "`-` is not allowed here"},
    {"nice: high", "1:36: error: children.a.nice", "`high` is not allowed here"},
    {"oom_score_adj: 1001", "1:45: error: children.a.oom_score_adj", "-1000"},
    {"oom_score_adj: -1001", "1:45: error: children.a.oom_score_adj", "-1000"},
    {"cpu_affinity: []", "1:44: error: children.a.cpu_affinity", "no processor is left"},
    {"cpu_affinity: [0, 8000]", "1:48: error: children.a.cpu_affinity[1]",
     "there is no processor 8000: this machine has 0 to "},
    {"cpu_affinity: [0-8191]", "1:45: error: children.a.cpu_affinity[0]",
     "there is no processor 8191"},
    {"cpu_affinity: 8192", "1:44: error: children.a.cpu_affinity",
     "write a list of processors, such as [0, 2-3]"},
    {"cpu_affinity: [3-2]", "1:45: error: children.a.cpu_affinity[0]",
     "the range `3-2` runs backwards"},
    {"cpu_affinity: [-1]", "1:45: error: children.a.cpu_affinity[0]",
     "`-1` is not allowed"},
    {"cpu_affinity: [all]", "1:45: error: children.a.cpu_affinity[0]",
     "write the number of a processor, or a range such as 2-3"},
    {"scheduler: {policy: fiffo}", "1:50: error: children.a.scheduler.policy",
     "did you mean `fifo`?"},
    {"scheduler: {priority: 3}", "1:41: error: children.a.scheduler",
     "`policy` is missing here"},
    {"scheduler: {policy: batch, priority: 3}",
     "1:67: error: children.a.scheduler.priority", "`batch` has no priority: write 0"},
    {"scheduler: {policy: rr, priority: 0}", "1:64: error: children.a.scheduler.priority",
     "with `rr` the priority is a number from 1 to 99"},
    {"scheduler: {policy: rr, priority: 100}",
     "1:64: error: children.a.scheduler.priority", "a number from 1 to 99"},
    {"scheduler: batch", "1:41: error: children.a.scheduler",
     "write a mapping such as {policy: batch}"},
    {"io_priority: {class: besteffort}", "1:51: error: children.a.io_priority.class",
     "did you mean `best-effort`?"},
    {"io_priority: {class: idle, level: 8}", "1:64: error: children.a.io_priority.level",
     "a number from 0, which goes first, to 7"},
    {"io_priority: {level: 3}", "1:43: error: children.a.io_priority",
     "`class` is missing here"},
    {"capabilities: {bounding: [net_bind_servcie]}",
     "1:56: error: children.a.capabilities.bounding[0]",
     "did you mean `net_bind_service`?"},
    {"capabilities: {ambient: [CAP_EVERYTHING]}",
     "1:55: error: children.a.capabilities.ambient[0]",
     "write a capability such as net_bind_service or CAP_NET_BIND_SERVICE"},
    {"capabilities: {bounding: [kill], ambient: [chown]}",
     "1:73: error: children.a.capabilities.ambient", "`chown` is missing in `bounding`"},
    {"capabilities: {permitted: []}", "1:45: error: children.a.capabilities.permitted",
     "there are: bounding, ambient"},
    {"capabilities: [kill]", "1:44: error: children.a.capabilities",
     "write a mapping such as {bounding: [net_bind_service], ambient: []}"},
    {"no_new_privileges: yes", "1:49: error: children.a.no_new_privileges",
     "write `true` or `false`"},
    {"stdin: /dev/zero", "1:37: error: children.a.stdin", "write `null` or file:PATH"},
    {"stdin: \"file:\"", "1:37: error: children.a.stdin", "write `null` or file:PATH"},
    {"environment_file: -", "1:48: error: children.a.environment_file",
     "a path, with a - before it"},
    {"environment_file: [/no/such/file]", "1:49: error: children.a.environment_file[0]",
     "there is no file /no/such/file; write -/no/such/file"},
    {"environment_file: /", "1:48: error: children.a.environment_file",
     "/ is not a regular file"},
    {"supplementary_groups: [root, no-such-group]",
     "1:59: error: children.a.supplementary_groups[1]",
     "there is no group `no-such-group` on this machine"},
    {"supplementary_groups: no-such-group",
     "1:52: error: children.a.supplementary_groups", "there is no group"},
    {"limits: {nofile: unlimited}", "1:47: error: children.a.limits.nofile",
     "no process of this machine may have more than "},
    {"limits: {nofile: '2:1'}", "1:47: error: children.a.limits.nofile",
     "the soft limit is above the hard one"},
};

START_TEST(each_fault_is_reported_at_its_place)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "children: {a: {command: [x], %s}}\n",
	               faults[_i].written);
	expect_fault(text, faults[_i].place, faults[_i].words);
}
END_TEST

START_TEST(what_is_written_arrives)
{
	struct conf *conf = load_text(
	    "children: {a: {command: [x], nice: -3, oom_score_adj: -7, cpu_affinity: "
	    "[0],\n"
	    "  scheduler: {policy: rr, priority: 8}, io_priority: {class: realtime, "
	    "level: 2},\n"
	    "  capabilities: {bounding: [kill, chown], ambient: [chown]}, root: /srv,\n"
	    "  no_new_privileges: true, clear_environment: true, stdin: file:/dev/zero,\n"
	    "  environment_file: -/a}, b: {command: [x]}}\n");
	const struct conf_process *a = actor_at(conf, "/user/a")->process;
	const struct conf_process *b = actor_at(conf, "/user/b")->process;
	const struct attributes none = {0};

	ck_assert_int_eq(a->attributes.nice, -3);
	ck_assert_int_eq(a->attributes.oom_score_adj, -7);
	ck_assert_uint_eq(a->attributes.n_cpus, 1);
	ck_assert_uint_eq(a->attributes.cpus[0], 1);
	ck_assert_int_eq(a->attributes.policy, SCHED_RR);
	ck_assert_int_eq(a->attributes.priority, 8);
	ck_assert_int_eq(a->attributes.io_priority, 1 << 13 | 2);
	ck_assert_uint_eq(a->attributes.bounding, 1 << 0 | 1 << 5);
	ck_assert_uint_eq(a->attributes.ambient, 1 << 0);
	ck_assert(a->attributes.no_new_privileges);
	ck_assert(a->world.clear_environment);
	ck_assert_str_eq(a->world.root, "/srv");
	ck_assert_str_eq(a->world.input, "/dev/zero");
	ck_assert_str_eq(a->world.environment_files[0], "-/a");
	ck_assert_ptr_null(a->world.environment_files[1]);
	ck_assert_int_eq(memcmp(&b->attributes, &none, sizeof(none)), 0);
	ck_assert_ptr_null(b->world.environment_files);
	ck_assert_ptr_null(b->world.input);
	ck_assert_ptr_null(b->world.root);
	conf_free(conf);
}
END_TEST

START_TEST(supplementary_groups_come_to_those_of_the_user_once_each)
{
	struct conf *conf =
	    load_text("children: {a: {command: [x], user: root, group: 12,\n"
	              "  supplementary_groups: [4000000000, root, 4000000000]}}\n");
	const struct conf_process *a = actor_at(conf, "/user/a")->process;
	size_t roots = 0;

	ck_assert_uint_eq(a->identity.gid, 12);
	ck_assert_uint_eq(a->identity.groups[a->identity.n_groups - 2], 4000000000);
	for (size_t i = 0; i < a->identity.n_groups; i++)
		roots += a->identity.groups[i] == 0;
	ck_assert_uint_eq(roots, 1);
	conf_free(conf);
}
END_TEST

START_TEST(a_program_is_looked_for_below_the_root_and_in_the_path_of_the_files)
{
	char text[1024];

	put_file("here", "");
	(void)snprintf(text, sizeof(text),
	               "children:\n"
	               "  a: {command: [/here], root: %s}\n"
	               "  b: {command: [/gone], root: %s}\n"
	               "  c: {command: [/here], root: %s/nowhere}\n"
	               "  d: {command: [sh], environment_file: %s}\n",
	               support_path(""), support_path(""), support_path(""),
	               support_path("variables"));
	put_file("variables", "PATH=/no/such/directory\n");
	put_file("main.yaml", text);
	struct conf_reports reports;
	struct conf *conf = load_main(true, &reports);
	struct strbuf out;

	ck_assert_ptr_nonnull(conf);
	strbuf_init(&out, 1 << 16);
	conf_reports_format(&reports, &out);
	ck_assert_msg(strstr(strbuf_str(&out), "`/here` is not an executable file") !=
	                  NULL,
	              "%s", strbuf_str(&out));
	ck_assert_msg(strstr(strbuf_str(&out), "there is no program `/gone` below /") !=
	                  NULL,
	              "%s", strbuf_str(&out));
	ck_assert_msg(strstr(strbuf_str(&out), "/nowhere`") != NULL, "%s",
	              strbuf_str(&out));
	ck_assert_msg(strstr(strbuf_str(&out), "there is no program `sh` in PATH") !=
	                  NULL,
	              "%s", strbuf_str(&out));
	strbuf_done(&out);
	conf_reports_done(&reports);
	conf_free(conf);
}
END_TEST

/* ---- files of variables ---- */

static void
note(void *data, const char *key, const char *value)
{
	strbuf_addf(data, "%s=[%s]", key, value);
}

static const struct {
	const char *text;
	const char *variables; /* or, with a line number, what is wrong */
} files[] = {
    {"", ""},
    {"\n\n# A=1\n;B=2\n  # C=3\n", ""},
    {"A=1", "A=[1]"},
    {"A=1\nB=2\n", "A=[1]B=[2]"},
    {"A=\nB=\n", "A=[]B=[]"},
    {"A=1\r\n\r\nB=2\r\n", "A=[1]B=[2]"},
    {" A = 1 2  \n", "A=[1 2]"},
    {"\tA=\t1\t\n", "A=[1]"},
    {"A=b=c\n", "A=[b=c]"},
    {"A=#b\n", "A=[#b]"},
    {"A='b'\n", "A=[b]"},
    {"A=''\nB=\"\"\n", "A=[]B=[]"},
    {"A=' b '  \n", "A=[ b ]"},
    {"A='b'c\n", "A=[bc]"},
    {"A='b' \"c\" d\n", "A=[bcd]"},
    {"A=b'c'\n", "A=[b'c']"},
    {"A='b\\'\n", "A=[b\\]"},
    {"A='b\nc'\nB=1\n", "A=[b\nc]B=[1]"},
    {"A=\"b\\\"c\\\\\\$\\`\\d\"\n", "A=[b\"c\\$`\\d]"},
    {"A=\"b\\\nc\"\n", "A=[bc]"},
    {"A=b\\\nc\nB=1\n", "A=[bc]B=[1]"},
    {"A=b\\\r\nc\n", "A=[bc]"},
    {"A=\\ b\\ \n", "A=[ b ]"},
    {"A=\\'b\\'\n", "A=['b']"},
    {"A=b\\\\\n", "A=[b\\]"},
    {"A=b\\", "A=[b]"},
    {"A='x'", "A=[x]"},
    {"_a9=1\n", "_a9=[1]"},
    {"A=\xc3\xa4\n", "A=[\xc3\xa4]"},
    {"# one\nA\n", "2: that is no KEY=value"},
    {"=1\n", "1: what is before the = cannot be a name"},
    {"A B=1\n", "1: what is before the = cannot be a name"},
    {"1A=1\n", "1: what is before the = cannot be a name"},
    {"a.b=1\n", "1: what is before the = cannot be a name"},
    {"A=1\nexport B=2\n", "2: write KEY=value without `export`"},
    {"A=1\nB='2\nC=3\n", "2: the quote ' is not closed"},
    {"A=\"1\\\"\n", "1: the quote \" is not closed"},
    {"A=\"1\\", "1: the quote \" is not closed"},
    {"A='x\ny'\n\nB\n", "4: that is no KEY=value"},
    {"A=x\\\ny\nB\n", "3: that is no KEY=value"},
};

START_TEST(a_file_of_variables_is_read_as_systemd_reads_it)
{
	struct err err = {0};
	struct strbuf found;
	int r;

	put_file("variables", files[_i].text);
	strbuf_init(&found, 65536);
	r = envfile_read(support_path("variables"), note, &found, &err);
	if (files[_i].variables[0] >= '0' && files[_i].variables[0] <= '9') {
		ck_assert_int_lt(r, 0);
		ck_assert_msg(strstr(err.text, files[_i].variables) != NULL, "%s",
		              err.text);
	} else {
		ck_assert_msg(r == 0, "%s", err.text);
		ck_assert_str_eq(strbuf_str(&found), files[_i].variables);
	}
	strbuf_done(&found);
}
END_TEST

/* Whatever stands there is read within its bounds, or refused. */
START_TEST(a_spoilt_file_of_variables_is_read_or_refused)
{
	static const char alphabet[] = "A=\"'\\ \t\r\n#;$`b";
	const size_t len = strlen(alphabet);
	struct rng rng;

	rng_seed(&rng, 4711);
	for (int i = 0; i < 3000; i++) {
		struct err err = {0};
		struct strbuf found;
		char text[24];
		size_t n = rng_below(&rng, sizeof(text));

		for (size_t j = 0; j < n; j++)
			text[j] = alphabet[rng_below(&rng, len)];
		put_bytes("variables", text, n);
		strbuf_init(&found, 65536);
		if (envfile_read(support_path("variables"), note, &found, &err) < 0)
			ck_assert_ptr_nonnull(strstr(err.text, "variables:"));
		ck_assert_uint_le(found.len, n + 2 * n);
		strbuf_done(&found);
	}
}
END_TEST

START_TEST(a_file_with_a_nul_in_it_or_too_large_is_refused)
{
	char *large = calloc(1, ENVFILE_BYTES_MAX + 2);
	struct err err;

	put_bytes("variables", "A=1\0B=2\n", 8);
	ck_assert_int_lt(envfile_read(support_path("variables"), note, NULL, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "has a NUL character in it"));
	memset(large, 'A', ENVFILE_BYTES_MAX + 1);
	large[1] = '=';
	put_file("variables", large);
	ck_assert_int_lt(envfile_read(support_path("variables"), note, NULL, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "is too large: it may have 262144 bytes"));
	free(large);
}
END_TEST

START_TEST(paths_are_relative_to_their_file)
{
	struct conf *conf = load_text(
	    "control: {socket: run/x.sock}\nlog: {directory: ./logs}\n"
	    "children:\n"
	    "  a: {command: ./worker.sh --in ./x, directory: ., stdin: file:in,\n"
	    "      environment_file: -.env, output: file:sub/../out.log,\n"
	    "      sockets: {s: unix:a.sock}, ready: {unix: ./b.sock}}\n"
	    "  b: {command: [~/bin/x, '~/y', '${file.dir}/z'], directory: '~'}\n");
	const struct conf_process *a = actor_at(conf, "/user/a")->process;
	const struct conf_process *b = actor_at(conf, "/user/b")->process;
	char *const *const a_argv = actor_at(conf, "/user/a")->argv;
	char *const *const b_argv = actor_at(conf, "/user/b")->argv;
	char here[PATH_MAX];
	char home[PATH_MAX];
	const struct {
		const char *got;
		const char *expected;
	} rows[] = {
	    {conf->control_socket, "run/x.sock"},
	    {conf->log_directory, "logs"},
	    {a_argv[0], "worker.sh"},
	    {a->world.input, "in"},
	    {a->world.environment_files[0] + 1, ".env"},
	    {a->output.out.file, "sub/../out.log"},
	    {a->sockets[0].address, "a.sock"},
	    {a->readiness.probe.address, "b.sock"},
	    {b_argv[2], "z"},
	};

	(void)snprintf(here, sizeof(here), "%s", conf->files[0]);
	*strrchr(here, '/') = '\0';
	ck_assert_str_eq(a->world.directory, here);
	ck_assert_str_eq(a_argv[2], "./x");
	ck_assert_int_eq(a->world.environment_files[0][0], '-');
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t len = strlen(here);

		ck_assert_msg(strncmp(rows[i].got, here, len) == 0 &&
		                  rows[i].got[len] == '/' &&
		                  strcmp(rows[i].got + len + 1, rows[i].expected) == 0,
		              "%s instead of %s", rows[i].got, rows[i].expected);
	}
	ck_assert_ptr_nonnull(conf_own_home(NULL, home, sizeof(home)));
	ck_assert(strncmp(b_argv[0], b->world.directory, strlen(b->world.directory)) ==
	          0);
	ck_assert_str_eq(b_argv[0] + strlen(b->world.directory), "/bin/x");
	ck_assert_str_eq(b_argv[1], "~/y");
	conf_free(conf);
}
END_TEST

START_TEST(shell_is_a_command_of_the_shell)
{
	struct conf *conf =
	    load_text("templates:\n  t: {shell: 'old'}\n  u: {command: [x]}\n"
	              "children:\n"
	              "  a: {shell: 'echo $$HOME > ${actor.name} | x'}\n"
	              "  b: {use: t}\n"
	              "  c: {use: u, shell: new}\n"
	              "  d: {use: t, command: [x, y]}\n");
	char *const *a = actor_at(conf, "/user/a")->argv;

	ck_assert_str_eq(a[0], "/bin/sh");
	ck_assert_str_eq(a[1], "-c");
	ck_assert_str_eq(a[2], "echo $HOME > a | x");
	ck_assert_ptr_null(a[3]);
	ck_assert_str_eq(actor_at(conf, "/user/b")->argv[2], "old");
	ck_assert_str_eq(actor_at(conf, "/user/c")->argv[2], "new");
	ck_assert_str_eq(actor_at(conf, "/user/d")->argv[0], "x");
	conf_free(conf);
}
END_TEST

Suite *
suite_attributes(void)
{
	Suite *suite = suite_create("attributes");
	TCase *tcase = new_case("attributes");

	tcase_add_loop_test(tcase, a_key_is_shown_in_one_spelling, 0,
	                    (int)ARRAY_SIZE(shown));
	tcase_add_loop_test(tcase, each_fault_is_reported_at_its_place, 0,
	                    (int)ARRAY_SIZE(faults));
	tcase_add_test(tcase, what_is_written_arrives);
	tcase_add_test(tcase, supplementary_groups_come_to_those_of_the_user_once_each);
	tcase_add_loop_test(tcase, a_file_of_variables_is_read_as_systemd_reads_it, 0,
	                    (int)ARRAY_SIZE(files));
	tcase_add_test(tcase, a_spoilt_file_of_variables_is_read_or_refused);
	tcase_add_test(tcase, a_file_with_a_nul_in_it_or_too_large_is_refused);
	tcase_add_test(tcase, paths_are_relative_to_their_file);
	tcase_add_test(tcase, shell_is_a_command_of_the_shell);
	tcase_add_test(
	    tcase, a_program_is_looked_for_below_the_root_and_in_the_path_of_the_files);
	suite_add_tcase(suite, tcase);
	return suite;
}
