#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""clang-tidy (with .clang-tidy) and cppcheck over src/: what they find has been judged.

Findings that are none are in static.txt; everything else is to be mended.  For a night,
not for `make check`: it takes minutes.  Arguments: the files to look at, all without.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
FLAGS = ["-DHAVE_CONFIG_H", f"-I{SOURCE}/src", f"-I{BUILD}/src", f"-I{BUILD}"]
# A local that is given back where its block ends, of which these tools know nothing: a struct with
# its members, or a pointer; all declarations and assignments of a local.
GIVEN_BACK = r"^\t+(?:CLEANUP(?:_[A-Z]+|\(\w+\))|json_auto_t)\s[\w\s%s]*[\s%s]%s(?: =|;)"
SET = (r"^\t+(?!return\b|goto\b|else\b|do\b)\w+(?:\(\w+\))?\s[\w\s*,]*(?<=[\s*])%s[;,[]"
       r"|(?<![\w.>])%s =(?!=)")
LEAK = re.compile(r"(?:leak of memory pointed to by '|(?:Memory|Resource) leak: )(\w+)(\.[\w.]+)?'?$")
FOUND = re.compile(r"^(?:%s/)?(src/[^:]+):(\d+):(?:\d+:)? \w+: (.*) \[([^\]]+)\]$"
                   % re.escape(SOURCE), re.M)


def output(*command):
    # Their status says that something was found, their stderr how much was not told.
    return subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False).stdout


def tidy(path):
    return output("clang-tidy", "--quiet", path, "--", "-std=gnu11", *FLAGS)


def is_given_back(message, lines, at):
    """True if what leaks there, as it says, is a local that is given back, or a member of one, and
    set nowhere else in its function; elsewhere it may have been lost before."""
    leak = LEAK.search(message)
    if leak is None:
        return False
    begin = max((i for i in range(at) if lines[i] == "{"), default=0)
    end = min((i for i in range(at, len(lines)) if lines[i] == "}"), default=at)
    body, (name, member) = "\n".join(lines[begin:end]), leak.groups()
    stars = "*" if member is None else ""
    given_back = re.findall(GIVEN_BACK % (stars, stars, name), body, re.M)
    return (0 < len(given_back) == len(re.findall(SET % (name, name), body, re.M)) and
            (member is None or body.count(f"{name}{member} = ") < 2))


def findings(paths):
    """(file, check, line, message) of each."""
    jobs = os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        texts = list(pool.map(tidy, paths))
    texts.append(output(
        "cppcheck", f"-j{jobs}", "--quiet", "--std=c11", *FLAGS,
        "--enable=warning,style,performance,portability",
        "--include=tests/lint/cppcheck.h",
        "--template={file}:{line}: {severity}: {message} [{id}]", *paths))
    for text in texts:
        if "error: " in text and "[clang-diagnostic-error]" in text:
            sys.exit(text)
    found = set()
    for path, line, message, checks in FOUND.findall("\n".join(texts)):
        with open(os.path.join(SOURCE, path), encoding="utf8") as file:
            lines, at = file.read().splitlines(), int(line) - 1
        if not is_given_back(message, lines, at):
            found.add((path, checks.split(",")[0], at + 1, lines[at].strip(), message))
    return sorted(found)


def judged():
    with open(os.path.join(SOURCE, "tests/lint/static.txt"), encoding="utf8") as file:
        lines = [line.rstrip("\n") for line in file if line[:1] not in "#\n"]
    return [tuple(part.strip() for part in line.split(" | ")) for line in lines]


def main():
    for name in "clang-tidy", "cppcheck":
        if shutil.which(name) is None:
            sys.exit(f"needs {name}")
    chosen = sys.argv[1:] or [
        os.path.relpath(os.path.join(directory, name), SOURCE)
        for directory, _, names in os.walk(os.path.join(SOURCE, "src"))
        for name in names if name.endswith(".c")]
    verdicts, used, wrong = judged(), set(), 0
    for path, check, line, text, message in findings(sorted(chosen)):
        fits = [verdict for verdict in verdicts
                if verdict[0] in ("*", path) and verdict[1] == check
                and verdict[2] in ("*", text)]
        used.update(fits)
        if not fits:
            wrong += 1
            print(f"{path}:{line}: {message} [{check}]\n\t{text}")
    for verdict in verdicts:
        if verdict not in used and not sys.argv[1:]:
            wrong += 1
            print("nothing is found any more: " + " | ".join(verdict))
    print(f"{wrong} to be judged or mended, {len(used)} of {len(verdicts)} verdicts used")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
