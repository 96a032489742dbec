#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A ledger that was written over is given up: all actors are killed and begin anew."""
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
        if os.readlink(path).startswith("/memfd:supd-ledger"):
            with open(path, "r+b") as file:
                return mmap.mmap(file.fileno(), 0)
    raise AssertionError("the walker holds no ledger")


# Of struct ledger_record, from the configuration's number of an actor on: that, the life,
# why the spawn failed, and the pid.
RECORD = struct.Struct("=II8xi")


def records(memory, pid):
    """Where the record of a first life is: both copies, each behind conf_id."""
    found = [at for at in range(0, len(memory) - RECORD.size, 8)
             if memory[at + 16:at + 20] == struct.pack("=i", pid)
             and RECORD.unpack_from(memory, at)[1:] == (1, pid)]
    check(found, "no record was found")
    return found


def start(box):
    s = Chaos(box, {"a": {}, "b": {}, "g": {"children": {"c": {}, "d": {}}}})
    s.until(lambda: s.counts["supd", "/"] >= 2, "supd to be ready")
    s.settle()
    return s


def lose(box, damage):
    """Damage the ledger, kill the guardian: every actor has a second life, none has two."""
    s = start(box)
    pids = dict(s.pids)
    s.stream.close()
    s.stream, s.follow = None, False
    damage(ledger_of(s.process.pid), pids)
    old = s.guardian()
    s.kill_guardian(old)
    s.successor(old)
    s.until(lambda: all(s.counts["S", name] == 2 for name in "abcd"), "a second life of all")
    equal(s.lines("D"), [], "lives that began before the last one had ended")
    check(all(s.pids[name] != pids[name] for name in "abcd"), "a first life goes on")
    told = [one["event"]["what"] for one in s.stream_of("Events", {"since": 0})
            if one["event"]["event"] == "supd"]
    equal(told.count("ledger_lost"), 1, "ledger_lost")


@test("a damaged header loses the ledger: all are killed, none runs twice, supd says so")
def header(box):
    def damage(memory, _):
        memory[0:4096] = b"\xa5" * 4096
    lose(box, damage)


@test("a record with an impossible pid loses the ledger")
def impossible_record(box):
    def damage(memory, pids):
        for at in records(memory, pids["c"]):
            memory[at + 16:at + 20] = struct.pack("=i", -1)
    lose(box, damage)


@test("a record of an actor that the configuration does not have loses the ledger")
def unknown_actor(box):
    def damage(memory, pids):
        for at in records(memory, pids["c"]):
            memory[at:at + 4] = struct.pack("=I", 1 << 20)
    lose(box, damage)


if __name__ == "__main__":
    main()
