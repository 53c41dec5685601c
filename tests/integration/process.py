#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the program itself: what it says of wrong flags and files, and that what it has acknowledged
survives kill -9.

    tests/integration/process.py --build build/release
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

# Arguments, what standard error must hold, the exit code.
WRONG = [
    (["--secure-prt=1"], r"unknown flag: --secure-prt \(did you mean --secure-port\?\)", 2),
    (["--secure-port=abc"], r'invalid argument "abc" for "--secure-port" flag', 2),
    (["--secure-port"], "flag needs an argument: --secure-port", 2),
    (["--authorization-mode=Foo"], 'authorization-mode "Foo" is not a valid mode: use AlwaysAllow', 2),
    (["--enable-admission-plugins=Nope"], 'enable-admission-plugins plugin "Nope" is unknown', 2),
    (["--enable-admission-plugins=PodSecurty"], r'plugin "PodSecurty" is unknown \(did you mean PodSecurity\?\)', 2),
    (["--data-dir=", "--store=sqlite"], "--data-dir must not be empty with --store=sqlite", 2),
    (["--client-ca-file=/nope"], "--client-ca-file: open /nope: no such file or directory", 2),
    (["--feature-gates=X=maybe"], "invalid value of X=maybe", 2),
    (["--feature-gates=Foo=true"], "unrecognized feature gate: Foo", 2),
    (["--feature-gates=RetryGenerateName=false"], "feature is locked to true", 2),
    (["--runtime-config=foo/v1=true"], "unknown api groups foo/v1", 2),
    (["--runtime-config=apps/v9=true"], "group version apps/v9 that has not been registered", 2),
    (["--audit-policy-file=/etc/hostname"], "loading audit policy file: ", 2),
    (["--audit-log-path=-", "--audit-log-format=xml"], "invalid audit log format xml", 2),
    (["--service-cluster-ip-range=abc"], r"service-cluster-ip-range\[0\] is not a valid cidr", 2),
    (["--tls-cert-file=/etc/hostname", "--tls-private-key-file=/etc/hostname"], "failed to find any PEM data", 2),
    (["--tls-cert-file=/etc/hostname"], "must be given together", 2),
    (["--token-auth-file=/etc/hostname"], "--token-auth-file=/etc/hostname: ", 2),
    (["--service-account-jwks-uri=http://a"], "service-account-jwks-uri requires https scheme, parsed as: http://a", 2),
    (["extra"], 'unknown command "extra"', 2),
]


class Server:
    seconds = 10  # a client waits so long

    def __init__(self, program, folder, *flags, without=()):
        self.folder = pathlib.Path(folder)
        self.log = open(self.folder / "log", "a+")
        command = [program, "serve", f"--data-dir={folder}", "--bind-address=127.0.0.1", "--secure-port=0",
                   "--controllers=-*", *flags]
        self.process = subprocess.Popen([word for word in command if word not in without], stdout=self.log, stderr=self.log)
        self.log.seek(0, os.SEEK_END)
        self.port = self._wait()
        self.context = ssl.create_default_context(cafile=self.folder / "pki/ca.crt")
        self.context.load_cert_chain(self.folder / "pki/admin.crt", self.folder / "pki/admin.key")

    def _wait(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = re.findall(r"serving url=https://127\.0\.0\.1:(\d+)", (self.folder / "log").read_text())
            if found and self.process.poll() is None:
                return int(found[-1])
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        sys.exit("the server did not start:\n" + (self.folder / "log").read_text())

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=self.seconds)

    def call(self, method, path, body=None, connection=None):
        connection = connection or self.connect()
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(30)
        self.log.close()
        (self.folder / "log").unlink()
        return code


def wrong_flags(program):
    for flags, expected, code in WRONG:
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([program, "serve", f"--data-dir={folder}/data", "--store=memory", "--secure-port=0",
                                  *flags], capture_output=True, text=True, timeout=30)
            if run.returncode != code or not re.search(expected, run.stderr):
                sys.exit(f"{flags}: exit {run.returncode}, expected {code} and {expected!r}; said:\n{run.stderr}")


