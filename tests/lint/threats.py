#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each row of doc/THREATS.md names the test that shows it, by words of its title, and there is such a test; and
doc/SAFETY.md counts the assertions of each room, each of which was looked at."""
import os
import re

TOP = os.environ.get("top_srcdir", ".")


COMMENT = re.compile(r"/\*.*?\*/", re.S)


def assertions(room):
    count = 0
    for folder, _, names in os.walk(os.path.join(TOP, "src", room)):
        for path in (os.path.join(folder, name) for name in names if name.endswith((".c", ".h"))):
            with open(path, encoding="utf8") as text:
                count += len(re.findall(r"(?<!define )\bASSERT\(", COMMENT.sub("", text.read())))
    return count


def look_at_assertions():
    with open(os.path.join(TOP, "doc/SAFETY.md"), encoding="utf8") as text:
        told = {room: int(n) for room, n in re.findall(r"(?m)^\| (\w+) \| (\d+) \|", text.read())}
    there = {room: assertions(room) for room in sorted(os.listdir(os.path.join(TOP, "src")))}
    faults = [f"src/{room}: {n} assertions, {told.get(room, 0)} of them looked at: can what comes "
              "from outside reach one?" for room, n in there.items() if n != told.get(room, 0)]
    for fault in faults:
        print("# " + fault)
    print(f"{'not ok' if faults else 'ok'} 2 - doc/SAFETY.md says of all {sum(there.values())} "
          "assertions why nothing from outside reaches them")


def fault_of(test, title, built):
    """What is wrong with a test that a row names; None: nothing."""
    path = os.path.join(TOP, test)
    if not os.path.exists(path) or test not in built:
        return "is not there, or never run"
    if test.startswith(("tests/fuzz/", "tests/lint/")):
        return None
    with open(path, encoding="utf8") as text:
        titles = re.findall(r"(?s)(?:@test\(|START_TEST\().*?\n *(?:def|\{)", text.read())
    if not title:
        return "has no words of a title behind it"
    return None if any(title in one for one in titles) else f"has no test {title!r}"


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
        tests = re.findall(r'(tests/[\w/.-]+)(?: "([^"]+)")?', cells[2])
        if not tests:
            faults.append(f"doc/THREATS.md:{number}: no test is named")
        for test, title in tests:
            fault = fault_of(test, title, built)
            if fault is not None:
                faults.append(f"doc/THREATS.md:{number}: {test} {fault}")
    print("1..2")
    for fault in faults:
        print("# " + fault)
    print(f"{'not ok' if faults or rows == 0 else 'ok'} 1 - each of the {rows} rows of "
          "doc/THREATS.md has its test")
    look_at_assertions()


main()
