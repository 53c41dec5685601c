#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Kubernetes' own controllers and scheduler on Portcullis and prints the errors that they log.

    tests/reference/components.py --build build/release --kube-controller-manager PATH --kube-scheduler PATH --seconds 600
    tests/reference/components.py --server https://127.0.0.1:6443 --token TOKEN --service-account-key FILE --ca FILE …

The server runs with --controllers=-* (or is one that runs already, for instance a kube-apiserver to compare with). Nodes are
stood in for: their leases are renewed, pods bound to them begin to run, those of jobs end, those that are deleted go. Meanwhile
namespaces are made, filled with a Deployment, a StatefulSet, a DaemonSet, a Job, a CronJob, a Service and a claim, scaled, and
deleted, until the time is over; the last of them has to be gone in the end.

Errors are printed by shape, most frequent first: numbers and names in them do not count. Those that any API server causes, such
as a conflict that is tried again or what a deleted namespace refuses, are counted apart. Exits with 1 if others are logged.
"""

import argparse
import collections
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

TOKEN = "components"
NODES = 5
# What controllers log on every API server: a write lost to another, or made before a watch has caught up,
# is tried again, and what a namespace that is being deleted refuses is refused.
USUAL = re.compile(r"the object has been modified|because it is being terminated|is being deleted: |StorageError: invalid object|"
                   r"not found$|not found\"|already exists|context canceled|is not as new as written version")
# What downstream builds log: controllers of their own, whose roles Kubernetes does not have, and the end of the scheduler.
DOWNSTREAM = re.compile(r"service-ca-cert-publisher|The manifest file is empty|finished without leader elect")
# Images that tests name since there are none: their pods do not begin to run.
MISSING = re.compile(r":(404|non-existent)$")
# Commands of jobs that do not end, and of those that fail; any other ends at once.
RUNS_ON = re.compile(r"\bsleep\b|\bpause\b")
FAILS = re.compile(r"\bexit 1$|/bin/false$")


class Client:
    """Requests of one thread."""

    def __init__(self, url, token):
        self.place = urllib.parse.urlsplit(url)
        self.token = token
        self.connection = None

    def open(self):
        return http.client.HTTPSConnection(self.place.hostname, self.place.port, timeout=90, context=ssl._create_unverified_context())

    def request(self, connection, method, path, body=None, kind="application/json"):
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {self.token}", "Content-Type": kind})
        return connection.getresponse()

    def ask(self, method, path, body=None, kind="application/json"):
        for _ in range(3):
            try:
                self.connection = self.connection or self.open()
                answer = self.request(self.connection, method, path, body, kind)
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                self.connection = None
        raise SystemExit(f"{method} {path}: no answer")

    def watch(self, path):
        """The events of a collection, from its present objects on."""
        connection = self.open()
        answer = self.request(connection, "GET", f"{path}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                                                 "&resourceVersionMatch=NotOlderThan&timeoutSeconds=60")
        for line in answer:
            yield json.loads(line)
        connection.close()


def node(name):
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"podCIDR": "10.1.0.0/24"}}


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Nodes:
    """Stands in for kubelets."""

    def __init__(self, url, token, ended):
        self.client = Client(url, token)
        self.pods = Client(url, token)
        self.ended = ended
        self.run_pods = 0
        self.threads = [threading.Thread(target=self.renew), threading.Thread(target=self.follow_pods, daemon=True)]

    def start(self):
        for i in range(NODES):
            self.client.ask("POST", "/api/v1/nodes", node(f"node-{i}"))
        for thread in self.threads:
            thread.start()

    def renew(self):
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        self.client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-node-lease"}})
        while not self.ended.is_set():
            for i in range(NODES):
                name = f"node-{i}"
                status = {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready",
                                          "lastHeartbeatTime": now()}],
                          "addresses": [{"type": "InternalIP", "address": f"10.2.0.{i + 1}"}, {"type": "Hostname", "address": name}],
                          "nodeInfo": {"kubeletVersion": "v1.36.0", "operatingSystem": "linux", "architecture": "amd64"},
                          "capacity": {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"}}
                self.client.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, "application/strategic-merge-patch+json")
                spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now().replace("Z", ".000000Z")}
                code, _ = self.client.ask("PATCH", f"{leases}/{name}", {"spec": spec}, "application/merge-patch+json")
                if code == 404:
                    self.client.ask("POST", leases, {"metadata": {"name": name}, "spec": spec})
            self.ended.wait(8)

    def follow_pods(self):
        while not self.ended.is_set():
            for event in self.pods.watch("/api/v1/pods"):
                if event["type"] in ("ADDED", "MODIFIED"):
                    self.take(event["object"])

    def take(self, pod):
        meta, status = pod["metadata"], pod.get("status", {})
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        name, _, number = pod["spec"].get("nodeName", "").rpartition("-")
        if name != "node" or not number.isdigit():
            return
        if "deletionTimestamp" in meta:
            self.pods.ask("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
        elif any(MISSING.search(container["image"]) for container in pod["spec"]["containers"]):
            pass
        elif status.get("phase") == "Pending" or (status.get("phase") == "Running" and status.get("observedGeneration") != meta["generation"]):
            self.pods.ask("PATCH", f"{path}/status", {"status": self.status_of(pod, f"10.2.0.{int(number) + 1}")},
                          "application/strategic-merge-patch+json")

    def status_of(self, pod, host):
        """Of a pod that has begun to run, ready unless its probe waits for longer than a minute; of one of a job, that has ended."""
        main = pod["spec"]["containers"][0]
        words = " ".join(main.get("command", []) + main.get("args", []))
        once = "job-name" in pod["metadata"].get("labels", {}) and not RUNS_ON.search(words + main["image"])
        failed = once and FAILS.search(words)
        ready = not once and not any(container.get("readinessProbe", {}).get("initialDelaySeconds", 0) > 60 for container in pod["spec"]["containers"])
        address = pod["status"].get("podIP")
        if not address:
            self.run_pods += 1
            address = f"10.1.{self.run_pods // 250 % 250}.{self.run_pods % 250 + 1}"
        generation = {"observedGeneration": pod["metadata"]["generation"]}
        conditions = [{"type": kind, "status": "True" if ready or kind in ("Initialized", "PodScheduled") else "False",
                       "lastTransitionTime": now(), **generation}
                      for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
        state = {"terminated": {"exitCode": 1 if failed else 0, "reason": "Error" if failed else "Completed"}} if once else {"running": {"startedAt": now()}}
        containers = [{"name": each["name"], "image": each["image"], "imageID": each["image"], "ready": ready, "started": not once,
                       "restartCount": 0, "state": state} for each in pod["spec"]["containers"]]
        return {"phase": "Failed" if failed else "Succeeded" if once else "Running", "conditions": conditions, "podIP": address, "podIPs": [{"ip": address}],
                "hostIP": host, "hostIPs": [{"ip": host}], "containerStatuses": containers, "startTime": now(), **generation}


def workloads(name):
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "example.com/web:1"}]}}
    once = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": template["spec"]["containers"]}}, "completions": 3}}
    apps = {"selector": {"matchLabels": labels}, "template": template}
    return [
        ("/apis/apps/v1", "deployments", {"spec": {**apps, "replicas": 5}}),
        ("/apis/apps/v1", "statefulsets", {"spec": {**apps, "serviceName": "web", "replicas": 3}}),
        ("/apis/apps/v1", "daemonsets", {"spec": apps}),
        ("/apis/batch/v1", "jobs", once),
        ("/apis/batch/v1", "cronjobs", {"spec": {"schedule": "* * * * *", "jobTemplate": once}}),
        ("/api/v1", "services", {"spec": {"selector": labels, "ports": [{"port": 80}]}}),
        ("/api/v1", "persistentvolumeclaims", {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
        ("/apis/policy/v1", "poddisruptionbudgets", {"spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}}),
        ("/api/v1", "resourcequotas", {"spec": {"hard": {"pods": "100", "count/jobs.batch": "100"}}}),
    ]


def wait(what, ready, seconds=180):
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            print(f"FAIL {what}: not within {seconds} s")
            return False
        time.sleep(0.3)
    return True


def one_namespace(client, number):
    """Makes a namespace, fills it, waits until its workloads run, scales, deletes it. Whether all of it happened."""
    ns = f"team-{number}"
    client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
    for group, resource, spec in workloads("web"):
        code, answer = client.ask("POST", f"{group}/namespaces/{ns}/{resource}", {"metadata": {"name": "web"}, **spec})
        if code != 201:
            print(f"FAIL {resource}: {answer.get('message')}")
            return False
    apps = f"/apis/apps/v1/namespaces/{ns}"

    def available(resource, field, count):
        return lambda: client.ask("GET", f"{apps}/{resource}/web")[1].get("status", {}).get(field) == count
    good = wait(f"{ns}: 5 of the Deployment", available("deployments", "availableReplicas", 5))
    good &= wait(f"{ns}: 3 of the StatefulSet", available("statefulsets", "availableReplicas", 3))
    good &= wait(f"{ns}: one of the DaemonSet a node", available("daemonsets", "numberReady", NODES))
    good &= wait(f"{ns}: the Job is complete", lambda: client.ask(
        "GET", f"/apis/batch/v1/namespaces/{ns}/jobs/web")[1].get("status", {}).get("succeeded") == 3)
    client.ask("PATCH", f"{apps}/deployments/web/scale", {"spec": {"replicas": 9}}, "application/merge-patch+json")
    good &= wait(f"{ns}: 9 of the Deployment", available("deployments", "availableReplicas", 9))
    client.ask("DELETE", f"/api/v1/namespaces/{ns}")
    return good and wait(f"{ns} is gone", lambda: client.ask("GET", f"/api/v1/namespaces/{ns}")[0] == 404)


def kubeconfig(path, url, token):
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "c", "user": {"token": token}}]}))
    return path


def serve(args, folder):
    (folder / "tokens.csv").write_text(f'{TOKEN},components,components,"system:masters"\n')
    data = folder / "data"
    log = (folder / "serve.log").open("w")
    process = subprocess.Popen([args.build / "portcullis", "serve", f"--data-dir={data}", "--bind-address=127.0.0.1", "--secure-port=0",
                                f"--token-auth-file={folder / 'tokens.csv'}", "--controllers=-*"],
                               stdout=log, stderr=subprocess.STDOUT)
    return process, data


def errors_of(path):
    """[(shape, a line)] of the errors in a log of klog."""
    for line in path.read_text(errors="replace").splitlines():
        if re.match(r"[EF]\d{4} ", line):
            text = line.split("] ", 1)[-1]
            shape = re.sub(r"team-\d+|web-\w+(-\w+)?|node-\d|\d+", "…", text)
            yield shape, line


def report(logs):
    bad = 0
    for log in logs:
        shapes, example, usual = collections.Counter(), {}, 0
        for shape, line in errors_of(log):
            if USUAL.search(shape) or DOWNSTREAM.search(line):
                usual += 1
                continue
            shapes[shape] += 1
            example.setdefault(shape, line)
        bad += sum(shapes.values())
        print(f"{log.stem}: {sum(shapes.values())} errors of {len(shapes)} shapes, {usual} usual ones")
        for shape, count in shapes.most_common(40):
            print(f"  {count:5}  {example[shape][:400]}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--server", help="a server that runs already")
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--service-account-key", type=pathlib.Path)
    parser.add_argument("--ca", type=pathlib.Path)
    parser.add_argument("--kube-controller-manager", required=True)
    parser.add_argument("--kube-scheduler", required=True)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--at-once", type=int, default=4, help="namespaces at once")
    parser.add_argument("--keep", type=pathlib.Path, help="the folder for logs")
    args = parser.parse_args()
    folder = args.keep or pathlib.Path(tempfile.mkdtemp(prefix="components-"))
    folder.mkdir(parents=True, exist_ok=True)
    processes = []
    try:
        if args.server:
            url, key, ca = args.server, args.service_account_key, args.ca
        else:
            process, data = serve(args, folder)
            processes.append(process)
            own = data / "admin.kubeconfig"
            wait("the server", lambda: own.exists() and "server" in own.read_text(), 60)
            url = re.search(r"server: [\"']?(https://[^\s\"']+)", own.read_text()).group(1)
            key, ca = data / "pki/sa.key", data / "pki/ca.crt"
        config = kubeconfig(folder / "kubeconfig", url, args.token)
        logs = []
        common = [f"--kubeconfig={config}", f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}",
                  "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0"]
        for name, program, flags in [
                ("kube-controller-manager", args.kube_controller_manager,
                 ["--use-service-account-credentials=true", f"--service-account-private-key-file={key}", f"--root-ca-file={ca}"]),
                ("kube-scheduler", args.kube_scheduler, [])]:
            logs.append(folder / f"{name}.log")
            processes.append(subprocess.Popen([program, *common, *flags], stdout=logs[-1].open("w"), stderr=subprocess.STDOUT))
        ended = threading.Event()
        nodes = Nodes(url, args.token, ended)
        nodes.start()
        deadline = time.monotonic() + args.seconds
        counts = collections.Counter()

        def work(worker):
            client = Client(url, args.token)
            number = worker
            while time.monotonic() < deadline:
                counts[one_namespace(client, number)] += 1
                number += args.at_once
        workers = [threading.Thread(target=work, args=(i,)) for i in range(args.at_once)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        ended.set()
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
    print(f"{counts[True]} namespaces made, filled, scaled and deleted, {counts[False]} not; {nodes.run_pods} pods ran; logs in {folder}")
    bad = report(logs)
    return 1 if bad or counts[False] or not counts[True] else 0


if __name__ == "__main__":
    sys.exit(main())
