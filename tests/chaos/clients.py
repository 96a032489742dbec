#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Clients of actors and of supd over the death of a guardian."""
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import check, equal, outage, Wish
from crashes import four, start
from harness import INSTRUMENTED, SUPCTL, has, main, program, test, Failure, Skip
from varlink import Closed, Varlink, VarlinkError


def supctl(box, s, *args):
    return box.popen(SUPCTL, "-s", s.socket, *args, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE)


def ends(s, child, code, what):
    """Wait for a background supctl's end; its output."""
    s.until(lambda: child.poll() is not None, f"the end of {what}", 15)
    out, err = child.stdout.read().decode(), child.stderr.read().decode()
    equal(child.returncode, code, f"{what}: {out} {err}; status")
    return out


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


if __name__ == "__main__":
    main()
