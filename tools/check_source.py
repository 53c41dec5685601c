#!/usr/bin/env python3
"""Checks rules of the house that the compiler cannot see.

Each rule is a pattern and the files that may break it; the lists are short and are to stay so.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# (what is looked for, why, files that may)
RULES = [
    (r"system_clock::now|steady_clock::now", "time comes from base::Clock", {"src/base/clock.cc"}),
    (r"#include <regex>|std::regex", "regular expressions are RE2's", set()),
    (r"\bstd::rand\b|\bsrand\(|random_device", "randomness comes from base/random.h", set()),
    (r"\bgetenv\(", "the environment is read in cli/", {"src/cli/"}),
    (r"\bco_await\b|\bco_return\b", "no coroutines: GCC 12 miscompiles them", set()),
    (r"#include <ranges>", "no <ranges>: clang 14 refuses them", set()),
    (r"\bthrow\b", "errors are Status, not exceptions", set()),
    (r"\bTODO\b(?!\(#\d+\))|\bFIXME\b|\bXXX\b", "a TODO names its issue: TODO(#12)", set()),
]
COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.M | re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
SIZE_LIMIT = 1000  # lines of a source; the house asks questions from 400 on


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True,
                         text=True, check=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).exists()]


def check():
    problems = []
    for path in tracked("src/*.cc", "src/*.h"):
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        if path.suffix == ".h" and "#pragma once" not in text:
            problems.append(f"{name}: no #pragma once")
        if text.count("\n") > SIZE_LIMIT and "_test" not in name:
            problems.append(f"{name}: {text.count(chr(10))} lines; more than {SIZE_LIMIT} is two files")
        code = STRING.sub('""', text)
        bare = COMMENT.sub("", code)
        if name.endswith("_test.cc"):
            continue
        for pattern, reason, allowed in RULES:
            where = code if "TODO" in pattern else bare
            match = re.search(pattern, where)
            if match and not any(name.startswith(prefix) for prefix in allowed):
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
