#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies while a supervisor's own process is replaced: the children that are
kept stay the same, the others are restarted once, and no child is there twice."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, equal
from harness import main, test


def tree(keep):
    return {"m": {"do": [], "keep_children": keep, "intensity": "unlimited",
                  "children": {"a": {}, "b": {}}}}


@test("killed at one system call after the other of a restart that keeps: same children",
      timeout=180)
def untouched(box):
    s = Chaos(box, tree("untouched"))
    s.started("b")
    kept = [s.pids["a"], s.pids["b"]]
    for n, stop in enumerate(range(1, 60, 4)):
        s.aged()
        killer = Killer(box, s.guardian(), stop)
        os.kill(s.pids["m"], signal.SIGKILL)
        s.started("m", n + 2)
        killer.end()
        s.wait_for("m", state="running", ready=True)
        equal([s.actor(f"m/{x}")["pid"] for x in "ab"], kept, f"the children at {stop}")


@test("killed at one system call after the other of a restart of all: each once", timeout=180)
def restarted(box):
    s = Chaos(box, tree("restart"))
    s.started("b")
    for n, stop in enumerate(range(1, 120, 8)):
        s.aged()
        killer = Killer(box, s.guardian(), stop)
        os.kill(s.pids["m"], signal.SIGKILL)
        s.started("b", n + 2)
        killer.end()
        s.wait_for("m", state="running", ready=True)
        equal([s.actor(path)["generation"] for path in ("m", "m/a", "m/b")], [n + 2] * 3,
              f"generations at {stop}")
        equal(s.seen("terminated"), [], "nobody terminated")


def gone_with_its_group(box, tree, fail, path):
    """What exit_code_from names goes down for good with others; the guardian dies meanwhile."""
    s = Chaos(box, tree, exit_code_from=path)
    s.started("n")
    s.aged()
    s.acknowledged = True
    s.tell(fail, "exit=3")
    s.line("t", "n")
    s.crash()
    s.tell("n", "exit=5")
    s.until(lambda: s.process.poll() is not None, "the end of supd", 20)
    equal(s.process.returncode, 5, "the exit status")


@test("an actor that its group takes along for good ends supd, though the guardian dies meanwhile",
      timeout=60)
def group_stopped(box):
    gone_with_its_group(box, {"x": {}, "s": {
        "strategy": "one_for_all", "decider": [{"when": "any", "then": "stop"}],
        "children": {"n": {"do": ["ignore"], "shutdown": "1m"}, "b": {}}}}, "b", "/user/s/n")


@test("an actor that runs once ends supd when its supervisor restarts its children, though the guardian dies",
      timeout=60)
def children_restarted(box):
    gone_with_its_group(box, {"x": {}, "m": {
        "do": [], "keep_children": "restart", "children": {
            "n": {"do": ["ignore"], "shutdown": "1m", "restart": "never"}}}}, "m", "/user/m/n")


if __name__ == "__main__":
    main()
