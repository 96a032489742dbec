#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A process has the ids, the rights and the scheduling of the file; if supd cannot give them,
it does not start the process, and tells why."""
import functools
import grp
import os
import pwd
import re
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, Skip, check, equal, has, main, test
from probe_report import Report, reporting

NOBODY = pwd.getpwnam("nobody").pw_uid
CAPS = {"chown": 0, "kill": 5, "setpcap": 8, "net_bind_service": 10, "net_raw": 13,
        "sys_chroot": 18, "sys_resource": 24, "sys_nice": 23}
BATCH, IDLE = 3, 5
IO_BEST_EFFORT, IO_IDLE = 2 << 13, 3 << 13


def own(name):
    """A capability set of the test's process, by name (Eff, Prm, Bnd...)."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1], 16) for line in status
                    if line.startswith(f"Cap{name}:"))


def bits(*names):
    return sum(1 << CAPS[name] for name in names)


def need(*names):
    """Root in a container need not have them all."""
    if bits(*names) & ~own("Eff"):
        raise Skip(f"root has not got all of {', '.join(names)} here")


def own_oom():
    with open("/proc/self/oom_score_adj", encoding="ascii") as text:
        return int(text.read())


def own_cpu():
    return min(os.sched_getaffinity(0))


def nicer(value, uid):
    """`value`, or the lowest nice value above it that the user may have."""
    if uid is None and own("Eff") & bits("sys_nice"):
        return value
    return max(value, os.getpriority(os.PRIO_PROCESS, 0))


def unprivileged():
    """As an ordinary user: of another uid, if this is root."""
    return NOBODY if os.geteuid() == 0 else None


def everybody(sentence):
    """A test that goes well for root and for an ordinary user."""
    def register(function):
        test(f"{sentence}, for root", root=True)(lambda box: function(box, None))
        test(f"{sentence}, for an ordinary user")(lambda box: function(box, unprivileged()))
        return function
    return register


# ---- when memory runs out ------------------------------------------------------------------


def oom_of(pid):
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as text:
        return int(text.read())


@test("supd's own processes are spared when memory runs out; actors and hooks are as supd "
      "was started, also after a crash and an upgrade", root=True)
def spared(box):
    oom = own_oom() + 5
    spared = (-1000, -900) if own("Eff") & bits("sys_resource") else (own_oom(), own_oom())
    hook = box.file("hook", "#!/bin/sh\ncat /proc/self/oom_score_adj >" + box.path("hooked"))
    os.chmod(hook, 0o755)
    s = box.supd({"a": {"user": "nobody"}, "b": {"hooks": {"post_start": [hook]}},
                  "c": {"oom_score_adj": oom + 7}},
                 before=lambda: open("/proc/self/oom_score_adj", "w").write(str(oom)))
    for change in (None, s.crash, lambda: s.ctl_ok("upgrade")):
        if change:
            change()
            s.caller = None
            s.ctl_ok("restart", "a", "b", "c")
        equal([oom_of(s.actor(name)["pid"]) for name in "abc"], [oom, oom, oom + 7], "actors")
        with open(box.path("hooked"), encoding="ascii") as text:
            equal(int(text.read()), oom, "a hook")
        equal((oom_of(s.pid), oom_of(s.guardian())), spared, "walker, guardian")
        equal(oom_of(s.call("Status", names=["/system/log"])["actors"][0]["pid"]), spared[1], "log")


# ---- keys that need no rights ------------------------------------------------------------


