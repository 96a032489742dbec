#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl top: once where nobody looks on, and on a page of its own on a terminal."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPCTL, check, equal, has, main, test

TREE = {"db": {}, "app": {"children": {"api": {"do": ["fork=2"]}}}, "off": {"enabled": False}}


class Terminal:
    """supctl top on a terminal of so many columns and lines, and what is to be seen there."""

    def __init__(self, box, s, *args, columns=80, lines=24):
        self.columns, self.lines = columns, lines
        self.master, slave = pty.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            [SUPCTL, "-s", s.socket, "--no-color", "top", *args], stdin=slave, stdout=slave,
            stderr=slave, start_new_session=True)
        box.undo.append(self.close)
        self.bytes = b""

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.columns, self.lines = columns, lines

    def press(self, key):
        os.write(self.master, key.encode())

    def pages(self):
        """The pages that were drawn, whole ones only."""
        whole = self.bytes.decode(errors="replace").split("\033[H")[1:]
        return [page.replace("\033[K", "").replace("\r\r\n", "\r\n").partition("\033[J") for page in whole
                if "\033[J" in page]

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.bytes += os.read(self.master, 65536)
            except OSError:
                return False
        return True

    def page(self, wanted, what):
        """Wait for a page that matches, the newest; as lines."""
        end = time.monotonic() + 40
        while time.monotonic() < end:
            self.read(0.2)
            pages = self.pages()
            if pages and re.search(wanted, pages[-1][0]):
                return pages[-1][0].split("\r\n")
        check(False, f"waited in vain for {what}: {self.bytes[-3000:]!r}")
        return []

    def end(self, expected):
        equal(self.process.wait(40), expected, "exit status")
        while self.read(0) and select.select([self.master], [], [], 0)[0]:
            pass
        after = termios.tcgetattr(self.slave)
        equal(after[:4], self.before[:4], "the terminal's modes")
        equal(after[6], self.before[6], "the terminal's characters")
        text = self.bytes.decode(errors="replace")
        check(text.rfind("\033[?1049l") > text.rfind("\033[?1049h"), "the page is still there")
        check(text.rfind("\033[?25h") > text.rfind("\033[?25l"), "no cursor")


def rows(text):
    return [line.split() for line in text.splitlines()]


@test("without a terminal top prints all actors once, with what they take")
def once(box):
    s = box.supd(TREE)
    s.line("F", "api")
    lines = rows(s.ctl_ok("top").out)
    equal(lines[0], ["ACTOR", "STATE", "PID", "CPU", "MEMORY", "PROCS", "UPTIME", "RESTARTS"],
          "titles")
    found = {line[0]: line for line in lines[1:]}
    equal(sorted(found), ["/user", "/user/app", "/user/app/api", "/user/db", "/user/off"], "who")
    api = found["/user/app/api"]
    equal((api[1], api[2], api[5]), ("running", str(s.actor("/user/app/api")["pid"]), "3"), "api")
    has(api[3], r"^\d+\.\d%$", "its share")
    has(api[4], r"^\d+(\.\d)?[KMG]$", "its memory")
    equal(found["/user/off"][1:6], ["stopped", "-", "-", "-", "-"], "one without a process")


@test("top -n prints so often, and --sort gives the order")
def several(box):
    s = box.supd(TREE)
    s.line("F", "api")
    out = s.ctl_ok("top", "-n", "2", "--sort", "path").out
    equal(out.count("ACTOR"), 2, "how often")
    equal([line[0] for line in rows(out.partition("\n\n")[0])[1:]],
          ["/user", "/user/db", "/user/app", "/user/app/api", "/user/off"], "as supd has them")
    first = rows(s.ctl_ok("top", "--sort", "memory").out)[1][0]
    equal(first, "/user/app/api", "who has most memory")
    s.tell("db", "exit=1")
    s.started("db", 2)
    equal(rows(s.ctl_ok("top", "--sort", "restarts").out)[1][0], "/user/db", "who was restarted")
    for wrong in (("--sort", "size"), ("-n", "0"), ("-n", "x"), ("db",)):
        equal(s.ctl("top", *wrong).code, 2, f"top {wrong}")
    equal(sorted(actor["path"] for actor in s.json("top")),
          ["/user", "/user/app", "/user/app/api", "/user/db", "/user/off"], "as JSON")
    check(all("resources" in actor for actor in s.json("top")), "what they take")


@test("on a terminal of 80 by 24 top draws a page that fits, again and again, until q")
def page(box):
    s = box.supd(dict(TREE, **{f"filler{i}": {"enabled": False} for i in range(30)},
                      **{"n" * 70: {"enabled": False}}))
    s.line("F", "api")
    with_terminal = Terminal(box, s)
    first = with_terminal.page(r"api +running", "the first page")
    equal(len(first), 24, "lines")
    check(max(map(len, first)) <= 80, lambda: f"too wide: {first}")
    has(first[0], r"^36 actors, 4 running, 0 failed; cpu \d+\.\d%, memory ", "the first line")
    has(first[-1], "by cpu; sort: c m r u p, .*q quits", "the last line")
    with_terminal.press("p")
    by_path = with_terminal.page("by path", "another order")
    equal([line.split()[0] for line in by_path[2:5]], ["/user", "/user/db", "/user/app"], "who")
    with_terminal.press("j")
    with_terminal.page(r"ACTOR[^\n]*\n/user/db ", "the page further down")
    with_terminal.press("k" + "j" * 60)
    end = with_terminal.page(r"<n+ ", "the end of the list")
    has(end[-3] + end[-2], "<n+ +stopped", "a name that is cut off")
    s.tell("db", "exit=1")
    with_terminal.press("r")
    with_terminal.page(r"/user/db +running .* 1\r", "what has changed meanwhile")
    with_terminal.press("q")
    with_terminal.end(0)


@test("a terminal that becomes smaller gets a smaller page")
def smaller(box):
    s = box.supd(TREE)
    s.line("F", "api")
    terminal = Terminal(box, s, columns=120, lines=30)
    equal(len(terminal.page("api", "a page")), 30, "lines")
    terminal.resize(80, 10)
    os.kill(terminal.process.pid, signal.SIGWINCH)
    shown = terminal.page(r"\A(?:[^\n]*\n){9}[^\n]*\Z", "a page of ten lines")
    check(max(map(len, shown)) <= 80, lambda: f"too wide: {shown}")
    terminal.press("q")
    terminal.end(0)


@test("whatever ends top, the terminal is as it was")
def put_back(box):
    s = box.supd(TREE)
    s.line("F", "api")
    for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        terminal = Terminal(box, s)
        terminal.page("api", "a page")
        os.kill(terminal.process.pid, signo)
        terminal.end(0)
    terminal = Terminal(box, s)
    terminal.page("api", "a page")
    s.stop()
    terminal.end(4)
    # Behind the page, not on it.
    has(terminal.bytes.decode().rpartition("\033[?1049l")[2], "supctl: ", "what was wrong")


@test("top goes on when a guardian dies and the next one takes over")
def survives(box):
    s = box.supd(TREE)
    s.line("F", "api")
    terminal = Terminal(box, s)
    terminal.page("api", "a page")
    s.crash()
    s.tell("db", "exit=1")
    s.started("db", 2)
    terminal.press("r")
    terminal.page(r"/user/db +running .* 1\r", "what happened afterwards")
    terminal.press("q")
    terminal.end(0)


if __name__ == "__main__":
    main()
