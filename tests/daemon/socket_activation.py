#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A web server of a few lines on a socket of supd's, and customers that never wait.

Whatever happens to the server or to supd, no customer is refused, and only a customer that
was being served when the server was killed loses its answer.
"""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos
from harness import TOP_SRC, Failure, check, equal, has, main, test
from probe_target import free_port
from web_clients import Customers, Cut, answer, ask, get

SERVER = [sys.executable, "-B", os.path.join(TOP_SRC, "tests/lib/web_server.py")]
ROUNDS = 5


def serve(box, **keys):
    """A supd with the server `web`, ready; the address is a unix socket's."""
    box.file("greeting", "hello\n")
    address = box.path("web.sock")
    s = Chaos(box, {"web": server(box, address, **keys)})
    s.wait_for("web", state="running", ready=True)
    return s, address


def server(box, address, **keys):
    return {"command": SERVER, "sockets": {"web": f"unix:{address}"}, "ready": "notify",
            "shutdown": "60s", **keys,
            "environment": {"GREETING": box.path("greeting"), "TELL": box.path("log"),
                            **keys.get("environment", {})}}


def at_the_gate(box, s, address, name="gate"):
    """A request that is being served, until the gate is opened."""
    os.mkfifo(box.path(name))
    count = s.counts["g", "web"] + 1
    client = ask(address, "/gate" + box.path(name))
    s.line("g", "web", count)
    return client


def open_gate(box, s, name="gate"):
    def opened():
        try:
            os.close(os.open(box.path(name), os.O_WRONLY | os.O_NONBLOCK))
            return True
        except OSError:  # the server said that it is at the gate, and is about to open the fifo
            return False

    s.until(opened, f"somebody at the {name}")


def lost(client):
    """Its answer never comes."""
    try:
        text = answer(client)
    except (Cut, ConnectionResetError):
        return
    raise Failure(f"who was being served was answered: {text}")


def satisfied(s, customers, cut=0):
    """No customer was refused, and at most `cut` customers lost their answer."""
    customers.leave(s)
    equal(customers.refused, [], "refused")
    check(len(customers.cut) <= cut, lambda: f"more than {cut} lost: {customers.cut}")
    check(customers.served(), "nobody was served")


def generations(s):
    return [event["pid"] for event in s.seen("started", "web")]


@test("an actor with sockets counts as started at READY, and earlier clients wait")
def started(box):
    box.file("greeting", "hello\n")
    address = box.path("web.sock")
    s = Chaos(box, {"first": {"ready": "notify"}, "web": server(box, address)}, wait=False)
    s.started("first")
    customers = Customers(address)
    early = ask(address)
    s.tell("first", "ready")
    pid = s.wait_for("web", state="running", ready=True)["pid"]
    equal(answer(early), f"{pid} hello\n", "the answer to who came too early")
    customers.more(s)
    satisfied(s, customers)


@test("killed: the request being served is lost, a waiting client is served by the next", timeout=60)
def killed(box):
    s, address = serve(box)
    for n in range(1, ROUNDS + 1):
        pid = s.actor("web")["pid"]
        inside = at_the_gate(box, s, address, f"gate{n}")
        os.kill(pid, signal.SIGSTOP)
        outside = [ask(address) for _ in range(5)]
        os.kill(pid, signal.SIGKILL)
        lost(inside)
        answers = {answer(client) for client in outside}
        new = s.wait_for("web", generation=n + 1, ready=True)["pid"]
        equal(answers, {f"{new} hello\n"}, "the answers to who waited")


@test("killed again and again under load: one request is lost at a kill, no client is refused",
      timeout=90)
def killed_under_load(box):
    s, address = serve(box, environment={"ONE_BY_ONE": "1"})
    customers = Customers(address, 8)
    for n in range(1, 2 * ROUNDS + 1):
        customers.more(s, 20)
        os.kill(s.wait_for("web", generation=n, ready=True)["pid"], signal.SIGKILL)
    customers.more(s)
    satisfied(s, customers, 2 * ROUNDS)


@test("drained: a stop waits for the client being served, a later client waits for the start")
def drained(box):
    s, address = serve(box)
    pid = s.actor("web")["pid"]
    inside = at_the_gate(box, s, address)
    s.ctl_ok("stop", "--no-wait", "web")
    s.line("d", "web")
    later = ask(address)
    open_gate(box, s)
    equal(answer(inside), f"{pid} hello\n", "the answer to who was being served")
    s.wait_for("web", state="stopped")
    equal(s.event("exited", "web")["cause"]["kind"], "normal", "how it ended")
    s.ctl_ok("start", "web")
    new = s.actor("web")["pid"]
    equal(answer(later), f"{new} hello\n", "the answer to who came later")


