#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what controller-runtime's envtest does with $KUBEBUILDER_ASSETS: its looks at --help, its command
lines, its certificates, its health checks, its users, a definition, a webhook of this machine, its end.

    tests/integration/envtest.py --build build/release

The command lines and files are those of controller-runtime, pkg/internal/testing (controlplane, process).
"""

import base64
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from story import expect, fail, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
from ports import free_port  # noqa: E402

KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class TinyCa:
    """A CA as envtest makes one, in files."""

    def __init__(self, folder, name):
        self.folder, self.certificate, self.key = folder, folder / f"{name}.crt", folder / f"{name}.key"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "7",
                      "-subj", f"/O=envtest/CN={name}-environment", "-keyout", self.key, "-out", self.certificate)

    def issue(self, certificate, key, subject, extensions):
        request, config = certificate.with_suffix(".csr"), certificate.with_suffix(".ext")
        config.write_text(extensions + "\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", subject,
                      "-keyout", key, "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                      "-days", "7", "-extfile", config, "-out", certificate)

    @staticmethod
    def _openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def has_flag(program, flag):
    """process.State.CheckFlag."""
    shown = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=30)
    expect(f"the exit code of {program} --help", shown.returncode, 0)
    return re.search(rf"^\s*--{flag}\b", shown.stdout + shown.stderr, re.M) is not None


def start(words, url, cwd):
    """process.State.Start: the health check is asked every 100 ms, for 20 s at most."""
    process = subprocess.Popen(words, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    context, end = ssl._create_unverified_context(), time.monotonic() + 20
    while time.monotonic() < end:
        if process.poll() is not None:
            fail(f"{words} ended with {process.returncode}: {process.stderr.read().decode()[-1000:]}")
        try:
            if urllib.request.urlopen(url, context=context, timeout=5).status == 200:
                return process
        except OSError:
            time.sleep(0.1)
    fail(f"{words[0]} is not healthy after 20 s")


def stop(process):
    process.send_signal(signal.SIGTERM)
    expect("the exit code", process.wait(20), 0)
    process.stderr.close()


class ControlPlane:
    """controlplane.ControlPlane, from Start() to Stop()."""

    def __init__(self, assets, folder):
        self.folder, self.work = folder, folder / "work"
        self.work.mkdir()
        self.certs = folder / "k8s_test_framework_1"
        self.certs.mkdir()
        data = folder / "k8s_test_framework_2"
        data.mkdir()
        client, peer = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        self.port = free_port()
        etcd = [f"{assets}/etcd", f"--advertise-client-urls={client}", f"--data-dir={data}", f"--listen-client-urls={client}",
                f"--listen-peer-urls={peer}"]
        if has_flag(etcd[0], "unsafe-no-fsync"):
            etcd.append("--unsafe-no-fsync=true")
        self.etcd = start(etcd, f"{client}/health", self.work)
        self.serving = TinyCa(self.certs, "serving-ca")
        self.serving.issue(self.certs / "apiserver.crt", self.certs / "apiserver.key", "/CN=localhost",
                           "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth")
        TinyCa(self.certs, "sa-signer")
        self.users = TinyCa(folder, "users")
        (self.certs / "client-cert-auth-ca.crt").write_bytes(self.users.certificate.read_bytes())
        server = [f"{assets}/kube-apiserver", "--allow-privileged=true", "--authorization-mode=RBAC",
                  "--bind-address=127.0.0.1", f"--cert-dir={self.certs}",
                  f"--client-ca-file={self.certs}/client-cert-auth-ca.crt", "--disable-admission-plugins=ServiceAccount",
                  f"--etcd-servers={client}", f"--secure-port={self.port}",
                  f"--service-account-issuer=https://127.0.0.1:{self.port}/",
                  f"--service-account-key-file={self.certs}/sa-signer.crt",
                  f"--service-account-signing-key-file={self.certs}/sa-signer.key", "--service-cluster-ip-range=10.0.0.0/24"]
        if has_flag(server[0], "insecure-port"):
            server.append("--insecure-port=0")
        self.files = {path.name: path.read_bytes() for path in self.certs.iterdir()}
        self.server = start(server, f"https://127.0.0.1:{self.port}/healthz", self.work)

    def user(self, name, *groups):
        """AddUser: a client of a user with its own certificate, which trusts the CA of envtest alone."""
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        self.users.issue(certificate, key, subject, "extendedKeyUsage=clientAuth")
        context = ssl.create_default_context(cafile=self.serving.certificate)
        context.load_cert_chain(certificate, key)

        def call(method, path, body=None):
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=20)
            connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            status, document = answer.status, json.loads(answer.read())
            connection.close()
            return status, document
        return call

    def stop(self):
        stop(self.server)
        stop(self.etcd)


def definition():
    return {"metadata": {"name": "guests.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "guests", "kind": "Guest"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {"name": {"type": "string"}}}}}}}]}}


def serve_webhook(folder):
    """A webhook of the operator under test, with local serving certificates: refuses guests named nobody."""
    authority = TinyCa(folder, "webhook-ca")
    certificate, key = folder / "tls.crt", folder / "tls.key"
    authority.issue(certificate, key, "/CN=localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = review["request"]
            allowed = request["object"]["spec"]["name"] != "nobody"
            body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": {
                "uid": request["uid"], "allowed": allowed, "status": {"code": 403, "message": "the guest needs a name"}}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, authority


def install_definitions(admin):
    """InstallCRDs: creates them, and waits until discovery shows their kinds."""
    status, answer = admin("POST", KINDS, definition())
    expect(f"creating the definition ({answer.get('message')})", status, 201)
    end = time.monotonic() + 10
    while True:
        status, answer = admin("GET", "/apis/example.com/v1")
        if status == 200 and any(resource["name"] == "guests" for resource in answer["resources"]):
            return
        if time.monotonic() > end:
            fail("discovery does not show the kind")
        time.sleep(0.1)


def finalize_namespace(admin):
    """A suite ends its namespaces itself, with the version that the answer to its DELETE has: no controller comes before."""
    space = "/api/v1/namespaces/one"
    expect("a namespace", admin("POST", "/api/v1/namespaces", {"metadata": {"name": "one"}})[0], 201)
    status, answer = admin("DELETE", space)
    expect("deleting it", (status, answer["status"]["phase"]), (200, "Terminating"))
    answer["spec"]["finalizers"] = []
    status, answer = admin("PUT", f"{space}/finalize", answer)
    expect(f"finalizing it ({answer.get('message')})", status, 200)
    expect("the namespace", admin("GET", space)[0], 404)


def suite(program, _):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = subprocess.run([program, "envtest-assets", folder / "assets"], capture_output=True, text=True, timeout=30)
        expect("the folder that envtest-assets prints", made.stdout.strip(), str(folder / "assets"))
        plane = ControlPlane(made.stdout.strip(), folder)
        try:
            admin, guest = plane.user("default", "system:masters"), plane.user("guest")
            install_definitions(admin)
            hook, authority = serve_webhook(folder)
            status, answer = admin("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
                "metadata": {"name": "guests"}, "webhooks": [{
                    "name": "guests.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                    "clientConfig": {"url": f"https://127.0.0.1:{hook.server_port}/validate",
                                     "caBundle": base64.b64encode(authority.certificate.read_bytes()).decode()},
                    "rules": [{"operations": ["CREATE"], "apiGroups": ["example.com"], "apiVersions": ["v1"],
                               "resources": ["guests"]}]}]})
            expect(f"installing the webhook ({answer.get('message')})", status, 201)

            def create(name):
                return admin("POST", "/apis/example.com/v1/namespaces/default/guests",
                             {"apiVersion": "example.com/v1", "kind": "Guest", "metadata": {"name": name}, "spec": {"name": name}})
            expect("a guest with a name", create("somebody")[0], 201)
            status, answer = create("nobody")
            expect("a guest without one", (status, answer["message"]),
                   (403, 'admission webhook "guests.example.com" denied the request: the guest needs a name'))
            expect("the right of another user", guest("GET", "/api/v1/namespaces/default/secrets")[0], 403)
            # A token of a service account is signed by the key of envtest; no controller has made an account.
            accounts = "/api/v1/namespaces/default/serviceaccounts"
            expect("the account that a controller would make", admin("GET", f"{accounts}/default")[0], 404)
            expect("an account", admin("POST", accounts, {"metadata": {"name": "manager"}})[0], 201)
            expect("its token", admin("POST", f"{accounts}/manager/token", {"spec": {}})[0], 201)
            finalize_namespace(admin)
            hook.shutdown()
        finally:
            plane.stop()
        expect("the files of the certificate directory", {path.name: path.read_bytes() for path in plane.certs.iterdir()},
               plane.files)
        expect("files where the suite was started", list(plane.work.iterdir()), [])


def another_kubectl(program, _):
    """The link kubectl leads to the machine's own; without one it says what is missing."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        own = folder / "bin/kubectl"
        own.parent.mkdir()
        own.write_text("#!/bin/sh\necho its own\n")
        own.chmod(0o755)
        for path, expected in ((f"{own.parent}:/usr/bin:/bin", "its own\n"), (str(folder), "")):
            subprocess.run([program, "envtest-assets", folder / "assets"], env={**os.environ, "PATH": path}, check=True,
                           capture_output=True, timeout=30)
            done = subprocess.run([folder / "assets/kubectl"], capture_output=True, text=True, timeout=30)
            expect("what kubectl prints", done.stdout, expected)
        if "which is no kubectl: install kubectl" not in done.stderr:
            fail(done.stderr)
        # A file that is there is not replaced.
        (folder / "assets/etcd").unlink()
        (folder / "assets/etcd").write_text("mine")
        done = subprocess.run([program, "envtest-assets", folder / "assets"], capture_output=True, text=True, timeout=30)
        expect("the exit code", (done.returncode, (folder / "assets/etcd").read_text()), (2, "mine"))


if __name__ == "__main__":
    run("envtest", __doc__, [suite, another_kubectl])
