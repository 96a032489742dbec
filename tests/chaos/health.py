#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies while an actor is asked whether it is ready, or well."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, open_gate, outage, told
from harness import alive, check, equal, main, test
from parallel import at_every_call
from probe_target import Answering, status

RESUME = [{"when": "health", "then": "resume"}, "default"]
PACE = {"interval": "30ms", "timeout": "1m", "failures": 2}


def script(box, gated=False, code=1):
    """A probe's command: writes a line at its beginning and a line at its end."""
    where = box.path("told")
    wait = f"while ! [ -e {box.path('gate')} ]; do sleep .01; done;" if gated else ""
    return ["/bin/sh", "-c", f"echo + >>{where}; {wait} echo - >>{where}; exit {code}"]


def failed(s):
    return len(s.seen("failure", "a"))


@test("the guardian dies while the command of a probe runs: it ran once, and counts once")
def within(box):
    s = Chaos(box, {"a": {"health": {**PACE, "exec": script(box, gated=True)}}},
              decider=RESUME)
    a = s.started("a")
    s.until(lambda: told(s) == ["+"], "the probe")
    s.crash()
    s.aged()
    s.crash()
    equal(told(s), ["+"], "what ran meanwhile")
    open_gate(box)
    s.event("failure", "a")
    check(told(s)[:3] == ["+", "-", "+"], lambda: f"one bad answer was enough: {told(s)}")
    equal(s.actor("a")["pid"], a, "the process")
    s.consistent()


@test("a probe's command that ends while there is no guardian: its status counts, once")
def ends_meanwhile(box):
    s = Chaos(box, {"a": {"health": {**PACE, "failures": 1,
                                     "exec": script(box, gated=True, code=7)}}},
              decider=[{"when": "health", "then": "stop"}, "default"])
    s.started("a")
    s.until(lambda: told(s) == ["+"], "the probe")

    def during():
        open_gate(box)
        s.until(lambda: told(s) == ["+", "-"], "its end")

    outage(s, during)
    failure = s.event("failure", "a")
    equal((failure["cause"]["kind"], failure["cause"]["key"]), ("health", "exit 7"), "the cause")
    s.wait_for("a", state="failed")
    equal(told(s), ["+", "-"], "the probes")
    s.consistent()


@test("a probe's command whose time is over is killed by the successor, with all processes it forked")
def timed_out(box):
    s = Chaos(box, {"a": {"health": {**PACE, "timeout": "1500ms", "failures": 1, "exec": [
        "/bin/sh", "-c", f"sleep 1000 & echo $! >>{box.path('told')}; sleep 1000"]}}},
        decider=[{"when": "health", "then": "stop"}, "default"])
    s.started("a")
    s.until(lambda: len(told(s)) == 1, "the probe")
    s.crash()
    equal(s.event("failure", "a")["cause"]["key"], "timeout", "the cause")
    s.wait_for("a", state="failed")
    check(not alive(int(told(s)[0])), "what it forked is alive")
    s.consistent()


@test("a process that dies while there is no guardian has died, though its probe failed before")
def died(box):
    s = Chaos(box, {"a": {"health": {**PACE, "failures": 1,
                                     "exec": script(box, gated=True)}}})
    a = s.started("a")
    s.until(lambda: told(s) == ["+"], "the probe")

    def during():
        open_gate(box)
        s.until(lambda: told(s) == ["+", "-"], "its end")
        s.tell("a", "exit=9")
        s.until(lambda: not alive(a), "the end of a")

    outage(s, during)
    equal(s.event("failure", "a")["cause"]["code"], 9, "the cause")
    s.call("Stop", names=["/user/a"])
    s.consistent()


# ---- at every system call ------------------------------------------------------------------

def commanded(box, n):
    """Commands that fail, two of them a failure; the guardian is killed at its n-th call."""
    s = Chaos(box, {"a": {"health": {**PACE, "exec": script(box)}}}, decider=RESUME)
    a = s.started("a")
    killer = Killer(box, s.guardian(), n)
    s.event("failure", "a", 2)
    s.call("Stop", names=["/user/a"])
    stops = killer.end()
    s.caught_up()
    runs = told(s).count("-")
    check(2 * failed(s) <= runs <= 2 * failed(s) + 2,
          lambda: f"{runs} bad answers made {failed(s)} failures")
    check({one["pid"] for one in s.seen("started", "a")} == {a}, "it was started again")
    s.consistent()
    return stops


def asked(box, n):
    """The same by http: a question that is cut off is asked again."""
    site = Answering(box, status(500))
    s = Chaos(box, {"a": {"health": {**PACE, "http": site.url()}}}, decider=RESUME)
    s.started("a")
    killer = Killer(box, s.guardian(), n)
    s.event("failure", "a", 2)
    s.call("Stop", names=["/user/a"])
    stops = killer.end()
    s.caught_up()
    again = len(killer.killed()) + 1
    check(2 * failed(s) <= len(site.asked) <= 2 * failed(s) + 1 + again,
          lambda: f"{len(site.asked)} bad answers made {failed(s)} failures")
    s.consistent()
    return stops


def found_ready(box, n):
    """Restart `a`, which the third probe finds ready, and then `b` behind `a`."""
    bad, good = status(503), status(200)
    site = Answering(box, good, bad, bad, good)
    s = Chaos(box, {"a": {"ready": {"http": site.url(), "interval": "20ms"}}, "b": {
        "ready": {"interval": "20ms", "exec": script(box, code=0)}}},
        strategy="rest_for_one")
    s.started("b")
    killer = Killer(box, s.guardian(), n)
    s.tell("a", "exit=3")
    s.event("ready", "b", 2)
    stops = killer.end()
    equal((failed(s), len(s.seen("ready", "a")), len(s.seen("ready", "b"))), (1, 2, 2),
          "failures, and how often they were ready")
    check(len(told(s)) == 4, lambda: f"probes of b: {told(s)}")
    order = [one["event"] + one["path"][-1] for one in s.events
             if one["event"] in ("started", "ready") and one["path"][-1] in "ab"]
    equal(order, ["starteda", "readya", "startedb", "readyb"] * 2, "the order")
    s.consistent()
    return stops


@test("a guardian killed at any system call of commands that ask: none counts twice",
      timeout=1800)
def at_commands(_):
    at_every_call(commanded, 40)


@test("a guardian killed at any system call of questions: no answer counts twice",
      timeout=1800)
def at_questions(_):
    at_every_call(asked, 15)


@test("a guardian killed at any system call on the way to readiness: it comes, and once",
      timeout=1800)
def at_readiness(_):
    at_every_call(found_ready, 40)


if __name__ == "__main__":
    main()
