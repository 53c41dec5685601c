#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The forms of reports of the offline commands, as the programs that read them ask for them, and colors on a terminal.

    tests/integration/offline_reports.py --build build/release
    tests/integration/offline_reports.py --build build/release --sarif-schema sarif-schema-2.1.0.json

With --sarif-schema every SARIF file is also validated against that schema (OASIS publishes it; needs the Python
module jsonschema). Without it, against what it says of the objects that are written.
"""

import argparse
import html.parser
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from offline import CONFIGMAP, POLICY, SIZED, Folder, check, holds

# What SARIF 2.1.0 (errata 01, section 3) says of the objects that are written: properties with their types, "!" behind
# those that have to be there. None of them may have other properties.
SARIF = {
    "sarifLog": {"$schema": "text", "version!": ("2.1.0",), "runs!": ["run"]},
    "run": {"tool!": "tool", "columnKind": ("utf16CodeUnits", "unicodeCodePoints"), "results": ["result"]},
    "tool": {"driver!": "toolComponent"},
    "toolComponent": {"name!": "text", "rules": ["reportingDescriptor"]},
    "reportingDescriptor": {"id!": "text"},
    "result": {"ruleId": "text", "level": ("none", "note", "warning", "error"), "message!": "message",
               "locations": ["location"]},
    "message": {"text!": "text"},
    "location": {"physicalLocation": "physicalLocation"},
    "physicalLocation": {"artifactLocation!": "artifactLocation", "region": "region"},
    "artifactLocation": {"uri": "uri"},
    "region": {"startLine!": "position", "startColumn": "position"},
}
URI = re.compile(r"(?:[-._~!$&'()*+,;=@/A-Za-z0-9]|%[0-9A-F]{2})+")

PODS = """apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {pod-security.kubernetes.io/warn: restricted}}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: team}
spec: {containers: [{name: a, image: "a:1", imagePullPolicy: IfNotPresent}]}
"""
CASES = """apiVersion: portcullis.dev/v1
kind: Test
metadata: {name: "a|b, <c>"}
files: [../policy.yaml]
object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {size: "7"}}
cases:
- {name: right, expect: deny}
- {name: wrong, expect: allow}
"""
HOOK = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- name: h.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: %s
  timeoutSeconds: 20
  clientConfig: {url: "https://example.com"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmap]}]
"""
FORMS = ["json", "yaml", "junit", "sarif", "github", "azuredevops", "gitlab", "tap", "markdown", "html"]


def written(folder, *command, code):
    """The report of a command in every form."""
    folder.run(*command, *(word for form in FORMS for word in ("-o", f"{form}=r.{form}")), code=code)
    return {form: (folder.path / f"r.{form}").read_text() for form in FORMS}


def every_report(folder):
    folder.write("all/a,b c.yaml", SIZED % "<7>|%")
    folder.write("all/twice.yaml", (SIZED % 8).replace("name: a", "name: c"))
    folder.write("all/broken.yaml", "a: [\n")
    folder.write("all/pods.yaml", PODS)
    folder.write("policy.yaml", POLICY % 5)
    folder.write("tests/t.yaml", CASES)
    folder.write("hooks.yaml", (HOOK % "Ignore") + "---\n" + (HOOK % "Fail").replace("name: hook", "name: other"))
    folder.write("large.yaml", POLICY % 9)
    yield "manifests", written(folder, "test", "./all", "-f", "policy.yaml", code=2)
    yield "cases", written(folder, "test", "tests", code=1)
    yield "findings", written(folder, "lint", "hooks.yaml", code=1)
    yield "differences", written(folder, "diff", "--old=policy.yaml", "--new=large.yaml", "all/twice.yaml", code=1)
    folder.write("none/a.yaml", CONFIGMAP % "a")
    yield "nothing to say", written(folder, "test", "none", code=0)


