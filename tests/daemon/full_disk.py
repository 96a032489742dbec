#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The disk of the logs is full: what an operator sees, and what the actor feels."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import Skip, check, equal, main, test

WRITER = ["/bin/sh", "-c", f"while echo {'x' * 2000}; do sleep 0.001; done"]


class Disk:
    """A file system of 80 kB for log files."""

    def __init__(self, box):
        if os.geteuid() != 0:
            raise Skip("mounting needs root")
        self.path = box.path("disk")
        os.mkdir(self.path)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80k", "none", self.path],
                              capture_output=True)
        if done.returncode != 0:
            raise Skip("no tmpfs can be mounted here")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)

    def grow(self):
        subprocess.run(["mount", "-o", "remount,size=512m", self.path], check=True)


def start(box, disk, when_full):
    s = box.supd({"a": {"command": WRITER, "log": {"when_full": when_full, "max_size": "1G",
                                                   "total": "2G"}}},
                 log={"directory": disk.path, "target": "stderr"})
    s.until(lambda: s.actor("a")["output_blocked"] == "No space left on device", "word in the status")
    return s


def figures(s):
    text = s.ctl_ok("metrics").out
    return {name: float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
            for name in ("output_blocked", "output_lost_bytes_total")
            if line.startswith(f'supd_actor_{name}{{') and '"/user/a"' in line}


def told(s, event):
    """Such events of the ring, also from before a crash of supd."""
    return [one for one in map(json.loads, s.ctl_ok("-o", "json", "events").out.splitlines())
            if one["event"] == event]


@test("when_full: wait: the writer waits and loses nothing; status, event and figure tell of it")
def waits(box):
    with Disk(box) as disk:
        s = start(box, disk, "wait")
        event = s.event("output_blocked", "a")
        equal((event["file"], event["reason"]), (f"{disk.path}/user/a.log", "No space left on device"),
              "the event")
        check("its log cannot be written: No space left on device" in s.ctl_ok("list").out, "the list")
        check("cannot be written: No space left on device" in s.ctl_ok("status", "a").out, "the block")
        check("its log cannot be written: No space left" in s.ctl_ok("explain", "a").out, "the story")
        equal(figures(s), {"output_blocked": 1, "output_lost_bytes_total": 0}, "the figures")
        s.crash()
        s.until(lambda: s.actor("a")["output_blocked"] is not None, "the next guardian knows")
        disk.grow()
        s.until(lambda: s.actor("a")["output_blocked"] is None, "it is written again")
        equal([one["lost"] for one in told(s, "output_unblocked")], [0], "the bytes lost")
        equal(s.actor("a")["output_lost"], 0, "the bytes lost, of the status")
        equal(len(told(s, "output_blocked")), 1, "the number of episodes")


@test("when_full: drop: the writer goes on; what is lost is counted, and noted in the log")
def drops(box):
    with Disk(box) as disk:
        s = start(box, disk, "drop")
        s.until(lambda: s.actor("a")["output_lost"] > 50000, "it goes on")
        before = s.actor("a")["output_lost"]
        s.crash()
        s.until(lambda: s.actor("a")["output_lost"] > before, "the count goes on with the next guardian")
        disk.grow()
        s.until(lambda: told(s, "output_unblocked"), "it is written again")
        check(told(s, "output_unblocked")[-1]["lost"] > before, "the bytes lost")
        s.ctl_ok("stop", "a")
        lost = s.actor("a")["output_lost"]
        equal(figures(s), {"output_blocked": 0, "output_lost_bytes_total": lost}, "the figures")
        noted = [int(line.split("supd: ")[1].split()[0])
                 for line in s.ctl_ok("logs", "-n", "all", "a").out.splitlines()
                 if "bytes are missing here" in line]
        equal(sum(noted), lost, "the bytes noted in the log")


@test("a full disk under the log directory is told and does not stop the work", root=True)
def told_at_a_start(box):
    disk = box.path("logs")
    os.mkdir(disk)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=4", "none", disk],
                          check=False, capture_output=True)
    if done.returncode != 0:
        raise Skip("no tmpfs may be mounted here")
    box.undo.append(lambda: subprocess.run(["umount", "-l", disk], check=False))
    try:
        with open(f"{disk}/filler", "wb") as filler:
            filler.write(bytes(1 << 20))
    except OSError:
        pass
    s = box.supd({"quiet": {"output": "null"}, "a": {
        "backoff": {"min": "200ms", "max": "200ms"}, "do": ["say=hello"]}}, wait=False)
    s.started("quiet")
    s.until(lambda: any(event.get("path") == "/user/a" and event["event"] in (
        "failure", "started") for event in s.events), "an event of a")
    if not s.seen("started", "a"):
        cause = s.event("failure", "a")["cause"]
        equal(cause["errno"], "ENOSPC", "the cause")
    os.unlink(f"{disk}/filler")
    subprocess.run(["mount", "-o", "remount,size=1m,nr_inodes=1000", disk], check=True)
    if not s.seen("started", "a"):
        s.ctl_ok("start", "a")
    s.started("a")
    s.tell("quiet", "exit=1")
    s.started("quiet", 2)


if __name__ == "__main__":
    main()
