#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""layout.py - the C sources are laid out by clang-format, and their includes stand in one order.

The order: config.h, the header of the file itself, system headers, headers of the project, and last
core/pure.h; each group sorted and apart from the next by an empty line.  The layout is that of
clang-format 14; another version lays out a few lines otherwise, so the check is skipped there.
Prints TAP."""
import os
import re
import subprocess
import sys

TOP = os.environ.get("top_srcdir", ".")
FOLDERS = ["src", "tests", "bench", "examples"]
VERSION = "14"


def sources():
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(TOP, folder)):
            yield from (os.path.join(place, name) for name in sorted(names)
                        if re.search(r"\.[ch]$", name))


def group(path, target):
    """The place of an include in the order, then its name."""
    own = re.sub(r"^src/", "", os.path.relpath(path, TOP))[:-2] + ".h"
    name = target[1:-1]
    place = (0 if name == "config.h" else 1 if path.endswith(".c") and name == own else
             4 if name == "core/pure.h" else 2 if target[0] == "<" else 3)
    return place, name


def order(path):
    """The first includes of a file that stand together, as an offence if they are out of order."""
    before, empty = None, False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            include = re.match(r'#include\s+(["<][^">]+[">])', line)
            if include:
                here = group(path, include[1])
                if before and here < before:
                    return f"{path}:{number}: {include[1]} stands too late"
                if before and empty != (here[0] != before[0]):
                    return f"{path}:{number}: an empty line parts groups, and only groups"
                before, empty = here, False
            elif before and line.strip():
                return None
            else:
                empty = True
    return None


def banners(path):
    """The lines where a banner goes on in the next line."""
    with open(path, encoding="utf-8") as file:
        return [f"{path}:{number}: a banner of two lines" for number, line in enumerate(file, 1)
                if line.startswith("/* ----") and "*/" not in line]


def undistributed(files):
    """Sources that `make dist` forgets: a clone builds without their names, a tarball does not."""
    with open(os.path.join(TOP, "Makefile.am"), encoding="utf-8") as file:
        named = set(re.findall(r"[\w./-]+\.(?:[ch]|py)\b", file.read()))
    programs = [os.path.join(folder, name) for top in ("tests", "bench")
                for folder, _, names in os.walk(os.path.join(TOP, top)) for name in names if name.endswith(".py")]
    return [f"{path}: is not named in Makefile.am" for path in files + programs
            if os.path.relpath(path, TOP) not in named]


def version():
    try:
        said = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
    except OSError:
        return None
    found = re.search(r"version (\d+)", said)
    return found and found[1]


def main():
    files = list(sources())
    offences = [offence for offence in map(order, files) if offence]
    offences += [offence for path in files for offence in banners(path)]
    forgotten = undistributed(files)
    print("1..3")
    for offence in forgotten:
        print(f"# {offence}")
    print(f"{'not ok' if forgotten else 'ok'} 1 - every source is named in Makefile.am")
    for offence in offences:
        print(f"# {offence}")
    print(f"{'not ok' if offences else 'ok'} 2 - includes stand in one order, a banner in one line")
    if version() != VERSION:
        print(f"ok 3 - clang-format lays out the sources # SKIP no clang-format {VERSION}")
        return bool(offences or forgotten)
    style = f"--style=file:{os.path.join(TOP, '.clang-format')}"
    run = subprocess.run(["clang-format", "--dry-run", style, *files], capture_output=True, text=True)
    unlike = sorted({line.split(": warning")[0] for line in run.stderr.splitlines() if ": warning" in line})
    for place in unlike[:40]:
        print(f"# {place}: clang-format lays it out otherwise")
    wrong = bool(unlike) or run.returncode != 0
    print(f"{'not ok' if wrong else 'ok'} 3 - clang-format lays out the sources")
    return bool(offences or forgotten) or wrong


if __name__ == "__main__":
    sys.exit(main())
