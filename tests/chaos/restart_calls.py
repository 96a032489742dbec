#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""System calls of a restart: they are counted, so that none slips in unseen.

What is counted is the guardian's own part, by killer.c.  Ten times a second, while there
are deaths, it also looks at all children: on a machine that is busy these looks are many,
so a round may have the calls of as many as fit in its time, and of some rounds the best one
counts.  Each actor dies once a round: three lives that were
shorter than a second are restarted at once, and no more (DECISIONS 45).
"""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import INSTRUMENTED, Killer
from harness import PROBE, Skip, check, comment, main, test
from supd import Supd

RESTARTS = 50
ROUNDS = 3
# Calls of a round that belong to no restart: its first and last polls, looks at all children, an
# answer to the walker.  A call that slips into a restart is made RESTARTS times, and shows.
ROUND = RESTARTS // 2
LOOKS = 2 * 10  # calls a second: it wakes up, and looks
NAMES = [f"a{n}" for n in range(RESTARTS)]


def count_round(box, s, begun):
    """The calls of so many restarts, by name, and how many may be looks."""
    killer = Killer(box, s.guardian(), "count")
    began = time.monotonic()
    for name in NAMES:
        os.kill(s.pids[name], signal.SIGKILL)
        s.started(name, begun + 1)
    killer.end()
    looks = int(LOOKS * (time.monotonic() - began))
    return {name: int(times) for name, times
            in re.findall(r"(?m)^(\w+) (\d+)$", killer.text.decode()) if name != "stops"}, looks


def count(box, most, listens=False, others=0, **spec):
    if INSTRUMENTED:
        raise Skip("a sanitizer has calls of its own")
    own = [{"sockets": {"s": "unix:" + box.path(name)}} if listens else {} for name in NAMES]
    s = Supd(box, {name: {"restart": "permanent", **spec, **more}
                   for name, more in zip(NAMES, own)} |
                  {f"other{n}": {**spec, "command": ["sleep", "1000"]} for n in range(others)},
             intensity="unlimited",
             log={"level": "error", "target": "stderr", "directory": box.path("logs")})
    for name in NAMES:
        s.started(name)
    if others:
        s.until(lambda: s.counts["started", f"/user/other{others - 1}"] == 1, "the last start", 30)
    # A reader of the event stream makes work for supd, too.
    s.follow = False
    s.stream.close()
    s.stream = None
    best, least = None, 0
    for k in range(ROUNDS):
        calls, looks = count_round(box, s, 1 + k)
        if best is None or sum(calls.values()) - looks < least:
            best, least = calls, sum(calls.values()) - looks
        if least <= most * RESTARTS + ROUND:
            break
    comment(f"{sum(best.values()) / RESTARTS:.2f} calls a restart, at most "
            f"{sum(best.values()) - least} of all for looks")
    check(least <= most * RESTARTS + ROUND,
          lambda: "of each restart: " + ", ".join(
              f"{times / RESTARTS:.2f} {name}" for name, times
              in sorted(best.items(), key=lambda item: -item[1])))


@test("a restart takes no more than 17 system calls with a cgroup and a log", timeout=60)
def defaults(box):
    count(box, 17)


@test("a restart after a few lines of output takes no more than 19 system calls", timeout=60)
def talking(box):
    count(box, 19, command=["/bin/sh", "-c", "echo one; echo two; echo three >&2; "
                            'exec "$@" "$${SUPD_PATH##*/}"', "-", PROBE, box.dir])


@test("a restart of an actor with a unix socket takes no more than 23 system calls", timeout=60)
def listening(box):
    count(box, 23, listens=True)


@test("a restart without cgroup and log takes no more than 12 system calls", timeout=60)
def lean(box):
    count(box, 12, containment="session", output="inherit")


@test("a restart takes as many system calls with 1,500 other actors beside it", timeout=120)
def many(box):
    count(box, 12, others=1500, containment="session", output="inherit")


@test("a process that has ended is reaped while its successor comes to its program, not before it is born",
      timeout=60)
def reaped_late(box):
    if INSTRUMENTED:
        raise Skip("a sanitizer has calls of its own")
    s = Supd(box, {name: {"restart": "permanent"} for name in NAMES[:10]})
    for name in NAMES[:10]:
        s.started(name)
    before = []
    for name in NAMES[:10]:
        killer = Killer(box, s.guardian(), "count", "-v")
        os.kill(s.pids[name], signal.SIGKILL)
        s.started(name, 2)
        killer.end()
        waits, born, _ = killer.text.decode().partition("born clone3")
        check(born, "no clone3")
        # A look at all children is one more now and then.
        before.append(len(re.findall(r"entry waitid", waits)))
    check(min(before) == 1, f"waits before the birth of each successor: {before}")


if __name__ == "__main__":
    main()
