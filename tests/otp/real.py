#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The oracle's random scripts, played by real supds with real processes.

OTP_REAL=N so many scripts, OTP_SEED=N the first one's seed, OTP_SHOW=1 prints them.
"""
import os
import shutil
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, Failure, Skip, alive, equal, main, offspring, test
from varlink import Closed, VarlinkError
from otp import SEED, SHOW, Script, Side, comment_script

SCRIPTS = int(os.environ.get("OTP_REAL", "12"))
PART = 6  # scripts a test
STEPS = 12
MOVING = ("starting", "stopping", "waiting", "backoff", "suspended")
# A start fails when the process ends before it is ready.
WORKER = """
n=$(cat "$0/broken.$1" 2>/dev/null || echo 0)
[ "$n" -gt 0 ] || exec "$2" "$0" "$1" ready
echo $((n - 1)) >"$0/broken.$1"
echo "1 f $1 1" >"$0/log"
exit 1
"""


class Real:
    """A supd that is told what the oracle is told."""

    def __init__(self, box):
        self.box = box
        self.s = None
        self.number = 0

    def ask(self, line):
        verb, *words = line.split()
        mark = self.s.mark() if self.s else 0
        result = getattr(self, "on_" + verb)(*words)
        if self.s is None:
            return f"{result} | | gone"
        states = self.settle()
        return " ".join(f"{result} | {self.trace(mark)} | {states}".split())

    # ---- the tree --------------------------------------------------------------------

    @staticmethod
    def options(words):
        """What stands behind the fixed words of a line."""
        auto = [word.partition("=")[2] for word in words if word.startswith("auto=")]
        return {**({"auto_shutdown": auto[0]} if auto else {}),
                **({"significant": True} if "significant" in words else {})}

    @staticmethod
    def flags(strategy, intensity, period, *more):
        return {"strategy": strategy, "I": f"{intensity}/{period}s", "decider": "otp",
                **Real.options(more)}

    def on_tree(self, *flags):
        if self.s:
            self.s.finish()
        self.number += 1
        self.s, self.tree, self.parents = None, {}, {}
        self.top = self.flags(*flags)
        self.children = {"top": self.tree}
        self.dir = self.box.path(f"s{self.number}")
        os.makedirs(self.dir, exist_ok=True)
        return "ok"

    def on_sup(self, parent, name, restart, *flags):
        self.children[name] = {}
        self.parents[name] = parent
        self.children[parent][name] = {"restart": restart, **self.flags(*flags),
                                       "children": self.children[name]}
        return "ok"

    def on_worker(self, parent, name, restart, *more):
        self.parents[name] = parent
        self.children[parent][name] = {
            **self.options(more), "restart": restart, "ready": "notify", "shutdown": "10s",
            "command": ["/bin/sh", "-c", WORKER, self.dir, name, PROBE]}
        return "ok"

    def path(self, name):
        path = name
        while self.parents[name] != "top":
            name = self.parents[name]
            path = f"{name}/{path}"
        return "/user/" + path

    # ---- steps -----------------------------------------------------------------------

    def on_broken(self, name, n):
        with open(os.path.join(self.dir, f"broken.{name}"), "w", encoding="utf8") as out:
            out.write(n)
        return "ok"

    def on_boot(self):
        self.s = self.box.supd(self.tree, name=f"s{self.number}", wait=False, **self.top)
        self.s.acknowledged = True
        self.s.until(lambda: self.ended() or any("READY=1" in note for note in self.s.notes),
                     "the start or the end")
        return "error" if self.ended() else "ok"

    def on_exit(self, *deaths):
        """All of them, before supd looks."""
        actors = {name: self.s.actor(self.path(name)) for name in deaths[::2]}
        guardian = self.s.guardian()
        if len(deaths) > 2:
            os.kill(guardian, signal.SIGSTOP)
        for name, reason in zip(deaths[::2], deaths[1::2]):
            if reason == "shutdown":
                os.kill(actors[name]["pid"], signal.SIGPIPE)
            else:
                self.s.tell(name, f"exit={reason != 'normal':d}", actors[name]["pid"])
        self.s.until(lambda: not any(map(self.runs, actors.values())), "their ends")
        if len(deaths) > 2:
            os.kill(guardian, signal.SIGCONT)
        for name, actor in actors.items():
            self.s.until(lambda path=actor["path"], generation=actor["generation"]:
                         self.ended() or self.s.seen("exited", path, generation=generation),
                         f"the end of {name} to be told")
        return "ok"

    @staticmethod
    def runs(actor):
        try:
            with open(f"/proc/{actor['pid']}/stat", encoding="utf8") as stat:
                return stat.read().rpartition(")")[2].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def manage(self, verb, parent, name):
        try:
            if parent != "top" and self.s.actor(self.path(parent))["state"] != "running":
                return "nobody"
            state = self.s.actor(self.path(name))["state"]
        except VarlinkError as error:
            equal(error.name, "NoSuchActor", "the error")
            return "not_found" if parent == "top" or self.is_there(parent) else "nobody"
        if verb == "Start" and state == "running":
            return "running"
        try:
            self.s.call(verb, names=[self.path(name)], wait=True)
            return "ok"
        except VarlinkError:
            return "error"

    def is_there(self, name):
        return not self.s.gone(self.path(name))

    def on_start(self, parent, name):
        return self.manage("Start", parent, name)

    def on_stop(self, parent, name):
        return self.manage("Stop", parent, name)

    def on_shutdown(self):
        if not self.ended():
            self.s.signal(signal.SIGTERM)
            self.s.until(self.ended, "the end")
        return "ok"

    # ---- results of a step ---------------------------------------------------------------

    def ended(self):
        self.s.pump(0)
        return self.s.process.poll() is not None

    def actors(self):
        try:
            return self.s.call("Status")["actors"]
        except (Closed, OSError):
            return None

    def settle(self):
        """Wait until nothing moves any more; the states, in the oracle's words."""
        found = []

        def still():
            found[:] = []
            if self.ended():
                return True
            actors = self.actors()
            if actors is None or any(actor["state"] in MOVING for actor in actors):
                return False
            states = {actor["path"]: actor["state"] for actor in actors}
            for actor in actors:
                path = actor["path"]
                if not path.startswith("/user/") or \
                        states[path.rpartition("/")[0]] != "running":
                    continue
                up = "up" if actor["state"] == "running" else "down"
                found.append(f"{path.rpartition('/')[2]} {up}")
            return states.get("/user") == "running"

        self.s.until(still, "rest")
        return " ".join(found) if not self.ended() else "gone"

    def trace(self, mark):
        """Each start that failed ended, too: only what was asked to end is an X."""
        kinds = {"S": "S", "f": "F", "t": "X"}
        return " ".join(f"{kinds[line.kind]} {line.name}" for line in self.s.log[mark:]
                        if line.kind in kinds)


