#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets every system call of the network and the store fail once, each in a run of its own: whatever fails, the server
does not crash, does not hang, and what it has acknowledged is there after a restart.

    tests/faults/system_calls.py --build build/release                      each error of each function once, as ./check does
    tests/faults/system_calls.py --build build/release --part 3/10          a tenth of all runs
    tests/faults/system_calls.py --build build/release --only pwrite:17:EIO one run

A first run without a fault counts the calls of each function (failing_calls.cc); then call 1, 2, 3 … of it fails with
each error it can have. A server that cannot start must say why and exit with a code, not by a signal.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
from ports import hold_port  # noqa: E402

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE = 30  # seconds for anything; a busy machine is slow

# What each function can fail with, in the order of kNames in failing_calls.cc. "short": one byte instead of all; recv is
# left out there, because Linux hands over all that has come, and the server goes by that (epoll(7)).
CALLS = {
    "open": ["EMFILE", "EIO", "ENOSPC"], "read": ["EIO", "EINTR", "short"], "write": ["EIO", "ENOSPC", "EINTR", "short"],
    "wake-up": ["EINTR"],
    "pread": ["EIO", "EINTR", "short"], "pwrite": ["EIO", "ENOSPC", "EINTR", "short"], "fsync": ["EIO", "EINTR"],
    "fdatasync": ["EIO", "ENOSPC"], "ftruncate": ["EIO", "EINTR"], "fcntl": ["EIO", "EINTR"], "stat": ["EIO", "ENOMEM"],
    "fstat": ["EIO", "ENOMEM"], "unlink": ["EIO"], "rename": ["EIO", "ENOSPC"], "socket": ["EMFILE", "ENOMEM"],
    "connect": ["ENOMEM", "EINTR"], "accept4": ["EMFILE", "ENFILE", "ENOMEM", "EINTR", "ECONNABORTED"],
    "recv": ["EINTR", "ECONNRESET", "ENOMEM"], "send": ["EINTR", "ECONNRESET", "ENOBUFS", "short"],
    "epoll_create1": ["EMFILE", "ENOMEM"], "epoll_ctl": ["ENOMEM", "ENOSPC"], "epoll_wait": ["EINTR"],
    "eventfd": ["EMFILE", "ENOMEM"], "poll": ["EINTR", "ENOMEM"], "ppoll": ["EINTR", "ENOMEM"], "mmap": ["ENOMEM"],
    "getaddrinfo": ["EMFILE", "ENOMEM"],
}


class Wrong(Exception):
    pass


