# SPDX-License-Identifier: ISC
"""The indexer: which word stands on how many pages.  Ends when the master has ended."""
import json
import os

import common

LISTEN_FD = 3


def main():
    pages = {}
    listener = common.passed_socket(LISTEN_FD)
    master, _ = listener.accept()
    for line in master.makefile():
        message = json.loads(line)
        for word in set(message["words"]):
            pages.setdefault(word, set()).add(message["page"])
    counts = {word: len(where) for word, where in sorted(pages.items())}
    with open(common.run_path("index.json.new"), "w", encoding="utf-8") as file:
        json.dump(counts, file)
    os.rename(common.run_path("index.json.new"), common.run_path("index.json"))


if __name__ == "__main__":
    main()
