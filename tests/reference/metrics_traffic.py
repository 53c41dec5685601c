# SPDX-License-Identifier: Apache-2.0

"""The requests after which metrics.py compares /metrics: of each kind a few, so that every metric that a client can move has moved."""

import base64
import json
import pathlib
import socket
import subprocess
import time

import admission
import admission_cases
from connection import Connection

NAMESPACE = "measured"
WIDGETS = "/apis/measured.test/v1/namespaces/measured/widgets"
CONFIGMAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
ADMISSION = "/apis/admissionregistration.k8s.io/v1/"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPLY = {"Content-Type": "application/apply-patch+yaml"}
MERGE = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def named(name, **more):
    return {"metadata": {"name": name}, **more}


def pod(name):
    return named(name, spec={"containers": [{"name": "c", "image": "i"}]})


def deployment(name):
    labels = {"matchLabels": {"a": "b"}}
    return named(name, spec={"replicas": 1, "selector": labels, "template": {"metadata": {"labels": labels["matchLabels"]}, "spec": pod("")["spec"]}})


def objects():
    """Every verb, options, subresources and what is refused."""
    yield "POST", "/api/v1/namespaces", named(NAMESPACE)
    yield "POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", named("default")
    for name in ("a", "b", "c"):
        yield "POST", CONFIGMAPS, named(name, data={"k": "v"})
    yield "POST", CONFIGMAPS, named("a")
    yield "POST", CONFIGMAPS + "?dryRun=All", named("dry")
    yield "POST", CONFIGMAPS + "?dryRun=Some", named("dry")
    yield "POST", CONFIGMAPS, {"metadata": {"generateName": "g-"}}
    yield "POST", CONFIGMAPS, named("Not_A_Name")
    yield "POST", CONFIGMAPS, "{"
    yield "POST", CONFIGMAPS, named("x"), {"Content-Type": "text/plain"}
    for level in ("Strict", "Warn", "Ignore", "Other"):
        yield "POST", CONFIGMAPS + f"?dryRun=All&fieldValidation={level}", named("v", unknown=1)
    yield "GET", CONFIGMAPS + "/a", None
    yield "HEAD", CONFIGMAPS + "/a", None
    yield "GET", CONFIGMAPS + "/none", None
    yield "GET", CONFIGMAPS + "/a", None, TABLE
    yield "GET", CONFIGMAPS, None
    yield "GET", CONFIGMAPS + "?limit=1", None
    yield "GET", CONFIGMAPS + "?resourceVersion=0", None
    yield "GET", CONFIGMAPS + "?labelSelector=a%3Db", None
    yield "GET", CONFIGMAPS + "?fieldSelector=metadata.name%3Da", None
    yield "GET", "/api/v1/configmaps", None
    yield "GET", "/api/v1/namespaces", None
    yield "GET", "/api/v1/nodes", None
    yield "PUT", CONFIGMAPS + "/a", named("a", data={"k": "w"})
    yield "PUT", CONFIGMAPS + "/a", named("a", data={"k": "w"})
    yield "PUT", CONFIGMAPS + "/a", {"metadata": {"name": "a", "resourceVersion": "1"}}
    yield "PATCH", CONFIGMAPS + "/a", {"data": {"m": "1"}}, MERGE
    yield "PATCH", CONFIGMAPS + "/a", [{"op": "add", "path": "/data/j", "value": "1"}], JSON_PATCH
    yield "PATCH", CONFIGMAPS + "/a", {"data": {"s": "1"}}, STRATEGIC
    yield "PATCH", CONFIGMAPS + "/applied?fieldManager=m", {"apiVersion": "v1", "kind": "ConfigMap", **named("applied", data={"k": "v"})}, APPLY
    yield "PATCH", CONFIGMAPS + "/applied?fieldManager=m", {"apiVersion": "v1", "kind": "ConfigMap", **named("applied", data={"k": "v"})}, APPLY
    yield "POST", PODS, pod("p")
    yield "POST", PODS + "/p/binding", named("p", target={"kind": "Node", "name": "n"})
    yield "PATCH", PODS + "/p/status", {"status": {"phase": "Running"}}, MERGE
    yield "POST", PODS + "/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", **named("p")}
    yield "GET", PODS + "/p/log", None
    yield "GET", PODS + "/p/proxy", None
    yield "POST", PODS + "/p/exec?command=a", None
    yield "POST", DEPLOYMENTS, deployment("d")
    yield "PATCH", DEPLOYMENTS + "/d/scale", {"spec": {"replicas": 2}}, MERGE
    yield "GET", DEPLOYMENTS + "/d/scale", None
    port = [{"port": 80}]
    yield "POST", SERVICES, named("s", spec={"ports": port})
    yield "POST", SERVICES, named("fixed", spec={"ports": port, "clusterIP": "10.0.0.77"})
    yield "POST", SERVICES, named("taken", spec={"ports": port, "clusterIP": "10.0.0.77"})
    yield "POST", SERVICES, named("node", spec={"ports": port, "type": "NodePort"})
    yield "POST", SERVICES, named("static", spec={"ports": [{"port": 80, "nodePort": 30077}], "type": "NodePort"})
    yield "POST", SERVICES, named("again", spec={"ports": [{"port": 80, "nodePort": 30077}], "type": "NodePort"})
    yield "DELETE", SERVICES + "/static", None
    yield "POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 3600}}
    yield "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    yield "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "wrong"}}
    yield "POST", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases", named("l")
    yield "GET", f"/api/v1/namespaces/{NAMESPACE}/endpoints", None
    yield "GET", "/api/v1/componentstatuses", None
    yield "DELETE", CONFIGMAPS + "/b", None
    yield "DELETE", CONFIGMAPS + "/b", None
    yield "DELETE", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases", None
    yield "DELETE", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases?dryRun=All", None