def check_sarif_object(value, kind, where):
    if kind == "text":
        return check(where, isinstance(value, str) and value != "", True)
    if kind == "uri":
        return check(f"{where} {value}", URI.fullmatch(value) is not None and not value.startswith("./"), True)
    if kind == "position":
        return check(where, isinstance(value, int) and value >= 1, True)
    if isinstance(kind, tuple):
        return check(where, value in kind, True)
    if isinstance(kind, list):
        for i, one in enumerate(value):
            check_sarif_object(one, kind[0], f"{where}[{i}]")
        return check(f"{where} has nothing twice", len({json.dumps(one) for one in value}) == len(value)
                     or kind[0] != "reportingDescriptor", True)
    shape = {name.rstrip("!"): of for name, of in SARIF[kind].items()}
    check(f"properties of {where}", set(value) - set(shape), set())
    check(f"what {where} lacks", {name[:-1] for name in SARIF[kind] if name.endswith("!")} - set(value), set())
    for name, one in value.items():
        check_sarif_object(one, shape[name], f"{where}.{name}")
    return None


def sarif(folder, schema):
    for name, forms in every_report(folder):
        log = json.loads(forms["sarif"])
        check_sarif_object(log, "sarifLog", name)
        run = log["runs"][0]
        check(f"rules of {name}", {result["ruleId"] for result in run["results"]},
              {rule["id"] for rule in run["tool"]["driver"].get("rules", [])})
        if name == "findings":
            check("its levels", sorted({(result["ruleId"], result["level"]) for result in run["results"]}),
                  [("rule-never-matches", "error"), ("webhook-fails-open", "note"), ("webhook-long-timeout", "warning")])
        if schema is not None:
            import jsonschema
            jsonschema.validate(log, schema, format_checker=jsonschema.FormatChecker())


def junit(folder, _):
    for name, forms in every_report(folder):
        root = xml.etree.ElementTree.fromstring(forms["junit"])
        check(f"root of {name}", (root.tag, [suite.tag for suite in root]), ("testsuites", ["testsuite"]))
        cases = list(root[0])
        check("cases", {case.tag for case in cases}, {"testcase"})
        counts = {"tests": len(cases)}
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            counts[attribute] = sum(case.find(tag) is not None for case in cases)
        for element in (root, root[0]):
            check(f"counts of {name}", {key: int(element.get(key)) for key in counts}, counts)
        for case in cases:
            check("a name and a class", bool(case.get("name")) and bool(case.get("classname")), True)
            tags = [part.tag for part in case]
            check("parts of a case", set(tags) - {"skipped", "error", "failure", "system-out"}, set())
            check("what was printed comes last", "system-out" in tags[:-1], False)


def gitlab(folder, _):
    for name, forms in every_report(folder):
        entries = json.loads(forms["gitlab"])
        prints = [entry["fingerprint"] for entry in entries]
        check(f"fingerprints of {name}", len(set(prints)), len(entries))
        for entry in entries:
            check("fields", set(entry), {"description", "check_name", "fingerprint", "severity", "location"})
            check("a severity", entry["severity"] in ("info", "minor", "major", "critical", "blocker"), True)
            check("a path of the repository", entry["location"]["path"].startswith(("./", "/")), False)
            check("a line", entry["location"]["lines"]["begin"] >= 1, True)


LINES = {
    "github": r"::(error|warning) file=[^,:]+(,line=\d+)?(,col=\d+)?(,title=[^,:]+)?::.+",
    "azuredevops": r"##vso\[task\.logissue type=(error|warning);sourcepath=[^;\]]+;(linenumber=\d+;)?(columnnumber=\d+;)?code=[^;\]]+\].+",
    "tap": r"TAP version 13|1\.\.\d+|(not )?ok \d+ - .+|  ---|  \.\.\.|  (failures:|message: '.*'|- message: '.*'|  (source|at): '.*')",
    "markdown": r"\*\*.+\*\*||\| verdict \| place \| object \| message \||\|---\|---\|---\|---\||\| \w+ \| `.*` \| (`.*`)? ?\| .*[^\\] \|",
}


def lines(folder, _):
    for name, forms in every_report(folder):
        for form, pattern in LINES.items():
            for line in forms[form].splitlines():
                check(f"a line of {form} of {name}: {line}", re.fullmatch(pattern, line) is not None, True)
        numbers = [int(number) for number in re.findall(r"^(?:not )?ok (\d+)", forms["tap"], re.M)]
        check("numbers of TAP", numbers, list(range(1, int(re.search(r"1\.\.(\d+)", forms["tap"]).group(1)) + 1)))


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "link", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        check("the tag that ends", self.open.pop(), tag)


