# SPDX-License-Identifier: Apache-2.0

"""What selects objects, and the subresources: generated field selectors, label selectors and list options, in any
combination, for lists, watches and deletions of collections of every kind; pages by continue tokens; and each
subresource by every verb and type of patch."""

import base64
import concurrent.futures
import copy
import json
import multiprocessing
import sys
import time
import urllib.parse

from comparing import Pair, Tally
from generated import APPLY, JSON_PATCH, MERGE, STRATEGIC, VERSION, Request, path_with
from mutations import MISSING, dump

# Downstream builds have roles of their own.
NOT_LISTED = ("clusterroles", "clusterrolebindings")
STREAMS = ("exec", "attach", "portforward", "proxy", "log")
# Fields that one kind or another can be selected by, and some that none can.
FIELDS = ("metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
          "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName", "spec.unschedulable", "type", "reason", "source", "reportingComponent",
          "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
          "involvedObject.resourceVersion", "involvedObject.fieldPath", "status.successful", "status.replicas", "spec.signerName", "spec.clusterIP", "spec.type",
          "spec.driver", "parentRef", "spec.podName", "metadata.uid", "metadata.labels", "metadata.labels.a", "spec", "status", "spec.replicas", "name", "",
          "regarding.kind", "reportingController", "metadata.generateName", "Metadata.Name", "metadata.name ", " metadata.name", "spec.stubPKCS10Request")
