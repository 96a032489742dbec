#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What actors wrote: read, merged, followed, by many and by slow readers."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PATIENCE, SUPCTL, alive, check, equal, has, main, test
from varlink import Varlink, VarlinkError
from writers import Follower, readers

COUNT = "i=0; while [ $i -lt %d ]; do i=$((i+1)); echo line $i; done; exec sleep 1000"


def counter(n, **more):
    return {"command": ["sh", "-c", COUNT % n], **more}


def lines(n, first=1):
    return [f"line {i}" for i in range(first, n + 1)]


def until(condition, what, timeout=10):
    end = time.monotonic() + timeout * PATIENCE
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(0.01)


def logged(s, n):
    until(lambda: len(s.ctl("logs", "a").out.splitlines()) >= n, f"{n} lines in the log")


@test("logs prints what an actor wrote, all of it or the last lines")
def plain(box):
    s = box.supd({"a": counter(100), "b": {"command": ["sleep", "1000"]}})
    logged(s, 100)
    equal(s.ctl_ok("logs", "a").out.splitlines(), lines(100), "all")
    equal(s.ctl_ok("logs", "-n", "3", "a").out.splitlines(), lines(100, 98), "the last")
    equal(s.ctl_ok("tail", "-n", "0", "a").out, "", "none")
    equal(s.ctl_ok("logs", "b").out, "", "of one that wrote nothing")
    objects = [json.loads(line) for line in s.ctl_ok("-o", "json", "logs", "a").out.splitlines()]
    equal([o["text"] for o in objects], lines(100), "the texts")
    equal({(o["path"], *sorted(o)) for o in objects},
          {("/user/a", "path", "stream", "text", "time")}, "the members")


@test("what is not read on a terminal is, byte for byte, what an actor wrote")
def exact(box):
    written = b"caf\xe9\nnull \0 here\n\x1b[31mred\n" + bytes(
        n for n in range(1, 256) if n != 10) + b"\n"
    with open(box.path("bytes"), "wb") as out:
        out.write(written)
    s = box.supd({"a": {"command": ["sh", "-c", f"cat {box.path('bytes')}; exec sleep 1000"]}})
    until(lambda: s.ctl("logs", "a", "-o", "json").out.count("\n") == 4, "the lines")
    read = subprocess.run([SUPCTL, "-s", s.socket, "logs", "a"], stdout=subprocess.PIPE,
                          check=True).stdout
    equal(read, written, "the bytes")


@test("several actors, a pattern and a supervisor have names in front")
def several(box):
    s = box.supd({"app": {"children": {"a": counter(2), "b": counter(2)}}, "c": counter(1)})
    until(lambda: len(s.ctl("logs", "*", "app").out.splitlines()) == 5, "five lines")
    for names in (["a", "app/b"], ["app"], ["app/*"]):
        equal(sorted(s.ctl_ok("logs", *names).out.splitlines()),
              ["app/a | line 1", "app/a | line 2", "app/b | line 1", "app/b | line 2"], names)
    equal(len(s.ctl_ok("logs", "a", "a", "app/a").out.splitlines()), 2, "each line once")


@test("output that is not captured is an error that says where it goes; unknown names are 4")
def elsewhere(box):
    s = box.supd({"null": {"output": "null"}, "inherit": {"output": "inherit"},
                  "file": {"command": ["sh", "-c", "echo one; echo two >&2; exec sleep 1000"],
                           "output": {"stdout": "file:" + box.path("out"), "stderr": "null"}},
                  "app": {"children": {"x": {"output": "null"}}}})
    for name, text in (("null", "thrown away"), ("inherit", "that of supd itself"),
                       ("app", "nothing below it has a log")):
        result = s.ctl("logs", name)
        equal(result.code, 7, f"the status for {name}")
        has(result.err, f"logs {name}: .*{text}", "the message")
    until(lambda: s.ctl("logs", "file").out == "one\n", "the file of an actor")
    result = s.ctl("logs", "fiel")
    equal(result.code, 4, "the status")
    has(result.err, "did you mean /user/file", "the message")


