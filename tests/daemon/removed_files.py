#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The files by which supd is found are removed: it makes them anew, and no actor notices."""
import os
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import INSTRUMENTED
from harness import SUPD, Skip, alive, check, equal, has, main, program, run, test
from supd import Supd


def said(s):
    with open(os.path.join(s.dir, "stderr"), encoding="utf8") as text:
        return text.read()


def identity(path):
    st = os.lstat(path)
    return st.st_dev, st.st_ino


def lost(s, count=1):
    """Wait until it was told, on the connection that is open; ask on a new one."""
    s.until(lambda: len(s.seen("supd", "/", what="files_lost")) == count, "the event")
    equal(s.ctl("is-ready", "a").code, 0, "is-ready on a new connection")


def second(s, *more):
    """The end of another supd with the same configuration."""
    return run(SUPD, "-c", s.file, *more)


@test("the control socket is removed: it is there again, with its mode, as often as that happens")
def control_socket(box):
    s = box.supd({"a": {}}, control={"mode": "0620"})
    pid = s.started("a")
    for n in (1, 2, 3):
        os.unlink(s.socket)
        lost(s, n)
        equal(stat.S_IMODE(os.stat(s.socket).st_mode), 0o620, "the mode")
    has(said(s), rf"error +the control socket {s.socket} was removed: it is made anew")
    equal(s.actor("a")["pid"], pid, "the pid of a")
    old = s.guardian()
    os.rename(s.socket, s.socket + ".away")
    lost(s, 4)
    equal(s.guardian(), old, "the guardian")


@test("the runtime directory is removed: directory, lock and socket are made anew")
def runtime_directory(box):
    s = box.supd({"a": {"runtime_directory": True}, "b": {}})
    pids, lock = [s.started("a"), s.started("b")], os.path.join(s.runtime, "supd.lock")
    before = identity(lock)
    shutil.rmtree(s.runtime)
    lost(s)
    check(identity(lock) != before, "the lock is the old one")
    check(os.path.isdir(os.path.join(s.runtime, "actors", "user:a")), "no directory of a")
    done = second(s, "-r", s.runtime)
    equal(done.code, 69, f"a second supd: {done}; status")
    has(done.err, "another supd runs in")
    equal([s.actor(name)["pid"] for name in "ab"], pids, "the pids")
    # The next guardian knows the new lock.
    old = s.guardian()
    os.kill(old, signal.SIGKILL)
    s.until(lambda: "took over after a crash" in said(s), "the next one")
    equal(s.ctl("is-ready", "a").code, 0, "is-ready")
    check("files_lost" not in said(s).split("took over after a crash")[1], said(s))
    done = second(s, "-r", s.runtime)
    equal(done.code, 69, f"a second supd after a crash: {done}; status")
    s.acknowledged = True
    s.process.send_signal(signal.SIGTERM)
    s.ended(0)


@test("the lock alone is removed: supd tells that and makes it anew, and a second supd is refused")
def lock_alone(box):
    s = box.supd({"a": {}})
    pid, lock = s.started("a"), os.path.join(s.runtime, "supd.lock")
    before = [identity(path) for path in (lock, s.socket)]
    for n in (1, 2):
        os.unlink(lock)
        lost(s, n)
        old, before[0] = before[0], identity(lock)
        check(before[0] != old, "the lock is the old one")
        equal(identity(s.socket), before[1], "the control socket")
        done = second(s, "-r", s.runtime)
        equal(done.code, 69, f"a second supd: {done}; status")
        has(done.err, "another supd runs in")
    has(said(s), rf"error +the runtime directory {s.runtime} or the lock in it was removed: it is made anew")
    equal(s.actor("a")["pid"], pid, "the pid of a")


@test("the runtime directory gets another name: it is made anew under its own")
def renamed(box):
    s = box.supd({"a": {}})
    pid = s.started("a")
    os.rename(s.runtime, s.runtime + ".away")
    lost(s)
    check(os.path.exists(os.path.join(s.runtime, "supd.lock")), "no lock")
    equal(s.actor("a")["pid"], pid, "the pid of a")


@test("where the kernel watches no directory that is said, and removals are noticed at SIGHUP")
def unwatched(box):
    if INSTRUMENTED:
        raise Skip("what is preloaded comes before the sanitizer")
    s = box.supd({"a": {}}, env={"LD_PRELOAD": os.path.abspath(program("unnotified.so", "tests/lib", "."))})
    pid = s.started("a")
    has(said(s), "watch a directory of supd's own files: .*: its removal is noticed at SIGHUP only")
    os.unlink(s.socket)
    s.process.send_signal(signal.SIGHUP)
    lost(s)
    shutil.rmtree(s.runtime)
    s.process.send_signal(signal.SIGHUP)
    lost(s, 2)
    check(os.path.exists(os.path.join(s.runtime, "supd.lock")), "no lock")
    equal(s.actor("a")["pid"], pid, "the pid of a")


@test("what was removed while no guardian looked is made anew by the next one")
def unseen(box):
    s = box.supd({"a": {}, "b": {}})
    guardian, pids = s.guardian(), [s.started("a"), s.started("b")]
    os.kill(guardian, signal.SIGSTOP)
    shutil.rmtree(s.runtime)
    done = second(s, "-r", s.runtime)
    equal(done.code, 69, f"a second supd: {done}; status")
    has(done.err, rf"the supd of pid {s.process.pid} runs in .*, although its files were removed")
    os.kill(guardian, signal.SIGKILL)
    s.until(lambda: "files_lost" in said(s), "word of it")
    s.until(lambda: s.ctl("is-ready", "a").code == 0, "an answer on the new socket")
    check(all(alive(pid) for pid in pids), "an actor is dead")
    s.acknowledged = True
    s.process.send_signal(signal.SIGTERM)
    s.ended(0)


@test("a second supd with another directory and the same control socket kills no living one's actors")
def same_socket(box):
    path = box.path("control.sock")
    s = Supd(box, {"a": {}}, control={"socket": path}, wait=False)
    s.socket = path
    s.until(lambda: any("READY=1" in note for note in s.notes), "READY=1")
    pid, guardian = s.actor("a")["pid"], s.guardian()
    os.kill(guardian, signal.SIGSTOP)
    os.unlink(path)
    done = second(s, "-r", box.path("other"))
    os.kill(guardian, signal.SIGCONT)
    equal(done.code, 69, f"the second supd: {done}; status")
    has(done.err, rf"another supd with the control socket {path} is alive \(pid {s.process.pid}\)")
    lost(s)
    equal(s.actor("a")["pid"], pid, "the pid of a")


main()
