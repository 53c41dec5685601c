#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Audit events that are sent to a server: in lists, one by one, again when they were not taken, and all of
them before the program ends.

    tests/integration/audit_webhook.py --build build/release
"""

import contextlib
import http.client
import json
import pathlib
import signal
import ssl
import sys
import tempfile

from process import CONFIGMAPS
from story import expect, run, serving, until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
import peers  # noqa: E402

POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [{omitted}]
rules:
- level: Metadata
  resources: [{{group: "", resources: [configmaps, pods/log]}}]
- level: None
"""


class Receiver:
    """Takes events, or refuses them while `ill`; a list with the event of `dislikes`, always."""

    def __init__(self, certificates, dislikes=None):
        self.lists, self.tokens, self.refused, self.ill, self.dislikes = [], set(), 0, False, dislikes
        self.peer = peers.Peer(peers.sends(self._take), certificates.context("good"))

    def _take(self, request):
        if self.ill:
            self.refused += 1
            return peers.answer(b"ill", "503 Service Unavailable")
        received = json.loads(request.body)
        expect("the list", (received["kind"], received["apiVersion"]), ("EventList", "audit.k8s.io/v1"))
        names = [event["objectRef"].get("name", "") for event in received["items"]]
        if self.dislikes in names:
            self.refused += 1
            return peers.answer(b"too large", "413 Request Entity Too Large")
        self.tokens.add(request.headers.get(b"authorization", b"").decode())
        self.lists.append(names)
        return peers.answer(b"", "200 OK")

    def names(self):
        return [name for names in self.lists for name in names]


@contextlib.contextmanager
def started(program, certificates, receiver, *flags, omitted="RequestReceived"):
    """With {folder} in the flags for the server's own."""
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder)
        (files / "policy.yaml").write_text(POLICY.format(omitted=omitted))
        (files / "ca.crt").write_bytes(certificates.authority)
        (files / "audit.kubeconfig").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{receiver.peer.port}/events",
                                                   "certificate-authority": "ca.crt"}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}]}))
        with serving(program, f"--audit-policy-file={files / 'policy.yaml'}",
                     f"--audit-webhook-config-file={files / 'audit.kubeconfig'}",
                     *(flag.format(folder=folder) for flag in flags), folder=folder) as server:
            yield server


def make(server, name):
    expect("a creation", server.call("POST", CONFIGMAPS, {"metadata": {"name": name}})[0], 201)


def metrics(server):
    connection = server.connect()
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def in_batches(program, certificates):
    receiver = Receiver(certificates)
    with started(program, certificates, receiver, "--audit-webhook-batch-max-size=5",
                 "--audit-webhook-batch-max-wait=1h") as server:
        for i in range(5):
            make(server, f"a{i}")
        until("the first list", lambda: receiver.lists)
        expect("the first list", receiver.lists, [[f"a{i}" for i in range(5)]])
        expect("the token", receiver.tokens, {"Bearer secret"})

        receiver.ill = True
        for i in range(5):
            make(server, f"b{i}")
        until("a refusal", lambda: receiver.refused)
        receiver.ill = False
        for i in range(5):
            make(server, f"c{i}")
        until("what was refused", lambda: len(receiver.names()) == 15)
        expect("all in order, in lists that are no longer", receiver.lists[1:], [[f"{x}{i}" for i in range(5)] for x in "bc"])

        make(server, "last")
        server.end(signal.SIGTERM)
        expect("the last one", receiver.names()[15:], ["last"])


def a_list_that_is_refused(program, certificates):
    """It is lost; what comes behind it is not."""
    receiver = Receiver(certificates, dislikes="a1")
    with started(program, certificates, receiver, "--audit-webhook-batch-max-size=2", "--audit-webhook-batch-max-wait=1h") as server:
        for i in range(4):
            make(server, f"a{i}")
        until("the second list", lambda: receiver.lists)
        expect("the lists", (receiver.refused, receiver.lists), (1, [["a2", "a3"]]))
        lost = 'apiserver_audit_error_total{plugin="webhook"} 2'
        until("the events that are lost are counted", lambda: lost in metrics(server))


def one_by_one(program, certificates):
    receiver = Receiver(certificates)
    with started(program, certificates, receiver, "--audit-webhook-mode=blocking",
                 "--audit-log-path={folder}/audit.log") as server:
        make(server, "one")
        make(server, "two")
        until("both", lambda: len(receiver.lists) == 2)
        expect("the lists", receiver.lists, [["one"], ["two"]])
        server.end(signal.SIGTERM)
        lines = (server.folder / "audit.log").read_text().splitlines()
        expect("the log beside it", [json.loads(line)["objectRef"]["name"] for line in lines], ["one", "two"])


