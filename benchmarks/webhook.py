#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures one review of `portcullis webhook`: CPU of its process and latency at the client, over one TLS connection.

    benchmarks/webhook.py --build build/release [--reviews 5000]
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: latest}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  validations:
  - expression: object.spec.containers.all(c, !c.image.endsWith(':latest'))
  - expression: object.spec.containers.all(c, has(c.resources.limits) && 'memory' in c.resources.limits)
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: latest}
spec: {policyName: latest, validationActions: [Deny]}
"""


def pod(containers):
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {
        "name": "web", "namespace": "shop", "creationTimestamp": None, "labels": {"app": "web"},
        "managedFields": [{"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
                           "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:containers": {}}}}]},
        "spec": {"volumes": [{"name": "t", "emptyDir": {}}], "containers": [
            {"name": f"c{i}", "image": f"registry.example.com/app:{i}", "resources": {"limits": {"memory": "64Mi", "cpu": "1"}},
             "ports": [{"containerPort": 8080 + i, "protocol": "TCP"}], "env": [{"name": f"E{j}", "value": "x"} for j in range(8)],
             "volumeMounts": [{"name": "t", "mountPath": "/tmp"}], "terminationMessagePath": "/dev/termination-log",
             "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent",
             "securityContext": {"allowPrivilegeEscalation": False, "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}}}
            for i in range(containers)], "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst", "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "schedulerName": "default-scheduler", "enableServiceLinks": True}, "status": {}}


def review(containers):
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"}, "name": "web", "namespace": "shop",
        "operation": "CREATE", "userInfo": {"username": "alice", "groups": ["developers", "system:authenticated"]},
        "object": pod(containers), "oldObject": None, "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}}})


def cpu(pid):
    """Seconds of CPU of the process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(program, flags, path, containers, count):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/log", "w+") as log:
            process = subprocess.Popen([program, "webhook", "--secure-port=0", f"--cert-dir={folder}/certs", *flags],
                                       stderr=log)
        try:
            while not (found := re.search(r"serving address=127\.0\.0\.1:(\d+)", pathlib.Path(folder, "log").read_text())):
                if process.poll() is not None:
                    sys.exit(pathlib.Path(folder, "log").read_text())
                time.sleep(0.02)
            context = ssl.create_default_context(cafile=f"{folder}/certs/ca.crt")
            connection = http.client.HTTPSConnection("127.0.0.1", int(found.group(1)), context=context)
            body, times = review(containers), []

            def call():
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                answer = json.loads(connection.getresponse().read())
                if not answer["response"]["allowed"]:
                    sys.exit(f"{path}: {answer}")
            for _ in range(200):
                call()
            before = cpu(process.pid)
            for _ in range(count):
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
            spent = cpu(process.pid) - before
            memory = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text()).group(1)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    times.sort()
    return spent / count * 1e6, times[count // 2] * 1e6, times[count * 99 // 100] * 1e6, int(memory) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release", metavar="DIR")
    parser.add_argument("--reviews", type=int, default=5000)
    args = parser.parse_args()
    program = str((args.build / "portcullis").resolve())
    with tempfile.TemporaryDirectory() as folder:
        policy = pathlib.Path(folder, "policy.yaml")
        policy.write_text(POLICY)
        rows = [
            ("AlwaysPullImages", ["--enable-admission-plugins=AlwaysPullImages"], "/mutate"),
            ("PodSecurity", ["--enable-admission-plugins=PodSecurity"], "/validate"),
            ("a policy of two expressions", [f"--policies={policy}"], "/validate"),
        ]
        print(f"{'':32}{'containers':>11}{'body':>9}{'CPU':>9}{'median':>9}{'99 %':>9}{'memory':>9}")
        for name, flags, path in rows:
            for containers in (1, 20):
                spent, median, late, memory = measure(program, flags, path, containers, args.reviews)
                print(f"{name:32}{containers:>11}{len(review(containers)) / 1024:>6.1f} KB{spent:>6.0f} µs{median:>6.0f} µs"
                      f"{late:>6.0f} µs{memory:>6.0f} MB")


if __name__ == "__main__":
    main()
