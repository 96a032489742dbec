#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What is told of starts, ends and failures: each once, in the log at its level, in the
stream with the fields that make it of use."""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, test

LOUD = ("error", "warning")
LEVELS = [{"when": {"exit": [1]}, "then": "resume"},
          {"when": {"exit": [2]}, "then": "restart"},
          {"when": {"exit": [3]}, "then": "restart", "log": "info"},
          {"when": {"exit": [4]}, "then": "restart", "log": "off"},
          {"when": {"exit": [5]}, "then": "restart", "log": "warning"},
          {"when": {"exit": [6]}, "then": "stop"}, "default"]


def lines(s, of="", levels=None):
    """(level, text) of the lines of supd's log that begin with `of`."""
    with open(s.stderr, encoding="utf8", errors="replace") as text:
        found = re.findall(r"(?m)^\S+Z (\w+) +(.*)$", text.read())
    return [(level, line) for level, line in found
            if line.startswith(of) and (levels is None or level in levels)]


def line(s, pattern, count=1):
    """Wait for the count-th line that matches; gives the level of the line."""
    def found():
        return [level for level, text in lines(s) if re.search(pattern, text)]

    s.until(lambda: len(found()) >= count, f"{count} × a line like {pattern}")
    equal(len(found()), count, f"lines like {pattern}")
    return found()[-1]


@test("172 each start is told once, with the path and the pid (O-51)")
def starts(box):
    s = box.supd({"s": {"children": {"a": {}}}})
    for count, then in ((1, "exit=1"), (2, "exit=0"), (3, "raise=KILL"), (4, None)):
        pid = s.started("a", count)
        told = s.event("started", "s/a", count)
        equal((told["path"], told["pid"], told["generation"]), ("/user/s/a", pid, count),
              "what is told")
        equal(line(s, f"^/user/s/a: started, pid {pid}$"), "info", "how loud")
        if then:
            s.tell("a", then)
    equal(len(s.seen("started", "s/a")), 4, "starts told")
    equal(len(lines(s, "/user/s/a: started")), 4, "lines")


@test("173 P exit 1 is an error, T exit 0 is none, X exit 1 is one without a restart (O-50)")
def ends(box):
    s = box.supd({"p": {}, "t": {"restart": "transient"}, "x": {"restart": "temporary"}})
    s.started("x")
    s.tell("t", "exit=0")
    s.wait_for("t", state="done")
    s.tell("x", "exit=1")
    s.event("terminated", "x")
    s.tell("p", "exit=1")
    s.started("p", 2)
    equal(line(s, r"^/user/p: failure: .*exit.* 1; restart"), "error", "p")
    equal(line(s, r"^/user/x: failure: .*exit.* 1; stop"), "error", "x")
    equal(lines(s, "/user/t", LOUD), [], "loud lines of t")
    equal(len(lines(s, "/user/", LOUD)), 2, "loud lines")
    equal([one["path"] for one in s.seen("failure")], ["/user/x", "/user/p"], "failures")
    equal(s.seen("exited", "t")[0]["cause"]["kind"], "normal", "t's end")


@test("174 each failed retry is told, one line an attempt")
def retries(box):
    program = box.path("program")
    s = box.supd({"a": {"binary": program, "backoff": {"min": "20ms", "max": "20ms"}},
                  "b": {}}, wait=False, start="parallel", decider=[
                      {"when": "init", "then": "restart"}, "default"])
    s.event("failure", "a", 2)
    s.ctl_ok("stop", "a")
    failures = s.seen("failure", "a")
    equal({(one["cause"]["kind"], one["cause"]["errno"]) for one in failures},
          {("exec", "ENOENT")}, "the causes")
    s.until(lambda: len(lines(s, "/user/a: failure", LOUD)) >= len(failures), "the lines")
    equal(len(lines(s, "/user/a", LOUD)), len(failures), "loud lines")


@test("175 giving up is told with the offender, the intensity and the period (O-29)")
def gives_up(box):
    s = box.supd({"s": {"I": "1/60s", "children": {"a": {}, "b": {}}}}, decider="stopping")
    s.started("b")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.tell("a", "exit=1")
    told = s.event("gave_up", "s")
    equal((told["offender"], told["intensity"], told["within"]), ("/user/s/a", 1, 60000),
          "what is told")
    s.event("failure", "s")
    equal([(one["path"], one["cause"]["kind"], one["directive"]) for one in s.seen("failure")],
          [("/user/s/a", "exit", "restart"), ("/user/s/a", "exit", "escalate"),
           ("/user/s", "intensity", "stop")], "the failures")
    equal(line(s, r"^/user/s: gave_up: more than 1 restarts within 1m, the last of /user/s/a$"),
          "error", "how loud")
    s.wait_for("s", state="failed")


@test("176 each directive has its level, a rule its own; off mutes the failure's line only (L-01)")
def levels(box):
    s = box.supd({"s": {"decider": LEVELS, "children": {"a": {}}}})
    for count, (code, level) in enumerate(((1, "warning"), (2, "error"), (3, "info"),
                                           (5, "warning")), 2):
        s.tell("a", f"exit={code}")
        s.started("a", count)
        equal(line(s, rf"^/user/s/a: failure: .*exit.* {code};"), level, f"exit {code}")
    s.tell("a", "exit=4")
    pid = s.started("a", 6)
    line(s, rf"^/user/s/a: started, pid {pid}$")
    equal([text for _, text in lines(s, "/user/s/a: failure") if " 4;" in text], [],
          "lines of what is off")
    equal(len([one for one in s.seen("failure") if one["cause"]["code"] == 4]), 1, "events")
    line(s, r"^/user/s/a: exited: .* 4$")
    s.tell("a", "exit=6")
    s.wait_for("s/a", state="failed")
    equal(line(s, r"^/user/s/a: failure: .*exit.* 6; stop"), "error", "exit 6")