def pages():
    """What is no object, and what there is not."""
    for path in ("/", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/version", "/healthz", "/livez", "/readyz", "/healthz/ping", "/openapi/v2",
                 "/openapi/v3", "/openapi/v3/apis/apps/v1", "/metrics", "/metrics/slis", "/.well-known/openid-configuration", "/openid/v1/jwks", "/none",
                 "/api/v2", "/apis/none.test/v1/things", "/api/v1/nones", f"/api/v1/namespaces/{NAMESPACE}/nones/x", "/statusz", "/flagz"):
        yield "GET", path, None
    yield "GET", "/apis", None, {"Accept": "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"}
    yield "GET", "/api", None, {"Accept": "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"}
    yield "POST", "/version", {}
    yield "STRANGE", CONFIGMAPS, None
    yield "STRANGE", "/version", None
    yield "PUT", CONFIGMAPS, {}
    yield "OPTIONS", CONFIGMAPS, None


def users():
    """Users that are none, that may not, and that stand for others."""
    yield "GET", CONFIGMAPS, None, {"Authorization": "Bearer wrong"}
    yield "GET", "/version", None, {"Authorization": "Basic YTpi"}
    yield "GET", CONFIGMAPS, None, {"Impersonate-User": "nobody"}
    yield "GET", "/version", None, {"Impersonate-User": "someone@example.com"}
    yield "GET", CONFIGMAPS, None, {"User-Agent": "kube-apiserver/v1.36.0 (linux/amd64)"}
    yield "GET", CONFIGMAPS, None, {"User-Agent": "kube-scheduler/v1.36.0 (linux/amd64)"}


