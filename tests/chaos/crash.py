#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies, and its successor goes on where it was: one story after the other."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, Wish, alive, check, equal, now_ns, outage
from harness import (INSTRUMENTED, SUPCTL, SUPD, Failure, Skip, children, comment, has, main,
                     program, run, test, unshare)
from varlink import Closed, Varlink, VarlinkError

MS = 1_000_000
UPGRADES = int(os.environ.get("CHAOS_UPGRADES", "5"))
CRASHES = int(os.environ.get("CHAOS_CRASHES", "12"))


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(box, tree, **options):
    s = Chaos(box, tree, before=no_core, **options)
    s.until(lambda: s.counts["supd", "/"] >= 2, "supd to be ready")
    s.settle()
    return s


def four(box, **options):
    return start(box, {"a": {}, "b": {}, "g": {"children": {"c": {}, "d": {}}}}, **options)


def supctl(box, s, *args):
    return box.popen(SUPCTL, "-s", s.socket, *args, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE)


def ends(s, child, code, what):
    """Wait for a background supctl's end; its output."""
    s.until(lambda: child.poll() is not None, f"the end of {what}", 15)
    out, err = child.stdout.read().decode(), child.stderr.read().decode()
    equal(child.returncode, code, f"{what}: {out} {err}; status")
    return out


# ---- the walker and its guardian --------------------------------------------------------------

@test("supd is a walker with a guardian below it, and Ping tells both pids")
def pair(box):
    s = four(box)
    reply = s.call("Ping")
    equal(reply["walker_pid"], s.process.pid, "walker_pid")
    check(reply["pid"] != s.process.pid, "the guardian is the walker")
    check(reply["pid"] in children(s.process.pid), "the guardian is no child of the walker")
    s.consistent()


@test("after a SIGKILL of the guardian every actor runs on and is adopted, once")
def adopted(box):
    s = four(box)
    before, seq = s.state(), s.last_seq()
    pids = dict(s.pids)
    s.crash()
    s.until(lambda: len(s.seen("adopted", since=seq)) >= 4, "four adopted events")
    s.consistent()
    equal(s.state(), before, "what Status says")
    equal(s.pids, pids, "the pids")
    told = [(event["path"], event["pid"]) for event in s.seen("adopted")
            if not event["path"].startswith("/system/")]
    equal(told, [("/user/a", pids["a"]), ("/user/b", pids["b"]), ("/user/g/c", pids["c"]),
                 ("/user/g/d", pids["d"])], "the adopted events")
    equal(len(s.lines("S")), 4, "lives")
    check(s.seen("supd", since=seq), "no event supd tells of the crash")


def dies_of(signo):
    @test(f"a guardian that dies of {signal.Signals(signo).name} has a successor")
    def dies(box):
        s = four(box)
        before = s.state()
        s.crash(signo)
        s.consistent()
        equal(s.state(), before, "what Status says")


for one in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGTRAP):
    dies_of(one)


@test("actors can be adopted again and again, and are then supervised as ever", timeout=60)
def again(box):
    s = four(box)
    pids = dict(s.pids)
    for _ in range(4):
        s.aged()
        s.crash()
        s.consistent()
        equal(s.pids, pids, "the pids")
    s.tell("a", "exit=5")
    s.started("a", 2)
    cause = s.event("exited", "a")["cause"]
    equal((cause["kind"], cause["code"]), ("exit", 5), "the cause")
    s.call("Stop", names=["/user/g/c"])
    equal(s.lines("x", "c")[0].more, "0", "c's end")
    s.call("Restart", names=["/user/b"])
    s.started("b", 2)
    s.consistent()


@test("five guardians in a row: a second death right after the first changes nothing",
      timeout=60)
def row(box):
    s = four(box)
    pids, guardian = dict(s.pids), s.guardian()
    for _ in range(4):
        s.kill_guardian(guardian)
        guardian = s.successor(guardian)
    s.consistent()
    equal(s.pids, pids, "the pids")


@test("a guardian that dies at once, three times over, is replaced all the same", timeout=60)
def at_once(box):
    s = four(box)
    pids, before = dict(s.pids), s.state()
    old = s.guardian()
    killer = Killer(box, s.process.pid, 150, "-w", "-t", "3")
    s.kill_guardian(old)
    s.until(lambda: len(killer.killed()) == 3, "three deaths", 20)
    killer.end()
    s.successor(old)
    s.consistent()
    equal((s.pids, s.state()), (pids, before), "pids and states")


