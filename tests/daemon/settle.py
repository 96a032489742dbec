#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What is started has to live for a while; what is done is not done again by apply."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import alive, check, equal, has, main, test

SHORT = ["sh", "-c", "echo a word; exit 3"]
LONG = ["sleep", "1000"]
SLOWLY = {"backoff": {"min": "1h", "max": "1h"}, "restart": "transient"}


def states(s):
    return {a["path"]: a["state"] for a in s.json("list")}


@test("start and restart of a process that dies at once are failures with its last words")
def dies_at_once(box):
    s = box.supd({"bad": {"command": SHORT, "enabled": False, **SLOWLY},
                  "good": {"command": LONG, "enabled": False},
                  "once": {"command": ["true"], "enabled": False, "restart": "transient"},
                  "app": {"children": {"bad": {"command": SHORT, "enabled": False, **SLOWLY},
                                       "good": {"command": LONG}}}})
    for verb in ("start", "restart"):
        result = s.ctl(verb, "/user/bad", "--settle", "1h")
        equal(result.code, 1, f"{verb}: {result}; status")
        has(result.err, r"/user/bad: it did not live for 1h: exited with 3\n(  \| a word\n)+$", verb)
    result = s.ctl("start", "app/bad", "good", "--settle", "1h")
    equal(result.code, 1, "one of two")
    has(result.err, "/user/app/bad: it did not live", "the one")
    s.ctl_ok("start", "good", "once", "--settle", "10ms")
    s.ctl_ok("restart", "app/good", "--settle", "10ms")
    equal(s.ctl("start", "bad", "--settle", "0").code, 0, "without settling")


@test("apply waits for what it starts and removes, and tells what dies at once")
def apply_waits(box):
    s = box.supd({"old": {"command": ["sh", "-c", "trap 'exec sleep 0.2' TERM; sleep 1000"]},
                  "web": {"command": LONG}})
    s.wait_for("web", state="running")
    pid = s.wait_for("old", state="running")["pid"]
    s.write({"web": {"command": LONG, "environment": {"A": "1"}},
             "new": {"command": LONG, "ready": {"after": "200ms"}}})
    s.ctl_ok("apply", "--settle", "300ms")
    check(not alive(pid), "what was removed is there")
    equal(states(s), {"/user": "running", "/user/web": "running", "/user/new": "running"},
          "the states")
    check(s.actor("new")["ready"], "the new one is not ready")
    s.write({"web": {"command": SHORT, **SLOWLY}, "new": {"command": LONG}})
    result = s.ctl("apply", "--settle", "1h")
    equal(result.code, 1, f"{result}; status")
    has(result.err, r"apply /user/web: it did not live for 1h: exited with 3\n  \| a word\n$", "web")


@test("what is done is not run again when its keys change, unless that is asked for")
def not_again(box):
    def tree(value, **more):
        return {"job": {"command": ["true"], "restart": "transient",
                        "environment": {"A": value}, **more},
                "down": {"command": LONG, "environment": {"A": value}},
                "off": {"command": LONG, "enabled": False, "environment": {"A": value}}}

    def effects():
        return {c["path"]: c["effect"] for c in s.json("diff") if c["effect"] != "none"}
    s = box.supd(tree("1"))
    s.wait_for("job", state="done")
    s.ctl_ok("stop", "down")
    s.write(tree("2"))
    equal(effects(), {"/user/job": "later", "/user/down": "start", "/user/off": "later"},
          "the effects")
    values = [c["values"] for c in s.json("diff") if c["path"] == "/user/job"]
    equal(values, [[{"key": "environment.A", "old": '"1"', "new": '"2"'}]], "the values")
    s.ctl_ok("apply", "--settle", "10ms")
    equal((s.actor("job")["generation"], s.actor("job")["state"]), (1, "done"), "the job")
    equal(states(s), {"/user": "running", "/user/job": "done", "/user/down": "running",
                      "/user/off": "stopped"}, "the states")
    s.ctl_ok("start", "job")
    equal(s.actor("job")["generation"], 2, "the job, started by hand")
    s.wait_for("job", state="done")
    s.write(tree("3"))
    s.ctl_ok("apply", "--rerun", "--settle", "10ms")
    s.wait_for("job", state="done", generation=3)
    s.write(tree("4", restart="permanent", backoff={"min": "1h", "max": "1h"}))
    s.ctl_ok("apply")
    s.wait_for("job", generation=4)


@test("another file is applied this once: supd's own is what comes back")
def another_file(box):
    s = box.supd({"a": {"command": LONG}})
    s.wait_for("a", state="running")
    other = os.path.join(s.dir, "other.yaml")
    with open(s.file, encoding="utf-8") as own, open(other, "w", encoding="utf-8") as file:
        file.write(own.read().replace('"a"', '"b"', 1))
    has(s.ctl_ok("diff", other).out, "will be added +/user/b", "diff")
    s.ctl_ok("apply", other, "--settle", "10ms")
    equal(set(states(s)), {"/user", "/user/b"}, "the actors of the other file")
    equal(s.ctl("diff", "-e").code, 3, "its own file differs")
    s.ctl_ok("apply", "--settle", "10ms")
    equal(set(states(s)), {"/user", "/user/a"}, "the actors of its own file")
    result = s.ctl("apply", other + ".none")
    equal(result.code, 1, "no such file")
    has(result.err, "other.yaml.none", "its name")


if __name__ == "__main__":
    main()
