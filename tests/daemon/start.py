#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Starts that fail, at boot and later; readiness that comes late, never or too early."""
import os
import resource
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, Skip, alive, check, equal, has, main, now_ns, test

NOWHERE = {"command": ["/nonexistent/program"]}
READY = {"ready": "notify", "do": ["ready"]}  # is surely able to tell how it ends


def kids(names, **common):
    return {name: dict(common) for name in names}


@test("a first start that fails under one_for_all escalates; the later ones are never tried")
def all_escalates(box):
    s = box.supd({"sup": {"strategy": "one_for_all",
                          "children": {"a": READY, "b": READY, "c": NOWHERE, "d": {}}}},
                 decider="escalating", wait=False)
    s.ended(70)
    equal(s.order(), ["S a", "S b", "t b", "x b", "t a", "x a"], "the order")
    check(not any("READY=1" in note for note in s.notes), "READY=1 was sent")


@test("the restart type does not matter for a start that fails at boot")
def temporary(box):
    s = box.supd({"sup": {"strategy": "rest_for_one", "children": {
        "a": READY, "c": {**NOWHERE, "restart": "temporary"}, "d": {}}}},
        decider="escalating", wait=False)
    s.ended(70)
    equal(s.order(), ["S a", "t a", "x a"], "the order")


@test("a first start that fails under one_for_one stops that child; the others come up")
def one_fails(box):
    s = box.supd({"a": {}, "b": {}, "c": NOWHERE, "d": {}})
    s.started("d")
    actor = s.wait_for("c", state="failed")
    cause = actor["last_failure"]["cause"]
    equal((cause["kind"], cause["errno"]), ("exec", "ENOENT"), "the cause")
    has(cause["text"], "(?i)no such file", "the cause's text")
    equal(s.actor("c")["generation"], 0, "no process was started")
    s.until(lambda: any("1 failed" in note for note in s.notes), "STATUS=… 1 failed")


@test("preset otp: a first start that fails escalates under one_for_one too")
def otp(box):
    s = box.supd({"a": READY, "c": NOWHERE, "d": {}}, decider="otp", wait=False)
    s.ended(70)
    equal(s.order(), ["S a", "t a", "x a"], "the order")


@test("errno tells ENOENT, EACCES and ENOEXEC apart")
def errnos(box):
    plain = box.file("plain", "#!/bin/sh\n")
    noexec = box.file("noexec", "just text\n")
    os.chmod(noexec, 0o755)
    s = box.supd({"plain": {"command": [plain]}, "noexec": {"command": [noexec]},
                  "bare": {"command": ["no-such-program"], "environment": {"PATH": "/bin"}},
                  "dir": {"command": ["/bin/true"], "directory": "/nonexistent"}})
    for name, errno in (("plain", "EACCES"), ("noexec", "ENOEXEC"), ("bare", "ENOENT"),
                        ("dir", "ENOENT")):
        cause = s.wait_for(name, state="failed")["last_failure"]["cause"]
        equal((cause["kind"], cause["errno"]), ("exec", errno), f"{name}'s cause")


@test("a directory that is not there is not taken for a program that is not there")
def no_directory(box):
    s = box.supd({"dir": {"command": ["/bin/true"], "directory": "/nonexistent"},
                  "bin": {"command": ["/nonexistent"]}})
    s.wait_for("dir", state="failed")
    s.wait_for("bin", state="failed")
    story = s.ctl_ok("explain", "dir").out
    has(story, "step that failed was chdir", "the story of dir")
    has(story, "Its directory is /nonexistent\\.", "the story of dir")
    story = s.ctl_ok("explain", "bin").out
    check("step" not in story, "the story of bin")
    has(story, "Its program is /nonexistent\\.", "the story of bin")


@test("a command without a slash is looked up in the actor's own PATH at each start")
def own_path(box):
    os.mkdir(box.path("bin"))
    os.symlink(PROBE, box.path("bin/thing"))
    s = box.supd({"a": {"command": ["thing", box.dir, "a"],
                        "environment": {"PATH": box.path("bin")}}})
    s.started("a")
    s.tell("a", "exit=1")
    s.started("a", 2)


