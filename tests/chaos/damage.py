#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A ledger that somebody wrote over: who is concerned begins anew, the others go on."""
import mmap
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos
from harness import check, equal, main, test


def ledger_of(pid):
    """The ledger among the descriptors of the walker, mapped."""
    folder = f"/proc/{pid}/fd"
    for number in os.listdir(folder):
        path = os.path.join(folder, number)
        if "ledger" in os.readlink(path):
            with open(path, "r+b") as file:
                return mmap.mmap(file.fileno(), 0)
    raise AssertionError("the walker holds no ledger")


def write_over(memory, wanted):
    """Change the pid wherever it stands behind the number of a first life; how often."""
    pattern, n = struct.pack("=Ii", 1, wanted), 0
    at = memory.find(pattern)
    while at >= 0:
        if at % 4 == 0:
            memory[at] ^= 0xff
            n += 1
        at = memory.find(pattern, at + 1)
    return n


def start(box):
    s = Chaos(box, {"a": {}, "b": {}, "g": {"children": {"c": {}, "d": {}}}})
    s.until(lambda: s.counts["supd", "/"] >= 2, "supd to be ready")
    s.settle()
    return s


@test("an actor whose record is damaged is killed and starts anew, the others notice nothing")
def bad_record(box):
    s = start(box)
    pids = dict(s.pids)
    check(write_over(ledger_of(s.process.pid), pids["c"]) > 0, "no record was found")
    s.crash()
    s.started("c", 2)
    s.settle()
    equal({name: s.pids[name] for name in "abd"}, {name: pids[name] for name in "abd"},
          "pids of the others")
    equal(s.lines("D"), [], "lives that began before the last one had ended")
    equal(s.wait_for("g/c", state="running")["last_failure"]["cause"]["signal"], "KILL",
          "the cause")
    sequence = [one["event"]["seq"] for one in s.stream_of("Events", {"since": 0})]
    equal(sequence, list(range(1, len(sequence) + 1)), "sequence numbers")


@test("a damaged header loses the ledger: all are killed, none runs twice, supd says so")
def bad_header(box):
    s = start(box)
    pids = dict(s.pids)
    s.stream.close()
    s.stream, s.follow = None, False
    ledger_of(s.process.pid)[0:4096] = b"\xa5" * 4096
    old = s.guardian()
    s.kill_guardian(old)
    s.successor(old)
    s.until(lambda: all(s.counts["S", name] == 2 for name in "abcd"), "everybody's second life")
    equal(s.lines("D"), [], "lives that began before the last one had ended")
    check(all(s.pids[name] != pids[name] for name in "abcd"), "somebody's first life goes on")
    told = [one["event"]["what"] for one in s.stream_of("Events", {"since": 0})
            if one["event"]["event"] == "supd"]
    check("ledger_lost" in told, f"ledger_lost is not in {told}")


if __name__ == "__main__":
    main()
