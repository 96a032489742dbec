#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Mailboxes of every kind: supd listens while no process serves, and starts an actor for a client."""
import json
import os
import select
import signal
import socket
import stat
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, outage
from harness import PROBE, Failure, check, equal, has, main, run, test, SUPD
from mailbox_clients import ask, clients, free_port
from probe_report import Report

KINDS = ("tcp", "udp", "unix", "unix-dgram", "unix-seqpacket", "fifo")
STEAL_SECONDS = 1.5
SPIN_SECONDS = 1
CONNECTED = ("tcp", "unix", "unix-seqpacket")


class Client:
    """One that comes to a mailbox of some kind, and says something."""
    count = 0

    def __init__(self, box, kind, address, text=b"hello\n"):
        self.fd, self.kind, self.was_reset, self.was_sent_away = None, kind, False, False
        Client.count += 1
        if kind == "fifo":
            self.fd = os.open(address, os.O_WRONLY | os.O_NONBLOCK)
            os.write(self.fd, text)
            return
        family = socket.AF_INET if kind in ("tcp", "udp") else socket.AF_UNIX
        type_ = {"tcp": socket.SOCK_STREAM, "unix": socket.SOCK_STREAM,
                 "unix-seqpacket": socket.SOCK_SEQPACKET}.get(kind, socket.SOCK_DGRAM)
        self.socket = socket.socket(family, type_)
        self.socket.settimeout(20)
        if kind == "unix-dgram":
            self.socket.bind(box.path(f"client.{Client.count}"))
        try:
            self.socket.connect(address)
        except ConnectionResetError:
            self.was_reset = True
        try:
            if text:
                self.socket.send(text)
        except BrokenPipeError:
            pass  # sent away already, or answered
        except ConnectionResetError:
            self.was_sent_away = True  # of which the kernel tells once only

    def hear(self):
        """What it is told; b"" is an end, None a reset."""
        if self.was_reset:
            return None
        try:
            return self.socket.recv(10000) or (None if self.was_sent_away else b"")
        except ConnectionResetError:
            # A packet may still be behind the news that the other end was in a hurry.
            return self.socket.recv(10000) if self.kind == "unix-seqpacket" else None
        except TimeoutError:
            raise Failure(f"nothing is heard on {self.kind}") from None

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
        else:
            self.socket.close()


def mailbox(box, kind, name="box"):
    """An address, for the file and for clients."""
    if kind in ("tcp", "udp"):
        port = free_port()
        return f"{kind}:127.0.0.1:{port}", ("127.0.0.1", port)
    path = box.path(f"{name}.{kind}")
    return f"{kind}:{path}", path


def mailboxes(box, kinds=KINDS):
    made = {kind: mailbox(box, kind) for kind in kinds}
    return ({kind: listen for kind, (listen, _) in made.items()},
            {kind: address for kind, (_, address) in made.items()})


def pid_of(answer):
    check(answer, f"the answer is {answer}")
    return int(answer.split()[1])


def answered(s, name, kind, client, pid, before=0):
    """Wait until process `pid`, which served `before` clients, serves this client."""
    if kind == "fifo":
        s.until(lambda: sum(line.pid == pid for line in s.lines("a", name)) > before,
                f"{name} to read the fifo")
    else:
        equal(pid_of(client.hear()), pid, f"who answered on {kind}")
    client.close()


def all_answered(s, name, waiting, pid):
    """All these clients, by their kind, the fifo's as the last."""
    for n, (kind, client) in enumerate(sorted(waiting, key=lambda one: one[0] == "fifo")):
        answered(s, name, kind, client, pid, n)


def come(box, addresses):
    """A client to each."""
    return [(kind, Client(box, kind, address)) for kind, address in addresses.items()]


def letters(s, path="a"):
    return s.actor(path)["dead_letters"]


def told_letters(s, path="a"):
    return sum(event["count"] for event in s.seen("dead_letter", path))


def check_file(box, text):
    """Exit status and output of --check for a file with these children."""
    file = box.file("checked.yaml", json.dumps({"children": text}))
    result = run(SUPD, "--check", "-c", file)
    return result.code, result.err + result.out


# ---- kinds ---------------------------------------------------------------------------------


