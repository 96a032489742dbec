#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A thousand at once, and nothing at all."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPD, alive, check, children, equal, main, now_ns, test

MANY = 1000


def sleepers(count, **keys):
    return {f"a{i}": {"command": ["/bin/sleep", "100000"], "output": "null", **keys}
            for i in range(count)}


@test("a thousand actors that crash at once are all back, none twice, no zombie", timeout=90)
def thousand(box):
    s = box.supd(sleepers(MANY))
    s.until(lambda: s.counts["started", "/user/a999"] == 1, "the last start", 30)
    pids = [event["pid"] for event in s.seen("started")
            if event.get("pid") and event["path"].startswith("/user/")]
    equal(len(set(pids)), MANY, "processes")
    guardian = s.guardian()
    os.kill(guardian, signal.SIGSTOP)  # the kernel then merges all SIGCHLDs into a single signal
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    s.until(lambda: not any(alive(pid) for pid in pids), "their end")
    os.kill(guardian, signal.SIGCONT)
    paths = [f"/user/a{i}" for i in range(MANY)]
    s.until(lambda: sum(s.counts["started", path] for path in paths) >= 2 * MANY,
            "all to be back", 40)
    actors = s.call("Status")["actors"][1:]
    equal({actor["state"] for actor in actors}, {"running"}, "the states")
    equal({(actor["restarts"], actor["generation"]) for actor in actors}, {(1, 2)}, "counters")
    living = s.brood()
    equal(sorted(living), sorted(actor["pid"] for actor in actors), "supd's children")
    equal([pid for pid in living if not alive(pid)], [], "zombies")
    for kind in ("exited", "failure"):
        equal({s.counts[kind, path] for path in paths}, {1}, f"{kind} events an actor")
    causes = {(event["cause"]["kind"], event["cause"]["signal"].removeprefix("SIG"))
              for event in s.seen("failure")}
    equal(causes, {("signal", "KILL")}, "the causes")
    s.stop(timeout=40)


@test("an idle supd does nothing at all, with hundreds of actors", timeout=60)
def idle(box):
    s = box.supd(sleepers(300))
    s.until(lambda: s.counts["started", "/user/a299"] == 1, "the last start", 30)
    supd = [s.process.pid] + [pid for pid in children(s.process.pid) + children(s.guardian())
                              if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(SUPD)]
    check(len(supd) == 3, f"walker, guardian and log process: {supd}")

    def switches():
        total = 0
        for pid in supd:
            with open(f"/proc/{pid}/status", encoding="utf8") as text:
                total += sum(int(line.split()[1]) for line in text if "ctxt_switches" in line)
        return total

    last = [switches(), now_ns()]

    def silent_for(seconds):
        now = switches()
        if now != last[0]:
            last[:] = now, now_ns()
        return now_ns() - last[1] > seconds * 1_000_000_000

    # The walker looks twice, 4 s apart, whether the guardian sleeps.
    s.until(lambda: silent_for(10), "10 s without a context switch", 40)


@test("no step of the wall clock wakes the guardian")
def steps(box):
    guardian, armed = box.supd({"a": {}}).guardian(), []
    for fd in os.listdir(f"/proc/{guardian}/fdinfo"):
        with open(f"/proc/{guardian}/fdinfo/{fd}", encoding="utf8") as info:
            armed += [line for line in info if line.startswith("it_value")]
    equal(armed, ["it_value: (0, 0)\n"], "libev's timerfd, disarmed")


@test("a thousand actors stop in order within a shutdown", timeout=60)
def mass_stop(box):
    s = box.supd(sleepers(MANY, shutdown="5s"), stop="parallel")
    s.until(lambda: s.counts["started", "/user/a999"] == 1, "the last start", 30)
    s.stop(timeout=40)
    equal(s.seen("killed_after_timeout"), [], "killed_after_timeout events")


if __name__ == "__main__":
    main()
