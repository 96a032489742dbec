#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What happens to actors while there is no guardian is handled as ever by the next one."""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import alive, check, equal, now_ns, outage, Chaos, Killer, Wish
from crashes import four, start
from harness import INSTRUMENTED, children, comment, main, run, test, unshare, Skip

MS = 1_000_000


@test("an actor that dies during an outage is handled as ever, with its true exit status",
      timeout=120)
def causes(box):
    names = {f"e{code}": code for code in range(1, 201)}
    s = start(box, {name: {"output": "null"} for name in names}, start="parallel")
    seq = s.last_seq()

    def during():
        for name, code in names.items():
            s.tell(name, f"exit={code}")
        s.until(lambda: all(s.counts["x", name] for name in names), "their ends", 20)

    outage(s, during)
    s.until(lambda: all(s.counts["S", name] == 2 for name in names), "all to be back", 30)
    s.settle()
    s.consistent()
    for name, code in names.items():
        [ended] = s.seen("exited", name, seq)
        equal((ended["cause"]["kind"], ended["cause"]["code"]), ("exit", code), name)
        [failure] = s.seen("failure", name, seq)
        equal(failure["cause"], ended["cause"], f"{name}'s failure")
        actor = s.actor(name)
        equal((actor["restarts"], actor["generation"]), (1, 2), f"counters of {name}")


@test("signals are told as causes, too, and a normal end stays one")
def signals(box):
    s = start(box, {"a": {}, "b": {}, "c": {"restart": "transient"}, "d": {}})

    def during():
        s.tell("a", "raise=SEGV")
        s.tell("b", "raise=KILL")
        s.tell("c", "exit=0")
        s.until(lambda: not any(alive(s.pids[name]) for name in "abc"), "their ends")

    outage(s, during)
    s.started("a", 2)
    s.started("b", 2)
    s.wait_for("c", state="done")
    told = {event["path"][-1]: (event["cause"]["kind"], event["cause"]["signal"])
            for event in s.seen("exited")}
    equal({name: (kind, (sig or "").removeprefix("SIG")) for name, (kind, sig) in told.items()},
          {"a": ("signal", "SEGV"), "b": ("signal", "KILL"), "c": ("normal", "")}, "causes")
    equal(s.counts["failure", "/user/c"], 0, "failures of c")
    s.consistent()


@test("a process that has a whole brood is gone with it, also when it was adopted")
def brood(box):
    s = start(box, {"a": {"do": ["fork=3", "daemon=plain"]}, "b": {}})
    s.line("F", "a")
    s.line("d", "a")
    s.crash()
    s.call("Stop", names=["/user/a"])
    s.nothing_else({s.pids["b"]})
    s.consistent()


@test("orphans of adopted actors do not stay zombies")
def orphans(box):
    s = start(box, {"a": {"do": ["fork=3"]}})
    s.line("F", "a")
    s.crash()
    s.tell("a", "daemon=plain")
    s.line("d", "a")
    s.tell("a", "unfork")
    s.line("F", "a", 2)
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.nothing_else({s.pids["a"]})


@test("a group restart that an outage interrupts is finished, each once and in order")
def group(box):
    s = start(box, {"g": {"strategy": "one_for_all",
                          "children": {"a": {}, "b": {"do": ["delay=150"]}, "c": {}}}})
    mark = s.mark()
    s.tell("a", "exit=9")
    s.line("t", "b")
    s.crash()
    s.started("c", 2)
    s.consistent()
    equal(s.order(mark), ["x a", "t c", "x c", "t b", "x b", "S a", "S b", "S c"], "the order")
    equal((s.actor("g")["window"], len(s.seen("failure"))), (1, 1), "restarts counted")


LAST_PID = "/proc/sys/kernel/ns_last_pid"


def runs_inside(title):
    """True in a pid namespace of the test; outside, run the test with this title in such a namespace."""
    if os.environ.get("CHAOS_INSIDE"):
        return True
    if not os.access(LAST_PID, os.W_OK):
        raise Skip("the next pid cannot be chosen here")
    done = run(*unshare(), sys.executable, "-B", os.path.abspath(__file__), title,
               env={**os.environ, "CHAOS_INSIDE": "1"}, timeout=80)
    comment(done.out)
    equal(done.code, 0, f"among pids of its own: {done.err}; status")
    return False


def next_pid(pid):
    with open(LAST_PID, "w", encoding="ascii") as out:
        out.write(str(pid - 1))


