#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A configuration on trial: what it starts is ready in time, or all is as it was."""
import os
import signal

from lib import check, equal, has, main, test
from varlink import Varlink

NEVER = {"ready": "notify", "start_timeout": "1h"}  # it never says so


def logged(s):
    with open(s.stderr, encoding="utf8") as text:
        return text.read()


def apply(s, ms):
    return s.call("Apply", rollback_ms=ms)["plan"]


@test("a configuration whose actors become ready in time is kept")
def kept(box):
    s = box.supd({"a": {}, "b": {}})
    first = s.started("a"), s.started("b")
    s.write({"a": {"umask": "0077"}, "b": {}, "c": {"enabled": False}, "d": {}})
    plan = {change["path"]: change["change"] for change in apply(s, 20000)}
    equal((plan["/user/a"], plan["/user/b"], plan["/user/d"]), ("restarted", "unchanged", "added"),
          "the plan")
    s.started("d")
    check(s.actor("a")["pid"] != first[0], "it was told before the new process was there")
    equal(s.actor("b")["pid"], first[1], "one that did not change")
    s.crash()
    equal(s.paths(), ["/user", "/user/a", "/user/b", "/user/c", "/user/d"], "after a crash")
    equal(s.call("Diff")["plan"][0]["change"], "unchanged", "the file is in force")
    apply(s, 1000)  # one that starts nothing is over at once


@test("one that is not ready in time has the configuration before put back")
def late(box):
    s = box.supd({"a": {}, "b": {}})
    s.started("a")
    pid = s.started("b")
    s.write({"a": NEVER, "b": {}, "c": {}})
    error = s.error_of("Apply", rollback_ms=700)
    equal(error, ("Timeout", {"name": "/user/a", "state": "starting"}),
          "the error")
    s.wait_for("/user/a", state="running", ready=True)
    s.until(lambda: s.paths() == ["/user", "/user/a", "/user/b"], "what was added to be gone")
    equal(s.actor("b")["pid"], pid, "one that did not change")
    equal(len(s.seen("applied")), 2, "applied")
    has(logged(s), "/user/a was not ready in time: back to the configuration before", "the log")
    changes = {change["path"]: change["change"] for change in s.call("Diff")["plan"]}
    equal(changes["/user/c"], "added", "the file is as it was")
    s.write({"a": {}, "b": {}, "c": {}})
    apply(s, 20000)
    s.started("c", 2)


@test("one that fails for good is not waited for")
def failed(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {}, "b": {"command": ["/nonexistent/program"]}})
    name, about = s.error_of("Apply", rollback_ms=3600000)
    equal((name, about["name"], about["cause"]["kind"]),
          ("StartFailed", "/user/b", "exec"), "the error")
    s.until(lambda: s.paths() == ["/user", "/user/a"], "it to be gone")
    equal(s.actor("a")["generation"], 1, "one that did not change")


@test("while a configuration is tried no other is applied")
def meanwhile(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {}, "b": NEVER})
    with Varlink(s.socket) as caller:
        caller.send("Apply", {"rollback_ms": 3600000})
        s.wait_for("/user/b", state="starting")
        equal(s.error_of("Apply")[0], "InvalidState", "another Apply")
        equal(s.error_of("Apply", rollback_ms=5)[0], "InvalidState", "another trial")
        os.kill(s.guardian(), signal.SIGHUP)
        s.until(lambda: "not while a configuration is tried" in logged(s), "the log")
    # Whoever asked for it may go away: it goes on.
    equal(s.error_of("Apply")[0], "InvalidState", "another Apply")
    s.stop()


@test("a trial goes on when the guardian dies: what is not ready in time is taken back")
def late_after_crash(box):
    s = box.supd({"a": {}, "b": {}})
    s.started("a")
    s.write({"a": NEVER, "b": {}, "c": {}})
    with Varlink(s.socket) as caller:
        caller.send("Apply", {"rollback_ms": 3000})
        s.event("applied")
        s.crash()
        s.wait_for("/user/a", state="running", ready=True)
    s.until(lambda: s.paths() == ["/user", "/user/a", "/user/b"], "what was added to be gone")
    s.crash()
    equal(s.paths(), ["/user", "/user/a", "/user/b"], "after another crash")


@test("a trial goes on when the guardian dies: what becomes ready in time is kept")
def kept_after_crash(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {"ready": "notify"}})
    with Varlink(s.socket) as caller:
        caller.send("Apply", {"rollback_ms": 3600000})
        s.started("a", 2)
        s.crash()
    equal(s.error_of("Apply")[0], "InvalidState", "it was forgotten")
    s.tell("a", "ready")
    s.wait_for("/user/a", state="running", ready=True)
    s.until(lambda: s.ctl("apply").code == 0, "the end of the trial")
    equal(s.actor("a")["generation"], 2, "starts")


@test("a trial whose time runs out while no guardian lives is taken back by the next")
def unseen(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": NEVER})
    with Varlink(s.socket) as caller:
        caller.send("Apply", {"rollback_ms": 3000})
        s.event("applied")
        guardian = s.guardian()
        s.signal(signal.SIGSTOP)
        os.kill(guardian, signal.SIGKILL)
        s.until(lambda: not os.path.exists(f"/proc/{guardian}/exe"), "its end")
        s.signal(signal.SIGCONT)
    s.caller = None
    s.until(lambda: s.ctl("is-active", "/user").code == 0, "another guardian")
    s.wait_for("/user/a", state="running", ready=True)


@test("supctl apply --rollback waits for the end, and says what came of it")
def by_supctl(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {}, "b": {}})
    has(s.ctl_ok("apply", "--rollback", "20s").out, "added +/user/b", "the plan")
    s.write({"a": NEVER, "b": {}})
    result = s.ctl("apply", "--rollback", "300ms")
    equal(result.code, 124, "exit status")
    has(result.err, "/user/a.*\n.*not kept", "stderr")
    s.write({"a": {}, "b": {}, "c": {"command": ["/nonexistent"]}})
    result = s.ctl("apply", "--rollback", "1h")
    equal(result.code, 1, "exit status")
    has(result.err, "/user/c.*\n.*not kept", "stderr")
    for wrong in ("0s", "5", "x"):
        equal(s.ctl("apply", "--rollback", wrong).code, 2, f"--rollback {wrong}")


if __name__ == "__main__":
    main()
