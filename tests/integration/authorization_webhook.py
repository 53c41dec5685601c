#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Authorization by a server of others: --authorization-config with webhooks beside RBAC, and the flags of old.

    tests/integration/authorization_webhook.py --build build/release
"""

import contextlib
import hashlib
import http.client
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile

from process import CONFIGMAPS
from story import expect, run, serving, until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
import peers  # noqa: E402

WEBHOOK = {"timeout": "3s", "subjectAccessReviewVersion": "v1", "matchConditionSubjectAccessReviewVersion": "v1",
           "failurePolicy": "NoOpinion"}
RBAC = {"type": "RBAC", "name": "rbac"}


class Judge:
    """Answers each review as `says` tells: a status, or bytes that are sent instead of a review."""

    def __init__(self, certificates, says):
        self.says, self.asked, self.queries = says, [], set()
        self.peer = peers.Peer(peers.sends(self._judge), certificates.context("good"))

    def _judge(self, request):
        review = json.loads(request.body)
        self.queries.add(request.line.split()[1])
        self.asked.append(review)
        status = self.says(review["spec"])
        if isinstance(status, str):
            return peers.answer(b"ill", status)
        return peers.answer(json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"],
                                        "status": status}).encode(), "200 OK")


class Lab:
    """A folder with all the files, and what the configuration names in it."""

    def __init__(self, folder, certificates):
        self.files = pathlib.Path(folder)
        (self.files / "ca.crt").write_bytes(certificates.authority)
        (self.files / "tokens.csv").write_text('ann-token,ann,u1,"writers,team"\nbob-token,bob,u2\n')

    def kubeconfig(self, name, judge):
        path = self.files / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{judge.peer.port}/authorize",
                                                   "certificate-authority": "ca.crt"}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}]}))
        return str(path)

    def member(self, name, judge, **changes):
        webhook = {**WEBHOOK, **changes, "connectionInfo": {"type": "KubeConfigFile",
                                                            "kubeConfigFile": self.kubeconfig(name, judge)}}
        return {"type": "Webhook", "name": name, "webhook": webhook}

    def write(self, *members):
        path = self.files / "authorization.json"
        path.write_text(json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration",
                                    "authorizers": list(members)}))
        return f"--authorization-config={path}"

    @contextlib.contextmanager
    def serving(self, program, *flags):
        with serving(program, *flags, f"--token-auth-file={self.files / 'tokens.csv'}") as server:
            yield server


def call(server, who, method, path, body=None):
    context = ssl.create_default_context(cafile=server.folder / "pki/ca.crt")
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=30)
    connection.request(method, path, body and json.dumps(body),
                       {"Content-Type": "application/json", "Authorization": f"Bearer {who}-token"})
    answer = connection.getresponse()
    text = answer.read().decode()
    return answer.status, json.loads(text) if text.startswith("{") else text


def metrics(server):
    connection = server.connect()
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


@contextlib.contextmanager
def lab(certificates):
    with tempfile.TemporaryDirectory() as folder:
        yield Lab(folder, certificates)


def allows_and_denies(program, certificates):
    def says(spec):
        name = spec["resourceAttributes"].get("name")
        if name == "both":
            return {"allowed": True, "denied": True, "reason": "torn"}
        if name == "mistyped":
            return {"allowed": True, "denied": "true"}
        if name == "no":
            return {"allowed": False, "denied": True, "reason": "the house is closed"}
        return {"allowed": spec["user"] == "ann", "reason": "who are you?"}

    with lab(certificates) as files:
        judge = Judge(certificates, says)
        conditions = [{"expression": "has(request.resourceAttributes)"},
                      {"expression": "!request.groups.exists(g, g.startsWith('system:serviceaccounts'))"}]
        flag = files.write(files.member("judge", judge, matchConditions=conditions), RBAC)
        with files.serving(program, flag) as server:
            expect("ann", call(server, "ann", "GET", f"{CONFIGMAPS}?labelSelector=a%3Db,c&fieldSelector="
                                                     "metadata.name%3Dx")[0], 200)
            review = judge.asked[-1]
            expect("the kind", (review["kind"], review["apiVersion"]),
                   ("SubjectAccessReview", "authorization.k8s.io/v1"))
            expect("the question", review["spec"], {
                "resourceAttributes": {
                    "namespace": "default", "verb": "list", "version": "v1", "resource": "configmaps", "name": "x",
                    "fieldSelector": {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]},
                    "labelSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]},
                                                       {"key": "c", "operator": "Exists"}]}},
                "user": "ann", "groups": ["writers", "team", "system:authenticated"], "uid": "u1"})
            expect("the address", judge.queries, {"/authorize?timeout=3s"})
            count = len(judge.asked)
            call(server, "ann", "GET", f"{CONFIGMAPS}/y")
            call(server, "ann", "GET", f"{CONFIGMAPS}/y")
            expect("remembered", len(judge.asked), count + 1)
            status, answer = call(server, "bob", "GET", f"{CONFIGMAPS}/a")
            expect("bob", (status, answer["message"]), (403, (
                'configmaps "a" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the '
                'namespace "default": who are you?')))
            status, answer = call(server, "ann", "GET", f"{CONFIGMAPS}/no")
            expect("denied", (status, answer["message"].rpartition(": ")[2]), (403, "the house is closed"))
            status, answer = call(server, "ann", "GET", f"{CONFIGMAPS}/both")
            expect("both", (status, answer), (500, (
                f'Internal Server Error: "{CONFIGMAPS}/both": webhook subject access review returned both allow and '
                'deny response\n')))
            # As Go decodes it: a refusal of another type is no consent.
            status, answer = call(server, "ann", "GET", f"{CONFIGMAPS}/mistyped")
            expect("mistyped", (status, answer), (500, (
                f'Internal Server Error: "{CONFIGMAPS}/mistyped": json: cannot unmarshal string into Go struct field '
                'SubjectAccessReviewStatus.status.denied of type bool\n')))
            # Paths are none of its business; RBAC lets everybody see the version.
            count = len(judge.asked)
            expect("a path", call(server, "bob", "GET", "/version")[0], 200)
            expect("not asked", len(judge.asked), count)
            said = metrics(server)
            for line in ('apiserver_authorization_decisions_total{decision="allowed",name="judge",type="Webhook"} 3',
                         'apiserver_authorization_decisions_total{decision="allowed",name="rbac",type="RBAC"} 1',
                         'apiserver_authorization_decisions_total{decision="denied",name="judge",type="Webhook"} 2',
                         'apiserver_authorization_match_condition_exclusions_total{name="judge",type="Webhook"} 1'):
                expect(line, line in said, True)


def fails(program, certificates):
    with lab(certificates) as files:
        judge = Judge(certificates, lambda spec: "400 Bad Request")
        with files.serving(program, files.write(files.member("judge", judge), RBAC)) as server:
            expect("RBAC allows", call(server, "ann", "GET", "/version")[0], 200)
            status, text = call(server, "ann", "GET", CONFIGMAPS)
            expect("nobody allows", (status, text.startswith(f'Internal Server Error: "{CONFIGMAPS}": ')), (500, True))
        with files.serving(program, files.write(files.member("judge", judge, failurePolicy="Deny"), RBAC)) as server:
            expect("denied", call(server, "ann", "GET", "/version")[0], 500)
            expect("the administrator", server.call("GET", CONFIGMAPS)[0], 200)


def reloads(program, certificates):
    with lab(certificates) as files:
        judge = Judge(certificates, lambda spec: {"allowed": True})
        with files.serving(program, files.write(RBAC)) as server:
            expect("RBAC", call(server, "ann", "GET", CONFIGMAPS)[0], 403)
            files.write({"type": "Foo", "name": "foo"})
            files.write(files.member("judge", judge), RBAC)
            until("the webhook", lambda: call(server, "ann", "GET", CONFIGMAPS)[0] == 200)
            until("its metrics", lambda: all(text in metrics(server) for text in (
                'config_controller_automatic_reloads_total{apiserver_id_hash="sha256:', 'status="success"} 1',
                "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds{")))
            hashed = hashlib.sha256((files.files / "authorization.json").read_bytes()).hexdigest()
            expect("the hash of what is in force", f'hash="sha256:{hashed}"}} 1' in metrics(server), True)
            seen = lambda: (server.folder / "log").read_text().count("found new authorization config data")  # noqa: E731
            written, before = files.files / "authorization.json", seen()
            written.write_text(json.dumps(json.loads(written.read_text()), indent=4, sort_keys=True))  # it means the same
            until("it is read", lambda: seen() > before)
            files.write(files.member("judge", judge))  # RBAC may not go
            until("the complaint", lambda: "missing required types: [RBAC]" in (server.folder / "log").read_text())
            expect("its count", 'status="failure"} ' in metrics(server), True)
            expect("what means the same is not counted", 'status="success"} 1' in metrics(server), True)
            expect("as before", call(server, "ann", "GET", CONFIGMAPS)[0], 200)
            alone = {**json.loads(written.read_text()), "authorizers": [RBAC]}
            written.write_text(json.dumps(alone).replace("/", "\\/"))  # JSON that is no YAML
            until("RBAC alone", lambda: call(server, "ann", "GET", CONFIGMAPS)[0] == 403)


def flags_of_old(program, certificates):
    with lab(certificates) as files:
        judge = Judge(certificates, lambda spec: {"allowed": True})
        with files.serving(program, "--authorization-mode=RBAC,Webhook",
                           f"--authorization-webhook-config-file={files.kubeconfig('w', judge)}") as server:
            expect("ann", call(server, "ann", "GET", CONFIGMAPS)[0], 200)
        expect("the version", judge.asked[0]["apiVersion"], "authorization.k8s.io/v1beta1")
        expect("its groups", judge.asked[0]["spec"]["group"], ["writers", "team", "system:authenticated"])
        expect("the address", judge.queries, {"/authorize?timeout=30s"})


def policies_in_a_file(program, certificates):
    with lab(certificates) as files:
        policy = files.files / "policy.jsonl"
        policy.write_text(json.dumps({
            "apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy",
            "spec": {"user": "ann", "namespace": "default", "resource": "configmaps", "readonly": True}}) + "\n")
        for mode in ("--authorization-mode=ABAC", files.write({"type": "ABAC", "name": "abac"})):
            with files.serving(program, mode, f"--authorization-policy-file={policy}") as server:
                expect("ann", call(server, "ann", "GET", CONFIGMAPS)[0], 200)
                status, answer = call(server, "bob", "GET", CONFIGMAPS)
                expect("bob", (status, answer["message"].rpartition(": ")[2]), (403, "No policy matched."))


def refuses(program, certificates):
    with lab(certificates) as files:
        judge = Judge(certificates, lambda spec: {})
        rows = [
            ((), "authorizers: Required value: at least one authorization mode must be defined"),
            (({"type": "Foo", "name": "x"},), 'authorizers[0].type: Unsupported value: "Foo": supported values: "ABAC", '
             '"AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"'),
            ((RBAC, RBAC), 'authorizers[1].type: Duplicate value: "RBAC"'),
            (({"type": "RBAC", "name": "x"},), "expected name rbac for authorizer RBAC instead of x"),
            (({"type": "Webhook", "name": "x"},), "authorizers[0].webhook: Required value: required when type=Webhook"),
            ((files.member("x", judge, timeout="40s"),),
             'authorizers[0].timeout: Invalid value: "40s": must be > 0s and <= 30s'),
            ((files.member("x", judge, timeout="soon"),), 'time: invalid duration "soon"'),
            ((files.member("x", judge, failurePolicy="Foo"),),
             'authorizers[0].failurePolicy: Unsupported value: "Foo": supported values: "NoOpinion", "Deny"'),
            ((files.member("x", judge, matchConditions=[{"expression": "request.foo"}]),), "undefined field 'foo'"),
            ((files.member("x", judge, matchConditions=[{"expression": "request.user"}]),),
             'authorizers[0].matchConditions[0].expression: Invalid value: "request.user": must evaluate to bool but '
             'got string'),
            ((files.member("x", judge, foo=1),), 'strict decoding error: unknown field "authorizers[0].webhook.foo"'),
        ]
        for members, text in rows:
            said = subprocess.run([program, "serve", f"--data-dir={files.files}/data", "--store=memory",
                                   "--secure-port=0", files.write(*members)], capture_output=True, text=True, timeout=30)
            expect(f"{text}: {said.stderr}", (said.returncode, text in said.stderr), (2, True))
        said = subprocess.run([program, "serve", "--authorization-mode=RBAC", files.write(RBAC)], capture_output=True,
                              text=True, timeout=30)
        expect("both flags", "--authorization-config can not be specified when --authorization-mode or" in said.stderr,
               True)


if __name__ == "__main__":
    run("authorization_webhook", __doc__, [allows_and_denies, fails, reloads, flags_of_old, policies_in_a_file,
                                              refuses],
        peers.Certificates)
