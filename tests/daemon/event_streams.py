#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Events and death watch: nothing missing, nothing twice, no reader can hurt."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, SUPCTL, Skip, alive, check, equal, has, main, test
from varlink import Closed, Varlink, VarlinkError

RFC3339_US = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$"


@test("every event has its common fields, gapless numbers and the fields of its kind")
def fields(box):
    s = box.supd({"a": {"backoff": {"min": "10ms"}}, "b": {"do": ["ignore"],
                                                           "shutdown": "50ms"}})
    s.started("b")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.ctl_ok("stop", "b")
    s.stop()
    for number, event in enumerate(s.events):
        equal(event["seq"], s.events[0]["seq"] + number, "the number")
        has(event["time"], RFC3339_US, "the time")
        check(isinstance(event["mono"], int) and event["mono"] > 10**9, "mono")
        if event["event"] not in ("supd", "applied"):
            check({"path", "incarnation", "generation"} <= set(event), f"fields of {event}")
    monos = [event["mono"] for event in s.events]
    equal(monos, sorted(monos), "the order of times")
    wanted = {"started": {"pid"}, "exited": {"cause", "utime_us", "stime_us"},
              "failure": {"cause", "origin", "directive", "rule", "strategy", "scope",
                          "window", "delay_ms"}, "backoff": {"delay_ms"},
              "killed_after_timeout": set(), "stopping": set(), "stopped": set(),
              "command": {"verb", "uid", "pid"}, "terminated": {"existence_confirmed"}}
    for kind, keys in wanted.items():
        seen = [event for event in s.events if event["event"] == kind
                and (kind != "started" or event["path"] in ("/user/a", "/user/b"))]
        check(seen, f"no {kind} event")
        for event in seen:
            flat = set(event) | set(event.get("rusage", {}))
            check(keys <= flat, f"{kind} lacks {keys - flat}: {event}")
            if kind == "command" and not INSTRUMENTED:
                equal(event["program"], "supctl", "the program that gave the command")


@test("an end tells the memory of a program, and not that of supd before it was executed")
def memory(box):
    if INSTRUMENTED:
        raise Skip("supd is of another size with sanitizers")
    hungry = "x = bytearray(64 << 20); raise SystemExit(1)"
    s = box.supd({"small": {"command": ["/bin/false"], "restart": "never"},
                  "large": {"command": [sys.executable, "-c", hungry], "restart": "never"}})
    small, large = s.event("exited", "small"), s.event("exited", "large")
    check("maxrss_kib" not in small, small)
    check(large["maxrss_kib"] > 64 << 10, large)
    text = s.ctl_ok("events", "--type", "exited").out
    has(text, r"(?m)/user/small +exited +exited with 1; cpu [\dm.s]+$", "without")
    has(text, r"(?m)/user/large +exited +exited with 1; cpu [\dm.s]+, memory [\d.]+M$", "with")


