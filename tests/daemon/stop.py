#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""How actors are stopped: order, patience, and the end of supd itself."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import alive, check, children, equal, has, main, test


def kids(names, **common):
    return {name: dict(common) for name in names}


@test("a process that ignores TERM is killed after its shutdown time, then the next is stopped")
def stubborn(box):
    s = box.supd({"a": {}, "b": {"do": ["ignore"], "shutdown": "500ms"}})
    b = s.started("b")
    mark = s.mark()
    s.stop()
    equal(s.order(mark), ["t b", "t a", "x a"], "the order")
    killed = s.event("killed_after_timeout", "b")
    check(killed["mono"] - s.event("stopping", "b")["mono"] >= 499e6, "b was killed too early")
    check(not alive(b), "b is alive")
    equal(len(s.seen("killed_after_timeout", "b")), 1, "killed_after_timeout events")
    equal(s.seen("failure"), [], "failures")


@test("a stop tells that the process had to be killed, and after how long")
def told_killed(box):
    s = box.supd({"a": {"do": ["ignore"], "shutdown": "200ms"}, "b": {}})
    s.started("b")
    has(s.ctl_ok("stop", "a").out, r"^/user/a  stopped +did not stop within 200ms, killed\n$",
        "supctl stop")
    end = s.actor("a")["last_exit"]
    equal((end["killed_after_ms"], end["cause"]["signal"]), (200, "KILL"), "the last exit")
    has(s.ctl("status", "a").out, "last exit  killed by SIGKILL: did not stop within 200ms, killed",
        "supctl status a")
    s.ctl_ok("stop", "b")
    end = s.actor("b")["last_exit"]
    equal((end["killed_after_ms"], end["cause"]["text"]), (None, "exited with 0"), "b's")
    equal(s.event("killed_after_timeout", "a")["within"], 200, "the time in the event")


@test("brutal_kill sends no polite signal")
def brutal(box):
    s = box.supd({"a": {}, "b": {"shutdown": "brutal_kill"}})
    s.started("b")
    mark = s.mark()
    s.stop()
    equal(s.order(mark), ["t a", "x a"], "the order")
    equal(s.seen("killed_after_timeout"), [], "killed_after_timeout events")


@test("shutdown: infinity never kills")
def infinity(box):
    s = box.supd({"a": {"shutdown": "infinity", "do": ["delay=1500"]}})
    s.started("a")
    mark = s.mark()
    s.stop()
    equal(s.order(mark), ["t a", "x a"], "the order")


@test("stops are sequential: two stubborn ones take the sum of their times")
def sum_of_times(box):
    s = box.supd({"first": {}, **kids("ab", do=["ignore"], shutdown="300ms")})
    s.started("b")
    s.stop()
    check(s.line("t", "first").ns - s.line("t", "b").ns >= 500e6, "their times were cut")
    for name in "ab":
        check(s.event("killed_after_timeout", name)["mono"]
              - s.event("stopping", name)["mono"] >= 299e6, f"{name}'s time was cut")


@test("stop: parallel signals all children before it waits for one")
def parallel(box):
    s = box.supd(kids("abc", do=["delay=500"]), stop="parallel")
    s.started("c")
    mark = s.mark()
    s.stop()
    order = s.order(mark)
    equal(sorted(order[:3]), ["t a", "t b", "t c"], "the first three")
    equal(sorted(order[3:]), ["x a", "x b", "x c"], "the last three")


@test("a nested tree is stopped depth first, in reverse")
def depth(box):
    s = box.supd({"s1": {"children": kids("ab")},
                  "s2": {"children": {"c": {}, "s3": {"children": kids("d")}}}})
    s.started("d")
    mark = s.mark()
    s.stop()
    equal(s.order(mark, "t"), ["t d", "t c", "t b", "t a"], "the order")
    stopped = [event["path"] for event in s.seen("stopped")]
    if "/user/s1" in stopped:
        equal([path for path in stopped
           if path.startswith("/user/")],
              ["/user/s2/s3/d", "/user/s2/s3", "/user/s2/c", "/user/s2",
               "/user/s1/b", "/user/s1/a", "/user/s1"], "the events")


@test("an end by exit 0 or by the stop signal is silent")
def silent(box):
    s = box.supd({"a": {}, "b": {"do": ["default=TERM"]}})
    s.started("b")
    s.stop()
    equal(s.seen("failure"), [], "failures")
    equal(s.seen("killed_after_timeout"), [], "killed_after_timeout events")


