#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Many actors: what one costs does not grow with them, and nothing gets lost among them.

What is measured is time on a processor, not on the clock: others may be busy, too.  All of
it with CHAOS_ALL=1, otherwise fewer rounds.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, check, comment, equal, main, test
from varlink import Varlink

ALL = bool(os.environ.get("CHAOS_ALL"))


def busy_ns(pid):
    """For how long this process has been on a processor."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as text:
        return int(text.read().split()[0])


def cost_of(s, client, count):
    """Add so many, stop and delete them: processor time of the guardian, an actor."""
    guardian = s.guardian()
    before = busy_ns(guardian)
    for i in range(count):
        client.call("Add", {"name": f"sup/n{i}", "use": "w"})
    added = len(s.call("Status", names=["/user/sup/*"])["actors"])
    equal(added, count, "how many there are")
    for i in reversed(range(count)):
        client.call("Stop", {"names": [f"/user/sup/n{i}"]})
        client.call("Delete", {"name": f"/user/sup/n{i}"})
    return (busy_ns(guardian) - before) / count


def compare(cost, n):
    """An actor among ten times as many costs no more.  Others use the caches, too: so a cost
    that is too high is measured again."""
    for _ in range(1 if INSTRUMENTED else 3):
        few, many = cost(n), cost(10 * n)
        comment(f"{few / 1e3:.0f} µs, {many / 1e3:.0f} µs an actor")
        if many < 3 * few:
            return
    check(INSTRUMENTED, f"{few} ns, then {many} ns an actor")


@test("112 adding, stopping and deleting one of ten thousand costs no more than of a thousand",
      timeout=600)
def growth(box):
    s = box.supd({"sup": {"children": {}}}, templates={
        "w": {"command": ["/bin/sleep", "1000000"], "enabled": False, "output": "null"}})
    s.follow = False
    if s.stream:
        s.stream.close()
        s.stream = None
    client = Varlink(s.socket, timeout=30)
    compare(lambda n: cost_of(s, client, n), 1000)
    equal(s.paths(), ["/user", "/user/sup"], "who is left")


@test("112 the same of processes: of six hundred no more than of sixty", timeout=120)
def processes(box):
    s = box.supd({"sup": {"children": {}}}, templates={
        "w": {"command": ["/bin/sleep", "1000000"], "output": "null"}})
    client = Varlink(s.socket, timeout=30)
    compare(lambda n: cost_of(s, client, n), 60)
    equal(s.brood(), [], "processes that are left")


# ---- 183 -----------------------------------------------------------------------------------

@test("183 a hundred that crash on and on: little to do for supd, clients are served, all flat",
      timeout=180)
def crashing(box):
    seconds = 60 if ALL else 8
    tree = {f"c{i}": {"command": ["/bin/false"], "output": "null",
                      "backoff": {"min": "100ms", "max": "1s", "jitter": 0.2}}
            for i in range(100)}
    s = box.supd(tree, start="parallel")
    s.until(lambda: s.actor("c99")["restarts"] >= 5, "the delays to have grown", 60)
    guardian = s.guardian()
    fds, memory = s.descriptors(), s.memory_kib()
    began, busy, latencies = time.monotonic(), busy_ns(guardian), []
    before = s.call("Status", names=["/user/c*"])["actors"]
    while time.monotonic() - began < seconds:
        asked = time.monotonic()
        s.call("Status", names=["/user/c50"])
        latencies.append(time.monotonic() - asked)
        s.pump(0.02)
        del s.events[:-1]
    share = (busy_ns(guardian) - busy) / 1e9 / (time.monotonic() - began)
    p99 = sorted(latencies)[len(latencies) * 99 // 100] * 1000
    after = s.call("Status", names=["/user/c*"])["actors"]
    restarts = sum(one["restarts"] for one in after) - sum(one["restarts"] for one in before)
    comment(f"{restarts} restarts, {share:.1%} of a processor, p99 {p99:.1f} ms")
    check(restarts > 50 * seconds, f"only {restarts} restarts")
    check(INSTRUMENTED or share < 0.2, f"{share:.1%} of a processor")
    check(INSTRUMENTED or not ALL or p99 < 100, f"p99 of {p99} ms")
    # A start that is under way has some of its own.
    s.until(lambda: s.descriptors() <= fds + 1, f"no more descriptors than {fds}")
    check(INSTRUMENTED or s.memory_kib() <= memory + 1024,
          f"memory: {memory}, then {s.memory_kib()} KiB")
    equal(s.guardian(), guardian, "the guardian")
    s.acknowledged = True
    s.events.clear()
    s.stop()


if __name__ == "__main__":
    main()
