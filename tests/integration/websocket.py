#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watches by WebSocket, as browsers and clients of Java ask for them: one event is one message, in each form that a watch
has; a token among the protocols tells who asks; what is no watch is answered as ever. As kube-apiserver 1.36 answers.

    tests/integration/websocket.py --build build/release
"""

import argparse
import base64
import json
import pathlib
import signal
import socket
import ssl
import struct
import sys
import tempfile

from process import CONFIGMAPS, Server

WATCH = f"{CONFIGMAPS}?watch=1&timeoutSeconds=60"
HANDSHAKE = {"Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
             "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": "http://localhost"}
ACCEPTED = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
PROTOCOLS = "Sec-WebSocket-Protocol"
TOKEN = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"secret").decode().rstrip("=")
CLOSED = (8, struct.pack(">H", 1000))

# Headers beside those of the handshake, whether the client has its certificate, the head that is the answer.
ANSWERS = [
    ({}, True, ACCEPTED),
    ({PROTOCOLS: "any"}, True, ACCEPTED + b"\r\nSec-WebSocket-Protocol: any"),
    ({PROTOCOLS: "a, b"}, True, b"HTTP/1.1 400 Bad Request"),
    ({PROTOCOLS: f"{TOKEN}, a"}, False, ACCEPTED + b"\r\nSec-WebSocket-Protocol: a"),
    ({PROTOCOLS: f"{TOKEN}, a"}, True, b"HTTP/1.1 400 Bad Request"),
    ({PROTOCOLS: f"{TOKEN},a,b"}, False, b"HTTP/1.1 400 Bad Request"),
    ({PROTOCOLS: TOKEN}, False, b"HTTP/1.1 401 Unauthorized"),
    ({}, False, b"HTTP/1.1 403 Forbidden"),
    ({"Origin": ""}, True, b"HTTP/1.1 403 Forbidden"),
    ({"Sec-WebSocket-Key": ""}, True, b"HTTP/1.1 400 Bad Request"),
    ({"Accept": "application/yaml"}, True, b"HTTP/1.1 406 Not Acceptable"),
    ({"Upgrade": "h2c"}, True, b"HTTP/1.1 200 OK"),
]


def check(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got!r} instead of {wanted!r}")


class WebSocket:
    """The client's side: nothing but what RFC 6455 says."""

    def __init__(self, server, target=WATCH, known=True, **headers):
        context = server.context if known else ssl.create_default_context(cafile=server.folder / "pki/ca.crt")
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 20), server_hostname="127.0.0.1")
        fields = {**HANDSHAKE, **{name.replace("_", "-"): value for name, value in headers.items()}}
        text = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
        self.socket.sendall(f"GET {target} HTTP/1.1\r\n{text}\r\n".encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.more()
        self.head, _, self.rest = self.rest.partition(b"\r\n\r\n")

    def more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise EOFError(self.rest)
        self.rest += piece

    def take(self, size):
        while len(self.rest) < size:
            self.more()
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def message(self):
        kind, size = self.take(2)
        check("bit of the last frame, and of none masked", (kind >> 7, size >> 7), (1, 0))
        if size >= 126:
            size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
        return kind & 15, self.take(size)

    def event(self):
        kind, text = self.message()
        check("kind of frame", kind, 1)
        check("end of an event", text[-2:], b"}\n")
        event = json.loads(text)
        return event["type"], event["object"]["metadata"].get("name")

    def send(self, kind, payload):
        mask = b"\x01\x02\x03\x04"
        self.socket.sendall(bytes([0x80 | kind, 0x80 | len(payload)]) + mask +
                            bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)))

    def ends(self):
        check("frame at the end", self.message(), CLOSED)
        try:
            self.more()
        except EOFError:
            return
        sys.exit(f"bytes behind the end: {self.rest}")


def events(server):
    """What was there, what happens, pings in between, and the client's end."""
    made = {"metadata": {"name": "before"}, "data": {"x": "y" * 70000}}
    check("create", server.call("POST", CONFIGMAPS, made)[0], 201)
    watch, second = WebSocket(server), WebSocket(server)
    for each in (watch, second):
        check("first event", each.event(), ("ADDED", "before"))
    check("create", server.call("POST", CONFIGMAPS, {"metadata": {"name": "after"}})[0], 201)
    check("delete", server.call("DELETE", f"{CONFIGMAPS}/before")[0], 200)
    for each in (watch, second):
        check("event", each.event(), ("ADDED", "after"))
        check("event", each.event(), ("DELETED", "before"))
    watch.send(1, b"what a client says means nothing")
    watch.send(9, b"there?")
    check("pong", watch.message(), (10, b"there?"))
    watch.send(8, struct.pack(">H", 1000))
    watch.ends()
    check("create", server.call("POST", CONFIGMAPS, {"metadata": {"name": "later"}})[0], 201)
    check("event of the one that goes on", second.event(), ("ADDED", "later"))


def forms(server):
    protobuf = WebSocket(server, Accept="application/vnd.kubernetes.protobuf")
    kind, message = protobuf.message()
    check("frame of protobuf", (kind, message[:7]), (2, b"\n\x05ADDED"))
    table = WebSocket(server, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    kind, message = table.message()
    check("table", (kind, json.loads(message)["object"]["kind"]), (1, "Table"))
    bookmarks = WebSocket(server, f"{WATCH}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    while (event := bookmarks.event())[0] == "ADDED":
        pass
    check("end of the beginning", event[0], "BOOKMARK")
    future = WebSocket(server, f"{CONFIGMAPS}?watch=1&timeoutSeconds=1&resourceVersion=1")
    while (message := future.message())[0] == 1:
        pass
    check("at the end of its time", message, CLOSED)


def answers(server):
    for headers, known, wanted in ANSWERS:
        got = WebSocket(server, known=known, **{name.replace("-", "_"): value for name, value in headers.items()})
        head = got.head if wanted.startswith(ACCEPTED) else got.head.split(b"\r\n")[0]
        check(f"{headers} {'with' if known else 'without'} a certificate", head, wanted)
        got.socket.close()
    read = WebSocket(server, f"{CONFIGMAPS}/after")
    check("what is no watch", read.head.split(b"\r\n")[0], b"HTTP/1.1 200 OK")
    broken = WebSocket(server)
    broken.socket.sendall(b"\x81\x01a")  # not masked
    while (message := broken.message())[0] == 1:
        pass
    check("a frame without a mask", message, (8, struct.pack(">H", 1002)))
    broken.ends()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    program = str(parser.parse_args().build / "portcullis")
    with tempfile.TemporaryDirectory() as folder:
        tokens = pathlib.Path(folder) / "tokens.csv"
        tokens.write_text('secret,joe,1,"system:masters"\n')
        server = Server(program, folder, f"--token-auth-file={tokens}")
        for part in (events, forms, answers):
            part(server)
        left = WebSocket(server)
        check("exit code of a server with a watch", server.end(signal.SIGTERM), 0)
        while (message := left.message())[0] == 1:
            pass
        check("when the server stops", message, CLOSED)
    print(f"watches by WebSocket: events, forms, {len(ANSWERS)} handshakes, the end: all hold")


if __name__ == "__main__":
    main()
