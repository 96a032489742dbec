#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl against a supd of canned answers: what is asked, what is printed, how it ends."""

import base64
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fake_supd import (Close, Error, Hang, Raw, Reply, Skip, Supd, TREE, actor, cause, command,
                       environment, failure, run, status_of, stream, supctl, supervisor, tree,
                       GUARD_S)

RECONNECT_S = 5.1  # a little more than CLIENT_RECONNECT_MS


def check(condition, seen):
    if not condition:
        raise AssertionError(repr(seen))


def expect(result, status, out=None, err=None):
    """Exit status, all of standard output, and something that is in standard error."""
    check(result.status == status, result)
    if out is not None:
        check(result.out == out, result)
    if err is None:
        check(result.err == "", result)
    else:
        check(err in result.err, result)
        check(result.err.startswith("supctl: ") or ":" in result.err, result)


def using(supd, body):
    try:
        body(supd)
        check(not supd.problems, supd.problems)
    finally:
        supd.close()


def one(supd, *arguments, status=0, out=None, err=None, **more):
    """One command against a supd of its own; returns the calls that supd got."""
    def body(s):
        expect(supctl(s, *arguments, **more), status, out, err)
    using(supd, body)
    return supd.calls


def without_token(calls):
    """The calls of an acting verb, without the token, which differs in each call."""
    return [(method, {k: v for k, v in parameters.items() if k != "token"}, more)
            for method, parameters, more in calls]


# ---- status, list, tree ----------------------------------------------------------


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


def test_a_block_does_without_lines_that_cannot_be_had():
    def close(parameters, supd):
        yield said("/user/web", "one")
        yield Close
    for logs, more in ((lambda p, s: [Error("InvalidState", name="/user/web", state="running",
                                            message="its output goes elsewhere")],
                        "    output  its output goes elsewhere\n"),
                       (lambda p, s: [Reply({"path": "", "time": None, "stream": "",
                                             "text": ""})], ""),
                       (close, "    output  one\n")):
        def body(s, more=more):
            result = supctl(s, "status", "web")
            expect(result, 0)
            check(result.out.endswith(" (supd.yaml:12)\n" + more), result)
        using(tree(Logs=logs), body)


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


# ---- is-*, pid, ping, version, explain -------------------------------------------


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


PONG = {"version": "9.9", "pid": 77, "walker_pid": 0, "uptime_ms": 7200000}


def pong(parameters, supd):
    return [Reply(dict(PONG))]


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


# ---- start, stop, restart, reset, signal, kill, shutdown ---------------------------


def done(**fields):
    def answer(parameters, supd):
        return [Reply({"actors": [actor("/user/" + n, **fields)
                                  for n in parameters["names"]]})]
    return answer


def test_start_calls_once_for_each_name_and_says_how_they_are():
    calls = one(Supd(Start=done()), "start", "a", "b", out=(
        "/user/a  running  pid 4711\n"
        "/user/b  running  pid 4711\n"))
    check([c[1]["names"] for c in calls] == [["a"], ["b"]], calls)
    tokens = [c[1]["token"] for c in calls]
    check(len(set(tokens)) == 2 and all(len(t) == 32 for t in tokens), tokens)
    check(all(set(c[1]) == {"names", "token"} for c in calls), calls)


def test_stop_passes_hold_no_wait_and_the_timeout():
    calls = one(Supd(Stop=done(state="stopping")), "--timeout", "90s", "stop", "--hold",
                "--no-wait", "a")
    parameters = calls[0][1]
    check(parameters["hold"] is True and parameters["wait"] is False, calls)
    check(0 < parameters["timeout_ms"] <= 90000, calls)


def test_restart_in_json_is_one_array_over_all_names():
    def body(s):
        result = supctl(s, "restart", "a", "b", "-o", "json")
        expect(result, 0)
        check([a["path"] for a in json.loads(result.out)] == ["/user/a", "/user/b"], result)
    using(Supd(Restart=done()), body)


def test_reset_has_its_aliases():
    for verb in ("reset", "reset-failed", "clear"):
        calls = one(Supd(Reset=done()), verb, "a")
        check(without_token(calls) == [("Reset", {"names": ["a"]}, False)], calls)


def test_every_error_has_its_status_and_a_sentence():
    cases = [
        (Error("NoSuchActor", name="a", candidates=[]), 4, "start a: no such actor"),
        (Error("InvalidState", name="a", state="held", message="it is held"), 7,
         "start a: it is held"),
        (Error("InvalidState", name="a", state="stopping", message=""), 7,
         "not possible while it is stopping"),
        (Error("AlreadyPresent", name="a"), 7, "exists already"),
        (Error("AlreadyStarted", name="a"), 7, "runs already"),
        (Error("StartFailed", name="a", cause=cause("exec: ENOENT")), 1,
         "start a: exec: ENOENT ('supctl explain a'"),
        (Error("LimitReached", name="a", limit=5), 1, "the limit of 5 is reached"),
        (Error("Timeout", name="a", state="starting"), 124,
         "timed out while it is starting"),
        (Error("org.varlink.service.PermissionDenied"), 5, "permission denied"),
        (Error("org.varlink.service.InvalidParameter", parameter="names"), 2,
         "does not accept this 'names'"),
        (Error("org.varlink.service.MethodNotFound", method="x"), 1, "another version"),
        (Error("com.example.Strange"), 1, "com.example.Strange"),
    ]
    for error, status, sentence in cases:
        one(Supd(Start=lambda p, s, e=error: [e]), "start", "a", status=status, out="",
            err=sentence)


def test_errors_without_parameters_do_no_harm():
    for name in ("NoSuchActor", "InvalidState", "StartFailed", "LimitReached", "Timeout",
                 "ConfigInvalid", "SlowConsumer"):
        message = b'{"error":"io.supd.Control.' + name.encode() + b'"}\0'
        def body(s):
            result = supctl(s, "start", "a")
            check(result.status in (1, 4, 7, 124) and result.err, result)
        using(Supd(Start=lambda p, s, m=message: [Raw(m)]), body)


def test_after_a_failure_the_other_names_have_their_turn_and_it_is_1():
    def answer(parameters, supd):
        if parameters["names"] == ["bad"]:
            return [Error("NoSuchActor", name="bad", candidates=[])]
        return done()(parameters, supd)
    calls = one(Supd(Start=answer), "start", "a", "bad", "b", status=1,
                err="start bad: no such actor")
    check(len(calls) == 3, calls)
    one(Supd(Start=answer), "start", "bad", "bad", status=4, err="start bad")


def test_signal_takes_names_and_numbers_of_signals():
    for sig in ("HUP", "SIGHUP", "1"):
        calls = one(Supd(Signal=lambda p, s: [Reply({})]), "signal", "a", sig, out="")
        check(without_token(calls) == [("Signal", {"name": "a", "signal": sig}, False)],
              calls)
    calls = one(Supd(), "signal", "a", "HUPP", status=2, err="no signal is called 'HUPP'")
    check(calls == [], calls)


def test_reload_with_names_lets_actors_read_their_configuration():
    calls = one(Supd(Signal=lambda p, s: [Reply({})]), "reload", "web", "db", out="")
    check([c[1] for c in without_token(calls)] == [
        {"name": "web", "signal": "reload"}, {"name": "db", "signal": "reload"}], calls)
    one(Supd(), "reload", "web", "--rollback", "5s", status=2,
        err="an option of apply does not belong to NAME")


def test_silent_verbs_say_a_word_to_people():
    answers = {m: lambda p, s: [Reply({})] for m in ("Signal", "Fail", "Delete")}
    supd = Supd(**answers)
    for arguments, out in ((("kill", "a\x1b"), "a\\x1b: TERM was sent"),
                           (("kill", "-s", "9", "a"), "a: 9 was sent"),
                           (("signal", "a", "HUP"), "a: HUP was sent"),
                           (("reload", "a"), "a: told to read its configuration again"),
                           (("fail", "a"), "a: failed, with the cause killed"),
                           (("delete", "a"), "a: deleted")):
        seen = on_a_terminal(supd, *arguments).decode()
        check(seen == out + "\r\n", (arguments, seen))
        check(on_a_terminal(supd, "-o", "json", *arguments) == b"", "json")
        check(supctl(supd, *arguments).out == "", "a pipe")
    supd.close()


def test_without_a_verb_the_actors_are_listed():
    def body(s):
        check(supctl(s).out == supctl(s, "list").out != "", "text")
        check(supctl(s, "-o", "json").out == supctl(s, "list", "-o", "json").out, "JSON")
    using(tree(), body)
    expect(supctl(None, "-s", "/nonexistent/s"), 4, "", "no supd at /nonexistent/s")


def test_kill_sends_a_signal_term_by_default():
    def signals(*args):
        calls = one(Supd(Signal=lambda p, s: [Reply({})]), "kill", *args, out="")
        return [c[1] for c in without_token(calls)]
    check(signals("a", "b") == [{"name": "a", "signal": "TERM"}, {"name": "b", "signal": "TERM"}],
          "TERM to each")
    check(signals("-s", "HUP", "a") == [{"name": "a", "signal": "HUP"}], "-s HUP")
    check(signals("a", "--signal", "9") == [{"name": "a", "signal": "9"}], "--signal 9")
    check(signals("-9", "a") == signals("a", "-9") == [{"name": "a", "signal": "9"}], "-9")
    check(signals("-HUP", "a", "--", "b") == [{"name": n, "signal": "HUP"} for n in "ab"], "-HUP")
    one(Supd(), "kill", "-HUPP", "a", status=2, err="no signal is called 'HUPP'")
    one(Supd(), "kill", "-s", "HUPP", "a", status=2, err="no signal is called 'HUPP'")


def test_metrics_come_in_pieces_and_anew_from_a_supd_that_came_back():
    def answer(parameters, supd):
        yield Reply({"openmetrics": "a 1\n"}, more=True)
        if supd.connections == 1:
            yield Close
        yield Reply({"openmetrics": "# EOF\n"})
    one(Supd(Metrics=answer), "metrics", out="a 1\n# EOF\n")
    one(Supd(Metrics=answer), "-o", "json", "metrics",
        out='{"openmetrics":"a 1\\u000a# EOF\\u000a"}\n')
    one(Supd(Metrics=lambda p, s: [Reply({"openmetrics": "a 1\n"}, more=True),
                                   Error("SlowConsumer", dropped=1)]),
        "metrics", out="", status=1, err="too slow")


def test_fail_calls_once_for_each_name():
    calls = one(Supd(Fail=lambda p, s: [Reply({})]), "fail", "a", "b", out="")
    check(calls[0][1]["token"] != calls[1][1]["token"], calls)
    check([c[1] for c in without_token(calls)] == [{"name": "a"}, {"name": "b"}], calls)


