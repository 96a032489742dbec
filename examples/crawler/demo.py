#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Runs the crawler under supd, shows what happens, counts, and leaves nothing behind.

Needs a built supd and supctl: demo.py --bin DIRECTORY
"""
import argparse
import collections
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
WORKERS = "/user/crawl/workers/"

LEGEND = """\
Below, one line an event.  "failure": somebody died, and what was decided about it:
resume and restart start it again, after the delay of its "backoff"; ^C ends the demo."""


class Failed(Exception):
    pass


class Interrupted(Exception):
    pass


class Interrupts:
    """Signals that end the demo: noticed at once, acted upon between two steps."""

    def __init__(self):
        self.came = False
        for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signo, self.on_signal)

    def on_signal(self, _signo, _frame):
        self.came = True

    def check(self):
        if self.came:
            raise Interrupted


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Tally(threading.Thread):
    """Reads the event stream as JSON and keeps what the summary needs."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream = stream
        self.causes = collections.Counter()
        self.directives = collections.Counter()
        self.window = 0
        self.limit = 0
        self.gave_up = 0
        self.site_deaths = 0
        self.over = threading.Event()
        self.last_dead = None

    def run(self):
        for line in self.stream:
            self.take(json.loads(line))

    def take(self, event):
        path = event.get("path", "")
        if event["event"] == "gave_up":
            self.gave_up += 1
        elif event["event"] == "terminated" and path == "/user/crawl/master":
            self.over.set()
        elif event["event"] == "failure" and path.startswith(WORKERS):
            self.causes[event["cause"]["text"]] += 1
            self.directives[event["directive"]] += 1
            self.window = max(self.window, event["window"])
            self.limit = max(self.limit, event["limit"])
            self.last_dead = path
        elif event["event"] == "failure" and path == "/user/site":
            self.site_deaths += 1


