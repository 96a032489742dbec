#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What an actor has put down for its successor outlives the guardian too."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer, equal
from harness import main, test
from storer import Storer


def storer(box, **more):
    return Storer(box, more, supd=lambda tree, **top: Chaos(box, tree, **top))


@test("descriptors and files are there after the death of the guardian, twice, and then of "
      "the actor", timeout=60)
def both(box):
    a = storer(box, runtime_directory=True)
    a.start()
    a.do("put one 1", "put two 2", "file state 1")
    a.s.crash()
    a.do("put three 3")
    a.s.crash()
    again = a.end(10)
    equal(again["fds"], [["one", "1"], ["two", "2"], ["three", "3"]], "descriptors")
    equal(again["files"], ["state"], "files")
    a.s.crash()
    again = a.end(20)
    equal((again["fds"], again["files"]), ([], []), "after a restart")


@test("killed at one system call after the other of a message and a restart that keeps: each is there "
      "once", timeout=180)
def in_the_midst(box):
    a = storer(box, keep_on_restart=["fds"])
    a.start()
    for stop in range(1, 40, 3):
        a.do("drop one", "drop two")
        a.s.aged()
        killer = Killer(box, a.s.guardian(), stop)
        a.do("put one 1", "put two 2")
        found = a.end(20)["fds"]
        killer.end()
        equal(found, [["one", "1"], ["two", "2"]], f"after a death at stop {stop}")


if __name__ == "__main__":
    main()
