#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Measures how fast one actor's output gets into its log, beside `cat > file`.

log.py --bin DIRECTORY [--lines N] [--rounds N]   (see README.md)
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench import GaveUp, PATIENCE_S, Supd, System, find_tools, now_ns, raise_limits
from bench import scratch

LINE_BYTES = 100
DIGITS = 12
STAMP_BYTES = len("2026-01-01T00:00:00.000Z ")


class Writer(System):
    """One that writes, into files that are looked at from outside."""
    stamp_bytes = 0

    def __init__(self, tools, directory, lines, each):
        super().__init__(tools, directory, 1)
        self.lines, self.each = lines, each

    def words(self):
        return [self.tools["spew"], self.results.path, str(self.lines), str(self.each)]

    def files(self):
        raise NotImplementedError

    def written(self):
        total = 0
        for path in self.files():
            try:
                total += os.path.getsize(path)
            except FileNotFoundError:
                pass    # It was set aside just now, and is counted the next time.
        return total

    def wait_written(self):
        """Until all is in the files; the megabytes a second of what was said."""
        wanted = self.lines * (LINE_BYTES + self.stamp_bytes)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            there = self.written()
            ended = now_ns()
            if there >= wanted:
                break
            if time.monotonic() > deadline:
                raise GaveUp(f"{self.name}: {there} of {wanted} bytes")
            time.sleep(0.002)
        return self.lines * LINE_BYTES / ((ended - self.results[0][1]) / 1e9) / 1e6

    def check(self):
        """Is every line there, once, and nothing else?"""
        seen = bytearray(self.lines)
        for path in self.files():
            with open(path, "rb") as file:
                for line in file:
                    text = line[self.stamp_bytes:]
                    if len(text) != LINE_BYTES:
                        raise GaveUp(f"{path}: a broken line: {line!r}")
                    seen[int(text[:DIGITS])] += 1
        if seen.count(1) != self.lines:
            raise GaveUp(f"{self.name}: {seen.count(0)} lines are missing, "
                         f"{self.lines - seen.count(0) - seen.count(1)} are double")


class Cat(Writer):
    name = "`cat > file`"

    def files(self):
        return [os.path.join(self.dir, "file")]

    def start(self):
        with open(self.files()[0], "wb") as file:
            self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE)
            self.cat = subprocess.Popen(["cat"], stdin=self.process.stdout, stdout=file)
        self.process.stdout.close()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.cat.wait()


class Logged(Writer, Supd):
    name = "supd"
    keys = "timestamps: false"

    def prepare(self):
        words = ", ".join(f"'{word}'" for word in self.words())
        with open(os.path.join(self.dir, "supd.yaml"), "w", encoding="ascii") as file:
            file.write(f"log: {{level: error, directory: {self.dir}/log}}\n"
                       "defaults: {log: {max_size: 10M, keep: 1000000, total: 1000G, "
                       f"{self.keys}}}}}\n"
                       f"children:\n  a: {{command: [{words}]}}\n")

    def files(self):
        where = os.path.join(self.dir, "log", "user")
        if not os.path.isdir(where):
            return []
        return [entry.path for entry in os.scandir(where)]

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


class Stamped(Logged):
    name = "supd, timestamps"
    keys = "timestamps: true"
    stamp_bytes = STAMP_BYTES


KINDS = (Cat, Logged, Stamped)


def measure(tools, directory, kind, lines, each):
    where = tempfile.mkdtemp(dir=directory)
    system = kind(tools, where, lines, each)
    system.prepare()
    try:
        system.start()
        system.results.wait([0], "start")
        rate = system.wait_written()
        system.stop()
        system.check()
        return rate
    finally:
        system.discard()
        shutil.rmtree(where, ignore_errors=True)


def row(title, rates):
    base = statistics.median(rates[Cat])
    cells = [f"{base:.0f} MB/s"]
    for kind in KINDS[1:]:
        rate = statistics.median(rates[kind])
        cells.append(f"{rate / base:.2f}× ({rate:.0f} MB/s)")
    return f"| {title} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=".", help="the build directory")
    parser.add_argument("--lines", type=int, default=2000000, help="of 100 bytes")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    raise_limits()
    try:
        with scratch() as directory:
            tools = find_tools(options.bin, "spew")
            print("| | " + " | ".join(kind.name for kind in KINDS) + " |\n"
                  "|---|---|---|---|", flush=True)
            for each, title in ((640, "64 kB a write"), (1, "one line a write")):
                rates = {kind: [] for kind in KINDS}
                for k in range(options.rounds):
                    for turn in range(len(KINDS)):
                        kind = KINDS[(turn + k) % len(KINDS)]
                        rates[kind].append(measure(tools, directory, kind,
                                                   options.lines, each))
                print(row(title, rates), flush=True)
    except (GaveUp, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(f"\n{options.lines:,} lines of 100 bytes, each of them found once in the "
          f"files; medians of {options.rounds} interleaved rounds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
