#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd in the foreground of a terminal, which goes away."""
import fcntl
import os
import pty
import signal
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, main, test


def on_terminal(box, ignored=False):
    """A supd with a terminal of its own, and the end of the terminal that can be closed."""
    master, slave = pty.openpty()

    def child():
        if os.getsid(0) != os.getpid():
            os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        # Not as the tests were started, which may have been by nohup.
        signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)

    s = box.supd({"a": {}}, before=child)
    os.close(slave)
    s.started("a")
    return s, master


def said(s, text):
    with open(s.stderr, encoding="utf8") as log:
        return text in log.read()


@test("a terminal that goes away is the end of supd, which says so")
def hang_up(box):
    s, master = on_terminal(box)
    os.close(master)
    s.ended(0)
    check(said(s, "the terminal went away: shutting down"), "nothing says why supd has ended")


@test("started with SIGHUP ignored, as by nohup, supd outlives its terminal, and reloads as ever")
def nohup(box):
    s, master = on_terminal(box, ignored=True)
    os.close(master)
    s.until(lambda: said(s, "the terminal went away: supd goes on"), "word of the terminal")
    s.write({"a": {}, "b": {}})
    s.signal(signal.SIGHUP)
    s.started("b")
    s.crash()
    s.tell("a", "exit=3")
    s.started("a", 2)


if __name__ == "__main__":
    main()
