#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A small server as users write it: http.server on a socket that supd hands over.

GET /            its pid, and the text of the file GREETING when it last read that
GET /gate/NAME   the same, once the test has opened the fifo NAME for writing

It says READY=1 when it serves, ends on TERM when all that it has accepted is answered,
and reads GREETING again on HUP.  With ONE_BY_ONE it serves one client at a time.  In the
words of probe.c it writes into the fifo TELL: S that it is there, g that a client is at a
gate, d that it accepts no more, x that it ends.
"""
import http.server
import os
import signal
import socket
import socketserver
import threading
import time

GREETING = os.environ.get("GREETING", os.devnull)


def tell(kind, more=""):
    with open(os.environ["TELL"], "a", encoding="utf8") as fifo:
        fifo.write(f"{time.clock_gettime_ns(time.CLOCK_MONOTONIC)} {kind} "
                   f"{os.environ['SUPD_PATH'].rpartition('/')[2]} {os.getpid()} {more}\n")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        if self.path.startswith("/gate/"):
            tell("g")
            with open(self.path.removeprefix("/gate"), "rb"):
                pass
        body = f"{os.getpid()} {self.server.greeting}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


class OneByOne(http.server.HTTPServer):
    greeting = ""

    def __init__(self):
        super().__init__(("", 0), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = socket.socket(fileno=3)

    def read_greeting(self, *_):
        with open(GREETING, encoding="utf8") as text:
            self.greeting = text.read().strip()

    def end_when(self, told):
        os.read(told, 1)
        self.shutdown()
        tell("d")


class AtOnce(socketserver.ThreadingMixIn, OneByOne):
    daemon_threads = False


def say(text):
    if "NOTIFY_SOCKET" in os.environ:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(text, os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))


def main():
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ["LISTEN_FDS"] != "1":
        raise SystemExit("there is no socket for us")
    server = (OneByOne if "ONE_BY_ONE" in os.environ else AtOnce)()
    tell("S")
    server.read_greeting()
    # shutdown() waits for the loop that the signal interrupts, so that a thread calls it;
    # one that the handler started would wait for locks that the loop may hold.
    told, end = os.pipe()
    threading.Thread(target=server.end_when, args=(told,), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: os.write(end, b"x"))
    signal.signal(signal.SIGHUP, server.read_greeting)
    say(b"READY=1")
    server.serve_forever(0.02)
    server.server_close()
    tell("x", "0")


if __name__ == "__main__":
    main()
