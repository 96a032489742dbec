# SPDX-License-Identifier: ISC
"""What tests of file systems that never answer share."""

from harness import equal, has


def failed_start(s, name, words):
    """Wait for the failure; the cause has these words."""
    cause = s.event("failure", name)["cause"]
    equal((cause["kind"], cause["errno"]), ("exec", "ETIMEDOUT"), "the cause")
    has(cause["text"], words, "the cause's text")


def others_work(s):
    """Control, restarts and timers of the others, as if nothing was."""
    s.ctl_ok("ping")
    count = s.counts["S", "other"]
    s.ctl_ok("restart", "other")
    s.started("other", count + 1)
    count = s.counts["S", "clock"]
    s.started("clock", count + 2)


CALM = {"user": "nobody", "backoff": {"min": "100ms", "max": "100ms"}}
OTHERS = {"other": {}, "clock": {"do": ["exit=1"], "backoff": {"min": "50ms", "max": "50ms"}}}
