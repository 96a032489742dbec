# SPDX-License-Identifier: ISC
"""An actor that leaves descriptors for its successor (storer_actor.py), and its reports."""
import json
import os

from harness import TOP_SRC, for_everybody

STORER = for_everybody(os.path.join(TOP_SRC, "tests/lib/storer_actor.py"))
RULES = [{"when": {"exit": [10]}, "then": "resume"}, {"when": {"exit": [20]}, "then": "restart"},
         {"when": {"exit": [30]}, "then": "stop"}, "default"]


class Storer:
    """The actor `a` of a supd, and what it has found at each of its starts."""

    def __init__(self, box, more=None, supd=None, **top):
        self.base = box.path("a")
        os.mkfifo(self.base + ".do")
        os.chmod(self.base + ".do", 0o666)
        with open(self.base + ".found", "w", encoding="utf8"):
            os.chmod(self.base + ".found", 0o666)
        self.fifo = os.open(self.base + ".do", os.O_RDWR)
        spec = {"command": ["python3", "-B", STORER, box.path(""), "a"], "fd_store": 3}
        spec.update(more or {})
        self.spec = spec
        self.s = (supd or box.supd)({"a": spec}, decider=RULES, **top)
        self.asked = 0
        self.starts = 0

    def lines(self):
        with open(self.base + ".found", encoding="utf8") as text:
            return text.read().splitlines()

    def start(self):
        """What the next process found."""
        self.starts += 1
        self.s.until(lambda: len([x for x in self.lines() if x != "done"]) >= self.starts,
                     "the next process")
        return json.loads([x for x in self.lines() if x != "done"][self.starts - 1])

    def do(self, *commands):
        for command in commands:
            self.asked += 1
            os.write(self.fifo, (command + "\n").encode())
            self.s.until(lambda: self.lines().count("done") >= self.asked, command)

    def end(self, code):
        os.write(self.fifo, f"exit {code}\n".encode())
        return self.start()

    def kept(self):
        """What is in the store now: asked of the next process, which a resume starts."""
        return self.end(10)["fds"]
