#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what a walkthrough says, with the real kubectl, and compares what it shows.

    tests/integration/walkthrough.py --build build/release [--kubectl PATH] [PAGE…]

A block ```sh is typed into one shell; ```sh background=NAME is started and left running (ports are
replaced by free ones, so that several can run side by side); ```sh stop=NAME stops it. A block ```text
is what the block before it prints, standard output and error together. `portcullis serve` and `./run` get a
free port. Without pages: the README, and the pages of docs/ that have such blocks.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools/kubectl"), str(ROOT / "tests/harness")]
import kubectl  # noqa: E402
from ports import free_port  # noqa: E402
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
END = "--- end of block ---"


def wait_for(what, condition, process):
    deadline = time.monotonic() + 30
    while not condition():
        if process.poll() is not None:
            sys.exit(f"{what} ended with {process.returncode}: {process.args}")
        if time.monotonic() > deadline:
            sys.exit(f"{what} is not there after 30 s")
        time.sleep(0.02)


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Walk:
    def __init__(self, args):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="walkthrough-"))
        self.hook_port, self.api_port = str(free_port()), free_port()
        (self.folder / "build").mkdir()
        (self.folder / "build/release").symlink_to(args.build.resolve())
        (self.folder / "docs").symlink_to(ROOT / "docs")
        (self.folder / "run").write_text(
            f'#!/bin/sh\nexec build/release/portcullis serve --data-dir=./portcullis-data --secure-port={self.api_port} "$@"\n')
        (self.folder / "run").chmod(0o755)
        tools = self.folder / "bin"
        tools.mkdir()
        program = (args.build / "portcullis").resolve()
        (tools / "portcullis").write_text(
            f'#!/bin/sh\nif [ "$1" = serve ]; then shift; set -- serve --secure-port={self.api_port} "$@"; fi\nexec {program} "$@"\n')
        (tools / "portcullis").chmod(0o755)
        (tools / "kubectl").symlink_to(shutil.which(args.kubectl) or args.kubectl)
        env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(self.folder)}
        self.running = {}
        self.env = env
        self.shell = subprocess.Popen(["bash"], cwd=self.folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)

    def type(self, commands):
        # Not typed into standard input, which a command of the block may read.
        (self.folder / "block.sh").write_text(self.here(commands) + "\n")
        self.shell.stdin.write(f". ./block.sh < /dev/null\necho '{END}'\n")
        self.shell.stdin.flush()
        lines = []
        for line in self.shell.stdout:
            if line.rstrip("\n").endswith(END):  # behind a last line without its end
                lines.append(line.rstrip("\n").removesuffix(END))
                break
            lines.append(line)
        return "".join(lines).replace(self.hook_port, "9443")

    def here(self, text):
        return text.replace("9443", self.hook_port)

    def start(self, name, command):
        log = open(self.folder / f"{name}.log", "w")
        # Manifests and flags speak of the documented port; this run has its own.
        process = subprocess.Popen(["bash", "-c", "exec " + self.here(command.strip())], cwd=self.folder, env=self.env,
                                   stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.running[name] = process
        port = int(self.hook_port) if name == "webhook" else self.api_port
        # The kubeconfig is written when the server listens.
        kubeconfig = self.folder / "portcullis-data/admin.kubeconfig"
        wait_for(name, lambda: accepts(port) and (name == "webhook" or kubeconfig.exists()), process)

    def stop(self, name):
        process = self.running.pop(name)
        process.send_signal(signal.SIGINT)
        code = process.wait(20)
        if code != 0:
            sys.exit(f"{name} ended with {code} after Ctrl-C: {(self.folder / (name + '.log')).read_text()[-2000:]}")

    def close(self):
        self.shell.stdin.close()
        self.shell.wait()
        for name in list(self.running):
            self.stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)


def pages():
    return [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
            if any(kind == "sh" for kind, _, _ in FENCE.findall(page.read_text()))]


def follow(args, page):
    walk = Walk(args)
    # The manifests name the documented port.
    text = re.sub(r"(docs/walkthrough/(?:validating|warning)\.yaml) \|", r"\1 | sed s/94''43/9443/ |", page.read_text())
    passed = failed = 0
    printed = ""
    try:
        for kind, info, body in FENCE.findall(text):
            info = info.strip()
            if kind == "text":
                want, got = body.rstrip("\n").split("\n"), printed.rstrip("\n").split("\n")
                if want == got:
                    passed += 1
                else:
                    failed += 1
                    print(f"{page.name}: expected:\n  " + "\n  ".join(want) + "\nprinted:\n  " + "\n  ".join(got))
            elif info.startswith("background="):
                walk.start(info.split("=")[1], body)
            elif info.startswith("stop="):
                walk.stop(info.split("=")[1])
            elif kind == "sh":
                printed = walk.type(body.rstrip("\n"))
    finally:
        walk.close()
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--kubectl", help="kubectl 1.32 (default: what tools/kubectl/kubectl.py finds)")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, default=pages())
    args = parser.parse_args()
    try:
        args.kubectl = args.kubectl or kubectl.find()
    except kubectl.Unavailable as reason:
        print(f"SKIP: no kubectl 1.{kubectl.MINOR}: {reason}")
        return kubectl.SKIP
    passed = failed = 0
    for page in args.pages:
        good, bad = follow(args, page)
        passed, failed = passed + good, failed + bad
    print(f"walkthrough: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
