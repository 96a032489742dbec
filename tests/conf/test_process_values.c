/* SPDX-License-Identifier: ISC */
/* test_process_values.c - what is written of a process arrives: its command, sockets,
 * outputs, probes and user. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/conf/support.h"

/* A command as one text, and its words with | after each. */
static const struct {
	const char *text;
	const char *words;
} commands[] = {
    {"a b  c", "a|b|c|"},
    {"  a\tb ", "a|b|"},
    {"a 'b c' d", "a|b c|d|"},
    {"a \"b c\" d", "a|b c|d|"},
    {"a 'b'\"c\"d", "a|bcd|"},
    {"a ''", "a||"},
    {"a 'b\\c'", "a|b\\c|"},
    {"a \"b\\\"c\\d\"", "a|b\"c\\d|"},
    {"a b\\ c", "a|b c|"},
    {"a \\'b", "a|'b|"},
    {"a b#c $HOME *", "a|b#c|$HOME|*|"},
    {"a \"b'c\"", "a|b'c|"},
};

START_TEST(a_command_is_split_by_the_quoting_rules_of_the_shell)
{
	struct strbuf text;
	struct strbuf words;
	struct conf *conf;

	strbuf_init(&text, 4096);
	strbuf_init(&words, 4096);
	strbuf_adds(&text, "children: {a: {command: ");
	strbuf_add_json(&text, commands[_i].text);
	strbuf_adds(&text, "}}\n");
	conf = load_text(strbuf_str(&text));
	for (char **arg = actor_at(conf, "/user/a")->argv; *arg != NULL; arg++)
		strbuf_addf(&words, "%s|", *arg);
	ck_assert_str_eq(strbuf_str(&words), commands[_i].words);
	conf_free(conf);
	strbuf_done(&text);
	strbuf_done(&words);
}
END_TEST

static const struct {
	const char *written;
	enum socket_kind kind;
	const char *address;
	uint16_t port;
} addresses[] = {
    {"tcp:127.0.0.1:8080", SOCKET_TCP, "127.0.0.1", 8080},
    {"tcp:*:80", SOCKET_TCP, "", 80},
    {"tcp::80", SOCKET_TCP, "", 80},
    {"tcp:[::1]:443", SOCKET_TCP, "::1", 443},
    {"tcp:[::]:443", SOCKET_TCP, "::", 443},
    {"tcp:localhost:0", SOCKET_TCP, "127.0.0.1", 0},
    {"unix:/run/x.sock", SOCKET_UNIX, "/run/x.sock", 0},
};

START_TEST(socket_addresses_are_taken_apart)
{
	struct conf *conf;
	const struct conf_socket *socket;
	char text[256];

	(void)snprintf(text, sizeof(text),
	               "children: {a: {command: [x], sockets: {s: '%s'}}}\n",
	               addresses[_i].written);
	conf = load_text(text);
	ck_assert_uint_eq(actor_at(conf, "/user/a")->process->n_sockets, 1);
	socket = &actor_at(conf, "/user/a")->process->sockets[0];
	ck_assert_str_eq(socket->name, "s");
	ck_assert_int_eq(socket->kind, addresses[_i].kind);
	ck_assert_str_eq(socket->address, addresses[_i].address);
	ck_assert_uint_eq(socket->port, addresses[_i].port);
	ck_assert_uint_eq(socket->uid, (uid_t)-1);
	conf_free(conf);
}
END_TEST

START_TEST(a_socket_may_be_a_mapping)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a:\n"
	              "    command: [x]\n"
	              "    sockets:\n"
	              "      s: {listen: unix:/run/s, mode: \"0600\", user: root,\n"
	              "          group: root, backlog: 5, while_down: queue}\n"
	              "      t: unix:/run/t\n");
	const struct conf_socket *sockets = actor_at(conf, "/user/a")->process->sockets;

	ck_assert_str_eq(sockets[0].address, "/run/s");
	ck_assert_uint_eq(sockets[0].mode, 0600);
	ck_assert_uint_eq(sockets[0].uid, 0);
	ck_assert_uint_eq(sockets[0].gid, 0);
	ck_assert_int_eq(sockets[0].backlog, 5);
	ck_assert_uint_eq(sockets[0].place.line, 5);
	ck_assert_str_eq(sockets[1].name, "t");
	ck_assert_uint_eq(sockets[1].mode, 0666);
	conf_free(conf);
}
END_TEST

