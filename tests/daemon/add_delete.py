#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Actors at run time: add and delete, OTP's results, and what becomes of the added ones."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, check, equal, has, main, test


def probe(s, name, *actions):
    """The command line of a probe."""
    s.probes.add(name)
    return [PROBE, s.dir, name, *actions]


def add(s, name, *actions):
    return s.ctl("add", name, "--", *probe(s, name.rpartition("/")[2], *actions))


def templates(box, **more):
    """Templates of probes: w has the name of its actor and does what `does` says."""
    base = {"backoff": "none", "shutdown": "1s"}
    one = [PROBE, box.dir, "${actor.name}"]
    return {"w": {**base, "command": [*one, "${does}"]}, "plain": {**base, "command": one},
            "temp": {**base, "command": one, "restart": "temporary"},
            "broken": {**base, "command": ["/nonexistent/program"]},
            "pair": {"strategy": "one_for_all",
                     "children": {"x": {**base, "command": [*one, "${who}"]},
                                  "y": {**base, "command": one}}}, **more}


@test("101 add, start, stop and delete answer as OTP's start_child and the others do")
def answers(box):
    s = box.supd({"a": {}})
    s.started("a")
    equal(add(s, "a").code, 7, "add of what runs")
    equal(s.error_of("Add", name="a", command=["x"])[0], "AlreadyStarted", "the error")
    equal(s.ctl("stop", "nobody").code, 4, "stop of what is not there")
    s.ctl_ok("stop", "a")
    s.ctl_ok("stop", "a")
    equal(s.error_of("Add", name="a", command=["x"]), ("AlreadyPresent", {"name": "/user/a"}),
          "the error")
    s.ctl_ok("start", "a")
    s.started("a", 2)
    s.ctl_ok("start", "a")
    equal(s.ctl("start", "nobody").code, 4, "start of what is not there")
    name, more = s.error_of("Delete", name="a")
    equal((name, more["state"]), ("InvalidState", "running"), "delete of what runs")
    equal(s.ctl("delete", "a").code, 7, "its status")
    s.ctl_ok("stop", "a")
    s.ctl_ok("delete", "a")
    equal(s.ctl("start", "a").code, 4, "start of what was deleted")
    equal(s.ctl("delete", "a").code, 4, "delete of what was deleted")
    equal(s.paths(), ["/user"], "who is left")
    result = add(s, "a")
    equal(result.code, 0, f"add of a name that is free ({result})")
    has(result.out, r"^/?(user/)?a +running", "what add prints")
    equal(s.actor("a")["incarnation"], 3, "its incarnation")
    verbs = [(e["path"], e["verb"]) for e in s.seen("command")
             if e["verb"] in ("add", "delete")]
    equal(verbs, [("/user/a", "delete")] * 3 + [("/user/a", "add")],
          "who did what")


@test("88 in a backoff: add already_present, delete restarting, stop ends it")
def restarting(box):
    s = box.supd({"a": {"backoff": {"min": "1h", "max": "1h"}}})
    s.started("a")
    s.tell("a", "exit=1")
    s.wait_for("a", state="backoff")
    equal(s.error_of("Add", name="a", command=["x"])[0], "AlreadyPresent", "add")
    name, more = s.error_of("Delete", name="a")
    equal((name, more["state"]), ("InvalidState", "restarting"), "delete")
    s.ctl_ok("stop", "a")
    s.ctl_ok("delete", "a")
    check(s.gone("a"), "a is there")


@test("25 two of a template have their own parameters, also after a restart")
def of_template(box):
    s = box.supd({"sup": {"children": {}}}, templates=templates(box))
    s.ctl_ok("add", "sup/one", "--use", "w", "--with", "does=delay=1")
    s.ctl_ok("add", "sup/two", "--use", "w", "--with", "does=delay=2")
    two = s.started("two")
    s.tell("one", "exit=3")
    s.started("one", 2)
    for name, argument in (("one", b"delay=1"), ("two", b"delay=2")):
        with open(f"/proc/{s.actor('sup/' + name)['pid']}/cmdline", "rb") as line:
            check(argument in line.read().split(b"\0"), f"the parameter of {name}")
    equal(s.actor("sup/two")["pid"], two, "two's pid")
    s.stop()
    s.pump(0)
    equal([line.name for line in s.log if line.kind == "t"], ["two", "one"], "stops")


@test("102 what cannot be started is not added, and the caller hears why")
def not_started(box):
    s = box.supd({"a": {}}, templates=templates(box))
    s.started("a")
    before = s.paths()
    result = s.ctl("add", "b", "--use", "broken")
    equal(result.code, 1, f"exit status ({result})")
    has(result.err, "ENOENT|No such file", "the reason")
    name, more = s.error_of("Add", name="b", command=["/nonexistent/program"])
    equal((name, more["name"], more["cause"]["errno"]), ("StartFailed", "/user/b", "ENOENT"),
          "the error")
    equal(s.paths(), before, "the tree")
    equal(add(s, "b").code, 0, "add of the same name")


