# SPDX-License-Identifier: ISC
"""What tests of mailboxes share: clients of every kind, and actors that serve them."""
import json
import os
import socket

from harness import SUPD, check, equal, run, Failure
from mailbox_clients import free_port

KINDS = ("tcp", "udp", "unix", "unix-dgram", "unix-seqpacket", "fifo")


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


def check_file(box, text):
    """Exit status and output of --check for a file with these children."""
    file = box.file("checked.yaml", json.dumps({"children": text}))
    result = run(SUPD, "--check", "-c", file)
    return result.code, result.err + result.out
