#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `portcullis test` makes of bad input and of much input, as a user meets it: exit codes, places, files.

    tests/integration/offline.py --build build/release
"""

import argparse
import base64
import http.server
import json
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree

import process

CONFIGMAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
LARGE = 100 << 20


def check(what, is_, wanted):
    if is_ != wanted:
        raise AssertionError(f"{what}: {is_!r}, not {wanted!r}")


def holds(what, text, wanted):
    if wanted not in text:
        raise AssertionError(f"{what}: {wanted!r} is not in {text[:2000]!r}")


class Folder:
    def __init__(self, program, path):
        self.program, self.path = program, path

    def write(self, name, content):
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content)

    def run(self, *arguments, code, stdin=None, **more):
        done = subprocess.run([self.program, *arguments], cwd=self.path, capture_output=True, text=True, input=stdin,
                              timeout=120, **more)
        check(f"exit status of {arguments}: {done.stdout[-1500:]}{done.stderr[-500:]}", done.returncode, code)
        return done.stdout + done.stderr


def recordings(folder):
    with tempfile.TemporaryDirectory() as data:
        server = process.Server(folder.program, data, "--store=memory", f"--record={folder.path}/corpus", "--record-redact=configmaps:data.key")
        try:
            for i in range(12):
                made = {"metadata": {"name": f"a{i}"}, "data": {"size": str(i), "key": "hidden"}}
                check("made", server.call("POST", process.CONFIGMAPS, made)[0], 201)
            secret = {"metadata": {"name": "s"}, "stringData": {"x": "hidden"}}
            check("a Secret", server.call("POST", process.CONFIGMAPS.replace("configmaps", "secrets"), secret)[0], 201)
        finally:
            server.end(signal.SIGTERM)
    recorded = (folder.path / "corpus/requests.json").read_text()
    check("secrets", "hidden" in recorded, False)
    maps = [line for line in recorded.splitlines() if '"resource":"configmaps"' in line and "a1" in line or '"a0"' in line]
    check("few that are alike", len([line for line in recorded.splitlines() if '"size"' in line]), 10)
    holds("its values", maps[0], '"size":"0"')
    folder.write("none/policy.yaml", POLICY % 100)
    holds("a replay", folder.run("replay", "corpus", "-f", "none", code=0), " 0 failed")
    folder.write("policies/policy.yaml", POLICY % 5)
    text = folder.run("replay", "corpus", "-f", "policies", code=1)
    holds("what a policy changes", text, "code is 422, not 201")
    text = folder.run("record", "--to=again", "--per-shape=2", "corpus/requests.json", code=0)
    holds("a recording of a recording", text, " alike, 0 by --sample")
    holds("no events", folder.run("record", "--to=again", code=1, stdin="no\n"), "<stdin>:1: ")
    holds("no folder", folder.run("record", code=2, stdin=""), "--to names no directory")
    holds("nothing to replay", folder.run("replay", "policies", code=2), "no recorded request was found")


def exit_codes(folder):
    folder.write("good.yaml", CONFIGMAP % "a")
    folder.write("bad.yaml", CONFIGMAP % "A_")
    folder.run("test", "good.yaml", code=0)
    folder.run("test", "bad.yaml", code=1)
    holds("an unknown flag", folder.run("test", "--nope", code=2), "unknown flag: --nope")
    holds("a form", folder.run("test", "-o", "xml", code=2), "must be one of table, json")
    holds("a version", folder.run("test", "--kubernetes-version=1.2", code=2), "1.2")
    holds("a gate", folder.run("test", "--feature-gates=Nope=true", code=2), "Nope")
    holds("a plugin", folder.run("test", "--enable-admission-plugins=Nope", code=2), "Nope")
    holds("a path", folder.run("test", "absent.yaml", code=2), "absent.yaml: ERROR no such file or directory")
    holds("help", folder.run("test", "--help", code=0), "helm template . | portcullis test -")
    folder.run("test", "-", code=0, stdin=CONFIGMAP % "b")
    folder.run("test", "empty", "--require-manifests", code=2)
    holds("explain", folder.run("explain", code=2), "a FILE to explain is missing")
    holds("a folder as Go names it", folder.run("test", "./...", "-o", "text", code=1), "DENY configmaps/A_")
    # kubectl finds plugins by their names.
    (folder.path / "kubectl-portcullis").symlink_to(folder.program)
    done = subprocess.run([folder.path / "kubectl-portcullis", "test", "good.yaml"], cwd=folder.path, capture_output=True, text=True)
    check("a plugin of kubectl", (done.returncode, done.stderr), (0, ""))


def broken_files(folder):
    folder.write("broken.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  - b\n")
    folder.write("binary.yaml", b"\x7fELF\0\0\0")
    folder.write("good.yaml", CONFIGMAP % "a")
    folder.write("deep.yaml", "a: " + "[" * 20000)
    (folder.path / "loop").symlink_to(".", target_is_directory=True)
    (folder.path / "self.yaml").symlink_to("self.yaml")
    (folder.path / "gone.yaml").symlink_to("nowhere.yaml")
    text = folder.run("test", code=2)
    holds("broken YAML", text, "broken.yaml:5: ERROR yaml: ")
    holds("a binary file", text, "binary.yaml: ERROR a binary file")
    holds("deep nesting", text, "deep.yaml:1: ERROR yaml: ")
    holds("a loop of folders", text, "loop: ERROR a link to a directory that it is in")
    holds("a loop of links", text, "self.yaml: ERROR too many levels of symbolic links")
    holds("a broken link", text, "gone.yaml: ERROR no such file or directory")
    holds("the rest", text, "1 manifest: 1 allowed")


def closed_folder(folder):
    if os.geteuid() == 0:
        os.chmod(folder.path, 0o755)
    folder.write("closed/a.yaml", CONFIGMAP % "a")
    folder.write("b.yaml", CONFIGMAP % "b")
    os.chmod(folder.path / "closed", 0)
    try:
        more = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        text = folder.run("test", code=2, **more)
    finally:
        os.chmod(folder.path / "closed", 0o755)
    holds("a closed folder", text, "closed: ERROR permission denied")
    holds("the rest", text, "1 allowed")


def large_files(folder):
    folder.write("large.yaml", (CONFIGMAP % "a") + "data:\n  a: " + "x" * LARGE + "\n")
    holds("100 MB", folder.run("test", code=2), "large.yaml:1:1: ERROR a document of 100 MiB; at most 64 MiB are read")


def many_files(folder):
    for i in range(10_000):
        folder.write(f"{i % 100}/{i}.yaml", CONFIGMAP % f"a{i}")
    document = json.loads(folder.run("test", "-o", "json", "-o", "junit=report.xml", code=0))
    check("manifests", document["summary"]["allow"], 10_000)
    check("cases", (folder.path / "report.xml").read_text().count("<testcase "), 10_000)


def duplicates(folder):
    folder.write("a.yaml", CONFIGMAP % "a")
    folder.write("b.yaml", CONFIGMAP % "a")
    text = folder.run("test", code=1)
    holds("a duplicate", text, 'b.yaml:1:1: configmaps "a" already exists')
    holds("its twin", text, "the same object stands at a.yaml:1:1")


HOOK = """apiVersion: admissionregistration.k8s.io/v1
kind: %(kind)sWebhookConfiguration
metadata: {name: %(name)s}
webhooks:
- name: %(name)s.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: hook, namespace: default}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
---
"""
ANSWERS = """answers:
- webhook: label.example.com
  response: {allowed: true, patch: [{op: add, path: /metadata/labels, value: {by: hook}}], warnings: [look out]}