def watches():
    for query in ("watch=true&timeoutSeconds=1", "watch=1&timeoutSeconds=1&resourceVersion=0", "watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da",
                  "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "watch=1&resourceVersion=x"):
        yield "GET", f"{CONFIGMAPS}?{query}", None
    yield "GET", CONFIGMAPS + "/a?watch=1&timeoutSeconds=1", None
    yield "GET", "/api/v1/watch/configmaps?timeoutSeconds=1", None
    yield "GET", f"/api/v1/watch/namespaces/{NAMESPACE}/configmaps/a?timeoutSeconds=1", None
    yield "GET", DEPLOYMENTS + "?watch=1&timeoutSeconds=1", None


def webhook(name, path, resources, **more):
    return {"name": f"{name}.hooks.test", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
            "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources}],
            "clientConfig": {"url": admission_cases.HOOKS + path, "caBundle": admission_cases.BUNDLE}, **more}


SLOW = 2  # seconds that a webhook takes, of a request that has one
HOOKS = {
    "/m/patch": {"allowed": True, "patch": [{"op": "add", "path": "/metadata/labels", "value": {"patched": "yes"}}]},
    "/m/allow": {"allowed": True},
    "/m/deny": {"allowed": False, "status": {"code": 418, "message": "no"}},
    "/m/nonsense": {"body": "nonsense"},
    "/m/slow": {"allowed": True},
}
CONDITIONS = [{"name": "some", "expression": "!has(object.data) || !('skip' in object.data)"}]
BROKEN = [{"name": "broken", "expression": "object.data['none'] == 'a'"}]


def admission_objects():
    """Webhooks and policies, each for a kind of its own."""
    yield "mutatingwebhookconfigurations", {"webhooks": [
        webhook("patch", "/m/patch", ["limitranges"], matchConditions=CONDITIONS), webhook("mutating-open", "/m/nonsense", ["podtemplates"], failurePolicy="Ignore")]}
    yield "validatingwebhookconfigurations", {"webhooks": [
        webhook("allow", "/m/allow", ["limitranges"]), webhook("deny", "/m/deny", ["resourcequotas"]), webhook("fails", "/m/nonsense", ["replicationcontrollers"]),
        webhook("open", "/m/nonsense", ["podtemplates"], failurePolicy="Ignore"), webhook("slow", "/m/slow", ["networkpolicies"], timeoutSeconds=10),
        webhook("broken", "/m/allow", ["events"], matchConditions=BROKEN)]}
    rules = lambda resource: {"resourceRules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource]}],
                              "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}}
    yield "validatingadmissionpolicies", {"spec": {"matchConstraints": rules("secrets"), "matchConditions": CONDITIONS,
                                                   "validations": [{"expression": "!has(object.data) || object.data.size() < 1", "message": "too many"}]}}
    yield "mutatingadmissionpolicies", {"spec": {"matchConstraints": rules("secrets"), "reinvocationPolicy": "Never", "mutations": [
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'marked': 'policy'}}}"}}]}}
    yield "validatingadmissionpolicybindings", {"spec": {"policyName": NAMESPACE, "validationActions": ["Warn", "Audit"]}}
    yield "mutatingadmissionpolicybindings", {"spec": {"policyName": NAMESPACE}}


def admitted():
    base = f"/api/v1/namespaces/{NAMESPACE}/"
    yield "POST", base + "limitranges", named("l", spec={"limits": []})
    yield "POST", base + "resourcequotas", named("q")
    yield "POST", base + "replicationcontrollers", named("r", spec={"selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod("")["spec"]}})
    yield "POST", base + "podtemplates", named("t", template=pod(""))
    yield "POST", base + "events", named("e", involvedObject={"namespace": NAMESPACE})
    yield "POST", base + "secrets", named("empty")
    yield "POST", base + "secrets", named("full", data={"a": ""})
    yield "POST", base + "secrets", named("skipped", data={"skip": ""})
    yield "POST", f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies?timeout=1s", named("slow", spec={"podSelector": {}})


def definition():
    rules = [{"rule": "self.size < 10", "message": "too large"}]
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"], "x-kubernetes-validations": rules}}}}
    version = lambda name, storage: {"name": name, "served": True, "storage": storage, "schema": schema, "subresources": {"status": {}}}
    return named("widgets.measured.test", spec={
        "group": "measured.test", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [version("v1", True), version("v2", False)], "conversion": {"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"], "clientConfig": {"url": admission_cases.HOOKS + "/convert", "caBundle": admission_cases.BUNDLE}}}})


def widgets():
    thing = lambda name, size, version="v1": {"apiVersion": f"measured.test/{version}", "kind": "Widget", **named(name, spec={"size": size})}
    yield "POST", WIDGETS, thing("w", 1)
    yield "POST", WIDGETS, thing("large", 11)
    yield "GET", WIDGETS.replace("v1", "v2") + "/w", None
    yield "GET", WIDGETS.replace("v1", "v2"), None
    yield "PATCH", WIDGETS + "/w", {"spec": {"size": 2}}, MERGE
    yield "GET", WIDGETS + "?watch=1&timeoutSeconds=1", None
    yield "DELETE", WIDGETS + "/w", None


class Traffic:
    """The requests to one server; `hooks` is the webhook server beside it."""

    def __init__(self, url, token, hooks_url, bundle, certificate=None):
        self.url, self.token, self.hooks_url, self.bundle, self.certificate = url, token, hooks_url, bundle, certificate
        self.connection = Connection(url, token)

    def ask(self, method, path, body=None, headers=None):
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        if text is not None:
            text = text.replace(admission_cases.HOOKS, self.hooks_url).replace(admission_cases.BUNDLE, self.bundle).encode()
        return self.connection.ask([(method, path, text, headers or {})])[0]

    def page(self):
        code, text = self.ask("GET", "/metrics")
        if code != 200:
            raise RuntimeError(f"/metrics: {code} {text[:200]}")
        return text

    def until(self, wanted, *request):
        for _ in range(400):
            if wanted(self.ask(*request)):
                return
            time.sleep(0.05)
        raise RuntimeError(f"{self.url}: not in force: {request}")

    def send(self):
        for part in (objects, pages, users, watches):
            for request in part():
                self.ask(*request)
        anonymous = Connection(self.url)
        anonymous.ask([("GET", "/version", None, {}), ("GET", CONFIGMAPS, None, {})])
        anonymous.close()
        if self.certificate:
            known = Connection(self.url, certificate=self.certificate)
            known.ask([("GET", "/version", None, {})])
            known.close()
        self.shake_hands_badly()
        for plural, spec in admission_objects():
            self.ask("POST", ADMISSION + plural, named(NAMESPACE, **spec))
        secrets = f"/api/v1/namespaces/{NAMESPACE}/secrets?dryRun=All"
        self.until(lambda answer: "patched" in answer[1], "POST", f"/api/v1/namespaces/{NAMESPACE}/limitranges?dryRun=All", named("m", spec={"limits": []}))
        self.until(lambda answer: "marked" in answer[1], "POST", secrets, named("m"))
        self.until(lambda answer: answer[0] == 418, "POST", f"/api/v1/namespaces/{NAMESPACE}/resourcequotas?dryRun=All", named("m"))
        for request in admitted():
            self.ask(*request)
        self.ask("POST", DEFINITIONS, definition())
        self.until(lambda answer: answer[0] == 200, "GET", WIDGETS)
        self.until(lambda answer: "measured.test" in answer[1], "GET", "/openapi/v2")
        for request in widgets():
            self.ask(*request)
        self.ask("DELETE", DEFINITIONS + "/widgets.measured.test")

    def shake_hands_badly(self):
        place = self.connection.place
        with socket.create_connection((place.hostname, place.port), timeout=10) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            plain.recv(1000)


class Hooks(admission.HookServer):
    def take_in(self, path, query, body):
        """Called before a review is answered."""
        if path == "/m/slow":
            time.sleep(SLOW)


def hook_server(folder):
    """(webhook server, CA bundle) that answers reviews of the traffic."""
    certificate, key = pathlib.Path(folder) / "hook.crt", pathlib.Path(folder) / "hook.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hooks", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    hooks = {path: admission_cases.Hook(answer) for path, answer in HOOKS.items()}
    return Hooks(certificate, key, hooks), base64.b64encode(certificate.read_bytes()).decode()
