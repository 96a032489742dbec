#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies while an end is told to a watcher, and while its command runs."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, open_gate, outage, told, wait_told
from harness import alive, check, comment, equal, main, test
from parallel import ALL, in_parallel


def script(box, gate=False, code=0):
    """A command that writes the watched actor and the cause, at its beginning and at its end."""
    where = box.path("told")
    wait = f"while ! [ -e {box.path('gate')} ]; do sleep .01; done;" if gate else ""
    return ["/bin/sh", "-c", f"echo $SUPD_WATCHED $SUPD_CAUSE + >>{where}; {wait} "
            f"echo $SUPD_WATCHED $SUPD_CAUSE - >>{where}; exit {code}"]


def both(*ends):
    return [f"/user/{end} {sign}" for end in ends for sign in "+-"]


def tree(box, **options):
    return {"a": {"restart": "temporary"}, "c": {"on_failure": "stopping"},
            "b": {"hook_timeout": "1m", "watch": {
                name: {"run": script(box, **options)} for name in ("a", "c")}}}


@test("the guardian dies while the command of a watch runs: it ran once, the next follows")
def within(box):
    s = Chaos(box, tree(box, gate=True))
    s.started("b")
    s.tell("a", "exit=3")
    s.until(lambda: told(s) == ["/user/a exit:3 +"], "the first command")
    s.tell("c", "exit=4")
    s.wait_for("c", state="failed")
    s.crash()
    s.aged()
    s.crash()
    equal(told(s), ["/user/a exit:3 +"], "what ran meanwhile")
    open_gate(box)
    wait_told(s, both("a exit:3", "c exit:4"))
    s.settle()
    equal(s.seen("hook_failed"), [], "commands that failed")
    s.consistent()


@test("a command that ends while there is no guardian: its true status is told once")
def ends_meanwhile(box):
    s = Chaos(box, tree(box, gate=True, code=7))
    s.started("b")
    s.tell("a", "exit=3")
    s.until(lambda: told(s) == ["/user/a exit:3 +"], "the command")

    def during():
        open_gate(box)
        s.until(lambda: told(s) == both("a exit:3"), "its end")

    outage(s, during)
    failed = s.event("hook_failed", "b")
    equal((failed["hook"], failed["reason"], failed["cause"]["code"]),
          ("run", "terminated", 7), "the event")
    s.consistent()
    equal(len(s.seen("hook_failed")), 1, "failures told")
    equal(told(s), both("a exit:3"), "what it did")


@test("a command of a watch whose time is over is killed by the successor, with all processes it forked")
def timed_out(box):
    s = Chaos(box, {"a": {}, "b": {"hook_timeout": "2s", "watch": {"a": {"run": [
        "/bin/sh", "-c", f"sleep 1000 & echo $! >>{box.path('told')}; sleep 1000"]}}}})
    s.started("b")
    s.ctl_ok("stop", "a")
    s.until(lambda: len(told(s)) == 1, "the command")
    s.crash()
    check(s.event("hook_failed", "b")["timed_out"], "it was not timed out")
    check(not alive(int(told(s)[0])), "what it forked is alive")
    s.consistent()


# ---- at every system call ------------------------------------------------------------------

def ended(box, n):
    """Two that are watched end, the guardian killed at its n-th system call."""
    s = Chaos(box, tree(box))
    s.started("b")
    killer = Killer(box, s.guardian(), n)
    s.tell("a", "exit=3")
    wait_told(s, both("a exit:3"))
    s.tell("c", "exit=4")
    wait_told(s, both("a exit:3", "c exit:4"))
    s.call("Stop", names=["/user/b"])
    stops = killer.end()
    equal(told(s), both("a exit:3", "c exit:4"), "the commands")
    equal(s.seen("hook_failed"), [], "commands that failed")
    s.consistent()
    return stops


@test("a guardian killed at any system call of two ends: each command runs once",
      timeout=1800)
def at_every_call(_):
    (_, stops), = in_parallel(ended, ["count"], timeout=60)
    every = 1 if ALL else 25
    numbers = range(1 + every // 2, stops + 1, every)
    done = in_parallel(ended, numbers, timeout=60)
    comment(f"{len(done)} of {stops} system calls")


if __name__ == "__main__":
    main()
