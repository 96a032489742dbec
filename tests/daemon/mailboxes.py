#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Mailboxes: sockets and fifos that outlive the process that serves them, of every kind."""
import os
import signal
import socket
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import outage, Chaos
from harness import PROBE, SUPD, check, equal, has, main, needs_net_admin, test
from mailbox import (Client, KINDS, all_answered, answered, check_file, come, letters, mailbox,
                     mailboxes)
from mailbox_clients import ask, clients, free_port
from probe_report import Report


@test("every kind of mailbox has its place among the descriptors, and is served")
def kinds(box):
    sockets, addresses = mailboxes(box)
    s = box.supd({"a": {"do": ["report", "serve"], "sockets": sockets}})
    seen = Report(s)
    equal(seen.environ["LISTEN_FDNAMES"], ":".join(KINDS), "the names")
    equal(sorted(seen.fds, key=int), [str(fd) for fd in range(3 + len(KINDS))],
          "the descriptors")
    all_answered(s, "a", come(box, addresses), seen.pid)


@test("A-30 a client that came while the process was down is served by the next, of every kind")
def queued(box):
    sockets, addresses = mailboxes(box)
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets,
                        "backoff": {"min": "400ms", "jitter": 0}}})
    first = s.started("a")
    s.tell("a", "exit=1")
    s.wait_for("a", state="backoff")
    waiting = come(box, addresses)
    second = s.started("a", 2)
    check(first != second, "the same process")
    all_answered(s, "a", waiting, second)
    equal(letters(s), 0, "dead letters")


@test("a guardian that dies: clients that came before, meanwhile and after are served")
def crashed(box):
    sockets, addresses = mailboxes(box)
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets}})
    s.started("a")
    s.ctl_ok("stop", "a")
    waiting = come(box, addresses)
    fifo = addresses.pop("fifo")
    old = s.guardian()
    os.kill(old, signal.SIGSTOP)
    waiting += come(box, addresses)
    os.kill(old, signal.SIGKILL)
    s.caller = None
    waiting += come(box, addresses)
    s.ctl_ok("start", "a")
    check(os.path.exists(fifo), "the fifo is gone")
    all_answered(s, "a", waiting, s.started("a", 2))


@test("an upgrade: clients that came before are served, of every kind")
def upgraded(box):
    sockets, addresses = mailboxes(box)
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets},
                  "lazy": {"do": ["serve"], "start_on": "connect",
                           "sockets": {"box": f"unix:{box.path('lazy.sock')}"}}})
    s.started("a")
    s.ctl_ok("stop", "a")
    waiting = come(box, addresses)
    s.ctl_ok("upgrade")
    s.caller = None
    s.ctl_ok("start", "a")
    all_answered(s, "a", waiting, s.started("a", 2))
    equal(ask(box.path("lazy.sock")), s.started("lazy"), "who started for a client")


@test("the file of a fifo has its mode, and all files are gone in the end")
def files(box):
    sockets, addresses = mailboxes(box, ("fifo", "unix-dgram", "unix-seqpacket"))
    sockets["fifo"] = {"listen": sockets["fifo"], "mode": "0620"}
    s = box.supd({"a": {"sockets": sockets}})
    s.started("a")
    status = os.stat(addresses["fifo"])
    check(stat.S_ISFIFO(status.st_mode), "no fifo")
    equal(stat.S_IMODE(status.st_mode), 0o620, "the mode")
    s.stop()
    for address in addresses.values():
        check(not os.path.exists(address), f"{address} is still there")


@test("a file that the process has removed is there again when it has ended, with its queue")
def removed(box):
    kinds_ = ("unix", "fifo", "unix-dgram", "unix-seqpacket")
    sockets, addresses = mailboxes(box, kinds_)
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets,
                        "backoff": {"min": "400ms", "jitter": 0}}})
    first = s.started("a")
    os.kill(first, signal.SIGSTOP)
    early = {kind: Client(box, kind, addresses[kind]) for kind in kinds_}
    for address in addresses.values():
        os.unlink(address)
    os.kill(first, signal.SIGKILL)
    s.wait_for("a", state="backoff")
    late = {kind: Client(box, kind, addresses[kind]) for kind in kinds_}
    second = s.started("a", 2)
    for kind in kinds_:
        for client in (early, late):
            answered(s, "a", kind, client[kind], second)
    s.stop()
    left = [name for name in os.listdir(box.dir) if name.startswith((".box", "box"))]
    equal(left, [], "files that are left")


