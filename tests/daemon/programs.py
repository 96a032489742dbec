#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Programs that others wrote: nginx, redis and postgres, as their users run them."""
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, cmdline
from harness import Skip, alive, check, equal, has, main, offspring, run, test
from probe_target import free_port
from web_clients import Customers, answer, ask, get

LARGE = 8 << 20  # more than fits into any buffer on the way


def find(name, *places):
    path = os.pathsep.join([*places, os.environ.get("PATH", ""), "/usr/sbin"])
    found = shutil.which(name, path=path)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


# ---- nginx -----------------------------------------------------------------------------

# Its workers take turns at a socket that blocks: see examples/services.
NGINX = """
daemon off;
worker_processes 2;
pid {dir}/nginx.pid;
error_log stderr notice;
events {{ worker_connections 64; accept_mutex on; }}
http {{
	access_log off;
	client_body_temp_path {dir}/body;
	proxy_temp_path {dir}/proxy;
	fastcgi_temp_path {dir}/fastcgi;
	uwsgi_temp_path {dir}/uwsgi;
	scgi_temp_path {dir}/scgi;
	server {{
		listen {address};
		root {dir};
		location = / {{ return 200 "{word}\\n"; }}
	}}
}}
"""


class Web:
    """A supd with nginx on a socket of supd's."""

    def __init__(self, box, port=None):
        self.program = find("nginx")
        self.box = box
        box.file("large", "x" * LARGE)
        path = box.path("web.sock")
        self.address = ("127.0.0.1", port) if port else path
        self.listen = f"127.0.0.1:{port}" if port else f"unix:{path}"
        self.write("one")
        s = self.s = Chaos(box, {"web": {
            "command": [self.program, "-e", "stderr", "-p", box.dir, "-c",
                        box.path("nginx.conf")],
            "sockets": {"http": f"tcp:{self.listen}" if port else self.listen},
            "environment": {"NGINX": "3;"}, "stop_signal": "QUIT", "shutdown": "60s"}})
        self.pid = s.wait_for("web", state="running")["pid"]
        equal(get(self.address), "one\n", "the first answer")

    def write(self, word):
        self.box.file("nginx.conf", NGINX.format(dir=self.box.dir, address=self.listen,
                                                 word=word))

    def slow(self):
        """A client that has begun to read something large."""
        client = ask(self.address, "/large")
        check(client.recv(100), "no answer")
        return client

    def whole(self, client):
        """It reads the rest, and lacks nothing."""
        with client:
            size, last = 100, b""
            while more := client.recv(1 << 20):
                size, last = size + len(more), more
        check(LARGE < size < LARGE + 1000 and last.endswith(b"x"),
              f"{size} bytes of {LARGE} arrived")


@test("nginx: a stop drains it, and clients that come meanwhile are served when it is started",
      timeout=60)
def nginx_drains(box):
    web = Web(box)
    s, slow = web.s, web.slow()
    s.ctl_ok("stop", "--no-wait", "web")
    s.wait_for("web", state="stopping")
    later = ask(web.address)
    web.whole(slow)
    s.wait_for("web", state="stopped")
    equal(s.event("exited", "web")["cause"]["kind"], "normal", "how it ended")
    check(not s.seen("killed_after_timeout"), "it was killed")
    s.ctl_ok("start", "web")
    equal(answer(later), "one\n", "the answer to who came meanwhile")


@test("nginx: reload keeps the process and its connections, under load", timeout=60)
def nginx_reloads(box):
    web = Web(box)
    s, slow, customers = web.s, web.slow(), Customers(web.address)
    customers.more(s)
    for word, how in (("two", "reload"), ("three", "HUP")):
        web.write(word)
        s.ctl_ok("signal", "web", how)
        s.until(lambda w=word: get(web.address) == w + "\n", f"an answer {word}")
    customers.more(s)
    equal(s.actor("web")["pid"], web.pid, "the pid")
    web.whole(slow)
    customers.leave(s)
    equal((customers.refused, customers.cut), ([], []), "refused and lost")


@test("nginx: killed, its workers go with it, and waiting clients are served by the next", timeout=60)
def nginx_killed(box):
    web = Web(box)
    s = web.s
    workers = s.until(lambda: len(found := offspring(web.pid)) >= 2 and found, "its workers")
    os.kill(web.pid, signal.SIGSTOP)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    waiting = [ask(web.address) for _ in range(5)]
    os.kill(web.pid, signal.SIGKILL)
    s.wait_for("web", state="running", generation=2)
    equal([pid for pid in workers if alive(pid)], [], "workers of the one before")
    equal({answer(client) for client in waiting}, {"one\n"}, "the answers")
    equal(s.actor("web")["restarts"], 1, "restarts")


@test("nginx: supd is upgraded and its guardian killed under load, nothing is lost (tcp)",
      timeout=60)
def nginx_stays(box):
    stays(Web(box, free_port()))


@test("nginx: the same on a unix socket, whose file nginx removes under another parent",
      timeout=60)
