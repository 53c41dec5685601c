#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs public policy libraries through a fresh `portcullis serve` and compares with their own expectations.

    tests/policy_libraries/run.py --build build/release cel-admission-library DIR
    tests/policy_libraries/run.py --build build/release gatekeeper-library DIR
    tests/policy_libraries/run.py --build build/release vap-library DIR

DIR is a checkout of the library (nothing of it is kept here). Each case makes what the library makes (custom
resource definitions, parameters, policy, binding), sends the object as a dry run and removes everything again.
A case agrees if the object is refused, warned about or accepted as the library expects; it is "not testable"
if the API refuses the object for reasons of its own, so that no policy ever sees it. What disagrees is listed;
docs/policy-libraries.md says who is right. Needs PyYAML.
"""

import argparse
import copy
import json
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"
NAMESPACE = "default"


class Server:
    """A server of one's own, as the administrator sees it."""

    def __init__(self, build):
        self.work = tempfile.TemporaryDirectory(prefix="policy-libraries-")
        folder = pathlib.Path(self.work.name)
        config = folder / "admin.kubeconfig"
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(
            [pathlib.Path(build) / "portcullis", "serve", "--store=memory", f"--data-dir={folder / 'data'}",
             "--bind-address=127.0.0.1", "--secure-port=0", f"--write-kubeconfig={config}",
             "--disable-admission-plugins=ServiceAccount"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        for _ in range(300):
            if config.exists() and config.stat().st_size:
                break
            time.sleep(0.1)
        parsed = yaml.safe_load(config.read_text())
        self.url = parsed["clusters"][0]["cluster"]["server"]
        user = parsed["users"][0]["user"]
        self.context = ssl._create_unverified_context()
        if "client-certificate" in user:
            self.context.load_cert_chain(user["client-certificate"], user["client-key"])
        else:
            import base64
            for name in ("client-certificate", "client-key"):
                (folder / name).write_bytes(base64.b64decode(user[f"{name}-data"]))
            self.context.load_cert_chain(folder / "client-certificate", folder / "client-key")
        self.resources = {}
        for _ in range(100):
            if self.call("GET", "/readyz")[0] == 200:
                break
            time.sleep(0.1)

    def close(self):
        self.process.terminate()
        self.process.wait(15)

    def call(self, method, path, body=None, content_type="application/json"):
        """(status, parsed body, warnings)"""
        request = urllib.request.Request(self.url + path, method=method)
        data = None
        if body is not None:
            data = json.dumps(body, default=str).encode()
            request.add_header("Content-Type", content_type)
        try:
            with urllib.request.urlopen(request, data, context=self.context, timeout=20) as answer:
                text, status, headers = answer.read(), answer.status, answer.headers
        except urllib.error.HTTPError as error:
            text, status, headers = error.read(), error.code, error.headers
        except (urllib.error.URLError, OSError):
            return 0, None, []
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = text
        return status, parsed, headers.get_all("Warning") or []

    def collection(self, obj):
        """The path of the collection that the object belongs to."""
        version, kind = obj["apiVersion"], obj["kind"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for fresh in (False, True):
            if fresh or base not in self.resources:
                status, found, _ = self.call("GET", base)
                self.resources[base] = found.get("resources", []) if status == 200 else []
            for resource in self.resources[base]:
                if resource["kind"] == kind and "/" not in resource["name"]:
                    if not resource["namespaced"]:
                        return f"{base}/{resource['name']}"
                    space = obj["metadata"].get("namespace") or NAMESPACE
                    self.namespace(space)
                    return f"{base}/namespaces/{space}/{resource['name']}"
        raise LookupError(f"no resource for {version} {kind}")

    def namespace(self, name):
        if name != NAMESPACE:
            self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def create(self, obj, dry_run=False):
        obj = copy.deepcopy(obj)
        path = self.collection(obj)
        if "/namespaces/" in path and not path.endswith("/namespaces"):
            obj["metadata"]["namespace"] = path.split("/namespaces/")[1].split("/")[0]
        return self.call("POST", path + ("?dryRun=All" if dry_run else ""), obj)

    def update(self, obj):
        obj = copy.deepcopy(obj)
        path = self.collection(obj)
        name = obj["metadata"]["name"]
        status, live, _ = self.call("GET", f"{path}/{name}")
        if status == 200:
            obj["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
            obj["metadata"].setdefault("namespace", live["metadata"].get("namespace"))
        return self.call("PUT", f"{path}/{name}?dryRun=All", obj)

    def delete(self, obj):
        try:
            self.call("DELETE", f"{self.collection(obj)}/{obj['metadata']['name']}?gracePeriodSeconds=0")
        except LookupError:
            pass

    def make(self, obj):
        """Creates something a case needs; an error is the library's or ours."""
        status, answer, _ = self.create(obj)
        if status == 409:
            return
        if status != 201:
            raise RuntimeError(f"{obj['kind']} {obj['metadata']['name']}: {message(answer)}")
        if obj["kind"] == "CustomResourceDefinition":
            self.resources.clear()


def message(answer):
    return answer.get("message", str(answer)) if isinstance(answer, dict) else str(answer)


class Report:
    def __init__(self):
        self.cases = self.agree = 0
        self.untestable, self.disagreements, self.policies, self.refused = [], [], set(), []

    def judge(self, name, policy, expected, outcome):
        status, answer, warnings = outcome
        text = message(answer)
        denied = status >= 400 and policy in text and "denied request" in text
        self.cases += 1
        if status >= 400 and not denied:
            self.untestable.append(f"{name}: {text}")
            return
        warned = any(policy in warning for warning in warnings)
        got = "fail" if denied else "warn" if warned else "pass"
        if got == expected:
            self.agree += 1
        else:
            self.disagreements.append(f"{name}: expected {expected}, got {got}: {text if denied else ''}")

    def print(self):
        print(f"{len(self.policies)} policies, {self.cases} cases: {self.agree} agree, "
              f"{len(self.disagreements)} disagree, {len(self.untestable)} not testable, "
              f"{len(self.refused)} not created")
        for title, lines in (("disagree", self.disagreements), ("not testable", self.untestable),
                             ("not created", self.refused)):
            for line in lines:
                print(f"  {title}: {line}")


def documents(path):
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def set_field(data, change):
    """spec.containers.[0].image=x, as the library's own script reads it."""
    path, value = change.split("=", 1)
    try:
        value = json.loads(value)
    except ValueError:
        pass
    keys = [int(key[1:-1]) if re.fullmatch(r"\[\d+\]", key) else key for key in path.split(".")]
    for place, key in enumerate(keys):
        last = place == len(keys) - 1
        fresh = value if last else [] if isinstance(keys[place + 1], int) else {}
        if isinstance(data, list):
            data.extend([None] * (key + 1 - len(data)))
            absent = data[key] is None
        else:
            absent = data.get(key) is None
        if last or absent:
            data[key] = fresh
        data = data[key]


def run_cel_admission_library(server, root, report, only):
    server.make(documents(root / "configuration" / "policy-configuration-definition.yaml")[0])
    resources = root / "test-resources"
    for folder in sorted([*(root / "controls").iterdir(), *(root / "runtime-policies").iterdir()]):
        if not (folder / "policy.yaml").exists() or (only and folder.name not in only):
            continue
        policy = documents(folder / "policy.yaml")[0]
        name = policy["metadata"]["name"]
        report.policies.add(name)
        tests = json.loads((folder / "tests.json").read_text()) if (folder / "tests.json").exists() else []
        for test in tests or [None]:
            params, binding = f"{name}-params", f"{name}-binding"
            made = []
            try:
                if test:
                    param = documents(resources / test.get("param_template", "default-control-configuration.yaml"))[0]
                    set_field(param, f"metadata.name={params}")
                    bound = documents(resources / test.get("binding_template", "policy-binding.yaml"))[0]
                    for change in (f"spec.policyName={name}", f"metadata.name={binding}",
                                   f"spec.paramRef.name={params}"):
                        set_field(bound, change)
                    made = [param, bound]
                made.append(policy)
                for obj in made:
                    server.make(obj)
                if test:
                    obj = documents(resources / test["template"])[0]
                    for change in test.get("field_change_list", []):
                        set_field(obj, change)
                    report.judge(f"{folder.name}: {test['name']}", name, test["expected"],
                                 server.create(obj, dry_run=True))
            except (RuntimeError, LookupError) as error:
                report.refused.append(f"{folder.name}: {error}")
            finally:
                for obj in reversed(made):
                    server.delete(obj)


class GoCases:
    """The cases of one policy of vap-library, read from the text of its Go test."""

    STEP = re.compile(r'(Setup|Assess)\((?:"((?:[^"\\]|\\.)*)", )?func\(')
    CALL = re.compile(r"ApplyK8sResourceFromYAML\(ctx, cfg, |patchData := \[\]byte\(")
    LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|[A-Za-z_.]+')

    def __init__(self, path):
        text = path.read_text()
        self.texts = dict(re.findall(r"var (\w+)(?: string)? = `([^`]*)`", text))
        self.labels = dict(re.findall(r'"([^"]+)": "([^"]+)"',
                                      "".join(re.findall(r"namespaceLabels = map.*?\{(.*?)\}", text))))
        self.bindings = {name: value == "true" for name, value in re.findall(
            r'"([^"]+)": (true|false)', "".join(re.findall(r"bindingsToGenerate = map.*?\{(.*?)\}", text)))}
        self.tests = {}
        for name, body in re.findall(r"^func (Test\w+)\(t \*testing\.T\) \{\n(.*?)^\}", text, re.M | re.S):
            self.tests[name] = list(self.steps(body))

    def steps(self, body):
        """(title, [(what to send, is it accepted, how the message ends)]) of each step."""
        places = list(self.STEP.finditer(body))
        for place, following in zip(places, [*places[1:], None]):
            code = body[place.end():following.start() if following else len(body)]
            yield place.group(2) or "setup", list(self.requests(code))

    def requests(self, code):
        calls = list(self.CALL.finditer(code))
        for call, following in zip(calls, [*calls[1:], None]):
            rest = code[call.end():following.start() if following else len(code)]
            sprintf = rest.startswith("fmt.Sprintf(")
            tokens = self.LITERAL.findall(rest[len("fmt.Sprintf(") if sprintf else 0:rest.index("\n")].rstrip())
            patched = re.search(r'Get\(ctx, ("[^"]*"), namespace, (\w+)\)', code[:call.start()])
            subresource = re.search(r'PatchSubresource\(ctx, \w+, "(\w+)"', rest)
            verdict = re.search(r"if err (==|!=) nil", rest[rest.index("\n"):])
            suffix = re.findall(r"HasSuffix\(err\.Error\(\), (?:fmt\.Sprintf\()?(.*?)\)? ?\{", rest)
            yield {"text": tokens[0], "arguments": tokens[1:], "accepted": verdict.group(1) == "!=",
                   "ends": self.LITERAL.findall(suffix[0]) if suffix else [],
                   "patches": json.loads(patched.group(1)) if call.group(0).startswith("patch") else None,
                   "subresource": subresource.group(1) if subresource else None}

    def format(self, tokens, namespace):
        """What fmt.Sprintf makes of a format and its arguments."""
        values = [namespace if token == "namespace" else self.texts[token] if token in self.texts
                  else json.loads(token) if token.startswith('"') else token.strip("`") for token in tokens]
        for value in values[1:]:
            values[0] = values[0].replace("%s", value, 1)
        return values[0]


def vap_library_binding(name, has_params):
    params = {"paramRef": {"name": f"{name}.vap-library.com", "parameterNotFoundAction": "Deny"}} if has_params else {}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": f"{name}-deny.vap-library.com"},
            "spec": {"policyName": f"{name}.vap-library.com", "validationActions": ["Deny", "Audit"], **params,
                     "matchResources": {"matchPolicy": "Equivalent", "objectSelector": {}, "namespaceSelector": {
                         "matchLabels": {f"vap-library.com/{name}": "deny"}}}}}


def vap_library_request(server, cases, request, namespace):
    text = cases.format([request["text"], *request["arguments"]], namespace)
    if request["patches"] is None:
        return server.create(yaml.safe_load(text))
    path = f"/api/v1/namespaces/{namespace}/pods/{request['patches']}/{request['subresource']}"
    return server.call("PATCH", path, yaml.safe_load(text), "application/strategic-merge-patch+json")


def run_vap_library_cases(server, folder, policy, report):
    cases = GoCases(folder / "policy_test.go")
    bindings = [vap_library_binding(*item) for item in cases.bindings.items()]
    for binding in bindings:
        server.make(binding)
    for number, (test, steps) in enumerate(cases.tests.items()):
        namespace = f"{folder.name}-{number}"
        server.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace, "labels": cases.labels}})
        for title, requests in steps:
            for request in requests:
                title = f"{folder.name}/{test}: {title}"
                try:
                    status, answer, warnings = vap_library_request(server, cases, request, namespace)
                except LookupError as error:
                    report.refused.append(f"{title}: {error}")
                    continue
                if title.endswith(": setup"):
                    if status not in (200, 201):
                        report.refused.append(f"{title}: {message(answer)}")
                    continue
                report.judge(title, policy, "pass" if request["accepted"] else "fail", (status, answer, warnings))
                ends = cases.format(request["ends"], namespace) if request["ends"] else ""
                if not message(answer).endswith(ends):
                    report.disagreements.append(f"{title}: expected …{ends}, got {message(answer)}")
    for binding in bindings:
        server.delete(binding)


