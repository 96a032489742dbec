#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""comments.py - do comments name the things that they speak of?

Of the comments in src that have six words or more, at most one in a hundred may consist of pronouns
to a quarter or more, and at most one in a hundred may have a pronoun of persons: "it is done when that
is what it waits for" leaves the reader to guess.  Prints TAP; every offence is a comment, so that the
worst can be mended first.

    comments.py FILE...     looks at these files alone, without a limit
"""
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
LIMIT = 0.01
PERSONS = set("who whom whose whoever whomever somebody anybody nobody everybody someone anyone everyone".split())
PRONOUNS = PERSONS | set("it its that this these those what whatever which one ones such so there them they he she "
                         "whether".split())


def sources():
    for folder, _, names in os.walk(os.path.join(TOP, "src")):
        for name in names:
            if name.endswith((".c", ".h")):
                yield os.path.join(folder, name)


def comments(path):
    """Line and text of each comment with six words or more."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in re.finditer(r"/\*(.*?)\*/", text, re.S):
        words = [word.lower() for word in re.findall(r"[A-Za-z']+", match[1])]
        if len(words) >= 6 and "spdx" not in words:
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[1].replace("*", " ").split()), words


def main():
    total, vague, persons = 0, [], []
    for path in sorted(sys.argv[1:] or sources()):
        for line, text, words in comments(path):
            total += 1
            place = f"{os.path.relpath(path, TOP)}:{line}: {text[:100]}"
            share = sum(word in PRONOUNS for word in words) / len(words)
            if share >= 0.25:
                vague.append((share, place))
            if PERSONS.intersection(words):
                persons.append(place)
    print("1..2")
    failed = False
    for number, (name, found) in enumerate([
            ("comments name the things", [place for _, place in sorted(vague, reverse=True)]),
            ("only persons are somebody", persons)], 1):
        over = not sys.argv[1:] and len(found) > LIMIT * total
        failed |= over
        for place in found if over or sys.argv[1:] else []:
            print(f"# {place}")
        print(f"# {len(found)} of {total} comments, at most {int(LIMIT * total)}")
        print(f"{'not ok' if over else 'ok'} {number} - {name}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
