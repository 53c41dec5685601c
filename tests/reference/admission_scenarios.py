#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes generated cells (admission_cases.py) as scenarios of a conformance suite, to be recorded from a kube-apiserver.

    tests/reference/admission_scenarios.py tests/conformance/suites/admission --seed 1 --cells 40 --requests 8
    tests/conformance/suites/replay.py --suite admission --record …"""

import argparse
import json
import pathlib
import random
import re
import urllib.parse

import admission
import admission_cases
from admission_cases import Cell

IMPERSONATED = {"Impersonate-User": "user", "Impersonate-Uid": "uid", "Impersonate-Group": "groups"}


def place_of(path):
    """/c7-0-mutating/1 -> /m0-1: what begins with m is taken for mutating."""
    match = re.fullmatch(r"/c\d+-(\d+)-(mutating|validating)/(\d+)", path)
    return f"/{match[2][0]}{match[1]}-{match[3]}"


def hook_of(answer):
    names = {"http": "httpStatus"}
    return {names.get(name, name): value for name, value in answer.items()}


class Writer:
    def __init__(self, number, seed, requests):
        self.cell = Cell(number, random.Random(f"{seed}/{number}"))
        self.requests = requests

    def text(self, value):
        """With the scenario's placeholders instead of the cell's names."""
        for path in self.cell.hooks:
            value = value.replace(admission_cases.HOOKS + path + '"', "{{WEBHOOK_URL}}" + place_of(path) + '"')
        value = value.replace(admission_cases.BUNDLE, "{{CA_BUNDLE}}")
        value = re.sub(rf"\bcell-{self.cell.number}\b", "{{NS}}", value)
        return re.sub(rf"\bc{self.cell.number}-(?=\d)", "{{ID}}-", value)

    def step(self, name, request, **more):
        path, _, query = self.text(request.path).partition("?")
        step = {"name": name, "method": request.method, "path": path}
        if query:
            step["query"] = dict(urllib.parse.parse_qsl(query))
        if request.body is not None:
            step["body"] = json.loads(self.text(request.body))
        if "Content-Type" in request.headers:
            step["contentType"] = request.headers["Content-Type"]
        user = {short: request.headers[name] for name, short in IMPERSONATED.items() if name in request.headers}
        if "groups" in user:
            user["groups"] = user["groups"] if isinstance(user["groups"], list) else [user["groups"]]
        if "Impersonate-Extra-scope" in request.headers:
            user["extra"] = {"scope": request.headers["Impersonate-Extra-scope"]}
        return {**step, **({"as": user} if user else {}), **more}

    def scenario(self):
        cell = self.cell
        setup, configurations = list(cell.setup())[2:], list(cell.configurations())
        steps = [self.step(f"prepare {i}", request, record="status") for i, request in enumerate(setup)]
        steps += [self.step(f"configure {i}", request) for i, request in enumerate(configurations)]
        steps[-1]["settle"] = True
        steps += [self.step(f"request {i}", request, audit=True) for i, request in enumerate(cell.requests(self.requests))]
        names = sorted(path.rpartition("-")[2] for path in cell.made if "binding" not in path)
        return {"name": f"cell-{cell.number}", "themes": ["generated"], "description": f"Generated: {' and '.join(cell.kinds)} before {', '.join(names)}.",
                "namespaces": [{"suffix": "", "labels": cell.labels, "serviceAccount": True}],
                "hooks": {place_of(path): hook_of(hook.answer) for path, hook in cell.hooks.items()},
                "cleanup": [self.text(path) for path in cell.made], "steps": steps}


def suite():
    made = [{"path": request.path, "body": json.loads(request.body)} for request in Cell.keepers()]
    definition = {"path": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "body": admission.definition()}
    return {"name": "admission", "description": "Generated webhooks and policies, and requests that meet them.",
            "serverFlags": ["--audit-policy-file={{FILES}}/audit-policy.yaml", "--audit-log-path={{FILES}}/audit.log"],
            "files": ["files/audit-policy.yaml"], "setup": [definition, *made]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", type=int, default=40)
    parser.add_argument("--requests", type=int, default=8)
    arguments = parser.parse_args()
    for name in ("scenarios", "golden", "files"):
        (arguments.folder / name).mkdir(parents=True, exist_ok=True)
    (arguments.folder / "suite.json").write_text(json.dumps(suite(), indent=1) + "\n")
    (arguments.folder / "files/audit-policy.yaml").write_text('{"kind": "Policy", "apiVersion": "audit.k8s.io/v1", "omitStages": ["RequestReceived"], "rules": [{"level": "Request"}]}\n')
    number = written = 0
    while written < arguments.cells:
        scenario = Writer(number, arguments.seed, arguments.requests).scenario()
        # Of two bindings of a policy either may come first.
        if not any(path.endswith("-vap-1") for path in scenario["cleanup"]):
            (arguments.folder / f"scenarios/cell-{number}.json").write_text(json.dumps(scenario, separators=(",", ":")) + "\n")
            written += 1
        number += 1


if __name__ == "__main__":
    main()