@everybody("nice, oom_score_adj, cpu_affinity, scheduler and io_priority are as the file says")
def priorities(box, uid):
    oom, cpu = own_oom(), own_cpu()
    s = box.supd({
        "a": reporting(nice=nicer(7, uid), oom_score_adj=max(oom, 300), cpu_affinity=[cpu],
                       scheduler={"policy": "batch"}, io_priority={"class": "idle"}),
        "b": reporting(nice=19, oom_score_adj=1000, scheduler={"policy": "idle", "priority": 0},
                       io_priority={"class": "best-effort", "level": 6}),
        "c": reporting(), "d": reporting(io_priority={"class": "best-effort"})}, uid=uid)
    a, b, c, d = (Report(s, name) for name in "abcd")
    equal(a.scheduling(), [nicer(7, uid), 0, BATCH], "a's nice value, priority and policy")
    equal(b.scheduling(), [19, 0, IDLE], "b's")
    equal(c.scheduling(), [os.getpriority(os.PRIO_PROCESS, 0), 0, os.sched_getscheduler(0)],
          "c's")
    equal([int(one.text("oom_score_adj")) for one in (a, b, c)], [max(oom, 300), 1000, oom],
          "the values of oom_score_adj")
    equal(a.status["Cpus_allowed_list"], str(cpu), "a's processors")
    equal(c.status["Cpus_allowed_list"], Report(s, "b").status["Cpus_allowed_list"],
          "the processors of who says nothing")
    equal([int(one.text("io_priority")) for one in (a, b, d)],
          [IO_IDLE | 7, IO_BEST_EFFORT | 6, IO_BEST_EFFORT | 4], "the io priorities")
    equal(int(c.text("io_priority")) >> 13 in (0, 2), True, "c's io class is none of its own")


@everybody("what a child sets for itself leaves supd as it is")
def supd_stays(box, uid):
    def state(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as text:
            status = [line for line in text if line.startswith(("Cap", "NoNew", "Cpus_allowed",
                                                                "Uid", "Gid", "Groups"))]
        with open(f"/proc/{pid}/stat", encoding="ascii") as text:
            fields = text.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as text:
            oom = text.read()
        return status, [fields[i] for i in (16, 37, 38)], oom

    s = box.supd({"a": {"enabled": False, "do": ["report"], "nice": nicer(10, uid),
                        "oom_score_adj": max(own_oom(), 900), "cpu_affinity": [own_cpu()],
                        "scheduler": {"policy": "idle"}, "io_priority": {"class": "idle"},
                        "no_new_privileges": True, "capabilities": {"ambient": []},
                        "limits": {"core": 0, "stack": "1M"}}}, uid=uid)
    guardian = s.guardian()
    before = state(guardian)
    s.ctl_ok("start", "a")
    equal(Report(s).scheduling(), [nicer(10, uid), 0, IDLE], "a's")
    equal(state(guardian), before, "supd's own")


@everybody("no_new_privileges is set where it is wanted")
def no_new_privileges(box, uid):
    s = box.supd({"a": reporting(no_new_privileges=True), "b": reporting()}, uid=uid)
    with open("/proc/self/status", encoding="ascii") as status:
        inherited = re.search(r"(?m)^NoNewPrivs:\t(.)", status.read())[1]
    equal([Report(s, name).status["NoNewPrivs"] for name in "ab"], ["1", inherited],
          "NoNewPrivs")


@everybody("every resource limit can be set, soft and hard")
def every_limit(box, uid):
    names = {"as": "Max address space", "core": "Max core file size", "cpu": "Max cpu time",
             "data": "Max data size", "fsize": "Max file size", "locks": "Max file locks",
             "memlock": "Max locked memory", "msgqueue": "Max msgqueue size",
             "nice": "Max nice priority", "nofile": "Max open files", "nproc": "Max processes",
             "rss": "Max resident set", "rtprio": "Max realtime priority",
             "rttime": "Max realtime timeout", "sigpending": "Max pending signals",
             "stack": "Max stack size"}
    wanted, expected = {}, {}
    for name in names:
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}",
                                          {"locks": 10}.get(name, 0)))[1]
        top = 2**34 if hard == resource.RLIM_INFINITY else hard
        low = top // 2 if name != "nofile" else min(hard, 200)
        wanted[name], expected[name] = f"{low}:{top}", [str(low), str(top)]
    wanted["core"], expected["core"] = "0", ["0", "0"]
    s = box.supd({"a": reporting(limits=wanted)}, uid=uid)
    report = Report(s)
    equal({name: report.limit(line) for name, line in names.items()}, expected, "the limits")


