#!/usr/bin/env python3
"""Checks that the documents speak of files that exist, and that each module has its page.

A relative link in a Markdown file must lead to a file or folder; a path in backticks that begins with
a folder of the project must exist; every module below src/ has a README.md of at most 40 lines that
is named in ARCHITECTURE.md.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:src|docs|tests|tools|fuzz|benchmarks|examples|cmake)/[A-Za-z0-9_./-]*)`")


def documents():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True,
                         text=True, check=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).exists()]


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
    found = check()
    print("\n".join(found))
    sys.exit(1 if found else 0)
