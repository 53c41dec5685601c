# SPDX-License-Identifier: Apache-2.0

"""Generated requests: for each kind, mutations of a good object as creates, updates, patches of every type and writes of
subresources; parameters and media types; and walks, which are sequences of real writes.

Almost all are dry runs beside one stored object, so each stands for itself: it differs from the good request in one
mutation (or in two, which shows in which order faults are told)."""

import copy
import dataclasses
import json
import pathlib
import random
import time
import urllib.parse

import yaml

import mutations
from mutations import MISSING, dump

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
# Its answer is the order of a map in Go, and downstream builds have roles of their own.
NOT_COMPARED = ("selfsubjectrulesreviews",)
VERSION = "(version)"  # stands for the resourceVersion that the stored object has on each server
UID = "(uid)"  # for its uid


@dataclasses.dataclass
class Request:
    method: str
    path: str
    body: str | None = None
    headers: dict = dataclasses.field(default_factory=dict)
    label: str = ""

    def text(self):
        return self.path + (self.body or "")

    def filled(self, version, uid):
        body = self.body.replace(VERSION, version).replace(UID, uid) if self.body else self.body
        return self.method, self.path.replace(VERSION, version), None if body is None else body.encode("utf-8", "surrogatepass"), self.headers


def path_with(path, **query):
    return path + "?" + urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})


