#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Bad configuration files: every fault is named with its place, and nothing is started."""
import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPCTL, SUPD, check, equal, has, main, run, test


def checked(box, text, *args):
    return run(SUPD, "--check", "-c", box.file("supd.yaml", text), *args)


FAULTS = [  # what is wrong, the file, line of the error, what the sentence must have
    ("an unknown key", "children:\n  a:\n    comand: [x]\n", 3, "comand.*command"),
    ("an unknown key at the top", "strategie: one_for_one\nchildren: {}\n", 1, "strategy"),
    ("an unknown strategy", "strategy: one_for_some\nchildren: {}\n", 1, "one_for_all"),
    ("an unknown restart type", "children:\n  a: {command: [/bin/true], restart: always}\n",
     2, "permanent"),
    ("a duration without a unit", "children:\n  a:\n    command: [/bin/true]\n"
     "    shutdown: 5\n", 4, "5s"),
    ("a negative duration", "children:\n  a:\n    command: [/bin/true]\n"
     "    shutdown: -5s\n", 4, "shutdown"),
    ("a period of zero", "intensity: {restarts: 1, within: 0s}\nchildren: {}\n", 1, "within"),
    ("a duplicate name", "children:\n  a: {command: [/bin/true]}\n"
     "  a: {command: [/bin/true]}\n", 3, "a"),
    ("a bad name", "children:\n  a/b: {command: [/bin/true]}\n", 2, "a/b"),
    ("a child without command", "children:\n  a: {restart: permanent}\n", 2, "command"),
    ("min above max", "children:\n  a:\n    command: [/bin/true]\n"
     "    backoff: {min: 5s, max: 1s}\n", 4, "max"),
    ("a jitter above one", "children:\n  a:\n    command: [/bin/true]\n"
     "    backoff: {jitter: 1.5}\n", 4, "jitter"),
    ("an unknown cause", "decider:\n  - {when: {exti: [1]}, then: stop}\nchildren: {}\n", 2,
     "exti"),
    ("an unknown directive", "decider:\n  - {when: any, then: retry}\nchildren: {}\n", 2,
     "restart"),
    ("an unknown signal", "children:\n  a:\n    command: [/bin/true]\n"
     "    stop_signal: TREM\n", 4, "TERM"),
    ("an unknown limit", "children:\n  a:\n    command: [/bin/true]\n"
     "    limits: {nofiles: 5}\n", 4, "nofile"),
    ("an unknown user", "children:\n  a:\n    command: [/bin/true]\n"
     "    user: no-such-user-here\n", 4, "no-such-user-here"),
    ("a template that is not there", "children:\n  a: {use: nothing}\n", 2, "nothing"),
    ("a parameter that is not given", "templates:\n  t: {command: [x, '${p}']}\n"
     "children:\n  a: {use: t}\n", None, r"\bp\b"),
    ("an undefined environment name", "children:\n"
     "  a: {command: [/bin/true, '${env:NO_SUCH_NAME}']}\n", 2, "NO_SUCH_NAME"),
    ("an include that is not there", "include: [nowhere.yaml]\nchildren: {}\n", 1,
     "nowhere.yaml"),
    ("two documents", "children: {}\n---\nchildren: {}\n", None, "document"),
    ("broken YAML", "children: {a: [\n", None, r"\S"),
    ("an unknown socket kind", "children:\n  a:\n    command: [/bin/true]\n"
     "    sockets: {web: 'tpc:127.0.0.1:80'}\n", 4, "tcp"),
    ("ready: exit with permanent", "children:\n"
     "  a: {command: [/bin/true], ready: exit, restart: permanent}\n", 2, "permanent"),
]

def fault(what, text, line, pattern):
    @test(f"109 --check finds {what}")
    def one(box):
        result = checked(box, text)
        equal(result.code, 78, f"exit status ({result.err})")
        match = re.search(r"supd\.yaml:(\d+):(\d+): (.*)", result.err)
        check(match, f"no file:line:column in {result.err!r}")
        if line:
            equal(int(match[1]), line, f"the line in {result.err!r}")
        has(result.err, pattern, "stderr")


for case in FAULTS:
    fault(*case)


@test("all faults of a file are reported at once, and supd exits 78 without a start")
def all_at_once(box):
    s = box.supd(wait=False, text=(
        "strategy: one_for_most\n"
        "children:\n"
        "  a:\n"
        f"    command: [/bin/touch, {box.path('touched')}]\n"
        "  b:\n"
        "    comand: [/bin/true]\n"
        "    shutdown: 5\n"
        "  c:\n"
        "    command: [/bin/true]\n"
        "    restart: sometimes\n"
        "    limits: {nofile: many}\n"))
    s.ended(78)
    with open(s.stderr, encoding="utf8") as text:
        err = text.read()
    for line, pattern in ((1, "one_for_most"), (6, "comand"), (7, "shutdown|5s"),
                          (10, "sometimes"), (11, "nofile|many")):
        has(err, rf"supd\.yaml:{line}:\d+: .*({pattern})", "stderr")
    check(not os.path.exists(box.path("touched")), "a child was started")


