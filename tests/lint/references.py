#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""references.py - what comments and tests refer to stands in doc/.

"DECISIONS 42" has to be a number of doc/DECISIONS.md; a rule (O-17, A-06, D-04, B-01, L-01, G-02,
C4, E-01, M-1), an invariant (I28) and a section ("SEMANTICS 2.6") have to stand in doc/SEMANTICS.md;
a document that is named (CONTROL.md, CONTROL's) has to be in doc/.  A file that a document for
maintainers names has to be there; NAME and * stand for any.  Prints TAP."""
import fnmatch
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
FOLDERS = ["src", "tests", "man", "doc", "bench"]
MAPS = ["doc/ARCHITECTURE.md", "doc/HACKING.md", "doc/SAFETY.md", "doc/THREATS.md", "CONTRIBUTING.md"]


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def sources():
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(TOP, folder)):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), TOP)
                if re.search(r"\.([ch157]|8|py|sh|story|md|txt)$|README$|INDEX$|INVARIANTS$", name) \
                        and "/corpus/" not in path:
                    yield path


def missing_files():
    """Files that a document names and the project does not have."""
    files = [os.path.relpath(os.path.join(place, name), TOP)
             for folder in FOLDERS for place, _, names in os.walk(os.path.join(TOP, folder)) for name in names]
    for document in MAPS:
        for name in sorted(set(re.findall(r"`(?:[^` ]*/)?[\w*]+\.(?:[ch]|py|sh|varlink)`", read(document)))):
            name = name.strip("`").replace("NAME", "*")
            if not any(fnmatch.fnmatch("/" + f, "*/" + name) for f in files):
                yield f"{document}: no file {name}"


def main():
    decisions = {int(n) for n in re.findall(r"^(\d+)\. ", read("doc/DECISIONS.md"), re.M)}
    semantics = read("doc/SEMANTICS.md")
    rules = set(re.findall(r"\b(?:[A-Z]-|[CI])\d+\b", semantics))
    sections = set(re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", semantics, re.M))
    wrong = []
    for path in sorted(sources()):
        text = read(path)

        def miss(match, what):
            wrong.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: no {what}")

        for match in re.finditer(r"\bDECISIONS(?:\.md)? ((?:\d+)(?:(?:, | and |–|-)\d+)*)", text):
            for n in re.findall(r"\d+", match[1]):
                if int(n) not in decisions:
                    miss(match, f"DECISIONS {n}")
        for match in re.finditer(r"(?<![\w-])([OADBLGEM]-\d+|[CI]\d+)(?![\w-])", text):
            if match[1] not in rules:
                miss(match, f"rule {match[1]}")
        for match in re.finditer(r"\bSEMANTICS(?:\.md)? (\d+(?:\.\d+)?(?:, \d+(?:\.\d+)?)*)", text):
            for section in match[1].split(", "):
                if section not in sections:
                    miss(match, f"SEMANTICS {section}")
        for match in re.finditer(r"\b(?!NAME|YAML)([A-Z]{4,})(?:\.md|'s)\b", text):
            places = [f"doc/{match[1]}.md", f"{match[1]}.md"]
            if not any(os.path.exists(os.path.join(TOP, p)) for p in places):
                miss(match, f"document {match[1]}.md")
    missing = list(missing_files())
    print("1..2")
    for offence in wrong + missing:
        print(f"# {offence}")
    print(f"{'not ok' if wrong else 'ok'} 1 - every reference leads to a line of doc/")
    print(f"{'not ok' if missing else 'ok'} 2 - every file that the documents name is there")
    return bool(wrong or missing)


if __name__ == "__main__":
    sys.exit(main())
