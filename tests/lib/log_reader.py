# SPDX-License-Identifier: ISC
"""What tests of the reader of logs share: a reader that is asked, and a place with files."""
import fcntl
import gzip
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.environ.get("top_builddir", ".")
SUPD = os.environ.get("SUPD") or os.path.join(BUILD, "supd")
GUARD_S = 20
TESTS = []


def test(sentence):
    def register(function):
        TESTS.append((sentence, function))
        return function
    return register


def equal(got, expected, what="the answer"):
    if got != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {got!r}")


def stamp(n):
    """A time, n milliseconds into a day."""
    return f"2026-11-21T{n // 3600000:02}:{n // 60000 % 60:02}:{n // 1000 % 60:02}" \
           f".{n % 1000:03}Z"


def timed(*lines):
    """(ms, text)... as the log process writes them."""
    return "".join(f"{stamp(ms)} {text}\n" for ms, text in lines)


class Reader:
    """One reader; a source is (path, file) or (path, stream, format, position, file)."""

    def __init__(self, *sources, follow=False, lines=None, since="", positions=False):
        fields = ["1" if follow else "0", "all" if lines is None else str(lines), since,
                  "1" if positions else "0"]
        for source in sources:
            if len(source) == 2:
                source = (source[0], "output", "timed", "", source[1])
            fields += source
        with tempfile.TemporaryFile() as request:
            request.write("".join(field + "\0" for field in fields).encode())
            request.seek(0)
            self.process = subprocess.Popen([SUPD, "@logs"], stdin=request,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.fd = self.process.stdout.fileno()
        fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_NONBLOCK)
        self.rest = b""
        self.answers = []
        self.is_whole = False
        self.taken = 0

    def pump(self, timeout):
        ready, _, _ = select.select([self.fd], [], [], timeout)
        if not ready:
            return True
        data = os.read(self.fd, 1 << 20)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            text = line.decode()
            equal(self.is_whole, False, "answers behind the mark of the end")
            if text == ".":
                self.is_whole = True
                continue
            self.answers.append(text if text.startswith("!") else json.loads(text))
        return bool(data)

    def take(self, n):
        """The next n answers."""
        end = time.monotonic() + GUARD_S
        while len(self.answers) < self.taken + n:
            if time.monotonic() > end:
                raise AssertionError(f"only {self.answers[self.taken:]!r}")
            if not self.pump(1) and len(self.answers) < self.taken + n:
                raise AssertionError(f"ended after {self.answers[self.taken:]!r}")
        self.taken += n
        return self.answers[self.taken - n:self.taken]

    def texts(self, n):
        return [answer["text"] for answer in self.take(n)]

    def quiet(self):
        """Nothing more is there: whatever was written before is answered by now."""
        self.pump(0.05)
        equal(self.answers[self.taken:], [], "what nobody expected")

    def all(self):
        end = time.monotonic() + GUARD_S
        while self.pump(1):
            if time.monotonic() > end:
                raise AssertionError("it does not end")
        equal(self.is_whole, self.close() == 0, "the mark that it is all")
        return self.answers

    def close(self):
        self.process.stdout.close()
        return self.process.wait(GUARD_S)


def read(*sources, **options):
    return [a if isinstance(a, str) else (a["path"], a["text"])
            for a in Reader(*sources, **options).all()]


def texts(*sources, **options):
    return [text for _, text in read(*sources, **options)]


class Place:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="supd-reader.")

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content, mode="w"):
        if isinstance(content, str):
            content = content.encode()
        with open(self.path(name), mode.rstrip("b") + "b") as out:
            out.write(content)
        return self.path(name)

    def append(self, name, content):
        return self.write(name, content, "a")

    def pack(self, name):
        with open(self.path(name), "rb") as plain, \
                gzip.open(self.path(name + ".gz"), "wb") as packed:
            packed.write(plain.read())
        os.unlink(self.path(name))

    def rotate(self, name, keep=5, pack_from=None):
        """As the log process does it: the oldest first, one rename after the other."""
        for n in range(keep, 0, -1):
            for end in ("", ".gz"):
                old = self.path(f"{name}.{n}{end}")
                if not os.path.exists(old):
                    continue
                if n == keep:
                    os.unlink(old)
                else:
                    os.rename(old, self.path(f"{name}.{n + 1}{end}"))
        os.rename(self.path(name), self.path(f"{name}.1"))
        if pack_from == 1:
            self.pack(f"{name}.1")


def main():
    chosen = [t for t in TESTS if len(sys.argv) < 2 or sys.argv[1] in t[0]]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, (sentence, function) in enumerate(chosen, 1):
        place = Place()
        try:
            function(place)
            print(f"ok {number} - {sentence}", flush=True)
        except Exception:
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            print(f"not ok {number} - {sentence}", flush=True)
        finally:
            shutil.rmtree(place.dir)
    return failed > 0
