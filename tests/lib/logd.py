# SPDX-License-Identifier: ISC
"""A log process on its own, and a guardian that plays its part of the feed.

What survives a log process (the feed, the state, the staging pipe, the actors' pipes) is
here, as it is in the vault; the process may be killed and started again with the same.
"""
import array
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import time

from harness import (PATIENCE, Failure, Skip, alive, check, children, comment, equal, has, main,
                     program, test)

HOST = program("logd_host", "tests/lib")
(ASK, BEGIN, STREAM, DROP, FLUSH, END, REOPEN, SHOW, SAY, HELLO, TROUBLE,
 MATCH) = range(12)
AS_BEFORE = 2 ** 64 - 1
STDOUT, STDERR, OUTPUT = range(3)
FILE, JOURNAL, SYSLOG = range(3)
HEAD = struct.Struct("<IIIiQQQIIiIIIQQQI????")
FIONREAD = 0x541b
STAMP = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "


def numbered(path):
    """What is set aside, by number."""
    where, name = os.path.split(path)
    return sorted(entry[len(name) + 1:] for entry in os.listdir(where)
                  if entry.startswith(name + "."))


class Log:
    """The settings of a log: how much is kept, and in which form."""

    def __init__(self, max_size=0, keep=5, total=0, max_age_ms=0, timestamps=False,
                 json=False, compress=False, drop=False):
        self.fields = (max_size, total, max_age_ms, keep, timestamps, json, compress, drop)


class Stream:
    def __init__(self, key, path, log, target=FILE, name=STDOUT, actor="/user/a"):
        self.key, self.path, self.log, self.target = key, path, log, target
        self.name, self.actor, self.incarnation, self.pid = name, actor, 1, 0
        self.pattern, self.match_from = None, 0
        self.shown = 0
        read, self.write_fd = os.pipe()
        # As the guardian does: a descriptor for both ends, so that the pipe never ends.
        self.fd = os.open(f"/proc/self/fd/{read}", os.O_RDWR | os.O_NONBLOCK)
        os.close(read)

    def write(self, data):
        data = data.encode() if isinstance(data, str) else data
        while data:
            data = data[os.write(self.write_fd, data):]

    def waiting(self):
        """How many bytes are in the pipe."""
        return struct.unpack("i", fcntl.ioctl(self.fd, FIONREAD, b"    "))[0]

    def close(self):
        os.close(self.fd)
        os.close(self.write_fd)


