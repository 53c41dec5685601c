# SPDX-License-Identifier: Apache-2.0

"""What the stories of the server share: starting it, comparing, waiting, and telling the sum.

    def renewal(program, pki):            # a story: raises what fail() and expect() raise
        with serving(program, "--flag") as server:
            expect("the answer", server.call("GET", "/api")[0], 200)

    if __name__ == "__main__":
        run("serving", __doc__, [renewal], Pki)   # Pki(folder) is made once for all stories
"""

import argparse
import contextlib
import os
import pathlib
import signal
import sys
import tempfile
import time

from process import Server


def fail(text):
    raise AssertionError(text)


def expect(what, is_, wanted):
    if is_ != wanted:
        fail(f"{what}: {is_!r}, not {wanted!r}")


def until(what, condition, limit=20):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            fail(f"waited in vain: {what}")
        time.sleep(0.02)


@contextlib.contextmanager
def serving(program, *flags, folder=None, environment=None):
    """A server with its store in memory, in `folder` or one of its own; it is asked to end at the end."""
    with contextlib.ExitStack() as stack:
        folder = folder or stack.enter_context(tempfile.TemporaryDirectory())
        before = dict(os.environ)
        os.environ.update(environment or {})
        try:
            server = Server(program, folder, "--store=memory", *flags)
        finally:
            os.environ.clear()
            os.environ.update(before)
        try:
            yield server
        finally:
            if server.process.poll() is None:
                server.end(signal.SIGTERM)


def run(name, doc, stories, prepare=lambda folder: None):
    """Tells the stories, each with the program and what `prepare` has made; prints the sum."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release", metavar="DIR")
    parser.add_argument("--only", metavar="STORY")
    arguments = parser.parse_args()
    program = str((arguments.build / "portcullis").resolve())
    stories = [story for story in stories if arguments.only in (None, story.__name__)]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(folder)
        for story in stories:
            try:
                story(program, prepared)
            except AssertionError as error:
                failed.append(f"{name}: {story.__name__}: {error}")
    print(f"{name}: {len(stories) - len(failed)} passed, {len(failed)} failed")
    if failed:
        sys.exit("\n".join(failed))
