#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Portcullis and a kube-apiserver on one etcd, under load in turn, in one run.

    benchmarks/etcd.py --build build/release --kube-apiserver FILE [--etcd FILE] [--scenarios A,B] [--objects 100000]

Each has a prefix of its own. portcullis-load puts them under load in slices, in turn, and prints requests/s, latency and CPU per request of
both (CPU without etcd's, which both share). With a scenario of watchers also what sealing and sending their events costs at least, without
any server. With --objects so many ConfigMaps of 1 KB are put into etcd for both first, and the time until each is
ready and its memory are printed, and the memory again in the end. Without --kube-apiserver, Portcullis alone beside the recorded figures.

    benchmarks/etcd.py --build build/release --latency 10

Instead: what one create of a ConfigMap takes, one at a time, and what a transaction of the same size takes that is sent to the same etcd by
etcd_bench; so many times each, in turn. Their difference is what the server adds: the medians of all, and the median of the differences.
A get shows what of this it takes to read etcd's revision, which each request begins with."""

import argparse
import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/reference"))
from servers import FLAGS, TOKEN, free_port, make_credentials, start, wait_for  # noqa: E402

SCENARIOS = "create-configmap,create-pod,get,list"


def kubeconfig(folder, name, url):
    path = folder / f"{name}.kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": str(folder / "ca.crt")}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}]}))
    return path


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def pair(i):
    return f"n{i % 100}", f"c{i}"


def metadata(i, extra):
    namespace, name = pair(i)
    return {"name": name, "namespace": namespace, "uid": f"00000000-0000-0000-0000-{i:012}", "creationTimestamp": "2026-01-01T00:00:00Z"} | extra


def owner(manager, fields, more):
    """An entry of managedFields; `fields`: paths."""
    owned = {}
    for path in fields:
        at = owned
        for step in path.split(" "):
            at = at.setdefault(step, {})
    return {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": owned} | more


def config_map(i):
    """One text of 1,000 bytes."""
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata(i, {}), "data": {"value": "x" * 1000}}


def pod(i):
    """A Pod of a Deployment as it is stored when it runs: some 4.7 KB, of which managedFields are a good third."""
    namespace, name = pair(i)
    labels = {"app.kubernetes.io/name": f"app{i % 500}", "app.kubernetes.io/part-of": "shop", "pod-template-hash": f"{i % 500:010x}"}
    token = {"name": "kube-api-access-x7z4q", "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}]}}
    container = {
        "name": "main", "image": f"registry.example.com/shop/app{i % 500}:1.4.{i % 7}", "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": "DATABASE", "value": f"postgres.n{i % 100}.svc"}, {"name": "LEVEL", "value": "info"}],
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [{"name": "kube-api-access-x7z4q", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10,
                          "successThreshold": 1, "failureThreshold": 3},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"}
    conditions = [{"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-01-01T00:00:00Z"} for kind in (
        "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")]
    main = 'f:spec f:containers k:{"name":"main"}'
    owners = [
        owner("kube-controller-manager", [
            "f:metadata f:generateName", "f:metadata f:labels .", "f:metadata f:ownerReferences .",
            f'f:metadata f:ownerReferences k:{{"uid":"00000000-0000-0000-0001-{i % 500:012}"}}',
            *(f"f:metadata f:labels f:{label}" for label in labels),
            *(f"{main} {field}" for field in (".", "f:image", "f:imagePullPolicy", "f:name", "f:terminationMessagePath", "f:terminationMessagePolicy",
                                              "f:resources f:limits f:memory", "f:resources f:requests f:cpu", "f:resources f:requests f:memory",
                                              'f:ports k:{"containerPort":8080,"protocol":"TCP"} f:name', 'f:env k:{"name":"DATABASE"} f:value',
                                              'f:env k:{"name":"LEVEL"} f:value', "f:livenessProbe f:httpGet f:path",
                                              "f:livenessProbe f:httpGet f:port", "f:livenessProbe f:periodSeconds")),
            *(f"f:spec f:{field}" for field in ("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName", "securityContext",
                                                "terminationGracePeriodSeconds"))], {}),
        owner("kubelet", [
            *(f'f:status f:conditions k:{{"type":"{one["type"]}"}} {field}' for one in conditions[:4] for field in (
                ".", "f:lastProbeTime", "f:lastTransitionTime", "f:status", "f:type")),
            *(f"f:status f:{field}" for field in ("containerStatuses", "hostIP", "hostIPs", "phase", "podIP", "podIPs", "startTime"))],
            {"subresource": "status"})]
    address = f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}"
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata(i, {
        "generateName": f"app{i % 500}-{i % 500:010x}-", "labels": labels, "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app{i % 500}-{i % 500:010x}", "uid": f"00000000-0000-0000-0001-{i % 500:012}",
             "controller": True, "blockOwnerDeletion": True}], "managedFields": owners}),
        "spec": {"volumes": [token], "containers": [container], "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
                 "dnsPolicy": "ClusterFirst", "serviceAccountName": "default", "serviceAccount": "default", "nodeName": f"node{i % 1000}",
                 "securityContext": {}, "schedulerName": "default-scheduler", "tolerations": [
                     {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
                     for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")],
                 "priority": 0, "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority"},
        "status": {"phase": "Running", "conditions": conditions, "hostIP": f"192.168.{i % 4}.{i % 250}", "hostIPs": [
            {"ip": f"192.168.{i % 4}.{i % 250}"}], "podIP": address, "podIPs": [{"ip": address}], "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [{
                "name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "lastState": {}, "ready": True, "restartCount": 0,
                "image": f"registry.example.com/shop/app{i % 500}:1.4.{i % 7}", "imageID": f"registry.example.com/shop/app@sha256:{i % 3500:064x}",
                "containerID": f"containerd://{i * 7919:064x}", "started": True}],
            "qosClass": "Burstable"}}


