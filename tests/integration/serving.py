#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the program serves: certificates by name, cipher suites, versions of TLS, certificates that change
on disk, front proxies, and the time between being asked to stop and stopping.

    tests/integration/serving.py --build build/release
"""

import json
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import time

from story import expect, fail, run, serving, until

WRONG = [
    (["--tls-min-version=VersionTLS9"], 'unknown tls version "VersionTLS9"'),
    (["--tls-cipher-suites=TLS_WITH_LOVE"], "Cipher suite TLS_WITH_LOVE not supported or doesn't exist"),
    (["--tls-cipher-suites=TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"],
     "Cipher suite TLS_DHE_RSA_WITH_AES_128_GCM_SHA256 not supported or doesn't exist"),
    (["--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA", "--disable-http2-serving"], "OpenSSL has none of the cipher suites TLS_RSA_WITH_RC4_128_SHA"),
    (["--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"],
     "error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required AES_128_GCM_SHA256 cipher (need at least one of "
     "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)"),
    (["--tls-curve-preferences=23, 24"], 'invalid argument "23, 24" for "--tls-curve-preferences" flag: '
                                         'strconv.ParseInt: parsing " 24": invalid syntax'),
    (["--tls-curve-preferences=23", "--tls-curve-preferences=0x17"], "duplicate curve preference 23"),
    (["--tls-curve-preferences=70000"], "curve preference 70000 is out of range (must be 1-65535)"),
    (["--tls-curve-preferences=9999"], "curve preference 9999 is not supported by the current Go version"),
    (["--tls-curve-preferences=4588"], "OpenSSL knows no curve of the preferences: 23, 24, 25 and 29 it does"),
    (["--goaway-chance=0.5"], "--goaway-chance can not be less than 0 or greater than 0.02"),
    (["--service-account-signing-endpoint=@a", "--service-account-key-file=/dev/null"],
     "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with "
     "`--service-account-signing-endpoint` (They are mutually exclusive)"),
    (["--service-account-signing-endpoint=@a"], "--service-account-signing-endpoint is not supported"),
    (["--tls-sni-cert-key=a.crt"], 'invalid argument "a.crt" for "--tls-sni-cert-key" flag: '
                                   "expected comma separated certificate and key file paths"),
    (["--tls-sni-cert-key=a.crt,a.key:"], "empty names list is not allowed"),
    (["--tls-sni-cert-key=/none.crt,/none.key"], "failed to load SNI cert and key: open /none.crt: no such file or directory"),
    (["--requestheader-client-ca-file=/none.crt"], "--requestheader-client-ca-file: open /none.crt: no such file or directory"),
]


class Pki:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, name):
        return str(self.folder / name)

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def authority(self, name):
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                      "-days", "2", "-keyout", f"{name}.key", "-out", f"{name}.crt")

    def issue(self, authority, file, name, extension):
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                      "-keyout", f"{file}.key.new", "-out", "x.csr")
        (self.folder / "x.ext").write_text(extension)
        self._openssl("x509", "-req", "-in", "x.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key",
                      "-CAcreateserial", "-days", "1", "-extfile", "x.ext", "-out", f"{file}.crt.new")
        for kind in ("key", "crt"):
            (self.folder / f"{file}.{kind}.new").rename(self.folder / f"{file}.{kind}")


def handshake(port, name=None, adjust=lambda context: None):
    """The subject's common name of the certificate that is served, and the cipher."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    adjust(context)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname=name) as connection:
            der = connection.getpeercert(True)
            text = subprocess.run(["openssl", "x509", "-inform", "DER", "-noout", "-subject", "-nameopt", "multiline"],
                                  input=der, capture_output=True, check=True).stdout.decode()
            return text.rsplit("= ", 1)[1].strip(), connection.cipher()[0]


def refuses(port, adjust):
    try:
        handshake(port, None, adjust)
    except (ssl.SSLError, ConnectionError):
        return
    fail("a handshake succeeded that should not")


def wrong_flags(program, _):
    for flags, text in WRONG:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([program, "serve", f"--data-dir={folder}", "--store=memory", "--secure-port=0",
                                   "--bind-address=127.0.0.1", *flags], capture_output=True, text=True, timeout=60)
        if text not in done.stderr or done.returncode != 2:
            fail(f"{flags}: exit code {done.returncode}, {done.stderr!r}, not {text!r}")


