#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Figures in OpenMetrics, fetched by HTTP, by call and by supctl."""
import os
import re
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import INSTRUMENTED, Killer
from harness import (SUPCTL, SUPD, Skip, alive, check, comment, equal, has, has_no_rights, main,
                     run, test)
from varlink import Varlink

TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
UNITS = ("seconds", "bytes")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def log(s):
    with open(s.stderr, encoding="utf8") as text:
        return text.read()


def connect(address, timeout=20):
    if isinstance(address, int):
        client = socket.create_connection(("127.0.0.1", address), timeout)
    else:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(timeout)
        client.connect(address)
    return client


def rest(client):
    got = b""
    while piece := client.recv(65536):
        got += piece
    return got


def fetch(address, request="GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
    """Status, headers and text of an answer."""
    with connect(address) as client:
        client.sendall(request.encode())
        head, _, body = rest(client).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    equal(headers["Connection"], "close", "what becomes of the connection")
    return int(lines[0].split()[1]), headers, body.decode()


def parse(text):
    """The figures, checked against what OpenMetrics asks for."""
    lines = text.split("\n")
    equal(lines[-2:], ["# EOF", ""], "the end")
    types, figures, family, over = {}, {}, None, set()
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            over.add(family)
            _, _, family, kind = line.split(" ")
            check(family not in types, f"{family} is there twice")
            types[family] = kind
        elif line.startswith("# UNIT "):
            _, _, name, unit = line.split(" ")
            check(name == family and name.endswith("_" + unit), line)
        elif line.startswith("# HELP "):
            equal(line.split(" ")[2], family, "whom it is about")
        else:
            found = re.fullmatch(r'(\w+)(\{(?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+\})? '
                                 r"(\d+(?:\.\d+)?)", line)
            check(found, f"not a figure: {line!r}")
            suffix = {"counter": "_total", "info": "_info", "gauge": ""}[types[family]]
            equal(found[1], family + suffix, "the name of a figure")
            key = found[1] + (found[2] or "")
            check(key not in figures, f"{key} is there twice")
            figures[key] = float(found[3])
    for name in types:
        for unit in UNITS:
            check(not name.endswith(unit) or f"# UNIT {name} {unit}\n" in text, name)
    return figures


def of(name, path, label=""):
    above = path.rpartition("/")[0]
    above = f',supervisor="{above}"' if above else ""
    return f'{name}{{path="{path}"{above}{"," + label if label else ""}}}'


@test("figures of every actor are served at /metrics as OpenMetrics")
def served(box):
    port = free_port()
    s = box.supd({"a": {}, "g": {"children": {"b": {}}}, "d": {"enabled": False}},
                 metrics={"listen": f"tcp:127.0.0.1:{port}"})
    s.started("b")
    s.tell("a", "exit=1")
    s.started("a", 2)
    status, headers, text = fetch(port)
    equal((status, headers["Content-Type"]), (200, TYPE), "the answer")
    equal(int(headers["Content-Length"]), len(text.encode()), "its length")
    figures = parse(text)
    for name, path, value in (("supd_actor_up", "/user/a", 1), ("supd_actor_up", "/user/d", 0),
                              ("supd_actor_up", "/user/g", 1),
                              ("supd_actor_restarts_total", "/user/a", 1),
                              ("supd_actor_restarts_total", "/user/g/b", 0),
                              ("supd_actor_starts_total", "/user/a", 2),
                              ("supd_actor_processes", "/user/a", 1)):
        equal(figures[of(name, path)], value, f"{name} of {path}")
    check(figures[of("supd_actor_memory_bytes", "/user/a")] > 4096, "too little memory")
    check(figures[of("supd_actor_open_descriptors", "/user/a")] >= 3, "too few descriptors")
    check(of("supd_actor_cpu_seconds_total", "/user/a") in figures, "no time")
    check(of("supd_actor_uptime_seconds", "/user/d") not in figures, "the dead have lived")
    equal(figures['supd_actors{state="running"}'], 4, "running")
    equal(figures['supd_actors{state="stopped"}'], 1, "stopped")
    check(figures["supd_start_time_seconds"] > 1.6e9, "the time of the start")


@test("an actor's figures tell its state, health, limit, and failures and restarts by what caused them")
def causes(box):
    s = box.supd({"a": {"backoff": "none"}, "g": {"strategy": "one_for_all", "children": {
        "b": {"health": {"exec": ["test", "-e", box.path("well")], "interval": "20ms",
                         "failures": 1000}, "backoff": "none"},
        "c": {"backoff": "none"}}}, "l": {"limit": {"restarts": 7, "within": "1h"},
                                          "children": {"d": {"backoff": "none"}}},
                  "u": {"intensity": "unlimited", "children": {"e": {}}}})
    s.started("e")

    def figures():
        return parse(s.call("Metrics")["openmetrics"])

    s.tell("a", "exit=3")
    s.started("a", 2)
    s.tell("c", "exit=1")
    s.started("b", 2)
    s.started("c", 2)
    s.ctl_ok("restart", "a")
    s.ctl_ok("signal", "d", "KILL")
    s.started("d", 2)
    got = figures()
    for name, path, label, value in (
            ("supd_actor_state", "/user/a", 'state="running"', 1),
            ("supd_actor_failures_total", "/user/a", 'cause="exit"', 1),
            ("supd_actor_last_failure_exit_code", "/user/a", "", 3),
            ("supd_actor_restarts_by_reason_total", "/user/a", 'reason="failure"', 1),
            ("supd_actor_restarts_by_reason_total", "/user/a", 'reason="command"', 1),
            ("supd_actor_restarts_by_reason_total", "/user/g/b", 'reason="group"', 1),
            ("supd_actor_restarts_by_reason_total", "/user/g/c", 'reason="failure"', 1),
            ("supd_actor_window_limit", "/user/g", "", 5),
            ("supd_actor_window_limit", "/user/l/d", "", 7),
            ("supd_guardian_crashes_total", None, "", 0)):
        key = of(name, path, label) if path else name
        equal(got.get(key), value, key)
    check(got[of("supd_actor_last_failure_time_seconds", "/user/a", 'cause="exit"')] > 1.6e9,
          "the time of the failure")
    check(of("supd_actor_healthy", "/user/a") not in got, "healthy without a check")
    check(of("supd_actor_window_limit", "/user/u") not in got, "a limit without one")
    equal(got.get(of("supd_actor_failures_total", "/user/l/d", 'cause="signal"')), 1, "failures by a signal")
    check(of("supd_actor_last_failure_exit_code", "/user/l/d") not in got, "an exit status without an exit")
    s.until(lambda: figures()[of("supd_actor_healthy", "/user/g/b")] == 0, "the bad check")
    with open(box.path("well"), "w", encoding="ascii"):
        pass
    s.until(lambda: figures()[of("supd_actor_healthy", "/user/g/b")] == 1, "the good check")


@test("the parser of the Prometheus client for Python takes the figures")
def foreign_parser(box):
    s = box.supd({"a": {}, "g": {"children": {"b": {}}}})
    s.started("a")
    text = s.call("Metrics")["openmetrics"]
    # The packages of the system are those of its own Python.
    done = subprocess.run(
        ["/usr/bin/python3", "-c", "import sys\nfrom prometheus_client.openmetrics.parser "
         "import text_string_to_metric_families as parse\n"
         "print(len(list(parse(sys.stdin.read()))))"],
        input=text, text=True, capture_output=True, check=False)
    if "No module named" in done.stderr:
        raise Skip("python3-prometheus-client is not installed")
    equal(done.returncode, 0, done.stderr)
    equal(int(done.stdout), text.count("# TYPE "), "families")


@test("every metric that the dashboard and the alert rules of the examples name is served")
def used(box):
    s = box.supd({"a": {"health": {"exec": ["true"]}}, "g": {"limit": {"restarts": 5, "within": "1m"},
                                                             "children": {"b": {"restart": "never"}}}})
    s.started("a")
    s.tell("b", "exit=3", s.started("b"))
    s.wait_for("g/b", state="failed")
    served = set(re.findall(r"^(supd_[a-z_]+)[{ ]", s.call("Metrics")["openmetrics"], re.M))
    folder = os.path.join(os.environ.get("top_srcdir", "."), "examples/monitoring")
    for name in ("dashboard.json", "rules.yml"):
        with open(os.path.join(folder, name), encoding="utf8") as file:
            named = set(re.findall(r"supd_[a-z_]+", file.read()))
        equal(named - served, set(), f"what {name} names and supd does not have")


@test("Metrics and supctl metrics say the same, also to observers")
def called(box):
    s = box.supd({"a": {}}, metrics={"listen": "unix:" + box.path("m")})
    s.started("a")
    text = s.call("Metrics")["openmetrics"]
    names = set(parse(text))
    equal(set(parse(fetch(box.path("m"))[2])), names, "by HTTP")
    equal(set(parse(s.ctl_ok("metrics").out)), names, "by supctl")
    equal(set(parse(s.json("metrics")["openmetrics"])), names, "by supctl as JSON")
    equal(os.stat(box.path("m")).st_mode & 0o777, 0o660, "who may connect")
    s.stop()
    check(not os.path.exists(box.path("m")), "the socket's file is left")


@test("a port that is taken keeps no actor from its start: it is said once, and tried until it is free")
def taken(box):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        listen = {"listen": f"tcp:127.0.0.1:{port}"}
        s = box.supd({"a": {}}, metrics=listen)
        s.started("a")
        s.crash()
        s.until(lambda: log(s).count("tried again until it can be had") == 2,
                "the sentence of the next guardian")
        s.write({"a": {}, "b": {}}, metrics=listen)
        s.ctl_ok("apply")
        s.started("b")
        with socket.socket() as third:
            third.bind(("127.0.0.1", 0))
            third.listen()
            s.write({"a": {}}, metrics={"listen": f"tcp:127.0.0.1:{third.getsockname()[1]}"})
            check(s.ctl("apply").code != 0, "it was applied")
        s.actor("b")
    s.until(lambda: "is served at" in log(s), "the socket")
    figures = parse(fetch(port)[2])
    equal(figures[of("supd_actor_up", "/user/b")], 1, "b")
    equal(log(s).count("tried again until"), 2, "how often it is said")


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


@test("what speaks HTTP is a process without rights, and may be killed")
def apart(box):
    s = box.supd({"a": {}}, metrics={"listen": "unix:" + box.path("m")})
    for _ in range(3):
        parse(fetch(box.path("m"))[2])
        old = s.until(lambda: s.actor("/system/metrics")["pid"], "its process")
        has_no_rights(old)
        os.kill(old, signal.SIGKILL)
        s.until(lambda old=old: s.actor("/system/metrics")["pid"] not in (None, old),
                "the next one")
    check("/system" not in s.ctl_ok("events").out, "it is in the stream")


@test("the guardian is asked for figures once a second, however many fetch them")
def paced(box):
    s = box.supd({"a": {}}, metrics={"listen": "unix:" + box.path("m")})
    texts = {fetch(box.path("m"))[2] for _ in range(40)}
    check(len(texts) < 20, f"{len(texts)} texts for 40 clients")
    s.ctl_ok("stop", "a")
    s.until(lambda: parse(fetch(box.path("m"))[2])[of("supd_actor_up", "/user/a")] == 0,
            "newer figures")


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


@test("a client that connects while there is no guardian is served by the next")
def crash(box):
    port = free_port()
    s = box.supd({"a": {}}, metrics={"listen": f"tcp:127.0.0.1:{port}"})
    s.started("a")
    guardian = s.guardian()
    helper = s.until(lambda: s.actor("/system/metrics")["pid"], "the helper process")
    s.signal(signal.SIGSTOP)
    os.kill(guardian, signal.SIGKILL)
    # Until the helper process notices this death it accepts clients, and cannot serve them.
    s.until(lambda: not alive(helper), "its end")
    with connect(port, timeout=30) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        s.signal(signal.SIGCONT)
        equal(parse(rest(client).partition(b"\r\n\r\n")[2].decode())[
            of("supd_actor_starts_total", "/user/a")], 1, "starts")
    s.caller = None


@test("apply changes where figures are served, or leaves everything as it was")
def applied(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {}}, metrics={"listen": "unix:" + box.path("m")})
    s.ctl_ok("apply")
    parse(fetch(box.path("m"))[2])
    port = free_port()
    s.write({"a": {}}, metrics={"listen": f"tcp:127.0.0.1:{port}"})
    s.ctl_ok("apply")
    parse(fetch(port)[2])
    check(not os.path.exists(box.path("m")), "the old one is still there")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        s.write({"a": {}}, metrics={"listen": f"tcp:127.0.0.1:{taken.getsockname()[1]}"})
        result = s.ctl("apply")
        equal(result.code, 1, "a port that somebody has")
        has(result.err, "metrics.listen.*in use", "the sentence")
    parse(fetch(port)[2])
    s.crash()
    parse(fetch(port)[2])
    del s.top["metrics"]
    s.write({"a": {}})
    s.ctl_ok("apply")
    try:
        connect(port).close()
        check(False, "somebody still listens")
    except ConnectionRefusedError:
        pass
    equal(s.actor("a")["generation"], 1, "starts of a")


