# SPDX-License-Identifier: ISC
"""Actors that print, their logs, and supd's own processes between."""
import os
import signal
import subprocess

from harness import SUPCTL, children


def shell(text, **more):
    return {"command": ["/bin/sh", "-c", text.replace("$", "$$")], **more}


def text_of(path):
    try:
        with open(path, encoding="utf8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def seek(s, role):
    """The pid of one of supd's own processes, whatever its parent is by now.  None: there is
    none, or it executes supd just now and has no command line for a moment."""
    for pid in s.family():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                if role in words.read().split(b"\0")[:2]:
                    return pid
        except (FileNotFoundError, ProcessLookupError):
            pass
    return None


def pid_of(s, role):
    return s.until(lambda: seek(s, role), f"the process {role}")


def kill(s, role):
    pid = pid_of(s, role)
    os.kill(pid, signal.SIGKILL)
    s.until(lambda: seek(s, role) not in (None, pid), f"another {role}")


def readers(s):
    """The processes below supd that read logs."""
    found = []
    for pid in [p for top in children(s.pid) for p in [top, *children(top)]]:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as text:
                if text.read().split(b"\0")[1:2] == [b"@logs"]:
                    found.append(pid)
        except OSError:
            pass
    return found


class Follower:
    """A running supctl logs -f, and its lines."""

    def __init__(self, box, s, *arguments):
        self.process = box.popen(SUPCTL, "-s", s.socket, "logs", "-f", *arguments,
                                 stdout=subprocess.PIPE, text=True)

    def take(self, n):
        return [self.process.stdout.readline().rstrip("\n") for _ in range(n)]
