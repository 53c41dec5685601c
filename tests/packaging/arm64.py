#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is written for one kind of processor holds on arm64: its tests are compiled with Debian's cross compiler and run
under qemu. The whole program for arm64 is built and tested by `./check full`.

    tests/packaging/arm64.py --build build/release

What cannot be had is a SKIP line and exit status 77.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIP = 77
COMPILER, QEMU = "aarch64-linux-gnu-g++", "qemu-aarch64-static"
# char is unsigned on arm64: what compares one with zero is an error.
FLAGS = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wtype-limits", "-Werror", "-static"]
GTEST = pathlib.Path("/usr/src/googletest/googletest")
# Each source that depends on the processor, and what is compiled with it; None: there is nothing to run.
TESTS = {
    "src/base/fiber.cc": ["src/base/fiber_test.cc"],
    "src/base/fiber.h": ["src/base/fiber.cc", "src/base/fiber_test.cc"],
    "src/json/scan.h": ["src/json/scan_test.cc"],
    "src/build_info/build_info.cc": None,  # the name of the platform; packages.py looks at it
}
X86 = r"__x86_64__|__amd64__|__SSE|__AVX|__BMI|__POPCNT__"
ARM = r"__aarch64__|__ARM"


def depends_on_processor():
    """Sources with code for a kind of processor."""
    found = {}
    for path in [*(ROOT / "src").rglob("*.cc"), *(ROOT / "src").rglob("*.h")]:
        text = path.read_text()
        if re.search(f"{X86}|{ARM}|mmintrin.h", text):
            found[str(path.relative_to(ROOT))] = bool(re.search(ARM, text))
    return found


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=540, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="taken, as by other tests; nothing of it is used")
    parser.parse_args()
    found = depends_on_processor()
    wrong = [f"{path} has code for x86-64 and none for arm64" for path, has_arm in found.items() if not has_arm]
    wrong += [f"{path} depends on the processor: name its test here" for path in sorted(set(found) - set(TESTS))]
    wrong += [f"{path} does not depend on the processor any more" for path in sorted(set(TESTS) - set(found))]
    if wrong:
        print("\n".join(wrong))
        return 1
    for need in (COMPILER, QEMU):
        if not shutil.which(need):
            print(f"SKIP: there is no {need}: tools/install_packages.sh check")
            return SKIP
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory(prefix="arm64-") as name:
        folder = pathlib.Path(name)
        for source in ("gtest-all", "gtest_main"):
            run(COMPILER, "-std=c++20", "-c", f"-I{GTEST}", f"-I{GTEST}/include", GTEST / f"src/{source}.cc", "-o", folder / f"{source}.o")
        programs = {tuple(sorted({path, *tests} if path.endswith(".cc") else set(tests))) for path, tests in TESTS.items() if tests}
        for sources in sorted(programs):
            program = folder / "program"
            try:
                run(COMPILER, *FLAGS, f"-isystem{GTEST}/include", f"-I{ROOT}/src", *(ROOT / source for source in sources),
                    folder / "gtest-all.o", folder / "gtest_main.o", "-o", program)
                output = run(QEMU, program)
                if "SKIPPED" in output or "[  PASSED  ]" not in output:
                    raise AssertionError(output)
                print(f"  {', '.join(sources)}: {re.search(r'PASSED  . (.*)', output).group(1)}")
                passed += 1
            except AssertionError as error:
                print(error)
                failed += 1
    print(f"arm64: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