def test_every_acting_verb_calls_again_with_its_token_when_the_connection_is_lost():
    def answer(parameters, supd):
        if supd.connections < 3:
            return [Close]
        return [Reply({"actors": [actor("/user/a")], "actor": actor("/user/a")})]
    for verb in (("start", "a"), ("stop", "a"), ("restart", "a"), ("suspend", "a"),
                 ("resume", "a"), ("reset", "a"), ("signal", "a", "HUP"), ("fail", "a"),
                 ("add", "a", "--", "true"), ("delete", "a"), ("scale", "a", "2")):
        supd = Supd(**{verb[0].capitalize(): answer})
        using(supd, lambda s, verb=verb: expect(supctl(s, *verb), 0))
        check(len(supd.calls) == 3, supd.calls)
        check(len({c[1]["token"] for c in supd.calls}) == 1, supd.calls)


def test_an_acting_verb_says_when_its_outcome_is_not_known():
    one(Supd(Signal=lambda p, s: [Error("OutcomeUnknown", method="Signal")]),
        "signal", "a", "HUP", status=1, err="signal a: supd died while it carried this out")

    def vanish(parameters, supd):
        os.unlink(supd.path)
        return [Close]
    one(Supd(Fail=vanish), "fail", "a", status=1,
        err="fail a: the outcome is not known")


def test_a_caller_survives_a_second_takeover_long_after_the_first():
    # The second connection holds for longer than a lost one is looked for.
    lost = []

    def answer(parameters, supd):
        if supd.connections == 1:
            lost.append(time.monotonic())
            return [Close]
        if supd.connections == 2:
            while time.monotonic() < lost[0] + RECONNECT_S:
                time.sleep(0.05)
            return [Close]
        return done()(parameters, supd)
    calls = one(Supd(Stop=answer), "stop", "slow",
                out="/user/slow  running  pid 4711\n")
    check(len(calls) == 3 and len({c[1]["token"] for c in calls}) == 1, calls)


def test_shutdown_need_not_wait():
    def answer(parameters, supd):
        yield Reply({})

    def body(s):
        # The process at the other end is this test, which goes on: do not wait for it.
        expect(supctl(s, "shutdown", "--no-wait"), 0, "")
    using(Supd(Ping=pong, Shutdown=answer), body)


def test_shutdown_waits_for_the_process_of_supd():
    # A supd in a process of its own, which ends when it is told to.
    script = (
        "import json, os, socket, sys\n"
        "l = socket.socket(socket.AF_UNIX); l.bind(sys.argv[1]); l.listen(1)\n"
        "print(flush=True)\n"
        "c, _ = l.accept(); data = b''\n"
        "while True:\n"
        "    data += c.recv(4096)\n"
        "    while b'\\0' in data:\n"
        "        m, data = data.split(b'\\0', 1)\n"
        "        if b'Ping' in m:\n"
        "            c.sendall(json.dumps({'parameters': {'version': '1',\n"
        "                'pid': os.getpid(), 'walker_pid': 0, 'uptime_ms': 1}})\n"
        "                .encode() + b'\\0')\n"
        "        else:\n"
        "            c.sendall(b'{\"parameters\":{}}\\0'); c.close()\n"
        "            sys.stdin.readline(); open(sys.argv[2], 'w'); os._exit(0)\n")

    def body(s):
        path = os.path.join(s.directory, "own.sock")
        mark = os.path.join(s.directory, "gone")
        supd = subprocess.Popen([sys.executable, "-c", script, path, mark],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        supd.stdout.readline()
        ctl = subprocess.Popen(command("-s", path, "shutdown"), env=environment(),
                               stderr=subprocess.PIPE)
        supd.stdin.write(b"\n")
        supd.stdin.flush()
        status = ctl.wait(GUARD_S)
        check(status == 0 and os.path.exists(mark), (status, ctl.stderr.read()))
        supd.wait(GUARD_S)
        for pipe in (supd.stdin, supd.stdout, ctl.stderr):
            pipe.close()
    using(Supd(), body)


def test_shutdown_is_asked_for_again_when_the_guardian_that_was_asked_has_died():
    # The process at the other end goes on when it closes the first connection unread.
    script = (
        "import json, os, socket, sys\n"
        "l = socket.socket(socket.AF_UNIX); l.bind(sys.argv[1]); l.listen(4)\n"
        "print(flush=True)\n"
        "for n in range(3):\n"
        "    c, _ = l.accept(); data = b''\n"
        "    while b'Shutdown' not in data:\n"
        "        data += c.recv(4096)\n"
        "        if b'Ping' in data:\n"
        "            c.sendall(json.dumps({'parameters': {'version': '1',\n"
        "                'pid': os.getpid(), 'walker_pid': 0, 'uptime_ms': 1}})\n"
        "                .encode() + b'\\0'); data = b''\n"
        "    if n == 1:\n"
        "        c.sendall(b'{\"parameters\":{}}\\0')\n"
        "    if n == 2:\n"
        "        open(sys.argv[2], 'w'); os._exit(0)\n"
        "    c.close()\n")

    def body(s):
        path, mark = (os.path.join(s.directory, name) for name in ("own.sock", "gone"))
        supd = subprocess.Popen([sys.executable, "-c", script, path, mark],
                                stdout=subprocess.PIPE)
        supd.stdout.readline()
        ctl = subprocess.Popen(command("-s", path, "shutdown"), env=environment(),
                               stderr=subprocess.PIPE)
        status = ctl.wait(GUARD_S)
        check(status == 0 and os.path.exists(mark), (status, ctl.stderr.read()))
        supd.wait(GUARD_S)
        supd.stdout.close()
        ctl.stderr.close()
    using(Supd(), body)


# ---- events ------------------------------------------------------------------------


def event(seq, name, path="/user/web", **fields):
    result = {"seq": seq, "time": "2024-05-01T12:00:01.123456Z", "mono": 1,
              "event": name, "path": path, "incarnation": 1, "generation": 1}
    result.update(fields)
    return result


STORY = [
    event(1, "supd", path="/", what="started"),
    event(2, "started", pid=100),
    event(3, "ready"),
    event(4, "exited", cause=cause(), utime_us=8000, stime_us=4000, maxrss_kib=3482),
    event(5, "failure", cause=cause(), origin="/user/web", directive="restart",
          rule="supd.yaml:12", strategy="rest_for_one",
          scope=["/user/web", "/user/cache"], window=2, limit=5, within_ms=60000,
          delay_ms=200),
    event(6, "backoff", delay_ms=200),
    event(7, "killed_after_timeout"),
    event(8, "terminated", cause=cause("exited with code 0"), existence_confirmed=True),
    event(9, "gave_up", path="/user", intensity=5, within="60s", offender="/user/web"),
    event(10, "escalated", to="/user", cause=cause(), origin="/user/web"),
    event(11, "command", verb="stop", uid=54321, pid=55),
    event(11, "command", verb="stop", uid=0, pid=55, program="supctl\x1b"),
    event(12, "applied", path="/", plan=[{"path": "/user/a", "change": "added",
                                          "keys": []}]),
    event(13, "somersault", height=3, style="back\x1b"),
]


def events_of(story):
    def answer(parameters, supd):
        since = parameters.get("since", 0)
        left = [e for e in story if e["seq"] > since]
        for i, e in enumerate(left):
            yield Reply({"event": e}, more=i + 1 < len(left))
    return answer


def test_events_are_told_in_words():
    when = "2024-05-01 12:00:01.123  "
    calls = one(Supd(Events=events_of(STORY)), "events", out="".join(
        when + line + "\n" for line in (
            "/                 supd       started",
            "/user/web         started    pid 100",
            "/user/web         ready",
            "/user/web         exited     killed by SIGSEGV; cpu 12ms, memory 3.4M",
            "/user/web         failure    killed by SIGSEGV -> restart with "
            "/user/cache in 200ms (supd.yaml:12, 2 of 5 within 1m)",
            "/user/web         backoff    start in 200ms",
            "/user/web         killed_after_timeout  did not stop in time, killed",
            "/user/web         terminated  ended for good: exited with code 0",
            "/user             gave_up    more than 5 restarts within 60s, "
            "the last of /user/web",
            "/user/web         escalated  to /user: killed by SIGSEGV",
            "/user/web         command    stop by uid 54321, pid 55",
            "/user/web         command    stop by root (uid 0), pid 55 (supctl\\x1b)",
            "/                 applied    1 added",
            "/user/web         somersault  height=3, back\\x1b",
        )))
    check(calls == [("Events", {}, True)], calls)


def test_what_happened_to_supd_itself_is_told_in_words():
    stories = [event(n, "supd", path="/", **fields) for n, fields in enumerate([
        {"what": "ready"}, {"what": "shutting_down"},
        {"what": "started", "after": "SIGKILL", "outage_ms": 4},
        {"what": "upgraded", "from": "0.1.0", "to": "0.2.0", "outage_ms": 18},
        {"what": "upgrade_failed", "after": "exit status 1", "outage_ms": 9},
        {"what": "ledger_lost"}, {"what": "actors_killed"},
        {"what": "leftovers_killed", "processes": 1},
        {"what": "leftovers_killed", "processes": 3}, {"what": "juggled"}], 1)]
    when = "2024-05-01 12:00:01.123  /                 supd       "
    one(Supd(Events=events_of(stories)), "events", out="".join(
        when + line + "\n" for line in (
            "ready", "shutting down",
            "took over after a crash (SIGKILL), no guardian for 4ms",
            "upgraded from 0.1.0 to 0.2.0, no guardian for 18ms",
            "the upgrade failed, the binary before is back (exit status 1), "
            "no guardian for 9ms",
            "its state was lost: all actors begin anew",
            "all actors were killed and begin anew",
            "killed what a supd before had left, 1 process",
            "killed what a supd before had left, 3 processes", "juggled")))


def test_events_in_json_are_one_object_a_line_as_received():
    def body(s):
        result = supctl(s, "-o", "json", "events", "web", "--since", "3")
        check([json.loads(line) for line in result.out.splitlines()] == STORY[3:], result)
    supd = Supd(Events=events_of(STORY))
    using(supd, body)
    check(supd.calls == [("Events", {"pattern": "web", "since": 3}, True)], supd.calls)


def test_a_start_that_failed_before_its_program_says_in_which_step():
    stories = [event(n, "failure", origin="/user/web", directive="stop", scope=[],
                     rule="preset default", delay_ms=0, step=step,
                     cause=cause("could not be executed: ENOENT", kind="exec"))
               for n, step in ((1, "chdir"), (2, "exec"))]

    def body(s):
        first, second = supctl(s, "events").out.splitlines()
        check("ENOENT in chdir -> stop" in first, first)
        check("ENOENT -> stop" in second, second)
    using(Supd(Events=events_of(stories)), body)


def test_an_event_of_today_has_only_its_time():
    import datetime
    now = datetime.datetime.now(datetime.timezone.utc)
    e = event(1, "ready")
    e["time"] = now.strftime("%Y-%m-%dT%H:%M:%S.250000Z")

    def body(s):
        result = supctl(s, "events")
        # Midnight may pass between the two; then the date is there as well.
        check(result.out.endswith(now.strftime("%H:%M:%S.250") + "  /user/web         ready\n"),
              result)
    using(Supd(Events=events_of([e])), body)


def after_the_ring(answer, ring=()):
    """What is there is asked for by itself, before following; then it is for answer()."""
    def both(parameters, supd):
        if "follow" in parameters:
            yield from answer(parameters, supd)
            return
        for e in ring:
            yield Reply({"event": e}, more=True)
        yield Reply({"event": {}})
    return both


def test_following_goes_on_after_the_last_event_when_supd_comes_back():
    def answer(parameters, supd):
        since = parameters.get("since", 0)
        yield Reply({"event": event(since + 1, "ready")}, more=True)
        if supd.connections < 3:
            yield Close
        yield Reply({"event": event(since + 2, "stopped")})

    def body(s):
        result = supctl(s, "events", "-f", "-o", "json")
        expect(result, 0)
        check([json.loads(x)["seq"] for x in result.out.splitlines()] == [1, 2, 3, 4], result)
    supd = Supd(Ping=pong, Events=after_the_ring(answer))
    using(supd, body)
    check([c.get("since") for c in supd.called("Events")] == [None, None, 1, 2], supd.calls)


def test_following_begins_with_the_last_ten_events():
    def answer(parameters, supd):
        check(parameters["since"] == 20, parameters)
        yield Reply({"event": event(21, "ready")}, more=True)
        yield Reply({"event": event(22, "ready")})

    def seen(*arguments):
        supd = Supd(Ping=pong, Events=after_the_ring(
            answer, [event(n, "failure" if n % 4 == 0 else "ready") for n in range(1, 21)]))
        result = []

        def body(s):
            out = supctl(s, "events", "-f", "-o", "json", *arguments).out
            result.extend(json.loads(x)["seq"] for x in out.splitlines())
        using(supd, body)
        return result
    check(seen() == list(range(11, 23)), seen())
    check(seen("-n", "2") == [19, 20, 21, 22], seen("-n", "2"))
    check(seen("-n", "all") == list(range(1, 23)), "all")
    check(seen("--type", "failure", "-n", "2") == [16, 20], "failures")
    check(seen("--since", "2024-05-01") == list(range(1, 23)), "since")


def test_events_are_chosen_by_type_number_and_time():
    def at(seq, name, second, **fields):
        e = event(seq, name, **fields)
        e["time"] = "2024-05-01T12:00:%02d.500000Z" % second
        return e
    story = [at(1, "ready", 1), at(2, "exited", 2), at(3, "backoff", 3), at(4, "ready", 4)]

    def seen(*arguments):
        result = []

        def body(s):
            out = supctl(s, "events", "-o", "json", *arguments).out
            result.extend(json.loads(x)["seq"] for x in out.splitlines())
        using(Supd(Events=events_of(story)), body)
        return result
    for arguments, expected in ((("--type", "ready"), [1, 4]), (("-n", "1"), [4]),
                                (("--type", "ready,backoff", "-n", "2"), [3, 4]),
                                (("--since", "2"), [3, 4]), (("--until", "2"), [1, 2]),
                                (("--since", "1", "--until", "3"), [2, 3]),
                                (("--since", "2024-05-01 12:00:02.5"), [2, 3, 4]),
                                (("--until", "2024-05-01T12:00:03Z"), [1, 2]),
                                (("--since", "today"), []), (("--until", "today"), [1, 2, 3, 4])):
        check(seen(*arguments) == expected, (arguments, seen(*arguments)))


def test_many_adoptions_are_one_line():
    many = [event(n, "adopted", "/user/w%d" % n, pid=n) for n in range(1, 6)]
    when = "2024-05-01 12:00:01.123  "
    one(Supd(Events=events_of(many + [event(6, "supd", path="/", what="ready")])), "events",
        out=(when + "/                 adopted    the processes of 5 actors, which run on\n"
             + when + "/                 supd       ready\n"))
    one(Supd(Events=events_of(many)), "events", out=(
        when + "/                 adopted    the processes of 5 actors, which run on\n"))
    one(Supd(Events=events_of(many[:2])), "events", out=(
        when + "/user/w1          adopted    pid 1\n" + when
        + "/user/w2          adopted    pid 2\n"))

    def body(s):
        check(supctl(s, "events", "--type", "adopted").out.count("pid") == 5, "each")
        check(len(supctl(s, "events", "-o", "json").out.splitlines()) == 5, "each")
    using(Supd(Events=events_of(many)), body)


def test_paths_of_events_are_above_each_other_from_the_first_line_on():
    def body(s):
        first, second = supctl(s, "events").out.splitlines()
        check(first.index("ready") == second.index("ready"), (first, second))
    using(Supd(Events=events_of([event(1, "ready"),
                                 event(2, "ready", path="/user/a/rather/long/path")])), body)


def test_following_begins_anew_with_another_supd():
    def ping(parameters, supd):
        return [Reply(dict(PONG, pid=supd.connections))]

    def answer(parameters, supd):
        yield Reply({"event": event(7 if supd.connections == 1 else 1, "ready")}, more=True)
        if supd.connections == 1:
            yield Close
        yield Reply({"event": event(8, "stopped")})
    supd = Supd(Ping=ping, Events=after_the_ring(answer))
    using(supd, lambda s: expect(supctl(s, "events", "-f"), 0))
    check([c.get("since") for c in supd.called("Events")] == [None, None, None], supd.calls)


def test_a_slow_consumer_subscribes_again_and_says_what_is_lost():
    def answer(parameters, supd):
        if "since" not in parameters:
            yield Reply({"event": event(1, "ready")}, more=True)
            yield Error("SlowConsumer", dropped=8)
        else:
            yield Reply({"event": event(10, "ready")})
    supd = Supd(Ping=pong, Events=after_the_ring(answer))
    using(supd, lambda s: expect(supctl(s, "events", "-f"), 0, err="8 events are lost"))
    check([c.get("since") for c in supd.called("Events")] == [None, None, 1], supd.calls)


def test_following_ends_quietly_when_its_reader_goes_away():
    def answer(parameters, supd):
        yield Reply({"event": event(1, "ready")}, more=True)
        yield Hang

    def body(s):
        ctl = subprocess.Popen(command("-s", s.path, "events", "-f"), env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(b"ready" in ctl.stdout.readline(), "the first event")
        ctl.stdout.close()
        status = ctl.wait(GUARD_S)
        err = ctl.stderr.read()
        ctl.stderr.close()
        check(status == 0 and err == b"", (status, err))
    using(Supd(Ping=pong, Events=after_the_ring(answer)), body)


def test_a_full_disk_under_standard_output_is_said():
    def body(s):
        with open("/dev/full", "wb") as full:
            ctl = subprocess.run(command("-s", s.path, "status"), env=environment(),
                                 stdout=full, stderr=subprocess.PIPE, timeout=GUARD_S)
        check(ctl.returncode == 1 and b"No space left" in ctl.stderr, ctl)
    using(tree(), body)


def test_following_ends_when_the_disk_under_standard_output_is_full():
    def answer(parameters, supd):
        yield Reply({"event": event(1, "ready")}, more=True)
        yield Hang

    def body(s):
        with open("/dev/full", "wb") as full:
            ctl = subprocess.run(command("-s", s.path, "events", "-f"),
                                 env=environment(), stdout=full, stderr=subprocess.PIPE,
                                 timeout=GUARD_S)
        check(ctl.returncode == 1 and b"No space left" in ctl.stderr, ctl)
    using(Supd(Ping=pong, Events=after_the_ring(answer)), body)


def test_a_closed_standard_output_is_said_and_supd_is_not_written_to():
    def body(s):
        ctl = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh",
                              *command("-s", s.path, "status")], env=environment(),
                             stderr=subprocess.PIPE, timeout=GUARD_S)
        check(ctl.returncode == 1 and b"standard output" in ctl.stderr, ctl)
    using(tree(), body)


