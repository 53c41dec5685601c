#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every source names its licence in one line that programs can read (https://spdx.dev/ids).

The line is the first of the file; in a script it follows the line that names the interpreter.

    tools/check_licence.py          lists the sources without it
    tools/check_licence.py --fix    adds it
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINE = "SPDX-License-Identifier: Apache-2.0"
COMMENT = {".cc": "//", ".h": "//", ".mjs": "//", ".ts": "//", ".js": "//", ".in": "//", ".py": "#", ".sh": "#", ".cmake": "#", "CMakeLists.txt": "#"}


def sources():
    """Every source and the mark that begins a comment in it."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for name in names:
        path = ROOT / name
        if not path.is_file() or "/corpus/" in name:
            continue
        mark = COMMENT.get(path.name) or COMMENT.get(path.suffix)
        if not path.suffix and path.open("rb").read(2) == b"#!":
            mark = "#"
        if mark:
            yield path, mark


def add(path, text, mark):
    first, rest = ("", text)
    if text.startswith("#!"):
        first, rest = text.split("\n", 1)
        first += "\n"
    gap = "#\n" if first and rest.startswith("#") else "" if first or rest.startswith("\n") else "\n"
    path.write_text(f"{first}{mark} {LINE}\n{gap}{rest}")


def main():
    fix = sys.argv[1:] == ["--fix"]
    missing = 0
    for path, mark in sources():
        text = path.read_text()
        if f"{mark} {LINE}" in text.split("\n", 2)[:2]:
            continue
        if fix:
            add(path, text, mark)
        else:
            missing += 1
            print(f"{path.relative_to(ROOT)}: no line \"{mark} {LINE}\" at its top (tools/check_licence.py --fix adds it)")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
