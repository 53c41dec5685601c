#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP built to be read in two ways, or to keep the server busy: requests hidden in bodies, HTTP/2 frames without end,
thousands of connections, too few file descriptors. No hidden request is answered, memory does not grow, other clients are
answered meanwhile.

    tests/integration/hostile_http.py --build build/release
"""

import argparse
import pathlib
import re
import resource
import signal
import socket
import ssl
import struct
import sys
import tempfile
import time

from process import CONFIGMAPS, Server

BODY = '{"metadata":{"name":"smuggled"}}'
HIDDEN = (f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
          f"Content-Length: {len(BODY)}\r\n\r\n{BODY}")
HEAD = "POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\n"
GROWTH = 96  # MB that a flood may cost
SECONDS = 8  # that another client may have to wait on a busy machine

# Bytes of which one reader could find two requests where another finds one; the second would make an object.
SMUGGLED = [
    ("CL.TE", f"{HEAD}Content-Length: {len(HIDDEN) + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}"),
    ("TE.CL", f"{HEAD}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n{len(HIDDEN):x}\r\n{HIDDEN}\r\n0\r\n\r\n"),
    ("TE twice", f"{HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{HIDDEN}"),
    ("TE unknown", f"{HEAD}Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n{HIDDEN}"),
    ("TE with a tab", f"{HEAD}Transfer-Encoding:\tchunked, identity\r\nContent-Length: 0\r\n\r\n{HIDDEN}"),
    ("a blank before the colon", f"{HEAD}Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n{HIDDEN}"),
    ("a folded header", f"{HEAD}X: a\r\n Content-Length: 0\r\nContent-Length: 9999999\r\n\r\n{HIDDEN}"),
    ("two lengths", f"{HEAD}Content-Length: 0\r\nContent-Length: {len(HIDDEN)}\r\n\r\n{HIDDEN}"),
    ("a length with a sign", f"{HEAD}Content-Length: +0\r\n\r\n{HIDDEN}"),
    ("a length in hex", f"{HEAD}Content-Length: 0x0\r\n\r\n{HIDDEN}"),
    ("a length that is too long", f"{HEAD}Content-Length: 18446744073709551616\r\n\r\n{HIDDEN}"),
    ("a chunk size with a sign", f"{HEAD}Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n{HIDDEN}"),
    ("a chunk size that wraps", f"{HEAD}Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n{HIDDEN}"),
    ("a chunk size in hex", f"{HEAD}Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n{HIDDEN}"),
    ("a chunk without its end", f"{HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\naa0\r\n\r\n{HIDDEN}"),
    ("NUL in a header", f"{HEAD}X: a\0b\r\nContent-Length: 0\r\n\r\n{HIDDEN}"),
    ("CR in a header", f"{HEAD}X: a\rContent-Length: 5\r\nContent-Length: 99999\r\n\r\n{HIDDEN}"),
    ("a header without a name", f"{HEAD}: chunked\r\nContent-Length: 0\r\n\r\n{HIDDEN}"),
    ("a request line with blanks", f"POST  {CONFIGMAPS} x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n{HIDDEN}"),
    ("an unknown version", f"POST /version HTTP/9.9\r\nHost: a\r\nContent-Length: 0\r\n\r\n{HIDDEN}"),
]


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)
# GET https://a/version, indexed and literal without indexing.
GET = b"\x82\x87\x41\x01a\x04\x08/version"
HEADERS, RESET, SETTINGS, PING, PRIORITY, CONTINUATION, WINDOW = 1, 3, 4, 6, 2, 9, 8


def rapid_reset(number):
    return b"".join(frame(HEADERS, 5, 2 * i + 1, GET) + frame(RESET, 0, 2 * i + 1, struct.pack(">I", 8))
                    for i in range(number, number + 200))


def made_resets(number):
    """A window that overflows: the server resets the stream."""
    return b"".join(frame(HEADERS, 5, 2 * i + 1, GET) + frame(WINDOW, 0, 2 * i + 1, struct.pack(">I", 0x7fffffff))
                    for i in range(number, number + 200))


FLOODS = [
    ("rapid reset", rapid_reset),
    ("made resets", made_resets),
    ("SETTINGS", lambda number: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535) * 10) * 200),
    ("PING", lambda number: frame(PING, 0, 0, b"12345678") * 500),
    ("PRIORITY", lambda number: frame(PRIORITY, 0, 2 * number + 1, b"\0\0\0\0\x10") * 500),
    ("empty DATA", lambda number: (frame(HEADERS, 4, 1, GET) if number == 0 else b"") + frame(0, 0, 1) * 500),
    ("CONTINUATION", lambda number: (frame(HEADERS, 0, 1, GET) if number == 0 else b"") +
     frame(CONTINUATION, 0, 1, b"\x00\x01x" + b"\x7f\x80\x01" + b"y" * 255) * 100),
    ("windows of one byte", lambda number: frame(WINDOW, 0, 0, struct.pack(">I", 1)) * 500),
    ("a table that is refilled", lambda number: frame(HEADERS, 5, 2 * number + 1, GET + b"".join(
        b"\x40\x02%02x\x7f\x81\x1f" % (i % 256) + b"v" * 4096 for i in range(3)))),
]


class HostileHttp:
    def __init__(self, server):
        self.server = server

    def fail(self, what, text):
        sys.exit(f"{what}: {text}")

    def tcp(self):
        return socket.create_connection(("127.0.0.1", self.server.port), 20)

    def tls(self, protocol):
        context = ssl.create_default_context(cafile=self.server.folder / "pki/ca.crt")
        context.load_cert_chain(self.server.folder / "pki/admin.crt", self.server.folder / "pki/admin.key")
        context.set_alpn_protocols([protocol])
        return context.wrap_socket(self.tcp(), server_hostname="127.0.0.1")

    def memory(self):
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) // 1024

    def lives(self, what):
        started = time.monotonic()
        status, answer = self.server.call("GET", "/api/v1/namespaces/default")
        if status != 200 or time.monotonic() - started > SECONDS:
            self.fail(what, f"another client got {status} after {time.monotonic() - started:.1f} s")

    def smuggling(self):
        # What is hidden below is carried out where it is a request of its own: the search would find it.
        connection = self.tls("http/1.1")
        connection.sendall(f"GET /version HTTP/1.1\r\nHost: a\r\n\r\n{HIDDEN}".encode())
        end = time.monotonic() + 20
        while self.server.call("GET", f"{CONFIGMAPS}/smuggled")[0] != 200 and time.monotonic() < end:
            time.sleep(0.02)
        connection.close()
        status, _ = self.server.call("DELETE", f"{CONFIGMAPS}/smuggled")
        if status != 200:
            self.fail("a request of its own", f"is not carried out: {status}")
        for what, data in SMUGGLED:
            connection = self.tls("http/1.1")
            received = b""
            try:
                connection.sendall(data.encode("latin-1"))
                connection.settimeout(2)
                while piece := connection.recv(65536):
                    received += piece
            except (OSError, ssl.SSLError):
                pass
            finally:
                connection.close()
            status, answer = self.server.call("GET", f"{CONFIGMAPS}/smuggled")
            if status != 404:
                self.fail(what, f"the hidden request was carried out: {received[:300]}")
        self.lives("smuggling")

    def trailers(self):
        """What follows a body is no header: nobody becomes somebody by it."""
        path, body = "/apis/authentication.k8s.io/v1/selfsubjectreviews", b"{}"
        named = ["Impersonate-User", "X-Remote-User", "Authorization"]
        trailers = "".join(f"{name}: joe\r\n" for name in named)
        connection = self.tls("http/1.1")
        connection.sendall((f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
                            f"Connection: close\r\nTrailer: {', '.join(named)}\r\n\r\n2\r\n{{}}\r\n0\r\n{trailers}\r\n").encode())
        self.is_admin("trailers of HTTP/1.1", self.received(connection))

        def literal(name, value):
            return bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        head = b"\x83\x87\x41\x01a" + literal(":path", path) + literal("content-type", "application/json")
        connection = self.tls("h2")
        connection.sendall(PREFACE + frame(HEADERS, 4, 1, head) + frame(0, 0, 1, body) + frame(
            HEADERS, 5, 1, b"".join(literal(name.lower(), "joe") for name in named)))
        self.is_admin("trailers of HTTP/2", self.received(connection, b"userInfo"))

    def received(self, connection, until=None):
        connection.settimeout(5)
        received = b""
        try:
            while piece := connection.recv(65536):
                received += piece
                if until is not None and until in received and b"}}" in received:
                    break
        except (OSError, ssl.SSLError):
            pass
        finally:
            connection.close()
        return received

    def is_admin(self, what, received):
        if b"joe" in received or b"system:masters" not in received:
            self.fail(what, f"answered as {received[-600:]}")

    def floods(self):
        for what, make in FLOODS:
            before = self.memory()
            connection = self.tls("h2")
            sent, end = 0, time.monotonic() + 3
            try:
                connection.sendall(PREFACE)
                connection.settimeout(1)
                for number in range(0, 100_000, 200):
                    if time.monotonic() > end:
                        break
                    data = make(number)
                    connection.sendall(data)
                    sent += len(data)
            except (OSError, ssl.SSLError):
                pass  # the server has had enough, or reads no more
            self.lives(what)
            grown = self.memory() - before
            connection.close()
            if grown > GROWTH:
                self.fail(what, f"{sent} bytes cost {grown} MB")

    def connections(self):
        """Silent ones, and ones that send garbage and stay."""
        before = self.memory()
        limit = min(1200, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
        held = [self.tcp() for _ in range(limit)]
        for number, connection in enumerate(held):
            if number % 2:
                connection.sendall(b"\x16\x03\x01\x40\x00" + bytes([number % 256]) * 100)
        self.lives("silent connections")
        grown = self.memory() - before
        for connection in held:
            connection.close()
        if grown > GROWTH:
            self.fail("silent connections", f"{limit} of them cost {grown} MB")
        self.lives("closed connections")


def few_files(program):
    """With 64 file descriptors: connections beyond them wait or end, and the server recovers."""
    with tempfile.TemporaryDirectory() as folder:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        try:
            server = Server(program, folder, "--store=memory")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        held = [socket.create_connection(("127.0.0.1", server.port), 5) for _ in range(150)]
        time.sleep(0.2)
        for connection in held:
            connection.close()
        end = time.monotonic() + 30
        while True:
            try:
                if server.call("GET", "/api/v1/namespaces/default")[0] == 200:
                    break
            except OSError:
                pass
            if time.monotonic() > end:
                sys.exit("few files: the server does not recover")
            time.sleep(0.1)
        ticks = lambda: sum(map(int, pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        before = ticks()
        time.sleep(1)
        if ticks() - before > 50:
            sys.exit("few files: the server is busy though nobody asks")
        assert server.end(signal.SIGTERM) == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    program = str(parser.parse_args().build / "portcullis")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, "--store=memory")
        hostile = HostileHttp(server)
        try:
            for story in (hostile.smuggling, hostile.trailers, hostile.floods, hostile.connections):
                story()
        finally:
            code = server.end(signal.SIGTERM)
        if code != 0:
            sys.exit(f"the server ended with {code}")
    few_files(program)
    print(f"hostile HTTP: {len(SMUGGLED)} hidden requests, {len(FLOODS)} floods, trailers, connections, few files: all hold")


if __name__ == "__main__":
    main()
