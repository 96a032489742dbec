#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The control socket: Varlink to the letter, for good and bad clients, and their rights."""
import errno
import json
import os
import resource
import shutil
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, TOP_SRC, Skip, check, equal, has, main, offspring, run, test
from varlink import Closed, Varlink, VarlinkError, message

SERVICE = "org.varlink.service."
CLIENTS = 3000  # so many at a time are more than supd serves
SPARE = 100     # what the test has open besides


def error_of(client, method, parameters=None, **flags):
    client.send(method, parameters, **flags)
    reply = client.receive()
    check("error" in reply, lambda: f"no error but {reply}")
    return reply["error"], reply.get("parameters", {})


def one(box, **options):
    s = box.supd({"a": {}, "b": {}}, **options)
    s.started("b")
    return s


@test("GetInfo names vendor, product, version, url and the interfaces")
def info(box):
    reply = one(box).call(SERVICE + "GetInfo")
    equal(sorted(reply), ["interfaces", "product", "url", "vendor", "version"], "the fields")
    equal(sorted(reply["interfaces"]), ["io.supd.Control", "org.varlink.service"],
          "the interfaces")
    has(reply["version"], r"^\d+\.\d+", "the version")


@test("GetInterfaceDescription gives the file that is shipped, word for word")
def description(box):
    s = one(box)
    reply = s.call(SERVICE + "GetInterfaceDescription", interface="io.supd.Control")
    with open(f"{TOP_SRC}/src/varlink/io.supd.Control.varlink", encoding="utf8") as text:
        equal(reply["description"], text.read(), "the description")
    reply = s.call(SERVICE + "GetInterfaceDescription", interface="org.varlink.service")
    has(reply["description"], "^(#.*\n|\n)*interface org.varlink.service", "the other one")
    equal(error_of(Varlink(s.socket), SERVICE + "GetInterfaceDescription",
                   {"interface": "io.supd.Nothing"})[0], SERVICE + "InterfaceNotFound", "error")


@test("replies have no strange top-level keys, and always parameters")
def shape(box):
    client = Varlink(one(box).socket)
    client.send("Ping")
    equal(sorted(client.receive()), ["parameters"], "the keys of a reply")
    client.send("Status", {}, more=True)
    last = {"continues": True}
    while last.get("continues"):
        last = client.receive()
        check(set(last) <= {"parameters", "continues"}, f"the keys {sorted(last)}")
    client.send("Nothing")
    equal(sorted(client.receive()), ["error", "parameters"], "the keys of an error")
    client.send("Signal", {"name": "/user/a", "signal": "USR1"})
    equal(client.receive(), {"parameters": {}}, "an empty reply")


@test("Status tells on request what the processes of an actor take of the machine")
def resources(box):
    s = box.supd({"a": {"do": ["fork=2"]}, "g": {"children": {"b": {}}}})
    s.started("b")
    equal(s.call("Status", names=["a"])["actors"][0]["resources"], None, "unasked")
    s.until(lambda: len(offspring(s.actor("a")["pid"])) == 2, "its children")
    a, g = s.call("Status", names=["a", "g"], resources=True)["actors"]
    equal(sorted(a["resources"]), ["cpu_usec", "descriptors", "memory_bytes", "processes"],
          "the fields")
    equal((a["resources"]["processes"], g["resources"]), (3, None), "who was counted")
    check(a["resources"]["memory_bytes"] > 4096, lambda: f"too little memory: {a}")
    check(a["resources"]["descriptors"] >= 9, lambda: f"too few descriptors: {a}")
    has(s.ctl_ok("status", "a").out, r"uses  memory .*, 3 processes, \d+ descriptors",
        "the block")


@test("without more there is one reply and no continues")
def no_more(box):
    client = Varlink(one(box).socket)
    client.send("Status")
    reply = client.receive()
    check("continues" not in reply or reply["continues"] is False, "continues without more")
    equal([actor["path"] for actor in reply["parameters"]["actors"]],
          ["/user", "/user/a", "/user/b"], "the actors")
    client.send("Ping")
    check("version" in client.receive()["parameters"], "Ping after Status")


