#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Counts what becomes of requests to a server that is killed every 1.1 seconds.

mailbox.py --bin DIRECTORY [--seconds N] [--clients N]   (see README.md)
"""
import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from bench import GaveUp, PATIENCE_S, scratch
from outage import call

EVERY_S = 1.1  # what lives for a second is restarted at once, however often it dies

# It accepts one at a time, and answers what it was asked; its pid it puts down first.
SERVER = """
import os, socket, sys
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
listener = socket.socket(fileno=3)
while True:
    client, _ = listener.accept()
    with client:
        client.sendall(b"answer to " + client.recv(100))
"""


class Clients:
    """So many, each with one request after the other."""

    def __init__(self, address, number):
        self.address = address
        self.counts = {"answered": 0, "lost": 0, "refused": 0}
        self.longest_s = 0.
        self.leaving = False
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(number)]
        for thread in self.threads:
            thread.start()

    def ask(self, text):
        family = socket.AF_UNIX if isinstance(self.address, str) else socket.AF_INET
        with socket.socket(family) as client:
            client.settimeout(PATIENCE_S)
            try:
                client.connect(self.address)
            except OSError:
                return "refused"
            try:
                client.sendall(text)
                answer = client.recv(200)
            except OSError:
                return "lost"
            return "answered" if answer == b"answer to " + text else "lost"

    def run(self, number):
        n = 0
        while not self.leaving:
            n += 1
            begun = time.monotonic()
            what = self.ask(f"{number}.{n}".encode())
            with self.lock:
                self.counts[what] += 1
                self.longest_s = max(self.longest_s, time.monotonic() - begun)

    def leave(self):
        self.leaving = True
        for thread in self.threads:
            thread.join()


class Served:
    """A supd with the server, at a socket of this kind."""

    def __init__(self, binary, directory, kind):
        self.dir = directory
        self.pid_file = os.path.join(directory, "pid")
        self.address = os.path.join(directory, "server.sock")
        listen = f"unix:{self.address}"
        if kind == "tcp":
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.address = probe.getsockname()
            listen = f"tcp:127.0.0.1:{self.address[1]}"
        file = os.path.join(directory, "supd.yaml")
        with open(file, "w", encoding="ascii") as out:
            json.dump({"intensity": "unlimited",
                       "log": {"level": "error", "directory": os.path.join(directory, "log")},
                       "children": {"server": {
                           "command": [sys.executable, "-c", SERVER, self.pid_file],
                           "backoff": "none", "start_on": "connect",
                           "sockets": {"box": listen}}}}, out)
        with open(os.path.join(directory, "stderr"), "wb") as said:
            self.process = subprocess.Popen(
                [binary, "-c", file, "-r", os.path.join(directory, "run")],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)

    def ready(self):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return next(call(self, "Ping", {}))
            except OSError as problem:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise GaveUp(f"supd: {problem}") from None
                time.sleep(0.01)

    def kill(self, old):
        """The server that there is now; its pid, or the old one's if there is no other."""
        try:
            with open(self.pid_file, encoding="ascii") as file:
                pid = int(file.read())
        except FileNotFoundError:
            return old
        if pid != old:
            os.kill(pid, signal.SIGKILL)
        return pid

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


def measure(binary, directory, kind, args):
    where = os.path.join(directory, kind)
    os.mkdir(where)
    served = Served(binary, where, kind)
    kills, pid = 0, 0
    try:
        served.ready()
        clients = Clients(served.address, args.clients)
        begun = time.monotonic()
        while time.monotonic() - begun < args.seconds:
            time.sleep(EVERY_S)
            killed = served.kill(pid)
            kills += killed != pid
            pid = killed
        clients.leave()
        seconds = time.monotonic() - begun
        served.end()
    finally:
        if served.process.poll() is None:
            served.process.kill()
    counts = clients.counts
    print(f"| {kind} | {kills} | {counts['answered']:,} | {counts['answered'] / seconds:,.0f} "
          f"| {counts['lost']} | {counts['refused']} | {clients.longest_s * 1000:.0f} |",
          flush=True)
    return counts["refused"] == 0 and counts["lost"] <= kills


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=".", help="the build directory")
    parser.add_argument("--seconds", type=int, default=20, choices=range(1, 61), metavar="1-60")
    parser.add_argument("--clients", type=int, default=8, choices=range(1, 65), metavar="1-64")
    args = parser.parse_args()
    binary = os.path.realpath(os.path.join(args.bin, "supd"))
    print("| socket | kills | answered | a second | lost | refused | longest, ms |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with scratch() as directory:
        good = [measure(binary, directory, kind, args) for kind in ("tcp", "unix")]
    if not all(good):
        sys.exit("more was lost than was being served, or somebody was refused")


if __name__ == "__main__":
    main()