# ---- logs --------------------------------------------------------------------------


def said(path, text, place="", time=None, stream="stdout", more=True):
    return Reply({"path": path, "time": time, "stream": stream + (place and "@" + place),
                  "text": text}, more=more)


def begins(path, place):
    return said(path, "", place, stream="")


def test_logs_of_one_actor_are_printed_as_they_were_written():
    def answer(parameters, supd):
        yield begins("/user/web", "1.2.0")
        yield said("/user/web", "one\ttwo \x1b[31mred ü", "1.2.9")
        yield said("/user/web", "", "1.2.10", more=False)
    calls = one(Supd(Logs=answer), "logs", "web", out="one\ttwo \x1b[31mred ü\n\n")
    check(calls == [("Logs", {"names": ["web"], "since": "@"}, True)], calls)
    one(Supd(Logs=answer), "tail", "web", out="one\ttwo \x1b[31mred ü\n\n")


def test_logs_that_are_not_text_are_the_bytes_that_were_written():
    def answer(parameters, supd):
        for i, line in enumerate(lines):
            message = said("/user/web", "\ufffd", more=i + 1 < len(lines))
            message.message["parameters"]["bytes"] = base64.b64encode(line).decode()
            yield message
    lines = [b"\xff", b"a\0b", b"\x1b[31m\xc3", bytes(range(1, 256)).replace(b"\n", b"")]

    def body(s):
        done = subprocess.run(command("-s", s.path, "logs", "web"), env=environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=GUARD_S)
        check((done.returncode, done.stdout) == (0, b"\n".join(lines) + b"\n"), done)
    using(Supd(Logs=answer), body)
    one(Supd(Logs=lambda p, s: [said("/user/web", "x", more=False)]), "logs", "web", out="x\n")


def test_logs_of_several_actors_have_their_names_in_front():
    def answer(parameters, supd):
        yield begins("/user/web", "1.2.0")
        yield begins("/user/app/api", "3.4.0")
        yield begins("/system/log", "5.6.0")
        yield said("/user/web", "w", "1.2.2")
        yield said("/user/app/api", "a", "3.4.2")
        yield said("/system/log", "l", "5.6.2")
        yield said("/user/web", "w", "1.2.4", more=False)
    for names in (["*"], ["web", "api", "/system/log"]):
        one(Supd(Logs=answer), "logs", *names, out=(
            "web         | w\napp/api     | a\n/system/log | l\nweb         | w\n"))


def test_names_and_colours_of_programs_are_coloured_on_a_terminal_and_nothing_else_passes():
    evil = "\x1b[31mred\x1b[0m \x1b]0;x\x07\x1b[2J\x1b[8mhid"

    def answer(parameters, supd):
        yield begins("/user/a\x1b[31m", "1.2")
        yield begins("/user/web", "1.2")
        yield said("/user/web", evil, "1.3")
        yield said("/user/a\x1b[31m", "\x1b[1mbold", "1.3", more=False)

    def body(s):
        first, second = on_a_terminal(s, "logs", "a", "web").decode().split("\r\n")[:2]
        check(first.endswith("web       |\x1b[0m \x1b[31mred\x1b[0m "
                             "\\x1b]0;x\\x07\\x1b[2J\\x1b[8mhid"), first)
        check(first.startswith("\x1b[") and second.startswith("\x1b["), first)
        check(second.endswith("ma\\x1b[31m |\x1b[0m \x1b[1mbold\x1b[0m"), second)
        for arguments, env in (((), {"NO_COLOR": "1"}), (("--no-color",), {})):
            seen = on_a_terminal(s, "logs", "a", "web", *arguments, **env).decode()
            check(seen == ("web       | red \\x1b]0;x\\x07\\x1b[2J\\x1b[8mhid\r\n"
                           "a\\x1b[31m | bold\r\n"), seen)
        check(supctl(s, "logs", "web").out.startswith("web"), "no colours in a pipe")
    using(Supd(Logs=answer), body)


