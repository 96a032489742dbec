#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd's helper processes: without rights, replaced when they die or hang, never in the way."""
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, has_no_rights, main, test

DAC_OVERRIDE = 1 << 1  # to connect to a socket, whatever the modes of its path


def pid_of(s, name):
    """The process of a helper that was started when it was needed."""
    return s.until(lambda: s.actor(f"/system/{name}")["pid"], f"/system/{name}")


def refuser(box):
    """An actor, and the address where its clients are sent away while it is down."""
    address = box.path("box.sock")
    return {"a": {"do": ["serve"], "sockets": {
        "box": {"listen": f"unix:{address}", "while_down": "refuse"}}}}, address


def refusing(box):
    """The same in a supd, where it runs."""
    tree, address = refuser(box)
    s = box.supd(tree)
    s.started("a")
    return s, address


def come(address):
    """The answer to a client that sends nothing: the close could overtake a request."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(address)
        return client.recv(100)


@test("a helper is there only when it is needed, and has no rights")
def letters(box):
    # An actor that refuses may need it as soon as it is known, for it is not started yet.
    s = box.supd({"b": {}})
    equal(s.actor("/system/letters")["state"], "waiting", "before it is needed")
    tree, address = refuser(box)
    s.write(tree)
    s.ctl_ok("apply")
    s.ctl_ok("stop", "a")
    equal(come(address), b"", "what a client got")
    pid = pid_of(s, "letters")
    has_no_rights(pid, DAC_OVERRIDE)
    check(not any("/system" in line for line in s.ctl_ok("status").out.splitlines()),
          "it is in the status")


@test("a helper that is killed is replaced: no event tells of it, no client is lost")
def killed(box):
    s, address = refusing(box)
    s.ctl_ok("stop", "a")
    for n in range(1, 6):
        equal(come(address), b"", "what a client got")
        equal(s.actor("a")["dead_letters"], n, "dead letters")
        old = pid_of(s, "letters")
        os.kill(old, signal.SIGKILL)
        s.until(lambda old=old: pid_of(s, "letters") != old, "the next one")
    check("/system" not in s.ctl_ok("events").out, "it is in the stream")


@test("a helper that hangs holds nothing back, and is killed and replaced after a while")
def hangs(box):
    s, address = refusing(box)
    s.ctl_ok("stop", "a")
    equal(come(address), b"", "what a client got")
    old = pid_of(s, "letters")
    os.kill(old, signal.SIGSTOP)
    s.ctl_ok("start", "a")
    pid = s.started("a", 2)
    # The actor gets the clients: the stopped helper takes none, now or when it goes on.
    has(come(address).decode(), str(pid), "who answers")
    os.kill(old, signal.SIGCONT)
    has(come(address).decode(), str(pid), "who answers")
    os.kill(old, signal.SIGSTOP)
    s.ctl_ok("stop", "a")
    equal(come(address), b"", "what a client got of the next one")
    check(pid_of(s, "letters") != old, "the same process")
    equal(s.actor("a")["dead_letters"], 2, "dead letters")


@test("helper processes end with their guardian, those that are stopped, too")
def crash(box):
    s, address = refusing(box)
    s.ctl_ok("stop", "a")
    equal(come(address), b"", "what a client got")
    for signo in (signal.SIGCONT, signal.SIGSTOP):
        old = pid_of(s, "letters")
        os.kill(old, signo)
        s.crash()
        equal(come(address), b"", "what a client got of the next one")
        check(pid_of(s, "letters") != old, "the same process")
        check(not os.path.exists(f"/proc/{old}/exe"), "the old one is there")
    equal(s.actor("a")["dead_letters"], 3, "dead letters")


if __name__ == "__main__":
    main()