@test("following goes on with what is written, until its reader ends")
def follow(box):
    fifo = box.path("fifo")
    os.mkfifo(fifo)
    s = box.supd({"a": {"command": ["sh", "-c", "echo ready; exec cat <> " + fifo]}})
    logged(s, 1)
    follower = Follower(box, s, "a")
    equal(follower.take(1), ["ready"], "the past")
    with open(fifo, "w", encoding="utf8") as out:
        for n in range(50):
            out.write(f"line {n}\n")
            out.flush()
            equal(follower.take(1), [f"line {n}"], "a line as it comes")
    equal(len(readers(s)), 1, "the readers")
    follows, = readers(s)
    follower.process.terminate()
    follower.process.wait()
    until(lambda: not alive(follows), "the reader has ended")


@test("what is added while all or a supervisor is followed is followed, from its first word on")
def grows(box):
    def says(word):
        return {"command": ["sh", "-c", f"for i in 1 2 3; do echo {word} $i; done; exec sleep 1000"]}

    def texts(follower):
        return sorted(line.split("| ")[-1] for line in follower.take(3))

    def words(name):
        return [f"{name} {i}" for i in (1, 2, 3)]
    s = box.supd({"a": says("a"), "sup": {"children": {"b": says("b")}}},
                 templates={"t": says("${actor.name}")})
    logged(s, 3)
    until(lambda: s.ctl("logs", "b").out.count("\n") == 3, "the lines of b")
    everything, below, one = Follower(box, s), Follower(box, s, "sup"), Follower(box, s, "a")
    equal((sorted(texts(everything) + texts(everything)), texts(below), texts(one)),
          (words("a") + words("b"), words("b"), words("a")), "the past")
    for name in ("c", "d"):
        s.ctl_ok("add", f"sup/{name}", "--use", "t")
        equal((texts(everything), texts(below)), (words(name), words(name)), f"the words of {name}")
    s.write({"a": says("a"), "sup": {"children": {"b": says("b")}}, "late": says("late")})
    s.ctl_ok("apply")
    equal(texts(everything), words("late"), "the words of what an apply adds")
    until(lambda: len(readers(s)) == 3, "a reader each")
    for follower in (everything, below, one):
        follower.process.terminate()
        equal(follower.process.stdout.read(), "", "more than was said")
        follower.process.wait()


@test("readers are bounded in number, and the last are kept for clients that may control")
def bounded(box):
    s = box.supd({"a": counter(1)})
    logged(s, 1)
    clients = []
    for _ in range(16):
        client = Varlink(s.socket)
        client.send("Logs", {"names": ["a"], "follow": True}, more=True)
        equal(client.result()["text"], "line 1", "the line")
        clients.append(client)
    try:
        list(Varlink(s.socket).stream("Logs", {"names": ["a"]}))
        check(False, "a seventeenth is served")
    except VarlinkError as error:
        has(str(error), "LimitReached", "the error")
    for client in clients:
        client.close()
    until(lambda: s.ctl("logs", "a").code == 0, "they are served again")


@test("a client that does not read neither blocks supd nor grows it, and loses nothing")
def slow(box):
    s = box.supd({"a": counter(100000), "b": {}})
    until(lambda: s.ctl("logs", "-n1", "a").out == "line 100000\n", "all are written", 20)
    before = s.memory_kib()
    client = Varlink(s.socket, receive_buffer=4096)
    client.send("Logs", {"names": ["a"], "follow": True}, more=True)
    equal(client.result()["text"], "line 1", "the first line")
    for _ in range(20):
        equal(s.ctl("is-active", "b").code, 0, "supd answers")
    check(s.memory_kib() - before < 8192, f"memory: {before}, then {s.memory_kib()} KiB")
    got = ["line 1"] + [client.result()["text"] for _ in range(99999)]
    equal(got, lines(100000), "what it got")
    client.close()


@test("a reader that is killed is replaced, and no line is lost or printed twice")
def killed(box):
    fifo = box.path("fifo")
    os.mkfifo(fifo)
    s = box.supd({"a": {"command": ["sh", "-c", "exec cat <> " + fifo]}})
    s.event("started", "a")
    follower = Follower(box, s, "a")
    with open(fifo, "w", encoding="utf8") as out:
        for n in range(10):
            out.write("same line\n" * 10)
            out.flush()
            equal(follower.take(10), ["same line"] * 10, f"the lines of turn {n}")
            pids = readers(s)
            equal(len(pids), 1, "the readers")
            os.kill(pids[0], signal.SIGKILL)
            until(lambda: not alive(pids[0]) and readers(s), "a new reader")
        out.write("end\n")
        out.flush()
        equal(follower.take(1), ["end"], "the last line")


