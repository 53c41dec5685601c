#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways around admission: routes that a webhook might not be asked about, bodies that it might see otherwise than they
are stored, answers that might be taken for a yes, patches that turn an object into another one, decisions of a policy that
has changed. Each of them was tried by an attack and held; here they stay so.

    tests/integration/hostile_admission.py --build build/release
"""

import argparse
import json
import pathlib
import sys
import tempfile

from webhook_lab import CONFIGURATIONS, MERGE, Lab

NS = "/api/v1/namespaces/default"
CONFIGMAPS, PODS = f"{NS}/configmaps", f"{NS}/pods"
APPS = "/apis/apps/v1/namespaces/default"
JSON, YAML = "application/json", "application/yaml"
STRATEGIC, PATCH, APPLY = ("application/strategic-merge-patch+json", "application/json-patch+json",
                           "application/apply-patch+yaml")
SPEC = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
EVERYTHING = {"operations": ["*"], "groups": ["*"], "versions": ["*"], "resources": ["*/*"]}


def config_map(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}, "data": {"a": "1"}}


def pod(name, **metadata):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": SPEC}


def deployment(name):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}}}


def routes():
    """Every way to write: method, path, body, type of the body, query."""
    named = config_map("there")
    rows = [
        ("POST", CONFIGMAPS, config_map("new")),
        ("POST", CONFIGMAPS, {"metadata": {"generateName": "new-"}}),
        ("POST", CONFIGMAPS, config_map("new"), JSON, {"dryRun": "All"}),
        ("POST", CONFIGMAPS, "metadata: {name: new}", YAML),
        ("PUT", f"{CONFIGMAPS}/there", named),
        ("PATCH", f"{CONFIGMAPS}/there", {"data": {"a": "2"}}, MERGE),
        ("PATCH", f"{CONFIGMAPS}/there", {"data": {"a": "2"}}, STRATEGIC),
        ("PATCH", f"{CONFIGMAPS}/there", [{"op": "add", "path": "/data/b", "value": "2"}], PATCH),
        ("PATCH", f"{CONFIGMAPS}/there", named, APPLY, {"fieldManager": "m", "force": "true"}),
        ("PATCH", f"{CONFIGMAPS}/new", config_map("new"), APPLY, {"fieldManager": "m"}),
        ("DELETE", f"{CONFIGMAPS}/there", None),
        ("DELETE", f"{CONFIGMAPS}/there", {"dryRun": ["All"]}),
        ("DELETE", CONFIGMAPS, None),
        ("DELETE", CONFIGMAPS, None, JSON, {"labelSelector": "a=b"}),
        ("POST", PODS, pod("new")),
        ("DELETE", f"{PODS}/there", None),
        ("PUT", f"{PODS}/there/status", pod("there")),
        ("PATCH", f"{PODS}/there/status", {"status": {"message": "m"}}, MERGE),
        ("PATCH", f"{PODS}/there/resize", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        ("PATCH", f"{PODS}/there/ephemeralcontainers",
         {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}, STRATEGIC),
        ("POST", f"{PODS}/there/binding", {"metadata": {"name": "there"}, "target": {"kind": "Node", "name": "n"}}),
        ("POST", f"{NS}/bindings", {"metadata": {"name": "there"}, "target": {"kind": "Node", "name": "n"}}),
        ("POST", f"{PODS}/there/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "there"}}),
        ("POST", f"{PODS}/there/exec", None, JSON, {"command": "sh"}),
        ("GET", f"{PODS}/there/exec", None, JSON, {"command": "sh"}),
        ("POST", f"{PODS}/there/attach", None),
        ("POST", f"{PODS}/there/portforward", None, JSON, {"ports": "1"}),
        ("GET", f"{PODS}/there/proxy", None),
        ("POST", f"{PODS}/there/proxy/a/b", None),
        ("GET", f"{NS}/services/there/proxy", None),
        ("POST", f"{NS}/serviceaccounts/there/token",
         {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
        ("POST", f"{APPS}/deployments", deployment("new")),
        ("PUT", f"{APPS}/deployments/there/scale", {
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "there", "namespace": "default"},
            "spec": {"replicas": 2}}),
        ("PATCH", f"{APPS}/deployments/there/scale", {"spec": {"replicas": 2}}, MERGE),
        ("PATCH", f"{APPS}/deployments/there/status", {"status": {"replicas": 2}}, MERGE),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/new", {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "new"}}),
        ("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}}),
        ("PATCH", "/api/v1/namespaces/there", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        ("PUT", "/api/v1/namespaces/there/finalize", {"metadata": {"name": "there"}, "spec": {"finalizers": []}}),
        ("PATCH", "/api/v1/namespaces/there/status", {"status": {"phase": "Active"}}, MERGE),
        ("DELETE", "/api/v1/namespaces/there", None),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": "u", "nonResourceAttributes": {"path": "/", "verb": "get"}}}),
    ]
    return [(*row, *(JSON, {})[len(row) - 3:]) for row in rows]


def every_write_is_reviewed(lab):
    for path, body in ((f"{NS}/serviceaccounts", {"metadata": {"name": "default"}}),
                       (CONFIGMAPS, config_map("there", labels={"a": "b"})), (PODS, pod("there")),
                       (f"{NS}/services", {"metadata": {"name": "there"}, "spec": {"ports": [{"port": 1}]}}),
                       (f"{NS}/serviceaccounts", {"metadata": {"name": "there"}}),
                       (f"{APPS}/deployments", deployment("there")),
                       ("/api/v1/namespaces", {"metadata": {"name": "there"}})):
        status, answer, _ = lab.call("POST", path, body)
        assert status == 201, answer
    for kind in ("validating", "mutating"):
        lab.answers[f"/deny-{kind}"] = lambda request, number: {"allowed": False, "status": {"message": "no way"}}
        lab.configure(kind, lab.hook(f"/deny-{kind}", **EVERYTHING))
        for method, path, body, media, query in routes():
            lab.reviews(f"/deny-{kind}")
            status, answer, _ = lab.call(method, path, body, media, **query)
            told = answer.get("message", "") if isinstance(answer, dict) else str(answer)
            if "denied the request: no way" not in told or not lab.reviews(f"/deny-{kind}"):
                sys.exit(f"{method} {path} {query} is not refused by the {kind} webhook: {status} {told[:300]}")
        lab.reset()


# Bodies of one object, written so that two readers might differ.
TWISTED = [
    (JSON, '{"metadata":{"name":"t"},"data":{"a":"good"},"data":{"a":"bad"}}'),
    (JSON, '{"metadata":{"name":"t"},"data":{"a":"good","a":"bad"}}'),
    (JSON, '{"metadata":{"name":"t"},"data":{"a":"good"},"Data":{"a":"bad"},"DATA":{"a":"worse"}}'),
    (JSON, r'{"metadata":{"name":"t"},"d\u0061ta":{"a":"bad"}}'),
    (JSON, r'{"metadata":{"name":"t","name":"\u0074"},"data":{"\u0061":"\u0062ad"}}'),
    (JSON, '{"metadata":{"name":"t","labels":{"l":"1"}},"metadata":{"name":"t"},"data":{"a":"x"}}'),
    (YAML, "metadata: {name: t}\ndata: {a: good}\ndata: {a: bad}\n"),
    (YAML, "x: &x {a: bad}\nmetadata: {name: t}\ndata: {<<: *x, b: c}\n"),
    (YAML, "metadata: &m {name: t}\ndata: {a: good}\n---\nmetadata: *m\ndata: {a: bad}\n"),
    (YAML, "metadata: {name: t}\ndata: {a: !!str 1, b: \"on\"}\n"),
    (JSON, '{"metadata":{"name":"t"},"data":{"a":"x"},"binaryData":{"b":"eA=="}}'),
]
TWISTED_PATCHES = [
    (MERGE, '{"data":{"a":"good"},"data":{"a":"bad"}}'),
    (MERGE, '{"data":null,"data":{"a":"bad"}}'),
    (STRATEGIC, '{"data":{"$patch":"replace","z":"bad"}}'),
    (STRATEGIC, '{"$retainKeys":["data"],"data":{"y":"bad"}}'),
    (PATCH, '[{"op":"copy","from":"/data/a","path":"/data/c"},{"op":"move","from":"/data/a","path":"/data/d"}]'),
    (PATCH, '[{"op":"add","path":"/data/a~1b","value":"x","value":"bad"}]'),
    (PATCH, '[{"op":"add","path":"/data","value":{"a":"1"}},{"op":"replace","path":"/data/a","value":"bad"}]'),
    (APPLY, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t"},"data":{"a":"good"},"data":{"a":"bad"}}'),
]


def contents(thing):
    kept = {key: value for key, value in thing.items() if key not in ("metadata", "apiVersion", "kind")}
    return {**kept, "labels": thing["metadata"].get("labels"), "name": thing["metadata"]["name"]}


def webhooks_see_what_is_stored(lab):
    lab.configure("validating", lab.hook("/see", operations=("CREATE", "UPDATE")))

    def compare(what, status, answer):
        seen = lab.reviews("/see")
        if status >= 400:
            return  # nothing is stored
        _, stored, _ = lab.call("GET", f"{CONFIGMAPS}/t")
        if not seen or contents(seen[-1]["object"]) != contents(stored):
            sys.exit(f"{what}: the webhook was shown\n{seen and contents(seen[-1]['object'])}\nstored was\n{contents(stored)}")

    for media, body in TWISTED:
        status, answer, _ = lab.call("POST", CONFIGMAPS, body, media)
        compare(body, status, answer)
        lab.call("DELETE", f"{CONFIGMAPS}/t")
    for media, body in TWISTED_PATCHES:
        lab.call("POST", CONFIGMAPS, config_map("t"))
        lab.reviews("/see")
        status, answer, _ = lab.call("PATCH", f"{CONFIGMAPS}/t", body, media, fieldManager="m", **(
            {"force": "true"} if media == APPLY else {}))
        compare(body, status, answer)
        lab.call("DELETE", f"{CONFIGMAPS}/t")
    lab.reset()


REVIEW = '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"UID",%s}}'
# Bodies of answers that must not be taken for a yes. UID is that of the request.
ANSWERS = [
    "null", "[]", "{}", '"allowed"', "true", "1", "allowed: true", '{"allowed":true}', '{"response":true}',
    '{"response":{"allowed":true}}', '{"response":{"uid":"UID","allowed":true}}',
    REVIEW % '"allowed":true,"allowed":false', REVIEW % '"Allowed":true', REVIEW % '"ALLOWED":true', REVIEW % '"allowed":"true"',
    REVIEW % '"allowed":1', REVIEW % '"allowed":[true]', REVIEW % '"allowed":null', REVIEW % '"allowed":{"allowed":true}',
    REVIEW % '"x":{"allowed":true}', REVIEW % r'"allowed\u0000":true', REVIEW % r'"allowed ":true',
    (REVIEW % '"allowed":true').replace("UID", "another"), (REVIEW % '"allowed":true').replace("UID", ""),
    (REVIEW % '"allowed":true').replace("UID", "UID "), (REVIEW % '"allowed":true').replace("AdmissionReview", "Status"),
    (REVIEW % '"allowed":true').replace("/v1", "/v9"), (REVIEW % '"allowed":true').replace("response", "Response"),
    (REVIEW % '"allowed":true')[:-1], (REVIEW % '"allowed":false') + (REVIEW % '"allowed":true'), "\ufeff" + "{}",
    REVIEW % '"allowed":true,"patchType":"JSONPatch"', REVIEW % '"allowed":true,"patch":"W10="',
    REVIEW % '"allowed":true,"patchType":"MergePatch","patch":"e30="', REVIEW % '"allowed":true,"patchType":"JSONPatch","patch":"%%%"',
    REVIEW % '"allowed":true,"patchType":"JSONPatch","patch":"e30="', REVIEW % '"allowed":true,"warnings":"w"',
    REVIEW % '"allowed":true,"auditAnnotations":[1]', REVIEW % '"allowed":false,"status":{"code":200,"status":"Success"}',
    REVIEW % '"allowed":false,"status":{"code":-1}', REVIEW % '"allowed":false,"status":{"code":1e400}',
    REVIEW % '"allowed":false,"status":{"code":99999}', REVIEW % '"allowed":false,"status":{"message":"a\\r\\nX-Header: b"}',
]
STATUSES = (100, 204, 301, 302, 304, 400, 401, 403, 404, 418, 429, 500, 503)


def no_answer_is_taken_for_a_yes(lab):
    for kind in ("validating", "mutating"):
        lab.configure(kind, lab.hook("/odd", failurePolicy="Fail", timeoutSeconds=2))
        for body in ANSWERS:
            lab.answers["/odd"] = lambda request, number, text=body: {"body": text.replace("UID", request["uid"])}
            refused(lab, f"{kind}: {body}")
        for code in STATUSES:
            lab.answers["/odd"] = lambda request, number, c=code: {"http": c, "allowed": True} if c > 299 else {"http": c, "body": ""}
            refused(lab, f"{kind}: HTTP {code}")
        lab.reset()


def refused(lab, what):
    status, answer, headers = lab.call("POST", CONFIGMAPS, config_map("odd"))
    if status < 400 or "X-Header" in dict(headers):
        sys.exit(f"{what}: {status} {answer}")
    status, answer, _ = lab.call("GET", f"{CONFIGMAPS}/odd")
    if status != 404:
        sys.exit(f"{what}: the object is stored: {answer}")


def change(path, value):
    return [{"op": "replace", "path": path, "value": value}]


# Patches of a webhook that would turn the object into another one. (Its name may be changed on creation, as in
# kube-apiserver: nothing is authorized by the name of what is created.)
IDENTITIES = [
    change("/metadata/namespace", "kube-system"), change("/kind", "Secret"),
    change("/apiVersion", "v9"), [{"op": "add", "path": "/metadata/uid", "value": "0-0"}],
    [{"op": "add", "path": "/metadata/resourceVersion", "value": "7"}], [{"op": "remove", "path": "/metadata/name"}],
    [{"op": "remove", "path": "/metadata"}], [{"op": "replace", "path": "", "value": {}}],
    [{"op": "add", "path": "/metadata/deletionTimestamp", "value": "2020-01-01T00:00:00Z"}],
    [{"op": "add", "path": "/metadata/creationTimestamp", "value": "2020-01-01T00:00:00Z"}],
]


def patches_keep_the_identity(lab):
    lab.configure("mutating", lab.hook("/turn"))
    for patch in IDENTITIES:
        lab.answers["/turn"] = lambda request, number, p=patch: {"patch": p}
        status, answer, _ = lab.call("POST", CONFIGMAPS, config_map("turned"))
        found, what, _ = lab.call("GET", "/api/v1/namespaces/kube-system/configmaps/turned")
        if found != 404:
            sys.exit(f"{patch}: it is in another namespace: {what}")
        if status < 400:
            metadata = answer["metadata"]
            if (answer["kind"], metadata["name"], metadata["namespace"]) != ("ConfigMap", "turned", "default"):
                sys.exit(f"{patch}: {answer}")
            if metadata["uid"] == "0-0" or metadata["resourceVersion"] == "7" or metadata["creationTimestamp"].startswith("2020"):
                sys.exit(f"{patch}: {metadata}")
        lab.call("DELETE", f"{CONFIGMAPS}/turned")
    lab.reset()


def policies_decide_by_their_newest_state(lab):
    """What has been acknowledged is in force for the next request: policies, bindings, parameters."""
    group = "/apis/admissionregistration.k8s.io/v1"
    meta = {"apiVersion": "admissionregistration.k8s.io/v1"}
    for turn in range(30):
        policy = {**meta, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": f"p{turn}"}, "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"objectSelector": {"matchLabels": {"judged": "yes"}}, "resourceRules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                                                    "resources": ["configmaps"]}]},
            "validations": [{"expression": "object.data.a == params.data.a"}]}}
        binding = {**meta, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": f"p{turn}"}, "spec": {
            "policyName": f"p{turn}", "validationActions": ["Deny"],
            "paramRef": {"name": f"params{turn}", "namespace": "default", "parameterNotFoundAction": "Deny"}}}
        judged = lambda: lab.call("POST", CONFIGMAPS, config_map("judged", labels={"judged": "yes"}), dryRun="All")[0]
        assert judged() == 201, turn
        for path, body in ((f"{group}/validatingadmissionpolicies", policy), (f"{group}/validatingadmissionpolicybindings", binding)):
            status, answer, _ = lab.call("POST", path, body)
            assert status == 201, answer
        assert judged() == 422, f"turn {turn}: no parameters"
        parameters = {**config_map(f"params{turn}"), "data": {"a": "1"}}
        status, answer, _ = lab.call("POST", CONFIGMAPS, parameters)
        assert status == 201, answer
        assert judged() == 201, f"turn {turn}: parameters allow"
        for value, code in (("2", 422), ("1", 201), ("3", 422)):
            lab.call("PUT", f"{CONFIGMAPS}/params{turn}", {**parameters, "data": {"a": value}})
            assert judged() == code, f"turn {turn}: parameters changed to {value}"
        lab.call("DELETE", f"{group}/validatingadmissionpolicybindings/p{turn}")
        assert judged() == 201, f"turn {turn}: binding gone"
        lab.call("DELETE", f"{group}/validatingadmissionpolicies/p{turn}")


STORIES = (every_write_is_reviewed, webhooks_see_what_is_stored, no_answer_is_taken_for_a_yes, patches_keep_the_identity,
           policies_decide_by_their_newest_state)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    program = str(parser.parse_args().build / "portcullis")
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(program, folder, "--store=memory")
        try:
            for story in STORIES:
                story(lab)
        finally:
            lab.end()
    print(f"hostile admission: {len(STORIES)} families hold")


if __name__ == "__main__":
    main()
