#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A client that follows output gets every line once, whichever process of supd dies."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, alive, equal
from harness import main, test
from writers import Follower, readers

TURNS = 5  # the walker waits longer and longer before it starts the next guardian


def start(box, output):
    fifo = box.path("fifo")
    os.mkfifo(fifo)
    s = Chaos(box, {"a": {"command": ["sh", "-c", "exec cat <> " + fifo], **output},
                    "b": {"command": ["sh", "-c", "echo here; exec sleep 1000"]}})
    s.event("ready", "b")
    s.until(lambda: s.ctl("logs", "b").out == "here\n", "the line of b")
    return s, open(fifo, "w", encoding="utf8", buffering=1)


def followed(box, output, deed):
    """Follow equal lines: only the number of lines tells whether a line is missing."""
    s, out = start(box, output)
    follower = Follower(box, s, "a", "b")
    equal(follower.take(1), ["b | here"], "the past")
    with out:
        for turn in range(TURNS):
            out.write("same line\n" * 10)
            equal(follower.take(turn % 10), ["a | same line"] * (turn % 10),
                  f"some lines of turn {turn}")
            deed(s)
            out.write(f"turn {turn}\n")
            equal(follower.take(11 - turn % 10),
                  ["a | same line"] * (10 - turn % 10) + [f"a | turn {turn}"],
                  f"the other lines of turn {turn}")
    s.until(lambda: len(readers(s)) == 1, "the reader that follows alone")
    follows, = readers(s)
    equal(s.ctl_ok("logs", "a").out.count("same line\n"), 10 * TURNS, "lines in all")
    follower.process.terminate()
    follower.process.wait()
    s.until(lambda: not alive(follows), "its end")


@test("logs -f goes on over the deaths of the guardian", timeout=90)
def guardians(box):
    followed(box, {}, lambda s: s.crash())


@test("logs -f goes on over the deaths of the guardian without times in the log", timeout=90)
def guardians_without_times(box):
    followed(box, {"log": {"timestamps": False}}, lambda s: s.crash())


@test("logs -f goes on over the deaths of the guardian and of the reader in small JSON logs",
      timeout=90)
def everybody(box):
    def kill(s):
        for pid in readers(s):
            os.kill(pid, signal.SIGKILL)
            s.until(lambda p=pid: not alive(p), "the end of the reader")
        s.crash()

    followed(box, {"log": {"format": "json", "max_size": "4K", "keep": 50, "compress": True}},
             kill)


if __name__ == "__main__":
    main()
