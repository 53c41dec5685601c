#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the documents made by the program itself are current; --fix writes them anew.

    tools/generated_docs.py [--build build/release] [--fix]

Each row names a document and the command that prints it. A command that the program does not have is
an error.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = {
    "docs/plugins.md": ["plugins", "-o", "markdown"],
    "docs/flags.md": ["serve", "--help"],
    "docs/cel.md": ["cel", "--functions"],
    "docs/lint.md": ["lint", "--rules"],
}


def printed(program, arguments):
    run = subprocess.run([program, *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"portcullis {' '.join(arguments)} ended with {run.returncode}: {run.stderr.strip()}")
    text = run.stdout
    if arguments[-1] == "--help":
        text = f"# portcullis {arguments[0]}\n\nPrinted by `portcullis {' '.join(arguments)}`.\n\n```text\n{text.rstrip()}\n```\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--fix", action="store_true")
    args = parser.parse_args()
    stale = []
    for name, arguments in DOCUMENTS.items():
        text, document = printed(args.build / "portcullis", arguments), ROOT / name
        if document.exists() and document.read_text() == text:
            continue
        if args.fix:
            document.write_text(text)
            print(f"written: {name}")
        else:
            stale.append(name)
    if stale:
        print("stale (./check --fix writes them anew): " + ", ".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
