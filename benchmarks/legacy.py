#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the mechanisms that Kubernetes dropped cost creates that do not use them, in instructions.

    benchmarks/legacy.py --build build/release

Runs 2,000 creates of a ConfigMap of engine_bench under callgrind (Debian's valgrind), twice each: in an engine with
nothing old enabled, and in one that has the plugin Initializers with its API and none configured.

off    the share of a create's instructions in functions that are there for initializers alone, while nothing old is
       enabled: what a build without them would not run. At most 1 %.
on     the instructions of a create with Initializers on and none configured, less those without, as a share of these.
       At most 2 %.

Exits with 1 if a bound does not hold.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))
from write_walk import SKIPPED, Profile  # noqa: E402

CREATES = 2000
FORMS = {"1": "dry run", "0": "stored in memory"}
OFF, ON = "MakePlain", "MakeInitialized"
OWN = re.compile(r"Initializ(er|ation)|Uninitialized|IsBeingInitialized|JudgesAsNew")
MOST_OFF, MOST_ON = 0.01, 0.02


def profile(program, function, form, folder):
    out = folder / "callgrind.out"
    subprocess.run(["valgrind", "--tool=callgrind", f"--toggle-collect=*::{function}(*", f"--callgrind-out-file={out}", program,
                    f"--benchmark_filter=BM_CreateWithInitializers/{form}"], check=True, capture_output=True)
    return Profile(out).own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT.parent / "build/release")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("SKIP there is no valgrind")
        return SKIPPED
    program = args.build / "benchmarks/engine_bench"
    holds = True
    for form, label in FORMS.items():
        with tempfile.TemporaryDirectory() as folder:
            off = profile(program, OFF, form, pathlib.Path(folder))
            on = profile(program, ON, form, pathlib.Path(folder))
        plain, more = sum(off.values()), sum(on.values())
        if plain == 0 or more == 0:
            sys.exit(f"{label}: callgrind has counted nothing")
        idle = sum(count for name, count in off.items() if OWN.search(name)) / plain
        ratio = more / plain
        print(f"{label}, off: {plain / CREATES:,.0f} instructions, {100 * idle:.3f} % of them for initializers (at most {100 * MOST_OFF:.0f} %)")
        print(f"{label}, on: {more / CREATES:,.0f} instructions, {ratio:.4f}x of off (at most {1 + MOST_ON:.2f}x)")
        holds = holds and idle <= MOST_OFF and ratio <= 1 + MOST_ON
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
