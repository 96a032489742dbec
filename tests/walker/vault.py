#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What the walker keeps from one guardian to the next: descriptors, and what is on its way."""
import errno
import os
import random
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import alive, check, equal, has, main, test
from walkers import EXITED, Walker, crash

CONTROL, CONF = 1, 4  # VAULT_CONTROL, VAULT_CONF


@test("1,000 descriptors survive three guardians, each in its place")
def vault(box):
    w = Walker(box)
    guardian = w.guardian()
    equal(guardian.hello["vault"], 0, "descriptors at first")
    guardian.do("adopt")
    guardian.do("store 1000 1000 1000")
    guardian.do("ledger 77")
    guardian.expect("ack 0")
    for _ in range(3):
        guardian = crash(w, guardian)
        equal(guardian.hello["vault"], 1000, "descriptors")
        equal((guardian.hello["low"], guardian.hello["high"]), (1000, 1999), "keys")
        equal((guardian.hello["wrong"], guardian.hello["moved"]), (0, 0), "wrong ones")
        equal(guardian.hello["ledger"], 77, "the ledger")
        guardian.do("adopt")
    low = [fd for fd in w.fds() if 2 < fd < 100]
    equal(low, [3], "descriptors of the walker below the window")
    guardian.do("drop 1000 500")
    guardian.do("store 1500 10 1")
    guardian.do("ledger 78")
    guardian.expect("ack 0")
    guardian = crash(w, guardian)
    equal(guardian.hello["vault"], 500, "descriptors after a half was dropped")
    equal((guardian.hello["low"], guardian.hello["high"]), (1500, 1999), "keys")
    equal((guardian.hello["wrong"], guardian.hello["moved"]), (0, 10), "replaced ones")
    equal(guardian.hello["ledger"], 78, "the ledger")
    guardian.do("drop-rest")
    guardian = crash(w, guardian)
    equal(guardian.hello["vault"], 0, "descriptors that nobody took")
    check(len(w.fds()) < 20, f"the walker keeps {len(w.fds())} descriptors")
    guardian.send("exit 0")
    w.ended(0)


@test("what comes on the link of a guardian that was replaced is never read, and changes nothing")
def old_link(box):
    w = Walker(box)
    first = w.guardian()
    first.do("adopt")
    first.do("store 1 10 1")
    first.do("ledger 77")
    first.expect("ack 0")
    actor = first.child(44)
    first.send("heir")
    heir = int(first.expect("heir ").split()[1])
    second = crash(w, first)
    second.do("adopt")
    os.kill(heir, signal.SIGTERM)
    for kind in ("store", *["drop"] * 10, "ledger", "status"):
        first.expect(f"unsent {kind}")
    first.expect("done sending")
    equal(second.ends(1), [(heir, EXITED, 0)], "its end")
    check(alive(actor), "an actor is dead")
    third = crash(w, second)
    equal((third.hello["vault"], third.hello["low"], third.hello["high"]), (10, 1, 10), "what is kept")
    equal((third.hello["wrong"], third.hello["moved"], third.hello["ledger"]), (0, 0, 77), "what it is")
    os.kill(actor, signal.SIGTERM)
    equal(third.ends(1), [(actor, EXITED, 44)], "the end of the actor")
    third.send("exit 0")
    w.ended(0)


@test("more than a link holds is handed over as the guardian reads")
def large_vault(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do("store 100000 15000 100000")
    for _ in range(2):
        guardian = crash(w, guardian)
        equal(guardian.hello["vault"], 15000, "descriptors")
        equal((guardian.hello["wrong"], guardian.hello["moved"]), (0, 0), "wrong ones")
        guardian.do("adopt")
    guardian.send("exit 0")
    w.ended(0)


@test("a guardian that dies while it stores leaves only whole entries")
def storm(box):
    w = Walker(box)
    guardian = w.guardian()
    dice = random.Random(7)
    most = 0
    for _ in range(6):
        guardian.do("adopt")
        guardian.send(f"storm {dice.randrange(2000, 60000)}")
        guardian = w.guardian()
        equal(guardian.hello["status"], signal.SIGALRM, "what it died of")
        equal((guardian.hello["wrong"], guardian.hello["moved"]), (0, 0), "wrong ones")
        check(guardian.hello["vault"] % 16 == 0, f"{guardian.hello['vault']} descriptors")
        most = max(most, guardian.hello["vault"])
    check(most > 0, "nothing was ever kept")
    guardian.send("exit 0")
    w.ended(0)


@test("a vault that is full says so and goes on")
def few_descriptors(box):
    import resource

    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))

    w = Walker(box, before=before)
    guardian = w.guardian()
    equal(guardian.hello["nofile"], 200, "the limit that supd was started with")
    guardian.do("adopt")
    guardian.do("store 1 400 1")
    w.until_said("descriptors are not kept")
    guardian.do("ledger 5")
    guardian.expect("ack 0")
    guardian = crash(w, guardian)
    kept = guardian.hello["vault"]
    check(100 < kept < 300, f"{kept} descriptors")
    equal(guardian.hello["ledger"], 5, "the ledger")
    # Places are left for what must be kept: the control socket, the configuration.
    guardian.do(f"store {CONTROL << 56} 1 {CONTROL << 56}")
    guardian.do(f"store {CONF << 56 | 1} 4 {CONF << 56 | 1}")
    guardian = crash(w, guardian)
    equal(guardian.hello["vault"], kept + 5, "descriptors with the socket and four configurations")
    equal(guardian.hello["high"], CONF << 56 | 4, "the last configuration")
    guardian.do("room 0")
    guardian.expect("ack 0")
    guardian.do("room 1")
    guardian.expect(f"ack {errno.EMFILE}")
    guardian.do("drop 1 10")
    guardian.do("room 10")
    guardian.expect(f"ack {errno.EMFILE}")
    guardian.do("room 1")
    guardian.expect("ack 0")
    equal(guardian.hello["moved"], 0, "wrong ones")
    guardian.send("exit 0")
    w.ended(0)


def no_descriptors(box, limit):
    import resource

    w = Walker(box, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    guardian = w.guardian()
    has(w.said(), f"{limit} descriptors may be open, .* actors will not survive a crash of supd; "
                  "raise")
    guardian.do("room 1")
    guardian.expect(f"ack {errno.EMFILE}")
    guardian.send("exit 0")
    w.ended(0)


for few in 80, 60:
    test(f"with {few} descriptors, too few to keep anything, that is said in plain words")(
        lambda box, few=few: no_descriptors(box, few))


main()
