#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Counts the instructions of an event in the decision core, with valgrind's callgrind.

core.py --bin DIRECTORY [-n ACTORS,...] [--cycles N]   (see README.md)
"""
import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile


def count(binary, actors, cycles):
    """(instructions per event, bytes per actor)"""
    with tempfile.TemporaryDirectory() as scratch:
        ran = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no",
             "--toggle-collect=measured", "--callgrind-out-file=" + scratch + "/out",
             binary, str(actors), str(cycles)], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False)
        said = re.match(r"(\d+) events, (\d+) bytes", ran.stdout)
        collected = re.search(r"Collected : (\d+)", ran.stderr)
        if ran.returncode or not said or not collected:
            raise SystemExit(f"core.py: {binary} {actors}: {ran.stderr.strip()[-500:]}")
        return int(collected[1]) / int(said[1]), int(said[2]) / actors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=".", help="where bench/core was built")
    parser.add_argument("-n", default="10,1000,100000,1000000", help="numbers of actors")
    parser.add_argument("--cycles", type=int, default=2000)
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("core.py: no valgrind here")
        return 0
    binary = os.path.join(options.bin, "bench/core")
    first = None
    print("| actors | instructions an event | growth | log n / log of the first n | bytes an actor |")
    print("|---:|---:|---:|---:|---:|")
    for actors in map(int, options.n.split(",")):
        instructions, size = count(binary, actors, options.cycles)
        first = first or (instructions, actors)
        print(f"| {actors:,} | {instructions:,.0f} | {instructions / first[0]:.2f} | "
              f"{math.log(actors) / math.log(first[1]):.2f} | {size:,.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
