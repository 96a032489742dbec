#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What all processes of an actor together may use: kept, or honestly refused.

The kernel of the test may have the controllers or not: both is tested, where it is true.
"""
import ctypes
import os
import re
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from containments import delegated
from fuse import Fuse
from harness import INSTRUMENTED, PROBE, SUPD, Skip, alive, check, equal, has, main, run, test

KEYS = {"memory_max": "64M", "memory_high": "32M", "cpu_max": "50%", "cpu_weight": 50,
        "pids_max": 64, "io_weight": 50}
ANYWHERE = {"pids_max": 64, "optional": True}  # kept where it can be
WRITTEN = {"memory_max": ("memory.max", "67108864"),
           "memory_high": ("memory.high", "33554432"),
           "cpu_max": ("cpu.max", "50000 100000"), "cpu_weight": ("cpu.weight", "50"),
           "pids_max": ("pids.max", "64"), "io_weight": ("io.weight", "default 50")}


def controllers():
    """Those of the machine's cgroup v2 hierarchy."""
    with open("/proc/self/mountinfo", encoding="utf8") as text:
        for line in text:
            before, _, after = line.partition(" - ")
            if after.split()[0] == "cgroup2":
                top = before.split()[4]
                with open(os.path.join(top, "cgroup.controllers"), encoding="ascii") as names:
                    return set(names.read().split())
    return set()


def controller(key):
    return key.partition("_")[0]


def missing():
    found = [key for key in KEYS if controller(key) not in controllers()]
    if not found:
        raise Skip("this machine has every controller")
    return found


def present():
    found = [key for key in KEYS if controller(key) in controllers()]
    if not found:
        raise Skip("this machine has no controller in its cgroup v2 hierarchy")
    return found


def given(path):
    """The controllers that cgroups below `path` can have."""
    with open(os.path.join(path, "cgroup.controllers"), encoding="ascii") as text:
        return set(text.read().split())


def leaf(pid):
    with open(f"/proc/{pid}/cgroup", encoding="utf8") as text:
        own = [line.strip() for line in text if line.startswith("0::")][0]
    return own


def files(path):
    """The files of a cgroup below `path`, with all controllers switched on."""
    switch = os.path.join(path, "cgroup.subtree_control")
    inner = os.path.join(path, "inner")
    with open(switch, "w", encoding="ascii") as text:
        text.write(" ".join(f"+{name}" for name in given(path)))
    os.mkdir(inner)
    found = set(os.listdir(inner))
    os.rmdir(inner)
    with open(switch, "w", encoding="ascii") as text:
        text.write(" ".join(f"-{name}" for name in given(path)))
    return found


def content(path, name, file):
    """What a file of an actor's cgroup with limits says."""
    with open(os.path.join(path, "limited", f"user:{name}", file), encoding="ascii") as text:
        return text.read().strip()


def logged(s):
    with open(s.stderr, encoding="utf8") as text:
        return text.read()


def text_of(key, more=""):
    return (f"children:\n  a:\n    command: [/bin/true]\n    cgroup:\n"
            f"      {key}: {KEYS[key]!r}\n{more}".replace("'", '"'))


@test("a limit of a controller that the machine lacks is an error when it is checked")
def refused(box):
    for key in missing():
        result = run(SUPD, "--check", "-c", box.file("supd.yaml", text_of(key)))
        equal(result.code, 78, f"exit status of {key}")
        has(result.err, rf"supd\.yaml:5:\d+: error: children\.a\.cgroup\.{key}: .*"
            rf"`{controller(key)}`.*optional", "stderr")


@test("supd does not start on a file with a limit for which the controller is missing")
def not_started(box):
    key = missing()[0]
    s = box.supd(wait=False, text=text_of(key))
    s.ended(78)


