#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd below a real systemd, while its guardian dies, hangs, or all of it is killed.

systemd knows the walker only: whatever happens to the guardian, the unit is as it was.
"""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from machine import CGROUP, check, main, sh, test, until

DEADLY = [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT]
UNIT = ("MainPID", "NRestarts", "ActiveState", "SubState", "ActiveEnterTimestampMonotonic",
        "InvocationID", "Result")


def alone(name, slow=0, more=""):
    """An actor that notes a second life beside its own, and takes so long to end."""
    return "{command: %s%s}" % (sh(
        f"exec 8>>/srv/lock.{name}; flock -n 8 || echo {name} >>/srv/doubles; "
        f"trap 'sleep {slow}; echo last words of {name}; exit 0' TERM; "
        "sleep infinity & wait"), more)


def doubles(m):
    """The actors with two processes at the same time."""
    return m.run("cat", "/srv/doubles").stdout


def unit(m):
    return {what: m.show(what) for what in UNIT}


def unchanged(m, before):
    after = unit(m)
    check(after == before, f"the unit was {before} and is {after}")


def hearing(m):
    """systemd logs every message to it, until the test ends."""
    m.run("systemctl", "log-level", "debug", good=True)
    m.undo.append(lambda: m.run("systemctl", "log-level", "info"))


@test("whatever kills the guardian: systemd sees nothing of it, and the actors run on")
def deaths(m):
    hearing(m)
    m.tree(a=alone("a"), b=alone("b"), c=alone("c"))
    cursor = m.cursor()
    walker = m.start()
    before = unit(m)
    pids = {name: m.actor_pid(name) for name in "abc"}
    for signo in DEADLY * 2:
        old, new = m.crash(walker, signo)
        check(old.pid != new.pid, "the same one")
        check({name: m.actor_pid(name) for name in "abc"} == pids, f"{signo}: other actors")
    unchanged(m, before)
    check(before["MainPID"] == str(walker), before)
    # What a death may have swallowed is said again: systemd does not mind.
    check(1 <= m.told(cursor, "READY=1") <= 7, f"{m.told(cursor, 'READY=1')} times READY")
    check(m.run("systemctl", "is-active", "supd").stdout == "active\n", "not active")
    m.run(m.ctl, "stop", "b", good=True)
    until(lambda: m.show("StatusText") == "2 running, 0 failed", "the new numbers")
    m.crash(walker)
    m.run(m.ctl, "start", "b", good=True)
    until(lambda: m.show("StatusText") == "3 running, 0 failed", "the numbers after a crash")
    check(not doubles(m), lambda: doubles(m))


@test("a guardian that died while the tree was started leaves READY to the next one")
def early_deaths(m):
    os.mkfifo(os.path.join(m.shared, "early"))
    m.tree(a=alone("a"), gate="{ready: exit, command: %s}" % sh("read x </srv/early"))
    m.run("systemctl", "start", "--no-block", "supd", good=True)
    until(lambda: m.show("StatusText") == "1 running, 0 failed", "the first actor")
    walker = int(m.show("MainPID"))
    m.crash(walker)
    m.crash(walker)
    check(m.show("ActiveState") == "activating", "active before the tree was up")
    with open(os.path.join(m.shared, "early"), "w", encoding="ascii") as gate:
        gate.write("go\n")
    until(lambda: m.show("ActiveState") == "active", "READY=1")
    check((m.show("NRestarts"), int(m.show("MainPID"))) == ("0", walker), "another one")


@test("the watchdog is served on time across deaths, also close to its period")
def pings(m):
    m.drop_in("WatchdogSec=1")
    m.tree(a=alone("a"))
    walker = m.start()
    before, cursor = unit(m), m.cursor()
    end = time.monotonic() + 12
    n = 0
    while time.monotonic() < end:
        m.crash(walker, DEADLY[n % 3])
        n += 1
    check("Watchdog timeout" not in m.journal(cursor), lambda: m.journal(cursor))
    unchanged(m, before)


@test("a walker that was killed is started again by systemd, and nothing runs twice")
def walker_killed(m):
    m.tree(a=alone("a"), b=alone("b"))
    walker = m.start()
    cursor = m.cursor()
    before = {process.pid for process in m.family(walker).values()}
    os.kill(m.host_pid(walker), signal.SIGKILL)
    m.restarted(walker, "after the walker was killed")
    check(m.show("NRestarts") == "1", m.show("NRestarts"))
    now = m.family(int(m.show("MainPID")))
    check(not before & set(now), f"{before} and {now}")
    text = m.run("/bin/sh", "-c", f"find {CGROUP} -name cgroup.procs -exec cat {{}} +").stdout
    procs = {int(pid) for pid in text.split()}
    check(procs == set(now), f"{procs} in the cgroup, {now} below the walker")
    check(not doubles(m), lambda: doubles(m))
    journal = m.journal(cursor)
    check("the walker, supd's outermost process, has died" in journal, journal)
    until(lambda: m.show("StatusText") == "2 running, 0 failed", "both actors")


def stops_in_order(m, kills):
    """Stop the unit, and kill the guardian when each of these actors is stopping."""
    m.drop_in("TimeoutStopSec=2")
    m.tree(a=alone("a", 1), b=alone("b", 1, ", shutdown: 30s"), c=alone("c", 1))
    walker = m.start()
    cursor = m.cursor()
    m.run("systemctl", "stop", "--no-block", "supd", good=True)
    for name in kills:
        until(lambda n=name: f"/user/{n}: stopping" in m.journal(cursor), f"{name}'s stop")
        guardian = m.guardian(walker)
        if guardian is not None:
            os.kill(guardian.host, signal.SIGKILL)
    until(lambda: m.show("ActiveState") in ("inactive", "failed"), "the stop")
    journal = m.journal(cursor)
    check(m.show("Result") == "success", lambda: m.show("Result") + journal)
    check("status=0" in m.show("ExecStop"), lambda: m.show("ExecStop"))
    found = re.findall(r"^/user/(\w): (stopping|stopped)$", journal, re.M)
    check(found == [(name, what) for name in "cba" for what in ("stopping", "stopped")],
          journal)
    check("killed" not in "".join(re.findall(r"^/user/.*exited.*$", journal, re.M)), journal)
    check("Killing process" not in journal, journal)
    check(m.run("test", "-e", CGROUP).returncode != 0, "the cgroup is left")


@test("a stop goes on in order when the guardian is killed in the middle of it")
def stop_killed(m):
    stops_in_order(m, "b")


@test("a stop goes on in order when guardian after guardian is killed")
def stop_killed_often(m):
    stops_in_order(m, "cba")


@test("a stop that meets a guardian that hangs is in order, a little later")
def stop_hung(m):
    m.drop_in("WatchdogSec=2")
    m.tree(a=alone("a"), b=alone("b", more=", shutdown: 30s"))
    walker = m.start()
    cursor = m.cursor()
    os.kill(m.guardian(walker).host, signal.SIGSTOP)
    m.stop()
    journal = m.journal(cursor)
    found = re.findall(r"^/user/(\w): stopped$", journal, re.M)
    check((found, m.show("Result")) == (["b", "a"], "success"), journal)
    check("hangs" in journal and "Watchdog timeout" not in journal, journal)
    check("status=0" in m.show("ExecStop"), lambda: m.show("ExecStop"))


@test("a stop goes on, and nothing is started, where on_crash is kill")
def stop_killed_clean(m):
    m.tree(a=alone("a", 1), b=alone("b", 1, ", shutdown: 30s"))
    m.write("supd.yaml", "on_crash: kill\n" + m.read("supd.yaml"))
    walker = m.start()
    cursor = m.cursor()
    m.run("systemctl", "stop", "--no-block", "supd", good=True)
    until(lambda: "/user/b: stopping" in m.journal(cursor), "the stop")
    os.kill(m.guardian(walker).host, signal.SIGKILL)
    until(lambda: m.show("ActiveState") in ("inactive", "failed"), "the stop")
    journal = m.journal(cursor)
    check(m.show("Result") == "success", journal)
    check("/user/a: started" not in journal and "/user/b: started" not in journal, journal)


@test("a long stop is not cut off by systemd when the guardian that began it has died")
def long_stop_killed(m):
    m.drop_in("TimeoutStopSec=1")
    m.tree(a=alone("a", 4, ", shutdown: 30s"))
    walker = m.start()
    cursor = m.cursor()
    m.run("systemctl", "stop", "--no-block", "supd", good=True)
    until(lambda: "/user/a: stopping" in m.journal(cursor), "its stop")
    os.kill(m.guardian(walker).host, signal.SIGKILL)
    until(lambda: m.show("ActiveState") in ("inactive", "failed"), "the stop")
    check(m.show("Result") == "success", lambda: m.journal(cursor))
    check("/user/a: exited: exited with 0" in m.journal(cursor),
          lambda: m.journal(cursor))


@test("a reload holds, and the unit is active, when the guardian is killed right after it")
def reload_killed(m):
    m.tree(a=alone("a"), b=alone("b"))
    walker = m.start()
    before, pid = unit(m), m.actor_pid("a")
    m.tree(a=alone("a"), d=alone("d"))
    m.run("systemctl", "reload", "supd", good=True)
    m.crash(walker)
    check(m.actor_pid("a") == pid, "a was restarted")
    check(m.run(m.ctl, "pid", "b").returncode == 4, "b is still there")
    check(m.actor_pid("d") > 0, "d does not run")
    unchanged(m, before)


@test("a reload during which the guardian is killed is all or nothing, and ends")
def reload_cut(m):
    m.tree(a=alone("a"), b=alone("b"))
    walker = m.start()
    before, pid = unit(m), m.actor_pid("a")
    for n in range(12):
        name = "bd"[n % 2]
        m.tree(**{"a": alone("a"), name: alone(name)})
        guardian = m.guardian(walker)
        m.run("/bin/sh", "-c", f"systemctl reload --no-block supd; sleep 0.{n:02}; "
              f"kill -KILL {guardian.pid}", good=True)
        m.successor(walker, guardian)
        until(lambda: m.show("ActiveState") == "active", "the end of the reload")
        if m.run(m.ctl, "pid", name).returncode != 0:
            m.run("systemctl", "reload", "supd", good=True)
        check(m.actor_pid("a") == pid and m.actor_pid(name) > 0, "a or the new one")
    unchanged(m, before)
    check(not doubles(m), lambda: doubles(m))


def places(m):
    """Directory in the unit's cgroup → the number of processes in it."""
    text = m.run("/bin/sh", "-c", f"cd {CGROUP} && find . -name cgroup.procs -exec "
                 "sh -c 'echo $1 $(wc -l <$1)' - {} ';'", good=True).stdout
    return {os.path.dirname(path)[2:]: int(n)
            for path, n in (line.split() for line in text.splitlines())}


