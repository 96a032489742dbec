#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The Debian package: it is built from the source directory that the first argument names,
without a complaint of lintian, and installed, upgraded, removed and purged under systemd."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from machine import BUILD, Machine, check, main, missing, test, until

NEEDED = "dpkg-buildpackage", "dh", "lintian"
# Packages that were built before with KEEP=1: their directory.
BUILT = os.environ.get("SUPD_TEST_PACKAGES")
PACKAGES = BUILT or tempfile.mkdtemp(prefix="supd-package-")


class Bare(Machine):
    """A machine in which nothing of supd is, until its package is installed."""

    def installed(self, unit):
        return [f"--bind-ro={PACKAGES}:/mnt"]

    def dpkg(self, *arguments):
        return self.run("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", *arguments, good=True)

    def files(self):
        """All that is on the disk, without what dpkg, systemd and logs keep for themselves."""
        text = self.run(
            "/bin/sh", "-c", "find / -xdev ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' "
            "! -path '/var/cache/*' ! -path '/tmp*' ! -path '/var/tmp*' "
            "! -path '/var/lib/systemd/*'; find /var/log /var/lib/systemd | grep supd",
            ).stdout
        return set(text.splitlines())

    def tree(self, **children):
        lines = "".join(f"  {name}: {spec}\\n" for name, spec in children.items())
        self.run("/bin/sh", "-c", f"printf 'children:\\n{lines}' >{self.conf}", good=True)


def build(source):
    """Make the package, and the same as a later version; gives the words of lintian."""
    tree = os.path.join(PACKAGES, "source")
    shutil.copytree(source, tree)
    subprocess.run(["chmod", "-R", "u+w", tree], check=True)
    environment = dict(os.environ, DEB_BUILD_OPTIONS="nocheck parallel=2")
    for name in "CC", "MAKEFLAGS", "MAKELEVEL", "MFLAGS":
        environment.pop(name, None)
    with open(os.path.join(PACKAGES, "build.log"), "w", encoding="utf8") as log:
        done = subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc"], cwd=tree, stdout=log,
                              stderr=log, env=environment, check=False)
    if done.returncode != 0:
        with open(os.path.join(PACKAGES, "build.log"), encoding="utf8") as log:
            return None, log.read()[-3000:]
    said = subprocess.run(["lintian", "--allow-root", "--fail-on", "none", "--tag-display-limit",
                           "0", *glob.glob(f"{PACKAGES}/*.changes")], check=True, text=True,
                          capture_output=True).stdout
    first, = glob.glob(f"{PACKAGES}/supd_*.deb")
    os.rename(first, f"{PACKAGES}/supd.deb")
    content = os.path.join(PACKAGES, "content")
    subprocess.run(["dpkg-deb", "-R", f"{PACKAGES}/supd.deb", content], check=True)
    control = os.path.join(content, "DEBIAN/control")
    with open(control, encoding="utf8") as file:
        text = file.read()
    with open(control, "w", encoding="utf8") as file:
        file.write(re.sub(r"^(Version: .*)$", r"\1+later", text, flags=re.M))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", content, f"{PACKAGES}/later.deb"],
                   check=True, stdout=subprocess.DEVNULL)
    return said, ""


LINTIAN = []


@test("lintian finds nothing, neither an error nor a warning")
def clean(_m):
    check(not LINTIAN, "\n".join(LINTIAN))


@test("the package is installed, starts supd, and brings the group, the directories and the schema")
def install(m):
    m.before = m.files()
    m.dpkg("-i", "/mnt/supd.deb")
    until(lambda: m.show("ActiveState") == "active", "the unit")
    check(m.run("systemctl", "is-enabled", "supd").stdout == "enabled\n", "not enabled")
    check(m.run(m.ctl, "ping").returncode == 0, "supctl does not reach it")
    check(m.run("getent", "group", "supd").returncode == 0, "no group supd")
    for path in ("/var/log/supd", "/usr/share/supd/supd.schema.json",
                 "/usr/lib/systemd/user/supd.service"):
        check(m.run("test", "-e", path).returncode == 0, f"no {path}")