- webhook: check.example.com
  response: {allowed: %s, status: {message: not today}}
"""


def webhooks(folder):
    folder.write("all.yaml", HOOK % {"kind": "Mutating", "name": "label"} + HOOK % {"kind": "Validating", "name": "check"}
                 + CONFIGMAP % "a")
    text = folder.run("test", "all.yaml", code=0)
    holds("a webhook that is not called", text, "webhook not called: label/label.example.com")
    folder.write("yes.txt", ANSWERS % "true")
    result = json.loads(folder.run("test", "all.yaml", "--webhooks=yes.txt", "-o", "json", code=0))["results"][-1]
    check("labels", result["object"]["metadata"]["labels"], {"by": "hook"})
    check("warnings", result["warnings"], ["look out"])
    folder.write("no.txt", ANSWERS % "false")
    text = folder.run("test", "all.yaml", "--webhooks=no.txt", code=1)
    holds("a denial", text, 'admission webhook "check.example.com" denied the request: not today')
    holds("its rule", text, "rule all.yaml:15:3")
    text = folder.run("test", "all.yaml", "--webhooks=call", code=1)
    holds("a call", text, 'service "hook" not found')
    folder.write("wrong.txt", "answers:\n- webhook: a\n  respond: {}\n")
    holds("a mistake", folder.run("test", "all.yaml", "--webhooks=wrong.txt", code=2), "wrong.txt:2:3: an answer has")
    holds("a field", folder.run("explain", "all.yaml", "--webhooks=yes.txt", code=0), "webhook/label/label.example.com")


def reports(folder):
    folder.write("bad.yaml", CONFIGMAP % "A_")
    text = folder.run("test", "bad.yaml", "-o", "github", "-o", "sarif=r.sarif", "-o", "json=r.json", code=1)
    holds("an annotation", text, "::error file=bad.yaml,line=3,col=12,title=validation::")
    sarif = json.loads((folder.path / "r.sarif").read_text())
    region = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    check("place in SARIF", region, {"startLine": 3, "startColumn": 12})
    check("code in JSON", json.loads((folder.path / "r.json").read_text())["results"][0]["code"], 422)
    check("colors in a pipe", "\x1b" in folder.run("test", "bad.yaml", code=1), False)
    folder.run("test", "bad.yaml", "-o", "json=absent/r.json", code=2)


POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limit}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations: [{expression: "int(object.data.size) <= %s", message: too large}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limit}
spec: {policyName: limit, validationActions: [Deny]}
"""
SIZED = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {size: '%s'}\n"