@test("a later start that fails is retried until it works; the sibling is not touched")
def retried(box):
    link = box.path("program")
    os.symlink(PROBE, link)
    s = box.supd({"sup": {"I": "9/1h", "children": {
        "a": {"binary": link, "backoff": {"min": "100ms", "max": "400ms", "jitter": 0}},
        "b": {}}}})
    b = s.started("b")
    os.unlink(link)
    s.tell("a", "exit=1")
    s.until(lambda: len([one for one in s.seen("failure", "sup/a")
                         if one["cause"]["kind"] == "exec"]) >= 2, "two failed retries")
    os.symlink(PROBE, link)
    s.started("a", 2)
    s.wait_for("sup/a", state="running")
    check(s.actor("sup")["window"] >= 3, "retries were not counted")
    equal(s.actor("sup/b")["pid"], b, "b's pid")
    for failure in s.seen("failure", "sup/a")[1:]:
        equal((failure["cause"]["kind"], failure["cause"]["errno"]), ("exec", "ENOENT"),
              "the cause of a retry")


@test("89 a stop ends the retries under rest_for_one: the log names the actors that stay down")
def stays_down(box):
    program = box.path("program")
    shutil.copy(PROBE, program)
    os.chmod(program, 0o755)
    s = box.supd({"s": {"strategy": "rest_for_one", "intensity": "unlimited", "children": {
        "c1": {}, "c2": {"binary": program, "backoff": {"min": "100ms", "max": "1h", "factor": 100}},
        "c3": {}}}})
    s.started("c3")
    os.unlink(program)
    s.tell("c2", "exit=1")
    s.event("failure", "s/c2", 2)
    s.wait_for("s/c2", state="backoff")
    equal([s.actor(f"s/{name}")["state"] for name in ("c1", "c3")], ["running", "waiting"],
          "the others")
    s.ctl_ok("stop", "s/c2")
    equal([s.actor(f"s/{name}")["state"] for name in ("c1", "c2", "c3")],
          ["running", "stopped", "stopped"], "the states")
    with open(s.stderr, encoding="utf8") as text:
        lines = [line for line in text if "stays down" in line]
    equal(len(lines), 1, f"warnings {lines}")
    has(lines[0], "warning /user/s/c3: stays down: .*/user/s/c2, which was stopped", "it")
    shutil.copy(PROBE, program)
    os.chmod(program, 0o755)
    s.tell("c1", "exit=1")
    for name, count in (("c1", 2), ("c2", 2), ("c3", 2)):
        s.started(name, count)


@test("a stop cancels the retries of a start that fails; a start after the repair works")
def retry_cancelled(box):
    link = box.path("program")
    os.symlink(PROBE, link)
    s = box.supd({"a": {"binary": link,
                        "backoff": {"min": "100ms", "max": "100ms", "jitter": 0}}})
    s.started("a")
    os.unlink(link)
    s.tell("a", "exit=1")
    s.event("failure", "a", 2)
    s.ctl_ok("stop", "a")
    equal(s.actor("a")["state"], "stopped", "the state")
    result = s.ctl("start", "a")
    equal(result.code, 1, "exit status of a start that fails")
    equal(s.actor("a")["state"], "failed", "the state after a manual start that failed")
    os.symlink(PROBE, link)
    s.ctl_ok("start", "a")
    s.started("a", 2)


def beginning(s):
    """When supd began.  What it starts has its time from a later moment, which is told later still:
    how exact that time is the stories say."""
    return s.event("supd", "/", what="started")["mono"]


@test("an actor that is never ready is killed after start_timeout and tried again")
def never_ready(box):
    s = box.supd({"a": {"ready": "notify", "start_timeout": "1s", "do": ["ignore"],
                        "shutdown": "200ms"}, "b": {}}, wait=False)
    failure = s.event("failure", "a")
    equal(failure["cause"]["kind"], "start_timeout", "the cause")
    s.started("a", 2)
    s.started("b")
    check(s.event("started", "b")["mono"] - beginning(s) >= 999e6, "b was started too early")
    check(failure["mono"] - beginning(s) >= 999e6, "the timeout was cut")
    check(not alive(s.lines("S", "a")[0].pid), "the first process is alive")
    equal(s.seen("ready", "a"), [], "ready events")


@test("an end before READY is early_exit, also for a transient actor that exits 0")
def early_exit(box):
    s = box.supd({"a": {"ready": "notify", "restart": "transient", "do": ["exit=0"],
                        "backoff": {"min": "50ms", "max": "50ms", "jitter": 0}}, "b": {}})
    s.started("a", 2)
    equal(s.event("failure", "a")["cause"]["kind"], "early_exit", "the cause")
    equal(s.event("failure", "a")["directive"], "restart", "the directive")
    s.started("b")


