#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Hooks: an actor's own commands around its starts and stops."""
import collections
import os
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, SUPD, alive, check, equal, has, main, run, test

HOOKS = ["pre_start", "post_start", "pre_restart", "post_restart", "pre_stop", "post_stop"]
TELL = ("echo $SUPD_HOOK $SUPD_PATH $SUPD_REASON ${SUPD_CAUSE:--} ${SUPD_EXIT_CODE:--} "
        "${SUPD_SIGNAL:--} ${SUPD_PID:--} $SUPD_GENERATION $SUPD_RESTART_COUNT >>@")


def script(box, text=TELL):
    """A command; @ is the file `told` of the box.  A dollar is the shell's."""
    return ["/bin/sh", "-c", text.replace("@", box.path("told")).replace("${", "$${")]


def all_hooks(box):
    return {hook: script(box) for hook in HOOKS}


def told(box):
    """What the hooks have written so far: lists of words."""
    try:
        with open(box.path("told"), encoding="utf8") as text:
            return [line.split() for line in text.read().splitlines()]
    except FileNotFoundError:
        return []


def names(box):
    return [words[0] for words in told(box)]


def wait_for_names(box, s, expected):
    try:
        s.until(lambda: names(box) == expected, "the hooks")
    finally:
        equal(names(box), expected, "the hooks that ran")


@test("on a start pre_start, post_start; on a stop pre_stop, post_stop")
def start_and_stop(box):
    s = box.supd({"a": {"hooks": all_hooks(box)}})
    a = s.started("a")
    wait_for_names(box, s, ["pre_start", "post_start"])
    equal(told(box), [["pre_start", "/user/a", "start", "-", "-", "-", "-", "1", "0"],
                      ["post_start", "/user/a", "start", "-", "-", "-", str(a), "1", "0"]],
          "what they were told")
    s.ctl_ok("stop", "a")
    equal(told(box)[2:], [["pre_stop", "/user/a", "stop", "-", "-", "-", str(a), "1", "0"],
                          ["post_stop", "/user/a", "stop", "-", "0", "-", str(a), "1", "0"]],
          "what they were told")


@test("on a restart pre_restart, post_stop, pre_start, post_restart, with the cause")
def restart(box):
    s = box.supd({"a": {"hooks": all_hooks(box)}})
    old = s.started("a")
    s.tell("a", "exit=3")
    new = s.started("a", 2)
    wait_for_names(box, s, ["pre_start", "post_start", "pre_restart", "post_stop", "pre_start",
                            "post_restart"])
    cause = ["restart", "exit:3", "3", "-"]
    equal([words[2:7] for words in told(box)[2:4]], [[*cause, str(old)]] * 2,
          "what they were told of the old process")
    equal(told(box)[4][:3] + told(box)[4][6:8], ["pre_start", "/user/a", "restart", "-", "2"],
          "what pre_start was told")
    equal(told(box)[5][6:], [str(new), "2", "1"], "what post_restart was told")
    s.wait_for("a", state="running")
    s.tell("a", "raise=KILL")
    s.started("a", 3)
    s.until(lambda: len(told(box)) == 10, "the hooks")
    equal(told(box)[7][2:6], ["restart", "signal:KILL", "-", "KILL"], "the signal")


@test("a restart by command runs the same hooks")
def by_command(box):
    s = box.supd({"a": {"hooks": all_hooks(box)}})
    s.started("a")
    s.ctl_ok("restart", "a")
    s.started("a", 2)
    wait_for_names(box, s, ["pre_start", "post_start", "pre_restart", "post_stop", "pre_start",
                            "post_restart"])


@test("93 pre_start exits 1: the process is never executed, an init failure")
def pre_start_fails(box):
    s = box.supd({"a": {"hooks": {"pre_start": "/bin/sh -c 'exit 1'"}}, "b": {}},
                 decider=[{"when": "init", "then": "stop"}, {"when": "any", "then": "stop"}])
    s.started("b")
    failed = s.event("hook_failed", "a")
    equal((failed["hook"], failed["reason"], failed["cause"]["code"]),
          ("pre_start", "start", 1), "the event")
    equal(s.event("failure", "a")["cause"]["kind"], "early_exit", "the cause")
    s.wait_for("a", state="failed", pid=None)
    equal(s.lines("S", "a"), [], "processes of a")
    has(open(s.stderr, encoding="utf8").read(),
        "/user/a: hook_failed: pre_start: exited with 1", "the log")
    chain = s.call("Explain", name="a")["chain"]
    equal([step["text"] for step in chain][:1], ["pre_start failed (exited with 1)"],
          "how the story begins")
    has(s.ctl_ok("explain", "a").out, r"/user/a pre_start failed \(exited with 1\)\.",
        "explain")


