# SPDX-License-Identifier: Apache-2.0

"""An OpenID Connect issuer on the loopback, and the tokens it signs: with the openssl program."""

import base64
import functools
import http.server
import json
import pathlib
import ssl
import subprocess
import threading

CURVES = {"P-256": ("prime256v1", 32), "P-384": ("secp384r1", 48), "P-521": ("secp521r1", 66)}


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, check=True, capture_output=True).stdout


class Key:
    """A private key; `kind` is RSA or the name of a curve. "rsa-1024" has that many bits."""

    def __init__(self, folder, kid, kind="RSA"):
        self.kid, self.kind, self.path = kid, kind, pathlib.Path(folder) / f"{kid}.pem"
        if kind == "RSA":
            openssl("genrsa", "-out", self.path, kid.partition("-")[2] or 2048)
        else:
            openssl("ecparam", "-name", CURVES[kind][0], "-genkey", "-noout", "-out", self.path)

    @functools.cached_property
    def jwk(self):
        head = {"kid": self.kid, "use": "sig"}
        if self.kind == "RSA":
            modulus = openssl("rsa", "-in", self.path, "-noout", "-modulus").decode().strip().partition("=")[2]
            return {**head, "kty": "RSA", "n": base64url(bytes.fromhex(modulus)), "e": "AQAB"}
        size = CURVES[self.kind][1]
        point = openssl("ec", "-in", self.path, "-pubout", "-outform", "DER")[-2 * size:]
        return {**head, "kty": "EC", "crv": self.kind, "x": base64url(point[:size]), "y": base64url(point[size:])}

    def sign(self, algorithm, text):
        arguments = ["dgst", f"-sha{algorithm[2:]}", "-sign", self.path]
        if algorithm.startswith("PS"):
            arguments += ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]
        signature = openssl(*arguments, data=text)
        return signature if self.kind == "RSA" else self._fixed(signature)

    def _fixed(self, der):
        """The two numbers of a signature, each of the curve's width."""
        size, at, out = CURVES[self.kind][1], 2 if der[1] < 128 else 3, b""
        for _ in range(2):
            length = der[at + 1]
            out += der[at + 2:at + 2 + length].lstrip(b"\0").rjust(size, b"\0")
            at += 2 + length
        return out


def token(key, claims, algorithm="RS256", header=None):
    """`header` replaces members of the usual one; None leaves one out."""
    head = {"alg": algorithm, "kid": key.kid, **(header or {})}
    head = {name: value for name, value in head.items() if value is not None}
    payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    text = f"{base64url(json.dumps(head).encode())}.{base64url(payload)}"
    return f"{text}.{base64url(key.sign(algorithm, text.encode()))}"


class Issuer:
    """Serves issuers below any path: `documents` and `key_sets` may hold answers for a path, (status, text)."""

    def __init__(self, certificate, key, keys):
        self.keys, self.documents, self.key_sets, self.asked, self.headers = keys, {}, {}, [], {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.asked.append(self.path)
                status, text = outer.answer(self.path)
                body = text.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **outer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path):
        place, _, rest = path.partition("/.well-known/")
        if rest == "openid-configuration":
            return self.documents.get(place) or (200, json.dumps(
                {"issuer": self.url + place, "jwks_uri": f"{self.url}{place}/keys"}))
        if path.endswith("/keys"):
            return self.key_sets.get(path[:-5]) or (200, json.dumps({"keys": [key.jwk for key in self.keys]}))
        return 404, "not here"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