@test("every kind of mailbox has its place among the descriptors, and is served")
def kinds(box):
    sockets, addresses = mailboxes(box)
    s = box.supd({"a": {"do": ["report", "serve"], "sockets": sockets}})
    seen = Report(s)
    equal(seen.environ["LISTEN_FDNAMES"], ":".join(KINDS), "the names")
    equal(sorted(seen.fds, key=int), [str(fd) for fd in range(3 + len(KINDS))],
          "the descriptors")
    all_answered(s, "a", come(box, addresses), seen.pid)


@test("A-30 a client that came while the process was down is served by the next, of every kind")
def queued(box):
    sockets, addresses = mailboxes(box)
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets,
                        "backoff": {"min": "400ms", "jitter": 0}}})
    first = s.started("a")
    s.tell("a", "exit=1")
    s.wait_for("a", state="backoff")
    waiting = come(box, addresses)
    second = s.started("a", 2)
    check(first != second, "the same process")
    all_answered(s, "a", waiting, second)
    equal(letters(s), 0, "dead letters")


@test("a guardian that dies: clients that came before, meanwhile and after are served")
def crashed(box):
    sockets, addresses = mailboxes(box)
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets}})
    s.started("a")
    s.ctl_ok("stop", "a")
    waiting = come(box, addresses)
    fifo = addresses.pop("fifo")
    old = s.guardian()
    os.kill(old, signal.SIGSTOP)
    waiting += come(box, addresses)
    os.kill(old, signal.SIGKILL)
    s.caller = None
    waiting += come(box, addresses)
    s.ctl_ok("start", "a")
    check(os.path.exists(fifo), "the fifo is gone")
    all_answered(s, "a", waiting, s.started("a", 2))


@test("an upgrade: clients that came before are served, of every kind")
def upgraded(box):
    sockets, addresses = mailboxes(box)
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets},
                  "lazy": {"do": ["serve"], "start_on": "connect",
                           "sockets": {"box": f"unix:{box.path('lazy.sock')}"}}})
    s.started("a")
    s.ctl_ok("stop", "a")
    waiting = come(box, addresses)
    s.ctl_ok("upgrade")
    s.caller = None
    s.ctl_ok("start", "a")
    all_answered(s, "a", waiting, s.started("a", 2))
    equal(ask(box.path("lazy.sock")), s.started("lazy"), "who started for a client")


@test("the file of a fifo has its mode, and all files are gone in the end")
def files(box):
    sockets, addresses = mailboxes(box, ("fifo", "unix-dgram", "unix-seqpacket"))
    sockets["fifo"] = {"listen": sockets["fifo"], "mode": "0620"}
    s = box.supd({"a": {"sockets": sockets}})
    s.started("a")
    status = os.stat(addresses["fifo"])
    check(stat.S_ISFIFO(status.st_mode), "no fifo")
    equal(stat.S_IMODE(status.st_mode), 0o620, "the mode")
    s.stop()
    for address in addresses.values():
        check(not os.path.exists(address), f"{address} is still there")


@test("a file that the process has removed is there again when it has ended, with its queue")
def removed(box):
    kinds_ = ("unix", "fifo", "unix-dgram", "unix-seqpacket")
    sockets, addresses = mailboxes(box, kinds_)
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets,
                        "backoff": {"min": "400ms", "jitter": 0}}})
    first = s.started("a")
    os.kill(first, signal.SIGSTOP)
    early = {kind: Client(box, kind, addresses[kind]) for kind in kinds_}
    for address in addresses.values():
        os.unlink(address)
    os.kill(first, signal.SIGKILL)
    s.wait_for("a", state="backoff")
    late = {kind: Client(box, kind, addresses[kind]) for kind in kinds_}
    second = s.started("a", 2)
    for kind in kinds_:
        for client in (early, late):
            answered(s, "a", kind, client[kind], second)
    s.stop()
    left = [name for name in os.listdir(box.dir) if name.startswith((".box", "box"))]
    equal(left, [], "files that are left")


@test("a file that is removed while there is no guardian is there again with the next one")
def removed_meanwhile(box):
    path = box.path("web.sock")
    s = Chaos(box, {"a": {"do": ["serve"], "sockets": {"web": f"unix:{path}"}}})
    pid = s.started("a")
    outage(s, lambda: os.unlink(path))
    answered(s, "a", "unix", Client(box, "unix", path), pid)


