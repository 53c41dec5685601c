#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what a kube-apiserver answers to the steps of scenarios, into the scenarios themselves.

    tests/reference/scenarios.py record URL TOKEN FILE…    writes every `expect` anew
    tests/reference/scenarios.py check URL TOKEN FILE…     prints what the server answers differently

FILE is a scenario of the engine (src/engine/testing/scenario.h says what it holds): src/engine/testdata/*.yaml, and
the objects of the kinds, src/registry/*/*.yaml. Write a file with its steps and without `expect`, then record it. Of a
success the whole object is recorded as `becomes`; a step that has `object` or `stored` keeps the fields that it names,
with the server's values. Needs python3-yaml.

TOKEN is one of the group system:masters. The server is changed: the namespace "team" and a binding that allows
everything to everyone are made, and what a file has made is deleted when it is through.
"""

import argparse
import http.client
import json
import pathlib
import re
import ssl
import sys
import time
import urllib.parse

import yaml

KINDS_OF_PATCH = {"json": "application/json-patch+json", "merge": "application/merge-patch+json",
                  "strategic": "application/strategic-merge-patch+json", "apply": "application/apply-patch+yaml"}
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "get": "GET", "delete": "DELETE",
           "deletecollection": "DELETE", "connect": "GET"}
EVERYONE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "everyone"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}]}


class Server:
    def __init__(self, url, token):
        self.place, self.token = urllib.parse.urlsplit(url), token
        self.connection = None
        self.read_resources()

    def ask(self, method, path, body=None, headers=None, user=None):
        """(code, object, warnings)"""
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.place.netloc, timeout=60,
                                                          context=ssl._create_unverified_context())
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                "Accept": "application/json", **(headers or {})}
        if user:
            sent["Impersonate-User"] = user
            if user == "admin":
                sent["Impersonate-Group"] = "system:masters"
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body, separators=(",", ":"))
        body = body.encode() if isinstance(body, str) else body
        try:
            self.connection.request(method, path, body, sent)
            response = self.connection.getresponse()
        except (http.client.HTTPException, OSError):
            # The server has closed the kept connection.
            self.connection.close()
            self.connection.request(method, path, body, sent)
            response = self.connection.getresponse()
        text = response.read().decode()
        warnings = [re.fullmatch(r'\d+ \S+ "(.*)"', value).group(1).replace('\\"', '"').replace("\\\\", "\\")
                    for value in response.headers.get_all("Warning") or []]
        try:
            return response.status, json.loads(text), warnings
        except ValueError:
            return response.status, {"message": text}, warnings

    def read_resources(self):
        """(group, plural name) -> [(prefix, version, namespaced)], the preferred version first"""
        self.resources = {}
        groups = [("", "/api", ["v1"])]
        for group in self.ask("GET", "/apis")[1]["groups"]:
            preferred = group["preferredVersion"]["version"]
            versions = [version["version"] for version in group["versions"]]
            groups.append((group["name"], f"/apis/{group['name']}",
                           sorted(versions, key=lambda version: version != preferred)))
        for group, prefix, versions in groups:
            for version in versions:
                for resource in self.ask("GET", f"{prefix}/{version}")[1].get("resources", []):
                    self.resources.setdefault((group, resource["name"]), []).append(
                        (prefix, version, resource["namespaced"], resource["verbs"], resource["kind"]))

    def path(self, what, namespace, name, version=None):
        full, _, subresource = what.partition("/")
        plural, _, group = full.partition(".")
        for prefix, served, namespaced, *_ in self.resources[group, plural]:
            if version in (None, served):
                break
        else:
            raise KeyError(f"{what} has no version {version}")
        parts = [prefix, served] + (["namespaces", namespace] if namespaced and namespace else []) + [plural]
        parts += [name] if name else []
        return "/".join(parts + ([subresource] if subresource else []))

    def path_of_object(self, thing):
        group, _, version = thing["apiVersion"].rpartition("/")
        for (of, plural), places in self.resources.items():
            if of == group and "/" not in plural and places[0][4] == thing["kind"]:
                what = plural + ("." + group if group else "")
                return self.path(what, thing["metadata"].get("namespace"), None, version)
        raise KeyError(f"no resource for {thing['kind']}")


def normalized(thing):
    """As Normalized() in src/engine/testing/expectation.h."""
    if not isinstance(thing, dict):
        return thing
    metadata = thing.get("metadata")
    if thing.get("kind") == "Status":
        (thing.get("details") or {}).pop("uid", None)
    elif isinstance(metadata, dict):
        for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
            metadata.pop(name, None)
        if "deletionTimestamp" in metadata:
            metadata["deletionTimestamp"] = "(time)"
        if "generateName" in metadata:
            metadata["name"] = metadata["generateName"] + "(random)"
    return normalized_texts(thing)


def normalized_texts(value):
    if isinstance(value, dict):
        return {name: normalized_texts(member) for name, member in value.items()}
    if isinstance(value, list):
        return [normalized_texts(element) for element in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "(uid)", value)
    value = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "(time)", value)
    return re.sub(r'(resourceVersion[\\":]*)\d+', r"\1(version)", value)


def filled(shape, actual):
    """`shape` with the values of `actual` in the places it names."""
    if isinstance(shape, dict) and isinstance(actual, dict):
        return {name: filled(inner, actual.get(name)) for name, inner in shape.items()}
    if isinstance(shape, list) and isinstance(actual, list) and len(shape) == len(actual):
        return [filled(inner, element) for inner, element in zip(shape, actual)]
    return actual


class Recorder:
    def __init__(self, server):
        self.server = server
        self.made = set()
        self.server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
        self.server.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", EVERYONE)

    def record(self, scenario):
        """The scenario with the expectations that the server meets."""
        self.server.ask("POST", "/api/v1/namespaces/team/serviceaccounts", {"metadata": {"name": "default"}})
        steps = []
        try:
            for thing in scenario.get("given", []):
                path = self.server.path_of_object(thing)
                code, answer, _ = self.server.ask("POST", path + "?fieldManager=given", thing, user="admin")
                if code == 409:
                    continue  # one that each cluster has
                if code >= 300:
                    raise RuntimeError(f"given {thing['kind']}: {answer.get('message')}")
                self.made.add(f"{path}/{answer['metadata']['name']}")
                if thing["kind"] == "CustomResourceDefinition":
                    self.wait_for(thing)
            if any(thing["apiVersion"].startswith("admissionregistration.k8s.io/") for thing in scenario.get("given", [])):
                time.sleep(2)  # policies come into force a little later
            for step in scenario["steps"]:
                steps.append({**{name: value for name, value in step.items() if name != "expect"},
                              "expect": self.expectation(step)})
        finally:
            self.clear_away()
        return {**{name: value for name, value in scenario.items() if name != "steps"}, "steps": steps}

    def wait_for(self, definition):
        for _ in range(400):
            self.server.read_resources()
            if (definition["spec"]["group"], definition["spec"]["names"]["plural"]) in self.server.resources:
                path = self.server.path(definition["metadata"]["name"].replace(".", ".", 1), "team", None)
                if self.server.ask("GET", path)[0] == 200:
                    return
        raise RuntimeError(f"{definition['metadata']['name']} is not served")

    def expectation(self, step):
        verb = next(name for name in METHODS if name in step)
        wanted = step.get("expect") or {}
        namespace = step.get("namespace", "team")
        collection = self.server.path(step[verb].partition("/")[0], namespace, None, step.get("version"))
        name = step.get("name")
        path = self.server.path(step[verb], namespace, name, step.get("version"))
        code, answer, warnings = self.server.ask(METHODS[verb], path + self.query(verb, step), self.body(verb, step),
                                                 self.headers(verb, step), step.get("user", "admin"))
        if code < 300 and verb in ("update", "patch") and step[verb].startswith("customresourcedefinitions"):
            time.sleep(2)  # the server gets to serve what it says a little later
        if code < 300 and verb in ("create", "update", "patch") and "/" not in step[verb] and not step.get("dryRun"):
            name = name or (answer.get("metadata") or {}).get("name")
            if name:
                self.made.add(f"{collection}/{name}")
        expect = {"code": code}
        if code >= 300:
            answer = normalized(answer)
            expect["error"] = answer["message"]
            expect |= {"reason": answer["reason"]} if answer.get("reason") else {}
            causes = (answer.get("details") or {}).get("causes")
            expect |= {"causes": causes} if causes else {}
        elif verb == "deletecollection":
            expect["object"] = sorted(item["metadata"]["name"] for item in answer["items"])
        elif "object" in wanted:
            expect["object"] = filled(wanted["object"], answer)
        else:
            expect["becomes"] = normalized(answer)
        # The engine knows nothing of versions of the API that go away: the server warns of them.
        warnings = [text for text in warnings if not re.match(r"\S+ \S+ is deprecated in v1\.\d+\+", text)]
        if warnings:
            expect["warnings"] = warnings
        if "stored" in wanted:
            found, stored, _ = self.server.ask("GET", f"{collection}/{name}")
            expect["stored"] = filled(wanted["stored"] or {}, stored) if found == 200 else None
        return expect

    def query(self, verb, step):
        query = {}
        if verb in ("create", "update", "patch"):
            query["fieldManager"] = step.get("manager", "test")
            query["fieldValidation"] = step.get("validation", "Warn")
            if step.get("dryRun"):
                query["dryRun"] = "All"
        if "force" in step:
            query["force"] = str(step["force"]).lower()
        for parameter, name in (("labelSelector", "labels"), ("fieldSelector", "fields"), ("shardSelector", "shards")):
            if name in step.get("selector", {}):
                query[parameter] = step["selector"][name]
        return "?" + urllib.parse.urlencode(query) if query else ""

    def body(self, verb, step):
        if verb in ("delete", "deletecollection"):
            dry_run = {"dryRun": ["All"]} if step.get("dryRun") else {}
            return {"apiVersion": "v1", "kind": "DeleteOptions", **dry_run, **step.get("options", {})}
        return step.get("text", step.get("body"))

    def headers(self, verb, step):
        if verb == "patch":
            return {"Content-Type": KINDS_OF_PATCH[step.get("type", "merge")]}
        return {"Content-Type": "application/yaml"} if step.get("type") == "yaml" else {}

    def clear_away(self):
        for path in sorted(self.made, key=lambda path: "/customresourcedefinitions/" in path):
            if path.startswith("/api/v1/namespaces/team/"):
                continue
            self.remove(path)
        self.made.clear()
        for (group, plural), places in list(self.server.resources.items()):
            if places[0][2] and "deletecollection" in places[0][3]:
                path = self.server.path(plural + ("." + group if group else ""), "team", None)
                code, answer, _ = self.server.ask("GET", path)
                for item in answer.get("items") or [] if code == 200 else []:
                    self.remove(f"{path}/{item['metadata']['name']}")
        if any(group.endswith("example.com") for group, _ in self.server.resources):
            self.server.read_resources()

    def remove(self, path):
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        code, answer, _ = self.server.ask("DELETE", path, options)
        if code < 300 and path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
            self.server.ask("PUT", path + "/finalize", {"metadata": {"name": path.rpartition("/")[2]}, "spec": {}})
        elif code < 300 and self.server.ask("GET", path)[0] == 200:
            self.server.ask("PATCH", path, {"metadata": {"finalizers": None}},
                            {"Content-Type": "application/merge-patch+json"})


class Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


def plain(dumper, text):
    """YAML 1.1 in other readers has more words for true and false than PyYAML knows."""
    style = "'" if re.fullmatch(r"[yYnN]|[0-9.,:_+-]+", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Dumper.add_representer(str, plain)


def dump(scenario):
    return yaml.dump(scenario, Dumper=Dumper, sort_keys=False, width=120, allow_unicode=True, default_flow_style=None)


def differing(file, before, after):
    lines = []
    for index, (old, new) in enumerate(zip(before["steps"], after["steps"]), 1):
        for name in sorted(set(old.get("expect", {})) | set(new["expect"])):
            was, now = old.get("expect", {}).get(name), new["expect"].get(name)
            if was != now and (name in old.get("expect", {}) or name == "error"):
                lines.append(f"{file}: step {index}: {name}: {json.dumps(was)} recorded, the server has {json.dumps(now)}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["record", "check"])
    parser.add_argument("url")
    parser.add_argument("token")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    recorder = Recorder(Server(args.url, args.token))
    failed = 0
    for file in args.files:
        scenario = yaml.safe_load(file.read_text())
        try:
            recorded = recorder.record(scenario)
        except (RuntimeError, KeyError) as error:
            print(f"{file}: {error}", file=sys.stderr)
            failed += 1
            continue
        if args.command == "record":
            file.write_text(dump(recorded))
            continue
        lines = differing(file, scenario, recorded)
        failed += bool(lines)
        print("".join(line + "\n" for line in lines), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
