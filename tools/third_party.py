#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the software of others that a program of the build contains or is linked with, by Debian package.

    tools/third_party.py --build build/release [--target portcullis-static] [--texts] [--output FILE]

The headers that the compiler has read and the libraries that the linker was given are looked up in
dpkg's lists, so that nothing is listed by hand; for another architecture in those of tools/make_sysroot.py
and then in this machine's, which has the cross compiler. A row has the package, its version, and the
licences that the package's copyright file names; --texts adds these files.
"""

import argparse
import pathlib
import re
import subprocess
import sys

from built import Build

INFO = "var/lib/dpkg/info"
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
    for line in ninja(build.folder, "deps").splitlines():
        if line and not line.startswith(" "):
            counts = line.startswith("src/") and "_test.dir/" not in line
        elif counts and line.strip().startswith(("/usr/", f"{build.sysroot}/")):
            found.add(str(pathlib.Path(line.strip()).resolve()))
    return found


def libraries(names, build):
    found = set()
    root = [f"--sysroot={build.sysroot}"] if build.sysroot else []
    for name in names:
        for form in (f"lib{name[2:]}.a", f"lib{name[2:]}.so"):
            path = subprocess.run([build.compiler, *root, f"-print-file-name={form}"], capture_output=True, text=True).stdout.strip()
            if "/" in path:
                found.add(str(pathlib.Path(path).resolve()))
    return found


def packages(files, root):
    """The packages that own these files of the root."""
    owners = set()
    inside = {"/" + file.removeprefix(str(root)).lstrip("/") for file in files if file.startswith(f"{root}".rstrip("/") + "/")}
    for listing in (root / INFO).glob("*.list"):
        for line in listing.read_text().splitlines():
            # /lib is a link to /usr/lib on most machines
            if line in inside or (line.startswith("/lib/") and "/usr" + line in inside):
                owners.add(listing.name[: -len(".list")].split(":")[0])
                break
    return owners


def licences(package, root):
    """The short names in the copyright file, where it is in the form that programs can read."""
    text = (root / "usr/share/doc" / package / "copyright").read_text(errors="replace")
    names = re.findall(r"^License:[ \t]*(\S.*)$", text, re.M)
    return sorted(set(names)), text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--target", default="portcullis-static")
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--output", type=pathlib.Path)
    args = parser.parse_args()
    build = Build(args.build)
    roots = [root for root in (build.sysroot, pathlib.Path("/")) if root]
    if not all((root / INFO).is_dir() for root in roots):
        sys.exit("this is no Debian: there are no lists of dpkg")
    files = headers(build) | libraries(objects_and_libraries(build.folder, args.target), build)
    owners = {name: root for root in reversed(roots) for name in packages(files, root)}
    rows, texts, seen = [], [], set()
    for name, root in sorted(owners.items()):
        if name.startswith("linux-libc-dev"):
            continue  # the interface of the kernel, whose licence excepts its users
        query = ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "-W", "-f", "${Version}\n", name]
        version = subprocess.run(query, capture_output=True, text=True).stdout.split("\n")[0]
        short, text = licences(name, root)
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