@test("a file that is removed while there is no guardian is there again with the next one")
def removed_meanwhile(box):
    needs_net_admin(box)
    path = box.path("web.sock")
    s = Chaos(box, {"a": {"do": ["serve"], "sockets": {"web": f"unix:{path}"}}})
    pid = s.started("a")
    outage(s, lambda: os.unlink(path))
    answered(s, "a", "unix", Client(box, "unix", path), pid)


@test("mode and owner are given to a socket, never to what a link in its place points to")
def no_link(box):
    path, victim = box.path("web.sock"), box.file("victim")
    os.chmod(victim, 0o600)
    spec = {"listen": f"unix:{path}", "mode": "0600"}
    s = box.supd({"a": {"sockets": {"web": spec}}})
    s.started("a")
    os.unlink(path)
    os.symlink(victim, path)
    s.write({"a": {"sockets": {"web": {**spec, "mode": "0666"}}}})
    s.ctl_ok("apply")
    equal(stat.S_IMODE(os.stat(victim).st_mode), 0o600, "the mode of what is linked")
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), f"mode and owner: {path} is another file by now: its clients do not find the socket",
            "what supd says")


@test("what a dead owner left is replaced, a fifo is taken as it is")
def left_over(box):
    sockets, addresses = mailboxes(box, ("fifo", "unix-dgram", "unix-seqpacket"))
    os.mkfifo(addresses["fifo"], 0o600)
    for kind, type_ in (("unix-dgram", socket.SOCK_DGRAM),
                        ("unix-seqpacket", socket.SOCK_SEQPACKET)):
        with socket.socket(socket.AF_UNIX, type_) as left:
            left.bind(addresses[kind])
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets}})
    pid = s.started("a")
    equal(stat.S_IMODE(os.stat(addresses["fifo"]).st_mode), 0o666, "the mode")
    all_answered(s, "a", come(box, addresses), pid)


@test("a socket file of another living process is left alone, and named")
def alive(box):
    for kind in ("unix-dgram", "unix-seqpacket", "fifo"):
        listen, address = mailbox(box, kind)
        if kind == "fifo":
            os.mkfifo(address)
            other = os.open(address, os.O_RDONLY | os.O_NONBLOCK)
        else:
            other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if kind == "unix-dgram"
                                  else socket.SOCK_SEQPACKET)
            other.bind(address)
            if kind != "unix-dgram":
                other.listen()
        s = box.supd({"a": {"sockets": {"x": listen}}}, name=f"of-{kind}", wait=False)
        equal(s.event("failure", "a")["step"], "open socket", "what failed")
        check(os.path.exists(address), f"{address} was taken away")
        with open(s.stderr, encoding="utf8") as text:
            check(address in text.read(), "the sentence lacks the path")
        if kind == "fifo":
            os.close(other)
        else:
            other.close()


@test("an apply that adds, removes and renames sockets of other actors refuses no client")
def applied(box):
    paths = [box.path(f"{n}.sock") for n in range(4)]
    tree = {"a": {"do": ["serve"], "sockets": {"box": f"unix:{paths[0]}"}},
            "b": {"do": ["serve"], "sockets": {"one": f"unix:{paths[1]}",
                                               "two": f"unix:{paths[2]}"}}}
    s = box.supd(tree)
    pid, other = s.started("a"), s.started("b")
    s.ctl_ok("stop", "b")
    answers, thread = clients(paths[1], 3)
    tree["b"]["sockets"] = {"renamed": f"unix:{paths[1]}", "new": f"unix:{paths[3]}"}
    s.write(tree)
    s.ctl_ok("apply")
    equal(ask(paths[0]), pid, "who answered for a")
    check(not os.path.exists(paths[2]), "the socket that is gone has a file")
    again = s.started("b", 2)
    check(again != other, "the same process")
    thread.join()
    equal([int(answer.split()[1]) for answer in answers], [again] * 3, "who answered for b")
    equal(ask(paths[3]), again, "who answered at the new one")


