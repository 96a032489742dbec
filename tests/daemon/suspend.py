#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Suspend and resume: which processes stand still, and what a suspension changes."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from containments import contained
from harness import alive, check, children, equal, has, main, now_ns, offspring, test
from suspended import all_stand_still, moves, stands_still


@contained("suspend lets a subtree stand still, resume lets it go on")
def subtree(box, kind, options, _):
    s = box.supd({"s": {"children": {"a": {"containment": kind, "do": ["fork=2"]},
                                     "b": {"containment": kind}}},
                  "c": {"containment": kind}}, **options)
    a, b = s.line("F", "a").pid, s.started("b")
    s.started("c")
    s.ctl_ok("suspend", "s")
    equal([s.actor(p)["state"] for p in ("s", "s/a", "s/b", "c")],
          ["suspended", "suspended", "suspended", "running"], "the states")
    equal([s.actor(p)["suspended"] for p in ("s", "s/a", "c")], [1, 1, 0], "the counts")
    check(s.actor("s/a")["uptime_ms"] is not None, "no uptime")
    all_stand_still(s, a, kind)
    all_stand_still(s, b, kind)
    s.tell("a", "echo=early")
    moves(s, "c", 1)
    equal(s.lines("E", "a"), [], "what a said")
    mark = s.call("Ping")["uptime_ms"]
    s.ctl_ok("resume", "s")
    s.line("E", "a")
    moves(s, "b", 2)
    equal((s.actor("s/a")["state"], s.actor("s/a")["pid"], s.actor("s/a")["suspended"]),
          ("running", a, 0), "a")
    check(s.call("Ping")["uptime_ms"] >= mark, "another supd")
    equal([len(s.seen(what, path)) for what in ("suspended", "resumed")
           for path in ("s", "s/a", "s/b", "c")], [1, 1, 1, 0] * 2, "events")
    equal(s.seen("failure"), [], "failures")


@contained("a process hears once that it goes on, and not at all where the kernel froze it")
def told_once(box, kind, options, _):
    names = [f"a{i}" for i in range(5)]
    s = box.supd({"s": {"children": {name: {"containment": kind, "do": ["fork=20"]}
                                     for name in names}}}, **options)
    for name in names:
        s.line("F", name)
    s.ctl_ok("suspend", "s")
    s.ctl_ok("resume", "s")
    for name in names:
        s.tell(name, "echo")
        s.line("E", name)
    equal([len(s.lines("s", name)) for name in names],
          [1 if kind == "session" else 0] * len(names), "signals that came")


@contained("what forks on and on stands still as a whole, and goes on as a whole")
def forking(box, kind, options, _):
    counter = box.file("counter")
    s = box.supd({"a": {"containment": kind, "shutdown": "200ms", "command":
                        ["/bin/sh", "-c",
                         f"while :; do (echo >>{counter}; sleep 0.01) & wait; done"]}},
                 **options)
    pid = s.event("started", "a")["pid"]
    s.until(lambda: os.path.getsize(counter) > 3, "it to count")
    s.ctl_ok("suspend", "a")
    all_stand_still(s, pid, kind)
    size = os.path.getsize(counter)
    s.ctl_ok("suspend", "a")
    equal(os.path.getsize(counter), size, "the counter")
    s.ctl_ok("resume", "a")
    all_stand_still(s, pid, kind)
    equal(os.path.getsize(counter), size, "the counter")
    s.ctl_ok("resume", "a")
    s.until(lambda: os.path.getsize(counter) > size + 3, "it to count on")


@contained("suspended twice it needs two resumes; one too many does nothing")
def twice(box, kind, options, _):
    s = box.supd({"a": {"containment": kind}}, **options)
    pid = s.started("a")
    s.ctl_ok("suspend", "a")
    s.ctl_ok("suspend", "a")
    equal(s.actor("a")["suspended"], 2, "the count")
    s.ctl_ok("resume", "a")
    equal((s.actor("a")["suspended"], s.actor("a")["state"]), (1, "suspended"), "a")
    all_stand_still(s, pid, kind)
    s.ctl_ok("resume", "a")
    s.ctl_ok("resume", "a")
    equal((s.actor("a")["suspended"], s.actor("a")["state"]), (0, "running"), "a")
    moves(s, "a", 1)


@contained("it is not stopped by a signal in the eyes of supd, and that is no failure")
def not_stopped(box, kind, options, _):
    s = box.supd({"a": {"containment": kind}, "b": {"containment": kind}}, **options)
    pid = s.started("a")
    s.started("b")
    s.ctl_ok("suspend", "a")
    all_stand_still(s, pid, kind)
    # supd sees stops in order: with the later stop of b, the earlier stop of a was seen, too.
    os.kill(s.pids["b"], signal.SIGSTOP)
    s.wait_for("b", sigstopped=True)
    equal((s.actor("a")["sigstopped"], s.actor("a")["state"]), (False, "suspended"), "a")
    s.ctl_ok("resume", "a")
    moves(s, "a", 1)
    os.kill(s.pids["b"], signal.SIGCONT)
    s.wait_for("b", sigstopped=False)
    equal((s.actor("a")["sigstopped"], s.actor("a")["state"]), (False, "running"), "a")