def run_vap_library(server, root, report, only):
    for vendored in sorted((root / "vendoring").rglob("*.yaml")):
        for obj in documents(vendored):
            if obj.get("kind") == "CustomResourceDefinition":
                try:
                    server.make(obj)
                except RuntimeError as error:
                    report.refused.append(str(error))
    for folder in sorted((root / "policies").iterdir()):
        if not (folder / "policy.yaml").exists() or (only and folder.name not in only):
            continue
        try:
            for path in (folder / "crd-parameter.yaml", folder / "policy.yaml"):
                for obj in documents(path) if path.exists() else []:
                    server.make(obj)
                    if obj["kind"] == "ValidatingAdmissionPolicy":
                        report.policies.add(folder.name)
                        print_type_warnings(server, folder.name, obj["metadata"]["name"])
            run_vap_library_cases(server, folder, f"{folder.name}.vap-library.com", report)
        except (RuntimeError, LookupError) as error:
            report.refused.append(f"{folder.name}: {error}")


def print_type_warnings(server, title, policy):
    _, stored, _ = server.call("GET", f"{POLICIES}/{policy}")
    for warning in stored.get("status", {}).get("typeChecking", {}).get("expressionWarnings", []):
        print(f"  types: {title} {warning['fieldRef']}: {warning['warning'].splitlines()[0]}")