@test("a second supd is a second instance of supd@.service")
def instance(m):
    m.run("/bin/sh", "-c", "echo 'children: {b: {command: [sleep, infinity]}}' "
          ">/etc/supd/two.yaml && systemctl start supd@two", good=True)
    text = m.run(m.ctl, "-s", "/run/supd-two/control.sock", "status").stdout
    check("/user/b" in text or re.search(r"^b\s+running", text, re.M), text)
    m.run("systemctl", "stop", "supd@two", good=True)
    m.run("rm", "/etc/supd/two.yaml", good=True)


@test("a supd of a user is a unit of the user")
def user(m):
    m.run("/bin/sh", "-c", "mkdir -p /root/.config/supd && echo 'children: {u: "
          "{command: [sleep, infinity]}}' >/root/.config/supd/supd.yaml", good=True)
    # pam_systemd, which the container lacks, would set the variable.
    m.run("/bin/sh", "-c", "d=/run/systemd/system/user@0.service.d && mkdir -p $d && printf "
          "'[Service]\\nEnvironment=XDG_RUNTIME_DIR=/run/user/0\\n' >$d/t.conf && "
          "systemctl daemon-reload && systemctl start user@0", good=True)
    done = m.run("/bin/sh", "-c", "export XDG_RUNTIME_DIR=/run/user/0 && systemctl --user "
                 f"start supd && {m.ctl} -s $XDG_RUNTIME_DIR/supd/control.sock is-active u")
    check(done.returncode == 0, done.stderr + m.run("journalctl", "-n", "20").stdout)
    m.run("/bin/sh", "-c", "XDG_RUNTIME_DIR=/run/user/0 systemctl --user stop supd; "
          "systemctl stop user@0; rm -r /root/.config /run/systemd/system/user@0.service.d; "
          "systemctl daemon-reload", good=True)


@test("an upgrade replaces the running supd, and no actor notices")
def upgrade(m):
    m.start()
    m.tree(a="{command: [sleep, infinity]}", b="{command: [sleep, infinity]}")
    m.run("systemctl", "reload", "supd", good=True)
    actors = [m.actor_pid(name) for name in "ab"]
    walker = m.show("MainPID")
    guardian = m.guardian(int(walker)).pid
    m.dpkg("-i", "/mnt/later.deb")
    check([m.actor_pid(name) for name in "ab"] == actors, "an actor was restarted")
    check(m.show("MainPID") == walker and m.show("ActiveState") == "active", "unit restarted")
    check(m.guardian(int(walker)).pid != guardian, "the old supd goes on")
    exe = m.run("readlink", f"/proc/{m.guardian(int(walker)).pid}/exe").stdout
    check("deleted" not in exe, exe)
    check("sleep" in m.run("cat", m.conf).stdout, "the configuration was replaced")


@test("when the package is removed supd stops in order, when it is purged nothing is left")
def purge(m):
    m.start()
    m.dpkg("-r", "supd")
    check(m.run("pgrep", "-x", "supd|sleep").returncode != 0, "something still runs")
    check(m.run("test", "-e", m.conf).returncode == 0, "the configuration went too early")
    m.dpkg("-P", "supd")
    left = m.files() - m.before
    # Groups stay, by Debian's custom: their numbers must not go to another.
    left -= {"/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock"}
    check(not left, "left: " + " ".join(sorted(left)))


def run(source, names):
    absent = [name for name in NEEDED if shutil.which(name) is None]
    reason = missing() or (absent and f"needs {' '.join(absent)}")
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    try:
        said, why = build(source) if BUILT is None else ("", "")
        if said is None:
            print(f"Bail out! the package cannot be built: {why}")
            return 1
        LINTIAN.extend(line for line in said.splitlines() if line[:2] in ("E:", "W:"))
        return main(names, Bare)
    finally:
        if "KEEP" not in os.environ and BUILT is None:
            shutil.rmtree(PACKAGES, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: package.py DIRECTORY [test]...; `make check-package` in {BUILD}")
    sys.exit(run(sys.argv[1], tuple(sys.argv[2:])))
