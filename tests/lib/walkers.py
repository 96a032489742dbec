# SPDX-License-Identifier: ISC
"""A walker on its own, and a guardian that does what a test wants."""
import os
import re
import select
import signal
import socket
import subprocess
import time

from harness import PATIENCE, TOP_BUILD, check, equal, Failure

FAKE = os.path.join(TOP_BUILD, "tests/lib/walker_host")
EXITED, SIGNALED, DUMPED, STOPPED, CONTINUED = range(5)


class Guardian:
    """One life of the guardian, as it tells of itself."""

    def __init__(self, connection):
        self.connection = connection
        self.tail = b""
        self.lines = []
        words = self.expect("hello ").split()[1:]
        self.hello = {key: int(value) for key, value in (word.split("=") for word in words)}
        self.pid = self.hello["pid"]

    def read(self, timeout):
        if not select.select([self.connection], [], [], timeout)[0]:
            return False
        try:
            more = self.connection.recv(1 << 16)
        except ConnectionResetError:
            more = b""
        *lines, self.tail = (self.tail + more).split(b"\n")
        self.lines += [line.decode() for line in lines]
        return bool(more)

    def expect(self, start, timeout=15):
        """Wait for a line that begins with `start`; takes the line out, and gives it."""
        end = time.monotonic() + timeout * PATIENCE
        while True:
            for i, line in enumerate(self.lines):
                if line.startswith(start):
                    return self.lines.pop(i)
            left = end - time.monotonic()
            if left < 0 or (not self.read(left) and time.monotonic() < end):
                raise Failure(f"the guardian did not say {start!r}, but {self.lines}")

    def send(self, line):
        self.connection.sendall(line.encode() + b"\n")

    def do(self, line):
        self.send(line)
        self.expect("done " + line.split()[0])

    def child(self, status):
        self.send(f"child {status}")
        return int(self.expect("child ").split()[1])

    def ends(self, n):
        """The next n records of ends: pid, kind, status."""
        found = []
        while len(found) < n:
            self.do("take")
            while any(line.startswith("end ") for line in self.lines):
                found.append(tuple(map(int, self.expect("end ").split()[1:])))
            if len(found) < n:
                self.expect("poke")
        return found


class Walker:
    def __init__(self, box, *, command=(), env=None, before=None, adopt_ms=None, trial_ms=0):
        self.dir = box.dir
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(box.path("control"))
        self.listener.listen(100)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(box.path("notify"))
        environ = dict(os.environ, NOTIFY_SOCKET=box.path("notify"))
        for name in ("WATCHDOG_USEC", "WATCHDOG_PID"):
            environ.pop(name, None)
        environ.update(env or {})
        self.stderr = box.path("stderr")
        arguments = [] if adopt_ms is None else [str(adopt_ms), str(trial_ms)]
        with open(self.stderr, "w", encoding="utf8") as err:
            self.process = subprocess.Popen([*command, FAKE, box.dir, *arguments], env=environ,
                                            stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                                            preexec_fn=before)
        box.background.append(self.process)
        box.undo += [self.listener.close, self.notify.close]
        self.connections = []

    @property
    def pid(self):
        return self.process.pid

    def guardian(self, timeout=15):
        """Wait for the next guardian that says hello."""
        self.listener.settimeout(timeout * PATIENCE)
        try:
            connection, _ = self.listener.accept()
        except TimeoutError:
            raise Failure(f"no guardian came; {self.said()!r}") from None
        return Guardian(connection)

    def said(self):
        with open(self.stderr, encoding="utf8") as text:
            return text.read()

    def until_said(self, pattern, timeout=10):
        self.until(lambda: re.search(pattern, self.said()), f"/{pattern}/", timeout)

    def until(self, condition, what, timeout=10):
        end = time.monotonic() + timeout * PATIENCE
        while not condition():
            check(time.monotonic() < end,
                  lambda: f"waited in vain for {what}: {self.said()!r}")
            time.sleep(0.002)

    def switches(self):
        """How often it went to sleep or was made to."""
        with open(f"/proc/{self.pid}/status", encoding="utf8") as text:
            return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", text.read())))

    def ended(self, status):
        try:
            equal(self.process.wait(15 * PATIENCE), status, "the walker's exit status")
        except subprocess.TimeoutExpired:
            raise Failure(f"the walker does not end: {self.said()!r}") from None

    def note(self, timeout):
        self.notify.settimeout(timeout)
        try:
            return self.notify.recv(4096).decode()
        except TimeoutError:
            return None

    def fds(self):
        return [int(fd) for fd in os.listdir(f"/proc/{self.pid}/fd")]


def crash(walker, guardian, signo=signal.SIGKILL):
    os.kill(guardian.pid, signo)
    return walker.guardian()


def check_delays(walker, count):
    """`count` guardians have failed, and each delay told is the one that is due after such lives (DECISIONS 37)."""
    told = re.findall(r"ended after (\d+) ms, .*; the next guardian starts in (\d+) ms", walker.said())
    equal(len(told), count, "guardians that failed")
    delay = 0
    for life, wait in [map(int, pair) for pair in told]:
        if life >= 10000:
            delay = 0
        if life < 1000:
            delay = min(2 * delay or 100, 5000)
        equal(wait, delay if life < 1000 else 0, f"the delay after a life of {life} ms")
    return wait / 1000


class Sub:
    """A box in a box, for one of several walkers."""

    def __init__(self, box, name):
        self.dir = box.path(name)
        os.mkdir(self.dir)
        self.background, self.undo = box.background, box.undo

    def path(self, name):
        return os.path.join(self.dir, name)
