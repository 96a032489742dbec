#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Almost as many captured actors as descriptors are allowed: one descriptor an actor, in each
of supd's processes; and too few descriptors for what is asked."""
import os
import re
import resource
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from containments import cgroup_root
from harness import INSTRUMENTED, Skip, alive, check, equal, has, main, test
from varlink import Varlink
from writers import kill, shell, text_of

# What supd needs itself: descriptors of its own, the window of starts, a few clients.
SET_ASIDE = 220
STAMP = r"(?m)^\S+Z "
SPEAKERS = 5
# The walker keeps nothing with fewer.
LIMIT_OF_VAULT = 91


def allow(limit):
    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit // 4, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return before


def tree(n):
    """The last ones speak, when descriptors have become few."""
    speaker = shell("echo out $$; echo err >&2; echo end; exec sleep 1000",
                    backoff={"min": "20ms", "max": "20ms"})
    return {**{f"a{i}": {"command": ["sleep", "1000"]} for i in range(n - SPEAKERS)},
            **{f"s{i}": speaker for i in range(SPEAKERS)}}


def pipes(pid):
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            n += os.readlink(f"/proc/{pid}/fd/{fd}").startswith("pipe:")
        except FileNotFoundError:
            pass
    return n


def leaves(pid):
    """How many cgroups of actors this process has open."""
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            path = os.readlink(f"/proc/{pid}/fd/{fd}")
            n += "/actors/user:" in path and not path.endswith(".events")
        except FileNotFoundError:
            pass
    return n


def pids(s):
    return {actor["path"]: actor["pid"] for actor in s.call("Status")["actors"][1:]
            if actor["pid"]}


def others(s):
    return [(actor["path"], actor["state"], actor["backoff"])
            for actor in s.call("Status")["actors"][1:] if not actor["pid"]][:20]


def all_run(s, n, timeout=30):
    s.until(lambda: len(pids(s)) == n, lambda: f"{n} processes; without: {others(s)}", timeout)


def slay(s, name):
    """Kill the process of the actor, and wait for the next one, and what it prints."""
    pid = s.actor(name)["pid"]
    os.kill(pid, signal.SIGKILL)
    s.until(lambda: s.actor(name)["pid"] not in (None, pid), f"the next process of {name}")
    said_in_order(s, name)


def said_in_order(s, name):
    """Each of its lives has said all of it, in its order, the newest at the end."""
    path = os.path.join(s.dir, f"logs/user/{name}.log")

    def lives():
        text = re.sub(STAMP, "", text_of(path))
        found = re.fullmatch(r"(?:out \d+\nerr\nend\n)*", text)
        return re.findall(r"\d+", text) if found else []

    s.until(lambda: lives()[-1:] == [str(s.actor(name)["pid"])],
            lambda: f"its last words in {path}: {text_of(path)[-300:]!r}")
    equal(len(set(lives())), len(lives()), f"the lives of {name} that are told once")


def warnings(s):
    return re.findall("descriptors are needed|not kept|shortage", text_of(
        os.path.join(s.dir, "stderr")))


@test("one descriptor an actor suffices, in guardian, walker and log process, whichever dies",
      timeout=90)
def one_each(box):
    limit = 600
    n = int(0.93 * (limit - SET_ASIDE))
    s = box.supd(tree(n), before=allow(limit))
    all_run(s, n)
    equal(warnings(s), [], "warnings")
    check(pipes(s.guardian()) < 50, f"{pipes(s.guardian())} pipes in the guardian")
    for name in ("s0", "s1", "s1"):
        slay(s, name)
    before, fds = pids(s), s.descriptors()
    s.crash()
    equal(pids(s), before, "the processes, which were adopted")
    for name in ("s1", "s2", "s2"):
        slay(s, name)
    # All pipes are named to the next log process.
    kill(s, b"@log")
    for name in ("s3", "s2"):
        slay(s, name)
    # Each needs its pipe for a moment, while each end takes a descriptor, too.
    for pid in pids(s).values():
        os.kill(pid, signal.SIGKILL)
    s.until(lambda: not set(pids(s).values()) & set(before.values()), "their ends", 30)
    all_run(s, n)
    for i in range(SPEAKERS):
        said_in_order(s, f"s{i}")
    equal(warnings(s), [], "warnings")
    check(s.descriptors() <= fds + n, f"descriptors: {fds}, then {s.descriptors()}")
    check(pipes(s.guardian()) < 50, f"{pipes(s.guardian())} pipes in the guardian")
    equal(sorted(pids(s)), sorted(before), "who runs")