def colors(folder):
    folder.write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    for environment, red in (({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)):
        text = folder.run("test", "pod.yaml", code=1, env={**plain, **environment})
        check(f"colors by {environment}", "\x1b[31m" in text, red)


def stored_objects(folder):
    folder.write("old.yaml", SIZED % 3)
    folder.write("new.yaml", SIZED % 9)
    folder.write("policy.yaml", POLICY % 5)
    result = json.loads(folder.run("test", "new.yaml", "--old=old.yaml", "-f", "policy.yaml", "-o", "json", code=1))["results"][0]
    check("operation", result["operation"], "UPDATE")
    holds("a denial", result["message"], "denied request: too large")
    folder.run("test", "new.yaml", "--old=old.yaml", "--operation=delete", code=0)
    holds("a conflict", folder.run("test", "new.yaml", "--old=old.yaml", "--server-side", code=1), "conflict")
    folder.run("test", "new.yaml", "--old=old.yaml", "--server-side", "--force-conflicts", code=0)


def initial_tests(folder):
    folder.write("limit.yaml", POLICY % 5)
    holds("what is written", folder.run("test", "--init", "limit.yaml", code=0), "writes limit.test.yaml")
    text = (folder.path / "limit.test.yaml").read_text()
    holds("a case", text, 'name: "UPDATE of a plain ConfigMap"\n  operation: UPDATE\n')
    holds("a side of a validation", text, '# validations[0].expression is true: int(object.data.size) <= 5\n  set: {data.size: "5"}\n')
    holds("the other", text, 'set: {data.size: "6"}\n  expect: {policy: limit, verdict: deny}\n')
    holds("its cases", folder.run("test", "limit.test.yaml", code=0), "4 cases: 4 passed")
    branches(folder)
    folder.write("misspelt.yaml", POLICY.replace("object.data.size", "object.data.sizes.all").replace("limit", "misspelt") % 5)
    holds("an expression that always fails", folder.run("test", "--init", "misspelt.yaml", code=0), "writes misspelt.test.yaml")
    holds("a file that is there", folder.run("test", "--init", "limit.yaml", code=2), "--force replaces it")
    holds("no policy", folder.run("test", "--init", "limit.test.yaml", code=2), "holds no ValidatingAdmissionPolicy")
    policy, binding = (POLICY.replace("limit", "apart") % 5).split("---\n", 1)
    folder.write("apart.yaml", policy)
    folder.write("binding.yaml", binding)
    holds("no binding", folder.run("test", "--init", "apart.yaml", code=2), "give the binding's file with -f")
    folder.run("test", "--init", "apart.yaml", "-f", "binding.yaml", code=0)
    holds("a binding apart", (folder.path / "apart.test.yaml").read_text(), "verdict: deny")


BRANCHES = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: branches}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  matchConditions: [{name: people, expression: "request.userInfo.username != 'system:controller'"}]
  variables: [{name: pod, expression: object.spec.template.spec}]
  validations:
  - expression: "!has(object.spec.minReadySeconds) || object.spec.minReadySeconds <= 30 && object.spec.replicas > 1"
  - expression: "request.operation == 'UPDATE' ? oldObject.spec.replicas - object.spec.replicas < 3 : true"
  - expression: "variables.pod.containers.all(c, has(c.securityContext) && has(c.securityContext.privileged) ? !c.securityContext.privileged : true)"
  - expression: "'team' in object.metadata.?labels.orValue({}) || object.spec.replicas <= int(params.data.most)"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: branches}