def constraint_crd(template):
    kind = template["spec"]["crd"]["spec"]["names"]["kind"]
    schema = template["spec"]["crd"]["spec"].get("validation", {}).get("openAPIV3Schema") or {}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **copy.deepcopy(schema)}
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{kind.lower()}.constraints.gatekeeper.sh"},
            "spec": {"group": "constraints.gatekeeper.sh", "scope": "Cluster",
                     "names": {"kind": kind, "plural": kind.lower(), "singular": kind.lower()},
                     "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "properties": {"spec": {"type": "object", "properties": {
                             "enforcementAction": {"type": "string"}, "match": loose, "parameters": schema}}}}}}]}}


def constraint_policy(template, source):
    """The policy that the template's CEL stands for, as Gatekeeper makes it."""
    name = template["metadata"]["name"]
    variables = [
        {"name": "params",
         "expression": "!has(params.spec) ? null : !has(params.spec.parameters) ? null: params.spec.parameters"},
        {"name": "anyObject",
         "expression": 'has(request.operation) && request.operation == "DELETE" && object == null ? oldObject : object'},
        *source.get("variables", [])]
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": f"gatekeeper-{name}"},
            "spec": {"failurePolicy": source.get("failurePolicy", "Fail"), "variables": variables,
                     "paramKind": {"apiVersion": "constraints.gatekeeper.sh/v1beta1",
                                   "kind": template["spec"]["crd"]["spec"]["names"]["kind"]},
                     "matchConstraints": {"resourceRules": [{
                         "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
                         "resources": ["*"]}]},
                     "matchConditions": source.get("matchCondition", []),
                     "validations": source["validations"]}}


