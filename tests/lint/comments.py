#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""comments.py - do comments, messages, manuals and tests name the things that they speak of?

Of the comments in src, the messages in src, the sentences of README.md, SECURITY.md, doc and man, the
comments in tests (docstrings, too), the titles of tests (stories, Python, Check, faults) and the lines of
the README, INDEX and INVARIANTS below tests that have six words or more, only as many as LIMITS says may
consist of pronouns to a quarter or more, and may have a pronoun of persons: "it is done when that is what
it waits for" leaves the reader to guess; phrases such as "so that" and "there is" are none.
The comment of a function that returns bool asks nothing: it begins "True if ...".
Prints TAP; every offence is a comment, so that the worst can be mended first.

    comments.py FILE...     looks at these files alone, without a limit
"""
import ast
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
# How many may be vague, and may speak of persons: a limit falls with what is mended, and never rises.
LIMITS = {"comments": (3, 9), "messages": (5, 2), "sentences of the manuals": (13, 14),
          "comments of tests": (3, 1), "titles of tests": (14, 13), "lines about tests": (0, 0)}
PERSONS = set("who whom whose whoever whomever somebody anybody nobody everybody someone anyone everyone".split())
PRONOUNS = PERSONS | set("it its that this these those what whatever which one ones such so there them they he she "
                         "whether".split())
PHRASES = r"\b(such as|no such|so that|there (is|are|was|were)|one for (one|all)|more than one|one of|one by one)\b|(one|rest)_for_(one|all)"


def files(folder, *ends):
    for path, _, names in os.walk(os.path.join(TOP, folder)):
        yield from (os.path.join(path, name) for name in names if name.endswith(ends))


def words(text):
    return [word.lower() for word in re.findall(r"[A-Za-z']+", text)]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def statements(node):
    """The node and all statements in it."""
    yield node
    for part in ("body", "orelse", "finalbody", "handlers"):
        for inner in getattr(node, part, []):
            yield from statements(inner)


def comments(path):
    """Line and text of each comment and docstring; # comments that stand together are one."""
    text = read(path)
    form = r"/\*(.*?)\*/" if path.endswith((".c", ".h")) else r"(?<!\S)#((?! SPDX) [^\n]*(?:\n[ \t]*# [^\n]*)*)"
    for match in re.finditer(form, text, re.S):
        if "SPDX" not in match[1]:
            yield text.count("\n", 0, match.start()) + 1, match[1].replace("*", " ")
    for node in statements(ast.parse(text)) if path.endswith(".py") else []:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, re.sub(r"`[^`]*`", " code ", ast.get_docstring(node))


def questions(path):
    """Line and text of each comment of a function that returns bool that begins with a question."""
    text = read(path)
    begin = r"(Am|Are|Can|Could|Did|Do|Does|Had|Has|Have|Is|May|Might|Must|Shall|Should|Was|Were|Will|Would)"
    for match in re.finditer(rf"/\*[\s*]*({begin} [^?/]*\?)(?:[^*]|\*(?!/))*\*/\s*(?:static |inline )*bool\b", text):
        yield text.count("\n", 0, match.start()) + 1, match[1].replace("*", " ")


def messages(path):
    """Line and text of each string; pieces that stand together are one."""
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), read(path), flags=re.S)
    piece = r'"(?:[^"\\\n]|\\.)*"'
    for match in re.finditer(rf"{piece}(?:\s*(?:[A-Z][A-Z_a-z0-9]+\s*)?{piece})*", text):
        said = "".join(part[1:-1] for part in re.findall(piece, match[0]))
        yield text.count("\n", 0, match.start()) + 1, re.sub(r"%[-+ #0-9.*]*[a-z]*|\\[nt]", " ", said)