@test("stop_signal is what is sent")
def stop_signal(box):
    s = box.supd({"a": {"stop_signal": "USR1", "shutdown": "300ms"}})
    s.started("a")
    mark = s.mark()
    s.stop()
    equal([(line.kind, line.more) for line in s.log[mark:]
           if line.more != str(int(signal.SIGCONT))],
          [("s", str(int(signal.SIGUSR1)))], "what a got")


@test("a process that is stopped by SIGSTOP is stopped all the same")
def frozen(box):
    s = box.supd({"a": {}})
    os.kill(s.started("a"), signal.SIGSTOP)
    s.wait_for("a", sigstopped=True, state="running")
    s.ctl_ok("stop", "a")
    equal(s.actor("a")["state"], "stopped", "the state")


@test("168 SIGSTOP and SIGCONT from outside show in the status and change nothing")
def sigstopped(box):
    s = box.supd({"a": {}})
    pid = s.started("a")
    os.kill(pid, signal.SIGSTOP)
    s.wait_for("a", sigstopped=True, state="running", pid=pid)
    os.kill(pid, signal.SIGCONT)
    s.wait_for("a", sigstopped=False, state="running", pid=pid)


@test("81 a second SIGTERM during the shutdown changes nothing")
def second_term(box):
    s = box.supd({"a": {"do": ["delay=400"]}, "b": {"do": ["delay=400"]}})
    s.started("b")
    mark = s.mark()
    s.signal(signal.SIGTERM)
    s.line("t", "b")
    s.signal(signal.SIGTERM)
    s.signal(signal.SIGINT)
    s.ended(0)
    equal(s.order(mark), ["t b", "x b", "t a", "x a"], "the order")


@test("SIGQUIT kills everything at once and supd exits 0")
def quit_at_once(box):
    s = box.supd(kids("abc", do=["ignore"], shutdown="infinity"))
    s.started("c")
    mark = s.mark()
    s.signal(signal.SIGQUIT)
    s.ended(0)
    equal(s.order(mark), [], "polite signals")


@test("SIGQUIT ends a shutdown that hangs")
def quit_hanging(box):
    s = box.supd(kids("ab", do=["ignore"], shutdown="infinity"))
    s.started("b")
    s.signal(signal.SIGTERM)
    s.line("t", "b")
    s.signal(signal.SIGQUIT)
    s.ended(0)


@test("76 status still answers during a slow shutdown, and nothing is started any more")
def status_meanwhile(box):
    s = box.supd({"a": {}, "b": {"do": ["delay=600"]}})
    s.started("b")
    s.signal(signal.SIGTERM)
    s.line("t", "b")
    equal(s.actor("b")["state"], "stopping", "b's state")
    s.tell("a", "exit=1")
    s.event("exited", "a")
    s.ended(0)
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("supctl shutdown returns when supd is gone")
def supctl_shutdown(box):
    s = box.supd({"a": {"do": ["delay=300"]}})
    s.started("a")
    s.acknowledged = True
    equal(s.ctl("shutdown").code, 0, "exit status of supctl shutdown")
    check(s.process.poll() is not None or not alive(s.pid), "supd is alive")
    s.ended(0)


@test("a shutdown during a long backoff does not wait for it")
def during_backoff(box):
    s = box.supd({"a": {"do": ["exit=1"], "backoff": {"min": "1h", "max": "2h"}}})
    s.event("backoff", "a")
    s.stop()
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("a shutdown while an actor is starting stops it")
def during_start(box):
    s = box.supd({"a": {"ready": "notify"}, "b": {}}, wait=False)
    s.started("a")
    s.stop()
    equal(s.order(), ["S a", "t a", "x a"], "the order")


@test("a supervisor is stopped and started with its static children, others untouched")
def subtree(box):
    s = box.supd({"inner": {"children": kids("ab")}, "other": {}})
    other = s.started("other")
    mark = s.mark()
    s.ctl_ok("stop", "inner")
    equal(s.order(mark), ["t b", "x b", "t a", "x a"], "the stop")
    equal(s.actor("inner")["state"], "stopped", "inner's state")
    s.ctl_ok("start", "inner")
    s.started("b", 2)
    equal(s.order(mark, "S"), ["S a", "S b"], "the start")
    equal(s.actor("other")["pid"], other, "the other's pid")


@test("children that were forked and stay in the session are gone with their actor")
def offspring(box):
    s = box.supd({"a": {"do": ["fork=5"]}})
    pid = s.line("F", "a").pid
    forks = children(pid)
    equal(len(forks), 5, "children of a")
    s.ctl_ok("stop", "a")
    equal([fork for fork in forks if alive(fork)], [], "those that live on")


if __name__ == "__main__":
    main()