@test("actors that come make room in the guardian for themselves", timeout=60)
def growth(box):
    limit = 1000
    n = int(0.93 * (limit - SET_ASIDE))
    s = box.supd(tree(50), before=allow(limit))
    all_run(s, 50)
    check(pipes(s.guardian()) >= 50, f"{pipes(s.guardian())} pipes in the guardian")
    s.write(tree(n))
    s.ctl_ok("apply")
    all_run(s, n)
    check(pipes(s.guardian()) < 50, f"{pipes(s.guardian())} pipes in the guardian")
    slay(s, "s0")
    slay(s, "s1")
    equal(warnings(s), [], "warnings")


@test("pipes stay with the guardian as far as there is room, those that were used last", timeout=90)
def kept_pipes(box):
    limit = 2200
    n = 830
    s = box.supd(tree(n), before=allow(limit))
    all_run(s, n)
    held = pipes(s.guardian())
    check(50 < held < n, f"{held} pipes in the guardian")
    # As often as half of them are used, so that no other is closed meanwhile.
    names = [f"a{i}" for i in range(held // 3)]
    for _ in range(2):
        before = pids(s)
        for name in names:
            os.kill(before["/user/" + name], signal.SIGKILL)
        s.until(lambda: not {before["/user/" + name] for name in names} & set(pids(s).values()),
                "their ends", 30)
        all_run(s, n)
    check(abs(pipes(s.guardian()) - held) <= 32, f"{held}, then {pipes(s.guardian())} pipes in the guardian")
    # The walker is not asked for the pipes of these.
    os.kill(s.pid, signal.SIGSTOP)
    try:
        pid = s.actor("a0")["pid"]
        os.kill(pid, signal.SIGKILL)
        s.until(lambda: s.actor("a0")["pid"] not in (None, pid), "the next process of a0")
    finally:
        os.kill(s.pid, signal.SIGCONT)
    for i in range(SPEAKERS):
        slay(s, f"s{i}")
    equal(warnings(s), [], "warnings")


@test("pipes make room for the sockets of an apply before these are opened", timeout=90)
def sockets_come(box):
    limit, n, n_new, n_sockets = 1600, 440, 60, 580
    spec = {"command": ["sleep", "1000"], "containment": "session"}
    old = {f"a{i}": spec for i in range(n)}
    new = {f"k{i}": {**spec, "sockets": {f"s{j}": f"unix:{box.dir}/k{i}.{j}" for j in range(i, n_sockets, n_new)}}
           for i in range(n_new)}
    s = box.supd(old, before=allow(limit))
    all_run(s, n)
    check(pipes(s.guardian()) >= n, f"{pipes(s.guardian())} pipes in the guardian")
    s.write({**old, **new})
    s.ctl_ok("apply", timeout=60)
    all_run(s, n + n_new)
    check(pipes(s.guardian()) < 50, f"{pipes(s.guardian())} pipes in the guardian")
    equal(s.seen("shortage"), [], "shortages")
    equal(warnings(s), [], "warnings")


@test("cgroups stay open for the next start as far as there is room, and give way to actors",
      timeout=60)
def kept_leaves(box):
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and no cgroup stays open")
    cgroup_root()
    s = box.supd(tree(50), before=allow(1000))
    all_run(s, 50)
    equal(leaves(s.guardian()), 50, "cgroups that are open")
    s.write(tree(130))
    s.ctl_ok("apply")
    all_run(s, 130)
    check(0 < leaves(s.guardian()) < 50, f"{leaves(s.guardian())} cgroups are open")
    slay(s, "s0")
    s.write(tree(500))
    s.ctl_ok("apply")
    all_run(s, 500)
    equal(leaves(s.guardian()), 0, "cgroups that are open")
    slay(s, "s1")
    equal(warnings(s), [], "warnings")


@test("a walker that does not answer delays a start, and nothing else", timeout=60)
def deaf_walker(box):
    s = box.supd(tree(200), before=allow(500))
    all_run(s, 200)
    # The pipe of an actor that was started long ago is with the walker alone.
    pid = s.actor("a0")["pid"]
    os.kill(s.pid, signal.SIGSTOP)
    try:
        os.kill(pid, signal.SIGKILL)
        short = s.event("shortage", "a0")
        equal(short["cause"]["errno"], "EBUSY", "what is lacking")
        s.ctl_ok("ping")
    finally:
        os.kill(s.pid, signal.SIGCONT)
    s.event("started", "a0", count=2)
    slay(s, "s0")


@test("a pipe that was asked for and is not needed makes room for the next one", timeout=60)
def foreseen_for_nothing(box):
    ends = shell("trap 'exit 0' TERM; echo up; while :; do sleep .1; done", restart="transient")
    limit = 600
    n = int(0.93 * (limit - SET_ASIDE))
    s = box.supd({"a": ends, **tree(n - 1)}, before=allow(limit))
    all_run(s, n)
    fds = s.descriptors()
    for name in ("a0", "a1"):
        # Both ends are seen at once; of the first one no last words are read.
        ended, killed, guardian = s.actor("a")["pid"], s.actor(name)["pid"], s.guardian()
        os.kill(guardian, signal.SIGSTOP)
        os.kill(ended, signal.SIGTERM)
        s.until(lambda: not alive(ended), "the end of a's process")
        os.kill(killed, signal.SIGKILL)
        s.until(lambda: not alive(killed), "the end of the other process")
        os.kill(guardian, signal.SIGCONT)
        s.until(lambda: s.actor("a")["state"] == "done", "the end of a")
        s.until(lambda: s.actor(name)["pid"] not in (None, killed), "the next process")
        s.ctl_ok("start", "a")
        all_run(s, n)
    equal(warnings(s), [], "warnings")
    check(s.descriptors() <= fds + 8, f"descriptors: {fds}, then {s.descriptors()}")


def listening(s):
    """The inodes of sockets that listen where the control socket is."""
    with open("/proc/net/unix", encoding="utf8") as sockets:
        return [line.split()[6] for line in sockets if line.rstrip().endswith(" " + s.socket)
                and line.split()[3] == "00010000"]


def survives_or_says_so(box, limit):
    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    s = box.supd(tree(SPEAKERS + 5), before=before)
    all_run(s, SPEAKERS + 5)
    running, sockets = pids(s), listening(s)
    equal(len(sockets), 1, "listening sockets")
    is_said = "actors will not survive a crash of supd" in text_of(s.stderr)
    equal(is_said, limit < LIMIT_OF_VAULT, "what the start said of crashes")
    s.crash()
    all_run(s, SPEAKERS + 5)
    equal("ledger_lost" in text_of(s.stderr), is_said, "the ledger is lost")
    equal(pids(s) == running, not is_said, "the processes are those from before")
    equal(listening(s) == sockets, not is_said, "the control socket is that from before")
    if not is_said:
        s.write({"more": {"command": ["sleep", "1000"]}, **tree(SPEAKERS + 5)})
        s.ctl_ok("apply")
        all_run(s, SPEAKERS + 6)
        equal(warnings(s), [], "warnings")
    for name in ("s0", "s1", "s1"):
        slay(s, name)


for few in 403, 200, 150, 66:
    test(f"with at most {few} descriptors actors outlive a crash, or the start says that they do not",
         timeout=60)(lambda box, few=few: survives_or_says_so(box, few))


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


def connect_many(s, count):
    """So many clients that have asked, or as many as supd takes."""
    held = []
    try:
        for _ in range(count):
            held.append(Varlink(s.socket, timeout=1))
            held[-1].send("Ping")
    except OSError:
        pass
    return held


@test("with too few descriptors a restart is retried until it works, and clients are served",
      timeout=60)
def emfile(box):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, min(hard, 64)))

    s = box.supd({"a": {"backoff": {"min": "100ms", "max": "100ms"}}, "b": {}}, before=before)
    s.event("started", "b")
    held = connect_many(s, 80)
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
    held = connect_many(s, 260)
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


if __name__ == "__main__":
    main()