@test("five guardians dead before they have adopted: everything is started anew", timeout=90)
def ledger_lost(box):
    s = four(box)
    pids, old = dict(s.pids), s.guardian()
    s.stream.close()
    s.stream, s.follow = None, False
    killer = Killer(box, s.process.pid, 60, "-w", "-t", "5")
    s.kill_guardian(old)
    s.until(lambda: len(killer.killed()) == 5, "five deaths", 40)
    killer.end()
    s.successor(old)
    s.until(lambda: all(s.counts["S", name] == 2 for name in "abcd"), "everybody's second life")
    check(not any(alive(pid) for pid in pids.values()), "somebody's first life goes on")
    equal(s.lines("D"), [], "lives that began before the last one had ended")
    lost = [one["event"] for one in s.stream_of("Events", {"since": 0})
            if one["event"].get("event") == "supd"]
    check(any("ledger_lost" in json.dumps(event) for event in lost), f"supd events: {lost}")
    for path in ("a", "b", "g/c", "g/d"):
        s.wait_for(path, state="running")
    s.nothing_else({s.actor(path)["pid"] for path in ("a", "b", "g/c", "g/d")})


@test("guardians that fail as soon as they have adopted cost no actor its life, however many",
      timeout=120)
def relapses(box):
    s = four(box)
    pids = dict(s.pids)
    for n in range(1, 13):
        old = s.guardian()
        # After a life of a second there is no delay: twelve deaths are not a minute.
        if n > 3:
            s.aged()
        # A guardian that waited for a second has done nothing since its first answer: its
        # death still follows the adoption.
        s.kill_guardian(old, signal.SIGSEGV if n % 2 else signal.SIGABRT)
        s.successor(old)
    check(all(alive(pid) for pid in pids.values()), "an actor died")
    s.consistent()
    equal(s.pids, pids, "the pids")
    equal([s.counts["S", name] for name in "abcd"], [1, 1, 1, 1], "lives")


@test("asked to end while every guardian dies as it takes over, supd ends all processes by "
      "itself", timeout=60)
def ends_without_guardian(box):
    s = four(box)
    old, pids = s.guardian(), dict(s.pids)
    s.acknowledged = True
    killer = Killer(box, s.process.pid, 20, "-w", "-t", "50")
    s.kill_guardian(old)
    s.until(lambda: killer.killed(), "the first death")
    s.signal(signal.SIGTERM)
    s.until(lambda: len(killer.killed()) >= 2, "another one")
    s.signal(signal.SIGTERM)
    s.until(lambda: s.process.poll() is not None, "the walker's end", 30)
    killer.end()
    equal(s.process.returncode, 70, "the exit status")
    s.until(lambda: not any(alive(pid) for pid in pids.values()), "the end of all actors")
    equal(sorted(line.name for line in s.lines("t")), ["a", "b", "c", "d"], "polite requests")


@test("when the walker dies, the guardian ends everything in order, with status 70")
def walker_dies(box):
    s = four(box)
    guardian, pids = s.guardian(), dict(s.pids)
    s.acknowledged = True
    os.kill(s.process.pid, signal.SIGKILL)
    s.until(lambda: not any(alive(pid) for pid in [guardian, *pids.values()]), "the end")
    equal([line.kind + line.name for line in s.lines("tx")],
          ["td", "xd", "tc", "xc", "tb", "xb", "ta", "xa"], "who ended, in which order")
    _, status = os.waitpid(guardian, 0)
    equal(os.waitstatus_to_exitcode(status), 70, "the guardian's exit status")


@test("when all of supd was killed, the next one kills what was left and starts clean")
def all_dead(box):
    s = start(box, {"a": {}, "b": {"do": ["ignore"]}, "g": {"children": {"c": {}}}})
    pids = dict(s.pids)
    s.slay()
    check(all(alive(pid) for pid in pids.values()), "its actors died with it")
    s.anew()
    for name in "abc":
        s.line("S", name, 2)
    check(not any(alive(pid) for pid in pids.values()), "somebody's first life goes on")
    equal(s.lines("D"), [], "lives that began before the last one had ended")
    s.nothing_else(set(s.pids.values()))


