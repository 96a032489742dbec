#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The one actor of all samples: a state, a mailbox, and a word for each way to fail.

    act.py               as an actor: serves its mailbox, the socket that supd hands it
    act.py SOCKET WORD…  as its client: sends the words, prints the answer

get, set N, hello WORD   answered
exit N, sig N            the process ends, without an answer
raise NAME               it lives, and tells supd of a failure of this name
reset                    it tells supd that its work went well (BACKOFF_RESET=1)
"""
import os
import socket
import sys


def tell(text):
    """sd_notify(3): a datagram to the address in NOTIFY_SOCKET."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(text.encode(), os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))


class State:
    """A number: in the runtime directory, where there is one, so that a resume keeps it."""

    def __init__(self):
        directory = os.environ.get("RUNTIME_DIRECTORY")
        self.path = directory and os.path.join(directory, "state")
        self.value = "0"

    def get(self):
        if self.path and os.path.exists(self.path):
            with open(self.path, encoding="ascii") as file:
                return file.read()
        return self.value

    def set(self, value):
        self.value = value
        if self.path:
            with open(self.path, "w", encoding="ascii") as file:
                file.write(value)


def answer(state, words):
    verb, *rest = words or [""]
    if verb == "get":
        return state.get()
    if verb == "set":
        state.set(rest[0])
        return "ok"
    if verb == "hello":
        return " ".join(rest)
    if verb == "exit":
        os._exit(int(rest[0]))
    if verb == "sig":
        os.kill(os.getpid(), int(rest[0]))
    if verb == "raise":
        tell("X_SUPD_FAIL=" + rest[0])
        return "raised"
    if verb == "reset":
        tell("BACKOFF_RESET=1")
        return "ok"
    return "what is " + verb + "?"


def serve():
    state = State()
    mailbox = socket.socket(fileno=3)
    if "NOTIFY_SOCKET" in os.environ:
        tell("READY=1")
    while True:
        client, _ = mailbox.accept()
        with client:
            words = client.recv(4096).decode().split()
            client.sendall(answer(state, words).encode())


def ask(path, words):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(path)
        client.sendall(" ".join(words).encode())
        print(client.recv(4096).decode())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ask(sys.argv[1], sys.argv[2:])
    else:
        serve()
