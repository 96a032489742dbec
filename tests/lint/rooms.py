#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""rooms.py - the shelves of the larger rooms, and the budgets of all of them.

A shelf is a folder of sources inside a room.  SHELVES gives their order: a shelf may include
and call those to its left, never one to its right; but it may call what a header of ASKS
declares: what it asks of a shelf to its right.  Headers at the top of a room are its door for
other rooms.  The budgets are in BUDGET.  What does not hold yet is listed in rooms.txt; an
offence that is not listed fails, and so does a line of the list that is not an offence any more:
the list only gets shorter.  Prints TAP.

    rooms.py --write    prints the list as it would have to be
"""
import collections
import os
import re
import subprocess
import sys

SHELVES = {
    "conf": ["text", "schema", "read", "tree", "keep"],
    "core": ["value", "tree", "wait", "decide", "move", "step"],
    "ctl": ["wire", "text", "page", "verb", "terminal"],
    "daemon": ["state", "sockets", "messages", "launch", "processes", "report", "metrics", "reload", "recovery",
               "forecast", "server", "control", "loop"],
    "logd": ["write", "read"],
    "os": ["self", "socket", "cgroup", "process", "spawn"],
}
ASKS = ["core/decide/motion.h"]
BUDGET = {
    "lines of a shelf": 6000,
    "files of a shelf": 30,
    "lines of a file": 500,
    "median lines of a file": 150,
    "members of a struct": 30,
    "bools of a struct": 8,
    "parameters of a function": 5,
    "files of a knot": 6,
    "statements": 36860,  # a feature of more than 300 raises it, and its commit says why; else it falls
}
# Raw system calls: a number, and the arguments that registers hold.
SYSCALLS = ["call", "os_quiet_syscall"]
KNOTS = {"core/decide": 2, "core/move": 4}  # shelves where fewer files call each other in a circle
SEEN = ["event_kind_names", "action_kind_names"]  # of the core, by its simulators

TOP = os.environ.get("top_srcdir", ".")
BUILD = os.environ.get("top_builddir", ".")
SRC = os.path.join(TOP, "src")


def without_comments(text):
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def read_sources():
    sources = {}
    for folder, _, names in os.walk(SRC):
        for name in names:
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    sources[os.path.relpath(path, SRC)] = file.read()
    return dict(sorted(sources.items()))


def room_of(path):
    return path.split("/")[0]


def shelf_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else None


def goes_up(a, b):
    """Does a file of one shelf use a file of a shelf to its right?"""
    order = SHELVES.get(room_of(a))
    if order is None or room_of(a) != room_of(b) or None in (shelf_of(a), shelf_of(b)):
        return False
    return order.index(shelf_of(b)) > order.index(shelf_of(a))


def look_at_shelves(sources):
    for path in sources:
        order = SHELVES.get(room_of(path))
        if order and shelf_of(path) is None and path.endswith(".h"):
            continue
        if (order is None) != (shelf_of(path) is None) or (order and shelf_of(path) not in order) or path.count("/") > 2:
            yield f"{path}: lies on no shelf that is known"


def look_at_includes(sources):
    for path, text in sources.items():
        for include in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
            if include in sources and goes_up(path, include):
                yield f"{path}: includes {include}"


def read_calls(sources):
    """What file calls what file, and what symbol no other file wants: by the objects that were built."""
    defined, wanted, objects = {}, collections.defaultdict(set), {}
    for path in sources:
        if not path.endswith(".c"):
            continue
        folder, name = os.path.split(path[:-2])
        folder = os.path.join(BUILD, "src", folder)
        for file in os.listdir(folder) if os.path.isdir(folder) else []:
            if re.fullmatch(rf"(\w+-)?{re.escape(name)}\.o", file):
                objects[os.path.join(folder, file)] = path
    # One process reads all of them: each start of nm takes longer than its object.
    out = subprocess.run([os.environ.get("NM", "nm"), "-gA", *objects], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        file, said = line.rsplit(":", 1)
        parts = said.split()
        if len(parts) == 3 and not parts[2].startswith("__"):  # of a sanitizer
            defined[parts[2]] = objects[file]
        elif len(parts) == 2 and parts[0] == "U":
            wanted[objects[file]].add(parts[1])
    calls = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, symbols in wanted.items():
        for symbol in symbols:
            other = defined.get(symbol)
            if other is not None and other != path:
                calls[path][other].add(symbol)
    used = set().union(*wanted.values()) | {"main"}
    return calls, {symbol: path for symbol, path in defined.items() if symbol not in used}


def look_at_calls(sources, calls):
    asked = {symbol for path in ASKS for symbol in re.findall(r"(\w+)\(", without_comments(sources[path]))}
    for path in sorted(calls):
        for other in sorted(calls[path]):
            if goes_up(path, other):
                for symbol in sorted(calls[path][other] - asked):
                    yield f"{path}: calls {symbol}() of {other}"


def look_at_lonely(sources, lonely):
    """What only one file uses is static, unless a test uses it, too; what no file uses goes, except for SEEN."""
    texts = []
    for top in ("tests", "bench"):
        for folder, _, names in os.walk(os.path.join(TOP, top)):
            for name in names:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        texts.append(file.read())
    words = set(re.findall(r"\w+", "\n".join(texts)))
    for symbol, path in sorted(lonely.items()):
        if symbol not in words:
            yield f"{path}: {symbol} is wanted by no other file"
        elif symbol not in SEEN and len(re.findall(rf"\b{symbol}\b", without_comments(sources[path]))) == 1:
            yield f"{path}: {symbol} is wanted by tests alone"


def find_knots(calls, files):
    """Sets of files each of which reaches each other by calls (Tarjan, without recursion)."""
    index, low, on_stack, stack, knots = {}, {}, set(), [], []
    for root in files:
        if root in index:
            continue
        work = [(root, iter(sorted(f for f in calls[root] if f in files)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            path, others = work[-1]
            other = next(others, None)
            if other is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[path])
                if low[path] == index[path]:
                    knot = []
                    while not knot or knot[-1] != path:
                        knot.append(stack.pop())
                        on_stack.discard(knot[-1])
                    knots.append(sorted(knot))
            elif other not in index:
                index[other] = low[other] = len(index)
                stack.append(other)
                on_stack.add(other)
                work.append((other, iter(sorted(f for f in calls[other] if f in files))))
            elif other in on_stack:
                low[path] = min(low[path], index[other])
    return knots


def group(sources):
    groups = collections.defaultdict(list)
    for path in sources:
        groups[os.path.dirname(path)].append(path)
    return groups


def look_at_knots(sources, calls):
    for folder, files in sorted(group(sources).items()):
        largest = max((len(k) for k in find_knots(calls, {f for f in files if f.endswith(".c")})), default=0)
        if largest > KNOTS.get(folder, BUDGET["files of a knot"]):
            yield f"{folder}: {largest} files call each other in a circle"


def look_at_tests():
    """A test program is about one thing, and so are the files that tests share."""
    for folder, _, names in os.walk(os.path.join(TOP, "tests")):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith((".c", ".h")):
                with open(path, encoding="utf-8") as file:
                    if file.read().count("\n") > BUDGET["lines of a file"]:
                        yield f"{os.path.relpath(path, TOP)}: more than {BUDGET['lines of a file']} lines"


def look_at_sizes(sources):
    for folder, files in sorted(group(sources).items()):
        lines = sum(sources[f].count("\n") for f in files)
        if lines > BUDGET["lines of a shelf"]:
            yield f"{folder}: more than {BUDGET['lines of a shelf']} lines"
        if len(files) > BUDGET["files of a shelf"]:
            yield f"{folder}: more than {BUDGET['files of a shelf']} files"
    for path, text in sources.items():
        if text.count("\n") > BUDGET["lines of a file"]:
            yield f"{path}: more than {BUDGET['lines of a file']} lines"
    median = sorted(t.count("\n") for t in sources.values())[len(sources) // 2]
    if median > BUDGET["median lines of a file"]:
        yield f"src: the median file has more than {BUDGET['median lines of a file']} lines"


def look_at_statements(sources):
    statements = sum(re.sub(r"'[^'\n]*'", "", without_comments(text)).count(";") for text in sources.values())
    if statements > BUDGET["statements"]:
        yield f"src: {statements} statements, and at most {BUDGET['statements']} are planned"


def find_structs(sources):
    """File, tag and body of each struct and union, also of those without a tag and of those in functions."""
    head = re.compile(r"\b(?:struct|union)\s+(?:__attribute__\s*\(\([^{}]*?\)\)\s*)?(\w*)\s*\{")
    for path, text in sources.items():
        text = without_comments(text)
        for match in head.finditer(text):
            depth, end = 1, match.end()
            while depth > 0:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            yield path, match[1], text[match.end():end - 1]


def look_at_structs(sources):
    """The members of a struct inside of another are the other's, too."""
    for path, tag, body in find_structs(sources):
        members, bools = 0, 0
        for declaration in re.split(r"[;{}]", re.sub(r"\([^()]*\)", "", body)):
            declaration = " ".join(declaration.split())
            if not declaration or declaration.startswith("#"):
                continue
            names = declaration.count(",") + 1
            members += names
            if re.match(r"(const |_Atomic )*(bool |\w+( \w+)* : 1\b)", declaration):
                bools += names
        said = f"struct {tag}" if tag else "a struct without a name"
        if members > BUDGET["members of a struct"]:
            yield f"{path}: {said} has more than {BUDGET['members of a struct']} members"
        if bools > BUDGET["bools of a struct"]:
            yield f"{path}: {said} has more than {BUDGET['bools of a struct']} bools"


