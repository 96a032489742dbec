# SPDX-License-Identifier: ISC
"""What a person wants to know of a supd after a test that failed."""
from harness import comment
from varlink import Varlink


def diagnose(supd):
    """Print its configuration, what probes and supd said, and its actors, as comments."""
    supd.pump(0)
    with open(supd.file, encoding="utf8") as text:
        comment("--- configuration\n" + text.read()[:3000])
    comment(f"--- supd {supd.pid}, exit status {supd.process.returncode}, "
            f"notified {supd.notes[-5:]}")
    origin = supd.log[0].ns if supd.log else 0
    comment("--- probes")
    for line in supd.log[-60:]:
        comment(f"{(line.ns - origin) / 1e6:10.1f} {line.kind} {line.name} {line.pid} "
                f"{line.more}")
    comment("--- events")
    for event in supd.events[-60:]:
        rest = {k: v for k, v in event.items() if k not in ("time", "mono", "event")}
        comment(f"{(event['mono'] - origin) / 1e6:10.1f} {event['event']} {rest}")
    with open(supd.stderr, encoding="utf8", errors="replace") as text:
        comment("--- stderr\n" + text.read()[-3000:])
    if supd.process.returncode is None:
        client = Varlink(supd.socket, timeout=3)
        comment("--- status")
        for actor in client.call("Status", {})["actors"][:40]:
            comment(f"{actor['path']} {actor['state']} pid {actor['pid']} "
                    f"restarts {actor['restarts']} window {actor['window']} "
                    f"backoff {actor['backoff']}")