def pieces(client):
    """The replies to a call with `more`, one after the other."""
    continues = True
    while continues:
        message = client.receive()
        continues = message.get("continues", False)
        yield message


@test("Metrics with `more` comes in pieces of whole lines, and so does all to supctl")
def in_pieces(box):
    s = box.supd({f"a{i}": {"enabled": False} for i in range(80)})
    with Varlink(s.socket) as client:
        client.send("Metrics", more=True)
        texts = [message["parameters"]["openmetrics"] for message in pieces(client)]
        equal(client.call("Ping")["pid"], s.guardian(), "the answer to the next call")
    check(len(texts) > 1, "it is in one piece")
    check(all(text.endswith("\n") and len(text) < 64 * 1024 for text in texts), "pieces")
    names = set(parse("".join(texts)))
    equal(names, set(parse(s.call("Metrics")["openmetrics"])), "in one reply")
    equal(names, set(parse(s.ctl_ok("metrics").out)), "by supctl")


@test("of figures that are not read the newest are kept, and the others are lost to their readers")
def slow(box):
    s = box.supd({f"a{i}": {"enabled": False} for i in range(800)})
    clients = [Varlink(s.socket, receive_buffer=4096) for _ in range(6)]
    for client in clients:
        client.send("Metrics", more=True)
        check("openmetrics" in client.receive()["parameters"], "the first piece")
    last = [list(pieces(client))[-1] for client in clients]
    equal([message.get("error", "").rpartition(".")[2] for message in last],
          2 * ["SlowConsumer"] + 4 * [""], "how they end")
    for message in last[2:]:
        check(message["parameters"]["openmetrics"].endswith("# EOF\n"), "the end of the text")


@test("what is read of an actor takes at most 13 system calls", timeout=60)
def calls(box):
    names = [f"a{i}" for i in range(100)]
    s = box.supd({name: {} for name in names}, start="parallel", stop="parallel")
    for name in names:
        s.started(name)
    killer = Killer(box, s.guardian(), "count")
    s.call("Metrics")
    killer.end()
    count = sum(int(times) for name, times
                in re.findall(r"(?m)^(\w+) (\d+)$", killer.text.decode()) if name != "stops")
    comment(f"{count / len(names):.2f} calls an actor")
    check(INSTRUMENTED or count <= 13 * len(names) + 100, f"{count} calls for {len(names)} actors")


if __name__ == "__main__":
    main()
