#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What webhooks are sent and what becomes of their answers, with the real program and a real HTTPS server: deletions,
subresources, connections, changed metadata, conflicts, answers that are wrong, the metrics and the log of calls that failed.

    tests/integration/webhooks.py --build build/release
"""

import argparse
import base64
import json
import pathlib
import sys
import tempfile
import threading

from webhook_lab import CONFIGURATIONS, MERGE, Lab

NS = "/api/v1/namespaces/default"
PODS, CONFIGMAPS = f"{NS}/pods", f"{NS}/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
EVERYTHING = {"operations": ["*"], "groups": ["*"], "versions": ["*"], "resources": ["*/*"],
              "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}


def pod(name, node=None, **metadata):
    spec = {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {})}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


def deployment(name):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    return {"metadata": {"name": name}, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}}


def configurations(lab):
    """What is refused in a configuration, and how: as kube-apiserver words it."""
    path = CONFIGURATIONS.format("validating")
    sound = lab.hook("/v", name="a.b.c")
    rows = [
        ({"sideEffects": None}, "sideEffects: Required value: must specify one of None, NoneOnDryRun"),
        ({"sideEffects": "Unknown"}, 'sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"'),
        ({"timeoutSeconds": 0}, "timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds"),
        ({"clientConfig": {"service": {"name": "", "namespace": "n"}}}, "clientConfig.service.namespace: Required value"),
        ({"clientConfig": {"url": "https://h/?a"}}, 'clientConfig.url: Invalid value: "a": query parameters are not permitted in the URL'),
        ({"admissionReviewVersions": ["v9"]},
         'admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1'),
        ({"matchConditions": [{"name": "x", "expression": "6"}]},
         'matchConditions[0].expression: Invalid value: "6": must evaluate to bool but got int'),
    ]
    for change, text in rows:
        hook = {key: value for key, value in {**sound, **change}.items() if value is not None}
        status, answer, _ = lab.call("POST", path, {"metadata": {"name": "x"}, "webhooks": [hook]}, dryRun="All")
        wanted = f'ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].{text}'
        assert (status, answer["message"]) == (422, wanted), answer["message"]
    lab.configure("validating", sound, name="x")
    status, answer, _ = lab.call("PUT", f"{path}/x", {"metadata": {"name": "x"}, "webhooks": [sound]})
    assert status == 422 and answer["message"] == (
        'validatingwebhookconfigurations.admissionregistration.k8s.io "x" is invalid: '
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"), answer
    status, answer, _ = lab.call("POST", path, {"apiVersion": "admissionregistration.k8s.io/v1beta1",
                                                "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "y"}})
    assert status == 400 and answer["message"] == (
        "the API version in the data (admissionregistration.k8s.io/v1beta1) does not match the expected API version "
        "(admissionregistration.k8s.io/v1)"), answer


def deletions(lab):
    """How often a deletion is reviewed, and with which options."""
    lab.call("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "default"}})
    for name, more in (("now", {}), ("dry", {}), ("held", {"finalizers": ["x.y/z"]})):
        lab.call("POST", PODS, pod(name, **more))
    for name in ("later", "many1"):
        lab.call("POST", PODS, pod(name, node="n1"))
    lab.configure("validating", lab.hook("/v", **EVERYTHING))

    def seen(what, method, path, body=None, **query):
        lab.call(method, path, body, **query)
        found = [(review["operation"], review.get("name"), (review["options"] or {}).get("gracePeriodSeconds"),
                  (review["oldObject"] or {}).get("metadata", {}).get("deletionGracePeriodSeconds"))
                 for review in lab.reviews("/v")]
        return what, found

    expected = [
        (seen("at once", "DELETE", f"{PODS}/now"), [("DELETE", "now", 0, None), ("DELETE", "now", 0, 0)]),
        (seen("dry run", "DELETE", f"{PODS}/dry", dryRun="All"), [("DELETE", "dry", 0, None)]),
        (seen("finalizer", "DELETE", f"{PODS}/held"), [("DELETE", "held", 0, None)]),
        (seen("finalizer again", "DELETE", f"{PODS}/held", gracePeriodSeconds=0), [("DELETE", "held", 0, 0)]),
        (seen("graceful", "DELETE", f"{PODS}/later"), [("DELETE", "later", 30, None)]),
        (seen("pending", "DELETE", f"{PODS}/later", gracePeriodSeconds=60), []),
        (seen("shorter", "DELETE", f"{PODS}/later", gracePeriodSeconds=5), [("DELETE", "later", 5, 30)]),
        # A collection shows the client's options, not what the strategy makes of them.
        (seen("collection", "DELETE", PODS, fieldSelector="metadata.name=many1"), [("DELETE", None, None, None)]),
    ]
    for (what, found), wanted in expected:
        assert found == wanted, f"{what}: {found}"


def namespaces(lab):
    lab.configure("validating", lab.hook("/v", **{**EVERYTHING, "resources": ["namespaces", "namespaces/*"], "namespaceSelector": None,
                                                  "objectSelector": {"matchLabels": {"lab": "1"}}}))
    labels = {"labels": {"lab": "1"}}
    lab.call("POST", "/api/v1/namespaces", {"metadata": {"generateName": "g-", **labels}})
    (made,) = lab.reviews("/v")
    assert made["name"].startswith("g-") and "namespace" not in made, made
    _, found, _ = lab.call("POST", "/api/v1/namespaces", {"metadata": {"name": "n1", **labels}})
    assert lab.reviews("/v")[0]["namespace"] == "n1"
    lab.call("DELETE", "/api/v1/namespaces/n1")
    (review,) = lab.reviews("/v")
    assert review["options"]["preconditions"] == {"uid": found["metadata"]["uid"]}, review["options"]
    status, answer, _ = lab.call("DELETE", "/api/v1/namespaces/n1")
    assert status == 200 and answer["status"]["phase"] == "Terminating" and not lab.reviews("/v")
    status, answer, _ = lab.call("DELETE", "/api/v1/namespaces/n1", {"preconditions": {"uid": "other"}})
    assert status == 409 and "Precondition failed: UID in precondition: other" in answer["message"], answer


def subresources(lab):
    lab.call("POST", DEPLOYMENTS, deployment("d"))
    lab.call("POST", PODS, pod("p"))
    lab.configure("mutating", lab.hook("/m", **EVERYTHING))
    lab.configure("validating", lab.hook("/v", **EVERYTHING))
    # The validating phase sees the scale of the object as it will be.
    lab.call("PUT", f"{DEPLOYMENTS}/d/scale", {"metadata": {"name": "d"}, "spec": {"replicas": 3}})
    mutating, validating = (review["object"] for review in lab.reviews())
    assert {**mutating["metadata"], "managedFields": None} == {"name": "d", "namespace": "default", "managedFields": None}, mutating
    assert mutating["metadata"]["managedFields"][0]["subresource"] == "scale" and "managedFields" not in validating["metadata"]
    assert validating["status"]["selector"] == "a=b" and validating["metadata"]["uid"], validating
    # Names are compared only when mutating webhooks have been asked.
    for sub, body in (("binding", {"target": {"name": "n"}}), ("eviction", {})):
        status, answer, _ = lab.call("POST", f"{PODS}/p/{sub}", {"metadata": {"name": "other"}, **body})
        assert status == 400 and answer["message"].startswith("name in URL does not match"), answer
        assert [review["operation"] for review in lab.reviews()] == ["CREATE"]
    lab.call("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}, "deleteOptions": {}}, dryRun="All")
    assert lab.reviews("/v")[0]["object"]["deleteOptions"] == {"dryRun": ["All"]}


def connections(lab):
    lab.call("POST", PODS, pod("p"))
    lab.call("POST", f"{NS}/services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
    lab.configure("validating", lab.hook("/v", **EVERYTHING))
    rows = [
        # method, path below the namespace, status, what the answer says, the reviewed object without its kind
        ("POST", "pods/p/exec?command=a&stdin=1&tty=false", 400, "does not have a host", {"command": ["a"], "stdin": True}),
        ("PUT", "pods/p/exec?command=a", 405, "does not allow", None),
        ("GET", "pods/p/portforward?ports=1,2&ports=3", 400, "does not have a host", {"ports": [1, 2, 3]}),
        ("GET", "pods/p/portforward?ports=x", 400, 'cannot convert to []int32: strconv.ParseUint: parsing "x"', None),
        ("GET", "pods/p/proxy/", 400, "address not allowed", {"path": "/"}),
        ("PATCH", "pods/p/proxy/a/b/?path=c", 400, "address not allowed", {"path": "/a/b/"}),
        ("GET", "pods/p/proxy//a//b/", 400, "address not allowed", {"path": "/a//b/"}),
        ("GET", "pods/p:80/proxy?path=c", 400, "address not allowed", {}),
        ("GET", "services/web:81/proxy/", 503, 'no service port 81 found for service "web"', {"path": "/"}),
        ("DELETE", "services/a:b:c:d/proxy/", 400, 'invalid service request "a:b:c:d"', {"path": "/"}),
        ("GET", "services/web/proxy/x", 404, 'services "web" not found', {"path": "/x"}),
        ("HEAD", "services/web/proxy/x", 404, "", {"path": "/x"}),
    ]
    for method, path, wanted, text, reviewed in rows:
        status, answer, _ = lab.call(method, f"{NS}/{path}")
        found = [{key: value for key, value in review["object"].items() if key not in ("kind", "apiVersion")}
                 for review in lab.reviews("/v")]
        said = answer["message"] if isinstance(answer, dict) else answer
        assert status == wanted and text in said and found == ([] if reviewed is None else [reviewed]), (path, status, said, found)


def changed_connections(lab):
    """The options of a connection are patched like any object."""
    lab.call("POST", PODS, pod("p"))
    lab.configure("mutating", lab.hook("/m", **EVERYTHING))
    lab.configure("validating", lab.hook("/v", **EVERYTHING))
    path = f"{PODS}/p/exec?command=ls"
    lab.answers["/m"] = lambda request, n: {"patch": [{"op": "replace", "path": "/command", "value": ["id"]},
                                                      {"op": "add", "path": "/unknown", "value": 1}]}
    lab.call("POST", path)
    assert lab.reviews("/v")[0]["object"] == {"kind": "PodExecOptions", "apiVersion": "v1", "command": ["id"]}
    lab.answers["/m"] = lambda request, n: {"patch": [{"op": "add", "path": "/tty", "value": "yes"}]}
    status, answer, _ = lab.call("POST", path)
    assert status == 500 and answer["message"].endswith(
        "json: cannot unmarshal string into Go struct field PodExecOptions.tty of type bool"), answer


def changed_metadata(lab):
    """What a webhook may write into the metadata of an object that is updated."""
    # An object that was made without fields has no managers, and an update gives it none.
    lab.call("POST", CONFIGMAPS, {"metadata": {"name": "meta"}, "data": {"a": "b"}})
    lab.configure("mutating", lab.hook("/m", operations=["UPDATE"]))
    rows = [
        ("name", "other", 422, "metadata.name: Invalid value"),
        ("namespace", "other", 400, "the namespace of the provided object does not match"),
        ("uid", "other", 422, "metadata.uid: Invalid value"),
        ("resourceVersion", "1", 409, "the object has been modified"),
        ("managedFields/0/operation", "Foo", 200, "metadata.managedFields[0].operation: Invalid value: \\\"Foo\\\": must be `Apply`"),
        ("managedFields/0/fieldsType", "", 200, "missing fieldsType in managed fields entry 0"),
        ("managedFields/0/apiVersion", "", 200, "apiVersion must not be empty"),
    ]
    for field, value, wanted, text in rows:
        lab.answers["/m"] = lambda request, n, f=field, v=value: {"patch": [{"op": "replace", "path": f"/metadata/{f}", "value": v}]}
        status, answer, headers = lab.call("PATCH", f"{CONFIGMAPS}/meta", {"data": {"k": field + value}}, MERGE)
        assert status == wanted and text in (answer.get("message") or str(headers.get("Warning"))), (field, status, answer, headers)


def creating_updates(lab):
    """A PUT of some kinds, and an apply of all, makes what is not there: for who may create."""
    rbac = "/apis/rbac.authorization.k8s.io/v1/cluster"
    lab.call("POST", rbac + "roles", {"metadata": {"name": "updater"}, "rules": [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["update", "patch", "get"]}]})
    lab.call("POST", rbac + "rolebindings", {"metadata": {"name": "updater"}, "subjects": [{"kind": "User", "name": "updater"}],
                                             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "updater"}})
    lab.configure("mutating", lab.hook("/m", **EVERYTHING))
    lab.configure("validating", lab.hook("/v", **EVERYTHING))
    rows = [
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", {"metadata": {"name": "l", "resourceVersion": "7"}}),
        ("PATCH", f"{CONFIGMAPS}/applied", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}}),
    ]
    for method, path, body in rows:
        kind = "application/json" if method == "PUT" else "application/apply-patch+yaml"
        only_update = {"Impersonate-User": "updater"}
        status, answer, _ = lab.call(method, path, body, kind, only_update, fieldManager="f")
        assert status == 403 and "is forbidden" in answer["message"], answer
        assert [review["operation"] for review in lab.reviews()] == ["CREATE"], "mutating webhooks are asked before"
        status, answer, _ = lab.call(method, path, body, kind, fieldManager="f")
        reviews = lab.reviews()
        assert status == 201 and len(reviews) == 2, answer
        for review in reviews:
            assert (review["operation"], review["oldObject"]) == ("CREATE", None), review
            assert review["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "f"}, review
    status, _, _ = lab.call("PUT", f"{CONFIGMAPS}/absent", {"metadata": {"name": "absent"}})
    assert status == 404
    status, answer, _ = lab.call("PATCH", f"{CONFIGMAPS}/x", {"apiVersion": "v1", "kind": "ConfigMap"},
                                 "application/apply-patch+yaml", fieldManager="f")
    assert status == 400 and "(x based on URL) was undeterminable: name must be provided" in answer["message"], answer


def conflicts(lab):
    """A patch that loses a race is applied again, and reviewed again; a PUT with a version is refused."""
    for what, status_wanted in (("PATCH", 200), ("PUT", 409)):
        lab.call("POST", CONFIGMAPS, {"metadata": {"name": what.lower()}})
        path = f"{CONFIGMAPS}/{what.lower()}"
        lab.configure("mutating", lab.hook("/m", operations=["UPDATE"]))

        def race(request, number, path=path):
            if number == 1:
                lab.call("PATCH", path, {"data": {"theirs": "1"}}, MERGE)
            return {}

        lab.answers["/m"] = race
        body = {"data": {"mine": "1"}}
        if what == "PUT":
            body = {**lab.call("GET", path)[1], **body}
        status, answer, _ = lab.call(what, path, body, MERGE if what == "PATCH" else "application/json")
        assert status == status_wanted and len(lab.reviews("/m")) == 3, (what, status, answer)
        if status == 200:
            assert answer["data"] == {"mine": "1", "theirs": "1"}, answer
        lab.reset()


def unknown_fields(lab):
    """Fields a webhook adds to a custom resource are seen by later webhooks and never stored."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    lab.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": "things.lab.test"}, "spec": {
            "group": "lab.test", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})
    lab.configure("mutating", lab.hook("/m", groups=["lab.test"], resources=["things"]))
    lab.configure("validating", lab.hook("/v", groups=["lab.test"], resources=["things"]))
    lab.answers["/m"] = lambda request, n: {"patch": [{"op": "add", "path": "/spec/more", "value": 1}]}
    _, answer, _ = lab.call("POST", "/apis/lab.test/v1/namespaces/default/things", {
        "apiVersion": "lab.test/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": "b"}})
    assert lab.reviews("/v")[0]["object"]["spec"] == {"a": "b", "more": 1} and answer["spec"] == {"a": "b"}, answer
    for metadata in ("x", []):
        lab.answers["/m"] = lambda request, n, m=metadata: {"patch": [{"op": "replace", "path": "/metadata", "value": m}]}
        status, answer, _ = lab.call("POST", "/apis/lab.test/v1/namespaces/default/things", {
            "apiVersion": "lab.test/v1", "kind": "Thing", "metadata": {"name": "u"}})
        assert (status, answer["message"]) == (500, "Internal error occurred: system metadata was not initialized"), (metadata, answer)


