#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd.service under a real systemd: what its lines promise."""
import json
import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from machine import CGROUP, DEADLINE_S, check, main, marked, sh, test, until


@test("systemd finds no fault with the unit")
def valid(m):
    done = m.run("systemd-analyze", "verify", "--man=no", "supd.service")
    check(done.returncode == 0 and "supd.service" not in done.stderr, done.stderr)


@test("the unit is started only when the tree is up, and shows its numbers")
def ready(m):
    os.mkfifo(os.path.join(m.shared, "gate"))
    m.tree(a="{command: [sleep, infinity]}",
           gate="{ready: exit, command: %s}" % sh("read x </srv/gate"))
    m.run("systemctl", "start", "--no-block", "supd", good=True)
    until(lambda: m.show("StatusText") == "1 running, 0 failed", "the first actor")
    check(m.show("ActiveState") == "activating", "active before the tree was up")
    with open(os.path.join(m.shared, "gate"), "w", encoding="ascii") as gate:
        gate.write("go\n")
    until(lambda: m.show("ActiveState") == "active", "READY=1")
    text = m.run("systemctl", "--no-pager", "status", "supd").stdout
    check('Status: "1 running, 0 failed"' in text, text)


@test("each actor has a cgroup of its own, and supd one")
def cgroups(m):
    m.tree(a="{command: [sleep, infinity]}", b="{children: {c: {command: %s}}}"
           % sh("setsid sleep infinity & wait"))
    m.start()
    text = m.run("/bin/sh", "-c", f"cd {CGROUP} && find . -name cgroup.procs -exec "
                 "sh -c 'echo $1 $(wc -l <$1)' - {} ';'", good=True).stdout
    check(sorted(line for line in text.splitlines() if not line.endswith(" 0")) == [
        "./actors/system:log/cgroup.procs 1", "./actors/user:a/cgroup.procs 1",
        "./actors/user:b:c/cgroup.procs 2", "./supd/cgroup.procs 2"], text)


@test("the journal has what supd says, with its priority")
def priority(m):
    cursor = m.cursor()
    m.tree(a="{command: %s, restart: temporary}" % sh("exit 3"))
    m.start()
    until(lambda: "exited with 3" in m.journal(cursor, True, 3),
          "the failure as an error in the journal")
    check("started, pid" not in m.journal(cursor, True, 5),
          "what is information only has a higher priority")


@test("what goes to the journal is in logs, followed as well, and in the block of status")
def journal_output(m):
    m.tree(a="{output: journal, command: %s}" % sh(
               "echo first; echo second >&2; exec sleep infinity"),
           ticks="{output: journal, command: %s}" % sh(
               "i=0; while sleep 0.1; do i=$$((i + 1)); echo tick $$i; done"))
    m.start()
    until(lambda: m.run(m.ctl, "logs", "a").stdout == "first\nsecond\n", "the lines in the journal")
    block = m.run(m.ctl, "status", "a", good=True).stdout
    check(re.search(r"^ +output +[\d:.]+  first\n +[\d:.]+  second\n\Z", block, re.M), block)
    until(lambda: m.run(m.ctl, "logs", "ticks").stdout, "a tick in the journal")
    merged = [json.loads(line) for line in
              m.run(m.ctl, "-o", "json", "logs", "a", "ticks", good=True).stdout.splitlines()]
    times = [line["time"] for line in merged]
    check(times == sorted(times) and {line["path"] for line in merged} == {"/user/a", "/user/ticks"}, merged)
    followed = m.run("/bin/sh", "-c", f"{m.ctl} logs -f -n 2 ticks | sed 5q", good=True).stdout
    numbers = [int(n) for n in re.findall(r"^tick (\d+)$", followed, re.M)]
    check(len(numbers) == 5 and numbers == list(range(numbers[0], numbers[0] + 5)), followed)
    check(m.run(m.ctl, "logs", "-g", "^sec", "-o", "json", "a").stdout.count("\n") == 1, "a pattern")
    # Each life counts as in status; another supd with an actor of the same path is another.
    m.run(m.ctl, "restart", "a", good=True)

    def lives():
        lines = m.run("journalctl", "-o", "json", "--all", "SUPD_PATH=/user/a").stdout.splitlines()
        return [line["SUPD_GENERATION"] for line in map(json.loads, lines) if line["MESSAGE"] == "first"]

    until(lambda: lives() == ["1", "2"], "the first line of each life")
    m.write("other.yaml", "log: {directory: /run/other.log}\nchildren:\n  a: {output: journal, command: %s}\n" % sh(
        "echo foreign; exec sleep infinity"))
    other = f"{os.path.dirname(m.conf)}/other.yaml"
    m.run("systemd-run", "--unit=other", m.supd, other, "-r", "/run/other", good=True)
    until(lambda: m.run(m.ctl, "-r", "/run/other", "logs", "a").stdout == "foreign\n", "the line of the other")
    check("foreign" not in m.run(m.ctl, "logs", "a", good=True).stdout, "the lines are mixed")
    m.run("systemctl", "stop", "other", good=True)


