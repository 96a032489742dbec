#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl: exit codes, output, and messages where no supd runs."""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, SUPCTL, Skip, check, equal, has, main, run, test

FIELDS = {  # of an actor: the types that its value may have
    "path": (str,), "kind": (str,), "state": (str,), "pid": (int, None),
    "incarnation": (int,), "generation": (int,), "ready": (bool,), "held": (bool,),
    "suspended": (int,), "sigstopped": (bool,), "since": (str,), "uptime_ms": (int, None),
    "restarts": (int,), "window": (int,), "backoff": (dict, None),
    "last_failure": (dict, None), "strategy": (str, None), "restart": (str,),
    "description": (str, None), "dead_letters": (int,), "degraded": (bool,), "health": (str, None),
    "healthy": (bool,), "limit": (int, None), "within_ms": (int, None), "status": (str, None),
}
RFC3339_MS = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$"


def fits(value, types):
    return any(value is None if kind is None else type(value) is kind for kind in types)


def several(box):
    """A tree with one actor in most of the states."""
    s = box.supd({"run": {"description": "runs well"},
                  "sup": {"strategy": "rest_for_one", "children": {"in": {}}},
                  "done": {"restart": "transient", "do": ["exit=0"]},
                  "failed": {"command": ["/nonexistent/x"]},
                  "backoff": {"do": ["exit=3"], "backoff": {"min": "1h", "max": "1h"}},
                  "off": {"enabled": False}})
    for name in ("done", "failed", "backoff"):
        s.wait_for(name, state=name)
    return s


@test("113 status -o json has every field, typed, in start order, for every state (O-04)")
def fields(box):
    s = several(box)
    actors = s.json("status")
    equal([actor["path"] for actor in actors],
          ["/user", "/user/run", "/user/sup", "/user/sup/in", "/user/done", "/user/failed",
           "/user/backoff", "/user/off"], "the order")
    for actor in actors:
        for field, types in FIELDS.items():
            check(field in actor, f"{actor['path']} lacks {field}")
            check(fits(actor[field], types), f"{actor['path']}: {field} is {actor[field]!r}")
        has(actor["since"], RFC3339_MS, "since")
    by = {actor["path"].rpartition("/")[2]: actor for actor in actors}
    equal([by[name]["state"] for name in ("user", "run", "sup", "done", "failed", "backoff",
                                          "off")],
          ["running", "running", "running", "done", "failed", "backoff", "stopped"], "states")
    equal([by[name]["kind"] for name in ("user", "run")], ["supervisor", "worker"], "kinds")
    equal([by[name]["strategy"] for name in ("user", "run", "sup")],
          ["one_for_one", None, "rest_for_one"], "strategies")
    equal((by["run"]["description"], by["run"]["incarnation"]), ("runs well", 1), "run")
    check(by["run"]["uptime_ms"] >= 0 and by["off"]["uptime_ms"] is None, "uptimes")
    equal(by["failed"]["pid"], None, "the pid of failed")
    failure = by["backoff"]["last_failure"]
    equal(sorted(failure), ["at", "cause", "directive", "origin", "rule"], "a failure's fields")
    equal((failure["cause"]["kind"], failure["cause"]["code"], failure["origin"]),
          ("exit", 3, "/user/backoff"), "the failure")
    equal(sorted(by["backoff"]["backoff"]), ["delay_ms", "due_in_ms", "failures"], "backoff")


@test("the block of an actor has its command, file and line, sockets, health and log")
def details(box):
    s = box.supd({"run": {"health": {"exec": ["true"], "interval": "50ms"},
                          "sockets": {"s": f"unix:{box.path('s')}"}}, "sup": {"children": {}}})
    s.started("run")
    result = s.call("Status", names=["run"], details=True)["actors"][0]["details"]
    equal(sorted(result), ["command", "file", "line", "log", "sockets"], "details")
    equal(result["sockets"], [{"name": "s", "address": f"unix:{box.path('s')}"}], "the sockets")
    with open(result["file"], encoding="utf8") as file:
        has(file.read().splitlines()[result["line"] - 1], "command", "the line of the file")
    out = s.ctl_ok("status", "run").out
    for label, text in (("command", result["command"][0]), ("file", f"{result['file']}:"),
                        ("sockets", "s unix:"), ("health", "good"), ("log", result["log"])):
        has(out, rf"(?m)^ *{label}  {re.escape(text)}", label)
    sup = s.call("Status", names=["sup"], details=True)["actors"][0]["details"]
    equal((sup["command"], sup["log"], sup["sockets"]), (None, None, []), "of a supervisor")
    equal(s.actor("run")["details"], None, "without being asked for")


