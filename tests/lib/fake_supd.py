# SPDX-License-Identifier: ISC
"""A supd that says what it is told to: canned answers over a Unix socket."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import traceback

SUPCTL = os.path.join(os.environ.get("top_builddir", "."), "supctl")
PREFIX = "io.supd.Control."
GUARD_S = 60  # ends a test that hangs; nothing depends on how long it is


class Reply:
    def __init__(self, parameters, more=False):
        self.message = {"parameters": parameters}
        if more:
            self.message["continues"] = True


class Error:
    def __init__(self, error, /, **parameters):
        if "." not in error:
            error = PREFIX + error
        self.message = {"error": error, "parameters": parameters}


class Raw:
    """Bytes as they are, sent in the given pieces, each by itself."""

    def __init__(self, *pieces):
        self.pieces = pieces


class Close:
    """End this connection."""


class Hang:
    """Say nothing until the client goes away."""


class Supd:
    """answers: method name -> function(parameters, supd) that yields what to send."""

    parallel = False  # a connection is served while another one is

    def __init__(self, **answers):
        self.answers = answers
        self.calls = []  # (method, parameters, more), in the order they came
        self.connections = 0
        self.problems = []
        self.directory = tempfile.mkdtemp(prefix="supctl-test-")
        self.path = os.path.join(self.directory, "control.sock")
        self.listener = None
        self.threads = []
        self.listen()

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        thread = threading.Thread(target=self.accept, args=(self.listener,), daemon=True)
        thread.start()
        self.threads.append(thread)

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.parallel:
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()
            else:
                self.serve(connection)

    def serve(self, connection):
        try:
            self.converse(connection)
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception:
            self.problems.append(traceback.format_exc())
        connection.close()

    def converse(self, connection):
        data = b""
        while True:
            while b"\0" in data:
                message, data = data.split(b"\0", 1)
                if not self.answer(connection, json.loads(message)):
                    return
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece

    def answer(self, connection, call):
        unknown = set(call) - {"method", "parameters", "more"}
        if unknown or not call["method"].startswith(PREFIX):
            self.problems.append("strange call %r" % call)
        method = call["method"][len(PREFIX):]
        self.calls.append((method, call.get("parameters", {}), call.get("more", False)))
        if method not in self.answers:
            items = [Error("org.varlink.service.MethodNotFound", method=method)]
        else:
            items = self.answers[method](call.get("parameters", {}), self)
        for item in items:
            if item is Close:
                return False
            if item is Hang:
                connection.recv(1)
                return False
            if isinstance(item, Raw):
                for piece in item.pieces:
                    connection.sendall(piece)
                continue
            if "continues" in item.message and not call.get("more"):
                self.problems.append("continues to a call without more: %r" % call)
            connection.sendall(json.dumps(item.message).encode() + b"\0")
        return True

    def called(self, method):
        return [c[1] for c in self.calls if c[0] == method]

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def environment(**more):
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TZ": "UTC", "LANG": "C"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(more)
    return env


class Result:
    def __init__(self, status, out, err):
        self.status = status
        self.out = out
        self.err = err

    def __repr__(self):
        return "status %d\n--- out\n%s--- err\n%s" % (self.status, self.out, self.err)


def command(*arguments):
    wrapper = os.environ.get("SUPCTL_WRAPPER", "").split()
    return wrapper + [os.environ.get("SUPCTL", SUPCTL)] + list(arguments)


def supctl(supd, *arguments, env=None, stdin=None):
    """Run supctl against this supd (None: without a socket of a test)."""
    socket_option = ["-s", supd.path] if supd else []
    done = subprocess.run(command(*socket_option, *arguments),
                          stdin=stdin or subprocess.DEVNULL, capture_output=True,
                          env=environment(**(env or {})), timeout=GUARD_S)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def cause(text="killed by SIGSEGV", kind="signal"):
    return {"kind": kind, "code": None, "signal": "SIGSEGV", "core": False,
            "errno": None, "key": None, "text": text}


def failure(text="killed by SIGSEGV", origin="/user/app/api"):
    return {"cause": cause(text), "origin": origin, "directive": "restart",
            "rule": "supd.yaml:12", "at": "2024-05-01T12:00:00.500Z"}


def actor(path, **fields):
    """A running Actor, with other values for some fields."""
    result = {
        "path": path, "kind": "worker", "state": "running", "pid": 4711,
        "incarnation": 1, "generation": 1, "ready": True, "held": False, "suspended": 0,
        "sigstopped": False, "since": "2024-05-01T12:00:01.123Z", "uptime_ms": 61000,
        "restarts": 0, "restarts_by": {"failure": 0, "command": 0}, "window": 0, "limit": None, "within_ms": None, "degraded": False, "backoff": None, "last_failure": None, "last_exit": None,
        "strategy": None, "restart": "permanent", "description": None,
        "dead_letters": 0, "health": None, "healthy": True,
        "status": None, "waits_for": None, "details": None, "resources": None,
    }
    result.update(fields)
    return result


def supervisor(path, **fields):
    given = {"kind": "supervisor", "pid": None, "strategy": "one_for_one"}
    given.update(fields)
    return actor(path, **given)


def stream(actors):
    for i, one in enumerate(actors):
        yield Reply({"actors": [one]}, more=i + 1 < len(actors))


TREE = [
    supervisor("/user", degraded=True, healthy=False),
    supervisor("/user/app", strategy="rest_for_one", window=2, limit=5,
               within_ms=60000, degraded=True, healthy=False),
    actor("/user/app/db", pid=100),
    actor("/user/app/api", pid=None, state="failed", uptime_ms=None, restarts=5,
          ready=False, healthy=False, last_failure=failure()),
    actor("/user/web", pid=102, restarts=1, last_failure=failure("exited with code 1")),
]


def select(actors, names):
    """What supd makes of names, as far as the tests need it; None: no such actor."""
    found = []
    for name in names:
        if name.endswith("*"):
            hits = [a for a in actors if a["path"].startswith("/user/" + name[:-1])]
        else:
            hits = [a for a in actors
                    if a["path"] in (name, "/user/" + name)
                    or a["path"].endswith("/" + name)]
        if not hits:
            return None
        found += hits
    return found


def status_of(actors):
    def answer(parameters, supd):
        names = parameters.get("names")
        found = actors if names is None else select(actors, names)
        if found is None:
            return [Error("NoSuchActor", name=names[0], candidates=[])]
        return stream(found)
    return answer


def tree(**answers):
    """A supd with a small tree, that answers Status and what else is given."""
    answers.setdefault("Status", status_of(TREE))
    return Supd(**answers)


class Skip(Exception):
    """What a test needs is not to be had here."""


def run(tests):
    """Run the functions with names that begin with test_, and print TAP."""
    chosen = [(name, f) for name, f in tests.items() if name.startswith("test_")]
    failed = 0
    print("1..%d" % len(chosen))
    for i, (name, function) in enumerate(chosen):
        title = name[len("test_"):].replace("_", " ")
        try:
            function()
            print("ok %d - %s" % (i + 1, title), flush=True)
        except Skip as reason:
            print("ok %d - %s # SKIP %s" % (i + 1, title, reason), flush=True)
        except Exception:
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            print("not ok %d - %s" % (i + 1, title), flush=True)
    return 1 if failed else 0
