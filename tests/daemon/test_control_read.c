/* SPDX-License-Identifier: ISC */
/* test_control_read.c - calls that read: the status, names, stories, keys. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/spawn/spawn.h"
#include "tests/lib/family.h"

START_TEST(status_has_every_field_of_every_actor_in_start_order)
{
	static const char *const paths[] = {
	    "/user",         "/user/a",           "/user/b",           "/user/app",
	    "/user/app/api", "/user/app/crawl@1", "/user/app/crawl@2",
	};
	json_t *reply = check_reply(client_call(&client, "Status", "{}", ""));

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const json_t *actor = actor_of(reply, i);

		ck_assert_str_eq(text_at(actor, "path"), paths[i]);
		ck_assert_str_eq(text_at(actor, "state"), "running");
		ck_assert_uint_eq(json_object_size(actor), 33);
	}
	ck_assert_ptr_null(actor_of(reply, ARRAY_SIZE(paths)));
	ck_assert_str_eq(text_at(actor_of(reply, 0), "kind"), "supervisor");
	ck_assert_str_eq(text_at(actor_of(reply, 0), "strategy"), "one_for_one");
	ck_assert(json_is_null(json_object_get(actor_of(reply, 0), "pid")));
	ck_assert(json_is_integer(json_object_get(actor_of(reply, 1), "pid")));
	ck_assert(json_is_null(json_object_get(actor_of(reply, 1), "strategy")));
	ck_assert(json_is_null(json_object_get(actor_of(reply, 1), "backoff")));
	ck_assert(json_is_null(json_object_get(actor_of(reply, 1), "last_failure")));
	json_decref(reply);
}
END_TEST

START_TEST(status_tells_of_the_last_failure)
{
	const json_t *failure;
	json_t *reply;

	fake_dies(fake, "/user/a", -1, SIGSEGV);
	fake_run(fake);
	reply = check_reply(client_call(&client, "Status", "{\"names\":[\"a\"]}", ""));
	failure = json_object_get(actor_of(reply, 0), "last_failure");
	ck_assert_uint_eq(json_object_size(failure), 5);
	ck_assert_str_eq(text_at(failure, "origin"), "/user/a");
	ck_assert_str_eq(text_at(failure, "directive"), "restart");
	ck_assert_str_eq(text_at(failure, "rule"), "preset default");
	ck_assert_str_eq(text_at(json_object_get(failure, "cause"), "signal"), "SEGV");
	ck_assert_int_eq(
	    json_integer_value(json_object_get(actor_of(reply, 0), "restarts")), 1);
	json_decref(reply);
}
END_TEST

/* Time passes between two answers. */
static bool
is_older(const char *key, const json_t *value, const json_t *later)
{
	return strcmp(key, "uptime_ms") == 0 && json_is_integer(value) &&
	       json_is_integer(later) &&
	       json_integer_value(later) >= json_integer_value(value);
}

/* Is what is told in brief that of the whole, at this depth? */
static bool
is_part_of(json_t *brief, const json_t *whole)
{
	const char *key;
	json_t *member;

	json_object_foreach(brief, key, member)
	{
		json_t *same = json_object_get(whole, key);

		if (json_is_object(member)
		        ? !is_part_of(member, same)
		        : !json_equal(member, same) && !is_older(key, member, same))
			return false;
	}
	return true;
}

/* null, false, 0 */
static bool
says_nothing(const json_t *value)
{
	return json_is_null(value) || json_is_false(value) ||
	       (json_is_integer(value) && json_integer_value(value) == 0);
}

/* The only members of which a brief answer may have a part, or nothing. */
static bool
is_shortened(const char *key)
{
	return strcmp(key, "backoff") == 0 || strcmp(key, "last_exit") == 0;
}