@test("a limit that is optional is warned of, when it is checked and when it is started")
def optional(box):
    lacking = missing()
    for key in lacking:
        result = run(SUPD, "--check", "-c",
                     box.file("supd.yaml", text_of(key, "      optional: true\n")))
        equal(result.code, 0, f"exit status of {key}")
        has(result.err, rf"supd\.yaml:5:\d+: warning: .*`{controller(key)}`", "stderr")
    key = lacking[0]
    enter, _ = delegated(box)
    s = box.supd({"a": {"cgroup": {key: KEYS[key], "optional": True}}}, before=enter)
    pid = s.started("a")
    check("/limited/user:a" in leaf(pid), f"it is in {leaf(pid)}")
    has(logged(s), rf"/user/a: .*supd\.yaml:\d+: cgroup\.{key}: the controller "
        rf"{controller(key)} is not delegated to supd .*; it runs without", "the log")


@test("an optional limit where there is no cgroup at all does not prevent a start")
def nowhere(box):
    key = missing()[0]
    uid = 65534 if os.geteuid() == 0 else None
    if uid is None:
        raise Skip("only root can be somebody else")
    s = box.supd({"a": {"cgroup": {key: KEYS[key], "optional": True}}}, uid=uid)
    s.started("a")
    has(logged(s), r"no cgroup of its own: none is delegated", "the log")


