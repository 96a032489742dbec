#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""packed.py - a pointer of a configuration has a place in src/conf/keep/packed.c.

A configuration is packed in the child that reads the file, and unpacked in the guardian.  A pointer that
packed.c does not know keeps the value that it had in the child: the guardian would follow it into memory of
its own.  Looks at the structs of the headers that a configuration is made of.  Prints TAP."""
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
HEADERS = ["src/conf/text/conf.h", "src/conf/text/conf_process.h", "src/core/spec.h"]
# Structs that are never packed, and pointers that are not or in a way of their own.
APART = {"conf_report", "conf_reports", "conf_block", "conf_options", "conf_addition", "conf_change", "conf_plan",
         "conf_actor.process", "conf_actor.spec", "conf.memory", "conf.found"}


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def pointers():
    """Each pointer of a struct, as (struct, member)."""
    for header in HEADERS:
        for struct in re.finditer(r"^struct (\w+) \{(.*?)^\}", read(header), re.M | re.S):
            for line in struct[2].split(";"):
                for member in re.findall(r"\*\s*(?:const\s+)?(\w+)(?:\[\w+\])?\s*(?:,|$)", line.strip()):
                    yield struct[1], member


def main():
    known = set(re.findall(r"(\w+)(?:\[\w+\])?[,)]", read("src/conf/keep/packed.c")))
    found = list(pointers())
    names = {name for struct, member in found for name in (struct, f"{struct}.{member}")}
    wrong = [f"{struct}.{member} is not in packed.c" for struct, member in found
             if not APART.intersection((struct, f"{struct}.{member}")) and member not in known]
    wrong += [f"{name} of APART is not in the headers" for name in sorted(APART - names)]
    if len(found) < 50:
        wrong.append("too few pointers were found")
    print("1..1")
    for offence in wrong:
        print(f"# {offence}")
    print(f"{'not ok' if wrong else 'ok'} 1 - packed.c has each of the {len(found)} pointers of a configuration")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