START_TEST(brief_actors_have_what_a_line_of_a_list_is_made_of)
{
	static const char *const keys[] = {
	    "path",     "kind",      "state",          "pid",      "ready",
	    "held",     "backoff",   "uptime_ms",      "restarts", "sigstopped",
	    "degraded", "last_exit", "health",         "healthy",  "last_failure",
	    "status",   "waits_for", "output_blocked",
	};
	json_t *brief, *whole;

	fake_dies(fake, "/user/a", -1, SIGSEGV);
	fake_run(fake);
	json_decref(check_reply(
	    client_call(&client, "Stop", "{\"names\":[\"b\"],\"hold\":true}", "")));
	json_decref(
	    check_reply(client_call(&client, "Suspend", "{\"names\":[\"api\"]}", "")));
	brief = check_reply(client_call(&client, "Status", "{\"brief\":true}", ""));
	whole = check_reply(client_call(&client, "Status", "{}", ""));
	for (size_t i = 0; actor_of(whole, i) != NULL; i++) {
		json_t *actor = json_deep_copy(actor_of(brief, i));

		ck_assert(is_part_of(actor, actor_of(whole, i)));
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			ck_assert_msg(json_object_del(actor, keys[k]) == 0 ||
			                  is_shortened(keys[k]) ||
			                  says_nothing(json_object_get(actor_of(whole, i),
			                                               keys[k])),
			              "%s", keys[k]);
		ck_assert_uint_eq(json_object_size(actor), 0);
		json_decref(actor);
	}
	json_decref(brief);
	/* All in one reply, also where more could follow. */
	brief = check_reply(
	    client_call(&client, "Status", "{\"brief\":true}", ",\"more\":true"));
	ck_assert_uint_eq(json_array_size(json_object_get(brief, "actors")),
	                  json_array_size(json_object_get(whole, "actors")));
	json_decref(brief);
	json_decref(whole);
}
END_TEST

START_TEST(status_tells_what_the_core_was_not_told_yet)
{
	json_t *reply;

	fake_dies(fake, "/user/a", -1, SIGSEGV);
	reply = check_reply(client_call(&client, "Status", "{\"names\":[\"a\"]}", ""));
	ck_assert(json_is_object(json_object_get(actor_of(reply, 0), "last_failure")));
	json_decref(reply);
}
END_TEST

static void
check_names(const char *name, const char *expected)
{
	char parameters[200];
	struct strbuf paths;
	json_t *reply;

	(void)snprintf(parameters, sizeof(parameters), "{\"names\":[\"%s\"]}", name);
	reply = check_reply(client_call(&client, "Status", parameters, ""));
	strbuf_init(&paths, 1000);
	for (size_t i = 0; actor_of(reply, i) != NULL; i++)
		strbuf_addf(&paths, "%s ", text_at(actor_of(reply, i), "path"));
	ck_assert_msg(strcmp(strbuf_str(&paths), expected) == 0, "%s: %s", name,
	              strbuf_str(&paths));
	strbuf_done(&paths);
	json_decref(reply);
}

START_TEST(names_are_paths_last_names_globs_and_replicas)
{
	check_names("/user", "/user ");
	check_names("/user/app/api", "/user/app/api ");
	check_names("app/api", "/user/app/api ");
	check_names("api", "/user/app/api ");
	check_names("app", "/user/app ");
	check_names("app/*", "/user/app/api /user/app/crawl@1 /user/app/crawl@2 ");
	check_names("*", "/user/a /user/b /user/app ");
	check_names("crawl@*", "/user/app/crawl@1 /user/app/crawl@2 ");
	check_names("crawl", "/user/app/crawl@1 /user/app/crawl@2 ");
	check_names("app/crawl", "/user/app/crawl@1 /user/app/crawl@2 ");
	check_names("/user/app/crawl", "/user/app/crawl@1 /user/app/crawl@2 ");
	check_names("crawl@2", "/user/app/crawl@2 ");
	check_names("a\",\"*\",\"b", "/user/a /user/b /user/app ");
}
END_TEST

