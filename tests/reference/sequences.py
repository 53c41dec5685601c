# SPDX-License-Identifier: Apache-2.0

"""Sequences of real writes: a few objects of one kind are created, applied by several managers, patched, updated, deleted
(with finalizers, grace periods, preconditions, by selectors) and listed; at the end, watches of several forms tell
everything that has happened. Compared are each answer and the events of each watch."""

import concurrent.futures
import copy
import json
import multiprocessing
import sys
import time

import answers
from comparing import Pair, Tally
from connection import Connection
from generated import APPLY, JSON_PATCH, MERGE, STRATEGIC, VERSION, Request, path_with
from mutations import dump

# What kube-apiserver writes by itself at its own time, and what lives in no collection of its own.
UNSTEADY = ("apiservices", "customresourcedefinitions", "flowschemas", "prioritylevelconfigurations", "events", "namespaces")
MANAGERS = ("m1", "m2", "m3")
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
PARTIAL_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
DELETE_OPTIONS = ({}, {}, {"gracePeriodSeconds": 0}, {"gracePeriodSeconds": 5}, {"propagationPolicy": "Foreground"}, {"propagationPolicy": "Orphan"},
                  {"propagationPolicy": "Background", "gracePeriodSeconds": 1}, {"orphanDependents": True}, {"orphanDependents": False},
                  {"preconditions": {"uid": "x"}}, {"preconditions": {"resourceVersion": VERSION}}, {"preconditions": {"resourceVersion": "1"}},
                  {"dryRun": ["All"]})
