# SPDX-License-Identifier: Apache-2.0

"""Bodies that are hard to decode, for tests/decoding/decoding.py.

A case is (name, method, path, media type, body). Bodies are texts, since no JSON library writes what they are
about: keys that are there twice. Nothing is stored but what SETUP makes; every other request is a dry run.
"""

import base64

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"

NAMESPACE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
DRY = "?dryRun=All"
STRICT = DRY + "&fieldValidation=Strict"
IGNORE = DRY + "&fieldValidation=Ignore"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
RAW = '{"a":{"x":1},"b":[1.5,"t",null]}'

WIDGET_SCHEMA = """{"type":"object","properties":{"spec":{"type":"object","properties":{
  "a":{"type":"integer"},"b":{"type":"integer"},"n":{"type":"number"},
  "list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}}}},
  "map":{"type":"object","additionalProperties":{"type":"integer"}},
  "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}"""


def crd(plural, kind, schema):
    return f"""{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{plural}.example.com"}},
 "spec":{{"group":"example.com","scope":"Namespaced","names":{{"plural":"{plural}","singular":"{kind.lower()}","kind":"{kind}",
 "listKind":"{kind}List"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"""


def template(containers='[{"name":"c","image":"i"}]'):
    return f'{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":{containers}}}}}'


def deployment(name, spec=None):
    spec = spec or f'"selector":{{"matchLabels":{{"a":"b"}}}},"template":{template()}'
    return f'{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{name}"}},"spec":{{{spec}}}}}'


def claim(name, parameters):
    return (f'{{"metadata":{{"name":"{name}"}},"spec":{{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"c"}}}}],'
            f'"config":[{{"opaque":{{"driver":"d.example.com","parameters":{parameters}}}}}]}}}}}}')


# Stored objects: (path, body). The order matters.
SETUP = [
    (NAMESPACE + "/serviceaccounts", '{"metadata":{"name":"default"}}'),
    (NAMESPACE + "/configmaps", '{"metadata":{"name":"there","labels":{"l":"1"}},"data":{"old":"0"}}'),
    (APPS + "/deployments", deployment("there")),
    (CRDS, crd("widgets", "Widget", WIDGET_SCHEMA)),
    (WIDGETS, '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"there"},"spec":{"a":1,"map":{"k":1}}}'),
    (APPS + "/controllerrevisions", f'{{"metadata":{{"name":"raw"}},"revision":1,"data":{RAW}}}'),
    (CLAIMS, claim("raw", RAW)),
]


def pod(spec, metadata='"name":"p"'):
    return (f'{{"apiVersion":"v1","kind":"Pod","metadata":{{{metadata}}},'
            f'"spec":{{"automountServiceAccountToken":false,{spec}}}}}')


C = '"containers":[{"name":"c","image":"i"}]'


def with_container(fields):
    return f'"containers":[{{"name":"c","image":"i",{fields}}}]'