def good_objects(also=()):
    """(group, kind) -> [object]: what src/registry shows to be accepted, and the objects of the files `also`."""
    objects = {}
    for file in [*also, pathlib.Path(__file__).parent / "objects.yaml", *sorted((ROOT / "src/registry").glob("*/*.yaml"))]:
        for document in yaml.load_all(file.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            found = [document] if "kind" in document else [
                step["body"] for step in document["steps"]
                if "create" in step and "body" in step and "/" not in step["create"] and step["expect"]["code"] == 201]
            for thing in found:
                if "name" not in thing.get("metadata", {}):
                    continue
                thing = json.loads(json.dumps(thing, default=str))
                objects.setdefault((thing["apiVersion"].rpartition("/")[0], thing["kind"]), []).append(thing)
    return objects


class Unit:
    """The requests of one kind about one good object, in a namespace of its own."""

    def __init__(self, number, resource, thing, schemas, seed):
        self.number, self.resource, self.thing, self.schemas = number, resource, copy.deepcopy(thing), schemas
        self.random = random.Random(f"{seed}/{resource.key()}/{number}")
        self.namespace = f"unit-{number}" if resource.namespaced else ""
        if resource.namespaced:
            self.thing["metadata"].pop("namespace", None)
        self.name = self.thing["metadata"].get("name", "")
        self.statuses = []
        self.schema = schemas.kinds.get((resource.group, resource.version, resource.kind), {})
        self.mutations = mutations.Mutations(schemas, self.random)

    def collection(self):
        return self.resource.path(self.namespace)

    def item(self, subresource=""):
        return f"{self.collection()}/{urllib.parse.quote(self.name)}" + (f"/{subresource}" if subresource else "")

    def stored(self, pair):
        """Stores the good object on both; whether both have it now."""
        request = Request("POST", path_with(self.collection(), fieldManager="m"), dump(self.thing), label="create: the good object")
        pairs = list(pair.compare([request], self.resource.key())) if "create" in self.resource.verbs else []
        if not pairs or any(answer.code != 201 for answer in pairs[0][1]):
            return False
        documents = [json.loads(answer.text) for answer in pairs[0][1]]
        pair.versions = [document.get("metadata", {}).get("resourceVersion", "") for document in documents]
        return all(pair.versions)

    def clear_away(self, pair):
        pair.versions = ["", ""]
        if "delete" in self.resource.verbs:
            pair.do(Request("DELETE", self.item(), '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'))
            pair.do(Request("PATCH", self.item(), '{"metadata":{"finalizers":null}}', {"Content-Type": MERGE}))
            for _ in range(50):  # kube-apiserver ends a definition a moment later
                if all(answer.code != 200 for answer in pair.do(Request("GET", self.item()))):
                    break
                time.sleep(0.1)

    # --- what is asked -------------------------------------------------------------------------------

    def chosen(self, count, schema=None, thing=None, under=()):
        """So many mutations, few of the metadata, which is the same for all kinds."""
        rare = 0 if under or self.resource.name in ("configmaps", "namespaces") else 0.8
        found = [one for one in self.mutations.of(self.schema if schema is None else schema, self.thing if thing is None else thing, under)
                 if one.edits[-1][0][:1] != ("metadata",) or self.random.random() >= rare]
        return self.random.sample(found, min(count, len(found)))

    def creates(self, count):
        found = self.chosen(count)
        for one in found:
            yield self.create(one.apply(self.thing), one.text())
        for _ in range(min(count - len(found), len(found) // 3)):
            first, second = self.random.sample(found, 2)
            try:
                yield self.create(second.apply(first.apply(self.thing)), f"{first.text()} & {second.text()}")
            except (TypeError, KeyError, IndexError, AttributeError):
                continue  # the second is about what the first has taken away

    def create(self, body, label):
        return Request("POST", path_with(self.collection(), dryRun="All", fieldManager="m", fieldValidation=self.validation()),
                       dump(body), label="create: " + label)

    def validation(self):
        return self.random.choice(("Strict", "Warn", "Warn", "Ignore"))

    def changes(self, count):
        """Updates and patches of the stored object."""
        for one in self.chosen(count * 2 // 5):
            for make in self.random.sample((self.update, self.merge, self.strategic, self.json_patch, self.apply), 2):
                request = make(one)
                if request:
                    request.label = f"{make.__name__}: {one.text()}"
                    yield request
        for one in self.chosen(count // 5, under=("status",)) if "status" in self.resource.subresources else ():
            body = one.apply(self.thing)
            if self.random.random() < 0.6:
                yield self.write("PUT", body, "application/json", f"status update: {one.text()}", "status")
            else:
                kind = self.random.choice((MERGE, STRATEGIC) if self.resource.builtin else (MERGE,))
                yield self.write("PATCH", {"status": body.get("status")} if isinstance(body, dict) else body, kind,
                                 f"status patch: {one.text()}", "status")

    def write(self, method, body, media, label="", subresource="", **query):
        query = {"dryRun": "All", "fieldManager": "m2", "fieldValidation": self.validation(), **query}
        return Request(method, path_with(self.item(subresource), **query), dump(body), {"Content-Type": media}, label)

    def update(self, one):
        body = one.apply(self.thing)
        if isinstance(body, dict) and isinstance(body.get("metadata"), dict) and self.random.random() < 0.8:
            body = {**body, "metadata": {**(body.get("metadata") or {}), "resourceVersion": VERSION}}
        return self.write("PUT", body, "application/json")

    def apply(self, one):
        force = self.random.choice(("true", "false", None))
        return self.write("PATCH", one.apply(self.thing), APPLY, force=force)

    def merge(self, one):
        return self.write("PATCH", self.difference(one.apply(self.thing), self.thing), MERGE)

    def strategic(self, one):
        if not self.resource.builtin:
            return None
        path, value = one.edits[-1]
        if self.random.random() < 0.7 or not path:
            return self.write("PATCH", self.difference(one.apply(self.thing), self.thing, self.random.random() < 0.8), STRATEGIC)
        return self.write("PATCH", self.with_directive(path, value), STRATEGIC)

    def with_directive(self, path, value):
        name = next((part for part in reversed(path) if isinstance(part, str)), "metadata")
        value = None if value is MISSING else value
        directive = self.random.choice((
            {"$patch": "replace", name: value}, {"$patch": "delete"}, {"$patch": "merge", name: value}, {"$patch": "other"}, {"$patch": 5},
            {"$retainKeys": [name], name: value}, {"$retainKeys": "x"}, {"$retainKeys": [5]}, {f"$setElementOrder/{name}": [{"name": "x"}]},
            {f"$setElementOrder/{name}": ["x"], name: value}, {f"$deleteFromPrimitiveList/{name}": ["x"]}, {f"$deleteFromPrimitiveList/{name}": "x"},
            {name: [{"$patch": "replace"}]}, {name: [{"$patch": "delete", "name": "x"}]}, {name: [{"$patch": "delete"}]}, {name: {"$patch": "delete"}},
            {name: {"$patch": "replace"}}, {"$unknown": 1}))
        body = directive
        keys = [part for part in path[:-1] if isinstance(part, str)]
        for part in reversed(keys):
            body = {part: body}
        return body

    def difference(self, new, old, keyed=False):
        """The merge patch that makes `new` of `old`; lists of named elements by their names if `keyed`."""
        if not isinstance(new, dict) or not isinstance(old, dict):
            return new
        patch = {}
        for name in {**old, **new}:
            if name not in new:
                patch[name] = None
            elif name not in old:
                patch[name] = new[name]
            elif new[name] != old[name]:
                patch[name] = self.difference(new[name], old[name], keyed)
                if keyed and isinstance(new[name], list) and isinstance(old[name], list) and all(
                        isinstance(e, dict) and "name" in e for e in new[name] + old[name]):
                    patch[name] = [{"name": e["name"], **self.difference(e, next((o for o in old[name] if o["name"] == e["name"]), {}), True)}
                                   for e in new[name] if e not in old[name]]
        return patch

    def json_patch(self, one):
        path, value = one.edits[-1]
        pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
        if value is MISSING:
            operations = [{"op": "remove", "path": pointer}]
        else:
            operations = [{"op": self.random.choice(("add", "replace", "add", "test")), "path": pointer, "value": value}]
        operations = [{"op": "add", "path": "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in at), "value": made}
                      for at, made in one.edits[:-1]] + operations
        if self.random.random() < 0.15:
            operations.append(self.random.choice((
                {"op": "copy", "from": pointer, "path": "/metadata/labels"}, {"op": "move", "from": pointer, "path": "/spec"},
                {"op": "test", "path": pointer, "value": 7}, {"op": "remove", "path": pointer + "/none"}, {"op": "other", "path": pointer},
                {"op": "add", "path": pointer + "/-", "value": 1}, {"op": "remove", "path": ""}, {"op": "add", "path": "/"}, {"path": pointer},
                {"op": "replace", "path": "/metadata/none", "value": 1}, {"op": "add", "path": "x", "value": 1}, 5)))
        return self.write("PATCH", operations, JSON_PATCH)

    # --- walks ---------------------------------------------------------------------------------------

    def walk(self, pair, accepted, steps):
        """Real writes of several managers, one after the other, on the stored object; begun anew where the answers differ,
        since everything after that would."""
        key = self.resource.key() + " walk"
        for _ in range(steps):
            request = self.step(accepted)
            _, pair_of, same = next(pair.compare([request], key))
            try:
                documents = [json.loads(answer.text) for answer in pair_of]
            except ValueError:
                continue
            if not same:
                self.clear_away(pair)
                if not self.stored(pair):
                    return
            elif request.method != "GET" and pair_of[0].code < 300 and documents[0].get("kind") == self.resource.kind:
                pair.versions = [document["metadata"].get("resourceVersion", "") for document in documents]

    def step(self, accepted):
        body = self.random.choice(accepted) if accepted and self.random.random() < 0.8 else self.thing
        manager, dice = self.random.choice(("m", "m1", "m2")), self.random.random()
        query = {"dryRun": None, "fieldManager": manager, "fieldValidation": None}
        if dice < 0.3:
            body = {**body, "metadata": {**(body.get("metadata") or {}), "resourceVersion": VERSION}}
            if self.random.random() < 0.1:
                body["metadata"]["managedFields"] = self.random.choice(([], [{}], None))
            return self.write("PUT", body, "application/json", "walk: update", **query)
        if dice < 0.55:
            force = self.random.choice(("true", "true", "false", None))
            if self.random.random() < 0.5 and isinstance(body.get("spec"), dict):
                body = {**body, "spec": {name: value for name, value in body["spec"].items() if self.random.random() < 0.7}}
            return self.write("PATCH", body, APPLY, "walk: apply", **query, force=force)
        if dice < 0.7:
            media = MERGE if self.random.random() < 0.5 or not self.resource.builtin else STRATEGIC
            return self.write("PATCH", self.difference(body, self.thing, media == STRATEGIC), media, "walk: patch", **query)
        if dice < 0.8 and "status" in self.resource.subresources:
            self.statuses = self.statuses or self.chosen(200, under=("status",))
            if self.statuses:
                thing = self.random.choice(self.statuses).apply(self.thing)
                if self.random.random() < 0.5:
                    return self.write("PATCH", {"status": thing.get("status")}, MERGE, "walk: status patch", "status", **query)
                return self.write("PATCH", {"apiVersion": thing.get("apiVersion"), "kind": thing.get("kind"), "metadata": {"name": self.name},
                                            "status": thing.get("status")}, APPLY, "walk: status apply", "status", **query, force="true")
        if dice < 0.9:
            changes = self.random.choice(({"labels": {"w": "1"}}, {"labels": None}, {"annotations": {"w": "2"}}, {"annotations": {"w": None}}, {},
                                          {"finalizers": ["example.com/x"]}, {"finalizers": None}, {"managedFields": [{}]}))
            return self.write("PATCH", {"metadata": changes}, MERGE, "walk: metadata", **query)
        return Request("GET", self.item(), None, self.random.choice(({}, {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})), "walk: get")

    # --- parameters, media types ---------------------------------------------------------------------

    def questions(self):
        """Reads, deletions (as dry runs) and their parameters, once per resource and verb."""
        verbs = self.resource.verbs
        for query in LIST_QUERIES if "list" in verbs else ():
            yield Request("GET", self.collection() + query, label="list: parameters")
        for query in ITEM_QUERIES if "get" in verbs else ():
            yield Request("GET", self.item() + query, label="get: parameters")
        for query in WRITE_QUERIES:
            if "create" in verbs:
                yield Request("POST", self.collection() + query, dump(self.thing), label="create: parameters")
            if "update" in verbs:
                yield Request("PUT", self.item() + query, dump(self.thing), label="update: parameters")
            if "patch" in verbs:
                yield Request("PATCH", self.item() + query, '{"metadata":{"labels":{"a":"b"}}}', {"Content-Type": MERGE}, "patch: parameters")
                yield Request("PATCH", self.item() + query, dump(self.thing), {"Content-Type": APPLY}, "apply: parameters")
        for accept in ACCEPTS:
            for method, path, body in (("GET", self.item(), None), ("GET", self.collection() + "?limit=1", None),
                                       ("POST", self.collection() + "?dryRun=All", dump(self.thing)), ("DELETE", self.item() + "?dryRun=All", None)):
                yield Request(method, path, body, {"Accept": accept}, "accept")
        for media in MEDIA_TYPES:
            for method, path in (("POST", self.collection()), ("PUT", self.item()), ("PATCH", self.item())):
                yield Request(method, path + "?dryRun=All", dump(self.thing), {"Content-Type": media}, "media type")
        for options in DELETE_OPTIONS if "delete" in verbs else ():
            yield Request("DELETE", self.item() + "?dryRun=All", dump(options), label="delete: options")
            if "deletecollection" in verbs:
                yield Request("DELETE", self.collection() + "?labelSelector=none&dryRun=All", dump(options), label="deletecollection: options")
        for query in DELETE_QUERIES if "delete" in verbs else ():
            yield Request("DELETE", self.item() + query, label="delete: parameters")
        for body in BODIES:
            for method, path in (("POST", self.collection()), ("PUT", self.item()), ("PATCH", self.item())):
                media = self.random.choice((MERGE, STRATEGIC, JSON_PATCH, APPLY)) if method == "PATCH" else "application/json"
                yield Request(method, path + "?dryRun=All", body, {"Content-Type": media}, "body")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"):
            for path in (self.collection(), self.item(), self.item("status"), self.item("scale"), self.item("none"), self.item() + "/",
                         self.collection() + "/", self.resource.path("") if self.namespace else self.collection()):
                body = dump(self.thing) if method in ("POST", "PUT", "PATCH") else None
                if method != "PATCH" or path != self.resource.path(""):
                    yield Request(method, path + "?dryRun=All", body, {"Content-Type": MERGE} if method == "PATCH" else {}, "verb")

    # --- subresources --------------------------------------------------------------------------------

    def others(self, count):
        """Writes of the other subresources."""
        names = [name for name in self.resource.subresources
                 if name not in ("status", "exec", "attach", "portforward", "proxy", "log", "token")]
        for name in names:
            verbs, group, version, kind = self.resource.subresources[name]
            schema = self.schemas.kinds.get((group, version, kind), {})
            body = {"apiVersion": (group + "/" if group else "") + version, "kind": kind, "metadata": {"name": self.name}}
            if kind == self.resource.kind:
                body = self.thing
            elif kind == "Scale":
                body["spec"] = {"replicas": 2}
            elif kind == "Binding":
                body["target"] = {"kind": "Node", "name": "n"}
            for one in self.chosen(count // len(names), schema, body):
                changed = one.apply(body)
                if "create" in verbs:
                    yield self.write("POST", changed, "application/json", f"{name} create: {one.text()}", name)
                if "update" in verbs:
                    yield self.write("PUT", changed, "application/json", f"{name} update: {one.text()}", name)
                if "patch" in verbs and self.random.random() < 0.4:
                    yield self.write("PATCH", self.difference(changed, body), self.random.choice((MERGE, STRATEGIC)),
                                     f"{name} patch: {one.text()}", name)
                    yield self.write("PATCH", changed, APPLY, f"{name} apply: {one.text()}", name, force="true")


LIST_QUERIES = ["?" + query for query in (
    "labelSelector=a%3Db", "labelSelector=a%20in%20(b,c),d", "labelSelector=!a", "labelSelector=a%3D%3D%3Db", "labelSelector=a%20in%20b",
    "labelSelector=-a", "labelSelector=a%3Db%20c", "labelSelector=a%3E5", "labelSelector=a%3Ex", "labelSelector=,", "labelSelector=a%20notin%20()",
    "labelSelector=a!%3Db,", "fieldSelector=metadata.name%3Dx", "fieldSelector=metadata.namespace!%3Dx", "fieldSelector=spec.x%3Dy",
    "fieldSelector=x", "fieldSelector=metadata.name", "fieldSelector=metadata.name%3Dx,metadata.name%3Dy", "fieldSelector=metadata.uid%3Dx",
    "fieldSelector=status.phase%3DRunning", "fieldSelector=metadata.name%3D%5C", "limit=1", "limit=-1", "limit=x", "limit=0", "limit=1&continue=x",
    "continue=x", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0", "resourceVersion=0", "resourceVersion=x", "resourceVersion=-1",
    "resourceVersion=1", "resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "resourceVersion=1&resourceVersionMatch=x", "resourceVersionMatch=NotOlderThan", "limit=1&resourceVersion=0", "resourceVersion=1&continue=x",
    "timeoutSeconds=x", "timeoutSeconds=-1", "timeoutSeconds=1", "watch=x", "watch=false", "watch=0", "pretty=true", "pretty=x", "pretty",
    "sendInitialEvents=true", "sendInitialEvents=x", "watch=true&sendInitialEvents=true", "watch=true&sendInitialEvents=true&resourceVersionMatch=Exact",
    "watch=true&resourceVersion=x", "watch=true&resourceVersionMatch=NotOlderThan", "watch=true&resourceVersion=99999999999999999999",
    "watch=true&labelSelector=-a", "watch=true&fieldSelector=x", "watch=true&continue=x", "watch=true&timeoutSeconds=1&allowWatchBookmarks=x",
    "unknown=1", "limit=1&limit=2", "labelSelector=a&labelSelector=b", "shardSelector=x", "includeObject=None", "fieldSelector=metadata.name%3D")]
ITEM_QUERIES = ["?" + query for query in ("resourceVersion=0", "resourceVersion=x", "resourceVersion=1", "pretty=true", "pretty=1", "unknown=1",
                                          "watch=true&timeoutSeconds=x", "export=true", "includeObject=x")]
WRITE_QUERIES = ["?" + query for query in (
    "dryRun=All", "dryRun=", "dryRun=all", "dryRun=All&dryRun=All", "dryRun=All,All", "dryRun=All&dryRun=x", "dryRun=All&fieldManager=" + "a" * 129,
    "dryRun=All&fieldManager=%01", "dryRun=All&fieldManager=", "dryRun=All&fieldManager=a%20b", "dryRun=All&fieldValidation=", "dryRun=All&fieldValidation=strict",
    "dryRun=All&fieldValidation=Strict&fieldValidation=Warn", "dryRun=All&force=true", "dryRun=All&force=x&fieldManager=m", "dryRun=All&fieldManager=m&force=true",
    "dryRun=All&pretty=true", "dryRun=All&fieldManager=m&pretty=true", "dryRun=All&unknown=x", "dryRun=x&fieldManager=%01&fieldValidation=x", "dryRun=All&timeout=5s",
    "dryRun=All&timeout=x", "dryRun=All&timeout=-1s", "dryRun=All&timeout=0s&fieldManager=m", "dryRun=All&fieldManager=m&force=false&fieldValidation=Ignore")]
DELETE_QUERIES = ["?dryRun=All&" + query for query in (
    "gracePeriodSeconds=0", "gracePeriodSeconds=-1", "gracePeriodSeconds=x", "gracePeriodSeconds=5", "propagationPolicy=Foreground", "propagationPolicy=x",
    "orphanDependents=true", "orphanDependents=x", "orphanDependents=true&propagationPolicy=Orphan", "dryRun=x", "propagationPolicy=Orphan",
    "ignoreStoreReadErrorWithClusterBreakingPotential=true", "pretty=true", "unknown=x", "gracePeriodSeconds=99999999999999999999")]
DELETE_OPTIONS = [{"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], **options} for options in (
    {}, {"gracePeriodSeconds": 0}, {"gracePeriodSeconds": -1}, {"gracePeriodSeconds": "x"}, {"propagationPolicy": "Foreground"}, {"propagationPolicy": "x"},
    {"propagationPolicy": ""}, {"orphanDependents": True}, {"orphanDependents": False, "propagationPolicy": "Background"}, {"preconditions": {}},
    {"preconditions": {"uid": "x"}}, {"preconditions": {"resourceVersion": "1"}}, {"preconditions": {"uid": "", "resourceVersion": "x"}}, {"dryRun": ["x"]},
    {"dryRun": "All"}, {"dryRun": ["All", "All"]}, {"unknown": 1}, {"kind": "Other"}, {"apiVersion": "v2"}, {"kind": ""}, {"apiVersion": ""},
    {"apiVersion": "meta.k8s.io/v1"}, {"apiVersion": "apps/v1"}, {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": True, "gracePeriodSeconds": 1, "propagationPolicy": "Foreground"}, {"preconditions": 5})]
ACCEPTS = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf;q=0.1,application/json", "*/*", "application/*", "text/html", "text/plain",
           "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=Table;v=v2;g=meta.k8s.io",
           "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
           "application/json;as=Other;v=v1;g=meta.k8s.io", "application/json;as=Table", "application/json;as=Table;v=v1;g=x,application/json",
           "application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json;stream=watch", "application/json;pretty=1", "application/json;charset=utf-8", "",
           "application/json;q=0", "application/cbor", "application/json, */*;q=0.1", "bad", "application/json;as=Table;v=v1;g=meta.k8s.io;includeObject=None"]
MEDIA_TYPES = ["application/json", "application/yaml", "application/json;charset=utf-8", "text/plain", "application/x-www-form-urlencoded", "", "bad", "application/xml",
               "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/cbor",
               "application/apply-patch+cbor", "application/merge-patch+json;charset=utf-8", "APPLICATION/JSON", "application/vnd.kubernetes.protobuf", "application/json;;"]
BODIES = ["", " ", "{", "{}", "[]", "null", "5", '"x"', "x", '{"kind":5}', '{"apiVersion":"v1"}', '{"kind":"Other","apiVersion":"v1"}', '{"kind":"Pod","apiVersion":"v9"}',
          '{"metadata":5}', '{"metadata":{"name":5}}', '{"metadata":{}}', '{"metadata":null}', '{"a":1}{"b":2}', '{"metadata":{"name":"x"}} x', '{"a":1,"a":2}',
          '{"metadata":{"name":"x","uid":"y"}}', '{"metadata":{"name":"other"}}', '{"metadata":{"namespace":"other"}}', "\x00", "﻿{}", '{"metadata":{"resourceVersion":"x"}}',
          '{"metadata":{"resourceVersion":"1"}}', '{"metadata":{"uid":"x"}}', '{"metadata":{"generateName":"g-"}}', "kind: x\n", "- a", '[{"op":"add"}]', "[5]", '{"kind":"List","apiVersion":"v1","items":[]}',
          '{"metadata":{"creationTimestamp":"x"}}', '{"metadata":{"managedFields":[]}}', '{"metadata":{"managedFields":[{}]}}', '{"metadata":{"managedFields":null}}',
          '{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}', '{"metadata":{"finalizers":["x"]}}', '{"metadata":{"ownerReferences":[{}]}}', '{"metadata":{"labels":{"a":5}}}']
