# SPDX-License-Identifier: ISC
"""A page worker: asks the master for a page, fetches it, hands in what it found.

One fetch in --dies-in kills it, in turn by an exit code, a SIGSEGV and a SIGKILL; what
it had in hand is then nobody's, and the master gives it to another worker.
"""
import argparse
import http.client
import json
import os
import random
import re
import signal
import time

import common

EX_TEMPFAIL = 75
LINK = re.compile(r'href="([^"]+)"')
WORD = re.compile(r"[a-z]+")


def die(turn):
    """The three ways, in turn."""
    if turn % 3 == 0:
        os._exit(EX_TEMPFAIL)
    os.kill(os.getpid(), (signal.SIGSEGV, signal.SIGKILL)[turn % 3 - 1])


def fetch(master, path):
    """The page, however often the server dies over it."""
    while True:
        conn = http.client.HTTPConnection("127.0.0.1", int(os.environ["CRAWLER_PORT"]))
        try:
            conn.request("GET", path)
            return conn.getresponse().read().decode()
        except ConnectionRefusedError:
            common.send(master, {"refused": 1})
            time.sleep(0.1)
        except (OSError, http.client.HTTPException):
            common.send(master, {"cut": 1})
        finally:
            conn.close()


def work(master, chance):
    lines = master.makefile()
    common.send(master, {"worker": os.environ["WORKER"]})
    for line in lines:
        job = json.loads(line)
        body = fetch(master, job["page"])
        if common.POISON_MARK in body:
            os.kill(os.getpid(), signal.SIGSEGV)
        if random.randrange(chance) == 0:
            die(job["deaths"])
        text = re.sub(r"<[^>]*>", " ", body)
        common.send(master, {"page": job["page"], "links": LINK.findall(body),
                             "words": WORD.findall(text)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dies-in", type=int, default=20)
    chance = parser.parse_args().dies_in
    with common.connect("work.sock") as master:
        work(master, chance)
    # The master has no more work, or is gone; being stopped is for the supervisor.
    signal.pause()


if __name__ == "__main__":
    main()
