#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Measures how fast the output of actors gets into their logs, beside `cat > file`.

log.py --bin DIRECTORY [--lines N] [--writers N] [--rounds N]   (see README.md)
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

from bench import GaveUp, PATIENCE_S, Results, Supd, System, find_tools, measure_stop
from bench import now_ns, own_pids, prepared, raise_limits, scratch

LINE_BYTES = 100
DIGITS = 12
STAMP_BYTES = len("2026-01-01T00:00:00.000Z ")


class Writer(System):
    """Processes that write, into files that are looked at from outside."""
    stamp_bytes = 0

    def __init__(self, tools, directory, lines, each, writers=1):
        super().__init__(tools, directory, writers)
        self.lines, self.each = lines, each
        self.starts = [Results(os.path.join(directory, f"results{k}"), 1)
                       for k in range(writers)]

    def words(self, k):
        return [self.tools["spew"], self.starts[k].path, str(self.lines), str(self.each)]

    def begun_ns(self):
        return min(start.wait(0, "start") for start in self.starts)

    def discard(self):
        super().discard()
        for start in self.starts:
            self.kill_children(start)

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
        """Until all is in the files; the megabytes a second of what was said.

        Looks seldom until most is there: supd's files are many, and to look at each of them takes
        a processor from it."""
        begun = self.begun_ns()
        wanted = self.n * self.lines * (LINE_BYTES + self.stamp_bytes)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            there = self.written()
            ended = now_ns()
            if there >= wanted:
                break
            if time.monotonic() > deadline:
                raise GaveUp(f"{self.name}: {there} of {wanted} bytes")
            time.sleep(0.002 if there >= 0.9 * wanted else 0.02)
        return self.n * self.lines * LINE_BYTES / ((ended - begun) / 1e9) / 1e6

    def check(self):
        """Is every line there, once for each writer, and nothing else?"""
        seen = bytearray(self.lines)
        for path in self.files():
            with open(path, "rb") as file:
                for line in file:
                    text = line[self.stamp_bytes:]
                    if len(text) != LINE_BYTES:
                        raise GaveUp(f"{path}: a broken line: {line!r}")
                    seen[int(text[:DIGITS])] += 1
        if seen.count(self.n) != self.lines:
            raise GaveUp(f"{self.name}: {sum(times < self.n for times in seen)} lines are "
                         f"missing, {sum(times > self.n for times in seen)} are double")


class Cat(Writer):
    name = "`cat > file`"

    def files(self):
        return [os.path.join(self.dir, f"file{k}") for k in range(self.n)]

    def start(self):
        self.cats, self.spews = [], []
        for k, path in enumerate(self.files()):
            with open(path, "wb") as file:
                spew = subprocess.Popen(self.words(k), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE)
                self.spews.append(spew)
                self.cats.append(subprocess.Popen(["cat"], stdin=spew.stdout, stdout=file))
            spew.stdout.close()

    def readers(self):
        return [cat.pid for cat in self.cats]

    def end(self):
        for spew, cat in zip(self.spews, self.cats):
            spew.kill()
            spew.wait()
            cat.wait()


class Logged(Writer, Supd):
    name = "supd"
    keys = "timestamps: false"

    def prepare(self):
        actors = [", ".join(f"'{word}'" for word in self.words(k)) for k in range(self.n)]
        with open(os.path.join(self.dir, "supd.yaml"), "w", encoding="ascii") as file:
            file.write(f"log: {{level: error, directory: {self.dir}/log}}\n"
                       "defaults: {log: {max_size: 10M, keep: 1000000, total: 1000G, "
                       f"{self.keys}}}}}\n"
                       "start: parallel\nstop: parallel\nchildren:\n")
            file.writelines(f"  a{k}: {{command: [{words}]}}\n"
                            for k, words in enumerate(actors))

    def files(self):
        where = os.path.join(self.dir, "log", "user")
        if not os.path.isdir(where):
            return []
        return [entry.path for entry in os.scandir(where)]

    def readers(self):
        return own_pids(self)

    def end(self):
        measure_stop(self)


class Stamped(Logged):
    name = "supd, timestamps"
    keys = "timestamps: true"
    stamp_bytes = STAMP_BYTES


KINDS = (Cat, Logged, Stamped)


def busy_ns(pid):
    """For how long this process has been on a processor."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def measure(tools, directory, kind, *load):
    """Megabytes a second; and s a gigabyte on a processor of all that reads, with its start."""
    with prepared(kind, tools, directory, *load) as system:
        system.start()
        rate = system.wait_written()
        busy = sum(map(busy_ns, system.readers())) / (system.n * system.lines * LINE_BYTES)
        system.end()
        system.check()
        return rate, busy


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
    parser.add_argument("--writers", type=int, default=1, help="at once, up to 255")
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
                        rate, _ = measure(tools, directory, kind, options.lines, each,
                                          options.writers)
                        rates[kind].append(rate)
                print(row(title, rates), flush=True)
    except (GaveUp, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(f"\n{options.lines:,} lines of 100 bytes a writer, each of them found once in the "
          f"files; medians of {options.rounds} interleaved rounds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
