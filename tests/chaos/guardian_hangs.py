#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian hangs: the walker replaces it, and no actor is lost or started twice."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, alive, check, equal, now_ns
from fuse import Fuse
from harness import Skip, comment, has, main, program, test

INJECT = program("inject", "tests/lib", ".")
SECOND = 1_000_000_000


def no_core():
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(box, name, more=(), **top):
    s = Chaos(box, {"a": {}, "b": {}, "c": {}, **dict(more)}, before=no_core, name=name, **top)
    s.until(lambda: s.counts["supd", "/"] >= 2, "supd to be ready")
    s.settle()
    s.first = dict(s.pids)
    s.old = s.guardian()
    return s


def inject(pid, *words):
    done = subprocess.run([INJECT, str(pid), *words], capture_output=True, text=True,
                          check=False)
    if done.returncode == 77:
        raise Skip("no process can be traced here")
    equal(done.returncode, 0, f"inject {words}: {done.stderr}; status")


def said(s):
    with open(os.path.join(s.dir, "stderr"), encoding="utf8") as text:
        return text.read()


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf8") as text:
        return text.read().rpartition(")")[2].split()[0]


def replaced(s, begun):
    """Wait for the next guardian; all actors are what they were.  That this is over within 10 s is held
    without a clock: tests/walker/test_watchdog.c adds up the times of the acts that the walker tells here."""
    s.successor(s.old)
    took = (now_ns() - begun) / SECOND
    comment(f"replaced after {took:.1f} s")
    has(said(s), rf"guardian \(pid {s.old}\) hangs.*: it is aborted\n")
    has(said(s), rf"guardian \(pid {s.old}\) ended after \d+ ms, .*; the next guardian starts in 0 ms")
    for name, pid in s.first.items():
        check(alive(pid), f"{name} is dead")
        equal(s.actor(name)["pid"], pid, f"the pid of {name}")
    s.consistent()


@test("a guardian that was stopped, and one that spins, are replaced, actors run on", timeout=60)
def stopped_or_spinning(box):
    stopped, spinning = start(box, "stopped"), start(box, "spinning")
    begun = now_ns()
    os.kill(stopped.old, signal.SIGSTOP)
    inject(spinning.old, "spin")
    replaced(stopped, begun)
    replaced(spinning, begun)
    has(said(stopped), rf"guardian \(pid {stopped.old}\) hangs, it was stopped by a signal")
    has(said(spinning), rf"guardian \(pid {spinning.old}\) hangs: it is aborted")
    for s in (stopped, spinning):
        check(not alive(s.old), "the guardian that hung lives on")


@test("TERM and QUIT are obeyed also when the guardian was stopped, or spins", timeout=120)
def asked(box):
    for name, signo, polite in (("term", signal.SIGTERM, "abc"), ("quit", signal.SIGQUIT, ""),
                                ("term-spin", signal.SIGTERM, "abc"), ("quit-spin", signal.SIGQUIT, "")):
        s = start(box, name)
        s.acknowledged = True
        if name.endswith("spin"):
            inject(s.old, "spin")
        else:
            os.kill(s.old, signal.SIGSTOP)
        obeyed(s, signo, polite)


def obeyed(s, signo, polite):
    """supd ends although its guardian hangs, and the actors in `polite` are asked to end first."""
    s.signal(signo)
    s.ended(0)
    equal(sorted(line.name for line in s.lines("t")), list(polite), f"polite requests after {signo.name}")
    check(not any(alive(pid) for pid in s.first.values()), f"{signo.name}: an actor lives on")


@test("TERM and QUIT are obeyed also when the guardian sleeps in the kernel and does not die",
      timeout=120, root=True)
def asked_in_kernel(box):
    for name, signo, polite in (("term", signal.SIGTERM, "abc"), ("quit", signal.SIGQUIT, "")):
        fuse = Fuse(box, "open", uid=0, gid=0)
        s = start(box, name)
        s.acknowledged = True
        inject(s.old, "open", fuse.path())
        equal(fuse.held("open"), s.old, "the process that waits for an answer")
        obeyed(s, signo, polite)
        equal(state(s.old), "D", "the state of the one that is left behind")
        has(said(s), rf"guardian \(pid {s.old}\) was killed and does not end")
        fuse.answer()
        s.until(lambda: not alive(s.old), "its end")


@test("one that sleeps in the kernel and does not die is left behind, and its actors' ends "
      "are known", timeout=60, root=True)
def uninterruptible(box):
    fuse = Fuse(box, "open", uid=0, gid=0)
    s = start(box, "deaf")
    begun = now_ns()
    inject(s.old, "open", fuse.path())
    equal(fuse.held("open"), s.old, "the process that waits for an answer")
    replaced(s, begun)
    equal(state(s.old), "D", "the state of the one that is left behind")
    has(said(s), rf"guardian \(pid {s.old}\) was killed and does not end")
    # The guardian that hangs is the parent of a and b: the walker cannot tell of their ends.
    os.kill(s.first["a"], signal.SIGKILL)
    s.tell("b", "exit=7")
    for name, how in (("a", {"signal": "KILL"}), ("b", {"code": 7})):
        s.line("S", name, 2)
        cause = s.event("exited", name)["cause"]
        equal({key: cause.get(key) for key in how}, how, f"the end of {name}, {cause}")
    # A second death of a guardian, while the first one still is there.
    s.crash()
    equal(s.actor("c")["pid"], s.first["c"], "the pid of c after another death")
    fuse.answer()
    s.until(lambda: not os.path.exists(f"/proc/{s.old}"), "its end")
    s.until(lambda: "which was left behind, has ended" in said(s), "word of its end")
    s.tell("c", "exit=9")
    s.line("S", "c", 2)
    equal(s.event("exited", "c")["cause"]["code"], 9, "the end of c")
    s.consistent()
    equal([s.counts["S", name] for name in "abc"], [2, 2, 2], "lives")
    equal(s.lines("D"), [], "lives that began before the last one had ended")


@test("on_crash: kill ends what one that is left behind has started, and does not wait for it",
      timeout=60, root=True)
def ended(box):
    fuse = Fuse(box, "open", uid=0, gid=0)
    # Without a mark in its environment, supd knows the process only as a descendant.
    nameless = {"command": ["env", "-i", "/bin/sh", "-c", "exec sleep 1000"],
                "containment": "session"}
    s = start(box, "ended", {"d": nameless}, on_crash="kill")
    s.first["d"] = s.actor("d")["pid"]
    inject(s.old, "open", fuse.path())
    equal(fuse.held("open"), s.old, "the process that waits for an answer")
    new = s.successor(s.old)
    s.until(lambda: s.counts["started", "/user/d"] == 2, "the second lives")
    for name, pid in s.first.items():
        check(not alive(pid), f"the first life of {name} goes on")
    equal(state(s.old), "D", "the state of the one that is left behind")
    check("end the processes of the guardian before" not in said(s), f"it was waited for: {said(s)}")
    has(said(s), "which were killed|were still there and were killed", "what was killed")
    check(alive(new), "the next guardian has died")
    fuse.answer()
    s.until(lambda: "which was left behind, has ended" in said(s), "word of its end")
    equal(s.lines("D"), [], "lives that began before the last one had ended")


if __name__ == "__main__":
    main()
