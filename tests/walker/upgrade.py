#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""New binaries: the walker executes them, and goes back to the old one when they fail."""
import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PATIENCE, alive, check, equal, has, main, test
from walkers import EXITED, FAKE, Sub, Walker, check_delays, crash


@test("an upgrade runs the new binary, and the walker becomes it in place")
def upgrade(box):
    new = shutil.copy(FAKE, box.path("new"))
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do("store 1 300 1")
    guardian.do("ledger 9")
    orphan = guardian.child(44)
    for _ in range(3):
        guardian.do(f"upgrade {new}")
        guardian.send("exit 99")
        guardian = w.guardian()
        equal(guardian.hello["upgrade"], 1, "upgrade")
        equal(guardian.hello["crashes"], 0, "crashes")
        equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
        guardian.do("adopt")
        w.until(lambda: os.readlink(f"/proc/{w.pid}/exe") == new, "the walker's exec")
        os.kill(w.pid, signal.SIGHUP)
        guardian.expect("signal 1")
        equal(guardian.hello["vault"], 300, "descriptors")
        equal(guardian.hello["ledger"], 9, "the ledger")
    second = subprocess.run([FAKE, box.dir], stderr=subprocess.PIPE, check=False, timeout=10 * PATIENCE)
    equal(second.returncode, 69, "the lock")
    os.kill(orphan, signal.SIGTERM)
    equal(guardian.ends(1), [(orphan, EXITED, 44)], "the end of an adopted one")
    guardian = crash(w, guardian)
    equal(guardian.hello["upgrade"], 0, "upgrade")
    equal(guardian.hello["vault"], 300, "descriptors")
    equal(guardian.hello["moved"], 0, "wrong ones")
    equal(w.said().count("\n"), 1, "lines on stderr")
    guardian.send("exit 70")
    w.ended(70)


@test("signals that come while the walker executes itself are not lost")
def upgrade_signals(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    for i in range(20):
        guardian.do(f"upgrade {FAKE}")
        guardian.send("exit 99")
        guardian = w.guardian()
        child = guardian.child(i)
        guardian.send("adopt")
        os.kill(w.pid, signal.SIGUSR1)
        guardian.expect("signal 10")
        guardian.expect("done adopt")
        os.kill(child, signal.SIGKILL)
    guardian = crash(w, guardian)
    guardian.send("exit 0")
    w.ended(0)


@test("a new binary that dies twice before it has adopted is given up for the old one")
def bad_upgrade(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    old = os.readlink(f"/proc/{guardian.pid}/exe")
    guardian.do("upgrade /bin/false")
    guardian.send("exit 99")
    guardian = w.guardian()
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 1), "what it is told")
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), old, "what the guardian runs")
    equal(guardian.hello["crashes"], 2, "crashes")
    equal(guardian.hello["attempts"], 2, "attempts")
    has(w.said(), "back to the old one")
    guardian.do("adopt")
    equal(os.readlink(f"/proc/{w.pid}/exe"), old, "what the walker runs")
    guardian = crash(w, guardian)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 0), "what it is told")
    guardian.send("exit 0")
    w.ended(0)


@test("a new binary that ends in order before it has adopted does not end supd")
def final_upgrade(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do("upgrade /bin/true")
    guardian.send("exit 99")
    guardian = w.guardian()
    equal(guardian.hello["back"], 1, "is it the old one")
    guardian.do("adopt")
    guardian.send("exit 0")
    w.ended(0)


@test("the second attempt of a new binary is an upgrade, too, and comes at once")
def second_attempt(box):
    new = shutil.copy(FAKE, box.path("new"))
    w, guardian = on_trial(box, new)
    guardian = crash(w, guardian)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (1, 0), "what it is told")
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
    has(w.said(), "the next guardian starts in 0 ms")
    guardian.do("adopt")
    w.until(lambda: os.readlink(f"/proc/{w.pid}/exe") == new, "the walker's exec")
    guardian = crash(w, guardian)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 0), "what it is told")
    guardian.send("exit 0")
    w.ended(0)


@test("guardians that fail right after they have adopted come back later and later, no more")
def relapse(box):
    w = Walker(box)
    guardian = w.guardian()
    child = guardian.child(1)
    for i, signo in enumerate((signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)):
        guardian.do("adopt")
        guardian = crash(w, guardian, signo)
        equal(guardian.hello["attempts"], 0, "attempts")
        check_delays(w, i + 1)
    check(alive(child), "an actor is dead")
    os.kill(child, signal.SIGKILL)
    w.until(lambda: not alive(child), "its end")
    guardian.send("exit 0")
    w.ended(0)


