#!/usr/bin/env python3
"""Begins a plugin in a copy of the tree, builds the copy's plugin tests and runs those of the plugin.

    tests/integration/new_plugin.py --build build/dev [--compile]

Without --compile only the files and the generated list are looked at, which takes a second.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAME, FOLDER = "DenyLatestTag", "deny_latest_tag"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="accepted like the other tests do")
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="new-plugin-") as folder:
        copy = pathlib.Path(folder) / "tree"
        copy.mkdir()
        for name in ("CMakeLists.txt", "cmake", "src"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)
        run(sys.executable, ROOT / "tools" / "new_plugin.py", NAME, "--root", copy, stdout=subprocess.DEVNULL)
        build = pathlib.Path(folder) / "build"
        run("cmake", "-S", copy, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DPC_PCH=OFF",
            stdout=subprocess.DEVNULL)
        registry = (build / "src" / "plugins" / "registry.cc").read_text()
        assert f"&{FOLDER}::kPlugin" in registry, "the folder is not in the generated list"
        if args.compile:
            run("ninja", "-C", build, "plugins_test", stdout=subprocess.DEVNULL)
            run(build / "src" / "plugins" / "plugins_test", f"--gtest_filter=*{FOLDER}*:*/{NAME}:OrderTest.*")
    print("a new plugin is one folder: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
