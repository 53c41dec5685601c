# SPDX-License-Identifier: Apache-2.0

"""Objects with one fault, made of a good object and the schema of its kind.

A place is a path into the object, whether the object has it or only the schema. A mutation is a place with what is done
there. Everything is generated in one order; a seeded generator picks among values that stand for one another."""

import copy
import dataclasses
import json

MISSING = object()
TWICE = "\0twice:"  # a name that dump() writes without this, so that the object has it twice


def dump(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("\\u0000twice:", "")


@dataclasses.dataclass(frozen=True)
class Mutation:
    edits: tuple  # (path, value), in order; MISSING: removed. The last is the fault, those before make room for it.
    label: str

    def apply(self, thing):
        """The object with it; containers off the paths are shared."""
        for path, value in self.edits:
            thing = placed(thing, path, value)
        return thing

    def text(self):
        return ".".join(map(str, self.edits[-1][0])) + " " + self.label


def placed(thing, path, value):
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        elements = list(thing) if isinstance(thing, list) else []
        inner = placed(elements[head] if head < len(elements) else None, rest, value)
        if head < len(elements):
            elements[head:head + 1] = [] if inner is MISSING else [inner]
        elif inner is not MISSING:
            elements.append(inner)
        return elements
    members = dict(thing) if isinstance(thing, dict) else {}
    inner = placed(members.get(head), rest, value)
    if inner is MISSING:
        members.pop(head, None)
    else:
        members[head] = inner
    return members


STRINGS = ["x", "Upper_Case", "a" * 64, "a" * 254, "-a-", "a b", "a/b", "/abs", "../up", "a.b.c", "1", "127.0.0.1", "2001:db8::1",
           "10.0.0.0/8", "https://example.com/x", "é", "*", "a\nb", "0x1f", "a" * 1025, "example.com/name", "k8s.io/x", "true", "$(X)",
           "kubernetes.io/x", " ", "a..b", "system:x", "a:b", "1.2.3", "abc=def", "{}", "127.000.000.1", "a=1,b in (c)", "50%", "Always"]
NUMBERS = [0, -1, 1, 2, 65535, 65536, 2147483647, 2147483648, -2147483649, 9223372036854775807, 9223372036854775808, 1.5, 1e3]
QUANTITIES = ["0", "1", "-1", "1.5Gi", "100m", "abc", "1e30", "1Ki1", 0.5, 10, "1 ", "+1", "0.0000000001", "12E", "", "1k", "1.0"]
TIMES = ["2020-01-02T03:04:05Z", "2020-01-02T03:04:05.123456Z", "2020-01-02T03:04:05+02:00", "2020-01-02", "x", "", 5,
         "0000-00-00T00:00:00Z", "2020-01-02T03:04:05.123456789Z"]
INT_OR_STRINGS = [0, -1, 1, "50%", "101%", "abc", "", 65536, "80", "http", 2147483648, 1.5, True, None, "0%", "-1%"]
OF_OTHER_TYPES = {"string": [5, True, [], {}, None], "integer": ["1", "x", True, [], {}, None], "number": ["1", True, [], None],
                  "boolean": ["true", 0, [], {}, None], "array": ["x", {}, 1, None], "object": ["x", [], 1, None]}


class Schemas:
    """The definitions of /openapi/v2."""

    def __init__(self, document):
        self.definitions = document["definitions"]
        self.kinds = {}
        for name, definition in self.definitions.items():
            for kind in definition.get("x-kubernetes-group-version-kind", []):
                self.kinds[kind["group"], kind["version"], kind["kind"]] = definition

    def resolve(self, schema):
        while "$ref" in schema:
            target = self.definitions[schema["$ref"].rpartition("/")[2]]
            schema = {**target, "x-name": schema["$ref"]}
        return schema

    def type_of(self, schema):
        if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
            return "int-or-string"
        if "x-name" in schema and schema["x-name"].endswith((".Quantity", ".IntOrString")):
            return "quantity" if schema["x-name"].endswith("Quantity") else "int-or-string"
        if schema.get("format") == "date-time":
            return "time"
        if schema.get("format") == "byte":
            return "bytes"
        if "properties" in schema or "additionalProperties" in schema:
            return "object"
        return schema.get("type", "object")

    def sample(self, schema, name="x", depth=0):
        """A small value that fits."""
        schema = self.resolve(schema)
        kind = self.type_of(schema)
        if schema.get("enum"):
            return schema["enum"][0]
        if kind == "array":
            return [self.sample(schema.get("items", {}), name, depth + 1)]
        if kind == "object":
            if depth > 6 or "properties" not in schema:
                return {}
            return {field: self.sample(schema["properties"][field], field, depth + 1)
                    for field in schema.get("required", []) if field in schema["properties"]}
        return {"string": name.lower()[:40], "integer": 1, "number": 1, "boolean": True, "quantity": "1", "int-or-string": 1,
                "time": "2020-01-02T03:04:05Z", "bytes": "YQ=="}.get(kind, "x")

    def places(self, schema, value, path=(), above=(), edits=()):
        """(path, schema, value or MISSING, edits that make its parents) of every field and element."""
        schema = self.resolve(schema)
        reference = schema.get("x-name")
        if (reference and above.count(reference) >= (1 if len(path) > 4 else 2)) or len(path) > 14:
            return
        above = (*above, reference)

        def inner(name, of, member):
            here, of = (*path, name), self.resolve(of)
            yield here, of, member, edits
            if member is MISSING:
                # What it requires is there, so that the mutation is the only fault.
                member = self.sample(of, str(name))
                if isinstance(member, (dict, list)):
                    yield from self.places(of, member, here, above, (*edits, (here, member)))
            else:
                yield from self.places(of, member, here, above, edits)

        if "properties" in schema:
            for name, of in schema["properties"].items():
                if path or name not in ("apiVersion", "kind"):
                    yield from inner(name, of, (value or {}).get(name, MISSING) if isinstance(value, dict) else MISSING)
        elif "items" in schema:
            elements = value if isinstance(value, list) else []
            for index in range(min(len(elements), 2)):
                yield from inner(index, schema["items"], elements[index])
            if self.type_of(self.resolve(schema["items"])) == "object" and not edits:
                yield from inner(len(elements), schema["items"], MISSING)
        elif isinstance(schema.get("additionalProperties"), dict):
            members = value if isinstance(value, dict) else {}
            for name in list(members)[:2] or ["key"]:
                yield from inner(name, schema["additionalProperties"], members.get(name, MISSING))


class Mutations:
    def __init__(self, schemas, random):
        self.schemas, self.random = schemas, random

    def of(self, schema, thing, under=()):
        """Every mutation of the object that its schema knows; `under`: of the fields below this path."""
        for path, inner, value, edits in self.schemas.places(schema, thing):
            if path[:len(under)] == under:
                yield from self.at(thing, path, inner, value, edits)

    def at(self, thing, path, schema, value, edits):
        kind = self.schemas.type_of(schema)

        def make(new, label):
            return Mutation((*edits, (path, new)), label)

        if value is not MISSING:
            yield make(MISSING, "removed")
            if isinstance(path[-1], str) and not edits:
                yield from renamed(thing, path, value)
        else:
            yield make(self.schemas.sample(schema, str(path[-1])), "added")
        for new in OF_OTHER_TYPES.get(kind, []):
            yield make(new, "null" if new is None else "of another type")
        yield from (make(new, "value") for new in self.values(kind, schema, value))
        if kind == "array":
            yield from self.lists(make, schema, value)
        elif kind == "object":
            yield from self.objects(make, schema, value)

    def values(self, kind, schema, value):
        if kind == "string":
            enum = schema.get("enum", [])
            yield ""
            yield from enum
            if enum:
                yield enum[0].lower()
                yield enum[0].upper()
            if isinstance(value, str):
                yield value + "x"
                yield value.upper()
                yield value + "-" + "z" * 60
            yield from self.random.sample(STRINGS, 3 if enum else 6)
        elif kind in ("integer", "number"):
            yield from (0, -1)
            if isinstance(value, int):
                yield from (value + 1, value - 1)
            yield from self.random.sample(NUMBERS, 4)
        elif kind == "boolean":
            yield from (True, False)
        elif kind == "quantity":
            yield from self.random.sample(QUANTITIES, 5)
        elif kind == "int-or-string":
            yield from self.random.sample(INT_OR_STRINGS, 6)
        elif kind == "time":
            yield from self.random.sample(TIMES, 4)
        elif kind == "bytes":
            yield from ("", "YQ==", "YQ", "!", "YWJj\n", None, 5, "-_-_")

    def lists(self, make, schema, value):
        yield make([], "empty")
        elements = value if isinstance(value, list) else []
        item = self.schemas.sample(schema.get("items", {}), "x")
        yield make([*elements, None], "null element")
        yield make([*elements, item], "one more")
        yield make([*elements, item, item], "twice the same")
        if elements:
            yield make([*elements, copy.deepcopy(elements[0])], "first again")
            if len(elements) > 1:
                yield make(elements[::-1], "reversed")
        yield make([item] * self.random.choice((9, 17, 33, 65, 101, 257)), "many")
        yield make([*elements, 5 if isinstance(item, (str, dict)) else "x"], "element of another type")

    def objects(self, make, schema, value):
        members = value if isinstance(value, dict) else {}
        yield make({}, "empty")
        if "properties" in schema:
            yield make({**members, "unknownField": 1}, "unknown field")
            return
        for name in self.random.sample(["", "bad key!", "a/b/c", "a" * 64, "a" * 254 + "/b", "Upper", "kubernetes.io/x", "-a", "é", "cpu",
                                        "hugepages-2Mi", "a/", "/b", "example.com/gpu", "app.kubernetes.io/name"], 5):
            sample = self.schemas.sample(schema.get("additionalProperties") or {}, "x") if schema.get("additionalProperties") else "x"
            yield make({**members, name: sample}, "key")
        yield make({**members, "k": None}, "null member")
        yield make({**members, "k": 5}, "number member")
        yield make({**members, "k": "a b"}, "text member")


def renamed(thing, path, value):
    parent = thing
    for part in path[:-1]:
        parent = parent[part]
    name = path[-1]
    other = name[0].upper() + name[1:] if name[:1].islower() else name.lower()
    yield Mutation(((path[:-1], {(other if key == name else key): member for key, member in parent.items()}),), f"{name} in another case")
    yield Mutation(((path[:-1], {**parent, TWICE + name: value}),), f"{name} twice")