@test("a file that is not there is a config error (78) that names it")
def missing(box):
    result = run(SUPD, "--check", "-c", box.path("nowhere.yaml"))
    equal(result.code, 78, "exit status of --check")
    has(result.err, r"nowhere\.yaml", "stderr")
    result = run(SUPD, "-c", box.path("nowhere.yaml"), "-r", box.path("run"))
    equal(result.code, 78, "exit status")


@test("a good file passes --check in silence, and starts nothing")
def good(box):
    result = checked(box, "children:\n  a:\n"
                     f"    command: [/bin/touch, {box.path('touched')}]\n")
    equal((result.code, result.err), (0, ""), "exit status and stderr")
    check(not os.path.exists(box.path("touched")), "a child was started")


@test("warnings go to stderr with their place, and --check exits 0")
def warnings(box):
    for text, line, pattern in (
            ("children:\n  a:\n    command: [/nonexistent/x]\n", 3, "nonexistent"),
            ("decider:\n  - {when: any, then: restart}\n"
             "  - {when: {signal: [SEGV]}, then: stop}\nchildren: {}\n", 3, "shadow|never reached"),
            ("decider:\n  - {when: {exit: [1]}, then: restart}\nchildren: {}\n", None,
             "any|catch"),
            ("children:\n  s:\n    intensity: {restarts: 5, within: 10s}\n    children:\n"
             "      a:\n        command: [/bin/true]\n        backoff: {min: 1s, max: 60s}\n",
             None, "intensity|reach"),
            ("children:\n  a: {command: [/bin/true], "
             "backoff: {min: 1s, max: 2s, reset_after: 1m}}\n", 2, "reset_after")):
        result = checked(box, text)
        equal(result.code, 0, f"exit status ({result.err})")
        has(result.err, rf"supd\.yaml:{line or chr(92) + 'd+'}:\d+: warning: .*({pattern})",
            "stderr")


@test("51 the default intensity and backoff give no warning")
def no_warning(box):
    result = checked(box, "children:\n  s:\n    children:\n"
                     "      a: {command: [/bin/sleep, '9']}\n")
    equal((result.code, result.err), (0, ""), "exit status and stderr")


@test("a billion laughs are refused, quickly")
def laughs(box):
    text = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
    for i in range(1, 12):
        text += f"x{i}: &x{i} [" + ", ".join([f"*x{i - 1}"] * 10) + "]\n"
    text += "children: {a: {command: *x11}}\n"
    result = checked(box, text)
    equal(result.code, 78, "exit status")


@test("supctl check FILE agrees with supd --check")
def supctl_check(box):
    bad = box.file("bad.yaml", "children:\n  a: {comand: [x]}\n")
    result = run(SUPCTL, "check", bad)
    check(result.code != 0, f"the bad file passed: {result}")
    has(result.err + result.out, r"bad\.yaml:2:\d+: .*command", "its output")
    fine = box.file("fine.yaml", "children:\n  a: {command: [/bin/true]}\n")
    equal(run(SUPCTL, "check", fine).code, 0, "exit status of the good file")


@test("defaults, templates, replicas, merge keys and include make one tree")
def composed(box):
    box.file("more.yaml", "children:\n  late:\n    use: echo\n    with: {what: late}\n")
    s = box.supd(text=f"""
include: [more.yaml]
log: {{directory: {box.path('logs')}}}
defaults:
  backoff: none
  environment: {{FROM: defaults, KEEP: "yes"}}
templates:
  echo:
    command: [/bin/sleep, "1000"]
    environment: {{WHAT: "${{what}}"}}
  tiny: {{command: [/bin/sleep, "${{actor.name}}0"]}}
children:
  a: &a {{use: echo, with: {{what: one}}, environment: {{FROM: a}}}}
  b: {{<<: *a, shutdown: 300ms}}
  "7": {{use: tiny}}
  w: {{use: echo, with: {{what: "r${{replica}}"}}, replicas: 3}}
""")
    s.event("started", "late")
    equal([event["path"] for event in s.seen("started") if event.get("pid")
           and event["path"].startswith("/user")][:6],
          ["/user/" + name for name in ("a", "b", "7", "w@1", "w@2", "w@3")], "the order")

    def environment(path):
        name = f"/proc/{s.actor(path)['pid']}/environ"
        s.until(lambda: os.path.exists(name) and open(name, "rb").read(), "its environment")
        with open(name, encoding="utf8") as text:
            return dict(pair.partition("=")[::2] for pair in text.read().split("\0"))

    a = environment("a")
    equal((a["FROM"], a["KEEP"], a["WHAT"]), ("a", "yes", "one"), "a's environment")
    equal(environment("w@2")["WHAT"], "r2", "the second replica's parameter")
    equal(environment("late")["WHAT"], "late", "the included actor's parameter")
    with open(f"/proc/{s.actor('7')['pid']}/cmdline", "rb") as text:
        equal(text.read(), b"/bin/sleep\x0070\0", "the command line")


@test("for root, a file that others can write is refused, checked, started or reloaded",
      root=True)
