#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Upgrades that succeed: supd goes on in another binary, and its actors do not notice."""
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos
from harness import SUPCTL, SUPD, alive, check, children, comment, equal, has, main, test, unshare
from upgrades import OTHER, VERSION, contents, impostor, of_version, replace, runs, start
from varlink import Closed, Varlink

UPGRADES = int(os.environ.get("CHAOS_UPGRADES", "20"))
CLIENT_RECONNECT_S = 5.1  # a little more than supctl looks for a supd


def log_process(s):
    return s.actor("/system/log")["pid"]


@test("another version takes over: pids, both versions, the outage, the event, the binaries")
def another(box):
    s, binary = start(box)
    pids, old = dict(s.pids), s.guardian()
    replace(binary, of_version(OTHER))
    result = s.ctl_ok("upgrade")
    has(result.out, rf"^supd {VERSION} → {OTHER}, no guardian for \d+ ms\n$", "the output")
    equal(result.err, "", "stderr")
    event = s.event("supd", "/", what="upgraded")
    equal((event["from"], event["to"]), (VERSION, OTHER), "the versions in the event")
    has(result.out, f"for {event['outage_ms']} ms", "the outage")
    equal(s.event("command", verb="upgrade")["uid"], os.geteuid(), "who did it")
    pong = s.call("Ping")
    equal((pong["version"], pong["walker_pid"]), (OTHER, s.process.pid), "Ping")
    check(pong["pid"] != old, "the guardian is the old one")
    check(runs(pong["pid"], binary), "the guardian runs another binary")
    equal(s.pids, pids, "the pids")
    replace(binary, of_version(VERSION))
    reply = json.loads(s.ctl_ok("-o", "json", "upgrade").out)
    equal((reply["from"], reply["to"], sorted(reply)),
          (OTHER, VERSION, ["from", "outage_ms", "to"]), "-o json")
    s.consistent()
    equal(s.pids, pids, "the pids")


@test("the log process is restarted on the new binary, and no line is lost")
def log_is_renewed(box):
    s, binary = start(box, {"a": {"command": [
        "sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); echo line $i; "
                    "[ $((i % 100)) -ne 0 ] || sleep 0.05; done; exec sleep 1000"]}})
    for n in range(3):
        old = log_process(s)
        replace(binary, of_version(OTHER if n % 2 == 0 else VERSION))
        s.ctl_ok("upgrade")
        s.until(lambda: runs(log_process(s), binary), "the log process on the new binary")
        check(not alive(old), "the old log process lives on")
    s.until(lambda: "line 3000\n" in s.ctl("logs", "-n", "1", "a").out, "the last line")
    lines = s.ctl_ok("logs", "-n", "all", "a").out.splitlines()
    equal(lines, [f"line {n + 1}" for n in range(3000)], "what was logged")


@test("the log process ends, is stopped or is about to be started at an upgrade: it runs the new binary "
      "afterwards, and no line is lost")
def log_is_hit(box):
    s, binary = start(box, {"a": {"do": ["say=0"]}})
    signals = [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM] * 4
    for n, signo in enumerate(signals, 1):
        os.kill(s.until(lambda: log_process(s), "a log process"), signo)
        s.tell("a", f"say={n}")
        replace(binary, of_version(OTHER if n % 2 else VERSION))
        s.ctl_ok("upgrade")
        s.until(lambda: log_process(s) and runs(log_process(s), binary), "the log process on the new binary",
                timeout=30)
    s.until(lambda: f"{n}\n" in s.ctl("logs", "-n", "1", "a").out, "the last line")
    equal(s.ctl_ok("logs", "-n", "all", "a").out.split(), [str(i) for i in range(n + 1)], "what was logged")


def log_process_is_new(s, old):
    return log_process(s) not in (None, old)


def new_children(file, known):
    """Pids in a file of /proc that were not there before, as soon as there are any; for a moment."""
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        file.seek(0)
        if found := set(map(int, file.read().split())) - known:
            return found
    return set()


def held_on_its_way(s, old):
    """Stop the next log process before it executes its program; None if that was missed."""
    guardian = s.guardian()
    with open(f"/proc/{guardian}/task/{guardian}/children", "rb", buffering=0) as file:
        known = set(map(int, file.read().split()))
        os.kill(old, signal.SIGKILL)
        while not log_process_is_new(s, old):
            for new in new_children(file, known):
                known.add(new)
                if is_held(new):
                    return new
    return None