def play(script, otp, real):
    theirs = ours = "| | "
    lines = []

    def ask(line):
        lines.append(line)
        return otp.ask(line), real.ask(line)

    for line in script.lines:
        theirs, ours = ask(line)
        if theirs != ours:
            return lines, theirs, ours
    while len(lines) < len(script.lines) + STEPS and not theirs.endswith("gone"):
        line = script.step(theirs.rpartition("|")[2].split())
        if line is None:
            continue
        theirs, ours = ask(line)
        if theirs != ours:
            return lines, theirs, ours
    theirs, ours = ask("shutdown")
    return lines, theirs, ours


def play_some(box, first):
    otp = Side("escript", os.path.join(HERE, "oracle.escript"))
    real = Real(box)
    try:
        for seed in range(first, first + PART):
            lines, theirs, ours = play(Script(seed, plain=True), otp, real)
            if SHOW:
                comment_script(lines, otp)
            if theirs == ours:
                continue
            comment_script(lines, otp)
            raise Failure(f"OTP_SEED={seed}: OTP {theirs!r}, supd {ours!r}")
    finally:
        helpers = offspring(otp.process.pid)
        otp.end()
        while any(map(alive, helpers)):
            time.sleep(0.01)


def register(first):
    @test(f"scripts {first} to {first + PART - 1} end alike under OTP and under supd",
          timeout=240)
    def scripts(box):
        if not shutil.which("escript"):
            raise Skip("no Erlang here (escript, of erlang-base)")
        play_some(box, first)


for number in range(0, SCRIPTS, PART):
    register(SEED + number)

if __name__ == "__main__":
    main()
