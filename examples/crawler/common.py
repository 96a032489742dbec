# SPDX-License-Identifier: ISC
"""What the processes of the crawler have in common."""
import json
import os
import socket

PAGES = 300            # how large the site is
POISON = 77            # a page that kills whoever reads it
POISON_MARK = "<!-- poison -->"
TRIES = 4              # a page is handed out once and sent again three times


def page_path(number):
    return f"/page/{number}"


def page_number(path):
    head, _, tail = path.rpartition("/")
    return int(tail) if head == "/page" and tail.isdigit() else None


def run_path(name):
    return os.path.join(os.environ["CRAWLER_RUN"], name)


def passed_socket(fd):
    """A listening socket that the supervisor opened and passed on."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        raise SystemExit("no socket was passed to this process")
    return socket.socket(fileno=fd)


def connect(name):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(run_path(name))
    return sock


def tell_supervisor(text):
    """sd_notify(3): one datagram to the address in NOTIFY_SOCKET."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(text.encode(), address)


def send(sock, message):
    """One JSON object a line."""
    sock.sendall(json.dumps(message).encode() + b"\n")