def certificates(program, pki):
    """By name; new ones when the files have changed."""
    pki.authority("ca")
    for name in ("main", "shop", "office"):
        pki.issue("ca", name, name, f"subjectAltName=DNS:{name}.example\n")
    with serving(program, f"--tls-cert-file={pki.path('main.crt')}",
                 f"--tls-private-key-file={pki.path('main.key')}",
                 f"--tls-sni-cert-key={pki.path('shop.crt')},{pki.path('shop.key')}",
                 f"--tls-sni-cert-key={pki.path('office.crt')},{pki.path('office.key')}:*.office.example,desk",
                 "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,"
                 "TLS_RSA_WITH_RC4_128_SHA", "--disable-http2-serving") as server:
        for name, wanted in (("shop.example", "shop"), ("SHOP.example", "shop"), ("a.office.example", "office"),
                             ("desk", "office"), ("other.example", "main"), (None, "main"), ("office.example", "main")):
            expect(f"the certificate for {name}", handshake(server.port, name)[0], wanted)

        def old(context):
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        expect("the cipher", handshake(server.port, None, old)[1], "ECDHE-ECDSA-AES256-GCM-SHA384")
        refuses(server.port, lambda context: (old(context), context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")))
        expect("the cipher of an old name", handshake(server.port, None, lambda context: (
            old(context), context.set_ciphers("ECDHE-ECDSA-CHACHA20-POLY1305")))[1], "ECDHE-ECDSA-CHACHA20-POLY1305")

        pki.issue("ca", "main", "renewed", "subjectAltName=DNS:main.example\n")
        pki.issue("ca", "shop", "new-shop", "subjectAltName=DNS:shop.example\n")
        until("the changed certificates",
              lambda: (handshake(server.port)[0], handshake(server.port, "shop.example")[0]) == ("renewed", "new-shop"))


def suites_of_tls_1_3(program, _):
    """A list of cipher suites limits TLS 1.2 alone; with none of TLS 1.2 in it there is no TLS 1.2."""
    with serving(program, "--tls-cipher-suites=TLS_AES_128_GCM_SHA256", "--disable-http2-serving") as server:
        expect("the cipher", handshake(server.port)[1], "TLS_AES_256_GCM_SHA384")

        def old(context):
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        refuses(server.port, old)
    with serving(program, "--tls-cipher-suites=TLS_AES_128_GCM_SHA256", "--tls-min-version=VersionTLS13"):
        pass


def newest_only(program, _):
    with serving(program, "--tls-min-version=VersionTLS13") as server:
        def old(context):
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        refuses(server.port, old)
        handshake(server.port)


def curves(program, _):
    with serving(program, "--tls-curve-preferences=24,4588") as server:
        handshake(server.port, None, lambda context: context.set_ecdh_curve("secp384r1"))
        refuses(server.port, lambda context: context.set_ecdh_curve("prime256v1"))


def protocols(program, _):
    for flags, wanted in (([], "h2"), (["--disable-http2-serving"], "http/1.1")):
        with serving(program, *flags) as server:
            context = ssl.create_default_context(cafile=server.folder / "pki/ca.crt")
            context.set_alpn_protocols(["h2", "http/1.1"])
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
                with context.wrap_socket(plain, server_hostname="localhost") as connection:
                    expect(f"the protocol with {flags}", connection.selected_alpn_protocol(), wanted)


def front_proxies(program, pki):
    pki.authority("proxies")
    pki.issue("proxies", "proxy", "proxy", "extendedKeyUsage=clientAuth\n")
    pki.issue("proxies", "stranger", "stranger", "extendedKeyUsage=clientAuth\n")
    with serving(program, f"--requestheader-client-ca-file={pki.path('proxies.crt')}",
                 "--requestheader-allowed-names=proxy", "--requestheader-username-headers=X-Remote-User",
                 "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-") as server:
        def who(certificate, headers):
            context = ssl.create_default_context(cafile=server.folder / "pki/ca.crt")
            context.load_cert_chain(pki.path(f"{certificate}.crt"), pki.path(f"{certificate}.key"))
            server.context = context
            connection = server.connect()
            connection.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                               {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        status, review = who("proxy", {"X-Remote-User": "anna", "X-Remote-Group": "system:masters", "X-Remote-Extra-Scope": "s"})
        expect("the answer to a proxy", status, 201)
        user = review["status"]["userInfo"]
        expect("the user", user["username"], "anna")
        expect("the groups", user["groups"], ["system:masters", "system:authenticated"])
        expect("the extra", user["extra"], {"scope": ["s"]})
        expect("the answer to a stranger", who("stranger", {"X-Remote-User": "anna"})[0], 401)


def client_authorities(program, pki):
    """What extension servers are to believe: the CA of --client-ca-file, then the server's own."""
    pki.authority("clients")
    with serving(program, f"--client-ca-file={pki.path('clients.crt')}") as server:
        _, config = server.call("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
        theirs, own = pathlib.Path(pki.path("clients.crt")).read_text(), (server.folder / "pki/ca.crt").read_text()
        expect("the authorities", config["data"]["client-ca-file"].split(), (theirs + own).split())


def shutdown_delay(program, _):
    """While it waits it serves, and says that it will not for long."""
    with serving(program, "--shutdown-delay-duration=2s") as server:
        asked = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        ready = "ok"
        while ready == "ok":
            if time.monotonic() > asked + 1.5:
                fail("/readyz says ok of a server that is stopping")
            connection = server.connect()
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            ready = answer.read().decode()
        expect("the code of /readyz", answer.status, 500)
        status, _ = server.call("GET", "/api/v1/namespaces")
        expect("a request during the delay", status, 200)
        expect("the exit code", server.process.wait(30), 0)
        if not 2 <= time.monotonic() - asked < 20:
            fail(f"stopped after {time.monotonic() - asked:.1f} s")


if __name__ == "__main__":
    run("serving", __doc__, [wrong_flags, certificates, suites_of_tls_1_3, newest_only, curves, protocols, front_proxies, client_authorities,
                             shutdown_delay], Pki)
