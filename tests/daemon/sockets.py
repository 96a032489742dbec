#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Sockets that outlive their process: passed on, queued at, never refused."""
import os
import pwd
import signal
import socket
import stat
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import Skip, check, equal, has, main, run, test, SUPD
from mailbox_clients import ask, clients, free_port


def report(box, s, name, what):
    pid = s.line("R", name).pid
    with open(box.path(f"report.{name}.{pid}/{what}"), encoding="utf8") as text:
        return pid, text.read()


@test("the sockets are descriptors from 3 on, in the order of the file, with their names")
def passed(box):
    port = free_port()
    s = box.supd({"a": {"do": ["report"], "sockets": {
        "web": f"tcp:127.0.0.1:{port}", "ctl": f"unix:{box.path('ctl.sock')}"}}})
    pid, environ = report(box, s, "a", "environ")
    environ = dict(pair.partition("=")[::2] for pair in environ.split("\0"))
    equal((environ["LISTEN_FDS"], environ["LISTEN_PID"], environ["LISTEN_FDNAMES"]),
          ("2", str(pid), "web:ctl"), "the variables")
    fds = dict(line.split(" ", 1) for line in report(box, s, "a", "fds")[1].splitlines())
    equal(sorted(fds, key=int), ["0", "1", "2", "3", "4"], "the descriptors")
    check(fds["3"].startswith("socket:") and fds["4"].startswith("socket:"), f"they are {fds}")


@test("an actor without sockets has no LISTEN_ variables")
def none(box):
    s = box.supd({"a": {"do": ["report"]}}, env={"LISTEN_FDS": "1", "LISTEN_PID": "1"})
    check("LISTEN_" not in report(box, s, "a", "environ")[1], "LISTEN_ variables")


@test("tcp and unix clients are served")
def served(box):
    port, path = free_port(), box.path("web.sock")
    s = box.supd({"a": {"do": ["serve"], "sockets": {
        "web": f"tcp:127.0.0.1:{port}", "local": f"unix:{path}"}}})
    pid = s.started("a")
    equal(ask(("127.0.0.1", port)), pid, "who answered on tcp")
    equal(ask(path), pid, "who answered on unix")


@test("the sockets are open before anything is started")
def early(box):
    path = box.path("late.sock")
    s = box.supd({"first": {"ready": "notify"},
                  "late": {"do": ["serve"], "sockets": {"web": f"unix:{path}"}}}, wait=False)
    s.started("first")
    answers, thread = clients(path, 3)
    s.tell("first", "ready")
    pid = s.started("late")
    thread.join()
    equal([int(answer.split()[1]) for answer in answers], [pid] * 3, "who answered")


@test("clients queue while the process is down and are served by its successor (149, B-12)")
def queued(box):
    path, port = box.path("web.sock"), free_port()
    s = box.supd({"a": {"do": ["serve"], "backoff": {"min": "500ms", "jitter": 0},
                        "sockets": {"local": f"unix:{path}",
                                    "web": f"tcp:127.0.0.1:{port}"}}})
    first = s.started("a")
    s.tell("a", "exit=1")
    s.wait_for("a", state="backoff")
    waiting = [clients(address, 10) for address in (path, ("127.0.0.1", port))]
    second = s.started("a", 2)
    check(first != second, "the same process")
    for answers, thread in waiting:
        thread.join()
        equal([int(answer.split()[1]) for answer in answers], [second] * 10, "who answered")


@test("170 three ask at once, the second request kills: it alone is lost, and done once")
def asked_to_crash(box):
    path = box.path("web.sock")
    s = box.supd({"a": {"do": ["talk"], "backoff": "none",
                        "sockets": {"local": f"unix:{path}"}}})
    first = s.started("a")
    os.kill(first, signal.SIGSTOP)
    waiting = []
    for request in (b"ok\n", b"crash\n", b"ok\n"):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        client.connect(path)
        client.sendall(request)
        waiting.append(client)
    os.kill(first, signal.SIGCONT)
    answers = []
    for client in waiting:
        with client:
            try:
                answers.append(client.recv(200))
            except ConnectionResetError:
                answers.append(b"")
    second = s.started("a", 2)
    equal(answers, [f"a {first}\n".encode(), b"", f"a {second}\n".encode()], "the answers")
    s.line("a", "a", 2)
    equal([line.pid for line in s.lines("a", "a")], [first, second], "who did one")
    equal(s.wait_for("a", state="running")["restarts"], 1, "restarts")
    equal(len(s.seen("failure", "a")), 1, "failures")


