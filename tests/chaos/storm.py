#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Random trees, random commands, random crashes, and guardians that die at random.

Each seed is a life of its own; a failure names its seed.  CHAOS_SEED=N begins with
another one, CHAOS_SEEDS=N says how many there are.
"""
import os
import random
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, Wish, alive, check, equal, now_ns
from harness import COUNTS, comment, main, test
from parallel import ALL, in_parallel
from varlink import VarlinkError

SEEDS = int(os.environ.get("CHAOS_SEEDS", "150" if ALL else "6"))
FIRST = int(os.environ.get("CHAOS_SEED", random.SystemRandom().randrange(10 ** 6)
                           if ALL else 1))
STEPS = 40
DEATHS = ("KILL", "KILL", "KILL", "SEGV", "ABRT")


class Storm:
    def __init__(self, box, seed):
        self.dice = random.Random(seed)
        self.box = box
        self.names = {}  # name → path
        self.tree = self.random_tree()
        # Every other one without cgroups, also where there are some.
        where = "session" if seed % 2 else "auto"
        self.s = Chaos(box, self.tree, before=no_core, I="1000/1h",
                       defaults={"containment": where})
        self.wishes = {}  # path → the pending command for the actor
        self.held = {}    # name → the number of lives when the actor was held
        self.extra = self.echo = 0
        self.killer = None
        self.said = []

    def random_actor(self):
        dice = self.dice
        spec = {"backoff": dice.choice(("none", {"min": "20ms", "max": "80ms"})), "do": []}
        what = dice.randrange(8)
        if what == 0:
            spec.update(do=["ignore"], shutdown="60ms")
        elif what == 1:
            spec["do"] = [f"delay={dice.randrange(1, 40)}"]
        elif what == 2:
            spec.update(do=["ready"], ready="notify")
        elif what == 3:
            spec["do"] = ["fork=2"]
        elif what == 4:
            spec["shutdown"] = "brutal_kill"
        return spec

    def random_tree(self, prefix="/user", letter="a", depth=0):
        children = {}
        for n in range(self.dice.randrange(2, 5)):
            name = f"{letter}{n}"
            if depth < 2 and self.dice.random() < 0.4:
                children[name] = {
                    "strategy": self.dice.choice(("one_for_one", "one_for_all",
                                                  "rest_for_one")),
                    "stop": self.dice.choice(("sequential", "parallel")),
                    "start": self.dice.choice(("sequential", "parallel")),
                    "I": "1000/1h",
                    "children": self.random_tree(f"{prefix}/{name}",
                                                 name + "abcde"[n], depth + 1)}
            else:
                children[name] = self.random_actor()
                self.names[name] = f"{prefix}/{name}"
        return children

    # ---- steps of a storm ------------------------------------------------------------------

    def crash(self):
        name = self.dice.choice(list(self.names))
        action = self.dice.choice(("exit=1", "exit=77", "exit=0", "raise=KILL", "raise=SEGV"))
        try:
            self.s.tell(name, action, self.s.pids[name])
        except (OSError, KeyError):
            return
        self.said.append(f"{name} {action}")

    def command(self):
        name = self.dice.choice(list(self.names))
        path = self.names[name]
        if path in self.wishes:
            return
        verb = self.dice.choice(("Start", "Stop", "Restart", "Restart"))
        hold = verb == "Stop" and self.dice.random() < 0.5
        if name in self.held and verb != "Start":
            return
        self.held.pop(name, None)
        more = {"hold": True} if hold else {}
        self.wishes[path] = (Wish(self.s, verb, names=[path], **more), name if hold else None)
        self.said.append(f"{verb} {name} {more}")

    def reload(self):
        if "/" in self.wishes:
            return
        self.extra += 1
        self.tree = dict(self.tree)
        self.tree.pop(f"x{self.extra - 1}", None)
        self.names.pop(f"x{self.extra - 1}", None)
        self.tree[f"x{self.extra}"] = {}
        self.s.write(self.tree)
        self.wishes["/"] = (Wish(self.s, "Apply"), None)
        self.said.append(f"Apply x{self.extra}")

    def death(self):
        """A death at once, or at some system call of this guardian, or of the next."""
        if self.killer and not self.killer.closed:
            return
        signo = self.dice.choice(DEATHS)
        how = self.dice.randrange(4)
        if self.killer:
            self.killer.end()
            self.killer = None
        guardian = self.s.guardian()
        self.said.append(f"{signo} {how}")
        if how < 2:
            self.killer = Killer(self.box, guardian, self.dice.randrange(1, 120),
                                 signo=signo)
            return
        if how == 2:
                self.killer = Killer(self.box, self.s.process.pid, self.dice.randrange(1, 700),
                                 "-w", signo=self.dice.choice(DEATHS))
        self.s.kill_guardian(guardian, getattr(signal, "SIG" + signo))

    def take_replies(self):
        for path, (wish, held) in list(self.wishes.items()):
            try:
                if not wish.done():
                    continue
            except VarlinkError as error:
                check(error.name in ("InvalidState", "StartFailed", "NoSuchActor"),
                      f"{path}: {error}")
            else:
                if held:
                    self.held[held] = None
            del self.wishes[path]
        if self.killer:
            self.killer.killed()

    def step(self):
        what = self.dice.random()
        if what < 0.45:
            self.crash()
        elif what < 0.85:
            self.command()
        elif what < 0.88:
            self.reload()
        elif what < 0.95:
            self.death()
        self.s.pump(self.dice.random() * 0.02)
        self.take_replies()

    # ---- the calm after -------------------------------------------------------------------

    def calm(self):
        """Everything comes to rest; then everything has to be right."""
        s = self.s
        if self.killer:
            self.killer.end()
            self.killer = None
        s.until(lambda: self.take_replies() or not self.wishes,
                lambda: f"all replies: {[(p, w.method) for p, (w, _) in self.wishes.items()]}",
                40)
        held = {name for name in self.held if name in self.names}
        s.caught_up()
        s.until(lambda: self.all_started(held), "all to be started", 30)
        s.until(lambda: self.rests(held), lambda: f"rest; {self.restless}", 30)
        actors = s.consistent()
        for name in held:
            actor = actors[self.names[name]]
            equal((actor["held"], actor["pid"]), (True, None), f"{name}, which is held")
        for path, actor in actors.items():
            generation = len([one for one in s.events if one["event"] == "started"
                              and one["path"] == path])
            if actor["kind"] == "worker":
                equal(actor["generation"], generation, f"{path}'s starts, by the events")

    def all_started(self, held):
        names = [path for name, path in self.names.items() if name not in held]
        try:
            return not names or self.s.call("Start", names=names)
        except VarlinkError as error:  # a group restart came in between
            check(error.name in ("InvalidState", "StartFailed"), str(error))
            return None

    def rests(self, held):
        # Also what an Apply has added, or takes away, after its reply.
        still = {self.names[name] for name in held}
        self.restless = [(actor["path"], actor["state"])
                         for actor in self.s.call("Status")["actors"]
                         if actor["path"] not in still and actor["state"] != "running"]
        return not self.restless and all(self.has_obeyed(name) for name in self.names
                                         if name not in held)

    def has_obeyed(self, name):
        """Has the actor done everything as told, and does the process still live?"""
        s = self.s
        self.echo += 1
        pid = s.actor(self.names[name])["pid"]
        try:
            s.tell(name, f"echo={self.echo}", pid)
        except OSError:
            self.restless = [name]
            return False
        s.until(lambda: not alive(pid) or any(
            line.kind == "E" and line.more == str(self.echo) for line in s.log[-100:]),
            f"an echo of {name}")
        return alive(pid)


def no_core():
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def live(box, seed):
    storm = Storm(box, seed)
    try:
        for _ in range(3):
            for _ in range(STEPS // 2):
                storm.step()
            storm.calm()
    except Exception:
        print("said: " + "; ".join(storm.said[-60:]))
        raise
    storm.s.stop(timeout=40)


@test(f"{SEEDS} random lives from seed {FIRST}: nobody is lost, doubled, forgotten or late",
      timeout=3000 if ALL else 200)
def storms(_):
    begun = now_ns()
    kills = COUNTS["kills"]
    in_parallel(live, range(FIRST, FIRST + SEEDS), timeout=150)
    comment(f"seeds {FIRST} to {FIRST + SEEDS - 1}: {COUNTS['kills'] - kills} kills, "
            f"{(now_ns() - begun) // 1_000_000_000} s")


if __name__ == "__main__":
    main()
