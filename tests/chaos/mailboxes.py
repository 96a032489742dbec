#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian dies while clients connect to the mailboxes of actors without a process."""
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, Killer
from harness import check, equal, main, test
from mailbox_clients import ask, clients
from parallel import at_every_call


def pids(s, name):
    return [event["pid"] for event in s.seen("started", name)]


def needed(box, n):
    """The first client starts actor `a`; `a` ends, and the next client starts a new process."""
    path = box.path("a.sock")
    s = Chaos(box, {"a": {"do": ["serve"], "start_on": "connect",
                          "sockets": {"box": f"unix:{path}"}}})
    killer = Killer(box, s.guardian(), n)
    first = ask(path)
    s.tell("a", "exit=0", first)
    answers, thread = clients(path, 3)
    thread.join()
    s.call("Stop", names=["/user/a"])
    stops = killer.end()
    s.caught_up()
    second = {int(answer.split()[1]) for answer in answers}
    equal(pids(s, "a"), [first, *second], "the processes")
    equal(s.actor("a")["restarts"], 0, "restarts")
    s.consistent()
    return stops


def refused(box, n):
    """Clients of one that is stopped; each sees the end, and is counted, but for one a kill."""
    path = box.path("a.sock")
    s = Chaos(box, {"a": {"do": ["serve"], "sockets": {
        "box": {"listen": f"unix:{path}", "while_down": "refuse"}}}})
    s.started("a")
    s.call("Stop", names=["/user/a"])
    killer = Killer(box, s.guardian(), n)
    for _ in range(4):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(path)
            equal(client.recv(10), b"", "what the client got")
    s.call("Start", names=["/user/a"])
    stops = killer.end()
    s.caught_up()
    counted = s.actor("a")["dead_letters"]
    check(4 - len(killer.killed()) <= counted <= 4, lambda: f"{counted} dead letters of 4")
    equal(ask(path), s.actor("a")["pid"], "who answered")
    s.consistent()
    return stops


def handled(box, n):
    """A handler that is started for a client, and put to rest when the other is back."""
    path = box.path("a.sock")
    s = Chaos(box, {"a": {"do": ["serve"], "sockets": {
        "box": {"listen": f"unix:{path}", "while_down": {"handler": "h"}}}},
        "h": {"do": ["serve"]}})
    s.started("a")
    killer = Killer(box, s.guardian(), n)
    s.call("Stop", names=["/user/a"])
    handler = ask(path)
    s.call("Start", names=["/user/a"])
    s.wait_for("h", state="waiting")
    stops = killer.end()
    s.caught_up()
    equal(pids(s, "h"), [handler], "the handler's processes")
    equal(ask(path), s.actor("a")["pid"], "who answered in the end")
    s.consistent()
    return stops


@test("a guardian killed at any system call on the way to a client: it is served, by one process",
      timeout=1800)
def at_need(_):
    at_every_call(needed, 15)


@test("a guardian killed at any system call of refusals: no client waits, one count is lost",
      timeout=1800)
def at_refusals(_):
    at_every_call(refused, 10)


@test("a guardian killed at any system call between an actor and its handler: both end as told",
      timeout=1800)
def at_handlers(_):
    at_every_call(handled, 20)


if __name__ == "__main__":
    main()
