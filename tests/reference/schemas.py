# SPDX-License-Identifier: Apache-2.0

"""Compares custom resources: generated structural schemas, each with objects that fit, nearly fit and do not fit, and writes in every way to
one that is stored (combined_writes.py)."""

import copy
import json
import random
import sys
import time

import combinations
import mutations
from combined_writes import Stored
from comparing import Pair, Resource
from generated import APPLY, JSON_PATCH, MERGE, Request, path_with

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "schemas.example.com"
TEXTS = ["", "a", "b", "ab", "abc", "A1", "é", "a-b", "10.0.0.1", "::1", "2024-01-02T03:04:05Z", "2024-01-02", "1h", "a@b.c", "YQ==", "5", "x" * 12]
NUMBERS = [0, 1, -1, 2, 3, 5, 10, 100, 2147483647, 2147483648, -2147483649, 9007199254740993]
FRACTIONS = [0.5, 1.0, 2.5, -0.1, 1e20, 3.4e39]
FORMATS = ["date-time", "date", "duration", "byte", "ipv4", "ipv6", "cidr", "uri", "email", "hostname", "uuid", "mac", "nonsense"]
WRITES = 5  # times eight
PATTERNS = ["^[a-z]+$", "^.{2,3}$", "b", "^(a|b)*$"]


