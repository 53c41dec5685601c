#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks the libraries that Portcullis is built with, for another architecture, below one directory.

    tools/make_sysroot.py --output build/sysroot-arm64 [--architecture arm64]

The packages are the libraries of packages.txt and all that they depend on, of the Debian release and from
the mirror that apt uses here. Nothing is installed: apt gets lists and a dpkg database of its own in the
directory, and the packages are only unpacked. dpkg's lists are written as an installation writes them, for
dpkg-shlibdeps and tools/third_party.py. A directory that is complete is left as it is; --again renews it.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

from built import call

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "# --- only for ./check ---"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def libraries():
    """The development packages that building takes."""
    lines = (ROOT / "packages.txt").read_text().split(MARK)[0].splitlines()
    return [line for line in lines if re.fullmatch(r"(lib|zlib).*-dev", line)]


def sources():
    """Lines for apt: the release of this machine, from the mirrors that it names."""
    files = [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]
    text = "".join(path.read_text() for path in files if path.is_file())
    release = re.search(r"^VERSION_CODENAME=(\w+)$", pathlib.Path("/etc/os-release").read_text(), re.M)
    mirror = re.search(r"https?://\S+/debian/?(?=\s|$)", text)
    if not release or not mirror:
        sys.exit("apt names no mirror of Debian")
    suites = [(mirror.group(0), release.group(1)), (mirror.group(0), f"{release.group(1)}-updates")]
    if security := re.search(r"https?://\S+/debian-security/?(?=\s|$)", text):
        suites.append((security.group(0), f"{release.group(1)}-security"))
    return "".join(f"deb [signed-by={KEYS}] {uri} {suite} main\n" for uri, suite in suites)


def prepare(root, architecture):
    """Directories of apt and dpkg; returns the options that make apt use them."""
    for folder in ("etc/apt", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg/info"):
        (root / folder).mkdir(parents=True)
    (root / "etc/apt/sources.list").write_text(sources())
    (root / "var/lib/dpkg/status").write_text("")
    (root / "var/lib/dpkg/info/format").write_text("1\n")  # names with architectures
    (root / "var/lib/dpkg/arch").write_text(f"{architecture}\n")
    options = {
        "APT::Architecture": architecture, "APT::Architectures": architecture, "APT::Sandbox::User": "root",
        "Dir::State": root / "var/lib/apt", "Dir::State::status": root / "var/lib/dpkg/status",
        "Dir::Cache": root / "var/cache/apt", "Dir::Etc::sourcelist": root / "etc/apt/sources.list",
        "Dir::Etc::sourceparts": "/dev/null", "Acquire::Languages": "none"}
    return [f"-o{name}={value}" for name, value in options.items()]


def unpack(package, root):
    """The files of a package, its entry in dpkg's database, and what dpkg-shlibdeps reads of it."""
    call("dpkg-deb", "-x", package, root)
    name, architecture, control = (call("dpkg-deb", "-f", package, *field).strip() for field in (["Package"], ["Architecture"], []))
    info = root / "var/lib/dpkg/info"
    same = re.search(r"^Multi-Arch: same$", control, re.M)
    key = f"{name}:{architecture}" if same else name
    listed = subprocess.run(["tar", "-t"], input=subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True,
                                                               check=True).stdout, capture_output=True, check=True).stdout.decode()
    paths = [line[1:].rstrip("/") for line in listed.splitlines() if line != "./"]
    # Libraries by the path that dpkg-shlibdeps finds them at, too.
    found = [f"{root}{path}" for path in paths if ".so" in path]
    (info / f"{key}.list").write_text("".join(f"{path}\n" for path in paths + found))
    scripts = root / "control"
    call("dpkg-deb", "-e", package, scripts)
    for kind in ("symbols", "shlibs"):
        if (scripts / kind).exists():
            shutil.copy(scripts / kind, info / f"{key}.{kind}")
    shutil.rmtree(scripts)
    with open(root / "var/lib/dpkg/status", "a") as status:
        status.write(re.sub(r"^(Package: .*)$", r"\1\nStatus: install ok installed", control, count=1, flags=re.M) + "\n\n")


def relative_links(root):
    """Links to absolute paths would lead out of the directory."""
    for path in [*(root / "lib").rglob("*"), *(root / "usr/lib").rglob("*")]:
        if path.is_symlink() and str(target := path.readlink()).startswith("/"):
            path.unlink()
            path.symlink_to(os.path.relpath(root.joinpath(*target.parts[1:]), path.parent))


def fill(root, architecture, wanted):
    """Unpacks packages, by name or as files, and all that they depend on; returns how many."""
    options = prepare(root, architecture)
    call("apt-get", *options, "-qq", "update")
    call("apt-get", *options, "-qq", "-y", "--no-install-recommends", "--download-only", "install", *wanted)
    packages = sorted((root / "var/cache/apt/archives").glob("*.deb"))
    for package in packages:
        unpack(package, root)
        package.unlink()
    for package in wanted:
        if package.endswith(".deb"):  # apt makes no copy of a file
            unpack(package, root)
    relative_links(root)
    return len(packages)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/sysroot-arm64")
    parser.add_argument("--architecture", default="arm64")
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    root = args.output.resolve()
    complete = root / "complete"
    wanted = libraries()
    if complete.exists() and not args.again and complete.read_text().split() == wanted:
        return
    shutil.rmtree(root, ignore_errors=True)
    count = fill(root, args.architecture, wanted)
    complete.write_text("\n".join(wanted) + "\n")
    print(f"{args.output}: {count} packages for {args.architecture}")


if __name__ == "__main__":
    main()
