#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd comes up: order, readiness, its options, one runtime directory, odd surroundings."""
import json
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import (PATIENCE, SUPCTL, SUPD, Skip, alive, bury, check, children, equal, has, main, now_ns,
                     run, test)


@test("children start in the order of the file, depth first")
def order(box):
    s = box.supd({"b": {}, "a": {}, "inner": {"children": {"z": {}, "y": {}}}, "c": {}})
    s.started("c")
    equal(s.order(kinds="S"), ["S b", "S a", "S z", "S y", "S c"], "the order")


@test("no process of supd has a second thread")
def threads(box):
    s = box.supd({"a": {}})
    for pid in (s.pid, s.guardian(), s.actor("/system/log")["pid"]):
        equal(len(os.listdir(f"/proc/{pid}/task")), 1, f"threads of {pid}")


@test("91 a sibling starts only when the elder one is ready")
def ready_first(box):
    s = box.supd({"a": {"ready": "notify", "do": ["300:ready"]}, "b": {}})
    b = s.line("S", "b")
    check(b.ns >= s.line("r", "a").ns, "b was started before a was ready")
    check(b.ns - s.line("S", "a").ns >= 290e6, "b was started before 300 ms had passed")


@test("C23 a supervisor counts as started when its last child is")
def supervisor_ready(box):
    s = box.supd({"sup": {"children": {"a": {"ready": "notify", "do": ["200:ready"]}}},
                  "b": {}})
    check(s.line("S", "b").ns >= s.line("r", "a").ns, "b was started too early")


@test("start: parallel does not wait for readiness")
def parallel(box):
    s = box.supd({"a": {"ready": "notify", "do": []}, "b": {}}, start="parallel", wait=False)
    s.started("b")
    equal(s.actor("a")["state"], "starting", "a's state")
    s.tell("a", "ready")
    s.wait_for("a", state="running", ready=True)


@test("a child with enabled: false stays stopped until it is started by hand")
def disabled(box):
    s = box.supd({"a": {"enabled": False}, "b": {}})
    s.started("b")
    equal(s.actor("a")["state"], "stopped", "a's state")
    s.ctl_ok("start", "a")
    s.started("a")


@test("READY=1 is sent after the boot, with a line of status, and STOPPING=1 at the end")
def notifications(box):
    s = box.supd({"a": {}, "b": {"ready": "notify", "do": ["100:ready"]}})
    check(s.lines("r", "b") or s.line("r", "b"), "ready")
    s.until(lambda: any("STATUS=2 running" in note for note in s.notes), "STATUS=2 running")
    s.stop()
    check(any("STOPPING=1" in note for note in s.notes), f"no STOPPING=1 in {s.notes}")


