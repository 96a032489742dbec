#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What is started has to live for a while; what is done is not done again by apply."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import alive, check, equal, has, main, test

SHORT = ["sh", "-c", "echo a word; exit 3"]
LONG = ["sleep", "1000"]
SLOWLY = {"backoff": {"min": "1h", "max": "1h"}, "restart": "transient"}


def events(s):
    return [json.loads(line) for line in s.ctl_ok("-o", "json", "events", "-n", "all").out.splitlines()]


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


@test("a rolling restart takes one actor at a time, leaves those that are down, and ends at a failure")
def rolling(box):
    slow = ["sh", "-c", "trap 'exec sleep 0.1' TERM; sleep 1000 & wait"]
    s = box.supd({"web": {"command": slow, "replicas": 3, "ready": {"after": "50ms"}},
                  "app": {"children": {"down": {"command": LONG}, "up": {"command": LONG},
                                       "off": {"command": LONG, "enabled": False}}},
                  "last": {"command": LONG}})
    for name in ("web@1", "web@2", "web@3", "app/up", "app/down", "last"):
        s.wait_for(name, state="running", ready=True)
    s.ctl_ok("stop", "app/down")
    before = len(events(s))
    answer = s.json("restart", "--rolling", "web", "app", "--settle", "10ms")
    order = ["/user/web@1", "/user/web@2", "/user/web@3", "/user/app/up"]
    equal([(a["path"], a["generation"]) for a in answer], [(path, 2) for path in order], "the answer")
    moves = [(e["path"], e["event"]) for e in events(s)[before:] if e["event"] in ("stopping", "ready")]
    equal(moves, [(path, event) for path in order for event in ("stopping", "ready")], "the moves")
    equal((s.actor("app/down")["state"], s.actor("app/off")["state"]), ("stopped", "stopped"), "those down")
    s.ctl_ok("restart", "--rolling", "app/down", "--settle", "10ms")
    equal(s.actor("app/down")["state"], "running", "an actor that is named is started")
    marker = os.path.join(s.dir, "bad")
    s.write({"a": {"command": LONG},
             "b": {"command": ["sh", "-c", f"test -e {marker} && exit 3; sleep 1000"], **SLOWLY},
             "c": {"command": LONG}, "d": {"command": LONG}})
    s.ctl_ok("apply", "--settle", "10ms")
    with open(marker, "w", encoding="utf-8"):
        pass
    result = s.ctl("restart", "--rolling", "--settle", "1h", "b", "c", "d")
    equal(result.code, 1, f"{result}; status")
    has(result.err, r"/user/b: it did not live for 1h: exited with 3\n", "the failure")
    has(result.err, r"not restarted: /user/c, /user/d\n$", "those that were spared")
    equal([s.actor(name)["generation"] for name in "acd"], [1, 1, 1], "untouched")


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
