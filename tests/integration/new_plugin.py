#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Begins a plugin in a copy of the tree, and builds and runs its tests with what a build has already.

    tests/integration/new_plugin.py --build build/dev [--compile]

Without --compile only the files and the generated list are looked at, which takes a second. With it
three files are compiled (the plugin, the list, the contract) as the build's own are and linked with
everything else that plugins_test is made of.
"""

import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAME, FOLDER = "DenyLatestTag", "deny_latest_tag"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


class Build:
    """The commands by which an existing build makes plugins_test."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        run("ninja", "-C", self.folder, "plugins_test", stdout=subprocess.DEVNULL)
        target = "src/plugins/plugins_test"
        lines = run("ninja", "-C", self.folder, "-t", "commands", target, capture_output=True, text=True).stdout
        self.commands = [line for line in lines.splitlines() if line]

    def compile(self, like, source, output, root):
        """Compiles `source` as the file `like` is; the tree is at `root`."""
        command = next(c for c in self.commands if re.search(rf" -c \S*/{re.escape(like)}(\s|$)", c))
        words = shlex.split(command)
        for flag, value in (("-o", output), ("-c", source), ("-MF", f"{output}.d"), ("-MT", output)):
            if flag in words:
                words[words.index(flag) + 1] = str(value)
        defined = "-DPC_SOURCE_DIR="
        words = [f'{defined}"{root}"' if word.startswith(defined) else word for word in words]
        if "-c" in words:
            words.insert(words.index("-c"), f"-I{root}/src")
        run(*words, cwd=self.folder)

    def link(self, instead, added, output):
        """Links plugins_test with one object instead of another and some more."""
        words = shlex.split(self.commands[-1])
        if words[0] == ":":
            words = words[2:]  # ": && command && :"
            words = words[: words.index("&&")]
        old, new = instead
        words = [str(new) if word.endswith(old) else word for word in words]
        at = words.index("-o")
        words[at + 1] = str(output)
        words[at:at] = [str(part) for part in added]
        run(*words, cwd=self.folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev")
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="new-plugin-") as folder:
        copy = pathlib.Path(folder) / "tree"
        copy.mkdir()
        for name in ("CMakeLists.txt", "cmake", "src"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)
        run(sys.executable, ROOT / "tools" / "new_plugin.py", NAME, "--root", copy, stdout=subprocess.DEVNULL)
        generated = pathlib.Path(folder) / "build"
        run("cmake", "-S", copy, "-B", generated, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DPC_PCH=OFF",
            stdout=subprocess.DEVNULL)
        registry = generated / "src" / "plugins" / "registry.cc"
        assert f"&{FOLDER}::kPlugin" in registry.read_text(), "the folder is not in the generated list"
        if args.compile:
            build = Build(args.build)
            plugins = copy / "src" / "plugins"
            objects = {name: pathlib.Path(folder) / f"{name}.o" for name in ("plugin", "registry", "contract")}
            build.compile("registry.cc", plugins / FOLDER / f"{FOLDER}.cc", objects["plugin"], copy)
            build.compile("registry.cc", registry, objects["registry"], copy)
            build.compile("contract_test.cc", plugins / "contract_test.cc", objects["contract"], copy)
            program = pathlib.Path(folder) / "plugins_test"
            build.link(("contract_test.cc.o", objects["contract"]), (objects["plugin"], objects["registry"]), program)
            shown = run(program, f"--gtest_filter=*{FOLDER}*:*/{NAME}:OrderTest.*", "--gtest_brief=1",
                        capture_output=True, text=True).stdout
            assert int(re.search(r"(\d+) tests? from", shown).group(1)) >= 8, shown
    print("a new plugin is one folder: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