def typed():
    """Go types: what repeated keys become, by the kind of field."""
    maps = {
        "map": '"data":{"a":"1"},"data":{"b":"2"}',
        "map-same-entry": '"data":{"a":"1","b":"1"},"data":{"a":"2"}',
        "map-then-null": '"data":{"a":"1"},"data":null',
        "null-then-map": '"data":null,"data":{"a":"1"}',
        "map-null-map": '"data":{"a":"1"},"data":null,"data":{"b":"2"}',
        "map-then-empty": '"data":{"a":"1"},"data":{}',
        "entry": '"data":{"a":"1","a":"2"}',
        "entry-then-null": '"data":{"a":"1","a":null}',
        "three-maps": '"data":{"a":"1"},"data":{"b":"2"},"data":{"c":"3"}',
        "bytes": '"binaryData":{"a":"AA=="},"binaryData":{"b":"AQ==","a":"Ag=="}',
        "pointer-then-null": '"immutable":true,"immutable":null',
        "null-then-pointer": '"immutable":null,"immutable":true',
        "pointer-twice": '"immutable":true,"immutable":false',
        "escaped-key": '"data":{"a":"1"},"d\\u0061ta":{"b":"2"}',
        "wrong-case-is-unknown": '"data":{"a":"1"},"Data":{"b":"2"}',
        "wrong-type-first": '"data":[],"data":{"a":"1"}',
        "wrong-type-last": '"data":{"a":"1"},"data":"x"',
        "wrong-entry-first": '"data":{"a":1,"a":"2"}',
        "wrong-bytes-first": '"binaryData":{"a":"*"},"binaryData":{"a":"AA=="}',
    }
    for name, text in maps.items():
        yield f"configmap-{name}", "POST", NAMESPACE + "/configmaps" + DRY, JSON, f'{{"metadata":{{"name":"a"}},{text}}}'
    metadata = {
        "twice": '"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"labels":{"y":"2"}}',
        "then-null": '"metadata":{"name":"a"},"metadata":null',
        "name-twice": '"metadata":{"name":"a","name":"b"}',
        "name-then-null": '"metadata":{"name":"a","name":null}',
        "labels-twice": '"metadata":{"name":"a","labels":{"x":"1","y":"1"},"labels":{"y":"2"}}',
        "finalizers": '"metadata":{"name":"a","finalizers":["example.com/a","example.com/b"],"finalizers":["example.com/c"]}',
        "owner": '"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u",'
                 '"controller":true}],"ownerReferences":[{"name":"m","uid":"w"}]}',
        "managed-fields": '"metadata":{"name":"a","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1",'
                          '"time":"2020-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}],'
                          '"managedFields":[{"manager":"n"}]},"data":{"a":"1"}',
        "timestamp": '"metadata":{"name":"a","creationTimestamp":"x","creationTimestamp":null}',
    }
    for name, text in metadata.items():
        yield f"metadata-{name}", "POST", NAMESPACE + "/configmaps" + DRY, JSON, f"{{{text}}}"
    meta = {
        "kind-twice": '"kind":"Pod","kind":"ConfigMap"',
        "kind-then-null": '"kind":"ConfigMap","kind":null',
        "kind-wrong-type-first": '"kind":1,"kind":"ConfigMap"',
        "kind-in-another-case": '"kind":"ConfigMap","Kind":"Pod"',
        "kind-only-in-another-case": '"KIND":"Pod"',
        "version-twice": '"apiVersion":"v2","apiVersion":"v1"',
        "version-of-three-parts": '"apiVersion":"a/b/c"',
    }
    for name, text in meta.items():
        yield f"type-{name}", "POST", NAMESPACE + "/configmaps" + DRY, JSON, f'{{{text},"metadata":{{"name":"a"}}}}'
    specs = {
        "list-element-is-reused": '"containers":[{"name":"a","image":"i","env":[{"name":"E","value":"1"}]}],"containers":[{"name":"b"}]',
        "list-gets-shorter": '"containers":[{"name":"a","image":"i"},{"name":"b","image":"j"}],"containers":[{"name":"c"}]',
        "list-gets-longer": '"containers":[{"name":"a","image":"i"}],"containers":[{"name":"b"},{"name":"c","image":"k"}]',
        "list-hidden-element": '"containers":[{"name":"a","image":"i"},{"name":"b","image":"j"}],"containers":[{"name":"c"}],'
                               '"containers":[{"name":"d"},{"name":"e"}]',
        "list-then-empty": '"containers":[{"name":"a","image":"i"}],"containers":[]',
        "list-empty-list": '"containers":[{"name":"a","image":"i"}],"containers":[],"containers":[{"name":"b"}]',
        "list-then-null": '"containers":[{"name":"a","image":"i"}],"containers":null',
        "list-null-list": '"containers":[{"name":"a","image":"i"}],"containers":null,"containers":[{"name":"b"}]',
        "list-null-element": '"containers":[{"name":"a","image":"i"}],"containers":[null]',
        "list-of-texts": with_container('"args":["a","b"],"args":["c"]'),
        "list-of-texts-null": with_container('"args":["a","b"],"args":[null,"c"]'),
        "list-of-texts-hidden": with_container('"args":["a","b"],"args":["c"],"args":["d",null]'),
        "list-in-list": with_container('"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"env":[{"name":"C"}]'),
        "pointer-to-struct": with_container('"securityContext":{"runAsUser":1},"securityContext":{"runAsGroup":2}'),
        "pointer-to-struct-null": with_container('"securityContext":{"runAsUser":1},"securityContext":null,'
                                                 '"securityContext":{"runAsGroup":2}'),
        "pointer-in-pointer": with_container('"securityContext":{"capabilities":{"add":["A"]}},'
                                             '"securityContext":{"capabilities":{"drop":["B"]}}'),
        "one-of-becomes-two": with_container('"env":[{"name":"E","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],'
                                             '"env":[{"valueFrom":{"configMapKeyRef":{"name":"a","key":"k"}}}]'),
        "quantities": with_container('"resources":{"limits":{"cpu":"1"}},"resources":{"limits":{"memory":"1Gi","cpu":"2000m"}}'),
        "quantity-null": with_container('"env":[{"name":"E","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu",'
                                        '"divisor":"1m","divisor":null}}}]'),
        "quantity-twice": with_container('"env":[{"name":"E","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu",'
                                         '"divisor":"1m","divisor":"1"}}}]'),
        "quantity-bad-first": with_container('"resources":{"limits":{"cpu":"x","cpu":"1"}}'),
        "port-number-then-text": with_container('"livenessProbe":{"tcpSocket":{"port":80,"port":"http"}}'),
        "port-text-then-null": with_container('"livenessProbe":{"tcpSocket":{"port":"http","port":null}}'),
        "port-number-text-null": with_container('"livenessProbe":{"tcpSocket":{"port":80,"port":"http","port":null}}'),
        "number-then-null": with_container('"ports":[{"containerPort":80,"hostPort":81,"hostPort":null}]'),
        "number-pointer-then-null": C + ',"terminationGracePeriodSeconds":5,"terminationGracePeriodSeconds":null',
        "bool-then-null": C + ',"hostNetwork":true,"hostNetwork":null',
        "text-then-null": C + ',"schedulerName":"s","schedulerName":null',
        "inline-struct": C + ',"volumes":[{"name":"v","emptyDir":{}}],"volumes":[{"hostPath":{"path":"/a"}}]',
        "map-of-texts": C + ',"nodeSelector":{"a":"1"},"nodeSelector":{"b":"2"}',
        "number-wrong-first": C + ',"priority":"x","priority":1',
    }
    for name, text in specs.items():
        yield f"pod-{name}", "POST", NAMESPACE + "/pods" + DRY, JSON, pod(text)
    others = {
        "spec-twice": (APPS + "/deployments", deployment("d", f'"selector":{{"matchLabels":{{"a":"b"}}}},"template":{template()}')[:-1]
                       + ',"spec":{"replicas":3}}'),
        "replicas-wrong-first": (APPS + "/deployments", deployment("d")[:-2] + ',"replicas":"x","replicas":3}}'),
        "raw-extension": (APPS + "/controllerrevisions", '{"metadata":{"name":"a"},"revision":1,"data":{"a":1},"data":{"b":2}}'),
        "raw-extension-null": (APPS + "/controllerrevisions", '{"metadata":{"name":"a"},"revision":1,"data":{"a":1},"data":null}'),
        "rules": ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
                  '{"metadata":{"name":"a"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}],"rules":[{"verbs":["list"]}]}'),
        "time": (NAMESPACE + "/events",
                 '{"metadata":{"name":"a"},"involvedObject":{"namespace":"default"},"firstTimestamp":"2020-01-01T00:00:00Z",'
                 '"firstTimestamp":null,"lastTimestamp":"2020-01-01T00:00:00Z","lastTimestamp":"2021-01-01T00:00:00Z"}'),
        "micro-time-pointer": ("/apis/coordination.k8s.io/v1/namespaces/default/leases",
                               '{"metadata":{"name":"a"},"spec":{"renewTime":"2020-01-01T00:00:00.000000Z","renewTime":null}}'),
        "service-ports": (NAMESPACE + "/services",
                          '{"metadata":{"name":"a"},"spec":{"clusterIP":"None","ports":[{"port":80,"targetPort":"http"}],"ports":[{"port":81}]}}'),
        "review-spec": ("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                        '{"spec":{"user":"u"},"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}'),
        "definition-properties": (CRDS, crd("gadgets", "Gadget", '{"type":"object","properties":{"a":{"type":"string"}},"properties":{"b":{"type":"string"}}}')),
        "definition-property": (CRDS, crd("gadgets", "Gadget", '{"type":"object","properties":{"a":{"type":"string","minLength":1},"a":{"type":"string"}}}')),
        "definition-items": (CRDS, crd("gadgets", "Gadget", '{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"items":{"minLength":1}}}}')),
        "definition-in-items": (CRDS, crd("gadgets", "Gadget", '{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}},"properties":{"y":{"type":"string"}}}}}}')),
        "definition-default": (CRDS, crd("gadgets", "Gadget", '{"type":"object","properties":{"a":{"type":"string","default":"x","default":"y"}}}')),
    }
    for name, (path, body) in others.items():
        yield f"typed-{name}", "POST", path + DRY, JSON, body