class Server:
    """One server on a folder, with a fault or without."""

    def __init__(self, arguments, folder, fault=None):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "log"
        environment = dict(os.environ)
        if fault is not None:
            environment.update(LD_PRELOAD=arguments.library, FAIL_CALLS=str(self.folder / "calls"), FAIL_CALL=fault)
        self.held = hold_port()
        port = self.held.getsockname()[1]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [arguments.program, "serve", f"--data-dir={folder}", "--bind-address=127.0.0.1",
                 f"--secure-port={port}", "--controllers=-*"], stdout=log, stderr=log, env=environment)
        self.port = port if self._serves(port) else None

    def _serves(self, port):
        """False if the server has ended as it should. The line in the log may be what cannot be written."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            text = self.log.read_text()
            late = time.monotonic() > deadline - PATIENCE + 5
            with socket.socket() as probe:
                if ("serving url" in text or late) and probe.connect_ex(("127.0.0.1", port)) == 0:
                    return True
            code = self.process.poll()
            if code is not None:
                if code <= 0 or not text.strip():
                    raise Wrong(f"ended with {code} while starting: {text[-500:]}")
                return False
            time.sleep(0.02)
        self.kill()
        raise Wrong("hangs while starting: " + self.log.read_text()[-500:])

    def context(self):
        context = ssl.create_default_context(cafile=self.folder / "pki/ca.crt")
        context.load_cert_chain(self.folder / "pki/admin.crt", self.folder / "pki/admin.key")
        return context

    def counts(self):
        return dict(zip(CALLS, struct.unpack(f"{len(CALLS)}Q", (self.folder / "calls").read_bytes())))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.held.close()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong("hangs while stopping") from None
        self.held.close()
        if code != 0:
            raise Wrong(f"ended with {code}: {self.log.read_text()[-500:]}")


class Load:
    """A little of everything; remembers what was acknowledged."""

    def __init__(self, server):
        self.server, self.context = server, server.context()
        self.there, self.unsure = {}, set()
        self.connection = None

    def ask(self, method, path, body=None):
        """The answer's code and object; a connection that breaks is (None, None)."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, context=self.context,
                                                              timeout=PATIENCE)
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            self.connection.request(method, path, body and json.dumps(body), {"Content-Type": kind})
            answer = self.connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text.splitlines()[0]) if text[:1] == b"{" else {}  # of a watch: one event
        except TimeoutError:
            self.hang_up()
            raise Wrong(f"{method} {path} was not answered in {PATIENCE} s") from None
        except (OSError, http.client.HTTPException):
            self.hang_up()
            if self.server.process.poll() is not None:
                raise Wrong(f"the server ended with {self.server.process.poll()}: "
                            + self.server.log.read_text()[-800:]) from None
            return None, None

    def hang_up(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def write(self, method, name, value=None):
        body = None if value is None else {"metadata": {"name": name}, "data": {"v": value}}
        path = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/{name}"
        status, _ = self.ask(method, path, body)
        if status in (200, 201):
            self.there[name] = value
            self.unsure.discard(name)
        else:
            self.unsure.add(name)
        return status

    def watch(self):
        self.ask("GET", CONFIGMAPS + "?watch=1&timeoutSeconds=1&resourceVersion=0")

    def run(self):
        for i in range(6):
            self.write("POST", f"a{i}", "1")
        self.write("PATCH", "a1", "2")
        self.write("PATCH", "a2", "x" * 20000)
        self.hang_up()
        self.write("POST", "b0", "y" * 70000)
        self.ask("GET", CONFIGMAPS)
        self.ask("GET", f"{CONFIGMAPS}/b0")
        self.write("DELETE", "a3")
        self.write("DELETE", "b0")
        self.watch()
        # The fault is over by now, or never came.
        for attempt in range(5):
            if self.write("POST", f"z{attempt}", "1") == 201:
                break
        else:
            raise Wrong("no write succeeds any more: " + self.server.log.read_text()[-500:])
        answers = {self.ask("GET", "/livez")[0] for _ in range(2)}
        if 200 not in answers:
            raise Wrong(f"/livez says {answers}")
        self.hang_up()

    def check(self):
        status, found = self.ask("GET", CONFIGMAPS)
        if status != 200:
            raise Wrong(f"the list after the restart: {status}")
        stored = {item["metadata"]["name"]: item.get("data", {}).get("v") for item in found["items"]}
        for name, value in self.there.items():
            if name not in self.unsure and stored.get(name) != value:
                raise Wrong(f"{name}: acknowledged {value!r:.40}, stored {stored.get(name)!r:.40}")
        self.hang_up()


def run(arguments, template, fault):
    """What is wrong with the run, "" if nothing is."""
    with tempfile.TemporaryDirectory(prefix="pc-calls-") as folder:
        if template is not None:
            shutil.copytree(template, folder, dirs_exist_ok=True)
        server = None
        try:
            server = Server(arguments, folder, fault)
            if server.port is None:
                load = None
            else:
                load = Load(server)
                load.run()
                server.end()
            again = Server(arguments, folder)
            if again.port is None:
                raise Wrong("does not start again: " + again.log.read_text()[-500:])
            check = load or Load(again)
            check.server, check.context = again, again.context()
            check.check()
            again.end()
        except Wrong as wrong:
            return str(wrong)
        finally:
            for one in (server, locals().get("again")):
                if one is not None and one.process.poll() is None:
                    one.kill()
    return ""


def prepare(arguments, folder):
    """A folder with certificates and a database, and how often each function is called from there."""
    server = Server(arguments, folder, "")
    Load(server).write("POST", "old", "1")
    server.end()
    template = pathlib.Path(folder)
    counts = {}
    for fresh in (True, False):
        with tempfile.TemporaryDirectory(prefix="pc-calls-") as other:
            if not fresh:
                shutil.copytree(template, other, dirs_exist_ok=True)
            server = Server(arguments, other, "")
            Load(server).run()
            server.end()
            counts[fresh] = server.counts()
    return counts


def cases(counts):
    """Every fault: on a new folder the calls it has more than an old one, on an old one all of them."""
    for fresh in (False, True):
        for call, errors in CALLS.items():
            first = 1
            last = counts[fresh][call]
            if fresh and last <= counts[False][call]:
                continue
            for number in range(first, last + 1):
                for error in errors:
                    yield fresh, f"{call}:{number}:{error}"


def sample(every):
    """One run for each error of each function; which call of it differs from error to error."""
    by_kind = {}
    for fresh, fault in every:
        call, _, error = fault.split(":")
        by_kind.setdefault((call, error), []).append((fresh, fault))
    return [runs[index * 7919 % len(runs)] for index, runs in enumerate(by_kind.values())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--part", default="", help="I/N: the I-th of N parts of all runs, I from 1")
    parser.add_argument("--only", default="", help="CALL:NUMBER:ERROR")
    parser.add_argument("--jobs", type=int, default=4, help="runs at a time; they mostly wait")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    build = pathlib.Path(arguments.build).resolve()
    arguments.program = str(build / "portcullis")
    arguments.library = str(build / "tests/faults/libfailing_calls.so")
    with tempfile.TemporaryDirectory(prefix="pc-calls-") as template:
        counts = prepare(arguments, template)
        every = list(cases(counts))
        if arguments.only:
            chosen = [(fresh, arguments.only) for fresh in (False, True)]
        elif arguments.part:
            part, parts = map(int, arguments.part.split("/"))
            chosen = every[part - 1::parts]
        else:
            chosen = sample(every)
        wrong = []
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            tasks = [(fresh, fault, pool.submit(run, arguments, None if fresh else template, fault))
                     for fresh, fault in chosen]
            for fresh, fault, task in tasks:
                text = task.result()
                name = f"{fault}{' on a new folder' if fresh else ''}"
                if text:
                    wrong.append(f"{name}: {text}")
                    print(f"FAIL {wrong[-1]}", flush=True)
                elif arguments.verbose:
                    print(f"ok   {name}", flush=True)
    print(f"system-calls: {len(chosen) - len(wrong)} passed, {len(wrong)} failed (of {len(every)} faults)")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
