#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Intensity of supervisors and limits of children: how often is too often, exactly."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, check, equal, has, main, now_ns, test

STOP_GIVEN_UP = [{"when": "intensity", "then": "stop"}, "default"]


def crash(s, name, count):
    """Let the count-th process of that probe fail."""
    s.started(name, count)
    s.tell(name, "exit=1")


@test("the supervisor gives up at the restart above its intensity and stops its children")
def gives_up(box):
    s = box.supd({"sup": {"I": "2/1h", "children": {"a": {}, "b": {}}}},
                 decider=STOP_GIVEN_UP)
    s.started("b")
    crash(s, "a", 1)
    s.started("a", 2)
    crash(s, "b", 1)
    s.started("b", 2)
    mark = s.mark()
    crash(s, "a", 2)
    s.wait_for("sup", state="failed")
    equal(s.order(mark), ["x a", "t b", "x b"], "the order")
    event = s.event("gave_up", "sup")
    equal((event["intensity"], event["within"]), (2, 3600000), "the event's numbers")
    cause = s.event("failure", "sup")["cause"]
    equal(cause["kind"], "intensity", "the cause")
    equal(len(s.seen("gave_up")), 1, "gave_up events")


@test("a supervisor that gave up is restarted by default, with a new counter")
def restarted(box):
    s = box.supd({"sup": {"I": "1/60s", "children": {"a": {}, "b": {}}}})
    s.started("b")
    crash(s, "a", 1)
    crash(s, "a", 2)
    s.started("a", 3)
    s.started("b", 2)
    sup = s.wait_for("sup", state="running")
    equal((sup["window"], sup["restarts"]), (0, 1), "the supervisor's counters")


@test("intensity 0 allows no restart at all (O-28)")
def zero(box):
    s = box.supd({"sup": {"I": "0/60s", "children": {"a": {}}}}, decider=STOP_GIVEN_UP)
    crash(s, "a", 1)
    s.wait_for("sup", state="failed")
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("one counter for the whole supervisor: three children that crash once are three")
def shared(box):
    s = box.supd({"sup": {"I": "2/60s", "children": {name: {} for name in "abcd"}}},
                 decider=STOP_GIVEN_UP)
    s.started("d")
    for name in "ab":
        crash(s, name, 1)
        s.started(name, 2)
    crash(s, "c", 1)
    s.event("gave_up", "sup")
    s.wait_for("sup", state="failed")
    equal(len(s.lines("S", "c")), 1, "starts of c")


@test("a crash after the window is over does not count together with the earlier one")
def window_over(box):
    s = box.supd({"sup": {"I": "1/300ms", "children": {"a": {}}}})
    crash(s, "a", 1)
    first = s.event("failure", "sup/a")["mono"]
    for count in (2, 3, 4):
        s.started("a", count)
        mono = s.event("failure", "sup/a", count - 1)["mono"]
        s.until(lambda m=mono: now_ns() - m > 400e6, "the window's end")
        s.tell("a", "exit=1")
    s.started("a", 5)
    equal(s.seen("gave_up"), [], "gave_up events")
    check(s.event("failure", "sup/a", 4)["mono"] - first > 1200e6, "the gaps were too short")


@test("group restarts of five children count once each")
def groups_count_once(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "I": "2/60s",
                          "children": {name: {} for name in "abcde"}}})
    s.started("e")
    crash(s, "a", 1)
    s.started("e", 2)
    crash(s, "b", 2)
    s.started("e", 3)
    equal(s.actor("sup")["state"], "running", "the state")
    equal(s.actor("sup")["window"], 2, "restarts in the window")


@test("47 an instantly crashing child under intensities 3 and 2 is started twelve times")
def twelve(box):
    s = box.supd({"outer": {"I": "2/60s", "children": {
        "inner": {"I": "3/60s", "children": {"idle": {}, "loop": {"do": ["exit=1"]}}}}}},
        decider=STOP_GIVEN_UP)
    s.wait_for("outer", state="failed")
    s.event("gave_up", "outer")
    equal(len(s.seen("started", "outer/inner/loop")), 12, "starts of loop")
    equal(len(s.lines("S", "loop")), 12, "lines of loop")
    equal(len(s.seen("started", "outer/inner/idle")), 3, "starts of idle")
    equal(len(s.seen("gave_up", "outer/inner")), 3, "gave_up of inner")
    equal(len(s.seen("gave_up", "outer")), 1, "gave_up of outer")


@test("retries of a start that fails count, and each begins with the first of the group")
def impossible_restart(box):
    link = box.path("b-program")
    os.symlink(PROBE, link)
    s = box.supd({"sup": {"strategy": "one_for_all", "I": "4/1h",
                          "children": {"a": {}, "b": {"binary": link}}}},
                 decider=STOP_GIVEN_UP)
    s.started("b")
    os.unlink(link)
    crash(s, "a", 1)
    s.wait_for("sup", state="failed")
    failures = s.seen("failure", "sup/b")
    equal([one["cause"]["errno"] for one in failures], ["ENOENT"] * len(failures), "errno")
    equal(len(failures), 4, "failed attempts")
    equal(len(s.seen("started", "sup/a")), 5, "starts of a")
    equal(len(s.seen("gave_up", "sup")), 1, "gave_up events")