@test("a reader that is killed in the midst of a call: what came of it is not taken for all")
def cut(box):
    s = box.supd({"a": counter(50000)})
    logged(s, 50000)
    client = Varlink(s.socket, receive_buffer=4096)
    client.send("Logs", {"names": ["a"]}, more=True)
    equal(client.result()["text"], "line 1", "the first line")
    for pid in readers(s):
        os.kill(pid, signal.SIGKILL)
    got, last = 1, client.receive()
    while last.get("continues"):
        equal(last["parameters"]["text"], f"line {got + 1}", "a line")
        got, last = got + 1, client.receive()
    check(got < 50000, f"{got} lines")
    equal(last["error"], "io.supd.Control.InvalidState", "the end")
    has(last["parameters"]["message"], "not complete; try again", "what is said")
    equal(len(s.ctl_ok("logs", "a").out.splitlines()), 50000, "the next answer")


def waiting(s):
    """Between calls: the reader that waits for the next one."""
    until(lambda: len(readers(s)) == 1, "a reader that waits")
    return readers(s)[0]


@test("after a call its reader waits for the next: it is not missed, and ends with the guardian")
def spare(box):
    silent = {str(n): {"command": ["true"], "restart": "transient"} for n in range(200)}
    top = "x" * 90
    deep = {top: {"start": "parallel", "children": {"y" * 90: {"start": "parallel", "children": silent}}}}
    s = box.supd({"a": counter(3), **deep})
    logged(s, 3)
    first = waiting(s)
    equal(s.ctl_ok("logs", "a").out.splitlines(), lines(3), "what it answers")
    equal(waiting(s), first, "the reader")
    os.kill(first, signal.SIGKILL)
    until(lambda: not alive(first), "its end")
    equal(s.ctl_ok("logs", "a").out.splitlines(), lines(3), "the answer without it")
    before = waiting(s)
    # A request that does not fit into the reader's pipe.
    equal([line.split(" | ")[1] for line in s.ctl_ok("logs", "a", top).out.splitlines()],
          lines(3), "of all")
    equal(waiting(s), before, "the reader that waits still")
    s.crash()
    until(lambda: not alive(before), "its end with the guardian")


@test("calls leave neither descriptors nor processes behind", timeout=60)
def nothing_left(box):
    s = box.supd({"a": counter(1000)})
    logged(s, 1000)

    def call(how):
        client = Varlink(s.socket)
        client.send("Logs", {"names": ["a"], "follow": how != "whole"}, more=True)
        if how == "whole":
            equal(sum(1 for _ in iter(lambda: client.receive().get("continues"), None)), 999,
                  "replies before the last")
        elif how == "begun":
            client.result()
        client.close()

    call("whole")
    waiting(s)
    before = s.descriptors()
    for _ in range(30):
        for how in ("whole", "begun", "at once"):
            until(lambda: len(readers(s)) < 12, "readers that end")
            call(how)
    until(lambda: len(readers(s)) <= 1, "the end of all readers but one that may wait")
    until(lambda: s.descriptors() <= before, lambda: f"{s.descriptors()}, not {before}")
    until(lambda: "Z" not in s.family().values(), lambda: f"zombies: {s.family()}")


@test("output in the journal is told of to a client that asks for places, as supctl does")
def in_the_journal(box):
    s = box.supd({"j": {"command": ["sleep", "1000"], "output": "null"},
                  "k": {"command": ["sleep", "1000"], "output": "null"}, "a": counter(1)})
    s.wait_for("a", state="running")
    s.write({"j": {"command": ["sleep", "1000"], "output": "journal"},
             "k": {"command": ["sleep", "1000"], "output": {"stderr": "journal"}},
             "a": counter(1)})
    s.ctl("apply")
    s.wait_for("k", state="running")
    client = Varlink(s.socket)
    client.send("Logs", {"names": ["j", "k", "a"], "since": "@"}, more=True)
    seen = []
    while True:
        reply = client.receive()
        seen.append((reply["parameters"]["path"],
                     reply["parameters"]["stream"].partition("@")[0]))
        if not reply.get("continues"):
            break
    for path in ("/user/j", "/user/k"):
        check(seen.count((path, "journal")) == 1 and (path, "") in seen, seen)
    check(("/user/a", "journal") not in seen, seen)
    try:
        list(Varlink(s.socket).stream("Logs", {"names": ["j"]}))
        check(False, "a client that does not ask for places")
    except VarlinkError as error:
        equal(error.name, "InvalidState", "the error")


if __name__ == "__main__":
    main()
