#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Programs that never answer: their starts fail in time, supd and other actors go on."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import INSTRUMENTED, Killer
from fuse import Fuse
from hanging import CALM, OTHERS, failed_start, others_work
from harness import PROBE, SUPCTL, alive, check, children, equal, has, main, test, Skip


def program_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf8") as name:
        return name.read().strip()


# FILE PROGRAM: opens FILE as user 65534 and executes PROGRAM, which closes the descriptor.
EXEC_WITH = ("import os, sys\nos.setgid(65534)\nos.setuid(65534)\nos.open(sys.argv[1], os.O_RDONLY)\n"
             "os.execvp(sys.argv[2], sys.argv[2:])")


@test("a program that cannot be read fails in time; it is started once, when it can be",
      root=True)
def program(box):
    fuse = Fuse(box, "read", content=PROBE)
    s = box.supd({"a": {"binary": fuse.path(), **CALM}, **OTHERS}, wait=False)
    fuse.held("read")
    failed_start(s, "a", "exec: timeout")
    others_work(s)
    # No second one beside it; that is not counted as a failure of the actor for ever.
    equal(s.event("shortage", "a")["cause"]["errno"], "EBUSY", "the second attempt")
    equal(len([line for line in fuse.lines if line.startswith("held")]), 1, "what hangs")
    equal(s.seen("started", "a"), [], "starts so far")
    fuse.answer()
    s.started("a")
    equal(len(s.seen("started", "a")), 1, "starts")
    check(s.actor("a")["pid"] == s.pids["a"], "it is the one that runs")


@test("a program that was given up and hangs is known to the next guardian: it starts no second one",
      root=True)
def given_up(box):
    fuse = Fuse(box, "read", content=PROBE)
    s = box.supd({"a": {"binary": fuse.path(), "containment": "session", **CALM}, **OTHERS}, wait=False)
    fuse.held("read")
    failed_start(s, "a", "exec: timeout")
    os.kill(s.guardian(), signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("ping").code == 0, "an answer of the next guardian")
    others_work(s)
    s.until(lambda: (s.actor("a")["backoff"] or {"delay_ms": 0})["delay_ms"] > 1000, "attempts in vain")
    has(s.ctl_ok("-o", "json", "events", "--type", "shortage").out, "EBUSY", "why they are")
    equal(s.ctl_ok("-o", "json", "events", "--type", "failure").out.count("ETIMEDOUT"), 1, "failures")
    fuse.answer()
    s.started("a")
    equal(s.counts["S", "a"], 1, "starts")


@test("programs that cannot be read hold up no restart and no answer while they are waited for",
      root=True)
def beside(box):
    fuse = Fuse(box, "read", content=PROBE)
    s = box.supd({**{f"h{n}": {"binary": fuse.path(f"f{n}"), **CALM} for n in range(5)}, **OTHERS},
                 start="parallel", wait=False)
    s.started("clock", 3)
    others_work(s)
    for n in range(5):
        failed_start(s, f"h{n}", "exec: timeout")
    failed = s.seen("failure", "h0")[0]["mono"]
    begun = [event for event in s.seen("started", "clock") if event["mono"] < failed]
    check(len(begun) >= 2, f"{len(begun)} starts of another actor before the first failure")
    fuse.answer()
    for n in range(5):
        s.started(f"h{n}")
        equal(len(s.seen("started", f"h{n}")), 1, "starts")


@test("more hanging programs than there are places: others wait their turn, also over a crash; "
      "what waits can be stopped", root=True)
def queue(box):
    fuse = Fuse(box, "read", content=PROBE)
    hanging = [f"h{n}" for n in range(10)]
    s = box.supd({**{name: {"binary": fuse.path(name), **CALM} for name in hanging},
                  "gone": {}, "late": {}}, start="parallel", wait=False)
    fuse.held("read")
    s.until(lambda: s.ctl("ping").code == 0, "an answer")
    s.crash()
    s.until(lambda: s.ctl("ping").code == 0, "an answer")
    s.ctl_ok("stop", "gone")
    s.started("late")
    equal(s.counts["S", "late"], 1, "starts of late")
    fuse.answer()
    for name in hanging:
        s.started(name)
        equal(len(s.seen("started", name)), 1, "starts")


def killed(s):
    """Processes that were killed and do not end, of this guardian and of its predecessors."""
    def is_killed(pid):
        try:
            with open(f"/proc/{pid}/status", encoding="utf8") as file:
                pending = re.search(r"^ShdPnd:\s*(\w+)$", file.read(), re.M)
        except (FileNotFoundError, ProcessLookupError):
            return False
        return pending is not None and int(pending[1], 16) >> (signal.SIGKILL - 1) & 1
    return [pid for pid in children(s.pid) + children(s.guardian()) if is_killed(pid)]


@test("a guardian dies while a program and a hook hang: the next one goes on with their starts, "
      "which end by their own time, and supervises meanwhile", root=True)
