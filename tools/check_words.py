#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the words of documents and sources: spelling everywhere, vocabulary in documents.

    tools/check_words.py

Spelling is codespell's list of misspellings, without the words of tools/words_known.txt. Vocabulary is
tools/words.txt: what documents say in Kubernetes' own words. A table of wrong and right sentences may
quote a wrong one (CONTRIBUTING.md).
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Recorded and imported facts are as they are.
FACTS = re.compile(r"suites/|testdata/|recorded/|/data/|corpus/|package-lock|docs/walkthrough/legacy/")
CODE = re.compile(r"`[^`]*`")
FENCE = re.compile(r"^\s*```")


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True,
                         text=True, check=True).stdout
    return [line for line in out.splitlines() if not FACTS.search(line) and (ROOT / line).is_file()]


def spelling():
    files = tracked("*.md", "*.cc", "*.h", "*.py", "*.sh", "*.cmake", "*.yaml", "CMakeLists.txt", "check", "run")
    done = subprocess.run(["codespell", "--ignore-words=tools/words_known.txt", *files], cwd=ROOT, capture_output=True,
                          text=True)
    return done.stdout.splitlines() + [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]


def vocabulary():
    rules = []
    for line in (ROOT / "tools/words.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, instead = line.split(" -> ")
            rules.append((re.compile(pattern, re.I), instead))
    problems = []
    for name in tracked("*.md"):
        fenced = False
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            if FENCE.match(line):
                fenced = not fenced
            if fenced or line.startswith("    ") or (name == "CONTRIBUTING.md" and "|" in line):
                continue
            for pattern, instead in rules:
                if found := pattern.search(CODE.sub("", line)):
                    problems.append(f'{name}:{number}: "{found.group()}", say: {instead}')
    return problems


def main():
    problems = spelling() + vocabulary()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