@test("when the walker dies after an adoption, those that were adopted end in order, too")
def walker_after_adoption(box):
    s = start(box, {"a": {"do": ["fork"]}, "b": {"do": ["delay=100"]}})
    s.aged()
    _, guardian = s.crash()
    pids = dict(s.pids)
    s.acknowledged = True
    os.kill(s.process.pid, signal.SIGKILL)
    s.until(lambda: not alive(guardian), "the guardian's end", 15)
    check(not any(alive(pid) for pid in pids.values()), "somebody lives on")
    equal([s.counts["t", name] for name in "ab"], [1, 1], "polite requests to end")


@test("TERM, INT and HUP to the walker do what they do for supd; the status is passed on")
def forwarded(box):
    s = four(box)
    s.crash()
    s.write({"a": {}, "b": {}, "g": {"children": {"c": {}, "d": {}}}, "e": {}})
    s.signal(signal.SIGHUP)
    s.started("e")
    s.consistent()
    s.signal(signal.SIGINT)
    s.ended(0)
    equal([line.kind + line.name for line in s.lines("x")], ["xe", "xd", "xc", "xb", "xa"],
          "the order")


@test("QUIT to the walker of adopted actors kills them all, and supd ends with 0")
def quits(box):
    s = four(box)
    s.crash()
    s.signal(signal.SIGQUIT)
    s.ended(0)
    equal(s.lines("tx"), [], "polite ends")


@test("when /user gives up after an adoption, the walker ends with 70")
def gives_up(box):
    s = start(box, {"a": {}, "b": {}}, I="0/60s")
    s.crash()
    s.tell("a", "exit=3")
    s.ended(70)
    equal([line.name for line in s.lines("x")], ["a", "b"], "the ends")


@test("a process that is stopped by a signal is seen to be, also when it was adopted")
def stopped(box):
    s = four(box)
    s.crash()
    os.kill(s.pids["a"], signal.SIGSTOP)
    s.wait_for("a", sigstopped=True)
    os.kill(s.pids["a"], signal.SIGCONT)
    s.wait_for("a", sigstopped=False)
    os.kill(s.pids["a"], signal.SIGSTOP)
    s.wait_for("a", sigstopped=True)
    s.crash()
    equal(s.actor("a")["sigstopped"], True, "what the next guardian says")
    os.kill(s.pids["a"], signal.SIGCONT)
    s.wait_for("a", sigstopped=False)
    s.consistent()


# ---- what an outage may not change ------------------------------------------------------------

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


# ---- clients -----------------------------------------------------------------------------------

class Knocker(threading.Thread):
    """Connects again and again until it is told to stop; notes what went wrong."""

    def __init__(self, family, address, talk):
        super().__init__(daemon=True)
        self.family, self.address, self.talk = family, address, talk
        self.over, self.good, self.bad = False, 0, []

    def run(self):
        import socket
        while not self.over:
            try:
                with socket.socket(self.family, socket.SOCK_STREAM) as client:
                    client.settimeout(10)
                    client.connect(self.address)
                    self.talk(client)
                    self.good += 1
            except OSError as problem:
                self.bad.append(repr(problem))

    def end(self):
        self.over = True
        self.join(15)
        check(self.good > 0, f"nobody was served: {self.bad[:3]}")
        equal(self.bad[:3], [], f"what went wrong, {self.good} times it went well")


def served(client):
    if not client.recv(100):
        raise OSError("closed without a word")


@test("no client of an actor's sockets is refused or left alone, on unix and TCP", timeout=60)
def sockets(box):
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = box.path("web")
    s = start(box, {"a": {"sockets": {"u": f"unix:{path}", "t": f"tcp:127.0.0.1:{port}"},
                          "do": ["serve"]},
                    "b": {"sockets": {"v": f"unix:{path}2"}}})
    clients = [Knocker(socket.AF_UNIX, path, served),
               Knocker(socket.AF_INET, ("127.0.0.1", port), served),
               # None for b: b accepts no connections, and the kernel would queue them.
               ]
    for client in clients:
        client.start()
    try:
        for _ in range(3):
            s.crash()
            s.aged()
        served_before = [client.good for client in clients]
        s.until(lambda: all(client.good > n + 5 for client, n in zip(clients, served_before)),
                "clients to be served after the crashes")
    finally:
        for client in clients:
            client.over = True
    for client in clients:
        client.end()
    equal(s.counts["S", "a"], 1, "lives of a")
    s.consistent()