def pages(folder, _):
    for _, forms in every_report(folder):
        tags = Tags()
        tags.feed(forms["html"])
        check("tags that do not end", tags.open, [])
    folder.write("pod.yaml", PODS)
    page = folder.run("explain", "pod.yaml", "--enable-admission-plugins=AlwaysPullImages", "-o", "html", code=0)
    holds("a change", page, "<del>- spec.containers[0].imagePullPolicy: IfNotPresent</del>\n"
                            "<ins>+ spec.containers[0].imagePullPolicy: Always</ins>\n")
    tags = Tags()
    tags.feed(page)
    check("tags that do not end", tags.open, [])


RESULT = {"file", "line", "column", "apiVersion", "kind", "namespace", "name", "operation", "verdict", "code", "message",
          "failures", "warnings", "auditAnnotations"}


def documents(folder, _):
    for name, forms in every_report(folder):
        document = json.loads(forms["json"])
        if name == "differences":
            continue
        check(f"members of {name}", {"results", "summary"} - set(document), set())
        for result in document["results"]:
            check(f"what a result lacks: {result}", RESULT - set(result), set())
            check("a verdict", result["verdict"] in ("allow", "deny", "error", "skip", "pass", "fail"), True)
            for failure in result["failures"]:
                check("what a failure lacks", {"source", "path", "line", "column", "message"} - set(failure), set())


def on_terminal(folder, *arguments, **environment):
    """What the program prints on a terminal."""
    ours, its = pty.openpty()
    with subprocess.Popen([folder.program, *arguments], cwd=folder.path, stdout=its, stderr=subprocess.DEVNULL,
                          env={**os.environ, "TERM": "xterm", **environment}) as program:
        os.close(its)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            text += piece
        program.wait(60)
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def colors(folder, _):
    folder.write("pod.yaml", PODS)
    command = ["explain", "pod.yaml", "--enable-admission-plugins=AlwaysPullImages"]
    change = ("{}- spec.containers[0].imagePullPolicy: IfNotPresent{}\n"
              "{}+ spec.containers[0].imagePullPolicy: Always{}\n")
    text = on_terminal(folder, *command)
    holds("a colored change", text, "mutating AlwaysPullImages\n" + change.format("\x1b[31m", "\x1b[0m", "\x1b[32m", "\x1b[0m"))
    holds("a colored verdict", text, "\x1b[32mALLOW\x1b[0m pods/b -n team")
    for plain in (on_terminal(folder, *command, NO_COLOR="1"), folder.run(*command, code=0)):
        check("colors", "\x1b" in plain, False)
        holds("a change", plain, change.format("", "", "", ""))
    on_terminal(folder, *command, "-o", "text=report.txt")
    check("colors in a file", "\x1b" in (folder.path / "report.txt").read_text(), False)
    holds("a colored report", on_terminal(folder, "test", "pod.yaml", "-v"), "\x1b[32mALLOW\x1b[0m pods/b")


def pods_of_workloads(folder, _):
    folder.write("web.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {a: b}}\n"
                 "  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: 'a:1'}]}}\n")
    text = folder.run("explain", "web.yaml", "--enable-admission-plugins=AlwaysPullImages", code=0)
    holds("the pod in the end", text.partition("\n# the pod of Deployment web\n")[2], "imagePullPolicy: Always\n")
    result = json.loads(folder.run("explain", "web.yaml", "-o", "json", code=0))["results"][0]
    check("the same as JSON", [(pod["subject"], pod["object"]["spec"]["serviceAccountName"]) for pod in result["pods"]],
          [("pod of Deployment web", "default")])


STORIES = [sarif, junit, gitlab, lines, pages, documents, colors, pods_of_workloads]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--sarif-schema", type=pathlib.Path)
    args = parser.parse_args()
    program = (args.build / "portcullis").resolve()
    schema = json.loads(args.sarif_schema.read_text()) if args.sarif_schema else None
    failed = 0
    for story in STORIES:
        with tempfile.TemporaryDirectory(prefix="offline-reports-") as folder:
            try:
                story(Folder(program, pathlib.Path(folder)), schema)
            except AssertionError as wrong:
                failed += 1
                print(f"FAIL {story.__name__}: {wrong}")
    print(f"offline_reports: {len(STORIES) - failed} stories passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
