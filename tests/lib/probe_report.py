# SPDX-License-Identifier: ISC
"""The environment of a probe, as its action `report` prints it."""
import os


class Report:
    """What a probe found around itself."""

    def __init__(self, s, name="a", count=1):
        self.pid = s.line("R", name, count).pid
        self.dir = f"{s.dir}/report.{name}.{self.pid}"
        self.status = dict(line.partition(":\t")[::2] for line in self.text("status").split("\n"))
        self.environ = dict(pair.partition("=")[::2]
                            for pair in self.text("environ").split("\0") if pair)
        self.cwd = os.readlink(f"{self.dir}/cwd")
        self.fds = dict(line.split(" ", 1) for line in self.text("fds").splitlines())
        self.stat = self.text("stat").rpartition(")")[2].split()

    def text(self, name):
        with open(f"{self.dir}/{name}", encoding="utf8", errors="replace") as text:
            return text.read()

    def sets(self, *names):
        """Sets of capabilities, as numbers."""
        return [int(self.status[f"Cap{name}"], 16) for name in names]

    def scheduling(self):
        """Nice value, real-time priority and policy: proc(5) counts from 1, after the name."""
        return [int(self.stat[field - 3]) for field in (19, 40, 41)]

    def limit(self, name):
        for line in self.text("limits").splitlines():
            if line.startswith(name):
                return line[len(name):].split()[:2]
        return None


def reporting(**keys):
    return {"do": ["report"], **keys}


__all__ = ["Report", "reporting"]
