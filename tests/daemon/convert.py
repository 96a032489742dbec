#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd --init: a first configuration, and the files of other supervisors: doc/MIGRATING.md."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPD, check, equal, has, main, run, test

PROCFILE = """# of a web shop
web: bundle exec puma -C config/puma.rb -p $PORT
worker: env QUEUE=mail bin/work --verbose
release: bin/migrate && echo "done: ${RELEASE} $$"
clock job: ./clock
not a process
"""
SUPERVISORD = r"""[unix_http_server]
file=/tmp/supervisor.sock   ; the path of the socket

[supervisord]
logfile=/tmp/supervisord.log

[program:shop]
command=/bin/sleep 100
process_name=%(program_name)s_%(process_num)02d
numprocs=4
autostart=true
autorestart=unexpected
exitcodes=0,2
stopsignal=QUIT
stopwaitsecs=20
environment=A="1",B="two, words",
  ; of an apostrophe
  C='it''s'  ; the last
stdout_logfile=/dev/stdout
stdout_logfile_maxbytes=0
redirect_stderr=true
priority=10

[program:nightly]
command=/bin/true --quiet ; once a night
autostart=false
autorestart=false
environment=PATH="/opt:%(ENV_PATH)s"

[program:alone]
command=/bin/sleep 7
numprocs=1

[group:all]
programs=shop, nightly,ghost
priority=5

[eventlistener:mail]
command=/usr/bin/crashmail
"""
UNIT = r"""[Unit]
Description=The "shop": 100% of it
After=network.target postgresql.service

[Service]
Type=notify
ExecStartPre=/bin/mkdir -p /tmp/shop
ExecStartPre=/bin/true
ExecStart=-/bin/sleep 100
ExecReload=/bin/kill \
# which process
  -HUP \
  1
Restart=on-failure
RestartSec=1500ms
TimeoutStartSec=2min
TimeoutStopSec=1min 30s
Environment=A=1 "B=two words"
Environment=C=4
EnvironmentFile=-/etc/default/shop
EnvironmentFile=-/etc/default/more
UMask=0027
KillSignal=SIGINT
LimitCORE=0
MemoryMax=512M
ProtectSystem=full
SystemCallFilter=@system-service \
  ~@mount

[Install]
WantedBy=multi-user.target
"""


def converted(box, kind, name, text):
    """Convert a file of this kind; gives the configuration, which --check accepts."""
    box.file(name, text)
    result = run(SUPD, "--init", kind, name, cwd=box.dir)
    equal(result.code, 0, result.err)
    path = box.file(f"{name}.yaml", result.out)
    os.chmod(path, 0o644)
    checked = run(SUPD, "--check", path, env={"PATH": os.environ["PATH"]})
    equal(checked.code, 0, f"{checked.err}\n{result.out}\n--check")
    return result.out


@test("without words it prints a first configuration, which is good and runs")
def first(box):
    result = run(SUPD, "--init")
    path = box.file("first.yaml", result.out)
    os.chmod(path, 0o644)
    has(run(SUPD, "--check", path).out, "good, 1 actor", "--check")
    bare = "\n".join(line[1:] if line.startswith("#  ") else line
                     for line in result.out.splitlines())
    path = box.file("bare.yaml", bare.replace("./", "/bin/") + "\n")
    os.chmod(path, 0o644)
    equal(run(SUPD, "--check", path).code, 0, "--check without its comment signs")


@test("a Procfile: each line a process, with a shell only where one is needed")
def procfile(box):
    text = converted(box, "procfile", "Procfile", PROCFILE)
    has(text, r'(?m)^  web:\n    shell: "bundle exec puma .* -p \$PORT"$')
    has(text, r'(?m)^  worker:\n    command: "env QUEUE=mail bin/work --verbose"$')
    has(text, r'shell: "bin/migrate && echo \\"done: \$\$\{RELEASE\} \$\$\$\\""')
    has(text, r"(?m)^  clock-job:$")
    has(text, r"# no process: not a process")
    has(text, r"# foreman sets PORT")


@test("supervisord.conf: each program an actor; the rest a comment")
def supervisord(box):
    text = converted(box, "supervisord", "supervisord.conf", SUPERVISORD)
    for pattern in (r'command: "/bin/sleep 100"', "restart: transient", r"exit: \[0, 2\]",
                    'stop_signal: "QUIT"', "shutdown: 20s", 'B: "two, words"', "output: stdout",
                    r'(?m)^        replicas: "4"$', r'C: "its"', r"# no equivalent: \[unix_http_server\]",
                    "# no equivalent: priority=10", "enabled: false", "restart: never",
                    r'command: "/bin/true --quiet"', r"# no equivalent: environment=PATH=",
                    r"# no equivalent: \[eventlistener:mail\]",
                    r"(?m)^  all:\n    children:\n(      #.*\n)*      shop:\n        command: ",
                    r"(?m)^      nightly:\n        command: ", "# no equivalent: priority=5",
                    "# no program of the group all: ghost", r'(?m)^  alone:\n    command: "/bin/sleep 7"\n  \S|\Z'):
        has(text, pattern)
    equal((text.count("shop:"), text.count("nightly:"), "replicas: \"1\"" in text), (1, 1, False), "once each")


@test("supervisord.conf: a program beside a group of the same name has another name")
def same_name(box):
    text = converted(box, "supervisord", "supervisord.conf", "[group:web]\nprograms=a\n[program:a]\ncommand=/bin/sleep 1\n"
                     "[program:web]\ncommand=/bin/sleep 2\n[group:b]\nprograms=b\n[program:b]\ncommand=/bin/sleep 3\n")
    has(text, r'(?m)^  web:\n    children:\n      a:\n        command: "/bin/sleep 1"$')
    has(text, r'(?m)^  web-program:   # a group has the name web\n    command: "/bin/sleep 2"$')
    has(text, r'(?m)^  b:\n    children:\n      b:\n        command: "/bin/sleep 3"$')


@test("a unit: what has no equivalent is a comment, also the second of what is had once")
def unit(box):
    text = converted(box, "systemd", "shop.service", UNIT)
    for pattern in ("(?m)^  shop:$", "ready: notify", r'pre_start: "/bin/mkdir -p /tmp/shop"',
                    "# no equivalent: ExecStartPre=/bin/true", r'command: "/bin/sleep 100"',
                    "min: 1500ms", "start_timeout: 2m", "shutdown: 1m30s",
                    r'A: "1", B: "two words", C: "4"',
                    r'\["-/etc/default/shop", "-/etc/default/more"\]', 'umask: "0027"',
                    "# no equivalent: ProtectSystem=full", r"# no equivalent: SystemCallFilter=@system-service +~@mount",
                    r'reload_command: "/bin/kill +-HUP +1"',
                    "# no equivalent: Description="):
        has(text, pattern)


@test("what it cannot read or does not know is said (66, 64), and nothing is printed")
def refused(box):
    for words, code, said in ((("procfile", "/nonexistent"), 66, "cannot read /nonexistent"),
                              (("runit", "x"), 64, "procfile, supervisord or systemd"),
                              (("systemd",), 64, "and files")):
        result = run(SUPD, "--init", *words)
        equal((result.code, result.out), (code, ""), str(words))
        has(result.err, said)
    check(not os.listdir(box.dir), "it wrote files")


if __name__ == "__main__":
    main()