@test("restarted by hand under load: no request is lost", timeout=60)
def restarted(box):
    s, address = serve(box)
    customers = Customers(address)
    for _ in range(ROUNDS):
        customers.more(s)
        s.ctl_ok("restart", "web")
    customers.more(s)
    satisfied(s, customers)
    check(len(set(generations(s))) == ROUNDS + 1, "it was not restarted")


@test("reloaded under load: the same process, and the client being served is served")
def reloaded(box):
    s, address = serve(box)
    customers = Customers(address)
    pid = s.actor("web")["pid"]
    inside = at_the_gate(box, s, address)
    for word in ("good evening", "good night"):
        customers.more(s)
        box.file("greeting", word + "\n")
        s.ctl_ok("signal", "web", "reload")
        s.until(lambda w=word: get(address) == f"{pid} {w}\n", f"the greeting {word}")
    open_gate(box, s)
    equal(answer(inside), f"{pid} good night\n", "the answer to who was being served")
    satisfied(s, customers)


@test("another configuration under load: what is left alone and what is restarted", timeout=60)
def applied(box):
    s, address = serve(box)
    customers = Customers(address)
    customers.more(s)
    pid = s.actor("web")["pid"]
    s.write({"web": server(box, address, restart="transient"), "other": {}})
    s.ctl_ok("apply")
    s.started("other")
    equal(s.actor("web")["pid"], pid, "the pid after a change that needs no restart")
    s.write({"web": server(box, address, environment={"NEW": "1"})})
    s.ctl_ok("apply")
    check(s.wait_for("web", generation=2, ready=True)["pid"] != pid, "the same process")
    customers.more(s)
    satisfied(s, customers)


def undisturbed(box, disturb):
    """Whatever is done to supd under load, the server and its clients do not notice."""
    s, address = serve(box)
    customers = Customers(address)
    pid, inside = s.actor("web")["pid"], at_the_gate(box, s, address)
    for _ in range(ROUNDS):
        customers.more(s)
        disturb(s)
    customers.more(s)
    open_gate(box, s)
    equal(answer(inside), f"{pid} hello\n", "the answer to who was being served")
    satisfied(s, customers)
    equal(generations(s), [pid], "processes")
    s.consistent()


@test("supd upgraded under load: the same process, and nothing is lost", timeout=60)
def upgraded(box):
    undisturbed(box, lambda s: s.ctl_ok("upgrade"))


@test("guardians killed under load: the same process, and nothing is lost", timeout=60)
def guardians_killed(box):
    undisturbed(box, lambda s: s.crash())


@test("server and guardian killed together: a waiting client is served by the next", timeout=60)
def both_killed(box):
    s, address = serve(box, environment={"ONE_BY_ONE": "1"})
    customers = Customers(address)
    for n in range(1, ROUNDS + 1):
        customers.more(s)
        pid, guardian = s.actor("web")["pid"], s.guardian()
        for one in (guardian, pid) if n % 2 else (pid, guardian):
            os.kill(one, signal.SIGKILL)
        s.successor(guardian)
        s.wait_for("web", generation=n + 1, ready=True)
    customers.more(s)
    satisfied(s, customers, ROUNDS)
    s.consistent()


@test("an http probe finds it ready and well, at the socket that supd holds")
def probed(box):
    port = free_port()
    box.file("greeting", "hello\n")
    url = f"http://127.0.0.1:{port}/"
    spec = server(box, "", ready={"http": url}, health={"http": url, "interval": "50ms",
                                                        "timeout": "500ms"})
    spec["environment"]["ONE_BY_ONE"] = "1"
    spec["sockets"] = {"web": f"tcp:127.0.0.1:{port}"}
    s = Chaos(box, {"web": spec})
    pid = s.wait_for("web", state="running", ready=True)["pid"]
    customers = Customers(("127.0.0.1", port))
    customers.more(s, 100)
    stuck = at_the_gate(box, s, ("127.0.0.1", port))
    cause = s.event("failure", "web", timeout=30)["cause"]
    equal(cause["kind"], "health", "why it failed")
    open_gate(box, s)
    equal(answer(stuck), f"{pid} hello\n", "the answer to who was being served")
    s.wait_for("web", generation=2, ready=True)
    customers.more(s)
    satisfied(s, customers)
    has(s.ctl_ok("explain", "web").out, "health", "explain")


if __name__ == "__main__":
    main()
