#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Death watch by the file: watching actors are told of ends, and react."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, alive, check, equal, has, main, test

TELL = ("echo $SUPD_HOOK $SUPD_PATH $SUPD_REASON ${SUPD_CAUSE:--} ${SUPD_EXIT_CODE:--} "
        "${SUPD_SIGNAL:--} ${SUPD_PID:--} $SUPD_WATCHED $SUPD_EXISTENCE_CONFIRMED >>@")


def told(s, watcher, of, count=1, **fields):
    """The count-th time that the watcher is told of this end."""
    return s.event("terminated", of, count, watcher=f"/user/{watcher}", **fields)


def script(box, text=TELL):
    """A command; @ is the file `told` of the box.  A dollar is the shell's."""
    return ["/bin/sh", "-c", text.replace("@", box.path("told")).replace("${", "$${")]


def written(box):
    """What the commands have written so far: lists of words."""
    try:
        with open(box.path("told"), encoding="utf8") as text:
            return [line.split() for line in text.read().splitlines()]
    except FileNotFoundError:
        return []


def tellings(s, watcher):
    s.pump(0)
    return [one for one in s.events
            if one["event"] == "terminated" and one.get("watcher") == f"/user/{watcher}"]


@test("128 a death pact: the watcher fails after the end, its own watcher is told of it")
def pact(box):
    s = box.supd({"a": {}, "b": {"watch": {"a": "fail"}},
                  "c": {"watch": {"/user/b": {"signal": "USR1"}}}})
    s.started("c")
    mark = s.mark()
    s.ctl_ok("fail", "a")
    s.line("s", "c")
    equal(s.order(mark), ["t a", "x a", "t b", "x b"], "the order")
    failure = s.event("failure", "b")
    equal((failure["cause"]["kind"], failure["cause"]["key"], failure["directive"],
           failure["origin"]), ("death_pact", "/user/a", "stop", "/user/b"), "b's failure")
    equal(told(s, "c", "b")["existence_confirmed"], True, "confirmed")
    seqs = [s.event("failure", "a")["seq"], told(s, "b", "a")["seq"], failure["seq"],
            told(s, "c", "b")["seq"]]
    equal(seqs, sorted(seqs), "the order of the events")
    actor = s.wait_for("b", state="failed")
    equal(actor["last_failure"]["cause"]["key"], "/user/a", "whose end it was")
    has(s.ctl_ok("explain", "b").out, "/user/a, which ended for good", "explain")
    has(s.ctl_ok("cat", "b").out, r"watch:\n  /user/a: fail", "cat")


@test("136 a rule makes of a death pact a restart")
def restarted(box):
    s = box.supd({"a": {}, "b": {"watch": {"a": "fail"}}},
                 decider=[{"when": "death_pact", "then": "restart"}, "default"])
    b = s.started("b")
    s.ctl_ok("stop", "a")
    check(s.started("b", 2) != b, "the same process")
    s.wait_for("b", state="running", restarts=1)
    s.settle()
    equal(len(tellings(s, "b")), 1, "how often it was told")


@test("D-01 no watcher is told of a restart of the target")
def invisible(box):
    s = box.supd({"a": {}, "b": {"watch": {"a": {"signal": "HUP"}}}})
    s.started("b")
    for count in (2, 3):
        s.tell("a", "exit=1")
        s.started("a", count)
    s.settle()
    equal((tellings(s, "b"), s.lines("s", "b")), ([], []), "what b was told")
    s.ctl_ok("stop", "a")
    equal(s.line("s", "b")[-1], str(int(signal.SIGHUP)), "the signal")
    told(s, "b", "a")
    equal(len(tellings(s, "b")), 1, "how often it was told")


@test("the reactions restart and stop are no failures")
def reactions(box):
    s = box.supd({"a": {}, "b": {"watch": {"a": {"restart": True}},
                                 "backoff": {"on": "failure"}},
                  "c": {"watch": {"a": {"stop": True}}}})
    s.started("c")
    s.ctl_ok("stop", "a")
    s.started("b", 2)
    s.wait_for("b", state="running")
    equal(s.wait_for("c", state="stopped")["last_failure"], None, "c's failure")
    equal((s.seen("failure"), s.actor("b")["backoff"]), ([], None), "failures")
    for name, end in ("b", "restarted"), ("c", "stopped"):
        has(s.ctl_ok("explain", name).out, "watches /user/a, which ended for good at .*: "
            f"/user/{name} was {end}", "explain")
    has(s.ctl_ok("events").out, "/user/a .*ended for good, told to /user/b", "events")