@test("an apply that changes what becomes of clients, or the mode, leaves the process alone")
def applied_in_place(box):
    path = box.path("a.sock")
    tree = {"a": {"do": ["serve"], "sockets": {"box": f"unix:{path}"}}}
    s = box.supd(tree)
    pid = s.started("a")
    tree["a"]["sockets"] = {"box": {"listen": f"unix:{path}", "while_down": "refuse",
                                    "mode": "0600", "backlog": 7}}
    s.write(tree)
    s.ctl_ok("apply")
    equal(s.actor("a")["pid"], pid, "the process")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "the mode")
    touched = os.stat(path).st_ctime_ns
    tree["b"] = {}
    s.write(tree)
    s.ctl_ok("apply")
    equal(os.stat(path).st_ctime_ns, touched, "the time at which its file was changed last")
    s.ctl_ok("stop", "a")
    equal(Client(box, "unix", path, b"").hear(), b"", "what the client got")
    tree["a"]["sockets"]["box"]["while_down"] = "queue"
    s.write(tree)
    s.ctl_ok("apply")
    answers, thread = clients(path, 1)
    s.ctl_ok("start", "a")
    thread.join()
    equal(int(answers[0].split()[1]), s.started("a", 2), "who answered")


@test("an apply that has it start at boot starts it, and the other way round it goes on")
def applied_start(box):
    path = box.path("a.sock")
    tree = {"a": {"do": ["serve"], "start_on": "connect", "sockets": {"box": f"unix:{path}"}}}
    s = box.supd(tree)
    equal(s.actor("a")["state"], "waiting", "the state")
    tree["a"]["start_on"] = "boot"
    s.write(tree)
    s.ctl_ok("apply")
    pid = s.started("a")
    tree["a"]["start_on"] = "connect"
    s.write(tree)
    s.ctl_ok("apply")
    equal(s.actor("a")["pid"], pid, "the process")


@test("actors that are added have their sockets, one for each, until they are deleted")
def added(box):
    s = box.supd({"s": {"children": {}}}, templates={
        "web": {"command": [PROBE, box.dir, "${actor.name}", "serve"], "backoff": "none",
                "sockets": {"box": f"unix:{box.dir}/${{actor.name}}.sock"}},
        "lazy": {"command": [PROBE, box.dir, "${actor.name}", "serve"],
                 "start_on": "connect",
                 "sockets": {"box": f"unix:{box.dir}/${{actor.name}}.sock"}}})
    for name, template in (("x", "web"), ("y", "web"), ("z", "lazy")):
        s.ctl_ok("add", f"/user/s/{name}", "--use", template)
    pids = {name: s.started(name) for name in ("x", "y")}
    for name, pid in pids.items():
        equal(ask(box.path(f"{name}.sock")), pid, f"who answered for {name}")
    s.ctl_ok("stop", "/user/s/x")
    answers, thread = clients(box.path("x.sock"), 2)
    s.crash()
    equal(ask(box.path("z.sock")), s.started("z"), "who started for a client")
    s.ctl_ok("start", "/user/s/x")
    again = s.started("x", 2)
    thread.join()
    equal([int(answer.split()[1]) for answer in answers], [again] * 2, "who answered for x")
    s.ctl_ok("stop", "/user/s/y")
    s.ctl_ok("delete", "/user/s/y")
    s.until(lambda: not os.path.exists(box.path("y.sock")), "the socket to be gone")
    s.ctl_ok("add", "/user/s/y", "--use", "web")
    equal(ask(box.path("y.sock")), s.started("y", 2), "who answered for the second y")
    s.stop()
    for name in ("x", "y", "z"):
        check(not os.path.exists(box.path(f"{name}.sock")), f"{name} left its file")


@test("an actor is not added when its address is taken, and leaves nothing")
def not_added(box):
    path = box.path("a.sock")
    s = box.supd({"a": {"do": ["serve"], "sockets": {"box": f"unix:{path}"}}}, templates={
        "web": {"command": ["/bin/sleep", "100"],
                "sockets": {"free": f"unix:{box.path('free.sock')}", "taken": f"unix:{path}"}}})
    pid = s.started("a")
    result = s.ctl("add", "b", "--use", "web")
    check(result.code != 0 and path in result.err, f"{result}")
    check(s.gone("b"), "it is there")
    check(not os.path.exists(box.path("free.sock")), "its other socket is there")
    equal(ask(path), pid, "who answered")


GIVES = """
import os, socket, sys
names, made = [], []
for at in sys.argv[1].split(","):
    name, kind, where = at.split("=")
    if kind == "tcp":
        made.append(socket.socket())
        made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made[-1].bind(("127.0.0.1", int(where)))
    else:
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].bind(where)
    made[-1].listen(64)
    names.append(name)
high = [os.dup(one.fileno()) for one in made]
high = [os.dup2(fd, 50 + i) for i, fd in enumerate(high)]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
os.closerange(3 + len(high), 100)
os.environ.update(LISTEN_FDS=str(len(high)), LISTEN_PID=str(os.getpid()),
                  LISTEN_FDNAMES=":".join(names))
os.execv(sys.argv[2], sys.argv[2:])
"""