START_TEST(an_unknown_name_gets_the_nearest_names)
{
	json_t *reply = client_call(&client, "Status", "{\"names\":[\"apu\"]}", "");
	const json_t *candidates = json_object_get(parameters_of(reply), "candidates");

	ck_assert_str_eq(text_at(reply, "error"), "io.supd.Control.NoSuchActor");
	ck_assert_str_eq(text_at(parameters_of(reply), "name"), "apu");
	ck_assert_uint_eq(json_array_size(candidates), 2);
	ck_assert_str_eq(json_string_value(json_array_get(candidates, 0)), "/user/app");
	ck_assert_str_eq(json_string_value(json_array_get(candidates, 1)),
	                 "/user/app/api");
	json_decref(reply);
	check_error(client_call(&client, "Status", "{\"names\":[\"x*\"]}", ""),
	            "io.supd.Control.NoSuchActor", "name", "x*");
	check_error(client_call(&client, "Status", "{\"names\":[\"/\"]}", ""),
	            "io.supd.Control.NoSuchActor", "name", "/");
	check_error(client_call(&client, "Status", "{\"names\":[\"\"]}", ""),
	            "io.supd.Control.NoSuchActor", "name", "");
}
END_TEST

START_TEST(a_last_name_that_several_have_is_ambiguous)
{
	json_t *reply;

	(void)fake_add(fake, "/user/app/a", NODE_WORKER);
	fake_run(fake);
	check_names("a", "/user/a ");
	check_names("app/a", "/user/app/a ");
	(void)fake_add(fake, "/user/app2", NODE_SUPERVISOR);
	(void)fake_add(fake, "/user/app2/api", NODE_WORKER);
	fake_run(fake);
	reply = client_call(&client, "Status", "{\"names\":[\"api\"]}", "");
	ck_assert_str_eq(text_at(reply, "error"), "io.supd.Control.NoSuchActor");
	ck_assert_uint_eq(
	    json_array_size(json_object_get(parameters_of(reply), "candidates")), 2);
	json_decref(reply);
	/* Where one is meant, several are ambiguous too. */
	check_error(client_call(&client, "Explain", "{\"name\":\"crawl\"}", ""),
	            "io.supd.Control.NoSuchActor", "name", "crawl");
}
END_TEST

START_TEST(the_story_of_a_failure_is_told_in_plain_words)
{
	static const char *const parts[] = {
	    "/user/a failed at ", "killed by SIGSEGV",
	    "preset default",     "restart",
	    "one_for_one",        "1 of at most 5 restarts",
	    "within 1m",          "Now: running as process 1",
	};
	const json_t *chain;
	json_t *reply;

	fake_dies(fake, "/user/a", -1, SIGSEGV);
	fake_run(fake);
	reply = check_reply(client_call(&client, "Explain", "{\"name\":\"a\"}", ""));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		ck_assert_msg(strstr(text_at(parameters_of(reply), "text"), parts[i]) !=
		                  NULL,
		              "'%s' is not in: %s", parts[i],
		              text_at(parameters_of(reply), "text"));
	chain = json_object_get(parameters_of(reply), "chain");
	ck_assert_uint_ge(json_array_size(chain), 3);
	ck_assert_str_eq(text_at(json_array_get(chain, 0), "event"), "exited");
	ck_assert_uint_eq(json_object_size(json_array_get(chain, 0)), 4);
	json_decref(reply);
	reply = check_reply(client_call(&client, "Explain", "{\"name\":\"b\"}", ""));
	ck_assert_ptr_nonnull(
	    strstr(text_at(parameters_of(reply), "text"), "has not failed"));
	ck_assert_uint_eq(json_array_size(json_object_get(parameters_of(reply), "chain")),
	                  0);
	json_decref(reply);
}
END_TEST

