#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`ready: fd` and `ready: log`: processes that say that they are ready without sd_notify."""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fuse import Fuse
from harness import PROBE, SUPD, check, equal, has, main, run, test


def check_file(box, **actor):
    text = json.dumps({"children": {"a": {"command": ["/bin/true"], **actor}}})
    return run(SUPD, "--check", "-c", box.file("supd.yaml", text))


def waiter(box, name, *then):
    """A shell that goes on with each of `then` when a line is written to its fifo."""
    os.mkfifo(box.path(f"go.{name}"))
    steps = "\n".join(f"read x <&9; {step}" for step in then)
    return ["/bin/sh", "-c", f"exec 9<>{box.path(f'go.{name}')}\n{steps}\nread x <&9"]


def go(box, name):
    with open(box.path(f"go.{name}"), "w", encoding="utf8") as out:
        out.write("go\n")


def die(s):
    old = s.guardian()
    os.kill(old, signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("status", "/user").out and s.guardian() != old, "another guardian")


@test("ready: fd: a newline on the descriptor that it was given, and not what comes before it")
def newline(box):
    s = box.supd({"a": {"ready": {"fd": 3}, "command": waiter(
        box, "a", "printf starting >&3", "printf 'up\\n' >&3", "echo more >&3; exec 3>&-")},
                  "b": {}}, wait=False)
    s.event("started", "a")
    s.wait_for("a", state="starting")
    go(box, "a")
    s.wait_for("a", state="starting", ready=False)
    equal(s.counts["S", "b"], 0, "starts of the next one")
    go(box, "a")
    s.wait_for("a", state="running", ready=True)
    s.started("b")
    go(box, "a")
    pid = s.actor("a")["pid"]
    s.until(lambda: not os.path.exists(f"/proc/{pid}/fd/3"), "it to close the descriptor")
    equal(s.actor("a")["state"], "running", "its state")
    equal(len(s.seen("ready", "a")), 1, "ready events")


@test("ready: fd: a process that closes the descriptor and goes on is ready; its end is not that")
def closing(box):
    s = box.supd({"a": {"ready": {"fd": 3}, "command": waiter(box, "a", "exec 3>&-")},
                  "b": {"ready": {"fd": 3}, "command": ["/bin/true"],
                        "on_failure": [{"when": "early_exit", "then": "stop"}]}},
                 start="parallel", wait=False)
    failure = s.event("failure", "b")
    equal(failure["cause"]["kind"], "early_exit", "the cause")
    equal(s.seen("ready", "b"), [], "ready events of the one that ended")
    s.wait_for("a", state="starting")
    go(box, "a")
    s.wait_for("a", state="running", ready=True)


@test("ready: fd: an actor that never says so has start_timeout, 90 s by default")
def late(box):
    s = box.supd({"a": {"ready": {"fd": 3}, "start_timeout": "300ms", "command": waiter(box, "a"),
                        "on_failure": [{"when": "start_timeout", "then": "stop"}]}})
    failure = s.event("failure", "a")
    equal(failure["cause"]["kind"], "start_timeout", "the cause")
    keys = json.loads(s.ctl_ok("-o", "json", "cat", "a").out)["spec"]
    equal(keys["ready"]["fd"], 3, "ready.fd")
    s.write({"a": {"ready": {"fd": 3}, "command": ["/bin/true"], "enabled": False}})
    s.ctl_ok("apply")
    has(s.ctl_ok("cat", "a").out, "start_timeout.*1m30s", "the default")


@test("ready: fd: the descriptor comes behind the sockets, or further up; nothing else is open")
def places(box):
    probe = {"ready": {"fd": 4}, "do": ["report"], "sockets": {"web": f"unix:{box.path('web')}"}}
    s = box.supd({"a": probe, "b": {"ready": {"fd": 7}, "do": ["report"]}}, start="parallel",
                 wait=False)
    for name, fds in (("a", {3, 4}), ("b", {7})):
        pid = s.line("R", name).pid
        with open(box.path(f"report.{name}.{pid}/fds"), encoding="utf8") as text:
            given = {int(line.split()[0]) for line in text
                     if "pipe:" in line or "socket:" in line} & {3, 4, 5, 6, 7}
        equal(given, fds, f"what {name} was given")
    with open(box.path(f"report.a.{s.pids['a']}/environ"), encoding="utf8") as text:
        check("LISTEN_FDS=1\0" in text.read(), "LISTEN_FDS")


