#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""An actor is gone when all processes that it forked are gone, however they tried to hide."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from containments import contained, delegated
from harness import alive, check, children, equal, main, test

@contained("a daemon that forked twice and ignores TERM is gone when stop returns")
def daemon(box, kind, options, path):
    s = box.supd({"a": {"containment": kind, "shutdown": "200ms", "do": ["daemon"]}}, **options)
    pid = s.line("d", "a").pid
    if path:
        with open(f"/proc/{pid}/cgroup", encoding="utf8") as text:
            own = [line for line in text if line.startswith("0::")][0]
        check(os.path.basename(path) in own and "actors" in own,
              f"the daemon is in {own!r}, not in a leaf below {path}")
    check(alive(pid), "the daemon did not come up")
    s.ctl_ok("stop", "a")
    check(not alive(pid), "the daemon is alive")


@contained("a daemon is gone before its actor is started again")
def before_restart(box, kind, options, _):
    s = box.supd({"a": {"containment": kind, "shutdown": "200ms", "do": ["daemon"]}}, **options)
    first = s.line("d", "a").pid
    s.tell("a", "exit=1")
    s.started("a", 2)
    check(not alive(first), "the old daemon is alive")
    s.line("d", "a", 2)
    s.ctl_ok("restart", "a")
    s.line("d", "a", 3)
    equal(len([line for line in s.lines("d", "a") if alive(line.pid)]), 1, "live daemons")


@contained("until its daemon is gone an actor is stopping, and the next is not touched")
def order(box, kind, options, _):
    s = box.supd({"elder": {}, "a": {"containment": kind, "shutdown": "400ms",
                                     "do": ["daemon"]}}, **options)
    pid = s.line("d", "a").pid
    s.signal(signal.SIGTERM)
    s.line("t", "elder")
    check(not alive(pid), "the daemon lived on when the elder sibling was stopped")
    check(s.event("stopping", "elder")["mono"] - s.event("stopping", "a")["mono"] >= 399e6,
          "the daemon did not get its time")
    s.ended(0)


@contained("a daemon that never stops forking is caught all the same", timeout=40)
def hydra(box, kind, options, _):
    s = box.supd({"a": {"containment": kind, "shutdown": "100ms", "do": ["daemon=hydra"]},
                  "b": {}}, **options)
    s.line("d", "a")
    s.started("b")
    s.ctl_ok("stop", "a")
    equal(s.actor("a")["state"], "stopped", "the state")
    equal([pid for pid in os.listdir("/proc") if pid.isdigit() and is_head(box, pid)], [],
          "heads that live on")


def is_head(box, pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as text:
            return box.dir.encode() + b"\0a\0daemon=hydra" in text.read() and alive(pid)
    except OSError:
        return False


@test("with a cgroup even one that gave up its environment, session and parent is gone")
def bare(box):
    enter, _ = delegated(box)
    s = box.supd({"a": {"containment": "cgroup", "shutdown": "100ms", "do": ["daemon=bare"]}},
                 before=enter)
    pid = s.line("d", "a").pid
    s.ctl_ok("stop", "a")
    check(not alive(pid), "it is alive")


@test("an empty cgroup that was removed by hand is made anew for the next life")
def removed(box):
    enter, _ = delegated(box)
    s = box.supd({"a": {"containment": "cgroup"}}, before=enter)
    s.started("a")
    with open(f"/proc/{s.actor('a')['pid']}/cgroup", encoding="utf8") as text:
        own = [line for line in text if line.startswith("0::")][0].strip()[3:]
    with open("/proc/mounts", encoding="utf8") as text:
        top = [line.split()[1] for line in text if line.split()[2] == "cgroup2"][0]
    for life in (2, 3):
        s.ctl_ok("stop", "a")
        os.rmdir(top + own)
        s.ctl_ok("start", "a")
        s.started("a", life)
        with open(f"/proc/{s.actor('a')['pid']}/cgroup", encoding="utf8") as text:
            check(f"0::{own}\n" in text.read(), "the new life is in another cgroup")


@test("auto takes a cgroup where it may, and leaves no directory behind")
def auto(box):
    enter, path = delegated(box)
    s = box.supd({"a": {"containment": "auto"}}, before=enter)
    pid = s.started("a")
    with open(f"/proc/{pid}/cgroup", encoding="utf8") as text:
        check(f"{os.path.basename(path)}/actors/" in text.read(), "no leaf of its own")
    with open(f"/proc/{s.pid}/cgroup", encoding="utf8") as text:
        check(f"{os.path.basename(path)}/supd" in text.read(), "supd has no leaf of its own")
    s.stop()
    actors = os.path.join(path, "actors")
    left = [entry for entry in os.listdir(actors) if os.path.isdir(os.path.join(actors, entry))
            ] if os.path.isdir(actors) else []
    equal(left, [], "leaves left behind")


@test("an orphan becomes the walker's child: so the guardian's long list of children is not read")
def orphan(box):
    s = box.supd({"a": {"containment": "session", "shutdown": "200ms", "do": ["daemon"]}, "b": {}})
    pid = s.line("d", "a").pid
    s.until(lambda: pid in children(s.process.pid), "the daemon below the walker")
    check(pid not in children(s.guardian()), "the daemon is a child of the guardian")
    s.ctl_ok("stop", "a")
    check(not alive(pid), "the daemon is alive")


@test("orphans of actors are reaped: no zombie stays")
def zombies(box):
    s = box.supd({"a": {"shutdown": "100ms", "do": ["fork=3"]}})
    pid = s.line("F", "a").pid
    forks = children(pid)
    os.kill(pid, signal.SIGKILL)
    s.started("a", 2)
    s.until(lambda: not any(os.path.exists(f"/proc/{fork}") for fork in forks),
            "the orphans' end")
    zombie = [child for child in s.brood() if not alive(child)]
    equal(zombie, [], "zombies")


@test("SIGQUIT leaves nothing of a daemon that hides")
def at_once(box):
    s = box.supd({"a": {"do": ["daemon"], "shutdown": "infinity"}, "b": {"do": ["daemon"]}})
    pids = [s.line("d", name).pid for name in "ab"]
    s.signal(signal.SIGQUIT)
    s.ended(0)
    equal([pid for pid in pids if alive(pid)], [], "daemons that live on")


if __name__ == "__main__":
    main()
