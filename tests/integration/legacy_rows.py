#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every scenario of the mechanisms that Kubernetes dropped (docs/legacy.md) has a test that names it.

    tests/integration/legacy_rows.py           fails if one has none
    tests/integration/legacy_rows.py --list    prints the tests of each
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Creates, reads, updates; external hooks; flags, v1beta1, workloads, plugins.
SERIES = {"I": 28, "V": 8, "U": 17, "W": 31, "F": 8, "B": 6, "D": 14, "P": 7}
RANGE = re.compile(r"\b[A-Z]-\d+ to [A-Z]-\d+\b")  # of a file's description, not of a test
ROW = re.compile(r"\b([A-Z])-(\d+)\b")


def tests():
    for place, pattern in (("src", "*_test.cc"), ("src", "*.yaml"), ("tests/integration", "*_test.cc")):
        yield from sorted((ROOT / place).rglob(pattern))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    named = collections.defaultdict(list)
    for path in tests():
        text = RANGE.sub("", path.read_text())
        if "legacy" not in text and "nitializer" not in text and path.suffix == ".cc":
            continue
        for row in sorted(set(ROW.findall(text))):
            named[row].append(str(path.relative_to(ROOT)))
    rows = [(series, str(number)) for series, last in SERIES.items() for number in range(1, last + 1)]
    for series, number in rows:
        if args.list:
            print(f"{series}-{number}: {', '.join(named[series, number])}")
    missing = ["-".join(row) for row in rows if not named[row]]
    print(f"{len(rows)} scenarios, {len(missing)} without a test {' '.join(missing)}".rstrip())
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
