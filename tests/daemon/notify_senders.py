#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Messages to a notification socket, whatever the sender and content: supd goes on at once."""
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fuse import Fuse
from harness import LINGERING, check, equal, main, test
from storer import Storer

# Sends TEXT with a descriptor: of a file, or of a connection to a port that waits for an
# hour in close().
SENDER = LINGERING + r"""
import array, os, socket, struct, sys
address, text, what = sys.argv[1].replace("@", "\0", 1), sys.argv[2].replace("|", "\n"), sys.argv[3]
if what.isdigit():
    fd = lingering(int(what)).detach()
else:
    fd = os.open(what, os.O_RDONLY)
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
    out.sendmsg([text.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))], 0, address)
print("sent", flush=True)
sys.stdin.read()
"""


def address_of(pid):
    with open(f"/proc/{pid}/environ", encoding="utf8") as text:
        return dict(pair.partition("=")[::2] for pair in text.read().split("\0"))["NOTIFY_SOCKET"]


def send(address, text, what, uid=65534):
    sender = subprocess.Popen(["/usr/bin/env", "python3", "-c", SENDER, address, text, what],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=uid, group=uid,
                              extra_groups=[], cwd="/")
    equal(sender.stdout.readline(), b"sent\n", "the sender")
    return sender


def is_at_work(s):
    """It answers, restarts, and is taken over."""
    s.call("Ping")
    s.tell("b", "exit=1")
    s.started("b")
    s.crash()
    s.call("Ping")


@test("a stranger sends a file that cannot be closed: nothing waits for it", root=True)
def strange_file(box):
    fuse = Fuse(box, "flush,release")
    s = box.supd({"a": {"fd_store": 4, "ready": "notify", "do": ["ready"]}, "b": {"backoff": "none"}})
    address = address_of(s.pids["a"])
    guardian = s.guardian()
    senders = [send(address, "FDSTORE=1|READY=1|STATUS=x", fuse.path()) for _ in range(3)]
    s.tell("a", "notify=STATUS=mine")
    s.wait_for("a", status="mine")
    equal(s.guardian(), guardian, "the guardian")
    is_at_work(s)
    check(not any(line.startswith("held") for line in fuse.lines), f"{fuse.lines}")
    fuse.answer()
    for sender in senders:
        sender.communicate()


@test("what a stranger sends is closed by no process supd waits for, even the last reference", root=True)
def last_reference(box):
    s = box.supd({"a": {"fd_store": 4, "ready": "notify", "do": ["ready"]}, "b": {"backoff": "none"}})
    address = address_of(s.pids["a"])
    guardian = s.guardian()
    # The listener reads nothing, so that the close of a connection waits.
    listener = socket.create_server(("127.0.0.1", 0))
    # The sender has ended when it is read: the last reference goes with the message.
    os.kill(guardian, signal.SIGSTOP)
    for n in range(2):
        send(address, f"STATUS={n}", str(listener.getsockname()[1])).communicate()
    os.kill(guardian, signal.SIGCONT)
    s.tell("a", "notify=STATUS=mine")
    s.wait_for("a", status="mine")
    equal(s.guardian(), guardian, "the guardian")
    is_at_work(s)
    listener.close()


@test("an actor puts down a file that cannot be closed: it is refused, and others are kept", root=True)
def own_file(box):
    fuse = Fuse(box, "flush,release,poll,getattr")
    a = Storer(box, {"user": "nobody", "backoff": "none"})
    a.start()
    guardian = a.s.guardian()
    a.do(f"open bad {fuse.path()}", "put good 1")
    fuse.held("flush")
    a.s.call("Ping")
    equal(a.s.guardian(), guardian, "the guardian")
    with open(a.s.stderr, encoding="utf8") as log:
        check("is refused: its file system" in log.read(), "no line about the file")
    a.s.crash()
    a.s.call("Ping")
    # The process itself has it open, and could not end either.
    fuse.answer()
    equal(a.kept(), [["good", "1"]], "kept")


@test("what is refused again and again is a line of log now and then")
def refused(box):
    s = box.supd({"a": {"notify": True, "do": []}})
    address = address_of(s.started("a"))
    sender = box.popen("/usr/bin/env", "python3", "-c", (
        "import socket, sys\n"
        "with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:\n"
        "    s.connect(sys.argv[1].replace('@', chr(0), 1))\n"
        "    for n in range(3000): s.send(b'STATUS=x')\n"), address)
    equal(sender.wait(), 0, "the sender")
    s.tell("a", "notify=STATUS=mine")
    s.wait_for("a", status="mine")
    with open(s.stderr, encoding="utf8") as log:
        lines = [line for line in log if "which is not its own" in line]
    check(1 <= len(lines) < 40, f"{len(lines)} lines")


if __name__ == "__main__":
    main()
