# SPDX-License-Identifier: ISC
"""Stories of a supd: at one system call after the other its guardian is killed."""
import json
import os
import re
import resource
import shutil

from chaos import CUT, Chaos, Killer, alive, check, equal
from harness import PROBE, comment
from parallel import ALL, in_parallel

SOME = 10  # of each story, where not all are wanted


class Story:
    """What happens while the guardian is killed, on a tree of its own."""

    tree = {"a": {}, "b": {}, "c": {}, "d": {}}
    top = {}
    untouched = ("b", "c", "d")
    from_birth = False  # the killer waits for guardians that are yet to be born
    gate = False        # ... even for the first guardian
    order = True        # is the order among different actors always the same?
    nofile = None       # so few descriptors may be open

    def tree_in(self, box):
        """The tree; "./x" as its binary is a copy of the probe in the box."""
        tree = json.loads(json.dumps(self.tree))
        for spec in tree.values():
            if spec.get("binary", "").startswith("./"):
                spec["binary"] = shutil.copy(PROBE, box.path(spec["binary"][2:]))
        return tree

    def prepare(self, s):
        s.until(lambda: s.counts["supd", "/"] >= 2, "supd to be ready")

    def act(self, s):
        """Begin; gives the wishes that have to be granted."""
        raise NotImplementedError

    def done(self, s):
        raise NotImplementedError

    def check(self, s, before):
        """What else there is to say at the end."""


def normal(value):
    return json.loads(json.dumps(value))


def order_of(s):
    return [f"{event['event']} {event['path']}" for event in s.events
            if event["event"] in ("started", "exited", "stopping", "failure", "backoff")
            and not event["path"].startswith("/system")]


def outcome(story, s):
    """What must be the same with and without a death."""
    ends = {"state": s.state(), "shape": s.shape(), "records": records(s)}
    if story.order:
        ends["order"] = order_of(s)
    return normal(ends)


def records(s):
    """What the actors wrote; a signal to stop or to go on may come twice, when supd died
    between sending it and putting down that it was sent."""
    return {name: re.sub(r"([ts])\1+", r"\1", letters)
            for name, letters in s.records().items()}


def compare(got, expected):
    for part in expected:
        if part == "order":
            equal(got[part], expected[part], "the order of events")
            continue
        for key in sorted(set(expected[part]) | set(got[part])):
            equal(got[part].get(key), expected[part].get(key), f"{part} of {key}")


def attach(story, box, s, n):
    if story.from_birth or story.gate:
        return Killer(box, s.process.pid, n, "-w")
    return Killer(box, s.guardian(), n)


def live(story, box, n, expected):
    """One life of the story, with a death at stop n; what came of it."""
    s = Chaos(box, story.tree_in(box), gate=story.gate, before=lambda: limit(story), wait=False,
              **story.top)
    pids = {}
    if not story.gate:
        story.prepare(s)
        s.settle()
        pids = dict(s.pids)
    killer = attach(story, box, s, n)
    if story.gate:
        s.open_gate()
    try:
        return survive(story, s, killer, pids, expected)
    except Exception:
        print(f"killed at {killer.killed()}")
        raise


def survive(story, s, killer, pids, expected):
    wishes = story.act(s)
    s.until(lambda: all([wish.done() for wish in wishes]) and story.done(s),
            "the end of the story")
    stops = killer.end()
    killed = killer.killed()
    got = {}
    if s.process.returncode is None:
        s.consistent()
        for name in story.untouched:
            equal(s.pids[name], pids.get(name, s.pids[name]), f"pid of {name}")
            check(alive(s.pids[name]), f"{name} is dead")
        got = outcome(story, s)
        if not expected and not story.from_birth:
            equal(records(s), s.records(), "signals of a guardian that lives")
    story.check(s, pids)
    if expected:
        compare(got, expected)
    return {"stops": stops, "killed": killed, "outcome": got}


def limit(story):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if story.nofile:
        resource.setrlimit(resource.RLIMIT_NOFILE, (story.nofile, story.nofile))


def chosen(stops):
    """The numbers of the stops to try: all, one, or some at even distances."""
    if os.environ.get("CHAOS_N"):
        return [int(os.environ["CHAOS_N"])]
    every = list(range(1, stops + 1))
    if ALL:
        return every
    return every[::max(1, -(-len(every) // SOME))]


def tell_story(story):
    [(_, calm)] = in_parallel(lambda box, n: live(story, box, n, None), ["count"])
    expected = calm["outcome"]
    items = chosen(calm["stops"])
    lives = in_parallel(lambda box, n: live(story, box, n, expected), items)
    kills = sum(len(life["killed"]) for _, life in lives)
    comment(f"{calm['stops']} stops, {len(lives)} lives, {kills} kills")
    check(kills > 0, "nothing was ever killed")


class Counted:
    """A Suspend or Resume of g, which may not be made twice: is it done already?"""

    def __init__(self, supd, method, count):
        self.supd, self.method, self.count = supd, method, count

    def done(self):
        if self.supd.actor("g")["suspended"] == self.count:
            return True
        try:
            with self.supd.connect() as client:
                client.call(self.method, {"names": ["/user/g"]})
        except (*CUT, OSError):
            pass
        return False
