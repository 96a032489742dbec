# SPDX-License-Identifier: ISC
"""Clients of the mailboxes of actors, which ask for the pid of the answering process."""
import socket
import threading

from harness import check


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(address):
    """Connect as a client; gives the pid of the process that answered."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as client:
        client.settimeout(20)
        client.connect(address)
        answer = client.recv(200)
        check(answer, "the connection was closed without an answer")
        return int(answer.split()[1])


def clients(address, count):
    """Clients that connect now and wait; gives the list in which their answers appear."""
    answers, waiting = [], []
    for _ in range(count):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        client = socket.socket(family)
        client.settimeout(20)
        client.connect(address)
        waiting.append(client)

    def collect():
        for client in waiting:
            with client:
                answers.append(client.recv(200))

    thread = threading.Thread(target=collect)
    thread.start()
    return answers, thread
