# SPDX-License-Identifier: ISC
"""A file system of a test that does not answer until it is told to: tests/lib/hang_fuse.c.

Only for tests of root.  The server ends with the test, and with it every wait for it.
"""
import os
import select
import signal
import subprocess
import time

from harness import PATIENCE, Failure, Skip, for_everybody, program

LACKS = 77  # HANG_FUSE_LACKS of hang_fuse.h


class Fuse:
    """A file system.  `holds`: the operations that get no answer, with commas ("read,flush");
    `content`: a file with the bytes for every file; `mode`: as in hang_fuse.c; `everybody`: root
    may use it, too, and sockets can be made in it; `delay_us`: answers come so late."""

    def __init__(self, box, holds="", *, uid=65534, gid=65534, content=None, mode=(),
                 everybody=False, delay_us=0):
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            raise Skip("no FUSE here")
        self.dir = box.path(f"fuse{len(box.background)}")
        os.mkdir(self.dir)
        self.lines, self.tail = [], b""
        binary = for_everybody(program("hang_fuse", "tests/lib", "."))
        self.process = box.popen(binary, *(["-a"] if everybody else []),
                                 "-u", f"{uid}:{gid}", *(["-h", holds] if holds else []),
                                 *(["-d", str(delay_us)] if delay_us else []),
                                 *(["-c", content] if content else []), self.dir, *mode,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        try:
            self.until("ready")
        except Failure as failure:
            if self.process.poll() != LACKS:
                raise
            raise Skip(f"no FUSE in a user namespace here: {failure}") from failure

    def path(self, name="f"):
        """Where processes of the uid find the file."""
        return f"/proc/{self.process.pid}/root{self.dir}/{name}"

    def until(self, words, count=1, timeout=10):
        """Wait for `count` lines that begin with these words; gives the last line."""
        end = time.monotonic() + timeout * PATIENCE
        while True:
            found = [line for line in self.lines if line.startswith(words)]
            if len(found) >= count:
                return found[count - 1]
            if not select.select([self.process.stdout], [], [],
                                 max(end - time.monotonic(), 0))[0]:
                raise Failure(f"hang_fuse never said {words!r}, only {self.lines}")
            data = os.read(self.process.stdout.fileno(), 4096)
            if not data:
                self.process.wait()
                raise Failure(f"hang_fuse ended: {self.process.stderr.read().decode().strip()}")
            *lines, self.tail = (self.tail + data).split(b"\n")
            self.lines += [line.decode() for line in lines]

    def held(self, operation, count=1):
        """Wait until such a request hangs; gives back the pid of its caller."""
        return int(self.until(f"held {operation} ", count).split()[2])

    def answer(self):
        """From now on everything is answered, and what hangs now, too."""
        self.process.send_signal(signal.SIGUSR1)

    def hold(self):
        """Hold the operations in `holds` again."""
        self.process.send_signal(signal.SIGUSR2)
