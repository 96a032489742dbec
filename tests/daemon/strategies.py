#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The three strategies: which actors a failure stops and restarts, and in which order."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import alive, check, equal, has, main, test


def kids(names, **common):
    return {name: dict(common) for name in names}


def reactions(s, since, last, count):
    """Everything after `since`, once the count-th start of `last` was seen."""
    s.started(last, count)
    return s.order(since)


@test("one_for_one starts only the one that crashed")
def one_for_one(box):
    s = box.supd(kids("ab"))
    b = s.started("b")
    mark = s.mark()
    s.tell("a", "exit=1")
    equal(reactions(s, mark, "a", 2), ["x a", "S a"], "the order")
    equal(s.actor("b")["pid"], b, "b's pid")


@test("one_for_all stops the others in reverse order, then starts all in order")
def one_for_all(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "children": kids("abcd")}})
    s.started("d")
    mark = s.mark()
    s.tell("b", "exit=1")
    equal(reactions(s, mark, "d", 2),
          ["x b", "t d", "x d", "t c", "x c", "t a", "x a", "S a", "S b", "S c", "S d"],
          "the order")
    failure = s.event("failure", "sup/b")
    equal(failure["strategy"], "one_for_all", "the event's strategy")
    equal(sorted(failure["scope"]), [f"/user/sup/{name}" for name in "abcd"], "the scope")
    equal(s.actor("sup")["window"], 1, "a group restart counts once")
    equal([s.actor(f"sup/{name}")["restarts"] for name in "abcd"], [1] * 4, "restarts")


@test("each stop of a group is over before the next one begins")
def group_barrier(box):
    s = box.supd({"sup": {"strategy": "one_for_all",
                          "children": kids("abc", do=["delay=100"])}})
    s.started("c")
    mark = s.mark()
    s.tell("a", "exit=1")
    equal(reactions(s, mark, "c", 2),
          ["x a", "t c", "x c", "t b", "x b", "S a", "S b", "S c"], "the order")


@test("rest_for_one takes the later ones along, and shutdown has the order of the file")
def rest_for_one(box):
    names = ["ch7", "ch3", "ch10", "ch2", "ch5"]
    s = box.supd(kids(names), strategy="rest_for_one")
    s.started("ch5")
    mark = s.mark()
    s.tell("ch10", "exit=1")
    equal(reactions(s, mark, "ch5", 2), ["x ch10", "t ch5", "x ch5", "t ch2", "x ch2",
                                         "S ch10", "S ch2", "S ch5"], "the order")
    equal([s.actor(name)["pid"] for name in names[:2]], [s.pids[name] for name in names[:2]],
          "pids of the elder ones")
    equal([len(s.lines("S", name)) for name in names[:2]], [1, 1], "their starts")
    mark = s.mark()
    s.stop()
    equal(s.order(mark, "t"), ["t ch5", "t ch2", "t ch10", "t ch3", "t ch7"], "the shutdown")


@test("rest_for_one counts a group restart once; the third within the window is too many")
def rest_counts(box):
    s = box.supd({"sup": {"strategy": "rest_for_one", "I": "2/1h", "children": kids("abc")}},
                 decider=[{"when": "intensity", "then": "stop"}, "default"])
    s.started("c")
    s.tell("b", "exit=1")
    s.started("c", 2)
    s.tell("c", "exit=1")
    s.started("c", 3)
    s.tell("b", "exit=1")
    s.event("gave_up", "sup")
    s.wait_for("sup", state="failed")
    equal([len(s.lines("S", name)) for name in "abc"], [1, 2, 3], "starts")


@test("a temporary child's crash does not touch its siblings")
def temporary_bystander(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "I": "0/60s",
                          "children": {"a": {}, "t": {"restart": "temporary"}}}})
    a = s.started("a")
    s.started("t")
    s.tell("t", "exit=1")
    s.until(lambda: s.gone("sup/t"), "t's removal")
    equal(s.actor("sup/a")["pid"], a, "a's pid")
    equal(s.actor("sup")["state"], "running", "the supervisor's state")


