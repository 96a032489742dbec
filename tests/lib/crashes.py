# SPDX-License-Identifier: ISC
"""What tests of crashes share."""
import resource

from chaos import Chaos


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(box, tree, **options):
    s = Chaos(box, tree, before=no_core, **options)
    s.until(lambda: s.counts["supd", "/"] >= 2, "supd to be ready")
    s.settle()
    return s


def four(box, **options):
    return start(box, {"a": {}, "b": {}, "g": {"children": {"c": {}, "d": {}}}}, **options)