@test("mode and owner are given to a socket, never to what a link in its place points to")
def no_link(box):
    path, victim = box.path("web.sock"), box.file("victim")
    os.chmod(victim, 0o600)
    spec = {"listen": f"unix:{path}", "mode": "0600"}
    s = box.supd({"a": {"sockets": {"web": spec}}})
    s.started("a")
    os.unlink(path)
    os.symlink(victim, path)
    s.write({"a": {"sockets": {"web": {**spec, "mode": "0666"}}}})
    s.ctl_ok("apply")
    equal(stat.S_IMODE(os.stat(victim).st_mode), 0o600, "the mode of what is linked")
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), f"mode and owner: {path} is another file by now: its clients do not find the socket",
            "what supd says")


@test("what a dead owner left is replaced, a fifo is taken as it is")
def left_over(box):
    sockets, addresses = mailboxes(box, ("fifo", "unix-dgram", "unix-seqpacket"))
    os.mkfifo(addresses["fifo"], 0o600)
    for kind, type_ in (("unix-dgram", socket.SOCK_DGRAM),
                        ("unix-seqpacket", socket.SOCK_SEQPACKET)):
        with socket.socket(socket.AF_UNIX, type_) as left:
            left.bind(addresses[kind])
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets}})
    pid = s.started("a")
    equal(stat.S_IMODE(os.stat(addresses["fifo"]).st_mode), 0o666, "the mode")
    all_answered(s, "a", come(box, addresses), pid)


@test("a socket file of another living process is left alone, and named")
def alive(box):
    for kind in ("unix-dgram", "unix-seqpacket", "fifo"):
        listen, address = mailbox(box, kind)
        if kind == "fifo":
            os.mkfifo(address)
            other = os.open(address, os.O_RDONLY | os.O_NONBLOCK)
        else:
            other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if kind == "unix-dgram"
                                  else socket.SOCK_SEQPACKET)
            other.bind(address)
            if kind != "unix-dgram":
                other.listen()
        s = box.supd({"a": {"sockets": {"x": listen}}}, name=f"of-{kind}", wait=False)
        equal(s.event("failure", "a")["step"], "open socket", "what failed")
        check(os.path.exists(address), f"{address} was taken away")
        with open(s.stderr, encoding="utf8") as text:
            check(address in text.read(), "the sentence lacks the path")
        if kind == "fifo":
            os.close(other)
        else:
            other.close()


# ---- while no process serves ---------------------------------------------------------------


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


# ---- actors that tamper with their mailbox -------------------------------------------------


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


# ---- a handler -----------------------------------------------------------------------------


@test("a handler is started for the clients of an actor that is down, and waits when that is back")
def handled(box):
    sockets, addresses = mailboxes(box)
    sockets = {kind: {"listen": listen, "while_down": {"handler": "h"}}
               for kind, listen in sockets.items()}
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets}, "h": {"do": ["serve"]}})
    first = s.started("a")
    equal(s.actor("h")["state"], "waiting", "the handler")
    all_answered(s, "a", come(box, addresses), first)
    s.ctl_ok("stop", "a")
    equal(s.actor("h")["state"], "waiting", "the handler, as nobody came")
    waiting = come(box, addresses)
    all_answered(s, "h", waiting, s.started("h"))
    s.ctl_ok("start", "a")
    second = s.started("a", 2)
    s.wait_for("h", state="waiting")
    all_answered(s, "a", come(box, addresses), second)
    equal(s.actor("h")["restarts"], 0, "the handler's restarts")
    equal(letters(s), 0, "dead letters")


@test("a handler across the death of a guardian: started, and put to rest, by the next one")
def handler_crash(box):
    listen, address = mailbox(box, "unix")
    s = box.supd({"a": {"do": ["serve"], "sockets": {
        "box": {"listen": listen, "while_down": {"handler": "/user/h"}}}},
                  "h": {"do": ["serve"]}})
    s.started("a")
    s.ctl_ok("stop", "a")
    s.crash()
    equal(ask(address), s.started("h"), "who answered")
    s.crash()
    equal(ask(address), s.started("h"), "who answered after the crash")
    s.ctl_ok("start", "a")
    s.wait_for("h", state="waiting")
    equal(ask(address), s.started("a", 2), "who answered in the end")