START_TEST(many_may_ask_for_any_free_port)
{
	conf_free(
	    load_text("children:\n"
	              "  a: {command: [x], replicas: 3, sockets: {s: 'tcp:*:0'}}\n"));
}
END_TEST

START_TEST(what_a_process_needs_arrives)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a:\n"
	              "    command: [x]\n"
	              "    directory: /srv\n"
	              "    umask: \"0077\"\n"
	              "    environment: {A: b, C: 'd e'}\n"
	              "    limits: {nofile: '10:1K', core: unlimited}\n"
	              "    output: {stdout: file:/var/log/a, stderr: null}\n"
	              "    containment: session\n"
	              "    notify: true\n");
	const struct conf_process *process = actor_at(conf, "/user/a")->process;

	ck_assert_str_eq(process->world.directory, "/srv");
	ck_assert_uint_eq(process->world.umask, 0077);
	ck_assert_str_eq(process->world.environment[0], "A=b");
	ck_assert_str_eq(process->world.environment[1], "C=d e");
	ck_assert_ptr_null(process->world.environment[2]);
	ck_assert_uint_eq(process->n_limits, 2);
	ck_assert_int_eq(process->limits[0].resource, RLIMIT_NOFILE);
	ck_assert_uint_eq(process->limits[0].value.rlim_cur, 10);
	ck_assert_uint_eq(process->limits[0].value.rlim_max, 1024);
	ck_assert_int_eq(process->limits[1].resource, RLIMIT_CORE);
	ck_assert_uint_eq(process->limits[1].value.rlim_max, RLIM_INFINITY);
	ck_assert_int_eq(process->output.out.kind, OUTPUT_FILE);
	ck_assert_str_eq(process->output.out.file, "/var/log/a");
	ck_assert_int_eq(process->output.err.kind, OUTPUT_NULL);
	ck_assert(!process->output.out_is_err);
	ck_assert_int_eq(process->containment, CONTAINMENT_SESSION);
	ck_assert(process->readiness.notify);
	ck_assert_int_eq(actor_at(conf, "/user/a")->spec->core.start.ready, READY_EXEC);
	conf_free(conf);
}
END_TEST

START_TEST(the_same_file_for_both_outputs_is_one_target)
{
	struct conf *conf = load_text(
	    "children:\n"
	    "  a: {command: [x], output: {stdout: file:/a, stderr: file:/a}}\n"
	    "  b: {command: [x], output: {stdout: file:/a, stderr: file:/b}}\n");

	ck_assert(actor_at(conf, "/user/a")->process->output.out_is_err);
	ck_assert(!actor_at(conf, "/user/b")->process->output.out_is_err);
	conf_free(conf);
}
END_TEST

START_TEST(a_probe_is_taken_apart)
{
	struct conf *conf = load_text(
	    "children:\n"
	    "  a: {command: [x], ready: {tcp: 'localhost:80', interval: 2s, timeout: "
	    "3s}}\n"
	    "  b: {command: [x], health: {http: 'http://[::1]:8080/h?x=${replica}'},\n"
	    "      replicas: 2}\n"
	    "  c: {command: [x], health: {http: 'http://127.0.0.1?q', failures: 7}}\n"
	    "  d: {command: [x], health: {exec: 'test -e \"a b\"', initial_delay: 1m}}\n"
	    "  e: {command: [x], ready: {unix: /s}, health: off}\n");
	const struct conf_actor *a = actor_at(conf, "/user/a");
	const struct conf_probe *b = &actor_at(conf, "/user/b@2")->process->health;
	const struct conf_probe *c = &actor_at(conf, "/user/c")->process->health;
	const struct conf_actor *d = actor_at(conf, "/user/d");
	const struct conf_actor *e = actor_at(conf, "/user/e");

	ck_assert_int_eq(a->spec->core.start.ready, READY_PROBED);
	ck_assert_uint_eq(a->spec->core.start.ready_interval_ms, 2000);
	ck_assert_uint_eq(a->spec->core.start.timeout_ms, 90000);
	ck_assert_uint_eq(a->process->readiness.probe.timeout_ms, 3000);
	ck_assert_int_eq(a->process->readiness.probe.kind, PROBE_TCP);
	ck_assert_str_eq(a->process->readiness.probe.address, "127.0.0.1");
	ck_assert_uint_eq(a->process->readiness.probe.port, 80);
	ck_assert(!a->process->readiness.notify);
	ck_assert(!a->spec->core.health.on);
	ck_assert_int_eq(b->kind, PROBE_HTTP);
	ck_assert_str_eq(b->address, "::1");
	ck_assert_uint_eq(b->port, 8080);
	ck_assert_str_eq(b->host, "[::1]:8080");
	ck_assert_str_eq(b->resource, "/h?x=2");
	ck_assert_uint_eq(c->port, 80);
	ck_assert_str_eq(c->host, "127.0.0.1");
	ck_assert_str_eq(c->resource, "/?q");
	ck_assert_uint_eq(actor_at(conf, "/user/c")->spec->core.health.failures, 7);
	ck_assert(d->spec->core.health.on);
	ck_assert_int_eq(d->process->health.kind, PROBE_EXEC);
	ck_assert_str_eq(d->process->health.command[2], "a b");
	ck_assert_ptr_null(d->process->health.command[3]);
	ck_assert_uint_eq(d->spec->core.health.initial_delay_ms, 60000);
	ck_assert_uint_eq(d->spec->core.health.interval_ms, 10000);
	ck_assert_str_eq(e->process->readiness.probe.address, "/s");
	ck_assert(!e->spec->core.health.on);
	ck_assert_uint_ne(actor_at(conf, "/user/b@1")->spec->core.health.what,
	                  actor_at(conf, "/user/b@2")->spec->core.health.what);
	conf_free(conf);
}
END_TEST

