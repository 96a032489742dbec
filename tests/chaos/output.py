#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The output of actors over deaths of the guardian and of the log process, and upgrades under load."""
import json
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import check, equal, outage
from crashes import start
from harness import SUPD, comment, has, main, test, Skip
from varlink import VarlinkError

UPGRADES = int(os.environ.get("CHAOS_UPGRADES", "5"))


def drips(box, name):
    """The numbers that reached the actor's log file."""
    try:
        with open(box.path(f"logs/user/{name}.log"), encoding="utf8") as text:
            return [int(line.rsplit(" ", 1)[1]) for line in text if line.endswith("\n")
                    and " drip " in " " + line]
    except FileNotFoundError:
        return []


def log_pid(s):
    try:
        return s.actor("/system/log")["pid"]
    except VarlinkError as error:
        equal(error.name, "NoSuchActor", "the error")
        raise Skip("there is no log process") from None


def dripping(box, s, lines, deeds):
    """Let a and b write `lines` lines while the deeds are done; none may be missing."""
    for name in "ab":
        s.tell(name, f"drip={lines}")
    for deed in deeds:
        s.until(lambda n=len(drips(box, "a")): len(drips(box, "a")) > n
                or s.counts["E", "a"], "more lines")
        deed()
    s.until(lambda: s.counts["E", "a"] and s.counts["E", "b"], "the last line to be written",
            60)
    for name in "ab":
        s.until(lambda n=name: drips(box, n)[-1:] == [1], f"the last line of {name}", 20)
        got = drips(box, name)
        equal(len(got), lines, f"lines of {name}")
        equal(got, list(range(lines, 0, -1)), f"the lines of {name}")


@test("no line of output is lost or doubled when guardians die", timeout=90)
def output_guardian(box):
    s = start(box, {"a": {}, "b": {}})
    log_pid(s)
    dripping(box, s, 1500, [s.crash] * 3)
    s.consistent()


@test("no line of output is lost or doubled when the log process dies, or both do",
      timeout=90)
def output_log(box):
    s = start(box, {"a": {}, "b": {}})

    def kill_log():
        old = log_pid(s)
        s.kill_guardian(old)
        s.until(lambda: log_pid(s) not in (None, old), "another log process")

    def kill_both():
        os.kill(log_pid(s), signal.SIGKILL)
        s.crash()

    dripping(box, s, 3000, [kill_log, kill_both, kill_log, s.crash])
    s.consistent()


@test("an actor's last words, said while there was no guardian, are in the file and explained",
      timeout=60)
def last_words(box):
    s = start(box, {"a": {}, "b": {}})

    def during():
        os.kill(log, signal.SIGKILL)
        s.tell("a", "say=drip 7")
        s.tell("a", "exit=1")
        s.line("x", "a")

    log = log_pid(s)
    outage(s, during)
    s.started("a", 2)
    s.until(lambda: drips(box, "a") == [7], "the last words")
    s.consistent()


def upgradable(box, tree, **options):
    """A supd with a copy of the binary in the box, which the test can replace."""
    binary = shutil.copy(SUPD, box.path("supd"))
    return start(box, tree, command=[binary], **options), binary


def replace(binary, other):
    """As a package manager does it: a new file under the old name."""
    shutil.copy(other, binary + ".new")
    os.chmod(binary + ".new", 0o755)
    os.rename(binary + ".new", binary)


@test(f"{UPGRADES} upgrades under load: no actor notices, both versions and the outage told",
      timeout=60 + 3 * UPGRADES)
def upgrades(box):
    s, binary = upgradable(box, {"a": {}, "b": {},
                                 "c": {"backoff": {"min": "20ms", "max": "40ms"}}},
                           intensity="unlimited")
    pids, walker = dict(s.pids), s.process.pid
    lives = 1
    for _ in range(UPGRADES):
        old = s.guardian()
        replace(binary, SUPD)
        s.tell("c", "exit=1")
        out = s.ctl_ok("upgrade", timeout=30).out
        has(out, r"\d+\.\d+.*\d+ ms", "what upgrade prints")
        check(s.guardian() != old, "the guardian is the old one")
        lives += 1
        s.until(lambda: s.counts["S", "c"] >= lives, "c's next life")
    equal(s.process.pid, walker, "the walker's pid")
    equal((s.pids["a"], s.pids["b"]), (pids["a"], pids["b"]), "the pids")
    check(any("upgraded" in json.dumps(event) for event in s.seen("supd")), "no event")
    s.settle()
    s.consistent()
    fds = s.descriptors_of(walker), s.descriptors_of(s.guardian())
    comment(f"descriptors of walker and guardian: {fds}")


@test("an upgrade to what does not run, or against a broken file, is refused beforehand")
def refused_upgrade(box):
    s, binary = upgradable(box, {"a": {}, "b": {}})
    old, pids = s.guardian(), dict(s.pids)
    replace(binary, "/bin/false")
    check(s.ctl("upgrade", timeout=30).code != 0, "it was not refused")
    replace(binary, SUPD)
    with open(s.file, encoding="utf8") as text:
        good = text.read()
    with open(s.file, "w", encoding="utf8") as out:
        out.write("children: [\n")
    check(s.ctl("upgrade", timeout=30).code != 0, "it was not refused")
    equal((s.guardian(), s.pids), (old, pids), "pids")
    with open(s.file, "w", encoding="utf8") as out:
        out.write(good)
    s.ctl_ok("upgrade", timeout=30)
    check(s.guardian() != old, "the guardian is the old one")
    equal(s.pids, pids, "pids")
    s.consistent()


@test("a crash after an upgrade, and an upgrade after a crash, adopt as ever", timeout=60)
def upgrade_and_crash(box):
    s, binary = upgradable(box, {"a": {}, "b": {}})
    pids = dict(s.pids)
    s.ctl_ok("upgrade", timeout=30)
    s.crash()
    replace(binary, SUPD)
    s.ctl_ok("upgrade", timeout=30)
    os.unlink(binary)
    s.crash()
    equal(s.pids, pids, "pids")
    s.consistent()


if __name__ == "__main__":
    main()
