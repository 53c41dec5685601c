# SPDX-License-Identifier: Apache-2.0

"""Generated mutations of policies: expressions of apply configurations and of JSON patches for the kinds of admission_cases."""

import json

# The types of fields: a dict is a structure, a list with a dict or a type a list of it, "map" a map of texts.
LABELED = {"labels": "map", "annotations": "map", "finalizers": ["text"], "generateName": "text", "name": "name", "namespace": "name",
           "ownerReferences": [{"apiVersion": "text", "kind": "text", "name": "name", "uid": "text", "controller": "bool"}]}
CONTAINER = {"name": "name", "image": "text", "args": ["text"], "imagePullPolicy": "text", "env": [{"name": "name", "value": "text"}], "stdin": "bool",
             "ports": [{"containerPort": "int", "protocol": "text", "name": "name"}], "resources": {"requests": "map", "limits": "map"},
             "securityContext": {"runAsUser": "int", "capabilities": {"drop": ["text"], "add": ["text"]}, "privileged": "bool"},
             "volumeMounts": [{"name": "name", "mountPath": "text"}], "livenessProbe": {"exec": {"command": ["text"]}, "periodSeconds": "int"}}
POD = {"containers": [CONTAINER], "initContainers": [CONTAINER], "nodeSelector": "map", "tolerations": [{"key": "name", "operator": "text", "value": "text", "tolerationSeconds": "int"}],
       "activeDeadlineSeconds": "int", "hostNetwork": "bool", "terminationGracePeriodSeconds": "int", "priority": "int", "restartPolicy": "text",
       "securityContext": {"runAsUser": "int", "supplementalGroups": ["int"], "sysctls": [{"name": "name", "value": "text"}]},
       "volumes": [{"name": "name", "emptyDir": {"medium": "text", "sizeLimit": "text"}, "secret": {"secretName": "text"}}], "imagePullSecrets": [{"name": "name"}], "schedulerName": "text",
       "topologySpreadConstraints": [{"maxSkew": "int", "topologyKey": "text", "whenUnsatisfiable": "text"}], "affinity": {"nodeAffinity": {}}}
TEMPLATE = {"metadata": LABELED, "spec": POD}
KINDS = {
    "configmaps": {"data": "map", "immutable": "bool", "binaryData": "map"},
    "secrets": {"stringData": "map", "data": "map", "type": "text"},
    "pods": {"spec": POD},
    "services": {"spec": {"ports": [{"port": "int", "name": "name", "targetPort": "int", "protocol": "text"}], "selector": "map", "externalIPs": ["text"], "sessionAffinity": "text",
                          "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": "int"}}, "type": "text"}},
    "serviceaccounts": {"secrets": [{"name": "name"}], "imagePullSecrets": [{"name": "name"}], "automountServiceAccountToken": "bool"},
    "deployments": {"spec": {"replicas": "int", "template": TEMPLATE, "strategy": {"type": "text", "rollingUpdate": {"maxSurge": "int", "maxUnavailable": "text"}}, "minReadySeconds": "int",
                             "selector": {"matchLabels": "map", "matchExpressions": [{"key": "name", "operator": "text", "values": ["text"]}]}, "paused": "bool"}},
    "jobs": {"spec": {"parallelism": "int", "suspend": "bool", "backoffLimit": "int", "template": TEMPLATE, "podFailurePolicy": {"rules": [{"action": "text"}]}}},
    "horizontalpodautoscalers": {"spec": {"minReplicas": "int", "maxReplicas": "int", "metrics": [{"type": "text", "resource": {"name": "name", "target": {"type": "text", "averageUtilization": "int"}}}],
                                          "scaleTargetRef": {"kind": "text", "name": "name"}}},
    "leases": {"spec": {"holderIdentity": "text", "leaseDurationSeconds": "int", "renewTime": "text", "leaseTransitions": "int"}},
    "roles": {"rules": [{"apiGroups": ["text"], "resources": ["text"], "verbs": ["text"]}]},
    "events": {"reason": "text", "message": "text", "count": "int", "source": {"component": "text"}},
    "namespaces": {"spec": {"finalizers": ["text"]}},
    "widgets": {"spec": {"size": "int", "note": "text", "replicas": "int", "tags": ["text"]}},
}
VALUES = {
    "text": ["'x'", "''", "'c'", "object.metadata.name", "'a' + string(size(object.metadata.name))", "request.operation", "'ClientIP'", "'TCP'", "'Always'", "'1Gi'", "'100m'", "string(3)"],
    "name": ["'a'", "'c'", "'x'", "'side'", "object.metadata.name", "'app'", "request.name"],
    "int": ["1", "0", "-1", "80", "3", "size(object.metadata.name)", "int('7')", "5000000000", "object.spec.replicas", "object.spec.size + 1"],
    "bool": ["true", "false", "has(object.spec)", "object.metadata.name == 'a'"],
    "map": ["{'app': 'y'}", "{'new': 'v', 'a': '2'}", "{}", "{'a/b': 'x'}", "{object.metadata.name: request.operation}", "object.metadata.labels", "{'app': object.metadata.?labels[?'app'].orValue('none')}",
            "{'e': ''}", "{?'app': optional.none()}", "{?'q': optional.of('r')}", "{'cpu': '1'}", "{'n': 1}", "object.metadata.labels.transformMap(k, v, v + 'z')", "{'a': null}"],
}
WRONG = ["1", "'x'", "true", "null", "[]", "{}", "1.5", "[1, 'a']", "b'eA=='", "dyn('x')", "object.nothing", "optional.none()", "timestamp('2020-01-01T00:00:00Z')", "duration('1h')", "Object{}", "[null]", "dyn(1)", "1u", "object.spec", "type(1)", "quantity('1')"]
RAW_VALUES = ["a", "x", "", None, True, 1, 0, -1, 1.5, 5000000000, 80, [], {}, ["a"], [1], [{}], {"a": "b"}, {"app": "x", "a": "1"}, {"a": {"b": [1]}}, {"name": "z", "image": "i"}, [{"name": "z", "image": "i"}], {"port": 81, "name": "w"},
              [None], {"a": None}, "1Gi", {"type": "Recreate"}, ["a.test/f"]]