START_TEST(notify_readiness_gives_a_socket_and_a_timeout)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a: {command: [x], ready: notify}\n"
	              "  b: {command: [x], ready: notify, start_timeout: 3s}\n");

	ck_assert(actor_at(conf, "/user/a")->process->readiness.notify);
	ck_assert_int_eq(actor_at(conf, "/user/a")->spec->core.start.ready, READY_TOLD);
	ck_assert_uint_eq(actor_at(conf, "/user/a")->spec->core.start.timeout_ms, 90000);
	ck_assert_uint_eq(actor_at(conf, "/user/b")->spec->core.start.timeout_ms, 3000);
	conf_free(conf);
}
END_TEST

START_TEST(users_and_groups_are_resolved)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a: {command: [x], user: root}\n"
	              "  b: {command: [x], user: 0, group: 12}\n"
	              "  c: {command: [x], group: 4000000000, user: '4000000001'}\n");
	const struct conf_process *a = actor_at(conf, "/user/a")->process;
	const struct conf_process *b = actor_at(conf, "/user/b")->process;
	const struct conf_process *c = actor_at(conf, "/user/c")->process;

	ck_assert_uint_eq(a->identity.uid, 0);
	ck_assert_str_eq(a->identity.user_name, "root");
	ck_assert_ptr_nonnull(a->identity.home);
	ck_assert_uint_ge(a->identity.n_groups, 1);
	ck_assert(b->identity.has_user);
	ck_assert_uint_eq(b->identity.gid, 12);
	ck_assert_uint_eq(c->identity.uid, 4000000001);
	ck_assert_uint_eq(c->identity.gid, 4000000000);
	ck_assert_ptr_null(c->identity.user_name);
	conf_free(conf);
}
END_TEST

Suite *
suite_process_values(void)
{
	Suite *suite = suite_create("process values");
	TCase *tcase = new_case("process values");

	tcase_add_loop_test(tcase, a_command_is_split_by_the_quoting_rules_of_the_shell,
	                    0, (int)ARRAY_SIZE(commands));
	tcase_add_loop_test(tcase, socket_addresses_are_taken_apart, 0,
	                    (int)ARRAY_SIZE(addresses));
	tcase_add_test(tcase, a_socket_may_be_a_mapping);
	tcase_add_test(tcase, many_may_ask_for_any_free_port);
	tcase_add_test(tcase, what_a_process_needs_arrives);
	tcase_add_test(tcase, the_same_file_for_both_outputs_is_one_target);
	tcase_add_test(tcase, a_probe_is_taken_apart);
	tcase_add_test(tcase, notify_readiness_gives_a_socket_and_a_timeout);
	tcase_add_test(tcase, users_and_groups_are_resolved);
	suite_add_tcase(suite, tcase);
	return suite;
}
