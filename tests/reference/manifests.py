# SPDX-License-Identifier: Apache-2.0

"""Replays folders of manifests against two servers: each document of each file as a strict dry run, a create, a read, a
server-side apply, a patch, an update, a table and a deletion; policies besides against every other document.

A folder is a project. Its documents are ordered as their admission needs it: namespaces, definitions of custom resources,
what other objects refer to, the rest, policies, webhook configurations. Everything is deleted before the next project."""

import copy
import dataclasses
import json
import re
import sys
import time

import yaml

from generated import APPLY, JSON_PATCH, MERGE, STRATEGIC, Request, path_with


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Reads scalars as sigs.k8s.io/yaml does: times are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith("timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}

FIRST = {"Namespace": 0, "CustomResourceDefinition": 1}
FIRST |= dict.fromkeys(("ServiceAccount", "PriorityClass", "StorageClass", "RuntimeClass", "IngressClass", "VolumeAttributesClass", "LimitRange",
                        "ResourceQuota", "DeviceClass"), 2)
POLICIES = dict.fromkeys(("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"), 4)
BINDINGS = dict.fromkeys(("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"), 5)
LAST = dict.fromkeys(("APIService", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"), 6)
ORDER = FIRST | POLICIES | BINDINGS | LAST
OWNED = ("default", "kube-system", "kube-public", "kube-node-lease")
# What kube-apiserver writes by itself at its own time.
UNSTEADY = ("APIService", "FlowSchema", "PriorityLevelConfiguration")


@dataclasses.dataclass
class Document:
    file: str
    thing: dict
    text: str | None  # as it stands in the file, if it is no element of a List

    def __post_init__(self):
        metadata = self.thing.get("metadata") if isinstance(self.thing.get("metadata"), dict) else {}
        self.group, _, self.version = self.thing["apiVersion"].rpartition("/")
        self.kind = self.thing["kind"]
        self.name = metadata.get("name") if isinstance(metadata.get("name"), str) else ""
        self.namespace = metadata.get("namespace") if isinstance(metadata.get("namespace"), str) else ""
        self.order = ORDER.get(self.kind, 3)


def plain(value):
    """As JSON has it: names are texts, whole numbers have no point."""
    if isinstance(value, dict):
        return {name if isinstance(name, str) else json.dumps(name, default=str): plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def documents_of(folder):
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml", ".json") and path.is_file()):
        text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
        for part in [text] if file.suffix == ".json" else re.split(r"(?m)^---.*\n?", text):
            try:
                thing = plain(yaml.load(part, Loader=Loader))
            except (yaml.YAMLError, ValueError, TypeError):
                continue  # a template
            listed = isinstance(thing, dict) and str(thing.get("kind", "")).endswith("List") and isinstance(thing.get("items"), list)
            for one in thing["items"] if listed else [thing]:
                if isinstance(one, dict) and isinstance(one.get("apiVersion"), str) and isinstance(one.get("kind"), str):
                    yield Document(str(file.relative_to(folder)), one, None if listed or file.suffix == ".json" else part)


class Project:
    def __init__(self, pair, name, places):
        self.pair, self.name, self.places = pair, name, dict(places)
        self.made, self.namespaces = [], set()

    # --- where objects live --------------------------------------------------------------------------

    def path(self, document):
        """The collection of the document, or None."""
        place = self.places.get((document.group, document.version, document.kind))
        if place is None:
            return None
        prefix, plural, namespaced = place
        return "/".join([prefix] + (["namespaces", document.namespace or "default"] if namespaced else []) + [plural])

    def define(self, definition, is_new):
        """Learns the places of a custom resource and waits for them: the stored definition may serve other versions than this one."""
        spec = definition.thing.get("spec") or {}
        names = spec.get("names") if isinstance(spec.get("names"), dict) else {}
        whole = "group" in spec and {"kind", "plural"} <= set(names)  # a test suite has others
        for version in [one for one in spec.get("versions") or [] if isinstance(one, dict)] if whole else []:
            prefix = f"/apis/{spec['group']}/{version.get('name')}"
            self.places[spec["group"], version.get("name"), names["kind"]] = (prefix, names["plural"], spec.get("scope") == "Namespaced")
            for _ in range(100 if is_new else 10):
                if not version.get("served") or all(a.code != 404 for a in self.pair.do(Request("GET", f"{prefix}/{names['plural']}?limit=1"))):
                    break
                time.sleep(0.05)
        # It is served before its status says so, and approved last.
        for _ in range(40 if is_new else 0):
            item = f"{self.path(definition)}/{definition.name}"
            texts = [a.text for a in self.pair.do(Request("GET", item))]
            if all('"type":"Established","status":"True"' in text for text in texts) and len({text.count('"lastTransitionTime"') for text in texts}) == 1:
                break
            time.sleep(0.05)

    # --- requests ------------------------------------------------------------------------------------

    def ask(self, document, label, method, path, body=None, **headers):
        text = body if body is None or isinstance(body, str) else json.dumps(body, separators=(",", ":"), ensure_ascii=False)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, path, text, headers, f"{self.name}/{document.file} {document.kind} {document.name}: {label}")
        pair = self.pair.do(request)
        self.pair.judge(request, pair, f"{self.name} {document.kind} {label}")
        return pair

    def prepare(self, namespace):
        if namespace in self.namespaces:
            return
        self.namespaces.add(namespace)
        self.pair.do(Request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": namespace}})))
        self.pair.do(Request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", '{"metadata":{"name":"default"}}'))

    def replay(self, document, turn):
        path = self.path(document)
        if path is None:
            return
        # What each cluster has of its own is not touched.
        dry = "All" if document.name.startswith(("system:", "system-")) or document.name in (*OWNED, "cluster-admin", "admin", "edit", "view", "kubernetes") else None
        text = document.thing if document.text is None else document.text
        self.ask(document, "dry run", "POST", path_with(path, dryRun="All", fieldManager="m", fieldValidation="Strict"), text,
                 Content_Type="application/json" if document.text is None else "application/yaml")
        created = self.ask(document, "create", "POST", path_with(path, fieldManager="m", fieldValidation="Warn", dryRun=dry), document.thing)
        if not document.name and all(a.code == 201 for a in created):
            for number, answer in enumerate(created):  # the names differ: each server's own goes
                name = (json.loads(answer.text).get("metadata") or {}).get("name")
                self.pair.connections[number].ask([("DELETE", f"{path}/{name}?gracePeriodSeconds=0", None, {})])
        if not document.name or any("metadata" not in answer.text[:2000] for answer in created):
            return
        if not dry and any(answer.code == 201 for answer in created):
            self.made.append((path, document))
        if document.order == 1:
            time.sleep(0.2)
            self.define(document, all(answer.code == 201 for answer in created))
        if document.order == 2 or document.kind == "Namespace":
            time.sleep(0.1)
        item = f"{path}/{document.name}"
        self.ask(document, "get", "GET", item)
        self.ask(document, "apply", "PATCH", path_with(item, fieldManager="m-apply", force="true", dryRun=dry), document.thing, Content_Type=APPLY)
        media, patch = ((MERGE, {"metadata": {"labels": {"example.com/patched": "yes"}}}),
                        (JSON_PATCH, [{"op": "add", "path": "/metadata/annotations", "value": {"example.com/patched": "yes"}}]),
                        (STRATEGIC, {"metadata": {"labels": {"example.com/patched": "yes"}}}))[turn % 3]
        self.ask(document, "patch", "PATCH", path_with(item, fieldManager="m-patch", dryRun=dry), patch, Content_Type=media)
        self.ask(document, "put", "PUT", path_with(item, fieldManager="m-put", fieldValidation="Strict", dryRun=dry), document.thing)
        self.ask(document, "table", "GET", item, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")

    def remove(self, path, document):
        item = f"{path}/{document.name}"
        pair = self.ask(document, "delete", "DELETE", item, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
        if document.kind == "Namespace":
            self.finalize(document.name)
        elif document.order == 1:
            for _ in range(100):
                if all(a.code == 404 for a in self.pair.do(Request("GET", item))):
                    break
                time.sleep(0.05)
        elif any('"deletionTimestamp"' in answer.text for answer in pair):
            self.pair.do(Request("PATCH", item, '{"metadata":{"finalizers":null}}', {"Content-Type": MERGE}))
            self.pair.do(Request("DELETE", item, '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'))

    def finalize(self, name):
        self.pair.do(Request("DELETE", f"/api/v1/namespaces/{name}/serviceaccounts/default"))
        self.pair.do(Request("DELETE", f"/api/v1/namespaces/{name}"))
        self.pair.do(Request("PUT", f"/api/v1/namespaces/{name}/finalize", json.dumps({"metadata": {"name": name}, "spec": {}})))

    # --- a whole project -----------------------------------------------------------------------------

    def run(self, documents):
        documents = sorted(documents, key=lambda document: document.order)
        for turn, document in enumerate(documents):
            place = self.places.get((document.group, document.version, document.kind))
            if place and place[2]:
                self.prepare(document.namespace or "default")
            if document.order == 4:
                break
            self.replay(document, turn)
        self.run_policies([d for d in documents if d.order in (4, 5)], [d for d in documents if d.order in (2, 3)])
        for turn, document in enumerate(d for d in documents if d.order == 6):
            self.replay(document, turn)
            self.remove_made(1)
            time.sleep(0.3)
        self.remove_made(len(self.made))
        for namespace in self.namespaces - set(OWNED):
            self.finalize(namespace)

    def remove_made(self, count):
        for _ in range(min(count, len(self.made))):
            path, document = self.made.pop()
            self.remove(path, document)

    def run_policies(self, policies, others):
        before = len(self.made)
        for turn, document in enumerate(policies):
            self.replay(document, turn)
        if any(document.order == 5 for document in policies):
            time.sleep(3)
            for document in others:
                path = self.path(document)
                if path and document.name:
                    thing = copy.deepcopy(document.thing)
                    thing["metadata"]["name"] += "-p"
                    self.ask(document, "policed", "POST", path_with(path, dryRun="All", fieldManager="m"), thing)
        self.remove_made(len(self.made) - before)
        if policies:
            time.sleep(3)


def run(pair, folders, resources):
    """The tally of all folders. `resources`: what the servers have of their own."""
    places = {(r.group, r.version, r.kind): (f"{r.prefix}/{r.version}", r.name, r.namespaced) for r in resources}
    for namespace in OWNED:
        pair.do(Request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", '{"metadata":{"name":"default"}}'))
    for folder in folders:
        asked, begun = pair.tally.asked, time.monotonic()
        Project(pair, folder.name, places).run(list(documents_of(folder)))
        print(f"{folder.name}: {pair.tally.asked - asked} requests, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return pair.tally
