#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Backoff: the delays, their reset, and what may cut them short."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import alive, check, equal, main, now_ns, test


def fixed(low, high=None, **more):
    return {"min": low, "max": high or low, "jitter": 0, **more}


def gaps_ms(s, name):
    starts = [line.ns for line in s.lines("S", name)]
    return [(b - a) / 1e6 for a, b in zip(starts, starts[1:])]


@test("139 delays double up to the maximum and no start is early")
def doubling(box):
    s = box.supd({"a": {"do": ["exit=1"], "backoff": fixed("50ms", "400ms")}})
    s.started("a", 7)
    delays = [event["delay_ms"] for event in s.seen("backoff", "a")[:6]]
    equal(delays, [50, 100, 200, 400, 400, 400], "the delays")
    ends = [line.ns for line in s.lines("x", "a")]
    starts = [line.ns for line in s.lines("S", "a")][1:]
    for end, start, delay in zip(ends, starts, delays):
        check(start - end >= (delay - 1) * 1e6, f"started {(start - end) / 1e6} ms after its end, "
              f"not {delay}")


@test("factor is what the delay is multiplied with")
def factor(box):
    s = box.supd({"a": {"do": ["exit=1"], "backoff": fixed("20ms", "10s", factor=1.5)}})
    s.event("backoff", "a", 4)
    equal([event["delay_ms"] for event in s.seen("backoff", "a")[:4]], [20, 30, 45, 67],
          "the delays")


@test("the status shows failures, the delay and what is left of it")
def status(box):
    s = box.supd({"a": {"do": ["exit=1"], "backoff": fixed("10s", "1m")}})
    s.event("backoff", "a")
    actor = s.wait_for("a", state="backoff", pid=None)
    backoff = actor["backoff"]
    equal((backoff["failures"], backoff["delay_ms"]), (1, 10000), "the backoff")
    check(0 < backoff["due_in_ms"] <= 10000, f"due in {backoff['due_in_ms']}")
    equal(actor["uptime_ms"], None, "uptime_ms")


@test("the count is forgotten after reset_after of health")
def automatic_reset(box):
    s = box.supd({"a": {"backoff": fixed("50ms", "5s", reset_after="300ms")}})
    for count in (1, 2, 3):
        s.started("a", count)
        s.tell("a", "exit=1")
    s.started("a", 4)
    equal([event["delay_ms"] for event in s.seen("backoff", "a")], [50, 100, 200],
          "the delays")
    s.wait_for("a", backoff=None, state="running")
    # Its last life began 200 ms after the one before it had ended; of both supd tells later.
    check(now_ns() - s.lines("x", "a")[2].ns >= 499e6, "forgotten too early")
    s.tell("a", "exit=1")
    equal(s.event("backoff", "a", 4)["delay_ms"], 50, "the delay after the reset")


@test("B-05 time spent waiting is not time of health")
def down_is_not_healthy(box):
    s = box.supd({"a": {"do": ["exit=1"], "backoff": fixed("200ms", "5s",
                                                           reset_after="200ms")}})
    s.event("backoff", "a", 3)
    equal([event["delay_ms"] for event in s.seen("backoff", "a")[:3]], [200, 400, 800],
          "the delays")


@test("145 reset: manual forgets only when told, by the process or by supctl")
def manual_reset(box):
    s = box.supd({"a": {"notify": True,
                        "backoff": fixed("30ms", "60ms", factor=2, reset="manual",
                                         reset_after="40ms")}})
    s.started("a")
    s.tell("a", "exit=1")
    started = s.line("S", "a", 2)
    s.until(lambda: now_ns() - started.ns > 200e6, "200 ms of health")
    equal(s.actor("a")["backoff"]["failures"], 1, "failures")
    s.tell("a", "notify=BACKOFF_RESET=1")
    s.wait_for("a", backoff=None)
    s.tell("a", "exit=1")
    s.started("a", 3)
    equal(s.event("backoff", "a", 2)["delay_ms"], 30, "the delay after the reset")
    s.ctl_ok("reset", "a")
    equal(s.actor("a")["backoff"], None, "the backoff after supctl reset")


@test("152 jitter spreads the restarts of twenty actors, none of them early")
def jitter(box):
    names = [f"a{i}" for i in range(20)]
    s = box.supd({name: {"backoff": {"min": "300ms", "max": "1s", "jitter": 0.5}}
                  for name in names})
    s.started(names[-1])
    for name in names:
        s.tell(name, "exit=1")
    for name in names:
        s.started(name, 2)
    delays = [s.event("backoff", name)["delay_ms"] for name in names]
    check(all(300 <= delay < 450 for delay in delays), f"delays {delays}")
    check(len(set(delays)) > 5, f"the delays are not spread: {delays}")
    for name in names:
        gap = s.line("S", name, 2).ns - s.line("x", name).ns
        check(gap >= (s.event("backoff", name)["delay_ms"] - 1) * 1e6, f"{name} came early")


@test("155 a group stops at once, waits once, and starts in order")
def group(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "children": {
        "a": {"backoff": fixed("3h")}, "b": {"backoff": fixed("500ms")},
        "c": {"backoff": fixed("3h")}}}})
    s.started("c")
    mark = s.mark()
    s.tell("b", "exit=1")
    s.started("c", 2)
    equal(s.order(mark), ["x b", "t c", "x c", "t a", "x a", "S a", "S b", "S c"],
          "the order")
    check(s.line("S", "a", 2).ns - s.line("x", "b").ns >= 499e6, "started too early")
    check(s.line("t", "c").ns <= s.line("S", "a", 2).ns - 200e6, "stopped only after the wait")
    equal([event["delay_ms"] for event in s.seen("backoff")], [500], "backoff events")


