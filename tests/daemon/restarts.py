#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Restart types: what an end of a process leads to, by its cause."""
import os
import resource
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, test
from supd import plain_signal


def cause_of(s, name, count=1):
    return s.event("exited", name, count)["cause"]


@test("a permanent actor that ends normally is started again, and that counts")
def permanent_normal(box):
    s = box.supd({"sup": {"I": "2/1h", "children": {"a": {}}}})
    first = s.started("a")
    s.tell("a", "exit=0")
    check(s.started("a", 2) != first, "the same pid")
    s.wait_for("sup/a", restarts=1, state="running", generation=2)
    equal(s.actor("sup")["window"], 1, "restarts in the supervisor's window")
    equal(cause_of(s, "sup/a")["kind"], "normal", "the cause")


@test("a permanent actor that an outside SIGTERM ends is started again, each time")
def permanent_term(box):
    s = box.supd({"a": {"do": ["default=TERM"]}})
    for count in (1, 2):
        os.kill(s.started("a", count), signal.SIGTERM)
        s.started("a", count + 1)
    equal(s.wait_for("a", restarts=2)["state"], "running", "the state")


@test("a permanent actor that fails is started again; the cause is its exit code")
def permanent_failure(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.tell("a", "exit=42")
    s.started("a", 2)
    cause = s.event("failure", "a")["cause"]
    equal((cause["kind"], cause["code"]), ("exit", 42), "the cause")
    check(cause["text"], "the cause has no text")


@test("every exit code from 1 to 200 comes back as the cause")
def every_code(box):
    names = [f"a{n}" for n in range(50)]
    s = box.supd({name: {"restart": "transient"} for name in names})
    for life in range(4):
        for n, name in enumerate(names):
            s.started(name, life + 1)
            s.tell(name, f"exit={1 + 4 * n + life}")
    for name in names:
        s.event("exited", name, 4)
    equal([event["cause"]["code"] for name in names for event in s.seen("exited", name)],
          list(range(1, 201)), "the codes")


@test("a transient actor that ends normally is done, and can be started by hand")
def transient_normal(box):
    s = box.supd({"a": {"restart": "transient"}})
    s.started("a")
    s.tell("a", "exit=0")
    actor = s.wait_for("a", state="done")
    equal((actor["pid"], actor["uptime_ms"], actor["restarts"]), (None, None, 0), "status")
    s.ctl_ok("start", "a")
    s.started("a", 2)
    equal(s.actor("a")["generation"], 2, "the generation")


@test("a transient actor that an outside SIGTERM, SIGHUP, SIGINT or SIGPIPE ends is done")
def transient_signals(box):
    s = box.supd({"a": {"restart": "transient",
                        "do": [f"default={name}" for name in ("TERM", "HUP", "INT", "PIPE")]}})
    for count, signo in enumerate((signal.SIGTERM, signal.SIGHUP, signal.SIGINT,
                                   signal.SIGPIPE), 1):
        os.kill(s.started("a", count), signo)
        s.event("exited", "a", count)
        s.wait_for("a", state="done")
        s.ctl_ok("start", "a")
    equal(s.seen("failure"), [], "failures")


@test("a transient actor that fails is started again")
def transient_failure(box):
    s = box.supd({"a": {"restart": "transient"}})
    s.started("a")
    s.tell("a", "exit=3")
    s.started("a", 2)


def temporary(what, action):
    @test(f"a temporary actor that ends by {what} disappears")
    def one(box):
        s = box.supd({"a": {"restart": "temporary", "do": ["default=TERM"]}, "b": {}})
        b = s.started("b")
        s.started("a")
        action(s)
        s.event("exited", "a")
        s.until(lambda: s.gone("a"), "NoSuchActor")
        equal(s.ctl("status", "a").code, 4, "exit status of supctl status")
        equal(len(s.lines("S", "a")), 1, "starts of a")
        equal(s.actor("b")["pid"], b, "b's pid")


temporary("exit 0", lambda s: s.tell("a", "exit=0"))
temporary("exit 1", lambda s: s.tell("a", "exit=1"))
temporary("SIGTERM", lambda s: os.kill(s.pids["a"], signal.SIGTERM))


@test("a temporary actor that is gone is still told of: its story, its log and its events")
def gone(box):
    command = ["sh", "-c", "echo a last line; exit 9"]
    s = box.supd({"sup": {"children": {"a": {"command": command, "restart": "temporary"}}},
                  "b": {}})
    s.started("b")
    s.until(lambda: s.gone("sup/a"), "NoSuchActor")
    for name in ("sup/a", "/user/sup/a"):
        equal(s.ctl("status", name).code, 4, "exit status of supctl status")
        has(s.ctl_ok("explain", name).out,
            r"/user/sup/a failed at .*: exit(ed with)? 9(.|\n)*\nNow: gone.* at \d\d:\d\d:\d\d\.\d{3}\.$", "the story")
        s.until(lambda name=name: s.ctl_ok("logs", name).out == "a last line\n", "the log")
    equal(s.ctl_ok("logs", "sup/a", "/user/sup/a").out, "sup/a | a last line\n", "each line once")
    equal(s.call("Explain", name="sup/a")["last_words"], ["a last line"], "the last words")
    has(s.ctl_ok("events", "/user/sup/a").out, "exited", "the events")
    for name in ("a", "sup/x", "/user/x", "/user/sup/a/", "/"):
        for verb in ("explain", "logs"):
            equal(s.ctl(verb, name).code, 4, f"exit status of {verb} {name}")
    result = s.ctl("logs", *["sup/a"] * 62)
    check("61" in result.err, f"more names than are looked for: {result}")
    equal(s.error_of("Stop", names=["sup/a"])[0], "NoSuchActor", "what changes something")


@test("an added actor that was deleted is still told of, until its name means another")
def deleted(box):
    s = box.supd({"b": {}})
    s.ctl_ok("add", "a", "--", "sh", "-c", "echo first; exec sleep 1000")
    s.until(lambda: s.ctl_ok("logs", "a").out == "first\n", "the log")
    s.ctl_ok("stop", "a")
    s.ctl_ok("delete", "a")
    has(s.ctl_ok("explain", "a").out, r"No event tells of a failure of /user/a\.\nNow: gone", "gone")
    equal(s.ctl_ok("logs", "a").out, "first\n", "the log")
    s.ctl_ok("add", "a", "--", "sleep", "1000")
    has(s.ctl_ok("explain", "a").out, r"has not failed(.|\n)*\nNow: running", "the next")


def never(code, state):
    @test(f"an actor with `restart: never` that exits with {code} stays {state}, and can be started")
    def one(box):
        s = box.supd({"a": {"restart": "never"}, "b": {}}, strategy="one_for_all")
        b = s.started("b")
        s.started("a")
        s.tell("a", f"exit={code}")
        s.wait_for("a", state=state, restarts=0)
        s.crash()
        s.wait_for("a", state=state, restarts=0)
        has(s.ctl("status", "a").out, state, "supctl status")
        has(s.ctl_ok("explain", "a").out, r"`restart` is `never`" if code else r"done", "explain")
        equal(s.actor("b")["pid"], b, "b's pid")
        equal(len(s.lines("S", "a")), 1, "starts of a")
        s.ctl_ok("start", "a")
        s.started("a", 2)


never(0, "done")
never(9, "failed")


@test("SIGKILL from outside is a failure and leads to a restart")
def killed_outside(box):
    s = box.supd({"a": {"restart": "transient"}})
    os.kill(s.started("a"), signal.SIGKILL)
    s.started("a", 2)
    cause = s.event("failure", "a")["cause"]
    equal((cause["kind"], plain_signal(cause["signal"])), ("signal", "KILL"), "the cause")


@test("a crash without a dump has the cause signal, one with a dump the cause core")
def core(box):
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    del soft
    check(hard == resource.RLIM_INFINITY, "no core dumps possible")
    s = box.supd({
        "plain": {"restart": "transient", "limits": {"core": 0}},
        "dumps": {"restart": "transient", "limits": {"core": "unlimited"},
                  "directory": box.dir}})
    s.started("plain")
    s.started("dumps")
    s.tell("plain", "raise=SEGV")
    s.tell("dumps", "raise=ABRT")
    s.started("plain", 2)
    s.started("dumps", 2)
    plain = s.event("failure", "plain")["cause"]
    dumps = s.event("failure", "dumps")["cause"]
    equal((plain["kind"], plain_signal(plain["signal"])), ("signal", "SEGV"), "the cause of plain")
    equal((dumps["kind"], plain_signal(dumps["signal"])), ("core", "ABRT"), "the cause of dumps")


@test("the success set decides what is a normal end")
def success(box):
    s = box.supd({
        "a": {"restart": "transient", "success": {"exit": [0, "3-5", "tempfail"]}},
        "b": {"restart": "transient", "do": ["default=USR1", "default=TERM"],
              "success": {"signals": ["USR1"]}}})
    for count, code in enumerate((0, 3, 5, 75), 1):
        s.started("a", count)
        s.tell("a", f"exit={code}")
        s.event("exited", "a", count)
        s.wait_for("a", state="done")
        s.ctl_ok("start", "a")
    s.started("a", 5)
    s.tell("a", "exit=6")
    s.event("failure", "a")
    s.started("b")
    s.tell("b", "raise=USR1")
    s.wait_for("b", state="done")
    s.ctl_ok("start", "b")
    os.kill(s.started("b", 2), signal.SIGTERM)
    s.event("failure", "b")


@test("a decider rule that names normal is asked for a normal end")
def normal_rule(box):
    s = box.supd({"a": {}, "b": {}}, decider=[{"when": "normal", "then": "stop"}, "default"])
    s.started("b")
    s.tell("a", "exit=0")
    s.wait_for("a", state="failed")
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("the actor's own on_failure is asked before the supervisor's decider")
def on_failure(box):
    s = box.supd({"a": {"on_failure": [{"when": {"exit": [7]}, "then": "stop"}]}, "b": {}})
    s.started("b")
    s.tell("a", "exit=8")
    s.started("a", 2)
    s.tell("a", "exit=7")
    s.wait_for("a", state="failed")
    failure = s.event("failure", "a", 2)
    equal(failure["directive"], "stop", "the directive")
    check(s.file.endswith("supd.yaml") and "supd.yaml:" in failure["rule"],
          f"the rule has no file:line: {failure['rule']}")
    equal(s.event("failure", "a")["rule"], "preset default", "the first failure's rule")


@test("the stopping preset stops the child that fails and nothing else")
def stopping(box):
    s = box.supd({"a": {}, "b": {}}, decider="stopping")
    b = s.started("b")
    s.tell("a", "raise=SEGV")
    actor = s.wait_for("a", state="failed")
    equal(actor["last_failure"]["directive"], "stop", "the directive")
    equal(s.actor("b")["pid"], b, "b's pid")


@test("resume of a dead process starts it again without counting it")
def resume(box):
    s = box.supd({"sup": {"I": "0/60s", "decider": [{"when": "any", "then": "resume"}],
                          "children": {"a": {}}}})
    for count in range(1, 5):
        s.started("a", count)
        s.tell("a", "exit=1")
    s.started("a", 5)
    equal(s.actor("sup")["window"], 0, "restarts in the window")
    equal(s.seen("failure", "sup/a")[0]["directive"], "resume", "the directive")


@test("the sixth resume of a dead process within a minute is handled as a restart")
def resume_guard(box):
    s = box.supd({"sup": {"I": "0/60s", "decider": [{"when": "any", "then": "resume"}],
                          "children": {"a": {}}}},
                 decider=[{"when": "intensity", "then": "stop"}, "default"])
    for count in range(1, 7):
        s.started("a", count)
        s.tell("a", "exit=1")
    s.event("gave_up", "sup")
    equal(len(s.lines("S", "a")), 6, "starts of a")


if __name__ == "__main__":
    main()
