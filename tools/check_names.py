#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a source's own names do not hide those of headers.

Sources of a module that says JOINED are compiled several at a time (pc_join in cmake/portcullis.cmake). A name in the anonymous namespace
of one of them then stands before what a header declares in the namespace around it, also for the other sources, and the compiler need
not say a word. This reads declarations at the start of a line, which is where the formatter puts them."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
MODULE = re.compile(r"pc_module\((\w+)[^)]*?\bJOINED (?:DIRECTORY|MODULE)(?: APART (\S+))?")
QUALIFIERS = r"(?:template <[^>]*>\s*)?(?:(?:inline|static|constexpr|const|constinit|thread_local) )*"
DECLARATION = re.compile(rf"{QUALIFIERS}(?:(?:class|struct|enum(?: class)?|union) (\w+)|using (\w+) =|"
                         r"[\w:<>,*&\s\[\]]*?[\s&*>](\w+)(?:\[[^\]]*\])*(?:\(| =|\{|;))")
NO_NAME = ("using namespace", "using enum", "extern", "friend", "public", "protected", "private")


def declared(path):
    """Each declaration of a file: its namespace ("" at the end: the anonymous one), name and line."""
    spaces = []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        opened = re.match(r"namespace (?:([\w:]+) )?\{", line)
        if opened:
            spaces.append(opened[1] or "")
        elif line.startswith("}  // namespace") and spaces:
            spaces.pop()
        elif spaces and line[:1].isalpha() and not line.startswith(NO_NAME):
            found = DECLARATION.match(line)
            if found:
                yield "::".join(spaces), found[1] or found[2] or found[3], number


def main():
    headers = {}
    for header in sorted(SOURCES.rglob("*.h")):
        for space, name, _ in declared(header):
            headers.setdefault(name, {})[space] = header
    wrong = []
    for module in sorted(SOURCES.glob("*/CMakeLists.txt")):
        joined = MODULE.search(module.read_text())
        for source in sorted(module.parent.rglob("*.cc")) if joined else ():
            if joined[2] and re.search(joined[2], str(source)):
                continue
            for space, name, number in declared(source):
                for other, header in headers.get(name, {}).items() if space.endswith("::") else ():
                    if space.startswith(other + "::"):
                        wrong.append(f"{source.relative_to(ROOT)}:{number}: {name} hides what {header.relative_to(ROOT)} declares")
    print("\n".join(wrong) or "no source hides a name of a header")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
