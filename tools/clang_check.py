#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets clang read the sources: its warnings with -Wthread-safety, or the checks of .clang-tidy.

    tools/clang_check.py syntax                 every source: warnings are errors, locks are checked
    tools/clang_check.py tidy                   what a change touches
    tools/clang_check.py tidy --all             every source
    tools/clang_check.py tidy src/json/value.cc these

The commands come from compile_commands.json of --build, without what only GCC knows. A source that has
passed is not read again until it, a header of the project that it includes, the flags or clang change:
the hashes of what passed are kept in ~/.cache/portcullis (XDG_CACHE_HOME), also for other clones.

A change touches what the commits of the 24 hours before HEAD and the work tree change. That also holds in
a clone that does not know where the last submission ended. A header is read by way of one source that
includes it. Of a change that touches very much, the newest AT_MOST sources are read, so that ./check ends in
time; the last line says how many are left to --all.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "portcullis"
KEPT_DAYS = 30
AT_MOST = 60  # sources; clang-tidy takes some four seconds for one
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
STANDARD = re.compile(r"#include <[a-z_]+>")
DROPPED = ("-fpch-preprocess", "-fno-diagnostics-color", "-Winvalid-pch", "-Wno-subobject-linkage", "-c")
ADDED = ["-Wthread-safety", "-Wno-unknown-warning-option", "-fno-caret-diagnostics"]


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


class Source:
    """One source and the flags clang reads it with: alone, also where the build joins it with others."""

    def __init__(self, path, entry):
        self.path = path
        words = iter(shlex.split(entry["command"])[1:])
        self.flags = []
        for word in words:
            if word in ("-o", "-include"):
                next(words)
            elif word not in DROPPED and word != entry["file"] and word[:2] not in ("-O", "-g"):
                self.flags.append(word)
        self.folders = [pathlib.Path(word[2:]) for word in self.flags if word.startswith("-I")]


def sources(build):
    entries = json.loads((build / "compile_commands.json").read_text())
    found = {}
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if path.parent.name == "Unity":  # CMake's name for what includes the files that are compiled together
            joined = INCLUDE.findall(path.read_text())
        else:
            joined = [path]
        for path in map(pathlib.Path, joined):
            if path.suffix == ".cc" and ROOT in path.parents and ROOT / "build" not in path.parents:
                found.setdefault(path, Source(path, entry))
    return found


class Includes:
    """Which files of the project a file includes, directly and not; and their hashes."""

    def __init__(self):
        self.direct, self.hashes = {}, {}

    def of(self, path, folders):
        if path not in self.direct:
            content = path.read_bytes()
            self.hashes[path] = hashlib.sha256(content).hexdigest()
            self.direct[path] = INCLUDE.findall(content.decode(errors="replace"))
        for name in self.direct[path]:
            for folder in [path.parent, *folders]:
                if (folder / name).is_file():
                    yield (folder / name).resolve()
                    break

    def closure(self, path, folders):
        seen, waiting = {path}, [path]
        while waiting:
            for other in self.of(waiting.pop(), folders):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen


def precompiled(build, flags, version):
    """The standard headers that the build precompiles, for clang; None where it precompiles none."""
    header = build / "CMakeFiles/pc_pch.dir/cmake_pch.hxx"
    if not header.exists():
        return None
    text = "\n".join(STANDARD.findall(header.read_text())) + "\n"
    name = hashlib.sha256(repr((text, flags, version)).encode()).hexdigest()[:16]
    source = build / f"clang-{name}.h"
    out = source.with_suffix(".pch")
    if not out.exists():
        source.write_text(text)
        done = run(["clang++", *flags, "-x", "c++-header", source, "-o", out])
        if done.returncode != 0:
            sys.exit(f"clang++ cannot precompile the standard headers:\n{done.stderr}")
    return out


def touched():
    """Files of the project that are not as they were 24 hours before HEAD, the newest change first."""
    git = ["git", "-C", ROOT]
    newest = int(run([*git, "log", "-1", "--format=%ct"]).stdout)
    log = run([*git, "log", f"--since={newest - 24 * 3600}", "--format=", "--name-only"]).stdout
    status = run([*git, "status", "--porcelain", "--untracked-files=all", "--no-renames"]).stdout
    names = [line[3:] for line in status.split("\n")] + log.split("\n")
    return [ROOT / name for name in dict.fromkeys(names) if name.endswith((".cc", ".h")) and (ROOT / name).is_file()]


