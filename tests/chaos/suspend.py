#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Suspended actors stay suspended, whatever supd dies of, and can be resumed."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, alive, check, equal
from containments import contained
from harness import children, main
from suspended import all_stand_still, moves, stands_still


@contained("a guardian that dies changes nothing of it, and its successor can undo it")
def guardian_dies(box, kind, options, _):
    s = Chaos(box, {"a": {"containment": kind, "do": ["fork=2"]}, "b": {"containment": kind}},
              **options)
    a, b = s.line("F", "a").pid, s.started("b")
    s.call("Suspend", names=["/user/a"])
    s.call("Suspend", names=["/user/a"])
    all_stand_still(s, a, kind)
    s.crash()
    actor = s.actor("a")
    equal((actor["state"], actor["suspended"], actor["pid"], actor["sigstopped"]),
          ("suspended", 2, a, False), "a")
    all_stand_still(s, a, kind)
    s.call("Resume", names=["/user/a"])
    s.call("Resume", names=["/user/a"])
    moves(s, "a", 1)
    s.until(lambda: not any(stands_still(pid, kind) for pid in children(a)), "its forks")
    s.call("Suspend", names=["/user/b"])
    all_stand_still(s, b, kind)
    s.call("Stop", names=["/user/b"])
    check(not alive(b), "b is alive")
    equal(s.lines("D"), [], "two lives of one name")


@contained("a suspended process ends while there is no guardian: its successor is suspended, too")
def ends_unseen(box, kind, options, _):
    s = Chaos(box, {"a": {"containment": kind}, "b": {"containment": kind}}, **options)
    a = s.started("a")
    s.started("b")
    s.call("Suspend", names=["/user/a"])
    all_stand_still(s, a, kind)
    guardian = s.guardian()
    os.kill(guardian, signal.SIGSTOP)
    os.kill(a, signal.SIGKILL)
    s.kill_guardian(guardian)
    s.successor(guardian)
    second = s.event("started", "a", 2)["pid"]
    s.wait_for("a", state="suspended", suspended=1, pid=second)
    all_stand_still(s, second, kind)
    s.call("Resume", names=["/user/a"])
    equal(s.started("a", 2), second, "the successor")
    moves(s, "a", 1)


@contained("it dies while one is restarted and others stand still for that: they go on after it")
def deciding(box, kind, options, _):
    gate = box.file("gate")
    hook = ["/bin/sh", "-c", f"while ! [ -e {gate} ]; do sleep 0.01; done"]
    s = Chaos(box, {"s": {"freeze_while_deciding": True, "children": {
        "a": {"containment": kind, "hook_timeout": "1m", "hooks": {"pre_start": hook}},
        "b": {"containment": kind, "do": ["fork=2"]}}}, "c": {"containment": kind}},
              **options)
    s.started("a")
    b = s.line("F", "b").pid
    os.unlink(gate)
    s.tell("a", "exit=1")
    all_stand_still(s, b, kind)
    s.crash()
    equal((s.actor("s/b")["state"], s.actor("s/b")["suspended"]), ("suspended", 1), "b")
    all_stand_still(s, b, kind)
    guardian = s.guardian()
    os.kill(guardian, signal.SIGSTOP)
    box.file("gate")
    s.kill_guardian(guardian)
    s.successor(guardian)
    s.started("a", 2)
    moves(s, "b", 1)
    equal((s.actor("s/b")["pid"], s.actor("s/b")["suspended"]), (b, 0), "b")
    s.consistent()


if __name__ == "__main__":
    main()
