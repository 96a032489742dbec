#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Every scenario and rule of tests/scenario/INDEX is named by a test.

A test names them at the beginning of its title, or in parentheses at its end."""
import glob
import os
import re
import sys

SRC = os.environ.get("top_srcdir", ".")
NAME = r"(?:\d+(?:\.\d+)?|[A-Z]+-?\d+|[A-Z])"
TITLES = {
    "tests/scenario/*.story": r"^story (.*)$",
    "tests/*/*.py": r'@test\(\s*f?"((?:[^"\\]|\\.|"\s*f?")*)"',
    "tests/*/*.c": r"/\* ([^\n]*?)\.? \*/\nSTART_TEST",
}


def names(title):
    """What a title names: the words before its sentence, and those in the last parentheses."""
    found = re.match(rf"((?:{NAME},? )*{NAME})(?: |$)", title)
    behind = re.search(r"\(([^()]*)\)$", title)
    words = f"{found[1] if found else ''} {behind[1] if behind else ''}"
    return set(re.findall(rf"(?<!\S){NAME}(?=,|\s|$)", words))


def titles():
    """The titles of all tests."""
    for pattern, what in TITLES.items():
        for path in glob.glob(os.path.join(SRC, pattern)):
            with open(path, encoding="utf-8") as file:
                yield from re.findall(what, file.read(), re.M)


def index():
    """What has to be named: (line, name or None, the rest) of INDEX."""
    with open(os.path.join(SRC, "tests/scenario/INDEX"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            name, _, phrase = line.strip().partition(" ")
            if name and not name.startswith("#"):
                yield number, None if name == "=" else name, phrase.strip()


def main():
    all_titles = {re.sub(r'"\s*f?"', "", title).strip() for title in titles()}
    named = set().union(*map(names, all_titles))
    wrong, seen = [], set()
    for line, name, phrase in index():
        at = f"tests/scenario/INDEX:{line}"
        if (name, phrase if name is None else None) in seen:
            wrong.append(f"{at}: `{name or phrase}` is there twice")
        seen.add((name, phrase if name is None else None))
        if not phrase:
            wrong.append(f"{at}: `{name}` has no phrase")
        if name is None and phrase not in all_titles:
            wrong.append(f"{at}: no test has the title `{phrase}`")
        if name is not None and name not in named:
            wrong.append(f"{at}: no test names {name} ({phrase})")
    print("1..1")
    for sentence in wrong:
        print(f"# {sentence}")
    print(f"{'not ' if wrong else ''}ok 1 - each of {len(seen)} scenarios is named by a test")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