spec:
  policyName: branches
  validationActions: [Deny]
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchLabels: {stage: production}}, objectSelector: {matchLabels: {judged: "yes"}}}
"""


def branches(folder):
    """Ternaries, operands, has(), loops, variables, users, old objects, parameters of another file, selectors."""
    folder.write("policies/branches.yaml", BRANCHES)
    folder.write("parameters/limits.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: default}\ndata: {most: '5'}\n")
    folder.run("test", "--init", "policies/branches.yaml", "-f", "parameters/limits.yaml", code=0)
    text = (folder.path / "policies/branches.test.yaml").read_text()
    holds("files", text, "files: [branches.yaml, ../parameters/limits.yaml]")
    holds("a namespace", text, 'labels: {"stage":"production"}}}\nnamespace: selected-by-branches\n')
    holds("coverage", folder.run("test", "policies/branches.test.yaml", "--coverage", code=0), "\ncoverage: 100 %")
    check("cases to complete", "# set what makes it" in text, False)


def rules_without_resources(folder):
    """A test of a policy that never matches would pass for ever."""
    folder.write("limit.yaml", POLICY.replace("configmaps", "configmap") % 5)
    folder.write("limit.test.yaml", "apiVersion: portcullis.dev/v1\nkind: Test\nmetadata: {name: limit}\nfiles: [limit.yaml]\n"
                 "object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\ncases: [{name: a, expect: allow}]\n")
    text = folder.run("test", "limit.test.yaml", code=2)
    holds("the rule", text, "limit.yaml:6:21: ERROR the rule of ValidatingAdmissionPolicy limit matches nothing")


def updates(folder):
    folder.write("limit.yaml", POLICY % 5)
    folder.run("test", "--init", "limit.yaml", code=0)
    before = (folder.path / "limit.test.yaml").read_text()
    wrong = before.replace("expect: {policy: limit, verdict: deny}",
                           "expect:\n    policy: limit\n    verdict: allow  # kept", 1)
    check("a case to correct", wrong != before, True)
    folder.write("limit.test.yaml", wrong)
    (folder.path / "limit.test.yaml").chmod(0o640)
    folder.run("test", "limit.test.yaml", code=1)
    text = folder.run("test", "limit.test.yaml", "--update", code=0)
    holds("what was", text, '  - expect.verdict: "allow"\n  + expect.verdict: "error"\n')
    holds("what is written", text, "writes limit.test.yaml\n")
    check("the file", (folder.path / "limit.test.yaml").read_text(), wrong.replace("verdict: allow  # kept", "verdict: error  # kept"))
    check("its permissions", (folder.path / "limit.test.yaml").stat().st_mode & 0o777, 0o640)
    check("nothing to do", "writes" in folder.run("test", "limit.test.yaml", "--update", code=0), False)
    holds("standard input", folder.run("test", "-", "--update", code=2, stdin=wrong), "standard input is none")


def coverage(folder):
    folder.write("limit.yaml", POLICY % 5)
    folder.write("limit.test.yaml", "apiVersion: portcullis.dev/v1\nkind: Test\nmetadata: {name: limit}\nfiles: [limit.yaml]\n"
                 "objects:\n- {apiVersion: v1, kind: Namespace, metadata: {name: other}}\n"
                 "object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}\n"
                 "cases: [{name: a, expect: {policy: limit, verdict: error}}]\n")
    text = folder.run("test", "limit.test.yaml", "--coverage", "--coverage=lcov=c.info", "--coverage=cobertura=c.xml",
                      "--coverage=json=c.json", code=0)
    holds("what always fails", text, "\n  limit.yaml:7:18: validations[0].expression never has a result: ")
    holds("the sum", text, "\ncoverage: ")
    document = json.loads((folder.path / "c.json").read_text())
    check("policies", [policy["name"] for policy in document["policies"]], ["limit"])
    lines = (folder.path / "c.info").read_text().splitlines()
    check("lines of lcov", (lines[1], lines[-1]), ("SF:limit.yaml", "end_of_record"))
    root = xml.etree.ElementTree.parse(folder.path / "c.xml").getroot()
    check("the file in Cobertura", [one.get("filename") for one in root.iter("class")], ["limit.yaml"])
    holds("a form", folder.run("test", "limit.test.yaml", "--coverage=gcov", code=2), "must be one of text, json, lcov, cobertura")


def pages(folder):
    folder.write("a.yaml", SIZED % "<3>")
    text = folder.run("explain", "a.yaml", "-o", "html", code=0)
    holds("a page", text, "<summary class=\"allow\">a.yaml:1:1 allow configmaps/a -n default</summary>")
    holds("its text", text, "size: &lt;3&gt;")


def order(folder):
    folder.write("policy.yaml", POLICY % 5)
    folder.write("a.yaml", SIZED % 7)
    text = folder.run("explain", "--order=configmaps", "-f", "policy.yaml", code=0)
    holds("a policy", text, "\n  ValidatingAdmissionPolicy           CREATE,UPDATE,DELETE\n    limit/limit                       CREATE,UPDATE")
    document = json.loads(folder.run("explain", "--order=cm", "-f", "policy.yaml", "-o", "json", code=0))
    check("phases", [(phase["phase"], phase["round"]) for phase in document["phases"]],
          [("mutating", 0), ("mutating", 1), ("validating", 0)])
    holds("a kind", folder.run("explain", "--order=nope", code=2), 'doesn\'t have a resource type "nope"')
    holds("values", folder.run("explain", "a.yaml", "-f", "policy.yaml", code=1), '        object.data.size = "7"\n')


JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}
"""


