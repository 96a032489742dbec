#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd without systemd: as the first process of a container, and as an ordinary user.

Containers are made by unshare(1), and by systemd-nspawn where there is the root directory
of tests/systemd.  In both, files have the same names as outside.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos
from harness import (PATIENCE, SUPCTL, SUPD, Failure, Skip, alive, check, equal, has, main, test,
                     unshare)
from machine import ROOT, look_at

NOBODY = 65534
DEADLY = [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT]


def by_unshare(_):
    return unshare()


def nspawn(box):
    if shutil.which("systemd-nspawn") is None or not os.path.isdir(ROOT):
        raise Skip("no systemd-nspawn with a root directory: see tests/lib/machine.py")
    name = re.sub("[^a-z0-9]", "", os.path.basename(box.dir).lower())
    return ["systemd-nspawn", "-q", "-D", ROOT, "--machine=t" + name, "--volatile=overlay",
            "--register=no", "--keep-unit", "--link-journal=no", "--kill-signal=SIGTERM",
            "--console=pipe", f"--bind={box.dir}", f"--bind-ro={SUPD}", "--"]


# The root directory cannot be written, nor /proc/sys; of devices there is, perhaps, /dev/null;
# there are no cgroups, no /dev/log and nothing in /run.
BARE = """
set -e
: >"$0/null"
mount --bind "$0" "$0"
mount --bind /dev/null "$0/null"
mount -o remount,bind,ro /
mount -t tmpfs none /run
mount -t tmpfs none /sys
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -t tmpfs none /dev
%s
mount -o remount,ro /dev
exec "$@"
"""


def in_bare(box, devices=': >/dev/null; mount --bind "$0/null" /dev/null'):
    """As little as a container may be; the box is what can be written."""
    words = [*unshare(), "/bin/sh", "-c", BARE % devices, box.dir]
    if subprocess.run([*words, "/bin/true"], capture_output=True, check=False).returncode != 0:
        raise Skip("nothing can be mounted here")
    return words


