#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How webhooks beyond this machine are reached: through the proxy of the environment, and as whom: with
credentials that a program prints, with a token or a certificate.

    tests/integration/webhook_network.py --build build/release
"""

import base64
import json
import os
import pathlib
import re
import socket
import sys
import tempfile
import threading

from process import CONFIGMAPS
from story import expect, fail, run, serving

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
import peers  # noqa: E402

HOST = "hook.faults.svc"  # a name nobody can resolve: only the proxy knows the way
PLUGIN = """#!/bin/sh
# Prints a new token each time it is asked.
echo x >> {count}
printf %s "$KUBERNETES_EXEC_INFO" > {asked}
case "$KUBERNETES_EXEC_INFO" in
  *client.authentication.k8s.io/v1*) ;;
  *) exit 4 ;;
esac
test -e {broken} && exit 7
echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"'"$PREFIX$(wc -l < {count} | tr -d ' ')"'"}}}}'
"""


class Proxy:
    """Answers CONNECT; leads every name to `port` of this machine."""

    def __init__(self, port):
        self.asked, self.leads_to, self.refuses = [], port, False
        self.peer = peers.Peer(self._behave)
        self.port = self.peer.port

    def _behave(self, peer, connection):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        self.asked.append(head.split(b"\r\n")[0].decode())
        if self.refuses:
            connection.sendall(b"HTTP/1.1 403 Not From Here\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.leads_to)) as onward:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")

            def back():
                while data := onward.recv(65536):
                    connection.sendall(data)
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # the other direction has ended first
            threading.Thread(target=back, daemon=True).start()
            while data := connection.recv(65536):
                onward.sendall(data)


def configure(server, url, authority):
    group = "admissionregistration.k8s.io/v1"
    status, made = server.call("POST", f"/apis/{group}/validatingwebhookconfigurations", {
        "apiVersion": group, "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "far"}, "webhooks": [{
            "name": "far.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 5,
            "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]})
    expect("the configuration", (status, made.get("message")), (201, None))


def ask(server):
    status, made = server.call("POST", CONFIGMAPS + "?dryRun=All", {"metadata": {"name": "a"}})
    return "" if status == 201 else made["message"]


def through_a_proxy(program, certificates):
    hook = peers.Peer(peers.sends(lambda r: peers.answer(peers.review(r))), certificates.context("good"))
    proxy = Proxy(hook.port)
    environment = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": "elsewhere.example"}
    with serving(program, environment=environment) as server:
        configure(server, f"https://{HOST}/x", certificates.authority)
        for _ in range(3):
            expect("a call through the proxy", ask(server), "")
        expect("what the proxy was asked", set(proxy.asked), {f"CONNECT {HOST}:443 HTTP/1.1"})
        # Each I/O thread keeps a connection of its own, and there are two at least.
        expect("no more connections than I/O threads", len(proxy.asked) <= max(2, os.cpu_count()), True)
        hook.close()
        proxy.peer.close()


def past_an_unwilling_proxy(program, certificates):
    proxy = Proxy(1)
    proxy.refuses = True
    with serving(program, environment={"https_proxy": f"127.0.0.1:{proxy.port}"}) as server:
        configure(server, f"https://{HOST}/x", certificates.authority)
        expect("a refusal by the proxy", ask(server), 'Internal error occurred: failed calling webhook "far.example.com": '
               f'failed to call webhook: Post "https://{HOST}/x?timeout=5s": Not From Here')


def with_a_program(program, certificates):
    tokens, codes = [], []

    def respond(request):
        tokens.append(request.headers.get(b"authorization", b"").decode())
        if codes:
            return peers.answer(b"who?", codes.pop(), "1.1", "text/plain")
        return peers.answer(peers.review(request))
    hook = peers.Peer(peers.sends(respond), certificates.context("good"))
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder)
        (files / "plugin").write_text(PLUGIN.format(count=files / "count", broken=files / "broken", asked=files / "asked"))
        (files / "plugin").chmod(0o755)
        (files / "webhooks.kubeconfig").write_text(
            "apiVersion: v1\nkind: Config\nusers:\n- name: '*'\n  user:\n    exec:\n"
            "      apiVersion: client.authentication.k8s.io/v1\n      command: ./plugin\n      interactiveMode: Never\n"
            "      provideClusterInfo: true\n"
            "      env: [{name: PREFIX, value: token-}]\n")
        (files / "admission.yaml").write_text(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
            "- name: ValidatingAdmissionWebhook\n  configuration:\n    apiVersion: apiserver.config.k8s.io/v1\n"
            f"    kind: WebhookAdmissionConfiguration\n    kubeConfigFile: {files / 'webhooks.kubeconfig'}\n")
        with serving(program, f"--admission-control-config-file={files / 'admission.yaml'}") as server:
            configure(server, f"https://127.0.0.1:{hook.port}/", certificates.authority)
            for _ in range(3):
                expect("a call with a printed token", ask(server), "")
            expect("the tokens", tokens, ["Bearer token-1"] * 3)
            expect("what the program was told", json.loads((files / "asked").read_text())["spec"], {
                "cluster": {"server": f"https://127.0.0.1:{hook.port}", "config": None,
                            "certificate-authority-data": base64.b64encode(certificates.authority).decode()},
                "interactive": False})
            codes.append("401 Unauthorized")
            expect("a 401", ask(server), 'Internal error occurred: failed calling webhook "far.example.com": failed to call '
                   "webhook: the server has asked for the client to provide credentials")
            tokens.clear()
            expect("a call after a 401", ask(server), "")
            expect("the token after a 401", tokens, ["Bearer token-2"])
            codes.append("401 Unauthorized")
            ask(server)
            (files / "broken").write_text("")
            wanted = (r'Internal error occurred: failed calling webhook "far\.example\.com": failed to call webhook: Post '
                      rf'"https://127\.0\.0\.1:{hook.port}/\?timeout=5s": getting credentials: exec: executable \S+plugin failed '
                      "with exit code 7")
            if not re.fullmatch(wanted, told := ask(server)):
                fail(f"a broken program: {told}\n  wanted {wanted}")


if __name__ == "__main__":
    run("webhook_network", __doc__, [through_a_proxy, past_an_unwilling_proxy, with_a_program], peers.Certificates)