@test("a process that gets the pid of a dead actor is not mistaken for it", timeout=90)
def same_pids(box):
    if not runs_inside("not mistaken for it"):
        return
    s = start(box, {"a": {}, "b": {}, "c": {}})
    used = dict(s.pids)
    for name in "ab":
        s.call("Stop", names=[f"/user/{name}"])
    next_pid(used["a"])
    _, guardian = s.crash()
    equal(guardian, used["a"], "the successor's pid, which was a's")
    s.consistent()
    next_pid(used["b"])
    s.call("Start", names=["/user/a"])
    equal(s.started("a", 2), used["b"], "a's pid, which was b's")
    next_pid(200)
    s.crash()
    s.consistent()
    s.call("Stop", names=["/user/a"])
    next_pid(used["b"])
    s.call("Start", names=["/user/b"])
    equal(s.started("b", 2), used["b"], "b's pid, for the second time")
    next_pid(300)  # not the dead guardian's: successor() would not see the difference
    s.crash()
    s.tell("b", "exit=5")
    s.started("b", 3)
    equal(s.event("exited", "b", 2)["cause"]["code"], 5, "the cause")
    s.consistent()


@test("actors get the pids of children that the guardian asked: others are asked all the same",
      timeout=90)
def asked(box):
    if not runs_inside("others are asked all the same"):
        return
    flag = box.path("flag")
    work = f"i=0; while [ $$i -lt 100000 ]; do i=$$((i+1)); done; >{flag}; exec sleep 1000"
    idle = {"command": ["sleep", "1000"], "containment": "session", "enabled": False}
    s = start(box, {"a": {"command": ["/bin/sh", "-c", work], "containment": "session"},
                    **{f"b{i}": idle for i in range(20)}})
    guardian, taken, i = s.guardian(), 0, 0

    def time_of_a():
        """Where no child answers no time is told."""
        text = s.ctl_ok("metrics").out
        return float(re.search(r'cpu_seconds_total.*"/user/a".* (\S+)', text)[1])

    s.until(lambda: os.path.exists(flag) and time_of_a(), "some work")
    # As many as there are places for.
    while taken < 4:
        known = set(children(guardian))
        child = s.until(lambda: time_of_a() and set(children(guardian)) - known,
                        "the child that is asked").pop()
        s.until(lambda: child not in children(guardian), "its end")
        next_pid(child)
        s.call("Start", names=[f"/user/b{i}"])
        taken += s.actor(f"b{i}")["pid"] == child
        i += 1
    check(time_of_a(), "no time is told any more")


@test("a stop goes on: an actor that ignores TERM is killed when its time has come, not later")
def deaf(box):
    s = start(box, {"a": {"do": ["ignore"], "shutdown": "400ms"}, "b": {}})
    wish = Wish(s, "Stop", names=["/user/a"])
    s.until(lambda: wish.done() or s.lines("t", "a"), "the signal")
    s.crash()
    s.until(wish.done, "the stop")
    [late] = s.seen("killed_after_timeout", "a")
    check(late["mono"] >= s.event("stopping", "a")["mono"] + 399 * MS, "killed too early")
    equal(len(s.lines("t", "a")), 1, "TERM signals")
    s.consistent()


@test("a stop command without a waiting client is carried out by the next guardian")
def wanted(box):
    s = four(box)

    def during():
        pass

    s.call("Stop", names=["/user/a"], wait=False)
    outage(s, during)
    s.wait_for("a", state="stopped")
    s.consistent()
    equal(s.counts["S", "a"], 1, "lives of a")


@test("a backoff keeps its due time and its count")
def backoff(box):
    spec = {"backoff": {"min": "300ms", "max": "10s", "jitter": 0}}
    s = start(box, {"a": spec, "b": {}})
    for n, delay in ((1, 300), (2, 600)):
        s.tell("a", "exit=1")
        event = s.event("backoff", "a", n)
        equal(event["delay_ms"], delay, "the delay")
        s.crash()
        before = now_ns()
        actor = s.actor("a")
        after = now_ns()
        if actor["state"] == "backoff":
            equal((actor["backoff"]["failures"], actor["backoff"]["delay_ms"]), (n, delay),
                  "count and delay")
            due = actor["backoff"]["due_in_ms"] * MS
            check(before + due <= event["mono"] + (delay + 2) * MS, "it will start too late")
            check(after + due >= event["mono"] + (delay - 2) * MS, "it will start too early")
        s.started("a", n + 1)
        check(s.event("started", "a", n + 1)["mono"] >= event["mono"] + delay * MS,
              "started too early")
    s.consistent()


