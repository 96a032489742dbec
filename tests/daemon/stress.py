#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Much at once, for long, and with too little of everything."""
import os
import random
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import (INSTRUMENTED, SUPD, Skip, alive, check, children, equal, has, main, now_ns,
                     test)
from varlink import Varlink

MANY = 1000


def sleepers(count, **keys):
    return {f"a{i}": {"command": ["/bin/sleep", "100000"], "output": "null", **keys}
            for i in range(count)}


@test("a thousand actors that crash at once are all back, none twice, no zombie", timeout=90)
def thousand(box):
    s = box.supd(sleepers(MANY))
    s.until(lambda: s.counts["started", "/user/a999"] == 1, "the last start", 30)
    pids = [event["pid"] for event in s.seen("started")
            if event.get("pid") and event["path"].startswith("/user/")]
    equal(len(set(pids)), MANY, "processes")
    guardian = s.guardian()
    os.kill(guardian, signal.SIGSTOP)  # the kernel then merges all SIGCHLDs into a single signal
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    s.until(lambda: not any(alive(pid) for pid in pids), "their end")
    os.kill(guardian, signal.SIGCONT)
    paths = [f"/user/a{i}" for i in range(MANY)]
    s.until(lambda: sum(s.counts["started", path] for path in paths) >= 2 * MANY,
            "all to be back", 40)
    actors = s.call("Status")["actors"][1:]
    equal({actor["state"] for actor in actors}, {"running"}, "the states")
    equal({(actor["restarts"], actor["generation"]) for actor in actors}, {(1, 2)}, "counters")
    living = s.brood()
    equal(sorted(living), sorted(actor["pid"] for actor in actors), "supd's children")
    equal([pid for pid in living if not alive(pid)], [], "zombies")
    for kind in ("exited", "failure"):
        equal({s.counts[kind, path] for path in paths}, {1}, f"{kind} events an actor")
    causes = {(event["cause"]["kind"], event["cause"]["signal"].removeprefix("SIG"))
              for event in s.seen("failure")}
    equal(causes, {("signal", "KILL")}, "the causes")
    s.stop(timeout=40)


@test("184 ten thousand restarts leave descriptors and memory flat", timeout=120)
def ten_thousand(box):
    # By hand, because a loop is paced.
    names = [f"/user/a{n}" for n in range(50)]
    s = box.supd({name[6:]: {"command": ["/bin/sleep", "1000"], "output": "null"}
                  for name in names}, start="parallel")
    for n in range(200):
        if n == 60:
            del s.events[:-1]
            fds, memory = s.descriptors(), s.memory_kib()
        s.call("Restart", names=names)
    check(s.descriptors() <= fds + 1, f"descriptors: {fds}, then {s.descriptors()}")
    check(INSTRUMENTED or s.memory_kib() <= memory + 1024,
          f"memory: {memory}, then {s.memory_kib()} KiB")
    equal(s.actor("a49")["generation"], 201, "processes of one")
    equal([child for child in s.brood() if not alive(child)], [], "zombies")


@test("an idle supd does nothing at all, with hundreds of actors", timeout=60)
def idle(box):
    s = box.supd(sleepers(300))
    s.until(lambda: s.counts["started", "/user/a299"] == 1, "the last start", 30)
    supd = [s.process.pid] + [pid for pid in children(s.process.pid) + children(s.guardian())
                              if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(SUPD)]
    check(len(supd) == 3, f"walker, guardian and log process: {supd}")

    def switches():
        total = 0
        for pid in supd:
            with open(f"/proc/{pid}/status", encoding="utf8") as text:
                total += sum(int(line.split()[1]) for line in text if "ctxt_switches" in line)
        return total

    last = [switches(), now_ns()]

    def silent_for(seconds):
        now = switches()
        if now != last[0]:
            last[:] = now, now_ns()
        return now_ns() - last[1] > seconds * 1_000_000_000

    # The walker looks twice, 4 s apart, whether the guardian sleeps.
    s.until(lambda: silent_for(10), "10 s without a context switch", 40)


@test("only descriptors that actors need are asked for: a limit that suffices is no shortage",
      timeout=60)
def enough(box):
    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (1200, 1200))

    spec = {"command": ["sleep", "1000"], "containment": "session", "output": "inherit"}
    s = box.supd({f"a{n}": spec for n in range(300)}, before=before)
    s.until(lambda: s.counts["started", "/user/a299"] == 1, "the last start", 30)
    with open(os.path.join(s.dir, "stderr"), encoding="utf8") as text:
        said = text.read()
    check("descriptors are needed" not in said, said)
    # The low numbers are held for starts, which are slow without them; a child that is
    # forked needs none.
    if INSTRUMENTED:
        return
    low = f"/proc/{s.guardian()}/fd/50"
    s.until(lambda: os.path.lexists(low) and os.readlink(low) == "/dev/null", "descriptor 50 is held")


@test("with too few descriptors a restart is retried until it works, and clients are served",
      timeout=60)
