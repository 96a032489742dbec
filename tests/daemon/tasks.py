#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""stop_command and reload_command: run beside a process, to end it or to reload its files."""
import os
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, alive, check, equal, has, main, run, test, SUPD


def script(box, text):
    """A command that writes to the file `told` of the box."""
    return ["/bin/sh", "-c", text.replace("@", box.path("told"))]


def told(box, s, count=1):
    """Wait until the file `told` has `count` lines; gives the lines."""
    path = box.path("told")

    def lines():
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf8") as text:
            found = text.read().splitlines()
        return found if len(found) >= count else None

    return s.until(lines, f"{count} lines in {path}")


def helper(s, *actions):
    return [PROBE, s.dir, "+helper", *actions]


@test("stop_command asks the process to end, and no signal is sent")
def stop_command(box):
    s = box.supd({"a": {"stop_command": script(
        box, "echo $SUPD_HOOK $SUPD_REASON $SUPD_PID $SUPD_GENERATION $SUPD_RESTART_COUNT "
        "$SUPD_PATH >>@; kill -USR1 $SUPD_PID; kill -TERM $SUPD_PID"), "stop_signal": "INT"}})
    a = s.started("a")
    s.ctl_ok("stop", "a")
    equal(told(box, s), [f"stop_command stop {a} 1 0 /user/a"], "what it was told")
    equal(len(s.lines("s", "a")), 1, "other signals that a got")
    equal(s.seen("hook_failed"), [], "hooks that failed")
    equal(s.actor("a")["state"], "stopped", "the state")
    check(s.ctl_ok("start", "a") and s.started("a", 2) != a, "the same pid")


@test("where stop_command fails that is told and the stop signal sent")
def fails(box):
    s = box.supd({"a": {"stop_command": "/bin/sh -c 'exit 3'"}})
    s.started("a")
    s.ctl_ok("stop", "a")
    failed = s.event("hook_failed", "a")
    equal((failed["hook"], failed["cause"]["kind"], failed["cause"]["code"],
           failed["timed_out"]), ("stop_command", "exit", 3, False), "the event")
    equal(len(s.lines("t", "a")), 1, "stop signals")
    has(open(s.stderr, encoding="utf8").read(),
        "/user/a: hook_failed: stop_command: exited with 3", "the log")
    equal(len(s.seen("hook_failed")), 1, "failures told")


@test("a stop_command that cannot be executed has failed")
def missing(box):
    s = box.supd({"a": {"stop_command": "/no/such/program"}})
    s.started("a")
    s.ctl_ok("stop", "a")
    failed = s.event("hook_failed", "a")
    equal((failed["cause"]["kind"], failed["cause"]["errno"], failed["step"]),
          ("exec", "ENOENT", "exec"), "the event")
    equal(len(s.lines("t", "a")), 1, "stop signals")


@test("after `shutdown` the process is killed, and its stop_command with all that it forked")
def hangs(box):
    s = box.supd({"a": {"shutdown": "300ms"}})
    s.write({"a": {"shutdown": "300ms", "stop_command": helper(s, "ignore", "fork=3")}})
    s.started("a")
    s.ctl_ok("apply")
    s.ctl_ok("stop", "a")
    s.event("killed_after_timeout", "a")
    pids = {line.pid for line in s.lines("SF", "+helper")}
    equal(len(pids), 1, "helpers")
    equal([pid for pid in pids if alive(pid)], [], "helpers that live on")
    equal(len(s.lines("t", "a")), 0, "stop signals")
    equal(s.seen("hook_failed"), [], "hooks that failed: it is told of once")


@test("an actor is gone only when its stop_command has ended as well")
def outlives(box):
    s = box.supd({"a": {"shutdown": "10s", "stop_command": script(
        box, "kill -TERM $SUPD_PID; while kill -0 $SUPD_PID; do :; done; sleep .3; "
        "echo done >>@")}, "b": {}})
    s.started("b")
    s.ctl_ok("stop", "a")
    equal(told(box, s), ["done"], "what the command did")
    check(s.event("stopped", "a")["mono"] - s.event("exited", "a")["mono"] >= 299e6,
          "it was stopped before its command had ended")


@test("what a stop_command leaves behind is killed")
def leaves(box):
    s = box.supd({"a": {}})
    s.write({"a": {"stop_command": helper(s, "daemon", "fork=2")}})
    s.started("a")
    s.ctl_ok("apply")
    s.ctl_ok("stop", "--no-wait", "a")
    daemon = s.line("d", "+helper").pid
    s.tell("+helper", "exit=1")
    s.event("hook_failed", "a")
    check(not alive(daemon), "the daemon is alive")
    s.event("stopped", "a")


