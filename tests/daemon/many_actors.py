#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Many actors: what one costs does not grow with them, and nothing gets lost among them.

What is measured is time on a processor, not on the clock: others may be busy, too.  All of
it with CHAOS_ALL=1, otherwise fewer rounds.
"""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, alive, check, comment, equal, main, test
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


# ---- 180 -----------------------------------------------------------------------------------

RESUME, RESTART, STOP, ONCE, TWICE = 10, 20, 30, 41, 42
BREADTH, NODES = 6, 200


def deciders(depth):
    """Exit code ONCE is handled one level up, exit code TWICE two levels up."""
    up = {2: [ONCE, TWICE], 1: [TWICE]}.get(depth, [])
    rules = [{"when": {"exit": [RESUME]}, "then": "resume"},
             {"when": {"exit": [STOP]}, "then": "stop"}]
    if up:
        rules.append({"when": {"exit": up}, "then": "escalate"})
    return [*rules, {"when": "any", "then": "restart"}]


def bush(dice):
    """(tree, leaves, supervisors): so many nodes, each with so many children."""
    leaves, supervisors, tree = [], [], {}
    queue = [("", tree, 0)]
    count = 0
    while queue:
        path, children, depth = queue.pop(0)
        for i in range(BREADTH):
            if count == NODES:
                break
            count += 1
            name = f"n{count}"
            if len(queue) * BREADTH + count < NODES and depth < 2:
                below = {}
                children[name] = {
                    "strategy": dice.choice(("one_for_one", "one_for_all", "rest_for_one")),
                    "intensity": "unlimited", "decider": deciders(depth + 1),
                    "children": below}
                supervisors.append(path + name)
                queue.append((f"{path}{name}/", below, depth + 1))
                continue
            hooks = {}
            if dice.random() < 0.1:
                hooks = {dice.choice(("pre_restart", "post_stop", "post_restart")):
                         [dice.choice(("/bin/false", "/bin/true"))]}
            children[name] = {"hooks": hooks} if hooks else {}
            leaves.append(path + name)
    return tree, leaves, supervisors


def disturb(s, dice, client, leaves, supervisors):
    """Cause a random failure, or send a random command."""
    path = dice.choice(leaves)
    what = dice.choice(("ping", *["fail"] * 12, "stop one", *["start one"] * 6, "stop all",
                        *["start all"] * 4))
    if what in ("ping", "fail"):
        code = dice.choice((RESUME, RESTART, STOP, RESTART, ONCE, TWICE))
        try:
            s.tell(path.rpartition("/")[2], "echo=1" if what == "ping" else f"exit={code}")
        except OSError:
            pass
        return
    verb, _, whom = what.partition(" ")
    path = dice.choice(supervisors) if whom == "all" else path
    client.send(verb.title(), {"names": [f"/user/{path}"], "wait": False}, oneway=True)


@test("180 two hundred actors, thousands of random disturbances: the living answer, the dead "
      "are dead", timeout=600 if ALL else 150)
def disturbed(box):
    dice = random.Random(180)
    tree, leaves, supervisors = bush(dice)
    s = box.supd(tree, decider=deciders(0), start="parallel")
    equal((len(leaves) + len(supervisors), len(s.paths())), (NODES, NODES + 1), "actors")
    client = Varlink(s.socket)
    for _ in range(5000 if ALL else 800):
        disturb(s, dice, client, leaves, supervisors)
        s.pump(0.01)
        while len(s.seen("started")) - len(s.lines("S")) > 300:
            s.pump(0.05)
    client.call("Ping")
    for one in (*supervisors, *leaves):
        s.call("Start", names=[f"/user/{one}"])
    s.until(lambda: all(one["state"] == "running" for one in s.call("Status")["actors"]),
            "all to run", 60)
    s.settle()
    mark = s.mark()
    actors = {one["path"]: one["pid"] for one in s.call("Status")["actors"]}
    for path in leaves:
        s.tell(path.rpartition("/")[2], "echo=end", actors[f"/user/{path}"])
    s.until(lambda: len({line.name for line in s.lines("E", None, mark)
                         if line.more == "end"}) == len(leaves), "all to answer", 30)
    equal(sorted(s.brood()), sorted(actors[f"/user/{path}"] for path in leaves),
          "processes that live")
    pids = {line.pid for line in s.lines("S")}
    comment(f"{len(pids)} processes, {len(s.seen('failure'))} failures")
    s.stop(timeout=60)
    living = [pid for pid in pids if alive(pid) and s.dir in command_line(pid)]
    equal(living, [], "processes that outlive supd")


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as text:
            return text.read().decode(errors="replace")
    except OSError:
        return ""


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