@contained("a stop thaws first: it is polite, and forgets")
def stop(box, kind, options, _):
    s = box.supd({"a": {"containment": kind}}, **options)
    pid = s.started("a")
    s.ctl_ok("suspend", "a")
    all_stand_still(s, pid, kind)
    s.ctl_ok("stop", "a")
    s.line("x", "a")
    equal(s.seen("killed_after_timeout"), [], "killed")
    equal(alive(pid), False, "a is alive")
    s.ctl_ok("start", "a")
    equal((s.actor("a")["state"], s.actor("a")["suspended"]), ("running", 0), "a")
    s.started("a", 2)
    moves(s, "a", 1)


@contained("one that is deaf is killed after its time, frozen as it was")
def kill(box, kind, options, _):
    s = box.supd({"a": {"containment": kind, "shutdown": "100ms", "do": ["ignore", "fork=2"]},
                  "b": {"containment": kind, "shutdown": "brutal_kill", "do": ["fork=1"]}},
                 **options)
    pids = [s.line("F", "a").pid, s.line("F", "b").pid]
    s.ctl_ok("suspend", "a", "b")
    for pid in pids:
        all_stand_still(s, pid, kind)
    all_of_them = {one for pid in pids for one in {pid} | offspring(pid)}
    s.ctl_ok("stop", "a", "b")
    equal([pid for pid in all_of_them if alive(pid)], [], "what is left")


@contained("an actor that dies while it is suspended has failed; its next process is suspended, too")
def death(box, kind, options, _):
    s = box.supd({"a": {"containment": kind, "do": ["fork=2"]}}, **options)
    first = s.line("F", "a").pid
    s.ctl_ok("suspend", "a")
    all_stand_still(s, first, kind)
    forks = children(first)
    os.kill(first, signal.SIGKILL)
    second = s.event("started", "a", 2)["pid"]
    equal(s.event("failure", "a")["cause"]["signal"], "KILL", "the cause")
    s.until(lambda: not any(alive(pid) for pid in forks), "what was left to be gone")
    s.wait_for("a", state="suspended", suspended=1, pid=second, restarts=1)
    all_stand_still(s, second, kind)
    s.ctl_ok("resume", "a")
    equal(s.started("a", 2), second, "the successor")
    moves(s, "a", 1)


@test("159 suspended time is not healthy time")
def healthy(box):
    s = box.supd({"a": {"backoff": {"min": "50ms", "max": "5s", "jitter": 0,
                                    "reset_after": "1s"}}})
    s.started("a")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.ctl_ok("suspend", "a")
    held = s.event("suspended", "a")["mono"]
    s.until(lambda: s.call("Ping") and now_after(held, 1.5), "longer than reset_after")
    equal(s.actor("a")["backoff"]["failures"], 1, "failures")
    s.ctl_ok("resume", "a")
    equal(s.actor("a")["backoff"]["failures"], 1, "failures")
    s.wait_for("a", backoff=None)


def now_after(mono, seconds):
    return now_ns() - mono > seconds * 1e9


@test("the start timeout stands still with the process, and the next sibling is not hurried")
def start_timeout(box):
    s = box.supd({"a": {"ready": "notify", "start_timeout": "1s"}, "b": {}}, wait=False)
    pid = s.started("a")
    s.ctl_ok("suspend", "a")
    held = s.event("suspended", "a")["mono"]
    s.until(lambda: s.call("Ping") and now_after(held, 1.5), "longer than its timeout")
    equal((s.actor("a")["state"], s.actor("a")["pid"], s.actor("b")["state"]),
          ("suspended", pid, "waiting"), "the states")
    s.ctl_ok("resume", "a")
    s.tell("a", "ready")
    s.started("b")
    equal(s.seen("failure"), [], "failures")


