#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Faults made by hand, one at a time, in the decision core: does a test see each of them?

mutants.py [TEXT | FIRST-LAST]: the faults with TEXT in their title, or by their number in
mutants.txt; FIRST- goes on to the end.  README says how mutants.txt is read.
The core's file is changed in a copy, compiled alone and linked in front of the core as it
is built, into each of the programs that test it.
"""
import collections
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.abspath(os.environ.get("top_srcdir", os.path.join(HERE, "../..")))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
CC = shlex.split(os.environ.get("CC", "cc"))
CFLAGS = shlex.split(os.environ.get("CFLAGS", "-O1"))
LIBS = {"table": shlex.split(os.environ.get("CHECK_LIBS", "-lcheck"))}
SLOW = 60  # seconds: a test that takes longer has seen something, too

Mutant = collections.namedtuple("Mutant", "title file by changes")
# The quickest first: objects, libraries beside the core, arguments.
PROGRAMS = {
    "story": ("tests/scenario/play-*.o", (), ()),
    "table": ("tests/core/test_core-*.o", (), ()),
    "exhaust": ("tests/sim/exhaust-*.o", ("libsim.a",), ("3",)),
    "sim": ("tests/sim/sim-*.o", ("libsim.a",), ("1-600",)),
}


def read_list():
    """Blocks of `fault TITLE`, `in FILE`, `by PROGRAM`, then lines - out and + in."""
    mutants = []
    with open(os.path.join(HERE, "mutants.txt"), encoding="utf8") as text:
        for number, line in enumerate(text, 1):
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "fault":
                mutants.append({"title": rest, "changes": [("", "")]})
            elif word in ("in", "by"):
                mutants[-1][{"in": "file"}.get(word, word)] = rest
            elif word in ("-", "+"):
                old, new = mutants[-1]["changes"].pop()
                if word == "-" and new:
                    mutants[-1]["changes"].append((old, new))
                    old, new = "", ""
                if word == "-":
                    old += rest + "\n"
                else:
                    new += rest + "\n"
                mutants[-1]["changes"].append((old, new))
            elif line.strip() and not line.startswith("#"):
                raise SystemExit(f"mutants.txt:{number}: what is {word!r}?")
    return [Mutant(**one) for one in mutants]


def chosen(mutants, wanted):
    """The faults to try, each with its number in the whole list."""
    span = re.fullmatch(r"(\d+)(-(\d*))?", wanted)
    if not span:
        return [(n, one) for n, one in enumerate(mutants, 1) if wanted in one.title]
    first = int(span[1])
    last = int(span[3] or len(mutants)) if span[2] else first
    return [(n, one) for n, one in enumerate(mutants, 1) if first <= n <= last]


def strip(text):
    """Every line without the blanks around it: the list does not depend on the layout."""
    return [line.strip() for line in text.splitlines()]


def changed(text, changes):
    """The file with all places changed; None: a place is missing, or there twice."""
    for old, new in changes:
        lines, wanted = text.splitlines(), strip(old)
        places = [i for i in range(len(lines) - len(wanted) + 1)
                  if [line.strip() for line in lines[i:i + len(wanted)]] == wanted]
        if len(places) != 1:
            return None
        lines[places[0]:places[0] + len(wanted)] = strip(new)
        text = "\n".join(lines) + "\n"
    return text


class Bench:
    """The scratch directory in which a mutant is built and tried."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="supd-mutant.")
        self.environment = dict(os.environ, top_srcdir=SRC, CK_VERBOSITY="silent",
                                CK_FORK="no", CK_TAP_LOG_FILE_NAME="-")

    def compile(self, mutant, text):
        source = os.path.join(self.dir, os.path.basename(mutant.file))
        with open(source, "w", encoding="utf8") as out:
            out.write(text)
        made = subprocess.run(
            [*CC, "-std=gnu11", "-w", *CFLAGS, f"-I{SRC}/src", f"-I{BUILD}/src", f"-I{BUILD}",
             "-DHAVE_CONFIG_H", "-c", source, "-o", source + ".o"],
            capture_output=True, text=True, check=False)
        return source + ".o" if made.returncode == 0 else None, made.stderr

    def link(self, program, thing):
        objects, libraries, _ = PROGRAMS[program]
        path = os.path.join(self.dir, program)
        subprocess.run([*CC, *CFLAGS, "-o", path, *sorted(glob.glob(f"{BUILD}/{objects}")),
                        *([thing] if thing else []), *(f"{BUILD}/{one}" for one in libraries),
                        f"{BUILD}/librig.a", f"{BUILD}/libcore.a", f"{BUILD}/libbase.a",
                        *LIBS.get(program, [])], check=True)
        return path

    def try_it(self, program, thing):
        """The complaint of the program about the fault; None: no complaint."""
        path = self.link(program, thing)
        try:
            ran = subprocess.run([path, *PROGRAMS[program][2]], env=self.environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, cwd=self.dir, timeout=SLOW,
                                 check=False)
        except subprocess.TimeoutExpired:
            return "it hangs"
        if ran.returncode == 0:
            return None
        said = ran.stdout.decode(errors="replace").splitlines()
        return next((line.partition(" - ")[2] for line in said if line.startswith("not ok")),
                    f"exit {ran.returncode}")

    def judge(self, mutant):
        """(verdict, words)"""
        with open(os.path.join(SRC, mutant.file), encoding="utf8") as whole:
            text = changed(whole.read(), mutant.changes)
        if text is None:
            return "STALE", f"{mutant.file} has changed: where is that now?"
        thing, complaint = self.compile(mutant, text)
        if thing is None:
            return "STALE", f"does not compile: {complaint}"
        for program in sorted(PROGRAMS, key=lambda one: one != mutant.by):
            said = self.try_it(program, thing)
            if said:
                return ("caught" if program == mutant.by else "CAUGHT BY ANOTHER",
                        f"{program}: {said}")
        return "SURVIVED", f"{mutant.by} sees nothing"


def main():
    mutants = chosen(read_list(), sys.argv[1] if len(sys.argv) > 1 else "")
    bench = Bench()
    counts = collections.Counter()
    for program in PROGRAMS:
        if bench.try_it(program, None):
            raise SystemExit(f"Bail out! {program} fails without any fault")
    print(f"1..{len(mutants)}" if mutants else "1..0 # SKIP no such fault")
    try:
        for number, mutant in mutants:
            begun = time.monotonic()
            verdict, words = bench.judge(mutant)
            counts[verdict] += 1
            good = verdict == "caught"
            print(f"{'' if good else 'not '}ok {number} - {mutant.title}", flush=True)
            print(f"#\t{verdict}: {words} ({time.monotonic() - begun:.1f} s)", flush=True)
    finally:
        shutil.rmtree(bench.dir, ignore_errors=True)
    print("# " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    return 0 if set(counts) <= {"caught"} else 1


if __name__ == "__main__":
    sys.exit(main())