@test("98 post_restart fails once: an init failure, counted, restarted again")
def post_restart_fails(box):
    s = box.supd({"a": {"hooks": {"post_restart": script(box, TELL + "; [ -e @.once ] || { "
                                                              ">@.once; exit 1; }")}}})
    s.started("a")
    s.tell("a", "exit=1")
    s.event("started", "a", 3)  # supd may kill the second process before its first line
    wait_for_names(box, s, ["post_restart", "post_restart"])
    failed = s.event("hook_failed", "a")
    equal(failed["hook"], "post_restart", "the hook")
    kinds = [event["cause"]["kind"] for event in s.seen("failure", "a")]
    equal(kinds, ["exit", "early_exit"], "the causes")
    s.wait_for("a", state="running", restarts=2)


@test("66 pre_restart of a supervisor fails in an escalated restart, which goes on")
def pre_restart_fails(box):
    s = box.supd({"inner": {"decider": "escalating", "hooks": {
        "pre_restart": "/bin/sh -c 'exit 7'", "post_restart": script(box)},
        "children": {"a": {}, "b": {}}}, "other": {}})
    other = s.started("other")
    mark = s.mark()
    s.tell("a", "exit=1")
    s.started("b", 2)
    equal(s.order(mark), ["x a", "t b", "x b", "S a", "S b"], "the order")
    equal(len(s.seen("hook_failed", "inner")), 1, "failures of hooks")
    equal(s.event("hook_failed", "inner")["cause"]["code"], 7, "the cause")
    wait_for_names(box, s, ["post_restart"])
    equal(s.actor("other")["pid"], other, "the other's pid")


@test("171 a hook that takes too long is killed with all it forked, and has failed")
def timeout(box):
    s = box.supd({"a": {}}, wait=False)
    s.started("a")
    hook = [PROBE, s.dir, "+hook", "ignore", "daemon", "fork=3"]
    s.write({"a": {"hook_timeout": "300ms", "hooks": {"pre_stop": hook}}})
    s.ctl_ok("apply")
    s.ctl_ok("stop", "a")
    failed = s.event("hook_failed", "a")
    equal((failed["hook"], failed["timed_out"]), ("pre_stop", True), "the event")
    equal([line for line in s.lines("SFd", "+hook") if alive(line.pid)], [], "what is left")
    check(s.line("t", "a").ns - s.line("S", "+hook").ns >= 250e6, "it had not its time")
    equal(s.actor("a")["state"], "stopped", "the state")


@test("hook_timeout may stand among the hooks, and is nearer there than the actor's")
def timeout_among_hooks(box):
    s = box.supd({"a": {"hook_timeout": "1h", "hooks": {
        "post_start": ["/bin/sleep", "1000"], "hook_timeout": "100ms"}}})
    failed = s.event("hook_failed", "a")
    equal((failed["hook"], failed["timed_out"]), ("post_start", True), "the event")


@test("what a hook leaves behind is killed before the actor goes on")
def leftovers(box):
    s = box.supd({"a": {}}, wait=False)
    s.started("a")
    s.write({"a": {"hooks": {"pre_stop": [PROBE, s.dir, "+hook", "daemon"]}}})
    s.ctl_ok("apply")
    s.ctl_ok("stop", "--no-wait", "a")
    daemon = s.line("d", "+hook").pid
    s.tell("+hook", "exit=0")
    s.line("t", "a")
    check(not alive(daemon), "the daemon is alive")
    equal(s.seen("hook_failed"), [], "hooks that failed")


@test("a user that cannot be changed to is the hook's failure", root=True)
def wrong_user(box):
    nobody = pwd.getpwnam("nobody")
    s = box.supd({"a": {"command": "/bin/true", "user": "nobody", "group": "nogroup",
                        "restart": "temporary", "hooks": {"pre_start": script(
                            box, "id -u >>@")}}}, wait=False)
    s.until(lambda: told(box), "the hook")
    equal(told(box), [[str(nobody.pw_uid)]], "the user")