def look_at_parameters(sources):
    """The number of those beyond the budget is part of an offence, so that it does not grow either.

    A format and what goes into it are one: a sentence.
    """
    for path, text in sources.items():
        for match in re.finditer(r"^(\w+)\(((?:[^(){};]|\([^()]*\))*)\)\n\{", without_comments(text), re.M):
            parameters = re.sub(r"\([^()]*\)", "", match[2])
            parameters = re.sub(r"fmt,\s*(\.\.\.|va_list \w+)$", "fmt", parameters).count(",") + 1
            if parameters > BUDGET["parameters of a function"] and match[1] not in SYSCALLS:
                yield f"{path}: {match[1]}() has {parameters} parameters"


def look_at_names(sources):
    seen = collections.defaultdict(list)
    for path in sources:
        seen[os.path.basename(path)].append(path)
    for name, paths in sorted(seen.items()):
        for path in paths[1:]:
            yield f"{path}: has the name of {paths[0]}"
    tags = collections.defaultdict(list)
    for path, tag, _ in find_structs(sources):
        if tag:
            tags[tag].append(path)
    for tag, paths in sorted(tags.items()):
        for path in sorted(set(paths))[1:]:
            yield f"{path}: struct {tag} is another in {paths[0]}"
    for path in sources:
        if "-" in path:
            yield f"{path}: has a dash in its name"