SHAPES = {"configmap": ("configmaps", config_map), "pod": ("pods", pod)}


def fill(url, prefix, count, shape):
    """So many objects, 100 in one transaction."""
    def encoded(text):
        return base64.b64encode(text.encode()).decode()

    resource, make = SHAPES[shape]
    for first in range(0, count, 100):
        puts = []
        for i in range(first, min(first + 100, count)):
            puts.append({"requestPut": {"key": encoded("/".join((prefix, resource, *pair(i)))),
                                        "value": encoded(json.dumps(make(i), separators=(",", ":")) + "\n")}})
        with urllib.request.urlopen(urllib.request.Request(f"{url}/v3/kv/txn", json.dumps({"success": puts}).encode())) as answer:
            answer.read()


def run(args, stack):
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="etcd-bench-")))
    client, peer = free_port(), free_port()
    url = f"http://127.0.0.1:{client}"
    etcd = start([args.etcd, "--data-dir", folder / "etcd", "--log-level", "warn", "--listen-client-urls", url, "--advertise-client-urls", url,
                  "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                  "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--quota-backend-bytes", str(8 << 30)], folder / "etcd.log", stack)
    wait_for(url + "/health", etcd, folder / "etcd.log")
    flags = FLAGS + make_credentials(folder)

    def launch(name, command, more):
        prefix, port, log = f"/{name}", free_port(), folder / f"{name}.log"
        fill(url, prefix, args.objects, args.shape)
        begun = time.monotonic()
        process = start([*command, f"--etcd-servers={url}", f"--etcd-prefix={prefix}", f"--secure-port={port}", *more, *flags], log, stack)
        address = f"https://127.0.0.1:{port}"
        wait_for(address + "/readyz", process, log, 600)
        print(f"{name}: ready after {time.monotonic() - begun:.2f} s with {args.objects} {args.shape}s, {resident(process.pid):.0f} MB", flush=True)
        return process, kubeconfig(folder, name, address)

    ours, ours_config = launch("portcullis", [args.build / "portcullis", "serve"], [f"--data-dir={folder}/ours", "--controllers=-*"])
    command = [args.build / "portcullis-load", f"--kubeconfig={ours_config}", f"--pid={ours.pid}"]
    if args.latency:
        return latency(args, f"127.0.0.1:{client}", command)
    command.append(f"--scenarios={args.scenarios}")
    if args.kube_apiserver:
        theirs, config = launch("kube-apiserver", [args.kube_apiserver], [f"--cert-dir={folder}/certs", "--allow-privileged=true"])
        command += [f"--baseline-kubeconfig={config}", f"--baseline-pid={theirs.pid}"]
    code = subprocess.run([str(word) for word in command]).returncode
    if "watchers" in args.scenarios:
        print("the least an event to 1,000 watchers can cost (net_watch_bench):", flush=True)
        code = code or subprocess.run([args.build / "benchmarks/net_watch_bench"]).returncode
    print(f"in the end: portcullis {resident(ours.pid):.0f} MB" + (
        f", kube-apiserver {resident(theirs.pid):.0f} MB" if args.kube_apiserver else ""))
    return code


def latency(args, etcd, command):
    """In microseconds, the medians of each slice."""
    bench = [args.build / "benchmarks/etcd_bench", "--benchmark_filter=^Txn/1/", "--benchmark_min_time=1", "--benchmark_format=json"]
    load = [*command, "--scenarios=create-configmap,get", "--connections=1", "--seconds=2", "--warmup=1", "--json"]
    slices = []
    for _ in range(args.latency):
        bare, whole = (json.loads(subprocess.run([str(word) for word in words], capture_output=True, check=True, text=True,
                                                 env=os.environ | {"PORTCULLIS_BENCH_ETCD": etcd}).stdout) for words in (bench, load))
        slices.append((bare["benchmarks"][0]["p50_us"], *(1000 * one["server"]["p50Milliseconds"] for one in whole["scenarios"])))
        print("transaction {:.0f} us, create {:.0f} us, get {:.0f} us".format(*slices[-1]), flush=True)
    bare, whole, read = (statistics.median(column) for column in zip(*slices))
    added = statistics.median(create - transaction for transaction, create, _ in slices)
    print(f"medians: transaction {bare:.0f} us, create {whole:.0f} us, get {read:.0f} us; added {added:.0f} us")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--kube-apiserver")
    parser.add_argument("--etcd", default=shutil.which("etcd"))
    parser.add_argument("--scenarios", default=SCENARIOS, help="portcullis-load --list names them")
    parser.add_argument("--latency", type=int, default=0, metavar="SLICES")
    parser.add_argument("--objects", type=int, default=0)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="configmap", help="what the --objects are")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        return run(args, stack)


if __name__ == "__main__":
    sys.exit(main())