@test("a temporary child that a group restart stops is not started again")
def temporary_victim(box):
    s = box.supd({"sup": {"strategy": "one_for_all",
                          "children": {"a": {}, "t": {"restart": "temporary"}, "b": {}}}})
    s.started("b")
    mark = s.mark()
    s.tell("a", "exit=1")
    equal(reactions(s, mark, "b", 2), ["x a", "t b", "x b", "t t", "x t", "S a", "S b"],
          "the order")
    s.until(lambda: s.gone("sup/t"), "t's removal")


@test("a transient child's normal end does not touch its siblings")
def transient_normal(box):
    s = box.supd({"sup": {"strategy": "one_for_all",
                          "children": {"a": {}, "b": {"restart": "transient"}}}})
    a = s.started("a")
    s.started("b")
    s.tell("b", "exit=0")
    s.wait_for("sup/b", state="done")
    equal(s.actor("sup/a")["pid"], a, "a's pid")


@test("a transient child's failure restarts the group")
def transient_failure(box):
    s = box.supd({"sup": {"strategy": "one_for_all",
                          "children": {"a": {}, "b": {}, "t": {"restart": "transient"}}}})
    s.started("t")
    mark = s.mark()
    s.tell("t", "exit=1")
    equal(reactions(s, mark, "t", 2),
          ["x t", "t b", "x b", "t a", "x a", "S a", "S b", "S t"], "the order")


@test("a group restart revives finished transients and manually stopped ones, not held ones")
def revival(box):
    s = box.supd({"sup": {"strategy": "one_for_all",
                          "children": {"a": {}, "done": {"restart": "transient"},
                                       "stopped": {}, "held": {}, "z": {}}}})
    s.started("z")
    s.tell("done", "exit=0")
    s.wait_for("sup/done", state="done")
    s.ctl_ok("stop", "sup/stopped")
    s.ctl_ok("stop", "--hold", "sup/held")
    mark = s.mark()
    s.tell("a", "exit=1")
    equal(reactions(s, mark, "z", 2),
          ["x a", "t z", "x z", "S a", "S done", "S stopped", "S z"], "the order")
    held = s.actor("sup/held")
    equal((held["state"], held["held"]), ("stopped", True), "the held one")


@test("rest_for_one revives a stopped later sibling and leaves an earlier one stopped")
def rest_revival(box):
    s = box.supd({"sup": {"strategy": "rest_for_one", "children": kids("abcd")}})
    s.started("d")
    s.ctl_ok("stop", "sup/a", "sup/c")
    mark = s.mark()
    s.tell("b", "exit=1")
    equal(reactions(s, mark, "d", 2), ["x b", "t d", "x d", "S b", "S c", "S d"], "the order")
    equal(s.actor("sup/a")["state"], "stopped", "a's state")


@test("a crash while the group is stopping already is absorbed: one restart")
def absorbed(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "I": "1/60s",
                          "children": {"a": {}, "b": {}, "c": {"do": ["delay=400"]}}}})
    s.started("c")
    s.tell("a", "exit=1")
    s.line("t", "c")
    s.tell("b", "exit=1")
    s.started("c", 2)
    equal([len(s.lines("S", name)) for name in "abc"], [2, 2, 2], "starts")
    equal(s.actor("sup")["window"], 1, "restarts in the window")
    equal(s.actor("sup")["state"], "running", "the supervisor's state")


def die_together(s, *pids):
    """Let supd find all of them dead when it looks again."""
    guardian = s.guardian()
    os.kill(guardian, signal.SIGSTOP)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    s.until(lambda: not any(alive(pid) for pid in pids), "their end")
    os.kill(guardian, signal.SIGCONT)