@test("ready: after is ready after that time of life, and an earlier end is early_exit")
def ready_after(box):
    s = box.supd({"a": {"ready": {"after": "1s"}}, "b": {},
                  "c": {"ready": {"after": "10s"}, "do": ["exit=1"]}}, wait=False)
    s.started("b")
    check(s.event("started", "b")["mono"] - beginning(s) >= 999e6, "b was started too early")
    equal(s.event("failure", "c")["cause"]["kind"], "early_exit", "c's cause")


@test("ready: exit is a one-shot: the next one starts when it has ended normally")
def one_shot(box):
    s = box.supd({"once": {"ready": "exit", "do": ["200:exit=0"]}, "b": {}})
    b = s.line("S", "b")
    check(b.ns >= s.line("x", "once").ns, "b was started too early")
    s.wait_for("once", state="done", ready=True)
    equal(s.actor("once")["restart"], "transient", "the restart type")


@test("a failed one-shot is tried again")
def one_shot_fails(box):
    flag = box.file("flag")
    s = box.supd({"once": {"ready": "exit", "do": [f"?{flag}:exit=1", "exit=0"]}},
                 strategy="rest_for_one", wait=False)
    s.started("once", 2)
    os.unlink(flag)
    s.wait_for("once", state="done")


@test("under rest_for_one a failed restart is repeated only from the failed one on")
def rest_retry(box):
    link = box.path("program")
    os.symlink(PROBE, link)
    s = box.supd({"sup": {"strategy": "rest_for_one", "I": "50/1h", "children": {
        "a": {}, "b": {"binary": link, "backoff": {"min": "100ms", "max": "100ms",
                                                   "jitter": 0}}, "c": {}}}})
    s.started("c")
    os.unlink(link)
    mark = s.mark()
    s.tell("a", "exit=1")
    s.event("failure", "sup/b", 2)
    equal(s.order(mark), ["x a", "t c", "x c", "t b", "x b", "S a"], "until the repair")
    states = [s.actor(f"sup/{name}")["state"] for name in "abc"]
    equal((states[0], states[1] in ("backoff", "starting")), ("running", True), "the states")
    check(states[2] in ("waiting", "stopped", "backoff"), f"c is {states[2]}")
    os.symlink(PROBE, link)
    s.started("c", 2)
    equal(s.order(mark)[6:], ["S b", "S c"], "after the repair")


@test("99 fork failing with EAGAIN is one event and one line, and retried until it works",
      root=True)
def eagain(box):
    # A user without other processes: the limit counts all processes of a user.
    uid = 1000000 + os.getpid()
    limit = 12

    def before():
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

    s = box.supd({"hog": {}, "a": {"backoff": {"min": "2s", "max": "2s",
                                               "jitter": 0}}}, uid=uid, before=before)
    s.started("a")
    s.started("hog")
    s.tell("hog", "fork=0")
    if "11" not in s.line("F", "hog").more:
        raise Skip("RLIMIT_NPROC does not bind here")
    s.tell("a", "exit=1")
    s.event("backoff", "a")
    s.tell("hog", "fork=0")
    s.line("F", "hog", 2)
    shortage = s.event("shortage", "a")
    equal((shortage["cause"]["errno"], shortage["delay_ms"]), ("EAGAIN", 200), "the shortage")
    actor = s.wait_for("a", state="backoff")
    s.until(lambda: s.actor("a")["pid"] is None and now_ns() > shortage["mono"] + 700e6,
            "three starts without room")
    s.tell("hog", "unfork")
    s.started("a", 2)
    s.wait_for("a", state="running")
    check(s.event("started", "a", 2)["shortages"] >= 3, "the number of such starts")
    equal((len(s.seen("shortage", "a")), len(s.seen("failure", "a")), s.actor("a")["restarts"],
           actor["backoff"]["failures"]), (1, 1, 1, 1), "events, restarts and failures")
    with open(s.stderr, encoding="utf8") as log:
        equal(len([line for line in log if "EAGAIN" in line]), 1, "lines of the log")


@test("a log file that is a pipe without a reader does not hold up supd")
def pipe(box):
    os.mkfifo(box.path("pipe"))
    s = box.supd({"a": {"output": "file:" + box.path("pipe")}, "b": {}})
    failure = s.event("failure", "a")
    equal(failure["step"], "open output", "the step")
    s.started("b")


if __name__ == "__main__":
    main()
