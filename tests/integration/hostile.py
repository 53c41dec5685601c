#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the program what no friendly client sends: broken bodies, broken HTTP, no TLS at all, clients
that are slow or vanish. Every answer must be the right one, and the server must live on.

    tests/integration/hostile.py --build build/release
"""

import argparse
import gzip
import http.client
import json
import pathlib
import random
import re
import signal
import socket
import ssl
import struct
import sys
import tempfile
import time

from process import CONFIGMAPS, Server
from story import until

JSON = "application/json"
YAML = "application/yaml"
NAMED = b'{"metadata":{"name":"a"}}'
LIMIT = 3 * 1024 * 1024
PEAK = 500  # MB of memory that no request may take the server beyond

# What is told of it, type of the content, body, the codes that are right.
BODIES = [
    ("nothing", JSON, b"", {400, 422}),
    ("half an object", JSON, b'{"metadata":{"name":"a"', {400}),
    ("a text", JSON, b'"a"', {400}),
    ("a list", JSON, b"[]", {400}),
    ("a second document", JSON, b"{}{}", {400, 422}),
    ("bytes that are no text", JSON, bytes(range(128, 256)), {400}),
    ("an unfinished escape", JSON, b'{"metadata":{"name":"\\u12"}}', {400}),
    ("zeros", JSON, b"\0" * 1000, {400}),
    ("100,000 open lists", JSON, b"[" * 100_000, {400}),
    ("100,000 open objects", JSON, b'{"a":' * 100_000, {400}),
    ("a number for a text", JSON, b'{"metadata":{"name":1e400}}', {400}),
    ("a list for metadata", JSON, b'{"metadata":[]}', {400}),
    ("another kind", JSON, b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}', {400}),
    ("a tab in YAML", YAML, b"metadata:\n\tname: a\n", {400}),
    ("an anchor that refers to itself", YAML, b"a: &a [*a]\n", {400}),
    ("anchors that multiply", YAML,
     b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
         b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % ((c + 1, c + 1) + (c,) * 9) for c in range(97, 110)),
     {400}),
    ("an unclosed quotation in YAML", YAML, b'metadata: {name: "a\n', {400}),
    ("lists without end in YAML", YAML, b"[" * 50_000, {400}),
    # The most that a body may bring: 3 MB of the smallest values there are.
    ("a million lists", JSON, b'{"x":[' + b"[]," * 1_000_000 + b"[]]}", {422}),
    ("half a million objects", JSON, b'{"x":[' + b'{"":0},' * 440_000 + b"{}]}", {422}),
    ("a million numbers", JSON, b'{"x":[' + b"1," * 1_500_000 + b"1]}", {422}),
    ("300,000 labels", JSON, b'{"metadata":{"labels":{' + b",".join(b'"%d":""' % i for i in range(270_000)) + b"}}}", {422}),
    ("300,000 keys", JSON, b'{"data":{' + b",".join(b'"%d":""' % i for i in range(270_000)) + b"}}", {422}),
    ("300,000 lists in YAML", YAML, b"x: [" + b"[]," * 300_000 + b"[]]", {400, 422}),
    ("300,000 lines of YAML", YAML, b"x:\n" + b"- a\n" * 300_000, {400, 422}),
    ("an anchor used 300,000 times", YAML, b"a: &a x\nb: [" + b"*a," * 300_000 + b"*a]\n", {400, 422}),
    ("random protobuf", "application/vnd.kubernetes.protobuf", b"k8s\0" + random.Random(1).randbytes(4000), {400, 415}),
    ("cut protobuf", "application/vnd.kubernetes.protobuf", b"k8s\0\x0a\xff\xff\xff\xff\x0f", {400, 415}),
    ("an unknown type of content", "text/plain", NAMED, {415}),
    ("one byte too much", JSON, b" " * (LIMIT + 1), {413}),
    ("nine times too much", JSON, b'{"a":"' + b"x" * (9 * LIMIT) + b'"}', {413}),
]

# Patches of an object that is there.
PATCHES = [
    ("no list", "application/json-patch+json", b"{}", {400}),
    ("an unknown operation", "application/json-patch+json", b'[{"op":"boil","path":"/a"}]', {400, 422}),
    ("a path to nowhere", "application/json-patch+json", b'[{"op":"remove","path":"/a/b/c"}]', {422}),
    ("a huge index", "application/json-patch+json",
     b'[{"op":"add","path":"/metadata/finalizers","value":[]},'
     b'{"op":"add","path":"/metadata/finalizers/99999999999999999999","value":"a"}]', {400, 422}),
    ("copies that double", "application/json-patch+json",
     json.dumps([{"op": "add", "path": "/data", "value": {"a": "x" * 1000}}] +
                [{"op": "copy", "from": "/data", "path": f"/data/a{i}"} for i in range(40)]).encode(), {400, 413, 422}),
    ("a merge patch that is a number", "application/merge-patch+json", b"1", {400, 422}),
    ("a strategic merge patch with an unknown directive", "application/strategic-merge-patch+json",
     b'{"data":{"$patch":"cook"}}', {400, 422, 500}),
    ("an unknown form", "application/odd-patch+json", b"{}", {415}),
]


def fail(story, text):
    sys.exit(f"{story}: {text}")


def is_status(answer, code):
    try:
        status = json.loads(answer)
    except ValueError:
        return False
    return status.get("kind") == "Status" and status.get("code") == code and status.get("status") == "Failure"


class Hostile:
    def __init__(self, server, sanitized):
        self.server = server
        self.sanitized = sanitized
        self.told = 0

    def tls(self, protocols=None):
        context = ssl.create_default_context(cafile=self.server.folder / "pki/ca.crt")
        context.load_cert_chain(self.server.folder / "pki/admin.crt", self.server.folder / "pki/admin.key")
        if protocols:
            context.set_alpn_protocols(protocols)
        return context.wrap_socket(self.tcp(), server_hostname="127.0.0.1")

    def tcp(self):
        return socket.create_connection(("127.0.0.1", self.server.port), 20)

    def lives(self, after):
        """Anybody else is answered, and quickly enough."""
        started = time.monotonic()
        status, answer = self.server.call("GET", "/api/v1/namespaces/default")
        if status != 200 or answer["metadata"]["name"] != "default":
            fail(after, f"the server answers {status} afterwards: {answer}")
        if time.monotonic() - started > 8:
            fail(after, "the server is busy with it")
        self.told += 1

    def say(self, sock, data):
        """Sends and reads until the server ends the connection."""
        received = b""
        try:
            sock.sendall(data)
            while piece := sock.recv(65536):
                received += piece
        except (ConnectionError, ssl.SSLError):
            pass
        except socket.timeout:
            fail(repr(data[:40]), f"the server keeps the connection, having said {received[:200]}")
        finally:
            sock.close()
        return received

    def bodies(self):
        for story, kind, body, codes in BODIES:
            self.request(story, "POST", CONFIGMAPS, kind, body, codes)
        self.server.call("POST", CONFIGMAPS, {"metadata": {"name": "patched"}, "data": {"a": "1"}})
        for story, kind, body, codes in PATCHES:
            self.request(story, "PATCH", CONFIGMAPS + "/patched", kind, body, codes)
        broken = gzip.compress(NAMED)[:-9]
        self.request("cut gzip", "POST", CONFIGMAPS, JSON, broken, {400, 415}, {"Content-Encoding": "gzip"})

    def request(self, story, method, path, kind, body, codes, headers=None):
        connection = self.server.connect()
        connection.timeout = 120  # a sanitizer's build on a busy machine takes its time over megabytes
        try:
            connection.request(method, path, body, {"Content-Type": kind, **(headers or {})})
        except (ConnectionError, ssl.SSLError):
            pass  # the server has answered before it had all of the body
        try:
            answer = connection.getresponse()
            code, text = answer.status, answer.read()
        except (ConnectionError, http.client.HTTPException, ssl.SSLError) as error:
            fail(story, f"no answer: {error!r}")
        finally:
            connection.close()
        if code not in codes or not is_status(text, code):
            fail(story, f"{code} instead of {sorted(codes)}: {text[:300]}")
        self.lives(story)

    def exists(self, path):
        connection = self.server.connect()
        connection.request("GET", path)
        return connection.getresponse().status == 200

    def deep(self):
        """Documents of nearly as many levels as a reader takes: what walks them has the stack for it."""
        levels = 1500 if self.sanitized else 9900
        objects = "/apis/example.com/v1/namespaces/default/deeps"
        free = '{"type":"object","x-kubernetes-preserve-unknown-fields":true}'
        schema = '{"type":"object","properties":{"spec":%s}}'

        def nested(name, inmost, depth=levels):
            return f'{{"{name}":' * depth + inmost + "}" * depth

        def definition(plural, spec):
            return json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                               "metadata": {"name": plural + ".example.com"},
                               "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": plural.title()},
                                        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": "@"}}]}}
                              ).replace('"@"', schema % spec)

        def custom(leaf):
            return f'{{"apiVersion":"example.com/v1","kind":"Deeps","metadata":{{"name":"a"}},"spec":{nested("a", leaf)}}}'

        def told(story, method, path, body, code, kind=JSON, accept=JSON):
            connection = self.server.connect()
            connection.timeout = 120
            connection.request(method, path, body, {"Content-Type": kind, "Accept": accept})
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            if answer.status != code:
                fail(story, f"{answer.status} instead of {code}: {text[:300]}")
            if len(text) > 32 << 20:
                fail(story, f"an answer of {len(text)} bytes")
            self.lives(story)

        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        told("a definition", "POST", definitions, definition("deeps", free), 201)
        until("the definition's objects", lambda: self.exists(objects))
        told("a deep object", "POST", objects, custom("1"), 201)
        told("a deep merge patch", "PATCH", objects + "/a", custom("2"), 200, "application/merge-patch+json")
        told("a deep test", "PATCH", objects + "/a", '[{"op":"test","path":"/spec","value":%s}]' % nested("a", "2"), 200,
             "application/json-patch+json")
        told("a deep object in YAML", "GET", objects + "/a", None, 200, JSON, YAML)
        told("deep objects with spaces", "GET", objects + "?pretty=true", None, 200)
        not_object = '{"type":"object","not":%s}' % nested("not", '{"pattern":"a"}', 1500)
        told("a deep schema", "POST", definitions + "?dryRun=All", definition("nots", not_object), 201)

    def chunks_without_end(self):
        head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        received = self.say(self.tls(), head.encode() + chunk * 100)
        if not received.startswith(b"HTTP/1.1 413 "):
            fail("chunks without end", received[:200])
        # What is no data of a body is no less endless.
        for what, part in (("a chunk line", b"1;" + b"a" * (1 << 20)), ("trailers", b"0\r\n" + b"A: b\r\n" * 200_000),
                           ("chunk extensions", (b"1;" + b"a" * 2000 + b"\r\n \r\n") * 2000)):
            received = self.say(self.tls(), head.encode() + part)
            if received and not received.startswith(b"HTTP/1.1 400 "):
                fail(f"{what} without end", received[:200])
        self.lives("chunks without end")

    def broken_http(self):
        rows = [
            ("no HTTP", b"hello\r\n\r\n", b"HTTP/1.1 400 "),
            ("binary", random.Random(2).randbytes(5000) + b"\r\n\r\n", b"HTTP/1.1 400 "),
            ("two lengths", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
             b"HTTP/1.1 400 "),
            ("a negative length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b"HTTP/1.1 400 "),
            ("a broken chunk", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 4"),
            ("a length told twice in a line", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", b"HTTP/1.1 400 "),
            ("an empty line first", b"\r\nGET /version HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.1 400 "),
            ("an expectation of old", b"GET /version HTTP/1.1\r\nHost: a\r\nExpect: the-unexpected\r\n\r\n",
             b"HTTP/1.1 417 Expectation Failed\r\n"),
            ("a question about the server itself", b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
             b"HTTP/1.1 200 OK\r\n"),
            ("chunks in HTTP/1.0", b"POST /version HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
             b"5\r\nhello\r\n0\r\n\r\n", b"HTTP/1.0 40"),
            ("no host", b"GET /version HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 "),
            ("a head of 2 MB", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * (2 << 20) + b"\r\n\r\n", b"HTTP/1.1 431 "),
        ]
        for story, data, expected in rows:
            received = self.say(self.tls(), data)
            # The rest of a large head may still be on its way when the server closes: the answer is lost then.
            if not received.startswith(expected) and not (len(data) > 1 << 20 and not received):
                fail(story, received[:200])
            self.lives(story)

    def broken_http2(self):
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        settings = b"\0\0\0\4\0\0\0\0\0"
        rows = [
            ("no preface", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
            ("a frame too large", preface + settings + b"\xff\xff\xff\0\0\0\0\0\1" + b"x" * 100_000),
            ("a head that cannot be decoded", preface + settings + b"\0\0\4\1\5\0\0\0\1\xff\xff\xff\xff"),
            ("data of no stream", preface + settings + b"\0\0\1\0\1\0\0\0\7x"),
            ("random frames", preface + settings + random.Random(3).randbytes(50_000)),
        ]
        for story, data in rows:
            self.say(self.tls(["h2"]), data)
            self.lives(story)

    def no_tls(self):
        received = self.say(self.tcp(), b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n")
        if received != b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n":
            fail("HTTP on the TLS port", received)
        self.lives("HTTP on the TLS port")
        for story, data in [("garbage", random.Random(4).randbytes(4000)), ("zeros", b"\0" * 4000),
                            ("a record that lies", b"\x16\x03\x01\xff\xff" + b"x" * 70_000)]:
            self.say(self.tcp(), data)
            self.lives(f"{story} on the TLS port")

    def vanishing(self):
        head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: 1000\r\n\r\n".encode()
        watch = f"GET {CONFIGMAPS}?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        listing = f"GET /openapi/v2 HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        for data in [b"", b"GET", head, head + b'{"metadata"', watch, listing]:
            for _ in range(8):
                sock = self.tls()
                if data:
                    sock.sendall(data)
                if data == watch:
                    sock.recv(1)
                # Zero linger: the connection is reset, not closed.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                socket.socket.close(sock)
        for _ in range(8):
            sock = self.tcp()
            sock.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
            sock.close()
        self.server.call("POST", CONFIGMAPS, {"metadata": {"name": "after-vanished-watches"}})
        self.lives("clients that vanish")

    def slow(self):
        silent = [self.tcp() for _ in range(200)]
        slow = [self.tls() for _ in range(30)]
        lazy = self.tls()  # asks for a lot and reads nothing of it
        lazy.sendall(b"GET /openapi/v2 HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        text = b"GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        for byte in text:
            for sock in slow:
                sock.sendall(bytes([byte]))
            self.lives("slow clients")
        for sock in slow:
            received = b""
            while piece := sock.recv(65536):
                received += piece
            if not received.startswith(b"HTTP/1.1 200 "):
                fail("slow clients", f"no patience with them: {received[:200]}")
            sock.close()
        lazy.close()
        for sock in silent:
            sock.close()
        self.lives("slow clients")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--sanitized", action="store_true", help="a sanitizer's build: its memory says nothing")
    given = parser.parse_args()
    program = str(given.build / "portcullis")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder)
        hostile = Hostile(server, given.sanitized)
        try:
            for story in (hostile.bodies, hostile.deep, hostile.chunks_without_end, hostile.broken_http, hostile.broken_http2,
                          hostile.no_tls, hostile.vanishing, hostile.slow):
                story()
            status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
            peak = int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) // 1024
            if peak > PEAK and not given.sanitized:
                fail("memory", f"{peak} MB at most, more than {PEAK}")
        except OSError as error:
            if server.process.poll() is None:
                raise
            fail("the server has ended", f"{server.process.returncode}, {error!r}\n{(server.folder / 'log').read_text()[-4000:]}")
        finally:
            log = (server.folder / "log").read_text()
            code = server.end(signal.SIGTERM)
        if code != 0:
            fail("the end", f"the server ended with {code}:\n{log[-4000:]}")
        print(f"hostile: {hostile.told} passed, 0 failed; {peak} MB at most")


if __name__ == "__main__":
    main()