def differences(folder):
    folder.write("policies/p.yaml", POLICY % 5)
    folder.write("a.yaml", SIZED % 7)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=folder.path, check=True)
    folder.run("diff", "--old", "HEAD:policies", "--new", "policies", "a.yaml", code=0)
    folder.write("policies/p.yaml", POLICY % 9)
    text = folder.run("diff", "--old", "HEAD:policies", "--new", "policies", "a.yaml", code=1)
    holds("a verdict", text, "a.yaml:1:1: configmaps/a -n default: deny -> allow")
    document = json.loads(folder.run("diff", "--old", "HEAD:policies", "--new", "policies", "a.yaml", "-o", "json", code=1))
    check("the new side", document["changes"][0]["new"]["verdict"], "allow")
    folder.run("diff", "--kubernetes-versions=1.34,1.36", "a.yaml", code=0)
    text = folder.run("diff", "--old", "HEAD:policies", "--new", "policies", "a.yaml", "-o", "github", "-o", "junit=d.xml", code=1)
    holds("an annotation", text, "verdict deny -> allow")
    check("a test case", len(list(xml.etree.ElementTree.parse(folder.path / "d.xml").getroot().iter("testcase"))), 1)
    folder.write("job.yaml", JOB)
    folder.run("diff", "--kubernetes=1.36,1.36", "job.yaml", code=0)
    text = folder.run("diff", "--new-plugins=AlwaysPullImages", "job.yaml", code=0)
    holds("a plugin for pods", text, "0 differ")
    folder.write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: 'a:1'}]}\n")
    text = folder.run("diff", "--new-plugins=AlwaysPullImages,-PodSecurity", "pod.yaml", code=1)
    holds("a set of plugins", text, "replace /spec/containers/0/imagePullPolicy: \"Always\"")
    holds("no side", folder.run("diff", "a.yaml", code=2), "say what is compared")
    holds("a revision", folder.run("diff", "--old", "nope:policies", "--new", "policies", "a.yaml", code=2), "no directory of a git")
    # No option of git.
    holds("a revision", folder.run("diff", "--old=--output=made:x", "--new", "policies", "a.yaml", code=2), "no directory of a git")
    check("what git has written", (folder.path / "made:x").exists(), False)