@test("a supd that is not root's cannot run a hook of another user", root=True)
def no_root(box):
    nobody = pwd.getpwnam("nobody")
    s = box.supd({"a": {"user": "root", "hooks": {"pre_start": "/bin/true"}}},
                 uid=nobody.pw_uid, wait=False)
    failed = s.event("hook_failed", "a")
    equal((failed["cause"]["kind"], failed["cause"]["errno"]), ("exec", "EPERM"), "the cause")
    check(failed["step"] in ("setgroups", "setgid", "setuid"), f"the step: {failed}")


@test("a hook that cannot be executed has failed, and that says why")
def missing(box):
    s = box.supd({"a": {"hooks": {"pre_stop": "/no/such/hook"}}})
    s.started("a")
    s.ctl_ok("stop", "a")
    failed = s.event("hook_failed", "a")
    equal((failed["cause"]["errno"], failed["step"]), ("ENOENT", "exec"), "the event")


@test("a supervisor's hooks run, and print to a log of its own")
def of_supervisor(box):
    s = box.supd({"app": {"hooks": {"pre_start": "/bin/sh -c 'echo hello from $SUPD_PATH'",
                                    "post_stop": script(box)}, "children": {"a": {}}}})
    s.started("a")
    log = os.path.join(s.dir, "logs/user/app.log")
    s.until(lambda: os.path.exists(log) and "hello" in open(log, encoding="utf8").read(),
            "the log")
    s.ctl_ok("stop", "app")
    wait_for_names(box, s, ["post_stop"])


@test("--check warns of a hook with a missing program")
def checked(box):
    file = box.file("x.yaml", "children: {a: {command: /bin/true,\n"
                              "  hooks: {pre_stop: /no/hook}}}\n")
    result = run(SUPD, "--check", "-c", file)
    equal(result.code, 0, "the status")
    has(result.err, r":2:.*hooks.pre_stop: there is no program `/no/hook`", "the warnings")


@test("supd's shutdown runs them, in order, and nothing is left")
def at_shutdown(box):
    s = box.supd({"a": {"hooks": {"post_stop": script(box)}},
                  "b": {"hooks": {"pre_stop": script(box), "post_stop": script(box)}}})
    s.started("b")
    s.stop()
    equal([words[:2] for words in told(box)],
          [["pre_stop", "/user/b"], ["post_stop", "/user/b"], ["post_stop", "/user/a"]],
          "the hooks")


@test("many at once wait for their turn, and each runs once", timeout=120)
def many(box):
    n = 530
    s = box.supd({f"w{i}": {"command": "/bin/sleep 1000", "hook_timeout": "5m", "hooks": {
        "pre_stop": script(box, "echo $SUPD_PATH >>@")}} for i in range(n)},
        stop="parallel", start="parallel")
    s.stop(timeout=90)
    ran = collections.Counter(path for path, in told(box))
    equal([f"w{i}" for i in range(n) if ran[f"/user/w{i}"] != 1], [],
          "those that did not run once")
    equal(s.seen("hook_failed"), [], "hooks that failed")


@test("hooks of a group restart get the failed actor and its cause")
def origin(box):
    line = script(box, "echo $SUPD_PATH $SUPD_HOOK ${SUPD_CAUSE:--} ${SUPD_ORIGIN:--} "
                       "${SUPD_ORIGIN_CAUSE:--} >>@")
    s = box.supd({"g": {"strategy": "one_for_all", "children": {
        "a": {"hooks": {"post_stop": line, "pre_start": line}}, "b": {"do": ["100:exit=3"]}}}})
    s.started("a", 2)
    equal([" ".join(words) for words in told(box)[:3]],
          ["/user/g/a pre_start - - -", "/user/g/a post_stop - /user/g/b exit:3",
           "/user/g/a pre_start - /user/g/b exit:3"], "what the hooks were told")


@test("hooks of actors that a failed start stops get the failed actor and its cause")
def failed_start(box):
    line = script(box, "echo $SUPD_PATH $SUPD_HOOK ${SUPD_CAUSE:--} ${SUPD_ORIGIN:--} "
                       "${SUPD_ORIGIN_CAUSE:--} >>@")
    s = box.supd({"g": {"decider": "otp", "children": {
        "a": {"hooks": {"post_stop": line}}, "b": {"command": ["/no/such/program"]}}}})
    s.event("failure", "g")
    equal([" ".join(words) for words in told(box)],
          ["/user/g/a post_stop - /user/g/b exec:ENOENT"], "what the hook was told")


if __name__ == "__main__":
    main()
