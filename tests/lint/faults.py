#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Every fault of tests/mutants/mutants.txt still fits the core: its lines stand there exactly once.

`make check-mutants` says the same of a stale fault, but takes minutes.  Prints TAP."""
import os
import sys

SRC = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(SRC, "tests/mutants"))
import mutants  # noqa: E402  pylint: disable=wrong-import-position


def wrong(fault):
    """Why the fault cannot be tried; None: it can."""
    if fault.by not in mutants.PROGRAMS:
        return f"no program is called {fault.by}"
    try:
        with open(os.path.join(SRC, fault.file), encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        return str(error)
    changed = mutants.changed(text, fault.changes)
    if changed is None:
        return f"its lines are not in {fault.file}, or more than once"
    return f"it changes nothing in {fault.file}" if changed == text else None


def main():
    faults = mutants.read_list()
    bad = [f"{number} ({fault.title}): {why}" for number, fault in enumerate(faults, 1) if (why := wrong(fault))]
    print("1..1")
    for line in bad:
        print(f"# fault {line}")
    print(f"{'not ok' if bad or not faults else 'ok'} 1 - each of the {len(faults)} faults of mutants.txt fits the core")
    return 1 if bad or not faults else 0


if __name__ == "__main__":
    sys.exit(main())
