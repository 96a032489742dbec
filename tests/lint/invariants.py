#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each invariant of the decision core has witnesses: tests/sim/INVARIANTS says which.

All 39 are there, once; each file exists and names the invariant; and whatever invariant a
witness of the simulator names, the list knows of it."""
import glob
import os
import re
import sys

SRC = os.environ.get("top_srcdir", ".")
LIST = "tests/sim/INVARIANTS"
NUMBERS = range(1, 40)


def names(path):
    """The numbers of the invariants that a file names; None: there is no such file."""
    try:
        with open(os.path.join(SRC, path), encoding="utf-8") as file:
            return {int(n) for n in re.findall(r"\bI(\d+)\b", file.read())}
    except FileNotFoundError:
        return None


def entries():
    """(line, number, phrase, files) of the list; number None: it cannot be read."""
    with open(os.path.join(SRC, LIST), encoding="utf-8") as file:
        for at, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            found = re.fullmatch(r"I(\d+) ([^:]+): (\S.*)", line)
            if found:
                yield at, int(found[1]), found[2], found[3].split()
            else:
                yield at, None, line, []


def main():
    wrong, listed = [], {}
    for at, number, phrase, files in entries():
        if number is None:
            wrong.append(f"{LIST}:{at}: what is `{phrase}`?")
            continue
        if number in listed:
            wrong.append(f"{LIST}:{at}: I{number} is there twice")
        listed[number] = {f"tests/{file}" for file in files}
        for path in sorted(listed[number]):
            named = names(path)
            if named is None:
                wrong.append(f"{LIST}:{at}: there is no {path}")
            elif number not in named:
                wrong.append(f"{LIST}:{at}: {path} does not name I{number}")
    for number in sorted(set(NUMBERS) ^ set(listed)):
        wrong.append(f"{LIST}: I{number} is {'unknown' if number in listed else 'missing'}")
    for path in sorted(glob.glob(os.path.join(SRC, "tests/sim/witness*.c"))):
        path = os.path.relpath(path, SRC)
        for number in sorted(names(path)):
            if path not in listed.get(number, ()):
                wrong.append(f"{path} names I{number}, {LIST} does not know")
    print("1..1")
    for sentence in wrong:
        print(f"# {sentence}")
    print(f"{'not ' if wrong else ''}ok 1 - each of {len(NUMBERS)} invariants has a witness")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
