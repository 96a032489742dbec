#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl status, list, tree and is-…, against a supd of canned answers."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from canned import check, expect, one, pong, said, using
from fake_supd import (TREE, actor, cause, failure, run, status_of, supctl, supervisor, tree, Close,
                       Error, Hang, Reply, Supd)


def test_status_prints_an_aligned_line_for_each_actor():
    calls = one(tree(), "status", out=(
        "PATH           STATE     PID  UPTIME  RESTARTS  REMARK\n"
        "/user          degraded  -    1m1s    0\n"
        "/user/app      degraded  -    1m1s    0\n"
        "/user/app/db   running   100  1m1s    0\n"
        "/user/app/api  failed    -    -       5         killed by SIGSEGV\n"
        "/user/web      running   102  1m1s    1         last: exited with code 1\n"))
    check(calls == [("Status", {"brief": True}, True)], calls)


def test_a_supd_that_does_not_know_brief_is_asked_without():
    whole = status_of(TREE)

    def status(parameters, supd):
        if "brief" in parameters:
            return [Error("org.varlink.service.InvalidParameter", parameter="brief")]
        return whole(parameters, supd)
    calls = one(Supd(Status=status), "list", "web", out=(
        "PATH       STATE    PID  UPTIME  RESTARTS  REMARK\n"
        "/user/web  running  102  1m1s    1         last: exited with code 1\n"))
    check([c[1] for c in calls] == [{"names": ["web"], "brief": True}, {"names": ["web"]}], calls)


def test_status_without_names_is_0_whatever_the_states():
    one(tree(), "status", status=0)


def test_status_in_json_is_one_array_of_what_supd_sent():
    def body(s):
        result = supctl(s, "-o", "json", "status")
        expect(result, 0)
        check(json.loads(result.out) == TREE, result)
    using(tree(), body)


def test_an_empty_supd_is_an_empty_array():
    one(Supd(Status=lambda p, s: [Reply({"actors": []})]), "-o", "json", "status",
        out="[]\n")
    one(Supd(Status=lambda p, s: [Reply({"actors": []})]), "status", out="")


def test_status_of_a_name_is_a_block():
    calls = one(tree(), "status", "web", out=(
        "/user/web\n"
        "      kind  worker, permanent\n"
        "     state  running for 1m1s, since 2024-05-01 12:00:01\n"
        "       pid  102\n"
        "  restarts  1\n"
        "   failure  exited with code 1, 2024-05-01 12:00:00, began in /user/app/api"
        " -> restart (supd.yaml:12)\n"))
    check(calls == [("Status", {"names": ["web"], "details": True, "resources": True}, True),
                    ("Logs", {"names": ["/user/web"], "lines": 10, "since": "@"}, True)], calls)


def test_a_block_ends_with_the_last_lines_that_the_actor_wrote():
    def logs(parameters, supd):
        yield said("/user/web", "one \x1b[31m", time="2024-05-01T12:00:01.123Z")
        yield said("/user/web", "two", more=False)

    def body(s):
        result = supctl(s, "status", "web")
        check(result.out.endswith("\n    output  2024-05-01 12:00:01.123  one \\x1b[31m\n"
                                  "            two\n"), result)
    using(tree(Logs=logs), body)


def test_supd_is_asked_for_the_last_lines_before_the_block_is_made():
    with tempfile.TemporaryDirectory() as box:
        zone = os.path.join(box, "zone")
        os.mkfifo(zone)

        def logs(parameters, supd):
            # The block has times, and the file of the time zone is empty only now.
            with open(zone, "wb"):
                pass
            yield said("/user/web", "one", more=False)

        def body(s):
            result = supctl(s, "status", "web", env={"TZ": ":" + zone})
            check(result.out.endswith("    output  one\n"), result)
        using(tree(Logs=logs), body)


