#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Every verb of supctl: its help, what it prints as text and as JSON, and its exit statuses.

The verbs are those that supctl itself knows: one that is added needs an entry in CASES, a file of tests/ctl/golden,
a place in the first screen of help, a text for each option, and a paragraph of supctl(1).

    verbs.py --write    writes the files of tests/ctl/golden as supctl prints now; read the difference
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fake_supd import TREE, Error, Reply, Supd, actor, cause, run, select, status_of, supctl

TOP = os.environ.get("top_srcdir", ".")
GOLDEN = os.path.join(TOP, "tests/ctl/golden")
EVENTS = [
    {"seq": 7, "time": "2024-05-01T12:00:00.500000Z", "mono": 1, "event": "exited", "path": "/user/web",
     "incarnation": 1, "generation": 1, "pid": 100, "cause": cause(), "utime_us": 1000, "stime_us": 2000,
     "maxrss_kib": 3000},
    {"seq": 8, "time": "2024-05-01T12:00:01.500000Z", "mono": 2, "event": "started", "path": "/user/web",
     "incarnation": 1, "generation": 2, "pid": 102},
]
PLAN = [
    {"path": "/user/a", "change": "unchanged", "keys": []},
    {"path": "/user/web", "change": "restarted", "keys": ["command"]},
]
SPEC = {"spec": {"command": ["web"], "shutdown": "5s"},
        "origin": [{"key": "command", "file": "supd.yaml", "line": 4}]}
STEPS = [{"at_ms": 0, "event": "failure", "path": "/user/web", "delay_ms": 200, "delay_min_ms": 200,
          "delay_max_ms": 240, "window": 1, "limit": 5, "text": "exited with 1"}]
SUMMARIES = [{"at_ms": 0, "event": "summary", "path": "/user/web", "delay_ms": None, "delay_min_ms": None,
              "delay_max_ms": None, "window": None, "limit": None, "text": "after 1 failure it stays failed"}]
PONG = {"version": "9.8.7", "pid": 17, "walker_pid": 16, "uptime_ms": 61000}
LINES = [{"path": "/user/web", "time": "2024-05-01T12:00:00.000000Z", "stream": "stdout", "text": text}
         for text in ("first", "second")]

# What each verb is called with, beside what `supctl help` says of it.
CASES = {
    "status": [(), ("--failed",), ("web",), ("nosuch",)],
    "list": [(), ("app/*",)],
    "tree": [(), ("app",), ("--dot", "app")],
    "top": [("-n", "1"), ("-n", "1", "--sort", "restarts"), ("--sort", "size")],
    "pid": [(), ("web",), ("app/api",)],
    "is-active": [("web",), ("app/api",)],
    "is-failed": [("web",), ("app/api",)],
    "is-healthy": [(), ("web",)],
    "is-ready": [("web",), ("app/api",)],
    "explain": [("web",), ("nosuch",)],
    "logs": [("web",), ("-n", "1", "-t", "web")],
    "events": [()],
    "simulate": [("web",)],
    "start": [("web",), ("--no-wait", "web"), ("nosuch",)],
    "stop": [("web",), ("--hold", "web")],
    "restart": [("web",), ("--rolling", "web", "app"), ("--rolling", "--no-wait", "web")],
    "suspend": [("web",)],
    "resume": [("web",)],
    "signal": [("web", "HUP")],
    "kill": [("web",), ("-s", "HUP", "web"), ("-9", "web"), ("-NOSUCH", "web")],
    "fail": [("web",)],
    "reset": [("web",)],
    "wait": [("--for", "ready", "web"), ("--for", "lunch", "web")],
    "watch": [("web",)],
    "add": [("new", "--use", "worker", "--with", "k=v"), ("new", "--", "sleep", "9")],
    "delete": [("web",)],
    "scale": [("web", "2"), ("web", "many")],
    "check": [("tree.yaml",)],
    "diff": [(), ("-e",), ("--undo",)],
    "apply": [("--no-wait",), ("--rollback", "30s"), ("--no-wait", "--undo")],
    "reload": [("--no-wait",), ("web",)],
    "cat": [("web",)],
    "ping": [()],
    "metrics": [()],
    "version": [()],
    "upgrade": [()],
    "shutdown": [("--no-wait",)],
    "shell": [()],
    "completion": [("csh",)],
}
# The fewest arguments of each verb that needs some.
LEAST = {"signal": ("web", "HUP"), "scale": ("web", "2"), "wait": ("--for", "ready", "web"),
         "add": ("web", "--", "x")}


