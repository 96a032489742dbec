#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A configuration on trial: nothing of it fails meanwhile, or all is as it was."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, now_ns, test
from varlink import Varlink

NEVER = {"ready": "notify", "start_timeout": "1h"}  # never ready: the process sends no READY=1


def logged(s):
    with open(s.stderr, encoding="utf8") as text:
        return text.read()


def apply(s, ms, early=True):
    return s.call("Apply", rollback_ms=ms, commit_when_ready=early)["plan"]


@test("a configuration is kept when its actors become ready in time")
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
    apply(s, 3600000, early=False)  # a trial without a change is over at once


@test("an actor that is not ready in time has the configuration before put back")
def late(box):
    s = box.supd({"a": {}, "b": {}})
    s.started("a")
    pid = s.started("b")
    s.write({"a": NEVER, "b": {}, "c": {}})
    name, about = s.error_of("Apply", rollback_ms=2000)
    equal((name, about["name"], about["state"]), ("Timeout", "/user/a", "starting"), "the error")
    s.wait_for("/user/a", state="running", ready=True)
    s.until(lambda: s.paths() == ["/user", "/user/a", "/user/b"], "what was added to be gone")
    equal(s.actor("b")["pid"], pid, "one that did not change")
    s.event("applied", count=2)
    has(logged(s), "/user/a was not ready in time: back to the configuration of 20", "the log")
    changes = {change["path"]: change["change"] for change in s.call("Diff")["plan"]}
    equal(changes["/user/c"], "added", "the file is as it was")
    s.write({"a": {}, "b": {}, "c": {}})
    apply(s, 20000)
    s.wait_for("/user/c", state="running")


@test("a trial ends at once when one of its actors fails for good")
def failed(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {}, "b": {"command": ["/nonexistent/program"]}})
    name, about = s.error_of("Apply", rollback_ms=3600000)
    equal((name, about["name"], about["cause"]["kind"]),
          ("StartFailed", "/user/b", "exec"), "the error")
    s.until(lambda: s.paths() == ["/user", "/user/a"], "it to be gone")
    equal(s.actor("a")["generation"], 1, "one that did not change")


@test("a trial lasts for all of its time: any failure of its actors meanwhile takes it back")
def observed(box):
    s = box.supd({"a": {}, "b": {}, "sup": {"children": {"w": {}}}})
    s.started("w")
    changes = {  # the actor that is to fail → the actors with new keys
        "a": {"a": {"umask": "0077"}}, "b": {"b": {"description": "updated in place"}},
        "c": {"c": {"restart": "temporary"}}, "e": {"e": {"backoff": {"min": "1h", "max": "1h"}}}}
    for n, (name, change) in enumerate(changes.items()):
        s.write({"a": {}, "b": {}, "sup": {"children": {"w": {}}}} | change)
        with Varlink(s.socket) as caller:
            caller.send("Apply", {"rollback_ms": 3600000})
            s.event("applied", count=2 * n + 1)
            s.wait_for(f"/user/{name}", state="running", ready=True,
                       generation=2 if name == "a" else 1)
            s.started(name, 2 if name == "a" else 1)
            s.tell(name, "exit=9")
            reply = caller.receive()
        equal(reply.get("error", "").split(".")[-1], "StartFailed", f"the reply about {name}")
        equal((reply["parameters"]["name"], reply["parameters"]["cause"]["code"]),
              (f"/user/{name}", 9), "who, and why")
        check(reply["parameters"]["rolled_back_to"] < s.seen("applied")[0]["time"],
              "since when the one before is in force")
        s.event("applied", count=2 * n + 2)
        s.until(lambda: s.paths() == ["/user", "/user/a", "/user/b", "/user/sup", "/user/sup/w"]
                and s.ctl("is-ready", "/user/a", "/user/b").code == 0, "all as it was")


@test("what did not change may fail, and a trial without a failure is kept at its end")
def unconcerned(box):
    s = box.supd({"a": {}, "b": {}})
    s.started("b")
    s.write({"a": {}, "b": {}, "c": {}})
    # A supd that has slept for as long as that counts from the call, not from its sleep.
    idle = now_ns()
    s.until(lambda: now_ns() >= idle + 3e9, "time to pass")
    with Varlink(s.socket) as caller:
        begun = now_ns()
        caller.send("Apply", {"rollback_ms": 3000})
        s.started("c")
        s.tell("a", "exit=1")
        reply = caller.receive()
    check("error" not in reply, f"{reply}")
    check(now_ns() >= begun + 2998e6, "it was over early")
    equal(s.paths(), ["/user", "/user/a", "/user/b", "/user/c"], "what is in force")


@test("a trial goes on when the guardian dies: what fails after that takes it back")
def failed_after_crash(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {"umask": "0077"}, "b": {}})
    with Varlink(s.socket) as caller:
        caller.send("Apply", {"rollback_ms": 3600000})
        s.started("b")
        s.crash()
    s.tell("b", "exit=3")
    s.until(lambda: s.paths() == ["/user", "/user/a"], "what was added to be gone")
    has(logged(s), "/user/b exited with 3: back to the configuration of 20", "the log")


@test("while a configuration is on trial no other is applied")
def meanwhile(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {}, "b": NEVER})
    with Varlink(s.socket) as caller:
        caller.send("Apply", {"rollback_ms": 3600000})
        s.event("applied")
        s.wait_for("/user/b", state="starting")
        equal(s.error_of("Apply")[0], "InvalidState", "another Apply")
        equal(s.error_of("Apply", rollback_ms=5)[0], "InvalidState", "another trial")
        os.kill(s.guardian(), signal.SIGHUP)
        s.until(lambda: "a configuration is on trial" in logged(s), "the log")
    # The trial goes on when the client that asked for it has gone.
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
        caller.send("Apply", {"rollback_ms": 3600000, "commit_when_ready": True})
        s.started("a", 2)
        s.crash()
    equal(s.error_of("Apply")[0], "InvalidState", "it was forgotten")
    s.tell("a", "ready")
    s.wait_for("/user/a", state="running", ready=True)
    s.until(lambda: s.ctl("apply").code == 0, "the end of the trial")
    equal(s.actor("a")["generation"], 2, "starts")


@test("a trial that ends while no guardian lives is taken back by the next guardian")
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
    has(s.ctl_ok("apply", "--rollback", "20s", "--commit-when-ready").out, "added +/user/b",
        "the plan")
    s.write({"a": NEVER, "b": {}})
    result = s.ctl("apply", "--rollback", "300ms")
    equal(result.code, 124, "exit status")
    has(result.err, r"rolled back to the configuration of \d\d:\d\d:\d\d: /user/a was not ready",
        "stderr")
    s.write({"a": {}, "b": {}, "c": {"command": ["/nonexistent"]}})
    result = s.ctl("apply", "--rollback", "1h")
    equal(result.code, 1, "exit status")
    has(result.err, "rolled back to the configuration of .*: /user/c could not be executed", "stderr")
    equal(s.ctl("apply", "--commit-when-ready").code, 2, "early, and no trial")
    for wrong in ("0s", "5", "x"):
        equal(s.ctl("apply", "--rollback", wrong).code, 2, f"--rollback {wrong}")


if __name__ == "__main__":
    main()
