#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Clients of /metrics that are slow, silent, many, or speak no HTTP."""
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import INSTRUMENTED
from harness import check, comment, equal, has, main, test
from openmetrics import connect, fetch, parse, rest


@test("/healthz says whether all is well, as is-healthy does")
def health(box):
    s = box.supd({"sup": {"children": {"a": {"restart": "never"}, "b": {
        "health": {"exec": ["test", "-e", box.path("well")], "interval": "20ms",
                   "failures": 1000}}}}}, metrics={"listen": "unix:" + box.path("m")})
    ask = "GET /healthz HTTP/1.1\r\n\r\n"
    s.started("b")
    s.until(lambda: s.actor("sup/b")["health"] == "bad", "a bad health check")
    equal((s.ctl("is-healthy").code, s.ctl("is-healthy", "sup/a").code), (3, 0), "is-healthy")
    status, _, text = fetch(box.path("m"), ask)
    equal((status, "supctl status --failed" in text), (503, True), "the answer")
    open(box.path("well"), "w").close()
    s.until(lambda: s.ctl("is-healthy").code == 0, "health")
    s.until(lambda: fetch(box.path("m"), ask)[::2] == (200, "healthy\n"), "the answer 200")
    s.tell("a", "exit=3")
    s.wait_for("sup/a", state="failed")
    equal([s.ctl("is-healthy", *names).code for names in ((), ("/user",), ("sup",), ("sup/b",))],
          [3, 3, 3, 0], "is-healthy")
    equal([s.actor(name)["degraded"] for name in ("/user", "sup", "sup/b")],
          [True, True, False], "degraded")
    s.until(lambda: fetch(box.path("m"), ask)[0] == 503, "the answer 503")


@test("a client that does not ask for /metrics in HTTP is told so")
def refused(box):
    s = box.supd({"a": {}}, metrics={"listen": "unix:" + box.path("m")})
    for request, status in (("GET / HTTP/1.0\r\n\r\n", 404),
                            ("GET /metricsx HTTP/1.1\r\n\r\n", 404),
                            ("POST /metrics HTTP/1.1\r\n\r\n", 405),
                            ("GET /metrics\r\n\r\n", 400), ("\n\n", 400),
                            ("GET /metrics HTTP/2.0\r\n\r\n", 400),
                            ("GET /metrics HTTP/1.1\r\nx: " + "y" * 9000, 431),
                            ("GET /metrics?x=1 HTTP/1.1\r\n\r\n", 200),
                            ("GET /metrics HTTP/1.0\n\n", 200)):
        equal(fetch(box.path("m"), request)[0], status, f"the answer to {request[:30]!r}")
    status, headers, text = fetch(box.path("m"), "HEAD /metrics HTTP/1.1\r\n\r\n")
    equal((status, text), (200, ""), "the answer to HEAD")
    check(int(headers["Content-Length"]) > 100, "the length of what was not sent")
    s.ctl_ok("ping")


@test("a request in pieces, and a request from a half-closed connection, are answered")
def pieces(box):
    s = box.supd({"a": {}}, metrics={"listen": "unix:" + box.path("m")})
    with connect(box.path("m")) as client:
        for byte in b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n":
            client.sendall(bytes([byte]))
        client.shutdown(socket.SHUT_WR)
        parse(rest(client).partition(b"\r\n\r\n")[2].decode())
    s.ctl_ok("ping")


@test("clients that say nothing, or read nothing, hold up neither supd nor each other",
      timeout=90)
def silent(box):
    s = box.supd({f"a{i}": {"enabled": False} for i in range(300)},
                 metrics={"listen": "unix:" + box.path("m")})
    deaf = connect(box.path("m"))
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    mute = [connect(box.path("m")) for _ in range(40)]
    s.ctl_ok("ping")
    # After a while the helper drops silent clients, and serves the clients behind them.
    parse(fetch(box.path("m"))[2])
    for client in (deaf, *mute):
        client.close()
    s.ctl_ok("status")


def resident_kib(pid, kind):
    """Memory of a process, of that kind (RssAnon, RssShmem)."""
    with open(f"/proc/{pid}/status", encoding="utf8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(kind + ":"))


@test("each client that sends 300 requests at once is answered once; twenty that read no answer take bounded "
      "memory and hold up no other client", timeout=90)
def pipelined(box):
    s = box.supd({"a": {}, **{f"d{i}": {"enabled": False} for i in range(300)}},
                 metrics={"listen": "unix:" + box.path("m")})
    text_kib = len(fetch(box.path("m"))[2]) // 1024 + 1
    guardian, helper = s.guardian(), s.actor("/system/metrics")["pid"]
    before = [resident_kib(pid, "RssAnon") for pid in (guardian, helper)]
    requests = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 300
    deaf = [connect(box.path("m")) for _ in range(20)]
    for client in deaf:
        client.sendall(requests)
    for client in deaf:
        equal(client.recv(8, socket.MSG_PEEK), b"HTTP/1.1", "what is there to be read")
    with connect(box.path("m")) as client:
        client.sendall(requests)
        head, _, text = rest(client).decode().partition("\r\n\r\n")
    has(head, "^HTTP/1.1 200 OK\r\n", "the only answer")
    parse(text)
    s.ctl_ok("ping")
    s.ctl_ok("restart", "a")
    s.started("a", 2)
    grown = [resident_kib(pid, "RssAnon") - kib for pid, kib in zip((guardian, helper), before)]
    shared = resident_kib(helper, "RssShmem")
    comment(f"{text_kib} KiB of figures; guardian and helper grow by {grown} KiB, the helper shares {shared} KiB")
    # For each waiting client the helper holds the request, and one text of the guardian.
    check(INSTRUMENTED or max(grown) <= 1024, f"they grow by {grown} KiB")
    check(shared <= (len(deaf) + 1) * text_kib + 1024, f"the helper shares {shared} KiB")
    equal((s.guardian(), s.actor("/system/metrics")["pid"]), (guardian, helper), "the processes")
    for client in deaf:
        client.close()


def half_asking(address):
    """One that has to wait until it is accepted, and may have to go at any time then."""
    client = connect(address, timeout=None)
    try:
        client.sendall(b"GET /metrics HTTP/1.1\r\n")
    except BrokenPipeError:
        pass
    return client


@test("silent clients make room for later clients, again and again")
def crowded_out(box):
    s = box.supd({"a": {}}, metrics={"listen": "unix:" + box.path("m")})
    guardian = s.guardian()
    idle = []
    for _ in range(4):
        # More than there are places; each of them has to be idle for a second.
        idle += [half_asking(box.path("m")) for _ in range(100)]
        with connect(box.path("m"), timeout=None) as scraper:
            scraper.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            parse(rest(scraper).partition(b"\r\n\r\n")[2].decode())
    for client in idle:
        client.close()
    equal(s.guardian(), guardian, "the guardian")


@test("many at once are all served")
def crowd(box):
    s = box.supd({f"a{i}": {"enabled": False} for i in range(50)},
                 metrics={"listen": "unix:" + box.path("m")})
    got = []
    threads = [threading.Thread(target=lambda: got.append(fetch(box.path("m"))))
               for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal([status for status, _, _ in got], [200] * 60, "the answers")
    for _, _, text in got:
        equal(len([key for key in parse(text) if key.startswith("supd_actor_up{")]), 51,
              "actors")
    s.ctl_ok("ping")


if __name__ == "__main__":
    main()
