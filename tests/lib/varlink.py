# SPDX-License-Identifier: ISC
"""A Varlink client of a few lines, able to misbehave where a test wants it."""
import json
import socket

from harness import PATIENCE

INTERFACE = "io.supd.Control."
SERVICE = "org.varlink.service."
# A bound against hanging: an answer may take long, from a supd that is instrumented.
TIMEOUT = 10 * PATIENCE


class VarlinkError(Exception):
    def __init__(self, name, parameters):
        super().__init__(f"{name} {json.dumps(parameters)}")
        self.name = name.rpartition(".")[2]
        self.full_name = name
        self.parameters = parameters


class Closed(Exception):
    """The other end closed the connection."""


def message(method, parameters=None, **flags):
    """The bytes of one call; a method without a dot is one of io.supd.Control."""
    if "." not in method:
        method = INTERFACE + method
    body = {"method": method, "parameters": parameters or {}}
    body.update(flags)
    return json.dumps(body).encode() + b"\0"


class Varlink:
    def __init__(self, path, timeout=TIMEOUT, receive_buffer=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.bytes = b""
        self.closed = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.socket.close()

    def send(self, method, parameters=None, **flags):
        self.socket.sendall(message(method, parameters, **flags))

    def _take(self):
        raw, zero, rest = self.bytes.partition(b"\0")
        if not zero:
            return None
        self.bytes = rest
        return json.loads(raw)

    def receive(self):
        """The next whole message; raises Closed at the end of the connection."""
        while True:
            reply = self._take()
            if reply is not None:
                return reply
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:
                more = b""
            if not more:
                self.closed = True
                raise Closed()
            self.bytes += more

    def available(self):
        """All messages that are here by now, without waiting."""
        self.socket.setblocking(False)
        try:
            while not self.closed:
                more = self.socket.recv(1 << 18)
                self.closed = not more
                self.bytes += more
        except BlockingIOError:
            pass
        except ConnectionResetError:
            self.closed = True
        finally:
            self.socket.settimeout(TIMEOUT)
        *whole, self.bytes = self.bytes.split(b"\0")
        return [json.loads(raw) for raw in whole]

    def result(self):
        reply = self.receive()
        if "error" in reply:
            raise VarlinkError(reply["error"], reply.get("parameters", {}))
        return reply["parameters"]

    def call(self, method, parameters=None):
        self.send(method, parameters)
        return self.result()

    def stream(self, method, parameters=None):
        """Call with `more`; gives the parameters of each reply until the last one."""
        self.send(method, parameters, more=True)
        while True:
            reply = self.receive()
            if "error" in reply:
                raise VarlinkError(reply["error"], reply.get("parameters", {}))
            yield reply["parameters"]
            if not reply.get("continues"):
                return