def sentences(path):
    """Line and text of each sentence: of mdoc without the macros, of Markdown without code and addresses."""
    said, at, code = "", 1, False
    for number, line in enumerate(read(path).splitlines() + [""], 1):
        ends = not line.strip() or re.match(r"\.(Pp|It|Sh|Ss|Bl|El|Bd|Ed|D1|Dl)\b|```|#|\||[-*] ", line)
        if ends and said:
            yield from ((at, part) for part in re.split(r"(?<=[.!?])\s+", said))
        said, at = ("", number) if ends else (said, at)
        if re.match(r"```|\.[BE]d\b", line):
            code = line.startswith("```") and not code or line.startswith(".Bd")
        elif not code:
            line = re.sub(r"^\.\\\".*|^\.[A-Z][a-z0-9]\b(?: (?:Ns|Pq|Po|Pc)\b)*", "", line)
            said += " " + re.sub(r"`[^`]*`|\]\([^)]*\)|\\[a-z&^]|^\||[|*]", " ", line)


def lines(path):
    return enumerate(read(path).splitlines(), 1)


def titles(path):
    """Line and text of each title of a test."""
    text = read(path)
    form = r"^(?:story|fault) (.*)$" if path.endswith((".story", ".txt")) else \
        r'^@test\("((?:[^"\\]|\\.)*)"' if path.endswith(".py") else r"^START_TEST\((\w+)\)"
    for match in re.finditer(form, text, re.M):
        yield text.count("\n", 0, match.start()) + 1, match[1].replace("_", " ")


def look(found):
    """The number of texts, the vague texts, worst first, and the texts that speak of persons."""
    total, vague, persons = 0, [], []
    for path, line, text in found:
        said = words(text)
        if len(said) < 6:
            continue
        total += 1
        place = f"{os.path.relpath(path, TOP)}:{line}: {' '.join(text.split())[:100]}"
        share = sum(word in PRONOUNS for word in words(re.sub(PHRASES, "", text, flags=re.I))) / len(said)
        if share >= 0.25:
            vague.append((share, place))
        if PERSONS.intersection(said):
            persons.append(place)
    return total, [place for _, place in sorted(vague, reverse=True)], persons


def gather():
    code = sorted(files("src", ".c", ".h"))
    tests = sorted(files("tests", ".c", ".h", ".py", ".story", ".sh"))
    cases = sorted(files("tests", ".c", ".py", ".story", "mutants.txt"))
    lists = sorted(files("tests", "README", "INDEX", "INVARIANTS"))
    texts = sorted([os.path.join(TOP, "README.md"), os.path.join(TOP, "SECURITY.md"),
                    *files("doc", ".md"), *files("man", ".1", ".5", ".7", ".8")])
    if sys.argv[1:]:
        code = [path for path in sys.argv[1:] if path.endswith((".c", ".h"))]
        tests = [path for path in sys.argv[1:] if path.endswith((".py", ".story", ".sh"))]
        cases = [path for path in sys.argv[1:] if path.endswith((".c", ".py", ".story", "mutants.txt"))]
        lists = [path for path in sys.argv[1:] if path.endswith(("README", "INDEX", "INVARIANTS"))]
        texts = [path for path in sys.argv[1:] if path not in code + tests + cases + lists]
    for kind, paths, take in (("comments", code, comments), ("messages", code, messages),
                              ("sentences of the manuals", texts, sentences),
                              ("comments of tests", tests, comments), ("titles of tests", cases, titles),
                              ("lines about tests", lists, lines)):
        yield kind, look((path, line, text) for path in paths for line, text in take(path))


def main():
    number, failed = 0, False
    print("1..13")
    for kind, (total, *offences) in gather():
        names = (f"{kind} name the things", f"{kind}: only persons are somebody")
        for name, found, limit in zip(names, offences, LIMITS[kind]):
            number += 1
            over = not sys.argv[1:] and len(found) > limit
            failed |= over
            for place in found if over or sys.argv[1:] else []:
                print(f"# {place}")
            print(f"# {len(found)} of {total} {kind}, at most {limit}")
            print(f"{'not ok' if over else 'ok'} {number} - {name}")
    asked = [(path, *found) for path in sys.argv[1:] or sorted(files("src", ".c", ".h"))
             if path.endswith((".c", ".h")) for found in questions(path)]
    for path, line, text in asked:
        print(f"# {os.path.relpath(path, TOP)}:{line}: {' '.join(text.split())[:100]}")
    print(f"{'not ok' if asked else 'ok'} 13 - the comment of a function that returns bool begins \"True if\"")
    return failed or bool(asked)


if __name__ == "__main__":
    sys.exit(main())
