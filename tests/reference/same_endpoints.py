#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kube-apiserver and Portcullis on the same etcd, both with --endpoint-reconciler-type=lease: the Service kubernetes lists
both, whichever comes or goes, and what each has written of its endpoints is what the other would have written.

    tests/reference/same_endpoints.py --reference-binary PATH/kube-apiserver [--etcd PATH/etcd] [--build build/release] [--encrypted]

Prints each step, and exits with 1 if one is not as it has to be. It takes about a minute: a server that is killed is an
endpoint until its lease has expired."""

import argparse
import contextlib
import json
import pathlib
import sys
import tempfile
import time

import servers
from same_etcd import ROOT, Server
from servers import free_port, start, stop, wait_for

FLAGS = [flag for flag in servers.FLAGS if not flag.startswith("--endpoint-reconciler-type")] + ["--endpoint-reconciler-type=lease"]
ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
# Every resource, and nothing is read that is not encrypted.
KEY = {"name": "k", "secret": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}
ENCRYPTION = {"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1",
              "resources": [{"resources": ["*.*"], "providers": [{"aesgcm": {"keys": [KEY]}}]}]}



def shown(server):
    return [server.do("GET", path) for path in (ENDPOINTS, SLICE)]


def addresses(server):
    """What both objects list; None while they differ or one is missing."""
    (code, endpoints), (slice_code, sliced) = shown(server)
    if (code, slice_code) != (200, 200):
        return None
    listed = [one["ip"] for subset in endpoints.get("subsets", []) for one in subset["addresses"]]
    return listed if listed == [one for endpoint in sliced["endpoints"] or [] for one in endpoint["addresses"]] else None


def plain(server):
    """Both objects without what differs from one making of them to the next, as text in the order of their members."""
    out = []
    for _, thing in shown(server):
        metadata = {key: value for key, value in thing["metadata"].items()
                    if key not in ("uid", "resourceVersion", "creationTimestamp", "generation")}
        for entry in metadata["managedFields"]:
            entry.pop("time")
        out.append(json.dumps(thing | {"metadata": metadata}))
    return out


def until(what, server, wanted, seconds=120):
    began = time.monotonic()
    while addresses(server) != wanted:
        if time.monotonic() > began + seconds:
            sys.exit(f"{what}: {addresses(server)}, not {wanted}: {shown(server)}")
        time.sleep(0.1)
    print(f"{what}: {wanted} after {time.monotonic() - began:.1f} s", flush=True)


def run(arguments, stack):
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="same-endpoints-")))
    flags = FLAGS + servers.make_credentials(folder)
    if arguments.encrypted:
        (folder / "encryption.yaml").write_text(json.dumps(ENCRYPTION))
        flags.append(f"--encryption-provider-config={folder}/encryption.yaml")
    client, peer, port = free_port(), free_port(), free_port()
    url = f"http://127.0.0.1:{client}"
    process = start([arguments.etcd, "--data-dir", folder / "etcd", "--log-level", "warn", "--unsafe-no-fsync", "--listen-client-urls", url,
                     "--advertise-client-urls", url, "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
                     f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"], folder / "etcd.log", stack)
    wait_for(url + "/health", process, folder / "etcd.log")

    def launch(command, host, address, *more):
        # One port on two addresses of the loopback: the servers must agree on it.
        log = folder / f"{address}.log"
        process = start([*command, f"--etcd-servers={url}", *flags, f"--bind-address={host}", f"--secure-port={port}",
                         f"--advertise-address={address}", *more], log, stack)
        wait_for(f"https://{host}:{port}/readyz", process, log)
        return process, Server(address, f"https://{host}:{port}")

    def theirs():
        return launch([arguments.reference_binary], "127.0.0.1", "192.0.2.1", f"--cert-dir={folder}/certs", "--allow-privileged=true")

    def ours():
        return launch([arguments.build / "portcullis", "serve"], "127.0.0.2", "192.0.2.2", f"--data-dir={folder}/ours", "--controllers=-*")

    reader = launch([arguments.build / "portcullis", "serve"], "127.0.0.3", "192.0.2.3", f"--data-dir={folder}/reader",
                    "--controllers=-*", "--endpoint-reconciler-type=none")[1]
    their_process, _ = theirs()
    until("a kube-apiserver alone", reader, ["192.0.2.1"])
    by_them = plain(reader)
    our_process, _ = ours()
    until("Portcullis comes", reader, ["192.0.2.1", "192.0.2.2"])
    stop(their_process)
    until("the kube-apiserver stops", reader, ["192.0.2.2"])
    their_process, _ = theirs()
    until("it comes back", reader, ["192.0.2.1", "192.0.2.2"])
    our_process.kill()
    until("Portcullis is killed", reader, ["192.0.2.1"])
    our_process, ours_server = ours()
    until("it comes back", reader, ["192.0.2.1", "192.0.2.2"])
    their_process.kill()
    until("the kube-apiserver is killed", reader, ["192.0.2.2"])
    for path in (ENDPOINTS, SLICE):
        ours_server.do("DELETE", path)
    until("its objects are deleted", reader, ["192.0.2.2"])
    by_us = [text.replace("192.0.2.2", "192.0.2.1") for text in plain(reader)]
    stop(our_process)
    until("the last one stops", reader, [])
    return [pair for pair in zip(by_them, by_us) if pair[0] != pair[1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference-binary", required=True)
    parser.add_argument("--etcd", default="etcd")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--encrypted", action="store_true", help="everything is encrypted at rest, which leases never are")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        differences = run(arguments, stack)
    for theirs, ours in differences:
        print(f"theirs {theirs}\nours   {ours}")
    print(f"{len(differences)} of 2 objects differ")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