START_TEST(a_story_that_the_stream_forgot_is_told_from_the_core)
{
	json_t *reply;

	fake_dies(fake, "/user/a", 3, 0);
	fake_run(fake);
	memset(fake->supd.events.ring, 0, sizeof(*fake->supd.events.ring));
	events_attach(&fake->supd.events, fake->supd.events.ring);
	reply = check_reply(client_call(&client, "Explain", "{\"name\":\"a\"}", ""));
	ck_assert_ptr_nonnull(
	    strstr(text_at(parameters_of(reply), "text"), "exited with 3"));
	json_decref(reply);
}
END_TEST

START_TEST(giving_up_and_escalating_are_part_of_the_story)
{
	const json_t *chain;
	const char *text;
	json_t *reply;

	for (int i = 0; i < 6; i++) {
		fake_dies(fake, "/user/app/api", 3, 0);
		fake_run(fake);
		/* Restarts of what dies at once are paced. */
		fake->rig.now_ms += 1000;
		fake_run(fake);
	}
	reply = check_reply(client_call(&client, "Explain", "{\"name\":\"app\"}", ""));
	text = text_at(parameters_of(reply), "text");
	ck_assert_msg(strstr(text, "/user/app failed at ") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "/user/app gave up") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "the last to fail was /user/app/api") != NULL, "%s",
	              text);
	chain = json_object_get(parameters_of(reply), "chain");
	ck_assert_str_eq(text_at(json_array_get(chain, 0), "event"), "exited");
	ck_assert_str_eq(text_at(json_array_get(chain, 0), "path"), "/user/app/api");
	json_decref(reply);
	reply = check_reply(client_call(&client, "Explain", "{\"name\":\"api\"}", ""));
	text = text_at(parameters_of(reply), "text");
	ck_assert_msg(strstr(text, "/user/app/api failed at ") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "(intensity exceeded)") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "/user/app gave up") != NULL, "%s", text);
	json_decref(reply);
}
END_TEST

static char key_names[3][12] = {"backoff.max", "backoff.min", "command"};
static char key_values[3][8] = {"\"30s\"", "\"1s\"", "[\"x\"]"};
static struct conf_key keys[] = {
    {.key = key_names[0], .value = key_values[0], .file = CONF_NONE},
    {.key = key_names[1], .value = key_values[1], .file = 0, .line = 7},
    {.key = key_names[2], .value = key_values[2], .file = 0, .line = 6},
};

START_TEST(the_effective_keys_are_nested_and_have_their_places)
{
	struct conf_actor *conf = &fake->confs[fake_ref(fake, "/user/a").slot];
	const json_t *spec;
	const json_t *origin;
	json_t *reply;

	conf->keys = keys;
	conf->n_keys = ARRAY_SIZE(keys);
	reply = check_reply(client_call(&client, "Describe", "{\"name\":\"a\"}", ""));
	spec = json_object_get(parameters_of(reply), "spec");
	origin = json_object_get(parameters_of(reply), "origin");
	ck_assert_str_eq(text_at(json_object_get(spec, "backoff"), "min"), "1s");
	ck_assert_str_eq(text_at(json_object_get(spec, "backoff"), "max"), "30s");
	ck_assert_uint_eq(json_array_size(json_object_get(spec, "command")), 1);
	ck_assert_uint_eq(json_array_size(origin), 2);
	ck_assert_str_eq(text_at(json_array_get(origin, 0), "key"), "backoff.min");
	ck_assert_str_eq(text_at(json_array_get(origin, 0), "file"), "supd.yaml");
	json_decref(reply);
}
END_TEST

START_TEST(a_configuration_that_is_not_there_is_told_with_its_file)
{
	json_t *reply = client_call(&client, "Apply", "{}", "");
	const json_t *errors = json_object_get(parameters_of(reply), "errors");

	ck_assert_str_eq(text_at(reply, "error"), "io.supd.Control.ConfigInvalid");
	ck_assert_uint_eq(json_array_size(errors), 1);
	ck_assert_str_eq(text_at(json_array_get(errors, 0), "file"), FAKE_CONF_FILE);
	json_decref(reply);
	check_error(client_call(&client, "Apply", "{\"rollback_ms\":86400001}", ""),
	            "org.varlink.service.InvalidParameter", "parameter", "rollback_ms");
	check_error(client_call(&client, "Apply", "{\"undo\":true}", ""),
	            "io.supd.Control.InvalidState", "message",
	            "no other configuration was in force before");
}
END_TEST