@everybody("signals, descriptors and session are clean whatever else is asked for")
def clean(box, uid):
    source = box.file("input", "hello\n")
    os.chmod(source, 0o644)
    s = box.supd({"a": reporting(
        nice=nicer(3, uid), oom_score_adj=1000, cpu_affinity=str(own_cpu()),
        no_new_privileges=True, stdin="file:" + source,
        scheduler={"policy": "batch"}, io_priority={"class": "idle"}, clear_environment=True,
        capabilities={"ambient": []}, limits={"core": 0}, environment={"ONLY": "this"},
        environment_file="-/no/such/file", umask="0077", directory="/tmp")}, uid=uid)
    report = Report(s)
    for key in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd"):
        equal(int(report.status[key], 16), 0, key)
    equal(sorted(report.fds), ["0", "1", "2"], "descriptors")
    equal(report.fds["0"], source, "stdin")
    equal(report.stat[2:5], [str(report.pid)] * 2 + ["0"], "group, session and terminal")
    equal(sorted(report.environ), ["ONLY", "SUPD_ID", "SUPD_PATH", "SUPD_SOCKET", "SUPD_WALKER"],
          "the variables")
    equal((report.status["Umask"], report.cwd), ("0077", "/tmp"), "umask and directory")


# ---- groups --------------------------------------------------------------------------------


def groups(report):
    return sorted(int(group) for group in report.status["Groups"].split())


@test("supplementary groups come to those of the user, or to supd's own", root=True)
def supplementary(box):
    daemon, another = grp.getgrnam("daemon").gr_gid, grp.getgrnam("sys").gr_gid
    s = box.supd({"a": reporting(user="nobody", supplementary_groups=["daemon", str(another)]),
                  "b": reporting(supplementary_groups=["daemon"]),
                  "c": reporting(user="nobody", group="sys", supplementary_groups="daemon"),
                  "d": reporting(user="nobody", supplementary_groups=[])})
    a, b, c, d = (Report(s, name) for name in "abcd")
    of_nobody = set(os.getgrouplist("nobody", pwd.getpwuid(NOBODY).pw_gid))
    equal(groups(a), sorted(of_nobody | {daemon, another}), "a's groups")
    equal(groups(b), sorted(set(os.getgroups()) | {daemon}), "b's groups")
    equal(b.status["Uid"].split() + b.status["Gid"].split(), ["0"] * 4 + [str(os.getegid())] * 4,
          "b's ids")
    equal(groups(c), sorted(set(os.getgrouplist("nobody", another)) | {daemon}),
          "c's groups: that of the user database is none of them")
    equal(c.status["Gid"].split(), [str(another)] * 4, "c's group")
    equal(groups(d), sorted(of_nobody), "d's groups")


@test("a user that the database does not know has not got supd's home, but what the file says", root=True)
def unknown(box):
    s = box.supd({"a": reporting(user="4000011", group="4000012"),
                  "b": reporting(user="4000011", group="0", environment={"HOME": "/srv"}),
                  "c": reporting(group="daemon")}, env={"HOME": "/root", "USER": "root"})
    a, b, c = (Report(s, name) for name in "abc")
    equal(a.status["Uid"].split() + a.status["Gid"].split(), ["4000011"] * 4 + ["4000012"] * 4,
          "a's ids")
    equal([key for key in ("HOME", "USER", "LOGNAME", "SHELL") if key in a.environ], [],
          "a's variables")
    equal((b.environ["HOME"], "USER" in b.environ), ("/srv", False), "b's")
    equal((c.environ["HOME"], c.environ["USER"]), ("/root", "root"), "c's, who is still root")


@test("a user that stops all its processes as soon as they are there does not stop supd",
      root=True)