@test("reload sends HUP, or the signal that reload_signal names")
def reload_signal(box):
    s = box.supd({"a": {}, "b": {"reload_signal": "USR2"}})
    s.started("b")
    s.ctl_ok("signal", "a", "reload")
    equal(s.line("s", "a").more, "1", "the signal")
    s.ctl_ok("signal", "b", "reload")
    equal(s.line("s", "b").more, "12", "the signal")
    equal(s.event("command", "b")["signal"], "reload", "the event")
    s.ctl_ok("stop", "a")
    equal(s.ctl("signal", "a", "reload").code, 7, "the status where nothing runs")


def go_on(fifo):
    with open(fifo, "w", encoding="ascii") as gate:
        gate.write("\n")


@test("a reload runs reload_command; two more reloads meanwhile run it once more")
def reload_command(box):
    fifo = box.path("gate")
    os.mkfifo(fifo)
    s = box.supd({"a": {"reload_command": script(
        box, f"echo $SUPD_HOOK $SUPD_PID >>@; read x <{fifo}")}})
    a = s.started("a")
    s.ctl_ok("signal", "a", "reload")
    told(box, s)
    s.ctl_ok("signal", "a", "reload")
    s.ctl_ok("signal", "a", "reload")
    go_on(fifo)
    equal(told(box, s, 2), [f"reload_command {a}"] * 2, "what it was told")
    go_on(fifo)
    s.ctl_ok("signal", "a", "USR1")
    s.line("s", "a")
    equal([line.more for line in s.lines("s", "a")], ["10"], "signals")
    s.ctl_ok("signal", "a", "reload")
    equal(len(told(box, s, 3)), 3, "reloads")
    mark = s.mark()
    s.ctl_ok("stop", "a")
    equal(s.order(mark), ["t a", "x a"], "the stop: what reloads is killed")
    equal(s.seen("hook_failed"), [], "hooks that failed")


@test("a reload_command that fails is told of, and nothing else happens")
def reload_fails(box):
    s = box.supd({"a": {"reload_command": "/bin/sh -c 'kill -SEGV $$$$'"}})
    a = s.started("a")
    s.ctl_ok("signal", "a", "reload")
    failed = s.event("hook_failed", "a")
    equal((failed["hook"], failed["cause"]["signal"]), ("reload_command", "SEGV"), "the event")
    equal((s.actor("a")["pid"], s.actor("a")["state"]), (a, "running"), "the actor")


@test("a reload_command that takes longer than hook_timeout is killed with all it forked")
def reload_hangs(box):
    s = box.supd({"a": {}})
    s.write({"a": {"hook_timeout": "400ms",
                   "reload_command": helper(s, "ignore", "daemon", "fork=2")}})
    a = s.started("a")
    s.ctl_ok("apply")
    s.ctl_ok("signal", "a", "reload")
    failed = s.event("hook_failed", "a")
    equal((failed["timed_out"], failed["reason"]), (True, "reload"), "the event")
    left = [line.pid for line in s.lines("SFd", "+helper") if alive(line.pid)]
    equal(left, [], "processes of the helper")
    equal(s.actor("a")["pid"], a, "the pid")


@test("output, environment and directory of a reload_command are those of the actor")
def surroundings(box):
    s = box.supd({"a": {"environment": {"WORD": "word"}, "directory": box.dir,
                        "reload_command": "/bin/sh -c 'echo said $WORD in $PWD; umask; "
                                          "exit 1'", "umask": "0027"}})
    s.started("a")
    s.ctl_ok("signal", "a", "reload")
    s.event("hook_failed", "a")
    text = s.until(lambda: "0027" in (out := s.ctl("logs", "a").out) and out, "the log")
    has(text, f"said word in {box.dir}", "the log")


@test("a reload_command runs as the actor's user, which only root can change", root=True)
def user(box):
    nobody = pwd.getpwnam("nobody")
    s = box.supd({"a": {"user": "nobody", "reload_command": "/bin/sh -c 'id -u; id -g'"}})
    s.started("a")
    s.ctl_ok("signal", "a", "reload")
    text = s.until(lambda: str(nobody.pw_gid) in (out := s.ctl("logs", "a").out) and out,
                   "the log")
    has(text, str(nobody.pw_uid), "the log")


@test("a changed stop_command takes effect in place")
def in_place(box):
    s = box.supd({"a": {}})
    a = s.started("a")
    s.write({"a": {"stop_command": "/bin/sh -c 'kill -TERM $SUPD_PID'",
                   "reload_command": "true"}})
    has(s.ctl_ok("apply").out, "updated", "the plan")
    equal(s.actor("a")["pid"], a, "the pid")


@test("--check warns of a stop_command or reload_command with a missing program")
def checked(box):
    file = box.file("x.yaml", "children: {a: {command: /bin/true, stop_command: /no/stop,\n"
                              "  reload_command: [/no/reload]}}\n")
    result = run(SUPD, "--check", "-c", file)
    equal(result.code, 0, "the status")
    has(result.err, "stop_command: there is no program `/no/stop`", "the warnings")
    has(result.err, "reload_command: there is no program `/no/reload`", "the warnings")


if __name__ == "__main__":
    main()