@test("a controller that the machine has and supd was not given fails the start, with reason")
def undelegated(box):
    key = present()[0]
    _, path = delegated(box)
    inner = os.path.join(path, "inner")
    os.mkdir(inner)

    def enter():
        with open(os.path.join(inner, "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write(str(os.getpid()))

    s = box.supd({"a": {"cgroup": {key: KEYS[key]}}, "b": {}}, before=enter)
    s.started("b")
    cause = s.wait_for("/user/a", state="failed")["last_failure"]["cause"]
    equal((cause["kind"], cause["key"]), ("exec", f"cgroup {key}"), "the cause")
    has(s.ctl_ok("explain", "a").out, rf"`cgroup\.{key}` at .*supd\.yaml:\d+", "the story")
    has(logged(s), rf"/user/a: .*supd\.yaml:\d+: cgroup\.{key}: the controller "
        rf"{controller(key)} is not delegated to supd \(.*inner/limited has: none\)", "the log")


@test("every limit that is given is in force before the program begins")
def kept(box):
    enter, path = delegated(box)
    keys = [key for key in present() if WRITTEN[key][0] in files(path)]
    if not keys:
        raise Skip("no controller is delegated")
    s = box.supd({"a": {"cgroup": {key: KEYS[key] for key in keys}}}, before=enter)
    s.started("a")
    for key in keys:
        name, value = WRITTEN[key]
        equal(content(path, "a", name), value, name)
    s.stop()
    check(not os.path.exists(os.path.join(path, "limited")), "the place is left")


@test("a limit that the kernel does not take fails the start, with key, place and file")
def untaken(box):
    enter, path = delegated(box)
    keys = [key for key in present() if WRITTEN[key][0] not in files(path) and
            controller(key) in given(path)]
    if not keys:
        raise Skip("this kernel takes every limit")
    key = keys[0]
    s = box.supd({"a": {"cgroup": {key: KEYS[key]}}}, before=enter)
    s.wait_for("/user/a", state="failed")
    has(logged(s), rf"/user/a: .*supd\.yaml:\d+: cgroup\.{key}: write .* to "
        rf"{re.escape(path)}/limited/user:a/{WRITTEN[key][0]}: ", "the log")


def delegated_memory(box):
    enter, path = delegated(box)
    if "memory" not in given(path):
        raise Skip("no memory controller is delegated")
    return enter, path


@test("want of memory is told from a kill, and its rule decides", timeout=60)
def oom(box):
    enter, _ = delegated_memory(box)
    s = box.supd({"a": {"command": ["python3", "-c", "x = bytearray(1 << 28); print(len(x))"],
                        "cgroup": {"memory_max": "32M"},
                        "on_failure": [{"when": "oom", "then": "stop"}]},
                  "b": {"on_failure": [{"when": "oom", "then": "stop"}]}}, before=enter)
    pid = s.started("b")
    check("/limited/user:b" in leaf(pid), f"who is asked of is in {leaf(pid)}")
    failed = s.wait_for("/user/a", state="failed")["last_failure"]
    equal((failed["cause"]["kind"], failed["cause"]["signal"]), ("oom", "KILL"), "the cause")
    os.kill(pid, signal.SIGKILL)
    s.started("b", 2)
    equal(s.actor("b")["last_failure"]["cause"]["kind"], "signal", "a kill")


@test("want of memory is known of a process that died of it while no guardian lived",
      timeout=60)
def oom_unseen(box):
    enter, _ = delegated_memory(box)
    gate = box.path("gate")
    os.mkfifo(gate)
    s = box.supd({"a": {"command": ["python3", "-c", f"open({gate!r}).read(); "
                                    "x = bytearray(1 << 28); print(len(x))"],
                        "cgroup": {"memory_max": "32M"},
                        "on_failure": [{"when": "oom", "then": "stop"}]}}, before=enter)
    pid = s.actor("a")["pid"]
    with open(gate, "w", encoding="ascii"):
        s.signal(signal.SIGSTOP)
        os.kill(s.guardian(), signal.SIGKILL)
    s.until(lambda: not alive(pid), "its death")
    s.signal(signal.SIGCONT)
    s.caller = None
    s.until(lambda: s.ctl("is-active", "/user").code == 0, "another guardian")
    failed = s.wait_for("/user/a", state="failed")["last_failure"]
    equal(failed["cause"]["kind"], "oom", "the cause")


@test("each life begins with the limits, and knows of no want of memory but its own",
      timeout=60)
def every_life(box):
    enter, path = delegated_memory(box)
    greedy = box.file("greedy")
    s = box.supd({"a": {"command": ["python3", "-c", "import os, time\n"
                                    f"if os.path.exists({greedy!r}):\n"
                                    f"  os.unlink({greedy!r}); x = bytearray(1 << 28)\n"
                                    "time.sleep(1000)"],
                        "cgroup": {"memory_max": "32M"}}}, before=enter)
    for restarts, kind in ((1, "oom"), (2, "signal")):
        if kind == "signal":
            os.kill(s.actor("a")["pid"], signal.SIGKILL)
        a = s.wait_for("/user/a", restarts=restarts, state="running")
        equal(a["last_failure"]["cause"]["kind"], kind, f"the cause of restart {restarts}")
        equal(content(path, "a", "memory.max"), "33554432", "the limit after it")


@test("an actor that is killed because it did not stop was not killed for want of memory, though one "
      "of its children was", timeout=60)
def own_kill(box):
    enter, path = delegated_memory(box)
    s = box.supd({"a": {"command": ["sh", "-c", "trap '' TERM; "
                                    "python3 -c 'x = bytearray(1 << 28)'; "
                                    "while :; do sleep 1; done"],
                        "cgroup": {"memory_max": "32M"}, "shutdown": "100ms"}}, before=enter)
    s.until(lambda: "oom_kill 1" in content(path, "a", "memory.events"), "the child's end")
    s.ctl_ok("stop", "a")
    equal(s.event("exited", "a")["cause"]["kind"], "signal", "the cause")


@test("another user keeps limits in a cgroup that was delegated to it", timeout=60, root=True)
def another_user(box):
    enter, path = delegated_memory(box)
    uid = 65534
    for name in (".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
        os.chown(os.path.join(path, name), uid, uid)
    s = box.supd({"a": {"cgroup": {"memory_max": "64M"}},
                  "b": {"command": ["python3", "-c", "x = bytearray(1 << 28)"],
                        "cgroup": {"memory_max": "32M"},
                        "on_failure": [{"when": "oom", "then": "stop"}]}},
                 before=enter, uid=uid)
    s.started("a")
    equal(content(path, "a", "memory.max"), "67108864", "the limit")
    equal(s.wait_for("/user/b", state="failed")["last_failure"]["cause"]["kind"], "oom",
          "the cause")
    s.stop()
    check(not os.path.exists(os.path.join(path, "limited")), "the place is left")


@test("one with limits lives in its own place, goes on under the next guardian and is gone "
      "with all that it forked")
def survives(box):
    enter, path = delegated(box)
    s = box.supd({"a": {"cgroup": ANYWHERE, "shutdown": "200ms",
                        "do": ["daemon"]}, "b": {}}, before=enter)
    first, hidden = s.started("a"), s.line("d", "a").pid
    check("/limited/user:a" in leaf(hidden), f"the daemon is in {leaf(hidden)}")
    check("/actors/user:b" in leaf(s.started("b")), "one without limits is there too")
    s.crash()
    equal(s.actor("a")["pid"], first, "the process after the crash")
    s.ctl_ok("restart", "a")
    second = s.line("d", "a", 2).pid
    check(not alive(first) and not alive(hidden), "the old ones are alive")
    check("/limited/user:a" in leaf(second), f"the next daemon is in {leaf(second)}")
    s.ctl_ok("stop", "a")
    check(not alive(second), "the daemon is alive")
    s.stop()
    for name in ("limited", "actors"):
        where = os.path.join(path, name)
        check(not os.path.isdir(where) or not [entry for entry in os.listdir(where) if
              os.path.isdir(os.path.join(where, entry))], f"leaves are left in {name}")


@test("limits that come or go with apply move the actor at its restart")
def moved(box):
    enter, path = delegated(box)
    s = box.supd({"a": {}}, before=enter)
    check("/actors/user:a" in leaf(s.started("a")), "it began with limits")
    s.write({"a": {"cgroup": ANYWHERE}})
    s.ctl_ok("apply")
    check("/limited/user:a" in leaf(s.started("a", 2)), "it has no limits")
    check(not os.path.isdir(os.path.join(path, "actors", "user:a")), "its old leaf is there")
    s.write({"a": {}})
    s.ctl_ok("apply")
    check("/actors/user:a" in leaf(s.started("a", 3)), "it still has limits")
    check(not os.path.isdir(os.path.join(path, "limited", "user:a")), "its old leaf is there")


def shares_memory(one, other):
    """kcmp(2): do these processes have the same memory?"""
    number = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)
    compared = ctypes.CDLL(None).syscall(number, one, other, 1, 0, 0) if number else -1
    if compared < 0:
        raise Skip("no kcmp here")
    return compared == 0


def started_with(box, enter, name, content, keys):
    """Start an actor for which the content is executed: until then, is that below the limits of an actor,
    and does it have the guardian's memory?"""
    fuse = Fuse(box, "read", content=content)
    s = box.supd({"a": {"user": "nobody", **keys(fuse.path())}}, wait=False, before=enter, name=name)
    pid = fuse.held("read")
    found = "/limited/" in leaf(pid), shares_memory(s.guardian(), pid)
    fuse.answer()
    s.started("a")
    s.stop()
    return found


@test("a start below limits has memory of its own, and a hook is below none: want of memory there does not "
      "end the guardian", root=True)
def own_memory(box):
    if INSTRUMENTED:
        raise Skip("with a sanitizer each start has memory of its own")
    enter, _ = delegated(box)
    limits = {"cgroup": ANYWHERE}
    # What has no limits is started faster with the memory of the guardian.
    for name, content, keys, expected in (
            ("limited", PROBE, lambda path: {"binary": path, **limits}, (True, False)),
            ("free", PROBE, lambda path: {"binary": path}, (False, True)),
            ("hook", shutil.which("true"), lambda path: {"hooks": {"pre_start": [path]}, **limits},
             (False, True))):
        equal(started_with(box, enter, name, content, keys), expected,
              f"limits and the guardian's memory for {name}")


if __name__ == "__main__":
    main()
