# SPDX-License-Identifier: Apache-2.0
"""A build folder: what its programs run with, and where its libraries and their packages are."""

import json
import pathlib
import re
import subprocess
import sys


def call(*command, **more):
    """The output; the program ends with what was said if the command fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        cache = self.folder / "CMakeCache.txt"
        if not cache.exists():
            sys.exit(f"{folder} is no build: cmake --preset {self.folder.name} makes one")
        self.cache = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read_text(), re.M))
        # Of another architecture: the directory that tools/make_sysroot.py has made.
        self.sysroot = pathlib.Path(self.cache["PC_SYSROOT"]) if "PC_SYSROOT" in self.cache else None

    @property
    def architecture(self):
        """As Debian and Kubernetes call it."""
        return "arm64" if "aarch64" in call(self.compiler, "-dumpmachine") else "amd64"

    @property
    def compiler(self):
        return self.cache.get("PC_CROSS_COMPILER") or self.cache.get("CMAKE_CXX_COMPILER", "g++")

    @property
    def readelf(self):
        return self.cache.get("CMAKE_READELF", "readelf")

    def command(self, program):
        """The words that run a program of this build here: with qemu if it is for another architecture."""
        if not self.sysroot:
            return [str(program)]
        qemu = self.cache.get("PC_QEMU", "")
        if not qemu or qemu.endswith("NOTFOUND"):
            sys.exit(f"{program} is for {self.architecture}; install qemu-user-static and configure {self.folder} again")
        return [qemu, "-L", str(self.sysroot), str(program)]

    def version(self, program):
        """What the program says of itself."""
        return json.loads(call(*self.command(program), "version", "-o", "json"))

    def environment(self, environ):
        """What makes dpkg's programs use the packages that this build uses."""
        if not self.sysroot:
            return dict(environ)
        triplet = "aarch64-linux-gnu"
        return {**environ, "DPKG_ADMINDIR": str(self.sysroot / "var/lib/dpkg"), "DEB_HOST_ARCH": self.architecture,
                "DEB_HOST_MULTIARCH": triplet, "DEB_HOST_GNU_TYPE": triplet}
