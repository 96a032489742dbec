# SPDX-License-Identifier: ISC
"""What tests of supctl share: one command against a supd of canned answers."""
import os
import pty
import subprocess

from fake_supd import GUARD_S, cause, command, environment, supctl, Reply, Skip


def check(condition, seen):
    if not condition:
        raise AssertionError(repr(seen))


def expect(result, status, out=None, err=None):
    """Exit status, all of standard output, and something that is in standard error."""
    check(result.status == status, result)
    if out is not None:
        check(result.out == out, result)
    if err is None:
        check(result.err == "", result)
    else:
        check(err in result.err, result)
        check(result.err.startswith("supctl: ") or ":" in result.err, result)


def using(supd, body):
    try:
        body(supd)
        check(not supd.problems, supd.problems)
    finally:
        supd.close()


def one(supd, *arguments, status=0, out=None, err=None, **more):
    """One command against a supd of its own; returns the calls that supd got."""
    def body(s):
        expect(supctl(s, *arguments, **more), status, out, err)
    using(supd, body)
    return supd.calls


PONG = {"version": "9.9", "pid": 77, "walker_pid": 0, "uptime_ms": 7200000}


def pong(parameters, supd):
    return [Reply(dict(PONG))]


def event(seq, name, path="/user/web", **fields):
    result = {"seq": seq, "time": "2024-05-01T12:00:01.123456Z", "mono": 1,
              "event": name, "path": path, "incarnation": 1, "generation": 1}
    result.update(fields)
    return result


STORY = [
    event(1, "supd", path="/", what="started"),
    event(2, "started", pid=100),
    event(3, "ready"),
    event(4, "exited", cause=cause(), utime_us=8000, stime_us=4000, maxrss_kib=3482),
    event(5, "failure", cause=cause(), origin="/user/web", directive="restart",
          rule="supd.yaml:12", strategy="rest_for_one",
          scope=["/user/web", "/user/cache"], window=2, limit=5, within_ms=60000,
          delay_ms=200),
    event(6, "backoff", delay_ms=200),
    event(7, "killed_after_timeout"),
    event(8, "terminated", cause=cause("exited with code 0"), existence_confirmed=True),
    event(9, "gave_up", path="/user", intensity=5, within="60s", offender="/user/web"),
    event(10, "escalated", to="/user", cause=cause(), origin="/user/web"),
    event(11, "command", verb="stop", uid=54321, pid=55),
    event(11, "command", verb="stop", uid=0, pid=55, program="supctl\x1b"),
    event(12, "applied", path="/", plan=[{"path": "/user/a", "change": "added",
                                          "keys": []}]),
    event(13, "somersault", height=3, style="back\x1b"),
]


def said(path, text, place="", time=None, stream="stdout", more=True):
    return Reply({"path": path, "time": time, "stream": stream + (place and "@" + place),
                  "text": text}, more=more)


def begins(path, place):
    return said(path, "", place, stream="")


def end(path, state="stopped", **fields):
    result = {"path": path, "incarnation": 1, "cause": None, "state": state,
              "existence_confirmed": True}
    result.update(fields)
    return result


def change(path, kind, effect, *values):
    return {"path": path, "change": kind, "effect": effect, "keys": [v[0] for v in values],
            "values": [{"key": k, "old": old, "new": new} for k, old, new in values]}


def on_a_terminal(supd, *arguments, errors=False, **env):
    """What supctl prints when standard output, with `errors` also standard error, is a terminal."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        raise Skip(str(error)) from error
    ctl = subprocess.Popen(command("-s", supd.path, *arguments), stdin=subprocess.DEVNULL,
                           stdout=slave, stderr=slave if errors else None,
                           env=environment(**env))
    os.close(slave)
    data = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    ctl.wait(GUARD_S)
    os.close(master)
    return data