def strict():
    """What strict decoding reports, in which order."""
    bodies = {
        "unknown-twice": '{"metadata":{"name":"a"},"foo":1,"foo":2}',
        "mixed": '{"zoo":1,"metadata":{"name":"a","name":"b","moo":1},"data":{"a":"1","a":"2"},"bar":2}',
        "in-unknown": '{"metadata":{"name":"a"},"foo":{"a":1,"a":2}}',
        "three-times": '{"metadata":{"name":"a"},"data":{"a":"1","a":"2","a":"3"}}',
        "in-repeated": '{"metadata":{"name":"a","name":"b"},"metadata":{"name":"c","name":"d"}}',
        "key-with-dots": '{"metadata":{"name":"a"},"data":{"a.b[0]":"1","a.b[0]":"2"}}',
        "many": '{"metadata":{"name":"a"},"data":{' + ",".join(f'"k{i}":"1","k{i}":"2"' for i in range(120)) + "}}",
        "many-unknown": '{"metadata":{"name":"a"},' + ",".join(f'"u{i}":1' for i in range(120)) + "}",
    }
    for name, body in bodies.items():
        yield f"strict-{name}", "POST", NAMESPACE + "/configmaps" + STRICT, JSON, body
        yield f"warn-{name}", "POST", NAMESPACE + "/configmaps" + DRY, JSON, body
    yield "ignore-mixed", "POST", NAMESPACE + "/configmaps" + IGNORE, JSON, bodies["mixed"]
    yield ("strict-list-index", "POST", NAMESPACE + "/pods" + STRICT, JSON,
           pod('"containers":[{"name":"c","image":"i"},{"name":"d","name":"e","image":"i","bad":1}]'))
    yield ("strict-raw-extension", "POST", APPS + "/controllerrevisions" + STRICT, JSON,
           '{"metadata":{"name":"a"},"revision":1,"data":{"a":1,"b":{}},"revision":2}')
    yield ("strict-union", "POST", CRDS + STRICT, JSON,
           crd("gadgets", "Gadget", '{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","type":"string","foo":1}}}}'))


def custom():
    """Untyped content: the last value wins."""
    def widget(rest, metadata='"metadata":{"name":"w"}'):
        return f'{{"apiVersion":"example.com/v1","kind":"Widget",{metadata},{rest}}}'
    bodies = {
        "spec-twice": widget('"spec":{"a":1},"spec":{"b":2}'),
        "map-twice": widget('"spec":{"map":{"x":1},"map":{"y":2}}'),
        "list-twice": widget('"spec":{"list":[{"x":1},{"x":2}],"list":[{"y":1}]}'),
        "any": widget('"spec":{"any":{"a":{"b":1},"a":{"c":2}}}'),
        "value-then-null": widget('"spec":{"a":1},"spec":null'),
        "metadata-twice": widget('"spec":{}', '"metadata":{"name":"w","labels":{"x":"1"}},"metadata":{"name":"v"}'),
        "metadata-lost": widget('"spec":{}', '"metadata":{"name":"w"},"metadata":{"labels":{"x":"1"}}'),
        "labels-twice": widget('"spec":{}', '"metadata":{"name":"w","labels":{"x":"1"},"labels":{"y":"1"}}'),
        "kind-twice": widget('"spec":{},"kind":"Other"'),
        "kind-in-another-case": widget('"spec":{},"Kind":"Other"'),
        "wrong-first": widget('"spec":{"a":"x","a":1}'),
        "mixed": widget('"spec":{"zoo":1,"a":1,"a":2,"any":{"x":1,"x":2}},"foo":1'),
        "number-too-large": widget('"spec":{"n":1e400}'),
        "number-too-large-in-any": widget('"spec":{"any":{"x":-1e400}}'),
        "number-too-large-in-unknown": widget('"spec":{"zoo":1e999}'),
        "number-too-large-in-metadata": widget('"spec":{}', '"metadata":{"name":1e400}'),
        "number-too-small": widget('"spec":{"n":1e-400}'),
    }
    for name, body in bodies.items():
        yield f"custom-{name}", "POST", WIDGETS + DRY, JSON, body
    yield "custom-mixed-strict", "POST", WIDGETS + STRICT, JSON, bodies["mixed"]
    yield "custom-mixed-ignore", "POST", WIDGETS + IGNORE, JSON, bodies["mixed"]


