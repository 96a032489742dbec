#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Processes that SIGKILL does not end: traced by one that never waits, or stuck in the
kernel.  supd says so, starts no second one, and goes on without them."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fuse import Fuse
from harness import alive, check, equal, has, main, test

# Seize the process with the given pid by ptrace(2), print a line, and never wait for it.
TRACER = """
import ctypes, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
if libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) != 0:
    sys.exit(1)
print("seized", flush=True)
signal.pause()
"""


def trace(box, pid):
    tracer = box.popen(sys.executable, "-c", TRACER, str(pid), stdout=-1)
    equal(tracer.stdout.readline(), b"seized\n", "the tracer's word")
    return tracer


def log(s):
    with open(s.stderr, encoding="utf8") as text:
        return text.read()


def release(box, tracer):
    tracer.kill()
    tracer.wait()
    tracer.stdout.close()
    box.background.remove(tracer)


@test("a traced process: stop says that it is unkillable and names the tracer", root=True)
def traced(box):
    s = box.supd({"v": {"kill_timeout": "300ms", "shutdown": "100ms"}, "w": {}})
    pid = s.started("v")
    tracer = trace(box, pid)
    result = s.ctl("stop", "v")
    equal(result.code, 7, "exit status of stop")
    has(result.err, rf"cannot be killed \(pid {pid} is traced by pid {tracer.pid}\); "
                    "supd goes on without it", "stderr of stop")
    s.wait_for("v", state="unkillable")
    has(s.event("unkillable", "v")["text"], f"traced by pid {tracer.pid}", "the event")
    equal(s.seen("terminated", "v"), [], "ends that were told")
    result = s.ctl("start", "v")
    equal(result.code, 7, "exit status of start")
    has(result.err, r"traced by pid \d+\); the actor is started when that is gone",
        "stderr of start")
    equal(len(s.lines("S", "v")), 1, "starts")
    s.ctl("stop", "v")
    release(box, tracer)
    s.wait_for("v", state="stopped")
    s.ctl_ok("start", "v")
    tracer = trace(box, s.started("v", 2))
    s.ctl("stop", "v")
    s.ctl("start", "v")
    equal(len(s.lines("S", "v")), 2, "starts")
    release(box, tracer)
    s.started("v", 3)


@test("an actor with a traced process is restarted when that is gone, and not before", root=True)
def restarted(box):
    s = box.supd({"v": {"kill_timeout": "300ms", "shutdown": "100ms"}})
    tracer = trace(box, s.started("v"))
    check(s.ctl("restart", "v").code != 0, "restart did not say so")
    failure = s.event("failure", "v")
    equal((failure["cause"]["kind"], failure["directive"]), ("unkillable", "restart"),
          "the failure")
    equal(len(s.lines("S", "v")), 1, "starts")
    release(box, tracer)
    s.started("v", 2)
    s.wait_for("v", state="running", generation=2)


@test("an apply that restarts or removes a traced one does not wait for it", root=True)
def applied(box):
    lazy = {"kill_timeout": "300ms", "shutdown": "100ms"}
    s = box.supd({"u": lazy, "v": lazy, "w": {}})
    pids = {name: s.started(name) for name in "uv"}
    tracers = {name: trace(box, pid) for name, pid in pids.items()}
    s.write({"v": {**lazy, "do": ["ready"]}, "w": {}})
    s.ctl_ok("apply")
    for name in "uv":
        s.wait_for(name, state="unkillable")
        told = rf"cannot be killed \(pid {pids[name]} is traced by pid {tracers[name].pid}\)"
        has(s.event("unkillable", name)["text"], told, f"the event of {name}")
        has(log(s), rf"/user/{name}: unkillable: it {told}", "the log")
    s.ctl_ok("restart", "w")
    s.write({"w": {}})
    s.ctl_ok("apply")
    s.ctl_ok("restart", "w")
    check({"/user/u", "/user/v"} <= set(s.paths()), "they are forgotten before they are gone")
    equal([len(s.lines("S", name)) for name in "uv"], [1, 1], "starts")
    for tracer in tracers.values():
        release(box, tracer)
    s.until(lambda: not {"/user/u", "/user/v"} & set(s.paths()), "their ends")


@test("a shutdown goes on without a traced process, and names it", root=True)
def shutdown(box):
    s = box.supd({"a": {}, "v": {"kill_timeout": "300ms", "shutdown": "100ms"}})
    pid = s.started("v")
    tracer = trace(box, pid)
    s.stop()
    has(log(s), rf"/user/v cannot be killed \(pid {pid} is traced by pid {tracer.pid}\); "
             "supd ends without it", "the log")
    release(box, tracer)