def failed_conversions(lab):
    """An object that cannot be had in the webhook's version: refused before the call, whatever the policy; wrapped twice
    where it is mutating."""
    version = {"served": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    status, answer, _ = lab.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": "turns.lab.test"}, "spec": {
            "group": "lab.test", "scope": "Namespaced", "names": {"plural": "turns", "kind": "Turn"},
            "versions": [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}],
            "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {
                "url": lab.url + "/convert", "caBundle": lab.ca_bundle}}}}})
    assert status == 201, answer
    lab.answers["/convert"] = lambda request, n: {"http": 500, "body": "broken", "headers": {"Content-Type": "text/plain"}}
    for kind, times in (("mutating", 2), ("validating", 1)):
        lab.configure(kind, lab.hook("/h", groups=["lab.test"], versions=["v2"], resources=["turns"], failurePolicy="Ignore"))
        status, answer, _ = lab.call("POST", "/apis/lab.test/v1/namespaces/default/turns", {
            "apiVersion": "lab.test/v1", "kind": "Turn", "metadata": {"name": "t"}})
        wanted = "Internal error occurred: " * times + "conversion webhook for lab.test/v1, Kind=Turn failed: "
        assert status == 500 and answer["message"].startswith(wanted), answer
        assert not [1 for path, _, _, _ in lab.received if path == "/h"], lab.received
        lab.reset()
        lab.answers["/convert"] = lambda request, n: {"http": 500, "body": "broken", "headers": {"Content-Type": "text/plain"}}