PATHS = {
    "configmaps": ["/data", "/data/a", "/data/b", "/data/new", "/immutable", "/binaryData"], "secrets": ["/data/a", "/data", "/type", "/stringData"],
    "pods": ["/spec/containers/0", "/spec/containers/-", "/spec/containers/1", "/spec/containers/0/image", "/spec/containers/0/env", "/spec/containers/0/env/-", "/spec/tolerations", "/spec/nodeSelector", "/spec/nodeSelector/a", "/spec/activeDeadlineSeconds", "/spec/containers/0/name"],
    "services": ["/spec/ports/0", "/spec/ports/-", "/spec/ports/0/name", "/spec/selector/app", "/spec/selector", "/spec/externalIPs", "/spec/ports/5"], "serviceaccounts": ["/secrets", "/secrets/-", "/imagePullSecrets"],
    "deployments": ["/spec/replicas", "/spec/template/spec/containers/0/image", "/spec/template/metadata/labels/app", "/spec/template/metadata/labels", "/spec/strategy", "/spec/strategy/rollingUpdate", "/spec/template/spec/containers/-", "/spec/minReadySeconds"],
    "jobs": ["/spec/parallelism", "/spec/suspend", "/spec/template/spec/containers/0/args", "/spec/template/spec/restartPolicy"], "horizontalpodautoscalers": ["/spec/maxReplicas", "/spec/minReplicas", "/spec/metrics"],
    "leases": ["/spec/holderIdentity", "/spec/leaseDurationSeconds", "/spec"], "roles": ["/rules/0", "/rules/-", "/rules/0/verbs/0", "/rules/0/verbs/-", "/rules"], "events": ["/reason", "/message", "/count"],
    "namespaces": ["/spec/finalizers/0", "/spec/finalizers"], "widgets": ["/spec/size", "/spec/tags/0", "/spec/tags/-", "/spec/tags/1", "/spec/tags/2", "/spec/tags/3", "/spec/note", "/spec/new", "/status", "/spec"],
}
ALL_PATHS = ["/metadata/labels", "/metadata/labels/app", "/metadata/labels/new", "/metadata/annotations", "/metadata/annotations/a~1b", "/metadata/annotations/a~0b", "/metadata/labels/", "", "/", "/nothing/deep", "/metadata/finalizers", "/metadata/finalizers/-",
             "/metadata/finalizers/0", "/metadata/name", "/kind", "/apiVersion", "/metadata/labels/a~2b", "/metadata/labels/~", "/metadata/ownerReferences", "metadata/labels", "/metadata", "/metadata/uid", "/metadata/managedFields", "/metadata/creationTimestamp"]
ODD = ["/-1", "/01", "/1e0", "/--", "/-", "/ 0", "/00", "/2147483648", "/99999999999999999999"]


