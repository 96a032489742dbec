#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Random scripts for OTP's own supervisor and for supd: both do and answer the same.

OTP_SCRIPTS=N so many scripts, OTP_SEED=N the first one's seed, OTP_SHOW=1 prints them.
"""
import os
import random
import re
import shutil
import subprocess
import sys

TOP_BUILD = os.environ.get("top_builddir", ".")
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = int(os.environ.get("OTP_SCRIPTS", "40"))
SEED = int(os.environ.get("OTP_SEED", "1"))
SHOW = os.environ.get("OTP_SHOW")
STEPS = 30
SHOWN_MAX = 5
LETTERS = "abcdefghijklmnopqrstuvwxyz"
STRATEGIES = ("one_for_one", "one_for_all", "rest_for_one")
AUTOS = ("never", "never", "any_significant", "all_significant")
RESTARTS = ("permanent", "permanent", "transient", "temporary")
REASONS = ("crash", "crash", "crash", "normal", "shutdown")
# Never as old as a period, nor a second more: OTP counts in whole seconds.
PERIODS, AGES = (5, 15, 25), (10, 20, 30)


class Side:
    """A program that answers each line with a line."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"Bail out! {self.process.args[0]} ended at: {line}")
        return " ".join(answer.split())

    def play(self, lines):
        return [self.ask(line) for line in lines]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Script:
    """A tree and what is done to it, made up while OTP's answers are known."""

    def __init__(self, seed, plain=False):
        self.random = random.Random(seed)
        self.plain = plain  # scripts without the lines age, add and delete
        self.lines, self.strategies, self.parents = [], {}, {}
        self.names = (a + b for a in ("", *LETTERS) for b in LETTERS)
        self.autos = {}
        rnd = self.random
        self.lines.append("tree " + self.flags("top"))
        self.children("top", 1)
        if rnd.random() < 0.15:
            self.lines.append(f"broken {rnd.choice(sorted(self.parents))} 1")
        self.lines.append("boot")

    def flags(self, name):
        self.strategies[name] = self.random.choice(STRATEGIES)
        self.autos[name] = self.random.choice(AUTOS)
        auto = f" auto={self.autos[name]}" if self.autos[name] != "never" else ""
        return f"{self.strategies[name]} {self.random.randrange(4)} " \
               f"{self.random.choice(PERIODS)}{auto}"

    def weight(self, parent, restart):
        """OTP refuses `significant` for permanent children, and where auto_shutdown is never."""
        counts = self.autos[parent] != "never" and restart != "permanent"
        return " significant" if counts and self.random.random() < 0.6 else ""

    def children(self, parent, depth):
        for _ in range(self.random.randint(1, 3 if depth > 1 else 4)):
            name = next(self.names)
            self.parents[name] = parent
            restart = self.random.choice(RESTARTS)
            weight = self.weight(parent, restart)
            if depth < 3 and self.random.random() < 0.35:
                self.lines.append(f"sup {parent} {name} {restart} {self.flags(name)}{weight}")
                self.children(name, depth + 1)
            else:
                self.lines.append(f"worker {parent} {name} {restart}{weight}")

    def several(self, up):
        """A line with two children of one group that die together, in start order."""
        parent = self.parents[self.random.choice(up)]
        those = [name for name in up if self.parents[name] == parent]
        if self.strategies[parent] == "one_for_one" or len(those) < 2:
            return None
        first, second = sorted(self.random.sample(range(len(those)), 2))
        return f"exit {those[first]} {self.random.choice(REASONS)} " \
               f"{those[second]} {self.random.choice(REASONS)}"

    def step(self, states):
        """One more line for children in these states; None: the line drawn makes no sense."""
        rnd = self.random
        up = [name for name in states[::2] if name not in self.strategies and
              states[states.index(name) + 1] == "up"]
        name = rnd.choice(sorted(self.parents))
        kind = rnd.random()
        if kind < 0.45:
            return f"exit {rnd.choice(up)} {rnd.choice(REASONS)}" if up else None
        if kind < 0.53:
            return self.several(up) if up else None
        if kind < 0.66:
            return f"broken {name} {rnd.randint(1, 4)}" if name not in self.strategies else None
        if kind < 0.74:
            return f"stop {self.parents[name]} {name}"
        if kind < 0.84:
            return f"start {self.parents[name]} {name}"
        if self.plain:
            return None
        if kind < 0.90:
            return f"age {rnd.choice(AGES)}"
        if kind < 0.94:
            return f"delete {self.parents[name]} {name}"
        return self.addition(name)

    def addition(self, name):
        """A new worker, or one of a name that is or was there."""
        if self.random.random() < 0.6:
            name = next(self.names, name)
        if name in self.strategies:
            return None
        if name not in self.parents:
            self.parents[name] = self.random.choice(sorted(self.strategies))
        parent, restart = self.parents[name], self.random.choice(RESTARTS)
        return f"add {parent} {name} {restart}{self.weight(parent, restart)}"