@test("two exits seen at once are handled in start order: one restart under rest_for_one")
def batch(box):
    s = box.supd({"sup": {"strategy": "rest_for_one", "I": "1/60s", "children": kids("ab")}})
    die_together(s, s.started("b"), s.started("a"))
    s.started("b", 2)
    equal([len(s.lines("S", name)) for name in "ab"], [2, 2], "starts")
    equal(s.actor("sup")["window"], 1, "restarts in the window")


@test("two exits seen at once count as two under one_for_one")
def batch_of_two(box):
    s = box.supd({"sup": {"I": "2/60s", "children": kids("ab")}})
    die_together(s, s.started("b"), s.started("a"))
    s.started("a", 2)
    s.started("b", 2)
    equal(s.actor("sup")["window"], 2, "restarts in the window")


@test("a group stop fails the one, stops the siblings and leaves the supervisor running")
def group_stop(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "decider": "stopping",
                          "children": kids("abc")}, "other": {}})
    other = s.started("other")
    mark = s.mark()
    s.tell("b", "exit=1")
    s.line("x", "a")
    s.wait_for("sup/a", state="stopped")
    equal(s.order(mark), ["x b", "t c", "x c", "t a", "x a"], "the order")
    equal([s.actor(f"sup/{name}")["state"] for name in "abc"],
          ["stopped", "failed", "stopped"], "the states")
    equal(s.actor("sup")["state"], "running", "the supervisor's state")
    equal(s.actor("other")["pid"], other, "the other's pid")


@test("a resume under one_for_all concerns only the one that failed")
def group_resume(box):
    s = box.supd({"sup": {"strategy": "one_for_all",
                          "decider": [{"when": "any", "then": "resume"}],
                          "children": kids("abc")}})
    s.started("c")
    mark = s.mark()
    s.tell("b", "exit=1")
    equal(reactions(s, mark, "b", 2), ["x b", "S b"], "the order")


@test("28 a failure below an escalating one_for_all renews the whole upper group")
def nested(box):
    s = box.supd({"top": {"strategy": "one_for_all", "children": {
        "a": {}, "mid": {"strategy": "one_for_all", "decider": "escalating",
                         "children": kids("bc")}}}})
    s.started("c")
    mark = s.mark()
    s.tell("b", "exit=1")
    equal(reactions(s, mark, "c", 2),
          ["x b", "t c", "x c", "t a", "x a", "S a", "S b", "S c"], "the order")
    failure = s.event("failure")
    equal((failure["path"], failure["origin"]), ("/user/top/mid", "/user/top/mid/b"),
          "where it was handled and where it began")
    check(s.event("escalated"), "no escalated event")


@test("after one_for_all an elder sibling says that it waits for the younger one that failed")
def remark_of_elder(box):
    s = box.supd({"g": {"strategy": "one_for_all", "children": {
        "a": {}, "b": {"backoff": {"min": "1h", "max": "1h"}}, "c": {}}}})
    s.started("c")
    s.tell("b", "exit=1", s.started("b"))
    s.wait_for("g/a", state="waiting", waits_for=["/user/g/b"])
    s.wait_for("g/c", state="waiting", waits_for=["/user/g/b"])
    has(s.ctl_ok("list").out, r"/user/g/a +waiting .* waits for /user/g/b\n", "the remark")
    has(s.ctl_ok("explain", "g/a").out, r"waiting for /user/g/b to be restarted", "the story of a")
    has(s.ctl_ok("explain", "g/c").out, r"waiting for /user/g/b to be ready", "the story of c")


@test("after rest_for_one a younger sibling says that it waits for the elder one")
def remark(box):
    s = box.supd({"g": {"strategy": "rest_for_one", "children": {
        "a": {"backoff": {"min": "1h", "max": "1h"}}, "b": {}}}})
    s.started("b")
    s.tell("a", "exit=1", s.started("a"))
    s.wait_for("g/b", state="waiting", waits_for=["/user/g/a"])
    has(s.ctl_ok("list").out, r"/user/g/b +waiting .* waits for /user/g/a\n", "the remark")


if __name__ == "__main__":
    main()
