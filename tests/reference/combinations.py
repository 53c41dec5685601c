# SPDX-License-Identifier: Apache-2.0

"""Compares objects of built-in kinds that have many fields at once: any of those that OpenAPI knows, with values by their names
(combinations.yaml). What is said of two fields together shows so. Each is a create as a dry run; what both accept is stored, and written to
(combined_writes.py). A request that differs is made as small as it can be."""

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
from combined_writes import Stored, at, places_of
from comparing import Pair, Tally
from generated import MERGE, NOT_COMPARED, Request, good_objects, path_with
from mutations import Schemas, dump

VALUES = yaml.safe_load((pathlib.Path(__file__).parent / "combinations.yaml").read_text())
NAMESPACE = "combinations"
TASK = 50  # objects of one task
DONE = 0.6  # of the writes that both accept
CACHED = 2  # seconds for which kube-apiserver may still go by what is gone
SHARES = (0.05, 0.1, 0.2, 0.35)  # of the fields that an object has
OFTEN = {"pods": 8, "jobs": 4, "deployments": 2}  # as often as so many others
MOSTLY = ("containers", "template", "spec", "selector")  # nothing is judged without these
DEPTH = 9  # of fields: schemas of custom resources have schemas in them
CHANGED = 0.15  # of the fields that an update changes
# They change what other requests meet: each has the servers for itself.
ALONE = ("services", "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies",
         "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "limitranges", "priorityclasses",
         "runtimeclasses", "storageclasses", "ingressclasses", "servicecidrs", "resourcequotas")
# kube-apiserver writes their statuses when it comes to it.
NOT_STORED = ("customresourcedefinitions", "apiservices", "flowschemas", "prioritylevelconfigurations")
LEFT_OUT = ("apiVersion", "kind", "metadata", "status")  # of the object itself


@dataclasses.dataclass
class World:
    pair: Pair = None
    schemas: Schemas = None
    resources: list = None
    good: dict = None
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

    def time(self, schema, *_):
        return "2026-01-01T00:00:00.000000Z" if schema.get("x-name", "").endswith(".MicroTime") else "2026-01-01T00:00:00Z"

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


def object_of(schemas, resource, chance):
    made = Generator(schemas, chance).value(schemas.kinds[resource.group, resource.version, resource.kind])
    if resource.name == "pods" and isinstance(made.get("spec"), dict):
        made["spec"]["automountServiceAccountToken"] = False  # else it gets volumes, which are the downstream's
    metadata = {"name": "as.example.com" if resource.name == "customresourcedefinitions" else "n1"}
    for field in ("labels", "annotations"):
        if chance.random() < 0.2:
            metadata[field] = {"a": "b"}
    return {"apiVersion": "/".join(filter(None, (resource.group, resource.version))), "kind": resource.kind, "metadata": metadata, **made}


def create(resource, label):
    return lambda thing: Request("POST", path_with(resource.path(NAMESPACE), dryRun="All"), dump(thing), label=label)


def without_each(value):
    """Copies of a value that lack one member or element each, the largest parts first."""
    whole = isinstance(value, list)  # changes and operations
    places = [place for place in places_of(value) if len(place) == 1 or not whole]
    for path in sorted(places, key=lambda path: -len(json.dumps(at(value, path)))):
        if len(path) > 1 or path[0] not in LEFT_OUT[:3]:
            smaller = copy.deepcopy(value)
            del at(smaller, path[:-1])[path[-1]]
            yield smaller


def shrink(pair, make, thing, shape):
    """The smallest request found whose answers differ in the same way stands for the shape."""
    for _ in range(60):
        for smaller in without_each(thing):
            request = make(smaller)
            a, b = (answers.comparable(one, request) for one in pair.do(request))
            if not answers.same(a, b) and answers.shape(a, b) == shape:
                thing = smaller
                break
        else:
            break
    request = make(thing)
    pair.tally.shapes[shape][2] = [(request, *(answers.comparable(one, request) for one in pair.do(request)))]


def compare(pair, make, thing, key):
    """Whether both accept the request."""
    known = set(pair.tally.shapes)
    (_, (answer, _), same), = pair.compare([make(thing)], key)
    for shape in set(pair.tally.shapes) - known:
        shrink(pair, make, thing, shape)
    return same and answer.code < 300