def wrong_answers(lab):
    lab.configure("validating", lab.hook("/v"))
    rows = [
        ({"http": 101, "body": ""}, "0-length response with status code: 101"),
        ({"body": "", "headers": {"Content-Type": None}}, "0-length response with status code: 200 and content type: application/json"),
        ({"headers": {"Content-Type": "a/b; charset"}}, "Internal error occurred: mime: invalid media parameter"),
        ({"http": 500, "headers": {"Content-Type": "/x"}}, "Internal error occurred: mime: no media type"),
        ({"http": 307, "headers": {"Location": lab.url + "/v"}, "body": ""}, "stopped after 10 redirects"),
    ]
    lab.answers["/v"] = lambda request, n: {"allowed": False, "status": {"code": 1000}}
    status, said, _ = lab.call("POST", CONFIGMAPS, {"metadata": {"name": "wrong"}})
    assert (status, said) == (500, "This request caused apiserver to panic. Look in the logs for details.\n"), said
    lab.reviews()
    for number, (answer, text) in enumerate(rows):
        lab.answers["/v"] = lambda request, n, a=answer: json.loads(json.dumps(a))
        status, said, _ = lab.call("POST", CONFIGMAPS, {"metadata": {"name": f"wrong{number}"}})
        assert status == 500 and text in said["message"], said
    assert len(lab.received) == len(rows) - 1 + 10, f"{len(lab.received)} calls"


