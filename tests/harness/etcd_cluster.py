# SPDX-License-Identifier: Apache-2.0
"""etcd on the loopback for tests, and a balancer in front of several servers.

    with Etcd(folder) as etcd:
        server = [..., f"--etcd-servers={etcd.url}"]
"""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

from ports import free_port


def find_etcd():
    """The path of etcd, or None: of Debian's package etcd-server."""
    return shutil.which("etcd") or shutil.which("etcd", path="/usr/bin:/usr/local/bin")


class Etcd:
    """A cluster of `size` members, whose data lies in `folder`.

    Each is started with `flags`, and by the command that `wrap(member, command)` makes of its command."""

    def __init__(self, folder, size=1, program=None, flags=(), wrap=lambda _, command: command):
        self.folder, self.program = pathlib.Path(folder), program or find_etcd()
        self.flags, self.wrap = list(flags), wrap
        self.client_ports = [free_port() for _ in range(size)]
        self.peer_ports = [free_port() for _ in range(size)]
        self.processes = [None] * size
        self.started = [False] * size

    @property
    def url(self):
        return ",".join(f"http://127.0.0.1:{port}" for port in self.client_ports)

    def start(self, member):
        cluster = ",".join(f"m{i}=http://127.0.0.1:{port}" for i, port in enumerate(self.peer_ports))
        client, peer = (f"http://127.0.0.1:{ports[member]}" for ports in (self.client_ports, self.peer_ports))
        command = [self.program, "--name", f"m{member}", "--data-dir", self.folder / f"m{member}",
                   "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                   "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
                   "--initial-cluster-state", "existing" if self.started[member] else "new",
                   "--logger", "zap", "--log-level", "warn", *self.flags]
        with open(self.folder / f"m{member}.log", "a", encoding="utf-8") as log:
            self.processes[member] = subprocess.Popen([str(word) for word in self.wrap(member, command)], stdout=log, stderr=log)
        self.started[member] = True

    def stop(self, member, how=signal.SIGTERM):
        process, self.processes[member] = self.processes[member], None
        if process is not None:
            process.send_signal(how)
            process.wait(20)

    def wait(self, seconds=180):
        """Until every member that runs says that it is healthy."""
        deadline = time.monotonic() + seconds
        for member, port in enumerate(self.client_ports):
            while self.processes[member] is not None:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                        if json.load(answer).get("health") == "true":
                            break
                except (urllib.error.URLError, OSError, ValueError):
                    pass
                if time.monotonic() > deadline:
                    raise RuntimeError(f"etcd is not healthy: {(self.folder / f'm{member}.log').read_text()[-2000:]}")
                time.sleep(0.05)

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for member in range(len(self.processes)):
            self.start(member)
        self.wait()
        return self

    def __exit__(self, *_):
        for member in range(len(self.processes)):
            self.stop(member, signal.SIGKILL)


class Balancer:
    """Listens on a port of 127.0.0.1 and hands each new connection to the next of `servers`, which are addresses."""

    def __init__(self, port, servers):
        self.servers, self.next = list(servers), 0
        self.listener = socket.create_server(("127.0.0.1", port), backlog=256)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        for _ in self.servers:  # one that is down is passed over
            address = self.servers[self.next % len(self.servers)]
            self.next += 1
            try:
                server = socket.create_connection(address, timeout=5)
            except OSError:
                continue
            server.settimeout(None)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._copy, args=(client, server), daemon=True).start()
            self._copy(server, client)
            return
        client.close()

    @staticmethod
    def _copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
