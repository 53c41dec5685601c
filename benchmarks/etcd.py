#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Portcullis and a kube-apiserver on one etcd, under load in turn, in one run.

    benchmarks/etcd.py --build build/release --kube-apiserver FILE [--etcd FILE] [--scenarios A,B] [--objects 100000]

Each has a prefix of its own. portcullis-load puts them under load in slices, in turn, and prints requests/s, latency and CPU per request of
both (CPU without etcd's, which both share). With --objects so many ConfigMaps of 1 KB are put into etcd for both first, and the time until each is
ready and its memory are printed. Without --kube-apiserver, Portcullis alone beside the recorded figures."""

import argparse
import base64
import contextlib
import json
import pathlib
import re
import shutil
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


def fill(url, prefix, count):
    """So many ConfigMaps of 1 KB, 100 in one transaction."""
    def encoded(text):
        return base64.b64encode(text.encode()).decode()

    for first in range(0, count, 100):
        puts = []
        for i in range(first, min(first + 100, count)):
            thing = {"kind": "ConfigMap", "apiVersion": "v1",
                     "metadata": {"name": f"c{i}", "namespace": f"n{i % 100}", "uid": f"00000000-0000-0000-0000-{i:012}",
                                  "creationTimestamp": "2026-01-01T00:00:00Z"}, "data": {"value": "x" * 1000}}
            puts.append({"requestPut": {"key": encoded(f"{prefix}/configmaps/n{i % 100}/c{i}"),
                                        "value": encoded(json.dumps(thing, separators=(",", ":")) + "\n")}})
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
        fill(url, prefix, args.objects)
        begun = time.monotonic()
        process = start([*command, f"--etcd-servers={url}", f"--etcd-prefix={prefix}", f"--secure-port={port}", *more, *flags], log, stack)
        address = f"https://127.0.0.1:{port}"
        wait_for(address + "/readyz", process, log, 600)
        print(f"{name}: ready after {time.monotonic() - begun:.2f} s with {args.objects} objects, {resident(process.pid):.0f} MB", flush=True)
        return process, kubeconfig(folder, name, address)

    ours, ours_config = launch("portcullis", [args.build / "portcullis", "serve"], [f"--data-dir={folder}/ours", "--controllers=-*"])
    command = [args.build / "portcullis-load", f"--kubeconfig={ours_config}", f"--pid={ours.pid}", f"--scenarios={args.scenarios}"]
    if args.kube_apiserver:
        theirs, config = launch("kube-apiserver", [args.kube_apiserver], [f"--cert-dir={folder}/certs", "--allow-privileged=true"])
        command += [f"--baseline-kubeconfig={config}", f"--baseline-pid={theirs.pid}"]
    return subprocess.run([str(word) for word in command]).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--kube-apiserver")
    parser.add_argument("--etcd", default=shutil.which("etcd"))
    parser.add_argument("--scenarios", default=SCENARIOS, help="portcullis-load --list names them")
    parser.add_argument("--objects", type=int, default=0)
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        return run(args, stack)


if __name__ == "__main__":
    sys.exit(main())