def patches():
    there = NAMESPACE + "/configmaps/there"
    deploy = APPS + "/deployments/there"
    yield "json-patch-value", "PATCH", there + DRY, JSON_PATCH, '[{"op":"add","path":"/data","value":{"a":"1","a":"2"}}]'
    yield "json-patch-value-strict", "PATCH", there + STRICT, JSON_PATCH, '[{"op":"add","path":"/data","value":{"a":"1","a":"2"}}]'
    twice = '{"metadata":{"labels":{"a":"b"}},"metadata":{"labels":{"c":"d"}},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    yield "json-patch-struct", "PATCH", deploy + DRY, JSON_PATCH, f'[{{"op":"replace","path":"/spec/template","value":{twice}}}]'
    yield ("json-patch-struct-looked-into", "PATCH", deploy + DRY, JSON_PATCH,
           f'[{{"op":"replace","path":"/spec/template","value":{twice}}},{{"op":"add","path":"/spec/template/metadata/labels/a","value":"b"}}]')
    yield ("json-patch-struct-looked-beside", "PATCH", deploy + DRY, JSON_PATCH,
           f'[{{"op":"replace","path":"/spec/template","value":{twice}}},{{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"j"}}]')
    yield "json-patch-path-twice", "PATCH", there + DRY, JSON_PATCH, '[{"op":"add","path":"/data/x","path":"/data/y","value":"1"}]'
    yield "json-patch-path-twice-strict", "PATCH", there + STRICT, JSON_PATCH, '[{"op":"add","path":"/data/x","path":"/data/y","value":"1"}]'
    yield "json-patch-test", "PATCH", there + DRY, JSON_PATCH, '[{"op":"test","path":"/data","value":{"old":"1","old":"0"}},{"op":"add","path":"/data/z","value":"1"}]'
    yield "json-patch-unknown-member", "PATCH", there + DRY, JSON_PATCH, '[{"op":"add","path":"/data/z","value":"1","foo":1}]'
    yield "json-patch-unknown-member-strict", "PATCH", there + STRICT, JSON_PATCH, '[{"op":"add","path":"/data/z","value":"1","foo":1}]'
    yield "json-patch-unknown-and-twice", "PATCH", there + STRICT, JSON_PATCH, '[{"op":"add","foo":1,"path":"/data/z","value":"1","value":"2","bar":2}]'
    yield "json-patch-op-number", "PATCH", there + DRY, JSON_PATCH, '[{"op":1,"path":"/data/z","value":"1"}]'
    yield "json-patch-path-number-ignore", "PATCH", there + IGNORE, JSON_PATCH, '[{"op":"add","path":1,"value":"1"}]'
    yield "json-patch-number-too-large", "PATCH", there + DRY, JSON_PATCH, '[{"op":"add","path":"/data/z","value":1e400}]'
    yield "json-patch-wrong-value-first", "PATCH", there + DRY, JSON_PATCH, '[{"op":"add","path":"/data","value":{"a":1,"a":"2"}}]'
    yield "json-patch-custom", "PATCH", WIDGETS + "/there" + DRY, JSON_PATCH, '[{"op":"add","path":"/spec","value":{"map":{"a":1},"map":{"b":1}}}]'
    yield "json-patch-custom-strict", "PATCH", WIDGETS + "/there" + STRICT, JSON_PATCH, '[{"op":"add","path":"/spec","value":{"map":{"a":1},"map":{"b":1}}}]'
    for query, mode in ((DRY, ""), (STRICT, "-strict")):
        yield "merge-patch-map" + mode, "PATCH", there + query, MERGE_PATCH, '{"data":{"a":"1"},"data":{"b":"2"}}'
        yield "merge-patch-list" + mode, "PATCH", deploy + query, MERGE_PATCH, (
            '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x","image":"y"}]}}}}')
        yield "merge-patch-null" + mode, "PATCH", there + query, MERGE_PATCH, '{"data":{"old":null,"old":"1"}}'
        yield "strategic-list" + mode, "PATCH", deploy + query, STRATEGIC, (
            '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x"}],"containers":[{"name":"d","image":"y"}]}}}}')
        yield "strategic-map" + mode, "PATCH", there + query, STRATEGIC, '{"data":{"a":"1"},"data":{"b":"2"},"foo":1}'
        yield "merge-patch-custom" + mode, "PATCH", WIDGETS + "/there" + query, MERGE_PATCH, '{"spec":{"map":{"a":1},"map":{"b":1}}}'
        yield "apply" + mode, "PATCH", NAMESPACE + "/configmaps/applied" + query + "&fieldManager=m", APPLY, (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {a: '1', a: '2'}\n")
    yield "merge-patch-number-too-large", "PATCH", there + DRY, MERGE_PATCH, '{"data":{"a":1e400}}'
    yield "strategic-number-too-large", "PATCH", there + DRY, STRATEGIC, '{"data":{"a":1e400}}'
    for name, body in {
        "preconditions": '{"preconditions":{"uid":"x"},"preconditions":{"resourceVersion":"1"}}',
        "policy-then-null": '{"propagationPolicy":"Bad","propagationPolicy":null}',
        "kind-in-another-case": '{"Kind":"Pod"}',
        "wrong-first": '{"gracePeriodSeconds":"x","gracePeriodSeconds":1}',
        "number-too-large": '{"gracePeriodSeconds":1e400}',
        "number-too-large-unknown": '{"x":1e400,"propagationPolicy":"Bad"}',
    }.items():
        yield f"delete-{name}", "DELETE", there + DRY, JSON, body
    yield "delete-bad-yaml", "DELETE", there + DRY, YAML, "a: b: c"
    yield "delete-bad-protobuf", "DELETE", there + DRY, PROTOBUF, "x"


def yaml():
    post = NAMESPACE + "/configmaps"
    twice = "metadata: {name: a}\ndata:\n  a: '1'\n  a: '2'\nfoo: 1\n"
    for query, mode in ((DRY, "warn"), (STRICT, "strict"), (IGNORE, "ignore")):
        yield f"yaml-twice-{mode}", "POST", post + query, YAML, twice
    bodies = {
        "map-twice": "metadata: {name: a}\ndata: {a: '1'}\ndata: {b: '2'}\n",
        "is-json": '{"metadata":{"name":"a"},"data":{"a":"1"},"data":{"b":"2"}}',
        "is-broken-json": '{"metadata":{"name":"a"',
        "merge-key": "metadata: {name: a}\nx: &x {a: '1'}\ndata:\n  <<: *x\n  b: '2'\n",
        "merge-keys": "metadata: {name: a}\nx: &x {a: '1', c: x}\ny: &y {a: '2', d: y}\ndata:\n  <<: [*x, *y]\n  b: '2'\n",
        "merge-wrong": "metadata: {name: a}\ndata:\n  <<: [1]\n",
        "nothing": "",
        "null": "null",
        "list": "[]",
        "text": "abc",
        "mapping-in-a-line": "a: b: c",
        "tab": "metadata:\n\tname: a\n",
        "unclosed": '{"a": [1, 2',
        "unknown-anchor": "a: *b\n",
        "key-is-a-list": "? [a, b]\n: c\n",
        "key-is-null": "~: c\n",
        "not-a-number": "metadata: {name: a}\ndata: {a: .nan}\n",
        "number-too-large": "metadata: {name: a}\ndata: {a: 1e400}\n",
        "apiVersion-number": "apiVersion: 1\nmetadata: {name: a}\n",
        "kind-list": "kind: [Pod]\nmetadata: {name: a}\n",
        "wrong-type": "metadata: {name: a}\ndata: {a: 1}\n",
        "control-character": "metadata: {name: \"a\"}\ndata: {a: '\x01'}\n",
        "two-documents": "metadata: {name: a}\n---\nmetadata: {name: b}\n",
        "deep-flow": "metadata: {name: a}\nx: " + "[" * 9000 + "]" * 9000 + "\n",
        "deep-block": "metadata: {name: a}\nx:\n" + "- " * 9000 + "1\n",
        "deep-maps": "metadata: {name: a}\nx: " + "{a: " * 9000 + "1" + "}" * 9000 + "\n",
        "too-deep-flow": "x: " + "[" * 10010 + "]" * 10010 + "\n",
        "too-deep-flow-later": "y: 1\nz: 2\nx: " + "[" * 10010 + "]" * 10010 + "\n",
        "too-deep-block": "y: 1\nx:\n" + "- " * 10010 + "1\n",
        "deepest-flow": "[" * 10000 + "]" * 10000,
        "unclosed-deep": "[" * 9000,
    }
    for name, body in bodies.items():
        yield f"yaml-{name}", "POST", post + DRY, YAML, body
    yield "yaml-custom-twice", "POST", WIDGETS + DRY, YAML, (
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {a: 1}\nspec: {b: 2}\n")
    yield "yaml-custom-broken", "POST", WIDGETS + DRY, YAML, "a: b: c"
    yield "yaml-apply-broken", "PATCH", NAMESPACE + "/configmaps/there" + DRY + "&fieldManager=m", APPLY, "a: b: c"


def numbers():
    def case(name, path, body, query=DRY):
        return f"number-{name}", "POST", path + query, JSON, body
    cm = NAMESPACE + "/configmaps"
    yield case("text-field", cm, '{"metadata":{"name":1e400}}')
    yield case("label", cm, '{"metadata":{"name":"a","labels":{"x":1e400}}}')
    yield case("unknown", cm, '{"metadata":{"name":"a"},"x":1e400,"data":{"a":"1"}}')
    yield case("in-unknown", cm, '{"metadata":{"name":"a"},"x":[{"y":1e400}]}', STRICT)
    yield case("integer", APPS + "/deployments", deployment("d")[:-2] + ',"replicas":1e400}}')
    yield case("quantity", NAMESPACE + "/pods", pod(with_container('"resources":{"limits":{"cpu":1e400}}')))
    yield case("port", NAMESPACE + "/pods", pod(with_container('"livenessProbe":{"tcpSocket":{"port":1e400}}')))
    yield case("float", CRDS, crd("gadgets", "Gadget", '{"type":"object","properties":{"a":{"type":"number","maximum":1e400}}}'))
    yield case("syntax-comes-first", cm, '{"metadata":{"name":"a"},"x":1e400,}')
    yield case("type-meta", cm, '{"kind":1e400,"metadata":{"name":"a"}}')
    yield case("before-another-error", cm, '{"x":1e400,"metadata":{"name":1}}')
    yield case("top-level", cm, "1e400")


def protobuf():
    def field(number, wire, content):
        return bytes([number << 3 | wire]) + content

    def text(number, content):
        return field(number, 2, bytes([len(content)]) + content)

    magic = b"k8s\0"
    meta = text(1, text(1, b"v1") + text(2, b"ConfigMap"))
    named = text(1, text(1, b"a"))

    def body(raw, type_meta=meta):
        return magic + type_meta + text(2, raw)

    post = NAMESPACE + "/configmaps" + DRY
    bodies = {
        "nothing": b"",
        "no-prefix": b"abcdef",
        "short-prefix": b"k8",
        "prefix-only": magic,
        "zero-tag": magic + b"\0",
        "open-tag": magic + b"\xff",
        "long-tag": magic + b"\xff" * 11,
        "end-group": magic + b"\x0c",
        "envelope-wire-type": magic + field(1, 0, b"\x01"),
        "envelope-length": magic + b"\x0a\x7f",
        "envelope-negative-length": magic + b"\x0a" + b"\xff" * 9 + b"\x01",
        "envelope-unknown-wire-type": magic + field(9, 7, b""),
        "envelope-group": magic + field(9, 3, b"") + field(9, 4, b"") + meta + text(2, named),
        "envelope-open-group": magic + field(9, 3, b""),
        "type-meta-wire-type": magic + text(1, field(2, 0, b"\x01")),
        "named": body(named),
        "no-type": magic + text(2, named),
        "other-kind": body(named, text(1, text(1, b"v1") + text(2, b"Pod"))),
        "unknown-kind": body(named, text(1, text(1, b"v1") + text(2, b"Foo"))),
        "unknown-version": body(named, text(1, text(1, b"v9") + text(2, b"ConfigMap"))),
        "bad-version": body(named, text(1, text(1, b"a/b/c") + text(2, b"ConfigMap"))),
        "message-cut": body(b"\x0a\x7f"),
        "message-wire-type": body(field(1, 0, b"\x01")),
        "message-zero-tag": body(b"\0"),
        "message-end-group": body(b"\x0c"),
        "message-map-wire-type": body(named + field(2, 0, b"\x01")),
        "message-unknown-field": body(named + field(15, 0, b"\x01")),
        "message-unknown-wire-type": body(named + field(15, 6, b"")),
        "metadata-wire-type": body(text(1, field(1, 0, b"\x01"))),
        "uid-wire-type": body(text(1, field(5, 0, b"\x01"))),
        "metadata-cut": body(text(1, b"\x0a\x05a")),
        "time-cut": body(text(1, text(1, b"a") + text(8, b"\x08"))),
        "overflow": body(text(1, text(1, b"a") + field(7, 0, b"\xff" * 11))),
    }
    for name, content in bodies.items():
        yield f"protobuf-{name}", "POST", post, PROTOBUF, content
    spec = field(1, 0, b"\x02")
    for name, content in {"number": named + text(2, spec), "number-as-text": named + text(2, text(1, b"x"))}.items():
        yield (f"protobuf-deployment-{name}", "POST", APPS + "/deployments" + DRY, PROTOBUF,
               body(content, text(1, text(1, b"apps/v1") + text(2, b"Deployment"))))


def syntax():
    post = NAMESPACE + "/configmaps" + DRY
    bodies = {
        "nothing": "", "text": '"a"', "list": "[]", "null": "null", "cut": '{"metadata":{"name":"a"', "comma": '{"metadata":{"name":"a"},}',
        "two": "{}{}", "deepest": "[" * 10000 + "]" * 10000, "too-deep": "[" * 10001 + "]" * 10001,
        "deep-unknown": '{"metadata":{"name":"a"},"x":' + "[" * 9990 + "]" * 9990 + "}",
        "deep-twice": '{"metadata":{"name":"a"},"x":' + '{"a":1,"a":' * 9000 + "1" + "}" * 9000 + "}",
    }
    for name, body in bodies.items():
        yield f"json-{name}", "POST", post, JSON, body
    yield ("custom-deep-twice", "POST", WIDGETS + DRY, JSON, '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},'
           '"spec":{"any":' + '{"a":1,"a":' * 200 + "1" + "}" * 200 + "}}")


def raw():
    """Raw extensions. Left out is what kube-apiserver keeps of their text: see README.md."""
    def revision(data, name="a"):
        return f'{{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{{"name":"{name}"}},"revision":1,"data":{data}}}'
    revisions = APPS + "/controllerrevisions"
    there = revisions + "/raw"
    values = {
        "object": RAW,
        "list": '[{"a":1}]',
        "number": "1.50",
        "text": '"a"',
        "bool": "true",
        "null": "null",
        "empty": "{}",
        "wrong-then-object": '1,"data":{"a":1}',
        "html": '{"a":"<&>\\u2028"}',
    }
    for query, mode in ((DRY, ""), (STRICT, "-strict"), (IGNORE, "-ignore")):
        for name, value in values.items():
            yield f"raw-{name}{mode}", "POST", revisions + query, JSON, revision(value)
            yield f"raw-claim-{name}{mode}", "POST", CLAIMS + query, JSON, claim("a", value if "then" not in name else "{}")
    yield "raw-get", "GET", there, JSON, ""
    yield "raw-get-list", "GET", revisions, JSON, ""
    yield "raw-claim-get", "GET", CLAIMS + "/raw", JSON, ""
    yield "raw-put-same", "PUT", there + DRY, JSON, revision(RAW, "raw")
    yield "raw-put-other", "PUT", there + DRY, JSON, revision('{"z":2}', "raw")
    yield "raw-put-null", "PUT", there + DRY, JSON, revision("null", "raw")
    yield "raw-claim-put-same", "PUT", CLAIMS + "/raw" + DRY, JSON, claim("raw", RAW)
    yield "raw-claim-put-other", "PUT", CLAIMS + "/raw" + DRY, JSON, claim("raw", '{"z":2}')
    yield "raw-merge-patch-beside", "PATCH", there + DRY, MERGE_PATCH, '{"metadata":{"labels":{"a":"b"}}}'
    yield "raw-strategic-beside", "PATCH", there + DRY, STRATEGIC, '{"metadata":{"labels":{"a":"b"}}}'
    yield "raw-json-patch-beside", "PATCH", there + DRY, JSON_PATCH, '[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]'
    yield "raw-json-patch-test", "PATCH", there + DRY, JSON_PATCH, '[{"op":"test","path":"/data/a/x","value":1}]'
    yield "raw-json-patch-into", "PATCH", there + DRY, JSON_PATCH, '[{"op":"add","path":"/data/c","value":1}]'
    yield "raw-merge-patch-into", "PATCH", there + DRY, MERGE_PATCH, '{"data":{"c":1}}'
    yield "raw-apply", "PATCH", revisions + "/applied" + DRY + "&fieldManager=m", APPLY, revision('{"b":1.5,"a":{"x":1,"x":2}}', "applied")
    yield "raw-apply-number-too-large", "PATCH", revisions + "/applied" + DRY + "&fieldManager=m", APPLY, revision('{"b":1e400}', "applied")
    yield "raw-apply-beside", "PATCH", there + DRY + "&fieldManager=m", APPLY, (
        '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"raw","labels":{"a":"b"}},"revision":1}')
    yield "raw-yaml", "POST", revisions + DRY, YAML, "metadata: {name: a}\nrevision: 1\ndata: {b: 1.5, a: {x: 1, x: 2}}\n"


def divisors():
    for divisor in ('"1000m"', '"1"', "1", "0.001", '"0"', '"0.5"', '"1e3"', '"1Ki"', '"1024"', '""', "null", '"2"', '"1k"', '"x"', "1e400"):
        env = with_container('"env":[{"name":"E","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":%s}}}]' % divisor)
        yield f"divisor-{divisor}", "POST", NAMESPACE + "/pods" + DRY, JSON, pod(env)


def patch_numbers():
    """Numbers that no float64 holds, in every kind of patch and at every level of field validation."""
    deploy, widget = APPS + "/deployments/there", WIDGETS + "/there"
    for query, mode in ((DRY, "warn"), (STRICT, "strict"), (IGNORE, "ignore")):
        for media, kind in ((MERGE_PATCH, "merge"), (STRATEGIC, "strategic")):
            yield f"patch-number-{kind}-{mode}", "PATCH", deploy + query, media, '{"spec":{"replicas":1e400}}'
            yield f"patch-number-{kind}-unknown-{mode}", "PATCH", deploy + query, media, '{"spec":{"foo":1e400}}'
        yield f"patch-number-custom-{mode}", "PATCH", widget + query, MERGE_PATCH, '{"spec":{"any":{"x":1e400}}}'
        for path in ("/spec/foo", "/foo"):
            yield f"patch-number-json{path}-{mode}", "PATCH", deploy + query, JSON_PATCH, f'[{{"op":"add","path":"{path}","value":1e400}}]'
        yield f"patch-number-json-custom-{mode}", "PATCH", widget + query, JSON_PATCH, '[{"op":"add","path":"/spec/any","value":{"x":1e400}}]'
        yield f"patch-number-json-member-{mode}", "PATCH", deploy + query, JSON_PATCH, '[{"op":"add","path":"/kind","value":"Deployment","foo":1e400}]'
        yield f"patch-number-apply-{mode}", "PATCH", deploy + query + "&fieldManager=m&force=true", APPLY, (
            '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"there"},"spec":{"replicas":1e400}}')
        yield f"patch-number-apply-unknown-{mode}", "PATCH", deploy + query + "&fieldManager=m&force=true", APPLY, (
            '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"there"},"spec":{"foo":1e400}}')
        yield f"custom-number-{mode}", "POST", WIDGETS + query, JSON, (
            '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"any":[1e400]}}')


def repeated_protobuf():
    """Fields that come twice: messages are merged, of scalars the last one counts."""
    def varint(number):
        out = b""
        while number > 0x7F:
            out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
        return out + bytes([number])

    def text(number, *content):
        joined = b"".join(content)
        return varint(number << 3 | 2) + varint(len(joined)) + joined

    def number(field, value):
        return varint(field << 3) + varint(value)

    def body(version, kind, *fields):
        return b"k8s\0" + text(1, text(1, version), text(2, kind)) + text(2, *fields)

    def entry(field, key, value):
        return text(field, text(1, key), text(2, value))
    named = text(1, text(1, b"a"))
    configmaps = {
        "metadata": (text(1, text(1, b"a"), entry(11, b"x", b"1")), text(1, entry(11, b"y", b"2"), entry(11, b"x", b"3"))),
        "name": (text(1, text(1, b"a"), text(1, b"b")),),
        "map": (named, entry(2, b"k", b"1"), entry(2, b"l", b"2"), entry(2, b"k", b"3")),
        "map-key-and-value": (named, text(2, text(1, b"a"), text(1, b"b"), text(2, b"1"), text(2, b"2"))),
        "map-empty-entry": (named, entry(2, b"", b"x"), text(2)),
        "map-unknown-field": (named, text(2, text(1, b"a"), text(3, b"?"), text(2, b"1"))),
        "bool": (named, number(4, 1), number(4, 0)),
        "time": (text(1, text(1, b"a"), text(8, number(1, 1)), text(8, number(2, 5))),),
        "owners": (text(1, text(1, b"a"), text(13, text(5, b"v1"), text(1, b"Node"), text(3, b"n"), text(4, b"u"))), text(1, text(13, text(3, b"m")))),
    }
    for name, fields in configmaps.items():
        yield f"protobuf-repeated-{name}", "POST", NAMESPACE + "/configmaps" + DRY, PROTOBUF, body(b"v1", b"ConfigMap", *fields)
    container = (text(1, b"c"), text(2, b"i"))
    pods = {
        "spec": (text(2, text(2, *container)), text(2, number(4, 7), text(2, text(1, b"d"), text(2, b"j")))),
        "struct": (text(2, text(2, *container, text(15, number(4, 1)), text(15, number(8, 2)))),),
        "struct-in-struct": (text(2, text(2, *container, text(15, text(1, text(1, b"A"))), text(15, text(1, text(2, b"B"))))),),
        "struct-empty": (text(2, text(2, *container, text(15, number(4, 1)), text(15))),),
        "int-or-string": (text(2, text(2, *container, text(10, text(1, text(3, text(1, text(2, number(2, 8)))), ), ), )),),
        "int-or-string-merged": (text(2, text(2, *container, text(10, text(1, text(3, text(1, number(1, 1)), text(1, text(3, b"http")))), ))),),
        "inline": (text(2, text(2, *container, text(10, text(1, text(3, text(1, number(2, 80)))), text(1, text(3, text(2, b"h")))))),),
        "quantity": (text(2, text(2, *container, text(8, text(1, text(1, b"cpu"), text(2, text(1, b"1"), text(1, b"1500m")))))),),
        "quantity-then-empty": (text(2, text(2, *container, text(7, text(1, b"E"), text(3, text(2, text(2, b"limits.cpu"), text(3, text(1, b"1m")), text(3)))))),),
        "quantity-field-twice": (text(2, text(2, *container, text(7, text(1, b"E"), text(3, text(2, text(2, b"limits.cpu"), text(3, text(1, b"1m")), text(3, text(1, b"1000m"))))))),),
        "quantity-map-value": (text(2, text(2, *container, text(8, text(1, text(1, b"cpu"), text(2, text(1, b"1")), text(2, text(1, b"2")))))),),
        "quantity-bad": (text(2, text(2, *container, text(8, text(1, text(1, b"cpu"), text(2, text(1, b"x")))))),),
        "number": (text(2, text(2, *container), number(4, 5), number(4, 6)),),
        "number-negative": (text(2, text(2, *container), number(25, (1 << 64) - 5)),),
        "number-beyond-32-bits": (text(2, text(2, *container), number(25, (1 << 33) + 5)),),
        "bool-of-two": (text(2, text(2, *container), number(11, 2)),),
    }
    for name, fields in pods.items():
        yield f"protobuf-repeated-pod-{name}", "POST", NAMESPACE + "/pods" + DRY, PROTOBUF, body(
            b"v1", b"Pod", named, *fields, text(2, number(21, 0)))
    revisions = {
        "raw": (text(2, text(1, b'{"a":1}')), text(2, text(1, b'{"b": 2}'))),
        "raw-then-empty": (text(2, text(1, b'{"a":1}')), text(2)),
    }
    for name, fields in revisions.items():
        yield (f"protobuf-repeated-{name}", "POST", APPS + "/controllerrevisions" + DRY, PROTOBUF,
               body(b"apps/v1", b"ControllerRevision", named, number(3, 1), *fields))
    magic, raw = b"k8s\0", text(2, *configmaps["bool"])
    yield "protobuf-repeated-type", "POST", NAMESPACE + "/configmaps" + DRY, PROTOBUF, (
        magic + text(1, text(1, b"v1")) + raw + text(1, text(2, b"ConfigMap")))
    yield "protobuf-repeated-type-kind", "POST", NAMESPACE + "/configmaps" + DRY, PROTOBUF, (
        magic + text(1, text(1, b"v1"), text(2, b"Pod")) + raw + text(1, text(2, b"ConfigMap")))
    yield "protobuf-repeated-raw-bytes", "POST", NAMESPACE + "/configmaps" + DRY, PROTOBUF, (
        magic + text(1, text(1, b"v1"), text(2, b"ConfigMap")) + text(2, text(1, text(1, b"b"))) + raw)


def answers():
    """Answers of webhooks; UID stands for the uid of the request. One case: (name, what the webhook answers, path, body)."""
    def review(response):
        return f'{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",{response}}}'

    def patched(patch):
        encoded = base64.b64encode(patch.encode()).decode()
        return review(f'"response":{{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"{encoded}"}}')
    one, two = (base64.b64encode(f'[{{"op":"add","path":"/data/p","value":"{n}"}}]'.encode()).decode() for n in (1, 2))
    reviews = {
        "allowed-then-not": '"response":{"uid":"UID","allowed":true,"allowed":false}',
        "not-then-allowed": '"response":{"uid":"UID","allowed":false,"allowed":true}',
        "allowed-then-null": '"response":{"uid":"UID","allowed":true,"allowed":null}',
        "response-in-parts": '"response":{"uid":"UID"},"response":{"allowed":true}',
        "response-then-refusal": '"response":{"uid":"UID","allowed":true},"response":{"allowed":false}',
        "response-then-empty": '"response":{"uid":"UID","allowed":true},"response":{}',
        "response-then-null": '"response":{"uid":"UID","allowed":true},"response":null',
        "null-then-response": '"response":null,"response":{"uid":"UID","allowed":true}',
        "response-null-response": '"response":{"uid":"UID","allowed":true},"response":null,"response":{"uid":"UID"}',
        "status-in-parts": '"response":{"uid":"UID","allowed":false,"status":{"message":"a"},"status":{"code":418}}',
        "status-then-null": '"response":{"uid":"UID","allowed":false,"status":{"message":"a"},"status":null}',
        "causes": '"response":{"uid":"UID","allowed":false,"status":{"details":{"name":"n","causes":[{"message":"x","field":"f"}]},'
                  '"details":{"kind":"k"}}}',
        "warnings": '"response":{"uid":"UID","allowed":true,"warnings":["a","b"],"warnings":["c"]}',
        "warnings-then-null": '"response":{"uid":"UID","allowed":true,"warnings":["a"],"warnings":null}',
        "kind-first-wrong": '"kind":"AdmissionReview","response":{"uid":"UID","allowed":true}',
        "in-another-case": '"Response":{"uid":"UID","allowed":true}',
        "wrong-first": '"response":{"uid":"UID","allowed":"yes","allowed":true}',
        "number-too-large": '"response":{"uid":"UID","allowed":false,"status":{"code":1e400}}',
        "number-too-large-unknown": '"foo":1e400,"response":{"uid":"UID","allowed":true,"bar":[1e400]}',
        "patch-twice": f'"response":{{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"{one}","patch":"{two}"}}',
        "patch-then-null": f'"response":{{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"{one}","patch":null}}',
        "patch-type-then-null": f'"response":{{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"{one}","patchType":null}}',
    }

    def labelled(name, rest):
        return f'{{"metadata":{{"name":"a","labels":{{"case":"{name}"}}}},{rest}}}'
    for name, response in reviews.items():
        name = "answer-" + name
        yield name, review(response), NAMESPACE + "/configmaps" + DRY, labelled(name, '"data":{"a":"1"}')
    template = '{"metadata":{"labels":{"a":"b"}},"metadata":{"labels":{"c":"d"}},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    configmaps = {
        "value": '[{"op":"add","path":"/data","value":{"a":"1","b":"x","a":"2"}}]',
        "value-looked-into": '[{"op":"add","path":"/data","value":{"a":"1","a":"2"}},{"op":"test","path":"/data/a","value":"2"}]',
        "wrong-value-first": '[{"op":"add","path":"/data","value":{"a":1,"a":"2"}}]',
        "op-twice": '[{"op":"remove","op":"add","path":"/data/p","value":"1"}]',
        "path-twice": '[{"op":"add","path":"/data/p","path":"/data/q","value":"1"}]',
        "value-twice": '[{"op":"add","path":"/data/p","value":"1","value":"2"}]',
        "op-in-another-case": '[{"Op":"add","path":"/data/p","value":"1"}]',
        "unknown-member": '[{"op":"add","path":"/data/p","value":"1","foo":1e400}]',
        "number": '[{"op":"add","path":"/data/p","value":1e400}]',
        "number-unknown": '[{"op":"add","path":"/foo","value":1e400}]',
        "copy": '[{"op":"add","path":"/data","value":{"a":"1","a":"2"}},{"op":"copy","from":"/data","path":"/binaryData"}]',
        "metadata": '[{"op":"add","path":"/metadata/labels","value":{"x":"1"}},{"op":"add","path":"/metadata/annotations","value":{"a":"1","a":"2"}}]',
    }
    for name, patch in configmaps.items():
        name = "patch-" + name
        yield name, patched(patch), NAMESPACE + "/configmaps" + DRY, labelled(name, '"data":{"a":"1"}')
    deployments = {
        "struct": f'[{{"op":"replace","path":"/spec/template","value":{template}}}]',
        "struct-looked-into": f'[{{"op":"replace","path":"/spec/template","value":{template}}},'
                              '{"op":"add","path":"/spec/template/metadata/labels/a","value":"b"}]',
        "number-typed": '[{"op":"replace","path":"/spec/replicas","value":1e400}]',
    }
    for name, patch in deployments.items():
        name = "patch-" + name
        yield (name, patched(patch), APPS + "/deployments" + DRY,
               labelled(name, f'"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":{globals()["template"]()}}}'))
    widgets = {
        "custom": '[{"op":"add","path":"/spec/map","value":{"a":1,"a":2}},{"op":"add","path":"/spec/any","value":{"x":{"a":1},"x":{"b":2}}}]',
        "custom-number": '[{"op":"add","path":"/spec/any","value":1e400}]',
    }
    for name, patch in widgets.items():
        name = "patch-" + name
        yield (name, patched(patch), WIDGETS + DRY, '{"apiVersion":"example.com/v1","kind":"Widget",' + labelled(name, '"spec":{"a":1}')[1:])


def owners():
    for name, references in {
        "empty": '[{}]',
        "event": '[{"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}]',
        "second": '[{"apiVersion":"v1","kind":"Node","name":"e","uid":"u"},{"apiVersion":"x/y/z","kind":"Node","name":"f","uid":"v"}]',
    }.items():
        yield (f"owner-{name}", "POST", NAMESPACE + "/configmaps" + DRY, JSON,
               f'{{"metadata":{{"name":"a","ownerReferences":{references},"finalizers":["a","b c"]}}}}')


def all_cases():
    for group in (typed, strict, custom, patches, yaml, numbers, protobuf, syntax, raw, divisors, patch_numbers, repeated_protobuf, owners):
        yield from group()
