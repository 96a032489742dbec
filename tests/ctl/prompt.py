#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl shell: verbs from a pipe and from a terminal."""
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fake_supd import (GUARD_S, Reply, Skip, Supd, actor, command, environment, run, status_of, supctl, supervisor,
                       tree)


def check(condition, seen):
    if not condition:
        raise AssertionError(repr(seen))


def from_a_pipe(supd, text, *options):
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        return supctl(supd, *options, "shell", stdin=file)


def test_lines_of_a_pipe_are_verbs_and_the_last_one_gives_the_status():
    supd = tree()
    try:
        done = from_a_pipe(supd, "# a comment\n\n  pid  web \nlist 'web'\nnonsense\npid \"we\"b\n")
        check(done.out.splitlines()[0] == "102" and done.out.splitlines()[-1] == "102", done)
        check("/user/web" in done.out and "supd>" not in done.out, done)
        check("unknown verb 'nonsense'" in done.err and done.status == 0, done)
        check(from_a_pipe(supd, "pid web\nnonsense\n").status == 2, "the status of the last line")
        check(from_a_pipe(supd, "exit\nnonsense\n").status == 0, "exit")
        check(from_a_pipe(supd, "quit\nnonsense\n").err == "", "quit")
    finally:
        supd.close()


def test_a_line_that_is_not_whole_is_refused():
    done = from_a_pipe(None, "pid 'web\n")
    check(done.status == 2 and "a quote is not closed" in done.err, done)
    done = from_a_pipe(None, "pid " + "x " * 300 + "\n")
    check(done.status == 2 and "too many words" in done.err, done)


def test_options_of_the_prompt_are_those_of_its_verbs():
    supd = tree()
    try:
        check('"path": "/user/web"' in from_a_pipe(supd, "list web\n", "-o", "json").out
              or '"path":"/user/web"' in from_a_pipe(supd, "list web\n", "-o", "json").out, "json")
    finally:
        supd.close()


class Terminal:
    """supctl shell on a terminal."""

    def __init__(self, supd, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            words = command("-s", supd.path, "shell")
            os.execve(words[0], words, environment(HOME=home, TERM="dumb"))
        self.seen = b""

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, text):
        while text.encode() not in self.seen:
            check(select.select([self.fd], [], [], GUARD_S)[0], (text, self.seen))
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                data = b""
            check(data != b"", (text, self.seen))
            self.seen += data
        before, _, self.seen = self.seen.partition(text.encode())
        return before + text.encode()

    def end(self):
        while select.select([self.fd], [], [], GUARD_S)[0]:
            try:
                if os.read(self.fd, 4096) == b"":
                    break
            except OSError:
                break
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def edits():
    """Is this supctl built with libedit?"""
    done = subprocess.run(["ldd", command()[0] + "-terminal"], capture_output=True, text=True)
    if "libedit" not in done.stdout:
        raise Skip("built without libedit")


def test_verbs_load_no_library_of_a_terminal():
    done = subprocess.run(["ldd", command()[0]], capture_output=True, text=True)
    for library in ("libedit", "libncurses", "libtinfo"):
        check(library not in done.stdout, done.stdout)


def test_a_terminal_completes_verbs_and_names_and_keeps_the_history():
    edits()
    supd = tree()
    with tempfile.TemporaryDirectory() as home:
        terminal = Terminal(supd, home)
        terminal.until("supd> ")
        terminal.type("is-act\t")
        terminal.until("is-active ")
        terminal.type("we\t")
        terminal.until("web ")
        terminal.type("\n")
        terminal.until("supd> ")
        terminal.type("exit\n")
        check(terminal.end() == 0, "the exit status of is-active")
        history = os.path.join(home, ".supctl_history")
        with open(history, encoding="utf-8") as file:
            check("is-active" in file.read(), "the history")
        check(os.stat(history).st_mode & 0o777 == 0o600, oct(os.stat(history).st_mode))
    supd.close()


EVIL = "x\x1b]0;x\x07\u009b31m\x7f\x1b[2J\x1b[8m\b"
# Without the bytes that edit the line, and those that the kernel echoes unchanged.
TYPED = "".join(c for c in EVIL if c not in "\x7f\b\u009b")


def test_no_name_and_no_status_controls_the_terminal_of_the_prompt():
    edits()
    actors = [supervisor("/user"), actor("/user/web" + EVIL, status=EVIL, state=EVIL), actor("/user/webs" + EVIL)]
    supd = Supd(Status=status_of(actors), Explain=lambda call, supd: [Reply({
        "path": "/user/web", "chain": [], "last_words": [EVIL], "text": "end of the story " + EVIL})])
    supd.parallel = True
    with tempfile.TemporaryDirectory() as home:
        terminal = Terminal(supd, home)
        terminal.until("supd> ")
        everything = b""
        for typed, last in (("list\n", "webs"), ("explain web\n", "end of the story"), ("explain we\t\t", "webs"),
                            ("\n", "end of the story"), ("", "supd> "), (f"nosuch{TYPED}\n", "unknown verb")):
            terminal.type(typed)
            everything += terminal.until(last)
        terminal.type("\nexit\n")
        everything += terminal.until("exit")
        terminal.end()
    supd.close()
    for sequence in (b"\x1b]", b"\x1b[8m", b"\xc2\x9b", b"\x7f", b"\x07x"):
        check(sequence not in everything, (sequence, everything))


def test_an_interrupt_ends_the_verb_and_not_the_prompt():
    edits()

    def hang(parameters, supd):
        yield Reply({"path": "", "time": None, "stream": "", "text": ""}, more=True)
        supd.asked.set()
        supd.asked_to_end.wait(GUARD_S)

    supd = Supd(Logs=hang)
    supd.asked, supd.asked_to_end = threading.Event(), threading.Event()
    with tempfile.TemporaryDirectory() as home:
        terminal = Terminal(supd, home)
        terminal.until("supd> ")
        terminal.type("logs -f web\n")
        check(supd.asked.wait(GUARD_S), "logs was not called")
        terminal.type("\x03")
        terminal.until("supd> ")
        terminal.type("exit\n")
        check(terminal.end() == 128 + signal.SIGINT, "the status of the interrupted verb")
    supd.asked_to_end.set()
    supd.close()


if __name__ == "__main__":
    sys.exit(run(dict(globals())))
