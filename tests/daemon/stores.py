#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What a process leaves for its successor: the fd store and the runtime directory."""
import os
import pwd
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPD, check, equal, main, test
from storer import Storer


@test("161 resume: the descriptors are handed back under their names; restart: none are")
def resume_and_restart(box):
    a = Storer(box)
    equal(a.start()["fds"], [], "at first")
    a.do("put one 11", "put two 22")
    again = a.end(10)
    equal(again["fds"], [["one", "11"], ["two", "22"]], "after a resume")
    equal(a.end(20)["fds"], [], "after a restart")


@test("161 resume: the file is in the runtime directory; restart: the directory is empty")
def directory(box):
    a = Storer(box, {"runtime_directory": True})
    first = a.start()
    equal((first["files"], first["owner"]), ([], [os.geteuid(), 0o755]), "at first")
    check(first["directory"].startswith(a.s.runtime + "/"), first["directory"])
    a.do("file state 1", "file deep/er/est 2")
    equal(a.end(10)["files"], ["deep", "state"], "after a resume")
    last = a.end(20)
    equal((last["files"], last["directory"]), ([], first["directory"]), "after a restart")
    a.do("file state 3")
    os.write(a.fifo, b"exit 30\n")
    a.s.wait_for("a", state="failed")
    check(not os.path.exists(first["directory"]), "the directory after a stop for good")


@test("keep_on_restart: what it names survives a restart, but not a stop")
def keep(box):
    a = Storer(box, {"runtime_directory": True, "keep_on_restart": ["fds", "runtime_directory"]})
    a.start()
    a.do("put one 11", "file state 1")
    again = a.end(20)
    equal((again["fds"], again["files"]), ([["one", "11"]], ["state"]), "after a restart")
    a.s.ctl_ok("restart", "a")
    again = a.start()
    equal((again["fds"], again["files"]), ([["one", "11"]], ["state"]), "after one by hand")
    a.s.ctl_ok("stop", "a")
    a.s.ctl_ok("start", "a")
    again = a.start()
    equal((again["fds"], again["files"]), ([], []), "after a stop")


@test("the store: a bound, names, the same twice, removal, an end that hung up")
def rules(box):
    a = Storer(box)
    a.start()
    a.do("put one 1", "again", "put b:ad 2", "put three 3", "put four 4")
    equal(a.kept(), [["one", "1"], ["stored", "2"], ["three", "3"]], "kept")
    a.do("drop stored", "drop nothing", "put five 5")
    equal(a.kept(), [["one", "1"], ["three", "3"], ["five", "5"]], "after a removal")
    a.do("drop one", "drop three", "pipe polled", "pipe kept FDPOLL=0")
    equal([name for name, _ in a.kept()], ["five", "kept"], "after its other end hung up")


@test("fd_store 0, the default, keeps nothing and leaks nothing")
def none(box):
    a = Storer(box, {"fd_store": 0, "notify": True})
    a.start()
    before = len(os.listdir(f"/proc/{a.s.guardian()}/fd"))
    a.do("put one 1", "put two 2")
    a.s.until(lambda: len(os.listdir(f"/proc/{a.s.guardian()}/fd")) <= before, "them closed")
    equal(a.end(10)["fds"], [], "after a resume")


@test("stored descriptors come behind the sockets")
def behind_sockets(box):
    a = Storer(box, {"sockets": {"web": f"unix:{box.path('web.sock')}"}})
    equal([name for name, _ in a.start()["fds"]], ["web"], "at first")
    a.do("put one 1")
    equal([name for name, _ in a.kept()], ["web", "one"], "after a resume")


@test("as many sockets and descriptors as there may be, with the longest of names: all arrive")
def very_many(box):
    sockets = {f"web{n}": f"unix:{box.path(f'{n}.sock')}" for n in range(60)}
    a = Storer(box, {"sockets": sockets, "fd_store": 128})
    guardian = a.s.guardian()
    equal([name for name, _ in a.start()["fds"]], list(sockets), "at first")
    stored = [[f"{n}".zfill(255), str(n)] for n in range(128)]
    a.do(*(f"put {name} {text}" for name, text in stored), "put more 1")
    for _ in range(2):
        found = a.end(10)["fds"]
        equal([name for name, _ in found[:60]], list(sockets), "sockets after a resume")
        equal(found[60:], stored, "kept")
    equal(a.s.guardian(), guardian, "the guardian")


@test("no stored descriptor is left in walker or guardian when the actor is stopped")
def no_leak(box):
    a = Storer(box)
    a.start()
    a.s.ctl_ok("stop", "a")

    def count():
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (a.s.process.pid, a.s.guardian())]

    a.s.until(lambda: a.s.call("Ping"), "Ping")
    before = count()
    for _ in range(3):
        a.s.ctl_ok("start", "a")
        a.start()
        a.do("put one 1", "put two 2")
        a.s.ctl_ok("stop", "a")
    a.s.until(lambda: count() <= before, lambda: f"{before}, now {count()}")


@test("the runtime directory belongs to the actor's user", root=True)
def owner(box):
    nobody = pwd.getpwnam("nobody")
    a = Storer(box, {"runtime_directory": True, "user": "nobody"})
    first = a.start()
    equal(first["owner"], [nobody.pw_uid, 0o755], "owner and mode")
    a.do("file state 1")
    equal(a.end(20)["files"], [], "after a restart")


@test("a link in the runtime directory is removed, its target is not; no deep directory is left")
def links(box):
    a = Storer(box, {"runtime_directory": True})
    where = a.start()["directory"]
    precious = box.path("precious")
    os.mkdir(precious)
    with open(os.path.join(precious, "file"), "w", encoding="utf8") as out:
        out.write("x")
    os.symlink(precious, os.path.join(where, "link"))
    a.do("file " + "d/" * 200 + "x 1", *(f"file many/{n} 1" for n in range(50)))
    equal(a.end(20)["files"], [], "after a restart")
    gone = os.path.join(a.s.runtime, "gone")
    a.s.until(lambda: os.listdir(gone) == [], lambda: f"{os.listdir(gone)} to go")
    equal(os.listdir(precious), ["file"], "what the link pointed to")


@test("what a supd that was killed with its walker left behind is not found by the next one")
def left_behind(box):
    a = Storer(box, {"runtime_directory": True})
    where = a.start()["directory"]
    a.do("file state 1")
    a.s.slay()
    os.makedirs(where, exist_ok=True)
    second = box.popen(SUPD, "-c", a.s.file, "-r", a.s.runtime, stderr=subprocess.DEVNULL)
    found = a.start()
    equal((found["directory"], found["files"]), (where, []), "what the next one found")
    second.terminate()
    equal(second.wait(), 0, "its exit status")
    check(not os.path.exists(os.path.dirname(where)), "actors/ after an ordered end")


if __name__ == "__main__":
    main()
