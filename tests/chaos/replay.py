#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What supd decided in a real life of chaos, the core decides again from the journal alone.

replay.c reads along in the ledger; what its core reports has to be the events that supd
told, one by one, and its memory the same at each checkpoint and in the end.
CHAOS_SEED=N, CHAOS_SECONDS=N.
"""
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, check, comment, equal
from harness import Failure, main, program, test
from parallel import ALL

REPLAY = os.environ.get("REPLAY") or program("replay", "tests/lib", ".")
SEED = int(os.environ.get("CHAOS_SEED", "1"))
SECONDS = float(os.environ.get("CHAOS_SECONDS", "60" if ALL else "6"))
ENOUGH = 6500  # events: more than a journal has entries
STATELESS = {"backoff": "none"}
SOME = {"backoff": {"min": "10ms", "max": "60ms"}}
TREE = {
    "spin": {"intensity": "unlimited", "children": {
        f"w{i}": {"command": ["/bin/sh", "-c", f"exit {i % 2}"], **STATELESS}
        for i in range(8)}},
    "all": {"strategy": "one_for_all", "intensity": "unlimited", "children": {
        "a": SOME, "b": {**STATELESS, "do": ["fork=1"]}, "c": {**SOME, "shutdown": "50ms",
                                                             "do": ["ignore"]}}},
    "rest": {"strategy": "rest_for_one", "I": "3/500ms", "children": {
        "d": STATELESS, "e": {**SOME, "ready": "notify", "do": ["ready"]},
        "f": {"restart": "transient", **SOME}}},
}
WORKERS = ["all/a", "all/b", "all/c", "rest/d", "rest/e", "rest/f"]
OTHERS = WORKERS + ["all", "rest"]


class Replay:
    """The program that reads along."""

    def __init__(self, box, supd):
        self.out = box.path("replayed")
        self.process = subprocess.Popen(
            [REPLAY, self.ledger(supd.process.pid), self.out], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        box.background.append(self.process)
        self.slots = [int(word) for word in self.said().split()[1:]]

    @staticmethod
    def ledger(walker):
        where = f"/proc/{walker}/fd"
        for fd in os.listdir(where):
            if "memfd:supd-ledger" in os.readlink(f"{where}/{fd}"):
                return f"{where}/{fd}"
        raise Failure("the walker holds no ledger")

    def said(self):
        line = self.process.stdout.readline().strip()
        check(line and not line.startswith("wrong"), lambda: f"the replay: {line}")
        return line

    def finish(self, paths):
        """(epochs, entries, what the core reported, in the words of the events)"""
        self.process.stdin.close()
        words = self.said().split()
        equal(self.process.wait(), 0, "the replay's exit status")
        names = dict(zip(self.slots, paths))
        names[0] = "/"
        with open(self.out, encoding="ascii") as lines:
            reports = [(event, names[int(slot)], int(incarnation), int(generation))
                       for event, slot, incarnation, generation in map(str.split, lines)]
        return int(words[0]), int(words[2]), reports


def torment(s, dice):
    """Cause a random failure, or send a random command."""
    path = dice.choice(WORKERS)
    what = dice.random()
    actor = s.actor(path)
    if what < 0.6 and actor["pid"]:
        try:
            os.kill(actor["pid"], dice.choice((9, 9, 15, 11)))
        except ProcessLookupError:
            pass
    elif what < 0.7:
        s.call("Stop", names=["/user/" + dice.choice(OTHERS)], wait=False)
    elif what < 0.8:
        s.call("Start", names=["/user/all", "/user/rest"], wait=False)
    elif what < 0.9:
        s.call("Start", names=["/user/" + path], wait=False)
    elif what < 0.97:
        s.call("Reset", names=["/user/" + dice.choice(OTHERS)])
    elif len(s.guardians) < 6:
        s.guardians.append(s.crash()[1])


@test("what supd did in a life of chaos comes of its journal again, byte for byte", timeout=240)
def replayed(box):
    dice = random.Random(SEED)
    s = Chaos(box, TREE)
    s.guardians = [s.guardian()]
    replay = Replay(box, s)
    paths = ["/system", "/system/log", "/system/letters", "/system/probe", "/system/metrics"]
    paths += [actor["path"] for actor in s.call("Status")["actors"]]
    equal(len(replay.slots), len(paths), "the number of actors")
    end = time.monotonic() + SECONDS
    # Longer on a slow machine: the journal is to have filled up once.
    while time.monotonic() < end or len(s.events) < ENOUGH and time.monotonic() < end + 90:
        try:
            torment(s, dice)
        except Exception as problem:  # pylint: disable=broad-except
            if "InvalidState" not in repr(problem):
                raise
        s.pump(0.002)
    s.call("Stop", names=["/user/spin", "/user/all", "/user/rest"], wait=True)
    s.caught_up()
    epochs, entries, reports = replay.finish(paths)
    # The event stream leaves out supd's own actors.
    reports = [report for report in reports if report[1].startswith("/user")]
    known = {report[0] for report in reports}
    told = [(event["event"], event["path"], event["incarnation"], event["generation"])
            for event in s.events
            if event["event"] in known and event["path"].startswith("/user")]
    for number, (ours, theirs) in enumerate(zip(reports, told)):
        equal(theirs, ours, f"event {number} of {len(told)}")
    equal(len(told), len(reports), "how many events there were")
    comment(f"{entries} entries in {epochs} checkpoints, {len(told)} events, "
            f"{len(s.guardians)} guardians")
    check(len(told) > 200, "hardly anything happened")


if __name__ == "__main__":
    main()