def failed_calls(lab):
    """Where and when a call failed stands in the log and in a metric."""
    def away(url, **more):
        hook = lab.hook("/v", **more)
        hook["clientConfig"] = url
        return hook

    # The path is decoded and escaped anew.
    lab.configure("validating", away({"url": lab.url + "/a%2Fb/c%20d//e/", "caBundle": lab.ca_bundle}))
    lab.call("POST", CONFIGMAPS, {"metadata": {"name": "escaped"}})
    assert [path for path, _, _, _ in lab.received] == ["/a/b/c%20d/e"], lab.received
    lab.reset()
    lab.configure("validating", away({"url": "https://127.0.0.1:1/x", "caBundle": lab.ca_bundle}, name="refused.lab.test"))
    lab.call("POST", CONFIGMAPS, {"metadata": {"name": "f"}})
    lab.reset()
    lab.configure("mutating", away({"url": lab.url.replace("127.0.0.1", "localhost") + "/m"}, name="stranger.lab.test"))
    lab.call("POST", CONFIGMAPS, {"metadata": {"name": "f"}})
    lab.reset()
    lab.configure("validating", away({"service": {"namespace": "default", "name": "gone"}}, name="gone.lab.test"))
    lab.call("POST", CONFIGMAPS, {"metadata": {"name": "f"}})
    counted = "\n".join(lab.metrics("portcullis_admission_webhook_call_failures_total"))
    log = (lab.folder / "log").read_text()
    for name, phase, kind in (("refused", "connect", "validating"), ("stranger", "handshake", "admit"), ("gone", "resolve", "validating")):
        assert f'name="{name}.lab.test",phase="{phase}",type="{kind}"}} 1' in counted, counted
        (line,) = [line for line in log.splitlines() if f"{name}.lab.test" in line and "webhook call failed" in line]
        assert f"phase={phase}" in line and "address=" in line and "after=" in line, line
    assert 'rest_client_requests_total{code="<error>",host="127.0.0.1:1",method="POST"} 1' in lab.metrics("rest_client_requests")