/* ---- readers of logs --------------------------------------------------------------- */

static pid_t readers[4];
static size_t n_readers;

int __wrap_os_spawn(struct spawner *spawner, const struct spawn *spawn,
                    struct spawn_result *ret);
bool __wrap_logs_request(struct conn *conn, struct strbuf *ret, bool *ret_grows);
int __wrap_kill(pid_t pid, int signo);
int __real_kill(pid_t pid, int signo);

/* The process of a reader: each request gets an answer. */
int
__wrap_os_spawn(struct spawner *spawner, const struct spawn *spawn,
                struct spawn_result *ret)
{
	static const char answer[] = "{\"text\":\"x\"}\n.\n";
	char request;

	(void)spawner;
	*ret = (struct spawn_result){.pid = fork()};
	if (ret->pid == 0) {
		while (read(spawn->fds[0], &request, 1) == 1)
			(void)!write(spawn->fds[1], answer, sizeof(answer) - 1);
		_exit(0);
	}
	ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	ck_assert_int_ge(ret->pidfd, 0);
	ck_assert_uint_lt(n_readers, ARRAY_SIZE(readers));
	readers[n_readers++] = ret->pid;
	return 0;
}

bool
__wrap_logs_request(struct conn *conn, struct strbuf *ret, bool *ret_grows)
{
	(void)conn;
	*ret_grows = false;
	*ret = STRBUF(1);
	strbuf_addc(ret, '?');
	return true;
}

/* A reader that is killed takes its time to die. */
int
__wrap_kill(pid_t pid, int signo)
{
	for (size_t i = 0; i < n_readers; i++)
		if (readers[i] == pid)
			return 0;
	return __real_kill(pid, signo);
}

static void
call_logs(void)
{
	json_t *reply;

	client_send(&client, "{\"method\":\"io.supd.Control.Logs\",\"more\":true,"
	                     "\"parameters\":{\"names\":[\"a\"]}}");
	do {
		fake_run(fake);
		reply = client_reply(&client);
	} while (reply == NULL);
	ck_assert_str_eq(text_at(parameters_of(reply), "text"), "x");
	json_decref(reply);
}

START_TEST(a_call_of_logs_has_no_reader_that_is_being_ended)
{
	struct control *control = fake->supd.control;

	n_readers = 0;
	call_logs();
	call_logs();
	ck_assert_uint_eq(n_readers, 1);
	logs_on_spare(fake->supd.loop, &control->spare_timer, 0);
	call_logs();
	ck_assert_uint_eq(n_readers, 2);
	for (size_t i = 0; i < n_readers; i++)
		(void)__real_kill(readers[i], SIGKILL);
	n_readers = 0;
}
END_TEST

static void
add_tests(TCase *tcase)
{
	const TTest *const tests[] = {
	    status_has_every_field_of_every_actor_in_start_order,
	    status_tells_of_the_last_failure,
	    brief_actors_have_what_a_line_of_a_list_is_made_of,
	    status_tells_what_the_core_was_not_told_yet,
	    names_are_paths_last_names_globs_and_replicas,
	    an_unknown_name_gets_the_nearest_names,
	    a_last_name_that_several_have_is_ambiguous,
	    the_story_of_a_failure_is_told_in_plain_words,
	    a_story_that_the_stream_forgot_is_told_from_the_core,
	    giving_up_and_escalating_are_part_of_the_story,
	    the_effective_keys_are_nested_and_have_their_places,
	    a_configuration_that_is_not_there_is_told_with_its_file,
	    a_call_of_logs_has_no_reader_that_is_being_ended,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tcase, tests[i]);
}

int
main(void)
{
	return fake_main("control read", set_up, tear_down, add_tests);
}
