# SPDX-License-Identifier: ISC
"""A server for probes: answers as it is told, and remembers the questions."""
import os
import socket
import threading


class Answering:
    """Listens at once, on a port of its own or at `path`.

    `say` is what a question gets, in order, the last of them for ever: bytes, or None,
    which says nothing and keeps the connection.  A connection that asks nothing is none
    of the questions.
    """

    def __init__(self, box, *say, path=None, speechless=False):
        self.listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.listener.bind(path or ("127.0.0.1", 0))
        self.listener.listen(1024)
        self.say = list(say) or [status(200)]
        self.speechless = speechless
        self.asked, self.accepted, self.kept = [], 0, []
        self.closed = False
        box.undo.append(self.close)
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def address(self):
        return f"127.0.0.1:{self.port}"

    def close(self):
        self.closed = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for one in self.kept:
            one.close()

    def let_go(self):
        """End all connections, and from now on every one at once."""
        self.say, self.speechless = [b""], False
        while self.kept:
            self.kept.pop().close()

    def serve(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.speechless:
                self.kept.append(client)
                continue
            try:
                self.answer(client)
            except OSError:
                client.close()

    def answer(self, client):
        question = b""
        while b"\r\n\r\n" not in question:
            more = client.recv(4096)
            if not more:
                client.close()
                return
            question += more
        text = self.say[0] if len(self.say) == 1 else self.say.pop(0)
        self.asked.append(question.split()[1].decode())
        if text is None:
            self.kept.append(client)
            return
        client.sendall(text)
        client.close()


def status(code):
    return f"HTTP/1.1 {code} x\r\nContent-Length: 0\r\n\r\n".encode()


def free_port():
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def script(box, text, name="told"):
    """A command; "@" in its text is a file of the box."""
    return ["/bin/sh", "-c", text.replace("@", box.path(name))]


def told(box, name="told"):
    """What commands wrote into a file of the box."""
    path = box.path(name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf8") as text:
        return text.read().splitlines()
