#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`make html`: every page has a character set, and every link of ours leads to a page and a place in it."""
import html
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

BUILD = os.path.abspath(os.environ.get("top_builddir", "."))


def read(path):
    with open(path, encoding="utf8") as file:
        return file.read()


def troubles(directory):
    pages = {name: read(os.path.join(directory, name)) for name in os.listdir(directory) if name.endswith(".html")}
    places = {name: set(re.findall(r'\bid="([^"]*)"', text)) for name, text in pages.items()}
    for name, text in sorted(pages.items()):
        if 'charset="utf-8"' not in text:
            yield f"{name} does not say its character set"
        for link in re.findall(r'href="([^"]*)"', text):
            link = urllib.parse.unquote(html.unescape(link))
            if link.startswith("https://"):
                continue
            page, _, place = link.partition("#")
            if not os.path.exists(os.path.join(directory, page or name)):
                yield f"{name}: {link}: no such page"
            elif place and place not in places[page or name]:
                yield f"{name}: {link}: no such place"
    for name in pages:
        if name != "index.html" and f'href="{name}"' not in pages["index.html"]:
            yield f"index.html does not have {name}"


def main():
    lacking = [name for name in ("mandoc", "cmark-gfm") if shutil.which(name) is None]
    if lacking:
        print(f"1..0 # SKIP needs {', '.join(lacking)}")
        return 0
    print("1..1")
    made = subprocess.run(["make", "-C", BUILD, "html"], capture_output=True, text=True, timeout=300, check=False)
    found = [made.stderr] if made.returncode != 0 else list(troubles(os.path.join(BUILD, "html")))
    for line in found:
        print(f"# {line}")
    print(f"{'not ok' if found else 'ok'} 1 - the pages of make html link to each other, and to nothing that is not there")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
