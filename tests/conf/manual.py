#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What supd.yaml(5), supctl(1) and the documents show as a configuration is one: supd takes each, as it stands."""
import os
import pwd
import re
import subprocess
import sys
import tempfile

SRC = os.environ.get("top_srcdir", ".")
SUPD = os.path.join(os.environ.get("top_builddir", "."), "supd")
PAGES = ["man/supd.yaml.5", "man/supctl.1"]
TEXTS = ["README.md", "doc/TUTORIAL.md", "doc/MIGRATING.md"]


def literal_blocks(page):
    """The displays of a page of the manual, without its macros."""
    for block in re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", page, re.M | re.S):
        yield block.replace("\\e", "\\").replace("\\&", "")


def fenced_blocks(text):
    yield from re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)


def yaml_of(block):
    """A configuration, without the commands of a shell around it."""
    lines = block.splitlines(keepends=True)
    begins = [i for i, line in enumerate(lines) if re.match(r"(\w+):( |$)", line)]
    if not begins or not re.search(r"^(children|templates):", block, re.M):
        return None
    text = "".join(lines[begins[0]:])
    return re.split(r"^\$ ", text, maxsplit=1, flags=re.M)[0]


def check(text):
    with tempfile.TemporaryDirectory(prefix="supd-test-") as directory:
        path = os.path.join(directory, "supd.yaml")
        with open(path, "w", encoding="utf8") as file:
            file.write(text)
        os.mkdir(os.path.join(directory, "conf.d"))
        environment = dict(os.environ, HOME=directory, PORT="8000", DIR=directory)
        return subprocess.run([SUPD, "--check", "-c", path], capture_output=True, text=True, check=False,
                              env=environment)


def user_here(found):
    """Users of examples that this machine does not have are another one's here."""
    try:
        pwd.getpwnam(found[1])
        return found[0]
    except KeyError:
        return f"user: {pwd.getpwuid(os.getuid()).pw_name}"


def main():
    examples = []
    for name in PAGES + TEXTS:
        with open(os.path.join(SRC, name), encoding="utf8") as file:
            text = file.read()
        blocks = literal_blocks(text) if name in PAGES else fenced_blocks(text)
        examples += [(name, block) for block in map(yaml_of, blocks) if block]
    failed = 0
    print(f"1..{len(examples)}")
    for number, (name, text) in enumerate(examples, 1):
        done = check(re.sub(r"\buser: ([a-z][\w-]*)", user_here, text))
        first = text.strip().splitlines()
        title = f"{name}: {' '.join(first[:3])[:60].replace('#', ' ')}"
        if done.returncode != 0:
            failed += 1
            print("\n".join("# " + line for line in (text + done.stdout + done.stderr).splitlines()))
        print(f"{'ok' if done.returncode == 0 else 'not ok'} {number} - {title}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
