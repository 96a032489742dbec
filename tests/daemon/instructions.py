#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Instructions of a restart in the guardian, and of an actor in answers, counted by callgrind.

Of a restart what the guardian decides, puts down, tells and starts is counted, not the turns of its
loop: under valgrind, which has no clone3, a start is slow, and the guardian looks at it
several times.  The log process cannot run there, so that starts of it are among those that
are counted.  Of an answer all is counted, the loop, too.
"""
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import (INSTRUMENTED, PROBE, SUPCTL, SUPD, TOP_BUILD, Failure, Skip, check, comment,
                     main, program, test)
from supd import Supd

RESTARTS = 50
NAMES = [f"a{n}" for n in range(RESTARTS)]
# These call each other nowhere here.
COUNTED = ("gone_tell", "ledger_prepare", "core_post", "core_settle", "perform", "report_lines")
START = "launch_begin"


def read_calls(text):
    """Of each function: how often it was called, and all instructions in it."""
    names, calls = {}, collections.Counter()
    instructions = collections.Counter()
    for callee, known, times, inside in re.findall(
            r"^cfn=\((\d+)\)(?: (\S+))?\n(?:c\S+\n)*?calls=(\d+) .*\n\S+ (\d+)$", text, re.M):
        calls[callee] += int(times)
        instructions[callee] += int(inside)
        if known:
            names[known] = callee
    names.update((known, number) for number, known in re.findall(r"fn=\((\d+)\) (\S+)", text))
    found = {name: (calls[number], instructions[number]) for name, number in names.items()}
    found["all"] = 1, int(re.search(r"(?m)^totals: (\d+)$", text)[1])
    return found


def dump(box, guardian, k):
    """What was called since the last time."""
    subprocess.run(["callgrind_control", "-d", str(guardian)], check=True,
                   capture_output=True, timeout=20)
    path = box.path(f"out.{guardian}.{k}")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if os.path.exists(path):
            with open(path, encoding="utf8") as file:
                text = file.read()
            if re.search(r"(?m)^totals: \d+$", text):
                return read_calls(text)
        time.sleep(0.01)
    raise Failure(f"no {path}")


def fail_all(s):
    for name in NAMES:
        os.kill(s.pids[name], signal.SIGKILL)
        s.started(name, 2)


def count(box, most, **spec):
    s, guardian = begin(box, **spec)
    dump(box, guardian, 1)
    fail_all(s)
    found = dump(box, guardian, 2)
    starts = found[START][0]
    each = {name: found[name][1] // starts for name in COUNTED}
    comment(f"{sum(each.values())} instructions a restart, of {starts}")
    check(starts >= RESTARTS, f"{starts} starts")
    check(sum(each.values()) <= most, str(each))


def begin(box, **spec):
    natives = program("tests/lib/natives.so")
    if INSTRUMENTED or not shutil.which("callgrind_control") or subprocess.run(
            ["make", "-s", "tests/lib/natives.so"], cwd=TOP_BUILD, check=False,
            capture_output=True).returncode:
        raise Skip("needs valgrind with its headers, and a build without sanitizers")
    s = Supd(box, {name: {"restart": "permanent", **spec} for name in NAMES},
             intensity="unlimited", env={"LD_PRELOAD": os.path.abspath(natives)},
             command=["valgrind", "--tool=callgrind", "--trace-children=yes",
                      f"--trace-children-skip=*/{os.path.basename(PROBE)}",
                      "--callgrind-out-file=" + box.path("out.%p"), SUPD],
             log={"level": "error", "target": "stderr", "directory": box.path("logs")})
    for name in NAMES:
        s.started(name)
    # To follow the events makes work, too.
    s.follow = False
    s.stream.close()
    s.stream = None
    return s, s.guardian()


@test("a restart takes at most 38,500 instructions with a cgroup and a log", timeout=120)
def defaults(box):
    count(box, 38500)


@test("a restart without cgroup and log takes at most 36,500 instructions", timeout=120)
def lean(box):
    count(box, 36500, containment="session", output="inherit")


@test("of an actor that has failed the figures take at most 36,500 instructions, a line 3,500", timeout=120)
def answers(box):
    s, guardian = begin(box)
    fail_all(s)
    for k, (method, parameters, most) in enumerate((("Metrics", {}, 36500),
                                                    ("Status", {"brief": True}, 3500))):
        dump(box, guardian, 2 * k + 1)
        for _ in range(10):
            s.call(method, **parameters)
        found = dump(box, guardian, 2 * k + 2)
        # Figures that the readers have no time for the guardian reads, more on a busy machine;
        # and a text is copied as it grows, or is not, as the heap has room behind it.
        by_chance = sum(found.get(name, (0, 0))[1] for name in ("usage_read", "realloc"))
        each = (found["all"][1] - by_chance) // (10 * len(NAMES))
        comment(f"{each} instructions in the guardian for an actor by {method}")
        check(each <= most, f"{each} instructions for an actor by {method}")


def count_supctl(box, socket, *words):
    """All instructions of one supctl."""
    path = box.path("out.supctl")
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={path}", SUPCTL, "-s", socket, *words],
                   check=True, capture_output=True, timeout=60)
    with open(path, encoding="utf8") as file:
        return read_calls(file.read())["all"][1]


@test("an actor that has failed takes at most 6,000 instructions in supctl, in a list of all", timeout=120)
def listed(box):
    s, _ = begin(box)
    fail_all(s)
    one, every = count_supctl(box, s.socket, "list", NAMES[0]), count_supctl(box, s.socket, "list")
    each = (every - one) // len(NAMES)
    comment(f"{each} instructions in supctl for an actor, {one} for a list of one")
    check(each <= 6000, f"{each} instructions for an actor")


@test("figures of an actor that has failed take at most 27,000 instructions in supctl", timeout=120)
def figures(box):
    s, _ = begin(box)
    fail_all(s)
    each = (count_supctl(box, s.socket, "metrics") - count_supctl(box, s.socket, "ping")) // len(NAMES)
    comment(f"{each} instructions in supctl for the figures of an actor")
    check(each <= 27000, f"{each} instructions for an actor")


main()