@test("what is wrong with an addition is told as of a file, all of it, and nothing is changed")
def wrong(box):
    s = box.supd({"a": {}, "r": {"replicas": 1}}, templates=templates(
        box, listens={"command": ["x"], "sockets": {"http": {
            "listen": "tcp:127.0.0.1:1", "while_down": {"handler": "a"}}}},
        bad={"command": ["x", "${one}"], "description": "${two}"}))
    before = s.paths()
    result = s.ctl("add", "x", "--use", "w")
    equal(result.code, 1, f"exit status ({result})")
    has(result.err, r"supd\.yaml:\d+:\d+: .*\$\{does\}. is not defined", "an undefined name")
    has(s.ctl("add", "x", "--use", "wrk").err, "there is no template .wrk.", "no template")
    text = s.ctl("add", "x", "--use", "bad").err
    has(text, r"one.*\n.*two|two.*\n.*one", "both errors")
    has(text, "2 errors, nothing was changed", "how many")
    has(s.ctl("add", "x", "--use", "listens").err, "cannot have a `handler`", "a handler")
    has(s.ctl("add", "b/d name", "--", "true").err, "no (such )?actor|there is no", "no parent")
    has(s.ctl("add", "b d", "--", "true").err, "cannot be the name", "a name")
    has(s.ctl("add", "r@2", "--", "true").err, "use scale", "a name of a replica")
    has(s.ctl("add", "a/b", "--", "true").err, "no supervisor", "below a worker")
    equal(s.ctl("add", "x").code, 2, "neither template nor command")
    equal(s.ctl("add", "x", "--use", "w", "--with", "does").code, 2, "no parameter")
    result = s.ctl("add", "x", "--use", "w", "--with", "does=delay=1", "--with", "dose=delay=2")
    check(result.code == 1 and "nothing uses the parameter `dose`" in result.err, f"a parameter too many: {result}")
    equal(s.error_of("Add", name="x")[0], "InvalidParameter", "neither")
    equal(s.paths(), before, "the tree")


@test("105 the name of a template is not that of an actor")
def template_names(box):
    s = box.supd({"r": {"replicas": 2}}, templates=templates(box))
    for verb in ("start", "stop", "delete"):
        result = s.ctl(verb, "w")
        equal(result.code, 7, f"exit status of {verb} ({result})")
        has(result.err, "template", "the reason")
    name, more = s.error_of("Delete", name="r")
    equal((name, more["state"]), ("InvalidState", "template"), "delete of a base")
    second = s.actor("r@2")["pid"]
    s.ctl_ok("stop", "r@1")
    s.ctl_ok("stop", "r@1")
    equal([s.actor(name)["state"] for name in ("r@1", "r@2")], ["stopped", "running"], "states")
    for verb in ("stop", "start", "delete"):
        equal(s.ctl(verb, "r@3").code, 4, f"{verb} of an instance that is not there")
    equal(s.actor("r@2")["pid"], second, "the other one")


@test("max_children bounds what is added; the file's own do not count")
def bound(box):
    s = box.supd({"sup": {"max_children": 1, "children": {"a": {}, "b": {}}}})
    equal(add(s, "sup/c").code, 0, "the first")
    result = add(s, "sup/d")
    equal(result.code, 1, f"the second ({result})")
    name, more = s.error_of("Add", name="sup/d", command=["true"])
    equal((name, more), ("LimitReached", {"name": "/user/sup", "limit": 1}), "the error")
    s.ctl_ok("stop", "sup/c")
    s.ctl_ok("delete", "sup/c")
    equal(add(s, "sup/d").code, 0, "after another went")


@test("9 a temporary one is gone when it ends, and its name is free")
def temporary(box):
    s = box.supd({"x": {"restart": "temporary"}}, templates=templates(box))
    s.started("x")
    s.tell("x", "exit=1")
    s.until(lambda: s.gone("x"), "x to be gone")
    s.ctl_ok("add", "x", "--use", "temp")
    s.started("x", 2)
    s.tell("x", "exit=0")
    s.until(lambda: s.gone("x"), "x to be gone")
    s.ctl_ok("add", "x", "--use", "plain")
    s.started("x", 3)


@test("a supervisor that starts anew has forgotten what was added, and has what was deleted")
def anew(box):
    s = box.supd({"sup": {"children": {"a": {}, "b": {}}}})
    s.started("a")
    s.ctl_ok("stop", "sup/a")
    s.ctl_ok("delete", "sup/a")
    equal(add(s, "sup/a").code, 0, "add of a deleted name")
    equal(add(s, "sup/c").code, 0, "add")
    equal(s.paths(), ["/user", "/user/sup", "/user/sup/b", "/user/sup/a", "/user/sup/c"],
          "the order")
    first = s.started("a", 2)
    s.write({"sup": {"children": {"b": {}, "a": {"description": "of the file"}}}})
    s.ctl_ok("apply")
    equal(s.paths(), ["/user", "/user/sup", "/user/sup/b", "/user/sup/a", "/user/sup/c"],
          "the order after an apply")
    equal((s.actor("sup/a")["pid"], s.actor("sup/a")["description"]), (first, None), "a")
    s.crash()
    equal(s.actor("sup/a")["pid"], first, "a's pid")
    s.ctl_ok("restart", "sup")
    equal(s.paths(), ["/user", "/user/sup", "/user/sup/b", "/user/sup/a"], "who is there")
    equal(s.actor("sup/a")["description"], "of the file", "whose a is")
    check(all(one["state"] == "running" for one in s.call("Status")["actors"]), "they run")
    s.started("a", 3)