def stopper(box):
    user = 4000021
    attack = box.popen(sys.executable, "-c", "import os, signal\n"
                       f"os.setresuid({user}, {user}, {user})\nos.write(1, b'.')\n"
                       "while True: os.kill(-1, signal.SIGSTOP)", stdout=subprocess.PIPE)
    equal(attack.stdout.read(1), b".", "the attack's first word")
    names = [f"a{n}" for n in range(100)]
    s = box.supd({name: {"command": ["/bin/sleep", "1000"], "user": str(user), "group": str(user),
                         "shutdown": "brutal_kill", "oom_score_adj": 1000,
                         "no_new_privileges": True, "capabilities": {"ambient": []}}
                  for name in names})
    for name in names:
        s.event("started", name)
    with open(f"/proc/{s.guardian()}/oom_score_adj", encoding="ascii") as text:
        equal(int(text.read()), own_oom(), "the guardian's own oom_score_adj")
    for name in names:
        with open(f"/proc/{s.actor(name)['pid']}/oom_score_adj", encoding="ascii") as text:
            equal(int(text.read()), 1000, f"{name}'s")


@test("an ordinary user may name itself and its own groups")
def own_identity(box):
    uid = unprivileged()
    user = pwd.getpwuid(os.geteuid() if uid is None else uid)
    group = grp.getgrgid(os.getegid() if uid is None else uid).gr_name
    s = box.supd({"a": reporting(user=user.pw_name, group=group, supplementary_groups=[group])},
                 uid=uid)
    report = Report(s)
    equal(report.status["Uid"].split(), [str(user.pw_uid)] * 4, "the user")
    equal(report.environ["USER"], user.pw_name, "USER")


# ---- capabilities --------------------------------------------------------------------------


@test("another user's process has the ambient capabilities, and no others can be had",
      root=True)
def ambient(box):
    need("net_bind_service", "kill", "net_raw", "setpcap")
    wanted = bits("net_bind_service", "kill")
    s = box.supd({
        "a": reporting(user="nobody", capabilities={
            "bounding": ["net_bind_service", "CAP_KILL", "CAP_NET_RAW"],
            "ambient": ["CAP_NET_BIND_SERVICE", "kill"]}),
        "b": reporting(user="nobody", capabilities={"ambient": "net_bind_service"}),
        "c": reporting(user="nobody", capabilities={"ambient": []}),
        "d": reporting(user="nobody", no_new_privileges=True,
                       capabilities={"ambient": ["net_bind_service"]}),
        "e": reporting(user="nobody", capabilities={"bounding": []})})
    a, b, c, d, e = (Report(s, name) for name in "abcde")
    equal(a.sets("Prm", "Eff", "Amb"), [wanted] * 3, "a's")
    equal(a.sets("Bnd"), [own("Bnd") & (wanted | bits("net_raw"))], "a's bounding set")
    equal(a.status["Uid"].split(), [str(NOBODY)] * 4, "a's user")
    equal(b.sets("Prm", "Eff", "Amb", "Bnd"), [bits("net_bind_service")] * 3 + [own("Bnd")],
          "b's")
    equal(c.sets("Prm", "Eff", "Amb"), [0] * 3, "c's")
    equal(d.sets("Prm", "Eff", "Amb"), [bits("net_bind_service")] * 3, "d's")
    equal(e.sets("Inh", "Prm", "Eff", "Bnd", "Amb"), [0] * 5, "e's")


@test("what another user's process may do later it may not do before its program", root=True)
def not_yet(box):
    need("net_raw")
    secret = box.path("secret")
    os.mkdir(secret, 0o700)
    s = box.supd({"a": {"user": "nobody", "directory": secret, "restart": "temporary",
                        "capabilities": {"ambient": ["net_raw"]}}})
    cause = s.event("failure", "a")["cause"]
    equal((cause["key"], cause["errno"]), ("chdir", "EACCES"), "the cause")


@test("what root's process may have is bounded", root=True)
def bounding(box):
    need("chown", "setpcap")
    s = box.supd({"a": reporting(capabilities={"bounding": ["chown", "net_raw"]}),
                  "b": reporting(capabilities={"bounding": []}),
                  "c": reporting(capabilities={"ambient": ["chown"]})})
    a, b, c = (Report(s, name) for name in "abc")
    equal(a.sets("Prm", "Eff", "Bnd"), [own("Bnd") & bits("chown", "net_raw")] * 3, "a's")
    equal(b.sets("Inh", "Prm", "Eff", "Bnd", "Amb"), [0] * 5, "b's")
    equal(c.sets("Amb", "Bnd"), [bits("chown"), own("Bnd")], "c's")


