#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows one kind of write through the modules: which it enters, and where a call goes back up.

    benchmarks/write_walk.py --build build/release

Runs the creates of engine_bench under callgrind (Debian's valgrind) and reads which function calls which.
A call goes back up if the module that is called depends, by its pc_module() line, on the one that calls:
that takes an interface. The chain calls its plugins so; there is to be no other. It also prints what
share of a create's instructions is in the functions that write a trace, while no trace is asked for.

Exits with 1 if a call goes up that is not the chain's, or if more than 15 modules are entered.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import check_layers  # noqa: E402

MOST_MODULES = 15
BY_DESIGN = {("admission", "plugins")}
SKIPPED = 77


class Profile:
    """The calls between modules and the instructions of functions in a file of callgrind.
    https://valgrind.org/docs/manual/cl-format.html"""

    def __init__(self, path):
        self.names = {"file": {}, "function": {}}
        self.calls = collections.Counter()  # (module, module called, function called)
        self.own = collections.Counter()  # instructions of a function itself
        file = function = called_file = called = ""
        is_call = False
        for line in path.read_text().splitlines():
            key, _, value = line.partition("=")
            if key == "fl":
                file = called_file = self.name("file", value)
            elif key == "fn":
                function, called_file = self.name("function", value), file
            elif key in ("fi", "fe"):
                self.name("file", value)
            elif key in ("cfi", "cfl"):
                called_file = self.name("file", value)
            elif key == "cfn":
                called = self.name("function", value)
            elif key == "calls":
                self.calls[module_of(file), module_of(called_file), called] += int(value.split()[0])
                is_call, called_file = True, file
            elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
                if not is_call and " " in line:
                    self.own[function] += int(line.split()[1])
                is_call = False

    def name(self, kind, text):
        """Names are written once, with a number that stands for them from then on."""
        number, _, name = text.partition(" ")
        return self.names[kind].setdefault(number, name)


def module_of(file):
    found = re.search(r"/src/(\w+)/", file)
    return found.group(1) if found else ""


def run(program, folder):
    out = folder / "callgrind.out"
    subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=*::Make(*", f"--callgrind-out-file={out}", program,
                    "--benchmark_filter=BM_CreateConfigMap/0", "--benchmark_min_time=0.2"], check=True, capture_output=True)
    return Profile(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("SKIP there is no valgrind")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        profile = run(args.build / "benchmarks/engine_bench", pathlib.Path(folder))

    modules = check_layers.declared()
    above = {name: check_layers.closure(modules, name) for name in modules}
    entered = sorted({name for call in profile.calls for name in call[:2] if name})
    between = {call[:2] for call in profile.calls if all(call[:2]) and call[0] != call[1]}
    up = {(caller, callee) for caller, callee in between if caller in above.get(callee, ())}
    total = sum(profile.own.values())
    traced = sum(count for name, count in profile.own.items() if "Trace" in name)
    print(f"modules entered: {len(entered)} ({', '.join(entered)}), at most {MOST_MODULES}")
    print(f"calls between modules: {len(between)} pairs; back up: {', '.join(f'{a} -> {b}' for a, b in sorted(up)) or 'none'}")
    print(f"functions that write traces, with none asked for: {100 * traced / total:.3f} % of the instructions")
    return 0 if total > 0 and len(entered) <= MOST_MODULES and up <= BY_DESIGN else 1


if __name__ == "__main__":
    sys.exit(main())