@test("146 on: stop delays every restart, failure only those after failures")
def on_stop(box):
    s = box.supd({"stop": {"do": ["exit=0"], "backoff": fixed("5s", on="stop")},
                  "failure": {"backoff": fixed("1h", on="failure")}})
    s.started("failure")
    s.tell("failure", "exit=0")
    s.started("failure", 2)
    s.wait_for("stop", state="backoff")
    s.tell("failure", "exit=1")
    s.wait_for("failure", state="backoff")


@test("start during a backoff starts now; the timer is gone and the counters stay")
def start_now(box):
    s = box.supd({"a": {"backoff": fixed("1h", "3h")}})
    s.started("a")
    s.tell("a", "exit=1")
    s.wait_for("a", state="backoff")
    s.ctl_ok("start", "a")
    s.started("a", 2)
    backoff = s.actor("a")["backoff"]
    equal((backoff["failures"], backoff["due_in_ms"]), (1, None), "the backoff")
    s.tell("a", "exit=1")
    equal(s.event("backoff", "a", 2)["delay_ms"], 7200000, "the next delay")


@test("stop during a backoff cancels it for good")
def stop_now(box):
    s = box.supd({"a": {"backoff": fixed("300ms")}})
    s.started("a")
    s.tell("a", "exit=1")
    due = s.event("backoff", "a")["mono"] + 600e6
    s.ctl_ok("stop", "a")
    equal(s.actor("a")["state"], "stopped", "the state")
    s.until(lambda: now_ns() > due, "the time at which it would have been due")
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("156 starts that fail are backed off too")
def failed_starts(box):
    s = box.supd({"a": {"ready": "notify", "do": ["exit=1"],
                        "backoff": fixed("50ms", "10s")}}, wait=False)
    s.event("backoff", "a", 4)
    equal([event["delay_ms"] for event in s.seen("backoff", "a")[:4]], [50, 100, 200, 400],
          "the delays")


@test("C14 backoff: none restarts at once three times, then slower and slower; supd answers")
def spinning(box):
    s = box.supd({"a": {"do": ["exit=1"], "backoff": "none"}, "b": {}})
    s.started("a", 7)
    delays = [event["delay_ms"] for event in s.seen("failure", "a")]
    equal(delays[:6], [0, 0, 0, 10, 20, 40], "the delays")
    s.ctl_ok("ping")
    s.ctl_ok("restart", "b")
    s.started("b", 2)
    s.ctl_ok("stop", "a")
    count = len(s.lines("S", "a"))
    s.ctl_ok("restart", "b")
    s.started("b", 3)
    check(len(s.lines("S", "a")) >= count, "lines were lost")
    equal(s.actor("a")["state"], "stopped", "a's state")


@test("a normal end is paced too: with a backoff, without one, and a start by hand is at once")
def normal_ends(box):
    s = box.supd({"a": {"do": ["exit=0"], "backoff": "none"},
                  "b": {"do": ["exit=0"], "backoff": fixed("1h", "1h", on="failure")},
                  "c": {"do": ["exit=0"], "backoff": fixed("1h", "1h")}}, start="parallel",
                 wait=False)
    for name in ("a", "b"):
        s.started(name, 7)
        equal([event["delay_ms"] for event in s.seen("backoff", name)][:3], [10, 20, 40],
              f"the delays of {name}")
    equal(s.actor("c")["backoff"]["delay_ms"], 3600000, "the delay of c")
    check(len(s.lines("S", "a")) < 30, "restarts of a")
    s.ctl_ok("stop", "a")
    starts = len(s.lines("S", "a"))
    s.ctl("start", "a")
    s.started("a", starts + 4)


@test("a command that always ends at once, with all defaults: it is paced, and its siblings are left alone")
def defaults(box):
    sleep = {"command": ["sleep", "1000"]}
    s = box.supd(text=json.dumps({"log": {"directory": box.path("logs"), "target": "stderr"}, "children": {
        "before": sleep, "q": {"command": "true"}, "after": sleep}}))
    siblings = {name: s.event("started", name)["pid"] for name in ("before", "after")}
    s.event("started", "q", 5)
    # 200 ms, doubled each time; jitter adds a fifth at most.
    delays = [event["delay_ms"] for event in s.seen("backoff", "q")[:4]]
    for n, delay in enumerate(delays):
        check(200 << n <= delay <= 240 << n, f"the delays {delays}")
    equal({event["cause"]["kind"] for event in s.seen("exited")}, {"normal"}, "ends")
    for name, pid in siblings.items():
        actor = s.actor(name)
        equal((actor["state"], actor["pid"], actor["incarnation"], actor["generation"], actor["restarts"]),
              ("running", pid, 1, 1, 0), name)
    equal({event["path"] for event in s.seen("exited")}, {"/user/q"}, "which have ended")
    equal(s.actor("/user")["restarts"], 0, "restarts of /user")


@test("151 after restarts with backoff exactly one process lives")
def one_lives(box):
    s = box.supd({"a": {"backoff": fixed("20ms")}})
    for count in range(1, 5):
        s.started("a", count)
        s.tell("a", "exit=1")
    s.started("a", 5)
    equal(len([line for line in s.lines("S", "a") if alive(line.pid)]), 1, "live processes")


@test("a rule's backoff replaces only the keys that it names")
def rule_backoff(box):
    s = box.supd({"a": {"backoff": fixed("20ms", "10s")}},
                 decider=[{"when": {"exit": [9]}, "then": "restart",
                           "backoff": {"min": "300ms"}}, "default"])
    s.started("a")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.tell("a", "exit=9")
    s.started("a", 3)
    equal([event["delay_ms"] for event in s.seen("backoff", "a")], [20, 600], "the delays")


if __name__ == "__main__":
    main()