@test("no client is refused while the process crashes after each few requests")
def none_refused(box):
    path = box.path("web.sock")
    s = box.supd({"a": {"do": ["serve=7"], "backoff": "none",
                        "sockets": {"local": f"unix:{path}"}}})
    s.started("a")
    problems, pids = [], set()

    def customer():
        for _ in range(50):
            try:
                pids.add(ask(path))
            except Exception as problem:  # pylint: disable=broad-except
                problems.append(repr(problem))

    threads = [threading.Thread(target=customer) for _ in range(4)]
    for thread in threads:
        thread.start()
    s.until(lambda: not any(thread.is_alive() for thread in threads), "the customers", 25)
    equal([one for one in problems if "Refused" in one], [], "clients that were refused")
    check(len(pids) >= 200 // 7, f"only {len(pids)} processes answered")


@test("clients of a stopped actor are served when it is started")
def stopped(box):
    path = box.path("web.sock")
    s = box.supd({"a": {"do": ["serve"], "sockets": {"local": f"unix:{path}"}}})
    s.started("a")
    s.ctl_ok("stop", "a")
    answers, thread = clients(path, 2)
    s.ctl_ok("start", "a")
    pid = s.started("a", 2)
    thread.join()
    equal([int(answer.split()[1]) for answer in answers], [pid] * 2, "who answered")


@test("a unix socket has the mode and owner of the file, and is removed at the end")
def mode(box):
    path = box.path("web.sock")
    spec = {"listen": f"unix:{path}", "mode": "0640", "backlog": 5}
    if os.geteuid() == 0:
        spec["user"] = "nobody"
    s = box.supd({"a": {"sockets": {"local": spec}}})
    s.started("a")
    status = os.stat(path)
    check(stat.S_ISSOCK(status.st_mode), "no socket")
    equal(stat.S_IMODE(status.st_mode), 0o640, "the mode")
    if os.geteuid() == 0:
        equal(status.st_uid, pwd.getpwnam("nobody").pw_uid, "the owner")
    s.stop()
    check(not os.path.exists(path), "the socket's file is still there")


@test("a dead socket's file is replaced")
def dead(box):
    path = box.path("web.sock")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    s = box.supd({"a": {"do": ["serve"], "sockets": {"local": f"unix:{path}"}}})
    equal(ask(path), s.started("a"), "who answered")


@test("DECISIONS 62 an address in use fails the start of its actor only, until it is free")
def in_use(box):
    with socket.socket() as other, socket.socket() as second, socket.socket() as third:
        for one in (other, second, third):
            one.bind(("127.0.0.1", 0))
            one.listen()
        port, *more = (one.getsockname()[1] for one in (other, second, third))
        backoff = {"min": "50ms", "max": "50ms"}
        web = {"do": ["serve"], "sockets": {"web": f"tcp:127.0.0.1:{port}"}, "backoff": backoff}
        group = {"group": {"strategy": "one_for_all", "I": "9999/1s", "children": {
            "d": {"sockets": {"web": f"tcp:127.0.0.1:{more[0]}"}, "backoff": backoff}}}}
        s = box.supd({"a": web, "b": {}, "c": {}, **group}, wait=False)
        s.started("c")
        failure = s.event("failure", "a", 2)
        equal((failure["cause"]["kind"], failure["cause"]["errno"], failure["step"]),
              ("exec", "EADDRINUSE", "open socket"), "the failure")
        with open(s.stderr, encoding="utf8") as text:
            has(text.read(), f"/user/a: socket web: .*{port}", "the log")
        has(s.ctl_ok("explain", "a").out, rf"`sockets\.web`, tcp:127.0.0.1 port {port}, at \S+:\d+",
            "where the address is")
        s.event("failure", "group/d", 2)
        s.ctl_ok("stop", "group/d")
        s.crash()
        # Apply works while addresses are in use, unless a new actor has a socket at one of them.
        s.write({"a": web, "b": {}, "c": {}, "e": {}, **group})
        s.ctl_ok("apply")
        s.started("e")
        s.write({"a": web, "b": {}, "f": {"sockets": {"web": f"tcp:127.0.0.1:{more[1]}"}}})
        check(s.ctl("apply").code == 1, "applied without its socket")
    pid = s.started("a")
    with socket.create_connection(("127.0.0.1", port)) as client:
        equal(int(client.recv(100).split()[1]), pid, "who answered")


@test("DECISIONS 62 an actor that waits for clients at an address in use is called when that is free")
def in_use_on_demand(box):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        s = box.supd({"a": {"do": ["serve"], "sockets": {"web": f"tcp:127.0.0.1:{port}"},
                            "start_on": "connect", "backoff": {"min": "50ms", "max": "50ms"}},
                      "b": {}}, wait=False)
        s.started("b")
        s.event("failure", "a", 2)
    s.until(lambda: s.actor("a")["state"] in ("waiting", "running"), "the socket")
    with socket.create_connection(("127.0.0.1", port)) as client:
        equal(client.recv(100).split()[1], str(s.started("a")).encode(), "who answered")


@test("an IPv6 address is written in brackets")
def ipv6(box):
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            port = probe.getsockname()[1]
    except OSError:
        raise Skip("no IPv6 here") from None
    s = box.supd({"a": {"do": ["serve"], "sockets": {"web": f"tcp:[::1]:{port}"}}})
    pid = s.started("a")
    with socket.create_connection(("::1", port)) as client:
        equal(int(client.recv(100).split()[1]), pid, "who answered")


@test("two actors may not have the same address")
def twice(box):
    path = box.path("web.sock")
    file = box.file("twice.yaml", "children:\n"
                    f"  a: {{command: [/bin/true], sockets: {{x: 'unix:{path}'}}}}\n"
                    f"  b: {{command: [/bin/true], sockets: {{x: 'unix:{path}'}}}}\n")
    code = run(SUPD, "-c", file, "-r", box.path("run")).code
    check(code in (71, 78), f"exit status {code}")


if __name__ == "__main__":
    main()