@test("a handler of the wrong kind is an error of the file, with a sentence")
def handler_errors(box):
    def with_handler(handler, **others):
        return {"a": {"command": ["/bin/true"], "sockets": {"x": {
            "listen": "tcp:127.0.0.1:0", "while_down": {"handler": handler}}}}, **others}

    true = {"command": ["/bin/true"]}
    for children, part in (
            (with_handler("sory", sorry=true), "did you mean `/user/sorry`"),
            (with_handler("a"), "is down itself"),
            (with_handler("s", s={"children": {}}), "is a supervisor"),
            (with_handler("b", b={"command": ["/bin/true"], "sockets": {"y": {
                "listen": "tcp:127.0.0.1:0", "while_down": {"handler": "c"}}}}, c=true),
             "has a handler itself")):
        code, text = check_file(box, children)
        equal(code, 78, "the exit status")
        check(part in text, lambda text=text, part=part: f"`{part}` is not in {text}")
    equal(check_file(box, with_handler("b", b=true))[0], 0, "a good one")


# ---- started by a client -------------------------------------------------------------------


@test("start_on: connect waits, counts as ready, and starts for the first of every kind")
def on_connect(box):
    children, made = {}, {}
    for kind in KINDS:
        name = kind.replace("-", "_")
        listen, made[name] = mailbox(box, kind)
        children[name] = {"do": ["serve"], "start_on": "connect", "sockets": {"box": listen}}
    children["last"] = {}
    s = box.supd(children)
    s.started("last")
    for kind in KINDS:
        name = kind.replace("-", "_")
        actor = s.actor(name)
        equal((actor["state"], actor["ready"], actor["pid"]), ("waiting", True, None), name)
        equal(s.ctl("wait", name, "--for", "ready").code, 0, "wait --for ready")
        has(s.ctl("explain", name).out, "waiting for a client", "what explain says")
        has(s.ctl("status", name).out, "waits for +a client", "what status says")
        client = Client(box, kind, made[name])
        answered(s, name, kind, client, s.started(name))
        s.wait_for(name, state="running")


@test("several clients before it has started start it once, and all are served")
def started_once(box):
    path = box.path("lazy.sock")
    s = box.supd({"a": {"do": ["serve"], "start_on": "connect",
                        "sockets": {"box": f"unix:{path}", "other": f"tcp:127.0.0.1:{free_port()}"}}})
    answers, thread = clients(path, 30)
    pid = s.started("a")
    thread.join()
    equal({int(answer.split()[1]) for answer in answers}, {pid}, "who answered")
    equal(len(s.seen("started", "a")), 1, "starts")


@test("an actor that a client started is restarted when it fails, and waits when it has ended")
def lives_on(box):
    path = box.path("lazy.sock")
    s = box.supd({"a": {"do": ["serve"], "start_on": "connect", "sockets": {"box": f"unix:{path}"}}})
    equal(ask(path), s.started("a"), "who answered first")
    s.tell("a", "exit=1")
    second = s.started("a", 2)
    equal(s.wait_for("a", state="running")["restarts"], 1, "restarts")
    equal(ask(path), second, "who answered after the failure")
    s.tell("a", "exit=0")
    equal(s.wait_for("a", state="waiting")["restarts"], 1, "restarts after the end")
    equal(ask(path), s.started("a", 3), "who answered after the end")


@test("a stopped actor is not started by a client, which waits until it is started by hand")
def stays_stopped(box):
    path = box.path("lazy.sock")
    s = box.supd({"a": {"do": ["serve"], "start_on": "connect", "sockets": {"box": f"unix:{path}"}}})
    s.ctl_ok("stop", "a")
    answers, thread = clients(path, 2)
    s.crash()
    equal(s.actor("a")["state"], "stopped", "the state")
    s.ctl_ok("start", "a")
    pid = s.started("a")
    thread.join()
    equal([int(answer.split()[1]) for answer in answers], [pid] * 2, "who answered")


