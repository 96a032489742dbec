#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies while a helper process is about to be started, runs, or ends."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, open_gate, outage, told, wait_told
from harness import check, equal, main, test
from parallel import at_every_call

START = ["pre_start", "post_start"]
RESTART = ["pre_restart", "post_stop", "pre_start", "post_restart"]
STOP = ["pre_stop", "post_stop"]
HOOKS = ["pre_start", "post_start", "pre_restart", "post_restart", "pre_stop", "post_stop"]


def script(box, gated=(), code=0):
    """A hook that writes its name at the beginning and at the end; a gated hook waits for a file."""
    where = box.path("told")
    gates = "|".join(gated) or "-"
    return ["/bin/sh", "-c", f"echo $SUPD_HOOK+ >>{where}; case $SUPD_HOOK in {gates}) "
            f"while ! [ -e {box.path('gate')} ]; do sleep .01; done;; esac; "
            f"echo $SUPD_HOOK- >>{where}; exit {code}"]


def pairs(*names):
    return [name + sign for name in names for sign in "+-"]


def tree(box, gated=(), code=0):
    return {"a": {"hook_timeout": "1m", "shutdown": "1m",
                  "hooks": {hook: script(box, gated, code) for hook in HOOKS}}, "b": {}}


def die_within(hook, before, steps, go):
    """Kill the guardian while `hook` runs; then all goes on as if nothing had been."""
    @test(f"the guardian dies while {hook} runs: it ran once, and what follows follows")
    def within(box):
        s = Chaos(box, tree(box, [hook]), wait=False)
        if before:
            wait_told(s, pairs(*before))
            s.wait_for("a", state="running", ready=True)
            go(s)
        s.until(lambda: told(s)[-1:] == [hook + "+"], f"{hook}")
        s.crash()
        open_gate(box)
        wait_told(s, pairs(*before, *steps))
        s.until(lambda: s.actor("a")["state"] in ("running", "stopped"), "a's state")
        s.event("started", "b")  # which waited for a, and is under way until this is told
        equal(s.seen("hook_failed"), [], "hooks that failed")
        s.consistent()


def fail(s):
    s.tell("a", "exit=3")


def stop(s):
    s.ctl_ok("stop", "--no-wait", "a")


for one in START:
    die_within(one, [], START, None)
for one in RESTART:
    if one != "pre_start":
        die_within(one, START, RESTART, fail)
die_within("pre_stop", START, STOP, stop)


@test("a hook that ends while there is no guardian: its true status is told once")
def ends_meanwhile(box):
    s = Chaos(box, {"a": {"hooks": {"pre_stop": script(box, ["pre_stop"], 7)}}})
    s.started("a")
    stop(s)
    s.until(lambda: told(s) == ["pre_stop+"], "pre_stop")

    def during():
        open_gate(box)
        s.until(lambda: told(s) == pairs("pre_stop"), "its end")

    outage(s, during)
    equal(s.event("hook_failed", "a")["cause"]["code"], 7, "its exit status")
    s.wait_for("a", state="stopped")
    s.consistent()
    equal(len(s.seen("hook_failed")), 1, "failures told")
    equal(told(s), pairs("pre_stop"), "what it did")


@test("a hook whose time is over is killed by the successor, with all processes it forked")
def timed_out(box):
    s = Chaos(box, {"a": {}})
    s.started("a")
    s.write({"a": {"hook_timeout": "2s", "hooks": {"pre_stop": ["/bin/sh", "-c",
             f"sleep 1000 & echo x >>{box.path('told')}; sleep 1000"]}}})
    s.ctl_ok("apply")
    stop(s)
    s.until(lambda: told(s) == ["x"], "the hook")
    s.crash()
    check(s.event("hook_failed", "a")["timed_out"], "it was not timed out")
    s.wait_for("a", state="stopped")
    s.consistent()


@test("stop_command and reload_command run once, whenever the guardian dies")
def commands(box):
    end = "; kill -TERM $SUPD_PID"
    stop_command = script(box, ["stop_command"])
    stop_command[2] = stop_command[2].replace("; exit 0", end)
    s = Chaos(box, {"a": {"stop_command": stop_command, "shutdown": "1m",
                          "hook_timeout": "1m",
                          "reload_command": script(box, ["reload_command"], 5)}})
    s.started("a")
    s.ctl_ok("signal", "a", "reload")
    s.until(lambda: told(s) == ["reload_command+"], "the command")
    s.ctl_ok("signal", "a", "reload")
    s.crash()
    open_gate(box)
    wait_told(s, pairs("reload_command", "reload_command"))
    s.event("hook_failed", "a", 2)
    os.unlink(box.path("gate"))
    stop(s)
    s.until(lambda: told(s)[-1] == "stop_command+", "the command")
    s.aged()
    s.crash()
    open_gate(box)
    s.wait_for("a", state="stopped")
    equal(told(s), pairs("reload_command", "reload_command", "stop_command"),
          "what they did")
    equal(len(s.seen("hook_failed")), 2, "failures told")
    equal(len(s.lines("t", "a")), 1, "signals that a got")
    s.consistent()


# ---- at every system call ------------------------------------------------------------------

def restarted(box, n):
    """A restart and a stop with all hooks, the guardian killed at its n-th system call."""
    s = Chaos(box, tree(box))
    wait_told(s, pairs(*START))
    s.started("b")
    killer = Killer(box, s.guardian(), n)
    s.tell("a", "exit=3")
    wait_told(s, pairs(*START, *RESTART))
    s.wait_for("a", state="running", ready=True)
    s.line("S", "a", 2)
    s.call("Stop", names=["/user/a"])
    stops = killer.end()
    equal(told(s), pairs(*START, *RESTART, *STOP), "the hooks")
    equal(s.seen("hook_failed"), [], "hooks that failed")
    equal(len(s.lines("S", "a")), 2, "lives of a")
    s.consistent()
    return stops


def stopped(box, n):
    """Both commands fail, and the guardian is killed at its n-th system call."""
    reload = script(box, ["reload_command"], 4)
    s = Chaos(box, {"a": {"stop_command": script(box, code=3), "reload_command": reload},
                    "b": {}})
    s.started("b")
    s.ctl_ok("signal", "a", "reload")
    s.until(lambda: told(s) == ["reload_command+"], "the command")
    killer = Killer(box, s.guardian(), n)
    open_gate(box)
    s.event("hook_failed", "a")
    s.call("Stop", names=["/user/a"])
    stops = killer.end()
    s.caught_up()
    equal([(one["hook"], one["cause"]["code"]) for one in s.seen("hook_failed", "a")],
          [("reload_command", 4), ("stop_command", 3)], "failures told")
    equal(told(s), pairs("reload_command", "stop_command"), "the commands")
    check(s.lines("t", "a"), "a got no signal")
    s.consistent()
    return stops


@test("a guardian killed at any system call of a restart and a stop: each hook runs once",
      timeout=1800)
def restarts(_):
    at_every_call(restarted, 40)


@test("a guardian killed at any system call of commands that fail: each is told once",
      timeout=1800)
def failing_commands(_):
    at_every_call(stopped, 20)


if __name__ == "__main__":
    main()
