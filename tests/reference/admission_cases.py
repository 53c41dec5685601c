# SPDX-License-Identifier: Apache-2.0

"""Generated admission: a cell is a namespace with webhook configurations and policies of its own, and the requests that meet them."""

import dataclasses
import json

from admission_mutations import Mutations
from generated import APPLY, JSON_PATCH, MERGE, STRATEGIC, Request, path_with

ADMISSION = "admissionregistration.k8s.io/v1"
HOOKS, BUNDLE = "https://hooks.invalid", "KGJ1bmRsZSk="  # stand for the webhook server of each side
WIDGETS = "widgets.example.test"

NAMESPACE = "(namespace)"  # stands for the cell's

POD = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "registry.test/app:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": POD}
RULE_SELECTOR = {"matchLabels": {"app": "x"}}
KINDS = {  # plural -> (apiVersion, kind, the rest, subresources)
    "configmaps": ("v1", "ConfigMap", {"data": {"a": "1", "b": "two"}}, ()),
    "secrets": ("v1", "Secret", {"stringData": {"a": "1"}}, ()),
    "pods": ("v1", "Pod", {"spec": POD}, ("status", "eviction", "binding", "ephemeralcontainers", "exec", "attach", "portforward")),
    "services": ("v1", "Service", {"spec": {"ports": [{"port": 80}], "selector": {"app": "x"}}}, ("status",)),
    "serviceaccounts": ("v1", "ServiceAccount", {}, ("token",)),
    "deployments": ("apps/v1", "Deployment", {"spec": {"replicas": 2, "selector": RULE_SELECTOR, "template": TEMPLATE}}, ("scale", "status")),
    "jobs": ("batch/v1", "Job", {"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}}, ("status",)),
    "horizontalpodautoscalers": ("autoscaling/v2", "HorizontalPodAutoscaler",
                                 {"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}}, ("status",)),
    "leases": ("coordination.k8s.io/v1", "Lease", {"spec": {"holderIdentity": "me"}}, ()),
    "roles": ("rbac.authorization.k8s.io/v1", "Role", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, ()),
    "events": ("v1", "Event", {"reason": "Seen", "type": "Normal", "involvedObject": {"kind": "Pod", "name": "a", "namespace": NAMESPACE}}, ()),
    "namespaces": ("v1", "Namespace", {}, ("status",)),
    "widgets": ("example.test/v1", "Widget", {"spec": {"size": 3, "tags": ["x", "y"], "note": "n"}}, ("status", "scale")),
}
OTHER_VERSIONS = {"horizontalpodautoscalers": "autoscaling/v1", "widgets": "example.test/v1beta1", "events": "events.k8s.io/v1"}
OF_OTHER_FIELDS = ("events",)  # rules name their other version, requests do not

EXPRESSIONS = [
    "true", "false", "object != null", "has(object.metadata.labels)", "has(object.spec) && has(object.spec.replicas) && object.spec.replicas <= 1",
    "object.metadata.name.startsWith('a')", "request.operation == 'CREATE' || request.operation == 'UPDATE'", "oldObject == null", "request.operation in ['DELETE']",
    "object.metadata.labels['app'] == 'x'", "object.metadata.?labels[?'app'].orValue('none') == 'x'", "object.metadata.labels.app != 'x'",
    "namespaceObject.metadata.labels['env'] == 'prod'", "namespaceObject.metadata.name == request.namespace", "has(namespaceObject.status)",
    "request.userInfo.username == 'jane'", "'system:masters' in request.userInfo.groups", "request.dryRun", "request.?dryRun.orValue(false) == false",
    "request.kind.kind == 'Pod'", "request.resource.resource == 'configmaps'", "request.requestKind.version == 'v1'", "request.?subResource.orValue('') == ''",
    "request.name != ''", "has(request.options) && request.options.kind == 'CreateOptions'", "request.options.?fieldManager.orValue('') != 'm'",
    "authorizer.group('').resource('pods').namespace('default').check('get').allowed()", "authorizer.requestResource.check('delete').allowed()",
    "authorizer.path('/healthz').check('get').reason() == ''", "authorizer.serviceAccount('default', 'sa').group('apps').resource('deployments').check('list').errored()",
    "params != null && params.data['limit'] == '3'", "int(params.data['limit']) > 2", "size(params.metadata.name) > 3", "params == null", "has(params.data.nothing)", "params.spec.size > 3", "object.spec.size < params.spec.size", "params.kind == 'Widget' && params.spec.nothing == 1",
    "object.spec.containers.all(c, c.image.startsWith('registry.test/'))", "object.spec.template.spec.containers.exists(c, c.name == 'c')",
    "object.data.all(k, k.size() < 3)", "object.data.map(k, object.data[k]).join(',') == '1,two'", "dyn(object).data['zzz'] == ''",
    "object.spec.size > 10", "object.spec.tags.isSorted()", "object.spec.tags.indexOf('y') == 1", "object.spec.note.matches('^[a-m]+$')", "object.spec.size / 0 == 1",
    "quantity('1Gi').isGreaterThan(quantity('500Mi'))", "quantity(object.metadata.name).sign() == 1", "isQuantity('1.5k') && quantity('3').asInteger() == 3",
    "url('https://a.test:80/p?q=1').getHost() == 'a.test:80'", "isURL(object.metadata.name)", "ip('10.0.0.1').family() == 4", "cidr('10.0.0.0/8').containsIP('10.1.2.3')",
    "semver('1.2.3').isLessThan(semver('1.10.0'))", "format.dns1123Label().validate(object.metadata.name).hasValue()", "timestamp(object.metadata.creationTimestamp) < timestamp('2000-01-01T00:00:00Z')",
    "duration('1h30m').getMinutes() == 90", "'a,b,c'.split(',').size() == 3", "object.metadata.name.upperAscii() == 'A'", "'%s-%d'.format(['x', 3]) == 'x-3'",
    "sets.contains([1, 2, 3], [2])", "[1, 2, 3].sum() == 6 && ['b', 'a'].min() == 'a'", "object.metadata.labels.all(k, v, v != '')", "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "object.metadata.annotations.exists(k, k == 'touched')", "!has(object.metadata.annotations) || !('touched' in object.metadata.annotations)",
    "optional.of(1).hasValue() && !optional.none().hasValue()", "object.metadata.name == oldObject.metadata.name", "object.spec == oldObject.spec", "oldObject.metadata.labels == object.metadata.labels",
    "type(object.metadata.name) == string", "object.metadata.naming == 'a'",
    "object.status.phase == 'Running'", "string(object.metadata.name).find('[0-9]+') == '1'", "cel.bind(n, object.metadata.name, n == n)", "object.metadata.generation == 1", "object.kind == request.kind.kind",
    "object.apiVersion == 'v1'", "has(object.metadata.managedFields)", "size(object.metadata.uid) > 0", "object.spec.replicas == 2 || object.spec.size == 3", "request.userInfo.extra['scope'][0] == 'x'", "object.subsets == null",
]
TEXTS = ["'name is ' + object.metadata.name", "'labels: ' + string(size(object.metadata.labels))", "'op ' + request.operation + ' by ' + request.userInfo.username", "object.metadata.nothing",
         "''", "'two\\nlines'", "'  padded  '", "params.data['limit']", "'x'.replace('x', 'y')", "string(object.spec.replicas)", "object.spec.tags.join('/')", "'%d and %s'.format([1, object])",
         "request.operation == 'CREATE' ? 'made' : 'changed'", "namespaceObject.metadata.name", "string(1)"]
REFUSED_TEXTS = ["1", "null", "object.metadata.name + 1", "'a' + 'b' * 3", "variables.x"]
VARIABLES = ["object.metadata.?labels.orValue({})", "object.spec.containers", "size(object.metadata.name)", "params", "request.userInfo.groups", "namespaceObject.metadata.labels", "object.spec.nothing", "[1, 2]", "1 / 0", "object.spec"]
VARIABLE_USES = ["size(variables.v0) > 0", "variables.v0 == variables.v1", "has(variables.v0.app)", "variables.v1 != null", "variables.v0 == 1", "'x' in variables.v0", "variables.nothing == 1", "variables.v1.all(x, x != 'q')"]
APPLIES = ["Object{metadata: Object.metadata{labels: {'mutated': 'yes'}}}", "Object{metadata: Object.metadata{annotations: {'touched': 'by-' + request.operation}}}",
           "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}", "Object{spec: Object.spec{replicas: 1}}", "Object{spec: Object.spec{tags: ['z']}}", "Object{spec: Object.spec{size: object.spec.size * 2}}",
           "Object{data: {'added': '1'}}", "Object{spec: Object.spec{containers: [Object.spec.containers.item{name: 'side', image: 'side:1'}]}}",
           "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', image: 'other:2'}]}}", "Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {'m': 'n'}}}}}",
           "Object{}", "Object{metadata: Object.metadata{name: 'other'}}", "Object{metadata: Object.metadata{labels: {'n': string(size(object.metadata.name))}}}", "Object{spec: Object.spec{nothing: 1}}", "null", "{'metadata': 1}",
           "has(object.spec) ? Object{metadata: Object.metadata{labels: {'spec': 'yes'}}} : Object{}", "Object{metadata: Object.metadata{labels: params.data}}", "Object{metadata: Object.metadata{finalizers: ['x.test/f']}}",
           "Object{metadata: Object.metadata{labels: {'bad key!': 'x'}}}", "Object{spec: Object.spec{note: object.spec.nothing}}", "Object{spec: Object.spec{replicas: 'x'}}", "Object{kind: 'Other'}"]
PATCHES = ["[JSONPatch{op: 'add', path: '/metadata/labels', value: {'p': 'q'}}]", "[JSONPatch{op: 'add', path: '/metadata/annotations/touched', value: 'x'}]", "[JSONPatch{op: 'replace', path: '/spec/replicas', value: 4}]",
           "[JSONPatch{op: 'test', path: '/metadata/name', value: 'a'}, JSONPatch{op: 'add', path: '/metadata/labels/t', value: 'u'}]", "[JSONPatch{op: 'remove', path: '/metadata/labels/app'}]", "[]",
           "[JSONPatch{op: 'copy', from: '/metadata/name', path: '/metadata/labels/name'}]", "[JSONPatch{op: 'move', from: '/metadata/labels/app', path: '/metadata/labels/moved'}]", "[JSONPatch{op: 'add', path: '/data/k', value: 'v'}]",
           "has(object.metadata.labels) ? [JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b~c'), value: 'e'}] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]",
           "[JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{name: 'p', image: 'p:1'}}]", "[JSONPatch{op: 'replace', path: '/spec/size', value: object.spec.size + 1}]", "[JSONPatch{op: 'no', path: '/x'}]",
           "[JSONPatch{op: 'add', path: 'relative', value: 1}]", "[JSONPatch{op: 'replace', path: '/metadata/name', value: 'other'}]", "[JSONPatch{op: 'add', path: '/spec/nothing', value: 1}]", "[{'op': 'add'}]", "[JSONPatch{op: 'add', path: '/spec/tags/0', value: 1}]",
           "[JSONPatch{op: 'add', path: '/metadata/labels', value: params.data}]", "object.metadata.labels.map(k, JSONPatch{op: 'replace', path: '/metadata/labels/' + k, value: 'all'})", "[JSONPatch{op: 'add', path: '/spec/template/metadata/labels/j', value: 'k'}]"]
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")

ALLOW = {"allowed": True}
DENIALS = [{}, {"message": "not here"}, {"message": "later", "code": 429, "reason": "TooManyRequests"}, {"code": 418}, {"reason": "NotFound"}, {"message": "m", "reason": "Conflict", "details": {"causes": [{"message": "c", "field": "f"}], "name": "n"}},
           {"status": "Success", "message": "fine"}, {"code": 200, "message": "two hundred"}, {"code": 302}, {"code": 99, "message": "odd"}, {"message": ""}, {"message": "line\nbreak", "details": {"retryAfterSeconds": 7}}]
CHANGES = [
    [{"op": "add", "path": "/metadata/labels", "value": {"hook": "was-here"}}], [{"op": "add", "path": "/metadata/annotations", "value": {"touched": "by-hook"}}], [{"op": "add", "path": "/metadata/labels/h", "value": "1"}],
    [{"op": "replace", "path": "/spec/replicas", "value": 7}], [{"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "side:1"}}], [{"op": "remove", "path": "/data/a"}], [], [{"op": "test", "path": "/metadata/name", "value": "zz"}],
    [{"op": "add", "path": "/spec/unknown", "value": {"x": 1}}], [{"op": "replace", "path": "/kind", "value": "Other"}], [{"op": "add", "path": "/spec/size", "value": "text"}],
    [{"op": "add", "path": "/metadata/finalizers", "value": ["a.test/f"]}], [{"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "X", "name": "y", "uid": "z"}]}], [{"op": "remove", "path": "/metadata/labels"}],
    [{"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/name"}], [{"op": "add", "path": "/spec/tags/-", "value": "t"}], [{"op": "add", "path": "/data/new", "value": 5}], [{"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}],
    [{"op": "add", "path": "/metadata/managedFields", "value": []}], [{"op": "replace", "path": "", "value": {"a": 1}}], [{"op": "add", "path": "/metadata/labels/bad!key", "value": "1"}], [{"op": "replace", "path": "/metadata/namespace", "value": "default"}],
    [{"op": "add", "path": "/status", "value": {"phase": "Done"}}], [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "h:2"}], {"op": "add"}, [{"op": "bad", "path": "/x"}]]
RAW = [{"http": 500, "body": "broken"}, {"body": "no json"}, {"body": ""}, {"body": "{}"}, {"body": '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'}, {"apiVersion": "admission.k8s.io/v1beta1"}, {"apiVersion": "v9"}, {"kind": "Other"},
       {"uid": "wrong"}, {"http": 404, "body": '{"kind":"Status","apiVersion":"v1","message":"gone","code":404}'}, {"http": 201}, {"http": 302, "headers": {"Location": "https://127.0.0.1:1/x"}}, {"patchType": "JSONPatch"}, {"patchType": "Merge", "patch": []},
       {"patchType": None, "patch": CHANGES[0]}, {"body": '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":1}}'}, {"body": '[]'}, {"headers": {"Content-Type": "text/plain"}}]
WARNINGS = [[], ["be careful"], ["one", "two", "one"], ["x" * 300], ["long " * 900] * 2, ["line\nbreak\ttab"], [""], ["quote \" and \\ back"], ["ünï"]]
AUDITED = [None, {"key": "value"}, {"bad key": "v"}, {"a/b": "c", "k": ""}, {"": "empty"}]
LABELS = [None, {"app": "x"}, {"app": "y", "env": "prod"}, {"tier": "front"}]
SELECTORS = [None, {}, {"matchLabels": {"app": "x"}}, {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}, {"matchExpressions": [{"key": "env", "operator": "Exists"}]},
             {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, {"matchLabels": {"env": "prod"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}]
# What no server stores; seldom, since it takes everything else of its configuration along.
REFUSED = ["int('x') == 1", "1 + '1' == 2", "unknown == 1", "object.metadata.name", "'a' < 1", "has(object)", "1 / 0 == 1", "[1][3] == 1", "object.metadata.labels.exists(", "request.nothing == 1", "variables.x == 1", "string"]
USERS = [{}, {}, {}, {"Impersonate-User": "jane", "Impersonate-Group": ["dev", "system:masters"], "Impersonate-Extra-scope": ["x", "y"]}, {"Impersonate-User": "joe", "Impersonate-Uid": "u-1", "Impersonate-Group": "system:masters"}]


@dataclasses.dataclass
class Hook:
    """How a path of the webhook server answers."""
    answer: dict
    sequence: list | None = None


class Cell:
    def __init__(self, number, random):
        self.number, self.random, self.namespace = number, random, f"cell-{number}"
        self.kinds = random.sample(sorted(KINDS), 2)
        self.hooks, self.made = {}, []
        self.labels = {"cell": str(number), **random.choice([{}, {"env": "prod"}, {"env": "dev", "app": "x"}])}

    def some(self, chance):
        return self.random.random() < chance

    # --- configurations ------------------------------------------------------------------------------

    @staticmethod
    def keepers():
        """Policies that keep the reference's informer of parameters going: it tells nothing of what is made while it stops."""
        rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        for param, version in (("ConfigMap", "v1"), ("Widget", "example.test/v1")):
            spec = {"paramKind": {"apiVersion": version, "kind": param},
                    "matchConstraints": {"resourceRules": [rule], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "none"}}}}
            for kind, more in (("Validating", {"validations": [{"expression": "true"}]}),
                               ("Mutating", {"reinvocationPolicy": "Never", "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}]})):
                name = {"metadata": {"name": f"keeper-{param.lower()}"}}
                yield Request("POST", f"/apis/{ADMISSION}/{kind.lower()}admissionpolicies", json.dumps({**name, "spec": {**spec, **more}}))
                bound = {"policyName": name["metadata"]["name"], "paramRef": {"name": "x", "parameterNotFoundAction": "Allow"}}
                if kind == "Validating":
                    bound["validationActions"] = ["Deny"]
                yield Request("POST", f"/apis/{ADMISSION}/{kind.lower()}admissionpolicybindings", json.dumps({**name, "spec": bound}))

    def setup(self):
        """What is there before any of the configurations."""
        yield Request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": self.namespace, "labels": self.labels}}))
        yield Request("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts", '{"metadata":{"name":"default"}}')
        for name, size in (("limits", 3), ("more", 30)):
            body = {"apiVersion": "example.test/v1", "kind": "Widget", "metadata": {"name": name, "labels": {"p": "1"}}, "spec": {"size": size}}
            yield Request("POST", f"/apis/example.test/v1/namespaces/{self.namespace}/widgets", json.dumps(body))
        for name, labels, data in (("limits", {"p": "1"}, {"limit": "3"}), ("more", {"p": "1"}, {"limit": "x", "bad key": "1"}), ("none", {}, {})):
            body = {"metadata": {"name": name, "labels": labels}, "data": {k: v for k, v in data.items() if " " not in k}}
            yield Request("POST", f"/api/v1/namespaces/{self.namespace}/configmaps", json.dumps(body))

    def configurations(self):
        """One validating configuration and one validating policy at most: of several that deny, any may come first."""
        kinds = ["mutating", "mutating", "validating", "vap", "map", "map"]
        for index, what in enumerate(self.random.sample(kinds, self.random.choice([1, 1, 2, 2, 3, 4]))):
            name = f"c{self.number}-{index}-{what}"
            yield from self.webhooks(name, what) if what.endswith("ing") else self.policy(name, what)

    def create(self, plural, kind, name, body):
        path = f"/apis/{ADMISSION}/{plural}"
        self.made.append(f"{path}/{name}")
        return Request("POST", path, json.dumps({"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, **body}), label=f"cell {self.number}: create {name}")

    def rule(self, excluding=False):
        random, plural = self.random, self.random.choice(self.kinds)
        version = KINDS[plural][0]
        if plural in OTHER_VERSIONS and self.some(0.5):
            version = OTHER_VERSIONS[plural]
        group, _, version = version.rpartition("/")
        resource = random.choice([plural, plural, plural, "*", "*/*", plural + "/*", f"{plural}/{random.choice(KINDS[plural][3] or ('status',))}", "*/scale"])
        resources = [resource] if "*" in resource or self.some(0.6) else sorted({resource, plural, *self.kinds})
        rule = {"operations": random.choice([["*"], ["CREATE"], ["CREATE", "UPDATE"], ["UPDATE"], ["DELETE"], list(OPERATIONS), ["CREATE", "UPDATE", "DELETE"]]),
                "apiGroups": [group] if self.some(0.7) else ["*"], "apiVersions": [version] if self.some(0.7) else ["*"], "resources": resources}
        if excluding:
            rule["operations"] = rule["operations"] if self.some(0.5) else ["DELETE"]
        if "*" in resources[0]:
            rule["scope"] = "Namespaced"  # objects of no namespace belong to all cells
        elif self.some(0.3):
            rule["scope"] = random.choice(["*", "Namespaced", "Cluster"])
        return rule

    def selectors(self, spec, isolated=True):
        if isolated:
            own = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [self.namespace]}]}
            more = self.random.choice([None, None, None, {"key": "env", "operator": "In", "values": ["prod"]}, {"key": "app", "operator": "DoesNotExist"}])
            if more:
                own["matchExpressions"].append(more)
            spec["namespaceSelector"] = own
        chosen = self.random.choice(SELECTORS)
        if chosen is not None and self.some(0.5):
            spec["objectSelector"] = chosen
        if self.some(0.5):
            spec["matchPolicy"] = self.random.choice(["Exact", "Equivalent"])

    def conditions(self):
        return [{"name": self.random.choice([f"c{i}", f"c{i}", f"a.test/c{i}"]), "expression": self.expression()} for i in range(self.random.choice([0, 0, 0, 1, 1, 2]))]

    def expression(self, variables=False):
        if self.some(0.03):
            return self.random.choice(REFUSED)
        one = lambda: self.random.choice(VARIABLE_USES if variables and self.some(0.5) else EXPRESSIONS)
        if self.some(0.65):
            return one()
        return self.random.choice(["{0} && {1}", "{0} || {1}", "!({0})", "({0}) ? ({1}) : true", "!({0}) || ({1})", "[{0}, {1}].exists(x, x)"]).format(one(), one())

    def text(self):
        return self.random.choice(REFUSED_TEXTS if self.some(0.03) else TEXTS)

    def webhooks(self, name, what):
        random, hooks = self.random, []
        for index in range(random.choice([1, 1, 2, 3])):
            path = f"/{name}/{index}"
            hook = {"name": f"h{index}.{name}.test", "clientConfig": {"url": HOOKS + path, "caBundle": BUNDLE}, "rules": [self.rule() for _ in range(random.choice([1, 1, 2]))],
                    "sideEffects": random.choice(["None", "None", "NoneOnDryRun"]), "admissionReviewVersions": random.choice([["v1"], ["v1"], ["v1beta1"], ["v1beta1", "v1"], ["v9", "v1"]])}
            if self.some(0.06) and (what == "mutating" or index == 0):
                service = {"namespace": self.namespace, "name": "none"}
                hook["clientConfig"] = random.choice([{"url": "https://127.0.0.1:1/x"}, {"service": service}, {"service": {**service, "path": "/p", "port": 8443}}, {"url": HOOKS + path}])
            self.selectors(hook)
            if conditions := self.conditions():
                hook["matchConditions"] = conditions
            if self.some(0.4):
                hook["failurePolicy"] = random.choice(["Ignore", "Fail"])
            if what == "mutating" and self.some(0.5):
                hook["reinvocationPolicy"] = random.choice(["IfNeeded", "IfNeeded", "Never"])
            if self.some(0.3):
                hook["timeoutSeconds"] = random.choice([5, 30])
            hooks.append(hook)
            self.hooks[path] = self.answer(what) if what == "mutating" or index == 0 else Hook(ALLOW)
        yield self.create(f"{what}webhookconfigurations", f"{what.capitalize()}WebhookConfiguration", name, {"webhooks": hooks})

    def answer(self, what):
        random = self.random
        kind = random.choices(["allow", "deny", "patch", "raw"], [3, 3, 6 if what == "mutating" else 0.3, 1.5])[0]
        answer = dict(ALLOW)
        if kind == "deny":
            answer = {"allowed": False}
            if self.some(0.85):
                answer["status"] = random.choice(DENIALS)
        elif kind == "patch":
            answer["patch"] = Mutations(random, random.choice(self.kinds)).operations() if self.some(0.5) else random.choice(CHANGES)
        elif kind == "raw":
            answer |= random.choice(RAW)
        if self.some(0.3):
            answer["warnings"] = random.choice(WARNINGS)
        if self.some(0.3) and (audited := random.choice(AUDITED)):
            answer["auditAnnotations"] = audited
        return Hook(answer)

    def policy(self, name, what):
        random, variables = self.random, self.some(0.35)
        rules = {"resourceRules": [self.rule() for _ in range(random.choice([1, 1, 2]))]}
        if self.some(0.15):
            rules["resourceRules"][0]["resourceNames"] = ["a", "b"]
        if self.some(0.2):
            rules["excludeResourceRules"] = [self.rule(True)]
        self.selectors(rules)
        spec = {"matchConstraints": rules}
        if variables:
            spec["variables"] = [{"name": f"v{i}", "expression": random.choice(VARIABLES if i == 0 else VARIABLES + ["variables.v0", "size(variables.v0)"])} for i in range(2)]
        if conditions := self.conditions():
            spec["matchConditions"] = conditions
        if self.some(0.5):
            spec["failurePolicy"] = random.choice(["Ignore", "Fail"])
        with_params = self.some(0.4)
        if with_params:
            spec["paramKind"] = random.choice([{"apiVersion": "v1", "kind": "ConfigMap"}] * 5 + [{"apiVersion": "example.test/v1", "kind": "Widget"}] * 3 + [{"apiVersion": "v1", "kind": "Nothing"}])
        if what == "vap":
            yield self.validating(name, spec, variables)
        else:
            yield self.mutating(name, spec)
        yield from self.bindings(name, what, with_params)

    def validating(self, name, spec, variables):
        random = self.random
        spec["validations"] = []
        for _ in range(random.choice([1, 1, 2, 3])):
            one = {"expression": self.expression(variables)}
            if self.some(0.4):
                one["message"] = random.choice(["plain text", "with 'quotes' and \"those\"", "  spaces  "])
            if self.some(0.4):
                one["messageExpression"] = self.text()
            if self.some(0.3):
                one["reason"] = random.choice(["Forbidden", "Unauthorized", "Invalid", "RequestEntityTooLarge"])
            spec["validations"].append(one)
        if self.some(0.35):
            spec["auditAnnotations"] = [{"key": f"key-{i}", "valueExpression": self.text()} for i in range(random.choice([1, 2]))]
        return self.create("validatingadmissionpolicies", "ValidatingAdmissionPolicy", name, {"spec": spec})

    def mutating(self, name, spec):
        random = self.random
        spec["reinvocationPolicy"] = random.choice(["IfNeeded", "Never"])
        generated = Mutations(random, random.choice(self.kinds))
        spec["mutations"] = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": generated.apply() if self.some(0.7) else random.choice(APPLIES)}} if self.some(0.5) else
                             {"patchType": "JSONPatch", "jsonPatch": {"expression": generated.patch() if self.some(0.7) else random.choice(PATCHES)}} for _ in range(random.choice([1, 1, 2]))]
        return self.create("mutatingadmissionpolicies", "MutatingAdmissionPolicy", name, {"spec": spec})

    def bindings(self, name, what, with_params):
        random = self.random
        for index in range(2 if self.some(0.1) else 1):
            spec = {"policyName": name}
            if what == "vap":
                spec["validationActions"] = random.choice([["Deny"]] * 4 + [["Warn"], ["Audit"], ["Warn", "Audit"], ["Deny", "Audit"]])
            if with_params and self.some(0.9):
                spec["paramRef"] = random.choice([{"name": "limits"}, {"name": "nothing"}, {"selector": {"matchLabels": {"p": "1"}}}, {"selector": {}}, {"name": "limits", "namespace": self.namespace}])
                spec["paramRef"] = {**spec["paramRef"], "parameterNotFoundAction": random.choice(["Allow", "Deny"])}
            if self.some(0.3):
                spec["matchResources"] = {}
                self.selectors(spec["matchResources"], isolated=False)
                if self.some(0.3):
                    spec["matchResources"]["resourceRules"] = [self.rule()]
            kind, plural = ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings") if what == "vap" else ("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings")
            yield self.create(plural, kind, f"{name}-{index}", {"spec": spec})

    # --- requests ------------------------------------------------------------------------------------

    def collection(self, plural, version):
        prefix = f"/{'apis' if '/' in version else 'api'}/{version}"
        return f"{prefix}/{plural}" if plural == "namespaces" else f"{prefix}/namespaces/{self.namespace}/{plural}"

    def thing(self, plural, version, name, labels):
        _, kind, rest, _ = KINDS[plural]
        metadata = {"name": name} if name else {"generateName": "gen-"}
        if labels:
            metadata["labels"] = labels
        if kind == "Namespace":
            metadata = {"name": self.namespace, "labels": {**self.labels, **(labels or {})}}
        return json.loads(json.dumps({"apiVersion": version, "kind": kind, "metadata": metadata, **rest}).replace(NAMESPACE, self.namespace))

    def requests(self, count):
        for plural in self.kinds:
            for name in ("a", "b"):
                yield self.request("POST", plural, KINDS[plural][0], "", self.thing(plural, KINDS[plural][0], name, self.random.choice(LABELS)), False)
        for _ in range(count):
            yield self.one()
        for plural in [kind for kind in self.kinds if kind != "namespaces"]:
            yield self.request("DELETE", plural, KINDS[plural][0], "/a", None, False)
            yield self.request("DELETE", plural, KINDS[plural][0], "", None, False)

    def request(self, method, plural, version, item, body, dry, media=None, **query):
        if dry:
            query["dryRun"] = "All"
        if method in ("POST", "PUT") and self.some(0.2):
            query |= self.random.choice([{"fieldManager": "m"}, {"fieldValidation": "Strict"}, {"fieldValidation": "Ignore", "fieldManager": "n"}])
        headers = dict(self.random.choice(USERS))
        if media:
            headers["Content-Type"] = media
        path = self.collection(plural, version) + item
        return Request(method, path_with(path, **query) if query else path, None if body is None else json.dumps(body), headers, f"cell {self.number}")

    def one(self):
        random, plural = self.random, self.random.choice(self.kinds)
        version, _, rest, subresources = KINDS[plural]
        if plural in OTHER_VERSIONS and plural not in OF_OTHER_FIELDS and self.some(0.4):
            version = OTHER_VERSIONS[plural]
        name, dry, labels = random.choice(["a", "b"]), self.some(0.5), random.choice(LABELS)
        if plural == "namespaces":
            name = self.namespace
        what = random.choice(["create", "create", "generate", "update", "update", "merge", "json", "strategic", "apply", "delete", "collection", "sub", "sub"])
        if plural == "namespaces" and what in ("create", "generate", "apply", "delete", "collection"):
            what = "update"
        if what == "sub" and subresources:
            return self.subresource(plural, version, name, random.choice(subresources), dry)
        thing = self.thing(plural, version, name, labels)
        if what == "create":
            thing["metadata"]["name"] = f"n{random.randrange(1000)}"
            return self.request("POST", plural, version, "", thing, dry)
        if what == "generate":  # stored ones would stand in a list in an order of their own
            return self.request("POST", plural, version, "", self.thing(plural, version, "", labels), True)
        if what == "merge" or (what == "strategic" and plural == "widgets"):
            return self.request("PATCH", plural, version, f"/{name}", {"metadata": {"labels": random.choice([{"m": "1"}, None, {"app": None}])}}, dry, MERGE)
        if what == "strategic":
            return self.request("PATCH", plural, version, f"/{name}", {"metadata": {"annotations": {"s": "1"}}}, dry, STRATEGIC)
        if what == "json":
            return self.request("PATCH", plural, version, f"/{name}", [{"op": "add", "path": "/metadata/annotations", "value": {"j": str(random.randrange(9))}}], dry, JSON_PATCH)
        if what == "apply":
            return self.request("PATCH", plural, version, f"/{random.choice([name, 'fresh'])}", thing | {"metadata": {"labels": {"applied": "1"}}}, dry, APPLY, fieldManager="applier", force="true")
        if what == "delete":
            options = random.choice([None, {"propagationPolicy": "Foreground"}, {"gracePeriodSeconds": 0}, {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "no"}}])
            return self.request("DELETE", plural, version, f"/{name}", options, True)
        if what == "collection":
            return self.request("DELETE", plural, version, "", None, True, labelSelector=random.choice(["app=x", "m"]))
        thing["metadata"]["annotations"] = {"u": str(random.randrange(9))}
        return self.request("PUT", plural, version, f"/{name}", thing, dry)

    def subresource(self, plural, version, name, which, dry):
        item = f"/{name}/{which}"
        if which == "scale":
            scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": name, "namespace": self.namespace}, "spec": {"replicas": self.random.randrange(4)}}
            return self.request("PUT", plural, version, item, scale, dry) if self.some(0.5) else self.request("PATCH", plural, version, item, {"spec": {"replicas": 5}}, dry, MERGE)
        if which == "eviction":
            return self.request("POST", plural, version, item, {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": name}}, True)
        if which == "binding":
            return self.request("POST", plural, version, item, {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}}, True)
        if which == "token":
            return self.request("POST", plural, version, "/default/token", {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {"audiences": ["a"]}}, True)
        if which == "ephemeralcontainers":
            return self.request("PATCH", plural, version, item, {"spec": {"ephemeralContainers": [{"name": "e", "image": "e:1"}]}}, dry, STRATEGIC)
        if which in ("exec", "attach", "portforward"):
            return self.request(self.random.choice(["GET", "POST"]), plural, version, item, None, False, container="c", command="x", stdout="true")
        return self.request("PATCH", plural, version, item, {"metadata": {"annotations": {"st": "1"}}, "status": {"observedGeneration": 1}}, dry, MERGE)
