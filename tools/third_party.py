#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the software of others that a program of the build contains or is linked with, by Debian package.

    tools/third_party.py --build build/release [--target portcullis-static] [--texts] [--output FILE]

The headers that the compiler has read and the libraries that the linker was given are looked up in
dpkg's lists, so that nothing is listed by hand. A row has the package, its version, and the licences
that the package's copyright file names; --texts adds these files.
"""

import argparse
import pathlib
import re
import subprocess
import sys

INFO = pathlib.Path("/var/lib/dpkg/info")
DOCUMENTS = pathlib.Path("/usr/share/doc")
# Of the compiler and its C library also what every program gets without asking.
ALWAYS = ["-lstdc++", "-lgcc", "-lc"]


def ninja(build, *arguments):
    return subprocess.run(["ninja", "-C", build, "-t", *arguments], capture_output=True, text=True, check=True).stdout


def objects_and_libraries(build, target):
    """What the link command of the target names."""
    link = ninja(build, "commands", "-s", target).splitlines()[-1]
    return set(re.findall(r"-l[\w+.]+", link)) | set(ALWAYS)


def headers(build):
    """System headers that the sources of the program were compiled with; those of tests do not count."""
    found, counts = set(), False
    for line in ninja(build, "deps").splitlines():
        if line and not line.startswith(" "):
            counts = line.startswith("src/") and "_test.dir/" not in line
        elif counts and line.strip().startswith("/usr/"):
            found.add(str(pathlib.Path(line.strip()).resolve()))
    return found


def libraries(names):
    found = set()
    for name in names:
        for form in (f"lib{name[2:]}.a", f"lib{name[2:]}.so"):
            path = subprocess.run(["gcc", f"-print-file-name={form}"], capture_output=True, text=True).stdout.strip()
            if "/" in path:
                found.add(str(pathlib.Path(path).resolve()))
    return found


def packages(files):
    """The packages that own these files."""
    owners = {}
    for listing in INFO.glob("*.list"):
        name = listing.name[: -len(".list")].split(":")[0]
        for line in listing.read_text().splitlines():
            if line in files:
                owners.setdefault(name, set()).add(line)
            elif line.startswith("/lib/") and "/usr" + line in files:  # /lib is a link to /usr/lib
                owners.setdefault(name, set()).add(line)
    return owners


def licences(package):
    """The short names in the copyright file, where it is in the form that programs can read."""
    text = (DOCUMENTS / package / "copyright").read_text(errors="replace")
    names = re.findall(r"^License:[ \t]*(\S.*)$", text, re.M)
    return sorted(set(names)), text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--target", default="portcullis-static")
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--output", type=pathlib.Path)
    args = parser.parse_args()
    if not INFO.is_dir():
        sys.exit("this is no Debian: there are no lists of dpkg")
    names = sorted(packages(headers(args.build) | libraries(objects_and_libraries(args.build, args.target))))
    rows, texts, seen = [], [], set()
    for name in names:
        if name.startswith("linux-libc-dev"):
            continue  # the interface of the kernel, whose licence excepts its users
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True).stdout
        short, text = licences(name)
        rows.append(f"{name:28} {version:28} {', '.join(short) or 'see its text'}")
        if text not in seen:
            seen.add(text)
            texts.append(f"{'=' * 78}\n{name}\n{'=' * 78}\n\n{text}")
    if not rows:
        sys.exit(f"nothing was found: is {args.target} built in {args.build}?")
    head = f"{args.target} contains or is linked with parts of these Debian packages:\n\n"
    out = head + "\n".join(rows) + "\n" + ("\n" + "\n".join(texts) if args.texts else "")
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(out)
    else:
        print(out, end="")


if __name__ == "__main__":
    main()
