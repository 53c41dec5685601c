# SPDX-License-Identifier: Apache-2.0

"""Webhook servers that do wrong, one port each, and the certificates some of them do it with."""

import gzip
import json
import pathlib
import socket
import ssl
import struct
import subprocess
import threading
import time

TRICKLE = 0.05  # seconds between two bytes


class Certificates:
    """An authority and what it has signed, made by the openssl program."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for ca in ("ca", "other-ca"):
            self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                          "/CN=faults", "-days", "30", "-keyout", f"{ca}.key", "-out", f"{ca}.crt")
        self._openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=peer", "-keyout", "peer.key",
                      "-out", "peer.csr")
        self._issue("good", "ca", "IP:127.0.0.1,DNS:hook.faults.svc")
        self._issue("unknown", "other-ca", "IP:127.0.0.1")
        self._issue("misnamed", "ca", "DNS:elsewhere.example")
        self._issue("nameless", "ca", None)
        self._issue("expired", "ca", "IP:127.0.0.1", "20200101000000Z", "20200201000000Z")
        self.authority = (self.folder / "ca.crt").read_bytes()

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def _issue(self, name, ca, names, start=None, end=None):
        (self.folder / "x.ext").write_text(f"subjectAltName={names}\n" if names else "keyUsage=digitalSignature\n")
        (self.folder / "index.txt").write_text("")
        (self.folder / "ca.conf").write_text(
            "[ca]\ndefault_ca=a\n[a]\nnew_certs_dir=.\ndatabase=index.txt\nrand_serial=yes\ndefault_md=sha256\n"
            "policy=p\nunique_subject=no\n[p]\ncommonName=supplied\n")
        dates = ["-startdate", start, "-enddate", end] if start else ["-days", "30"]
        self._openssl("ca", "-batch", "-config", "ca.conf", "-cert", f"{ca}.crt", "-keyfile", f"{ca}.key", "-in",
                      "peer.csr", "-out", f"{name}.crt", "-extfile", "x.ext", "-notext", *dates)

    def context(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{name}.crt", self.folder / "peer.key")
        return context

    def old_context(self):
        context = self.context("good")
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
        return context


class Request:
    """One request that has been read whole."""

    def __init__(self, line, headers, body):
        self.line, self.headers, self.body = line, headers, body

    def uid(self):
        return json.loads(self.body)["request"]["uid"]


def read_request(stream):
    """The next request of a connection, None at its end."""
    line = stream.readline()
    if not line.strip():
        return None
    headers = {}
    while (field := stream.readline()) not in (b"\r\n", b"\n", b""):
        name, _, value = field.partition(b":")
        headers[name.strip().lower()] = value.strip()
    return Request(line.decode(), headers, stream.read(int(headers.get(b"content-length", 0))))


def review(request, allowed=True):
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                       "response": {"uid": request.uid(), "allowed": allowed}}).encode()


def answer(body, status="200 OK", version="1.1", kind="application/json", *fields):
    head = [f"HTTP/{version} {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Nobody:
    """A port at which nobody listens, held so that nobody else gets it."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def close(self):
        self.socket.close()


class Peer:
    """Listens; `behave(peer, connection)` runs in a thread for each connection that comes."""

    def __init__(self, behave, context=None, narrow=False):
        self.behave, self.context = behave, context
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        if narrow:  # little fits between the two sides: connections inherit it
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
        self.port = self.listener.getsockname()[1]
        self.calls = 0
        self.connections = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.add(connection)
            if self.context is not None:
                connection.settimeout(10)
                self.connections.discard(connection)
                connection = self.context.wrap_socket(connection, server_side=True)
                connection.settimeout(None)
                self.connections.add(connection)
            self.behave(self, connection)
        except (OSError, ValueError):
            pass  # the other side has had enough
        finally:
            self.connections.discard(connection)
            try:
                connection.close()
            except OSError:
                pass

    def close(self):
        """No more connections, and an end to those there are."""
        self.listener.close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def requests(respond):
    """A behaviour: `respond(peer, connection, request)` for each request, until it returns False."""
    def behave(peer, connection):
        stream = connection.makefile("rb")
        while (request := read_request(stream)) is not None:
            peer.calls += 1
            if respond(peer, connection, request) is False:
                return
    return behave


def sends(make):
    """Answers each request with the bytes `make(request)` and keeps the connection."""
    return requests(lambda peer, connection, request: connection.sendall(make(request)))


def sends_and_closes(make):
    def respond(peer, connection, request):
        connection.sendall(make(request))
        return False
    return requests(respond)


def trickle(connection, data):
    for at in range(len(data)):
        connection.sendall(data[at:at + 1])
        time.sleep(TRICKLE)


def hang(peer, connection, request=None):
    """Says nothing until the other side goes."""
    connection.settimeout(60)
    connection.recv(1)
    return False


def reads_nothing(peer, connection):
    """Leaves what is sent to it in a small buffer."""
    time.sleep(60)


def silent(peer, connection):
    while connection.recv(65536):
        pass


def trickles_head(peer, connection, request):
    trickle(connection, answer(review(request)))


def trickles_body(peer, connection, request):
    whole = answer(review(request))
    cut = whole.index(b"\r\n\r\n") + 4
    connection.sendall(whole[:cut])
    trickle(connection, whole[cut:])


def resets(peer, connection, request):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def huge(size, valid):
    """An answer of `size` bytes, in pieces; white space and then a review, or zeros."""
    def respond(peer, connection, request):
        tail = review(request) if valid else b""
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                           f"{size + len(tail)}\r\n\r\n".encode())
        piece = (b" " if valid else b"\0") * (1 << 20)
        left = size
        while left > 0:
            connection.sendall(piece[:min(left, len(piece))])
            left -= len(piece)
        connection.sendall(tail)
    return requests(respond)


def endless(kind, piece):
    """An answer that never ends: `piece` again and again, chunked and of that Content-Encoding."""
    def respond(peer, connection, request):
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        connection.sendall((head + (f"Content-Encoding: {kind}\r\n" if kind else "") + "\r\n").encode())
        chunk = b"%x\r\n%s\r\n" % (len(piece), piece)
        while True:
            connection.sendall(chunk)
    return requests(respond)


def gzip_bomb():
    """2 MB that inflate to 2 GiB."""
    member = gzip.compress(b" " * (64 << 20))
    return sends(lambda request: answer(member * 32, "200 OK", "1.1", "application/json", "Content-Encoding: gzip"))


def trickles_gzip(peer, connection, request):
    body = gzip.compress(review(request))
    connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode())
    trickle(connection, body)


def chunked(*chunks, end=b"0\r\n\r\n"):
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + body + end


def plain_http(peer, connection):
    """Takes a ClientHello for a request, as a server without TLS does."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def no_tls(peer, connection):
    connection.recv(65536)
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
