#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a server says to somebody who tries it for the first time and is stuck.

    tests/integration/newcomer.py --build build/release
"""

import pathlib
import re
import signal
import subprocess
import tempfile

from story import expect, fail, run, serving, until

HOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hook"},
    "webhooks": [{"name": "hook.example.com", "clientConfig": {"service": {"name": "hook", "namespace": "default"}},
                  "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
                  "sideEffects": "None", "admissionReviewVersions": ["v1"]}]}
MAP = "--webhook-service-map=default/hook:443=HOST:PORT"


def refused(server, name):
    """The message of a configmap that the webhook cannot judge."""
    status, answer = server.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})
    expect("the status", status, 500)
    return answer["message"]


def webhook_without_a_network(program, _):
    """A webhook that is named as a Service, as kubebuilder does: what is missing, and the flag that helps."""
    with serving(program) as server:
        log = server.folder / "log"
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        expect("the configuration", server.call("POST", path, HOOK)[0], 201)
        # Kubernetes' own message names no way out; the log does, once.
        for name in ("a", "b"):
            message = refused(server, name)
            if not message.endswith('service "hook" not found'):
                fail(f"no Service: {message}")
        hint = re.compile(rf"a Service that is to be called does not exist.*{re.escape(MAP)}")
        until("the hint in the log", lambda: hint.search(log.read_text()))
        expect("hints", len(hint.findall(log.read_text())), 1)
        service = {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443}]}}
        expect("the Service", server.call("POST", "/api/v1/namespaces/default/services", service)[0], 201)
        # Its address may be that of a foreign machine.
        message = refused(server, "c")
        if "is not called at its cluster IP" not in message or f"give {MAP} or --service-cluster-ip-range" not in message:
            fail(f"a cluster IP: {message}")


def loopback_by_default(program, _):
    """Without --bind-address nothing but this machine reaches the server; it says where it is and what comes next."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with open(folder / "said", "w") as said:
            process = subprocess.Popen([program, "serve", "--store=memory", "--secure-port=0", "--data-dir=data",
                                        "--ready-file=ready"], cwd=folder, stdout=said, stderr=said)
        try:
            until("the server is ready", lambda: (folder / "ready").exists() and (folder / "ready").read_text(), 60)
            port = int(re.fullmatch(r"https://127\.0\.0\.1:(\d+)\s*", (folder / "ready").read_text()).group(1))
            listening = set()
            for table in ("tcp", "tcp6"):
                rows = [row.split() for row in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
                listening |= {row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")}
            wanted = {f"0100007F:{port:04X}", f"00000000000000000000000001000000:{port:04X}"}
            if f"0100007F:{port:04X}" not in listening or not listening <= wanted:
                fail(f"it listens on {listening}, port {port}")
            until("the next command", lambda: "Ready. In another terminal:" in (folder / "said").read_text())
        finally:
            process.send_signal(signal.SIGTERM)
            expect("the exit code", process.wait(30), 0)


if __name__ == "__main__":
    run("newcomer", __doc__, [webhook_without_a_network, loopback_by_default])