@test("ready: fd: what is written while there is no guardian is heard")
def crashes(box):
    s = box.supd({"a": {"ready": {"fd": 3}, "command": waiter(box, "a", "echo >&3; exec 3>&-")},
                  "b": {"ready": {"fd": 3}, "command": waiter(box, "b", "exec 3>&-")}},
                 start="parallel", wait=False)
    for name in "ab":
        s.event("started", name)
    s.wait_for("b", state="starting")
    pids = [s.actor(name)["pid"] for name in "ab"]
    die(s)
    equal([s.actor(name)["state"] for name in "ab"], ["starting"] * 2, "the states")
    guardian = s.guardian()
    os.kill(guardian, signal.SIGSTOP)
    for name, pid in zip("ab", pids):
        go(box, name)
        s.until(lambda pid=pid: not os.path.exists(f"/proc/{pid}/fd/3"), "it to be closed")
    os.kill(guardian, signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("status", "/user").out, "another guardian")
    for name, pid in zip("ab", pids):
        equal(s.wait_for(name, state="running", ready=True)["pid"], pid, "its pid")
    die(s)
    equal([s.actor(name)["ready"] for name in "ab"], [True] * 2, "ready")


@test("ready: fd: each process has a pipe of its own; READY=1 is not what it waits for")
def again(box):
    s = box.supd({"a": {"ready": {"fd": 3}, "notify": True, "do": ["ready"]}}, wait=False)
    first = s.started("a")
    s.line("r", "a")
    s.wait_for("a", state="starting", ready=False)
    with open(f"/proc/{first}/fd/3", "w", encoding="utf8") as out:
        out.write("\n")
    s.wait_for("a", state="running")
    s.tell("a", "exit=1")
    second = s.started("a", 2)
    s.wait_for("a", state="starting", ready=False)
    with open(f"/proc/{second}/fd/3", "w", encoding="utf8") as out:
        out.write("\n")
    s.wait_for("a", state="running", ready=True)


@test("ready: fd: what cannot be is an error")
def wrong(box):
    for ready, more, text in (
            ({"fd": 2}, {}, "write a number from 3 to 200"),
            ({"fd": 3}, {"sockets": {"a": "tcp:127.0.0.1:0", "b": "tcp:127.0.0.1:0"}},
             "descriptor 3 is one of its sockets; the first that is free is 5"),
            ({"fd": 4}, {"fd_store": 1}, "this descriptor has to be 3"),
            ({"fd": 3, "interval": "1s"}, {}, "with `fd` there are none"),
            ({"fd": 3, "after": "1s"}, {}, "both `after` and `fd`")):
        result = check_file(box, ready=ready, **more)
        equal(result.code, 78, f"{ready}: {result}; status")
        has(result.err, text, f"{ready}")


def logger(s):
    return s.actor("/system/log")["pid"]


@test("ready: log: a whole line that matches, of whichever stream, of this process")
def line(box):
    steps = ["printf 'not listening on 80\\nlistening on 80, or so\\nlistening on ' >&2",
             "printf '80\\n' >&2", "exit 1"]
    s = box.supd({"a": {"ready": {"log": "^listening on [0-9]+$"}, "output": {
        "stdout": "null", "stderr": "log"}, "command": waiter(box, "a", *steps)}, "b": {}},
                 wait=False)
    s.event("started", "a")
    for n in (1, 2):
        go(box, "a")
        s.until(lambda n=n: s.ctl("logs", "a").out.count("or so") == n, "the lines to be taken")
        equal(s.actor("a")["state"], "starting", "its state")
        go(box, "a")
        s.wait_for("a", state="running", ready=True, generation=n)
        s.started("b")
        go(box, "a")
        s.event("started", "a", n + 1)