@test("the first event is number 1, and a follower gets old and new without a seam")
def seam(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.event("started", "a", 2)
    equal(s.events[0]["seq"], 1, "the first number")
    late = Varlink(s.socket)
    late.send("Events", {"since": 3, "follow": True}, more=True)
    s.tell("a", "exit=1")
    s.event("started", "a", 3)
    last = s.last_seq()
    got = []
    while not got or got[-1]["seq"] < last:
        got.append(late.result()["event"])
    equal(got, s.events[3:3 + len(got)], "what the late follower got")


@test("without follow the ring is replayed and the stream ends")
def replay(box):
    s = box.supd({"a": {}})
    s.event("started", "a")
    events = [reply["event"] for reply in Varlink(s.socket).stream("Events", {"since": 0})]
    equal([event["seq"] for event in events], list(range(1, len(events) + 1)), "numbers")
    lines = s.ctl_ok("-o", "json", "events").out.splitlines()
    equal([json.loads(line) for line in lines][:len(events)], events, "supctl events -o json")
    text = s.ctl_ok("events").out
    has(text, "(?m)^.*started.*/user/a|^.*/user/a.*started", "supctl events")


@test("a pattern picks the paths")
def pattern(box):
    s = box.supd({"app": {"children": {"a": {}, "b": {}}}, "c": {}})
    s.event("started", "c")
    paths = {reply["event"]["path"] for reply in Varlink(s.socket).stream(
        "Events", {"pattern": "/user/app/*"})}
    equal(paths, {"/user/app/a", "/user/app/b"}, "the paths")


@test("supctl events -f -o json prints an object a line as things happen")
def follow(box):
    s = box.supd({"a": {}})
    s.started("a")
    reader = box.popen(SUPCTL, "-s", s.socket, "-o", "json", "events", "-f",
                       stdout=subprocess.PIPE)
    s.tell("a", "exit=5")
    for line in reader.stdout:
        event = json.loads(line)
        if event["event"] == "failure":
            equal(event["cause"]["code"], 5, "the code")
            break


@test("a reader that does not read gets SlowConsumer; supd's memory stays flat", timeout=120)
def slow(box):
    s = box.supd({"a": {"children": {"w": {"command": ["/bin/true"], "backoff": "none",
                                           "replicas": 300}},
                        "start": "parallel", "intensity": "unlimited", "enabled": False},
                  "b": {}})
    sleepers = [Varlink(s.socket, receive_buffer=4096) for _ in range(5)]
    for sleeper in sleepers:
        sleeper.send("Events", {"since": 0, "follow": True}, more=True)
    s.call("Start", names=["/user/a"], wait=False)
    s.event("exited", None, 1500, timeout=40)
    before = s.memory_kib()
    # The ring is full of what the sleepers have not read.
    s.event("exited", None, 7500, timeout=80)
    check(INSTRUMENTED or s.memory_kib() - before < 8192, f"memory: {before}, then {s.memory_kib()} KiB")
    s.call("Stop", names=["/user/a"])
    s.started("b")
    s.tell("b", "exit=1")
    s.started("b", 2)
    for sleeper in sleepers:
        last = None
        try:
            while True:
                last = sleeper.receive()
                if "error" in last:
                    break
        except Closed:
            pass
        equal(last.get("error"), "io.supd.Control.SlowConsumer", "the last reply")
        check(last["parameters"]["dropped"] > 0, "nothing was dropped?")


def watch(s, *names):
    """A watch that is known to be registered: later connections were served after it."""
    client = Varlink(s.socket)
    client.send("Watch", {"names": list(names)}, more=True)
    for _ in range(3):
        with Varlink(s.socket) as other:
            other.call("Ping")
    return client


def terminated(client):
    """The only reply to a watch of one name, which ends the stream."""
    reply = client.receive()
    check("error" not in reply, lambda: f"error {reply}")
    check(not reply.get("continues"), "the stream goes on")
    return reply["parameters"]


@test("a watch tells of a final end exactly once, and never of a restart")
def watched(box):
    s = box.supd({"a": {}})
    s.started("a")
    watchers = [watch(s, "/user/a") for _ in range(3)]
    for count in (1, 2):
        s.tell("a", "exit=1")
        s.started("a", count + 1)
    for watcher in watchers:
        equal(watcher.available(), [], "replies before the end")
    s.ctl_ok("stop", "a")
    for watcher in watchers:
        end = terminated(watcher)
        equal((end["path"], end["existence_confirmed"], end["state"]),
              ("/user/a", True, "stopped"), "the reply")


@test("an actor that fails for good is terminated with its cause")
def failed(box):
    s = box.supd({"a": {}, "t": {"restart": "temporary"}}, decider="stopping")
    s.started("t")
    watchers = [watch(s, "/user/a"), watch(s, "/user/t")]
    for watcher, name, code in zip(watchers, "at", (7, 8)):
        s.tell(name, f"exit={code}")
        end = terminated(watcher)
        equal((end["cause"]["kind"], end["cause"]["code"]), ("exit", code), f"{name}'s cause")


@test("a watch that is read together with the end of its actor tells of that end")
def together(box):
    names = [f"a{n}" for n in range(10)]
    s = box.supd({name: {} for name in names}, decider="stopping")
    s.started(names[-1])
    watchers = [Varlink(s.socket) for _ in names]
    for watcher in watchers:
        watcher.call("Ping")
    pids = [s.actor(name)["pid"] for name in names]
    guardian = s.guardian()
    for watcher, name, pid in zip(watchers, names, pids):
        os.kill(guardian, signal.SIGSTOP)
        try:
            watcher.send("Watch", {"names": ["/user/" + name]}, more=True)
            os.kill(pid, signal.SIGKILL)
            s.until(lambda pid=pid: not alive(pid), "the end")
        finally:
            os.kill(guardian, signal.SIGCONT)
        equal(terminated(watcher)["path"], "/user/" + name, "what is terminated")


@test("the dead and the unknown are terminated at once, not confirmed")
def unconfirmed(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.ctl_ok("stop", "a")
    for name in ("/user/a", "/user/nobody"):
        end = terminated(watch(s, name))
        equal((end["path"], end["existence_confirmed"]), (name, False), "the reply")


@test("one watch of several names has exactly one reply for each")
def several(box):
    s = box.supd({"a": {}, "b": {}})
    s.started("b")
    watcher = watch(s, "/user/a", "/user/b", "/user/nobody")
    s.ctl_ok("stop", "b")
    s.ctl_ok("stop", "a")
    replies = [watcher.receive() for _ in range(3)]
    equal([reply["parameters"]["path"] for reply in replies],
          ["/user/nobody", "/user/b", "/user/a"], "the order")
    equal([bool(reply.get("continues")) for reply in replies], [True, True, False], "continues")


@test("children are terminated before their supervisor")
def subtree(box):
    s = box.supd({"sup": {"children": {"a": {}, "b": {}}}})
    s.started("b")
    watcher = watch(s, "/user/sup", "/user/sup/a", "/user/sup/b")
    s.ctl_ok("stop", "sup")
    paths = [watcher.receive()["parameters"]["path"] for _ in range(3)]
    equal(paths, ["/user/sup/b", "/user/sup/a", "/user/sup"], "the order")


@test("supctl watch prints one line for each name and exits 0")
def supctl_watch(box):
    s = box.supd({"a": {}})
    s.started("a")
    result = s.ctl("watch", "/user/nobody")
    equal(result.code, 0, f"exit status ({result})")
    has(result.out, r"/user/nobody", "the line")
    s.ctl_ok("stop", "a")
    objects = [json.loads(line) for line in s.ctl_ok(
        "-o", "json", "watch", "a", "/user/nobody").out.splitlines()]
    equal(sorted(one["path"] for one in objects), ["/user/a", "/user/nobody"], "the paths")


@test("watchers hear of the end of their actor when supd is shut down")
def at_shutdown(box):
    s = box.supd({"a": {}, "b": {}})
    s.started("b")
    watcher = watch(s, "/user/a", "/user/b")
    s.stop()
    paths = []
    try:
        while True:
            paths.append(watcher.receive()["parameters"]["path"])
    except (Closed, VarlinkError):
        pass
    equal(paths, ["/user/b", "/user/a"], "the order")


if __name__ == "__main__":
    main()
