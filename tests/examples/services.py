#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""examples/services with the real redis and nginx, as its README tells."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SRC = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
EXAMPLE = os.path.join(SRC, "examples", "services")
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
REDIS = shutil.which("redis-server")
PATIENCE = "60s"


def ask(path, data, until):
    """One request to a Unix socket; the answer up to `until`, or to the end."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        sock.connect(path)
        sock.sendall(data)
        answer = b""
        while not until or not answer.endswith(until):
            piece = sock.recv(4096)
            if not piece:
                break
            answer += piece
        return answer


class Shop:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="supd-test-")
        for name in ("redis", "nginx"):
            os.mkdir(os.path.join(self.dir, name))
        with open(os.path.join(EXAMPLE, "nginx.conf.in"), encoding="utf-8") as file:
            text = file.read().replace("@DIR@", self.dir)
        with open(os.path.join(self.dir, "nginx.conf"), "w", encoding="utf-8") as file:
            file.write(text)
        self.env = dict(os.environ, SHOP_DIR=self.dir, NGINX=NGINX, REDIS_SERVER=REDIS)
        self.control = os.path.join(self.dir, "run", "control.sock")
        with open(os.path.join(self.dir, "err"), "wb") as err:
            self.supd = subprocess.Popen(
                [os.path.join(BUILD, "supd"), "-c", os.path.join(EXAMPLE, "supd.yaml"),
                 "-r", os.path.join(self.dir, "run")],
                env=self.env, stdout=err, stderr=err)

    def supctl(self, *args):
        return subprocess.run([os.path.join(BUILD, "supctl"), "-s", self.control, *args],
                              check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

    def up(self):
        while self.supctl("ping").returncode != 0:
            if self.supd.poll() is not None:
                return False
            time.sleep(0.02)
        return True

    def status(self):
        actors = json.loads(self.supctl("-o", "json", "status").stdout)
        return {actor["path"]: actor for actor in actors}

    def wait_generation(self, path, generation):
        """Until a newer process than that is ready."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            actor = self.status()[path]
            if actor["generation"] > generation and actor["ready"]:
                return actor
            time.sleep(0.02)
        raise TimeoutError(path)

    def redis(self, *words):
        text = f"*{len(words)}\r\n" + "".join(f"${len(w)}\r\n{w}\r\n" for w in words)
        end = b"hello\r\n" if words[0] == "GET" else b"\r\n"
        return ask(os.path.join(self.dir, "redis.sock"), text.encode(), end)

    def nginx(self):
        return ask(os.path.join(self.dir, "nginx.sock"),
                   b"GET / HTTP/1.0\r\n\r\n", b"")

    def left_behind(self):
        mark = f"SHOP_DIR={self.dir}".encode()
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        left.append(int(pid))
            except OSError:
                continue
        return left

    def done(self):
        if self.supd.poll() is None:
            self.supd.send_signal(signal.SIGQUIT)
            self.supd.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def answers_both(shop):
    """redis_and_nginx_come_up_and_answer"""
    shop.supctl("wait", "shop/nginx", "--for", "ready", "--timeout", PATIENCE)
    return shop.redis("SET", "greeting", "hello") == b"+OK\r\n" and \
        b"nginx process" in shop.nginx()


def redis_dies(shop):
    """a_killed_redis_comes_back_with_its_data_and_takes_nginx_along"""
    before = shop.status()
    os.kill(before["/user/shop/redis"]["pid"], signal.SIGKILL)
    shop.wait_generation("/user/shop/nginx", before["/user/shop/nginx"]["generation"])
    after = shop.status()
    return after["/user/shop/redis"]["generation"] > \
        before["/user/shop/redis"]["generation"] and \
        shop.redis("GET", "greeting") == b"$5\r\nhello\r\n"


def nginx_dies(shop):
    """a_killed_nginx_leaves_redis_alone_and_its_waiting_client_is_served"""
    before = shop.status()
    os.kill(before["/user/shop/nginx"]["pid"], signal.SIGKILL)
    answer = shop.nginx()
    after = shop.wait_generation("/user/shop/nginx",
                                 before["/user/shop/nginx"]["generation"])
    return b"nginx process" in answer and after["restarts"] >= 1 and \
        shop.status()["/user/shop/redis"]["pid"] == before["/user/shop/redis"]["pid"]


def explains(shop):
    """explain_names_the_signal_that_killed_nginx"""
    return "SIGKILL" in shop.supctl("explain", "shop/nginx").stdout


def stops(shop):
    """an_ordered_shutdown_leaves_no_process_and_exits_0"""
    shop.supd.terminate()
    return shop.supd.wait(60) == 0 and not shop.left_behind()


TESTS = (answers_both, redis_dies, nginx_dies, explains, stops)


def main():
    if NGINX is None or REDIS is None:
        print("1..0 # SKIP redis-server or nginx is not installed")
        return 0
    print(f"1..{len(TESTS)}")
    shop = Shop()
    try:
        if not shop.up():
            print("Bail out! supd did not come up")
            return 1
        for number, test in enumerate(TESTS, 1):
            try:
                good = test(shop)
                why = ""
            except (OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
                good, why = False, repr(error)
            print(f"{'ok' if good else 'not ok'} {number} - {test.__doc__}")
            if why:
                print(f"# {why}")
    finally:
        shop.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