def expects_violation(case):
    for assertion in case.get("assertions", []):
        violations = assertion.get("violations", "yes")
        return violations not in (False, "no", 0)
    return False


def run_gatekeeper_library(server, root, report, only):
    for suite_path in sorted((root / "library").rglob("suite.yaml")):
        folder = suite_path.parent
        if only and folder.name not in only:
            continue
        for test in documents(suite_path)[0].get("tests", []):
            template = documents(folder / test["template"])[0]
            sources = [code["source"] for target in template["spec"]["targets"] for code in target.get("code", [])
                       if code["engine"] == "K8sNativeValidation"]
            if not sources:
                continue
            policy = constraint_policy(template, sources[0])
            constraint = documents(folder / test["constraint"])[0]
            name = policy["metadata"]["name"]
            report.policies.add(name)
            binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
                       "metadata": {"name": f"{name}-binding"},
                       "spec": {"policyName": name, "validationActions": ["Deny"], "paramRef": {
                           "name": constraint["metadata"]["name"], "parameterNotFoundAction": "Deny"}}}
            try:
                server.make(constraint_crd(template))
                server.make(constraint)
                server.make(policy)
            except (RuntimeError, LookupError) as error:
                report.refused.append(f"{folder.name}/{test['name']}: {error}")
                continue
            for case in test["cases"]:
                gatekeeper_case(server, folder, test, case, binding, report)
            server.delete(policy)
            server.delete(constraint)