def test_logs_of_a_pattern_that_selects_one_actor_have_no_name_in_front():
    def answer(parameters, supd):
        yield begins("/user/web", "1.2.0")
        yield said("/user/web", "w", "1.2.2", more=False)
    one(Supd(Logs=answer), "logs", "w*", out="w\n")


def test_logs_of_an_actor_that_said_nothing_are_empty():
    for answer in ([Reply({"path": "", "time": None, "stream": "", "text": ""})],
                   [Reply(begins("/user/web", "0.0.0").message["parameters"])]):
        one(Supd(Logs=lambda p, s, a=answer: a), "logs", "web", out="")


def test_logs_in_json_are_one_object_a_line_without_places():
    def answer(parameters, supd):
        yield begins("/user/web", "1.2.0")
        yield said("/user/web", 'a"b\n', "1.2.2", time="2024-05-01T12:00:01.123Z")
        yield said("/user/web", "", "1.2.2", stream="stderr", more=False)

    def body(s):
        result = supctl(s, "-o", "json", "logs", "web")
        expect(result, 0)
        check([json.loads(line) for line in result.out.splitlines()] == [
            {"path": "/user/web", "time": "2024-05-01T12:00:01.123Z", "stream": "stdout",
             "text": 'a"b\n'},
            {"path": "/user/web", "time": None, "stream": "stderr", "text": ""}], result)
    using(Supd(Logs=answer), body)


def test_logs_ask_for_the_lines_and_the_time_that_were_meant():
    end = Reply({"path": "", "time": None, "stream": "", "text": ""})
    for arguments, expected in (
            (["-n", "5"], {"lines": 5, "since": "@"}),
            (["-n", "0"], {"lines": 0, "since": "@"}),
            (["--lines", "all"], {"since": "@"}),
            (["-f"], {"lines": 10, "follow": True, "since": "@"}),
            (["-f", "-n", "all"], {"follow": True, "since": "@"}),
            (["--since", "2024-05-01T14:00:00.5+02:00"],
             {"since": "@2024-05-01T12:00:00.500Z"}),
            (["-f", "--since", "2024-05-01 12:00"],
             {"follow": True, "since": "@2024-05-01T12:00:00.000Z"}),
            (["-n3", "--since", "2024-05-01"],
             {"lines": 3, "since": "@2024-05-01T00:00:00.000Z"})):
        calls = one(Supd(Logs=lambda p, s: [end]), "logs", "web", *arguments, out="")
        check(calls == [("Logs", {"names": ["web"], **expected}, True)], calls)


def test_logs_since_ten_minutes_are_those_of_the_last_ten_minutes():
    import datetime
    end = Reply({"path": "", "time": None, "stream": "", "text": ""})
    before = datetime.datetime.now(datetime.timezone.utc)
    calls = one(Supd(Logs=lambda p, s: [end]), "logs", "web", "--since", "10m", out="")
    after = datetime.datetime.now(datetime.timezone.utc)
    since = datetime.datetime.strptime(calls[0][1]["since"] + "+0000", "@%Y-%m-%dT%H:%M:%S.%fZ%z")
    ago = datetime.timedelta(minutes=10, milliseconds=1)
    check(before - ago <= since <= after - ago + datetime.timedelta(milliseconds=2), calls)


def test_what_logs_cannot_mean_is_a_usage_error():
    one(Supd(), "logs", "-f", "-r", status=2, err="-f has no end: leave out -r")
    one(Supd(), "logs", "-f", "--until", "today", status=2, err="leave out --until")
    one(Supd(), "logs", "-g", "a(b", status=2, err="-g 'a(b': ")
    one(Supd(), "logs", "--until", "soon", status=2, err="--until 'soon': write a time")
    one(Supd(), "logs", "web", "-n", "some", status=2, err="-n 'some': write a number")
    one(Supd(), "logs", "web", "-n", "-1", status=2, err="-n '-1': write a number")
    one(Supd(), "logs", "web", "--since", "soon", status=2, err="--since 'soon': write a time")
    one(Supd(), "events", "--since", "soon", status=2,
        err="--since 'soon': write the number of an event, or a time")
    one(Supd(), "events", "--type", "failur", status=2, err="did you mean 'failure'?")
    one(Supd(), "events", "--type", "x,ready", status=2, err="no event is called 'x'")
    one(Supd(), "events", "-n", "x", status=2, err="-n 'x': write a number, or all")
    one(Supd(), "events", "-f", "--until", "3", status=2, err="leave out --until")


def four_lines(parameters, supd):
    yield begins("/user/a", "1.0")
    yield begins("/user/b", "2.0")
    for i, (path, text) in enumerate((("/user/a", "error 1"), ("/user/b", "error 2"),
                                      ("/user/a", "fine"), ("/user/a", "error 3"))):
        time = "2024-05-01T12:00:0%d.500Z" % i
        yield said(path, text, "1.%d" % i, time=time, more=i < 3 or "follow" in parameters)
    if "follow" in parameters:
        yield said("/user/b", "fine", "2.9", time="2024-05-01T12:00:05.500Z")
        yield said("/user/b", "error 4", "2.10", time="2024-05-01T12:00:06.500Z", more=False)


def test_logs_without_a_name_are_those_of_all_actors():
    calls = one(Supd(Logs=lambda p, s: [said("/user/a", "x", "1.2", more=False)]), "logs",
                out="a | x\n")
    check(calls == [("Logs", {"names": ["/user"], "since": "@"}, True)], calls)
    one(Supd(Logs=lambda p, s: [Error("InvalidState", name="/user", state="running",
                                      message="nothing below it has a log")]),
        "logs", "-f", status=7, err="nothing below it has a log")


def test_logs_have_times_and_may_be_printed_backwards():
    when = "2024-05-01 12:00:0%d.500 "
    one(Supd(Logs=four_lines), "logs", "-t", "--timestamps", out="".join(
        when % i + line + "\n" for i, line in
        enumerate(("a | error 1", "b | error 2", "a | fine", "a | error 3"))))
    one(Supd(Logs=four_lines), "logs", "-r", out=(
        "a | error 3\na | fine\nb | error 2\na | error 1\n"))
    one(Supd(Logs=four_lines), "logs", "-rt", "-n", "1", "-g", "r", out="".join(
        when % i + line + "\n" for i, line in ((3, "a | error 3"), (1, "b | error 2"))))
    one(Supd(Logs=lambda p, s: [said("/user/a", "x", more=False)]), "logs", "-t", "a",
        out="- x\n")
    calls = one(Supd(Logs=four_lines), "logs", "-r", "-n", "2", "-o", "json")
    check(calls == [("Logs", {"names": ["/user"], "lines": 2, "since": "@"}, True)], calls)


def test_logs_that_match_or_came_before_a_time_and_the_last_of_them():
    one(Supd(Logs=four_lines), "logs", "-g", "^err.r [13]$", out="a | error 1\na | error 3\n")
    calls = one(Supd(Logs=four_lines), "logs", "--grep", "error", "-n", "1",
                out="b | error 2\na | error 3\n")
    check(calls == [("Logs", {"names": ["/user"], "since": "@"}, True)], calls)
    one(Supd(Logs=four_lines), "logs", "--until", "2024-05-01T12:00:01.500Z",
        out="a | error 1\nb | error 2\n")
    one(Supd(Logs=four_lines), "logs", "-n", "1", "--until", "2024-05-01 12:00:02.6",
        out="b | error 2\na | fine\n")
    one(Supd(Logs=four_lines), "logs", "-g", "nothing", out="")


def test_following_begins_with_the_last_lines_that_match():
    def answer(parameters, supd):
        if "follow" in parameters:
            check(parameters["since"] == "@ /user/a 1.3 /user/b 1.1", parameters)
            yield said("/user/b", "fine", "2.9")
            yield said("/user/b", "error 4", "2.10", more=False)
        else:
            yield from four_lines(parameters, supd)
    one(Supd(Logs=answer), "logs", "-f", "-n", "1", "-g", "error",
        out="b | error 2\na | error 3\nb | error 4\n")


FAKE_JOURNALCTL = """#!/bin/sh
printf '%%s\\n' "$*" >>%(dir)s/asked
case "$*" in *--lines=0*) ;; *) cat %(dir)s/entries ;; esac
case "$*" in *--follow*) cat %(dir)s/later; echo >%(dir)s/told; exec sleep 1000 ;; esac
"""


def with_journal(supd, entries, later=()):
    """A journalctl in PATH that has these entries: (path, second, text)."""
    def written(name, some):
        with open(os.path.join(supd.directory, name), "w", encoding="utf-8") as file:
            for path, second, text in some:
                # 2024-05-01T12:00:00Z
                entry = {"SUPD_PATH": path, "SUPD_STREAM": "stdout", "MESSAGE": text,
                         "__REALTIME_TIMESTAMP": str(int((1714564800 + second) * 1000000))}
                file.write(json.dumps(entry) + "\n")
    written("entries", entries)
    written("later", later)
    program = os.path.join(supd.directory, "journalctl")
    with open(program, "w", encoding="utf-8") as file:
        file.write(FAKE_JOURNALCTL % {"dir": supd.directory})
    os.chmod(program, 0o755)
    return {"PATH": supd.directory + ":" + os.environ.get("PATH", "/usr/bin:/bin")}


def in_journal(path):
    return said(path, "/run/supd/control.sock", "0.0", stream="journal")


def journal_and_file(parameters, supd):
    yield begins("/user/a", "1.0")
    yield begins("/user/j", "0.0")
    yield in_journal("/user/j")
    for second in (1, 3):
        yield said("/user/a", "a%d" % second, "1.%d" % second,
                   time="2024-05-01T12:00:0%d.000Z" % second, more=second < 3)


JOURNAL = [("/user/j", 0.5, "j0"), ("/user/j", 2, "j2 \x1b[2J"), ("/other", 2.5, [104, 255]),
           ("/user/j", 4, [0xff, 65])]


