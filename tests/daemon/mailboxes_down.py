#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Mailboxes of an actor that misuses its sockets, or is down."""
import os
import select
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, main, test
from mailbox import Client, KINDS, all_answered, come, letters, mailbox, mailboxes, pid_of
from mailbox_clients import ask

STEAL_SECONDS = 1.5
SPIN_SECONDS = 1
CONNECTED = ("tcp", "unix", "unix-seqpacket")


def told_letters(s, path="a"):
    return sum(event["count"] for event in s.seen("dead_letter", path))


def down(box, while_down, kinds=KINDS, **more):
    """Start a supd with a stopped actor; gives supd and the addresses for clients."""
    sockets, addresses = mailboxes(box, kinds)
    sockets = {kind: {"listen": listen, "while_down": while_down, **more}
               for kind, listen in sockets.items()}
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets}})
    s.started("a")
    s.ctl_ok("stop", "a")
    return s, addresses


@test("149 refuse: tcp is reset, unix sees the end, datagrams are gone; each a dead letter (B-12)")
def refused(box):
    s, addresses = down(box, "refuse")
    for n, kind in enumerate(KINDS, 1):
        client = Client(box, kind, addresses[kind], b"" if kind == "unix" else b"hello\n")
        if kind == "tcp":
            equal(client.hear(), None, "what the tcp client got")
        elif kind in CONNECTED:
            equal(client.hear(), b"", f"what the {kind} client got")
        s.wait_for("a", dead_letters=n)
        client.close()
    s.until(lambda: told_letters(s) == len(KINDS), "events for all of them")
    equal({event["socket"] for event in s.seen("dead_letter", "a")}, set(KINDS), "the sockets")
    s.ctl_ok("start", "a")
    pid = s.started("a", 2)
    all_answered(s, "a", come(box, addresses), pid)
    equal(letters(s), len(KINDS), "dead letters")


@test("149 reply: each client gets the text at once, also those that have asked already")
def replied(box):
    text = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
    kinds = tuple(kind for kind in KINDS if kind != "fifo")
    s, addresses = down(box, {"reply": text}, kinds)
    for kind in kinds:
        for asks in (b"", b"GET / HTTP/1.1\r\n\r\n" * 50):
            if not asks and kind not in CONNECTED:
                continue
            client = Client(box, kind, addresses[kind], asks)
            equal(client.hear(), text.encode(), f"the reply on {kind}")
            if kind in CONNECTED:
                equal(client.hear(), b"", f"after the reply on {kind}")
            client.close()
    equal(letters(s), 0, "dead letters")
    s.ctl_ok("start", "a")
    all_answered(s, "a", come(box, addresses), s.started("a", 2))


@test("a reply during a backoff, and a datagram of a sender that cannot be answered")
def replied_in_backoff(box):
    listen, address = mailbox(box, "unix")
    dgram, nameless = mailbox(box, "unix-dgram")
    s = box.supd({"a": {"do": ["serve"], "backoff": {"min": "500ms", "jitter": 0}, "sockets": {
        "box": {"listen": listen, "while_down": {"reply": "later\n"}},
        "dgram": {"listen": dgram, "while_down": {"reply": "later\n"}}}}})
    s.started("a")
    s.tell("a", "exit=1")
    s.wait_for("a", state="backoff")
    equal(Client(box, "unix", address).hear(), b"later\n", "the reply")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"hello", nameless)
    s.wait_for("a", dead_letters=1)
    pid = s.started("a", 2)
    equal(ask(address), pid, "who answered")


@test("a process that has come finds a socket that waits, whatever listened before")
def blocks_again(box):
    listen, address = mailbox(box, "unix")
    code = ("import socket, os\n"
            "s = socket.socket(fileno=3)\n"
            "print(os.get_blocking(3), flush=True)\n"
            "os.set_blocking(3, False)\n"
            "s.listen\n"
            "import signal; signal.pause()\n")
    s = box.supd({"a": {"command": [sys.executable, "-c", code], "sockets": {
        "box": {"listen": listen, "while_down": "refuse"}}}})
    for n in range(1, 3):
        s.until(lambda n=n: s.ctl("logs", "a", "-n", "9").out.count("True") == n,
                "a socket that waits")
        s.ctl_ok("stop", "a")
        equal(Client(box, "unix", address, b"").hear(), b"", "what the client got")
        s.wait_for("a", dead_letters=n)
        s.ctl_ok("start", "a")
    s.until(lambda: s.ctl("logs", "a", "-n", "9").out.count("True") == 3, "the third")
    check("False" not in s.ctl("logs", "a", "-n", "9").out, "a socket that does not wait")


