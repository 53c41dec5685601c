#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libportcullis as `cmake --install` puts it down: a C compiler and pkg-config are enough to build the example, and the
archive has no names but those of its header.

    tests/packaging/library.py --build build/release
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIP = 77


def call(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    build = parser.parse_args().build
    for tool in ("cc", "pkg-config", "nm"):
        if shutil.which(tool) is None:
            print(f"SKIP: there is no {tool}")
            return SKIP
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder)
        call("cmake", "--install", build, "--prefix", prefix, "--component", "library")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
        flags = call("pkg-config", "--cflags", "--libs", "portcullis", env=environment).split()
        program = prefix / "example"
        call("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", ROOT / "examples/library/main.c", "-o", program, *flags)
        printed = call(program, ROOT / "examples/engine/cluster.yaml", ROOT / "examples/library/request.yaml")
        if '"allowed":true' not in printed:
            sys.exit(f"the example printed:\n{printed}")
        # Of kind u are constants of C++ headers, which the linker keeps one of in a program.
        names = {line.split()[-1] for line in call("nm", "--defined-only", "--extern-only", prefix / "lib/libportcullis.a").splitlines()
                 if re.search(r" [A-Zi-tv-z] ", line)}
        header = (prefix / "include/portcullis/portcullis.h").read_text()
        declared = set(re.findall(r"PORTCULLIS_API [^;(]*?\*?(portcullis_\w+)\(", header))
        if names != declared:
            sys.exit(f"names of the archive: {sorted(names)}; of the header: {sorted(declared)}")
        print(f"library: {len(names)} functions, {(prefix / 'lib/libportcullis.a').stat().st_size >> 20} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