@test("unknown methods, interfaces and parameters have their standard errors")
def errors(box):
    client = Varlink(one(box).socket)
    equal(error_of(client, "io.supd.Control.Frobnicate"),
          (SERVICE + "MethodNotFound", {"method": "io.supd.Control.Frobnicate"}), "method")
    equal(error_of(client, "io.nothing.X")[0], SERVICE + "InterfaceNotFound", "interface")
    for method, parameters in (("Signal", {"name": 7, "signal": "HUP"}), ("Signal", {}),
                               ("Start", {"names": "a"}), ("Start", {"names": [1]}),
                               ("Wait", {"name": "/user/a", "for": "godot"}),
                               ("Stop", {"names": ["/user/a"], "hold": "yes"})):
        name, about = error_of(client, method, parameters)
        equal(name, SERVICE + "InvalidParameter", f"{method} {parameters}")
        check("parameter" in about, "the error does not name the parameter")
    equal(error_of(client, "Stop", {"names": ["/user/nobody"]}),
          ("io.supd.Control.NoSuchActor", {"name": "/user/nobody", "candidates": []}), "name")


@test("a method that needs `more` says so when it is called without")
def needs_more(box):
    client = Varlink(one(box).socket)
    for method, parameters in (("Events", {"follow": True}), ("Watch", {"names": ["/user/a"]})):
        check(error_of(client, method, parameters)[0], method)
    client.call("Ping")


@test("a message that comes byte by byte is whole again")
def split(box):
    client = Varlink(one(box).socket)
    for byte in message("Ping"):
        client.socket.sendall(bytes([byte]))
    check("pid" in client.result(), "no reply")


@test("pipelined calls are answered in their order, also after one that waits")
def pipelined(box):
    s = one(box)
    client = Varlink(s.socket)
    calls = [message("Status", {"names": ["/user/a"]}),
             message("Restart", {"names": ["/user/a"]}), message("Ping"),
             message("Nothing"), message("Status", {"names": ["/user/b"]})]
    client.socket.sendall(b"".join(calls * 20))
    for _ in range(20):
        equal(client.result()["actors"][0]["path"], "/user/a", "the first")
        equal(client.result()["actors"][0]["state"], "running", "the second")
        check("version" in client.result(), "the third")
        check("error" in client.receive(), "the fourth")
        equal(client.result()["actors"][0]["path"], "/user/b", "the fifth")


@test("pipelined commands that do not wait are carried out without anything else happening")
def pipelined_commands(box):
    s = one(box)
    client = Varlink(s.socket)
    calls = [message("Signal", {"name": "/user/a", "signal": "USR1"})]
    for verb in ("Start", "Start", "Start"):
        calls.append(message(verb, {"names": ["/user/a"], "wait": False}))
        calls.append(message(verb, {"names": ["/user/b"], "wait": False}, oneway=True))
    client.socket.sendall(b"".join(calls))
    for _ in range(4):
        client.result()
    client.call("Ping")


@test("calls that come at once and change nothing are all answered by an idle supd")
def burst(box):
    client = Varlink(one(box).socket)
    for verb in ("Start", "Reset", "Start"):
        client.socket.sendall(message(verb, {"names": ["/user/a"]}) * 5 + message("Ping"))
        for _ in range(5):
            equal(client.result()["actors"][0]["state"], "running", f"the reply to {verb}")
        check("version" in client.result(), "the reply to Ping")


@test("a oneway call is carried out and never answered, not even with an error")
def oneway(box):
    s = one(box)
    client = Varlink(s.socket)
    client.send("Nothing", oneway=True)
    client.send("Stop", {"names": ["/user/nobody"]}, oneway=True)
    client.send("Signal", {"name": "/user/a", "signal": "USR1"}, oneway=True)
    client.send("Ping")
    check("version" in client.receive()["parameters"], "the first reply is not Ping's")
    s.line("s", "a")


def closes(s, raw, what):
    client = Varlink(s.socket)
    try:
        client.socket.sendall(raw)
        reply = client.receive()
        raise VarlinkError(f"{what} was answered", reply)
    except (Closed, BrokenPipeError, ConnectionResetError):
        pass


@test("malformed messages close their connection and no other")
def malformed(box):
    s = one(box)
    bystander = Varlink(s.socket)
    bystander.call("Ping")
    for raw in (b"{\0", b"garbage\0", b"[]\0", b"7\0", b"\0", b'"x"\0', b"\xff\xfe\0",
                b'{"method": 7}\0', b'{"parameters": {}}\0',
                b'{"method": "io.supd.Control.Ping", "parameters": []}\0',
                b'{"method": "io.supd.Control.Ping", "more": "yes"}\0',
                b"[" * 100000 + b"\0"):
        closes(s, raw, repr(raw[:60]))
        bystander.call("Ping")


