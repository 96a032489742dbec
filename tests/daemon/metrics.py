#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Figures of supd and of its actors, as they are served at /metrics and by a call."""
import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import INSTRUMENTED, Killer
from harness import alive, check, comment, equal, has, has_no_rights, main, test, Skip
from openmetrics import connect, fetch, parse, rest
from varlink import Varlink

TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def log(s):
    with open(s.stderr, encoding="utf8") as text:
        return text.read()


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


def many(box, n, **spec):
    names = [f"a{i}" for i in range(n)]
    s = box.supd({name: spec for name in names}, start="parallel", stop="parallel")
    for name in names:
        s.started(name)
    return s


def count_calls(box, s):
    """How many system calls the guardian, and it alone, makes for one text."""
    killer = Killer(box, s.guardian(), "count")
    s.call("Metrics")
    killer.end()
    return sum(int(times) for name, times
               in re.findall(r"(?m)^(\w+) (\d+)$", killer.text.decode()) if name != "stops")


def few(box, most, **spec):
    count = count_calls(box, many(box, 20, **spec))
    comment(f"{count / 20:.2f} calls an actor")
    check(INSTRUMENTED or count <= most * 20 + 60, f"{count} calls for 20 actors")


@test("figures of a few actors are read by the guardian, each with 13 system calls at most", timeout=60)
def calls(box):
    few(box, 13)


@test("figures of a few actors without a cgroup are read with 11 system calls at most for each", timeout=60)
def calls_without(box):
    few(box, 11, containment="session")


@contextlib.contextmanager
def traced(box, s, *options):
    """Have strace write to the file that this gives what the guardian calls meanwhile."""
    told = box.path("told")
    if not shutil.which("strace"):
        raise Skip("needs strace")
    with subprocess.Popen(["strace", *options, "-o", told, "-p", str(s.guardian())], text=True,
                          stderr=subprocess.PIPE) as tracer:
        if "attached" not in tracer.stderr.readline():
            raise Skip("strace cannot trace")
        try:
            yield told
        finally:
            tracer.send_signal(signal.SIGINT)
            # A signal that comes just before strace waits is seen after the next call.
            s.until(lambda: s.call("Ping") and tracer.poll() is not None, "the end of strace")


def read_by_others(box, most, **spec):
    """Calls of the guardian for each actor, and of its readers."""
    s = many(box, 200, **spec)
    count = count_calls(box, s)
    comment(f"{count / 200:.2f} calls of the guardian an actor")
    check(INSTRUMENTED or count <= 200, f"{count} calls of the guardian for 200 actors")
    with traced(box, s, "-f") as told:
        s.call("Metrics")
        # A reader may have ended by itself before it is killed.
        s.until(lambda: lines(told, " +++ ") == 2, "the ends of the readers")
    with open(told, encoding="utf8", errors="replace") as file:
        count = sum(" resumed>" not in line and not line.startswith(f"{s.guardian()} ") for line in file)
    comment(f"{count / 200:.2f} calls of readers an actor")
    check(INSTRUMENTED or count <= most * 200 + 200, f"{count} calls of readers for 200 actors")


def lines(path, text):
    with open(path, encoding="utf8", errors="replace") as file:
        return sum(text in line for line in file)


@test("figures of many actors are read by other processes, each with 12 system calls at most", timeout=60)
def calls_of_readers(box):
    read_by_others(box, 12)


@test("figures of many actors without a cgroup are read with 8 system calls at most for each", timeout=60)
def calls_of_readers_without(box):
    read_by_others(box, 8, containment="session")


@test("for a list with what many actors use the kernel adds up once, not once for each", timeout=60)
def adds_up(box):
    s = many(box, 40)
    with open(f"/proc/{s.pids['a0']}/cgroup", encoding="ascii") as file:
        if "/actors/" not in file.read():
            raise Skip("no cgroups here")
    with traced(box, s) as told:
        listed = s.call("Status", resources=True)["actors"]
    check(len(listed) > 40, f"{len(listed)} actors")
    check(lines(told, "/cpu.stat") >= 40, "the actors' own were not read")
    above = lines(told, '"./cpu.stat"')
    check(1 <= above <= 5, f"that of the cgroup above was read {above} times for 40 actors")


def is_reader(pid):
    """Of the guardian's children those that read figures have a low priority."""
    try:
        return os.getpriority(os.PRIO_PROCESS, pid) > 0
    except ProcessLookupError:
        return False


@test("where the processes that read figures stand still the guardian reads them", timeout=60)
def stand_still(box):
    s = many(box, 400, containment="session")
    actors = set(s.pids.values())
    with open(f"/proc/{s.guardian()}/task/{s.guardian()}/children", encoding="ascii") as children:
        supds = {int(pid) for pid in children.read().split()} - actors
        stopped = set()
        while not stopped:
            with Varlink(s.socket) as client:
                client.send("Metrics")
                while not select.select([client], [], [], 0)[0]:
                    children.seek(0)
                    for pid in {int(pid) for pid in children.read().split()} - actors - supds - stopped:
                        if is_reader(pid):
                            os.kill(pid, signal.SIGSTOP)
                            stopped.add(pid)
                figures = parse(client.receive()["parameters"]["openmetrics"])
    equal(sum(key.startswith("supd_actor_memory_bytes{") for key in figures), 400, "actors with figures")
    s.until(lambda: not any(map(alive, stopped)), "the ends of the readers")
    equal(sum(key.startswith("supd_actor_memory_bytes{") for key in parse(s.call("Metrics")["openmetrics"])), 400,
          "actors with figures in the next text")


if __name__ == "__main__":
    main()
