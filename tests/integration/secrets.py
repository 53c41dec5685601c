#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing that the server writes holds a secret: its log at -v=10, its audit log, its metrics, its health and
debug pages, its command line, what it prints when it is killed. And no file that it makes can be read by another user.

Tokens, passwords, contents of Secrets and private keys are planted wherever a client, a webhook or a file
can bring them in, good requests and broken ones; then everything that was written is searched for them.

    tests/integration/secrets.py --build build/release
"""

import argparse
import base64
import http.client
import json
import os
import pathlib
import signal
import ssl
import stat
import sys
import tempfile

from process import Server

SECRETS = "/api/v1/namespaces/default/secrets"
# What docs/security.md recommends: contents of everything but of what holds secrets.
AUDIT_POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
  resources:
  - {group: "", resources: [secrets, configmaps, serviceaccounts/token]}
  - {group: authentication.k8s.io, resources: [tokenreviews]}
- level: RequestResponse
"""
PLUGIN = """#!/bin/sh
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}'
"""


def kubeconfig(server, user):
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": user}],
        "clusters": [{"name": "k", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]})


class Secrets:
    """The server, and what has been planted: where it was -> the text."""

    def __init__(self, program, folder):
        self.folder = folder
        self.planted = {}
        self.written = {}
        (folder / "tokens.csv").write_text(f'{self.plant("token file")},planted,1,"system:masters"\n')
        (folder / "policy.yaml").write_text(AUDIT_POLICY)
        (folder / "plugin").write_text(PLUGIN % self.plant("exec plugin"))
        (folder / "plugin").chmod(0o700)
        (folder / "audit.kubeconfig").write_text(
            kubeconfig("https://127.0.0.1:1", {"token": self.plant("audit webhook token")}))
        hooks = {"apiVersion": "v1", "kind": "Config", "users": [
            {"name": "127.0.0.1:1", "user": {"username": "u", "password": self.plant("webhook password")}},
            {"name": "127.0.0.1:2", "user": {"exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": str(folder / "plugin"),
                "interactiveMode": "Never", "env": [{"name": "A", "value": self.plant("environment of a plugin")}]}}}]}
        (folder / "hooks.kubeconfig").write_text(json.dumps(hooks))
        (folder / "admission.yaml").write_text(json.dumps({
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [{
                "name": "ValidatingAdmissionWebhook", "configuration": {
                    "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
                    "kubeConfigFile": str(folder / "hooks.kubeconfig")}}]}))
        for file in folder.iterdir():
            if file.is_file() and file.name != "plugin":
                file.chmod(0o600)
        self.server = Server(
            program, folder, f"--data-dir={folder}/data", f"--cert-dir={folder}/pki", "-v=10",
            f"--token-auth-file={folder}/tokens.csv", f"--audit-policy-file={folder}/policy.yaml",
            f"--audit-log-path={folder}/audit/audit.log", f"--audit-webhook-config-file={folder}/audit.kubeconfig",
            "--audit-webhook-mode=blocking", "--admission-trace-history=1000", f"--admission-control-config-file={folder}/admission.yaml")
        for key in (folder / "pki").glob("*.key"):
            lines = key.read_text().splitlines()
            self.planted[f"private key {key.name}"] = lines[1][:40]
        self.planted["private key in the kubeconfig"] = base64.b64encode(
            (folder / "pki/admin.key").read_bytes()).decode()[60:120]

    def plant(self, where):
        text = f"planted{len(self.planted)}x{os.urandom(12).hex()}"
        self.planted[where] = text
        return text

    def plant_encoded(self, where):
        """For data of a Secret: neither the text nor its base64 may turn up."""
        text = self.plant(where)
        encoded = base64.b64encode(text.encode()).decode()
        self.planted[f"{where}, base64"] = encoded.rstrip("=")[:-2]
        return encoded

    def say(self, method, path, body=None, codes=(200, 201), kind="application/json", headers=None):
        """With the administrator's certificate, unless there is an Authorization header."""
        connection = self.server.connect()
        if headers and "Authorization" in headers:
            context = ssl.create_default_context(cafile=self.folder / "pki/ca.crt")
            connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, context=context, timeout=10)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body, {"Content-Type": kind, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        if answer.status not in codes:
            sys.exit(f"{method} {path}: {answer.status}, expected one of {codes}: {text[:500]}")
        return text

    def authentication(self):
        good = {"Authorization": f"Bearer {self.planted['token file']}"}
        self.say("GET", SECRETS, headers=good)
        self.say("GET", SECRETS, codes=(401,), headers={"Authorization": f"Bearer {self.plant('wrong token')}"})
        basic = self.plant_encoded("basic password")
        self.say("GET", SECRETS, codes=(401, 403), headers={"Authorization": f"Basic {basic}"})
        self.say("GET", SECRETS, headers={**good, "Cookie": f"session={self.plant('cookie')}"})
        self.say("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": self.plant("token under review")}})
        self.say("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
        issued = json.loads(self.say("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}))["status"]["token"]
        self.planted["issued token"] = issued.split(".")[2]
        self.say("GET", SECRETS, codes=(403,), headers={"Authorization": f"Bearer {issued}"})
        self.say("GET", SECRETS, codes=(401,), headers={"Authorization": f"Bearer {issued[:-4]}AAAA"})

    def objects(self):
        data = self.plant_encoded
        self.say("POST", SECRETS, {"metadata": {"name": "a"}, "data": {"k": data("data")}})
        self.say("POST", SECRETS, {"metadata": {"name": "b"}, "stringData": {"k": self.plant("stringData")}})
        self.say("PUT", f"{SECRETS}/a", {"metadata": {"name": "a"}, "data": {"k": data("update")}})
        self.say("PATCH", f"{SECRETS}/a", {"data": {"k": data("merge patch")}}, kind="application/merge-patch+json")
        self.say("PATCH", f"{SECRETS}/a", [{"op": "add", "path": "/data/j", "value": data("JSON patch")}],
                 kind="application/json-patch+json")
        self.say("PATCH", f"{SECRETS}/c?fieldManager=m", json.dumps({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}, "data": {"k": data("apply")}}),
            kind="application/apply-patch+yaml")
        self.say("POST", "/api/v1/namespaces/default/configmaps",
                 {"metadata": {"name": "a"}, "data": {"k": self.plant("config map")}})
        self.say("GET", SECRETS)
        self.say("GET", f"{SECRETS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                 "&allowWatchBookmarks=true")
        self.say("DELETE", f"{SECRETS}/c")

    def broken(self):
        """Requests that fail at every step: their errors are logged and audited."""
        data = self.plant_encoded
        bad = (400, 404, 409, 413, 415, 422, 500)
        self.say("POST", SECRETS, '{"metadata":{"name":"x"},"data":{"k":"%s"' % data("cut JSON"), bad)
        self.say("POST", SECRETS, {"metadata": {"name": "x"}, "data": {"k": self.plant("no base64") + "!"}}, bad)
        self.say("POST", SECRETS, {"metadata": {"name": "X_X"}, "data": {"k": data("bad name")}}, bad)
        self.say("POST", SECRETS, {"metadata": {"name": "x"}, "data": {self.plant("bad key") + "/": ""}}, bad)
        del self.planted["bad key"]  # keys are no secrets: kube-apiserver's message has them, too
        self.say("POST", SECRETS, {"metadata": {"name": "x"}, "type": "kubernetes.io/tls",
                                   "data": {"tls.key": data("TLS without certificate")}}, bad)
        self.say("POST", SECRETS, {"metadata": {"name": "x"}, "type": "kubernetes.io/dockerconfigjson",
                                   "data": {".dockerconfigjson": data("no docker JSON")}}, bad)
        self.say("POST", SECRETS + "?fieldValidation=Strict",
                 {"metadata": {"name": "x"}, "colour": self.plant("unknown field")}, bad)
        self.say("PUT", f"{SECRETS}/a", {"metadata": {"name": "a", "resourceVersion": "1"}, "data": {"k": data("conflict")}}, bad)
        self.say("PUT", f"{SECRETS}/none", {"metadata": {"name": "none"}, "data": {"k": data("mismatch")}}, (200, 201, *bad))
        self.say("PATCH", f"{SECRETS}/a", [{"op": "test", "path": "/data/k", "value": data("test of a patch")}], bad,
                 kind="application/json-patch+json")
        self.say("POST", SECRETS, f"a: [{data('YAML')}", bad, kind="application/yaml")
        self.say("POST", SECRETS, b"k8s\0" + data("protobuf").encode(), bad, kind="application/vnd.kubernetes.protobuf")
        self.say("POST", "/api/v1/namespaces/none/secrets", {"metadata": {"name": "x"}, "data": {"k": data("no namespace")}}, bad)

    def webhooks(self):
        """Webhooks that cannot be reached, with credentials; failing open and closed, on Secrets."""
        group = "admissionregistration.k8s.io/v1"
        for port, policy in ((1, "Fail"), (2, "Ignore")):
            self.say("POST", f"/apis/{group}/validatingwebhookconfigurations", {
                "apiVersion": group, "kind": "ValidatingWebhookConfiguration", "metadata": {"name": f"h{port}"},
                "webhooks": [{
                    "name": f"h{port}.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                    "failurePolicy": policy, "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
                    "objectSelector": {"matchLabels": {"hook": str(port)}},
                    "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"]}]}]})
            self.say("POST", SECRETS, {"metadata": {"name": f"h{port}", "labels": {"hook": str(port)}},
                                       "data": {"k": self.plant_encoded(f"webhook {policy}")}},
                     (500,) if policy == "Fail" else (201,))

    def gather(self):
        for page in ("/metrics", "/healthz?verbose", "/livez?verbose", "/readyz?verbose", "/version", "/debug/pprof/",
                     "/debug/flags/v", "/debug/api_priority_and_fairness/dump_requests", "/statusz", "/flagz", "/configz",
                     "/logs/", "/api/v1/events", "/apis/events.k8s.io/v1/events"):
            self.written[page] = self.say("GET", page, codes=(200, 404, 403, 406, 501))
        traces = json.loads(self.say("GET", "/debug/admission?format=json"))["items"]
        if sum(trace["request"]["resource"] == "secrets" for trace in traces) < 15:
            sys.exit("writes of Secrets are not traced: the search would prove nothing")
        for page in ("/debug/admission", *(f"/debug/admission/{trace['id']}" for trace in traces)):
            for form in ("text", "json"):
                self.written[f"{page} as {form}"] = self.say("GET", f"{page}?format={form}")
        process = pathlib.Path(f"/proc/{self.server.process.pid}/cmdline")
        self.written["the command line"] = process.read_bytes().decode(errors="replace")

    def modes(self):
        """What can be read by others, of all that the server has made."""
        made = [self.folder / "audit", self.folder / "pki", self.folder / "data"]
        for path in [entry for folder in made for entry in (folder, *folder.rglob("*"))]:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                sys.exit(f"{path.relative_to(self.folder)} has mode {mode:o}: others can read it")

    def judge(self):
        audit = (self.folder / "audit/audit.log").read_text()
        if '"resource":"secrets"' not in audit or '"responseObject"' not in audit:
            sys.exit("the audit log does not hold what it should: the search would prove nothing")
        self.written["the audit log"] = audit
        found = [f"{source} holds the secret of: {where}" for source, text in self.written.items()
                 for where, secret in self.planted.items() if secret in text]
        if found:
            sys.exit("\n".join(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    program = str((parser.parse_args().build / "portcullis").resolve())
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        secrets = Secrets(program, folder)
        for step in (secrets.authentication, secrets.objects, secrets.broken, secrets.webhooks, secrets.gather, secrets.modes):
            step()
        log = folder / "log"
        secrets.server.process.send_signal(signal.SIGABRT)
        code = secrets.server.process.wait(30)
        if code != -signal.SIGABRT:
            sys.exit(f"SIGABRT ended the server with {code}")
        secrets.written["the log"] = log.read_text()
        if "webhook call failed" not in secrets.written["the log"]:
            sys.exit("the log does not hold what it should: the search would prove nothing")
        cores = [path.name for path in (*folder.rglob("core*"), *pathlib.Path.cwd().glob("core*")) if path.is_file()]
        if cores:
            sys.exit(f"core files: {cores}")
        secrets.judge()
        print(f"secrets: {len(secrets.planted)} planted, none in {len(secrets.written)} places; files are their owner's alone")


if __name__ == "__main__":
    main()
