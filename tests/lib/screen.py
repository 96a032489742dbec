# SPDX-License-Identifier: ISC
"""A terminal with a program on it, as a person sees and uses it.

Understands what ncurses sends to an xterm: the page is kept as lines of characters, and every
sequence that is not known here ends the test.
"""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

from harness import PATIENCE, check, equal

KEYS = {"up": "\033OA", "down": "\033OB", "page up": "\033[5~", "page down": "\033[6~", "home": "\033OH",
        "end": "\033OF", "enter": "\r", "escape": "\033", "backspace": "\177"}
SEQUENCE = re.compile(r"\033(?:\[([?>]?)([0-9;]*)([@-~])|([()][0-9A-B])|([=>78M]))|[\r\n\b\007\017\016]")
IGNORED = "hlmt"  # modes, colours, the window


def page_of(columns, lines):
    return [[" "] * columns for _ in range(lines)]


class Screen:
    """What was written onto a terminal of so many columns and lines."""

    def __init__(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.cells = page_of(columns, lines)
        self.column = self.line = 0
        self.left = ""  # the beginning of a sequence
        self.margins = 0, lines - 1
        self.reversed = False
        self.marks = set()  # lines that have something in reverse

    def resize(self, columns, lines):
        old = self.cells
        self.margins = 0, lines - 1
        self.columns, self.lines = columns, lines
        self.cells = page_of(columns, lines)
        for new, row in zip(self.cells, old):
            new[:min(len(row), columns)] = row[:columns]
        self.line, self.column = min(self.line, lines - 1), min(self.column, columns - 1)

    def text(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, text):
        text = self.left + text
        self.left = ""
        at = 0
        while at < len(text):
            found = SEQUENCE.match(text, at)
            if found:
                self.control(found)
                at = found.end()
            elif text[at] == "\033":
                check(len(text) - at < 16, lambda: f"an unknown sequence: {text[at:at + 20]!r}")
                self.left = text[at:]
                return
            else:
                self.put(text[at])
                at += 1

    def put(self, char):
        check(char.isprintable(), lambda: f"{char!r} reaches the terminal")
        wide = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if self.column + wide > self.columns:
            self.column, self.line = 0, min(self.line + 1, self.lines - 1)
        self.cells[self.line][self.column] = char
        if wide == 2:
            self.cells[self.line][self.column + 1] = ""
        self.last = char
        if self.reversed:
            self.marks.add(self.line)
        else:
            self.marks.discard(self.line)
        self.column += wide

    def scroll(self, by):
        """Move what is between the margins up, or down."""
        top, bottom = self.margins
        rows = self.cells[top:bottom + 1]
        new = page_of(self.columns, min(abs(by), len(rows)))
        self.cells[top:bottom + 1] = rows[len(new):] + new if by > 0 else (new + rows)[:len(rows)]

    def control(self, found):
        kind, numbers, final, _, single = found.groups()
        if final is not None:
            self.sequence(kind, [int(n or 0) for n in numbers.split(";")] if numbers else [], final)
        elif single == "M":
            if self.line == self.margins[0]:
                self.scroll(-1)
            self.line = max(self.line - (self.line != self.margins[0]), 0)
        elif found[0] == "\r":
            self.column = 0
        elif found[0] == "\n":
            if self.line == self.margins[1]:
                self.scroll(1)
            self.line = min(self.line + (self.line != self.margins[1]), self.lines - 1)
        elif found[0] == "\b":
            self.column = max(min(self.column, self.columns) - 1, 0)

    def sequence(self, kind, numbers, final):
        first = max(numbers[0], 1) if numbers else 1
        row = self.cells[self.line]
        if final in "Hf":
            self.line = min(first, self.lines) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif final == "J" or final == "K":
            how = numbers[0] if numbers else 0
            start, end = (0, self.column + 1) if how == 1 else (0 if how else self.column, self.columns)
            row[start:end] = [" "] * (end - start)
            if final == "J":
                gone = range(self.lines) if how == 2 else range(self.line) if how == 1 else \
                    range(self.line + 1, self.lines)
                for line in gone:
                    self.cells[line] = page_of(self.columns, 1)[0]
        elif final == "G" or final == "`":
            self.column = min(first, self.columns) - 1
        elif final == "d":
            self.line = min(first, self.lines) - 1
        elif final == "A":
            self.line = max(self.line - first, 0)
        elif final == "B":
            self.line = min(self.line + first, self.lines - 1)
        elif final == "C":
            self.column = min(self.column + first, self.columns - 1)
        elif final == "D":
            self.column = max(self.column - first, 0)
        elif final == "X":
            end = min(self.column + first, self.columns)
            row[self.column:end] = [" "] * (end - self.column)
        elif final == "P":
            self.cells[self.line] = row[:self.column] + row[self.column + first:] + [" "] * first
        elif final == "@":
            self.cells[self.line] = (row[:self.column] + [" "] * first + row[self.column:])[:self.columns]
        elif final == "b":
            for _ in range(first):
                self.put(self.last)
        elif final == "S" or final == "T":
            self.scroll(first if final == "S" else -first)
        elif final == "r":
            self.margins = first - 1, (numbers[1] if len(numbers) > 1 else self.lines) - 1
            self.line = self.column = 0
        elif final == "L" or final == "M":
            rows = self.cells[self.line:]
            new = page_of(self.columns, min(first, len(rows)))
            self.cells[self.line:] = (new + rows)[:len(rows)] if final == "L" else rows[len(new):] + new
        else:
            check(final in IGNORED, lambda: f"an unknown sequence: {kind}{numbers}{final}")
            if final == "m" and not kind:
                self.reversed = 7 in numbers or (self.reversed and 0 not in numbers and bool(numbers))


class Terminal:
    """A program on a terminal: sends keys, and shows the screen."""

    def __init__(self, box, command, columns=80, lines=24, **environment):
        self.master, slave = pty.openpty()
        self.screen = Screen(columns, lines)
        self.set_size(columns, lines)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.decoder = codecs.getincrementaldecoder("utf8")(errors="replace")
        self.bytes = b""
        env = dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8")
        env.update(environment)
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=env,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        box.undo.append(self.close)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def set_size(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        """Another size, of which the kernel tells the program by SIGWINCH."""
        while self.read(0):
            pass
        self.screen.resize(columns, lines)
        self.set_size(columns, lines)

    def press(self, *keys):
        """Press these keys, by their names or characters; what follows "escape" at once would belong to it."""
        for key in keys:
            os.write(self.master, KEYS.get(key, key).encode())

    def read(self, seconds):
        """Take in a piece of what was written; false: nothing was, or the end.

        In small pieces, so that each page is seen half drawn, too: what a test waits for is seen in any of them.
        """
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 16)
        except OSError:
            return False
        self.bytes += data
        self.screen.feed(self.decoder.decode(data))
        return True

    def see(self, wanted, what):
        """Wait until all that is to be seen matches; as lines."""
        end = time.monotonic() + 20 * PATIENCE
        while True:
            lines = self.screen.text()
            if re.search(wanted, "\n".join(lines), re.M):
                return lines
            if time.monotonic() > end:
                break
            self.read(0.2)
        check(False, "waited in vain for %s:\n%s" % (what, "\n".join(lines)))
        return []

    def end(self, expected):
        """Wait for the end of the program, which leaves the terminal as before."""
        end = time.monotonic() + 20 * PATIENCE
        # The program may wait until its output is read; the last output may come after its end.
        while (self.process.poll() is None or not self.is_put_back()) and time.monotonic() < end:
            self.read(0.05)
        equal(self.process.wait(1), expected, "exit status")
        after = termios.tcgetattr(self.slave)
        equal(after[:4], self.before[:4], "the terminal's modes")
        equal(after[6], self.before[6], "the terminal's characters")
        check(self.is_put_back(), lambda: f"the page is still there, or no cursor: {self.bytes[-200:]}")

    def is_put_back(self):
        """The page is gone, and the cursor is there."""
        text = self.bytes.decode(errors="replace")
        return (text.rfind("\033[?1049l") > text.rfind("\033[?1049h") and
                max(text.rfind("\033[?25h"), text.rfind("\033[?12h")) >= text.rfind("\033[?25l"))

    def kill(self, signo=signal.SIGTERM):
        os.kill(self.process.pid, signo)