def findings(folder):
    folder.write("p.yaml", POLICY.replace("configmaps", "configmap") % 5)
    holds("a finding", folder.run("lint", "p.yaml", code=1), "p.yaml:6:21: error rule-never-matches: ")
    folder.write("p.yaml", "# portcullis:ignore rule-never-matches of a test\n" + POLICY.replace("configmaps", "configmap") % 5)
    holds("a comment", folder.run("lint", "p.yaml", code=0), "1 ignored")
    holds("the rules", folder.run("lint", "--rules", code=0), "## webhook-blocks-own-pods")
    # Two webhooks whose order matters: their answers are in a file.
    hook = HOOK.replace("resources: [configmaps]}]", "resources: [configmaps]}]\n  matchPolicy: Equivalent\n  timeoutSeconds: 1")
    folder.write("hooks.yaml", hook % {"kind": "Mutating", "name": "a"} + hook % {"kind": "Mutating", "name": "b"})
    answer = "- webhook: %s.example.com\n  response: {allowed: true, patch: [{op: add, path: /data, value: {by: %s}}]}\n"
    folder.write("answers.txt", "answers:\n" + answer % ("a", "a") + answer % ("b", "b"))
    check("not called", "do-not-commute" in folder.run("lint", "hooks.yaml", code=0), False)
    text = folder.run("lint", "hooks.yaml", "--webhooks=answers.txt", code=0)
    holds("an order", text, 'warning mutators-do-not-commute: webhook a.example.com and webhook b.example.com make different objects of a plain '
          'ConfigMap in the other order: data.by is "b" or "a"')


def configurations(folder):
    """A side is also told apart by its AdmissionConfiguration, and by those of its files."""
    for side, level in (("old", "privileged"), ("new", "baseline")):
        folder.write(f"{side}/pod-security.yaml", POD_SECURITY % level)
        folder.write(f"{side}/admission.yaml", ADMISSION)
    folder.write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
                 "spec: {hostNetwork: true, containers: [{name: a, image: 'a:1'}]}\n")
    text = folder.run("diff", "--old", "old", "--new", "new", "pod.yaml", code=1)
    holds("a verdict", text, "pod.yaml:1:1: pods/a -n default: allow -> deny")
    holds("its reason", text, 'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)')
    folder.run("diff", "--old", "old", "--new", "old/admission.yaml", "pod.yaml", code=0)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=folder.path, check=True)
    text = folder.run("diff", "--old", "HEAD:old", "--new", "new", "pod.yaml", code=2)
    holds("one of a revision", text, "an AdmissionConfiguration of a revision is not used")
    # A failure that another one hides is shown, too.
    folder.write("policies.yaml", POLICY % 5)
    folder.write("others.yaml", (POLICY % 5).replace("too large", "too many"))
    folder.write("a.yaml", SIZED.replace("name: a", "name: A_") % 7)
    text = folder.run("diff", "--old", "policies.yaml", "--new", "others.yaml", "a.yaml", code=1)
    holds("what differs", text, "denied request: too many")


ADMISSION = """apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- {name: PodSecurity, path: pod-security.yaml}
"""
POD_SECURITY = """apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: %s, enforce-version: latest}
"""


def certificates(folder):
    """What a webhook serves is looked at where webhooks are called, without sending it a review."""
    for name in ("good", "bad"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "365", "-subj", "/CN=hook",
                        "-addext", f"subjectAltName=DNS:{name}.hooks.svc", "-keyout", f"{name}.key", "-out", f"{name}.crt"],
                       cwd=folder.path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder.path / "good.crt", folder.path / "good.key")
    received = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def setup(self):
            self.request = context.wrap_socket(self.request, server_side=True)
            super().setup()

        def log_message(self, *args):
            pass

        def do_GET(self):
            received.append("GET")
            self.send_error(404)

        def do_POST(self):
            received.append("POST")
            self.send_error(404)

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            pass  # handshakes that fail on purpose

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        folder.write("plan.txt", "services: {'hooks/good:443': '127.0.0.1:%d', 'hooks/bad:443': '127.0.0.1:%d'}\n" % ((server.server_port,) * 2))
        hook = HOOK.replace("default}}", "hooks}, caBundle: %(ca)s}").replace("{name: hook,", "{name: %(service)s,")
        authority = base64.b64encode((folder.path / "good.crt").read_bytes()).decode()
        other = base64.b64encode((folder.path / "bad.crt").read_bytes()).decode()
        for name, service, ca, wanted in (("right", "good", authority, ""),
                                          ("name", "bad", authority, "certificate is valid for good.hooks.svc, not bad.hooks.svc"),
                                          ("chain", "good", other, "certificate signed by unknown authority")):
            folder.write("hook.yaml", hook % {"kind": "Validating", "name": name, "service": service, "ca": ca})
            text = folder.run("lint", "hook.yaml", "--webhooks=plan.txt", code=1 if wanted else 0)
            check(f"a finding about the {name}: {text}", "webhook-certificate:" in text, wanted != "")
            holds("its reason", text, wanted and f"no TLS connection to webhook {name}.example.com comes about: tls: failed to verify certificate: x509: {wanted}")
            check("not called", "webhook-certificate:" in folder.run("lint", "hook.yaml", code=0), False)
        check("requests", received, ["GET"])
    finally:
        server.shutdown()
        server.server_close()
    folder.run("lint", "hook.yaml", "--webhooks=plan.txt", code=0)  # nothing answers: no finding of a certificate


