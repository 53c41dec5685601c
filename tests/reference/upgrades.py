# SPDX-License-Identifier: Apache-2.0

"""Upgrades: the manifests of one version of a project laid over those of the version before it, as `kubectl apply`, helm and
GitOps controllers do: three-way patches with the annotation of what was last applied, server-side apply by several managers,
replacements, and the way back.

A project is a git repository; a version, the newest tag of a minor version. All objects of the older version are made
before the first is changed, so that custom resources live through the change of their definition."""

import copy
import json
import re
import subprocess
import sys
import time

import yaml

import manifests
import mutations
from generated import APPLY, MERGE, STRATEGIC, Request, path_with

TAG = re.compile(r"(?:release-|chart-|helm-chart-)?v?(\d+)\.(\d+)\.(\d+)$")
FILES = re.compile(r"\.(?:ya?ml|json)$")
LEFT_OUT = re.compile(r"/vendor/|node_modules|/third_party/")
LARGEST = 400_000  # bytes of a file
LAST = "kubectl.kubernetes.io/last-applied-configuration"
CLIENT_SIDE = "kubectl-client-side-apply"


# --- versions of a repository -----------------------------------------------------------------------

def git(repository, *words, text=""):
    return subprocess.run(["git", "-C", str(repository), *words], input=text.encode(), capture_output=True, check=True).stdout


def versions_of(repository, count):
    """`count` tags between the oldest minor version and the newest one."""
    newest = {}
    for tag in git(repository, "tag").decode().split():
        if match := TAG.match(tag):
            major, minor, patch = map(int, match.groups())
            newest[major, minor] = max(newest.get((major, minor), (-1, "")), (patch, tag))
    tags = [tag for _, (_, tag) in sorted(newest.items())]
    if len(tags) <= count:
        return tags
    return [tags[round(i * (len(tags) - 1) / (count - 1))] for i in range(count)]


def files_at(repository, tag):
    """(path, text) of each file that may hold manifests."""
    chosen = []
    for line in git(repository, "ls-tree", "-r", "-l", tag).decode("utf-8", "replace").splitlines():
        meta, path = line.split("\t", 1)
        _, kind, blob, size = meta.split()
        if kind == "blob" and size.isdigit() and int(size) <= LARGEST and FILES.search(path) and not LEFT_OUT.search("/" + path):
            chosen.append((path, blob))
    content = git(repository, "cat-file", "--batch", text="".join(blob + "\n" for _, blob in chosen))
    at = 0
    for path, _ in chosen:
        head, at = content[at:content.index(b"\n", at)], content.index(b"\n", at) + 1
        size = int(head.split()[2])
        yield path, content[at:at + size].decode("utf-8", "replace")
        at += size + 1


def documents_at(repository, tag, limit):
    """{(group, kind, namespace, name): document}, at most `limit` of a kind."""
    found, number = {}, {}
    for path, text in files_at(repository, tag):
        for part in [text] if path.endswith(".json") else re.split(r"(?m)^---.*\n?", text):
            document = document_of(path, part)
            if document is None:
                continue
            key = (document.group, document.kind, document.namespace, document.name)
            if key not in found and number.get(key[:2], 0) < limit * (5 if document.order == 1 else 1):
                found[key] = document
                number[key[:2]] = number.get(key[:2], 0) + 1
    return found


def document_of(path, text):
    if "apiVersion" not in text or "kind" not in text or "{{" in text:
        return None
    try:
        thing = manifests.plain(yaml.load(text, Loader=manifests.Loader))
    except (yaml.YAMLError, ValueError, TypeError):
        return None
    if not isinstance(thing, dict) or not isinstance(thing.get("apiVersion"), str) or not isinstance(thing.get("kind"), str):
        return None
    document = manifests.Document(path, thing, None)
    usual = document.name and not document.name.startswith("system:") and document.name not in manifests.OWNED
    # Webhooks would be called by what comes after them.
    return document if usual and document.order < 4 else None


# --- three-way patches ------------------------------------------------------------------------------

class ThreeWay:
    """What `kubectl apply` sends. `schemas`: None makes merge patches, as for custom resources."""

    def __init__(self, schemas):
        self.schemas = schemas

    def members(self, schema, name):
        schema = self.schemas.resolve(schema) if self.schemas and schema else {}
        return (schema.get("properties") or {}).get(name) or schema.get("additionalProperties") or {}

    def maps(self, original, modified, current, schema=None):
        patch = {}
        for name, value in modified.items():
            before, now, of = original.get(name), current.get(name), self.members(schema, name)
            if isinstance(value, dict) and isinstance(now, dict):
                inner = self.maps(before if isinstance(before, dict) else {}, value, now, of)
                if inner and "retainKeys" in of.get("x-kubernetes-patch-strategy", ""):
                    inner["$retainKeys"] = sorted(value)
                patch |= {name: inner} if inner else {}
            elif isinstance(value, list) and isinstance(now, list) and "merge" in of.get("x-kubernetes-patch-strategy", "").split(","):
                patch |= self.lists(name, before if isinstance(before, list) else [], value, now, of)
            elif value != now or type(value) is not type(now):
                patch[name] = value
        return patch | {name: None for name in original if name not in modified and name in current}

    def lists(self, name, original, modified, current, schema):
        key = schema.get("x-kubernetes-patch-merge-key")
        if key is None:
            gone = [one for one in original if one not in modified]
            added = [one for one in modified if one not in current]
            found = {f"$deleteFromPrimitiveList/{name}": gone} if gone else {}
            return found | ({f"$setElementOrder/{name}": modified, name: added} if added or gone else {})
        if not all(isinstance(one, dict) and key in one for one in original + modified + current):
            return {name: modified} if modified != current else {}
        now, before = {one[key]: one for one in current}, {one[key]: one for one in original}
        found = []
        for one in modified:
            change = self.maps(before.get(one[key], {}), one, now[one[key]], schema.get("items")) if one[key] in now else one
            found += [{**change, key: one[key]}] if change else []
        wanted = {one[key] for one in modified}
        found += [{"$patch": "delete", key: value} for value in before if value not in wanted and value in now]
        order = [one[key] for one in modified]
        if not found and order == [value for value in now if value in wanted]:
            return {}
        return {f"$setElementOrder/{name}": [{key: value} for value in order]} | ({name: found} if found else {})