@test("a message over 1 MiB closes its connection and no other")
def oversize(box):
    s = one(box)
    bystander = Varlink(s.socket)
    closes(s, b'{"method": "' + b"x" * (1 << 20), "an endless message")
    closes(s, message("Ping", {"filler": "x" * (1 << 20)}), "a huge message")
    bystander.call("Ping")


@test("a message of almost 1 MiB is one like any other")
def large(box):
    client = Varlink(one(box).socket)
    equal(error_of(client, "Signal", {"name": "a", "signal": "x" * 1000000}),
          ("org.varlink.service.InvalidParameter", {"parameter": "signal"}), "the error")


@test("a client that goes away while its call waits undoes nothing")
def gone_client(box):
    s = box.supd({"a": {"do": ["delay=300"]}})
    s.started("a")
    client = Varlink(s.socket)
    client.send("Stop", {"names": ["/user/a"]})
    s.line("t", "a")
    client.close()
    s.wait_for("a", state="stopped")


@test("a client that closes only its sending side gets its reply")
def half_closed(box):
    s = box.supd({"a": {"do": ["delay=200"]}})
    s.started("a")
    client = Varlink(s.socket)
    client.send("Restart", {"names": ["/user/a"]})
    client.socket.shutdown(socket.SHUT_WR)
    equal(client.result()["actors"][0]["generation"], 2, "the reply")


@test("timeout_ms ends a waiting call with Timeout; the action goes on")
def timeout(box):
    s = box.supd({"a": {"do": ["delay=600"]}})
    s.started("a")
    name, about = error_of(Varlink(s.socket), "Stop",
                           {"names": ["/user/a"], "timeout_ms": 100})
    equal((name, about["state"]), ("io.supd.Control.Timeout", "stopping"), "the error")
    s.wait_for("a", state="stopped")


@test("a start that fails answers StartFailed with the cause")
def start_failed(box):
    s = box.supd({"a": {"command": ["/nonexistent/x"], "enabled": False}})
    name, about = error_of(Varlink(s.socket), "Start", {"names": ["/user/a"]})
    equal((name, about["name"], about["cause"]["errno"]),
          ("io.supd.Control.StartFailed", "/user/a", "ENOENT"), "the error")


@test("an abrupt end with unread data, a hundred times, costs supd nothing")
def abrupt(box):
    s = one(box)
    before = s.descriptors()
    for _ in range(100):
        client = Varlink(s.socket)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.send("Status")
        client.send("Events", {"follow": True, "since": 0}, more=True)
        client.close()
    s.until(lambda: s.descriptors() <= before + 1, "the descriptors to be closed")
    s.ctl_ok("ping")