def test_a_block_does_without_lines_that_cannot_be_had():
    def close(parameters, supd):
        yield said("/user/web", "one")
        yield Close
    for logs, more in ((lambda p, s: [Error("InvalidState", name="/user/web", state="running",
                                            message="its output goes elsewhere")],
                        "    output  its output goes elsewhere\n"),
                       (lambda p, s: [Reply({"path": "", "time": None, "stream": "",
                                             "text": ""})], ""),
                       (close, "    output  one\n"),
                       (lambda p, s: [said("/user/web", "one"), Hang],
                        "    output  one\n            (no answer in 3s: the log cannot be read "
                        "now, perhaps its disk hangs)\n")):
        def body(s, more=more):
            result = supctl(s, "status", "web")
            expect(result, 0)
            check(result.out.endswith(" (supd.yaml:12)\n" + more), result)
        using(tree(Logs=logs), body)


def test_lines_that_hang_are_waited_for_once():
    both = Supd(Status=status_of([actor("/user/a"), actor("/user/b")]), Logs=lambda p, s: [Hang])

    def body(s):
        result = supctl(s, "status", "a", "b")
        expect(result, 0)
        check(result.out.count("(no answer in 3s: ") == 1 and result.out.count("kind") == 2, result)
        check([c[0] for c in s.calls].count("Logs") == 1, s.calls)
    using(both, body)


def test_supervisors_have_no_lines_in_their_blocks():
    calls = one(tree(), "status", "/user", "-o", "text")
    check([c[0] for c in calls] == ["Status", "Status"], calls)


def test_a_block_says_in_words_what_is_special():
    special = actor("/user/x", state="backoff", pid=None, uptime_ms=None, ready=False,
                    held=True, description="the x", restarts=3, window=2, limit=3,
                    restarts_by={"failure": 2, "end": 1, "group": 0, "command": 4},
                    last_exit={"cause": cause("ended by SIGKILL"), "killed_after_ms": 3000,
                               "at": "2024-05-01T12:00:00.100Z"},
                    health="bad", details={
                        "command": ["/bin/sh", "-c", "x y"], "file": "/etc/a.yaml", "line": 7,
                        "sockets": [{"name": "http", "address": "tcp:*:80"},
                                    {"name": "s", "address": "unix:/run/s"}],
                        "log": "/var/log/x.log"},
                    backoff={"failures": 3, "delay_ms": 800, "due_in_ms": 1250},
                    waits_for=["/user/a", "/user/b"], status="bye\x1b[31m",
                    dead_letters=2, resources={"memory_bytes": 3565158,
                                               "cpu_usec": 1200000, "processes": 1,
                                               "descriptors": 7})
    one(Supd(Status=status_of([special])), "status", "x", status=3, out=(
        "/user/x - the x\n"
        "      kind  worker, permanent\n"
        "     state  backoff, since 2024-05-01 12:00:01, held (start releases it)\n"
        " waits for  /user/a, /user/b\n"
        "    status  \"bye\\x1b[31m\"\n"
        "      dead  2 letters\n"
        "   command  /bin/sh -c 'x y'\n"
        "      file  /etc/a.yaml:7\n"
        "   sockets  http tcp:*:80, s unix:/run/s\n"
        "    health  bad\n"
        "       log  /var/log/x.log\n"
        "      uses  memory 3.3M, cpu 1.2s, 1 process, 7 descriptors\n"
        "  restarts  3 (2 failure, 1 end, 4 command); 2 of at most 3\n"
        "   backoff  3 failures in a row, delay 800ms, restart in 1.2s\n"
        " last exit  ended by SIGKILL: did not stop within 3s, killed,"
        " 2024-05-01 12:00:00\n"))


def test_a_stop_says_that_the_process_had_to_be_killed():
    stopped = actor("/user/x", state="stopped", pid=None, uptime_ms=None, ready=False,
                    last_exit={"cause": cause("killed by SIGKILL"), "killed_after_ms": 3000,
                               "at": "2024-05-01T12:00:00.100Z"})
    one(Supd(Stop=lambda p, s: [Reply({"actors": [stopped]})]), "stop", "x",
        out="/user/x  stopped    did not stop within 3s, killed\n")


