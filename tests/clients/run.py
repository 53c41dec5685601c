#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs made by others, from npm, against the server: each folder beside this file that has a
package.json is installed by `npm ci` below the build folder and tested by `node --test` there.

    tests/clients/run.py --build build/release javascript
    tests/clients/run.py --build build/release pepr

Needs node 18 or later, npm, and the npm registry the first time; without them it fails.
"""

import argparse
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OLDEST_NODE = 18
# Packages that need a later one get it from npm where the machine's is too old.
LATER_NODE = {"pepr": (20, "20.20.2")}


def fail(text):
    sys.exit(f"clients: {text}")


def check_node():
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            fail(f"there is no {program}: install the packages nodejs and npm (tools/install_packages.sh check)")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    major = int(re.match(r"v(\d+)", version).group(1))
    if major < OLDEST_NODE:
        fail(f"node {version.strip()} is too old: {OLDEST_NODE} or later is needed")
    return major


def later_node(build, package, major):
    """The folder with a node that is new enough for the package, "" if the machine's is."""
    least, version = LATER_NODE.get(package, (0, ""))
    if major >= least:
        return ""
    name = f"node-linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}"
    folder = build / "clients" / "node"
    program = folder / "node_modules" / name / "bin"
    if not (program / "node").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        npm(["install", "--no-save", f"{name}@{version}"], folder)
    return str(program)


def npm(arguments, folder):
    # No package needs its install script: those that come with binaries have them as packages of their own.
    command = ["npm", *arguments, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    for _ in range(2):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode == 0:
            return
    fail(f"{' '.join(command[:2])} failed in {folder}: is the npm registry within reach?\n{done.stdout}{done.stderr}")


def install(package, folder):
    """Copies the package's files to `folder`; what npm has put there stays if the lock file is the same."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in (HERE / package).rglob("*"):
        inner = source.relative_to(HERE / package)
        if source.is_file() and "node_modules" not in inner.parts:
            (folder / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / inner)
    shutil.copy2(HERE / "server.mjs", folder.parent / "server.mjs")
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "node_modules/.portcullis-lock"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    npm(["ci"], folder)
    stamp.write_text(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=sorted(path.parent.name for path in HERE.glob("*/package.json")))
    parser.add_argument("--build", default="build/release", help="build folder with the program portcullis")
    arguments = parser.parse_args()
    build = pathlib.Path(arguments.build).resolve()
    major = check_node()
    folder = build / "clients" / arguments.package
    install(arguments.package, folder)
    # Version 18 of node's test runner takes files only when they are named one by one.
    tests = sorted(path.name for path in folder.glob("*.test.mjs") if (HERE / arguments.package / path.name).exists())
    # What would lead the clients past the server does not count here.
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("KUBECONFIG", "NODE_OPTIONS", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    environment["PC_BUILD"] = str(build)
    if later := later_node(build, arguments.package, major):
        environment["PATH"] = later + os.pathsep + environment.get("PATH", "")
    node = shutil.which("node", path=environment["PATH"])
    sys.exit(subprocess.run([node, "--test", *tests], cwd=folder, env=environment).returncode)


if __name__ == "__main__":
    main()
