# SPDX-License-Identifier: ISC
"""Clients of a web server that never wait between two requests, and what became of each."""
import collections
import socket
import threading

PATIENCE_S = 60


def family_of(address):
    return socket.AF_UNIX if isinstance(address, str) else socket.AF_INET


def ask(address, path="/"):
    """A request that was sent: the connection, still to be read."""
    client = socket.socket(family_of(address))
    try:
        client.settimeout(PATIENCE_S)
        client.connect(address)
        client.sendall(f"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
    except OSError:
        client.close()
        raise
    return client


class Cut(Exception):
    """The connection ended before the answer did."""


def answer(client):
    """Everything that is still to come on the connection, without the head."""
    with client:
        text = b""
        while more := client.recv(1 << 16):
            text += more
    head, _, body = text.partition(b"\r\n\r\n")
    length = [int(line.split()[1]) for line in head.split(b"\r\n")
              if line.lower().startswith(b"content-length:")]
    if not length or len(body) != length[0]:
        raise Cut(f"{len(body)} bytes of {length}, after {head!r}")
    return body.decode()


def get(address, path="/"):
    return answer(ask(address, path))


class Customers:
    """So many clients, each with one request after the other until leave()."""

    def __init__(self, address, number=4):
        self.address = address
        self.answers = collections.Counter()
        self.cut, self.refused = [], []
        self.leaving = False
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.shop, daemon=True)
                        for _ in range(number)]
        for thread in self.threads:
            thread.start()

    def shop(self):
        while not self.leaving:
            client = None
            try:
                client = ask(self.address)
                text = answer(client)
            except (Cut, BrokenPipeError, ConnectionResetError) as problem:
                with self.lock:
                    self.cut.append(repr(problem))
            except OSError as problem:
                with self.lock:
                    self.refused.append(repr(problem))
            else:
                with self.lock:
                    self.answers[text] += 1

    def served(self):
        with self.lock:
            return sum(self.answers.values())

    def more(self, s, number=10):
        """Wait until so many more have been served."""
        wanted = self.served() + number
        s.until(lambda: self.served() >= wanted, "customers to be served", 20)

    def leave(self, s):
        """Send no new requests, and wait for the answers to the earlier requests."""
        self.leaving = True
        s.until(lambda: not any(thread.is_alive() for thread in self.threads),
                "the last customers to be served", 20)
