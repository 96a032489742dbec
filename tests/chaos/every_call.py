#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies at every system call in turn, and the actors' history stays the same.

Each story is first played undisturbed: the events of every actor, the actors' own lines and
the last Status have to be the same when the guardian is killed at the n-th stop (killer.c),
for every n.  `make check` takes some n of each story, `make check-chaos` all (CHAOS_ALL=1);
CHAOS_N=17 takes the 17th stop only.
"""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from call_stories import Counted, Story, records, tell_story
from chaos import Wish, check, equal
from harness import main, test
from parallel import ALL
from varlink import VarlinkError


class Start(Story):
    tree = {"a": {"do": ["ready"], "ready": "notify"}, "b": {},
            "g": {"strategy": "one_for_all", "children": {"c": {}, "d": {}}}}
    untouched = ()
    gate = True

    def act(self, s):
        return []

    def done(self, s):
        return s.was_ready() and s.counts["ready", "/user/g/d"] >= 1


class Crash(Story):
    def act(self, s):
        s.tell("a", "exit=7")
        return []

    def done(self, s):
        return s.counts["ready", "/user/a"] >= 2


class CrashesAtOnce(Story):
    untouched = ("d",)
    order = False

    def act(self, s):
        for name, code in (("a", 7), ("b", 8), ("c", 9)):
            s.tell(name, f"exit={code}")
        return []

    def done(self, s):
        return all(s.counts["ready", f"/user/{name}"] >= 2 for name in "abc")


class FewDescriptors(CrashesAtOnce):
    """The guardian fetches pipes from the walker: its own are those of the last ones started."""
    nofile = 400
    tree = {**{name: {"do": ["say=hello"]} for name in "abcd"},
            **{f"z{n}": {"command": ["sleep", "1000"]} for n in range(36)}}

    def check(self, s, before):
        for name, lives in (("a", 2), ("b", 2), ("c", 2), ("d", 1)):
            path = os.path.join(s.dir, f"logs/user/{name}.log")
            s.until(lambda path=path, lives=lives: os.path.exists(path) and open(
                path, encoding="utf8").read().count("hello\n") == lives, f"what {name} said")


MANY = [f"a{n}" for n in range(11)]  # more than there are places for starts (births.c)


class ManyStart(Story):
    """Several are on their way to their programs when the guardian dies; others wait."""
    tree = {"b": {}}
    untouched = ("b",)
    order = False

    def act(self, s):
        fails = {"binary": os.path.join(s.dir, "nowhere"),
                 "on_failure": [{"when": "exec", "then": "stop"}]}
        s.write({"b": {}, **{name: {} for name in MANY}, "x": fails}, start="parallel")
        return [Wish(s, "Apply")]

    def done(self, s):
        return (all(s.counts["ready", f"/user/{name}"] >= 1 for name in MANY)
                and s.counts["failure", "/user/x"] >= 1)


class ManyCrashes(Story):
    tree = {**{name: {} for name in MANY}, "b": {}}
    untouched = ("b",)
    order = False

    def act(self, s):
        for name in MANY:
            s.tell(name, "exit=7")
        return []

    def done(self, s):
        return all(s.counts["ready", f"/user/{name}"] >= 2 for name in MANY)


class Backoff(Story):
    tree = {**Story.tree, "a": {"backoff": {"min": "60ms", "max": "1s", "jitter": 0,
                                              "reset": "manual"}}}

    def act(self, s):
        s.tell("a", "exit=7")
        return []

    def done(self, s):
        return s.counts["ready", "/user/a"] >= 2

    def check(self, s, before):
        # An end is told later, by the next guardian perhaps.
        end = s.lines("x", "a")[0].ns
        start = s.seen("started", "a")[1]["mono"]
        check(start - end >= 60_000_000, f"started {(start - end) / 1e6} ms after its end")


class Stop(Story):
    def act(self, s):
        return [Wish(s, "Stop", names=["/user/a"])]

    def done(self, s):
        return s.counts["stopped", "/user/a"] >= 1


class StopAndStart(Story):
    def act(self, s):
        self.second = None
        self.first = Wish(s, "Stop", names=["/user/a"], hold=True)
        return []

    def done(self, s):
        if not self.second:
            if not self.first.done():
                return False
            self.second = Wish(s, "Start", names=["/user/a"])
        return self.second.done() and s.counts["ready", "/user/a"] >= 2


class DeafStop(Story):
    tree = {**Story.tree, "a": {"do": ["ignore"], "shutdown": "300ms"}}

    def act(self, s):
        return [Wish(s, "Stop", names=["/user/a"])]

    def done(self, s):
        return s.counts["stopped", "/user/a"] >= 1


class Restart(Story):
    def act(self, s):
        return [Wish(s, "Restart", names=["/user/a"])]

    def done(self, s):
        return s.counts["ready", "/user/a"] >= 2


class BrutalRestart(Restart):
    tree = {**Story.tree, "a": {"shutdown": "brutal_kill"}}


class BrutalGroup(Story):
    tree = {"a": {}, "g": {"strategy": "one_for_all", "children": {
        "b": {}, "c": {"shutdown": "brutal_kill"}, "d": {}}}}
    untouched = ("a",)

    def act(self, s):
        s.tell("b", "exit=3")
        return []

    def done(self, s):
        return s.counts["ready", "/user/g/d"] >= 2


class Group(Story):
    tree = {"a": {}, "g": {"strategy": "one_for_all",
                           "children": {"b": {}, "c": {"do": ["delay=20"]}, "d": {}}}}
    untouched = ("a",)

    def act(self, s):
        s.tell("b", "exit=3")
        return []

    def done(self, s):
        return s.counts["ready", "/user/g/d"] >= 2


class Rest(Story):
    tree = {"a": {}, "g": {"strategy": "rest_for_one", "children": {"b": {}, "c": {}, "d": {}}}}
    untouched = ("a", "b")

    def act(self, s):
        s.tell("c", "raise=KILL")
        return []

    def done(self, s):
        return s.counts["ready", "/user/g/d"] >= 2


class Escalation(Story):
    tree = {"a": {}, "g": {"I": "0/60s", "children": {"b": {}, "c": {}}}, "d": {}}
    untouched = ("a", "d")

    def act(self, s):
        s.tell("b", "exit=3")
        return []

    def done(self, s):
        return s.counts["ready", "/user/g/c"] >= 2


class Suspend(Story):
    """A subtree is frozen and thawed; then it answers."""
    tree = {"a": {}, "g": {"children": {
        "b": {"do": ["fork=1"], "containment": "session"}, "c": {}}}, "d": {}}
    untouched = ("a", "b", "c", "d")

    def act(self, s):
        self.steps = [Counted(s, "Suspend", 1), Counted(s, "Resume", 0)]
        self.asked = False
        return []

    def done(self, s):
        while self.steps and self.steps[0].done():
            if len(self.steps) == 2:
                s.until(lambda: all(s.actor(name)["state"] == "suspended"
                                    for name in ("g", "g/b", "g/c")), "g to stand still")
            del self.steps[0]
        if not self.steps and not self.asked:
            self.asked = True
            s.tell("b", "echo")
            s.tell("c", "echo")
        return self.asked and s.lines("E", "b") and s.lines("E", "c")


class GivingUp(Story):
    tree = {"a": {}, "g": {"I": "0/60s", "on_failure": [{"when": "any", "then": "stop"}],
                           "children": {"b": {}, "c": {}}}, "d": {}}
    untouched = ("a", "d")

    def act(self, s):
        s.tell("b", "exit=4")
        return []

    def done(self, s):
        return s.counts["terminated", "/user/g"] >= 1


class ExecFailure(Story):
    """The program is gone when its turn comes to be started again."""
    tree = {**Story.tree, "a": {"binary": "./a",
                                "on_failure": [{"when": "exec", "then": "stop"}]}}

    def prepare(self, s):
        super().prepare(s)
        os.unlink(os.path.join(s.dir, "a"))

    def act(self, s):
        s.tell("a", "exit=7")
        return []

    def done(self, s):
        return s.counts["failure", "/user/a"] >= 2


class StartTimeout(Story):
    """An actor that does not become ready is ended in time, and not started again."""
    tree = {**Story.tree, "a": {
        "ready": "notify", "start_timeout": "500ms",
        "on_failure": [{"when": "start_timeout", "then": "stop"}]}}

    def tree_in(self, box):
        tree = super().tree_in(box)
        tree["a"]["do"] = [f"?{box.file('first')}:ready"]
        return tree

    def prepare(self, s):
        s.line("r", "a")
        os.unlink(os.path.join(s.dir, "first"))
        super().prepare(s)

    def act(self, s):
        s.tell("a", "exit=3")
        return []

    def done(self, s):
        return s.counts["terminated", "/user/a"] >= 1


class BackoffReset(Story):
    """The process sends BACKOFF_RESET once and never again: no death may lose the message."""
    tree = {**Story.tree, "a": {"notify": True, "backoff": {
        "min": "20ms", "max": "1s", "jitter": 0, "reset": "manual"}}}

    def prepare(self, s):
        super().prepare(s)
        s.tell("a", "exit=7")
        s.started("a", 2)
        s.wait_for("a", state="running")

    def act(self, s):
        s.tell("a", "notify=BACKOFF_RESET=1")
        return []

    def done(self, s):
        return s.actor("a")["backoff"] is None


class Reload(Story):
    tree = {"a": {}, "b": {}, "c": {}, "d": {}}
    untouched = ("a", "d")
    order = False

    def act(self, s):
        s.write({"a": {}, "b": {"umask": "0027"}, "d": {}, "e": {}})
        return [Wish(s, "Apply")]

    def done(self, s):
        return (s.counts["ready", "/user/e"] >= 1 and s.counts["ready", "/user/b"] >= 2
                and s.counts["terminated", "/user/c"] >= 1)


class Shutdown(Story):
    tree = {"a": {}, "g": {"children": {"b": {"do": ["delay=20"]}, "c": {}}},
            "d": {"do": ["ignore"], "shutdown": "300ms"}}
    untouched = ()

    def act(self, s):
        s.acknowledged = True
        s.signal(signal.SIGTERM)
        return []

    def done(self, s):
        return s.process.poll() is not None

    def check(self, s, before):
        equal(s.process.returncode, 0, "exit status")
        said = [line.kind + line.name for line in s.lines("tx") if line.name != "d"]
        equal([one for one, last in zip(said, [None, *said]) if one != last],
              ["tc", "xc", "tb", "xb", "ta", "xa"], "who ended, and in which order")
        equal(records(s)["d"], "St", "what the deaf one said")


class Adoption(Story):
    """One guardian is killed, an actor dies, and then the next guardian is the target."""
    from_birth = True

    def act(self, s):
        self.first = s.guardian()
        s.tell("a", "exit=7")
        s.line("x", "a")
        s.kill_guardian(self.first)
        return []

    def done(self, s):
        # The first one may have been fast enough to bring a back itself.
        return s.counts["ready", "/user/a"] >= 2 and s.guardian() != self.first


class AdoptionWithFewDescriptors(Adoption):
    nofile = FewDescriptors.nofile
    tree = FewDescriptors.tree


class AdoptionInGroup(Group):
    """As Adoption, while a group restart is under way: c takes its time."""
    from_birth = True

    def act(self, s):
        guardian = s.guardian()
        s.tell("b", "exit=3")
        s.line("t", "c")
        s.kill_guardian(guardian)
        return []


class AdoptionInStop(DeafStop):
    from_birth = True

    def act(self, s):
        guardian = s.guardian()
        wish = Wish(s, "Stop", names=["/user/a"])
        s.until(lambda: wish.done() or s.lines("t", "a"), "the signal")
        s.kill_guardian(guardian)
        return [wish]


class AdoptionInReload(Reload):
    tree = {**Reload.tree, "c": {"do": ["delay=30"]}}
    from_birth = True

    def act(self, s):
        guardian = s.guardian()
        wishes = super().act(s)
        s.until(lambda: wishes[0].done() or s.lines("t", "c"), "the signal")
        s.kill_guardian(guardian)
        return wishes


class Upgrade(Story):
    """The guardian that makes room is killed: the client asks again, or is told of the death."""
    untouched = ("a", "b", "c", "d")

    def act(self, s):
        self.wish = Wish(s, "Upgrade")
        return []

    def answered(self):
        try:
            return self.wish.done()
        except VarlinkError as error:
            equal(error.name, "InvalidState", "the error")
            check(re.search("died|failed", error.parameters["message"]), f"the error {error}")
            return True

    def done(self, s):
        return self.answered()


class UpgradeAndCrash(Upgrade):
    untouched = ("b", "c", "d")

    def act(self, s):
        s.tell("a", "exit=7")
        return super().act(s)

    def done(self, s):
        return self.answered() and s.counts["ready", "/user/a"] >= 2


class UpgradeTakeover(UpgradeAndCrash):
    """The new binary is killed, once: the next one of it takes over."""
    from_birth = True


STORIES = [
    ("a start of four actors", Start),
    ("the crash of an actor", Crash),
    ("three crashes at once", CrashesAtOnce),
    ("three crashes with few descriptors", FewDescriptors),
    ("a start of twelve actors at once, one of which fails", ManyStart),
    ("eleven crashes at once", ManyCrashes),
    ("a crash with a backoff", Backoff),
    ("a reset of its backoff that an actor asks for", BackoffReset),
    ("a stop", Stop),
    ("a stop with a hold, and a start", StopAndStart),
    ("the stop of an actor that ignores TERM", DeafStop),
    ("a restart by command", Restart),
    ("a restart by command that kills", BrutalRestart),
    ("a restart of a group", Group),
    ("a restart of a group in which one is killed", BrutalGroup),
    ("a restart of the rest of a group", Rest),
    ("an escalation", Escalation),
    ("a subtree that is frozen and thawed", Suspend),
    ("a supervisor that gives up", GivingUp),
    ("a start that fails for want of the program", ExecFailure),
    ("a start that takes too long", StartTimeout),
    ("a reload that adds, removes and changes", Reload),
    ("an ordered shutdown", Shutdown),
    ("an adoption with a death during the outage", Adoption),
    ("an adoption with few descriptors", AdoptionWithFewDescriptors),
    ("an adoption in the middle of a group restart", AdoptionInGroup),
    ("an adoption in the middle of a stop", AdoptionInStop),
    ("an adoption in the middle of a reload", AdoptionInReload),
    ("an upgrade", Upgrade),
    ("an upgrade while an actor dies", UpgradeAndCrash),
    ("the new binary in an upgrade", UpgradeTakeover),
]


def register(sentence, kind):
    @test(f"a guardian killed at any system call of {sentence} is not missed",
          timeout=1800 if ALL else 120)
    def turn(_):
        tell_story(kind())


for one in STORIES:
    register(*one)


if __name__ == "__main__":
    main()