def test_the_block_of_a_supervisor_has_its_children_and_is_degraded():
    calls = one(tree(), "status", "app", out=(
        "/user/app\n"
        "      kind  supervisor, permanent, rest_for_one\n"
        "     state  degraded for 1m1s, since 2024-05-01 12:00:01\n"
        "  restarts  0; of its children 2 of at most 5 within 1m\n"
        "  children  2\n"
        "            PATH  STATE    PID  UPTIME  RESTARTS  REMARK\n"
        "            db    running  100  1m1s    0\n"
        "            api   failed   -    -       5         killed by SIGSEGV\n"))
    check([c[1] for c in calls] == [{"names": ["app"], "details": True, "resources": True}, {"brief": True}], calls)


def test_status_of_one_that_does_not_run_is_3():
    one(tree(), "status", "api", status=3)
    one(tree(), "list", "api", status=3, out=(
        "PATH           STATE   PID  UPTIME  RESTARTS  REMARK\n"
        "/user/app/api  failed  -    -       5         killed by SIGSEGV\n"))
    one(tree(), "-o", "json", "status", "api", status=3)


def test_status_of_an_unknown_name_is_4_and_the_others_are_shown():
    one(tree(), "list", "nope", "web", status=4, err="list nope: no such actor", out=(
        "PATH       STATE    PID  UPTIME  RESTARTS  REMARK\n"
        "/user/web  running  102  1m1s    1         last: exited with code 1\n"))


def test_an_ambiguous_name_is_4_with_the_candidates():
    answer = lambda p, s: [Error("NoSuchActor", name="db",
                                 candidates=["/user/a/db", "/user/b/db"])]
    one(Supd(Status=answer), "status", "db", status=4,
        err="the name is not unique: /user/a/db, /user/b/db")


def test_a_near_miss_is_4_with_what_was_meant():
    answer = lambda p, s: [Error("NoSuchActor", name="wbe", candidates=["/user/web"])]
    one(Supd(Status=answer), "status", "wbe", status=4, err="did you mean /user/web?")


def test_a_glob_that_matches_nothing_is_4():
    one(tree(), "status", "zz*", status=4, err="no actor matches")


def test_the_list_says_in_words_what_is_remarkable():
    actors = [
        actor("/user/a", state="backoff", pid=None, uptime_ms=None, ready=False,
              backoff={"failures": 1, "delay_ms": 200, "due_in_ms": 150},
              last_failure=failure()),
        actor("/user/b", state="stopped", held=True, pid=None, uptime_ms=None),
        actor("/user/c", sigstopped=True, status="3 of 4 \"done\"\n"),
        actor("/user/d", state="waiting", waits_for=["/user/a"], pid=None,
              uptime_ms=None),
        actor("/user/e", ready=False, uptime_ms=93784000, pid=1),
    ]
    one(Supd(Status=status_of(actors)), "ls", out=(
        "PATH     STATE    PID   UPTIME  RESTARTS  REMARK\n"
        "/user/a  backoff  -     -       0         restart in 150ms; killed by SIGSEGV\n"
        "/user/b  stopped  -     -       0         held\n"
        "/user/c  running  4711  1m1s    0         "
        "stopped by a signal; \"3 of 4 \"done\"\\n\"\n"
        "/user/d  waiting  -     -       0         waits for /user/a\n"
        "/user/e  running  1     1d2h    0         not ready\n"))


def test_each_column_of_the_list_but_the_last_is_one_word():
    def body(s):
        lines = supctl(s, "status").out.splitlines()
        for line in lines[1:]:
            words = line.split()
            check(len(words) >= 5 and words[4].isdigit() and
                  (words[2] == "-" or words[2].isdigit()), line)
            for i, name in enumerate(lines[0].split()[:5]):
                check(line[lines[0].index(name):].split()[0] == words[i], (name, line))
    using(tree(), body)