@test("windows count on: an intensity is exceeded over guardians as under one")
def intensity(box):
    s = start(box, {"g": {"I": "2/1h", "on_failure": [{"when": "any", "then": "stop"}],
                          "children": {"a": {}}}})
    for n in (2, 3):
        s.tell("a", "exit=1")
        s.started("a", n)
        s.crash()
        equal(s.actor("g")["window"], n - 1, "the window")
    s.tell("a", "exit=1")
    s.wait_for("g", state="failed")
    s.event("gave_up", "g")
    equal(len(s.seen("gave_up")), 1, "gave_up events")
    s.consistent()


@test("holds, stops and failed actors stay what they are")
def holds(box):
    s = start(box, {"a": {}, "b": {}, "c": {"on_failure": [{"when": "any", "then": "stop"}]},
                    "d": {"restart": "transient"}, "e": {"enabled": False},
                    "g": {"strategy": "one_for_all", "children": {"x": {}, "y": {}}}})
    s.call("Stop", names=["/user/a"])
    s.call("Stop", names=["/user/b", "/user/g/x"], hold=True)
    s.tell("c", "exit=1")
    s.tell("d", "exit=0")
    s.wait_for("c", state="failed")
    s.wait_for("d", state="done")
    before = s.state()
    s.crash()
    equal(s.state(), before, "what Status says")
    s.consistent()
    s.tell("y", "exit=1")
    s.started("y", 2)
    equal(s.counts["S", "x"], 1, "lives of the held one")
    s.call("Start", names=["/user/b", "/user/c"])
    s.started("b", 2)
    s.started("c", 2)
    s.consistent()


@test("a temporary actor that has gone stays gone over a death")
def temporary(box):
    s = start(box, {"a": {"restart": "temporary"}, "b": {}})
    s.tell("a", "exit=0")
    s.until(lambda: s.gone("a"), "a to be gone")
    s.crash()
    check(s.gone("a"), "a is back")
    s.aged()
    s.crash()
    check(s.gone("a"), "a is back")
    s.consistent()


@test("a configuration that has become invalid on disk does not matter to an adoption")
def broken(box):
    s = four(box)
    with open(s.file, "w", encoding="utf8") as out:
        out.write("children: [this is: not {a tree\n")
    before = s.state()
    s.crash()
    equal(s.state(), before, "what Status says")
    s.tell("a", "exit=1")
    s.started("a", 2)
    os.unlink(s.file)
    s.aged()
    s.crash()
    s.tell("b", "exit=1")
    s.started("b", 2)
    s.consistent()
    s.write({"a": {}, "b": {}, "g": {"children": {"c": {}, "d": {}}}})
    equal(s.ctl("diff").code, 0, "diff against the file as it was")
    s.ctl_ok("apply")
    equal([s.counts["S", name] for name in "abcd"], [2, 2, 1, 1], "lives")


@test("after an adoption apply compares with what runs, not with what it began with")
def reload_after(box):
    s = four(box)
    s.write({"a": {}, "b": {"umask": "0077"}, "g": {"children": {"c": {}}}})
    s.ctl_ok("apply")
    s.started("b", 2)
    s.crash()
    s.ctl_ok("apply")
    s.write({"a": {}, "b": {"umask": "0077"}, "g": {"children": {"c": {}, "d": {}}}})
    s.ctl_ok("apply")
    s.started("d", 2)
    equal([s.counts["S", name] for name in "abcd"], [1, 2, 1, 2], "lives")
    s.consistent()


@test("on_crash: kill starts clean: all are killed, none runs twice")
def clean(box):
    s = start(box, {"a": {}, "b": {"do": ["ignore"]}, "g": {"children": {"c": {}, "d": {}}}},
              on_crash="kill")
    pids = dict(s.pids)
    s.crash()
    s.until(lambda: all(s.counts["S", name] == 2 for name in "abcd"), "everybody's second life")
    check(not any(alive(pid) for pid in pids.values()), "somebody's first life goes on")
    equal(s.lines("D"), [], "lives that began before the last one had ended")
    equal(s.seen("adopted"), [], "adopted events")
    for path in ("a", "b", "g/c", "g/d"):
        s.wait_for(path, state="running")
    s.nothing_else(set(s.pids.values()))


