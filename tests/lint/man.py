#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The manual is whole: every option, verb, key, method and error is in it, and it is
well-formed.  What there is, the programs say themselves."""
import json
import os
import re
import shutil
import subprocess
import sys

SRC = os.environ.get("top_srcdir", ".")
BUILD = os.environ.get("top_builddir", ".")
PAGES = ["supd.8", "supctl.1", "supd.yaml.5", "io.supd.Control.7"]


def page(name):
    if not os.path.exists(os.path.join(SRC, "man", name)):
        return ""
    with open(os.path.join(SRC, "man", name), encoding="utf-8") as file:
        return file.read()


def words(name):
    """The words in the macro lines of a page, without its prose."""
    marked = "\n".join(line for line in page(name).splitlines() if line.startswith("."))
    return set(re.findall(r"[A-Za-z0-9_][A-Za-z0-9_-]*", marked.replace(r"\-", "-")))


def output(program, *args):
    return subprocess.run([os.path.join(BUILD, program), *args], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def schema_keys(node, found):
    """All property names of a JSON Schema."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            properties = item.get("properties")
            if isinstance(properties, dict):
                found.update(properties)
            todo += item.values()
        elif isinstance(item, list):
            todo += item
    return found


def supctl_verbs():
    """The verbs: the first words of the indented lines of `supctl --help`."""
    return {m[1] for m in re.finditer(r"^  ([a-z][a-z-]*)", output("supctl", "--help"),
                                      re.M)}


def long_options(program):
    return set(re.findall(r"--([a-z][a-z-]*)", output(program, "--help")))


def interface_names():
    with open(os.path.join(SRC, "src/varlink/io.supd.Control.varlink"),
              encoding="utf-8") as file:
        return set(re.findall(r"^(?:method|error) (\w+)", file.read(), re.M))


def event_faults():
    """Kinds of events without a place in the manual, or in doc/CONTROL.md."""
    texts = {}
    for path in ("src/events/vocabulary.h", "doc/CONTROL.md"):
        with open(os.path.join(SRC, path), encoding="utf-8") as file:
            texts[path] = file.read()
    kinds = re.findall(r'X\((?:REPORT|NOTICE)_\w+, "(\w+)"\)', texts["src/events/vocabulary.h"])
    have = words("io.supd.Control.7")
    faults = [f"{name} is not in {where}" for name in kinds for where, is_there in (
        ("io.supd.Control(7)", name in have),
        ("doc/CONTROL.md", f"`{name}`" in texts["doc/CONTROL.md"]),
    ) if not is_there]
    return faults if len(kinds) >= 20 else ["too few kinds of events were found"]


def verb_faults():
    """Verbs without an item of their own in the manual."""
    items = set(re.findall(r"^\.It (?:Xo\n\.)?Cm ([a-z-]+)", page("supctl.1"), re.M))
    verbs = supctl_verbs() - {"supctl"}
    return sorted(verbs - items) if len(verbs) >= 20 else ["too few verbs were found"]


def missing(wanted, name):
    have = words(name)
    return sorted(w for w in wanted if w not in have)


def mandoc(name):
    out = subprocess.run(["mandoc", "-T", "lint", "-W", "warning",
                          os.path.join(SRC, "man", name)], check=False, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    return [line for line in out.splitlines() if "mandoc.db" not in line]


def quoted_lists(name):
    """Quotes around several words that a list separates: mdoc(7) quotes up to the last."""
    return [f"{name}:{number}: {line}" for number, line in
            enumerate(page(name).splitlines(), 1)
            if re.match(r"\.(It )?(Ql|Dq|Sq)\b", line) and re.search(r" [,;] \S", line)]


def main():
    tests = [
        ("every option of supd is in supd(8)",
         lambda: missing(long_options("supd"), "supd.8")),
        ("every option of supctl is in supctl(1)",
         lambda: missing(long_options("supctl"), "supctl.1")),
        ("every verb of supctl has its item in supctl(1)", verb_faults),
        ("every key of the configuration is in supd.yaml(5)",
         lambda: missing(schema_keys(json.loads(output("supd", "--schema")), set()),
                         "supd.yaml.5")),
        ("every method and error is in io.supd.Control(7)",
         lambda: missing(interface_names(), "io.supd.Control.7")),
        ("every kind of event is in io.supd.Control(7) and doc/CONTROL.md", event_faults),
    ]
    tests += [(f"no quotes in {name} go around a list", lambda name=name: quoted_lists(name))
              for name in PAGES]
    tests += [(f"mandoc has nothing to say about {name}", lambda name=name: mandoc(name))
              for name in PAGES]
    print(f"1..{len(tests)}")
    for number, (title, run) in enumerate(tests, 1):
        if title.startswith("mandoc") and shutil.which("mandoc") is None:
            print(f"ok {number} - {title} # SKIP no mandoc")
            continue
        faults = run()
        print(f"{'not ' if faults else ''}ok {number} - {title}")
        for fault in faults:
            print(f"# {fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