class Logd:
    def __init__(self, **options):
        self.feed, self.other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.feed.setblocking(False)
        self.other.setblocking(False)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            self.spawn(["state"], {3: theirs.fileno()}).wait()
            self.state = socket.recv_fds(ours, 16, 1)[1][0]
        self.staging = os.pipe()
        self.streams = {}
        self.troubles = []
        self.blocked = []
        self.process = None
        self.options = options
        self.lives = self.meetings = 0
        self.matches = []  # key, match_from

    @staticmethod
    def spawn(arguments, fds, **options):
        """Start the host with these descriptors, under the numbers that `fds` gives them."""
        high = {to: fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for to, fd in fds.items()}

        def arrange():
            for to, fd in high.items():
                os.dup2(fd, to)
            os.closerange(7, 1024)
        try:
            return subprocess.Popen([HOST] + arguments, preexec_fn=arrange,
                                    close_fds=False, **options)
        finally:
            for fd in high.values():
                os.close(fd)

    def start(self, wait=True):
        self.process = self.spawn(
            ["run"], {3: self.other.fileno(), 4: self.state, 5: self.staging[0],
                      6: self.staging[1]}, **self.options)
        self.lives += 1
        if wait:
            met = self.meetings
            self.until(lambda: self.meetings > met, "it says nothing")
        return self

    def send(self, kind, instance=0, key=0, stream=None, fd=None, show=0, text=""):
        if stream is None:
            data = HEAD.pack(kind, 0, 0, 0, instance, key, 0, 0, 0, 0, len(text), show, 0, 0, 0, 0,
                             0, False, False, False, False) + text.encode()
        else:
            texts = [stream.actor, stream.path] + [stream.pattern] * (stream.pattern is not None)
            text = "".join(one + "\0" for one in texts).encode()
            data = HEAD.pack(kind, stream.name, stream.target, 0, instance, stream.key,
                             stream.match_from, stream.incarnation, 7, stream.pid, len(text),
                             stream.shown, 0, *stream.log.fields) + text
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                         array.array("i", [fd]))]
        while True:
            try:
                self.feed.sendmsg([data], rights)
                return
            except BlockingIOError:
                select.select([], [self.feed], [], 5)

    def name(self, stream):
        read = os.open(f"/proc/self/fd/{stream.fd}", os.O_RDONLY | os.O_NONBLOCK)
        self.send(STREAM, stream=stream, fd=read)
        os.close(read)

    def add(self, *arguments, **options):
        """A new stream; known at once if the process is there."""
        stream = Stream(len(self.streams) + 1, *arguments, **options)
        self.streams[stream.key] = stream
        if self.process is not None:
            self.serve()
            self.name(stream)
        return stream

    def change(self, stream):
        self.send(STREAM, stream=stream)

    def drop(self, stream):
        del self.streams[stream.key]
        self.send(DROP, key=stream.key)
        stream.close()

    def serve(self, timeout=0):
        """Answer what the process said; True if there was anything."""
        ready, _, _ = select.select([self.feed], [], [], timeout)
        if not ready:
            return False
        while True:
            try:
                data = self.feed.recv(16384)
            except BlockingIOError:
                return True
            fields = HEAD.unpack_from(data)
            if fields[0] == HELLO:
                self.send(BEGIN, instance=fields[4])
                for stream in self.streams.values():
                    self.name(stream)
                self.send(END)
                self.meetings += 1
            elif fields[0] == TROUBLE:
                sentence, path = data[HEAD.size:].decode().split("\0")[:2]
                if sentence:
                    self.troubles.append((fields[3], path, sentence))
                if fields[5] != 0:
                    self.blocked.append((fields[5], fields[3]))
            elif fields[0] == MATCH:
                self.matches.append((fields[5], fields[6]))

    def until(self, condition, what, timeout=20):
        end = time.monotonic() + timeout * PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise Failure(f"not in time: {what() if callable(what) else what}")
            self.serve(0.002)

    def settle(self, timeout=20):
        """Until all that was said is taken out of the pipes."""
        self.until(lambda: all(s.waiting() == 0 for s in self.streams.values()),
                   "the pipes are not empty", timeout)
        self.until(lambda: self.staged() == 0, "the staging pipe is not empty")

    def staged(self):
        return struct.unpack("i", fcntl.ioctl(self.staging[0], FIONREAD, b"    "))[0]

    def has_open(self, path):
        """Does the process have a file of this name open?"""
        found = []
        for fd in os.listdir(f"/proc/{self.process.pid}/fd"):
            try:
                found.append(os.readlink(f"/proc/{self.process.pid}/fd/{fd}"))
            except FileNotFoundError:
                pass
        return path in found

    def kill(self, signo=signal.SIGKILL):
        self.process.send_signal(signo)
        self.process.wait(20)

    def stop(self):
        """In order; returns the exit status."""
        self.process.send_signal(signal.SIGUSR2)
        self.until(lambda: self.process.poll() is not None, "it does not end")
        return self.process.returncode

    def tail(self, stream):
        with self.spawn(["tail", str(stream.key)], {4: self.state, 5: stream.fd},
                        stdout=subprocess.PIPE) as host:
            total, _, text = host.stdout.read().partition(b"\n")
        return int(total), text

    def done(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        for stream in self.streams.values():
            stream.close()
        self.feed.close()
        self.other.close()
        for fd in (self.state, *self.staging):
            os.close(fd)


def logd_test(sentence, timeout=60, **options):
    """A test that gets a Logd and a directory."""
    def register(function):
        def run(box):
            logd = Logd()
            try:
                function(logd, box.dir)
            finally:
                logd.done()
        return test(sentence, timeout, **options)(run)
    return register


def read(path):
    with open(path, "rb") as file:
        return file.read()