@test("an actor that fails to start for a client is paced by its backoff, the client waits")
def fails_first(box):
    path = box.path("lazy.sock")
    s = box.supd({"a": {"do": [f"?{box.path('broken')}:exit=1", "serve"], "start_on": "connect",
                        "backoff": {"min": "200ms", "jitter": 0},
                        "sockets": {"box": f"unix:{path}"}}})
    with open(box.path("broken"), "w", encoding="utf8"):
        pass
    answers, thread = clients(path, 1)
    s.event("backoff", "a", count=2)
    os.unlink(box.path("broken"))
    thread.join()
    equal(int(answers[0].split()[1]), s.actor("a")["pid"], "who answered")


@test("start_on: connect across the death of a guardian: a client before, one meanwhile, one after")
def lazy_crash(box):
    paths = {name: box.path(f"{name}.sock") for name in ("a", "b", "c")}
    s = box.supd({name: {"do": ["serve"], "start_on": "connect",
                         "sockets": {"box": f"unix:{path}"}} for name, path in paths.items()})
    old = s.guardian()
    os.kill(old, signal.SIGSTOP)
    first = clients(paths["a"], 1)
    os.kill(old, signal.SIGKILL)
    second = clients(paths["b"], 1)
    s.caller = None
    for (answers, thread), name in ((first, "a"), (second, "b")):
        pid = s.started(name)
        thread.join()
        equal(int(answers[0].split()[1]), pid, f"who answered for {name}")
    equal(ask(paths["c"]), s.started("c"), "who answered for c")


@test("start_on: connect without sockets is an error of the file")
def lazy_without(box):
    code, text = check_file(box, {"a": {"command": ["/bin/true"], "start_on": "connect"}})
    equal(code, 78, "the exit status")
    check("start_on" in text and "sockets" in text, text)


# ---- other configurations ------------------------------------------------------------------


@test("an apply that adds, removes and renames sockets of other actors refuses no client")
def applied(box):
    paths = [box.path(f"{n}.sock") for n in range(4)]
    tree = {"a": {"do": ["serve"], "sockets": {"box": f"unix:{paths[0]}"}},
            "b": {"do": ["serve"], "sockets": {"one": f"unix:{paths[1]}",
                                               "two": f"unix:{paths[2]}"}}}
    s = box.supd(tree)
    pid, other = s.started("a"), s.started("b")
    s.ctl_ok("stop", "b")
    answers, thread = clients(paths[1], 3)
    tree["b"]["sockets"] = {"renamed": f"unix:{paths[1]}", "new": f"unix:{paths[3]}"}
    s.write(tree)
    s.ctl_ok("apply")
    equal(ask(paths[0]), pid, "who answered for a")
    check(not os.path.exists(paths[2]), "the socket that is gone has a file")
    again = s.started("b", 2)
    check(again != other, "the same process")
    thread.join()
    equal([int(answer.split()[1]) for answer in answers], [again] * 3, "who answered for b")
    equal(ask(paths[3]), again, "who answered at the new one")


@test("an apply that changes what becomes of clients, or the mode, leaves the process alone")
def applied_in_place(box):
    path = box.path("a.sock")
    tree = {"a": {"do": ["serve"], "sockets": {"box": f"unix:{path}"}}}
    s = box.supd(tree)
    pid = s.started("a")
    tree["a"]["sockets"] = {"box": {"listen": f"unix:{path}", "while_down": "refuse",
                                    "mode": "0600", "backlog": 7}}
    s.write(tree)
    s.ctl_ok("apply")
    equal(s.actor("a")["pid"], pid, "the process")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "the mode")
    touched = os.stat(path).st_ctime_ns
    tree["b"] = {}
    s.write(tree)
    s.ctl_ok("apply")
    equal(os.stat(path).st_ctime_ns, touched, "the time at which its file was changed last")
    s.ctl_ok("stop", "a")
    equal(Client(box, "unix", path, b"").hear(), b"", "what the client got")
    tree["a"]["sockets"]["box"]["while_down"] = "queue"
    s.write(tree)
    s.ctl_ok("apply")
    answers, thread = clients(path, 1)
    s.ctl_ok("start", "a")
    thread.join()
    equal(int(answers[0].split()[1]), s.started("a", 2), "who answered")


