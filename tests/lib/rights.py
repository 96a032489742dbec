# SPDX-License-Identifier: ISC
"""What tests of a process's rights share: the rights of this user, of another, and whether a test can run."""
import os
import pwd

from harness import check, equal, has, test

NOBODY = pwd.getpwnam("nobody").pw_uid
CAPS = {"chown": 0, "kill": 5, "setpcap": 8, "net_bind_service": 10, "net_raw": 13,
        "sys_chroot": 18, "sys_resource": 24, "sys_nice": 23}
BATCH, IDLE = 3, 5


def own(name):
    """A capability set of the test's process, by name (Eff, Prm, Bnd...)."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1], 16) for line in status
                    if line.startswith(f"Cap{name}:"))


def bits(*names):
    return sum(1 << CAPS[name] for name in names)


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