def gatekeeper_case(server, folder, test, case, binding, report):
    obj = documents(folder / case["object"])[0]
    old = None
    if obj["kind"] == "AdmissionReview":
        review = obj["request"]
        obj, old = review.get("object"), review.get("oldObject")
        if review.get("operation") != "UPDATE":
            old = None
        elif old is None:
            old = obj
    obj.setdefault("metadata", {}).setdefault("name", "unnamed")
    title = f"{folder.name}/{test['name']}: {case['name']}"
    try:
        if old:
            old.setdefault("metadata", {}).setdefault("name", obj["metadata"]["name"])
            status, answer, _ = server.create(old)
            if status != 201:
                report.cases += 1
                report.untestable.append(f"{title}: {message(answer)}")
                return
        server.make(binding)
        outcome = server.update(obj) if old else server.create(obj, dry_run=True)
        report.judge(title, binding["spec"]["policyName"], "fail" if expects_violation(case) else "pass", outcome)
    except LookupError as error:
        report.cases += 1
        report.untestable.append(f"{title}: {error}")
    finally:
        server.delete(binding)
        if old:
            server.delete(old)


LIBRARIES = {"cel-admission-library": run_cel_admission_library, "vap-library": run_vap_library,
             "gatekeeper-library": run_gatekeeper_library}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path, help="folder with the program")
    parser.add_argument("--only", action="append", default=[], help="a folder of the library; may be repeated")
    parser.add_argument("library", choices=sorted(LIBRARIES))
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    server = Server(args.build)
    report = Report()
    try:
        LIBRARIES[args.library](server, args.folder, report, args.only)
    finally:
        server.close()
    report.print()
    return 1 if report.disagreements or report.refused else 0


if __name__ == "__main__":
    sys.exit(main())