@test("supd stays in its leaf, the actors beside it, after deaths; a stop leaves nothing")
def layout(m):
    m.tree(a=alone("a"), b=alone("b"))
    walker = m.start()
    controllers = f"cat {CGROUP}/cgroup.subtree_control {CGROUP}/supd/cgroup.controllers"
    text = m.run("/bin/sh", "-c", controllers, good=True).stdout
    inode = m.run("stat", "-c", "%i", CGROUP + "/actors", good=True).stdout
    before = places(m)
    check(before[""] == before["actors"] == 0, before)
    for signo in DEADLY * 2:
        m.crash(walker, signo)
    until(lambda: places(m) == before, lambda: f"the same places: {before}, {places(m)}")
    check(m.run("/bin/sh", "-c", controllers, good=True).stdout == text, "controllers")
    check(m.run("stat", "-c", "%i", CGROUP + "/actors").stdout == inode, "other actors/")
    m.run(m.ctl, "restart", "a", good=True)
    until(lambda: places(m) == before, "the same places after a restart")
    m.stop()
    check(m.run("test", "-e", CGROUP).returncode != 0, "the cgroup is left")
    left = m.run("ls", "-A", os.path.dirname(CGROUP)).stdout
    check("supd" not in left, left)


@test("the journal has actors' output with their names, also after deaths")
def actor_words(m):
    m.tree(a="{output: journal, command: %s}" % sh(
        "n=0; while :; do n=$$((n + 1)); echo line $$n; echo '<3>bad' $$n; sleep 0.1; done"))
    cursor = m.cursor()
    walker = m.start()
    for signo in DEADLY:
        m.crash(walker, signo)
    pid = str(m.actor_pid("a"))

    def lines():
        m.run("journalctl", "--sync")
        entries = m.entries(cursor)
        return [entry for entry in entries if entry.get("SUPD_PATH") == "/user/a"]

    until(lambda: len(lines()) >= 40, "its output")
    m.run(m.ctl, "stop", "a", good=True)
    found = lines()
    check(all(entry["PRIORITY"] == ("3" if entry["MESSAGE"].startswith("bad") else "6")
              for entry in found), found)
    said = [int(entry["MESSAGE"].split()[1]) for entry in found
            if entry["MESSAGE"].startswith("line")]
    check(set(said) == set(range(1, max(said) + 1)), f"lost lines: {said}")
    check(all("SUPD_GENERATION" in entry or "SUPD_INCARNATION" in entry
              for entry in found), found[0])
    check(pid, "no pid")