@test("readiness that was announced before, during and after an outage counts once")
def readiness(box):
    flag = box.path("flag")
    spec = {"ready": "notify"}
    s = Chaos(box, {"a": spec, "b": {}}, wait=False)
    s.line("S", "a")
    s.event("started", "a")
    s.crash()
    equal(s.actor("a")["state"], "starting", "a's state")
    equal(s.counts["S", "b"], 0, "b waits for a")
    s.tell("a", "ready")
    s.started("b")
    check(s.actor("a")["ready"], "a is not ready")
    del flag
    s.until(s.was_ready, "READY=1")
    outage(s, lambda: None)
    check(s.actor("a")["ready"], "a is not ready any more")
    equal(len(s.seen("ready", "a")), 1, "ready events")
    s.consistent()


@test("READY=1 that is sent while there is no guardian is not lost")
def ready_in_outage(box):
    s = Chaos(box, {"a": {"ready": "notify"}, "b": {}}, wait=False)
    s.line("S", "a")
    s.event("started", "a")

    def during():
        s.tell("a", "ready")
        s.line("r", "a")

    outage(s, during)
    s.started("b")
    s.consistent()


@test("READY=1 and an end right after it, both without a guardian: the actor was ready")
def ready_and_gone(box):
    s = Chaos(box, {"a": {"ready": "notify", "on_failure": [
        {"when": {"exit": [3]}, "then": "stop"}]}, "b": {}}, wait=False)
    s.line("S", "a")
    s.event("started", "a")

    def during():
        s.tell("a", "ready")
        s.tell("a", "exit=3")
        s.line("x", "a")

    outage(s, during)
    cause = s.event("exited", "a")["cause"]
    equal((cause["kind"], cause["code"]), ("exit", 3), "the cause")
    equal(len(s.seen("ready", "a")), 1, "ready events")
    s.until(s.was_ready, "READY=1")
    s.consistent()


@test("a life of which supd never heard, begun and ended around a death, is told whole")
def unheard(box):
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and its pid written later")
    s = start(box, {"a": {"do": ["?" + box.path("flag") + ":exit=9"]}, "b": {}})
    killer = Killer(box, s.guardian(), "clone3:born")
    s.tell("a", "echo")
    s.line("E", "a")
    box.file("flag")
    s.tell("a", "exit=1")
    s.until(killer.killed, "the guardian's death at a birth")
    killer.end()
    s.line("x", "a", 2)
    os.unlink(box.path("flag"))
    s.event("exited", "a", 2)
    lives = s.lives()["/user/a"]
    s.until(lambda: s.actor("a")["state"] == "running", "a to run")
    s.consistent()
    equal([life.cause and life.cause["code"] for life in lives][:2], [1, 9], "how its lives ended")


@test("the log process is executed also when the guardian dies at its birth")
def log_birth(box):
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and its pid written later")
    s = start(box, {"a": {}})
    log, old = s.actor("/system/log")["pid"], s.guardian()
    killer = Killer(box, old, "clone3:born")
    os.kill(log, signal.SIGKILL)
    s.until(killer.killed, "the guardian's death at a birth")
    killer.end()
    s.successor(old)
    s.until(lambda: s.actor("/system/log")["pid"] not in (None, log), "another log process")
    causes = [one["cause"]["kind"] for one in s.seen("failure", "/system/log")]
    equal(causes, ["signal"], "the failures of the log process")
    s.consistent()


@test("a TERM that comes late because of an outage is given its full time")
def late_term(box):
    s = start(box, {"a": {"do": ["delay=150"], "shutdown": "300ms"}, "b": {}})
    killer = Killer(box, s.guardian(), "kill")
    os.kill(s.process.pid, signal.SIGSTOP)
    wish = Wish(s, "Stop", names=["/user/a"])
    begun = now_ns()
    s.until(lambda: wish.done() or killer.killed(), "the guardian's death before the signal")
    s.until(lambda: now_ns() > begun + 400 * MS, "the time to pass")
    os.kill(s.process.pid, signal.SIGCONT)
    killer.end()
    s.until(wish.done, "the stop")
    s.line("x", "a")
    equal(s.seen("killed_after_timeout"), [], "killed_after_timeout events")
    s.consistent()


if __name__ == "__main__":
    main()
