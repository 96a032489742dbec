#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""commits.py - the last commits have the form of CONTRIBUTING.md.

A subject is `room: verb object`, of 72 characters at most, without a full stop; a commit of more than 50
changed lines of sources says why in its body.  Skipped where there is no Git history.  Prints TAP."""
import os
import re
import subprocess
import sys

TOP = os.environ.get("top_srcdir", ".")
COMMITS = 30
LINES_MAX = 50
SUBJECT_MAX = 72


def git(*arguments):
    try:
        done = subprocess.run(["git", "-C", TOP, *arguments], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def offences(log):
    for entry in log.split("\x1e")[1:]:
        head, _, changes = entry.partition("\x1f")
        commit, subject, body = head.split("\x1d")
        lines = sum(int(number) for line in changes.splitlines() if re.search(r"\.[ch]$", line)
                    for number in line.split("\t")[:2] if number.isdigit())
        at = f"{commit}: {subject}"
        if len(subject) > SUBJECT_MAX:
            yield f"{at}: {len(subject)} characters"
        if not re.match(r"[\w/.-]+(, [\w/.-]+)*: [a-z]", subject) or subject.endswith("."):
            yield f"{at}: not `room: verb object`"
        if lines > LINES_MAX and not body.strip():
            yield f"{at}: {lines} lines without a body that says why"


def main():
    inside = git("rev-parse", "--show-prefix")
    log = git("log", f"-{COMMITS}", "--no-merges", "--numstat", "--format=%x1e%h%x1d%s%x1d%b%x1f")
    print("1..1")
    if log is None or inside is None or not os.path.exists(os.path.join(TOP, ".git")):
        print("ok 1 - commits have their form # SKIP no Git history")
        return False
    found = list(offences(log))
    for offence in found:
        print(f"# {offence}")
    print(f"{'not ok' if found else 'ok'} 1 - commits have their form")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