@test("sockets that supd was started with are used by their name, or their address, and kept")
def given(box):
    port, other, path = free_port(), free_port(), box.path("given.sock")
    tree = {"a": {"do": ["report", "serve"], "sockets": {"http": f"tcp:127.0.0.1:{other}"}},
            "b": {"do": ["serve"], "start_on": "connect", "sockets": {"mine": f"unix:{path}"}}}
    s = box.supd(tree, command=[sys.executable, "-c", GIVES,
                                f"http=tcp={port},unknown=unix={path}", SUPD])
    equal(ask(("127.0.0.1", port)), s.started("a"), "who answered by name")
    equal(ask(path), s.started("b"), "who answered by address")
    equal(Report(s).environ["LISTEN_FDNAMES"], "http", "the names")
    with socket.socket() as client:
        check(client.connect_ex(("127.0.0.1", other)) != 0, "the address of the file is open, too")
    s.crash()
    s.tell("a", "exit=1")
    equal(ask(("127.0.0.1", port)), s.started("a", 2), "who answered after a crash")
    del tree["b"]
    s.write(tree)
    s.ctl_ok("apply")
    check(os.path.exists(path), "the file of a socket that is not supd's was taken away")
    tree["c"] = {"do": ["serve"], "sockets": {"unknown": "unix:" + box.path("no.sock")}}
    s.write(tree)
    s.ctl_ok("apply")
    equal(ask(path), s.started("c"), "who answered after an apply")
    s.stop()
    check(os.path.exists(path), "the file was taken away in the end")


@test("a mailbox that cannot be is an error of the file, with a sentence")
def errors(box):
    def one(socket_):
        return {"a": {"command": ["/bin/true"], "sockets": {"x": socket_}}}

    for children, part in (
            (one("udp:127.0.0.1"), "udp:ADDRESS:PORT"),
            (one("pipe:/x"), "unix-seqpacket:PATH"),
            (one({"listen": "udp:*:53", "backlog": 5}), "a udp socket has none"),
            (one({"listen": "udp:*:53", "mode": "0600"}), "a udp port has none"),
            (one({"listen": "fifo:/tmp/x", "while_down": {"reply": "no"}}), "fifo"),
            (one({"listen": "tcp:*:80", "while_down": {"reply": ""}}), "bytes"),
            (one({"listen": "tcp:*:80", "while_down": {"reply": "x" * 9000}}), "8192"),
            (one({"listen": "tcp:*:80", "while_down": {}}), "`handler`"),
            (one({"listen": "tcp:*:80", "while_down": {"reply": "a", "handler": "b"}}), "both"),
            (one({"listen": "tcp:*:80", "while_down": "refused"}), "did you mean `refuse`"),
            (one({"listen": "tcp:*:80", "rate": "0/s"}), "1/s"),
            (one({"listen": "tcp:*:80", "rate": "5"}), "100/s"),
            ({"a": {"command": ["/bin/true"], "sockets": {"x": "tcp:*:80"}},
              "b": {"command": ["/bin/true"], "sockets": {"x": "tcp:127.0.0.1:80"}}},
             "`tcp:127.0.0.1:80` is taken by `/user/a`"),
            ({"a": {"command": ["/bin/true"], "sockets": {"x": "udp:[0:0::1]:80"}},
              "b": {"command": ["/bin/true"], "sockets": {"x": "udp:[::1]:80"}}},
             "`udp:[::1]:80` is taken by `/user/a`")):
        code, text = check_file(box, children)
        equal(code, 78, f"the exit status for {children}")
        check(part in text, lambda text=text, part=part: f"`{part}` is not in {text}")
    code, text = check_file(box, {"a": {"command": ["/bin/true"], "sockets": {
        "four": "tcp:0.0.0.0:80", "six": "tcp:[::]:80", "udp": "udp:*:80"}}})
    equal(code, 0, f"a good one: {text}")


@test("told to end in the midst of its start supd leaves no file of a socket behind", timeout=60)
def early_end(box):
    d = box.path("sockets")
    os.mkdir(d)
    s = box.supd({f"a{i}": {"sockets": {"s": f"unix:{d}/{i:03}"}} for i in range(200)}, wait=False)
    s.until(lambda: os.path.exists(d + "/100"), "half of the sockets")
    s.signal(signal.SIGTERM)
    s.ended(0)
    equal(os.listdir(d), [], "what is left")


if __name__ == "__main__":
    main()
