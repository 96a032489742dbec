#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""From the file that runs to the one on disk: the plan, and nothing but the plan."""
import os
import select
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, PROBE, SUPCTL, alive, check, equal, has, main, test
from varlink import VarlinkError


def plan(s, verb="diff"):
    return {change["path"]: change["change"] for change in s.json(verb)}


@test("an unchanged file changes nothing")
def unchanged(box):
    s = box.supd({"a": {}, "sup": {"children": {"b": {}}}})
    pids = [s.started(name) for name in "ab"]
    equal(set(plan(s).values()) - {"unchanged"}, set(), "the plan")
    s.ctl_ok("apply")
    equal([s.actor("a")["pid"], s.actor("sup/b")["pid"]], pids, "pids")


@test("110 diff tells what apply does: unchanged, updated, restarted, added, removed")
def all_five(box):
    tree = {name: {} for name in ("same", "updated", "restarted", "removed")}
    s = box.supd(tree)
    pids = {name: s.started(name) for name in tree}
    s.write({"same": {}, "added": {}, "updated": {"shutdown": "7s"},
             "restarted": {"environment": {"NEW": "1"}}})
    expected = {"/user/same": "unchanged", "/user/updated": "updated",
                "/user/restarted": "restarted", "/user/added": "added",
                "/user/removed": "removed"}
    shown = plan(s)
    equal({path: shown.get(path, "unchanged") for path in expected}, expected, "the diff")
    equal({name: s.actor(name)["pid"] for name in tree}, pids, "pids after the diff")
    done = plan(s, "apply")
    equal({path: done.get(path, "unchanged") for path in expected}, expected, "the plan")
    s.started("added")
    s.started("restarted", 2)
    s.until(lambda: s.gone("removed"), "the removal")
    check(not alive(pids["removed"]), "the removed one is alive")
    equal([s.actor(name)["pid"] for name in ("same", "updated")],
          [pids["same"], pids["updated"]], "pids of those that stay")
    has(s.ctl_ok("cat", "updated").out, "7s", "the new value")
    equal(s.event("applied")["event"], "applied", "the event")


@test("the new order is that of the new file")
def order(box):
    s = box.supd({"a": {}, "b": {}, "c": {}})
    s.started("c")
    s.write({"c": {}, "new": {}, "a": {}, "b": {}})
    s.ctl_ok("apply")
    s.started("new")
    equal([actor["path"] for actor in s.json("status") if actor["path"] != "/user"],
          ["/user/c", "/user/new", "/user/a", "/user/b"], "the order")
    mark = s.mark()
    s.stop()
    equal(s.order(mark, "t"), ["t b", "t a", "t new", "t c"], "the shutdown")


@test("SIGHUP applies the file, with RELOADING=1 and READY=1 around it")
def hup(box):
    s = box.supd({"a": {}})
    pid = s.started("a")
    s.notes.clear()
    s.write({"a": {}, "b": {}})
    s.signal(signal.SIGHUP)
    s.started("b")
    s.until(lambda: any("READY=1" in note for note in s.notes), "READY=1")
    check(any("RELOADING=1" in note and "MONOTONIC_USEC=" in note for note in s.notes),
          f"no RELOADING=1 with MONOTONIC_USEC in {s.notes}")
    equal(s.actor("a")["pid"], pid, "a's pid")


@test("110 an invalid file changes nothing, and all of its faults are listed")
def invalid(box):
    s = box.supd({"a": {}, "b": {}})
    pids = [s.started(name) for name in "ab"]
    s.write({}, text="children:\n  a:\n    comand: [x]\n  c:\n    command: [/bin/true]\n"
                     "    shutdown: 5\n    restart: sometimes\n")
    for verb in ("diff", "apply"):
        result = s.ctl(verb)
        check(result.code != 0, f"{verb} said 0")
        for line in (3, 6, 7):
            has(result.err + result.out, rf"supd\.yaml:{line}:\d+", f"the output of {verb}")
    s.signal(signal.SIGHUP)
    s.ctl_ok("restart", "b")
    s.started("b", 2)
    equal(s.actor("a")["pid"], pids[0], "a's pid")
    check(s.gone("c"), "c is there")


