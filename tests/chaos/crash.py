#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies, is replaced, and its actors notice nothing: walker, guardians, systemd."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import alive, check, equal, Killer
from crashes import four, start
from harness import children, comment, has, main, test

CRASHES = int(os.environ.get("CHAOS_CRASHES", "12"))


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
