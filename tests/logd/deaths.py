#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The log process is killed at any moment, and no line is lost or in a file twice."""
import gzip
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from logd import Log, alive, check, children, comment, equal, logd_test, main, program, read

LINES = int(os.environ.get("LINES_EACH", "100000"))
KILLS = int(os.environ.get("KILLS", "150"))
# A kill at every 17th system call; STEP=1 kills at all.
STEP = int(os.environ.get("STEP", "17"))
KILLER = program("killer", "tests/lib")
WRITER = """
import os, random, sys, time
n, most = int(sys.argv[1]), int(sys.argv[2])
seed = random.Random(n)
text = b"".join(b"%d %s\\n" % (i, b"x" * (i % 89)) for i in range(n))
half = len(text) / 2
while text:
    if len(text) < half:
        sys.stdin.read()
        half = 0
    size = seed.randint(1, most)
    if seed.random() < most / 10000:
        time.sleep(0.001)
    text = text[os.write(1, text[:size]):]
"""


def writer(stream, lines, most):
    """Start a process that writes half of the lines, and the rest when its stdin ends."""
    return subprocess.Popen([sys.executable, "-c", WRITER, str(lines), str(most)],
                            stdin=subprocess.PIPE, stdout=stream.write_fd)


def pieces(path):
    """The files of a log in their order, the oldest first."""
    where, name = os.path.split(path)
    found = []
    for entry in os.listdir(where):
        match = re.fullmatch(re.escape(name) + r"(?:\.(\d+)(\.gz)?)?", entry)
        if match:
            found.append((-int(match[1] or 0), entry))
    for _, entry in sorted(found):
        data = read(os.path.join(where, entry))
        yield entry, gzip.decompress(data) if entry.endswith(".gz") else data


def rows(first, n):
    return b"".join(b"%d %s\n" % (i, b"x" * (i % 89)) for i in range(first, first + n))


def complete(path, lines, strip=None, first=0):
    """All lines are there once, in order."""
    text = b"".join(data for _, data in pieces(path))
    if strip is not None:
        text = re.sub(strip, b"", text, flags=re.M)
    expected = rows(first, lines)
    if text == expected:
        return
    got = text.split(b"\n")
    for i, line in enumerate(expected.split(b"\n")):
        if i >= len(got) or got[i] != line:
            near = got[max(0, i - 2):i + 3]
            check(False, f"{path}: line {i} of {lines}: expected {line!r}, got {near}")


def storm(logd, streams, most, lines=LINES, least=20):
    """Kill the log process again and again while writers write, until all is written."""
    writers = [writer(stream, lines, most) for stream in streams]
    chance = random.Random(len(streams))
    kills = 0
    logd.start(wait=False)
    while kills < KILLS or any(w.poll() is None for w in writers):
        end = time.monotonic() + chance.random() ** 2 * 0.03
        while time.monotonic() < end:
            logd.serve(0.002)
        if any(w.poll() is None for w in writers) and kills < 20 * KILLS:
            logd.kill()
            kills += 1
            logd.start(wait=False)
            if kills == least:
                for one in writers:
                    one.stdin.close()
        elif all(w.poll() is not None for w in writers):
            break
    for one in writers:
        equal(one.wait(), 0, "the writer's end")
    logd.settle()
    logd.kill()
    comment(f"{kills} kills, {lines} lines for each of {len(streams)}")


STAMP = rb"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "


@logd_test("killed all the time, no line is lost or doubled", timeout=120)
def _(logd, place):
    one = logd.add(f"{place}/a.log", Log())
    storm(logd, [one], 5000)
    complete(one.path, LINES)


@logd_test("the same with times in front of the lines", timeout=120)
def _(logd, place):
    one = logd.add(f"{place}/a.log", Log(timestamps=True))
    storm(logd, [one], 5000)
    complete(one.path, LINES, STAMP)


@logd_test("the same while files are set aside", timeout=120)
def _(logd, place):
    one = logd.add(f"{place}/a.log", Log(max_size=20000, keep=1000))
    two = logd.add(f"{place}/b.log", Log(max_size=50000, keep=1000, timestamps=True))
    storm(logd, [one, two], 3000)
    complete(one.path, LINES)
    complete(two.path, LINES, STAMP)
    for stream, most in (one, 20000), (two, 50000):
        for name, data in pieces(stream.path):
            check(data.endswith(b"\n"), f"{name} ends in a line")
            check(len(data) <= most + 200, f"{name} has {len(data)} bytes")


@logd_test("the same while files are compressed", timeout=120)
def _(logd, place):
    one = logd.add(f"{place}/a.log", Log(max_size=100000, keep=1000, compress=True))
    storm(logd, [one], 5000)
    logd.until(lambda: not any(alive(child) for child in children()), "gzip goes on alone")
    # A log process that died between gzip's end and the removal of the file leaves both files.
    met = logd.meetings
    logd.start()
    logd.until(lambda: logd.meetings > met, "its first words")
    equal(logd.stop(), 0, "its end")
    complete(one.path, LINES)


@logd_test("the same with many streams at once", timeout=120)
def _(logd, place):
    streams = [logd.add(f"{place}/{i}.log", Log(timestamps=i % 2 == 1))
               for i in range(20)]
    storm(logd, streams, 1000, LINES // 20, 5)
    for i, stream in enumerate(streams):
        complete(stream.path, LINES // 20, STAMP if i % 2 else None)


def at_each_call(logd, stream, strip=None, each=400):
    """Kill the log process at its n-th system call, and its successors, for many n."""
    lines = kills = survived = 0
    n = 60
    # Five rounds in a row without a kill: each had fewer than n calls to make.
    while survived < 5:
        stream.write(rows(lines, each))
        with subprocess.Popen([KILLER, "-w", "-t", "2", str(os.getpid()), str(n)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killer:
            check(killer.stdout.readline().startswith(b"attached"), "the killer starts")
            logd.start(wait=False)
            survived += 1
            while stream.waiting() or logd.staged():
                logd.serve(0.01)
                if logd.process.poll() is not None:
                    kills += 1
                    survived = 0
                    logd.start(wait=False)
            killer.kill()
        logd.kill()
        complete(stream.path, each, strip, lines)
        for name, _ in list(pieces(stream.path)):
            os.unlink(os.path.join(os.path.dirname(stream.path), name))
        lines += each
        n += STEP
    comment(f"{kills} kills at system calls, up to the {n}th stop")


@logd_test("killed at any system call, and its successor too, it is the same", timeout=500)
def _(logd, place):
    one = logd.add(f"{place}/a.log", Log())
    at_each_call(logd, one)


@logd_test("so it is with times in front of the lines", timeout=500)
def _(logd, place):
    one = logd.add(f"{place}/a.log", Log(timestamps=True))
    at_each_call(logd, one, STAMP)


@logd_test("so it is while files are set aside", timeout=500)
def _(logd, place):
    one = logd.add(f"{place}/a.log", Log(max_size=5000, keep=8))
    at_each_call(logd, one)


if __name__ == "__main__":
    main()