@test("an ordinary user hands on the capabilities that it has", root=True)
def handed_on(box):
    need("net_bind_service", "net_raw", "setpcap")
    if shutil.which("setpriv") is None:
        raise Skip("no setpriv(1) here")
    from harness import SUPD
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
             "--inh-caps=-all,+net_bind_service,+net_raw,+setpcap",
             "--ambient-caps=-all,+net_bind_service,+net_raw,+setpcap"]
    if subprocess.run([*words, "true"], check=False, capture_output=True).returncode != 0:
        raise Skip("setpriv(1) cannot do that here")
    os.makedirs(box.path("run"))
    os.chown(box.path("run"), NOBODY, NOBODY)
    s = box.supd({"a": reporting(), "b": reporting(capabilities={"ambient": ["net_raw"]}),
                  "c": reporting(capabilities={"ambient": []}),
                  "d": reporting(capabilities={"ambient": ["chown"]}, restart="temporary"),
                  "e": reporting(capabilities={"bounding": ["net_raw", "chown"]})},
                 command=[*words, SUPD])
    equal(Report(s, "a").sets("Amb", "Eff"), [bits("net_bind_service", "net_raw",
                                                                "setpcap")] * 2,
          "what is inherited")
    equal(Report(s, "b").sets("Amb", "Eff"), [bits("net_raw")] * 2, "b's")
    equal(Report(s, "c").sets("Amb", "Eff"), [0, 0], "c's")
    equal(s.event("failure", "d")["cause"]["key"], "ambient chown", "what d failed at")
    equal(Report(s, "e").sets("Inh", "Amb", "Eff", "Bnd"),
          [bits("net_raw")] * 3 + [own("Bnd") & bits("net_raw", "chown")], "e's")


# ---- the root ------------------------------------------------------------------------------


def new_root(box, s):
    """A directory with the probe, all that it needs, and a way to the test."""
    root = box.path("root")
    libraries = subprocess.run(["ldd", PROBE], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.split()
    for path in [word for word in libraries if word.startswith("/")]:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    os.makedirs(root + "/programs")
    shutil.copy(PROBE, root + "/programs/probe")
    # The probe's name for it must lead to the same fifo, in there.
    os.makedirs(root + s.dir)
    os.chmod(root + s.dir, 0o1777)
    os.link(s.dir + "/log", root + s.dir + "/log")
    return root


@test("below its root a command is looked up, and its directory is found", root=True)
def chroot(box):
    need("sys_chroot")
    s = box.supd({name: {"enabled": False, "command": ["probe", box.dir, name], "user": "nobody",
                         "root": box.path("root"), "environment": {"PATH": "/programs"}, **more}
                  for name, more in (("a", {}), ("b", {"directory": "/programs"}),
                                     ("c", {"directory": "/nowhere", "restart": "temporary"}))})
    s.probes.update("abc")
    root = new_root(box, s)
    for name, directory in (("a", ""), ("b", "/programs")):
        s.ctl_ok("start", name)
        pid = s.started(name)
        equal(os.readlink(f"/proc/{pid}/root"), root, f"{name}'s root")
        equal(os.readlink(f"/proc/{pid}/cwd"), root + directory, f"{name}'s directory")
    s.ctl("start", "c")
    cause = s.event("failure", "c")["cause"]
    equal((cause["errno"], cause["key"]), ("ENOENT", "chdir"), "c's cause")


# ---- starts that are refused ---------------------------------------------------------------


def failing(box, uid, key, value, step, error, **more):
    """A start that fails at `step` names the step in the cause, the log line and the story."""
    s = box.supd({"a": {"restart": "temporary", key: value, **more}}, uid=uid)
    failure = s.event("failure", "a")
    cause = failure["cause"]
    equal((cause["kind"], cause["errno"]), ("exec", error), f"the cause {cause}")
    equal(cause["key"], step, "the step")
    check(step == failure["step"] or step.startswith(failure["step"] + " "), f"{failure}")
    has(cause["text"], f"exec: {step}: {error}", "the cause's text")
    with open(s.file, encoding="utf8") as text:
        line = max(i for i, one in enumerate(text, 1) if f'"{key}"' in one)
    line += isinstance(value, dict)
    place = rf"`{key}[a-z._]*` at .*supd\.yaml:{line}"
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), rf"/user/a: failure: .*exec: {step}: {error}.*{place}", "the log")
    return s, place