def bindings(lab):
    """What stands in the way of a binding is found after the webhooks have agreed."""
    lab.configure("validating", lab.hook("/v", resources=["pods/binding"]))
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "a.b/c"}]
    for body, text in ((gated, "pod gated has non-empty .spec.schedulingGates"),
                       (pod("placed", node="n"), 'pod placed is already assigned to node "n"'),
                       (pod("going", finalizers=["a.b/c"]), "pod going is being deleted, cannot be assigned to a host")):
        name = body["metadata"]["name"]
        assert lab.call("POST", PODS, body)[0] == 201
        if name == "going":
            lab.call("DELETE", f"{PODS}/{name}")
        status, said, _ = lab.call("POST", f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": {"name": "n"}})
        wanted = f'Operation cannot be fulfilled on pods/binding "{name}": {text}'
        assert (status, said["message"]) == (409, wanted), said
        assert len(lab.reviews("/v")) == 1, name
        lab.call("PATCH", f"{PODS}/{name}", {"metadata": {"finalizers": None}}, MERGE)
        lab.call("DELETE", f"{PODS}/{name}", gracePeriodSeconds=0)


def meant_objects(lab):
    """Webhooks see what clients say about the server's part of the metadata only where it means something."""
    lab.configure("validating", lab.hook("/v", resources=["pods/eviction", "pods/binding", "bindings"]))
    for path, kind in ((f"{PODS}/p/eviction", "policy/v1/Eviction"), (f"{NS}/bindings", "v1/Binding"), (f"{PODS}/p/binding", "v1/Binding")):
        lab.call("POST", PODS, pod("p"))
        version, _, kind = kind.rpartition("/")
        stated = {"uid": "other", "creationTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3, "generation": 7}
        lab.call("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": "p", **stated}, "target": {"name": "n"}})
        seen = lab.reviews("/v")[0]["object"]["metadata"]
        assert {field: seen.get(field) for field in stated} == (stated if path.endswith("p/binding") else {**dict.fromkeys(stated), "generation": 7}), (path, seen)
    lab.call("DELETE", f"{PODS}/p", gracePeriodSeconds=0)


