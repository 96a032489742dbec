#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Instructions of reading a configuration, counted by callgrind: what an actor adds to them."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, Skip, check, comment, main, program, test

MOST = 44000


def count(box, actors):
    path = os.path.join(box.dir, f"{actors}.yaml")
    with open(path, "w", encoding="ascii") as file:
        file.write("defaults: {backoff: none, restart: permanent}\nchildren:\n")
        file.writelines(f"  a{i}: {{command: [/bin/true, '{i}']}}\n" for i in range(actors))
    ran = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={box.dir}/out",
         program("supd"), "--check", "-c", path], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    check(ran.returncode == 0 and found, ran.stderr[-500:])
    return int(found[1])


@test("to read and check another actor takes at most 44,000 instructions", timeout=120)
def another(box):
    if INSTRUMENTED or not shutil.which("valgrind"):
        raise Skip("needs valgrind, and a build without sanitizers")
    few, many = (count(box, actors) for actors in (100, 500))
    comment(f"{(many - few) // 400} instructions an actor")
    check(many - few <= 400 * MOST, f"{(many - few) // 400} instructions an actor")


main()
