#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Hundreds of disturbances, at random and by hand: in the end what is wanted runs, and nothing else.

All of it with CHAOS_ALL=1, otherwise fewer rounds.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, alive, check, comment, equal, main, test
from varlink import Varlink

ALL = bool(os.environ.get("CHAOS_ALL"))
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


@test("184 ten thousand restarts leave descriptors and memory flat", timeout=120)
def ten_thousand(box):
    # By hand, because a loop is paced.
    names = [f"/user/a{n}" for n in range(50)]
    s = box.supd({name[6:]: {"command": ["/bin/sleep", "1000"], "output": "null"}
                  for name in names}, start="parallel")
    for n in range(200):
        if n == 60:
            del s.events[:-1]
            fds, memory = s.descriptors(), s.memory_kib()
        s.call("Restart", names=names)
    check(s.descriptors() <= fds + 1, f"descriptors: {fds}, then {s.descriptors()}")
    check(INSTRUMENTED or s.memory_kib() <= memory + 1024,
          f"memory: {memory}, then {s.memory_kib()} KiB")
    equal(s.actor("a49")["generation"], 201, "processes of one")
    equal([child for child in s.brood() if not alive(child)], [], "zombies")


@test("two hundred random commands and crashes at once: every wish is kept", timeout=60)
def chaos(box):
    dice = random.Random(7)
    tree = {f"s{i}": {"strategy": ("one_for_one", "one_for_all", "rest_for_one")[i % 3],
                      "I": "1000/1h", "children": {f"s{i}c{j}": {} for j in range(4)}}
            for i in range(6)}
    s = box.supd(tree)
    s.started("s5c3")
    client = Varlink(s.socket)
    for _ in range(200):
        sup = dice.randrange(6)
        name = f"s{sup}c{dice.randrange(4)}"
        verb = dice.choice(("crash", "crash", "Start", "Stop", "Restart"))
        if verb == "crash":
            try:
                s.tell(name, "exit=1")
            except OSError:
                pass
        else:
            client.send(verb, {"names": [f"/user/s{sup}/{name}"], "wait": False}, oneway=True)
        s.pump(0.002)
    client.call("Ping")
    for sup in range(6):
        s.call("Start", names=[f"/user/s{sup}/s{sup}c{i}" for i in range(4)])
    for sup in range(6):
        for child in range(4):
            s.wait_for(f"s{sup}/s{sup}c{child}", state="running")
    pids = [s.actor(f"s{i}/s{i}c{j}")["pid"] for i in range(6) for j in range(4)]
    equal(sorted(pids), sorted(pid for pid in s.brood() if alive(pid)), "live processes")


if __name__ == "__main__":
    main()