@test("a process in uninterruptible sleep: a guardian that dies meanwhile changes nothing", root=True)
def uninterruptible(box):
    fuse = Fuse(box, "read", uid=0, gid=0)
    s = box.supd({"v": {"command": ["cat", fuse.path()], "kill_timeout": "300ms",
                        "shutdown": "100ms"}})
    pid = fuse.held("read")
    result = s.ctl("stop", "v")
    equal(result.code, 7, "exit status of stop")
    has(result.err, rf"cannot be killed \(pid {pid} is ", "stderr of stop")
    s.crash()
    s.wait_for("v", state="unkillable")
    check(alive(pid), "it is dead")
    fuse.answer()
    s.wait_for("v", state="stopped")


@test("a hook that cannot be killed: the stop goes on without it, and the next stop does not start a "
      "second one", root=True)
def hook(box):
    fuse = Fuse(box, "read", uid=0, gid=0)
    s = box.supd({"v": {"kill_timeout": "300ms", "hooks": {"pre_stop": ["cat", fuse.path()]},
                        "hook_timeout": "1s"}, "w": {}})
    s.started("v")
    s.ctl_ok("stop", "v")
    pid = fuse.held("read")
    failed = s.event("hook_failed", "v")
    equal((failed["hook"], failed["timed_out"]), ("pre_stop", True), "the event")
    s.crash()
    check(alive(pid), "it is dead")
    s.ctl_ok("start", "v")
    s.started("v", 2)
    s.ctl_ok("stop", "v")
    has(log(s), "hook_failed: pre_stop: could not be executed: EBUSY", "the second one")
    fuse.answer()
    s.until(lambda: not alive(pid), "its end")
    s.ctl_ok("start", "v")
    s.ctl_ok("stop", "v")
    equal(log(s).count("pre_stop of /user/v cannot be killed"), 1, "hooks left behind")
    equal(log(s).count("hook_failed"), 2, "hooks that failed")


# Helper processes of an actor: the keys that name the hanging file as a command, and the commands of
# supctl that run the helper process again.
HELPERS = {
    "pre_start": (lambda command: {"hooks": {"pre_start": command}}, ["restart --no-wait h"]),
    "post_start": (lambda command: {"hooks": {"post_start": command}}, ["stop h", "start h"]),
    "stop_command": (lambda command: {"stop_command": command}, ["restart --no-wait h"]),
    "reload_command": (lambda command: {"reload_command": command}, ["reload h"]),
    "health": (lambda command: {"health": {"exec": command, "interval": "50ms", "failures": 1}},
               ["restart --no-wait h"]),
    "run": (lambda command: {"watch": {"other": {"run": command}}}, ["start other", "stop other"]),
}


def hangs_once(name, keys, commands):
    """supd gives up a helper process that hangs, and starts no second process beside it."""
    @test(f"{name} that was given up and hangs: no second one is started beside it, not by the next "
          "guardian either", root=True)
    def once(box):
        def go():
            for command in commands:
                s.ctl_ok(*command.split())

        fuse, done = Fuse(box, "read", content=shutil.which("touch")), box.path("done")
        s = box.supd({"h": {"kill_timeout": "100ms", "shutdown": "10s", "user": "nobody",
                            "backoff": {"min": "100ms", "max": "100ms"}, **keys([fuse.path(), done])},
                      "other": {}}, wait=False)
        if name in ("stop_command", "reload_command", "run"):
            s.started("other")
            go()
        fuse.held("read")
        s.until(lambda: f"the {name} of /user/h cannot be killed" in log(s), "that it is given up")
        for _ in range(2):
            s.crash()
            go()
            # A restart may find the actor on its way down, with a stop_command that is over.
            s.until(lambda: "EBUSY" in s.ctl_ok("-o", "json", "events").out or
                    (name == "stop_command" and go()), "a second attempt")
        equal(len([line for line in fuse.lines if line.startswith("held")]), 1, "what hangs")
        fuse.answer()
        # A start or the health of the actor has it executed without a command, if it is let.
        s.until(lambda: os.path.exists(done) or name in ("pre_start", "health") or go(), "the commands")
        s.until(lambda: os.path.exists(done), "what the helper does")


for helper, how in HELPERS.items():
    hangs_once(helper, *how)


@test("leftovers of a supd that died: one that cannot be killed does not keep the next one from "
      "starting, and what strangers mark so is left alone", root=True)