@test("an added supervisor has children of its own")
def subtree(box):
    s = box.supd({}, templates=templates(box))
    s.ctl_ok("add", "p", "--use", "pair", "--with", "who=delay=3")
    x, y = s.actor("p/x")["pid"], s.actor("p/y")["pid"]
    s.tell("y", "exit=1")
    s.until(lambda: s.actor("p/x")["pid"] not in (None, x), "another x")
    s.until(lambda: s.actor("p/y")["pid"] not in (None, y), "another y")
    s.ctl_ok("stop", "p")
    s.ctl_ok("delete", "p")
    equal(s.paths(), ["/user"], "who is left")


@test("an added actor outlives the guardian, with its process and its parameters")
def outlives(box):
    s = box.supd({"a": {}, "sup": {"children": {"b": {}}}}, templates=templates(box))
    s.ctl_ok("add", "sup/c", "--use", "w", "--with", "does=delay=7")
    s.ctl_ok("add", "p", "--use", "pair", "--with", "who=delay=3")
    s.ctl_ok("stop", "a")
    s.ctl_ok("delete", "a")
    before = s.call("Status")["actors"]
    for _ in range(2):
        s.crash()
        after = s.call("Status")["actors"]
        equal([(one["path"], one["pid"], one["incarnation"]) for one in after],
              [(one["path"], one["pid"], one["incarnation"]) for one in before], "who is there")
    s.tell("c", "exit=1")
    s.started("c", 2)
    with open(f"/proc/{s.actor('sup/c')['pid']}/cmdline", "rb") as line:
        check(b"delay=7" in line.read().split(b"\0"), "the parameter of c")
    has(s.ctl_ok("cat", "sup/c").out, "delay=7", "its specification")
    equal(add(s, "sup/d").code, 0, "one more")
    s.ctl_ok("restart", "sup")
    equal([path for path in s.paths() if path.startswith("/user/sup")],
          ["/user/sup", "/user/sup/b"], "what a restart forgets")


@test("what was added outlives an apply, an upgrade, and more of its kind")
def keeps(box):
    tree = {"a": {}, "b": {}}
    s = box.supd(tree, templates=templates(box))
    equal(add(s, "c").code, 0, "add")
    pid = s.started("c")
    s.write({"b": {}, "z": {}, "a": {"description": "more"}})
    s.ctl_ok("apply")
    equal(s.paths(), ["/user", "/user/b", "/user/z", "/user/a", "/user/c"], "the order")
    for i in range(40):
        s.ctl_ok("add", f"n{i}", "--use", "plain")
    equal(len(s.paths()), 45, "how many there are")
    s.ctl_ok("upgrade")
    s.caller = None
    equal(len(s.paths()), 45, "how many there are after an upgrade")
    equal(s.actor("c")["pid"], pid, "c's pid")
    for i in range(40):
        s.ctl_ok("stop", f"n{i}")
        s.ctl_ok("delete", f"n{i}")
    equal(len(s.paths()), 5, "how many are left")


@test("an apply that has a name which was added puts the file's in its place")
def file_wins(box):
    s = box.supd({"a": {}})
    equal(add(s, "c").code, 0, "add")
    first = s.started("c")
    s.write({"a": {}, "c": {}})
    s.ctl_ok("apply")
    s.started("c", 2)
    s.until(lambda: s.actor("c")["state"] == "running", "c to run")
    check(s.actor("c")["pid"] != first, "the process is the file's")
    equal(s.paths(), ["/user", "/user/a", "/user/c"], "who is there")
    s.crash()
    equal(s.paths(), ["/user", "/user/a", "/user/c"], "who is there")


@test("71 a supervisor that stops in parallel stops the added ones together")
def in_parallel(box):
    s = box.supd({"sup": {"stop": "parallel", "children": {}}}, templates=templates(box))
    for name in ("a", "b", "c"):
        s.ctl_ok("add", f"sup/{name}", "--use", "w", "--with", "does=delay=400")
    for name in ("a", "b", "c"):
        s.started(name)
    s.ctl_ok("stop", "sup")
    for name in ("a", "b", "c"):
        s.event("exited", f"sup/{name}")
    stops, ends = s.lines("t"), s.lines("x")
    equal((len(stops), len(ends)), (3, 3), "stops and ends")
    stopping, exited = ([one["seq"] for one in s.seen(kind)] for kind in ("stopping", "exited"))
    check(max(stopping) < min(exited), "they overlap")
    equal(s.paths(), ["/user", "/user/sup"], "who is left")


if __name__ == "__main__":
    main()
