# SPDX-License-Identifier: ISC
"""The master: knows which pages are known, in hand and done.

Workers connect to the socket that supd passed.  A worker that goes away without handing
in its page has died: the page is sent again, at most three times, then it is a dead
letter.  When nothing is left to do it writes what it counted and ends.
"""
import json
import selectors
from collections import deque

import common

LISTEN_FD = 3


class Worker:
    def __init__(self, sock):
        self.sock = sock
        self.buf = b""
        self.page = None       # in hand
        self.waiting = False   # wants one


class Master:
    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.listener = common.passed_socket(LISTEN_FD)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.index = common.connect("index.sock")
        self.workers = set()
        self.known = {common.page_path(0)}
        self.queue = deque(self.known)
        self.handed = {}       # page → how often it was handed out
        self.count = {"pages": 0, "deaths": 0, "sent_again": 0, "dead_letters": [],
                      "refused": 0, "cut": 0}

    def finished(self):
        return not self.queue and not any(w.page for w in self.workers)

    def run(self):
        common.tell_supervisor("READY=1")
        while not self.finished():
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self.accept()
                else:
                    self.read(key.data)
            self.hand_out()
            common.tell_supervisor(f"STATUS={self.count['pages']} pages, "
                                   f"{len(self.queue)} waiting")
        self.index.close()

    def accept(self):
        sock, _ = self.listener.accept()
        worker = Worker(sock)
        self.workers.add(worker)
        self.selector.register(sock, selectors.EVENT_READ, worker)

    def read(self, worker):
        try:
            data = worker.sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.bury(worker)
            return
        *lines, worker.buf = (worker.buf + data).split(b"\n")
        for line in lines:
            self.on_message(worker, json.loads(line))

    def on_message(self, worker, message):
        for trouble in ("refused", "cut"):
            if trouble in message:
                self.count[trouble] += 1
                return
        worker.waiting = True
        if "page" not in message:
            return
        worker.page = None
        self.count["pages"] += 1
        common.send(self.index, {"page": message["page"], "words": message["words"]})
        for link in message["links"]:
            if link not in self.known:
                self.known.add(link)
                self.queue.append(link)

    def bury(self, worker):
        """A worker is gone; so is the page it had in hand, unless we send it again."""
        self.selector.unregister(worker.sock)
        worker.sock.close()
        self.workers.discard(worker)
        if worker.page is None:
            return
        self.count["deaths"] += 1
        if self.handed[worker.page] < common.TRIES:
            self.count["sent_again"] += 1
            self.queue.append(worker.page)
        else:
            self.count["dead_letters"].append(worker.page)

    def hand_out(self):
        for worker in self.workers:
            if not self.queue:
                return
            if not worker.waiting:
                continue
            page = self.queue.popleft()
            self.handed[page] = self.handed.get(page, 0) + 1
            worker.page, worker.waiting = page, False
            try:
                common.send(worker.sock, {"page": page, "deaths": self.count["deaths"]})
            except OSError:
                pass               # its end comes as an empty read


def main():
    master = Master()
    master.run()
    with open(common.run_path("crawl.json"), "w", encoding="utf-8") as file:
        json.dump(master.count, file)


if __name__ == "__main__":
    main()