@test("an actor that is down cannot be suspended, an unknown actor neither")
def refused(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.ctl_ok("stop", "a")
    result = s.ctl("suspend", "a")
    equal(result.code, 7, f"{result}; status")
    equal(s.ctl("suspend", "nobody").code, 4, "status")
    s.ctl_ok("resume", "a")
    equal((s.actor("a")["state"], s.actor("a")["suspended"]), ("stopped", 0), "a")


@test("status and explain show a suspended actor, and supctl prints its action")
def words(box):
    s = box.supd({"s": {"children": {"a": {}}}})
    s.started("a")
    has(s.ctl_ok("suspend", "s").out, r"suspended", "what suspend prints")
    has(s.ctl("status", "s/a").out, r"suspended for", "the status")
    has(s.ctl_ok("explain", "s/a").out, r"standing still since .*supctl resume s'",
        "explain")
    actors = s.json("suspend", "s")
    equal([(one["path"], one["suspended"]) for one in actors], [("/user/s", 2)], "json")
    commands = s.until(lambda: s.seen("command")[1:], "the second command") and s.seen("command")
    equal([one["verb"] for one in commands], ["suspend", "suspend"], "commands")


@contained("two hundred descendants of one actor stand still and go on", timeout=60)
def many(box, kind, options, _):
    s = box.supd({"a": {"command": ["/bin/sh", "-c", "for i in $(seq 200); do sleep 1000 & "
                                                     "done; wait"],
                        "shutdown": "200ms", "containment": kind}}, **options)
    pid = s.event("started", "a")["pid"]
    s.until(lambda: len(children(pid)) == 200, "200 children", timeout=30)
    s.ctl_ok("suspend", "a")
    all_stand_still(s, pid, kind)
    s.ctl_ok("resume", "a")
    s.until(lambda: not any(stands_still(one, kind) for one in {pid} | offspring(pid)),
            "all to go on")


def gate(box):
    """A hook that takes as long as the test wants."""
    return ["/bin/sh", "-c", f"while ! [ -e {box.path('gate')} ]; do sleep 0.01; done"]


@contained("167 freeze_while_deciding: the others stand still until the failed one is back")
def deciding(box, kind, options, _):
    box.file("gate")
    counter = box.file("counter")
    s = box.supd({"s": {"freeze_while_deciding": True, "children": {
        "a": {"containment": kind, "hook_timeout": "1m", "hooks": {"pre_start": gate(box)}},
        "b": {"containment": kind, "do": ["fork=2"]},
        "n": {"containment": kind, "shutdown": "200ms", "command": [
            "/bin/sh", "-c", f"while :; do echo >>{counter}; sleep 0.01; done"]}}},
                  "c": {"containment": kind}}, **options)
    a, b = s.started("a"), s.line("F", "b").pid
    n = s.event("started", "s/n")["pid"]
    s.until(lambda: os.path.getsize(counter) > 3, "it to count")
    os.unlink(box.path("gate"))
    s.tell("a", "exit=1")
    all_stand_still(s, b, kind)
    all_stand_still(s, n, kind)
    size, since = os.path.getsize(counter), now_ns()
    equal([(s.actor(p)["state"], s.actor(p)["suspended"]) for p in ("s", "s/a", "s/b", "c")],
          [("running", 0), ("starting", 0), ("suspended", 1), ("running", 0)], "the states")
    moves(s, "c", 1)
    s.until(lambda: now_ns() - since > 2e9, "two seconds")
    equal(os.path.getsize(counter), size, "the counter")
    box.file("gate")
    check(s.started("a", 2) != a, "the same process")
    s.until(lambda: os.path.getsize(counter) > size + 3, "it to count on")
    moves(s, "b", 2)
    equal([s.actor(p)["pid"] for p in ("s/b", "s/n")], [b, n], "the pids")
    equal([s.actor(p)["suspended"] for p in ("s/b", "s/n")], [0, 0], "the counts")
    equal(len(s.seen("failure")), 1, "failures")


@contained("167 the children of a process that is resumed stand still until it is back")
def deciding_above(box, kind, options, _):
    box.file("gate")
    s = box.supd({"s": {"freeze_while_deciding": True, "decider": [
        {"when": "any", "then": "resume"}], "children": {"m": {
            "containment": kind, "hook_timeout": "1m", "hooks": {"pre_start": gate(box)},
            "do": [], "children": {"w": {"containment": kind}}}}}}, **options)
    m, w = s.started("m"), s.started("w")
    os.unlink(box.path("gate"))
    s.tell("m", "exit=3")
    all_stand_still(s, w, kind)
    equal(s.actor("s/m/w")["state"], "suspended", "w")
    box.file("gate")
    check(s.started("m", 2) != m, "the same process")
    moves(s, "w", 1)
    equal((s.actor("s/m/w")["pid"], s.actor("s/m/w")["state"]), (w, "running"), "w")


@contained("one that stands still for another's failure hears of its own stop")
def deciding_stop(box, kind, options, _):
    s = box.supd({"s": {"freeze_while_deciding": True, "children": {
        "a": {"containment": kind, "backoff": {"min": "1h", "max": "1h", "reset_after": "1h"}},
        "b": {"containment": kind}, "c": {"containment": kind}}}}, **options)
    b, c = s.started("b"), s.started("c")
    s.tell("a", "exit=1")
    all_stand_still(s, b, kind)
    s.ctl_ok("stop", "b")
    s.line("t", "b")
    check(not alive(b), "b is alive")
    all_stand_still(s, c, kind)
    s.ctl_ok("stop", "a")
    moves(s, "c", 1)
    equal(s.seen("killed_after_timeout"), [], "who had to be killed")


if __name__ == "__main__":
    main()
