#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/make_profiled.py rests on: counts that a program of one build folder has written are found by the compiler in
another one, without them the build is refused, and the load that trains is one that portcullis-load can run.

    tests/packaging/profiled.py --build build/release
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import make_profiled  # noqa: E402

SKIP = 77
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(sample CXX)
list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
include(portcullis)
add_executable(sample sample.cc)
target_link_libraries(sample PRIVATE pc_options)
"""
PROGRAM = """#include <cstdio>
int main(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) std::puts(argv[i]);
  return 0;
}
"""


def call(*words, status=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120)
    if (done.returncode == 0) != (status == 0):
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def configure(folder, profile, status=0):
    return call("cmake", "-G", "Ninja", "-S", folder, "-B", folder / profile, f"-DPC_PROFILE={profile}",
                "-DPC_PCH=OFF", "-DPC_TESTS=OFF", status=status)


def counts_are_found(folder):
    (folder / "CMakeLists.txt").write_text(PROJECT)
    (folder / "sample.cc").write_text(PROGRAM)
    if "make_profiled.py" not in configure(folder, "use", status=1):
        sys.exit("without a profile the message does not name make_profiled.py")
    configure(folder, "generate")
    call("cmake", "--build", folder / "generate")
    call(folder / "generate/sample")
    configure(folder, "use")
    command = json.loads((folder / "use/compile_commands.json").read_text())[0]
    call("sh", "-c", f"cd {command['directory']} && {command['command']} -Werror=missing-profile")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        counts_are_found(pathlib.Path(folder))
    if not (build / "portcullis-load").exists():
        print("SKIP: a build without benchmarks has no portcullis-load")
        return SKIP
    with tempfile.TemporaryDirectory() as folder:
        make_profiled.load(build, pathlib.Path(folder), "--scenarios=create-configmap", "--seconds=0.2", "--warmup=0.2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