@test("a client that comes while the server is restarted during an outage is served later")
def queued(box):
    import socket
    path = box.path("web")
    s = start(box, {"a": {"sockets": {"u": f"unix:{path}"}, "do": ["serve"]}})
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def during():
        s.tell("a", "exit=1")
        s.line("x", "a")
        client.connect(path)

    outage(s, during)
    client.settimeout(10)
    equal(client.recv(100).split()[0], b"a", "who answered")
    client.close()
    s.event("started", "a", 2)  # a process can serve before supd tells of its start
    s.consistent()


@test("a client that connects to the control socket during an outage waits and is served")
def control(box):
    s = four(box)
    waiting = []

    def during():
        for _ in range(20):
            client = Varlink(s.socket)
            client.send("Ping")
            waiting.append(client)

    old, new = outage(s, during)
    for client in waiting:
        equal(client.result()["pid"], new, f"who answered (after {old})")
        client.close()


@test("supctl restart, stop, start and wait go on over a death, and end right", timeout=60)
def waiting_ctl(box):
    s = start(box, {"a": {"do": ["delay=300"]}, "b": {"do": ["delay=300"]}, "c": {},
                    "d": {"ready": "notify", "enabled": False}, "e": {}})
    s.aged()
    restart = supctl(box, s, "restart", "a")
    stop = supctl(box, s, "stop", "b")
    begin = supctl(box, s, "start", "d")
    wait = supctl(box, s, "wait", "c", "--for", "stopped")
    s.line("t", "a")
    s.line("t", "b")
    s.line("S", "d")
    s.crash()
    ends(s, restart, 0, "restart")
    ends(s, stop, 0, "stop")
    equal(begin.poll(), None, "start before its actor is ready")
    s.tell("d", "ready")
    ends(s, begin, 0, "start")
    equal(wait.poll(), None, "wait before its time")
    s.ctl_ok("stop", "c")
    ends(s, wait, 0, "wait")
    s.line("t", "c")
    equal([s.counts["S", name] for name in "abcd"], [2, 1, 1, 1], "lives")
    equal([s.counts["t", name] for name in "abc"], [1, 1, 1], "TERM signals")
    s.consistent()


@test("supctl does not ask for ever what ends each guardian that is asked", timeout=120)
def poison(box):
    if INSTRUMENTED:
        raise Skip("a sanitizer wants to be the first library")
    s = four(box, env={"LD_PRELOAD": program("poison.so", "tests/lib", ".")})
    for verb in (("--timeout", "1h", "stop", "poison"), ("watch", "poison")):
        s.aged()
        before = len(s.seen("supd"))
        said = s.ctl(*verb)
        equal(said.code, 1, f"the status of {verb}")
        has(said.err, "died 5 times in a row.* outcome is not known", f"what {verb} says")
        s.successor(None)
        s.caught_up()
        check(5 <= len(s.seen("supd")) - before <= 6, f"the guardians that died of {verb}")
    s.consistent()
    equal([s.counts["S", name] for name in "abcd"], [1, 1, 1, 1], "lives")


@test("a stop that a group restart overtakes during the outage is answered as without one, and "
      "not made again", timeout=60)
def answered(box):
    flag = box.file("flag")
    s = start(box, {"g": {"strategy": "rest_for_one", "children": {
        "a": {}, "b": {"do": [f"?{flag}:ignore"], "shutdown": "1m"}}}})
    wish = Wish(s, "Stop", names=["/user/g/b"])
    s.until(lambda: wish.done() or s.lines("t", "b"), "the signal")

    def during():
        os.unlink(flag)  # for b's next life, which the stop that is repeated leaves alone
        s.tell("a", "exit=1")
        s.tell("b", "exit=0")
        s.line("x", "a")
        s.line("x", "b")

    outage(s, during)
    try:
        s.until(wish.done, "the reply", 10)
        raise Failure("the stop is said to be done")
    except VarlinkError as refused:
        has(str(refused), "InvalidState.*wanted something else", "the reply")
    s.event("started", "g/b", 2)
    equal(s.actor("g/b")["state"], "running", "b's state")
    equal(len(s.seen("command", "g/b")), 1, "stops")
    s.consistent()


def connections(s):
    with open("/proc/net/unix", encoding="utf8") as text:
        return [line for line in text if line.rstrip().endswith(s.socket)
                and line.split()[5] == "03"]