def run_writes(pair, writes, chance):
    """Whether both have the same in the end."""
    for make, body, key in writes:
        if compare(pair, make, body, key) and chance.random() < DONE and not all(same for _, _, same in pair.compare([make(body, None)], key)):
            return False
    return True


def store_and_write(pair, resource, thing, chance, label):
    stored = pair.do(Request("POST", resource.path(NAMESPACE), dump(thing)))
    versions = [one for one in WORLD.resources if (one.kind, one.name) == (resource.kind, resource.name)]
    path = lambda one: f"{one.path(NAMESPACE)}/{thing['metadata']['name']}"
    if all(one.code == 201 for one in stored):
        run_writes(pair, Stored(pair, Generator(WORLD.schemas, chance), versions, path, label).writes(), chance)
    pair.do(Request("DELETE", path(resource), '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'))
    pair.do(Request("PATCH", path(resource), '{"metadata":{"finalizers":null}}', {"Content-Type": MERGE}))


def run_task(numbers, kind):
    """`kind`: the resource that has the servers for itself."""
    pair = WORLD.pair
    pair.tally = Tally()
    for number in numbers:
        chance = random.Random(f"{WORLD.seed}/{kind}{number}")
        among = [one for one in WORLD.resources if kind in ("", one.name)]
        resource = chance.choices(among, [OFTEN.get(one.name, 1) for one in among])[0]
        thing = object_of(WORLD.schemas, resource, chance)
        accepted = compare(pair, create(resource, f"{kind}{number}"), thing, resource.key())
        if "update" not in resource.verbs or resource.name in (NOT_STORED if kind else NOT_STORED + ALONE):
            continue
        if not accepted and (resource.group, resource.kind) in WORLD.good:
            thing = {**chance.choice(WORLD.good[resource.group, resource.kind]), "apiVersion": thing["apiVersion"]}
        thing["metadata"] = {**thing["metadata"], "name": f"n{number}", "namespace": None}
        store_and_write(pair, resource, thing, chance, f"writes of {kind}{number}")
    if kind:
        time.sleep(CACHED)
    return f"{kind}{numbers}", pair.tally.plain()


def initialize(addresses, arguments, discover):
    pair = Pair(*addresses, arguments.token)
    schemas = Schemas(json.loads(pair.do(Request("GET", "/openapi/v2"))[0].text))
    chosen = arguments.kinds.split(",") if arguments.kinds else None
    WORLD.pair, WORLD.schemas, WORLD.good, WORLD.seed = pair, schemas, good_objects(arguments.objects), arguments.seed
    WORLD.resources = [resource for resource in discover(pair)
                       if "create" in resource.verbs and resource.name not in NOT_COMPARED and (resource.group, resource.version, resource.kind) in schemas.kinds
                       and (not chosen or resource.name in chosen)]


def run(addresses, arguments, discover):
    pair = Pair(*addresses, arguments.token)
    pair.do(Request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": NAMESPACE}})))
    pair.do(Request("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", '{"metadata":{"name":"default"}}'))
    number, tally, begun = arguments.combinations, Tally(), time.monotonic()
    together = [(range(start, min(start + TASK, number)), "") for start in range(0, number, TASK)]
    alone = [(range(max(1, number // (TASK * 4))), kind) for kind in ALONE if not arguments.kinds or kind in arguments.kinds.split(",")]
    for workers, tasks in ((arguments.workers, together), (1, alone)):
        with concurrent.futures.ProcessPoolExecutor(workers, initializer=initialize, initargs=(addresses, arguments, discover),
                                                    mp_context=multiprocessing.get_context("fork")) as pool:
            for done in concurrent.futures.as_completed([pool.submit(run_task, *task) for task in tasks]):
                name, one = done.result()
                tally.take(one)
                print(f"{time.monotonic() - begun:6.1f} s  {tally.asked:7}  {sum(e[0] for e in one.shapes.values()):5} differ of {one.asked}: {name}",
                      file=sys.stderr, flush=True)
    return tally
