#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a kubeconfig leads to is called by HTTP/2 if its server chooses it: audit, authentication, authorization, images.

    tests/integration/kubeconfig_http2.py --build build/release

The server is node's.
"""

import contextlib
import http.client
import json
import pathlib
import shutil
import ssl
import subprocess
import sys
import threading

from process import CONFIGMAPS
from story import expect, fail, run, serving, until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
import peers  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "harness/http2_webhooks.mjs"
PODS = "/api/v1/namespaces/default/pods"
AUDIT_POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}


class Webhooks:
    """node's server, and the requests that it has printed: (path, version of HTTP, number of the connection)."""

    def __init__(self, certificates):
        node = shutil.which("node") or fail("there is no node: install the package nodejs (tools/install_packages.sh check)")
        files = certificates.folder
        self.process = subprocess.Popen([node, PROGRAM, files / "good.crt", files / "peer.key"], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.requests = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.requests.append(tuple(line.split()))

    def kubeconfig(self, path):
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}/{path}", "certificate-authority": "ca.crt"}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}]})

    def close(self):
        self.process.kill()
        self.process.wait()


def flags_of(files, webhooks):
    for path in ("audit", "authentication", "authorization", "images"):
        (files / f"{path}.kubeconfig").write_text(webhooks.kubeconfig(path))
    (files / "policy.json").write_text(json.dumps(AUDIT_POLICY))
    (files / "admission.json").write_text(json.dumps({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [{"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": {
            "kubeConfigFile": str(files / "images.kubeconfig"), "allowTTL": 30, "denyTTL": 30, "retryBackoff": 500, "defaultAllow": False}}}]}))
    return [f"--audit-policy-file={files / 'policy.json'}", f"--audit-webhook-config-file={files / 'audit.kubeconfig'}",
            "--audit-webhook-mode=blocking", f"--authentication-token-webhook-config-file={files / 'authentication.kubeconfig'}",
            "--authentication-token-webhook-cache-ttl=0s", "--authorization-mode=Webhook",
            f"--authorization-webhook-config-file={files / 'authorization.kubeconfig'}", "--authorization-webhook-cache-authorized-ttl=0s",
            "--enable-admission-plugins=ImagePolicyWebhook", "--disable-admission-plugins=ServiceAccount",
            f"--admission-control-config-file={files / 'admission.json'}"]


def by_http2(program, certificates):
    with contextlib.ExitStack() as stack:
        webhooks = Webhooks(certificates)
        stack.callback(webhooks.close)
        server = stack.enter_context(serving(program, *flags_of(certificates.folder, webhooks)))

        def call(method, path, body=None, token="known"):
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=ssl._create_unverified_context(), timeout=30)
            connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
            return connection.getresponse().status

        expect("an unknown token", call("GET", CONFIGMAPS, token="unknown"), 401)
        for i in range(3):
            expect("a ConfigMap", call("POST", CONFIGMAPS, {"metadata": {"name": f"a{i}"}}), 201)
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "refused"}]}}
        expect("an image that is refused", call("POST", PODS, pod), 403)
        wanted = {"/audit": 4, "/authentication": 2, "/authorization": 4, "/images": 1}
        until("all requests", lambda: all(sum(at == path for at, *_ in webhooks.requests) >= count for path, count in wanted.items()))
        expect("the versions of HTTP", {version for _, version, _ in webhooks.requests}, {"2.0"})


if __name__ == "__main__":
    run("kubeconfig_http2", __doc__, [by_http2], peers.Certificates)
