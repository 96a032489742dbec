#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""All of the tests that kill supd, all the way: for `make check-chaos`, which takes long."""
import importlib.util
import os
import sys

os.environ.setdefault("CHAOS_ALL", "1")
os.environ.setdefault("CHAOS_CRASHES", "1000")
os.environ.setdefault("CHAOS_UPGRADES", "100")
HERE = os.path.dirname(os.path.abspath(__file__))
FILES = sorted(name[:-3] for name in os.listdir(HERE)
               if name.endswith(".py") and name != os.path.basename(__file__))

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import main

# By their files: some have the names of tests in ../daemon.
for file in (*FILES, "../daemon/upgrade", "../daemon/upgrade_refused"):
    spec = importlib.util.spec_from_file_location("all_" + os.path.basename(file),
                                                  os.path.join(HERE, file + ".py"))
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
main()
