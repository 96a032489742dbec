#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Counts the system calls of a restart, with strace.

calls.py --bin DIRECTORY [-n ACTORS,...] [--restarts N]   (see README.md)
"""
import argparse
import os
import signal
import subprocess
import sys
import time

from bench import GaveUp, PATIENCE_S, Supd, SupdLean, find_tools, own_pids, raise_limits
from bench import prepared, restart_us, scratch, spread


def attach(pids, out):
    """strace on all of supd; what it says on stderr tells that it is there."""
    argv = ["strace", "-c", "-o", out]
    for pid in pids:
        argv += ["-p", str(pid)]
    tracer = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True)
    for _ in pids:
        line = tracer.stderr.readline()
        if "attached" not in line:
            tracer.wait()
            raise GaveUp(f"strace: {line.strip() or 'nothing'}")
    return tracer


def counts(path):
    """Calls by name, from the table of strace -c."""
    found = {}
    with open(path, encoding="ascii") as table:
        for line in table:
            words = line.split()
            if len(words) >= 5 and words[3].isdigit() and words[-1] != "total":
                found[words[-1]] = int(words[3])
    return found


def count_restarts(system, restarts):
    system.start()
    system.results.wait(0, "start")
    time.sleep(1)
    out = os.path.join(system.dir, "calls")
    tracer = attach(own_pids(system), out)
    for i in spread(system.n, restarts):
        restart_us(system, i)
    # What follows a restart, too.
    time.sleep(0.3)
    tracer.send_signal(signal.SIGINT)
    tracer.communicate(timeout=PATIENCE_S)
    system.process.terminate()
    system.process.wait(PATIENCE_S)
    return counts(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=".", help="the build directory")
    parser.add_argument("-n", default="100,5000", help="numbers of actors")
    parser.add_argument("--restarts", type=int, default=1000)
    parser.add_argument("--names", action="store_true", help="tell which calls")
    options = parser.parse_args()
    raise_limits()
    try:
        with scratch() as directory:
            tools = find_tools(options.bin)
            print("| actors | | system calls a restart |\n|---|---|---|", flush=True)
            for n in map(int, options.n.split(",")):
                for kind in (SupdLean, Supd):
                    with prepared(kind, tools, directory, n) as system:
                        found = count_restarts(system, options.restarts)
                    total = sum(found.values()) / options.restarts
                    print(f"| {n:,} | {kind.name} | {total:.2f} |", flush=True)
                    for name, calls in sorted(found.items(), key=lambda x: -x[1]):
                        if options.names and calls * 100 > options.restarts:
                            print(f"  {calls / options.restarts:6.2f} {name}",
                                  file=sys.stderr)
    except (GaveUp, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
