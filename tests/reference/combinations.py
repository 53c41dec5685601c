# SPDX-License-Identifier: Apache-2.0

"""Compares objects of built-in kinds that have many fields at once: any of those that OpenAPI knows, with values by their names
(combinations.yaml). What is said of two fields together shows so. Each is a create as a dry run; one that differs is made as small as it can be.
What both accept is stored now and then, and updated with some of its fields changed."""

import concurrent.futures
import copy
import dataclasses
import json
import multiprocessing
import pathlib
import random
import sys
import time

import yaml

import answers
from comparing import Pair, Tally
from generated import MERGE, NOT_COMPARED, VERSION, Request, path_with
from mutations import Schemas

VALUES = yaml.safe_load((pathlib.Path(__file__).parent / "combinations.yaml").read_text())
NAMESPACE = "combinations"
TASK = 100  # objects of one task
SHARES = (0.05, 0.1, 0.2, 0.35)  # of the fields that an object has
MOSTLY = ("containers", "template", "spec", "selector")  # nothing is judged without these
DEPTH = 9  # of fields: schemas of custom resources have schemas in them
CHANGED = 0.15  # of the fields that an update changes
UPDATES = 4  # of each stored object
# They would change what other requests meet.
NOT_STORED = ("namespaces", "nodes", "customresourcedefinitions", "apiservices", "validatingwebhookconfigurations", "mutatingwebhookconfigurations",
              "validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
              "resourcequotas", "limitranges", "priorityclasses", "runtimeclasses", "storageclasses", "ingressclasses", "servicecidrs", "services",
              "flowschemas", "prioritylevelconfigurations", "clusterroles", "roles")
LEFT_OUT = ("apiVersion", "kind", "metadata", "status")  # of the object itself


@dataclasses.dataclass
class World:
    pair: Pair = None
    schemas: Schemas = None
    resources: list = None
    seed: int = 0


WORLD = World()


class Generator:
    """Values for a schema of OpenAPI."""

    def __init__(self, schemas, chance):
        self.schemas, self.random, self.share = schemas, chance, chance.choice(SHARES)

    def value(self, schema, name="", depth=0):
        schema = self.schemas.resolve(schema)
        return getattr(self, self.schemas.type_of(schema).replace("-", "_"), self.anything)(schema, name, depth)

    def object(self, schema, name, depth):
        if "properties" not in schema and "additionalProperties" not in schema:
            return self.anything()
        if "properties" not in schema:
            return {self.random.choice(VALUES["keys"]): self.value(schema["additionalProperties"], name, depth + 1) for _ in range(self.random.choice((0, 1, 1, 2)))}
        required, out = schema.get("required", ()), {}
        for field, inner in schema["properties"].items():
            share = 0.97 if field in MOSTLY else 0.93 if field in required else self.share
            if depth < DEPTH and not (depth == 0 and field in LEFT_OUT) and self.random.random() < share:
                out[field] = self.value(inner, field, depth + 1)
        return out

    def array(self, schema, name, depth):
        return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(self.random.choice((0, 1, 1, 1, 2)))]

    def string(self, schema, name, _):
        known = schema.get("enum")
        return self.random.choice(known if known and self.random.random() < 0.9 else VALUES["fields"].get(name) or VALUES["texts"])

    def integer(self, *_):
        return self.random.choice(VALUES["numbers"])

    def number(self, *_):
        return self.random.choice((0, 1, 1.5))

    def boolean(self, *_):
        return self.random.random() < 0.5

    def quantity(self, *_):
        return self.random.choice(VALUES["quantities"])

    def int_or_string(self, *_):
        return self.random.choice(VALUES["numbersOrTexts"])

    def time(self, *_):
        return "2026-01-01T00:00:00Z"

    def bytes(self, *_):
        return "YQ=="

    def anything(self, *_):
        return {"a": 1}


    def changes(self, schema, value, path=()):
        """(place, new value or None for none) of some fields below a value."""
        schema = self.schemas.resolve(schema)
        if isinstance(value, list):
            inner = [(schema.get("items", {}), index) for index in range(len(value))]
        elif isinstance(value, dict) and "properties" in schema:
            inner = [(inner, field) for field, inner in schema["properties"].items() if path or field not in LEFT_OUT]
        else:
            return
        for below, key in inner:
            known = isinstance(value, list) or key in value
            if self.random.random() < (CHANGED if known else CHANGED / 10):
                remove = known and self.random.random() < 0.3
                yield (*path, key), None if remove else self.value(below, key if isinstance(key, str) else path[-1], len(path) + 1)
            elif known:
                yield from self.changes(below, value[key], (*path, key))


def with_changes(value, changes):
    value = copy.deepcopy(value)
    for path, new in reversed(changes):  # later elements of a list go first
        inner = value
        for key in path[:-1]:
            inner = inner[key]
        if new is None:
            del inner[path[-1]]
        else:
            inner[path[-1]] = new
    return value


def object_of(schemas, resource, chance):
    made = Generator(schemas, chance).value(schemas.kinds[resource.group, resource.version, resource.kind])
    if resource.name == "pods" and isinstance(made.get("spec"), dict):
        made["spec"]["automountServiceAccountToken"] = False  # else it gets volumes, which are the downstream's
    metadata = {"name": "as.example.com" if resource.name == "customresourcedefinitions" else "n1"}
    for field in ("labels", "annotations"):
        if chance.random() < 0.2:
            metadata[field] = {"a": "b"}
    return {"apiVersion": "/".join(filter(None, (resource.group, resource.version))), "kind": resource.kind, "metadata": metadata, **made}