def test_ten_thousand_actors_come_through():
    many = [supervisor("/user")] + [actor("/user/w-%d" % i) for i in range(10000)]

    def body(s):
        result = supctl(s, "status")
        check(result.status == 0 and len(result.out.splitlines()) == 10002, result.err)
    using(Supd(Status=status_of(many)), body)


def test_tree_draws_ascii_without_a_utf8_locale():
    one(tree(), "tree", out=(
        "/user      degraded  one_for_one\n"
        "|- app     degraded  rest_for_one, restarts: 2 of at most 5 within 1m\n"
        "|  |- db   running   pid 100, up 1m1s\n"
        "|  `- api  failed    5 restarts"
        "                                        killed by SIGSEGV\n"
        "`- web     running   pid 102, up 1m1s, 1 restart                       "
        "last: exited with code 1\n"))


def test_tree_draws_lines_in_a_utf8_locale():
    def body(s):
        result = supctl(s, "tree", env={"LANG": "en_US.UTF-8"})
        lines = result.out.splitlines()
        check(lines[1].startswith("├─ app ") and lines[3].startswith("│  └─ api "), result)
    using(tree(), body)


def test_tree_of_a_name_begins_there():
    calls = one(tree(), "tree", "app", out=(
        "/user/app  degraded  rest_for_one, restarts: 2 of at most 5 within 1m\n"
        "|- db      running   pid 100, up 1m1s\n"
        "`- api     failed    5 restarts                                        "
        "killed by SIGSEGV\n"))
    check(len(calls) == 2, calls)


def test_tree_for_graphviz_has_nodes_and_edges():
    def body(s):
        result = supctl(s, "tree", "--dot")
        check(result.out.startswith("digraph supd {\n"), result)
        check('"/user/app" [label="app\\nrest_for_one\\ndegraded", color=orange];'
              in result.out, result)
        check('"/user/app" -> "/user/app/db";' in result.out, result)
        check(result.out.endswith("}\n"), result)
    using(tree(), body)


def test_tree_in_json_is_the_array_of_what_is_drawn():
    def body(s):
        result = supctl(s, "tree", "app", "-o", "json")
        check(json.loads(result.out) == TREE[1:4], result)
    using(tree(), body)


def test_is_active_is_silent_and_0_3_or_4():
    one(tree(), "is-active", "web", status=0, out="")
    one(tree(), "is-active", "api", status=3, out="")
    one(tree(), "is-active", "app/*", status=3, out="")
    one(tree(), "is-active", "nope", status=4, out="", err="no such actor")


def test_is_failed_and_is_ready():
    one(tree(), "is-failed", "api", status=0, out="")
    one(tree(), "is-failed", "web", status=3, out="")
    one(tree(), "is-ready", "web", status=0, out="")
    one(tree(), "is-ready", "api", status=3, out="")


def test_is_healthy_is_0_or_3_for_an_actor_and_all_below_it():
    one(tree(), "is-healthy", "web", status=0, out="")
    one(tree(), "is-healthy", "app/db", status=0, out="")
    for names in ((), ("/user",), ("app",), ("web", "app/api")):
        one(tree(), "is-healthy", *names, status=3, out="")
    one(tree(), "is-healthy", "nope", status=4, out="", err="no such actor")
    well = [supervisor("/user"), actor("/user/a"), actor("/user/b", state="stopped")]
    one(Supd(Status=status_of(well)), "is-healthy", status=0, out="")
    well.append(actor("/user/c", state="backoff", healthy=False))
    one(Supd(Status=status_of(well)), "is-healthy", status=3, out="")


def test_status_can_be_confined_to_what_is_not_well():
    one(tree(), "status", "--failed", out=(
        "PATH           STATE   PID  UPTIME  RESTARTS  REMARK\n"
        "/user/app/api  failed  -    -       5         killed by SIGSEGV\n"))
    one(Supd(Status=status_of([actor("/user/a")])), "status", "--failed", out="")
    sick = actor("/user/a", health="bad", healthy=False)
    one(Supd(Status=status_of([sick])), "status", "--failed", out=(
        "PATH     STATE    PID   UPTIME  RESTARTS  REMARK\n"
        "/user/a  running  4711  1m1s    0         does not pass its health check\n"))

    def body(s):
        result = supctl(s, "-o", "json", "status", "--failed")
        check([a["path"] for a in json.loads(result.out)] == ["/user/app/api"], result)
    using(tree(), body)