@test("the error of Apply carries file, line, column, key path and message")
def config_invalid(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({}, text="children:\n  a:\n    comand: [x]\n")
    try:
        s.call("Apply")
        check(False, "no error")
    except VarlinkError as error:
        equal(error.name, "ConfigInvalid", "the error")
        one = error.parameters["errors"][0]
        equal((one["line"], one["column"] > 0), (3, True), "the place")
        equal(sorted(one), ["column", "file", "line", "message", "path"], "the fields")


@test("a change of a supervisor's intensity or decider is made in place")
def supervisor_in_place(box):
    s = box.supd({"sup": {"I": "5/60s", "children": {"a": {}}}})
    pid = s.started("a")
    s.write({"sup": {"I": "0/60s", "children": {"a": {}}}},
            decider=[{"when": "intensity", "then": "stop"}, "default"])
    s.ctl_ok("apply")
    equal(s.actor("sup/a")["pid"], pid, "a's pid")
    s.tell("a", "exit=1")
    s.event("gave_up", "sup")
    s.wait_for("sup", state="failed")


@test("50 the counters outlive an apply that does not change the supervisor")
def counters(box):
    s = box.supd({"sup": {"I": "5/1h", "children": {"a": {}}}})
    s.started("a")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.write({"sup": {"I": "5/1h", "children": {"a": {}}}, "b": {}})
    s.ctl_ok("apply")
    s.started("b")
    equal((s.actor("sup")["window"], s.actor("sup/a")["restarts"]), (1, 1), "the counters")


@test("a stop and a hold outlive an apply; one that restarts the actor starts a stopped one")
def stopped(box):
    s = box.supd({"a": {}, "b": {}, "h": {}})
    s.started("h")
    s.ctl_ok("stop", "a", "b")
    s.ctl_ok("stop", "--hold", "h")
    s.write({"a": {"shutdown": "9s"}, "b": {"environment": {"X": "1"}},
             "h": {"environment": {"X": "1"}}, "new": {}})
    s.ctl_ok("apply")
    s.started("new")
    s.started("b", 2)
    equal([s.actor(name)["state"] for name in "ah"], ["stopped", "stopped"], "the states")


@test("a removed supervisor's subtree is stopped in reverse order")
def removed_subtree(box):
    s = box.supd({"sup": {"children": {"a": {}, "b": {}}}, "other": {}})
    other = s.started("other")
    s.write({"other": {}})
    mark = s.mark()
    s.ctl_ok("apply")
    s.until(lambda: s.gone("sup"), "the removal")
    equal(s.order(mark), ["t b", "x b", "t a", "x a"], "the order")
    equal(s.actor("other")["pid"], other, "the other's pid")


@test("replicas grow at the end and shrink from the highest")
def replicas(box):
    worker = {"command": [PROBE, box.dir, "w${replica}"], "shutdown": "1s"}
    s = box.supd({"w": {"use": "worker", "replicas": 2}}, templates={"worker": worker})
    pids = [s.started("w1"), s.started("w2")]
    s.write({"w": {"use": "worker", "replicas": 4}})
    s.ctl_ok("apply")
    for name in ("w3", "w4"):
        s.started(name)
    s.write({"w": {"use": "worker", "replicas": 1}})
    s.ctl_ok("apply")
    s.until(lambda: s.gone("w@2"), "w@2's removal")
    s.event("terminated", "w@2")
    equal([event["path"] for event in s.seen("stopping")],
          ["/user/w@4", "/user/w@3", "/user/w@2"], "the order")
    equal(s.actor("w@1")["pid"], pids[0], "w@1's pid")


@test("an apply during a restart and during a stop ends as the last wish said")
def in_between(box):
    s = box.supd({"a": {"do": ["delay=400"]}, "b": {"do": ["delay=400"]},
                  "c": {"do": ["delay=400"]}})
    s.started("c")
    s.ctl_ok("restart", "--no-wait", "a")
    s.ctl_ok("stop", "--no-wait", "b", "c")
    s.line("t", "a")
    s.line("t", "b")
    s.write({"b": {"do": ["delay=400"]}, "c": {}, "d": {}})
    s.ctl_ok("apply")
    s.started("d")
    s.until(lambda: s.gone("a"), "a's removal")
    s.wait_for("b", state="stopped")
    s.started("c", 2)
    equal([len(s.lines("S", name)) for name in "ab"], [1, 1], "starts of a and b")


@test("an actor that is removed and added again starts when its old process is gone, not before")
def back_again(box):
    for kind in ("auto", "session"):
        spec = {"do": ["delay=400"], "containment": kind}
        s = box.supd({"a": spec, "b": {}}, name=kind)
        s.started("a")
        s.write({"b": {}})
        s.signal(signal.SIGHUP)
        s.line("t", "a")
        s.write({"a": spec, "b": {}})
        s.ctl_ok("apply")
        s.started("a", 2)
        check(s.lines("S", "a")[1].ns >= s.line("x", "a").ns, "two lived at once")
        equal([event["path"] for event in s.seen("failure")], [], "failures")


@test("an actor that was removed and comes back is a new incarnation")
def incarnation(box):
    s = box.supd({"a": {}, "b": {}})
    s.started("b")
    s.write({"b": {}})
    s.ctl_ok("apply")
    s.until(lambda: s.gone("a"), "a's removal")
    s.write({"a": {}, "b": {}})
    s.ctl_ok("apply")
    s.started("a", 2)
    equal(s.actor("a")["incarnation"], 2, "the incarnation")


def back_and_forth(what, applies, action, states):
    @test(f"actors that go and come back while the old ones stop: {what}")
    def one(box):
        slow = {"do": ["delay=150"]}
        trees = {"-": {"sup": {"children": {"z": {}}}},
                 "+": {"sup": {"children": {"z": {}, "c": slow, "d": slow}}}}
        s = box.supd(trees["+"])
        s.started("d")
        for tree in applies:
            s.write(trees[tree])
            s.call("Apply")
        if action:
            s.call(action, names=["/user/sup"], wait=False)
        expected = {f"/user/sup/{name}": state for name, state in states.items()}

        def settled():
            actors = [actor for actor in s.call("Status")["actors"]
                      if actor["path"].startswith("/user/sup/")]
            return ({actor["path"]: actor["state"] for actor in actors} == expected
                    and len(actors) == len(expected))

        s.until(settled, f"the states {expected}")


back_and_forth("to stay", "-+", None, {"z": "running", "c": "running", "d": "running"})
back_and_forth("and go again", "-+-", None, {"z": "running"})
back_and_forth("twice", "-+-+", None, {"z": "running", "c": "running", "d": "running"})
back_and_forth("and their supervisor is stopped", "-+", "Stop",
               {"z": "stopped", "c": "stopped", "d": "stopped"})
back_and_forth("and their supervisor is restarted", "-+-", "Restart", {"z": "running"})


def while_stopping(verb, state, starts):
    @test(f"an apply that changes a child while a {verb} of its supervisor stops it")
    def one(box):
        slow = {"do": ["delay=300"]}
        tree = {"sup": {"children": {"a": slow, "b": slow}}}
        s = box.supd(tree, decider=[{"when": "killed", "then": "restart"}, "default"])
        s.started("b")
        verb_ends = box.popen(SUPCTL, "-s", s.socket, verb, "sup")
        s.line("t", "b")
        tree["sup"]["children"]["a"] = {**slow, "environment": {"NEW": "1"}}
        s.write(tree)
        s.signal(signal.SIGHUP)
        s.event("applied")
        verb_ends.wait(20)
        for name in "ab":
            s.started(name, starts)
            s.wait_for(f"sup/{name}", state=state)
        s.wait_for("sup", state=state)
        equal([len(s.lines("S", name)) for name in "ab"], [starts] * 2, "starts")


while_stopping("stop", "stopped", 1)
while_stopping("restart", "running", 2)
while_stopping("fail", "running", 2)


@test("a change during the boot: the start goes on with the new file")
def in_boot(box):
    s = box.supd({"a": {"ready": "notify"}, "b": {}}, wait=False)
    s.started("a")
    s.write({"a": {"ready": "notify"}, "c": {}})
    s.signal(signal.SIGHUP)
    s.event("applied")
    s.tell("a", "ready")
    s.started("c")
    check(s.gone("b"), "b is there")


@test("sockets that stay keep their clients, new ones are opened, old ones closed")
def sockets(box):
    old, stay, new = [box.path(name) for name in ("old", "stay", "new")]
    s = box.supd({"a": {"do": ["serve"], "sockets": {"o": f"unix:{old}", "s": f"unix:{stay}"}}})
    s.started("a")
    s.ctl_ok("stop", "a")
    client = socket.socket(socket.AF_UNIX)
    client.connect(stay)
    s.write({"a": {"do": ["serve"], "sockets": {"s": f"unix:{stay}", "n": f"unix:{new}"}}})
    s.ctl_ok("apply")
    s.ctl_ok("start", "a")
    pid = s.started("a", 2)
    client.settimeout(10)
    equal(int(client.recv(100).split()[1]), pid, "who answered the waiting client")
    client.close()
    check(os.path.exists(new) and not os.path.exists(old), "the files")


@test("cat shows the value of each key and the place that it came from")
def cat(box):
    s = box.supd({"a": {"shutdown": "3s", "backoff": {"min": "100ms", "max": "300ms"}}},
                 defaults={"umask": "0027"})
    s.started("a")
    out = s.ctl_ok("cat", "a").out
    has(out, r"shutdown.*3s.*supd\.yaml:\d+", "the value from the file")
    has(out, r"umask.*0027.*supd\.yaml:\d+", "the value from the defaults")
    has(out, r"reset_after.*200ms", "the value that follows from others")
    reply = s.call("Describe", name="/user/a")
    check({"key", "file", "line"} <= set(reply["origin"][0]), "the fields of an origin")


@test("reloads again and again do not grow supd")
def flat(box):
    tree = {f"a{i}": {"command": ["sleep", "1000"]} for i in range(40)}
    s = box.supd(tree)
    size = []
    for number in range(60):
        s.write(tree, backoff={"min": "1s", "max": f"{number + 2}s"})
        s.ctl_ok("apply")
        size.append(s.memory_kib())
    check(INSTRUMENTED or size[-1] - size[20] < 1024, f"memory grew from {size[20]} to {size[-1]} KiB")


@test("of actors that die while a configuration comes into force each is restarted, and once")
def deaths(box):
    tree = {f"a{i}": {"command": ["sleep", "1000"], "backoff": "none"} for i in range(400)}
    s = box.supd(tree, intensity="unlimited", start="parallel")
    killed = {}

    def actors():
        return {actor["path"]: actor for actor in s.json("status") if actor["path"] != "/user"}

    for _ in range(3):
        before = actors()
        with subprocess.Popen([SUPCTL, "-s", s.socket, "apply"], stdout=subprocess.DEVNULL) as apply:
            for path, actor in before.items():
                if apply.poll() is not None:
                    break
                pidfd = os.pidfd_open(actor["pid"])
                os.kill(actor["pid"], signal.SIGKILL)
                select.select([pidfd], [], [])
                os.close(pidfd)
                killed[path] = killed.get(path, 0) + 1
            equal(apply.wait(), 0, "the apply")
        s.until(lambda: all(actor["state"] == "running" and alive(actor["pid"]) for actor in actors().values()),
                "every actor")
        equal({path: actor["restarts"] for path, actor in actors().items() if actor["restarts"] > 0}, killed,
              "the restarts")


@test("an actor that comes back while its process is still stopping waits until that is gone")
def namesake(box):
    tree = {"a": {"containment": "session", "shutdown": "infinity", "do": ["ignore"]}, "b": {}}
    s = box.supd(tree)
    old = s.started("a")
    s.write({"b": {}})
    s.ctl_ok("apply")
    s.event("stopping", "a")
    s.write(tree)
    s.ctl_ok("apply")
    s.tell("b", "exit=1")
    s.started("b", 2)
    equal(s.counts["S", "a"], 1, "starts of a")
    check(alive(old), "the old one is gone")
    os.kill(old, signal.SIGKILL)
    s.line("S", "a", 2)
    s.wait_for("a", state="running")
    check(not alive(old), "the old one lives")
    s.write({"b": {}})
    s.ctl_ok("apply")
    s.write(tree)
    s.ctl_ok("apply")
    s.write({"b": {}})
    s.ctl_ok("apply")
    os.kill(s.pids["a"], signal.SIGKILL)
    s.until(lambda: s.gone("a"), "the end of both")
    s.settle()
    equal(s.counts["S", "a"], 2, "starts of a")


@test("an actor that comes back twice waits for the first, though the one between never lived")
def thrice(box):
    stubborn = {"containment": "session", "shutdown": "infinity", "do": ["ignore"]}
    s = box.supd({"a": stubborn, "b": {}})
    old = s.started("a")
    for tree in {"b": {}}, {"a": {**stubborn, "enabled": False}, "b": {}}, {"b": {}}, \
                {"a": stubborn, "b": {}}:
        s.write(tree)
        s.ctl_ok("apply")
    s.tell("b", "exit=1")
    s.started("b", 2)
    equal(s.counts["S", "a"], 1, "starts of a")
    check(alive(old), "the old one is gone")
    os.kill(old, signal.SIGKILL)
    s.line("S", "a", 2)
    check(not alive(old), "the old one lives")
    s.write({"b": {}})
    s.ctl_ok("apply")
    os.kill(s.pids["a"], signal.SIGKILL)


@test("a reload during the shutdown is refused")
def too_late(box):
    s = box.supd({"a": {"do": ["ignore"], "shutdown": "infinity"}})
    pid = s.started("a")
    s.signal(signal.SIGTERM)
    s.until(lambda: any("STOPPING=1" in note for note in s.notes), "STOPPING=1")
    s.notes.clear()
    s.write({"a": {"shutdown": "1s"}, "b": {}})
    s.signal(signal.SIGHUP)
    check(s.ctl("apply").code != 0, "apply said 0")
    os.kill(pid, signal.SIGKILL)
    s.ended(0)
    check(not any("READY=1" in note or "RELOADING" in note for note in s.notes), f"told {s.notes}")
    equal(s.counts["S", "b"], 0, "starts of b")


@test("a larger limit for a supervisor has room for the children that were added to it")
def larger_limit(box):
    def tree(restarts):
        return {"sup": {"limit": {"restarts": restarts}, "children": {"a": {}}}}

    s = box.supd(tree(1))
    s.started("a")
    for i in range(8):
        s.ctl_ok("add", f"sup/w{i}", "--", "sleep", "1000")
    guardian = s.guardian()
    s.write(tree(10000))
    s.ctl_ok("apply")
    equal(s.guardian(), guardian, "the guardian")
    has(s.ctl_ok("cat", "sup").out, "10000", "the new limit")


if __name__ == "__main__":
    main()