def is_held(pid):
    """Stop a child of the guardian that leads a session and runs no program of its own yet.  Helper
    processes never lead a session, and the log process does not from its first moment on."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        for _ in range(50):
            os.kill(pid, signal.SIGSTOP)
            for _ in range(100):
                stat = contents(f"/proc/{pid}/stat").rpartition(b") ")[2].split()
                if stat[0] in b"TZ":
                    break
                time.sleep(0.001)
            is_guardian = b"@guardian" in contents(f"/proc/{pid}/cmdline")
            if is_guardian and int(stat[3]) == pid:
                return True
            os.kill(pid, signal.SIGCONT)
            if not is_guardian:
                break
    return False


@test("the log process is on the way to its program at an upgrade: it runs the new binary afterwards")
def log_is_on_its_way(box):
    s, binary = start(box)
    replace(binary, of_version(OTHER))
    for _ in range(20):
        old = s.until(lambda: log_process(s), "a log process")
        held = held_on_its_way(s, old)
        if held is not None:
            break
        s.until(lambda: log_process_is_new(s, old), "the next log process")
    check(held is not None, "no log process was met on its way")
    s.ctl_ok("upgrade")
    with contextlib.suppress(ProcessLookupError):
        os.kill(held, signal.SIGCONT)
    s.until(lambda: log_process(s) and runs(log_process(s), binary), "the log process on the new binary", timeout=30)


@test("a call over a plain connection is answered on it, in order, and it goes on")
def plain(box):
    s, _ = start(box)
    old = s.guardian()
    with Varlink(s.socket) as client:
        client.send("Ping")
        client.send("Upgrade")
        client.send("Ping")
        equal(client.result()["pid"], old, "the guardian before")
        equal(sorted(client.result()), ["from", "outage_ms", "to"], "the reply")
        new = client.result()["pid"]
        check(new not in (old, None), "the reply behind it is of the old one")
        equal(client.call("Status", {"names": ["/user/a"]})["actors"][0]["pid"], s.pids["a"],
              "a's pid")
        check(client.call("Upgrade")["outage_ms"] < 10000, "the outage")
        check(client.call("Ping")["pid"] != new, "the guardian is the old one")


@test("supctl that waits goes on: wait, watch, events -f, logs -f, restart")
def waiting(box):
    os.mkfifo(box.path("fifo"))
    s, binary = start(box, {
        "a": {"command": ["sh", "-c", f"exec cat <> {box.path('fifo')}"]},
        "b": {}, "slow": {"do": ["ignore"], "shutdown": "1500ms"}})

    def ctl(*args):
        return box.popen(SUPCTL, "-s", s.socket, *args, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)

    wait, watch = ctl("wait", "--for", "stopped", "b"), ctl("watch", "b")
    events, logs = ctl("events", "-f"), ctl("logs", "-f", "a")
    restart = ctl("restart", "slow")
    s.event("stopping", "slow")
    with open(box.path("fifo"), "w", encoding="ascii", buffering=1) as fifo:
        for n in range(3):
            fifo.write(f"line {n}\n")
            equal(logs.stdout.readline(), f"line {n}\n", "a line")
            replace(binary, of_version(OTHER if n % 2 == 0 else VERSION))
            s.ctl_ok("upgrade")
    for child in (wait, watch, events, logs):
        equal(child.poll(), None, "an end too early")
    s.ctl_ok("stop", "b")
    s.until(lambda: None not in (wait.poll(), watch.poll(), restart.poll()), "three ends")
    equal((wait.returncode, watch.returncode, restart.returncode), (0, 0, 0), "their status")
    has(watch.stdout.read(), "/user/b", "what watch prints")
    s.line("S", "slow", 2)
    s.caught_up()
    for child in (events, logs):
        child.terminate()
        child.wait()
    equal(logs.stdout.read(), "", "what logs printed twice")
    printed = [line for line in events.stdout.read().splitlines() if "upgraded" in line]
    equal(len(printed), 3, f"upgrades in {printed}; their number")


@test("supctl that waits without a word goes on over two takeovers that are far apart")
def patient(box):
    s = Chaos(box, {"a": {}, "slow": {"do": ["ignore"], "shutdown": "6500ms"}})
    s.started("slow")
    watch, stop = [box.popen(SUPCTL, "-s", s.socket, *verb, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
                   for verb in (("watch", "a"), ("stop", "slow"))]
    s.event("stopping", "slow")
    s.crash()
    first = time.monotonic()
    s.until(lambda: time.monotonic() > first + CLIENT_RECONNECT_S, "the second takeover")
    s.crash()
    s.wait_for("slow", state="stopped")
    s.ctl_ok("stop", "a")
    for child in (watch, stop):
        equal((child.wait(), child.stderr.read()), (0, ""), "a caller that waited")


@test("what is under way goes on: a backoff, a stop, a hold, counters")
def under_way(box):
    s, binary = start(box, {
        "a": {}, "held": {}, "late": {"backoff": {"min": "3s", "jitter": 0}},
        "slow": {"do": ["ignore"], "shutdown": "2s"}})
    s.ctl_ok("stop", "--hold", "held")
    s.tell("a", "exit=3")
    s.line("S", "a", 2)
    s.tell("late", "exit=4")
    due = s.event("backoff", "late")["mono"] + 3 * 10**9
    stop = box.popen(SUPCTL, "-s", s.socket, "stop", "slow")
    term = s.line("t", "slow").ns
    s.until(lambda: s.actor("late")["state"] == "backoff", "the backoff")
    before = s.state()
    replace(binary, of_version(OTHER))
    s.ctl_ok("upgrade")
    equal(s.state(), before, "what Status says")
    s.line("S", "late", 2)
    s.until(lambda: stop.poll() is not None, "the stop")
    equal(stop.returncode, 0, "the status of stop")
    check(s.lines("S", "late")[1].ns >= due - 10**7, "late came too early")
    check(s.event("stopped", "slow")["mono"] >= term + 19 * 10**8, "slow was killed too early")
    s.ctl_ok("start", "slow", "held")
    s.consistent()


@test("on_crash: kill is not about upgrades")
def on_crash(box):
    s, binary = start(box, on_crash="kill")
    pids = dict(s.pids)
    s.ctl_ok("upgrade")
    equal(s.pids, pids, "the pids")
    replace(binary, impostor("fit-and-dies"))
    s.ctl("upgrade")
    s.consistent()
    equal(s.pids, pids, "the pids")


@test("clients of an actor's sockets and of the control socket are served throughout",
      timeout=60)
def served(box):
    path = box.path("web.sock")
    s, binary = start(box, {"a": {"do": ["serve"], "sockets": {"web": f"unix:{path}"}}})
    problems, counts, done = [], {"web": 0, "control": 0}, threading.Event()

    def ask(what, deed):
        while not done.is_set():
            try:
                deed()
                counts[what] += 1
            except Closed:
                pass
            except Exception as problem:  # pylint: disable=broad-except
                problems.append(f"{what}: {problem!r}")

    def web():
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(path)
            equal(int(client.recv(200).split()[1]), s.pids["a"], "who answered")

    def control():
        with Varlink(s.socket) as client:
            client.call("Ping")

    threads = [threading.Thread(target=ask, args=one) for one in
               (("web", web), ("control", control), ("control", control))]
    for thread in threads:
        thread.start()
    try:
        for n in range(8):
            replace(binary, of_version(OTHER if n % 2 == 0 else VERSION))
            before = dict(counts)
            s.ctl_ok("upgrade")
            s.until(lambda b=before: all(counts[what] > b[what] for what in counts), "answers")
    finally:
        done.set()
        for thread in threads:
            thread.join()
    problems = [one for one in problems if "Refused" in one or "NotFound" in one or "web" in one]
    equal(problems, [], "what went wrong")
    comment(f"served: {counts}")


@test(f"{UPGRADES} upgrades in a row under load: nothing lost, nothing doubled, nothing leaked",
      timeout=60 + 3 * UPGRADES)
def many(box):
    tree = {"a": {}, "b": {}, "web": {"do": ["serve"],
                                      "sockets": {"web": f"unix:{box.path('web.sock')}"}},
            "g": {"strategy": "one_for_all", "children": {"c": {}, "d": {}}}}
    s, binary = start(box, tree, intensity="unlimited")
    steady = {name: s.pids[name] for name in ("a", "b", "web")}
    walker, counts, outages, dice = s.process.pid, [], [], random.Random(UPGRADES)
    for n in range(UPGRADES):
        replace(binary, of_version(OTHER if n % 2 == 0 else VERSION))
        busy = [box.popen(SUPCTL, "-s", s.socket, "restart", "g",
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
        for _ in range(dice.randrange(3)):
            try:
                s.tell(dice.choice("cd"), f"exit={dice.randrange(1, 200)}")
            except OSError:
                pass
        outages.append(json.loads(s.ctl_ok("-o", "json", "upgrade").out)["outage_ms"])
        s.until(lambda b=busy: all(one.poll() is not None for one in b), "the restart")
        s.wait_for("g/d", state="running")
        s.until(lambda: runs(log_process(s), binary), "the log process on the new binary")
        s.consistent()
        counts.append((s.descriptors_of(walker), s.descriptors_of(s.guardian())))
    equal({name: s.pids[name] for name in steady}, steady, "the pids")
    equal(s.process.pid, walker, "the walker")
    comment(f"outages {min(outages)} to {max(outages)} ms; descriptors of walker and guardian "
            f"{counts[0]} … {counts[-1]}")
    # A client that has just gone, an actor that was adopted: a few more at a time are no leak.
    quarter = (UPGRADES + 3) // 4
    for which in (0, 1):
        check(min(one[which] for one in counts[-quarter:])
              <= max(one[which] for one in counts[:quarter]) + 2,
              f"descriptors grow: {counts}")


@test("as PID 1 of a container it is replaced in place", root=True)
def pid_one(box):
    words = unshare()
    binary = shutil.copy(SUPD, box.path("supd"))
    s = box.supd({"a": {"command": ["sleep", "1000"]}}, command=[*words, binary], wait=False)
    s.until(lambda: os.path.exists(s.socket) and s.ctl("is-ready", "a").code == 0, "supd")
    walker = children(s.process.pid)[0]
    pid = s.ctl_ok("pid", "a").out
    replace(binary, of_version(OTHER))
    has(s.ctl_ok("upgrade").out, f"{VERSION} → {OTHER}", "the output")
    # The walker follows when the new binary has supervised for ten seconds.
    s.until(lambda: runs(walker, binary), "the walker's new binary", 20)
    equal(s.json("ping")["walker_pid"], 1, "the walker's pid in there")
    equal(s.ctl_ok("pid", "a").out, pid, "the pid of a")
    s.acknowledged = True
    os.kill(walker, signal.SIGTERM)
    s.ended(0)


if __name__ == "__main__":
    main()
