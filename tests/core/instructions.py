#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Instructions of the decision core, counted by callgrind: the number of siblings must not show.

bench/core does the work: every actor is below the same supervisor.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from core import count
from harness import INSTRUMENTED, Skip, check, comment, main, program, test

CYCLES = 200
MOST = 1500
GROWTH = 1.5


@test("an event takes at most 1,500 instructions, and half as many more among 100,000 siblings",
      timeout=120)
def siblings(box):
    if INSTRUMENTED or not shutil.which("valgrind"):
        raise Skip("needs valgrind, and a build without sanitizers")
    few, many = (count(program("core", "bench"), actors, CYCLES)[0] for actors in (10, 100000))
    comment(f"{few:.0f} with 10 actors, {many:.0f} with 100,000")
    check(many <= MOST, f"{many:.0f} instructions an event")
    check(many <= few * GROWTH, f"{few:.0f} instructions became {many:.0f}")


main()
