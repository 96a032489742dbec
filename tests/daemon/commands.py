#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""start, stop, hold, restart, kill, reset, signal, and what happens when they meet."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, SUPCTL, check, equal, has, main, test


def kids(names, **common):
    return {name: dict(common) for name in names}


def behind(box, s, *args):
    """A supctl that goes on while the test does."""
    return box.popen(SUPCTL, "-s", s.socket, *args, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE)


@test("stop returns when the actor is gone, start when it is ready")
def waits(box):
    s = box.supd({"a": {"ready": "notify", "do": ["delay=200", "200:ready"]}})
    s.started("a")
    s.ctl_ok("stop", "a")
    s.pump(0)
    equal(len(s.lines("x", "a")), 1, "ends of a when stop returned")
    equal(s.actor("a")["state"], "stopped", "the state")
    s.ctl_ok("start", "a")
    s.pump(0)
    equal(len(s.lines("r", "a")), 2, "READY of a when start returned")
    actor = s.actor("a")
    equal((actor["state"], actor["ready"], actor["generation"]), ("running", True, 2), "status")


@test("--no-wait returns at once")
def no_wait(box):
    s = box.supd({"a": {"do": ["ignore"], "shutdown": "1h"}})
    s.started("a")
    s.ctl_ok("stop", "--no-wait", "a")
    equal(s.actor("a")["state"], "stopping", "the state")
    s.tell("a", "exit=0")
    s.wait_for("a", state="stopped")


@test("stop of what is stopped and start of what runs are 0 and change nothing")
def idempotent(box):
    s = box.supd({"a": {}, "b": {}})
    pid = s.started("a")
    s.ctl_ok("start", "a")
    equal(s.actor("a")["pid"], pid, "a's pid")
    s.ctl_ok("stop", "b")
    s.ctl_ok("stop", "b")
    equal((len(s.lines("S", "a")), len(s.lines("t", "b"))), (1, 1), "starts and stops")


@test("a command that cannot be obeyed now says what is in its way")
def in_the_way(box):
    s = box.supd({"a": {"enabled": False}, "g": {"children": {"x": {}}}})
    s.started("x")
    s.ctl_ok("stop", "g")
    s.ctl_ok("stop", "--hold", "a")
    for arguments, words in (
            (("start", "g/x"), "its supervisor /user/g does not run; start the supervisor first"),
            (("restart", "g/x"), "its supervisor /user/g does not run; start the supervisor first"),
            (("restart", "a"), "it is held down; 'start' releases the hold"),
            (("fail", "a"), "the actor has no process; start the actor first"),
            (("suspend", "a"), "the actor has no process; start the actor first")):
        r = s.ctl(*arguments)
        equal(r.code, 7, f"the exit status of {arguments}")
        has(r.err, words, f"what {arguments} says")


@test("a pattern that stops the whole tree starts it again, and one of /system finds what is below")
def whole_tree(box):
    s = box.supd({"a": {}, "d": {"enabled": False}, "g": {"children": {"x": {}}}})
    s.started("x")
    s.ctl_ok("stop", "**")
    s.ctl_ok("start", "**")
    s.started("a", 2)
    s.started("x", 2)
    equal(s.actor("d")["state"], "stopped", "what is not enabled")
    has(s.ctl("list", "/system/**").out, "/system/log +running", "below /system")
    check("/system" not in s.ctl("list", "**").out, "/system is among the others")


@test("what supd itself needs is neither stopped nor suspended, and can be restarted")
def parts_of_supd(box):
    s = box.supd({"a": {}})
    s.started("a")
    for verb in ("stop", "suspend"):
        for name in ("/system/log", "/system"):
            r = s.ctl(verb, name)
            equal(r.code, 7, f"the exit status of {verb} {name}")
            has(r.err, "the actor is part of supd itself: restart the actor", f"what {verb} {name} says")
    old = s.actor("/system/log")["pid"]
    s.ctl_ok("restart", "/system/log")
    check(s.actor("/system/log")["pid"] not in (None, old), "the log process")
    s.ctl_ok("stop", "a")


@test("a stopped actor stays stopped when a sibling crashes")
def stop_sticks(box):
    s = box.supd(kids("ab"))
    s.started("b")
    s.ctl_ok("stop", "a")
    s.tell("b", "exit=1")
    s.started("b", 2)
    equal(s.actor("a")["state"], "stopped", "a's state")


@test("a hold outlives the restart of the supervisor; start releases it")
def hold(box):
    s = box.supd({"sup": {"children": kids("abc")}})
    s.started("c")
    s.ctl_ok("stop", "--hold", "sup/b")
    equal(s.actor("sup/b")["held"], True, "held")
    s.ctl_ok("restart", "sup")
    s.started("c", 2)
    equal(len(s.lines("S", "b")), 1, "starts of b")
    result = s.ctl("restart", "sup/b")
    equal(result.code, 7, f"exit status of restart of a held actor ({result})")
    s.ctl_ok("start", "sup/b")
    s.started("b", 2)
    equal(s.actor("sup/b")["held"], False, "held")