def answer_names(parameters, supd):
    del supd
    found = select(TREE, parameters.get("names", [parameters.get("name")]))
    if found is None:
        return [Error("NoSuchActor", name="nosuch", candidates=["/user/web"])]
    return [Reply({"actors": found})]


def wait(parameters, supd):
    name = {"name": parameters["name"]}
    answer = answer_names(name, supd)[0]
    return [answer if isinstance(answer, Error) else Reply({"actor": answer.message["parameters"]["actors"][0]})]


def reply(**parameters):
    return lambda call, supd: [Reply(parameters)]


def explain(parameters, supd):
    del supd
    if parameters["name"] == "nosuch":
        return [Error("NoSuchActor", name="nosuch", candidates=["/user/web"])]
    text = "/user/web failed: killed by SIGSEGV.\nThe rule at supd.yaml:12 decided restart.\n"
    return [Reply({"path": "/user/web", "chain": [], "last_words": [], "text": text})]


def several(name, items):
    return lambda call, supd: [Reply(one if name is None else {name: one}, more=call is not None and i + 1 < len(items))
                               for i, one in enumerate(items)]


def a_supd():
    acting = ("Start", "Stop", "Restart", "Suspend", "Resume", "Reset", "Scale")
    answers = {method: answer_names for method in acting}
    ended = {"path": "/user/web", "incarnation": 1, "cause": cause(), "state": "failed", "existence_confirmed": True}
    return Supd(Status=status_of(TREE), Explain=explain, Events=several("event", EVENTS), Logs=several(None, LINES),
                Signal=reply(), Fail=reply(), Wait=wait, Delete=reply(), Reload=reply(), Shutdown=reply(),
                Simulate=reply(steps=STEPS, summaries=SUMMARIES),
                Add=reply(actor=actor("/user/new")), Diff=reply(plan=PLAN), Apply=reply(plan=PLAN),
                Describe=reply(**SPEC), Ping=reply(**PONG), Watch=reply(**ended),
                Metrics=reply(openmetrics="# EOF\n"), Upgrade=reply(**{"from": "9.8.7", "to": "9.8.8", "outage_ms": 4}),
                **answers)


def supd_program(supd):
    """What `check` runs in place of the daemon."""
    path = os.path.join(supd.directory, "supd")
    with open(path, "w", encoding="utf8") as out:
        out.write('#!/bin/sh\necho "$@"\n')
    os.chmod(path, 0o755)
    return path


def completion():
    return supctl(None, "completion", "bash").out


def verbs():
    """All verbs, as the completion of the shell lists them."""
    return re.search("^\tverbs='help (.*)'$", completion(), re.M)[1].split()


def first_screen():
    listed = supctl(None, "help").out.partition("\nfor example:")[0]
    return re.findall(r"^  ([a-z-]+) ", listed, re.M)


def options_of(verb):
    """The options of the verb alone, from its help: name -> (line, text)."""
    lines = supctl(None, "help", verb).out.splitlines()
    found = {}
    for i, line in enumerate(lines):
        hit = re.match(r"  (?:-\w, |    )(--[a-z-]+)(?: (\S+))?(?: {2,}(.*))?$", line)
        if hit:
            found[hit[1]] = hit[3] if hit[3] else lines[i + 1].strip()
    return found


