#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Back to the configuration that was in force before the last apply, and back again."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, test

A, AB, AC = ["/user", "/user/a"], ["/user", "/user/a", "/user/b"], ["/user", "/user/a", "/user/c"]


def now(s, paths, what):
    s.until(lambda: s.paths() == paths, f"{what}: {paths}")


@test("an undo leads to the configuration before the last apply, and can be undone")
def undo(box):
    s = box.supd({"a": {}})
    s.started("a")
    pid = s.actor("a")["pid"]
    for verb in ("diff", "apply"):
        result = s.ctl(verb, "--undo")
        equal(result.code, 7, f"{verb} --undo before any apply")
        has(result.err, "no other configuration was in force before", "the sentence")
    s.write({"a": {}, "b": {}})
    s.ctl_ok("apply")
    s.ctl_ok("apply")  # --undo passes over an apply without a change, such as a repeated call
    first = s.started("b")
    os.unlink(s.file)
    equal(s.ctl("diff", "-e", "--undo").code, 3, "it would change something")
    equal([change["change"] for change in s.call("Diff", undo=True)["plan"]
           if change["path"] == "/user/b"], ["removed"], "the plan")
    has(s.ctl_ok("apply", "--undo").out, "removed  /user/b", "what was done")
    now(s, A, "after the undo")
    equal(s.seen("applied")[-1]["plan"], [{"path": "/user/b", "change": "removed"}], "the event")
    s.ctl_ok("apply", "--undo")
    now(s, AB, "after the undo of the undo")
    check(s.actor("b")["pid"] != first, "it was not stopped")
    equal(s.actor("a")["pid"], pid, "one that did not change")


@test("an undo leads to what was in force, whatever put it there: a FILE, SIGHUP, another undo")
def whatever(box):
    s = box.supd({"a": {}})
    s.write({"a": {}, "b": {}})
    os.kill(s.guardian(), signal.SIGHUP)
    now(s, AB, "after SIGHUP")
    s.write({"a": {}, "c": {}})
    other = s.file + ".other"
    os.rename(s.file, other)
    s.ctl_ok("apply", other)
    now(s, AC, "after apply FILE")
    s.ctl_ok("apply", "--undo")
    now(s, AB, "after an undo")
    s.write({"a": {}})
    s.ctl_ok("apply")
    now(s, A, "the file is read as before")
    equal(s.ctl("apply", "--undo", other).code, 2, "an undo and a file")
    equal(s.error_of("Apply", undo=True, file=other)[0], "InvalidParameter", "the same")


@test("what an undo leads to survives guardians")
def survives(box):
    s = box.supd({"a": {}})
    s.write({"a": {}, "b": {}})
    s.ctl_ok("apply")
    for paths in (A, AB):
        s.crash()
        s.crash()
        s.ctl_ok("apply", "--undo")
        now(s, paths, "after a crash and an undo")


@test("a trial that is taken back leaves what an undo leads to; one that is kept replaces it")
def trials(box):
    s = box.supd({"a": {}})
    s.write({"a": {}, "b": {}})
    s.ctl_ok("apply")
    s.write({"a": {}, "c": {"command": ["/nonexistent"]}})
    equal(s.ctl("apply", "--rollback", "1h").code, 1, "a trial that fails")
    now(s, AB, "after the trial")
    s.crash()
    s.ctl_ok("apply", "--undo")
    now(s, A, "after an undo")
    s.write({"a": {}, "c": {}})
    s.ctl_ok("apply", "--rollback", "1h", "--commit-when-ready")
    s.crash()
    s.ctl_ok("apply", "--undo")
    now(s, A, "after a trial that was kept, and an undo")
    s.ctl_ok("apply", "--undo", "--rollback", "1h", "--commit-when-ready")
    now(s, AC, "after an undo on trial")


@test("an apply that fails leaves what an undo leads to")
def failed(box):
    s = box.supd({"a": {}})
    s.write({"a": {}, "b": {}})
    s.ctl_ok("apply")
    s.write({"a": {}, "c": {"nonsense": 1}})
    equal(s.ctl("apply").code, 1, "a file with an error")
    s.write({"a": {}, "c": {"sockets": {"s": "tcp:192.0.2.1:80"}}})
    equal(s.ctl("apply").code, 1, "a socket that cannot be opened")
    s.ctl_ok("apply", "--undo")
    now(s, A, "after the undo")


@test("undo after undo keeps one configuration, and no more descriptors")
def bounded(box):
    s = box.supd({"a": {}})
    s.write({"a": {}, "b": {}})
    s.ctl_ok("apply")

    def frozen(pid):
        names = [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
        return {os.stat(name).st_ino for name in names if "supd-conf" in os.readlink(name)}
    for paths in (A, AB) * 4:
        s.ctl_ok("apply", "--undo")
        now(s, paths, "after an undo")
    s.until(lambda: len(frozen(s.guardian())) == len(frozen(s.process.pid)) == 2,
            "two configurations: the one in force and the one before")


if __name__ == "__main__":
    main()