@test("a plain stop does not outlive the restart of the supervisor")
def stop_forgotten(box):
    s = box.supd({"sup": {"children": kids("ab")}})
    s.started("b")
    s.ctl_ok("stop", "sup/a")
    s.ctl_ok("restart", "sup")
    s.started("a", 2)


@test("restart stops and starts; it is not counted and keeps its place in the order")
def restart(box):
    s = box.supd(kids("abc"))
    s.started("c")
    mark = s.mark()
    s.ctl_ok("restart", "b")
    s.started("b", 2)
    equal(s.order(mark), ["t b", "x b", "S b"], "the order")
    actor = s.actor("b")
    equal((actor["restarts"], actor["generation"]), (0, 2), "restarts and generation")
    mark = s.mark()
    s.stop()
    equal(s.order(mark, "t"), ["t c", "t b", "t a"], "the shutdown")


@test("restart of a stopped, a done and a failed actor starts it")
def restart_starts(box):
    s = box.supd({"stopped": {}, "done": {"restart": "transient"}, "failed": {}},
                 decider="stopping")
    s.started("failed")
    s.ctl_ok("stop", "stopped")
    s.tell("done", "exit=0")
    s.wait_for("done", state="done")
    s.tell("failed", "exit=1")
    s.wait_for("failed", state="failed")
    s.ctl_ok("restart", "stopped", "done", "failed")
    for name in ("stopped", "done", "failed"):
        s.started(name, 2)


@test("restart of a supervisor is a restart of its subtree, in order")
def restart_supervisor(box):
    s = box.supd({"sup": {"children": kids("ab")}, "other": {}})
    other = s.started("other")
    mark = s.mark()
    s.ctl_ok("restart", "sup")
    s.started("b", 2)
    equal(s.order(mark), ["t b", "x b", "t a", "x a", "S a", "S b"], "the order")
    equal(s.actor("other")["pid"], other, "the other's pid")


@test("kill makes the actor fail with cause killed, which stops it by default")
def kill(box):
    s = box.supd(kids("ab"))
    s.started("b")
    s.ctl_ok("fail", "a")
    actor = s.wait_for("a", state="failed")
    equal((actor["last_failure"]["cause"]["kind"], actor["last_failure"]["directive"]),
          ("killed", "stop"), "the failure")
    s.ctl_ok("start", "a")
    s.started("a", 2)


@test("a rule may say that killed is a restart")
def kill_rule(box):
    s = box.supd(kids("a"), decider=[{"when": "killed", "then": "restart"}, "default"])
    s.started("a")
    s.ctl_ok("fail", "a")
    s.started("a", 2)


@test("signal sends that signal to the process")
def send_signal(box):
    s = box.supd(kids("a"))
    s.started("a")
    s.ctl_ok("signal", "a", "USR1")
    equal(s.line("s", "a").more, str(int(signal.SIGUSR1)), "the signal")
    s.ctl_ok("signal", "a", "SIGUSR2")
    equal(s.line("s", "a", 2).more, str(int(signal.SIGUSR2)), "the signal")
    s.ctl_ok("stop", "a")
    equal(s.ctl("signal", "a", "USR1").code, 7, "exit status for a stopped actor")


@test("reset of a failed actor lets it start again with fresh counters")
def reset(box):
    s = box.supd(kids("a", backoff={"min": "10ms", "max": "1s", "jitter": 0,
                                    "reset": "manual"}),
                 limit={"restarts": 1})
    s.started("a")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.tell("a", "exit=1")
    s.wait_for("a", state="failed")
    s.ctl_ok("reset", "a")
    actor = s.actor("a")
    equal((actor["window"], actor["backoff"]), (0, None), "the counters")
    s.ctl_ok("start", "a")
    s.started("a", 3)
    s.tell("a", "exit=1")
    s.started("a", 4)


@test("a stop during a restart ends stopped")
def stop_in_restart(box):
    s = box.supd({"a": {"do": ["delay=400"]}})
    s.started("a")
    s.ctl_ok("restart", "--no-wait", "a")
    s.line("t", "a")
    s.ctl_ok("stop", "a")
    equal(s.actor("a")["state"], "stopped", "the state")
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("a restart and a start during a stop end running")
def restart_in_stop(box):
    for verb in ("restart", "start"):
        s = box.supd({"a": {"do": ["delay=400"]}}, name=verb)
        s.started("a")
        s.ctl_ok("stop", "--no-wait", "a")
        s.line("t", "a")
        s.ctl_ok(verb, "a")
        s.started("a", 2)
        s.wait_for("a", state="running", generation=2)
        check(s.line("S", "a", 2).ns >= s.line("x", "a").ns, "two lived at once")


