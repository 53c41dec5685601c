#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks rules of the house that the compiler cannot see.

Each rule is a pattern and the files that may break it; the lists are short and are to stay so. Tests
(`*_test.cc`, testing/) are exempt.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# (what is looked for, why, files that may)
RULES = [
    (r"\b\w*[cC]lock::now\b", "time comes from base::Clock", {"src/base/clock.cc"}),
    (r"(?:\busing \w+ = |\btypedef )[\w:]*_clock\b(?!::)", "no second name for a clock: time comes from base::Clock", set()),
    (r"#include <regex>|std::regex", "regular expressions are RE2's", set()),
    (r"\bstd::rand\b|\bsrand\(|random_device", "randomness comes from base/random.h", set()),
    (r"\bgetenv\(", "the environment is read in cli/", {"src/cli/"}),
    (r"\bco_await\b|\bco_return\b", "no coroutines: GCC 12 miscompiles them", set()),
    (r"#include <ranges>", "no <ranges>: clang 14 refuses them", set()),
    (r"\bthrow\b", "errors are Status, not exceptions", {"src/base/memory_reserve.cc", "src/apps/heap.cc"}),
    (r"\bstd::sto(?:i|l|ll|ul|ull|f|d|ld)\b", "throws: numbers are read with std::from_chars", set()),
    (r"(?:\.|->)at\(", "throws: use find(), or operator[] where the index is known to be good", set()),
    (r"\bstd::any_cast<[^*>]*>", "throws: use the form that takes a pointer", set()),
    (r"\bstd::(?:recursive_|shared_|timed_)?mutex\b|\bstd::(?:lock_guard|unique_lock|scoped_lock|shared_lock)\b",
     "clang cannot check it: base::Mutex, base::MutexLock and PC_GUARDED_BY",
     {"src/base/mutex.h", "src/net/internal/client_call", "src/net/internal/loop", "src/net/internal/resolver",
      "src/engine/boot/boot_objects", "src/admission/recorder", "src/kube_cel/compiler"}),
    (r"(?:\bfor \([^;{}]*? :|[*&] \w+ =)\s*(?:(?:[^;{}()]|\(\))*\bGet\(\)->|\*(?:[\w.>-]|\(\))*\b(?:Get|all)\(\)[);])",
     "dangles: Get() returns a std::shared_ptr that dies with the expression; keep it in a variable", set()),
    (r"\bTODO\b(?!\(#\d+\))|\bFIXME\b|\bXXX\b", "a TODO names its issue: TODO(#12)", set()),
]
# Functions of std::filesystem that throw unless they are given an error_code as the last argument.
FILE_CALL = re.compile(r"\b(?:fs|filesystem)::(?:absolute|canonical|copy|copy_file|create_directories|create_directory|"
                       r"current_path|directory_iterator|equivalent|exists|file_size|is_directory|is_empty|is_regular_file|"
                       r"last_write_time|permissions|read_symlink|recursive_directory_iterator|relative|remove|remove_all|"
                       r"rename|resize_file|space|status|temp_directory_path|weakly_canonical)\b(?: \w+)?([({])")
ERROR_CODE = re.compile(r"\b(?:error|ec|ignored|code|status)\s*$")
COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.M | re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
SIZE_LIMIT = 600  # lines of a source; the house asks questions from 400 on


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True,
                         text=True, check=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).exists()]


def arguments(text, start):
    """The text between the bracket at `start` and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at]
    return ""


def throwing_file_calls(code):
    for match in FILE_CALL.finditer(code):
        given = arguments(code, match.start(1))
        if not ERROR_CODE.search(given):  # is_directory(status) asks nothing of the system
            yield match


def blank(match):
    """What keeps the lines of a comment."""
    return "\n" * match.group(0).count("\n")


def check():
    problems = []
    for path in tracked("src/*.cc", "src/*.h"):
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        if path.suffix == ".h" and "#pragma once" not in text:
            problems.append(f"{name}: no #pragma once")
        lines = text.count("\n") - 2  # without the licence's
        if lines > SIZE_LIMIT:
            problems.append(f"{name}: {lines} lines; more than {SIZE_LIMIT} is two files")
        code = STRING.sub('""', text)
        bare = COMMENT.sub(blank, code)
        if name.endswith("_test.cc") or "/testing/" in name:
            continue
        for match in throwing_file_calls(bare):
            line = bare[: match.start()].count("\n") + 1
            problems.append(f"{name}:{line}: {match.group(0)}: throws unless it is given a std::error_code as its last argument")
        for pattern, reason, allowed in RULES:
            where = code if "TODO" in pattern else bare
            if any(name.startswith(prefix) for prefix in allowed):
                continue
            for match in re.finditer(pattern, where):
                line = where[: match.start()].count("\n") + 1
                problems.append(f"{name}:{line}: {match.group(0).strip()}: {reason}")
    seen = {}
    for path in tracked("src/*.cc"):
        name = path.relative_to(ROOT)
        if path.stem == "main":
            continue
        other = seen.setdefault((name.parts[1], path.name), name)
        if other != name:
            problems.append(f"{name}: the same base name as {other}")
    return problems


if __name__ == "__main__":
    found = check()
    print("\n".join(found))
    sys.exit(1 if found else 0)
