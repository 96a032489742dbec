#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The verbs of supctl that act: start, stop, restart, signal, shutdown and more."""
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from canned import check, expect, on_a_terminal, one, pong, using
from fake_supd import (GUARD_S, actor, cause, command, environment, run, supctl, tree, Close, Error,
                       Raw, Reply, Supd)

RECONNECT_S = 5.1  # a little more than CLIENT_RECONNECT_MS


def without_token(calls):
    """The calls of an acting verb, without the token, which differs in each call."""
    return [(method, {k: v for k, v in parameters.items() if k != "token"}, more)
            for method, parameters, more in calls]


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
        out='{"openmetrics":"a 1\\n# EOF\\n"}\n')
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


if __name__ == "__main__":
    sys.exit(run(dict(globals())))
