#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies while an end is told to watching actors, and while processes fail that
live on: each end and failure is told once, and supd acts upon it once."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, check, equal
from harness import main, test
from parallel import at_every_call

PACT = [{"when": {"exit": [9]}, "then": "stop"}, "default"]
LIVING = [{"when": {"self_report": ["disk"]}, "then": "resume"}, "default"]


def ended(box, n):
    """The end of `a`, which other actors watch, with the guardian killed at its n-th call."""
    s = Chaos(box, {"a": {}, "b": {"watch": {"a": "fail"}},
                    "c": {"watch": {"b": {"signal": "USR1"}}},
                    "d": {"watch": {"a": {"restart": True}}},
                    "e": {"watch": {"a": {"stop": True}}}}, decider=PACT)
    s.started("e")
    killer = Killer(box, s.guardian(), n)
    s.tell("a", "exit=9")
    s.line("s", "c")
    s.started("d", 2)
    for name, state in (("b", "failed"), ("d", "running"), ("e", "stopped")):
        s.wait_for(name, state=state)
    stops = killer.end()
    s.consistent()
    told = sorted((one["path"][6:], one.get("watcher", "/user/-")[6:])
                  for one in s.seen("terminated"))
    equal([one for one in told if one[1] != "-"],
          [("a", "b"), ("a", "d"), ("a", "e"), ("b", "c")], "who was told of whom")
    equal([(one["path"], one["cause"]["kind"]) for one in s.seen("failure")],
          [("/user/a", "exit"), ("/user/b", "death_pact")], "failures")
    equal([len(s.lines("S", name)) for name in "abcde"], [1, 1, 1, 2, 1], "lives")
    equal(s.actor("d")["restarts"], 1, "restarts of d")
    return stops


@test("killed at any system call of an end that four watch: each is told once, and reacts",
      timeout=1800)
def watched(_):
    at_every_call(ended, 40)


def failed(box, n):
    """Processes that live fail, the guardian killed at its n-th call."""
    s = Chaos(box, {"a": {}, "b": {"watchdog": "1h", "limits": {"core": 0}},
                    "c": {"stopped_is_failure": True}, "d": {}}, decider=LIVING)
    s.started("d")
    first = {name: s.actor(name)["pid"] for name in "abcd"}
    killer = Killer(box, s.guardian(), n)
    s.tell("a", "notify=X_SUPD_FAIL=disk")
    s.event("failure", "a")
    s.tell("b", "notify=WATCHDOG=trigger")
    s.started("b", 2)
    os.kill(first["c"], signal.SIGSTOP)
    s.event("failure", "c")
    s.line("s", "c")
    s.wait_for("c", sigstopped=False)
    stops = killer.end()
    s.wait_for("b", state="running", ready=True)
    s.consistent()
    equal([(one["path"], one["cause"]["kind"], one["directive"]) for one in s.seen("failure")],
          [("/user/a", "self_report", "resume"), ("/user/b", "watchdog", "restart"),
           ("/user/c", "stopped", "resume")], "failures")
    equal({name: s.actor(name)["pid"] for name in "acd"},
          {name: first[name] for name in "acd"}, "who stayed")
    equal([(s.actor(name)["generation"], s.actor(name)["restarts"]) for name in "abcd"],
          [(1, 0), (2, 1), (1, 0), (1, 0)], "generations and restarts")
    return stops


@test("killed at any system call while living processes fail: each failure is one",
      timeout=1800)
def living(_):
    at_every_call(failed, 40)


def silent(box, n):
    """Actor `a` never sends WATCHDOG=1 and is resumed; the guardian dies at its n-th call."""
    s = Chaos(box, {"a": {"watchdog": "300ms"}, "b": {}},
              decider=[{"when": "watchdog", "then": "resume"}, "default"])
    s.started("b")
    pid = s.actor("a")["pid"]
    killer = Killer(box, s.guardian(), n)
    s.event("failure", "a", 3)
    stops = killer.end()
    before = len(s.seen("failure", "a"))
    s.event("failure", "a", before + 2)
    s.consistent()
    times = [one["mono"] for one in s.seen("failure", "a")]
    check(all(b - a >= 250_000_000 for a, b in zip(times, times[1:])), f"too often: {times}")
    equal((s.actor("a")["pid"], s.actor("a")["restarts"]), (pid, 0), "a")
    return stops


@test("killed at any system call while a watchdog runs: its periods go on, none is told twice",
      timeout=1800)
def periods(_):
    at_every_call(silent, 15)


if __name__ == "__main__":
    main()
