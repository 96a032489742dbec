#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Some calls of malloc fail in the guardian (starve.c) while supctl asks for everything: the
call fails or the guardian ends, and the next one goes on; no actor is lost, none is there
twice."""
import collections
import os
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, alive
from harness import INSTRUMENTED, SUPCTL, Skip, check, comment, equal, has, main, program, test
from supd import full

LIBRARY = program("starve.so", "tests/lib", ".")
WORDS = struct.Struct("=4IQQ")
# So many calls fail at most in one round of verbs.
FAILURES = 20


class Starve:
    """The file that a starving guardian reads: struct starve."""

    def __init__(self, box):
        self.path = box.file("starve")
        self.write(0, 0, 0, 0)

    def write(self, pid, every, left, seed, ends=False):
        with open(self.path, "r+b") as out:
            out.write(WORDS.pack(pid, every, left, 0, seed, ends))

    def failed(self):
        with open(self.path, "rb") as words:
            return WORDS.unpack(words.read(WORDS.size))[3]


def begin(box):
    try:
        os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        raise Skip("malloc can be replaced with the GNU C library only") from None
    if INSTRUMENTED:
        raise Skip("a sanitizer has an allocator of its own")
    starve = Starve(box)
    tree = {"a": {}, "b": {}, "g": {"children": {"c": {}, "d": {}}},
            "w": {"replicas": 2, "command": ["sleep", "1000"]}}
    s = Chaos(box, tree, env={"LD_PRELOAD": LIBRARY, "STARVE": starve.path})
    s.until(s.was_ready, "READY=1", 20)
    s.settle()
    return s, starve


def verbs(s, new):
    """A call of each verb that leaves the actors as they were."""
    yield from (["status"], ["status", "a"], ["list"], ["tree"], ["explain", "a"],
                ["events"], ["logs", "a"], ["simulate", "a"], ["cat", "a"], ["diff"],
                ["apply"], ["is-active", "a"], ["is-failed", "a"], ["is-ready", "a"],
                ["pid", "a"], ["ping"], ["metrics"], ["version"], ["reset", "a"],
                ["wait", "a"], ["start", "a"], ["suspend", "b"], ["resume", "b"],
                ["signal", "WINCH", "b"], ["scale", "w", "3"], ["scale", "w", "2"],
                ["add", new, "--", "sleep", "1000"], ["stop", new], ["delete", new],
                ["restart", "g"], ["status", "g/*"],
                ["check", "-c", s.file], ["watch", "nobody"])


def ask(s, *args):
    """Whatever it answers, and if the guardian has no memory for an answer."""
    child = subprocess.run([SUPCTL, "-s", s.socket, "--timeout", "1s", *args],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=20, check=False)
    check(child.returncode >= 0, f"supctl {args} ended of signal {-child.returncode}")


@test("with 1 of 200, 40, 18 calls of malloc failing no verb loses or doubles an actor",
      timeout=120)
def every_verb(box):
    s, starve = begin(box)
    actors = s.consistent()
    kept = {full(name): actors[full(name)]["pid"] for name in ("a", "b", "w@1", "w@2")}
    deaths, failed = 0, 0
    for every in (200, 40, 18):
        guardian = s.guardian()
        starve.write(guardian, every, FAILURES, every)
        for verb in verbs(s, f"n{every}"):
            ask(s, *verb)
            if not alive(guardian):
                deaths += 1
                failed += starve.failed()
                guardian = s.successor(guardian)
                s.aged()
                starve.write(guardian, every, FAILURES, every + deaths)
        failed += starve.failed()
        starve.write(0, 0, 0, 0)
        s.settle()
        now = s.consistent()
        equal({path: now[path]["pid"] for path in kept}, kept, f"the actors after {every}")
    comment(f"{failed} calls failed, {deaths} guardians ended")


@test("a guardian that dies at the first, second or third call of malloc that fails is followed "
      "by one that has all actors, each once", timeout=120)
def death(box):
    s, starve = begin(box)
    before = {path: actor["pid"] for path, actor in s.consistent().items()}
    for n in range(1, 4):
        guardian = s.guardian()
        # With `ends` the guardian ends at the failing call: whether a guardian would live on without
        # this memory depends on the memory that its allocator still has.
        starve.write(guardian, 1, n, n, ends=True)
        os.kill(before[full("w@1")], signal.SIGKILL)
        s.until(lambda: not alive(guardian), "its death", 20)
        s.successor(guardian)
        starve.write(0, 0, 0, 0)
        s.until(lambda: s.actor("w@1")["generation"] == n + 1, "the next w@1", 20)
        s.settle()
        now = {path: actor["pid"] for path, actor in s.consistent().items()}
        equal({path: pid for path, pid in now.items() if before[path] != pid},
              {full("w@1"): now[full("w@1")]}, f"actors with another process after {n}")
        before = now
    with open(s.stderr, encoding="utf8") as log:
        equal(log.read().count("took over after a crash (SIGABRT)"), 3, "guardians that took over")


@test("where half of all calls of malloc fail a client is told so soon, or that the outcome is "
      "not known", timeout=300)
def told(box):
    s, starve = begin(box)
    words = collections.Counter()
    for n, verb in enumerate((["status"], ["ping"], ["stop", "a"], ["start", "a"],
                              ["restart", "g"], ["list"], ["metrics"], ["explain", "a"])):
        starve.write(s.guardian(), 2, 1 << 30, n + 1)
        child = subprocess.run([SUPCTL, "-s", s.socket, "--timeout", "1h", *verb],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=100, check=False, text=True)
        starve.write(0, 0, 0, 0)
        words[child.stdout if child.returncode else "an answer"] += 1
        if child.returncode != 0:
            has(child.stdout, "no memory for that now|outcome.* not known", f"the end of {verb}")
        s.successor(None)
        s.settle()
    s.ctl_ok("start", "a")
    s.settle()
    s.consistent()
    comment(str(dict(words)))


if __name__ == "__main__":
    main()
