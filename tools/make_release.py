#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what is published of a release, from builds with the presets profiled and release-arm64.

    tools/make_release.py [--build build/profiled] [--build build/release-arm64] --output dist [archive] [deb] [image]

archive  portcullis-<version>-linux-<architecture>.tar.gz of each build: the static program, manual pages,
         completion, licences; may be unpacked anywhere
deb      the Debian package of each build (cpack), for the Debian that it was built on
image    an OCI image of the static programs, for all architectures that were built (tools/make_image.py)

tools/make_profiled.py makes the first of these builds. SHA256SUMS is written beside them. Without names all of them are made.
"""

import argparse
import gzip
import hashlib
import os
import pathlib
import shutil
import sys
import tempfile

from built import Build, call
from make_image import Archive, seconds

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("archive", "deb", "image")


def archive(build, output, version):
    name = f"portcullis-{version['version']}-linux-{build.architecture}"
    with tempfile.TemporaryDirectory() as folder:
        staged = pathlib.Path(folder)
        call("cmake", "--install", build.folder, "--prefix", staged / "usr")
        shutil.copy2(build.folder / "portcullis-static", staged / "usr/bin/portcullis")
        third_party = call(sys.executable, ROOT / "tools/third_party.py", "--build", build.folder, "--texts")
        (staged / "usr/share/doc/portcullis/THIRD-PARTY").write_text(third_party)
        tar = Archive(seconds(version["buildDate"]))
        for path in sorted((staged / "usr").rglob("*")):
            inside = f"{name}/{path.relative_to(staged / 'usr')}"
            if path.is_dir():
                tar.add(inside, mode=0o755)
            else:
                tar.add(inside, path.read_bytes(), 0o755 if path.parent.name == "bin" else 0o644)
    file = output / f"{name}.tar.gz"
    file.write_bytes(gzip.compress(tar.close(), 9, mtime=0))
    return file


def deb(build, output, _):
    call("cmake", "-S", ROOT, "-B", build.folder, "-DPC_DEBIAN_PACKAGE=ON")
    try:
        call("cpack", "-B", output.resolve(), cwd=build.folder, env=build.environment(os.environ))
    finally:
        call("cmake", "-S", ROOT, "-B", build.folder, "-DPC_DEBIAN_PACKAGE=OFF")
    shutil.rmtree(output / "_CPack_Packages", ignore_errors=True)
    return next(output.glob(f"portcullis_*_{build.architecture}.deb"))


def image(builds, output, version):
    file = output / f"portcullis-{version['version']}-image.tar"
    call(sys.executable, ROOT / "tools/make_image.py", *(word for build in builds for word in ("--build", build.folder)),
         "--output", file)
    return file


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", help="may be repeated; default: build/profiled")
    parser.add_argument("--output", type=pathlib.Path, default="dist")
    parser.add_argument("kinds", nargs="*", metavar="archive|deb|image")
    args = parser.parse_args()
    if unknown := set(args.kinds) - set(KINDS):
        parser.error(f"unknown: {', '.join(sorted(unknown))} (allowed: {', '.join(KINDS)})")
    kinds = args.kinds or KINDS
    builds = [Build(folder) for folder in args.build or [ROOT / "build/profiled"]]
    args.output.mkdir(parents=True, exist_ok=True)
    targets = ["portcullis"] + (["portcullis-static"] if {"archive", "image"} & set(kinds) else [])
    for build in builds:
        call("cmake", "--build", build.folder, "--target", *targets)
    version = builds[0].version(builds[0].folder / "portcullis")
    made = [make(build, args.output, version) for kind, make in (("archive", archive), ("deb", deb)) if kind in kinds for build in builds]
    if "image" in kinds:
        made.append(image(builds, args.output, version))
    for file in made:
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    sums = sorted((file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in made)
    (args.output / "SHA256SUMS").write_text("".join(f"{value}  {name}\n" for name, value in sums))


if __name__ == "__main__":
    main()