@test("logs -f tells also what an actor that is added later writes to the journal")
def journal_later(m):
    m.tree(d="{output: journal, command: %s}" % sh("echo opening; exec sleep infinity"),
           group="{children: {b: {command: [sleep, infinity]}}}")
    m.start()
    until(lambda: m.run(m.ctl, "logs", "d").stdout == "opening\n", "the line in the journal")
    with open(os.path.join(m.shared, "followed"), "w", encoding="utf8"):
        pass
    m.run("systemd-run", "--unit=follow", "-p", "StandardOutput=append:/srv/followed", m.ctl, "logs", "-f", good=True)

    def followed():
        with open(os.path.join(m.shared, "followed"), encoding="utf8") as file:
            return file.read()
    until(lambda: "opening" in followed(), "what was there")
    m.tree(d="{output: journal, command: %s}" % sh("echo opening; exec sleep infinity"),
           group="{children: {b: {command: [sleep, infinity]}, c: {output: journal, command: %s}}}" % sh(
               "echo early; sleep 1; echo late; exec sleep infinity"))
    m.run(m.ctl, "apply", good=True)
    until(lambda: "late" in followed(), followed)
    check([followed().count(word) for word in ("| opening", "early", "late")] == [1, 1, 1], followed())
    m.run("systemctl", "stop", "follow", good=True)


@test("a reload applies the changed file")
def reload(m):
    m.tree(a="{command: [sleep, infinity]}", b="{command: [sleep, infinity]}",
           c="{command: [sleep, infinity]}")
    m.start()
    cursor = m.cursor()
    m.tree(a="{command: [sleep, infinity], shutdown: 3s}", b="{command: [sleep, '7700']}",
           d="{command: [sleep, infinity]}")
    m.run("systemctl", "reload", "supd", good=True)
    text = m.journal(cursor)
    for line in (r"updated +/user/a\b", r"restarted +/user/b\b", r"added +/user/d",
                 r"removed +/user/c"):
        check(re.search(line, text), f"no {line} in {text}")
    check(m.show("ActiveState") == "active", "not active")


@test("a reload of a broken file leaves everything running, and says so in the journal")
def broken_reload(m):
    m.tree(a="{command: [sleep, infinity]}")
    pid = m.start()
    before = m.run(m.ctl, "pid", "a", good=True).stdout
    cursor = m.cursor()
    m.tree(a="{comand: [sleep]}")
    check(m.run("systemctl", "reload", "supd").returncode != 0, "the reload went well")
    text = m.journal(cursor)
    check("did you mean `command`" in text and "nothing was changed" in text, text)
    check(m.run(m.ctl, "pid", "a", good=True).stdout == before, "a was restarted")
    check((m.show("ActiveState"), m.show("MainPID")) == ("active", str(pid)), "not active")


@test("a stop is in reverse order, keeps last words, and leaves nothing")
def stop(m):
    text, marker = marked(1)
    words = "trap 'echo last words of %s; exit 0' TERM; sleep infinity & wait"
    m.tree(a="{command: %s}" % sh(words % "a"), b="{command: %s}" % sh(words % "b"),
           c="{command: %s}" % sh(f"setsid {text} & {text}"))
    m.start()
    cursor = m.cursor()
    m.stop()
    journal = m.journal(cursor)
    found = re.findall(r"^/user/(\w): (stopping|stopped)$", journal, re.M)
    check(found == [(name, what) for name in "cba" for what in ("stopping", "stopped")],
          journal)
    check("supd 0" in journal and "shutting_down" in journal, journal)
    words = m.run("/bin/sh", "-c", "cat $(find / -xdev -path '*supd/user/[ab].log')").stdout
    check("last words of a" in words and "last words of b" in words, repr(words))
    check(m.count(marker) == 0, "something is left")
    check(m.show("Result") == "success", m.show("Result"))
    check(m.run("test", "-e", CGROUP).returncode != 0, "the cgroup is left")


