#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each row of doc/THREATS.md names the test that shows it, and there is such a test."""
import os
import re

TOP = os.environ.get("top_srcdir", ".")


def main():
    faults, rows = [], 0
    with open(os.path.join(TOP, "doc/THREATS.md"), encoding="utf8") as text:
        lines = text.read().splitlines()
    with open(os.path.join(TOP, "Makefile.am"), encoding="utf8") as text:
        built = text.read()
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or cells[2] == "test" \
                or set(cells[0]) <= set("-"):
            continue
        rows += 1
        tests = re.findall(r"tests/[\w/.-]+", cells[2])
        if not tests:
            faults.append(f"doc/THREATS.md:{number}: no test is named")
        for test in tests:
            if not os.path.exists(os.path.join(TOP, test)) or test not in built:
                faults.append(f"doc/THREATS.md:{number}: {test} is not there, or never run")
    print("1..1")
    for fault in faults:
        print("# " + fault)
    print(f"{'not ok' if faults or rows == 0 else 'ok'} 1 - each of the {rows} rows of "
          "doc/THREATS.md has its test")


main()