@test("a stop during a group restart: the group comes back without that one")
def stop_in_group(box):
    s = box.supd({"sup": {"strategy": "one_for_all",
                          "children": {"a": {}, "b": {}, "c": {"do": ["delay=400"]}}}})
    s.started("c")
    s.tell("a", "exit=1")
    s.line("t", "c")
    s.ctl_ok("stop", "sup/b")
    s.started("c", 2)
    equal(s.actor("sup/b")["state"], "stopped", "b's state")
    equal([len(s.lines("S", name)) for name in "abc"], [2, 1, 2], "starts")


@test("a stop of the supervisor during the boot stops what came up and starts nothing more")
def stop_in_boot(box):
    s = box.supd({"sup": {"children": {"a": {}, "b": {"ready": "notify"}, "c": {}}}},
                 wait=False)
    s.started("b")
    s.ctl_ok("stop", "sup")
    equal(s.order(), ["S a", "S b", "t b", "x b", "t a", "x a"], "the order")
    equal(s.actor("sup")["state"], "stopped", "the state")


@test("a start while a stop is waited for ends running, and the stop still returns")
def overtaken(box):
    s = box.supd({"a": {"do": ["delay=500"]}})
    s.started("a")
    stop = behind(box, s, "stop", "a")
    s.line("t", "a")
    s.ctl_ok("start", "a")
    stop.wait(10)
    s.started("a", 2)
    equal(s.wait_for("a", state="running")["generation"], 2, "the generation")


@test("a manual start that fails tells why, is not retried and is not counted")
def failed_start(box):
    s = box.supd({"sup": {"I": "0/60s", "children": {
        "a": {"enabled": False, "command": ["/nonexistent/program"]}, "b": {}}}})
    s.started("b")
    result = s.ctl("start", "sup/a")
    equal(result.code, 1, "exit status")
    has(result.err, "(?i)no such file|ENOENT", "stderr")
    equal(s.actor("sup/a")["state"], "failed", "the state")
    equal((s.actor("sup")["window"], s.actor("sup")["state"]), (0, "running"), "the supervisor")


@test("wait returns for ready, stopped, failed and done")
def wait(box):
    s = box.supd({"a": {}, "t": {"restart": "transient"}}, decider="stopping")
    s.started("t")
    s.ctl_ok("wait", "a", "--for", "ready")
    for name, goal, action in (("t", "done", lambda: s.tell("t", "exit=0")),
                               ("a", "failed", lambda: s.tell("a", "exit=1"))):
        waiter = behind(box, s, "wait", name, "--for", goal, "--timeout", "10s")
        action()
        equal(waiter.wait(15), 0, f"exit status of wait --for {goal}")
    s.ctl_ok("start", "a")
    waiter = behind(box, s, "wait", "a", "--for", "stopped")
    s.ctl_ok("stop", "a")
    equal(waiter.wait(15), 0, "exit status of wait --for stopped")
    equal(s.ctl("wait", "a", "--for", "ready", "--timeout", "100ms").code, 124,
          "exit status of a wait in vain")


@test("each command is in the event stream with its user and process")
def who(box):
    s = box.supd(kids("a"))
    s.started("a")
    s.ctl_ok("restart", "a")
    event = s.event("command", "a")
    equal((event["verb"], event["uid"]), ("restart", os.geteuid()), "the event")
    check(event["pid"] > 0, "no pid")


@test("a signal and a reload are one event each, which says what was sent")
def one_event(box):
    s = box.supd({"a": {"reload_signal": "USR1"}, "b": {"reload_command": ["true"]}})
    s.started("b")
    mark = s.last_seq()
    for words in (("signal", "a", "USR2"), ("signal", "a", "reload"), ("signal", "b", "reload"),
                  ("reload", "a", "b"), ("kill", "-s", "WINCH", "b")):
        s.ctl_ok(*words)
    lines = s.ctl_ok("events", "--since", str(mark), "--type", "command").out.splitlines()
    found = [line.split(None, 5)[1:5] for line in lines]
    equal(found, [["/user/" + name, "command", "signal", what] for name, what in (
        ("a", "SIGUSR2"), ("a", "reload"), ("b", "reload"), ("a", "reload"), ("b", "reload"),
        ("b", "SIGWINCH"))], "the events")


@test("names: a path, a path below /user, a last name, a glob")
def names(box):
    s = box.supd({"app": {"children": {"api": {}, "x": {}}}, "x": {}, "y": {"binary": PROBE}})
    s.started("y")
    for name in ("/user/app/api", "app/api", "api"):
        equal(s.json("status", name)[0]["path"], "/user/app/api", name)
    equal([actor["path"] for actor in s.json("status", "app/*")],
          ["/user/app/api", "/user/app/x"], "the glob")
    equal(s.json("status", "/user/x")[0]["path"], "/user/x", "/user/x")
    s.ctl_ok("stop", "app/*")
    equal([s.actor(f"app/{name}")["state"] for name in ("api", "x")], ["stopped"] * 2, "states")


if __name__ == "__main__":
    main()
