#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what is published of a release, from a build with the preset release.

    tools/make_release.py --build build/release --output dist [archive] [deb] [image]

archive  portcullis-<version>-linux-amd64.tar.gz: the static program, manual pages, completion, licences;
         may be unpacked anywhere
deb      the Debian package (cpack), for the Debian that it was built on
image    an OCI image of the static program (tools/make_image.py)

SHA256SUMS is written beside them. Without names all of them are made.
"""

import argparse
import gzip
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

from make_image import Archive, seconds, told_by

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("archive", "deb", "image")


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def archive(build, output, version):
    name = f"portcullis-{version['version']}-{version['platform'].replace('/', '-')}"
    with tempfile.TemporaryDirectory() as folder:
        staged = pathlib.Path(folder)
        run("cmake", "--install", build, "--prefix", staged / "usr")
        shutil.copy2(build / "portcullis-static", staged / "usr/bin/portcullis")
        third_party = run(sys.executable, ROOT / "tools/third_party.py", "--build", build, "--texts")
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
    run("cmake", "-S", ROOT, "-B", build, "-DPC_DEBIAN_PACKAGE=ON")
    try:
        run("cpack", "-B", output.resolve(), cwd=build)
    finally:
        run("cmake", "-S", ROOT, "-B", build, "-DPC_DEBIAN_PACKAGE=OFF")
    shutil.rmtree(output / "_CPack_Packages", ignore_errors=True)
    return next(output.glob("portcullis_*.deb"))


def image(build, output, version):
    file = output / f"portcullis-{version['version']}-image.tar"
    run(sys.executable, ROOT / "tools/make_image.py", "--build", build, "--output", file)
    return file


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--output", type=pathlib.Path, default="dist")
    parser.add_argument("kinds", nargs="*", metavar="archive|deb|image")
    args = parser.parse_args()
    if unknown := set(args.kinds) - set(KINDS):
        parser.error(f"unknown: {', '.join(sorted(unknown))} (allowed: {', '.join(KINDS)})")
    kinds = args.kinds or KINDS
    build = args.build.resolve()
    args.output.mkdir(parents=True, exist_ok=True)
    targets = ["portcullis"] + (["portcullis-static"] if {"archive", "image"} & set(kinds) else [])
    run("cmake", "--build", build, "--target", *targets)
    version = told_by(build / "portcullis")
    sums = {}
    for kind in kinds:
        file = {"archive": archive, "deb": deb, "image": image}[kind](build, args.output, version)
        sums[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    (args.output / "SHA256SUMS").write_text("".join(f"{value}  {name}\n" for name, value in sorted(sums.items())))


if __name__ == "__main__":
    main()
