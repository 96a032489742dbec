#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Measures for how long nobody supervises when the guardian is killed, or upgraded.

outage.py --bin DIRECTORY [-n ACTORS,...] [--kills N]   (see README.md)
"""
import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

from bench import GaveUp, PATIENCE_S, Supd, find_tools, measure_stop, now_ns, prepared
from bench import raise_limits, scratch

# One that lived for less is succeeded after a pause only.
LIFE_S = 1.1


class Session(Supd):
    name = "session"
    settings = ", containment: session, output: 'null'"


class Cgroup(Supd):
    name = "cgroup"
    settings = ", containment: auto, output: 'null'"

    def is_there(self):
        """Do the actors have a cgroup each?  Not where none can be had."""
        with open(f"/proc/{self.results[0][0]}/cgroup", encoding="utf8") as file:
            return "/actors/" in file.read()


# ---- asking ------------------------------------------------------------------------

# Listens at the path that it is given, and does nothing but answer.
ANSWERER = """
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(64)
print(flush=True)
while True:
    client = server.accept()[0]
    client.recv(4096)
    client.sendall(b'{"parameters":{}}\\0')
    client.close()
"""


def call(system, method, parameters, more=False):
    """The replies to one call, on a connection of its own."""
    request = {"method": "io.supd.Control." + method, "parameters": parameters}
    if more:
        request["more"] = True
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(PATIENCE_S)
        client.connect(os.path.join(system.dir, "run", "control.sock"))
        client.sendall(json.dumps(request).encode() + b"\0")
        with client.makefile("rb") as stream:
            yield from replies(stream)


def replies(stream):
    rest = b""
    while True:
        chunk = stream.read1(1 << 16)
        if not chunk:
            raise GaveUp("the control socket was closed before the last reply")
        *complete, rest = (rest + chunk).split(b"\0")
        for text in complete:
            reply = json.loads(text)
            if "error" in reply:
                raise GaveUp(f"{reply['error']}: {reply['parameters']}")
            yield reply["parameters"]
            if not reply.get("continues"):
                return


def ping(system):
    return next(call(system, "Ping", {}))


@contextlib.contextmanager
def answerer(system):
    """A server that only answers, in the place of supd's control socket: how long a Ping takes
    on this machine."""
    path = os.path.join(system.dir, "run", "control.sock")
    os.mkdir(os.path.dirname(path))
    with subprocess.Popen([sys.executable, "-c", ANSWERER, path], stdout=subprocess.PIPE,
                          start_new_session=True) as server:
        try:
            server.stdout.readline()
            yield
        finally:
            server.kill()


def told_ms(system):
    """What the last `supd` event says of the outage."""
    events = (reply["event"] for reply in call(system, "Events", {"pattern": "/"}, True)
              if "event" in reply)
    told = [event["outage_ms"] for event in events if "outage_ms" in event]
    if not told:
        raise GaveUp("no event tells of an outage")
    return told[-1]


# ---- measuring -----------------------------------------------------------------------

def outage_ms(system, pid):
    """From the kill to the first answer: the call waits where the next guardian finds
    it."""
    begun = now_ns()
    os.kill(pid, signal.SIGKILL)
    answer = ping(system)
    ended = now_ns()
    if answer["pid"] == pid:
        raise GaveUp("the dead guardian answers")
    return (ended - begun) / 1e6


def upgrade_ms(system):
    """What is told of an upgrade, to the same binary."""
    subprocess.run(system.supctl_argv("upgrade"), check=True, stdout=subprocess.DEVNULL)
    return told_ms(system)


def crash_often(system, kills):
    """(measured, told, told of an upgrade) as often as there are kills; every actor is to
    live on as the same process."""
    system.start()
    system.results.wait(0, "start")
    if isinstance(system, Cgroup) and not system.is_there():
        return None
    pids = system.results.pids()
    values = []
    for _ in range(kills):
        pid = ping(system)["pid"]
        time.sleep(LIFE_S)
        values.append((outage_ms(system, pid), told_ms(system), upgrade_ms(system)))
        if system.results.pids() != pids:
            raise GaveUp("actors were started anew")
    return values


def measure(tools, directory, kind, n, kills):
    with prepared(kind, tools, directory, n) as system:
        values = crash_often(system, kills)
        measure_stop(system)
    return values


def row(kind, n, values):
    target = 50 + 0.02 * n
    if values is None:
        return f"| {n:,} | {kind.name} | – | – | – | {target:.0f} ms |"
    measured, told, upgrade = zip(*values)
    return (f"| {n:,} | {kind.name} | {statistics.median(measured):.1f} ms "
            f"({min(measured):.1f}–{max(measured):.1f}) | {statistics.median(told):.0f} "
            f"ms | {statistics.median(upgrade):.0f} ms | {target:.0f} ms |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=".", help="the build directory")
    parser.add_argument("-n", default="100,1000,10000", help="numbers of actors")
    parser.add_argument("--kills", type=int, default=5, help="of each")
    options = parser.parse_args()
    raise_limits()
    try:
        with scratch() as directory:
            tools = find_tools(options.bin)
            print("| actors | containment | kill to first answer | `outage_ms` "
                  "| of an upgrade | target |\n|---|---|---|---|---|---|", flush=True)
            for n in map(int, options.n.split(",")):
                for kind in (Session, Cgroup):
                    values = measure(tools, directory, kind, n, options.kills)
                    print(row(kind, n, values), flush=True)
    except (GaveUp, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(f"\nMedians of {options.kills} kills (least–most) and upgrades.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