def writable(box):
    path = box.file("open.yaml", "children:\n  a: {command: [/bin/sleep, '1000']}\n")
    os.chmod(path, 0o666)
    sentence = rf"error: everybody can write to the file {path} \(mode 0666\).*chmod o-w"
    for command in ["--check"], ["-r", box.path("never")]:
        result = run(SUPD, *command, "-c", path)
        equal(result.code, 78, f"exit status of {command}")
        has(result.err, sentence, "what it says")
    s = box.supd({"a": {}})
    s.started("a")
    os.chmod(s.file, 0o664)
    result = s.ctl("apply")
    check(result.code != 0, f"it was applied: {result}")
    has(result.err, "its group can write to the file", "what it says")
    os.chmod(s.file, 0o644)
    s.ctl_ok("apply")


@test("for root, --check refuses a program, script or template that others can change", root=True)
def changeable(box):
    os.mkdir(box.path("own"), 0o755)  # the directory of the test is open to all, as /tmp is
    script = box.file("own/script.sh", "#!/bin/sh\nexec sleep 1000\n")
    os.chmod(script, 0o755)
    texts = {"program": f"children: {{a: {{command: [{script}]}}}}\n",
             "script": f"children: {{a: {{command: [/bin/sh, {script}]}}}}\n",
             "template": f"templates: {{t: {{command: [{script}]}}}}\nchildren: {{}}\n"}
    for what, text in texts.items():
        result = checked(box, text)
        equal((result.code, result.err), (0, ""), f"of the {what}")
        os.chmod(script, 0o775)
        result = checked(box, text)
        equal(result.code, 78, f"exit status, of the {what}")
        has(result.err, rf"supd\.yaml:1:\d+: error: .*: its group can write to the file {script}",
            f"of the {what}")
        os.chmod(script, 0o755)
    os.chown(script, 65533, 0)
    has(checked(box, texts["script"]).err, rf"error: .*{script} belongs to user 65533", "the owner")
    equal(checked(box, "children: {a: {user: '65533', group: '0', "
                       f"command: [{script}]}}}}\n").code, 0, "of an actor of that user")
    path = box.file("own/supd.yaml", "children: {}\n")
    os.chown(path, 65533, 0)
    has(run(SUPD, "--check", "-c", path).err, f"error: the file {path} belongs to user 65533",
        "the configuration")


@test("--check tries ports and addresses: a warning where one cannot be had, and why")
def ports(box):
    taken = {kind: socket.socket(socket.AF_INET, kind)
             for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)}
    for sock in taken.values():
        sock.bind(("127.0.0.1", 0))
    taken[socket.SOCK_STREAM].listen()
    tcp, udp = (sock.getsockname()[1] for sock in taken.values())
    path = box.file("ports.yaml", f"""children:
  a:
    command: [/bin/sleep, '1000']
    sockets:
      one: tcp:127.0.0.1:{tcp}
      two: udp:127.0.0.1:{udp}
      three: tcp:192.0.2.1:4711
      four: unix:{box.path("four.sock")}
metrics: {{listen: "tcp:127.0.0.1:{tcp}"}}
""")
    place = box.path("run")
    result = run(SUPD, "--check", "-r", place, "-c", path)
    equal(result.code, 0, "exit status")
    for line, words in ((5, f"127.0.0.1 port {tcp} of /user/a .*another process has this port"),
                        (6, f"127.0.0.1 port {udp} of /user/a .*another process has this port"),
                        (7, "192.0.2.1 port 4711 .*no network interface"),
                        (9, f"127.0.0.1 port {tcp} of metrics .*another process has this port")):
        has(result.err, rf"{path}:{line}:\d+: warning: .*{words}", "what it says")
    check(not os.path.exists(place) and not os.path.exists(box.path("four.sock")),
          "it left a file")
    for sock in taken.values():
        sock.close()
    path = box.file("free.yaml", f"""children:
  a: {{command: [/bin/sleep, '1000'], sockets: {{one: "tcp:127.0.0.1:{tcp}"}}}}
""")
    equal(run(SUPD, "--check", "-r", place, "-c", path).err, "", "of a port that is free")


@test("--check says nothing of the ports that the running supd holds")
def own_ports(box):
    s = box.supd({"a": {"sockets": {"one": "tcp:127.0.0.1:0"}}})
    s.started("a")
    place = os.path.dirname(s.socket)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        path = box.file("held.yaml", f"""children:
  a: {{command: [/bin/sleep, '1'], sockets: {{one: "tcp:127.0.0.1:{taken.getsockname()[1]}"}}}}
""")
        equal(run(SUPD, "--check", "-r", place, "-c", path).err, "", "beside a running supd")


@test("for root, a runtime directory that others can write is refused", root=True)
def open_place(box):
    path = box.file("good.yaml", "children:\n  a: {command: [/bin/sleep, '1000']}\n")
    os.mkdir(box.path("open"))
    os.chmod(box.path("open"), 0o777)
    result = run(SUPD, "-c", path, "-r", box.path("open/run"))
    equal(result.code, 78, "exit status")
    has(result.err, rf"everybody can write to the directory {box.path('open')} \(mode 0777\)",
        "what it says")


if __name__ == "__main__":
    main()