@test("an apply that has it start at boot starts it, and the other way round it goes on")
def applied_start(box):
    path = box.path("a.sock")
    tree = {"a": {"do": ["serve"], "start_on": "connect", "sockets": {"box": f"unix:{path}"}}}
    s = box.supd(tree)
    equal(s.actor("a")["state"], "waiting", "the state")
    tree["a"]["start_on"] = "boot"
    s.write(tree)
    s.ctl_ok("apply")
    pid = s.started("a")
    tree["a"]["start_on"] = "connect"
    s.write(tree)
    s.ctl_ok("apply")
    equal(s.actor("a")["pid"], pid, "the process")


@test("actors that are added have their sockets, one for each, until they are deleted")
def added(box):
    s = box.supd({"s": {"children": {}}}, templates={
        "web": {"command": [PROBE, box.dir, "${actor.name}", "serve"], "backoff": "none",
                "sockets": {"box": f"unix:{box.dir}/${{actor.name}}.sock"}},
        "lazy": {"command": [PROBE, box.dir, "${actor.name}", "serve"],
                 "start_on": "connect",
                 "sockets": {"box": f"unix:{box.dir}/${{actor.name}}.sock"}}})
    for name, template in (("x", "web"), ("y", "web"), ("z", "lazy")):
        s.ctl_ok("add", f"/user/s/{name}", "--use", template)
    pids = {name: s.started(name) for name in ("x", "y")}
    for name, pid in pids.items():
        equal(ask(box.path(f"{name}.sock")), pid, f"who answered for {name}")
    s.ctl_ok("stop", "/user/s/x")
    answers, thread = clients(box.path("x.sock"), 2)
    s.crash()
    equal(ask(box.path("z.sock")), s.started("z"), "who started for a client")
    s.ctl_ok("start", "/user/s/x")
    again = s.started("x", 2)
    thread.join()
    equal([int(answer.split()[1]) for answer in answers], [again] * 2, "who answered for x")
    s.ctl_ok("stop", "/user/s/y")
    s.ctl_ok("delete", "/user/s/y")
    s.until(lambda: not os.path.exists(box.path("y.sock")), "the socket to be gone")
    s.ctl_ok("add", "/user/s/y", "--use", "web")
    equal(ask(box.path("y.sock")), s.started("y", 2), "who answered for the second y")
    s.stop()
    for name in ("x", "y", "z"):
        check(not os.path.exists(box.path(f"{name}.sock")), f"{name} left its file")


@test("an actor is not added when its address is taken, and leaves nothing")
def not_added(box):
    path = box.path("a.sock")
    s = box.supd({"a": {"do": ["serve"], "sockets": {"box": f"unix:{path}"}}}, templates={
        "web": {"command": ["/bin/sleep", "100"],
                "sockets": {"free": f"unix:{box.path('free.sock')}", "taken": f"unix:{path}"}}})
    pid = s.started("a")
    result = s.ctl("add", "b", "--use", "web")
    check(result.code != 0 and path in result.err, f"{result}")
    check(s.gone("b"), "it is there")
    check(not os.path.exists(box.path("free.sock")), "its other socket is there")
    equal(ask(path), pid, "who answered")


# ---- sockets that supd was started with ----------------------------------------------------

GIVES = """
import os, socket, sys
names, made = [], []
for at in sys.argv[1].split(","):
    name, kind, where = at.split("=")
    if kind == "tcp":
        made.append(socket.socket())
        made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made[-1].bind(("127.0.0.1", int(where)))
    else:
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].bind(where)
    made[-1].listen(64)
    names.append(name)
high = [os.dup(one.fileno()) for one in made]
high = [os.dup2(fd, 50 + i) for i, fd in enumerate(high)]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
os.closerange(3 + len(high), 100)
os.environ.update(LISTEN_FDS=str(len(high)), LISTEN_PID=str(os.getpid()),
                  LISTEN_FDNAMES=":".join(names))
os.execv(sys.argv[2], sys.argv[2:])
"""