def nginx_stays_on_unix(box):
    web = Web(box)
    stays(web)
    with open(web.s.stderr, encoding="utf8") as text:
        has(text.read(), "was removed: restored", "what supd said")


def stays(web):
    s, slow, customers = web.s, web.slow(), Customers(web.address)
    for act in (s.crash, lambda: s.ctl_ok("upgrade"), s.crash):
        customers.more(s)
        act()
    customers.more(s)
    equal(s.actor("web")["pid"], web.pid, "the pid")
    web.whole(slow)
    s.ctl_ok("stop", "web")
    later = ask(web.address)
    s.ctl_ok("start", "web")
    equal(answer(later), "one\n", "the answer to who came meanwhile")
    customers.more(s)
    customers.leave(s)
    equal((refused(web, customers), customers.cut), ([], []), "refused and lost")


def refused(web, customers):
    """The refused customers, but for those between the end of a server, which removes the
    file of its socket, and the return of the file."""
    return [one for one in customers.refused
            if not (web.address == web.box.path("web.sock") and "FileNotFound" in one)]


# ---- redis -----------------------------------------------------------------------------


class Store:
    """A supd with redis on a socket of its own, ready when it says so."""

    def __init__(self, box):
        os.mkdir(box.path("data"))
        self.address = box.path("redis.sock")
        s = self.s = Chaos(box, {"store": {
            "command": [find("redis-server"), "--port", "0", "--unixsocket", self.address,
                        "--dir", box.path("data"), "--appendonly", "yes", "--appendfsync",
                        "always", "--supervised", "systemd"],
            "ready": "notify", "shutdown": "60s"}})
        self.pid = s.wait_for("store", state="running", ready=True)["pid"]

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(self.address)
        return client


def redis(client, *words):
    """Send one request, and give the line of the answer."""
    client.sendall((" ".join(words) + "\r\n").encode())
    text = b""
    while not text.endswith(b"\r\n"):
        more = client.recv(1000)
        check(more, f"the connection was closed after {text!r}")
        text += more
    return text.decode().strip()


@test("redis: ready by its notification, killed, back with all confirmed data")
def redis_killed(box):
    store = Store(box)
    s = store.s
    with store.connect() as client:
        for n in range(1, 101):
            equal(redis(client, "INCR", "n"), f":{n}", "the answer")
    os.kill(store.pid, signal.SIGKILL)
    s.wait_for("store", state="running", ready=True, generation=2)
    with store.connect() as client:
        equal(redis(client, "INCR", "n"), ":101", "the answer of the next")
    s.ctl_ok("stop", "store")
    equal(s.event("exited", "store", 2)["cause"]["kind"], "normal", "how a stop ended")
    s.ctl_ok("start", "store")
    with store.connect() as client:
        equal(redis(client, "INCR", "n"), ":102", "the answer after a stop")


@test("redis: one connection outlives upgrades, reloads and guardians", timeout=60)
def redis_stays(box):
    store = Store(box)
    s = store.s
    with store.connect() as client:
        acts = (s.crash, lambda: s.ctl_ok("upgrade"), lambda: s.ctl_ok("apply"), s.crash)
        for n, act in enumerate(acts, 1):
            equal(redis(client, "INCR", "n"), f":{n}", "the answer")
            act()
        equal(redis(client, "INCR", "n"), f":{len(acts) + 1}", "the last answer")
    equal(s.actor("store")["pid"], store.pid, "the pid")
    s.consistent()


# ---- postgres ----------------------------------------------------------------------------


class Database:
    """A supd with postgres on a socket of its own; as root it runs as another user."""

    def __init__(self, box, **keys):
        try:
            pwd.getpwuid(os.geteuid())
        except KeyError:
            raise Skip("postgres asks for the name of its user, and there is none") from None
        self.tools = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1:]
        self.box, self.data = box, box.path("pg")
        self.program = find("postgres", *self.tools)
        self.user = {}
        if os.geteuid() == 0:
            try:
                pwd.getpwnam("postgres")
                self.user = {"user": "postgres"}
            except KeyError:
                self.user = {"user": "nobody"}
        self.make()
        self.spec = {
            "command": [self.program, "-D", self.data], "stop_signal": "INT",
            "ready": {"exec": [find("pg_isready", *self.tools), "-q", "-h", box.dir],
                      "interval": "50ms"},
            "shutdown": "60s", **self.user, **keys}
        self.s = Chaos(box, {"db": self.spec})
        self.pid = self.s.wait_for("db", state="running", ready=True)["pid"]

    def make(self):
        """The directory of data, as its user."""
        def become():
            if self.user:
                entry = pwd.getpwnam(self.user["user"])
                os.setgroups([])
                os.setgid(entry.pw_gid)
                os.setuid(entry.pw_uid)

        made = run(find("initdb", *self.tools), "-D", self.data, "-U", "shop", "-A", "trust",
                   "--no-sync", "--no-locale", timeout=60, preexec_fn=become, cwd="/")
        equal(made.code, 0, f"initdb: {made}; status")
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf8") as conf:
            conf.write("listen_addresses = ''\nfsync = off\nmax_connections = 10\n"
                       f"unix_socket_directories = '{self.box.dir}'\nshared_buffers = 1MB\n")

    def psql(self):
        return Session(find("psql", *self.tools), self.box.dir)