@test("rate: of the clients that come at once only so many are sent away, the others are served")
def rate(box):
    s, addresses = down(box, "refuse", ("unix",), rate="3/s")
    waiting = [Client(box, "unix", addresses["unix"], b"") for _ in range(4)]
    s.wait_for("a", dead_letters=3)
    # The fourth client would be sent away a second after the first.  Where the start of a
    # process takes longer, supd sends away the fourth, and one more client.
    waiting += [Client(box, "unix", addresses["unix"], b"") for _ in range(3)]
    s.ctl_ok("start", "a")
    pid = s.started("a", 2)
    answers = [client.hear() for client in waiting]
    equal(answers[:3], [b""] * 3, "the first three")
    check(all(answer == b"" or pid_of(answer) == pid for answer in answers), f"{answers}")
    equal(letters(s), answers.count(b""), "dead letters")
    check(answers.count(b"") < len(answers), "nobody waited")


@test("dead letters are counted across the death of a guardian, and go on")
def counted(box):
    s, addresses = down(box, "refuse", ("tcp", "unix"))
    for n in range(5):
        Client(box, "unix", addresses["unix"]).close()
        s.wait_for("a", dead_letters=n + 1)
    s.crash()
    equal(letters(s), 5, "dead letters after the crash")
    equal(Client(box, "tcp", addresses["tcp"]).hear(), None, "what the tcp client got")
    s.wait_for("a", dead_letters=6)


@test("a flood at a socket of an actor that is down is bounded: in events, and in what supd keeps")
def flood(box):
    s, addresses = down(box, "refuse", ("unix",), rate="1000000/s")
    for _ in range(2000):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(addresses["unix"])
    s.wait_for("a", dead_letters=2000)
    s.until(lambda: told_letters(s) == 2000, "all of them in the event stream")
    check(len(s.seen("dead_letter", "a")) < 1000,
          lambda: f"{len(s.seen('dead_letter', 'a'))} events")


def lent(box, kind):
    """Start `a`, and make its mailbox block; gives supd, the mailbox with its address, the
    connection that keeps `a` from its end, and the address of the mailbox of `b`."""
    giver = ("import os, socket, sys\n"
             "os.set_blocking(3, True)\n"
             "s = socket.socket(socket.AF_UNIX); s.connect(%r)\n"
             "socket.send_fds(s, [b'x'], [3])\n"
             "s.recv(1)\n"
             "sys.exit(1)\n" % box.path("friend"))
    listen, address = mailbox(box, kind)
    other, others = mailbox(box, "unix", "other")
    refuse = {"while_down": "refuse", "rate": "1000000/s"}
    with socket.socket(socket.AF_UNIX) as friend:
        friend.bind(box.path("friend"))
        friend.listen()
        friend.settimeout(20)
        s = box.supd({"a": {"command": [sys.executable, "-c", giver],
                            "backoff": {"min": "30s"},
                            "sockets": {"x": {"listen": listen, **refuse}}},
                      "b": {"enabled": False, "sockets": {"x": {"listen": other, **refuse}}},
                      "c": {}})
        giving, _ = friend.accept()
        _, (fd,), _, _ = socket.recv_fds(giving, 1, 1)
    return s, fd, giving, address, others


def steal(shared, address):
    """Make the socket block, and take away a client that supd has seen waiting."""
    shared.setblocking(True)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
        select.select([shared], [], [], 0.01)
        shared.setblocking(False)
        try:
            shared.accept()[0].close()
        except BlockingIOError:
            pass  # supd sent the client away first
        shared.setblocking(True)


