#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A process that is started for the clients of a mailbox: a handler, or the actor."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, test
from mailbox import (Client, KINDS, all_answered, answered, check_file, come, letters, mailbox,
                     mailboxes)
from mailbox_clients import ask, clients, free_port


@test("a handler is started for the clients of an actor that is down, and waits when that is back")
def handled(box):
    sockets, addresses = mailboxes(box)
    sockets = {kind: {"listen": listen, "while_down": {"handler": "h"}}
               for kind, listen in sockets.items()}
    s = box.supd({"a": {"do": ["serve"], "sockets": sockets}, "h": {"do": ["serve"]}})
    first = s.started("a")
    equal(s.actor("h")["state"], "waiting", "the handler")
    all_answered(s, "a", come(box, addresses), first)
    s.ctl_ok("stop", "a")
    equal(s.actor("h")["state"], "waiting", "the handler, as nobody came")
    waiting = come(box, addresses)
    all_answered(s, "h", waiting, s.started("h"))
    s.ctl_ok("start", "a")
    second = s.started("a", 2)
    s.wait_for("h", state="waiting")
    all_answered(s, "a", come(box, addresses), second)
    equal(s.actor("h")["restarts"], 0, "the handler's restarts")
    equal(letters(s), 0, "dead letters")


@test("a handler across the death of a guardian: started, and put to rest, by the next one")
def handler_crash(box):
    listen, address = mailbox(box, "unix")
    s = box.supd({"a": {"do": ["serve"], "sockets": {
        "box": {"listen": listen, "while_down": {"handler": "/user/h"}}}},
                  "h": {"do": ["serve"]}})
    s.started("a")
    s.ctl_ok("stop", "a")
    s.crash()
    equal(ask(address), s.started("h"), "who answered")
    s.crash()
    equal(ask(address), s.started("h"), "who answered after the crash")
    s.ctl_ok("start", "a")
    s.wait_for("h", state="waiting")
    equal(ask(address), s.started("a", 2), "who answered in the end")


@test("a handler of the wrong kind is an error of the file, with a sentence")
def handler_errors(box):
    def with_handler(handler, **others):
        return {"a": {"command": ["/bin/true"], "sockets": {"x": {
            "listen": "tcp:127.0.0.1:0", "while_down": {"handler": handler}}}}, **others}

    true = {"command": ["/bin/true"]}
    for children, part in (
            (with_handler("sory", sorry=true), "did you mean `/user/sorry`"),
            (with_handler("a"), "is down itself"),
            (with_handler("s", s={"children": {}}), "is a supervisor"),
            (with_handler("b", b={"command": ["/bin/true"], "sockets": {"y": {
                "listen": "tcp:127.0.0.1:0", "while_down": {"handler": "c"}}}}, c=true),
             "has a handler itself")):
        code, text = check_file(box, children)
        equal(code, 78, "the exit status")
        check(part in text, lambda text=text, part=part: f"`{part}` is not in {text}")
    equal(check_file(box, with_handler("b", b=true))[0], 0, "a good one")


@test("start_on: connect waits, counts as ready, and starts for the first of every kind")
def on_connect(box):
    children, made = {}, {}
    for kind in KINDS:
        name = kind.replace("-", "_")
        listen, made[name] = mailbox(box, kind)
        children[name] = {"do": ["serve"], "start_on": "connect", "sockets": {"box": listen}}
    children["last"] = {}
    s = box.supd(children)
    s.started("last")
    for kind in KINDS:
        name = kind.replace("-", "_")
        actor = s.actor(name)
        equal((actor["state"], actor["ready"], actor["pid"]), ("waiting", True, None), name)
        equal(s.ctl("wait", name, "--for", "ready").code, 0, "wait --for ready")
        has(s.ctl("explain", name).out, "waiting for a client", "what explain says")
        has(s.ctl("status", name).out, "waits for +a client", "what status says")
        client = Client(box, kind, made[name])
        answered(s, name, kind, client, s.started(name))
        s.wait_for(name, state="running")


@test("several clients before it has started start it once, and all are served")
def started_once(box):
    path = box.path("lazy.sock")
    s = box.supd({"a": {"do": ["serve"], "start_on": "connect",
                        "sockets": {"box": f"unix:{path}", "other": f"tcp:127.0.0.1:{free_port()}"}}})
    answers, thread = clients(path, 30)
    pid = s.started("a")
    thread.join()
    equal({int(answer.split()[1]) for answer in answers}, {pid}, "who answered")
    equal(len(s.seen("started", "a")), 1, "starts")


@test("an actor that a client started is restarted when it fails, and waits when it has ended")
def lives_on(box):
    path = box.path("lazy.sock")
    s = box.supd({"a": {"do": ["serve"], "start_on": "connect", "sockets": {"box": f"unix:{path}"}}})
    equal(ask(path), s.started("a"), "who answered first")
    s.tell("a", "exit=1")
    second = s.started("a", 2)
    equal(s.wait_for("a", state="running")["restarts"], 1, "restarts")
    equal(ask(path), second, "who answered after the failure")
    s.tell("a", "exit=0")
    equal(s.wait_for("a", state="waiting")["restarts"], 1, "restarts after the end")
    equal(ask(path), s.started("a", 3), "who answered after the end")


@test("a stopped actor is not started by a client, which waits until it is started by hand")
def stays_stopped(box):
    path = box.path("lazy.sock")
    s = box.supd({"a": {"do": ["serve"], "start_on": "connect", "sockets": {"box": f"unix:{path}"}}})
    s.ctl_ok("stop", "a")
    answers, thread = clients(path, 2)
    s.crash()
    equal(s.actor("a")["state"], "stopped", "the state")
    s.ctl_ok("start", "a")
    pid = s.started("a")
    thread.join()
    equal([int(answer.split()[1]) for answer in answers], [pid] * 2, "who answered")


@test("an actor that fails to start for a client is paced by its backoff, the client waits")
def fails_first(box):
    path = box.path("lazy.sock")
    s = box.supd({"a": {"do": [f"?{box.path('broken')}:exit=1", "serve"], "start_on": "connect",
                        "backoff": {"min": "200ms", "jitter": 0},
                        "sockets": {"box": f"unix:{path}"}}})
    with open(box.path("broken"), "w", encoding="utf8"):
        pass
    answers, thread = clients(path, 1)
    s.event("backoff", "a", count=2)
    os.unlink(box.path("broken"))
    thread.join()
    equal(int(answers[0].split()[1]), s.actor("a")["pid"], "who answered")


@test("start_on: connect across the death of a guardian: a client before, one meanwhile, one after")
def lazy_crash(box):
    paths = {name: box.path(f"{name}.sock") for name in ("a", "b", "c")}
    s = box.supd({name: {"do": ["serve"], "start_on": "connect",
                         "sockets": {"box": f"unix:{path}"}} for name, path in paths.items()})
    old = s.guardian()
    os.kill(old, signal.SIGSTOP)
    first = clients(paths["a"], 1)
    os.kill(old, signal.SIGKILL)
    second = clients(paths["b"], 1)
    s.caller = None
    for (answers, thread), name in ((first, "a"), (second, "b")):
        pid = s.started(name)
        thread.join()
        equal(int(answers[0].split()[1]), pid, f"who answered for {name}")
    equal(ask(paths["c"]), s.started("c"), "who answered for c")


@test("start_on: connect without sockets is an error of the file")
def lazy_without(box):
    code, text = check_file(box, {"a": {"command": ["/bin/true"], "start_on": "connect"}})
    equal(code, 78, "the exit status")
    check("start_on" in text and "sockets" in text, text)


if __name__ == "__main__":
    main()
