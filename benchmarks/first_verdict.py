#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How soon `portcullis test` has a verdict, and how many it reaches; beside them kubectl against our own server.

    benchmarks/first_verdict.py --build build/release [--kubectl PATH] [--runs 30]

first verdict    exec to exit, one Pod, default plugins; beside it `kubectl create --dry-run=server` of the same file
                 against `portcullis serve`, in turn, and /bin/true. Medians.
many             10,000 Deployments and 100 policies of which all judge them, in one run; with the memory peak.
                 The baseline: as many requests to the server take --runs of kubectl, scaled.
"""

import argparse
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/kubectl"))
import kubectl  # noqa: E402

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n"
POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p%(i)d}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas <= %(limit)d || object.metadata.name == 'x%(i)d'
    message: too many
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p%(i)d}
spec: {policyName: p%(i)d, validationActions: [Deny]}
---
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web%(i)d, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:%(i)d", resources: {limits: {memory: 64Mi}}}
"""


def timed(command):
    """Milliseconds on the clock and of CPU."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    took, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}: {done.stderr.decode()}")
    return 1000 * took, 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def first_verdict(program, client, folder, runs):
    pod = folder / "pod.yaml"
    pod.write_text(POD)
    commands = {"portcullis test": [program, "test", pod], "/bin/true": ["/bin/true"]}
    server = None
    if client:
        data = folder / "data"
        server = subprocess.Popen([program, "serve", "--store=memory", "--secure-port=0", "--bind-address=127.0.0.1",
                                   f"--data-dir={data}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        config = data / "admin.kubeconfig"
        while not config.exists() or not config.stat().st_size:
            time.sleep(0.02)
        commands["kubectl create --dry-run=server"] = [client, f"--kubeconfig={config}", "create", "--dry-run=server", "-f", pod]
    try:
        times = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                times[name].append(timed(command))
    finally:
        if server:
            server.send_signal(signal.SIGINT)
            server.wait()
    medians = {name: [statistics.median(column) for column in zip(*values)] for name, values in times.items()}
    ours, none = medians["portcullis test"], medians["/bin/true"]
    print(f"first verdict: {ours[0]:.1f} ms (target 20 ms), CPU {ours[1]:.1f} ms; /bin/true {none[0]:.1f} ms")
    if client:
        theirs = medians["kubectl create --dry-run=server"]
        print(f"  kubectl create --dry-run=server: {theirs[0]:.1f} ms, {theirs[0] / ours[0]:.1f}x as long, "
              f"CPU {theirs[1]:.1f} ms without the server's")


def many(program, folder, manifests, policies):
    (folder / "policies.yaml").write_text("".join(POLICY % {"i": i, "limit": 5 + i} for i in range(policies)))
    place = folder / "manifests"
    place.mkdir()
    for i in range(manifests):
        (place / f"{i:05}.yaml").write_text(DEPLOYMENT % {"i": i})
    command = [program, "test", place, "-f", folder / "policies.yaml", "--expand=false"]
    took = timed(command)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    alone = timed([program, "test", place, "--expand=false"])
    print(f"{manifests} manifests x {policies} policies: {took[0] / 1000:.2f} s (target 5 s), CPU {took[1] / 1000:.2f} s, "
          f"{peak:.0f} MB (target 300 MB)")
    print(f"  without policies {alone[0] / 1000:.2f} s, CPU {alone[1] / 1000:.2f} s: {took[1] / alone[1]:.2f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--kubectl")
    parser.add_argument("--runs", type=int, default=30)
    args = parser.parse_args()
    try:
        client = args.kubectl or kubectl.find()
    except kubectl.Unavailable as reason:
        client = None
        print(f"no baseline: {reason}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="first-verdict-"))
    try:
        program = args.build.resolve() / "portcullis"
        many(program, folder, 10_000, 100)
        first_verdict(program, client, folder, args.runs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    os.environ.pop("KUBECONFIG", None)
    main()
