#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Failures of processes that live: the watchdog, their own reports, a signal that stops them."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, main, test

RESUME = [{"when": ["watchdog", "self_report"], "then": "resume"}, "default"]


def causes(s, name):
    return [(event["cause"]["kind"], event["cause"]["key"], event["directive"])
            for event in s.seen("failure", name)]


def explained(s, *words):
    """`supctl explain` says all of this, in this order."""
    text = s.ctl_ok("explain", "a").out
    at = 0
    for word in words:
        found = text.find(word, at)
        check(found >= 0, f"explain lacks {word!r}: {text!r}")
        at = found


def warnings(s):
    """The lines of supd's log about failures of `a`, which are warnings."""
    with open(s.stderr, encoding="utf8") as text:
        lines = [line for line in text if "/user/a: failure" in line]
    check(all(" warning " in line for line in lines), f"how loud: {lines}")
    return lines


@test("165 watchdog and resume: it is left running, with one warning for each period")
def resumed(box):
    s = box.supd({"a": {"watchdog": "200ms"}}, decider=RESUME)
    pid = s.started("a")
    s.event("failure", "a", count=3)
    actor = s.wait_for("a", state="running", pid=pid, restarts=0)
    equal(actor["last_failure"]["cause"]["kind"], "watchdog", "the cause")
    equal(set(causes(s, "a")), {("watchdog", None, "resume")}, "the failures")
    times = [event["mono"] for event in s.seen("failure", "a")]
    check(all(b - a >= 150_000_000 for a, b in zip(times, times[1:])), f"too often: {times}")
    explained(s, "did not report to its watchdog in time", "resume: let it go on", "since")
    told = warnings(s)
    equal(len(told), len(s.seen("failure", "a")), f"lines of the log: {told}")


@test("165 watchdog and restart: it is ended by SIGABRT, then replaced")
def restarted(box):
    s = box.supd({"a": {"watchdog": "200ms", "limits": {"core": 0}}, "b": {}})
    s.started("a", 2)
    end = s.seen("exited", "a")[0]["cause"]
    equal(end["signal"], "ABRT", "the signal")
    equal(s.seen("failure", "a")[0]["cause"]["kind"], "watchdog", "the cause")
    explained(s, "did not report to its watchdog in time", "restart: start it again",
              "automatic restart")
    s.ctl_ok("stop", "a")
    equal(len(s.seen("started", "b")), 1, "starts of b")


@test("watchdog_signal is what is sent; a process that ignores it is killed after its shutdown time")
def deaf(box):
    s = box.supd({"a": {"watchdog": "200ms", "watchdog_signal": "USR1", "shutdown": "300ms"}})
    line = s.line("s", "a")
    equal(line.more, str(int(signal.SIGUSR1)), "the signal")
    s.event("killed_after_timeout", "a")
    s.started("a", 2)


@test("WATCHDOG_USEC is in the environment, and a process may have another period or none")
def periods(box):
    s = box.supd({"a": {"watchdog": "1s", "do": ["report", "notify=WATCHDOG_USEC=0"]},
                  "b": {"watchdog": "1h", "do": ["notify=WATCHDOG_USEC=200000"]}},
                 decider=RESUME)
    pid = s.line("R", "a").pid
    with open(box.path(f"report.a.{pid}/environ"), encoding="utf8") as text:
        environ = dict(pair.partition("=")[::2] for pair in text.read().split("\0"))
    equal(environ["WATCHDOG_USEC"], "1000000", "WATCHDOG_USEC")
    equal(int(environ["WATCHDOG_PID"]), pid, "WATCHDOG_PID")
    s.event("failure", "b", count=8)
    equal(s.seen("failure", "a"), [], "failures of a")


@test("WATCHDOG=trigger fails at once")
def trigger(box):
    s = box.supd({"a": {"watchdog": "1h", "limits": {"core": 0}}})
    s.started("a")
    s.tell("a", "notify=WATCHDOG=trigger")
    s.started("a", 2)
    equal(causes(s, "a"), [("watchdog", None, "restart")], "the failures")


@test("31 a process reports failures of its own, which rules know by name")
def reports(box):
    s = box.supd({"a": {}, "b": {}}, decider=[
        {"when": {"self_report": ["disk", "EIO"]}, "then": "resume"}, "default"])
    pid = s.started("a")
    for text in ("X_SUPD_FAIL=disk\nERRNO=28", "ERRNO=5", "ERRNO=0", "ERRNO=x", "X_SUPD_FAIL="):
        s.tell("a", "notify=" + text)
    s.event("failure", "a", count=2)
    s.tell("a", "notify=STATUS=all told")
    s.wait_for("a", status="all told", pid=pid, restarts=0)
    equal(causes(s, "a"), [("self_report", "disk", "resume"), ("self_report", "EIO", "resume")],
          "the failures")
    equal(s.seen("failure", "a")[0]["cause"]["errno"], "ENOSPC", "the errno")
    s.tell("a", "notify=X_SUPD_FAIL=other")
    s.started("a", 2)
    equal(s.actor("a")["last_failure"]["cause"]["key"], "other", "the key")


@test("160 stopped_is_failure: a process that stops itself is continued, the same process")
def continued(box):
    s = box.supd({"a": {"stopped_is_failure": True}})
    pid = s.started("a")
    os.kill(pid, signal.SIGSTOP)
    s.event("failure", "a")
    equal(s.line("s", "a").more, str(int(signal.SIGCONT)), "the signal")
    s.wait_for("a", state="running", pid=pid, sigstopped=False, restarts=0)
    cause = s.seen("failure", "a")[0]["cause"]
    equal((cause["kind"], cause["signal"]), ("stopped", "STOP"), "the cause")
    explained(s, "was stopped by SIGSTOP", "resume: let it go on", f"process {pid}")
    equal(len(warnings(s)), 1, "lines of the log")


@test("168 while a signal has stopped a process its watchdog does not expire")
def stopped(box):
    s = box.supd({"a": {"watchdog": "2s"}, "b": {"watchdog": "800ms"}}, decider=RESUME)
    pid = s.started("a")
    os.kill(pid, signal.SIGSTOP)
    s.wait_for("a", sigstopped=True, state="running", pid=pid)
    s.event("failure", "b", count=4)
    equal(s.seen("failure", "a"), [], "failures while it was stopped")
    os.kill(pid, signal.SIGCONT)
    s.event("failure", "a")


@test("EXTEND_TIMEOUT_USEC gives it longer to start than start_timeout")
def extended(box):
    s = box.supd({"a": {"ready": "notify", "start_timeout": "700ms",
                        "do": ["notify=EXTEND_TIMEOUT_USEC=60000000"]},
                  "b": {"ready": "notify", "start_timeout": "700ms"}}, start="parallel",
                 wait=False)
    s.event("failure", "b", count=2)
    equal(s.seen("failure", "a"), [], "failures of a")
    s.tell("a", "ready")
    s.event("ready", "a")


if __name__ == "__main__":
    main()