def last_applied(thing):
    """The object with the annotation that `kubectl apply` writes."""
    thing = copy.deepcopy(thing)
    metadata = thing["metadata"]
    metadata["annotations"] = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != LAST}
    text = json.dumps(thing, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    metadata["annotations"][LAST] = text + "\n"
    return thing


# --- a project --------------------------------------------------------------------------------------

class Upgrade(manifests.Project):
    def __init__(self, pair, name, places, schemas):
        super().__init__(pair, name, places)
        self.schemas = schemas

    def make(self, document):
        """Whether both have it now."""
        path = self.path(document)
        if path is None:
            return False
        if self.places[document.group, document.version, document.kind][2]:
            self.prepare(document.namespace or "default")
        created = self.ask(document, "create", "POST", path_with(path, fieldManager=CLIENT_SIDE, fieldValidation="Strict"), last_applied(document.thing))
        if created[0].code in (400, 422):
            created = self.ask(document, "server-side", "PATCH", path_with(f"{path}/{document.name}", fieldManager="helm", fieldValidation="Ignore"),
                               document.thing, Content_Type=APPLY)
        if any(answer.code != 201 for answer in created):
            return False
        self.made.append((path, document))
        if document.order == 1:
            time.sleep(0.2)
            self.define(document, True)
        return True

    def lay(self, before, after):
        """The newer document over the older one."""
        path = self.path(after)
        if path is None:
            return
        item = f"{path}/{after.name}"
        stored = self.pair.do(Request("GET", item))[0]
        if stored.code != 200:
            return
        builtin = self.schemas.kinds.get((after.group, after.version, after.kind))
        patch = ThreeWay(self.schemas if builtin else None).maps(last_applied(before.thing), last_applied(after.thing), json.loads(stored.text), builtin)
        self.ask(after, "client-side", "PATCH", path_with(item, fieldManager=CLIENT_SIDE, fieldValidation="Strict"), patch,
                 Content_Type=STRATEGIC if builtin else MERGE)
        if after.order == 1:
            time.sleep(0.3)
            self.define(after, False)
        older = before.thing if before.thing["apiVersion"] == after.thing["apiVersion"] else after.thing
        for label, thing, manager, force in (
                ("server-side", after.thing, "helm", "false"), ("server-side by another", after.thing, "flux", "true"),
                ("back", older, "helm", "false"), ("back by the other", older, "flux", "true")):
            self.ask(after, label, "PATCH", path_with(item, fieldManager=manager, force=force), thing, Content_Type=APPLY)
        three_way = ThreeWay(None).maps(before.thing, after.thing, json.loads(stored.text))
        self.ask(after, "merge", "PATCH", path_with(item, fieldManager="helm"), three_way, Content_Type=MERGE)
        self.ask(after, "replace", "PUT", path_with(item, fieldManager="kubectl-replace", fieldValidation="Warn"), after.thing)
        self.ask(after, "table", "GET", item, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        if after.order == 1:
            time.sleep(0.3)
            self.define(after, False)

    def run_versions(self, older, newer):
        in_order = lambda documents: sorted(documents.items(), key=lambda item: item[1].order)
        made = {key for key, document in in_order(older) if self.make(document)}
        for key, document in in_order(newer):
            if key in made:
                self.lay(older[key], document)
            elif key not in older:
                self.make(document)
        for key in made - set(newer):  # what the newer version has no more is read as it is
            if path := self.path(older[key]):
                self.ask(older[key], "get", "GET", f"{path}/{older[key].name}")
        self.remove_made(len(self.made))
        for namespace in self.namespaces - set(manifests.OWNED):
            self.finalize(namespace)


def run(pair, arguments, resources):
    """The tally of all repositories."""
    places = {(r.group, r.version, r.kind): (f"{r.prefix}/{r.version}", r.name, r.namespaced) for r in resources}
    schemas = mutations.Schemas(json.loads(pair.do(Request("GET", "/openapi/v2"))[0].text))
    for namespace in manifests.OWNED:
        pair.do(Request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", '{"metadata":{"name":"default"}}'))
    for repository in arguments.upgrades:
        name = next(part for part in reversed(repository.resolve().parts) if part not in ("repo", ".git")).rpartition("+")[2]
        tags = versions_of(repository, arguments.versions)
        for older, newer in zip(tags, tags[1:]):
            asked, begun = pair.tally.asked, time.monotonic()
            before, after = (documents_at(repository, tag, arguments.objects_of_kind) for tag in (older, newer))
            Upgrade(pair, f"{name} {older}..{newer}", places, schemas).run_versions(before, after)
            print(f"{name} {older}..{newer}: {pair.tally.asked - asked} requests, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return pair.tally
