#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Users, groups, capabilities and the root of a process."""
import grp
import os
import pwd
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PROBE, check, equal, has, main, test, Skip
from probe_report import reporting, Report
from rights import (BATCH, NOBODY, bits, everybody, failing, nicer, own, own_cpu, own_oom,
                    unprivileged)


def need(*names):
    """Root in a container need not have them all."""
    if bits(*names) & ~own("Eff"):
        raise Skip(f"root has not got all of {', '.join(names)} here")


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
