# SPDX-License-Identifier: Apache-2.0

"""A connection that asks many questions at once: requests are written one behind the other and their
answers read as they come (HTTP/1.1 pipelining)."""

import json
import socket
import ssl
import urllib.parse

import cbor


class Connection:
    def __init__(self, url, token=None, certificate=None):
        """`certificate`: the files of a client's certificate and of its key."""
        self.place = urllib.parse.urlsplit(url)
        self.token = token
        self.certificate = certificate
        self.socket = None
        self.buffer = b""

    def open(self):
        context = ssl._create_unverified_context()
        if self.certificate:
            context.load_cert_chain(*self.certificate)
        plain = socket.create_connection((self.place.hostname, self.place.port), timeout=60)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain)
        self.buffer = b""

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def ask(self, requests):
        """[(method, path, body or None, headers)] -> [(code, text)]."""
        return [(code, text) for code, text, _ in self.exchange(requests)]

    def exchange(self, requests):
        """As ask(), with the fields of the answers' heads: [(code, text, [(name in lower case, value)])]."""
        self.send(requests)
        return self.receive(requests)

    def send(self, requests):
        """Writes the requests; receive() of the same ones reads their answers. Not more at once than sockets hold."""
        try:
            if self.socket is None:
                self.open()
            self.socket.sendall(b"".join(self.encode(*request) for request in requests))
        except OSError:
            self.close()

    def receive(self, requests):
        answers, failures = [], 0
        while len(answers) < len(requests):
            rest = requests[len(answers):]
            try:
                if self.socket is None:
                    # What was cut off before its answer is asked again.
                    self.open()
                    self.socket.sendall(b"".join(self.encode(*request) for request in rest))
                for method, _, _, _ in rest:
                    code, text, fields, ended = self.read(method)
                    answers.append((code, text, fields))
                    failures = 0
                    if ended:
                        self.close()
                        break
            except (OSError, EOFError, ValueError) as error:
                self.close()
                failures += 1
                if failures == 3 or isinstance(error, TimeoutError):
                    answers.append((0, f"no answer: {type(error).__name__}", []))
                    failures = 0
        return answers

    def encode(self, method, path, body, headers):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.place.netloc}"]
        if self.token and "Authorization" not in headers:
            lines.append(f"Authorization: Bearer {self.token}")
        payload = b""
        if body is not None:
            payload = body if isinstance(body, bytes) else json.dumps(body).encode()
            lines.append(f"Content-Length: {len(payload)}")
            if "Content-Type" not in headers:
                lines.append("Content-Type: application/json")
        for name, value in headers.items():
            lines.extend(f"{name}: {one}" for one in (value if isinstance(value, list) else [value]))
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + payload

    def more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError
        self.buffer += data

    def take(self, size):
        while len(self.buffer) < size:
            self.more()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode("latin-1")

    def read(self, method):
        code = int(self.line().split()[1])
        lines = []
        while line := self.line():
            name, value = line.split(":", 1)
            lines.append((name.lower(), value.strip()))
        fields = dict(lines)
        ended = fields.get("connection", "") == "close"
        if method == "HEAD" or code in (204, 304):
            return code, "", lines, ended
        if fields.get("transfer-encoding") == "chunked":
            body, cut = self.read_chunks(code)
            return code, text_of(body, fields), lines, ended or cut
        if "content-length" in fields:
            return code, text_of(self.take(int(fields["content-length"])), fields), lines, ended
        return code, "", lines, True

    def read_chunks(self, code):
        """(body, whether the connection is to be closed)"""
        body = b""
        if code == 200 and b"\r\n" not in self.buffer:
            # A watch that has nothing to tell: its head is the answer.
            self.socket.settimeout(0.3)
            try:
                self.more()
            except TimeoutError:
                return b"", True
            finally:
                self.socket.settimeout(60)
        while size := int(self.line().split(";")[0], 16):
            body += self.take(size)
            self.line()
            if body.startswith(b'{"type":'):
                return b"", True
        self.line()
        return body, False


def text_of(body, fields):
    """The body as text; CBOR as JSON, its keys sorted, since kube-apiserver writes the keys of a map in no order."""
    if body and fields.get("content-type") == "application/cbor":
        return json.dumps(plain(cbor.decode(body)[0].content), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return body.decode("utf-8", "replace")


def plain(item):
    """A decoded item as JSON can hold it; names and texts are byte strings."""
    if isinstance(item, dict):
        return {plain(name): plain(value) for name, value in item.items()}
    if isinstance(item, list):
        return [plain(element) for element in item]
    if isinstance(item, cbor.Tag):
        return f"tag {item.number}: {plain(item.content)}"
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else item