@test("124 an end before the start of the watcher is told at once, not confirmed")
def before(box):
    s = box.supd({"a": {"enabled": False},
                  "b": {"watch": {"a": {"signal": "CONT"}, "nobody": {"restart": True}}}})
    for name in ("a", "nobody"):
        equal(told(s, "b", name)["existence_confirmed"], False, f"{name} confirmed")
    s.settle()
    equal(len(s.lines("S", "b")), 1, "b's starts")


@test("131 an actor that comes back is watched anew: started again, or added by apply")
def anew(box):
    tree = {"a": {}, "b": {"watch": {"a": {"signal": "HUP"}, "c": {"signal": "USR1"}}}}
    s = box.supd(tree)
    equal(told(s, "b", "c")["existence_confirmed"], False, "c, whom nobody knows")
    for count in (1, 2):
        s.ctl_ok("stop", "a")
        equal(told(s, "b", "a", count)["incarnation"], count, "a's incarnation")
        s.ctl_ok("start", "a")
    s.write({**tree, "c": {}})
    s.ctl_ok("apply")
    s.started("c")
    s.write(tree)
    s.ctl_ok("apply")
    equal(told(s, "b", "c", 2)["existence_confirmed"], True, "c, which was there")
    equal(len(s.lines("S", "b")), 1, "b's starts")


@test("126 apply changes watches in place: an actor that no longer watches is not told")
def changed(box):
    tree = {"a": {}, "n": {}, "b": {"watch": {"a": {"signal": "HUP"}}}}
    s = box.supd(tree)
    b = s.started("b")
    tree["b"] = {"watch": {"n": {"signal": "USR1"}}}
    s.write(tree)
    has(s.ctl_ok("apply").out, "updated", "the plan")
    s.ctl_ok("stop", "a")
    s.ctl_ok("stop", "n")
    told(s, "b", "n")
    s.settle()
    equal([one["path"] for one in tellings(s, "b")], ["/user/n"], "who it was told of")
    equal(s.actor("b")["pid"], b, "b's pid")


@test("133 a supervisor that watches its own child is told of its failure, other watchers are not")
def child(box):
    s = box.supd({"sup": {"watch": {"sup/a": {"stop": True}}, "decider": "stopping",
                          "children": {"a": {}, "c": {}}},
                  "b": {"watch": {"sup/a": {"signal": "HUP"}}}})
    s.started("b")
    s.tell("a", "exit=3")
    end = told(s, "sup", "sup/a")
    equal((end["child_failed"], end["cause"]["code"]), (True, 3), "to the supervisor")
    end = told(s, "b", "sup/a")
    check("cause" not in end and "child_failed" not in end, f"to others: {end}")
    s.wait_for("sup", state="stopped")


@test("135 a supervisor is restarted: its children end for good, the supervisor does not")
def inner(box):
    s = box.supd({"sup": {"children": {"a": {"on_failure": "escalating"}}},
                  "b": {"watch": {"sup/a": {"signal": "HUP"}, "sup": {"signal": "USR1"}}}})
    s.started("b")
    s.tell("a", "exit=1")
    s.started("a", 2)
    told(s, "b", "sup/a")
    s.settle()
    equal([one["path"] for one in tellings(s, "b")], ["/user/sup/a"], "who it was told of")


@test("I26 a circle of death pacts ends")
def circle(box):
    s = box.supd({"a": {"watch": {"c": "fail"}}, "b": {"watch": {"a": "fail"}},
                  "c": {"watch": {"b": "fail"}}})
    s.started("c")
    s.ctl_ok("fail", "a")
    for name in "abc":
        s.wait_for(name, state="failed")
    s.settle()
    equal([len(s.seen("failure", name)) for name in "abc"], [1, 1, 1], "failures")