def of_unknown_clients(program, certificates):
    """Of a client whose token is wrong only the refusal is told, whatever it asked for."""
    receiver = Receiver(certificates)
    with started(program, certificates, receiver, "--audit-webhook-mode=blocking", "--audit-log-path={folder}/audit.log", omitted="") as server:
        for verb, path in (("list", CONFIGMAPS), ("watch", f"{CONFIGMAPS}?watch=1")):
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=ssl._create_unverified_context(), timeout=30)
            connection.request("GET", path, headers={"Authorization": "Bearer wrong"})
            expect("the answer", connection.getresponse().status, 401)
            until("the event", (server.folder / "audit.log").read_text)
            event = json.loads((server.folder / "audit.log").read_text().splitlines()[-1])
            expect("the event", [event[name] for name in ("stage", "verb", "user", "responseStatus")],
                   ["ResponseStarted", verb, {}, {"metadata": {}, "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401}])
        expect("the number of events", len((server.folder / "audit.log").read_text().splitlines()), 2)


def of_long_running_requests(program, certificates):
    """What is long-running starts and completes, also a refusal; what is written since no form is accepted is not recorded."""
    receiver = Receiver(certificates)
    with started(program, certificates, receiver, "--audit-webhook-mode=blocking", "--audit-log-path={folder}/audit.log") as server:
        log = server.folder / "audit.log"
        pod = CONFIGMAPS.replace("configmaps", "pods/none")
        of_code = lambda code: {"metadata": {}, "code": code}
        for path, headers, stages, status in (
                (f"{CONFIGMAPS}?watch=1&timeoutSeconds=1", {}, ["ResponseStarted", "ResponseComplete"], of_code(200)),
                (f"{pod}/log?tailLines=x", {}, ["ResponseStarted", "ResponseComplete"],
                 {"metadata": {}, "status": "Failure", "message": 'strconv.ParseInt: parsing "x": invalid syntax', "reason": "BadRequest", "code": 400}),
                (CONFIGMAPS, {"Accept": "text/html"}, ["ResponseComplete"], of_code(406)),
                (CONFIGMAPS, {"Audit-ID": "x" * 100, "X-Forwarded-For": "1.2.3.4", "X-Real-Ip": "5.6.7.8"}, ["ResponseComplete"], of_code(200))):
            known = log.read_text().count("\n") if log.exists() else 0
            connection = server.connect()
            connection.request("GET", path, headers=headers)
            connection.getresponse().read()
            until(f"the events of {path}", lambda: log.exists() and log.read_text().count("\n") == known + len(stages))
            events = [json.loads(line) for line in log.read_text().splitlines()[known:]]
            expect(f"the stages of {path}", [event["stage"] for event in events], stages)
            expect(f"the status of {path}", [event["responseStatus"] for event in events], [status] * len(stages))
        expect("the id", events[0]["auditID"], "x" * 100)
        expect("the addresses", events[0]["sourceIPs"], ["1.2.3.4", "5.6.7.8", "127.0.0.1"])


def not_at_all(program, certificates):
    """Who cannot be noted is not served; but only when the request begins."""
    receiver = Receiver(certificates)
    with started(program, certificates, receiver, "--audit-webhook-mode=blocking-strict", omitted="") as server:
        make(server, "noted")
        receiver.ill = True
        path = f"{CONFIGMAPS}?fieldManager=<a>"
        connection = server.connect()
        connection.request("POST", path, json.dumps({"metadata": {"name": "unnoted"}}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        expect("the refusal", (answer.status, answer.headers["Content-Type"], answer.read().decode()),
               (500, "text/plain; charset=utf-8",
                f'Internal Server Error: "{CONFIGMAPS}?fieldManager=&lt;a&gt;": failed to store audit event\n'))
        receiver.ill = False
        expect("what was refused", server.call("GET", f"{CONFIGMAPS}/unnoted")[0], 404)
        expect("the events", [name for name in receiver.names() if name], ["noted", "unnoted", "unnoted"])

    receiver = Receiver(certificates)
    with started(program, certificates, receiver, "--audit-webhook-mode=blocking-strict") as server:
        receiver.ill = True
        make(server, "unnoted")


if __name__ == "__main__":
    run("audit_webhook", __doc__, [in_batches, a_list_that_is_refused, one_by_one, of_unknown_clients, of_long_running_requests, not_at_all], peers.Certificates)