@test("connections are bounded; supd goes on supervising and serves others afterwards")
def bounded(box):
    s = one(box)
    s.call("Ping")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CLIENTS + SPARE:
        raise Skip("so many descriptors may not be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CLIENTS + SPARE), hard))
    box.undo.append(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    held = []
    try:
        for _ in range(CLIENTS):
            client = Varlink(s.socket, timeout=2)
            held.append(client)
    except OSError as problem:
        check(problem.errno != errno.EMFILE, "the test ran out of descriptors, not supd")
    check(s.descriptors() < CLIENTS - 100, f"{s.descriptors()} descriptors")
    s.tell("a", "exit=1")
    s.started("a", 2)
    for client in held:
        client.close()
    s.until(lambda: s.ctl("ping").code == 0, "a new connection")


def as_user(uid, gid, groups, path, method, parameters=None):
    """One call with other credentials; the error's name, or ok."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setgid(gid)
            os.setuid(uid)
            client = Varlink(path)
            client.send(method, parameters, more=method == "Events")
            verdict = client.receive().get("error", "ok").rpartition(".")[2]
        except Exception as problem:  # pylint: disable=broad-except
            verdict = type(problem).__name__
        os.write(writer, verdict.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as result:
        return result.read()


def pipe_calls(s, box, gid, connections, pairs):
    """An observer sends all these calls, and reads no reply before the test says so; the test's end of a socket."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(gid)
            os.setuid(65534)
            clients = [Varlink(s.socket) for _ in range(connections)]
            for client in clients:
                client.socket.sendall((message("Status") + message("Metrics")) * pairs)
            theirs.send(b"sent")
            theirs.recv(1)
            for client in clients:
                for _ in range(pairs):
                    equal(client.result()["actors"][0]["path"], "/user", "a reply to Status")
                    has(client.result()["openmetrics"], "# EOF", "a reply to Metrics")
            theirs.send(b"all read")
        except Exception as problem:  # pylint: disable=broad-except
            theirs.send(repr(problem).encode())
        finally:
            os._exit(0)
    theirs.close()
    ours.settimeout(60)
    box.undo.append(ours.close)
    equal(ours.recv(1000), b"sent", "what the observer says")
    return ours


@test("thousands of calls that an observer sends at once, without a reply being read, hold up no other and cost "
      "little memory; then all are answered", root=True, timeout=60)
def unread(box):
    s = one(box, control={"observers": "adm"})
    guardian, before = s.guardian(), s.memory_kib()
    observer = pipe_calls(s, box, 4, connections=4, pairs=300)
    for count in range(2, 7):
        s.ctl_ok("ping")
        s.tell("a", "exit=1")
        s.started("a", count)
    if not INSTRUMENTED:
        check(s.memory_kib() < before + 8192, lambda: f"{before} KiB before, and {s.memory_kib()} now")
    observer.send(b"+")
    equal(observer.recv(1000), b"all read", "what the observer says in the end")
    s.ctl_ok("ping")
    equal(s.guardian(), guardian, "the guardian")


@test("control.group may do everything, observers may look, others nothing", root=True)
def permissions(box):
    s = one(box, control={"group": "daemon", "observers": "adm"})
    equal(os.stat(s.socket).st_mode & 0o777, 0o666, "the socket's mode")
    daemon, adm, nobody = 1, 4, 65534
    reads = [("Status", {}), ("Ping", {}), ("Explain", {"name": "/user/a"}),
             ("Events", {"follow": False})]
    acts = [("Restart", {"names": ["/user/a"]}), ("Describe", {"name": "/user/a"}),
            ("Diff", {}), ("Stop", {"names": ["/user/none"]})]
    expected = {"daemon": [(1, daemon, []), (nobody, nobody, [daemon])],
                "adm": [(nobody, adm, []), (nobody, nobody, [adm])],
                "nobody": [(nobody, nobody, [])]}
    for who, identities in expected.items():
        for uid, gid, groups in identities:
            for method, parameters in reads:
                equal(as_user(uid, gid, groups, s.socket, method, parameters),
                      "PermissionDenied" if who == "nobody" else "ok", f"{who} {method}")
            for method, parameters in acts:
                got = as_user(uid, gid, groups, s.socket, method, parameters)
                equal(got == "PermissionDenied", who != "daemon", f"{who} {method}: {got}")
            equal(as_user(uid, gid, groups, s.socket, SERVICE + "GetInfo"), "ok", f"{who} GetInfo")


@test("without observers only root and supd's own user reach the socket", root=True)
def closed(box):
    s = one(box)
    equal(as_user(65534, 65534, [], s.socket, "Ping"), "PermissionError", "nobody")
    s = one(box, name="open", control={"mode": "0666"})
    equal(as_user(65534, 65534, [], s.socket, "Ping"), "PermissionDenied", "nobody, 0666")


@test("supd that runs as another user obeys that user and root", root=True)
def own_user(box):
    uid = 54322
    s = box.supd({"a": {}}, uid=uid)
    s.started("a")
    equal(as_user(uid, uid, [], s.socket, "Restart", {"names": ["/user/a"]}), "ok", "its user")
    s.started("a", 2)  # a probe reports a stop only after its start
    s.ctl_ok("restart", "a")
    s.started("a", 3)


@test("varlinkctl works unchanged")
def varlinkctl(box):
    if not shutil.which("varlinkctl"):
        raise Skip("varlinkctl is not installed")
    s = one(box)
    has(run("varlinkctl", "info", s.socket).out, "io.supd.Control", "info")
    equal(run("varlinkctl", "introspect", s.socket, "io.supd.Control").code, 0, "introspect")
    reply = run("varlinkctl", "-j", "call", s.socket, "io.supd.Control.Ping", "{}")
    equal(json.loads(reply.out)["walker_pid"], s.pid, "the reply of call")


if __name__ == "__main__":
    main()