def look_at_readme():
    folders = {entry.name for entry in os.scandir(os.path.join(TOP, "src")) if entry.is_dir()}
    with open(os.path.join(TOP, "src/README"), encoding="utf-8") as file:
        named = set(re.findall(r"(?m)^(\w+)/ ", file.read()))
    for name in sorted(folders ^ named):
        yield f"src/README: {name}/ is a folder and not named, or named and no folder"


def main():
    sources = read_sources()
    calls, lonely = read_calls(sources)
    looks = [
        ("every file of a room with shelves lies on one", look_at_shelves(sources)),
        ("no file includes of a shelf to its right", look_at_includes(sources)),
        ("no file calls one of a shelf to its right", look_at_calls(sources, calls)),
        ("no more than six files call each other in a circle", look_at_knots(sources, calls)),
        ("shelves and files keep to their size", look_at_sizes(sources)),
        ("statements are as many as planned", look_at_statements(sources)),
        ("files of tests keep to their size", look_at_tests()),
        ("structs keep to their size", look_at_structs(sources)),
        ("functions have five parameters at most", look_at_parameters(sources)),
        ("a name means one file, one struct", look_at_names(sources)),
        ("src/README names each folder", look_at_readme()),
        ("what only one file uses is static", look_at_lonely(sources, lonely)),
    ]
    with open(os.path.join(TOP, "tests/lint/rooms.txt"), encoding="utf-8") as file:
        listed = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    if sys.argv[1:] == ["--write"]:
        for _, found in looks:
            for offence in found:
                print(offence)
        return 0
    print(f"1..{len(looks) + 1}")
    seen, failed = set(), False
    for number, (name, found) in enumerate(looks, 1):
        found = set(found)
        new = sorted(found - listed)
        seen |= found
        for offence in new:
            print(f"# {offence}")
        failed |= bool(new)
        print(f"{'not ok' if new else 'ok'} {number} - {name}")
    stale = sorted(listed - seen)
    for offence in stale:
        print(f"# rooms.txt lists what holds now: {offence}")
    print(f"{'not ok' if stale else 'ok'} {len(looks) + 1} - rooms.txt lists nothing that holds")
    return failed or bool(stale)


if __name__ == "__main__":
    sys.exit(main())