def on_trial(box, new, n_actors=None, **times):
    """A walker that was upgraded to the binary `new`: it, and the new guardian.  With n_actors there is
    a ledger."""
    w = Walker(box, **times)
    guardian = w.guardian()
    guardian.do("adopt")
    if n_actors is not None:
        guardian.do(f"ledger 7 {n_actors}")
        guardian.expect("ack 0")
    guardian.do(f"upgrade {new}")
    guardian.send("exit 99")
    guardian = w.guardian()
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
    return w, guardian


@test("a new binary that fails soon after it has adopted is given up for the old one")
def trial(box):
    new = shutil.copy(FAKE, box.path("new"))
    for words, status in (("die 11", signal.SIGSEGV), ("exit 3", 3), ("", signal.SIGABRT)):
        sub = Sub(box, words.replace(" ", "-") or "silent")
        # A fake guardian never speaks to its watchdog: only the silent one is to have one.
        w, guardian = on_trial(sub, new, adopt_ms=60000, trial_ms=600000,
                               env={} if words else {"WATCHDOG_USEC": "2000000"})
        equal(guardian.hello["upgrade"], 1, "upgrade")
        guardian.do("adopt")
        equal(os.readlink(f"/proc/{w.pid}/exe"), FAKE, "what the walker runs")
        if words:
            guardian.send(words)
        guardian = w.guardian()
        equal(guardian.hello["status"], status, "how the new one ended")
        equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 1), "what it is told")
        equal(os.readlink(f"/proc/{guardian.pid}/exe"), FAKE, "what the guardian runs")
        has(w.said(), "failed soon after it had taken over: back to the old one")
        guardian.do("adopt")
        guardian.send("exit 0")
        w.ended(0)


@test("a new binary that has supervised for long enough is trusted, also by the walker")
def trusted(box):
    new = shutil.copy(FAKE, box.path("new"))
    w, guardian = on_trial(box, new, adopt_ms=60000, trial_ms=300)
    guardian.do("adopt")
    w.until(lambda: os.readlink(f"/proc/{w.pid}/exe") == new, "the walker's exec")
    guardian = crash(w, guardian, signal.SIGSEGV)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 0), "what it is told")
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
    guardian.send("exit 0")
    w.ended(0)


@test("a guardian that is killed after it has sent the new binary is no failure of that")
def killed_before(box):
    new = shutil.copy(FAKE, box.path("new"))
    w = Walker(box, adopt_ms=60000, trial_ms=600000)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do(f"upgrade {new}")
    guardian = crash(w, guardian)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (1, 0), "what it is told")
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
    guardian.do("adopt")
    guardian.send("exit 0")
    w.ended(0)


@test("a new binary that hangs before it has adopted is given up for the old one")
def hanging_upgrade(box):
    new = shutil.copy(FAKE, box.path("new"))
    w, guardian = on_trial(box, new, adopt_ms=1500)
    guardian = w.guardian()  # the new one says no more than hello
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), FAKE, "what the guardian runs")
    has(w.said(), r"did not take over in time \(1500 ms\): back to the old one")
    guardian.do("adopt")
    guardian.send("exit 0")
    w.ended(0)


@test("a new binary has 10 s and a millisecond for each actor to take over, silent or not", timeout=90)
def bound_of_an_upgrade(box):
    new = shutil.copy(FAKE, box.path("new"))
    trials = []
    for name, n_actors in (("silent", 0), ("busy", 1500)):
        w, guardian = on_trial(Sub(box, name), new, n_actors)
        trials.append((w, guardian, 10000 + n_actors))
    busy, beating, _ = trials[1]
    # The busy binary shows by beats that it lives, and never takes over.
    while not select.select([busy.listener], [], [], 1)[0]:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may just have been aborted
            beating.send("beat")
    for w, guardian, bound in trials:
        second = w.guardian()
        equal(os.readlink(f"/proc/{second.pid}/exe"), FAKE, "what the guardian runs")
        equal(second.hello["back"], 1, "is it the old one")
        has(w.said(), rf"did not take over in time \({bound} ms\): back to the old one")
        life = re.search(rf"guardian \(pid {guardian.pid}\) ended after (\d+) ms", w.said())
        check(int(life.group(1)) >= bound, f"given up after {life.group(1)} ms of {bound}")
        second.send("exit 0")
        w.ended(0)


@test("a guardian that makes room without having adopted anything is a failed attempt like others")
def no_upgrade(box):
    w = Walker(box)
    guardian = w.guardian()
    for i in range(1, 4):
        guardian.send("exit 99")
        guardian = w.guardian()
        equal(guardian.hello["attempts"], i, "attempts")
        equal(guardian.hello["upgrade"], 0, "upgrade")
    guardian.send("exit 0")
    w.ended(0)


main()
