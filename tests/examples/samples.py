#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each example that says in its file how to try it is tried so.

A comment `# $ COMMAND` in a configuration is a step; a step that fails is tried again, until
it is true: things need their time.  Beside it stand `# needs PROGRAM…` and `# exits with N`.
The commands find supctl, the folder of the example and, in DIR, a directory of their own.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SRC = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
EXAMPLES = os.path.join(SRC, "examples")
BOUND_S = 90   # for what hangs; nothing is measured


class Failure(Exception):
    """An example does not behave as its comments say."""


def lines(text, pattern):
    return re.findall(rf"^# {pattern}$", text, re.M)


class Sample:
    """One configuration, run in a directory of its own."""

    def __init__(self, path):
        with open(path, encoding="utf8") as file:
            self.text = file.read()
        self.path = path
        self.steps = lines(self.text, r"\$ (.*)")
        self.needs = " ".join(lines(self.text, r"needs (.*)")).split()
        self.exits = int((lines(self.text, r"exits with (\d+)") or ["0"])[0])

    def missing(self):
        return [name for name in self.needs if shutil.which(name) is None]

    def run(self):
        directory = tempfile.mkdtemp(prefix="supd-test-")
        os.chmod(directory, 0o755)
        folder = os.path.dirname(self.path)
        environment = dict(
            os.environ, DIR=directory, PYTHONDONTWRITEBYTECODE="1", XDG_STATE_HOME=directory,
            PATH=f"{BUILD}:{folder}:{os.environ['PATH']}:/usr/sbin",
            SUPD_SOCKET=os.path.join(directory, "run/control.sock"))
        log = os.path.join(directory, "supd.log")
        with open(log, "wb") as out:
            supd = subprocess.Popen(
                ["supd", self.path, "-r", os.path.join(directory, "run")], cwd=folder,
                env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            for step in ["supctl ping", *self.steps]:
                self.step(step, supd, environment)
            if self.exits == 0:
                supd.send_signal(signal.SIGTERM)
            status = supd.wait(BOUND_S)
            if status != self.exits:
                raise Failure(f"supd ended with {status}")
        except (Failure, subprocess.TimeoutExpired) as failure:
            with open(log, encoding="utf8", errors="replace") as file:
                raise Failure(f"{failure}\n{file.read()[-4000:]}") from None
        finally:
            if supd.poll() is None:
                supd.send_signal(signal.SIGQUIT)
                supd.wait()
            shutil.rmtree(directory, ignore_errors=True)

    def step(self, command, supd, environment):
        end = time.monotonic() + BOUND_S
        while True:
            done = subprocess.run(["sh", "-c", command], cwd=os.path.dirname(self.path),
                                  env=environment, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=BOUND_S, check=False)
            if done.returncode == 0:
                return
            if supd.poll() is not None and (self.exits == 0 or command == "supctl ping"):
                if command == "supctl ping" and supd.returncode == self.exits:
                    return  # supd ended before supctl could ask
                raise Failure(f"supd ended with {supd.returncode} before: {command}")
            if time.monotonic() > end:
                raise Failure(f"$ {command}\n{done.stdout}{done.stderr}")
            time.sleep(0.05)


def main():
    samples = [Sample(path) for path in sorted(glob.glob(EXAMPLES + "/*/*.yaml"))]
    samples = [sample for sample in samples if sample.steps or sample.exits]
    if sys.argv[1:]:
        samples = [sample for sample in samples if sys.argv[1] in sample.path]
    print(f"1..{len(samples)}", flush=True)
    for number, sample in enumerate(samples, 1):
        name = os.path.relpath(sample.path, EXAMPLES)
        missing = sample.missing()
        if missing:
            print(f"ok {number} - {name} # SKIP needs {' '.join(missing)}", flush=True)
            continue
        try:
            sample.run()
            print(f"ok {number} - {name}", flush=True)
        except Failure as failure:
            print("# " + str(failure).replace("\n", "\n# "))
            print(f"not ok {number} - {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