def test_logs_read_the_journal_and_merge_it_by_time():
    def body(s):
        env = with_journal(s, JOURNAL[:2] + JOURNAL[3:])
        expect(supctl(s, "logs", "a", "j", env=env), 0,
               "j | j0\na | a1\nj | j2 \x1b[2J\na | a3\nj | \ufffdA\n")
        with open(os.path.join(s.directory, "asked"), encoding="utf-8") as asked:
            check(asked.read().split() == ["--quiet", "--all", "--no-pager", "--output=json",
                                           "--lines=all", "SUPD_SOCKET=/run/supd/control.sock",
                                           "SUPD_PATH=/user/j"], "asked")
        expect(supctl(s, "logs", "-n", "1", env=env), 0, "a | a3\nj | \ufffdA\n")
        expect(supctl(s, "logs", "-r", "-g", "[aj][023]", env=env), 0,
               "a | a3\nj | j2 \x1b[2J\nj | j0\n")
        expect(supctl(s, "logs", "--until", "2024-05-01T12:00:02Z", "-t", env=env), 0,
               "2024-05-01 12:00:00.500 j | j0\n2024-05-01 12:00:01.000 a | a1\n"
               "2024-05-01 12:00:02.000 j | j2 \x1b[2J\n")
        result = supctl(s, "logs", "-o", "json", "j", "--since", "2024-05-01", env=env)
        check(json.loads(result.out.splitlines()[0]) == {
            "path": "/user/j", "time": "2024-05-01T12:00:00.500Z", "stream": "stdout",
            "text": "j0"}, result)
        with open(os.path.join(s.directory, "asked"), encoding="utf-8") as asked:
            check("--since=2024-05-01 00:00:00.000 UTC" in asked.read().splitlines()[-1], "since")
    using(Supd(Logs=journal_and_file), body)


def test_a_journal_alone_is_read_and_without_journalctl_that_is_said():
    def answer(parameters, supd):
        yield begins("/user/j", "0.0")
        yield said("/user/j", "/run/supd/control.sock", "0.0", stream="journal", more=False)

    def body(s):
        expect(supctl(s, "logs", "j", env=with_journal(s, JOURNAL[:1])), 0, "j0\n")
        expect(supctl(s, "logs", "j", env={"PATH": "/nonexistent"}), 1, "",
               "journalctl: No such file or directory (the journal has the output of /user/j)")
    using(Supd(Logs=answer), body)


def test_a_block_has_the_last_lines_of_the_journal_or_says_where_the_output_is():
    def ends(result, text, err=""):
        check(result.status == 0 and err in result.err and bool(err) == bool(result.err), result)
        check(result.out.replace("2024-05-01 ", "").endswith(text), result)

    def body(s):
        ends(supctl(s, "status", "j", env=with_journal(s, JOURNAL[:2])),
             "    output  12:00:00.500  j0\n            12:00:02.000  j2 \\x1b[2J\n")
        with open(os.path.join(s.directory, "asked"), encoding="utf-8") as asked:
            check("--lines=10 SUPD_SOCKET=/s SUPD_PATH=/user/j\n" in asked.read(), "asked")
        where = "    output  in the journal: journalctl SUPD_PATH=/user/j\n"
        ends(supctl(s, "status", "j", env=with_journal(s, [])), where)
        ends(supctl(s, "status", "j", env={"PATH": "/nonexistent"}), where, "No such file or directory")
        s.answers["Logs"] = lambda p, s: [
            begins("/user/j", "0.0"), said("/user/j", "", "0.0", stream="journal", more=False)]
        ends(supctl(s, "status", "j", env=with_journal(s, JOURNAL[:2])),
             "    output  goes to the journal, and there is none on this machine\n")
        s.answers["Logs"] = lambda p, s: [Error("InvalidState", name="/user/j", state="running",
                                                message="its output goes to syslog")]
        ends(supctl(s, "status", "j"), "    output  its output goes to syslog\n")
    using(Supd(Status=status_of([actor("/user/j")]), Logs=lambda p, s: [
        begins("/user/j", "0.0"), said("/user/j", "/s", "0.0", stream="journal", more=False)]), body)


def test_that_there_is_no_journal_is_said_and_others_are_read():
    def answer(parameters, supd):
        yield begins("/user/j", "0.0")
        yield said("/user/j", "", "0.0", stream="journal", more=parameters["names"] != ["j"])
        if parameters["names"] != ["j"]:
            yield begins("/user/a", "1.0")
            yield said("/user/a", "a1", "1.1", more=False)

    def body(s):
        missing = "logs /user/j: its output goes to the journal, and there is none on this machine\n"
        expect(supctl(s, "logs", "j"), 1, "", missing)
        expect(supctl(s, "logs"), 0, "a | a1\n", missing)
    using(Supd(Logs=answer), body)