def as_nobody(box):
    """The same, and an ordinary user in it."""
    return [*in_bare(box), "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
            "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]


class First:
    """A container, with supd as its process 1."""

    def __init__(self, box, how, tree, top="", log=None):
        self.box, self.file = box, box.path("supd.yaml")
        self.socket, self.said = box.path("run/control.sock"), box.path("said")
        log = log or f"{{directory: {box.path('logs')}, target: stderr}}"
        self.top = f"log: {log}\n{top}"
        self.write(tree)
        with open(self.said, "wb") as said:
            self.process = box.popen(*how(box), SUPD, "-c", self.file, "-r",
                                     box.path("run"), stdout=said, stderr=said)
        self.walker = 0

    def up(self):
        """Wait until the tree is."""
        self.until(lambda: self.ctl("ping").returncode == 0, "supd")
        self.walker = self.until(self.find_walker, "the first process")
        return self

    def write(self, tree):
        with open(self.file, "w", encoding="utf8") as file:
            file.write(self.top + "children:\n" +
                       "".join(f"  {name}: {spec}\n" for name, spec in tree.items()))

    def until(self, condition, what, timeout=20):
        end, ended = time.monotonic() + timeout * PATIENCE, None
        while time.monotonic() < end and ended is None:
            ended = self.process.poll()
            value = condition()
            if value:
                return value
            time.sleep(0.01)
        raise Failure(f"waited for {what}; {self.heard()[-3000:]}")

    def heard(self):
        """The messages of supd and of other programs on its stderr."""
        with open(self.said, encoding="utf8", errors="replace") as said:
            return said.read()

    def ctl(self, *words):
        return subprocess.run([SUPCTL, "-s", self.socket, *words], capture_output=True,
                              text=True, timeout=30, check=False)

    def pid(self, name):
        """The actor's pid in the container, once the actor has a process."""
        self.until(lambda: self.ctl("pid", name).returncode != 3, f"a process of {name}")
        done = self.ctl("pid", name)
        equal(done.returncode, 0, f"pid of {name}: {done.stderr}; status")
        return int(done.stdout)

    def processes(self, top):
        """The process `top`, a pid outside the container, and all processes below it."""
        found, queue = [], [(top, 0)]
        while queue:
            process = look_at(*queue.pop())
            if process:
                found.append(process)
                queue += [(child, process.pid) for child in process.children]
        return found

    def find_walker(self):
        return next((process.host for process in self.processes(self.process.pid)
                     if process.pid == 1 and os.path.basename(process.argv[0]) == "supd"), 0)

    def guardian(self):
        return next((process for process in self.processes(self.walker)
                     if process.parent == 1 and process.argv[1:2] == ["@guardian"]), None)

    def crash(self, signo):
        old = self.until(self.guardian, "a guardian")
        os.kill(old.host, signo)
        self.until(lambda: (new := self.guardian()) and new.pid != old.pid and
                   self.ctl("ping").returncode == 0, f"a successor of {old.pid}")

    def inside(self, script, ends=False):
        done = subprocess.run(["nsenter", "-t", str(self.walker), "-p", "-m", "/bin/sh", "-c",
                               script], capture_output=True, timeout=30, check=False)
        # A command that ends process 1 may be killed with it before it can report success.
        check(done.returncode == 0 or ends and done.returncode == -signal.SIGKILL,
              lambda: f"{script}: {done.stderr}; status {done.returncode}")

    def ended(self, status):
        """Wait for the container's end; nothing of it is left."""
        own = [process.host for process in self.processes(self.walker)] if self.walker else []
        self.until(lambda: self.process.poll() is not None, "the container's end")
        equal(self.process.returncode, status, f"{self.heard()[-3000:]}\nstatus")
        self.until(lambda: not any(alive(pid) for pid in own), "the end of all of it")


def in_both(sentence, **options):
    """One test for each way to make a container."""
    def register(function):
        for how, name in (by_unshare, "unshare"), (nspawn, "systemd-nspawn"):
            test(f"{sentence} ({name})", root=True, **options)(
                lambda box, h=how: function(box, h))
        return function
    return register


SLEEP = "{command: [sleep, infinity]}"


@in_both("as process 1: whatever kills the guardian, the actors run on, and the end is 0")
def crashes(box, how):
    s = First(box, how, {"a": SLEEP, "b": SLEEP}).up()
    pids = [s.pid(name) for name in "ab"]
    for signo in DEADLY * 2:
        s.crash(signo)
        equal([s.pid(name) for name in "ab"], pids, "pids")
    os.kill(s.walker, signal.SIGTERM)
    s.ended(0)


@in_both("as process 1: an adopted actor that dies is reaped and started again")
def adopted(box, how):
    s = First(box, how, {"a": SLEEP}).up()
    s.crash(signal.SIGKILL)
    old = s.pid("a")
    s.inside(f"kill -SEGV {old}")
    s.until(lambda: s.ctl("pid", "a").stdout.strip() not in ("", str(old)), "its next life")
    check("SIGSEGV" in s.ctl("explain", "a").stdout, s.ctl("explain", "a").stdout)
    s.inside("kill -INT 1", ends=True)
    s.ended(0)


@in_both("as process 1: strangers are reaped, by walker and guardian, before and after deaths")
def strangers(box, how):
    fork = "n=0; while [ $n -lt 50 ]; do (sleep 0.01 & sleep 0.02 &); n=$((n + 1)); done"
    s = First(box, how, {"a": SLEEP, "forks": '{command: ["/bin/sh", "-c", "%s; exec sleep '
                         'infinity"]}' % fork.replace("$", "$$")}).up()
    for signo in DEADLY:
        s.inside(fork)
        s.crash(signo)
        s.ctl("restart", "forks")
    s.until(lambda: not [p for p in s.processes(s.walker) if p.state == "Z"], "no zombies")
    s.until(lambda: len(s.processes(s.walker)) == 5, lambda: "five processes, not "
            f"{[process.argv for process in s.processes(s.walker)]}")
    os.kill(s.walker, signal.SIGTERM)
    s.ended(0)


@in_both("as process 1: HUP, USR1 and QUIT are heard, from outside and inside")
def signals(box, how):
    s = First(box, how, {"a": '{command: ["/bin/sh", "-c", "while echo x; do sleep 0.05; '
                         'done"]}'}).up()
    log = box.path("logs/user/a.log")
    s.until(lambda: os.path.exists(log), "its log")
    os.rename(log, log + ".old")
    os.kill(s.walker, signal.SIGUSR1)
    s.until(lambda: os.path.exists(log), "a new log")
    s.write({"a": SLEEP, "b": SLEEP})
    s.inside("kill -HUP 1")
    s.until(lambda: s.ctl("pid", "b").returncode == 0, "b")
    s.crash(signal.SIGKILL)
    s.write({"c": SLEEP})
    os.kill(s.walker, signal.SIGHUP)
    s.until(lambda: s.ctl("pid", "c").returncode == 0, "c")
    s.inside("kill -QUIT 1", ends=True)
    s.ended(0)


@in_both("as process 1: a signal that ends supd is not lost with its guardian")
def late_term(box, how):
    s = First(box, how, {"a": SLEEP}).up()
    guardian = s.guardian()
    os.kill(guardian.host, signal.SIGSTOP)
    os.kill(s.walker, signal.SIGTERM)
    os.kill(guardian.host, signal.SIGKILL)
    s.ended(0)


@in_both("as process 1: what supd exits with is what the container exits with")
def statuses(box, how):
    s = First(box, how, {"a": SLEEP})
    s.up()
    s.crash(signal.SIGKILL)
    equal(s.ctl("shutdown").returncode, 0, "supctl shutdown")
    s.ended(0)
    First(box, how, {"a": "{comand: [sleep]}"}).ended(78)
    First(box, how, {"a": "{command: ['false']}"}, "intensity: {restarts: 1, within: 60s}\n"
          ).ended(70)


@in_both("as process 1: when the walker is killed the kernel ends everything")
def walker_killed(box, how):
    s = First(box, how, {"a": SLEEP, "b": '{command: ["/bin/sh", "-c", "setsid sleep '
                         'infinity & exec sleep infinity"]}'}).up()
    own = [process.host for process in s.processes(s.walker)]
    os.kill(s.walker, signal.SIGKILL)
    s.until(lambda: s.process.poll() is not None, "the container's end")
    check(s.process.returncode != 0, "it is said to have ended well")
    s.until(lambda: not any(alive(pid) for pid in own), "the end of all of it")


@test("systemd-nspawn that is told to end has supd end in order", root=True)
def told(box):
    s = First(box, nspawn, {"a": '{command: ["/bin/sh", "-c", "trap \'sleep 0.3; echo bye; '
                            'exit 0\' TERM; sleep infinity & wait"]}'}).up()
    s.crash(signal.SIGKILL)
    s.process.terminate()
    s.ended(0)
    with open(box.path("logs/user/a.log"), encoding="utf8") as log:
        check("bye" in log.read(), "its last words")


# ---- as little as a container may be ------------------------------------------------------


def in_bare_ones(sentence):
    """Register the test twice: as root and as an ordinary user."""
    def register(function):
        for how, name in (in_bare, "root"), (as_nobody, "an ordinary user"):
            test(f"{sentence} ({name})", root=True)(lambda box, h=how: function(box, h))
        return function
    return register


def speaker(box, name):
    """An actor that prints a line at its start, and writes to `ended` a moment after TERM."""
    return ('{command: ["/bin/sh", "-c", "trap \'sleep 0.1; echo %s >>%s; exit 0\' TERM; '
            'echo %s is here; sleep infinity & wait"]}' % (name, box.path("ended"), name))


@in_bare_ones("as process 1 of a bare container: deaths, strangers, and an end in order")
def in_order(box, how):
    os.chmod(box.file("ended"), 0o666)
    s = First(box, how, {**{name: speaker(box, name) for name in "abc"}, "forks":
                         '{command: ["/bin/sh", "-c", "(sleep 0.01 &); (setsid sleep infinity '
                         '&); exec sleep infinity"]}'}).up()
    for signo in DEADLY:
        s.crash(signo)
        equal(s.ctl("restart", "forks").returncode, 0, "the status of a restart")
    done = s.ctl("upgrade")
    equal(done.returncode, 0, f"upgrade: {done.stderr}; status")
    s.until(lambda: len(s.processes(s.walker)) == 3 + 3 * 2 + 2, lambda: "the actors' processes "
            f"and no others: {[process.argv for process in s.processes(s.walker)]}")
    s.until(lambda: "b is here" in s.ctl("logs", "b").stdout, "the log")
    os.kill(s.walker, signal.SIGTERM)
    s.ended(0)
    with open(box.path("ended"), encoding="ascii") as ended:
        equal(ended.read().split(), ["c", "b", "a"], "who ended in which order")


@in_bare_ones("as process 1 where nothing can be logged: told, and the end does not wait for it")
def unwritable(box, how):
    # No directory of this name is there already, with another owner.
    logs = f"/var/log/{os.path.basename(box.dir)}"
    s = First(box, how, {"a": speaker(box, "a"), "b": SLEEP},
              log=f"{{directory: {logs}, target: syslog}}").up()
    has(s.heard(), r"warning: log\.directory: user \d+ cannot write there", "at the start")
    s.until(lambda: f"{logs}/user/a.log: Read-only file system" in s.heard(), "a complaint")
    has(s.heard(), r"log to /dev/log: No such file", "what is said of syslog")
    os.kill(s.walker, signal.SIGTERM)
    s.ended(0)
    check("killed_after_timeout" not in s.heard(), s.heard())


@test("as process 1 without /dev/null: refused, with a word on it (71)", root=True)
def no_null(box):
    s = First(box, lambda box: in_bare(box, ":"), {"a": SLEEP})
    s.ended(71)
    has(s.heard(), "open /dev/null", "what it says")


# ---- as an ordinary user -------------------------------------------------------------------

BROOD = ["/bin/sh", "-c", "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; "
         "exec sleep 1000"]


@test("without privileges and cgroups: deaths, adoption by session, and nothing is left",
      root=True)
def unprivileged(box):
    s = Chaos(box, {"a": {}, "b": {"children": {"c": {}}}, "brood": {"command": BROOD}},
              uid=NOBODY)
    s.until(lambda: s.counts["supd", "/"] >= 2, "supd to be ready")
    s.settle()
    brood = s.until(lambda: len(found := sleepers(s)) == 4 and found, "the brood")
    for signo in DEADLY:
        s.crash(signo)
        equal(sleepers(s), brood, "the brood")
    s.call("Stop", names=["brood"])
    s.until(lambda: not any(alive(pid) for pid in brood), "the end of the brood")
    s.tell("a", "exit=7")
    s.started("a", 2)
    s.consistent()
    equal(os.stat(s.socket).st_uid, NOBODY, "the socket's owner")


def sleepers(s):
    """The processes of the brood."""
    found = set()
    for process in First.processes(s, s.process.pid):
        if process.argv[:2] == ["sleep", "1000"]:
            found.add(process.host)
    return found


if __name__ == "__main__":
    main()