REFUSED = [  # of an ordinary user: the key, its value, the step and its errno
    ("user", "root", "setgroups", "EPERM"),
    ("group", "daemon", "setgroups", "EPERM"),
    ("supplementary_groups", ["daemon"], "setgroups", "EPERM"),
    ("root", "/tmp", "chroot", "EPERM"),
    ("nice", -20, "setpriority", "EACCES"),
    ("oom_score_adj", -1000, "oom_score_adj", "EACCES"),
    ("scheduler", {"policy": "rr", "priority": 5}, "sched_setscheduler", "EPERM"),
    ("io_priority", {"class": "realtime"}, "ioprio_set", "EPERM"),
    ("capabilities", {"bounding": ["kill"]}, "bounding chown", "EPERM"),
    ("capabilities", {"ambient": ["net_raw"]}, "ambient net_raw", "EPERM"),
    ("limits", {"memlock": "unlimited"}, "setrlimit memlock", "EPERM"),
    ("directory", "/root", "chdir", "EACCES"),
    ("directory", "/nowhere", "chdir", "ENOENT"),
    ("stdin", "file:/nowhere", "open stdin", "ENOENT"),
]


def refused(box, key, value, step, error):
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    if key == "limits" and hard == resource.RLIM_INFINITY:
        raise Skip("the limit is unlimited here")
    if key == "nice" and resource.getrlimit(resource.RLIMIT_NICE)[1] >= 40:
        raise Skip("everybody may have any nice value here")
    if key == "scheduler" and resource.getrlimit(resource.RLIMIT_RTPRIO)[1] >= 5:
        raise Skip("everybody may have that policy here")
    if key == "capabilities" and "bounding" in value and not own("Bnd") & 1:
        raise Skip("nobody has that capability here")
    if value == "/root" and (os.geteuid() != 0 or os.stat("/root").st_mode & 0o001):
        raise Skip("/root is nobody's secret here")
    failing(box, unprivileged(), key, value, step, error)


for case in REFUSED:
    test(f"an ordinary user's start fails at {case[2]} ({case[3]}), and {case[0]} is blamed")(
        functools.partial(lambda case, box: refused(box, *case), case))


@test("explain and status tell which step failed, and which line asked for it")
def told(box):
    s, place = failing(box, unprivileged(), "root", "/tmp", "chroot", "EPERM",
                       restart="permanent", backoff={"min": "1h", "max": "2h"})
    has(s.ctl_ok("explain", "a").out, r"exec: chroot: EPERM(.|\n)*The step that failed was "
        f"chroot, .*\nThat is {place}", "the story")
    for _ in range(2):
        has(s.actor("a")["last_failure"]["cause"]["text"], "exec: chroot: EPERM", "the status")
        has(s.ctl_ok("explain", "a").out, f"That is {place}", "the story")
        s.crash()


@test("--check warns of what the kernel will refuse to this user, at its place")
def warned(box):
    s, _ = failing(box, unprivileged(), "oom_score_adj", -1000, "oom_score_adj", "EACCES",
                   user="root", root="/")
    with open(s.stderr, encoding="utf8") as text:
        err = text.read()
    for key, word in (("oom_score_adj", "CAP_SYS_RESOURCE"), ("user", "CAP_SETUID"),
                      ("root", "CAP_SYS_CHROOT")):
        has(err, rf"supd\.yaml:\d+:\d+: warning: children\.a\.{key}: .*{word}", "the warnings")


# ---- helpers, reloads, successors ----------------------------------------------------------


