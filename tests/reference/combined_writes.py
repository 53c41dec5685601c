# SPDX-License-Identifier: Apache-2.0

"""Writes to a stored object with many fields: updates, patches of every type with directives, applies of three managers, the same of its
subresources, in any of the versions that its kind has. Each is a dry run first; what both accept is mostly done then, so that the next
write meets it."""

import copy
import json

import answers
from generated import APPLY, JSON_PATCH, MERGE, STRATEGIC, UID, VERSION, Request, path_with
from mutations import dump
from upgrades import ThreeWay

STEPS = 8  # of each stored object
BROKEN = 0.3  # of the patches
KEPT = 0.7  # of the fields that an apply has
MANAGERS = ("a", "b", "c")
METADATA = ("labels", "annotations", "finalizers", "ownerReferences")  # that updates keep
CHOSEN = ("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort")  # by each server on its own
CONNECTED = ("exec", "attach", "portforward", "proxy", "log")
LONG_AGO = "2026-01-01T00:00:00Z"  # for a time at which a server has done something
TOO_MANY = 40  # changes: of a value that was made anew in most places


def pointer(path):
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def places_of(value, path=()):
    """The paths of everything below a value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places_of(value[key], (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def without_chosen(value):
    if isinstance(value, dict):
        return {name: without_chosen(member) for name, member in value.items() if name not in CHOSEN}
    return [without_chosen(element) for element in value] if isinstance(value, list) else value


class Patches:
    """Patches that make one object of another, and faults in them."""

    def __init__(self, chance):
        self.random = chance

    def operations(self, base, changes):
        """A JSON patch of changes to fields."""
        found = []
        for path, new in reversed(changes):
            last = isinstance(path[-1], int) and path[-1] == len(at(base, path[:-1])) - 1 and self.random.random() < 0.5
            known = isinstance(path[-1], int) or path[-1] in at(base, path[:-1])
            if known and self.random.random() < 0.2:
                found.append({"op": "test", "path": pointer(path), "value": at(base, path)})
            if new is None:
                found.append({"op": "remove", "path": pointer(path)})
            elif last:
                found.append({"op": "add", "path": pointer((*path[:-1], "-")), "value": new})
            else:
                found.append({"op": "replace" if known else "add", "path": pointer(path), "value": new})
        places = list(places_of(base))
        if places and self.random.random() < 0.3:
            found.append({"op": self.random.choice(("copy", "move")), "from": pointer(self.random.choice(places)), "path": pointer(self.random.choice(places))})
        return found

    def broken_operations(self, operations):
        one = self.random.choice(operations or [{}])
        one.update(self.random.choice(({"op": "remove"}, {"op": "test"}, {"op": "move", "from": one.get("path", "")}, {"path": one.get("path", "") + "/0"},
                                       {"path": one.get("path", "").rpartition("/")[0]}, {"value": None}, {"path": one.get("path", "") + "/-"}, {"value": []})))
        return operations

    def broken(self, patch, directives):
        """With a fault or a directive at a place that it has."""
        patch = copy.deepcopy(patch)
        path = self.random.choice(list(places_of(patch)) or [()])
        if not path:
            return patch
        above, name = at(patch, path[:-1]), path[-1]
        value = above[name]
        if not directives or self.random.random() < 0.3:
            above[name] = self.random.choice((None, {}, [], "x", 1, [value], {"a": value}))
        elif isinstance(value, dict):
            value.update(self.random.choice(({"$patch": "replace"}, {"$patch": "delete"}, {"$patch": "merge"}, {"$retainKeys": list(value)[:2]})))
        elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
            value.append(self.random.choice(({"$patch": "replace"}, {**(value or [{}])[0], "$patch": "delete"}, {**(value or [{}])[0], "$patch": "replace"})))
        elif isinstance(value, list) and isinstance(above, dict):
            above[self.random.choice(("$deleteFromPrimitiveList/", "$setElementOrder/")) + str(name).rpartition("/")[2]] = self.random.choice((value, value[::-1], []))
        return patch


class Stored:
    """An object that both servers have, and the writes to it."""

    def __init__(self, pair, generator, versions, path, label):
        """`versions`: the resources in whose versions the object can be written; `path`: of it, by a resource."""
        self.pair, self.generator, self.schemas, self.random = pair, generator, generator.schemas, generator.random
        self.versions, self.path, self.label, self.patches = versions, path, label, Patches(generator.random)

    def writes(self):
        """(function that makes the request of a thing, in earnest if its second argument is None; the thing; key)"""
        for _ in range(STEPS):
            resource = self.random.choice(self.versions)
            own = {"": (resource.verbs, resource.group, resource.version, resource.kind)}
            targets = {name: one for name, one in {**own, **resource.subresources}.items() if name not in CONNECTED}
            name = self.random.choice(("", "", "", *(["status"] * 3 if "status" in targets else ()), *targets))
            verbs, group, version, kind = targets[name]
            ways = [way for way, verb in ((self.create, "create" if name else "none"), (self.update, "update"), (self.merge, "patch"), (self.strategic, "patch"),
                                          (self.json_patch, "patch"), (self.apply, "patch"), (self.apply, "patch")) if verb in verbs]
            base = self.read(resource, name, "get" in verbs) if ways else None
            schema = self.schemas.kinds.get((group, version, kind))
            if base is None or schema is None:
                continue
            base = {**base, "apiVersion": "/".join(filter(None, (group, version))), "kind": kind}
            made = self.random.choice(ways)(base, self.changes(schema, base, name), schema)
            yield *self.request(made, self.path(resource) + (f"/{name}" if name else "")), "/".join(filter(None, (resource.key(), name)))

    def request(self, made, path):
        method, media, thing, body_of = made
        query = {"fieldManager": self.random.choice(MANAGERS), "fieldValidation": self.random.choice(("Strict", None, None))}
        if media == APPLY:
            query["force"] = self.random.choice(("true", "true", None))

        def make(thing, dry="All"):
            return Request(method, path_with(path, dryRun=dry, **query), dump(body_of(thing)), {"Content-Type": media},
                           self.label)

        return make, thing

    def read(self, resource, subresource, readable):
        """What the reference shows; the versions of both are those that the request names."""
        request = Request("GET", self.path(resource) + (f"/{subresource}" if subresource and readable else ""), label=self.label)
        (_, shown, _), = self.pair.compare([request], resource.key())
        bodies = [json.loads(one.text) for one in shown]
        if any(one.code != 200 for one in shown):
            return None
        self.pair.versions, self.pair.uids = ([body["metadata"].get(field, "") for body in bodies] for field in ("resourceVersion", "uid"))
        kept = bodies[0] if readable else {"metadata": bodies[0]["metadata"]}
        metadata = {"name": kept["metadata"]["name"], **{field: kept["metadata"][field] for field in METADATA if field in kept["metadata"]}}
        text = json.dumps({**without_chosen(kept), "metadata": metadata}).replace(self.pair.uids[0] or UID, UID)
        return json.loads(answers.TIME.sub(lambda match: match[0] if "." in match[0] else LONG_AGO, text))

    def changes(self, schema, base, subresource):
        """Of fields of the object and, now and then, of its metadata; of a status mostly of this."""
        found = []
        fields = self.schemas.resolve(schema)["properties"]
        for name, inner in fields.items():
            if name == "metadata":
                below = {"properties": {field: self.schemas.resolve(inner)["properties"][field] for field in METADATA}}
                found += [] if self.random.random() < 0.7 else self.generator.changes(below, base["metadata"], (name,))
            elif name in ("apiVersion", "kind") or (subresource == "status") != (name == "status") and self.random.random() < 0.8:
                continue
            elif name in base and self.random.random() < (0.6 if name == "status" else 0.95):
                found += self.generator.changes(inner, base[name], (name,))
            elif name not in base and self.random.random() > 0.6 or name == "status":
                found.append(((name,), self.generator.value(inner, name, 1)))
        return found[:TOO_MANY]

    # --- each: (method, media type, the thing that is made smaller, the body of such a thing) ----------

    def create(self, base, changes, _):
        return "POST", "application/json", changes, lambda some: with_changes(base, some)

    def update(self, base, changes, _):
        version = {"resourceVersion": VERSION} if self.random.random() < 0.8 else {}
        return "PUT", "application/json", changes, lambda some: with_changes({**base, "metadata": {**base["metadata"], **version}}, some)

    def difference(self, base, changes, media, schema):
        patch = ThreeWay(self.schemas if schema else None).maps(base, with_changes(base, changes), base, schema)
        if self.random.random() < BROKEN:
            patch = self.patches.broken(patch, schema)
        return "PATCH", media, patch, lambda some: some

    def merge(self, base, changes, _):
        return self.difference(base, changes, MERGE, None)

    def strategic(self, base, changes, schema):
        return self.difference(base, changes, STRATEGIC, schema)

    def json_patch(self, base, changes, _):
        operations = self.patches.operations(base, changes)
        if self.random.random() < BROKEN:
            operations = self.patches.broken_operations(operations)
        return "PATCH", JSON_PATCH, operations, lambda some: some

    def apply(self, base, changes, schema):
        return "PATCH", APPLY, {**self.part(with_changes(base, changes), schema, base), "metadata": base["metadata"]}, lambda some: some

    def part(self, value, schema, base=()):
        """Some fields of a value, with the keys of its elements."""
        schema = self.schemas.resolve(schema)
        if isinstance(value, list):
            items = schema.get("items", {})
            return [self.part(one, items, schema.get("x-kubernetes-list-map-keys", ())) for one in value if self.random.random() < 0.8]
        if not isinstance(value, dict):
            return value
        kept = {"apiVersion", "kind", *base} if "metadata" in value else set(base)
        inner = lambda name: schema.get("properties", {}).get(name) or schema.get("additionalProperties") or {}
        return {name: self.part(member, inner(name)) for name, member in value.items() if name in kept or self.random.random() < KEPT}


def with_changes(value, changes):
    """With fields replaced and, for None, removed."""
    value = copy.deepcopy(value)
    for path, new in reversed(changes):  # later elements of a list go first
        inner = at(value, path[:-1])
        if new is not None:
            inner[path[-1]] = new
        elif isinstance(inner, list) or path[-1] in inner:
            del inner[path[-1]]
    return value
