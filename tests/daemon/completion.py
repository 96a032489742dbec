#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What completes supctl in a shell: verbs, options, words, and the actors that there are."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fake_supd import Supd, actor, status_of
from harness import SUPCTL, Skip, check, equal, main, run, test

TREE = {"db": {}, "web": {"replicas": 2}, "app": {"children": {"api": {}}}}


def script(shell):
    result = run(SUPCTL, "completion", shell)
    equal((result.code, result.err), (0, ""), f"completion {shell}")
    return result.out


def shell(box, name, program):
    """The output of a program of a shell that finds supctl as it is called."""
    if not shutil.which(name):
        raise Skip(f"no {name}")
    os.makedirs(box.path("bin"), exist_ok=True)
    link = box.path("bin/supctl")
    if not os.path.lexists(link):
        os.symlink(SUPCTL, link)
    environ = dict(os.environ, PATH=f"{box.path('bin')}:{os.environ['PATH']}",
                   HOME=box.dir, XDG_CONFIG_HOME=box.dir, XDG_DATA_HOME=box.dir)
    arguments = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["-N"]}[name]
    result = subprocess.run([name, *arguments, "-c", program], env=environ, timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            check=False)
    equal((result.returncode, result.stderr), (0, ""), f"{name}")
    return result.stdout.split("\n")[:-1]


def bash(box, line):
    """The words that bash offers at the end of the line, by the registered function."""
    return sorted(shell(box, "bash", f"""
        source <(supctl completion bash)
        [[ $(complete -p supctl) = *"-F _supctl supctl" ]] || exit 9
        COMP_LINE={line!r}
        COMP_POINT=${{#COMP_LINE}}
        _supctl
        [[ ${{#COMPREPLY[@]}} = 0 ]] || printf '%s\\n' "${{COMPREPLY[@]}}"
        """))


def fish(box, line):
    return sorted(found.split("\t")[0] for found in
                  shell(box, "fish", f"supctl completion fish | source; complete -C {line!r}"))


@test("bash completes verbs, options and their words")
def words(box):
    equal(bash(box, "supctl st"), ["start", "status", "stop"], "verbs")
    equal(bash(box, "supctl -o json is-"), ["is-active", "is-failed", "is-healthy", "is-ready"], "verbs")
    check({"help", "top", "metrics", "completion"} <= set(bash(box, "supctl ")), "all verbs")
    check({"--hold", "--no-wait", "--socket"} <= set(bash(box, "supctl stop --")), "options")
    check("--hold" not in bash(box, "supctl start --"), "an option of another verb")
    equal(bash(box, "supctl wait --for "), ["done", "failed", "ready", "stopped"], "words")
    equal(bash(box, "supctl -o "), ["json", "text"], "words")
    equal(bash(box, "supctl completion "), ["bash", "fish", "zsh"], "words")
    equal(bash(box, "supctl logs -n "), [], "a number")
    equal(bash(box, "supctl help sto"), ["stop"], "verbs to be explained")
    box.file("some-file.yaml")
    equal(bash(box, f"supctl check {box.dir}/some"), [f"{box.dir}/some-file.yaml"], "files")


@test("bash completes the names of the actors that there are")
def actors(box):
    s = box.supd(TREE)
    s.started("api")
    at = f"supctl -s {s.socket}"
    equal(bash(box, f"{at} stop "), sorted([
        "/user", "/user", "/user/app", "/user/app/api", "/user/db", "/user/web@1",
        "/user/web@2", "app", "app/api", "db", "web@1", "web@2"]), "actors")
    equal(bash(box, f"{at} restart app/"), ["app/api"], "below app")
    equal(bash(box, f"{at} restart --no-wait /user/d"), ["/user/db"], "by path")
    # What is in front of the @ stays.
    equal(bash(box, f"{at} stop web@"), ["1", "2"], "replicas")
    equal(bash(box, f"{at} reset-failed d"), ["db"], "an alias of a verb")
    equal(bash(box, f"supctl -s {box.path('none')} stop d"), [], "without a supd")


@test("bash runs nothing that a name of an actor says, and shows no other byte of it")
def hostile_names(box):
    names = [f"/user/$(touch${{IFS}}{box.path('hurt')})", f"/user/`touch${{IFS}}{box.path('hurt')}`", "/user/x\x1b]0;x\x07",
             "/user/$HOME", "/user/good@1"]
    fake = Supd(Status=status_of([actor(name) for name in names]))
    fake.parallel = True
    box.undo.append(fake.close)
    equal(bash(box, f"supctl -s {fake.path} stop "), ["/user/good@1", "good@1"], "names")
    check(not os.path.exists(box.path("hurt")), "a name was run")


@test("fish completes verbs, options, words and actors")
def in_fish(box):
    s = box.supd(TREE)
    s.started("api")
    equal(fish(box, "supctl sta"), ["start", "status"], "verbs")
    check("--hold" in fish(box, "supctl stop --"), "options")
    check("--hold" not in fish(box, "supctl start --"), "an option of another verb")
    equal(fish(box, "supctl wait --for r"), ["ready"], "words")
    equal(fish(box, f"supctl -s {s.socket} stop web"), ["web@1", "web@2"], "actors")
    equal(fish(box, "supctl completion b"), ["bash"], "shells")


@test("zsh and fish read what is printed for them without a complaint")
def read(box):
    shells = [name for name in ("zsh", "fish") if shutil.which(name)]
    if not shells:
        raise Skip("neither zsh nor fish")
    for name in shells:
        file = box.file("script", script(name))
        result = run(name, "-n", file)
        equal((result.code, result.err), (0, ""), name)
    if "zsh" in shells:
        equal(shell(box, "zsh", "autoload -U compinit; compinit -D -u; "
                    "source <(supctl completion zsh); print $_comps[supctl]"), ["_supctl"],
              "who completes supctl")


@test("another shell is refused with those that are known")
def unknown(_):
    result = run(SUPCTL, "completion", "csh")
    equal((result.code, result.out), (2, ""), "csh")
    check("bash, zsh or fish" in result.err, result.err)


if __name__ == "__main__":
    main()
