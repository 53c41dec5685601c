#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts habits that are on their way out; each has a ceiling, and a ceiling only falls.

    tools/check_ceilings.py            fails if a count is above its ceiling in ceilings.json
    tools/check_ceilings.py --fix      lowers the ceilings to what is counted
    tools/check_ceilings.py --list     prints where each habit is

CONTRIBUTING.md ("Language") says how to write instead.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CEILINGS = pathlib.Path(__file__).resolve().parent / "ceilings.json"
COMMENT = re.compile(r"(?:^|\s)//(.*)")
CODE = ["*.cc", "*.h"]
DOCUMENTS = ["*.md", ":!tests/conformance/suites", ":!CONTRIBUTING.md"]  # that one quotes them

# {name of the habit: (files, pattern, what of a line is looked at)}
HABITS = {
    "comments: whoever, nobody": (CODE, re.compile(r"\b(?:whoever|nobody)\b", re.I), "comment"),
    "comments: told of": (CODE, re.compile(r"\btold of\b", re.I), "comment"),
    "documents: whoever, nobody, told of": (DOCUMENTS, re.compile(r"\b(?:whoever|nobody|told of)\b", re.I), "line"),
    "code: SystemClock() beside cli/ and tests": (["src/*.cc", ":!src/cli", ":!src/base/clock.cc", ":!*_test.cc",
                                                  ":!src/*/testing/*.cc"], re.compile(r"\bSystemClock\(\)"), "line"),
}


def tracked(patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=ROOT, capture_output=True,
                         text=True, check=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).exists()]


def places(patterns, habit, what):
    for path in tracked(patterns):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            comment = COMMENT.search(line)
            looked_at = line if what == "line" else comment.group(1) if comment else ""
            for _ in habit.findall(looked_at):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def main():
    ceilings = json.loads(CEILINGS.read_text()) if CEILINGS.exists() else {}
    found = {name: list(places(*habit)) for name, habit in HABITS.items()}
    above = False
    for name, lines in found.items():
        ceiling = ceilings.get(name, 0 if ceilings else len(lines))
        if len(lines) > ceiling:
            above = True
            print(f"{name}: {len(lines)} places, {ceiling} allowed; write new ones otherwise (CONTRIBUTING.md). All places:")
            print("\n".join(f"  {line}" for line in lines))
        elif len(lines) < ceiling and "--fix" not in sys.argv:
            print(f"{name}: {len(lines)} places, fewer than the {ceiling} allowed: lower the ceiling (--fix)")
        if "--list" in sys.argv:
            print(f"{name}:\n" + "\n".join(f"  {line}" for line in lines))
    if "--fix" in sys.argv:
        fallen = {name: min(len(lines), ceilings.get(name, len(lines))) for name, lines in found.items()}
        CEILINGS.write_text(json.dumps(fallen, indent=2) + "\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