def audited_bodies(lab):
    """What clients sent is audited before anything is made of it, to subresources too."""
    lab.call("POST", PODS, pod("p"))
    lab.call("POST", DEPLOYMENTS, deployment("d"))
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 2}, "status": {"replicas": 0}}
    binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "p", "uid": "other"}, "target": {"name": "n"}}
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {"uid": "u"}, "spec": {"token": "x"}, "status": {"user": {}}}
    for method, path, body in (("PUT", f"{DEPLOYMENTS}/d/scale", scale), ("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}),
                               ("PATCH", f"{PODS}/p", {"metadata": {"uid": "other"}}), ("POST", f"{PODS}/p/binding", binding), ("POST", f"{NS}/bindings", binding),
                               ("POST", f"{PODS}/p/eviction", {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "p", "uid": "u"}}),
                               ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)):
        _, _, headers = lab.call(method, path, body, MERGE if method == "PATCH" else "application/json")
        event = lab.audited(headers["Audit-Id"])
        assert event.get("requestObject") == body, (method, path, event)
        assert event["objectRef"].get("uid") == (None if method == "PATCH" else body["metadata"].get("uid")), (method, path, event)
    lab.call("DELETE", f"{DEPLOYMENTS}/d")
    lab.call("DELETE", f"{PODS}/p", gracePeriodSeconds=0)