@test("status as text has an aligned line an actor, with a name a block")
def text(box):
    s = several(box)
    result = s.ctl("status")
    equal(result.code, 0, "exit status of status without a name")
    for name, state in (("run", "running"), ("failed", "failed"), ("off", "stopped")):
        has(result.out, rf"(?m)^\s*(\S+ )?/?\S*{name}\s.*{state}|{name}.*{state}", "status")
    check("\x1b" not in result.out, "colours without a terminal")
    has(s.ctl("status", "run").out, "runs well", "the block")
    has(s.ctl("status", "failed").out, "(?i)no such file", "the block of failed")


@test("tree shows the actors, nested, with strategies and states; --dot is for Graphviz")
def tree(box):
    s = several(box)
    out = s.ctl_ok("tree").out
    for word in ("user", "one_for_one", "sup", "rest_for_one", "in", "failed"):
        has(out, word, "the tree")
    lines = out.splitlines()
    where = {name: next(i for i, line in enumerate(lines) if re.search(rf"\b{name}\b", line))
             for name in ("run", "sup", "in", "off")}
    check(where["run"] < where["sup"] < where["in"] < where["off"], f"the order: {out}")
    dot = s.ctl_ok("tree", "--dot").out
    has(dot, r"(?s)^\s*digraph.*\{.*->.*\}\s*$", "--dot")
    check(not re.search(r"\brun\b", s.ctl_ok("tree", "sup").out), "tree PATH shows more than the subtree")


@test("0: done; 1: failed, with a line for each target; 2: usage")
def done_failed_usage(box):
    s = several(box)
    equal(s.ctl("restart", "run", "sup").code, 0, "restart")
    result = s.ctl("start", "failed", "off")
    equal(result.code, 1, "start, of which one fails")
    has(result.err, "(?m)^.*failed.*$", "stderr")
    equal(s.actor("off")["state"], "running", "the other target")
    for args in (("frobnicate",), ("start",), ("stop", "--frob", "run"), ("signal", "run"),
                 ("--timeout", "5", "status"), ("-o", "xml", "status"),
                 ("wait", "run", "--for", "godot")):
        equal(s.ctl(*args).code, 2, f"supctl {' '.join(args)}")


@test("3: not running; is-active, is-failed and is-ready are silent")
def not_running(box):
    s = several(box)
    for verb, name, code in (("is-active", "run", 0), ("is-active", "off", 3),
                             ("is-active", "failed", 3), ("is-failed", "failed", 0),
                             ("is-failed", "run", 3), ("is-ready", "run", 0),
                             ("is-ready", "off", 3), ("is-active", "nobody", 4),
                             ("is-failed", "nobody", 4), ("is-ready", "nobody", 4)):
        result = s.ctl(verb, name)
        equal((result.code, result.out), (code, ""), f"{verb} {name}")
    equal(s.ctl("status", "off").code, 3, "status of what does not run")
    equal(s.ctl("status", "run", "off").code, 3, "status of two, of which one does not run")
    equal(s.ctl("status", "run").code, 0, "status of what runs")


@test("4: no such actor; an ambiguous name shows its candidates")
def unknown(box):
    s = box.supd({"x": {"children": {"api": {}}}, "y": {"children": {"api": {}}}})
    s.started("api", 2)
    for args in (("status", "nobody"), ("stop", "nobody"), ("status", "no*"),
                 ("restart", "no*"), ("explain", "nobody"), ("pid", "nobody")):
        result = s.ctl(*args)
        equal(result.code, 4, f"supctl {' '.join(args)} ({result})")
    result = s.ctl("stop", "api")
    equal(result.code, 4, "an ambiguous name")
    has(result.err, "(?s)/user/x/api.*/user/y/api", "stderr")
    equal([s.actor(f"{sup}/api")["state"] for sup in "xy"], ["running"] * 2, "the states")