def create(resource, thing, label):
    return Request("POST", path_with(resource.path(NAMESPACE), dryRun="All"), json.dumps(thing), label=label)


def without_each(value):
    """Copies of a value that lack one member or element each, the largest parts first."""
    places = []

    def walk(inner, path):
        for key in (list(inner) if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()):
            if path or key not in LEFT_OUT[:3]:
                places.append((len(json.dumps(inner[key])), [*path, key]))
            walk(inner[key], [*path, key])

    walk(value, [])
    for _, path in sorted(places, key=lambda place: -place[0]):
        smaller = copy.deepcopy(value)
        inner = smaller
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        yield smaller


def shrink(pair, resource, thing, shape, label):
    """The smallest request found whose answers differ in the same way."""
    for _ in range(60):
        for smaller in without_each(thing):
            request = create(resource, smaller, label)
            a, b = (answers.comparable(one, request) for one in pair.do(request))
            if not answers.same(a, b) and answers.shape(a, b) == shape:
                thing = smaller
                break
        else:
            break
    return create(resource, thing, label)


def shown(pair, tally, shape, request):
    """The request stands for the shape."""
    tally.shapes[shape][2] = [(request, *(answers.comparable(one, request) for one in pair.do(request)))]


def run_updates(pair, tally, resource, thing, chance, label):
    """Stores the object and compares updates of it."""
    stored = pair.do(Request("POST", resource.path(NAMESPACE), json.dumps(thing)))
    bodies = [json.loads(one.text) for one in stored]
    item = f"{resource.path(NAMESPACE)}/{thing['metadata']['name']}"
    if all(one.code == 201 and "metadata" in body for one, body in zip(stored, bodies)):
        pair.versions = [body["metadata"].get("resourceVersion", "") for body in bodies]
        base = {**bodies[0], "metadata": {**thing["metadata"], "resourceVersion": VERSION}}
        generator = Generator(WORLD.schemas, chance)
        schema = WORLD.schemas.kinds[resource.group, resource.version, resource.kind]

        def update(changes):
            return Request("PUT", path_with(item, dryRun="All"), json.dumps(with_changes(base, changes)), label=label)

        for _ in range(UPDATES):
            changes, known = list(generator.changes(schema, base)), set(tally.shapes)
            pair.compare_all([update(changes)], resource.key())
            for shape in set(tally.shapes) - known:
                for change in list(changes):
                    request = update([one for one in changes if one is not change])
                    a, b = (answers.comparable(one, request) for one in pair.do(request))
                    if not answers.same(a, b) and answers.shape(a, b) == shape:
                        changes.remove(change)
                shown(pair, tally, shape, update(changes))
    pair.do(Request("DELETE", item, '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'))
    pair.do(Request("PATCH", item, '{"metadata":{"finalizers":null}}', {"Content-Type": MERGE}))


def run_task(task):
    pair, tally = WORLD.pair, Tally()
    pair.tally = tally
    for number in range(task * TASK, task * TASK + TASK):
        chance = random.Random(f"{WORLD.seed}/{number}")
        resource = chance.choice(WORLD.resources)
        thing = object_of(WORLD.schemas, resource, chance)
        known = set(tally.shapes)
        (_, (answer, _), _), = pair.compare([create(resource, thing, str(number))], resource.key())
        for shape in set(tally.shapes) - known:
            request = shrink(pair, resource, thing, shape, str(number))
            shown(pair, tally, shape, request)
        if "update" in resource.verbs and resource.name not in NOT_STORED and answer.code == 201:
            thing["metadata"]["name"] = f"n{number}"
            run_updates(pair, tally, resource, thing, chance, f"update of {number}")
    return task, tally.plain()


def initialize(addresses, arguments, discover):
    pair = Pair(*addresses, arguments.token)
    schemas = Schemas(json.loads(pair.do(Request("GET", "/openapi/v2"))[0].text))
    chosen = arguments.kinds.split(",") if arguments.kinds else None
    WORLD.pair, WORLD.schemas, WORLD.seed = pair, schemas, arguments.seed
    WORLD.resources = [resource for resource in discover(pair)
                       if "create" in resource.verbs and resource.name not in NOT_COMPARED and (resource.group, resource.version, resource.kind) in schemas.kinds
                       and (not chosen or resource.name in chosen)]


def run(addresses, arguments, discover):
    pair = Pair(*addresses, arguments.token)
    pair.do(Request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": NAMESPACE}})))
    pair.do(Request("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", '{"metadata":{"name":"default"}}'))
    tally, begun = Tally(), time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(arguments.workers, initializer=initialize, initargs=(addresses, arguments, discover),
                                                mp_context=multiprocessing.get_context("fork")) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_task, task) for task in range(max(1, arguments.combinations // TASK))]):
            task, one = done.result()
            tally.take(one)
            print(f"{time.monotonic() - begun:6.1f} s  {tally.asked:7}  {sum(e[0] for e in one.shapes.values()):5} differ of {one.asked}: {task}",
                  file=sys.stderr, flush=True)
    return tally