def emfile(box):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, min(hard, 64)))

    s = box.supd({"a": {"backoff": {"min": "100ms", "max": "100ms"}}, "b": {}}, before=before)
    s.event("started", "b")
    held = []
    try:
        for _ in range(80):
            client = Varlink(s.socket, timeout=1)
            held.append(client)
            client.send("Ping")
    except OSError:
        pass
    s.tell("a", "exit=1")
    s.until(lambda: s.counts["S", "a"] > 1 or any(
        one["cause"]["errno"] == "EMFILE" for one in s.seen("shortage", "a")), "an outcome")
    for client in held:
        client.close()
    s.started("a", 2)
    s.until(lambda: s.ctl("ping").code == 0, "supctl ping")
    s.wait_for("a", state="running")
    equal(s.process.poll(), None, "supd's end")


@test("idle clients take no descriptor that a restart needs")
def crowded(box):
    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    s = box.supd({"a": {}}, before=before)
    s.started("a")
    held = []
    try:
        for _ in range(260):
            client = Varlink(s.socket, timeout=1)
            held.append(client)
            client.send("Ping")
    except OSError:
        pass
    s.tell("a", "exit=1")
    s.started("a", 2)
    equal([one["cause"]["errno"] for one in s.seen("failure", "a")], [None], "failures' errno")
    for client in held:
        client.close()


def plain(n):
    return {f"a{i}": {"command": ["sleep", "1000"]} for i in range(n)}


@test("a reload of which not all could be kept over a crash is refused, and nothing changes")
def too_many_to_keep(box):
    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (180, 180))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    s = box.supd(plain(10), before=before)
    pids = {name: s.actor(name)["pid"] for name in plain(10)}
    s.write(plain(200))
    done = s.ctl("apply")
    check(done.code != 0, f"apply: {done}")
    has(done.err + done.out, "supd can keep no more descriptors over a crash")
    s.write(plain(11))
    s.ctl_ok("apply")
    os.kill(s.guardian(), signal.SIGKILL)
    s.until(lambda: "a10 " in s.ctl("status").out, "the next guardian")
    for name, pid in pids.items():
        equal(s.ctl("pid", name).out, f"{pid}\n", f"the pid of {name}")
    s.acknowledged = True
    s.signal(signal.SIGTERM)
    s.ended(0)


@test("a full disk under the log directory is told and does not stop the work", root=True)
def full_disk(box):
    disk = box.path("logs")
    os.mkdir(disk)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=4", "none", disk],
                          check=False, capture_output=True)
    if done.returncode != 0:
        raise Skip("no tmpfs may be mounted here")
    box.undo.append(lambda: subprocess.run(["umount", "-l", disk], check=False))
    try:
        with open(f"{disk}/filler", "wb") as filler:
            filler.write(bytes(1 << 20))
    except OSError:
        pass
    s = box.supd({"quiet": {"output": "null"}, "a": {
        "backoff": {"min": "200ms", "max": "200ms"}, "do": ["say=hello"]}}, wait=False)
    s.started("quiet")
    s.until(lambda: any(event.get("path") == "/user/a" and event["event"] in (
        "failure", "started") for event in s.events), "an event of a")
    if not s.seen("started", "a"):
        cause = s.event("failure", "a")["cause"]
        equal(cause["errno"], "ENOSPC", "the cause")
    os.unlink(f"{disk}/filler")
    subprocess.run(["mount", "-o", "remount,size=1m,nr_inodes=1000", disk], check=True)
    if not s.seen("started", "a"):
        s.ctl_ok("start", "a")
    s.started("a")
    s.tell("quiet", "exit=1")
    s.started("quiet", 2)


@test("a thousand actors stop in order within a shutdown", timeout=60)
def mass_stop(box):
    s = box.supd(sleepers(MANY, shutdown="5s"), stop="parallel")
    s.until(lambda: s.counts["started", "/user/a999"] == 1, "the last start", 30)
    s.stop(timeout=40)
    equal(s.seen("killed_after_timeout"), [], "killed_after_timeout events")


@test("two hundred random commands and crashes at once: every wish is kept", timeout=60)
def chaos(box):
    dice = random.Random(7)
    tree = {f"s{i}": {"strategy": ("one_for_one", "one_for_all", "rest_for_one")[i % 3],
                      "I": "1000/1h", "children": {f"s{i}c{j}": {} for j in range(4)}}
            for i in range(6)}
    s = box.supd(tree)
    s.started("s5c3")
    client = Varlink(s.socket)
    for _ in range(200):
        sup = dice.randrange(6)
        name = f"s{sup}c{dice.randrange(4)}"
        verb = dice.choice(("crash", "crash", "Start", "Stop", "Restart"))
        if verb == "crash":
            try:
                s.tell(name, "exit=1")
            except OSError:
                pass
        else:
            client.send(verb, {"names": [f"/user/s{sup}/{name}"], "wait": False}, oneway=True)
        s.pump(0.002)
    client.call("Ping")
    for sup in range(6):
        s.call("Start", names=[f"/user/s{sup}/s{sup}c{i}" for i in range(4)])
    for sup in range(6):
        for child in range(4):
            s.wait_for(f"s{sup}/s{sup}c{child}", state="running")
    pids = [s.actor(f"s{i}/s{i}c{j}")["pid"] for i in range(6) for j in range(4)]
    equal(sorted(pids), sorted(pid for pid in s.brood() if alive(pid)), "live processes")


if __name__ == "__main__":
    main()