TEXTS = ("", "x", "a", "1", "true", "false", "True", "a b", "\\,", "a\\=b", "a\\\\b", "\\", "a\\", "a\\x", "a,b", "a=b", "a!b", "é", "a\nb", "*", "%", "a" * 70)
KEYS = ("a", "app", "example.com/a", "a/b/c", "-a", "a-", "_", "A.b_c-d", "/a", "a/", "é", "", "in", "notin", "a" * 64, "example.com/" + "a" * 63, "Example.com/a")
VALUES = ("a", "b", "", "in", "notin", "a.b", "-a", "a-", "_a", "5", "05", "-5", "1.5", "a" * 64, "é", "a/b", '"a"', "a=b", "9999999999999999999")
SPACES = ("", "", "", " ", "  ", "\t")
OPERATORS = ("=", "==", "!=", "=", "===", "!", "!==", "<", ">", "<=", ">>", "=!")
OPTIONS = {
    "limit": ("1", "2", "500", "0", "-1", "x", ""),
    "resourceVersion": ("0", "1", "", "x", "-1", "00", "(version)", "1.5", "18446744073709551616"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "", "x", "exact"),
    "sendInitialEvents": ("true", "false", "", "x", "1"),
    "allowWatchBookmarks": ("true", "false", "x", ""),
    "timeoutSeconds": ("1", "0", "-1", "x", ""),
    "pretty": ("true", "0", ""),
    "continue": ("x", "", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"),
    "shardSelector": ("", "x"),
}
ACCEPTED = ({}, {}, {}, {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}, {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
            {"Accept": "application/yaml"})
DELETIONS = {"gracePeriodSeconds": (0, 1, -1, None), "propagationPolicy": ("Orphan", "Background", "Foreground", "", "x", None), "orphanDependents": (True, False, None),
             "preconditions": ({}, {"uid": "x"}, {"resourceVersion": "1"}, {"resourceVersion": VERSION}, None), "dryRun": (["x"], ["All", "All"], ["All", "x"]),
             "ignoreStoreReadErrorWithClusterBreakingPotential": (True, False), "unknown": (1,)}


def token(**parts):
    return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


def encoded(query):
    """A query whose values may hold VERSION."""
    return "&".join(f"{name}={urllib.parse.quote(value, safe='()')}" for name, value in query)


def flattened(value, path=""):
    """(path, text) of the scalars of an object."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from flattened(member, f"{path}.{name}" if path else name)
    elif not isinstance(value, list):
        yield path, json.dumps(value) if isinstance(value, bool) else str(value)


class Reads:
    def __init__(self, pair, unit, stored):
        self.pair, self.unit, self.random = pair, unit, unit.random
        self.key = unit.resource.key()
        self.collection = unit.collection()
        self.scalars = [(path, text) for path, text in flattened(stored) if not path.endswith(("uid", "resourceVersion", "Timestamp"))]
        # But for uids, which differ.
        self.labels = [(name, value) for name, value in ((stored.get("metadata") or {}).get("labels") or {}).items() if "uid" not in name]

    # --- selectors -----------------------------------------------------------------------------------

    def field_requirement(self):
        random = self.random
        known = [(path, text) for path, text in self.scalars if path in FIELDS]
        if known and random.random() < 0.4:
            path, text = random.choice(known)
            text = random.choice((text, text, "x", ""))
        elif random.random() < 0.2:
            path, text = random.choice(self.scalars)
        else:
            path, text = random.choice(FIELDS), random.choice(TEXTS)
        return random.choice((path, path, path, path.split(".")[-1])) + random.choice(("=", "=", "==", "!=", "!=", "", "===", ">", " = ", "!")) + text

    def label_requirement(self):
        random = self.random
        space = lambda: random.choice(SPACES)
        if self.labels and random.random() < 0.4:
            key, value = random.choice(self.labels)
        else:
            key, value = random.choice(KEYS), random.choice(VALUES)
        dice = random.random()
        if dice < 0.2:
            return random.choice(("", "!", "! ", "!!")) + key
        if dice < 0.6:
            return space() + key + space() + random.choice(OPERATORS) + space() + value + space()
        values = random.choice((",", ", ", " , ", ",,", " ")).join([value] + random.sample(VALUES, random.randrange(3)))
        left, right = random.choice((("(", ")"), ("(", ")"), ("(", ")"), ("(", ""), ("", ")"), ("((", "))"), ("", ""), ("( ", " )")))
        return key + " " + random.choice(("in", "notin", "In", "not in", "exists", "")) + space() + left + values + right

    def selector(self, requirement):
        found = [requirement() for _ in range(self.random.choice((1, 1, 1, 2, 2, 3)))]
        return self.random.choice((",", ",", ",", ", ", ",,")).join(found) + self.random.choice(("", "", "", "", ",", " "))

    def query(self, own=True):
        random, query = self.random, []
        fields, labels = random.random() < 0.5, random.random() < 0.4
        if fields or not own:
            selector = [self.selector(self.field_requirement)] if fields else []
            query.append(("fieldSelector", ",".join(selector + ([] if own else [f"metadata.namespace={self.unit.namespace}"]))))
        if labels:
            query.append(("labelSelector", self.selector(self.label_requirement)))
        for name in random.sample(sorted(OPTIONS), random.choice((0, 0, 1, 2, 3) if fields or labels else (1, 2, 3, 4))):
            query.append((name, random.choice(OPTIONS[name])))
        return query

    # --- requests ------------------------------------------------------------------------------------

    def collection_requests(self, count):
        resource, random = self.unit.resource, self.random
        for _ in range(count):
            dice = random.random()
            if dice < 0.12 and "deletecollection" in resource.verbs:
                options = {name: random.choice(DELETIONS[name]) for name in random.sample(sorted(DELETIONS), random.randrange(4))}
                body = random.choice((None, dump({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], **options})))
                yield Request("DELETE", f"{self.collection}?dryRun=All&{encoded(self.query())}", body, {}, "deletecollection")
            elif dice < 0.3 and "watch" in resource.verbs:
                query = [("watch", random.choice(("true", "1", "true", "")))] + [(n, v) for n, v in self.query() if n not in ("watch", "timeoutSeconds")]
                yield Request("GET", f"{self.collection}?{encoded(query)}&timeoutSeconds=1", None, random.choice(ACCEPTED), "watch")
            elif dice < 0.4 and self.unit.namespace:
                yield Request("GET", f"{resource.path('')}?{encoded(self.query(own=False))}", None, random.choice(ACCEPTED), "list of all namespaces")
            else:
                yield Request("GET", f"{self.collection}?{encoded(self.query())}", None, random.choice(ACCEPTED), "list")

    def pages(self):
        """Each page by its server's own token; then tokens that no server gives."""
        tokens = ["", ""]
        selector = self.random.choice(("", "&labelSelector=w", "&fieldSelector=metadata.name!%3Dx"))
        for _ in range(4):
            self.pair.versions = tokens
            _, both, _ = next(self.pair.compare([Request("GET", f"{self.collection}?limit=1{selector}&continue={VERSION}", None, {}, "page")], self.key + " page"))
            try:
                tokens = [urllib.parse.quote(json.loads(answer.text)["metadata"].get("continue", "")) for answer in both]
            except (ValueError, KeyError):
                return
            if not all(tokens):
                break
        name = self.unit.name
        for parts in ({"rv": -1, "start": name + "\0"}, {"rv": 0, "start": name}, {"rv": -1, "start": "../x"}, {"rv": -1, "start": "/" + name}, {"rv": -1, "start": ""}, {"rv": -2, "start": "x"},
                      {"rv": -1}, {"rv": "1", "start": "x"}, {"v": "meta.k8s.io/v2", "rv": -1, "start": "x"}, {"v": "", "rv": -1, "start": "x"}, {"rv": -1, "start": "x", "more": 1}):
            made = token(**{"v": "meta.k8s.io/v1", **parts})
            for rest in self.random.sample(("", "&limit=1", "&resourceVersion=0", "&resourceVersion=1", "&resourceVersionMatch=Exact", "&resourceVersion=1&resourceVersionMatch=NotOlderThan"), 2):
                self.pair.compare_all([Request("GET", f"{self.collection}?continue={made}{rest}", None, {}, f"token {parts}")], self.key + " token")

    def subresource_requests(self, count):
        unit, random = self.unit, self.random
        for name, (verbs, group, version, kind) in unit.resource.subresources.items():
            if name in STREAMS:
                continue
            schema = unit.schemas.kinds.get((group, version, kind), {})
            body = {"apiVersion": (group + "/" if group else "") + version, "kind": kind, "metadata": {"name": unit.name}}
            if kind == unit.resource.kind:
                body = copy.deepcopy(unit.thing)
            elif kind == "Scale":
                body["spec"] = {"replicas": 2}
            elif kind == "Binding":
                body["target"] = {"kind": "Node", "name": "n"}
            elif kind == "TokenRequest":
                body["spec"] = {"audiences": ["a"], "expirationSeconds": 3600}
            for one in unit.chosen(count, schema, body, ("status",) if name == "status" else ()):
                changed = one.apply(body)
                yield from self.write_subresource(name, verbs, body, changed, one)
            for headers in ACCEPTED:
                yield Request("GET", unit.item(name), None, headers, f"{name} get")
            yield Request("DELETE", unit.item(name) + "?dryRun=All", None, {}, f"{name} delete")
            for media in (MERGE, STRATEGIC, JSON_PATCH, APPLY):
                for text in random.sample(("", "{", "{}", "[]", "null", '{"metadata":{"name":"other"}}', '{"kind":"Other"}', '{"apiVersion":"v9"}', '{"metadata":{"resourceVersion":"1"}}',
                                           '{"metadata":{"uid":"x"}}', '{"spec":null}', '{"status":null}', '{"metadata":{"labels":{"n":"1"}}}', '{"spec":{"replicas":"x"}}',
                                           '[{"op":"replace","path":"/spec/replicas","value":3}]', '[{"op":"remove","path":"/spec"}]', '[{"op":"test","path":"/kind","value":"x"}]'), 4):
                    yield Request("PATCH", path_with(unit.item(name), dryRun="All", fieldManager="m2"), text, {"Content-Type": media}, f"{name} patch: body")

    def write_subresource(self, name, verbs, body, changed, one):
        unit, random, label = self.unit, self.random, one.text()
        if "create" in verbs:
            yield unit.write("POST", changed, "application/json", f"{name} create: {label}", name)
        if "update" in verbs:
            yield unit.write("PUT", changed, "application/json", f"{name} update: {label}", name)
        media = random.choice((MERGE, STRATEGIC, APPLY, JSON_PATCH))
        if media == APPLY:
            yield unit.write("PATCH", changed, APPLY, f"{name} apply: {label}", name, force=random.choice(("true", None)))
        elif media == JSON_PATCH:
            path, value = one.edits[-1]
            pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
            operation = {"op": "remove", "path": pointer} if value is MISSING else {"op": random.choice(("add", "replace")), "path": pointer, "value": value}
            yield unit.write("PATCH", [operation], JSON_PATCH, f"{name} JSON patch: {label}", name)
        else:
            yield unit.write("PATCH", unit.difference(changed, body), media, f"{name} patch: {label}", name)


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
        if {"create", "delete"} <= set(unit.resource.verbs):
            tasks.setdefault(number if unit.namespace else (unit.resource.group, unit.resource.name), []).append(unit)
    return list(tasks.values())


def initialize(*known):
    global WORLD
    WORLD = Worker(*known)


def run_task(index, steps):
    WORLD.pair.tally = Tally()
    for unit in WORLD.tasks[index]:
        run_unit(WORLD.pair, unit, steps)
    return index, WORLD.pair.tally.plain()


def run_unit(pair, unit, steps):
    pair.versions = ["", ""]
    if unit.namespace:
        unit.namespace = f"reads-{unit.number}"
        pair.do(Request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": unit.namespace}})))
        pair.do(Request("POST", f"/api/v1/namespaces/{unit.namespace}/serviceaccounts", '{"metadata":{"name":"default"}}'))
    names = [unit.name, unit.name + "-b", unit.name + "-c"]
    for index, name in enumerate(names[1:]):
        thing = copy.deepcopy(unit.thing)
        thing["metadata"].update(name=name, labels={"w": str(index), "a": "b"})
        pair.do(Request("POST", unit.collection(), json.dumps(thing)))
    if unit.stored(pair):
        stored = json.loads(pair.do(Request("GET", unit.item()))[1].text)
        reads, versions = Reads(pair, unit, stored), pair.versions
        if "list" in unit.resource.verbs and unit.resource.name not in NOT_LISTED:
            pair.compare_all(reads.collection_requests(int(steps * 0.6)), unit.resource.key() + " selection")
            reads.pages()
        pair.versions = versions
        under = max(1, sum(name not in STREAMS for name in unit.resource.subresources))
        pair.compare_all(reads.subresource_requests(int(steps * 0.2 / under)), unit.resource.key() + " subresource")
    for name in names:
        pair.do(Request("DELETE", f"{unit.collection()}/{name}", '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'))
        pair.do(Request("PATCH", f"{unit.collection()}/{name}", '{"metadata":{"finalizers":null}}', {"Content-Type": MERGE}))


def run(addresses, arguments, units_of):
    tasks = tasks_of(units_of(Pair(*addresses, arguments.token), arguments))
    steps = arguments.reads / max(1, sum(len(task) for task in tasks))
    tally, begun = Tally(), time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(arguments.workers, initializer=initialize, initargs=(addresses, arguments, units_of),
                                                mp_context=multiprocessing.get_context("fork")) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_task, index, steps) for index in range(len(tasks))]):
            index, one = done.result()
            tally.take(one)
            print(f"{time.monotonic() - begun:6.1f} s  {tally.asked:7}  {sum(e[0] for e in one.shapes.values()):5} differ of {one.asked}: {index}",
                  file=sys.stderr, flush=True)
    return tally