@test("supctl watch registers again and prints one Terminated for each name")
def watch_ctl(box):
    s = four(box)
    watch = supctl(box, s, "-o", "json", "watch", "a", "b")
    s.until(lambda: len(connections(s)) >= 2, "the watcher")
    s.crash()
    s.call("Stop", names=["/user/a"])
    outage(s, lambda: None)
    s.call("Stop", names=["/user/b"])
    out = ends(s, watch, 0, "watch")
    equal([json.loads(line)["path"] for line in out.splitlines()], ["/user/a", "/user/b"],
          "what it printed")


@test("supctl watch tells of an end that happened in the outage itself")
def watch_outage(box):
    s = start(box, {"a": {"restart": "temporary"}, "b": {}, "over": {"enabled": False}})

    def told():
        with open(box.path("told"), encoding="utf8") as text:
            return [json.loads(line)["path"] for line in text if line.endswith("\n")]

    with open(box.path("told"), "wb") as out:
        watch = box.popen(SUPCTL, "-s", s.socket, "-o", "json", "watch", "over", "a",
                          stdout=out)
    # What is over is told at once, in the same turn in which the other is registered.
    s.until(lambda: told() == ["/user/over"], "the watch to be registered")

    def during():
        s.tell("a", "exit=0")
        s.line("x", "a")

    outage(s, during)
    equal(watch.wait(20), 0, "the exit status of watch")
    equal(told(), ["/user/over", "/user/a"], "its lines")


@test("supctl events -f goes on after the last it had, without a gap and without doubles")
def events_ctl(box):
    s = four(box)
    with open(box.path("events"), "wb") as out:
        follow = box.popen(SUPCTL, "-s", s.socket, "-o", "json", "events", "-f", stdout=out)

    def lines():
        with open(box.path("events"), encoding="utf8") as text:
            return [json.loads(line) for line in text if line.endswith("\n")]

    for n in range(2, 5):
        s.tell("a", "exit=1")
        s.started("a", n)
        s.crash()
    s.tell("b", "exit=1")
    s.started("b", 2)
    last = s.last_seq()
    s.until(lambda: lines()[-1]["seq"] >= last, "the last event")
    follow.kill()
    sequence = [event["seq"] for event in lines()]
    equal(sequence, list(range(sequence[0], sequence[0] + len(sequence))), "its numbers")
    s.consistent()


@test("a plain Varlink client sees the end of its connection, and may come again")
def plain(box):
    s = four(box)
    client = Varlink(s.socket)
    client.call("Ping")
    s.crash()
    try:
        client.receive()
        raise AssertionError("the connection is still there")
    except Closed:
        pass
    with s.connect() as again_client:
        again_client.call("Ping")


@test("a reload that a death interrupts is wholly done or wholly not", timeout=60)
def whole(box):
    s = start(box, {"a": {}, "b": {}, "c": {"do": ["delay=100"]}})
    s.write({"a": {}, "b": {"umask": "0027"}, "d": {}})
    wish = Wish(s, "Apply")
    s.until(lambda: wish.done() or s.lines("t", "c"), "the reload to begin")
    old = s.guardian()
    s.kill_guardian(old)
    s.successor(old)
    plan = [one for one in s.call("Diff")["plan"] if one["change"] != "unchanged"]
    check(len(plan) in (0, 3), f"half done: {plan}")
    s.until(wish.done, "the reply to Apply")
    s.started("d")
    s.started("b", 2)
    s.until(lambda: s.gone("c"), "c to be gone")
    s.consistent()
    equal([s.counts["S", name] for name in "abcd"], [1, 2, 1, 1], "lives")


# ---- systemd -------------------------------------------------------------------------------------

@test("a guardian that hangs under WATCHDOG_USEC is replaced; its actors notice nothing",
      timeout=60)
def hung(box):
    s = four(box, env={"WATCHDOG_USEC": "1000000"})
    s.until(lambda: any("WATCHDOG=1" in note for note in s.notes), "WATCHDOG=1")
    pids, old = dict(s.pids), s.guardian()
    os.kill(old, signal.SIGSTOP)
    s.until(lambda: not alive(old), "the end of the one that hangs", 20)
    s.successor(old)
    del s.notes[:]
    s.until(lambda: any("WATCHDOG=1" in note for note in s.notes), "WATCHDOG=1 of the next")
    equal(s.pids, pids, "the pids")
    s.consistent()