def leftovers(box):
    fuse = Fuse(box, "read", uid=0, gid=0)
    mark = {"SUPD_SOCKET": os.path.join(box.dir, "run", "control.sock"), "SUPD_ID": "x",
            "SUPD_PATH": "/user/old", "PATH": os.environ["PATH"]}
    stuck = box.popen("cat", fuse.path(), env=mark, stdout=subprocess.DEVNULL)
    fuse.held("read")
    ours = [box.popen("sleep", "1000", env=mark) for _ in range(3)]
    stranger = box.popen("sleep", "1000", env=mark, user=65534, group=65534, extra_groups=[],
                         start_new_session=True)
    s = box.supd({"a": {}})
    s.started("a")
    has(log(s), f"pid {stuck.pid} of /user/old, of a supd that died, cannot be killed", "the log")
    for child in ours:
        equal(child.wait(), -signal.SIGKILL, "how one that was left ended")
    equal(stranger.poll(), None, "the end of a stranger")
    fuse.answer()


def mark(box, path):
    """The environment of an actor of a supd that died."""
    return {"SUPD_SOCKET": os.path.join(box.dir, "run", "control.sock"), "SUPD_ID": "x",
            "SUPD_PATH": path, "PATH": os.environ["PATH"]}


def leave(box, fuse, path, **options):
    """Leave a process of the actor behind that SIGKILL does not end."""
    stuck = box.popen("cat", fuse.path(), env=mark(box, path), stdout=subprocess.DEVNULL, **options)
    fuse.held("read")
    return stuck


@test("an actor is not started while its process of a dead supd lives: "
      "told, across a guardian's death, too", root=True)
def held_down(box):
    fuse = Fuse(box, "read", uid=0, gid=0)
    stuck = leave(box, fuse, "/user/v")
    s = box.supd({"v": {}, "w": {}})
    s.started("w")
    has(log(s), f"pid {stuck.pid} of /user/v, of a supd that died, cannot be killed; the actor "
                "is not started before it is gone", "the log")
    s.wait_for("v", state="unkillable", pid=stuck.pid)
    has(s.event("unkillable", "v")["text"], rf"pid {stuck.pid} is in uninterruptible sleep")
    has(s.ctl_ok("explain", "v").out, "the actor is not started again before that is gone")
    result = s.ctl("start", "v")
    equal(result.code, 7, "exit status of start")
    s.ctl_ok("apply")
    s.crash()
    s.wait_for("v", state="unkillable")
    s.ctl_ok("restart", "w")
    equal(s.lines("S", "v"), [], "starts of v")
    fuse.answer()
    s.started("v")
    equal(stuck.wait(), -signal.SIGKILL, "how it ended")
    s.wait_for("v", state="running", generation=1, restarts=0)


@test("two processes of one actor that outlived a supd: it starts when the second is gone", root=True)
def held_by_two(box):
    fuses = [Fuse(box, "read", uid=0, gid=0) for _ in range(2)]
    stuck = {leave(box, fuse, "/user/v").pid: fuse for fuse in fuses}
    s = box.supd({"v": {}})
    pid = s.wait_for("v", state="unkillable")["pid"]
    stuck.pop(pid).answer()
    other, fuse = stuck.popitem()
    s.wait_for("v", state="unkillable", pid=other)
    equal(s.lines("S", "v"), [], "starts of v")
    fuse.answer()
    s.started("v")


@test("a shutdown goes on without what outlived a supd, and a stop says that it is there",
      root=True)
def not_waited_for(box):
    fuse = Fuse(box, "read", uid=0, gid=0)
    stuck = leave(box, fuse, "/user/v")
    s = box.supd({"v": {}, "w": {}})
    s.started("w")
    result = s.ctl("stop", "v")
    equal(result.code, 7, "exit status of stop")
    has(result.err, rf"cannot be killed \(pid {stuck.pid} is ", "stderr of stop")
    s.stop()
    has(log(s), rf"/user/v cannot be killed \(pid {stuck.pid} is .*supd ends without it", "the log")
    fuse.answer()


@test("what another user marks as of an actor does not hold it up", root=True)
def strangers(box):
    fuse = Fuse(box, "read")
    stuck = leave(box, fuse, "/user/v", user=65534, group=65534, extra_groups=[])
    s = box.supd({"v": {}, "w": {"user": "65534", "command": ["sleep", "1000"]}})
    s.started("v")
    has(log(s), f"pid {stuck.pid} of /user/v, of a supd that died, cannot be killed; supd goes on",
        "the log")
    fuse.answer()


if __name__ == "__main__":
    main()