METADATA = ({"labels": {"w": "1"}}, {"labels": {"w": "2"}}, {"labels": {"w": None}}, {"labels": None}, {"annotations": {"example.com/a": "1"}},
            {"annotations": None}, {"finalizers": ["example.com/x"]}, {"finalizers": ["example.com/x", "example.com/y"]}, {"finalizers": None},
            {"finalizers": ["foregroundDeletion"]}, {"finalizers": ["orphan"]}, {"ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "00000000-0000-0000-0000-000000000001", "blockOwnerDeletion": True}]},
            {"ownerReferences": None}, {"deletionTimestamp": None}, {"deletionGracePeriodSeconds": 3}, {"generation": 7}, {"uid": "x"}, {})
LISTS = ("", "?labelSelector=w%3D1", "?labelSelector=w!%3D1", "?labelSelector=w", "?fieldSelector=metadata.name%3Dnone", "?limit=1", "?resourceVersion=0")
WATCHES = (("", {}), ("&labelSelector=w%3D1", {}), ("&labelSelector=!w", {}), ("", TABLE), ("", PARTIAL), ("&labelSelector=w%20in%20(1,2)", PARTIAL))
INITIAL = ("watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "watch=true&timeoutSeconds=1",
           "watch=true&timeoutSeconds=1&resourceVersion=0")


class Stream(Connection):
    """A connection that reads a watch until the server ends it."""

    def read_chunks(self, code):
        body = b""
        while size := int(self.line().split(";")[0], 16):
            body += self.take(size)
            self.line()
        self.line()
        return body, True


def events_of(text):
    """A list of the events, without the bookmarks that come at the server's own time."""
    if not text.startswith('{"type":'):
        return text
    return "[" + ",\n".join(line for line in text.splitlines() if '"type":"BOOKMARK"' not in line or "initial-events-end" in line) + "]"


def events_of_watches(pair, dice, collection, key, begun):
    """Compares what watches of several forms return of all that has happened since the versions `begun` of both."""
    asked = [(f"watch=true&timeoutSeconds=1&resourceVersion={VERSION}" + query, headers) for query, headers in dice.sample(WATCHES, 2)]
    asked.append((dice.choice(INITIAL), dice.choice(({}, TABLE, PARTIAL))))
    requests = [Request("GET", f"{collection}?{query}", None, headers, "watch") for query, headers in asked]
    sent = [[(method, path.replace(VERSION, version), body, headers) for method, path, body, headers in (r.filled("", "") for r in requests)] for version in begun]
    urls = [connection.place.geturl() for connection in pair.connections]
    streams = [[Stream(url, pair.connections[0].token) for _ in requests] for url in urls]
    for side, these in zip(streams, sent):
        for stream, one in zip(side, these):
            stream.send([one])
    got = [[stream.receive([one])[0] for stream, one in zip(side, these)] for side, these in zip(streams, sent)]
    for request, a, b in zip(requests, *got):
        both = [answers.answer(code, events_of(text), fields) for code, text, fields in (a, b)]
        pair.judge(request, both, f"{key} watch", again=False)


class Sequence:
    def __init__(self, pair, unit, accepted):
        self.pair, self.unit, self.random, self.accepted = pair, unit, unit.random, accepted
        resource = unit.resource
        self.key = resource.key()
        self.collection = unit.collection()
        self.names = [unit.name, unit.name + "-b", unit.name + "-c"]
        self.versions = {name: ["", ""] for name in self.names}

    # --- bodies --------------------------------------------------------------------------------------

    def pruned(self, value, depth=0):
        """Without some of its fields and elements."""
        if isinstance(value, dict):
            return {name: self.pruned(member, depth + 1) for name, member in value.items()
                    if depth == 0 or name in ("name", "metadata") or self.random.random() > 0.15}
        if isinstance(value, list):
            kept = [self.pruned(element, depth + 1) for element in value if self.random.random() > 0.2]
            return kept[::-1] if self.random.random() < 0.15 else kept
        return value

    def body(self, name):
        body = copy.deepcopy(self.random.choice(self.accepted)) if self.accepted and self.random.random() < 0.7 else copy.deepcopy(self.unit.thing)
        if self.random.random() < 0.5:
            body = self.pruned(body)
        metadata = body["metadata"] if isinstance(body.get("metadata"), dict) else {}
        body["metadata"] = {**metadata, "name": name, **{k: v for k, v in self.random.choice(METADATA).items() if v is not None}}
        return body

    # --- steps ---------------------------------------------------------------------------------------

    def request(self, name):
        random, item = self.random, f"{self.collection}/{name}"
        manager, dice = random.choice(MANAGERS), random.random()
        dry = "All" if random.random() < 0.1 else None
        builtin = self.unit.resource.builtin

        def write(method, body, media, label, under="", **query):
            return Request(method, path_with(item + under, fieldManager=manager, dryRun=dry, **query), dump(body), {"Content-Type": media}, label)

        if dice < 0.2:
            return Request("POST", path_with(self.collection, fieldManager=manager, dryRun=dry), dump(self.body(name)), {}, "create")
        if dice < 0.45:
            return write("PATCH", self.body(name), APPLY, "apply", force=random.choice(("true", "false", None)))
        if dice < 0.6:
            body = self.body(name)
            version = random.choice((VERSION, VERSION, VERSION, None, "1"))
            if version:
                body["metadata"]["resourceVersion"] = version
            if random.random() < 0.1:
                body["metadata"]["managedFields"] = random.choice(([], [{}], None))
            return write("PUT", body, "application/json", "update")
        if dice < 0.7:
            return write("PATCH", {"metadata": random.choice(METADATA)}, random.choice((MERGE, STRATEGIC) if builtin else (MERGE,)), "metadata")
        if dice < 0.75:
            body = self.body(name)
            media = random.choice((MERGE, STRATEGIC) if builtin else (MERGE,))
            return write("PATCH", self.unit.difference(body, self.unit.thing, media == STRATEGIC), media, "patch")
        if dice < 0.79:
            operations = [random.choice(({"op": "add", "path": "/metadata/labels", "value": {"w": "1"}}, {"op": "remove", "path": "/metadata/labels"},
                                         {"op": "replace", "path": "/metadata/finalizers", "value": []}, {"op": "remove", "path": "/metadata/finalizers/0"},
                                         {"op": "remove", "path": "/metadata/managedFields"}, {"op": "test", "path": "/metadata/resourceVersion", "value": VERSION}))]
            return write("PATCH", operations, JSON_PATCH, "JSON patch")
        if dice < 0.84 and "status" in self.unit.resource.subresources:
            body = self.body(name)
            body["status"] = (random.choice(self.unit.statuses).apply(self.unit.thing) or {}).get("status") if self.unit.statuses else {}
            media = random.choice((MERGE, APPLY, "application/json"))
            return write("PUT" if media == "application/json" else "PATCH", body, media, "status", "/status", force="true" if media == APPLY else None)
        if dice < 0.94:
            options = {"kind": "DeleteOptions", "apiVersion": "v1", **random.choice(DELETE_OPTIONS)}
            if random.random() < 0.12 and "deletecollection" in self.unit.resource.verbs:
                options.pop("preconditions", None)
                return Request("DELETE", self.collection + random.choice(LISTS[1:4]), json.dumps(options), {}, "deletecollection")
            return Request("DELETE", item, json.dumps(options), {}, "delete")
        if dice < 0.97:
            return Request("GET", item, None, random.choice(({}, TABLE, PARTIAL)), "get")
        return Request("GET", self.collection + random.choice(LISTS), None, random.choice(({}, TABLE, PARTIAL_LIST)), "list")

    def step(self):
        name = self.random.choice(self.names)
        self.pair.versions = self.versions[name]
        request = self.request(name)
        _, both, same = next(self.pair.compare([request], f"{self.key} {request.label}"))
        if request.method != "GET" and all(answer.code < 300 for answer in both):
            documents = [json.loads(answer.text) for answer in both]
            versions = [(document.get("metadata") or {}).get("resourceVersion", "") for document in documents]
            if documents[0].get("kind") == self.unit.resource.kind and all(versions):
                written = [new != old for new, old in zip(versions, self.versions[name])]
                if same and all(self.versions[name]) and written[0] != written[1]:
                    self.pair.tally.add(f"{self.key} {request.label}", ("only one of both has stored it anew",), request, *both)
                self.versions[name] = versions
        return same

    def clear_away(self):
        for name in self.names:
            for request in (Request("PATCH", f"{self.collection}/{name}", '{"metadata":{"finalizers":null}}', {"Content-Type": MERGE}),
                            Request("DELETE", f"{self.collection}/{name}", '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'),
                            Request("PATCH", f"{self.collection}/{name}", '{"metadata":{"finalizers":null}}', {"Content-Type": MERGE})):
                self.pair.do(request)

    def begin(self):
        """The versions of both servers, or None."""
        both = self.pair.do(Request("GET", self.collection + "?limit=1"))
        return [json.loads(answer.text)["metadata"]["resourceVersion"] for answer in both] if all(a.code == 200 for a in both) else None

    def run(self, steps):
        begun = self.begin()
        for _ in range(steps):
            if not self.step():
                break  # everything after it would differ
        if begun and "watch" in self.unit.resource.verbs:
            events_of_watches(self.pair, self.random, self.collection, self.key, begun)
        self.clear_away()

# --- all kinds ------------------------------------------------------------------------------------------

WORLD = None


class Worker:
    def __init__(self, addresses, arguments, units_of):
        self.arguments = arguments
        self.pair = Pair(*addresses, arguments.token)
        self.tasks = tasks_of(units_of(self.pair, arguments))


def tasks_of(makers):
    """Lists of units: those of one cluster-scoped resource follow one another, since each sees the objects of the others."""
    tasks = {}
    for number, make in enumerate(makers):
        unit = make(number)
        if unit.resource.name not in UNSTEADY and {"create", "delete", "update"} <= set(unit.resource.verbs):
            tasks.setdefault(number if unit.namespace else (unit.resource.group, unit.resource.name), []).append(unit)
    return list(tasks.values())


def initialize(*known):
    global WORLD
    WORLD = Worker(*known)


def run_task(index, steps):
    pair = WORLD.pair
    pair.tally = Tally()
    for unit in WORLD.tasks[index]:
        run_unit(pair, unit, pair.tally.asked + steps)
    return index, pair.tally.plain()


def run_unit(pair, unit, until):
    if unit.namespace:
        unit.namespace = f"sequence-{unit.number}"
        pair.do(Request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": unit.namespace}})))
        pair.do(Request("POST", f"/api/v1/namespaces/{unit.namespace}/serviceaccounts", '{"metadata":{"name":"default"}}'))
    accepted = []
    for request in unit.creates(120):
        both = pair.do(request)
        if all(answer.code == 201 for answer in both) and "twice" not in request.label:
            accepted.append(json.loads(request.body))
    unit.statuses = unit.chosen(100, under=("status",)) if "status" in unit.resource.subresources else []
    while pair.tally.asked < until:
        Sequence(pair, unit, accepted).run(30)


def run(addresses, arguments, units_of):
    tasks = tasks_of(units_of(Pair(*addresses, arguments.token), arguments))
    steps = arguments.sequences / max(1, sum(len(task) for task in tasks))
    tally, begun = Tally(), time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(arguments.workers, initializer=initialize, initargs=(addresses, arguments, units_of),
                                                mp_context=multiprocessing.get_context("fork")) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_task, index, steps) for index in range(len(tasks))]):
            index, one = done.result()
            tally.take(one)
            print(f"{time.monotonic() - begun:6.1f} s  {tally.asked:7}  {sum(e[0] for e in one.shapes.values()):5} differ of {one.asked}: {index}",
                  file=sys.stderr, flush=True)
    return tally
