#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Supervisors with a process of their own, and children that outlive a restart."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, run, test
from supd import SUPD


def told():
    """Keys of an actor that reports its readiness: the lines of these actors have an order."""
    return {"ready": "notify", "do": ["ready"]}


def head(*names, **more):
    return {**told(), "children": {name: told() for name in names}, **more}


@test("a node with a process and children: the process starts first and stops last")
def order(box):
    s = box.supd({"m": head("a", "b"), "z": {}})
    s.started("z")
    equal(s.order(), ["S m", "S a", "S b", "S z"], "the start")
    m = s.actor("m")
    equal((m["kind"], m["state"], m["ready"]), ("both", "running", True), "m")
    equal(m["pid"], s.pids["m"], "its pid")
    mark = s.mark()
    s.ctl_ok("stop", "m")
    equal(s.order(mark), ["t b", "x b", "t a", "x a", "t m", "x m"], "the stop")
    mark = s.mark()
    s.ctl_ok("start", "m")
    s.started("b", 2)
    equal(s.order(mark), ["S m", "S a", "S b"], "the start by hand")
    mark = s.mark()
    s.stop()
    equal(s.order(mark), ["t z", "x z", "t b", "x b", "t a", "x a", "t m", "x m"],
          "the shutdown")


@test("C15 the process is killed: by default its children stop, and begin anew")
def thrown_away(box):
    s = box.supd({"m": head("a", "b")})
    s.started("b")
    mark = s.mark()
    os.kill(s.pids["m"], signal.SIGKILL)
    s.started("b", 2)
    equal(s.order(mark), ["t b", "x b", "t a", "x a", "S m", "S a", "S b"], "the order")
    s.event("terminated", "m/a")


@test("55 a process that is killed is replaced, its children are left alone")
def untouched(box):
    s = box.supd({"m": head("a", "b", keep_children="untouched")})
    s.started("b")
    before = dict(s.pids)
    for n in range(2, 5):
        os.kill(s.pids["m"], signal.SIGKILL)
        s.started("m", n)
        s.wait_for("m", state="running")
    check(s.pids["m"] != before["m"], "m has another process")
    equal([s.actor(f"m/{x}")["pid"] for x in "ab"], [before[x] for x in "ab"],
          "the children's pids")
    equal(s.seen("terminated"), [], "nobody terminated")


@test("179 a process is replaced, and then its children are restarted; above nothing happens")
def restarted(box):
    s = box.supd({"head": head(children={"mid": head("last", keep_children="restart")})})
    s.started("last")
    top = s.pids["head"]
    mark = s.mark()
    os.kill(s.pids["mid"], signal.SIGKILL)
    s.started("last", 2)
    s.wait_for("head/mid", state="running")
    equal(s.order(mark), ["S mid", "t last", "x last", "S last"], "the order")
    equal(s.actor("head")["pid"], top, "the pid above")
    last = s.actor("head/mid/last")
    equal((last["incarnation"], last["generation"], last["restarts"]), (1, 2, 1), "last")
    equal(s.seen("terminated"), [], "nobody terminated")


@test("61 a worker is killed: its manager, which keeps, and all its workers are restarted")
def manager(box):
    s = box.supd({"boss": {"children": {"manager": head(
        "w1", "w2", "w3", strategy="one_for_all", decider="escalating",
        keep_children="restart")}}})
    s.started("w3")
    mark = s.mark()
    os.kill(s.pids["w1"], signal.SIGKILL)
    s.started("w3", 2)
    s.wait_for("boss/manager", state="running")
    equal(s.order(mark), ["t manager", "x manager", "S manager", "S w1", "t w2", "x w2",
                          "S w2", "t w3", "x w3", "S w3"], "the order")
    equal([s.actor(path)["restarts"] for path in
           ("boss/manager", "boss/manager/w1", "boss/manager/w2", "boss/manager/w3")],
          [1] * 4, "lifecycle restarts")
    equal(s.seen("terminated"), [], "nobody terminated")


@test("a restart by hand while the children still start comes to its end")
def by_hand(box):
    for keep in ("no", "restart", "untouched"):
        s = box.supd({"m": head(keep_children=keep, children={
            "a": {"ready": "notify"}, "b": told()})}, name=keep, wait=False)
        s.started("a")
        mark = s.mark()
        s.ctl_ok("restart", "--no-wait", "m")
        s.started("m", 2)
        if keep != "untouched":
            s.started("a", 2)
        s.tell("a", "notify=READY=1")
        s.started("b")
        s.wait_for("m", state="running", ready=True)
        equal(len(s.lines("S", "b", mark)), 1, f"starts of b ({keep})")
        s.stop()


@test("stopped in its backoff: the children that were kept stop, too")
def stopped_in_backoff(box):
    s = box.supd({"m": head("a", "b", keep_children="untouched",
                            backoff={"min": "60s", "max": "60s"})})
    s.started("b")
    mark = s.mark()
    os.kill(s.pids["m"], signal.SIGKILL)
    s.wait_for("m", state="backoff")
    equal([s.actor(f"m/{x}")["state"] for x in "ab"], ["running"] * 2, "the children")
    s.ctl_ok("stop", "m")
    equal(s.order(mark), ["t b", "x b", "t a", "x a"], "the order")
    equal(s.actor("m")["state"], "stopped", "m")


@test("a one-shot with children is refused")
def one_shot(box):
    box.file("x.yaml", "children:\n  m:\n    command: [/bin/true]\n    ready: exit\n"
             "    children: {a: {command: [/bin/true]}}\n")
    result = run(SUPD, "--check", "-c", box.path("x.yaml"))
    equal(result.code, 78, "exit status")
    has(result.err, r":4:\d+: error: children\.m\.ready: .*children", "stderr")


if __name__ == "__main__":
    main()
