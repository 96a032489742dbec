#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""scale: more and fewer replicas than the file has, and what an apply makes of it."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Killer
from harness import PROBE, check, equal, has, main, test


def replicas(s):
    return [path.rpartition("/")[2] for path in s.paths() if "@" in path]


def names(*numbers):
    return [f"r@{number}" for number in numbers]


def four(box, n=2, **more):
    """/user/sup/r, n times, each with its number as the file says."""
    template = {"command": [PROBE, box.dir, "${actor.name}", "delay=${pace}${replica}"],
                "backoff": "none", "shutdown": "1s"}
    return {"templates": {"w": template}}, {"sup": {"with": {"pace": "1"}, "children": {
        "r": {"use": "w", "replicas": n, **more}, "z": {}}}}


@test("replicas that are added have their numbers, and are the last to start (E-02)")
def more(box):
    top, tree = four(box)
    s = box.supd(tree, **top)
    result = s.ctl_ok("scale", "sup/r", "4")
    equal(replicas(s), names(1, 2, 3, 4), "the replicas")
    equal(s.paths()[-3:], ["/user/sup/z", "/user/sup/r@3", "/user/sup/r@4"], "the order")
    has(result.out, r"r@1 (.|\n)*r@4 ", "what scale prints")
    s.started("r@4")
    with open(f"/proc/{s.actor('sup/r@4')['pid']}/cmdline", "rb") as line:
        check(b"delay=14" in line.read().split(b"\0"), "the parameters of the fourth")
    s.ctl_ok("scale", "r", "4")
    s.ctl_ok("restart", "r")
    s.started("r@4", 2)


@test("one child process composes all added replicas")
def one_child(box):
    s = box.supd({"r": {"replicas": 1, "enabled": False, "description": "${replica}"}})
    killer = Killer(box, s.guardian(), "count")
    s.ctl_ok("scale", "r", "80")
    killer.end()
    calls = dict(re.findall(r"(?m)^(\w+) (\d+)$", killer.text.decode()))
    check(int(calls.get("clone", 0)) <= 3, f"children: {calls}")
    equal(replicas(s)[:80], names(*range(1, 81)), "the replicas")
    equal([s.actor(f"r@{n}")["description"] for n in (2, 80)], ["2", "80"], "what they are")


@test("with a replica that cannot be composed none is added, and its fault is told")
def wrong(box):
    s = box.supd({"r": {"replicas": 1, "enabled": False, "nice": "${replica}"}})
    result = s.ctl("scale", "r", "40")
    check(result.code == 1, result)
    has(result.err, r"supd\.yaml:\d+:\d+.*nice", "the fault")
    equal(replicas(s), names(1), "the replicas")
    s.ctl_ok("scale", "r", "19")
    equal(replicas(s), names(*range(1, 20)), "as many as can be")


@test("DECISIONS 32: replicas that are taken away: the highest go first, one after the other")
def fewer(box):
    top, tree = four(box, 3)
    s = box.supd(tree, **top)
    s.ctl_ok("scale", "r", "5")
    kept = s.actor("sup/r@1")["pid"]
    for name in names(1, 2, 3, 4, 5):
        s.started(name)
    s.mark()
    s.ctl_ok("scale", "r", "1")
    s.pump(0)
    ends = [(line.kind, line.name) for line in s.log if line.kind in "tx"]
    equal([name for kind, name in ends if kind == "t"], names(5, 4, 3, 2), "the stops")
    for i, (kind, name) in enumerate(ends):
        equal(kind, "tx"[i % 2], f"each is gone before the next ({ends})")
    equal((replicas(s), s.actor("sup/r@1")["pid"]), (names(1), kept), "who is left")
    s.ctl_ok("scale", "r", "0")
    equal(replicas(s), [], "none")
    s.ctl_ok("scale", "sup/r", "2")
    equal(replicas(s), names(1, 2), "some")


@test("the number holds over the guardian's death and an apply that does not change it")
def holds(box):
    top, tree = four(box, 3)
    s = box.supd(tree, **top)
    s.ctl_ok("scale", "r", "5")
    pids = [one["pid"] for one in s.call("Status")["actors"]]
    s.crash()
    equal([one["pid"] for one in s.call("Status")["actors"]], pids, "who is there")
    s.ctl_ok("apply")
    equal([one["pid"] for one in s.call("Status")["actors"]], pids, "who is there")
    s.ctl_ok("scale", "r", "2")
    s.ctl_ok("apply")
    s.crash()
    equal(replicas(s), names(1, 2), "after fewer")


@test("an apply with another number of replicas wins, and so does a restart")
def file_wins(box):
    top, tree = four(box, 3)
    s = box.supd(tree, **top)
    s.ctl_ok("scale", "r", "6")
    first = s.actor("sup/r@1")["pid"]
    s.write(four(box, 4)[1])
    s.ctl_ok("apply")
    s.until(lambda: replicas(s) == names(1, 2, 3, 4), "the file's number")
    s.ctl_ok("scale", "r", "1")
    s.write(four(box, 3)[1])
    s.ctl_ok("apply")
    s.until(lambda: replicas(s) == names(1, 2, 3), "the file's number")
    s.wait_for("sup/r@3", state="running")
    equal(s.actor("sup/r@1")["pid"], first, "the first")
    s.ctl_ok("scale", "r", "7")
    s.ctl_ok("restart", "sup")
    equal(replicas(s), names(1, 2, 3), "after a restart of the supervisor")


@test("what cannot be scaled")
def refused(box):
    top, tree = four(box)
    s = box.supd(tree, **top)
    equal(s.ctl("scale", "z", "2").code, 7, "an actor without replicas")
    equal(s.ctl("scale", "nobody", "2").code, 4, "nobody")
    equal(s.ctl("scale", "r", "many").code, 2, "no number")
    equal(s.ctl("scale", "r", "100000").code, 1, "too many")
    equal(s.error_of("Scale", name="r", replicas=-1)[0], "InvalidParameter", "below none")
    equal(replicas(s), names(1, 2), "the replicas")


@test("a replica that does not start is not there, the others are")
def partly(box):
    template = {"command": ["/bin/sh", "-c", "test ${replica} != 3 && exec sleep 1000"],
                "ready": {"after": "1s"}, "backoff": "none", "shutdown": "1s"}
    s = box.supd({"r": {"use": "w", "replicas": 1}}, templates={"w": template})
    name, parameters = s.error_of("Scale", name="r", replicas=4)
    equal((name, parameters["name"]), ("StartFailed", "/user/r@3"), "the error")
    equal(s.ctl("scale", "r", "4").code, 1, "exit status")
    equal(replicas(s), names(1, 2, 4), "who is there")


if __name__ == "__main__":
    main()