def play(script, otp, supd):
    """Play until they disagree, or to the end: the lines and both sides' last answers."""
    lines = list(script.lines)
    answers = otp.play(lines), supd.play(lines)
    for line, theirs, ours in zip(lines, *answers):
        if theirs != ours:
            return lines, theirs, ours
    theirs, ours = answers[0][-1], answers[1][-1]
    while len(lines) < len(script.lines) + STEPS and not theirs.endswith("gone"):
        line = script.step(theirs.rpartition("|")[2].split())
        if line is None:
            continue
        lines.append(line)
        theirs, ours = otp.ask(line), supd.ask(line)
        if theirs != ours:
            return lines, theirs, ours
    lines.append("shutdown")
    theirs, ours = otp.ask(lines[-1]), supd.ask(lines[-1])
    return lines, theirs, ours


def disagrees(lines, otp, supd):
    """The number of the first line that OTP and supd answer differently; None: no line."""
    for i, line in enumerate(lines):
        if otp.ask(line) != supd.ask(line):
            return i
    return None


def shortest(lines, otp, supd):
    """The script without the lines that OTP and supd do not need to disagree."""
    at = 0
    boot = lines.index("boot")
    while at < len(lines):
        fewer = lines[:at] + lines[at + 1:]
        if at != boot and lines[at].split()[0] not in ("tree", "sup", "worker"):
            where = disagrees(fewer, otp, supd)
            if where is not None:
                lines = fewer[:where + 1]
                boot = lines.index("boot") if "boot" in lines else -1
                continue
        at += 1
    return lines


def comment_script(lines, otp):
    for line in lines:
        print(f"# {line}\n#\t\tOTP  {otp.ask(line)}")


def show(lines, otp, supd):
    for line, theirs, ours in zip(lines, otp.play(lines), supd.play(lines)):
        print(f"# {line}\n#\t\tOTP  {theirs}")
        if theirs != ours:
            print(f"#\t\tsupd {ours}")


def main():
    if not shutil.which("escript"):
        print("1..0 # SKIP no Erlang here (escript, of erlang-base)")
        return 0
    otp = Side("escript", os.path.join(HERE, "oracle.escript"))
    supd = Side(os.path.join(TOP_BUILD, "tests/lib/otp_stage"))
    failed = steps = 0
    for seed in range(SEED, SEED + SCRIPTS):
        lines, theirs, ours = play(Script(seed), otp, supd)
        steps += len(lines)
        if SHOW:
            show(lines, otp, supd)
        if theirs == ours:
            continue
        failed += 1
        print(f"# OTP_SEED={seed}: they disagree")
        if failed <= SHOWN_MAX:
            show(shortest(lines, otp, supd), otp, supd)
    otp.end()
    supd.end()
    print("1..1")
    print(f"{'not ' if failed else ''}ok 1 - {SCRIPTS} scripts, {steps} lines: "
          f"the core does as OTP's supervisor does ({failed} do not agree)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