@test("run: a command is told which actor ended and how, once for each end")
def run_command(box):
    s = box.supd({"a": {"on_failure": "stopping"}, "n": {"enabled": False},
                  "b": {"environment": {"MINE": "yes"}, "watch": {
                      "a": {"run": script(box, TELL.replace(">>", "$MINE >>"))},
                      "n": {"run": script(box)}}}})
    b = str(s.started("b"))
    s.until(lambda: len(written(box)) == 1, "the first command")
    s.tell("a", "exit=3")
    s.until(lambda: len(written(box)) == 2, "the second command")
    s.ctl_ok("start", "a")
    s.started("a", 2)
    s.tell("a", "raise=KILL")
    s.until(lambda: len(written(box)) == 3, "the third command")
    s.settle()
    head = ["run", "/user/b", "terminated"]
    equal(written(box)[0][:6] + written(box)[0][7:],
          [*head, "-", "-", "-", "/user/n", "false"], "what it was told as it started")
    equal(written(box)[1:],
          [[*head, "exit:3", "3", "-", b, "/user/a", "true", "yes"],
           [*head, "signal:KILL", "-", "KILL", b, "/user/a", "true", "yes"]],
          "what they were told")
    equal(told(s, "b", "a")["reaction"], "run", "the event")
    equal(s.seen("hook_failed"), [], "commands that failed")
    has(s.ctl_ok("cat", "b").out, r"  /user/a: {\"run\": \[", "cat")


@test("run: by a supervisor, of its own child")
def run_by_supervisor(box):
    s = box.supd({"sup": {"watch": {"sup/a": {"run": script(box)}}, "decider": "stopping",
                          "children": {"a": {}, "c": {}}}})
    s.started("c")
    s.tell("a", "exit=3")
    s.until(lambda: written(box), "the command")
    equal(written(box), [["run", "/user/sup", "terminated", "exit:3", "3", "-", "-",
                          "/user/sup/a", "true"]], "what it was told")


@test("run: a command that fails, cannot be started or takes too long is told, and no more")
def run_fails(box):
    s = box.supd({"a": {}, "c": {}, "d": {}, "b": {}})
    s.write({"a": {}, "c": {}, "d": {}, "b": {"hook_timeout": "300ms", "watch": {
        "a": {"run": "/bin/sh -c 'exit 7'"}, "c": {"run": "/does/not/exist"},
        "d": {"run": [PROBE, s.dir, "+run", "ignore", "daemon", "fork=3"]}}}})
    s.ctl_ok("apply")
    for name in ("a", "c", "d"):
        s.ctl_ok("stop", name)
    failed = s.event("hook_failed", "b")
    equal((failed["hook"], failed["reason"], failed["cause"]["code"], failed["timed_out"]),
          ("run", "terminated", 7, False), "the first event")
    failed = s.event("hook_failed", "b", 2)
    equal((failed["cause"]["kind"], failed["step"]), ("exec", "exec"), "the second event")
    check(s.event("hook_failed", "b", 3)["timed_out"], "the third one was not killed")
    equal([line for line in s.lines("SFd", "+run") if alive(line.pid)], [], "what is left")
    has(open(s.stderr, encoding="utf8").read(), "/user/b: hook_failed: run: exited with 7",
        "the log")
    equal(s.wait_for("b", state="running")["restarts"], 0, "b's restarts")


@test("run: what ends while a command runs is told afterwards")
def run_in_turn(box):
    tree = {"a": {}, "c": {}, "b": {"hook_timeout": "1m", "watch": {
        name: {"run": script(box, TELL + "; while ! [ -e @.go ]; do sleep .01; done")}
        for name in ("a", "c")}}}
    s = box.supd(tree)
    s.started("b")
    s.ctl_ok("stop", "a", "c")
    s.until(lambda: len(written(box)) == 1, "the first command")
    s.ctl_ok("restart", "b")
    s.settle()
    equal(len(tellings(s, "b")), 1, "how often it was told")
    box.file("told.go")
    s.until(lambda: len(written(box)) == 2, "the second command")
    equal(sorted(words[-2] for words in written(box)), ["/user/a", "/user/c"], "of whom")


if __name__ == "__main__":
    main()
