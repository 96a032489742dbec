#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Priorities, limits and other keys of a process that need rights, and what happens without."""
import functools
import os
import re
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import equal, main, test, Skip
from probe_report import reporting, Report
from rights import BATCH, IDLE, bits, everybody, failing, nicer, own, own_cpu, own_oom, unprivileged

IO_BEST_EFFORT, IO_IDLE = 2 << 13, 3 << 13


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


if __name__ == "__main__":
    main()