@test("what systemd is told comes from the walker; READY, which a death may swallow, again")
def relayed(box):
    s = four(box)
    del s.notes[:]
    s.crash()
    s.until(lambda: any("READY=1" in note for note in s.notes), "READY=1 of the next")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.consistent()
    check(not any("MAINPID" in note for note in s.notes), "MAINPID was sent")


@test("a successor in the middle of a stop has systemd wait on, and is not ready again")
def patience(box):
    s = start(box, {"a": {"do": ["ignore=TERM"], "shutdown": "30s"}})
    os.kill(s.process.pid, signal.SIGTERM)
    s.until(lambda: any("STOPPING=1" in note for note in s.notes), "STOPPING=1")
    del s.notes[:]
    s.crash()
    s.until(lambda: any("EXTEND_TIMEOUT_USEC" in note for note in s.notes), "more time")
    check(not any("READY=1" in note for note in s.notes), s.notes)
    os.kill(s.pids["a"], signal.SIGKILL)
    s.ended(0)


# ---- output -------------------------------------------------------------------------------------

def drips(box, name):
    """The numbers that reached the actor's log file."""
    try:
        with open(box.path(f"logs/user/{name}.log"), encoding="utf8") as text:
            return [int(line.rsplit(" ", 1)[1]) for line in text if line.endswith("\n")
                    and " drip " in " " + line]
    except FileNotFoundError:
        return []


def log_pid(s):
    try:
        return s.actor("/system/log")["pid"]
    except VarlinkError as error:
        equal(error.name, "NoSuchActor", "the error")
        raise Skip("there is no log process") from None


def dripping(box, s, lines, deeds):
    """Let a and b write `lines` lines while the deeds are done; none may be missing."""
    for name in "ab":
        s.tell(name, f"drip={lines}")
    for deed in deeds:
        s.until(lambda n=len(drips(box, "a")): len(drips(box, "a")) > n
                or s.counts["E", "a"], "more lines")
        deed()
    s.until(lambda: s.counts["E", "a"] and s.counts["E", "b"], "the last line to be written",
            60)
    for name in "ab":
        s.until(lambda n=name: drips(box, n)[-1:] == [1], f"the last line of {name}", 20)
        got = drips(box, name)
        equal(len(got), lines, f"lines of {name}")
        equal(got, list(range(lines, 0, -1)), f"the lines of {name}")


@test("no line of output is lost or doubled when guardians die", timeout=90)
def output_guardian(box):
    s = start(box, {"a": {}, "b": {}})
    log_pid(s)
    dripping(box, s, 1500, [s.crash] * 3)
    s.consistent()


@test("no line of output is lost or doubled when the log process dies, or both do",
      timeout=90)
def output_log(box):
    s = start(box, {"a": {}, "b": {}})

    def kill_log():
        old = log_pid(s)
        s.kill_guardian(old)
        s.until(lambda: log_pid(s) not in (None, old), "another log process")

    def kill_both():
        os.kill(log_pid(s), signal.SIGKILL)
        s.crash()

    dripping(box, s, 3000, [kill_log, kill_both, kill_log, s.crash])
    s.consistent()


@test("an actor's last words, said while there was no guardian, are in the file and explained",
      timeout=60)
def last_words(box):
    s = start(box, {"a": {}, "b": {}})

    def during():
        os.kill(log, signal.SIGKILL)
        s.tell("a", "say=drip 7")
        s.tell("a", "exit=1")
        s.line("x", "a")

    log = log_pid(s)
    outage(s, during)
    s.started("a", 2)
    s.until(lambda: drips(box, "a") == [7], "the last words")
    s.consistent()


# ---- upgrades -----------------------------------------------------------------------------------

def upgradable(box, tree, **options):
    """A supd with a copy of the binary in the box, which the test can replace."""
    binary = shutil.copy(SUPD, box.path("supd"))
    return start(box, tree, command=[binary], **options), binary


def replace(binary, other):
    """As a package manager does it: a new file under the old name."""
    shutil.copy(other, binary + ".new")
    os.chmod(binary + ".new", 0o755)
    os.rename(binary + ".new", binary)


@test(f"{UPGRADES} upgrades under load: no actor notices, both versions and the outage told",
      timeout=60 + 3 * UPGRADES)
