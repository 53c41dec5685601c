#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the offline commands take for many cases, many recorded requests and many policies.

    benchmarks/offline.py --build build/release [--runs 5]

case       one case of a native test file: a Deployment that a policy judges. 5,000 cases in one file less a file with
           one case, per case; on one thread.
coverage   the same with --coverage=json.
diff       `portcullis diff --kubernetes-versions=1.35,1.36` over an audit log of 10,000 creates; the baseline is
           `portcullis test` of the log, which judges it once.
lint       1,000 policies with bindings, 200 webhook configurations and 5,000 manifests; the baseline is the time in
           which `portcullis test` has judged the same files.

Medians on the clock and of CPU. The commands of a line run in turn.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))
from first_verdict import DEPLOYMENT, POLICY, timed  # noqa: E402

CASES = 5000
REQUESTS = 10_000
TEST = """apiVersion: portcullis.dev/v1
kind: Test
metadata: {name: many}
files: [policy.yaml]
object:
  apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    replicas: 3
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec:
        containers:
        - {name: web, image: nginx, resources: {limits: {memory: 64Mi}}}
cases:
"""
WEBHOOK = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: h%(i)d}
webhooks:
- name: h%(i)d.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 5
  clientConfig: {service: {name: hook, namespace: hooks}}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
---
"""


def medians(commands, runs):
    """Seconds on the clock and of CPU for each command; they run in turn."""
    times = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            times[name].append(timed(command))
    return {name: [statistics.median(column) / 1000 for column in zip(*values)] for name, values in times.items()}


def cases(program, folder, runs):
    (folder / "policy.yaml").write_text(POLICY % {"i": 1, "limit": 5})
    for count in (1, CASES):
        rows = [f"- {{name: c{i}, set: {{spec.replicas: {i % 10}}}, expect: {'deny' if i % 10 > 5 else 'allow'}}}\n"
                for i in range(count)]
        (folder / f"{count}.test.yaml").write_text(TEST + "".join(rows))
    test = [program, "test", "-j", "1"]
    taken = medians({"one": [*test, folder / "1.test.yaml"], "many": [*test, folder / f"{CASES}.test.yaml"],
                     "covered": [*test, folder / f"{CASES}.test.yaml", "--coverage=json"]}, runs)
    for name, title in (("many", "a case of a test file"), ("covered", "a case with --coverage")):
        clock, cpu = ((taken[name][i] - taken["one"][i]) / (CASES - 1) * 1e6 for i in (0, 1))
        print(f"{title}: {clock:.0f} us (target 100 us), CPU {cpu:.0f} us; {CASES} cases {taken[name][0]:.2f} s")


def event(i):
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"web{i}", "namespace": "default"},
                  "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                           "template": {"metadata": {"labels": {"app": "web"}},
                                        "spec": {"containers": [{"name": "web", "image": f"nginx:{i}"}]}}}}
    return {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Request", "stage": "ResponseComplete", "verb": "create",
            "requestURI": "/apis/apps/v1/namespaces/default/deployments", "user": {"username": "admin", "groups": ["system:masters"]},
            "responseStatus": {"code": 201}, "requestObject": deployment}


def diff(program, folder, runs):
    log = folder / "audit.json"
    log.write_text("".join(json.dumps(event(i)) + "\n" for i in range(REQUESTS)))
    taken = medians({"diff": [program, "diff", "--kubernetes-versions=1.35,1.36", log], "test": [program, "test", log]}, runs)
    print(f"diff of two versions, {REQUESTS} requests: {taken['diff'][0]:.2f} s (target 3 s), CPU {taken['diff'][1]:.2f} s; "
          f"judged once {taken['test'][0]:.2f} s, {taken['diff'][0] / taken['test'][0]:.1f}x")


def lint(program, folder, runs):
    place = folder / "lint"
    place.mkdir()
    (place / "policies.yaml").write_text("".join(POLICY % {"i": i, "limit": 5 + i} for i in range(1000)))
    (place / "webhooks.yaml").write_text("".join(WEBHOOK % {"i": i} for i in range(200)))
    (place / "manifests.yaml").write_text("---\n".join(DEPLOYMENT % {"i": i} for i in range(5000)))
    taken = medians({"lint": [program, "lint", place, "-o", "json=/dev/null"],
                     "test": [program, "test", place, "--expand=false"]}, runs)
    print(f"lint of 1,000 policies, 200 webhooks, 5,000 manifests: {taken['lint'][0]:.2f} s, CPU {taken['lint'][1]:.2f} s; "
          f"test of the same {taken['test'][0]:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT.parent / "build/release")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="offline-bench-"))
    try:
        program = args.build.resolve() / "portcullis"
        for measure in (cases, diff, lint):
            measure(program, folder, args.runs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    os.environ.pop("KUBECONFIG", None)
    main()
