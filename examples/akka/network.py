#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The two ends of the sample reliable-network.yaml, and a client.

    network.py unreliable     answers half of the packets; the others end it, and are lost
    network.py reliable TO    hands packets on one by one, and again until one is answered
    network.py send TO N      sends packets 1 to N, prints the answers
"""
import os
import random
import socket
import sys

TRIES = 20
LOST = 70


def ask(path, packet):
    """The answer; empty when the other end died with the packet."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(path)
        client.sendall(packet)
        try:
            return client.recv(4096)
        except ConnectionResetError:
            return b""


def packets():
    """What comes into the mailbox, which supd holds: it waits there while nobody is alive."""
    mailbox = socket.socket(fileno=3)
    while True:
        client, _ = mailbox.accept()
        with client:
            yield client, client.recv(4096)


def unreliable():
    for client, packet in packets():
        if random.random() < 0.5:
            os._exit(LOST)
        client.sendall(b"received " + packet)


def reliable(path):
    for client, packet in packets():
        answers = (ask(path, packet) for _ in range(TRIES))
        client.sendall(next(filter(None, answers), b"failed " + packet))


def send(path, count):
    for number in range(1, count + 1):
        print(ask(path, str(number).encode()).decode())


if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    if role == "unreliable":
        unreliable()
    elif role == "reliable":
        reliable(rest[0])
    else:
        send(rest[0], int(rest[1]))