def taken_by(verb):
    """The options that completion offers for the verb and not for all of them."""
    words = re.search(rf"^\t{verb}(?:\|\S+)*\)\n\t\toptions\+='(.*)'$", completion(), re.M)[1].split()
    return {word for word in words if word.startswith("--")}


def check(ok, what):
    if not ok:
        raise AssertionError(what)


def show(supd, verb, arguments, json_form):
    """A call and all that it led to, as it stands in a golden file."""
    options = ("-o", "json") if json_form else ()
    called = [*options, verb, *arguments]
    stdin = None
    if verb == "shell":
        stdin = os.memfd_create("lines")
        os.write(stdin, b"is-active web\npid web\n")
        os.lseek(stdin, 0, os.SEEK_SET)
    result = supctl(supd, *called, env={"SUPD": supd_program(supd)}, stdin=stdin)
    text = f"$ supctl {' '.join(called)}\n{result.out}"
    for line in result.err.splitlines():
        text += f"! {line}\n"
    text += f"= {result.status}\n\n"
    text = re.sub(r'"kind": "(worker|supervisor)".*?"resources": null', "...", text)
    own = supctl(None, "--version").out.split()[1]
    return text.replace(supd.directory, "DIR").replace(own, "VERSION"), result


def golden(verb):
    text = supctl(None, "help", verb).out + "\n"
    supd = a_supd()
    supd.parallel = True
    try:
        for arguments in CASES[verb]:
            for json_form in (False, True):
                shown, result = show(supd, verb, arguments, json_form)
                text += shown
                if json_form and result.status == 0 and verb not in ("check", "shell", "completion"):
                    for document in [result.out] if result.out.startswith("[") else result.out.splitlines():
                        json.loads(document)
    finally:
        supd.close()
    return text


def path_of(verb):
    return os.path.join(GOLDEN, verb)


def test_every_verb_is_on_the_first_screen_once():
    check(sorted(first_screen()) == sorted(set(first_screen())), first_screen())
    check(sorted(first_screen()) == sorted(verbs()), set(first_screen()) ^ set(verbs()))
    for group in ("To look", "To know why", "To act", "The configuration"):
        check(f"\n{group}\n" in supctl(None, "help").out, group)


def test_a_verb_of_another_tool_is_answered_with_ours():
    for other, ours in (("ps", "list"), ("monit", "top"), ("show", "status"), ("describe", "status"),
                        ("enable", "enabled: true"), ("daemon-reload", "apply"), ("stat", "status"),
                        ("is-enabled", "cat"), ("edit", "apply"), ("rollback", "apply --rollback"), ("undo", "apply --undo"),
                        ("pause", "suspend"), ("sockets", "status NAME"), ("run", "add")):
        result = supctl(None, other)
        check(result.status == 2 and ours in result.err, result)
        check(other not in verbs(), f"{other} is a verb")


def test_every_verb_has_cases_and_a_golden_file():
    check(set(CASES) == set(verbs()), set(CASES) ^ set(verbs()))
    files = {name for name in os.listdir(GOLDEN) if not name.startswith(".")}
    check(files == set(verbs()), files ^ set(verbs()))


def test_help_explains_every_option_with_an_example():
    for verb in verbs():
        text = supctl(None, "help", verb).out
        check(text == supctl(None, verb, "--help").out, f"{verb} --help is not help {verb}")
        check(text.startswith(f"usage: supctl {verb}"), text)
        examples = text.partition("\nfor example:\n")[2].partition("\n\n")[0]
        check(re.search(rf"supctl (\S+ \S+ )?{verb}\b", examples), f"help {verb} has no example")
        explained = options_of(verb)
        check(taken_by(verb) == set(explained), f"help {verb}: {taken_by(verb) ^ set(explained)}")
        for option, meaning in explained.items():
            check(len(meaning.split()) >= 3, f"help {verb}: {option} is not explained by '{meaning}'")
        usage = text.splitlines()[0]
        for option in re.findall(r"--[a-z-]+", usage):
            check(option in explained, f"help {verb} does not explain {option} of its usage")