@test("ready: log: in every form of a log, and for stdout and stderr as one")
def forms(box):
    logs = {"plain": {"timestamps": False}, "json": {"format": "json"}, "text": {}}
    s = box.supd({name: {"ready": {"log": "up"}, "log": log} for name, log in logs.items()},
                 start="parallel", wait=False)
    for name in logs:
        s.started(name)
        s.tell(name, "say=it is up now\n")
    for name in logs:
        s.wait_for(name, state="running", ready=True)


@test("ready: log: an actor that prints its line at once, again and again")
def at_once(box):
    s = box.supd({f"a{i}": {"ready": {"log": "ready"}, "command": [
        "/bin/sh", "-c", "echo ready; exec sleep 1000"]} for i in range(10)}, start="parallel")
    for i in range(10):
        equal(s.actor(f"a{i}")["ready"], True, "ready")
    for n in range(2, 7):
        s.ctl_ok("restart", "a0")
        equal(s.wait_for("a0", state="running")["generation"], n, "generation")


@test("ready: log: a line that is written without a guardian, or without a log process, is found")
def log_crashes(box):
    s = box.supd({name: {"ready": {"log": "^up$"}} for name in "abc"}, start="parallel",
                 wait=False)
    for name in "abc":
        s.started(name)
        s.tell(name, "say=soon\n")
    die(s)
    s.tell("a", "say=up\n")
    s.wait_for("a", state="running", ready=True)
    pid = logger(s)
    os.kill(pid, signal.SIGSTOP)
    s.tell("b", "say=up\n")
    os.kill(pid, signal.SIGKILL)
    s.wait_for("b", state="running", ready=True)
    guardian, pid = s.guardian(), logger(s)
    os.kill(guardian, signal.SIGSTOP)
    s.tell("c", "say=up\n")
    s.until(lambda: "up" in open(box.path("logs/user/c.log"), encoding="utf8").read(),
            "the line to be logged")
    os.kill(pid, signal.SIGKILL)
    os.kill(guardian, signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("status", "/user").out, "another guardian")
    s.wait_for("c", state="running", ready=True)
    equal([s.counts["S", name] for name in "abc"], [1] * 3, "starts")


@test("ready: after counts from when the program was executed, not from when that was asked for",
      root=True)
def after_exec(box):
    # For so short a time supd waits for the program and does nothing else.
    fuse = Fuse(box, "open", content=PROBE, delay_us=1500)
    s = box.supd({"a": {"binary": fuse.path(), "user": "nobody", "ready": {"after": "10ms"}}}, wait=False)
    for n in range(1, 31):
        opened = int(fuse.until("late open", n).split()[2])
        lasted = s.event("ready", "a", n)["mono"] - opened
        check(lasted >= 10e6, f"start {n}: ready after {lasted / 1e6} ms")
        s.ctl_ok("restart", "--no-wait", "a")


@test("ready: log: what cannot be is an error")
def wrong_log(box):
    for ready, more, text in (
            ({"log": "^(a"}, {}, "`\\^\\(a` is no regular expression: "),
            ({"log": "(a)\\1"}, {}, "back-reference"),
            ({"log": "x{100}{100}"}, {}, "too many repetitions"),
            ({"log": "x" * 501}, {}, "at most 500 bytes"),
            ({"log": "up"}, {"output": "null"}, "supd does not see what this actor prints"),
            ({"log": "up"}, {"output": "file:/tmp/x"}, "supd does not see what this actor prints"),
            ({"log": "up", "timeout": "1s"}, {}, "with `log` there are none")):
        result = check_file(box, ready=ready, **more)
        equal(result.code, 78, f"{ready}: {result}; status")
        has(result.err, text, f"{ready}")
    equal(check_file(box, ready={"log": "up"}, output="journal").code, 0, "the journal")


if __name__ == "__main__":
    main()