class Mutations:
    def __init__(self, random, plural):
        self.random, self.plural = random, plural
        self.fields = {**KINDS[plural], "metadata": LABELED}

    def some(self, chance):
        return self.random.random() < chance

    # --- apply configurations --------------------------------------------------------------------------

    def apply(self):
        whole = self.structure("Object", self.fields, 2)
        return f"has(object.metadata.labels) ? {whole} : Object{{}}" if self.some(0.1) else whole

    def structure(self, name, fields, most):
        chosen = self.random.sample(sorted(fields), min(len(fields), self.random.randint(1, most)))
        if name.endswith(".item") and "name" in fields and self.some(0.8):
            chosen = sorted({"name", *chosen})
        return name + "{" + ", ".join(self.member(name, one, fields[one]) for one in chosen) + "}"

    def member(self, name, field, kind):
        if self.some(0.03):
            return f"{field}: {self.random.choice(WRONG)}"
        if self.some(0.08):
            where = name.replace("Object", "object", 1).replace(".item", "[0]")
            return f"?{field}: " + self.random.choice([f"{where}.?{field}", "optional.none()", f"optional.of({self.value(f'{name}.{field}', kind)})", f"object.?nothing.{field}"])
        return f"{field}: {self.value(f'{name}.{field}', kind)}"

    def value(self, name, kind):
        random = self.random
        if isinstance(kind, dict):
            return self.structure(name, kind, 2) if kind else name + "{}"
        if isinstance(kind, list):
            (element,) = kind
            if isinstance(element, str):
                return random.choice(["[]", "[{}]", "[{}, {}]", "[{0}, {0}]", "object.metadata.?finalizers.orValue([])"]).format(self.value(name, element), self.value(name, element))
            made = [self.structure(name + ".item", element, 3) for _ in range(random.choice([0, 1, 1, 1, 2]))]
            if self.some(0.1):
                where = name.replace("Object", "object", 1).replace(".item", "[0]")
                return f"{where}.map(e, {self.structure(name + '.item', element, 2)})"
            return "[" + ", ".join(made) + "]"
        return random.choice(VALUES[kind])

    # --- JSON patches ----------------------------------------------------------------------------------

    def patch(self):
        operations = [self.operation() for _ in range(self.random.choice([1, 1, 2, 3]))]
        return "[" + ", ".join(operations) + "]"

    def operations(self):
        """A JSON patch as webhooks send it."""
        found = []
        for _ in range(self.random.choice([1, 1, 2, 3])):
            op = self.random.choice(["add", "add", "add", "replace", "replace", "remove", "test", "copy", "move"])
            one = {"op": op, "path": self.pointer()}
            if op in ("copy", "move"):
                one["from"] = self.pointer()
            elif op != "remove":
                one["value"] = self.random.choice(RAW_VALUES)
            found.append(one)
        return found

    def pointer(self):
        chosen = self.random.choice(PATHS[self.plural] if self.some(0.6) else ALL_PATHS)
        if self.some(0.08):
            chosen = chosen.rsplit("/", 1)[0] + self.random.choice(ODD)
        return chosen

    def path(self):
        if self.some(0.05):
            return "'/metadata/labels/' + jsonpatch.escapeKey(" + self.random.choice(["'a/b'", "object.metadata.name", "'~'", "''", "'a~/c'"]) + ")"
        return "'" + self.pointer() + "'"

    def operation(self):
        random = self.random
        op = random.choice(["add", "add", "add", "replace", "replace", "remove", "test", "copy", "move"]) if self.some(0.97) else random.choice(["Add", "", "merge"])
        parts = [f"op: '{op}'", f"path: {self.path()}"]
        if op in ("copy", "move") or self.some(0.02):
            parts.append(f"from: {self.path()}")
        if op in ("add", "replace", "test") and self.some(0.995) or self.some(0.03):
            parts.append("value: " + self.operand())
        return "JSONPatch{" + ", ".join(parts) + "}"

    def operand(self):
        random = self.random
        if self.some(0.25):
            return random.choice(WRONG + ["object.metadata.labels", "object.spec.containers[0]", "object.metadata", "[object.metadata.name]"])
        if self.some(0.15):
            return json.dumps(random.choice(["a", "x", {"a": "b"}, ["a"], {"name": "z", "image": "i"}, {"app": "x"}, {"a": {"b": [1]}}]))
        fields, name = self.fields, "Object"
        for _ in range(random.choice([1, 2, 3])):
            field = random.choice(sorted(fields))
            kind, name = fields[field], f"{name}.{field}"
            if not isinstance(kind, dict) or not kind:
                break
            fields = kind
        # A handler of kube-apiserver panics at a list of objects.
        return self.structure(name, kind[0], 2) if isinstance(kind, list) and isinstance(kind[0], dict) else self.value(name, kind)