class Session:
    """A session of psql."""

    def __init__(self, program, directory):
        self.process = subprocess.Popen(
            [program, "-XqtA", "-v", "ON_ERROR_STOP=1", "-h", directory, "-U", "shop",
             "postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, query):
        try:
            self.process.stdin.write(query + ";\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return self.process.stdout.readline().strip()


def backend(session):
    return int(session.ask("SELECT pg_backend_pid()"))


@test("postgres: ready by pg_isready; its clients outlive upgrades, reloads and guardians",
      timeout=60)
def postgres_stays(box):
    db = Database(box)
    s = db.s
    with db.psql() as session:
        session.process.stdin.write("CREATE TABLE t (n int);\n")
        pid = backend(session)
        db.spec["description"] = "of the shop"
        s.write({"db": db.spec})
        acts = (s.crash, lambda: s.ctl_ok("upgrade"), lambda: s.ctl_ok("apply"),
                lambda: s.ctl_ok("signal", "db", "reload"), s.crash)
        for n, act in enumerate(acts, 1):
            equal(session.ask(f"INSERT INTO t VALUES ({n}) RETURNING n"), str(n), "the answer")
            act()
        equal(session.ask("SELECT count(*) FROM t"), str(len(acts)), "the rows")
        equal(backend(session), pid, "who serves the client")
    equal(s.actor("db")["pid"], db.pid, "the pid")


@test("postgres: ready by its notification, also after a kill", timeout=60)
def postgres_notifies(box):
    linked = run("ldd", find("postgres", *sorted(glob.glob("/usr/lib/postgresql/*/bin")))).out
    if "libsystemd" not in linked:
        raise Skip("this postgres cannot tell that it is ready")
    db = Database(box, ready="notify")
    for generation in (1, 2):
        db.s.wait_for("db", state="running", ready=True, generation=generation)
        with db.psql() as session:
            equal(session.ask("SELECT 1"), "1", "the answer of who says that it is ready")
            os.kill(db.s.actor("db")["pid"], signal.SIGKILL)


@test("postgres: killed, all of its processes are gone before the next is started", timeout=60)
def postgres_killed(box):
    alive_then, old = box.path("alive"), box.path("old")
    box.file("alive")
    os.chmod(alive_then, 0o666)
    box.file("old")
    # The script before the program notes which processes of the last server still live.
    first = ('for p in $$(cat %s); do ! grep -qs "^State:[[:space:]]*[^ZX[:space:]]" '
             '/proc/$$p/status || echo $$p >>%s; done; exec "$$@"')
    db = Database(box, command=["/bin/sh", "-c", first % (old, alive_then), "sh",
                                find("postgres", *sorted(glob.glob("/usr/lib/postgresql/*/bin"))),
                                "-D", box.path("pg")])
    s = db.s
    with db.psql() as session:
        session.process.stdin.write("CREATE TABLE t (n int);\n")
        equal(session.ask("INSERT INTO t VALUES (7) RETURNING n"), "7", "the answer")
        pids = s.until(lambda: len(found := offspring(db.pid)) >= 5 and found, "its brood")
        check(backend(session) in pids, "the client's process is another's child")
        box.file("old", " ".join(map(str, pids)))
        for pid in pids:  # a stopped process cannot notice that the server is gone
            os.kill(pid, signal.SIGSTOP)
        os.kill(db.pid, signal.SIGKILL)
        actor = s.wait_for("db", state="running", ready=True, generation=2)
    equal(actor["restarts"], 1, "restarts")
    with open(alive_then, encoding="ascii") as text:
        equal(text.read(), "", "who lived on when the next was started")
    equal([pid for pid in pids if alive(pid)], [], "who lives on")
    with db.psql() as session:
        equal(session.ask("SELECT n FROM t"), "7", "the data")


@test("postgres: INT is its fast stop, that waits for no client", timeout=60)
def postgres_stops(box):
    db = Database(box)
    s = db.s
    with db.psql() as session:
        backend(session)
        s.ctl_ok("stop", "db")
        has(session.ask("SELECT 1"), "(?i)terminating|closed|server", "what the client sees")
    equal(s.event("exited", "db")["cause"]["kind"], "normal", "how it ended")
    check(not s.seen("killed_after_timeout"), "it was killed")
    s.until(lambda: "database system is shut down" in s.ctl_ok("logs", "db").out, "its log")


@test("postgres: a backend that crashes is its own affair", timeout=60)
def postgres_recovers(box):
    db = Database(box)
    s = db.s
    with db.psql() as session:
        os.kill(backend(session), signal.SIGKILL)

        def asked():
            with db.psql() as another:
                return another.ask("SELECT 1") == "1"

        s.until(asked, "it to serve again", 20)
    equal(s.actor("db")["pid"], db.pid, "the pid")
    check(cmdline(db.pid).startswith(db.program), "another program")
    equal(s.seen("failure"), [], "failures")


if __name__ == "__main__":
    main()
