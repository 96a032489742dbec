#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The demo: it finishes, says so, leaves nothing behind, and can be interrupted."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SRC = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
DEMO = [sys.executable, "-B", os.path.join(SRC, "examples", "crawler", "demo.py"),
        "--bin", BUILD, "--limit", "5m"]


class Run:
    """The demo once, in a temporary directory of its own."""

    def __init__(self):
        self.tmp = tempfile.mkdtemp(prefix="supd-test-")
        self.process = subprocess.Popen(DEMO, env=dict(os.environ, TMPDIR=self.tmp),
                                        stdin=subprocess.DEVNULL, text=True,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.text = ""

    def read_until(self, pattern):
        for line in self.process.stdout:
            self.text += line
            if re.search(pattern, line):
                return

    def finish(self):
        self.text += self.process.stdout.read()
        self.process.stdout.close()
        status = self.process.wait()
        files = os.listdir(self.tmp)
        shutil.rmtree(self.tmp)
        return status, files


def says(text, *patterns):
    return [p for p in patterns if not re.search(p, text)]


def all_pages(text):
    """Chance may make a dead letter of another page, but each page is one or the other."""
    counts = [re.search(pattern, text) for pattern in
              (r"pages crawled +(\d+)", r"dead letters +(\d+)")]
    if None in counts:
        return ["no counts"]
    total = sum(int(count[1]) for count in counts)
    return [] if total == 300 else [f"{total} of 300 pages"]


def whole():
    run = Run()
    status, files = run.finish()
    return run.text, {
        "the_crawl_finishes_although_workers_die":
            [f"status {status}"] * (status != 0) +
            says(run.text, r"workers died +\d+ times") + all_pages(run.text),
        "a_poisoned_page_becomes_a_dead_letter_after_three_more_tries":
            says(run.text, r"dead letters +[1-9].* /page/77\b"),
        "no_connection_is_refused_while_the_page_server_dies":
            says(run.text, r"page server died +[1-9]", r"\b0 connections refused"),
        "the_intensity_holds": says(run.text, r"never exceeded"),
        "nothing_is_left_behind": files + says(run.text, r"no process, no file"),
    }


def interrupted():
    run = Run()
    run.read_until(r"worker@\d +failure")
    run.process.send_signal(signal.SIGINT)
    _, files = run.finish()
    return run.text, {
        "an_interrupted_demo_leaves_nothing_behind_either":
            files + says(run.text, r"Interrupted", r"no process, no file"),
    }


def main():
    print("1..6")
    number = 0
    for story in (whole, interrupted):
        text, results = story()
        for title, faults in results.items():
            number += 1
            print(f"{'not ok' if faults else 'ok'} {number} - {title}")
            for fault in faults:
                print(f"# {fault}")
        if any(results.values()):
            print("\n".join("# | " + line for line in text.splitlines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
