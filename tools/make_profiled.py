#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the programs that are published: optimized by GCC for what they do under load.

    tools/make_profiled.py [--jobs N]      build/profiled/portcullis and portcullis-static

Three steps: a build that counts how often each branch is taken (preset profiling), a load for it (the conformance suites
and portcullis-load), and a build that uses the counts (preset profiled). They take more than twice as long as one build, and
the packages of ./check. docs/decisions/0026-profiled-build.md says why.

    tools/make_profiled.py --step train    one of build, train, use, if the one before has been done
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROFILE = ROOT / "build/profile"
INSTRUMENTED = ROOT / "build/profiling"
SUITES = ROOT / "tests/conformance/suites"
SKIPPED = 77  # the suite of kubectl was, on a machine without one
STOPPED = 60  # seconds in which a server must have written its counts


def run(*command, allowed=(0,), **more):
    print(">", *command, flush=True)
    status = subprocess.run([str(word) for word in command], cwd=ROOT, **more).returncode
    if status not in allowed:
        sys.exit(f"{command[0]} ended with {status}")


def build(preset, jobs, *targets):
    run("cmake", "--preset", preset)
    run("cmake", "--build", "--preset", preset, "-j", jobs, "--target", *targets)


def load(build, folder, *flags):
    """Requests of portcullis-load to a server whose store is on disk. What the generator itself runs does not count."""
    with open(folder / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([build / "portcullis", "serve", "--bind-address=127.0.0.1", "--secure-port=0",
                                   f"--data-dir={folder}/data", f"--ready-file={folder}/ready"], stdout=log, stderr=log)
    try:
        while not (folder / "ready").exists():
            if server.poll() is not None:
                sys.exit(f"the server has ended:\n{(folder / 'log').read_text(encoding='utf-8')[-2000:]}")
            time.sleep(0.1)
        run(build / "portcullis-load", f"--kubeconfig={folder}/data/admin.kubeconfig", f"--pid={server.pid}", *flags,
            env={**os.environ, "GCOV_PREFIX": f"{folder}/generator"})
    finally:
        server.terminate()
        if server.wait(STOPPED) != 0:
            sys.exit(f"the server ended with {server.returncode}:\n{(folder / 'log').read_text(encoding='utf-8')[-2000:]}")


def train():
    """The suites reach most of the program a few times, the load shows what is hot."""
    shutil.rmtree(PROFILE, ignore_errors=True)
    run(sys.executable, ROOT / "tests/conformance/run.py", "--build", INSTRUMENTED, "--sanitized", "--also", SUITES, allowed=(0, SKIPPED))
    with tempfile.TemporaryDirectory() as folder:
        load(INSTRUMENTED, pathlib.Path(folder), "--seconds=2")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    steps = {"build": lambda: build("profiling", args.jobs, "portcullis", "portcullis-load"), "train": train,
             "use": lambda: build("profiled", args.jobs, "portcullis", "portcullis-static")}
    parser.add_argument("--step", choices=steps, help="default: all of them in turn")
    args = parser.parse_args()
    for step in [args.step] if args.step else steps:
        steps[step]()


if __name__ == "__main__":
    main()
