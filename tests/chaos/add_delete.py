#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies while actors are added, deleted, and made more and fewer."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, equal
from harness import PROBE, check, main, test
from parallel import at_every_call
from varlink import VarlinkError


def templates(box):
    base = {"backoff": "none", "shutdown": "1s"}
    return {"w": {**base, "command": [PROBE, box.dir, "${actor.name}", "alone", "${does}"]},
            "broken": {**base, "command": ["/nonexistent/program"]}}


def runs(s, path, lives):
    """Wait until the actor runs in its life number `lives`; gives the pid."""
    s.until(lambda: len(s.lines("S", path.rpartition("/")[2])) >= lives, f"{path} {lives}")
    actor = s.wait_for(path, state="running")
    return actor["pid"]


def command_line(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as line:
        return line.read().decode().split("\0")


def added(box, n):
    """Added, crashed, stopped, deleted, added again, the guardian killed at its n-th call."""
    s = Chaos(box, {"sup": {"children": {"b": {}}}}, templates=templates(box))
    s.started("b")
    s.probes.add("c")
    b = s.actor("sup/b")["pid"]
    killer = Killer(box, s.guardian(), n)
    equal(s.call("Add", name="sup/c", use="w", **{"with": {"does": "delay=1"}})
          ["actor"]["path"], "/user/sup/c", "what was added")
    runs(s, "sup/c", 1)
    s.tell("c", "exit=3")
    check("delay=1" in command_line(runs(s, "sup/c", 2)), "the parameter of c")
    s.call("Stop", names=["/user/sup/c"])
    s.call("Delete", name="sup/c")
    equal(s.paths(), ["/user", "/user/sup", "/user/sup/b"], "who is there")
    s.call("Add", name="sup/c", use="w", **{"with": {"does": "delay=2"}})
    pid = runs(s, "sup/c", 3)
    stops = killer.end()
    check("delay=2" in command_line(pid), "the parameter of the second c")
    s.crash()
    equal(s.paths(), ["/user", "/user/sup", "/user/sup/b", "/user/sup/c"], "who is there")
    equal((s.actor("sup/b")["pid"], s.actor("sup/c")["pid"]), (b, pid), "the pids")
    equal(s.actor("sup/c")["incarnation"], 2, "c's incarnation")
    equal(len(s.lines("S", "c")), 3, "lives of c")
    s.consistent()
    return stops


@test("killed at any system call of add, delete and add: each is done once, and answered so",
      timeout=1800)
def additions(_):
    at_every_call(added, 60)


def refused(box, n):
    """What cannot be started is asked for, the guardian killed at its n-th call."""
    s = Chaos(box, {"sup": {"children": {"b": {}}}}, templates=templates(box))
    s.started("b")
    killer = Killer(box, s.guardian(), n)
    try:
        check(not s.call("Add", name="sup/c", use="broken"), "it was added")
    except VarlinkError as error:
        equal(error.name, "StartFailed", "the answer")
    s.until(lambda: s.paths() == ["/user", "/user/sup", "/user/sup/b"], "no trace of it")
    stops = killer.end()
    s.crash()
    equal(s.paths(), ["/user", "/user/sup", "/user/sup/b"], "who is there")
    s.consistent()
    return stops


@test("killed at any system call of an addition that fails: it leaves no trace (I31)",
      timeout=1800)
def failed_additions(_):
    at_every_call(refused, 25)


def scaled(box, n):
    """More and fewer replicas, the guardian killed at its n-th call."""
    one = {"command": [PROBE, box.dir, "${actor.name}", "alone"], "backoff": "none",
           "shutdown": "1s"}
    s = Chaos(box, {"r": {"use": "one", "replicas": 1}}, templates={"one": one})
    s.probes.update(f"r@{i}" for i in range(1, 5))
    first = runs(s, "r@1", 1)
    killer = Killer(box, s.guardian(), n)
    four = [f"/user/r@{i}" for i in range(1, 5)]
    equal([one["path"] for one in s.call("Scale", name="r", replicas=4)["actors"]], four, "four")
    pids = [runs(s, f"r@{i}", 1) for i in range(1, 5)]
    equal([one["path"] for one in s.call("Scale", name="r", replicas=2)["actors"]], four[:2],
          "two")
    stops = killer.end()
    s.crash()
    equal([s.actor(f"r@{i}")["pid"] for i in (1, 2)], [first, pids[1]], "the pids")
    equal([len(s.lines("S", f"r@{i}")) for i in range(1, 5)], [1] * 4, "lives")
    equal([line.name for line in s.lines("t")], ["r@4", "r@3"], "stops")
    s.consistent()
    return stops


@test("killed at any system call of scale up and down: each has one life", timeout=1800)
def scales(_):
    at_every_call(scaled, 60)


def acted(box, n):
    """Suspended twice, resumed, signalled and failed, the guardian killed at its n-th call."""
    s = Chaos(box, {"a": {}})
    s.started("a")
    killer = Killer(box, s.guardian(), n)
    for method in ("Suspend", "Suspend", "Resume"):
        s.call(method, names=["a"])
    equal(s.actor("a")["suspended"], 1, "suspensions")
    s.call("Resume", names=["a"])
    sent = 1
    try:
        s.call("Signal", name="a", signal="USR1")
    except VarlinkError as error:
        equal(error.name, "OutcomeUnknown", "the answer to Signal")
        sent = None  # killed between the note of the signal and the note that kill(2) was called
    s.call("Fail", name="a")
    s.wait_for("a", state="failed")
    stops = killer.end()
    s.consistent()
    equal([one["cause"]["kind"] for one in s.seen("failure", "a")], ["killed"], "failures")
    signals = len([line for line in s.lines("s", "a") if line.more == "10"])
    check(signals == sent or (sent is None and signals <= 1), f"{signals} signals of {sent}")
    return stops


@test("killed at any system call of suspend, resume, signal and kill: each is done once",
      timeout=1800)
def acts(_):
    at_every_call(acted, 30)


if __name__ == "__main__":
    main()