@test("sockets that supd was started with are used by their name, or their address, and kept")
def given(box):
    port, other, path = free_port(), free_port(), box.path("given.sock")
    tree = {"a": {"do": ["report", "serve"], "sockets": {"http": f"tcp:127.0.0.1:{other}"}},
            "b": {"do": ["serve"], "start_on": "connect", "sockets": {"mine": f"unix:{path}"}}}
    s = box.supd(tree, command=[sys.executable, "-c", GIVES,
                                f"http=tcp={port},unknown=unix={path}", SUPD])
    equal(ask(("127.0.0.1", port)), s.started("a"), "who answered by name")
    equal(ask(path), s.started("b"), "who answered by address")
    equal(Report(s).environ["LISTEN_FDNAMES"], "http", "the names")
    with socket.socket() as client:
        check(client.connect_ex(("127.0.0.1", other)) != 0, "the address of the file is open, too")
    s.crash()
    s.tell("a", "exit=1")
    equal(ask(("127.0.0.1", port)), s.started("a", 2), "who answered after a crash")
    del tree["b"]
    s.write(tree)
    s.ctl_ok("apply")
    check(os.path.exists(path), "the file of a socket that is not supd's was taken away")
    tree["c"] = {"do": ["serve"], "sockets": {"unknown": "unix:" + box.path("no.sock")}}
    s.write(tree)
    s.ctl_ok("apply")
    equal(ask(path), s.started("c"), "who answered after an apply")
    s.stop()
    check(os.path.exists(path), "the file was taken away in the end")


# ---- what is wrong with a file -------------------------------------------------------------


@test("a mailbox that cannot be is an error of the file, with a sentence")
def errors(box):
    def one(socket_):
        return {"a": {"command": ["/bin/true"], "sockets": {"x": socket_}}}

    for children, part in (
            (one("udp:127.0.0.1"), "udp:ADDRESS:PORT"),
            (one("pipe:/x"), "unix-seqpacket:PATH"),
            (one({"listen": "udp:*:53", "backlog": 5}), "a udp socket has none"),
            (one({"listen": "udp:*:53", "mode": "0600"}), "a udp port has none"),
            (one({"listen": "fifo:/tmp/x", "while_down": {"reply": "no"}}), "fifo"),
            (one({"listen": "tcp:*:80", "while_down": {"reply": ""}}), "bytes"),
            (one({"listen": "tcp:*:80", "while_down": {"reply": "x" * 9000}}), "8192"),
            (one({"listen": "tcp:*:80", "while_down": {}}), "`handler`"),
            (one({"listen": "tcp:*:80", "while_down": {"reply": "a", "handler": "b"}}), "both"),
            (one({"listen": "tcp:*:80", "while_down": "refused"}), "did you mean `refuse`"),
            (one({"listen": "tcp:*:80", "rate": "0/s"}), "1/s"),
            (one({"listen": "tcp:*:80", "rate": "5"}), "100/s"),
            ({"a": {"command": ["/bin/true"], "sockets": {"x": "tcp:*:80"}},
              "b": {"command": ["/bin/true"], "sockets": {"x": "tcp:127.0.0.1:80"}}},
             "`tcp:127.0.0.1:80` is taken by `/user/a`"),
            ({"a": {"command": ["/bin/true"], "sockets": {"x": "udp:[0:0::1]:80"}},
              "b": {"command": ["/bin/true"], "sockets": {"x": "udp:[::1]:80"}}},
             "`udp:[::1]:80` is taken by `/user/a`")):
        code, text = check_file(box, children)
        equal(code, 78, f"the exit status for {children}")
        check(part in text, lambda text=text, part=part: f"`{part}` is not in {text}")
    code, text = check_file(box, {"a": {"command": ["/bin/true"], "sockets": {
        "four": "tcp:0.0.0.0:80", "six": "tcp:[::]:80", "udp": "udp:*:80"}}})
    equal(code, 0, f"a good one: {text}")


@test("told to end in the midst of its start supd leaves no file of a socket behind", timeout=60)
def early_end(box):
    d = box.path("sockets")
    os.mkdir(d)
    s = box.supd({f"a{i}": {"sockets": {"s": f"unix:{d}/{i:03}"}} for i in range(200)}, wait=False)
    s.until(lambda: os.path.exists(d + "/100"), "half of the sockets")
    s.signal(signal.SIGTERM)
    s.ended(0)
    equal(os.listdir(d), [], "what is left")


if __name__ == "__main__":
    main()