class Demo:
    def __init__(self, bindir, limit, interrupts):
        self.bin = os.path.abspath(bindir)
        self.limit = limit
        self.interrupts = interrupts
        self.run_dir = tempfile.mkdtemp(prefix="supd-demo-")
        self.socket = os.path.join(self.run_dir, "supd", "control.sock")
        self.supd = None
        self.watchers = []
        self.tally = None
        self.env = dict(os.environ, CRAWLER_BIN=self.bin, PWD=TOP, CRAWLER_LOG="file",
                        CRAWLER_LEVEL="error",
                        CRAWLER_RUN=self.run_dir, CRAWLER_PORT=str(free_port()))
        for name in ("NOTIFY_SOCKET", "SUPD_SOCKET", "RUNTIME_DIRECTORY"):
            self.env.pop(name, None)

    # ---- supd and supctl ----

    def supctl_argv(self, *args):
        return [os.path.join(self.bin, "supctl"), "-s", self.socket, *args]

    def supctl(self, *args, **how):
        """Run it to its end, or to an interrupt; its exit status."""
        sys.stdout.flush()
        with subprocess.Popen(self.supctl_argv(*args), env=self.env, **how) as process:
            while True:
                try:
                    status = process.wait(0.1)
                    self.interrupts.check()
                    return status
                except subprocess.TimeoutExpired:
                    if self.interrupts.came:
                        process.terminate()

    def watch(self, *args, **how):
        process = subprocess.Popen(self.supctl_argv(*args), env=self.env, **how)
        self.watchers.append(process)
        return process

    def start(self):
        with open(os.path.join(self.run_dir, "supd.err"), "wb") as err:
            self.supd = subprocess.Popen(
                [os.path.join(self.bin, "supd"), "-c", "supd.yaml",
                 "-r", os.path.join(self.run_dir, "supd")],
                cwd=HERE, env=self.env, stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                start_new_session=True)     # ^C is ours; supd is told to stop in order
        deadline = time.monotonic() + 10
        while self.supctl("ping", stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) != 0:
            if self.supd.poll() is not None or time.monotonic() > deadline:
                raise Failed("supd did not come up:\n" + self.read("supd.err"))
            time.sleep(0.05)
        counting = self.watch("-o", "json", "events", "-f", stdout=subprocess.PIPE,
                              text=True)
        self.tally = Tally(counting.stdout)
        self.tally.start()

    def read(self, name):
        try:
            with open(os.path.join(self.run_dir, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    # ---- what is to be seen ----

    def show(self):
        self.supctl("wait", "/user/monkey", "--for", "ready", "--timeout", "20s",
                    stdout=subprocess.DEVNULL)
        print("The supervision tree:\n")
        self.supctl("tree")
        print(f"\n{LEGEND}\n", flush=True)
        shown = self.watch("events", "-f")
        self.supctl("wait", "/user/crawl/master", "--for", "done",
                    "--timeout", self.limit, stdout=subprocess.DEVNULL)
        self.tally.over.wait(5)
        time.sleep(0.2)                     # the one that prints may be a little behind
        shown.terminate()
        shown.wait()

    def explain(self):
        if self.tally.last_dead is None:
            return
        print(f"\nWhat became of {self.tally.last_dead}, "
              f"as `supctl explain` tells it:\n", flush=True)
        self.supctl("explain", self.tally.last_dead)

    def summary(self):
        """Lines to print, and whether the crawl was finished."""
        crawl = json.loads(self.read("crawl.json") or "null")
        index = json.loads(self.read("index.json") or "{}")
        tally = self.tally
        causes = ", ".join(f"{n} {cause}" for cause, n in tally.causes.most_common())
        held = f"exceeded {tally.gave_up} times" if tally.gave_up else "never exceeded"
        rows = [
            ("workers died", f"{sum(tally.causes.values())} times: {causes or 'none'}"),
            ("started again", f"{tally.directives['restart']} restarted, "
                              f"{tally.directives['resume']} resumed"),
            ("intensity", f"at most {tally.window} restarts of {tally.limit} allowed "
                          f"within 10s: {held}"),
        ]
        if crawl is None:
            rows.insert(0, ("pages crawled", "the crawl was not finished"))
        else:
            dead = crawl["dead_letters"]
            rows.insert(0, ("pages crawled", f"{crawl['pages']}, {len(index)} words in "
                                             f"the index"))
            rows += [
                ("pages sent again", f"{crawl['sent_again']}, dead letters {len(dead)} "
                                     f"{' '.join(dead)}"),
                ("page server died", f"{tally.site_deaths} times: {crawl['cut']} answers "
                                     f"cut short, {crawl['refused']} connections refused"),
            ]
        return ["", "Summary"] + [f"  {a:<21} {b}" for a, b in rows], crawl is not None

    # ---- leaving nothing behind ----

    def stop(self):
        if self.supd is not None and self.supd.poll() is None:
            self.supd.send_signal(signal.SIGTERM)
            try:
                self.supd.wait(15)
            except subprocess.TimeoutExpired:
                self.supd.send_signal(signal.SIGQUIT)
                self.supd.wait(5)
        for process in self.watchers:
            if process.poll() is None:
                process.terminate()
            process.wait()
        if self.tally is not None:
            self.tally.join(5)

    def left_behind(self):
        mark = f"CRAWLER_RUN={self.run_dir}".encode()
        left = []
        for pid in os.listdir("/proc"):
            if not pid.isdigit() or int(pid) == os.getpid():
                continue
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        left.append(int(pid))
            except OSError:
                continue
        return left

    def remove(self):
        shutil.rmtree(self.run_dir, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description="a crawl that finishes although its "
                                     "workers die all the time")
    parser.add_argument("--bin", default=".", help="where supd and supctl are")
    parser.add_argument("--limit", default="50s", help="how long the crawl may take")
    options = parser.parse_args()
    demo = Demo(options.bin, options.limit, Interrupts())
    status = 1
    try:
        demo.start()
        demo.show()
        demo.explain()
        status = 0
    except Interrupted:
        print("\nInterrupted.")
    except Failed as error:
        print(f"demo: {error}", file=sys.stderr)
    finally:
        demo.stop()
        left = demo.left_behind()
        lines, finished = demo.summary() if demo.tally else ([], False)
        demo.remove()
    lines.append(f"  {'left behind':<21} " +
                 (f"processes {left}" if left else "no process, no file"))
    print("\n".join(lines))
    if left or not finished:
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