def fixes(folder):
    guarded = POLICY.replace("int(object.data.size) <=", "int(object.?data.?size.orValue('0')) <=")
    before = guarded.replace('message: too large}', 'message: too large}, {expression: "true"}')
    folder.write("p.yaml", "# kept\n" + before % 5)
    holds("a finding", folder.run("lint", "p.yaml", code=0), "warning constant-validation")
    text = folder.run("lint", "p.yaml", "--fix", code=0)
    holds("what is changed", text, "p.yaml:8:")
    holds("what is written", text, "writes p.yaml\n")
    check("a finding that is left", "constant-validation: the" in text.split("writes p.yaml\n")[1], False)
    check("the file", (folder.path / "p.yaml").read_text(), "# kept\n" + guarded % 5)
    holds("standard input", folder.run("lint", "-", "--fix", code=2, stdin=before % 5), "standard input is none")


def live_cluster(folder):
    with tempfile.TemporaryDirectory() as data:
        server = process.Server(folder.program, data, "--store=memory")
        try:
            config = f"--kubeconfig={data}/admin.kubeconfig"
            folder.write("a.yaml", SIZED % 7)
            folder.run("test", "a.yaml", config, code=0)
            for text in (POLICY % 5).split("---\n"):
                folder.write("one.yaml", text)
                kind = "validatingadmissionpolicybindings" if "Binding" in text else "validatingadmissionpolicies"
                made = json.loads(folder.run("test", "one.yaml", "-o", "json", code=0))["results"][0]["object"]
                for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
                    made["metadata"].pop(field, None)
                check("made", server.call("POST", f"/apis/admissionregistration.k8s.io/v1/{kind}", made)[0], 201)
            holds("the cluster's policy", folder.run("test", "a.yaml", "--cluster", config, code=1), "rule cluster:")
            configmap = {"metadata": {"name": "a"}, "data": {"size": "1"}}
            check("stored", server.call("POST", process.CONFIGMAPS, configmap)[0], 201)
            result = json.loads(folder.run("test", "a.yaml", config, "-o", "json", code=1))["results"][0]
            check("an update of what the cluster has", result["operation"], "UPDATE")
            text = folder.run("explain", "--server", "a.yaml", config, code=1)
            holds("the server's policy", text, "a.yaml:1:1: DENY configmaps/a -n default")
            holds("its trace", text, "ValidatingAdmissionPolicy")
            folder.write("b.yaml", (SIZED % 2).replace("name: a", "name: b"))
            result = json.loads(folder.run("explain", "--server", "b.yaml", config, "-o", "json", code=0))["results"][0]
            check("the trace as JSON", (result["operation"], result["trace"]["verdict"]["allowed"]), ("CREATE", True))
            check("a dry run", server.call("GET", process.CONFIGMAPS + "/b")[0], 404)
            check("nothing is written", server.call("GET", process.CONFIGMAPS + "/a")[1]["data"], {"size": "1"})
        finally:
            server.end(signal.SIGTERM)
    holds("no kubeconfig", folder.run("test", "a.yaml", "--kubeconfig=absent", code=2), "absent")


STORIES = [colors, stored_objects, initial_tests, rules_without_resources, updates, coverage, order, pages, differences, configurations, findings, certificates, fixes, live_cluster, recordings, exit_codes, webhooks, reports, broken_files, closed_folder, large_files, many_files, duplicates]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    args = parser.parse_args()
    program = (args.build / "portcullis").resolve()
    failed = 0
    for story in STORIES:
        with tempfile.TemporaryDirectory(prefix="offline-") as folder:
            (pathlib.Path(folder) / "empty").mkdir()
            try:
                story(Folder(program, pathlib.Path(folder)))
            except AssertionError as wrong:
                failed += 1
                print(f"FAIL {story.__name__}: {wrong}")
    print(f"offline: {len(STORIES) - failed} stories passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