@test("5: permission denied", root=True)
def denied(box):
    s = box.supd({"a": {}}, control={"mode": "0666"})
    s.started("a")

    def nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    result = s.ctl("restart", "a", preexec_fn=nobody)
    equal(result.code, 5, f"exit status ({result})")
    has(result.err, "(?i)permission", "stderr")


@test("124: timed out")
def timed_out(box):
    s = box.supd({"a": {"do": ["ignore"], "shutdown": "5s"}})
    s.started("a")
    equal(s.ctl("--timeout", "200ms", "stop", "a").code, 124, "stop")
    s.signal(3)
    s.ended(0)


@test("without a supd supctl says which socket it tried and how to start one")
def no_supd(box):
    path = box.path("nowhere.sock")
    for args, code in ((("status",), 4), (("is-active", "a"), 4), (("start", "a"), 1),
                       (("shutdown",), 1)):
        result = run(SUPCTL, "-s", path, *args)
        equal(result.code, code, f"supctl {' '.join(args)} ({result})")
        if args[0] != "is-active":
            has(result.err, re.escape(path), "stderr")
            has(result.err, r"supd -c|systemctl start", "stderr")
    env = {**os.environ, "SUPD_SOCKET": path}
    has(run(SUPCTL, "status", env=env).err, re.escape(path), "stderr with SUPD_SOCKET")


@test("pid, ping and version")
def small(box):
    s = box.supd({"a": {}, "off": {"enabled": False}})
    equal(s.ctl_ok("pid", "a").out, f"{s.started('a')}\n", "pid")
    check(s.ctl("pid", "off").code != 0, "pid of what has none")
    s.ctl_ok("ping")
    has(s.ctl_ok("version").out, r"\d+\.\d+", "version")
    reply = s.call("Ping")
    equal(reply["walker_pid"], s.pid, "Ping's walker_pid")
    check(reply["uptime_ms"] >= 0, "Ping's uptime")
    has(run(SUPCTL, "-h").out, "status.*", "-h")
    for option in ("-h", "--help", "--version"):
        equal(run(SUPCTL, option).code, 0, option)


@test("status of 1,000 actors takes no system call for each of them")
def calls(box):
    if INSTRUMENTED:
        raise Skip("a sanitizer has calls of its own")
    if not shutil.which("strace") or run("strace", "-o", "/dev/null", "true").code != 0:
        raise Skip("strace cannot trace")
    s = box.supd({f"a{i}": {"enabled": False} for i in range(1000)})
    told = os.path.join(box.dir, "calls")
    out = run("strace", "-o", told, SUPCTL, "-s", s.socket, "status").out
    equal(len(out.splitlines()), 1002, "a header and a line for each actor")
    with open(told, encoding="utf-8", errors="replace") as file:
        names = [line.partition("(")[0] for line in file]
    connected = names.index("connect")
    # About 30, of which 11 read 64 KiB each; the rest waits until there is more.
    check(len(names) - connected <= 100, f"{len(names) - connected} calls once connected")


@test("the aliases of supervisorctl do the same")
def aliases(box):
    s = box.supd({"a": {}})
    s.started("a")
    for alias in ("list", "ls"):
        has(s.ctl_ok(alias).out, "a", alias)
    for alias in ("reset-failed", "clear"):
        s.ctl_ok(alias, "a")
    s.ctl_ok("reread")
    s.ctl_ok("update")
    s.ctl_ok("reload")
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("no colour with NO_COLOR or without a terminal, JSON is always plain")
def plain(box):
    s = box.supd({"a": {}})
    s.started("a")
    for args in (("status",), ("tree",), ("explain", "a"), ("status", "a")):
        out = s.ctl(*args).out
        check("\x1b" not in out, f"escape sequences in {args}")
    json.loads(s.ctl_ok("-o", "json", "tree").out)


if __name__ == "__main__":
    main()
