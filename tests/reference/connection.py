# SPDX-License-Identifier: Apache-2.0

"""A connection that asks many questions at once: requests are written one behind the other and their
answers read as they come (HTTP/1.1 pipelining)."""

import json
import socket
import ssl
import urllib.parse


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
        answers = []
        while len(answers) < len(requests):
            if self.socket is None:
                self.open()
            rest = requests[len(answers):]
            try:
                self.socket.sendall(b"".join(self.encode(*request) for request in rest))
                for method, _, _, _ in rest:
                    code, text, ended = self.read(method)
                    answers.append((code, text))
                    if ended:
                        self.close()
                        break
            except (OSError, EOFError):
                # What was cut off before its answer is asked again.
                self.close()
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
        fields = {}
        while line := self.line():
            name, value = line.split(":", 1)
            fields[name.lower()] = value.strip()
        ended = fields.get("connection", "") == "close"
        if method == "HEAD" or code in (204, 304):
            return code, "", ended
        if fields.get("transfer-encoding") == "chunked":
            return self.read_chunks(code, ended)
        if "content-length" in fields:
            return code, self.take(int(fields["content-length"])).decode("utf-8", "replace"), ended
        return code, "", True

    def read_chunks(self, code, ended):
        body = b""
        if code == 200 and b"\r\n" not in self.buffer:
            # A watch that has nothing to tell: its head is the answer.
            self.socket.settimeout(0.3)
            try:
                self.more()
            except TimeoutError:
                return code, "", True
            finally:
                self.socket.settimeout(60)
        while size := int(self.line().split(";")[0], 16):
            body += self.take(size)
            self.line()
            if body.startswith(b'{"type":'):
                return code, "", True
        self.line()
        return code, body.decode("utf-8", "replace"), ended