def hang(m, walker):
    """Stop the guardian by SIGSTOP; gives the guardian that replaces it."""
    old = until(lambda: m.guardian(walker), "a guardian")
    os.kill(old.host, signal.SIGSTOP)
    return m.successor(walker, old)


@test("guardians that hang are replaced in time for systemd's watchdog")
def hangs(m):
    hearing(m)
    m.drop_in("WatchdogSec=3")
    m.tree(a=alone("a"), b=alone("b"))
    walker = m.start()
    before, pids = unit(m), {name: m.actor_pid(name) for name in "ab"}
    cursor = m.cursor()
    for _ in range(3):
        hang(m, walker)
        check({name: m.actor_pid(name) for name in "ab"} == pids, "other actors")
    heard = m.told(cursor, "WATCHDOG=1")
    until(lambda: m.told(cursor, "WATCHDOG=1") >= heard + 3, "the last one's own WATCHDOG=1")
    journal = m.journal(cursor)
    check("Watchdog timeout" not in journal, journal)
    check("hangs, it was stopped by a signal: it is aborted" in journal, journal)
    unchanged(m, before)


@test("what the walker says has its priority in the journal, too")
def walker_words(m):
    m.tree(a=alone("a"))
    walker = m.start()
    cursor = m.cursor()
    m.crash(walker)
    until(lambda: "SIGKILL; the next guardian" in m.journal(cursor, True, 4), "the warning")
    check("SIGKILL; the next guardian" not in m.journal(cursor, True, 3), "it is no error")
    check(not re.search(r"^\d{4}-|^<\d>", m.journal(cursor, True), re.M),
          "a time stamp or priority of its own in a journal that has them")


if __name__ == "__main__":
    sys.exit(main())