@test("commands never count")
def commands(box):
    s = box.supd({"sup": {"I": "0/60s", "children": {"a": {}}}})
    s.started("a")
    for count in range(2, 6):
        s.ctl_ok("restart", "sup/a")
        s.started("a", count)
    s.ctl_ok("stop", "sup/a")
    s.ctl_ok("start", "sup/a")
    equal((s.actor("sup")["window"], s.actor("sup/a")["restarts"]), (0, 0), "the counters")


@test("/user is unlimited: a hundred crashes are a hundred restarts")
def unlimited(box):
    # The third short life of an actor would be paced.
    names = [f"a{n}" for n in range(50)]
    s = box.supd({name: {} for name in names})
    for count in (1, 2):
        for name in names:
            crash(s, name, count)
    for name in names:
        s.started(name, 3)
        s.wait_for(name, restarts=2, state="running")


@test("a limit stops the child that exceeds it, and no other")
def limit(box):
    s = box.supd({"a": {}, "b": {}}, limit={"restarts": 2, "within": "60s"})
    b = s.started("b")
    crash(s, "a", 1)
    crash(s, "a", 2)
    s.started("a", 3)
    equal(s.actor("a")["window"], 2, "restarts in the child's window")
    crash(s, "a", 3)
    s.wait_for("a", state="failed", pid=None)
    equal(s.actor("b")["pid"], b, "b's pid")
    equal(s.actor("b")["window"], 0, "b's window")
    equal(len(s.lines("S", "a")), 3, "starts of a")
    failure = s.event("failure", "a", 3)
    equal([failure["rule"], failure["reason"], s.actor("a")["last_failure"]["rule"]],
          ["preset default", "limit exceeded", "preset default"], "who decided")
    has(s.ctl_ok("events").out, r"→ stop \(preset default \(limit exceeded\)", "the event")
    has(s.ctl_ok("explain", "a").out, r"preset default\) were overruled \(limit exceeded\)",
        "the explanation")


@test("a limit of 0 stops the child at its first failure")
def limit_zero(box):
    s = box.supd({"a": {}}, limit={"restarts": 0})
    crash(s, "a", 1)
    s.wait_for("a", state="failed")
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("a restart refused by the limit is not recorded at the supervisor")
def limit_first(box):
    s = box.supd({"sup": {"I": "2/60s", "limit": {"restarts": 1},
                          "children": {"a": {}, "b": {}, "c": {}}}})
    s.started("c")
    crash(s, "a", 1)
    crash(s, "a", 2)
    s.wait_for("sup/a", state="failed")
    equal(s.actor("sup")["window"], 1, "restarts in the supervisor's window")
    crash(s, "b", 1)
    s.started("b", 2)
    equal(s.actor("sup")["state"], "running", "the supervisor's state")


@test("after the limit's window is over the child may be restarted again")
def limit_window(box):
    for window in ("sliding", "fixed"):
        s = box.supd({"a": {}}, name=window,
                     limit={"restarts": 2, "within": "400ms", "window": window})
        crash(s, "a", 1)
        crash(s, "a", 2)
        s.started("a", 3)
        mono = s.event("failure", "a", 2)["mono"]
        s.until(lambda m=mono: now_ns() - m > 500e6, "its end")
        crash(s, "a", 3)
        s.started("a", 4)


@test("under one_for_all a limit that is exceeded stops all; the supervisor lives on")
def limit_group(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "limit": {"restarts": 1},
                          "children": {"a": {}, "b": {}}}})
    s.started("b")
    crash(s, "a", 1)
    s.started("b", 2)
    crash(s, "a", 2)
    s.wait_for("sup/a", state="failed")
    s.wait_for("sup/b", state="stopped")
    equal(s.actor("sup")["state"], "running", "the supervisor's state")
    equal([len(s.lines("S", name)) for name in "ab"], [2, 2], "starts")


@test("on_exceed: escalate makes the supervisor fail instead")
def limit_escalates(box):
    s = box.supd({"sup": {"limit": {"restarts": 1, "on_exceed": "escalate"},
                          "children": {"a": {}, "b": {}}}})
    s.started("b")
    crash(s, "a", 1)
    s.started("a", 2)
    mark = s.mark()
    crash(s, "a", 2)
    s.started("b", 2)
    equal(s.order(mark), ["x a", "t b", "x b", "S a", "S b"], "the order")


@test("reset forgets the windows: a supervisor at its limit gets all of it back")
def reset(box):
    s = box.supd({"sup": {"I": "1/1h", "children": {"a": {}}}}, decider=STOP_GIVEN_UP)
    crash(s, "a", 1)
    s.started("a", 2)
    equal(s.actor("sup")["window"], 1, "the window")
    s.ctl_ok("reset", "sup")
    equal(s.actor("sup")["window"], 0, "the window after the reset")
    crash(s, "a", 2)
    s.started("a", 3)
    equal(s.actor("sup")["state"], "running", "the state")


if __name__ == "__main__":
    main()
