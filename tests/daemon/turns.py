#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A turn with much to do is parted: clients are answered in the midst of it.

What is counted is the work between two looks at what else happened.
"""
import os
import re
import select
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Killer
from harness import check, comment, equal, main, test
from varlink import Varlink

ACTORS, REAPED, ACTED, NAMED = 150, 64, 32, 64
NAMES = [f"a{i}" for i in range(ACTORS)]


def parallel(box):
    s = box.supd({name: {} for name in NAMES}, start="parallel", stop="parallel",
                 intensity="unlimited", log={"level": "error", "target": "stderr"})
    for name in NAMES:
        s.started(name)
    return s


def most(text, counted):
    """How many calls of this name there are from one look to the next, at most."""
    runs, run = [], 0
    for name in re.findall(r"entry (\w+)", text):
        if name.startswith("epoll_") and name != "epoll_ctl":
            runs.append(run)
            run = 0
        run += name == counted
    runs.append(run)
    comment(f"{sum(runs)} of {counted}, at most {max(runs)} at once")
    check(sum(runs) >= ACTORS, "all were counted")
    return max(runs)


def trace(s, act, wait):
    killer = Killer(s.box, s.guardian(), "count", "-v")
    told = []
    os.set_blocking(killer.process.stdout.fileno(), True)

    def read():
        while more := killer.process.stdout.read1():
            told.append(more.decode())

    reader = threading.Thread(target=read)
    reader.start()
    act()
    wait(lambda counted: len(re.findall(rf"entry {counted}\b", "".join(told))))
    killer.process.stdin.close()
    reader.join()
    killer.process.wait()
    return "".join(told)


def all_started(s, times):
    for name in NAMES:
        s.started(name, times)


@test("when all die at once no more than 64 are reaped without a look at clients", timeout=60)
def storm(box):
    s = parallel(box)
    text = trace(s, lambda: [os.kill(s.pids[name], signal.SIGKILL) for name in NAMES],
                 lambda _: all_started(s, 2))
    check(most(text, "waitid") <= 2 * REAPED, "each end is looked at, and reaped")


@test("a stop of all asks no more than 32 to stop without a look at clients", timeout=60)
def stop(box):
    s = parallel(box)
    text = trace(s, lambda: s.call("Stop", names=["/user/*"]),
                 lambda _: s.wait_for("/user/a0", state="stopped"))
    check(most(text, "kill") <= ACTED, "requests to stop")
    # Without cgroups there is no file to look at.
    if text.count("entry openat") > ACTORS // 2:
        check(most(text, "openat") <= 2 * REAPED, "each end is looked at, the caller is once")


@test("an apply names no more than 64 streams to the log process without a look at clients",
      timeout=60)
def naming(box):
    s = parallel(box)
    s.write({name: {} for name in NAMES}, log={"level": "error", "target": "stderr", "format": "json"})
    text = trace(s, lambda: s.call("Apply"),
                 lambda seen: s.until(lambda: s.call("Ping") and seen("sendmsg") >= ACTORS, "all names"))
    check(most(text, "sendmsg") <= NAMED + 16, "streams whose lines get another form")


@test("an apply reads, takes memory and changes the tree in turns of their own", timeout=60)
def parts(box):
    s = parallel(box)
    marks = {"pread64": "what was read", "fallocate": "a ledger", "prlimit64": "the change"}
    text = trace(s, lambda: s.call("Apply"),
                 lambda seen: s.until(lambda: s.call("Ping") and seen("prlimit64"), "an end"))
    turns = re.split(r"entry epoll_(?!ctl)\w+", text)
    # The head of each configuration is read once more, to compare it with the other.
    first = [next((i for i, turn in enumerate(turns) if f"entry {mark}" in turn), None) for mark in marks]
    check(None not in first, lambda: f"of {list(marks)} some are missing: {first}")
    equal(first, sorted(set(first)), "the turns in which they first come")


@test("commands that come in the midst of a turn are carried out after it", timeout=60)
def commands(box):
    s = parallel(box)
    clients = [Varlink(s.socket, timeout=30) for _ in range(20)]
    for name in NAMES:
        os.kill(s.pids[name], signal.SIGKILL)
    for i, client in enumerate(clients):
        client.call("Stop", {"names": [f"/user/a{i}"]})
        client.call("Ping", {})
    for i, name in enumerate(NAMES):
        s.wait_for(f"/user/{name}", state="stopped" if i < len(clients) else "running")
    # A helper process may be under way.
    s.until(lambda: len(s.brood()) == ACTORS - len(clients), "a process for each that runs")


@test("replicas by the thousand come and go with one guardian, whose work grows with their number", timeout=60)
def masses(box):
    replicas = {"enabled": False, "containment": "session", "output": "inherit"}
    s = box.supd({"w": {**replicas, "replicas": 10}})
    guardian = s.guardian()
    for n in (8000, 10):
        s.write({"w": {**replicas, "replicas": n}})
        s.ctl_ok("apply", "--no-wait")
        equal(len(s.call("Status", names=["w@*"])["actors"]), n, "replicas")
    equal(s.guardian(), guardian, "the guardian")


@test("a client is answered while the file is read for another one", timeout=60)
def loading(box):
    s = parallel(box)
    for _ in range(50):
        slow, quick = Varlink(s.socket, timeout=30), Varlink(s.socket, timeout=30)
        slow.send("Diff", {})
        quick.send("Ping", {})
        answered, _, _ = select.select([slow.socket, quick.socket], [], [], 30)
        check(slow.result()["plan"], "a plan")
        check(quick.result()["pid"], "a process")
        if answered == [quick.socket]:
            return
    check(False, "the one that asks for a plan always comes first")


@test("files are read one after the other, and also for a client that goes away", timeout=60)
def many(box):
    s = parallel(box)
    clients = [Varlink(s.socket, timeout=30) for _ in range(30)]
    for i, client in enumerate(clients):
        client.send("Apply" if i % 3 == 0 else "Diff", {})
    for client in clients[1::4]:
        client.close()
    for i, client in enumerate(clients):
        if i % 4 != 1:
            check(client.result()["plan"], f"a plan for the {i}th")
    s.until(lambda: len(s.brood()) == ACTORS, "those that read to be gone")


main()