@test("L-01 log_failures: false hides the failures' lines of one level, until apply shows them; no event is hidden")
def hidden(box):
    tree = {"a": {}, "s": {"children": {"b": {}}}}
    s = box.supd(tree, log_failures=False,
                 decider=[{"when": {"exit": [3]}, "then": "restart", "log": "warning"}, "default"])
    s.started("b")
    for count, code in enumerate((1, 3), 2):
        s.tell("a", f"exit={code}")
        s.started("a", count)
    s.tell("b", "exit=1")
    s.started("b", 2)
    equal(line(s, r"^/user/s/b: failure: exited with 1; restart"), "error", "b")
    equal([(level, text.partition(";")[0]) for level, text in lines(s, "/user/a: failure")],
          [("warning", "/user/a: failure: exited with 3")], "lines of a")
    line(s, "^/user/a: exited: exited with 1$")
    equal([one["cause"]["code"] for one in s.seen("failure", "a")], [1, 3], "events of a")
    s.write(tree, log_failures=True)
    s.ctl_ok("apply")
    s.tell("a", "exit=1")
    s.started("a", 4)
    equal(line(s, "^/user/a: failure: exited with 1; restart"), "error", "a after the apply")


@test("176 escalate is not told at its own level, once where it is handled (C18, C19)")
def escalates(box):
    s = box.supd({"o": {"children": {"i": {"decider": "escalating", "children": {"a": {}}}}}})
    s.started("a")
    s.tell("a", "exit=9")
    s.started("a", 2)
    equal(line(s, r"^/user/o/i: failure: .* in /user/o/i/a; restart"), "error", "how loud")
    equal(len(lines(s, "", LOUD)), 1, "loud lines")
    equal([one["to"] for one in s.seen("escalated")], ["/user/o"], "levels passed")


@test("75 an end that was asked for is not loud; one that had to be killed is one warning")
def asked_for(box):
    s = box.supd({"a": {}, "b": {"do": ["default=TERM"]}, "c": {"do": ["ignore"],
                                                                "shutdown": "200ms"}})
    s.started("c")
    s.stop()
    equal(lines(s, "", LOUD), [
        ("warning", "/user/c: killed_after_timeout: it did not stop within 200ms")], "loud lines")


@test("76 a shutdown: status answers, the last stop is in the log, /system ends behind /user "
      "(G-01, G-02)")
def shutdown(box):
    s = box.supd({"a": {"do": ["delay=300"]}, "s": {"children": {"b": {"do": ["delay=300"]}}}})
    s.started("b")
    equal([text for _, text in lines(s, "/") if text.endswith(": started")
           or ": started, pid" in text][0], "/system: started", "who starts first")
    s.signal(signal.SIGTERM)
    for name in ("b", "a"):
        s.line("t", name)
        result = s.ctl("status", "/user")
        equal((result.code, "stopping" in result.out), (3, True), f"status ({result})")
    s.ended(0)
    order = [text for _, text in lines(s, "/") if text.endswith(": stopped")]
    equal([text for text in order if text.startswith("/user")],
          [f"{path}: stopped" for path in ("/user/s/b", "/user/s", "/user/a", "/user")],
          "the stops")
    everything = [text for _, text in lines(s)]
    last = everything.index("/user: stopped")
    system = [i for i, text in enumerate(everything) if re.match("/system.*: (stop|exit)", text)]
    check(system and min(system) > last, lambda: f"the order: {everything[-15:]}")
    has(everything[-1], "supd|/system", "the last line")


@test("each command is a line of the log, with its user and process")
def commands(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.ctl_ok("restart", "a")
    s.ctl_ok("signal", "a", "USR1")
    s.ctl_ok("add", "b", "--", "/bin/sleep", "1000")
    s.ctl_ok("apply")
    for told in ("/user/a: command: restart", "/user/a: command: signal SIGUSR1",
                 "/user/b: command: add", "/: command: apply"):
        equal(line(s, rf"^{told} by user {os.geteuid()}, pid \d+ \(supctl\)$"), "notice", told)


@test("/system/log is killed again and again: no actor below /user notices (G-05, G-06)")
def system_fails(box):
    s = box.supd({"a": {"do": ["say=hello"]}})
    pid = s.started("a")
    for count in range(2, 9):
        log = [one for one in s.family() if one not in (s.process.pid, s.guardian(), pid)]
        check(log, "the log process is there")
        for one in log:
            os.kill(one, signal.SIGKILL)
        s.until(lambda n=count: len(lines(s, "/system/log: started")) >= n, "the next one", 20)
    equal(s.actor("a")["pid"], pid, "a's pid")
    equal(s.actor("/user")["restarts"], 0, "restarts of /user")
    equal(lines(s, "/user", LOUD), [], "loud lines")


if __name__ == "__main__":
    main()