def crashed(box):
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and its pid written later")
    fuse, late = (Fuse(box, "read", content=content) for content in (PROBE, "/bin/true"))
    s = box.supd({"h": {"binary": fuse.path(), **CALM},
                  "k": {"hooks": {"pre_start": [late.path()]}, **CALM}, **OTHERS},
                 start="parallel", wait=False)
    hanging = [fuse.held("read"), late.held("read")]
    os.kill(s.guardian(), signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("ping").code == 0, "an answer of the next guardian")
    others_work(s)
    failed_start(s, "h", "exec: timeout")
    taken = s.seen("supd", "/")[-1]["mono"]
    begun = [event for event in s.seen("started", "clock")
             if taken < event["mono"] < s.seen("failure", "h")[0]["mono"]]
    check(len(begun) >= 2, f"{len(begun)} starts of another actor before the first failure")
    equal(s.event("shortage", "h")["cause"]["errno"], "EBUSY", "the second attempt")
    equal(sorted(killed(s)), sorted(hanging), "what was killed and hangs")
    fuse.answer()
    late.answer()
    equal(s.event("hook_failed", "k")["hook"], "pre_start", "the hook")
    for name in "hk":
        s.started(name)
        equal(len(s.seen("started", name)), 1, "starts")


@test("a program that hangs as its guardian dies: the end of another one, begun by the same "
      "guardian, is told meanwhile", root=True)
def taken_over(box):
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and its pid written later")
    fuse = Fuse(box, "read", content=PROBE)
    fuse.answer()
    s = box.supd({"h": {"binary": fuse.path(), **CALM},
                  "b": {"do": ["exit=3"], "restart": "never"}})
    s.event("exited", "b")
    s.ctl_ok("stop", "h")
    fuse.hold()
    s.ctl_ok("start", "--no-wait", "h")
    fuse.held("read")
    old, runs = s.guardian(), s.counts["S", "b"]
    killer = Killer(box, old, "clone3:born")
    start = box.popen(SUPCTL, "-s", s.socket, "start", "--no-wait", "b",
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    s.until(killer.killed, "the guardian's death at a birth")
    killer.end()
    s.until(lambda: s.ctl("ping").code == 0, "an answer of the next guardian")
    s.caller = None
    s.until(lambda: start.poll() is not None, "the reply")
    fuse.answer()
    s.started("h")
    s.wait_for("b", state="failed")
    events = s.ctl_ok("-o", "json", "events", "--type", "exited").out
    equal(events.count('"/user/b"'), 2, "ends of b")
    equal(s.counts["S", "b"], runs + 1, "runs of b")


@test("a process that hangs in its exec holds up no start: /proc does not answer for it", root=True)
def stranger(box):
    fuse = Fuse(box, "flush", content=PROBE)
    stranger = box.popen(sys.executable, "-c", EXEC_WITH, fuse.path(), "sleep", "1000")
    fuse.held("flush")
    s = box.supd({"a": {"user": "nobody"}, **OTHERS})
    others_work(s)
    with open(s.stderr, encoding="utf8") as log:
        has(log.read(), f"pid {stranger.pid} hangs in an exec")


def hang_orphan(box, others):
    """An actor without a cgroup, the orphan of which has left the session and hangs in its exec."""
    fuse = Fuse(box, "flush", content=PROBE)
    fork = 'setsid "$0" -c "$1" "$2" sleep 1000 & exec sleep 1000'
    command = ["sh", "-c", fork, sys.executable, EXEC_WITH, fuse.path()]
    s = box.supd({"a": {"command": command, "containment": "session"}, **others})
    return s, fuse, fuse.held("flush")


@test("an orphan that hangs in its exec holds up no status, no stop, no restart and no next guardian", root=True)
def orphan(box):
    s, fuse, hanging = hang_orphan(box, OTHERS)
    pid = s.actor("a")["pid"]
    others_work(s)
    os.kill(s.guardian(), signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("ping").code == 0, "an answer of the next guardian")
    others_work(s)
    equal(s.actor("a")["pid"], pid, "the adopted process")
    s.ctl_ok("restart", "--no-wait", "a")
    others_work(s)
    fuse.answer()
    s.until(lambda: s.actor("a")["pid"] not in (None, pid), "the next process")
    s.stop()
    s.until(lambda: not alive(hanging), "the end of the orphan with supd")


@test("an orphan that hangs in its exec until its actor has begun anew ends with supd", root=True)
def forgotten(box):
    s, fuse, hanging = hang_orphan(box, {})
    s.ctl_ok("restart", "a")
    s.stop()
    fuse.answer()
    s.until(lambda: not alive(hanging), "the end of the orphan")


@test("an orphan that comes to its program after its actor has begun anew ends with supd", root=True)
def forgotten_and_running(box):
    s, fuse, hanging = hang_orphan(box, {})
    s.ctl_ok("restart", "a")
    fuse.answer()
    s.until(lambda: program_of(hanging) == "sleep", "its program")
    s.stop()
    check(not alive(hanging), "the orphan has ended")


if __name__ == "__main__":
    main()