def test_pid_prints_the_process_or_3():
    one(tree(), "pid", "web", out="102\n")
    one(tree(), "pid", "api", status=3, out="", err="/user/app/api has no process")
    one(tree(), "-o", "json", "pid", "web", out="[102]\n")


def test_pid_without_a_name_is_that_of_supd():
    one(Supd(Ping=pong), "pid", out="77\n")


def test_ping_says_who_answers():
    one(Supd(Ping=pong), "ping", out="supd 9.9, pid 77, up 2h\n")


def test_version_says_both_and_needs_no_supd():
    def body(s):
        result = supctl(s, "version")
        check(result.status == 0 and "supd   9.9\n" in result.out, result)
        result = supctl(s, "version", "-o", "json")
        check(json.loads(result.out)["supd"] == "9.9", result)
    using(Supd(Ping=pong), body)
    result = supctl(None, "-s", "/nonexistent/s", "version")
    check(result.status == 0 and "does not answer at /nonexistent/s" in result.out, result)


def test_a_pattern_is_explained_actor_by_actor():
    def answer(parameters, supd):
        return [Reply({"text": "story of %s\n" % parameters["name"]})]
    calls = one(Supd(Status=status_of([actor("/user/a1"), actor("/user/a2")]),
                     Explain=answer), "explain", "a*",
                out="story of /user/a1\n\nstory of /user/a2\n")
    check([c[0] for c in calls] == ["Status", "Explain", "Explain"], calls)


def test_explain_prints_the_story():
    answer = lambda p, s: [Reply({"path": "/user/web", "chain": [], "last_words": [],
                                  "text": "It died.\n  Twice\x1b[2J."})]
    calls = one(Supd(Explain=answer), "explain", "web",
                out="It died.\n  Twice\\x1b[2J.\n")
    check(calls == [("Explain", {"name": "web"}, False)], calls)


def test_a_story_has_the_times_and_users_of_the_reader():
    text = ("/user/a failed at 2024-05-01T12:00:00.123456Z: exited with 3.\n"
            "  | uid 0 at 2024-05-01T12:00:00Z\n"
            "Command at 2024-05-01T12:00:01Z: stop /user/a, given by uid 0 (process 5).\n")
    answer = lambda p, s: [Reply({"path": "/user/a", "chain": [], "last_words": [],
                                  "text": text})]
    for options, zone, hour in (((), "UTC", 12), ((), "UTC-3", 15), (("--utc",), "UTC-3", 12)):
        one(Supd(Explain=answer), *options, "explain", "a", env={"TZ": zone}, out=(
            "/user/a failed at 2024-05-01 %d:00:00.123: exited with 3.\n"
            "  | uid 0 at 2024-05-01T12:00:00Z\n"
            "Command at 2024-05-01 %d:00:01: stop /user/a, given by user root (process 5).\n"
            % (hour, hour)))
    one(Supd(Explain=answer), "-o", "json", "explain", "a", out=json.dumps(
        {"path": "/user/a", "chain": [], "last_words": [], "text": text}) + "\n")


def test_explain_without_a_name_is_about_what_is_not_well():
    answer = lambda p, s: [Reply({"path": p["name"], "chain": [], "last_words": [],
                                  "text": "The story of %s.\n" % p["name"]})]
    one(tree(Explain=answer), "explain", out="The story of /user/app/api.\n")
    one(Supd(Status=status_of([actor("/user/a"), actor("/user/b")])), "explain",
        out="Nothing is wrong with any of the 2 actors.\n")


if __name__ == "__main__":
    sys.exit(run(dict(globals())))