@test("an ordered stop may take longer than systemd's timeout")
def slow_stop(m):
    m.drop_in("TimeoutStopSec=1")
    m.tree(a="{shutdown: 30s, command: %s}" % sh(
        "trap 'sleep 3; echo that was slow; exit 0' TERM; sleep infinity & wait"))
    m.start()
    cursor = m.cursor()
    m.stop()
    check("/user/a: exited: exited with 0" in m.journal(cursor),
          lambda: m.journal(cursor))
    check(m.show("Result") == "success", m.show("Result"))


ANSWER = ("open(my $$s, '+<&=', 3); while (accept(my $$c, $$s)) "
          "{ syswrite($$c, $$$$ . ' of ' . $$ENV{LISTEN_FDNAMES}); close($$c) }")


@test("a socket unit: its first client starts supd and then the actor, and waits when supd restarts")
def socket_unit(m):
    def ask():
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(DEADLINE_S)
            client.connect(os.path.join(m.shared, "web.sock"))
            return client.recv(100).decode()

    m.run("/bin/sh", "-c", "printf '[Socket]\\nListenStream=/srv/web.sock\\n"
          "FileDescriptorName=web\\n' >/run/systemd/system/supd.socket && "
          "systemctl daemon-reload && systemctl start supd.socket", good=True)
    m.tree(a='{start_on: connect, sockets: {web: "unix:/srv/other.sock"}, '
             'command: [/usr/bin/perl, -e, "%s"]}' % ANSWER)
    check(m.show("ActiveState") == "inactive", "it runs before anybody came")
    first = ask()
    check(first.endswith(" of web"), first)
    check(m.show("ActiveState") == "active", "not active")
    check(not os.path.exists(os.path.join(m.shared, "other.sock")), "the file's address is used")
    check(ask() == first, "another process answers")
    m.run("systemctl", "restart", "supd", good=True)
    second = ask()
    check(second.endswith(" of web") and second != first, second)
    m.run("systemctl", "stop", "supd.socket", "supd", good=True)


@test("a supd that was killed is started again, with nothing of it left or doubled")
def killed(m):
    text, marker = marked(2)
    away, away_marker = marked(3)
    m.drop_in("TimeoutStopSec=1")
    m.tree(a="{command: %s}" % sh(f"trap '' TERM; setsid {text} & exec {text}"),
           b="{command: %s}" % sh("trap '' TERM; "
                                  "echo $$$$ >/sys/fs/cgroup/init.scope/cgroup.procs; "
                                  f"exec {away}"))
    pid = m.start()
    until(lambda: m.count(marker) == 2 and m.count(away_marker) == 1, "the actors")
    cursor = m.cursor()
    m.run("/bin/sh", "-c", f"kill -KILL {pid}", good=True)
    m.restarted(pid, "after SIGKILL")
    until(lambda: m.count(marker) == 2, "both of one actor and no more")
    # It left the unit's cgroup, so systemd spared it: the new supd does not.
    check(m.count(away_marker) == 1, f"{m.count(away_marker)} of b run")
    check("a supd that died" in m.journal(cursor, True), "the leftovers are not told of")


@test("a supd that hangs is ended by the watchdog and started again")
def watchdog(m):
    text, marker = marked(4)
    m.drop_in("WatchdogSec=1")
    m.tree(a="{command: %s}" % sh(f"exec {text}"))
    pid = m.start()
    cursor = m.cursor()
    m.run("/bin/sh", "-c", f"kill -STOP {pid}", good=True)
    m.restarted(pid, "after its watchdog")
    check("Watchdog timeout" in m.journal(cursor), lambda: m.journal(cursor))
    until(lambda: m.count(marker) == 1, "its one actor")


@test("a broken file at the start fails the unit with 78, once")
def broken_start(m):
    m.tree(a="{comand: [sleep]}")
    check(m.run("systemctl", "start", "supd").returncode != 0, "it was started")
    until(lambda: m.show("ActiveState") == "failed", "the failed unit")
    check((m.show("ExecMainStatus"), m.show("NRestarts")) == ("78", "0"),
          f"{m.show('ExecMainStatus')}, {m.show('NRestarts')} restarts")


if __name__ == "__main__":
    sys.exit(main())