@test("a shutdown through supctl is told to systemd, and puts off its timeout", timeout=60)
def shutdown_is_told(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.ctl_ok("shutdown")
    s.ended(0)
    for word in "STOPPING=1", "EXTEND_TIMEOUT_USEC=":
        check(any(word in note for note in s.notes), f"no {word} in {s.notes}")


@test("what supd asks systemd for while it stops is bounded by the sum of its actors' times")
def extension_is_bounded(box):
    def asked(name, **keys):
        s = box.supd({"a": {"shutdown": "1s", "kill_timeout": "2s", **keys}}, name=name)
        s.started("a")
        s.stop()
        notes = "\n".join(s.notes)
        return int(re.search(r"STOPPING=1\nEXTEND_TIMEOUT_USEC=(\d+)", notes)[1]) / 1e6

    few = asked("few")
    check(few < 30, f"{few} s for one that takes 3")
    check(asked("more", hooks={"pre_stop": "/bin/true"}, hook_timeout="3s") > few,
          "nothing for its hook")
    equal(asked("endless", shutdown="infinity"), 30, "what one that may take for ever gets")


@test("a child that cannot start does not hold back READY=1")
def ready_in_spite(box):
    s = box.supd({"a": {"command": ["/nonexistent/program"]}, "b": {}})
    equal(s.actor("a")["state"], "failed", "a's state")
    equal(s.actor("b")["state"], "running", "b's state")


@test("the runtime directory and the control socket are made, with their modes")
def places(box):
    s = box.supd({"a": {}})
    equal(stat.S_IMODE(os.stat(s.runtime).st_mode), 0o755, "the directory's mode")
    mode = os.stat(s.socket).st_mode
    check(stat.S_ISSOCK(mode), "no socket")
    equal(stat.S_IMODE(mode), 0o660, "the socket's mode")
    s.stop()
    check(not os.path.exists(s.socket), "the socket's file is still there")


@test("a second supd in the same runtime directory exits 69 and disturbs nothing")
def second(box):
    s = box.supd({"a": {}})
    pid = s.started("a")
    other = run(SUPD, "-c", s.file, "-r", s.runtime)
    equal(other.code, 69, f"exit status ({other.err})")
    has(other.err, r"\S", "stderr")
    equal(s.actor("a")["pid"], pid, "a's pid")
    equal(s.ctl("ping").code, 0, "ping of the first")


@test("what a killed supd leaves behind does not prevent the next one")
def leftovers(box):
    s = box.supd({"a": {"sockets": {"web": f"unix:{box.path('web.sock')}"}}})
    s.started("a")
    s.slay()
    bury([])
    check(os.path.exists(s.socket) and os.path.exists(box.path("web.sock")), "no leftovers")
    again = box.popen(SUPD, "-c", s.file, "-r", s.runtime, env={
        "NOTIFY_SOCKET": os.path.join(s.dir, "notify"), "PATH": os.environ["PATH"]},
        stderr=subprocess.DEVNULL)
    s.notes.clear()
    s.until(lambda: any("READY=1" in note for note in s.notes), "READY=1 of the next")
    equal(run(SUPCTL, "-s", s.socket, "is-active", "a").code, 0, "is-active")
    again.terminate()
    equal(again.wait(), 0, "its exit status")


@test("two supds with `-r run`, each in a directory of its own, touch nothing of each other")
def relative(box):
    def start(name):
        """The supd, the pid of its actor and the socket that the actor knows."""
        os.makedirs(box.path(name), exist_ok=True)
        with open(box.path(f"{name}/tree.yaml"), "w", encoding="utf8") as file:
            file.write("children:\n  a: {command: [sh, -c, 'echo $$$$ $SUPD_SOCKET; exec sleep 1000'], output: inherit}\n")
        supd = box.popen(SUPD, "tree.yaml", "-r", "run", cwd=box.path(name), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        pid, known = supd.stdout.readline().split()
        equal(known, box.path(f"{name}/run/control.sock"), "SUPD_SOCKET")
        return supd, int(pid)

    one, orphan = start("one")
    two, other = start("two")
    os.kill(one.pid, signal.SIGSTOP)
    for pid in children(one.pid) + [one.pid]:
        os.kill(pid, signal.SIGKILL)
    one.wait()
    one, _ = start("one")
    check(not alive(orphan), "what the dead one left is still there")
    check(alive(other), "the other one's actor was killed")
    for supd in (one, two):
        supd.terminate()
        equal(supd.wait(), 0, "its exit status")


@test("-V tells the version, -h helps, an unknown option is usage (64)")
def options(box):
    del box
    for option in ("-V", "--version"):
        version = run(SUPD, option)
        equal(version.code, 0, option)
        has(version.out, r"supd.* \d+\.\d+", option)
    for option in ("-h", "--help"):
        helped = run(SUPD, option)
        equal(helped.code, 0, option)
        for word in ("-c", "-r", "--check", "--schema"):
            has(helped.out, word, option)
    equal(run(SUPD, "--frobnicate").code, 64, "exit status for an unknown option")
    equal(run(SUPD, "-c").code, 64, "exit status for -c without a file")


@test("--schema prints a JSON Schema that knows the keys")
def schema(box):
    del box
    result = run(SUPD, "--schema")
    equal(result.code, 0, "exit status")
    text = json.loads(result.out)
    has(text.get("$schema", ""), "json-schema.org", "$schema")
    for key in ("children", "strategy", "intensity", "defaults", "templates", "control",
                "command", "backoff", "restart", "sockets", "shutdown", "limits"):
        has(result.out, f'"{key}"', "the schema")


@test("DECISIONS 62 a user, group or file missing at boot fails the start of its actor only",
      root=True)
def missing(box):
    files = {name: box.path(name) for name in ("passwd", "group")}
    for name, path in files.items():
        shutil.copy("/etc/" + name, path)
    mounts = "".join(f"mount --bind {path} /etc/{name} && " for name, path in files.items())
    if subprocess.run(["unshare", "-m", "sh", "-c", mounts + "true"], capture_output=True,
                      check=False).returncode != 0:
        raise Skip("no namespace for mounts here")
    soon = {"backoff": {"min": "50ms", "max": "50ms"}}
    tree = {"u": {"user": "supd-late", "supplementary_groups": ["daemon", "supd-more"], **soon},
            "g": {"group": "supd-more", "hooks": {"pre_start": "/bin/true"}, **soon},
            "e": {"environment_file": box.path("late.env"), **soon},
            "s": {"sockets": {"x": {"listen": "unix:" + box.path("late.sock"), "mode": "0600",
                                    "user": "supd-late", "group": "supd-more"}}, **soon},
            "z": {},
            "group": {"strategy": "one_for_all", "I": "9999/1s",
                      "children": {"v": {"user": "supd-late", **soon}}}}
    os.chmod(box.dir, 0o777)
    s = box.supd(tree, wait=False, control={"group": "supd-more", "observers": "supd-more"},
                 command=["unshare", "-m", "sh", "-c", mounts + 'exec "$0" "$@"', SUPD])
    s.started("z")
    for name, step in (("u", "find user"), ("e", "environment_file"), ("group/v", "find user"),
                       ("s", "open socket")):
        failure = s.event("failure", name, 2)
        equal((failure["cause"]["kind"], failure["cause"]["errno"], failure["step"]),
              ("exec", "ENOENT", step), f"the failure of {name}")
    s.event("failure", "g", 2)
    has(s.ctl_ok("explain", "u").out, r"`user` at .*:\d+", "the story of u")
    check("supd-late" in s.ctl("apply").err, "apply took a file with an unknown user")
    check(not os.path.exists(box.path("late.sock")), "a socket without its owner was made")
    with open(s.stderr, encoding="utf8") as text:
        said = text.read()
    for key in ("group", "observers"):
        has(said, rf"supd\.yaml:\d+:.*control\.{key}: there is no group `supd-more`.*apply",
            f"the warning of control.{key}")
    has(said, r"(?s)(/user/s: socket x: user supd-late is unknown.*){3}", "each failed attempt")
    s.ctl_ok("stop", "group/v")
    s.crash()
    with open(files["group"], "a", encoding="utf8") as text:
        text.write("supd-more:x:64321:\n")
    with open(files["passwd"], "a", encoding="utf8") as text:
        text.write("supd-late:x:64320:64320::/home/late:/bin/late\n")
    box.file("late.env", "LATE=yes\n")
    pids = {name: s.started(name) for name in ("u", "g", "e", "s")}
    status = os.stat(box.path("late.sock"))
    equal((status.st_uid, status.st_gid, status.st_mode & 0o777), (64320, 64321, 0o600),
          "owner and mode of the socket")
    with open(f"/proc/{pids['u']}/status", encoding="utf8") as text:
        status = text.read()
    has(status, r"Uid:\t64320\t64320\t64320\t64320\nGid:\t64320\t", "the ids of u")
    has(status, r"Groups:\t1 64320 64321 ?\n", "the groups of u")
    with open(f"/proc/{pids['u']}/environ", encoding="utf8") as text:
        has(text.read(), "HOME=/home/late", "the environment of u")
    equal(os.stat(s.socket).st_gid, os.getegid(), "the group of the control socket at first")
    s.ctl_ok("apply")
    equal(os.stat(s.socket).st_gid, 64321, "the group of the control socket after apply")
    # A new guardian keeps the ids that its predecessor looked up: the files lose them.
    for name, path in files.items():
        shutil.copy("/etc/" + name, path)
    s.crash()
    s.tell("u", "exit=1")
    with open(f"/proc/{s.started('u', 2)}/status", encoding="utf8") as text:
        has(text.read(), "Uid:\t64320\t", "the ids of u afterwards")


@test("a stderr without a reader does not stop supd (L-04)")
def deaf_stderr(box):
    with open(box.path("deaf.yaml"), "w", encoding="utf8") as text:
        text.write("children: {loop: {command: [/bin/true], backoff: none, output: 'null', "
                   "replicas: 200}}\n")
    socket = os.path.join(box.path("run"), "control.sock")

    def until(condition, what):
        end = now_ns() + 10_000_000_000 * PATIENCE
        while not condition():
            check(now_ns() < end, f"waited in vain for {what}")
            select.select([], [], [], 0.02)

    supd = box.popen(SUPD, "-c", box.path("deaf.yaml"), "-r", box.path("run"),
                     stderr=subprocess.PIPE)
    until(lambda: os.path.exists(socket), "the control socket")

    def restarts():
        out = run(SUPCTL, "-s", socket, "-o", "json", "status", "loop").out
        return sum(actor["restarts"] for actor in json.loads(out))

    # Five lines each: many times what a pipe holds.
    until(lambda: restarts() > 1000, "a thousand restarts")
    supd.terminate()
    equal(supd.wait(20), 0, "exit status")


@test("SIGINT ends supd in order, as SIGTERM does")
def interrupt(box):
    s = box.supd({"a": {}, "b": {}})
    s.started("b")
    s.signal(signal.SIGINT)
    s.ended(0)
    equal(s.order(), ["S a", "S b", "t b", "x b", "t a", "x a"], "the order")


def surroundings(box, before, env=None):
    """supd is started in an odd world and has to do all of its work."""
    s = box.supd({"a": {}, "b": {}}, before=before, env=env)
    s.started("a")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.stop()


@test("supd works when started with SIGCHLD ignored")
def sigchld_ignored(box):
    surroundings(box, lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))


@test("supd works when started with every signal blocked")
def signals_blocked(box):
    surroundings(box, lambda: signal.pthread_sigmask(signal.SIG_BLOCK,
                                                     signal.valid_signals()))


@test("supd works when started with descriptors 0 to 2 closed")
def closed_descriptors(box):
    surroundings(box, lambda: [os.close(fd) for fd in (0, 1, 2)])


@test("supd works when started with strange descriptors open, and does not pass them on")
def strange_descriptors(box):
    s = box.supd({"a": {"do": ["report"]}}, command=[
        "/bin/sh", "-c", 'exec "$@" 3<&0 4<&0 5<&0 6<&0 7<&0 8<&0 9<&0', "sh", SUPD])
    pid = s.line("R", "a").pid
    with open(box.path(f"report.a.{pid}/fds"), encoding="utf8") as text:
        equal([line.split()[0] for line in text], ["0", "1", "2"], "a's descriptors")


@test("supd works with a tiny environment")
def tiny_environment(box):
    s = box.supd({"a": {}}, command=[
        "/usr/bin/env", "-i", "NOTIFY_SOCKET=" + box.path("notify"), SUPD])
    s.started("a")
    s.tell("a", "exit=1")
    s.started("a", 2)


@test("supd works with a huge environment")
def huge_environment(box):
    surroundings(box, None, {f"FILLER_{i}": "x" * 1000 for i in range(500)})


@test("a supd with another runtime directory but the same socket touches no actor")
def same_socket(box):
    path = box.path("shared.sock")
    first = box.supd({"a": {}}, name="one", wait=False, control={"socket": path})
    pid = first.line("S", "a").pid
    second = box.supd({"b": {}}, name="two", wait=False, control={"socket": path})
    second.ended(69)
    check(alive(pid), "the actor of the first was killed")
    equal(run(SUPCTL, "-s", path, "is-active", "a").code, 0, "is-active")


if __name__ == "__main__":
    main()