def upgrades(box):
    s, binary = upgradable(box, {"a": {}, "b": {},
                                 "c": {"backoff": {"min": "20ms", "max": "40ms"}}},
                           intensity="unlimited")
    pids, walker = dict(s.pids), s.process.pid
    lives = 1
    for _ in range(UPGRADES):
        old = s.guardian()
        replace(binary, SUPD)
        s.tell("c", "exit=1")
        out = s.ctl_ok("upgrade", timeout=30).out
        has(out, r"\d+\.\d+.*\d+ ms", "what upgrade prints")
        check(s.guardian() != old, "the guardian is the old one")
        lives += 1
        s.until(lambda: s.counts["S", "c"] >= lives, "c's next life")
    equal(s.process.pid, walker, "the walker's pid")
    equal((s.pids["a"], s.pids["b"]), (pids["a"], pids["b"]), "the pids")
    check(any("upgraded" in json.dumps(event) for event in s.seen("supd")), "no event")
    s.settle()
    s.consistent()
    fds = s.descriptors_of(walker), s.descriptors_of(s.guardian())
    comment(f"descriptors of walker and guardian: {fds}")


@test("an upgrade to what does not run, or against a broken file, is refused beforehand")
def refused_upgrade(box):
    s, binary = upgradable(box, {"a": {}, "b": {}})
    old, pids = s.guardian(), dict(s.pids)
    replace(binary, "/bin/false")
    check(s.ctl("upgrade", timeout=30).code != 0, "it was not refused")
    replace(binary, SUPD)
    with open(s.file, encoding="utf8") as text:
        good = text.read()
    with open(s.file, "w", encoding="utf8") as out:
        out.write("children: [\n")
    check(s.ctl("upgrade", timeout=30).code != 0, "it was not refused")
    equal((s.guardian(), s.pids), (old, pids), "pids")
    with open(s.file, "w", encoding="utf8") as out:
        out.write(good)
    s.ctl_ok("upgrade", timeout=30)
    check(s.guardian() != old, "the guardian is the old one")
    equal(s.pids, pids, "pids")
    s.consistent()


@test("a crash after an upgrade, and an upgrade after a crash, adopt as ever", timeout=60)
def upgrade_and_crash(box):
    s, binary = upgradable(box, {"a": {}, "b": {}})
    pids = dict(s.pids)
    s.ctl_ok("upgrade", timeout=30)
    s.crash()
    replace(binary, SUPD)
    s.ctl_ok("upgrade", timeout=30)
    os.unlink(binary)
    s.crash()
    equal(s.pids, pids, "pids")
    s.consistent()


# ---- for long ------------------------------------------------------------------------------------

@test(f"over {CRASHES} crashes no descriptor is leaked, in walker nor guardian",
      timeout=60 + 4 * CRASHES)
def leaks(box):
    path = box.path("web")
    s = start(box, {"a": {"sockets": {"u": f"unix:{path}"}}, "b": {},
                    "g": {"strategy": "one_for_all", "intensity": "unlimited",
                          "children": {"c": {}, "d": {}}}})
    counts = []
    for n in range(CRASHES):
        s.aged()
        s.tell("c" if n % 2 else "b", "exit=1")
        s.crash()
        s.until(lambda k=n: s.counts["S", "b"] + s.counts["S", "c"] >= k + 3, "a new life")
        s.wait_for("g/d", state="running")
        s.caught_up()
        s.until(lambda: s.call("Ping"), "Ping")
        counts.append((s.descriptors_of(s.process.pid), s.descriptors_of(s.guardian())))
    comment(f"descriptors of walker and guardian: {counts[0]} … {counts[-1]}")
    half = len(counts) // 2
    check(max(w for w, _ in counts[half:]) <= max(w for w, _ in counts[:half]) + 1,
          f"the walker's descriptors: {[w for w, _ in counts]}")
    check(max(g for _, g in counts[half:]) <= max(g for _, g in counts[:half]) + 8,
          f"the guardian's descriptors: {[g for _, g in counts]}")
    equal((s.counts["S", "a"]), 1, "lives of a")
    s.consistent()


@test("supd's log says that the guardian died and of what")
def told(box):
    s = four(box)
    s.crash(signal.SIGSEGV)
    s.consistent()

    def stderr():
        with open(s.stderr, encoding="utf8", errors="replace") as text:
            return text.read()

    s.until(lambda: "SEGV" in stderr(), "the signal's name on stderr")
    has(stderr(), "SEGV", "supd's log")


if __name__ == "__main__":
    main()
