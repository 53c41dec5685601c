#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the documents as a static site that needs no server and no network.

    docs/site/build.py [--output build/site]

Takes the Markdown files that git tracks and the files that they show (manifests, schemas), keeps their places,
and runs MkDocs (Debian's package mkdocs) over the copy. A link to another document stays a link; one to a
source file becomes its name. A link that leads nowhere, a document in mkdocs.yml that is not there, and a page of docs/
that is missing in the menu are errors.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s:]+)(#[^)]*)?\)")
FENCE = re.compile(r"^(\s*```\w+)[^\n]*$", re.M)
SHOWN = {".yaml", ".json", ".md", ".svg", ".png"}


def documents():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True,
                         check=True)
    return [pathlib.Path(line) for line in out.stdout.splitlines() if (ROOT / line).is_file()]


class Site:
    def __init__(self, pages):
        self.pages = pages
        self.copied = set()
        self.problems = []

    def target(self, page, link):
        """The file that a link means, relative to the root; None if there is none."""
        path = pathlib.Path(os.path.normpath(page.parent / link))
        if (ROOT / path).is_dir():
            return path / "README.md" if (ROOT / path / "README.md").is_file() else path
        return path if (ROOT / path).is_file() else None

    def link(self, page, match):
        text, link, anchor = match.group(1), match.group(2), match.group(3) or ""
        path = self.target(page, link)
        if path is None:
            self.problems.append(f"{page}: there is no {link}")
            return match.group(0)
        if path.suffix not in SHOWN or not (ROOT / path).is_file():
            return text
        self.copy(path)
        return f"[{text}]({os.path.relpath(path, page.parent)}{anchor})"

    def copy(self, path):
        if path in self.copied:
            return
        self.copied.add(path)
        place = self.pages / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copyfile(ROOT / path, place)
            return
        text = FENCE.sub(r"\1", (ROOT / path).read_text())
        place.write_text(LINK.sub(lambda match: self.link(path, match), text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/site")
    output = parser.parse_args().output.resolve()
    shutil.rmtree(output, ignore_errors=True)
    pages = output / "pages"
    site = Site(pages)
    for document in documents():
        site.copy(document)
    here = (ROOT / "docs/site/mkdocs.yml").read_text()
    site.problems += [f"docs/site/mkdocs.yml: the menu has no {path}" for path in documents()
                      if path.parent == pathlib.Path("docs") and f": {path}\n" not in here]
    for problem in site.problems:
        print(problem, file=sys.stderr)
    if site.problems:
        return 1
    (output / "mkdocs.yml").write_text(f"{here}docs_dir: {pages}\nsite_dir: {output / 'html'}\n")
    done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", f"--config-file={output / 'mkdocs.yml'}"])
    if done.returncode == 0:
        print(f"site: {len(site.copied)} files, {output / 'html/index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