def paragraphs(manual):
    """The text of supctl(1) about each verb: from the item with the verb to the next verbs' item."""
    found, current = {}, []
    for item in re.split(r"^\.It ", manual.partition(".Sh EXIT STATUS")[0], flags=re.M)[1:]:
        head = item.partition("\n.Xc")[0] if item.startswith("Xo") else item.partition("\n")[0]
        named = [verb for verb in verbs() if re.search(rf"Cm {verb}\b(?!-)", head)]
        current = named or current
        for verb in current:
            found[verb] = found.get(verb, "") + item
    return found


def test_the_manual_has_every_verb_with_its_options():
    with open(os.path.join(TOP, "man/supctl.1"), encoding="utf8") as file:
        said = paragraphs(file.read())
    for verb in verbs():
        check(verb in said, f"supctl(1) has no {verb}")
        for option in options_of(verb):
            brief = re.search(rf"-(\w), {option}", supctl(None, "help", verb).out)
            check(f"Fl Fl {option[2:]}" in said[verb] or
                  brief and brief[1] in "".join(re.findall(r"Fl (\w+)", said[verb])),
                  f"supctl(1) has no {option} at {verb}")


def test_text_and_json_are_as_in_the_golden_files():
    for verb in verbs():
        with open(path_of(verb), encoding="utf8") as file:
            wanted = file.read()
        got = golden(verb)
        if got != wanted:
            for old, new in zip(wanted.splitlines(), got.splitlines()):
                check(old == new, f"{verb}: expected {old!r}, got {new!r}")
            check(False, f"{verb}: {len(wanted)} characters expected, {len(got)} printed")


def test_exit_statuses_are_those_of_the_manual():
    with open(os.path.join(TOP, "man/supctl.1"), encoding="utf8") as file:
        statuses = file.read().partition(".Sh EXIT STATUS")[2].partition(".Sh ")[0]
    looks = set(re.findall(r"Cm ([a-z-]+)", statuses.partition(".It 4")[2].partition(".It ")[0]))
    refusals = {"NoSuchActor": 4, "InvalidState": 7, "org.varlink.service.PermissionDenied": 5, "Timeout": 124}
    for verb in sorted(set(verbs()) - {"check", "completion", "version", "shell"}):
        least = LEAST.get(verb, () if CASES[verb][0] == () or verb in ("top", "shutdown") else ("web",))
        status = supctl(None, "-s", "/nonexistent/socket", verb, *least).status
        check(status == (4 if verb in looks else 1), f"{verb} without a supd: {status}")
        for error, wanted in refusals.items():
            supd = Supd()
            supd.parallel = True
            parameters = {"name": "web", "state": "failed", "message": "no", "candidates": [], "rolled_back_to": None}
            supd.answers = dict.fromkeys(a_supd_methods(), lambda call, s, e=error, p=parameters: [Error(e, **p)])
            status = supctl(supd, verb, *least).status
            supd.close()
            # No actor is in a wrong state, where it is the program of supd that does not fit.
            if verb == "upgrade" and error == "InvalidState":
                wanted = 1
            check(status == wanted, f"{verb}, {error}: {status}")
        if verb not in ("status",):
            check(supctl(None, verb, "--no-such-option").status == 2, f"{verb} --no-such-option")


def a_supd_methods():
    supd = a_supd()
    supd.close()
    return list(supd.answers)


if __name__ == "__main__":
    if "--write" in sys.argv:
        os.makedirs(GOLDEN, exist_ok=True)
        for name in os.listdir(GOLDEN):
            os.unlink(path_of(name))
        for one_verb in verbs():
            with open(path_of(one_verb), "w", encoding="utf8") as file_of_verb:
                file_of_verb.write(golden(one_verb))
        sys.exit(0)
    sys.exit(run(dict(globals())))