def goes_on(s, box, others):
    """supd goes on beside a mailbox that blocks: answers, supervises, and serves other mailboxes."""
    s.ctl_ok("ping")
    count = len(s.lines("S", "c"))
    s.tell("c", "exit=1")
    s.started("c", count + 1)
    equal(Client(box, "unix", others, b"").hear(), b"", "what a client of another got")


@test("a socket made blocking by an actor that also steals its clients holds up neither supd "
      "nor the mailboxes of others")
def stolen(box):
    s, fd, giving, address, others = lent(box, "unix")
    giving.close()
    s.wait_for("a", state="backoff")
    guardian = s.guardian()
    with socket.socket(fileno=fd) as shared:
        until = time.monotonic() + STEAL_SECONDS
        while time.monotonic() < until:
            for _ in range(200):
                steal(shared, address)
            s.ctl_ok("ping")
        shared.setblocking(True)
        goes_on(s, box, others)
    equal(s.guardian(), guardian, "the guardian")
    s.ctl_ok("ping")


def steal_bytes(fd, address):
    """Make the fifo block, and take away bytes that supd has seen waiting."""
    with open(address, "wb", buffering=0) as client:
        client.write(b"x")
        select.select([fd], [], [], 0.01)
        os.set_blocking(fd, False)
        try:
            os.read(fd, 4096)
        except BlockingIOError:
            pass  # supd took the bytes first
        os.set_blocking(fd, True)


@test("a fifo that its actor has made blocking and never reads, full, empty or robbed, holds up neither supd "
      "nor the mailboxes of others")
def full_fifo(box):
    s, fd, giving, address, others = lent(box, "fifo")
    guardian = s.guardian()
    writer = os.open(address, os.O_WRONLY | os.O_NONBLOCK)
    try:
        while os.write(writer, b"x" * 4096):
            pass
    except BlockingIOError:
        pass  # the fifo is full
    goes_on(s, box, others)
    giving.close()
    s.wait_for("a", state="backoff")
    # All that is in it is thrown away, and then there is nothing.
    s.until(lambda: letters(s) > 0 and not select.select([fd], [], [], 0)[0], "the fifo to be empty")
    goes_on(s, box, others)
    until = time.monotonic() + STEAL_SECONDS
    while time.monotonic() < until:
        for _ in range(200):
            steal_bytes(fd, address)
        count = letters(s)
        os.write(writer, b"x")
        s.until(lambda n=count: letters(s) > n, "what is written to be thrown away")
        s.ctl_ok("ping")
    goes_on(s, box, others)
    os.close(writer)
    os.close(fd)
    equal(s.guardian(), guardian, "the guardian")


def processor_ns(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as text:
        return int(text.read().split()[0])


@test("sockets that an actor has shut down are no clients, and cost no time")
def shut_down(box):
    kinds = tuple(kind for kind in KINDS if kind != "fifo")
    listen, addresses = mailboxes(box, kinds)
    code = ("import os, socket\n"
            "for fd in range(3, 3 + int(os.environ['LISTEN_FDS'])):\n"
            "    try:\n"
            "        socket.socket(fileno=fd).shutdown(socket.SHUT_RDWR)\n"
            "    except OSError:\n"
            "        pass  # it is shut down all the same\n"
            "os._exit(1)\n")
    other, others = mailbox(box, "unix", "other")
    s = box.supd({"a": {"command": [sys.executable, "-c", code], "backoff": {"min": "30s"},
                        "sockets": {kind: {"listen": listen[kind], "while_down": "refuse"}
                                    for kind in kinds}},
                  "b": {"enabled": False,
                        "sockets": {"x": {"listen": other, "while_down": "refuse"}}}})
    s.wait_for("a", state="backoff")
    helper = s.until(lambda: s.actor("/system/letters")["pid"], "/system/letters")
    before, since = processor_ns(helper), time.monotonic()
    while time.monotonic() < since + SPIN_SECONDS:
        equal(Client(box, "unix", others).hear(), b"", "what a client of another got")
        time.sleep(0.05)
    used = processor_ns(helper) - before
    check(used < SPIN_SECONDS * 1e9 / 10, f"{used / 1e6} ms of {SPIN_SECONDS} s")
    equal(letters(s), 0, "dead letters")


if __name__ == "__main__":
    main()
