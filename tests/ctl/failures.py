#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What can go wrong on the way to supd, the command line, and hostile answers."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from canned import (PONG, STORY, begins, change, check, end, event, expect, on_a_terminal, one,
                    pong, said, using)
from fake_supd import (GUARD_S, TREE, actor, cause, command, environment, failure, run, stream,
                       supctl, supervisor, tree, Close, Error, Hang, Raw, Reply, Supd)


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
    data = on_a_terminal(supd, *arguments, errors=True, TERM="xterm", NO_COLOR="1")
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
