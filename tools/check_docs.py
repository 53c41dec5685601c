#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that documents and comments speak of files that exist, and that each module has its page.

A relative link in a Markdown file must lead to a file or folder; a path in backticks that begins with
a folder of the project must exist; every module below src/ has a README.md of at most 40 lines that
is named in ARCHITECTURE.md. A file or folder named in a comment of C++ is looked for below the
repository, below src/, in the folder of the comment and in those above it, and, for a name without a
folder, in the whole module.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:src|docs|tests|tools|fuzz|benchmarks|examples|cmake)/[A-Za-z0-9_./-]*)`")


COMMENT = re.compile(r"(?:^|\s)//(.*)")
NAMED_FILE = re.compile(r"(?<![\w/.<>{}*$-])((?:[\w-]+/)*[\w-]+\.(?:h|cc|py|md|yaml|json|jsonl|in|txt|dict))(?![\w/*])")
NAMED_FOLDER = re.compile(r"(?<![\w/.<>{}*$:@`|-])((?:[a-z_]+/){2,})(?![\w/*<{])")
OF_OTHERS = {"webhooks.md", "strategic-merge-patch.md",  # documents of Kubernetes, test files of other tools
             "kaptest.yaml", "tests.json", "policy.yaml", "kyverno-test.yaml"}


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True,
                         text=True, check=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).exists()]


def check_comments():
    problems = []
    places = {}  # {name of a file: the files of that name}
    for path in tracked():
        places.setdefault(path.name, []).append(path)
    for source in tracked("*.cc", "*.h"):
        module = source.relative_to(ROOT).parts[:2]
        above = [ROOT, ROOT / "src", *source.parents[: len(source.relative_to(ROOT).parts)]]
        for number, line in enumerate(source.read_text().split("\n"), 1):
            comment = COMMENT.search(line)
            if not comment:
                continue
            for target in NAMED_FILE.findall(comment.group(1)) + NAMED_FOLDER.findall(comment.group(1)):
                if target in OF_OTHERS or any((folder / target).exists() for folder in above):
                    continue
                if any(str(path).endswith("/" + target) and path.relative_to(ROOT).parts[:2] == module
                       for path in places.get(target.split("/")[-1], [])):
                    continue
                problems.append(f"{source.relative_to(ROOT)}:{number}: there is no {target}")
    return problems


def documents():
    return tracked("*.md")


def check():
    problems = []
    for doc in documents():
        name, text = doc.relative_to(ROOT), doc.read_text()
        for target in LINK.findall(text):
            if "://" in target or target.startswith("mailto:"):
                continue
            if not (doc.parent / target).exists():
                problems.append(f"{name}: the link to {target} leads nowhere")
        for target in PATH.findall(text):
            if not (ROOT / target.rstrip(".")).exists():
                problems.append(f"{name}: there is no {target}")
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    for cmake in sorted((ROOT / "src").glob("*/CMakeLists.txt")):
        module = cmake.parent
        readme = module / "README.md"
        if not readme.exists():
            problems.append(f"src/{module.name}: no README.md")
        elif readme.read_text().count("\n") > 40:
            problems.append(f"src/{module.name}/README.md: more than 40 lines")
        if f"src/{module.name}" not in architecture:
            problems.append(f"ARCHITECTURE.md: says nothing of src/{module.name}")
    return problems


if __name__ == "__main__":
    found = check() + check_comments()
    print("\n".join(found))
    sys.exit(1 if found else 0)
