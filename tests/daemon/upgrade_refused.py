#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Upgrades that are refused, hang or fail: the supd that is there goes on."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPCTL, SUPD, check, children, equal, has, main, program, run, test
from upgrades import OTHER, VERSION, contents, impostor, of_version, replace, runs, start
from varlink import Varlink, VarlinkError

STRANGER = program("stranger", "tests/lib", ".")


def refused(s, pattern, code=1):
    """supctl upgrade says why not, and nothing has changed."""
    guardian, pids, seq = s.guardian(), dict(s.pids), len(s.ring(0))
    before = children(guardian)
    result = s.ctl("upgrade", timeout=20)
    equal((result.code, result.out), (code, ""), f"{result}; status and output")
    has(result.err, pattern, "what supctl says")
    equal((s.guardian(), s.pids), (guardian, pids), "pids")
    equal(len(s.ring(0)), seq, "events")
    s.until(lambda: set(children(guardian)) <= set(before), "the end of who was asked")


def refusal(sentence, content, pattern):
    @test(f"{sentence} is refused beforehand, and nothing changes")
    def one(box):
        s, binary = start(box)
        replace(binary, content() if callable(content) else content)
        refused(s, pattern)
        replace(binary, of_version(OTHER))
        s.ctl_ok("upgrade")
        s.consistent()


refusal("a shell script", b"#!/bin/sh\necho hello\nexit 0\n", "not a supd .*it says: hello")


refusal("what is no program at all", b"\0nothing", "cannot be run: Exec format error")
refusal("another program", lambda: contents("/bin/echo"), "not a supd")
refusal("one that babbles", lambda: impostor("babbles"), r"not a supd[^\x1b]*me")
refusal("one that never stops talking", lambda: impostor("chatters"), "its output is too long")
refusal("one that says why not", lambda: impostor("objects"), "/supd: not on a Sunday")
refusal("a supd with another ledger", lambda: contents(STRANGER),
        r"the ledger is of version \d+, this supd reads 77: stop supd with its actors, and start it anew")


@test("an actor that is long in dying is gone before supd is")
def lingering(box):
    s, binary = start(box)
    replace(binary, impostor("lingers"))
    with Varlink(s.socket) as client:
        client.send("Upgrade")
        try:
            client.result()
            check(False, "it was not refused")
        except VarlinkError as error:
            has(str(error), "not on a Monday", "the reply")
    # Nothing may be left when this test has ended supd, now.


@test("a file that is gone, or is no executable one, is refused")
def no_file(box):
    s, binary = start(box)
    os.unlink(binary)
    refused(s, f"upgrade {binary}: .*No such file")
    os.mkdir(binary)
    refused(s, "not an executable file")
    os.rmdir(binary)
    shutil.copy(SUPD, binary)
    os.chmod(binary, 0o644)
    refused(s, "not an executable file")
    os.chmod(binary, 0o755)
    s.ctl_ok("upgrade")


@test("a configuration file with mistakes is refused, with all of them")
def broken_file(box):
    s, _ = start(box)
    with open(s.file, encoding="utf8") as text:
        good = text.read()
    box.file("supd.yaml", "children:\n  a:\n    command: [/bin/true]\n    shutdwn: 1s\n"
                          "    backof: 1s\n")
    refused(s, r"supd\.yaml:4:5: .*shutdwn(.|\n)*supd\.yaml:5:5: .*backof(.|\n)*2 errors")
    try:
        s.call("Upgrade")
        check(False, "it was not refused")
    except VarlinkError as error:
        equal(error.name, "ConfigInvalid", "the error")
        first = error.parameters["errors"][0]
        equal((first["line"], first["column"], sorted(first)),
              (4, 5, ["column", "file", "line", "message", "path"]), "the first mistake")
    os.unlink(s.file)
    refused(s, r"supd\.yaml: .*No such file")
    box.file("supd.yaml", good)
    s.ctl_ok("upgrade")
    s.consistent()


@test("a client that may only look is refused", root=True)
def observer(box):
    s, _ = start(box, control={"observers": "adm"})
    os.chmod(box.dir, 0o1777)
    result = run(SUPCTL, "-s", s.socket, "upgrade", user=65534, group=4, extra_groups=[])
    equal(result.code, 5, f"{result}; status")
    has(result.err, "permission denied", "stderr")


def connections(s):
    with open("/proc/net/unix", encoding="utf8") as text:
        return sum(line.rstrip().endswith(s.socket) and line.split()[5] == "03" for line in text)


