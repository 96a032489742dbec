# SPDX-License-Identifier: ISC
"""What tests of metrics share: a client of /metrics, and what the figures say."""
import re
import socket

from harness import check, equal

UNITS = ("seconds", "bytes")


def connect(address, timeout=20):
    if isinstance(address, int):
        client = socket.create_connection(("127.0.0.1", address), timeout)
    else:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(timeout)
        client.connect(address)
    return client


def rest(client):
    got = b""
    while piece := client.recv(65536):
        got += piece
    return got


def fetch(address, request="GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
    """Status, headers and text of an answer."""
    with connect(address) as client:
        client.sendall(request.encode())
        head, _, body = rest(client).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    equal(headers["Connection"], "close", "what becomes of the connection")
    return int(lines[0].split()[1]), headers, body.decode()


def parse(text):
    """The figures, checked against what OpenMetrics asks for."""
    lines = text.split("\n")
    equal(lines[-2:], ["# EOF", ""], "the end")
    types, figures, family, over = {}, {}, None, set()
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            over.add(family)
            _, _, family, kind = line.split(" ")
            check(family not in types, f"{family} is there twice")
            types[family] = kind
        elif line.startswith("# UNIT "):
            _, _, name, unit = line.split(" ")
            check(name == family and name.endswith("_" + unit), line)
        elif line.startswith("# HELP "):
            equal(line.split(" ")[2], family, "whom it is about")
        else:
            found = re.fullmatch(r'(\w+)(\{(?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+\})? '
                                 r"(\d+(?:\.\d+)?)", line)
            check(found, f"not a figure: {line!r}")
            suffix = {"counter": "_total", "info": "_info", "gauge": ""}[types[family]]
            equal(found[1], family + suffix, "the name of a figure")
            key = found[1] + (found[2] or "")
            check(key not in figures, f"{key} is there twice")
            figures[key] = float(found[3])
    for name in types:
        for unit in UNITS:
            check(not name.endswith(unit) or f"# UNIT {name} {unit}\n" in text, name)
    return figures