def by_way_of(wanted, found, includes):
    """The sources through which the wanted files are read, in the order of these."""
    own = [path for path in wanted if path in found]
    covered = set().union(*(includes.closure(path, found[path].folders) for path in own))
    chosen = {}
    for path in wanted:
        beside = path.with_suffix(".cc")
        if path in found:
            chosen[path] = True
        elif path not in covered:
            includers = (other for other in ([beside] if beside in found else sorted(found))
                         if path in includes.closure(other, found[other].folders))
            chosen.update((other, True) for other in itertools.islice(includers, 1))
    return list(chosen)


class Check:
    """What is done with one source: `command` and what its result depends on."""

    def __init__(self, mode, build):
        self.mode, self.build = mode, build
        tool = ["clang-tidy"] if mode == "tidy" else ["clang++"]
        self.version = run([*tool, "--version"]).stdout
        self.config = (ROOT / ".clang-tidy").read_text() if mode == "tidy" else ""
        self.folder = CACHE / f"clang-{mode}"

    def flags(self, source):
        own = [flag for flag in source.flags if flag[:2] not in ("-I", "-D")]
        pch = precompiled(self.build, [*own, *ADDED], self.version)
        return [*(["-include-pch", str(pch)] if pch else []), *source.flags, *ADDED]

    def key(self, source, includes):
        files = sorted(includes.closure(source.path, source.folders))
        told = [self.version, self.config, " ".join(source.flags + ADDED).replace(str(ROOT), "")]
        told += [f"{os.path.relpath(path, ROOT)} {includes.hashes[path]}" for path in files if path in includes.hashes]
        return self.folder / hashlib.sha256("\n".join(told).encode()).hexdigest()

    def read(self, source):
        if self.mode == "tidy":
            command = ["clang-tidy", "--quiet", source.path, "--", *self.flags(source)]
        else:
            command = ["clang++", "-fsyntax-only", *self.flags(source), source.path]
        done = run(command, cwd=self.build)
        lines = [line for line in (done.stdout + done.stderr).split("\n")
                 if line and not re.match(r"\d+ warnings? (?:and \d+ errors? )?generated|Suppressed|Use -header-filter", line)]
        return done.returncode == 0, "\n".join(lines)


def forget(folder):
    """Drops what no run has asked for in a month."""
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["syntax", "tidy"])
    parser.add_argument("file", nargs="*", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="every source (syntax: always)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    return parser.parse_args()


def main():
    args = arguments()
    args.build = args.build.resolve()
    found, includes = sources(args.build), Includes()
    chosen, left = sorted(found), 0
    if args.file:
        chosen = by_way_of([path.resolve() for path in args.file], found, includes)
    elif args.mode == "tidy" and not args.all:
        chosen = by_way_of(touched(), found, includes)
        left = max(0, len(chosen) - AT_MOST)
        chosen = chosen[:AT_MOST]
    check = Check(args.mode, args.build)
    check.folder.mkdir(parents=True, exist_ok=True)
    forget(check.folder)
    keys = {path: check.key(found[path], includes) for path in chosen}
    waiting = [path for path, key in keys.items() if not key.exists()]
    for path in keys.keys() - set(waiting):
        keys[path].touch()
    failed, shown = 0, set()
    if waiting:
        check.flags(found[waiting[0]])  # precompiles before the others want it
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for path, (good, text) in zip(waiting, pool.map(lambda path: check.read(found[path]), waiting)):
            if good:
                keys[path].touch()
                continue
            failed += 1
            new = [line for line in text.split("\n") if line not in shown]  # a header speaks up in every source
            shown.update(new)
            print(f"{path.relative_to(ROOT)}:\n" + "\n".join(f"  {line}" for line in new), flush=True)
    print(f"clang-{args.mode}: {len(chosen) - failed} passed, {failed} failed "
          f"({len(chosen) - len(waiting)} known from before, {len(found)} sources in all"
          f"{f', {left} touched ones left to --all' if left else ''})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