def wrong_folder_and_port(program):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "portcullis.db").write_text("this is no database" * 100)
        run = subprocess.run([program, "serve", f"--data-dir={folder}", "--secure-port=0"], capture_output=True,
                             text=True, timeout=30)
        assert run.returncode == 2 and "portcullis.db" in run.stderr, run.stderr
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        server = Server(program, folder)
        run = subprocess.run([program, "serve", f"--data-dir={other}", "--bind-address=127.0.0.1",
                              f"--secure-port={server.port}"], capture_output=True, text=True, timeout=30)
        assert run.returncode == 2 and "address already in use\nHint: another program listens on port" in run.stderr, run.stderr
        run = subprocess.run([program, "serve", f"--data-dir={folder}", "--bind-address=127.0.0.1",
                              "--secure-port=0"], capture_output=True, text=True, timeout=30)
        assert run.returncode == 2 and "is in use by another process" in run.stderr, run.stderr
        # A server that keeps its objects in memory would replace the kubeconfig of the first one.
        kubeconfig = (pathlib.Path(folder) / "admin.kubeconfig").read_bytes()
        run = subprocess.run([program, "serve", f"--data-dir={folder}", "--bind-address=127.0.0.1",
                              "--secure-port=0", "--store=memory"], capture_output=True, text=True, timeout=30)
        assert run.returncode == 2 and "is in use by another process" in run.stderr, run.stderr
        assert (pathlib.Path(folder) / "admin.kubeconfig").read_bytes() == kubeconfig
        assert server.end(signal.SIGTERM) == 0


def stopped_while_it_starts(program):
    """A server that waits for its etcd, which takes the connection and says nothing, ends when it is told to."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as etcd:
        server = subprocess.Popen([program, "serve", f"--data-dir={folder}", "--bind-address=127.0.0.1", "--secure-port=0",
                                   f"--etcd-servers=http://127.0.0.1:{etcd.getsockname()[1]}"], stderr=subprocess.DEVNULL)
        etcd.settimeout(20)
        with etcd.accept()[0]:
            server.send_signal(signal.SIGTERM)
            assert server.wait(20) == 0, server.returncode


def full_disk(program):
    """Writes fail with a message and are logged once; the server goes on when there is room, and starts though its kubeconfig cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        # At its limit of a file's size a write is an error, as on a full disk, for who ignores the signal.
        ignoring = pathlib.Path(folder) / "ignoring"
        ignoring.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec {program} \"$@\"\n")
        ignoring.chmod(0o700)
        server = Server(str(ignoring), folder)
        database = server.folder / "portcullis.db"
        body = {"metadata": {"generateName": "a-"}, "data": {"x": "x" * 200000}}

        def limit(process, size):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        limit(server.process, database.stat().st_size)
        codes = [server.call("POST", CONFIGMAPS, body)[0] for _ in range(60)]
        assert codes[-1] == 500 and codes[0] in (201, 500), codes
        limit(server.process, resource.RLIM_INFINITY)
        status, answer = server.call("POST", CONFIGMAPS, body)
        assert status == 201, answer
        log = (server.folder / "log").read_text()
        for line in ("error the store cannot be written", "info the store can be written again"):
            assert log.count(line) == 1, f"{line}: {log}"
        assert server.end(signal.SIGTERM) == 0

        port = f"--secure-port={server.port}"
        (server.folder / "admin.kubeconfig.new").mkdir()  # the kubeconfig cannot be written
        server = Server(program, folder, port, without=("--secure-port=0",))
        assert server.call("POST", CONFIGMAPS, body)[0] == 201
        assert "warning the administrator's kubeconfig is not up to date" in (server.folder / "log").read_text()
        assert server.end(signal.SIGTERM) == 0


def kill_nine(program, rounds=3, writers=4):
    with tempfile.TemporaryDirectory() as folder:
        acknowledged = []
        for number in range(rounds):
            server = Server(program, folder)
            stop = threading.Event()

            def write(writer):
                connection = server.connect()
                for i in range(10000):
                    name = f"r{number}-w{writer}-{i}"
                    try:
                        status, _ = server.call("POST", CONFIGMAPS, {"metadata": {"name": name}}, connection)
                    except (OSError, http.client.HTTPException, ValueError):
                        return
                    if status == 201:
                        acknowledged.append(name)
                    if stop.is_set():
                        return

            threads = [threading.Thread(target=write, args=(w,)) for w in range(writers)]
            for thread in threads:
                thread.start()
            while len(acknowledged) < (number + 1) * 200:
                time.sleep(0.005)
            server.end(signal.SIGKILL)
            stop.set()
            for thread in threads:
                thread.join()
        server = Server(program, folder)
        status, found = server.call("GET", CONFIGMAPS)
        assert status == 200, found
        names = {item["metadata"]["name"] for item in found["items"]}
        lost = [name for name in acknowledged if name not in names]
        assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged writes lost: {lost[:5]}"
        assert server.end(signal.SIGTERM) == 0
        print(f"kill -9: {len(acknowledged)} acknowledged writes, none lost in {rounds} rounds")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    program = str(parser.parse_args().build / "portcullis")
    wrong_flags(program)
    wrong_folder_and_port(program)
    stopped_while_it_starts(program)
    full_disk(program)
    kill_nine(program)
    print("process: ok")


if __name__ == "__main__":
    main()