def changed_kinds(lab):
    """An object that a webhook makes one of another kind, or of none, goes on to the next webhooks; only then is it found out."""
    lab.configure("mutating", lab.hook("/a"), lab.hook("/b"))
    for patch, mutated, seen, message in (
            ([{"op": "replace", "path": "/kind", "value": "Pod"}], True, "Pod", "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
            ([{"op": "replace", "path": "/kind", "value": "Pot"}], False, None,
             'Internal error occurred: no kind "Pot" is registered for version "v1" in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'),
            ([{"op": "remove", "path": "/kind"}], True, None, None),
            ([{"op": "remove", "path": "/apiVersion"}], True, "ConfigMap", None)):
        lab.answers["/a"] = lambda request, n, p=patch: {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(p).encode()).decode()}
        status, said, headers = lab.call("POST", CONFIGMAPS, {"metadata": {"generateName": "a-"}}, dryRun="All")
        notes = lab.audited(headers["Audit-Id"])["annotations"]
        assert (status, said.get("message")) == (500 if message else 201, message), (patch, said)
        assert json.loads(notes["mutation.webhook.admission.k8s.io/round_0_index_0"])["mutated"] is mutated, (patch, notes)
        assert ("patch.webhook.admission.k8s.io/round_0_index_0" in notes) == mutated, (patch, notes)
        assert [review["object"].get("kind") for review in lab.reviews("/b")][:1] == ([seen] if mutated else []), patch


def fresh_times(lab):
    """A patch that changes nothing counts if the request has put its time into managedFields, in the second of the write before, too."""
    idle = base64.b64encode(b'[{"op": "test", "path": "/kind", "value": "ConfigMap"}]').decode()
    lab.configure("mutating", lab.hook("/a", **EVERYTHING))
    lab.answers["/a"] = lambda request, n: {"allowed": True, "patchType": "JSONPatch", "patch": idle}
    for value, mutated in (("1", True), ("2", True), ("3", True), ("3", False)):
        found, _, _ = lab.call("GET", f"{CONFIGMAPS}/fresh")
        method, path = ("PUT", f"{CONFIGMAPS}/fresh") if found == 200 else ("POST", CONFIGMAPS)
        status, said, headers = lab.call(method, path, {"metadata": {"name": "fresh"}, "data": {"a": value}})
        notes = lab.audited(headers["Audit-Id"])["annotations"]
        assert status < 300 and json.loads(notes["mutation.webhook.admission.k8s.io/round_0_index_0"])["mutated"] is mutated, (value, said, notes)


def late_requests(lab):
    """A request whose time is up is not carried out, even if the webhook that took it may be passed over."""
    for kind in ("validating", "mutating"):
        lab.configure(kind, lab.hook("/slow", timeoutSeconds=5, failurePolicy="Ignore"))
        answered = threading.Event()
        lab.answers["/slow"] = lambda request, n, e=answered: {"allowed": e.wait(10)}
        status, said, headers = lab.call("POST", CONFIGMAPS, {"metadata": {"name": "late"}}, timeout="1s")
        answered.set()
        assert (status, said) == (504, {"metadata": {}, "status": "Failure", "message": "Timeout: request did not complete within the allotted timeout",
                                        "reason": "Timeout", "details": {}, "code": 504}), said
        assert headers["Content-Type"] == "text/plain; charset=utf-8" and "X-Kubernetes-Pf-Flowschema-Uid" not in headers, dict(headers)
        event = lab.audited(headers["Audit-Id"])
        assert event["responseStatus"]["message"] == "Timeout: request did not complete within requested timeout - context deadline exceeded", event
        lab.reset()
        assert lab.call("GET", f"{CONFIGMAPS}/late")[0] == 404


STORIES = [configurations, deletions, namespaces, subresources, connections, changed_connections, changed_metadata, creating_updates, conflicts, unknown_fields, failed_conversions,
           wrong_answers, failed_calls, bindings, meant_objects, audited_bodies, changed_kinds, fresh_times, late_requests]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--only", metavar="STORY")
    args = parser.parse_args()
    stories = [story for story in STORIES if args.only in (None, story.__name__)]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(str((args.build / "portcullis").resolve()), folder, "--endpoint-reconciler-type=none")
        try:
            for story in stories:
                try:
                    story(lab)
                except AssertionError as error:
                    failed.append(f"{story.__name__}: {error}")
                lab.reset()
        finally:
            lab.end()
    print(f"webhooks: {len(stories) - len(failed)} passed, {len(failed)} failed")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