class Schemas:
    """Generates schemas and values for them."""

    def __init__(self, chance):
        self.random = chance

    def maybe(self, share=0.3):
        return self.random.random() < share

    def some(self, schema, **keywords):
        """Adds some of the keywords."""
        schema.update({name: make() for name, make in keywords.items() if self.maybe()})
        return schema

    def schema(self, depth=3):
        kinds = ["string", "string", "integer", "number", "boolean", "mixed"] + ["array", "map", "object", "object", "open", "free"] * (depth > 0)
        schema = getattr(self, self.random.choice(kinds))(depth - 1)
        if self.maybe(0.15):
            schema["nullable"] = True
        if self.maybe(0.15):
            self.combine(schema)
        return schema

    def string(self, _):
        pick = self.random.choice
        return self.some({"type": "string"}, minLength=lambda: pick([1, 2]), maxLength=lambda: pick([2, 5]), pattern=lambda: pick(PATTERNS),
                         format=lambda: pick(FORMATS), enum=lambda: self.random.sample(TEXTS, 3))

    def limits(self, schema):
        pick = self.random.choice
        self.some(schema, minimum=lambda: pick([0, 1, 2]), maximum=lambda: pick([3, 10]), multipleOf=lambda: pick([2, 5]), enum=lambda: self.random.sample(NUMBERS, 3))
        self.some(schema, **{name: lambda: True for name, of in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")) if of in schema})
        return schema

    def integer(self, _):
        return self.limits(self.some({"type": "integer"}, format=lambda: self.random.choice(["int32", "int64"])))

    def number(self, _):
        return self.limits(self.some({"type": "number"}, format=lambda: self.random.choice(["float", "double"])))

    def boolean(self, _):
        return {"type": "boolean"}

    def mixed(self, _):
        return {"x-kubernetes-int-or-string": True}

    def open(self, depth):
        return {**self.object(depth), "x-kubernetes-preserve-unknown-fields": True} if self.maybe() else {"x-kubernetes-preserve-unknown-fields": True}

    def free(self, _):
        return {"type": "object"} if self.maybe() else {"type": "object", "additionalProperties": True}

    def array(self, depth):
        schema = self.some({"type": "array", "items": self.schema(depth)}, minItems=lambda: 1, maxItems=lambda: self.random.choice([1, 2]))
        kind = schema["items"].get("type")
        if self.maybe():
            schema["x-kubernetes-list-type"] = "atomic"
        elif kind in ("string", "integer", "boolean", "number") and "nullable" not in schema["items"] and self.maybe(0.5):
            schema["x-kubernetes-list-type"] = "set"
        elif self.maybe(0.5):
            schema["items"] = self.object(depth)
            schema["items"]["properties"]["k"] = {"type": "string"}
            schema["items"].setdefault("required", []).append("k")
            schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
        return schema

    def map(self, depth):
        return self.some({"type": "object", "additionalProperties": self.schema(depth)}, minProperties=lambda: 1, maxProperties=lambda: 1)

    def object(self, depth):
        names = self.random.sample("abcdef", self.random.randint(1, 4))
        schema = {"type": "object", "properties": {name: self.schema(depth) for name in names}}
        for field in schema["properties"].values():
            if field.get("type") in ("string", "integer", "boolean") and self.maybe(0.2):
                field["default"] = self.value(field, 0)
        self.some(schema, minProperties=lambda: 2, maxProperties=lambda: 2)
        if self.maybe(0.4):
            schema["required"] = self.random.sample(names, self.random.randint(1, len(names)))
        return schema

    def combine(self, schema):
        """Adds alternatives, which may say nothing about types."""
        def constraint():
            if "properties" in schema and self.maybe(0.7):
                name = self.random.choice(list(schema["properties"]))
                return self.random.choice([{"required": [name]}, {"properties": {name: self.plain(schema["properties"][name])}}])
            return self.plain(schema)

        name = self.random.choice(["anyOf", "oneOf", "allOf", "not"])
        schema[name] = constraint() if name == "not" else [constraint() for _ in range(self.random.randint(1, 3))]

    def plain(self, schema):
        """What such a value may be restricted to."""
        pick = self.random.choice
        if schema.get("type") == "string":
            return pick([{"minLength": 2}, {"maxLength": 2}, {"pattern": pick(PATTERNS)}, {"enum": ["a", "ab"]}, {"format": pick(FORMATS)}])
        if schema.get("type") in ("integer", "number"):
            return pick([{"minimum": 2}, {"maximum": 5}, {"multipleOf": 2}, {"enum": [1, 2]}])
        if schema.get("type") == "array":
            return pick([{"minItems": 1}, {"maxItems": 1}])
        return pick([{"minProperties": 1}, {"maxProperties": 1}]) if schema.get("type") == "object" else {"enum": [True, "a", 1]}

    # --- values --------------------------------------------------------------------------------------

    def anything(self):
        return self.random.choice([None, True, "a", "", 1, 1.5, [], {}, ["a"], {"a": 1}, {"a": None}, [None]])

    def value(self, schema, wrong):
        """One that mostly fits; `wrong` is the share of values that are of any type."""
        if self.maybe(wrong):
            return self.anything()
        pick, kind = self.random.choice, schema.get("type")
        if "enum" in schema and self.maybe(0.7):
            return pick(schema["enum"])
        if kind == "string":
            return pick(TEXTS)
        if kind == "integer":
            return pick(NUMBERS)
        if kind == "number":
            return pick(NUMBERS + FRACTIONS)
        if kind == "boolean":
            return self.maybe(0.5)
        if kind == "array":
            return [self.value(schema["items"], wrong) for _ in range(self.random.randint(0, 3))]
        if isinstance(schema.get("additionalProperties"), dict):
            return {name: self.value(schema["additionalProperties"], wrong) for name in self.random.sample("xyz", self.random.randint(0, 2))}
        if "properties" in schema:
            found = {name: self.value(field, wrong) for name, field in schema["properties"].items() if self.maybe(0.85)}
            return {**found, "unknown": self.anything()} if self.maybe(0.05) else found
        if kind == "object":
            return {name: self.anything() for name in self.random.sample("xyz", self.random.randint(0, 2))}
        return self.anything() if kind is None and "x-kubernetes-int-or-string" not in schema else pick(["a", 1, "5"])


TEXT = {"type": "string"}
METADATA = {"type": "object", "properties": {
    "labels": {"type": "object", "additionalProperties": TEXT}, "annotations": {"type": "object", "additionalProperties": TEXT},
    "finalizers": {"type": "array", "items": TEXT}, "ownerReferences": {"type": "array", "items": {"type": "object", "properties": {}}}}}


class Values(combinations.Generator):
    """Changes to objects of a generated schema."""

    def __init__(self, schemas, values):
        super().__init__(schemas, values.random)
        self.values = values

    def value(self, schema, *_):
        return self.values.value(schema, 0.05)


class Comparison:
    def __init__(self, addresses, arguments):
        self.pair = Pair(*addresses, arguments.token)
        self.arguments = arguments

    def define(self, number, root):
        """Whether both take the definition and serve it."""
        plural = f"things{number}"
        definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{GROUP}"},
                      "spec": {"group": GROUP, "scope": "Cluster", "names": {"plural": plural, "kind": f"Thing{number}"},
                               "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root},
                                             "subresources": {"status": {}} if "status" in root["properties"] else {}}]}}
        request = Request("POST", DEFINITIONS, json.dumps(definition), label=f"schema {number}")
        answers = self.pair.do(request)
        self.pair.judge(request, answers, "definition")
        if any(answer.code != 201 for answer in answers):
            return None
        path = f"/apis/{GROUP}/v1/{plural}"
        for _ in range(200):
            if all(answer.code == 200 for answer in self.pair.do(Request("GET", path))):
                return path
            time.sleep(0.05)
        return None

    def requests(self, number, path, make, objects):
        """Dry runs of creates, then of changes of the object that is stored."""
        for index in range(self.arguments.objects_of_schema):
            thing = {"apiVersion": f"{GROUP}/v1", "kind": f"Thing{number}", "metadata": {"name": "new"}, "spec": make()}
            query = {"dryRun": "All", "fieldManager": "m", "fieldValidation": "Warn"}
            yield Request("POST", path_with(path, **query), json.dumps(thing), label=f"schema {number}: create {index}")
            if not objects:
                continue
            thing = copy.deepcopy(thing)
            thing["metadata"]["name"] = "stored"
            item = path_with(f"{path}/stored", **query)
            yield Request("PUT", item, json.dumps(thing), label=f"schema {number}: update {index}")
            yield Request("PATCH", item, json.dumps({"spec": thing["spec"]}), {"Content-Type": MERGE}, f"schema {number}: merge {index}")
            yield Request("PATCH", item, json.dumps([{"op": "add", "path": "/spec", "value": thing["spec"]}]), {"Content-Type": JSON_PATCH},
                          f"schema {number}: JSON patch {index}")
            yield Request("PATCH", path_with(f"{path}/{('stored', 'new')[index % 2]}", force="true", **query),
                          json.dumps({**thing, "metadata": {"name": ("stored", "new")[index % 2]}}), {"Content-Type": APPLY}, f"schema {number}: apply {index}")

    def write(self, number, path, root, values):
        """Writes to the stored object by several managers, most of which are done."""
        root = json.loads(json.dumps(root).replace('"additionalProperties": true', '"additionalProperties": {}'))
        known, verbs = mutations.Schemas({"definitions": {}}), ["get", "patch", "update"]
        known.kinds[GROUP, "v1", f"Thing{number}"] = {**root, "properties": {"metadata": METADATA, **root["properties"]}}
        status = {"status": (verbs, GROUP, "v1", f"Thing{number}")} if "status" in root["properties"] else {}
        resource = Resource(f"/apis/{GROUP}", GROUP, "v1", f"things{number}", f"Thing{number}", False, verbs, status, builtin=False)
        for _ in range(WRITES):
            writes = Stored(self.pair, Values(known, values), [resource], lambda _: f"{path}/stored", f"schema {number}: write").writes()
            if not combinations.run_writes(self.pair, writes, values.random):
                return

    def run(self):
        begun, number, key = time.monotonic(), 0, "custom resource"
        while self.pair.tally.asked < self.arguments.schemas:
            number += 1
            schemas = Schemas(random.Random(f"{self.arguments.seed} {number}"))
            spec = schemas.object(3)
            root = {"type": "object", "properties": {"spec": spec, **({"status": schemas.object(2)} if number % 2 else {})}}
            path = self.define(number, root)
            if path is None:
                continue
            stored = False
            for _ in range(60):  # something that both take
                thing = {"apiVersion": f"{GROUP}/v1", "kind": f"Thing{number}", "metadata": {"name": "stored"}, "spec": schemas.value(spec, 0)}
                if all(answer.code == 201 for answer in self.pair.do(Request("POST", path_with(path, fieldManager="m"), json.dumps(thing)))):
                    stored = True
                    break
            self.pair.compare_all(self.requests(number, path, lambda: schemas.value(spec, schemas.random.choice([0, 0.05, 0.2])), stored), key)
            if stored:
                self.write(number, path, root, schemas)
            self.pair.do(Request("PATCH", f"{path}/stored", '{"metadata":{"finalizers":null}}', {"Content-Type": MERGE}))
            self.pair.do(Request("DELETE", f"{DEFINITIONS}/things{number}.{GROUP}"))
            print(f"{time.monotonic() - begun:6.1f} s  {self.pair.tally.asked:7}: schema {number}", file=sys.stderr, flush=True)
        return self.pair.tally


def run(addresses, arguments):
    return Comparison(addresses, arguments).run()