def test_following_goes_on_with_the_journal_as_well():
    def answer(parameters, supd):
        yield begins("/user/a", "1.0")
        yield begins("/user/j", "0.0")
        yield in_journal("/user/j")
        if "follow" in parameters:
            yield said("/user/a", "a1", "1.1")
            yield Hang

    def body(s):
        env = with_journal(s, JOURNAL[:1], [("/user/j", 9, "j9")])
        ctl = subprocess.Popen(command("-s", s.path, "logs", "-f"), env=environment(**env),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = sorted(ctl.stdout.readline() for _ in range(3))
        check(seen == [b"a | a1\n", b"j | j0\n", b"j | j9\n"], seen)
        ctl.terminate()
        ctl.wait(GUARD_S)
        check(ctl.stdout.read() == b"" and ctl.stderr.read() == b"", "nothing is left")
        ctl.stdout.close()
        ctl.stderr.close()
    using(Supd(Logs=answer), body)


def test_logs_that_are_not_there_are_explained():
    def answer(parameters, supd):
        yield Error("InvalidState", name="/user/web", state="running",
                    message="its output goes to the journal")
    one(Supd(Logs=answer), "logs", "web", status=7,
        err="logs web: its output goes to the journal")
    one(Supd(Logs=answer), "logs", "web", "db", status=7,
        err="logs /user/web: its output goes to the journal")
    one(Supd(Logs=lambda p, s: [Error("NoSuchActor", name="wbe", candidates=["/user/web"])]),
        "logs", "-f", "wbe", status=4, err="no such actor (did you mean /user/web?)")


def test_following_logs_goes_on_at_its_places_when_supd_comes_back():
    def answer(parameters, supd):
        n = len(supd.called("Logs"))
        if n == 1:
            yield begins("/user/a", "1.0")
            yield begins("/user/b", "2.0")
            yield said("/user/a", "a1", "1.5")
            yield said("/user/a", "a2", "1.9")
            yield Close
        if n == 2:
            yield Close
        yield begins("/user/a", "1.9")
        yield begins("/user/b", "2.0")
        yield said("/user/b", "b1", "2.7")
        if n == 3:
            yield Error("SlowConsumer", dropped=0)
        else:
            yield said("/user/a", "a3", "1.12", more=False)
    supd = Supd(Logs=answer)
    using(supd, lambda s: expect(supctl(s, "logs", "-f", "a", "b"), 0,
                                 "a | a1\na | a2\nb | b1\nb | b1\na | a3\n"))
    more = {"names": ["a", "b"], "follow": True}
    check(supd.called("Logs") == [
        {**more, "lines": 10, "since": "@"},
        {**more, "since": "@ /user/a 1.9 /user/b 2.0"},
        {**more, "since": "@ /user/a 1.9 /user/b 2.0"},
        {**more, "since": "@ /user/a 1.9 /user/b 2.7"}], supd.calls)


def test_reading_logs_goes_on_as_well_when_supd_comes_back():
    def answer(parameters, supd):
        if supd.connections == 1:
            yield begins("/user/a", "1.0")
            yield said("/user/a", "a1", "1.5")
            yield Close
        yield begins("/user/a", "1.5")
        yield said("/user/a", "a2", "1.9", more=False)
    supd = Supd(Logs=answer)
    using(supd, lambda s: expect(supctl(s, "logs", "a"), 0, "a1\na2\n"))
    check([c["since"] for c in supd.called("Logs")] == ["@", "@ /user/a 1.5"], supd.calls)


def test_following_logs_goes_on_without_an_actor_that_is_gone():
    def answer(parameters, supd):
        if supd.connections == 1:
            yield begins("/user/a", "1.0")
            yield begins("/user/b", "2.0")
            yield Close
        elif "b" in parameters["names"]:
            yield Error("NoSuchActor", name="b", candidates=[])
        else:
            yield said("/user/a", "a1", "1.3", more=False)
    supd = Supd(Logs=answer)
    using(supd, lambda s: expect(supctl(s, "logs", "-f", "a", "b"), 0, "a | a1\n"))


def test_following_logs_ends_quietly_when_its_reader_goes_away():
    def answer(parameters, supd):
        yield begins("/user/a", "1.0")
        yield said("/user/a", "a1", "1.3")
        yield Hang

    def body(s):
        ctl = subprocess.Popen(command("-s", s.path, "logs", "-f", "a"), env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(b"a1" in ctl.stdout.readline(), "the first line")
        ctl.stdout.close()
        status = ctl.wait(GUARD_S)
        err = ctl.stderr.read()
        ctl.stderr.close()
        check(status == 0 and err == b"", (status, err))
    using(Supd(Logs=answer), body)


# ---- watch, wait -------------------------------------------------------------------


def end(path, state="stopped", **fields):
    result = {"path": path, "incarnation": 1, "cause": None, "state": state,
              "existence_confirmed": True}
    result.update(fields)
    return result


def test_watch_prints_one_line_for_each_name():
    def answer(parameters, supd):
        yield Reply(end("/user/nope", "stopped", existence_confirmed=False), more=True)
        yield Reply(end("/user/web", "done", cause=cause("exited with code 0")))
    calls = one(tree(Watch=answer), "watch", "web", "nope", out=(
        "terminated  /user/nope  stopped, was not seen alive\n"
        "terminated  /user/web  done: exited with code 0\n"))
    check(calls[-1] == ("Watch", {"names": ["/user/web", "nope"], "since": [1, 0]}, True),
          calls)


def test_watch_in_json_is_one_object_a_line():
    def body(s):
        result = supctl(s, "watch", "web", "-o", "json")
        check(json.loads(result.out) == end("/user/web"), result)
    using(tree(Watch=lambda p, s: [Reply(end("/user/web"))]), body)


def test_watch_registers_again_what_is_not_answered_with_the_incarnation_it_knew():
    def answer(parameters, supd):
        if supd.connections == 1:
            yield Reply(end("/user/app/db"), more=True)
            yield Close
        for i, name in enumerate(parameters["names"]):
            yield Reply(end(name), more=i + 1 < len(parameters["names"]))
    supd = tree(Watch=answer)
    using(supd, lambda s: expect(supctl(s, "watch", "app/*", "web"), 0, (
        "terminated  /user/app/db  stopped\n"
        "terminated  /user/app/api  stopped\n"
        "terminated  /user/web  stopped\n")))
    check(supd.called("Watch") == [
        {"names": ["/user/app/db", "/user/app/api", "/user/web"], "since": [1, 1, 1]},
        {"names": ["/user/app/api", "/user/web"], "since": [1, 1]}], supd.calls)


def test_wait_is_silent_and_names_the_incarnation():
    answer = lambda p, s: [Reply({"actor": TREE[4]})]
    calls = one(tree(Wait=answer), "--timeout", "9s", "wait", "web", "--for", "ready",
                out="")
    parameters = calls[-1][1]
    check(0 < parameters.pop("timeout_ms") <= 9000, calls)
    check(parameters == {"name": "/user/web", "for": "ready", "incarnation": 1}, calls)


def test_wait_calls_again_when_the_connection_is_lost():
    def answer(parameters, supd):
        return [Close] if supd.connections == 1 else [Reply({"actor": TREE[4]})]
    supd = tree(Wait=answer)
    using(supd, lambda s: expect(supctl(s, "wait", "web", "--for", "done"), 0, ""))
    check(len(supd.called("Wait")) == 2, supd.calls)


def test_wait_ends_when_supd_ended_in_order_whatever_the_timeout():
    def answer(parameters, supd):
        os.unlink(supd.path)
        return [Close]
    using(tree(Wait=answer),
          lambda s: expect(supctl(s, "--timeout", "1h", "wait", "web", "--for", "done"),
                           1, "", "no supd at "))


def test_wait_for_what_can_no_longer_come_is_1_and_a_timeout_124():
    for error, status in ((Error("InvalidState", name="web", state="failed",
                                 message="it failed"), 1),
                          (Error("StartFailed", name="web", cause=cause()), 1),
                          (Error("Timeout", name="web", state="running"), 124)):
        one(tree(Wait=lambda p, s, e=error: [e]), "wait", "web", "--for", "done",
            status=status, out="", err="wait /user/web: ")


def test_wait_is_for_ready_unless_something_else_is_meant():
    one(tree(), "wait", "web", "--for", "fun", status=2, err="--for ready|stopped|failed|done")
    calls = one(Supd(Status=status_of(TREE), Wait=lambda p, s: [Reply({"actor": TREE[4]})]),
                "wait", "web", out="")
    check([c[1]["for"] for c in calls if c[0] == "Wait"] == ["ready"], calls)


# ---- check, diff, apply, cat -------------------------------------------------------


PLAN = [
    {"path": "/user/a", "change": "unchanged", "keys": []},
    {"path": "/user/app/b", "change": "updated", "keys": ["backoff", "limit"]},
    {"path": "/user/c", "change": "restarted", "keys": ["command"]},
    {"path": "/user/d", "change": "removed", "keys": []},
]


def test_diff_and_apply_print_what_changes():
    for verb, method in (("diff", "Diff"), ("reread", "Diff"), ("apply", "Apply"),
                         ("update", "Apply"), ("reload", "Apply")):
        text = ("updated    /user/app/b  backoff, limit\n"
                "restarted  /user/c  command\n"
                "removed    /user/d\n"
                "1 updated, 1 restarted, 1 removed, 1 unchanged\n")
        if method == "Diff":
            text = ("will be updated    /user/app/b  backoff, limit\n"
                    "will be restarted  /user/c  command\n"
                    "will be removed    /user/d\n"
                    "1 to update, 1 to restart, 1 to remove, 1 unchanged\n")
        answers = {method: lambda p, s: [Reply({"plan": PLAN})]}
        calls = one(Supd(**answers), verb, out=text)
        check(calls == [(method, {}, False)], calls)


def change(path, kind, effect, *values):
    return {"path": path, "change": kind, "effect": effect, "keys": [v[0] for v in values],
            "values": [{"key": k, "old": old, "new": new} for k, old, new in values]}


def test_diff_tells_what_will_become_of_each_actor_and_the_values():
    long = '"' + "x" * 99 + 'é and more"'
    plan = [change("/user/a", "restarted", "restart",
                   ("environment.LANG", '"C.UTF-8"', '"C"'), ("user", None, '"www"')),
            change("/user/b", "restarted", "later", ("command", '["a"]', '["a","b\x1b"]')),
            change("/user/c", "restarted", "start", ("nice", "1", "2"), ("order", None, None)),
            change("/user/d", "updated", "update", ("description", '""', long)),
            change("/user/e", "added", "start"), change("/user/f", "added", "later"),
            change("/user/g", "removed", "remove"), change("/user/h", "unchanged", "none")]
    values = ("    environment.LANG  C.UTF-8 -> C\n    user  - -> www\n",
              "    command  [\"a\"] -> [\"a\",\"b\\x1b\"]\n",
              "    nice  1 -> 2\n    order\n",
              "    description  \"\" -> " + "x" * 99 + "...\n", "", "", "")
    future = ("will be restarted", "will change at its next start", "will be started",
              "will be updated", "will be added", "will be added, not started",
              "will be removed")
    past = ("restarted", "changes at its next start", "started", "updated", "added",
            "added, not started", "removed")

    def text(words, end):
        width = max(map(len, words))
        return "".join("%-*s  /user/%s\n%s" % (width, word, "abcdefg"[i], values[i])
                       for i, word in enumerate(words)) + end
    answer = lambda p, s: [Reply({"plan": plan})]
    calls = one(Supd(Diff=answer), "diff", out=text(future, (
        "1 to update, 1 to start, 1 to change at the next start, 1 to restart, "
        "1 to add without a start, 1 to add, 1 to remove, 1 unchanged\n")))
    check(calls == [("Diff", {}, False)], calls)
    calls = one(Supd(Apply=answer), "apply", "--no-wait", out=text(past, (
        "1 updated, 1 started, 1 to change at the next start, 1 restarted, "
        "1 added without a start, 1 added, 1 removed, 1 unchanged\n")))
    check(calls == [("Apply", {}, False)], calls)


def test_the_exit_status_of_diff_says_whether_anything_changes():
    one(Supd(Diff=lambda p, s: [Reply({"plan": PLAN[:1]})]), "diff", "-e",
        out="1 unchanged\n")
    one(Supd(Diff=lambda p, s: [Reply({"plan": []})]), "diff", "--exit-code",
        out="nothing to do\n")
    one(Supd(Diff=lambda p, s: [Reply({"plan": PLAN})]), "diff", "-e", status=3)
    one(Supd(Diff=lambda p, s: [Reply({"plan": PLAN})]), "diff", "-e", "-o", "json", status=3)
    one(Supd(), "apply", "-e", status=2, err="an option does not belong here")


def test_another_file_is_named_as_seen_from_supd():
    answers = {m: lambda p, s: [Reply({"plan": []})] for m in ("Diff", "Apply")}
    for verb in ("diff", "apply"):
        for name in ("/etc/x.yaml", "x.yaml"):
            calls = one(Supd(**answers), verb, "--rerun", name, out="nothing to do\n")
            expected = os.path.join(os.getcwd(), name)
            check(calls[0][1] == {"file": expected, "rerun": True}, calls)


def test_an_undo_needs_no_file_and_is_not_repeated():
    answers = {m: lambda p, s: [Reply({"plan": []})] for m in ("Diff", "Apply")}
    for verb in ("diff", "apply"):
        calls = one(Supd(**answers), verb, "--undo", out="nothing to do\n")
        check(calls[0][1] == {"undo": True}, calls)
        one(Supd(**answers), verb, "--undo", "x.yaml", status=2, err="a file does not belong to it")


def test_apply_waits_until_what_it_starts_lives_and_what_it_removes_is_gone():
    plan = [change("/user/a", "restarted", "restart"), change("/user/b", "removed", "remove"),
            change("/user/c", "restarted", "later")]
    looks = [
        [actor("/user/a", state="stopping"), actor("/user/b", state="stopping")],
        [actor("/user/a", state="starting", uptime_ms=0, ready=False)],
        [actor("/user/a", generation=2, uptime_ms=0)],
        [actor("/user/a", generation=2, uptime_ms=70000), actor("/user/z", state="starting")]]

    def status(parameters, supd):
        n = len(supd.called("Status"))
        return stream(looks[min(n, len(looks)) - 1])
    calls = one(Supd(Apply=lambda p, s: [Reply({"plan": plan})], Status=status), "apply")
    check([c[0] for c in calls] == ["Apply"] + 4 * ["Status"], calls)


# ---- settling ----------------------------------------------------------------------


def fails_after(first, *later, **answers):
    """A supd that starts /user/web as `first`; how it is at each look after that."""
    def status(parameters, supd):
        n = len(supd.called("Status"))
        return stream([later[min(n, len(later)) - 1]])
    return Supd(Start=lambda p, s: [Reply({"actors": [first]})],
                Restart=lambda p, s: [Reply({"actors": [first]})], Status=status, **answers)


def young(**fields):
    return actor("/user/web", **{"uptime_ms": 3, **fields})


def failed_now(**fields):
    return young(last_failure=dict(failure("exited with 3\x1b"),
                                   at="2099-01-01T00:00:00.000Z"), **fields)


def test_start_and_restart_stay_until_the_process_has_lived_for_a_second():
    for verb in ("start", "restart"):
        calls = one(fails_after(young(), young(), young(uptime_ms=1000)), verb, "web",
                    out="/user/web  running  pid 4711\n")
        check([c[0] for c in calls[1:]] == ["Status", "Status"], calls)
        for arguments in (("--no-wait",), ("--settle", "0"), ("--settle", "3ms")):
            calls = one(fails_after(young(), young()), verb, "web", *arguments)
            check(len(calls) == 1, calls)
        calls = one(fails_after(actor("/user/web")), verb, "web")
        check(len(calls) == 1, "it is older than that")
        one(Supd(), verb, "web", "--settle", "5", status=2,
            err="--settle '5': write a duration, as 500ms or 5s")


def test_a_process_that_dies_at_once_is_no_success():
    def logs(parameters, supd):
        check(parameters == {"names": ["/user/web"], "lines": 10}, parameters)
        yield said("/user/web", "oh \x1b[2J no")
        yield said("/user/web", "!", more=False)
    for later in (failed_now(state="backoff", uptime_ms=None), failed_now(generation=2),
                  failed_now(state="failed", uptime_ms=None)):
        supd = fails_after(young(), young(), later, Logs=logs)
        using(supd, lambda s: expect(supctl(s, "start", "web"), 1,
                                     "/user/web  running  pid 4711\n", (
            "supctl: start /user/web: it did not live for 1s: exited with 3\\x1b\n"
            "  | oh \\x1b[2J no\n  | !\n")))
    supd = fails_after(young(), failed_now(generation=2), Logs=logs, Explain=lambda p, s: [
        Reply({"path": p["name"], "chain": [], "text": "", "last_words": ["one\x1b", "two"]})])
    using(supd, lambda s: check(supctl(s, "start", "web").err == (
        "supctl: start /user/web: it did not live for 1s: exited with 3\\x1b\n"
        "  | one\\x1b\n  | two\n"), s.calls))
    failed = failed_now(state="backoff", uptime_ms=None, pid=None)  # before the answer
    one(fails_after(failed, failed), "restart", "web", status=1,
        err="it did not live for 1s: exited with 3")
    one(fails_after(young(), young(generation=2)), "restart", "web", "--settle", "2s",
        status=1, err="it did not live for 2s: it ended and was started again")
    one(fails_after(young(), young(state="done", uptime_ms=None, pid=None)), "start", "web")


def test_all_below_a_supervisor_has_to_live():
    def status(parameters, supd):
        return stream([supervisor("/user/app", uptime_ms=5000),
                       dict(failed_now(), path="/user/app/x/y"),
                       dict(failed_now(), path="/user/application")])
    supd = Supd(Start=lambda p, s: [Reply({"actors": [supervisor("/user/app", uptime_ms=1)]})],
                Status=status, Logs=lambda p, s: [Error("InvalidState", name="", state="",
                                                        message="no log")])
    using(supd, lambda s: check(supctl(s, "start", "app").err == (
        "supctl: start /user/app/x/y: it did not live for 1s: exited with 3\\x1b\n"), s.calls))


def test_diff_in_json_is_the_plan():
    def body(s):
        result = supctl(s, "diff", "-o", "json")
        check(json.loads(result.out) == PLAN, result)
    using(Supd(Diff=lambda p, s: [Reply({"plan": PLAN})]), body)


def test_an_invalid_configuration_has_every_error_on_a_line():
    errors = [{"file": "a.yaml", "line": 3, "column": 5, "path": "children.x",
               "message": "unknown key `comand`"},
              {"file": "b.yaml", "line": 1, "column": 1, "path": "", "message": "empty"},
              {"file": "c.yaml", "line": 0, "column": 0, "path": "",
               "message": "cannot read c.yaml"}]
    supd = Supd(Apply=lambda p, s: [Error("ConfigInvalid", errors=errors)])
    using(supd, lambda s: check(
        supctl(s, "apply").err ==
        "a.yaml:3:5: children.x: unknown key `comand`\n"
        "b.yaml:1:1: empty\n"
        "cannot read c.yaml\n"
        "supctl: apply: the configuration has 3 errors, nothing was changed\n", supd.calls))


def test_cat_prints_yaml_with_origins():
    spec = {"command": ["sleep", "1"], "restart": "permanent", "umask": "022",
            "shutdown": "5s", "greeting": "yes", "port": 80, "held": False,
            "backoff": {"min": "200ms", "max": "30s", "jitter": 0.2}, "environment": {},
            "decider": [{"on": "exit", "do": "restart"}]}
    origin = [{"key": "command", "file": "supd.yaml", "line": 4},
              {"key": "restart", "file": "default", "line": 0},
              {"key": "backoff.min", "file": "supd.yaml", "line": 9},
              {"key": "decider", "file": "supd.yaml", "line": 11}]
    answer = lambda p, s: [Reply({"spec": spec, "origin": origin})]
    one(Supd(Describe=answer), "cat", "web", out=(
        '# web\n'
        'command: ["sleep", "1"]  # supd.yaml:4\n'
        'backoff:\n'
        '  min: "200ms"  # supd.yaml:9\n'
        '  max: "30s"\n'
        '  jitter: 0.2\n'
        'decider:  # supd.yaml:11\n'
        '  - {"on": "exit", "do": "restart"}\n'
        '\n# defaults\n'
        'restart: permanent  # default\n'
        'umask: "022"\n'
        'shutdown: "5s"\n'
        'greeting: "yes"\n'
        'port: 80\n'
        'held: false\n'
        'environment: {}\n'))


def test_check_runs_supd_and_passes_its_status_on():
    def body(s):
        supd = os.path.join(s.directory, "supd")
        with open(supd, "w") as f:
            f.write('#!/bin/sh\necho "$@"\nexit $STATUS\n')
        os.chmod(supd, 0o755)
        for status, err in ((0, None), (78, "x.yaml: the configuration has errors")):
            result = supctl(s, "check", "x.yaml", env={"SUPD": supd, "STATUS": str(status)})
            expect(result, status, "--check -c x.yaml\n", err)
    using(Supd(), body)


def test_check_without_a_file_is_about_that_of_the_running_supd():
    def body(s):
        supd = os.path.join(s.directory, "supd")
        with open(supd, "w") as f:
            f.write('#!/bin/sh\necho "$@"\n')
        os.chmod(supd, 0o755)
        expect(supctl(s, "check", env={"SUPD": supd}), 0, "--check -c /etc/own.yaml\n")
        expect(supctl(None, "check", env={"SUPD": supd, "SUPD_SOCKET": "/nonexistent"}), 0,
               "--check\n")
    using(Supd(Ping=lambda p, s: [Reply({"version": "9", "pid": 1, "walker_pid": 1,
                                         "uptime_ms": 1, "config": "/etc/own.yaml"})]), body)


def test_check_shows_the_line_of_the_file_and_a_mark():
    def body(s):
        supd, bad = (os.path.join(s.directory, name) for name in ("supd", "bad.yaml"))
        with open(bad, "w") as f:
            f.write("children:\n  a: {comand: x\x1b}\n")
        with open(supd, "w") as f:
            f.write('#!/bin/sh\necho "%s:2:7: error: children.a: unknown" >&2\n'
                    'echo "%s:9:1: warning: odd" >&2\nexit 78\n' % (bad, bad))
        os.chmod(supd, 0o755)
        result = supctl(s, "check", bad, env={"SUPD": supd})
        check(result.status == 78 and result.out == "", result)
        check(result.err == "%s:2:7: error: children.a: unknown\n"
              "      a: {comand: x\\x1b}\n          ^\n%s:9:1: warning: odd\n"
              "supctl: check %s: the configuration has errors (exit status 78)\n"
              % (bad, bad, bad), result)
        result = supctl(s, "-o", "json", "check", bad, env={"SUPD": supd})
        check(json.loads(result.out) == [
            {"file": bad, "line": 2, "column": 7, "kind": "error",
             "message": "children.a: unknown"},
            {"file": bad, "line": 9, "column": 1, "kind": "warning", "message": "odd"}], result)
    using(Supd(), body)


def test_a_refusal_names_the_groups_that_may():
    name = __import__("grp").getgrgid(0).gr_name
    denied = "org.varlink.service.PermissionDenied"
    one(Supd(Stop=lambda p, s: [Error(denied, observing=False, control=0,
                                      observers=54321)]), "stop", "a", status=5,
        err="allowed are root, the user of supd, and members of the group %s)" % name)
    one(Supd(Status=lambda p, s: [Error(denied, observing=True, control=0,
                                        observers=54321)]), "status", status=5,
        err="and members of the group %s and of the group 54321)" % name)
    one(Supd(Stop=lambda p, s: [Error(denied, observing=False)]), "stop", "a", status=5,
        err="the user of supd; its control.group is not set)")


def test_check_without_a_supd_says_what_is_missing():
    result = supctl(None, "check", "x.yaml", env={"SUPD": "/nonexistent/supd"})
    expect(result, 1, "", "/nonexistent/supd: No such file or directory")


# ---- what can go wrong on the way ----------------------------------------------------


def test_messages_split_anywhere_are_whole_again():
    whole = json.dumps({"parameters": {"actors": [TREE[4]]}}).encode() + b"\0"
    pieces = [whole[i:i + 1] for i in range(len(whole))]
    one(Supd(Status=lambda p, s: [Raw(*pieces)]), "list", "web",
        out="PATH       STATE    PID  UPTIME  RESTARTS  REMARK\n"
            "/user/web  running  102  1m1s    1         last: exited with code 1\n")


def test_malformed_answers_are_said_and_do_no_harm():
    for bad in (b"\0", b"nonsense\0", b"[]\0", b"{\0", b'{"parameters":\0',
                b'{"parameters":[]}\0', b'{"parameters":{"actors":[{]}}\0',
                b'{"parameters":{"actors":[{"path":1}]}}\0',
                b'{"parameters":{"actors":[{}]}}\0',
                b'{"parameters":{"actors":{}}}\0',
                b'{"parameters":{"actors":[{"path":"/user","state":"run\\\0',
                b'{"parameters":{"actors":[{"path":"/user","state":"x","pid":1e9}]}}\0',
                b'{"parameters":{"actors":[{"path":"/","state":"x","pid":' + b"9" * 40 +
                b'}]}}\0', b'{"continues":7,"parameters":{}}\0',
                b'{"parameters":{"x":' + b"[" * 100 + b"]" * 100 + b"}}\0"):
        for verb in (("status",), ("status", "web"), ("tree",), ("is-active", "web"),
                     ("-o", "json", "status")):
            one(Supd(Status=lambda p, s, b=bad: [Raw(b)]), *verb, status=1,
                err="supd's answer is malformed")


def test_malformed_trees_are_said_and_do_no_harm():
    for verb, method in ((("explain", "a"), "Explain"), (("cat", "a"), "Describe"),
                         (("diff",), "Diff"), (("ping",), "Ping")):
        answers = {method: lambda p, s: [Raw(b'{"parameters":{"a":tru}}\0')]}
        one(Supd(**answers), *verb, status=1, err="supd's answer is malformed")


def test_answers_of_another_shape_do_no_harm():
    for verb, method in ((("explain", "a"), "Explain"), (("cat", "a"), "Describe"),
                         (("diff",), "Diff"), (("ping",), "Ping"), (("events",), "Events"),
                         (("start", "a"), "Start"), (("status",), "Status")):
        for parameters in ({}, {"text": 3}, {"plan": {}}, {"spec": []}, {"event": 7},
                           {"plan": [1, "x", None]}, {"spec": {"a": None}, "origin": 3}):
            def body(s):
                result = supctl(s, *verb)
                check(result.status in (0, 1), result)
            answers = {method: lambda p, s, v=parameters: [Reply(v)]}
            using(Supd(**answers), body)


def test_a_message_without_an_end_is_refused():
    def answer(parameters, supd):
        return [Raw(*[b"x" * 65536] * 200)]

    def body(s):
        result = supctl(s, "status")
        check(result.status == 1 and "receive" in result.err, result)
    using(Supd(Status=answer), body)


def test_a_connection_lost_in_the_middle_of_a_list_is_said():
    def answer(parameters, supd):
        yield Reply({"actors": [TREE[0]]}, more=True)
        yield Close
    one(Supd(Status=answer), "status", status=4, err="supd closed the connection")


def test_a_slow_supd_is_given_up_after_the_timeout():
    one(Supd(Status=lambda p, s: [Hang]), "--timeout", "50ms", "status", status=124,
        err="timed out after --timeout")
    one(Supd(Start=lambda p, s: [Hang]), "--timeout", "50ms", "start", "a", status=124,
        err="start a: timed out after --timeout")


def test_a_supd_that_always_closes_is_given_up_after_the_timeout():
    one(Supd(Start=lambda p, s: [Close]), "--timeout", "100ms", "start", "a", status=124,
        err="timed out after --timeout")


def test_without_a_supd_the_socket_and_the_remedy_are_named():
    for verb, status in ((("status",), 4), (("list",), 4), (("tree",), 4),
                         (("is-active", "a"), 4), (("is-failed", "a"), 4),
                         (("is-ready", "a"), 4), (("pid", "a"), 4), (("start", "a", "b"), 1),
                         (("stop", "a"), 1), (("apply",), 1), (("shutdown",), 1),
                         (("ping",), 1), (("events", "-f"), 1), (("watch", "a"), 1)):
        result = supctl(None, "-s", "/nonexistent/s", *verb)
        expect(result, status, None, "no supd at /nonexistent/s: No such file")
        check("supd FILE" in result.err and result.err.count("\n") == 1, result)


def test_a_socket_that_is_not_for_this_user_is_5():
    if os.geteuid() == 0:
        # Root may connect to every socket: connect as another user.
        prefix = ["setpriv", "--reuid=65534", "--clear-groups"]
    else:
        prefix = []

    def body(s):
        os.chmod(s.directory, 0o755)
        os.chmod(s.path, 0)
        ctl = subprocess.run(prefix + command("-s", s.path, "status"), env=environment(),
                             capture_output=True, timeout=GUARD_S)
        if prefix and ctl.returncode in (126, 127, 1):
            return  # this user cannot even run supctl here
        check(ctl.returncode == 5 and b"permission denied" in ctl.stderr, ctl)
    using(Supd(), body)


def test_the_socket_is_taken_from_the_environment():
    def body(s):
        expect(supctl(None, "ping", env={"SUPD_SOCKET": s.path}), 0)
        expect(supctl(None, "ping", env={"SUPD_SOCKET": "unix:" + s.path}), 0)
        expect(supctl(None, "-s", "/nonexistent/s", "ping", env={"SUPD_SOCKET": s.path}), 1,
               None, "/nonexistent/s")
    using(Supd(Ping=pong), body)


def test_a_socket_path_that_is_too_long_is_said():
    expect(supctl(None, "-s", "/" + "x" * 200, "status"), 4, "", "File name too long")


# ---- the command line ----------------------------------------------------------------


def test_usage_errors_are_2_with_a_remedy():
    for arguments, err in (
            (("statsu",), "did you mean 'status'?"),
            (("xyzzy",), "'supctl help' has them all"),
            (("-o", "xml", "status"), "write text or json"),
            (("--timeout", "5", "status"), "write a duration"),
            (("--nope", "status"), "unknown option '--nope'"),
            (("status", "--nope"), "unknown option '--nope'"), (("status", "-fx"), "unknown option '-x'"),
            (("status", "--hold"), "an option does not belong here"),
            (("start",), "something is missing (usage: supctl start"),
            (("ping", "x"), "too much (usage: supctl ping"),
            (("events", "--since", "x"), "write the number of an event"),
            (("help", "xyzzy"), "unknown verb"),
            (("-s",), "wants a value")):
        expect(supctl(None, *arguments), 2, "", err)


def test_help_and_version_are_on_standard_output():
    result = supctl(None, "--help")
    check(result.status == 0 and "  status " in result.out and not result.err, result)
    check("  metrics" in result.out and "  top" in result.out, result)
    check(supctl(None, "help").out == result.out, result)
    check(supctl(None, "--version").out.startswith("supctl "), "version")
    for arguments in (("help", "stop"), ("stop", "--help"), ("stop", "a", "-h")):
        result = supctl(None, *arguments)
        check(result.status == 0 and result.out.startswith("usage: supctl stop [--hold]"),
              result)


def on_a_terminal(supd, *arguments, **env):
    """What supctl prints when standard output is a terminal."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        raise Skip(str(error)) from error
    ctl = subprocess.Popen(command("-s", supd.path, *arguments), stdout=slave,
                           env=environment(**env))
    os.close(slave)
    data = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    ctl.wait(GUARD_S)
    os.close(master)
    return data


def test_colour_is_for_terminals_and_can_be_refused():
    def body(s):
        check(b"\x1b[32mrunning\x1b[0m" in on_a_terminal(s, "status"), "colour")
        check(b"\x1b" not in on_a_terminal(s, "status", NO_COLOR="1"), "NO_COLOR")
        check(b"\x1b" not in on_a_terminal(s, "--no-color", "status"), "--no-color")
        check("\x1b" not in supctl(s, "status").out, "a pipe")
    using(tree(), body)


EVIL = "x\x1b]0;x\x07\x9b31m\x7f\r\x1b[2J\x1b[8m\b"
KEPT = {"state", "kind", "time", "since", "at", "event", "change", "effect", "stream", "bytes",
        "directive"}


def poisoned(value, key=None):
    """The same with a hostile text in each string that a stranger may have chosen."""
    if isinstance(value, dict):
        return {k: poisoned(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(v, key) for v in value]
    return value + EVIL if isinstance(value, str) and key not in KEPT else value


def hostile_supd():
    """A supd with well-formed and hostile answers."""
    bad = [poisoned(a) for a in (
        supervisor("/user/a", description="d", status="s", last_failure=failure()),
        actor("/user/a/b", state="failed", pid=None, uptime_ms=None, waits_for=["/user/q"],
              output_blocked="disk", status="s", last_failure=failure()))]

    def listed(parameters, supd):
        return stream(bad)

    def acted(parameters, supd):
        return [Reply({"actors": bad})]

    def events(parameters, supd):
        story = STORY + [event(14, "command", verb="v", uid=0, pid=1, program="p"),
                         event(15, "hook_failed", hook="h", cause=cause(), timed_out=False),
                         event(16, "output_blocked", file="f", reason="r"),
                         event(17, "unkillable", text="t"), event(18, "shortage", cause=cause()),
                         event(19, EVIL, text="t")]
        for e in story:
            yield Reply({"event": poisoned(e)}, more=e is not story[-1])

    def logs(parameters, supd):
        yield begins("/user/a" + EVIL, "1.2")
        yield begins("/user/b", "1.2")
        yield said("/user/a" + EVIL, "text " + EVIL, "1.3", stream="stdout")
        yield said("/user/b", EVIL, "1.3", more=False)
    plan = [poisoned(change("/user/a", kind, effect, ("k", '"o"', '"n"')))
            for kind, effect in (("updated", "update"), ("restarted", "restart"))]
    steps = [dict(poisoned({"at_ms": 1, "event": "e", "path": "/user/a", "text": "t"}),
                  delay_ms=1, delay_min_ms=1, delay_max_ms=2, window=1, limit=2)]
    return Supd(
        Status=listed, Start=acted, Stop=acted, Restart=acted, Suspend=acted, Resume=acted,
        Reset=acted, Scale=acted, Signal=lambda p, s: [Reply({})], Fail=lambda p, s: [Reply({})],
        Delete=lambda p, s: [Reply({})], Add=lambda p, s: [Reply({"actor": bad[0]})],
        Wait=lambda p, s: [Reply({"actor": bad[0]})],
        Watch=lambda p, s: [Reply(poisoned(end("/user/a", cause=cause())))],
        Events=events, Logs=logs, Ping=lambda p, s: [Reply(poisoned(PONG))],
        Explain=lambda p, s: [Reply({"text": "a\n" + EVIL + "\nb\n", "path": EVIL})],
        Simulate=lambda p, s: [Reply({"steps": steps})],
        Describe=lambda p, s: [Reply({
            "spec": {"command": [EVIL], EVIL: EVIL, "backoff": {"min" + EVIL: EVIL}},
            "origin": [{"key": "command", "file": EVIL, "line": 4}]})],
        Diff=lambda p, s: [Reply({"plan": plan})], Apply=lambda p, s: [Reply({"plan": plan})],
        Metrics=lambda p, s: [Reply({"openmetrics": 'x{path="%s"} 1\n' % EVIL})],
        Upgrade=lambda p, s: [Reply({"from": EVIL, "to": EVIL, "outage_ms": 3})])


EVERY_VERB = (
    ("status",), ("status", "x"), ("status", "x*"), ("status", "--failed"), ("list",), ("tree",),
    ("tree", "--dot"), ("is-active", "x"), ("is-failed", "x"), ("is-ready", "x"),
    ("is-healthy",), ("is-healthy", "x"),
    ("pid",), ("pid", "x*"), ("explain", "x*"), ("simulate",), ("simulate", "x"), ("cat", "x*"),
    ("ping",), ("metrics",), ("version",), ("top", "-n", "1"),
    ("start", "--settle", "0", "x"), ("start", "--settle", "1ms", "x"), ("stop", "x"),
    ("restart", "--no-wait", "x"), ("suspend", "x"), ("resume", "x"), ("signal", EVIL, "HUP"),
    ("signal", "x", EVIL), ("kill", EVIL), ("fail", EVIL), ("reset", "x"),
    ("add", "x", "--", "true"), ("add", "x", "--use", EVIL, "--with", "a=" + EVIL),
    ("delete", EVIL), ("scale", "x", "2"), ("upgrade",), ("watch", "x"), ("wait", "x"),
    ("wait", "x", "--for", EVIL), ("events",), ("events", "-n", "3"), ("events", EVIL),
    ("events", "--type", EVIL), ("logs",), ("logs", "x", "-t"), ("logs", "-r"),
    ("logs", "-g", EVIL), ("logs", "--since", EVIL), ("diff",), ("diff", EVIL),
    ("apply", "--no-wait"), ("apply", "--rollback", EVIL), ("reload", EVIL),
    ("help", EVIL), (EVIL,), ("--" + EVIL,))


def seen_on_a_terminal(supd, *arguments):
    """All of what supctl writes, on standard output and standard error."""
    master, slave = pty.openpty()
    ctl = subprocess.Popen(command("-s", supd.path, *arguments), stdout=slave, stderr=slave,
                           stdin=subprocess.DEVNULL, env=environment(TERM="xterm", NO_COLOR="1"))
    os.close(slave)
    data = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    ctl.wait(GUARD_S)
    os.close(master)
    return data.decode(errors="replace").replace("\r\n", "\n")


def test_nothing_from_outside_controls_the_terminal():
    supd = hostile_supd()
    for arguments in EVERY_VERB:
        for form in ((), ("-o", "json")):
            seen = seen_on_a_terminal(supd, *form, *arguments)
            bad = set(seen) & set(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))
            check(not bad, (form, arguments, bad, seen))
    supd.close()


def test_no_error_of_supd_controls_the_terminal():
    errors = [Error(name + ("" if "." in name else ""), **fields) for name, fields in (
        ("NoSuchActor", {"name": EVIL, "candidates": [EVIL, EVIL]}),
        ("NoSuchActor", {"name": EVIL, "candidates": []}),
        ("InvalidState", {"name": EVIL, "state": EVIL, "message": EVIL}),
        ("AlreadyPresent", {"name": EVIL}), ("AlreadyStarted", {"name": EVIL}),
        ("StartFailed", {"name": EVIL, "cause": cause(EVIL), "rolled_back_to": EVIL}),
        ("LimitReached", {"name": EVIL, "limit": 3}),
        ("ConfigInvalid", {"errors": [{"file": EVIL, "line": 3, "column": 4, "path": EVIL,
                                       "message": EVIL}]}),
        ("Timeout", {"name": EVIL, "state": EVIL, "rolled_back_to": None}),
        ("SlowConsumer", {"dropped": 3}), ("OutcomeUnknown", {"method": EVIL}),
        ("org.varlink.service.InvalidParameter", {"parameter": EVIL}),
        ("org.varlink.service.PermissionDenied", {}), ("io.example." + EVIL, {}))]
    for error in errors:
        for arguments in (("start", "x"), ("status", "x"), ("apply",), ("logs", "x"),
                          ("events",), ("add", "x", "--", "y")):
            answer = lambda p, s, e=error: [e]
            supd = Supd(**{m: answer for m in ("Start", "Status", "Apply", "Logs", "Events",
                                               "Add")})
            seen = seen_on_a_terminal(supd, *arguments)
            bad = set(seen) & set(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))
            check(seen and not bad, (error.message, arguments, bad, seen))
            supd.close()


if __name__ == "__main__":
    sys.exit(run(dict(globals())))