@test("supctl that waits for the end of an actor waits across two upgrades", timeout=60)
def waited(box):
    s, binary = start(box, {"a": {}, "slow": {"do": ["ignore"], "shutdown": "1m"}})
    others = connections(s)
    watch = box.popen(SUPCTL, "-s", s.socket, "-o", "json", "watch", "a", stdout=subprocess.PIPE)
    stop = box.popen(SUPCTL, "-s", s.socket, "stop", "slow", stdout=subprocess.DEVNULL)
    s.line("t", "slow")
    for version in (OTHER, VERSION):
        s.until(lambda: connections(s) >= others + 2, "both to wait")
        replace(binary, of_version(version))
        s.ctl_ok("upgrade")
        equal((watch.poll(), stop.poll()), (None, None), f"who has ended with {version}")
    s.until(lambda: connections(s) >= others + 2, "both to wait again")
    s.tell("slow", "exit=0")
    equal(stop.wait(20), 0, "the status of stop")
    s.call("Stop", names=["/user/a"])
    equal(watch.wait(20), 0, "the status of watch")
    equal(json.loads(watch.stdout.read())["path"], "/user/a", "what watch tells")
    s.line("t", "a")
    equal([s.counts["t", name] for name in ("a", "slow")], [1, 1], "TERM signals")
    s.consistent()


@test("a client that goes away takes along its upgrade; one upgrade at a time")
def hanging(box):
    s, binary = start(box)
    replace(binary, impostor("hangs"))
    guardian = s.guardian()

    def asked():
        return [pid for pid in children(guardian) if runs(pid, binary)]

    for _ in range(2):
        with Varlink(s.socket) as client:
            client.send("Upgrade")
            s.until(asked, "the new binary to be asked")
            refused_now = s.ctl("upgrade")
            equal(refused_now.code, 1, f"{refused_now}; status")
            has(refused_now.err, "another upgrade is under way", "stderr")
        s.until(lambda: not asked(), "its end")
    equal(s.ctl("--timeout", "200ms", "upgrade").code, 124, "supctl --timeout; status")
    s.until(lambda: not asked(), "its end")
    replace(binary, of_version(OTHER))
    s.ctl_ok("upgrade")
    s.consistent()


@test("a shutdown that is asked for while the new binary is asked goes first")
def shutdown(box):
    s, binary = start(box)
    replace(binary, impostor("hangs"))
    with Varlink(s.socket) as client:
        client.send("Upgrade")
        s.until(lambda: any(runs(pid, binary) for pid in children(s.guardian())),
                "the new binary to be asked")
        s.signal(signal.SIGTERM)
        try:
            client.result()
            check(False, "it was not refused")
        except VarlinkError as error:
            has(error.parameters["message"], "shutting down", "the error")
        s.ended(0)


def says_nothing(box):
    s, binary = start(box)
    replace(binary, impostor("hangs"))
    result = s.ctl("upgrade", timeout=60)
    equal(result.code, 1, f"{result}; status")
    has(result.err, "did not say within 30 s", "stderr")
    s.consistent()


if os.environ.get("CHAOS_ALL"):
    test("a binary that says nothing is waited for 30 s", timeout=90)(says_nothing)


def failing(mode):
    @test(f"a binary that is {mode} comes back as the old one, and says so")
    def one(box):
        s, binary = start(box)
        pids, old, before = dict(s.pids), s.guardian(), box.path("before")
        os.link(binary, before)
        shutil.copy(STRANGER, box.path("stranger"))
        replace(binary, impostor(mode))
        result = s.ctl("upgrade")
        equal((result.code, result.out), (1, ""), f"{result}; status and output")
        has(result.err, f"{binary}: it failed while it took over; supd {VERSION} is back",
            "stderr")
        event = s.event("supd", "/", what="upgrade_failed")
        check(event["outage_ms"] < 10000 and event["after"], f"the event {event}")
        check(s.guardian() != old, "the guardian is the old process")
        for pid in (s.guardian(), s.process.pid):
            check(runs(pid, before), f"{pid} runs another binary")
        s.consistent()
        equal(s.pids, pids, "the pids")
        replace(binary, of_version(OTHER))
        s.ctl_ok("upgrade")
        s.consistent()
        equal(s.pids, pids, "the pids")


for one_mode in ("fit-and-dies", "fit-and-fails", "fit-and-ends", "fit-and-strange"):
    failing(one_mode)


if __name__ == "__main__":
    main()
