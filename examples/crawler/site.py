# SPDX-License-Identifier: ISC
"""The site: a small web server on a socket that it did not open.

supd passes the listening socket as descriptor 3 and keeps it when this process dies.
Every page takes a moment, as pages do.
"""
import os
import random
import socketserver
import time
from http.server import BaseHTTPRequestHandler

import common

LISTEN_FD = 3
WORDS = ("supervisor child restart escalate strategy backoff intensity mailbox "
         "directive failure decider incarnation").split()


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        number = common.page_number(self.path)
        if number is None or number >= common.PAGES:
            self.send_error(404)
            return
        time.sleep(random.uniform(0.15, 0.45))
        body = self.render(number).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def render(self, number):
        """Each page links to the next ones of a tree, and home: all can be found."""
        rng = random.Random(number)
        links = [n for n in range(number * 4 + 1, number * 4 + 5) if n < common.PAGES]
        links = "".join(f'<a href="{common.page_path(n)}">{n}</a>\n' for n in links + [0])
        poison = common.POISON_MARK if number == common.POISON else ""
        words = " ".join(rng.choices(WORDS, k=60))
        return f"<html><body>{poison}<p>{words}</p>\n{links}</body></html>\n"

    def log_message(self, *_args):
        pass


class Site(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Page, bind_and_activate=False)
        self.socket.close()
        self.socket = common.passed_socket(LISTEN_FD)


if __name__ == "__main__":
    Site().serve_forever()
    os._exit(0)