@test("hooks run with the user, the groups, the root and the rights of their actor", root=True)
def helpers(box):
    need("net_raw")
    out = box.file("out")
    os.chmod(out, 0o666)
    command = ["/bin/sh", "-c", "cat /proc/self/status >" + out]
    s = box.supd({"a": {"user": "nobody", "supplementary_groups": ["daemon"], "umask": "0077",
                        "no_new_privileges": True,
                        "capabilities": {"ambient": ["net_raw"]},
                        "hooks": {"pre_start": command}}})
    s.started("a")
    with open(out, encoding="ascii") as text:
        status = dict(line.rstrip("\n").partition(":\t")[::2] for line in text)
    equal(status["Uid"].split(), [str(NOBODY)] * 4, "the user")
    check(str(grp.getgrnam("daemon").gr_gid) in status["Groups"].split(), "the groups")
    equal((status["NoNewPrivs"], int(status["CapEff"], 16)), ("1", bits("net_raw")), "the rights")
    equal(status["Umask"], "0077", "the umask")


@everybody("a change of any of them is shown, and needs a new process")
def changed(box, uid):
    empty = box.file("empty")
    os.chmod(empty, 0o644)
    s = box.supd({"a": {}}, uid=uid)
    keys = {"nice": nicer(1, uid), "oom_score_adj": 1000, "cpu_affinity": [own_cpu()], "root": "/",
            "scheduler": {"policy": "batch"}, "io_priority": {"class": "idle"},
            "no_new_privileges": True, "capabilities": {"ambient": []},
            "clear_environment": True, "environment_file": empty, "stdin": "file:" + empty,
            "limits": {"core": 0}, "supplementary_groups": []}
    defaults = {"stdin": "null", "clear_environment": False, "no_new_privileges": False}
    s.started("a")
    if uid is not None or not own("Eff") & bits("sys_chroot"):
        keys.pop("root")
    for key, value in keys.items():
        s.write({"a": {key: value}})
        diff = next(one for one in s.json("diff") if one["path"] == "/user/a")
        equal(diff["change"], "restarted", f"what a change of {key} asks for: {diff}")
        check(all(name.startswith(key) for name in diff["keys"]), f"the keys: {diff}")
        shown = s.call("Describe", name="/user/a")["spec"]
        equal(shown.get(key), defaults.get(key), f"{key} before")
    s.write({"a": keys})
    s.ctl_ok("apply")
    s.started("a", 2)
    spec = s.call("Describe", name="/user/a")["spec"]
    equal({key: spec[key] for key in ("nice", "cpu_affinity", "scheduler", "environment_file")},
          {"nice": nicer(1, uid), "cpu_affinity": [own_cpu()], "scheduler": {"policy": "batch"},
           "environment_file": empty}, "what is in force")


@everybody("a process that another guardian starts is as the file said")
def successor(box, uid):
    source = box.file("input", "hello\n")
    os.chmod(source, 0o644)
    variables = box.file("variables", "FROM=file\n")
    os.chmod(variables, 0o644)
    cpu = max(os.sched_getaffinity(0))
    s = box.supd({"a": reporting(nice=nicer(9, uid), oom_score_adj=1000, cpu_affinity=[cpu],
                                 stdin="file:" + source, environment_file=variables,
                                 no_new_privileges=True,
                                 scheduler={"policy": "batch"}, clear_environment=True)},
                 uid=uid)
    first = Report(s)
    s.crash()
    s.tell("a", "exit=1")
    second = Report(s, "a", 2)
    for report in (first, second):
        report.environ.pop("SUPD_ID")
        equal(report.scheduling(), [nicer(9, uid), 0, BATCH], "the scheduling")
        equal(report.text("oom_score_adj"), "1000\n", "oom_score_adj")
        equal(report.status["Cpus_allowed_list"], str(cpu), "the processors")
        equal((report.environ["FROM"], report.fds["0"]), ("file", source), "what it finds")
    equal(second.environ, first.environ, "the environment")


if __name__ == "__main__":
    main()
