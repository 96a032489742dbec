#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each command of the tutorial and of the README's quick start is run, in its order, on a supd of its own.

A fenced block of YAML is tree.yaml from then on; one that is indented is a part of the supervisor before it.  A
command that stays in the foreground (supd) runs beside the others, one that follows (-f) is not waited for.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SRC = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
BOUND_S = 90   # for what hangs; nothing is measured
# What is about the machine, or installs something.
ELSEWHERE = ("systemctl", "./bootstrap", "dpkg-buildpackage", "apt-get", "make ", "autoreconf", "mkdir build")


class Failure(Exception):
    """A command does not do what the text says."""


def parts(text):
    """The blocks of YAML and the commands, in their order."""
    for block in re.finditer(r"^```(\w+)\n(.*?)^```$|((?:^    \S[^\n]*\n)+)", text, re.M | re.S):
        kind, fenced, indented = block.groups()
        if kind == "yaml":
            yield "yaml", fenced
        elif kind == "console":
            for line in fenced.splitlines():
                if line.startswith("$ "):
                    yield "command", line[2:]
        elif indented:
            for line in indented.splitlines():
                yield "command", line[4:]


def without_comment(command):
    return re.sub(r"\s{2,}#.*$", "", command)


class Reader:
    """A reader of the tutorial, typing the commands of the text in a new directory."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="supd-test-")
        self.environment = dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}", HOME=self.directory,
                                XDG_STATE_HOME=self.directory, TMPDIR=self.directory)
        self.supd = None

    def write(self, text):
        path = os.path.join(self.directory, "tree.yaml")
        if not text.startswith(" "):
            with open(path, "w", encoding="utf8") as file:
                file.write(text)
            return
        # A part of the supervisor that the file has: before its children.
        with open(path, encoding="utf8") as file:
            whole = file.read()
        with open(path, "w", encoding="utf8") as file:
            file.write(whole.replace("\n    children:", "\n" + text.rstrip("\n") + "\n    children:", 1))

    def do(self, command):
        if re.match(r"supd (?!--check)", command):
            with open(os.path.join(self.directory, "supd.log"), "ab") as log:
                self.supd = subprocess.Popen(command.split(), cwd=self.directory, env=self.environment,
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            return
        export = re.match(r"export (\w+)=\$PWD/(.*)", command)
        if export:
            self.environment[export[1]] = os.path.join(self.directory, export[2])
            self.until("supctl ping")
            return
        self.until(command)

    def until(self, command):
        """Things need their time: a command that fails is tried again."""
        end = time.monotonic() + BOUND_S
        while True:
            done = subprocess.run(["sh", "-c", command], cwd=self.directory, env=self.environment, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=BOUND_S, check=False)
            if done.returncode == 0:
                return
            if time.monotonic() > end:
                raise Failure(f"$ {command}\n{done.stdout}{done.stderr}")
            time.sleep(0.1)

    def close(self):
        if self.supd and self.supd.poll() is None:
            self.supd.send_signal(signal.SIGQUIT)
            self.supd.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def read(text):
    reader = Reader()
    commands = 0
    try:
        for kind, part in parts(text):
            if kind == "yaml":
                reader.write(part)
                continue
            command = without_comment(part)
            if any(word in command for word in ELSEWHERE):
                continue
            reader.do(command.replace("--rollback 30s", "--rollback 2s"))
            commands += 1
    except Failure:
        with open(os.path.join(reader.directory, "supd.log"), encoding="utf8", errors="replace") as log:
            print("\n".join("# " + line for line in log.read().splitlines()[-20:]))
        raise
    finally:
        reader.close()
    return commands


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def section(text, title):
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def main():
    texts = {}
    for name in ("doc/TUTORIAL.md", "README.md"):
        with open(os.path.join(SRC, name), encoding="utf8") as file:
            texts[name] = file.read()
    texts["README.md"] = section(texts["README.md"], "Quick start")
    print(f"1..{len(texts)}")
    failed = 0
    for number, (name, text) in enumerate(texts.items(), 1):
        try:
            count = read(text.replace("8000", free_port()))
            if count < 5:
                raise Failure(f"only {count} commands were found")
            print(f"ok {number} - the commands of {name} do what they say", flush=True)
        except (Failure, subprocess.TimeoutExpired) as failure:
            failed += 1
            print("# " + str(failure).replace("\n", "\n# "))
            print(f"not ok {number} - the commands of {name} do what they say", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
