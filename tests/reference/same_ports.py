#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kube-apiserver and Portcullis on the same etcd give out node ports at the same time: no port twice, and each that is given back can be
given out by the other.

    tests/reference/same_ports.py --reference-binary PATH/kube-apiserver [--etcd PATH/etcd] [--build build/release] [--encrypted]

Prints each step, and exits with 1 if one is not as it has to be."""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import sys
import tempfile

import servers
from same_endpoints import ENCRYPTION
from same_etcd import ROOT, Server
from servers import free_port, start, stop, wait_for

SERVICES = "/api/v1/namespaces/default/services"
PORTS = range(30000, 30064)
FULL = "range is full"


def service(name, port=None):
    entry = {"port": 80} | ({"nodePort": port} if port else {})
    return {"kind": "Service", "apiVersion": "v1", "metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [entry]}}


def expect(what, seen, wanted):
    if seen != wanted:
        sys.exit(f"{what}: {seen}, not {wanted}")
    print(f"{what}: {seen}", flush=True)


def create(server, name, port=None):
    """The node port, or the message."""
    code, thing = server.do("POST", SERVICES, service(name, port))
    return thing["spec"]["ports"][0]["nodePort"] if code == 201 else thing["message"]


def fill(both, prefix):
    """Services through both until no port is left; their ports and names, and what else was answered."""
    names = [f"{prefix}{i}" for i in range(len(PORTS) + 8)]

    def one(number):
        server = both[number % 2]
        return create(Server(server.name, server.address.geturl()), names[number])  # with a connection of its own

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = dict(zip(names, pool.map(one, range(len(names)))))
    given = {name: port for name, port in answers.items() if isinstance(port, int)}
    refused = [answer for answer in answers.values() if not isinstance(answer, int)]
    expect("different ports that were given out", len(set(given.values())), len(PORTS))
    expect("Services that have one", len(given), len(PORTS))
    expect("refused because there is none left", sum(FULL in answer for answer in refused), 8)
    return given


def run(arguments, stack):
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="same-ports-")))
    flags = servers.FLAGS + servers.make_credentials(folder) + [f"--service-node-port-range={PORTS[0]}-{PORTS[-1]}"]
    if arguments.encrypted:
        (folder / "encryption.yaml").write_text(json.dumps(ENCRYPTION))
        flags.append(f"--encryption-provider-config={folder}/encryption.yaml")
    client, peer = free_port(), free_port()
    url = f"http://127.0.0.1:{client}"
    process = start([arguments.etcd, "--data-dir", folder / "etcd", "--log-level", "warn", "--unsafe-no-fsync", "--listen-client-urls", url,
                     "--advertise-client-urls", url, "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
                     f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"], folder / "etcd.log", stack)
    wait_for(url + "/health", process, folder / "etcd.log")

    def launch(name, command, *more):
        port, log = free_port(), folder / f"{name}.log"
        process = start([*command, f"--etcd-servers={url}", f"--secure-port={port}", *more, *flags], log, stack)
        wait_for(f"https://127.0.0.1:{port}/readyz", process, log)
        return process, Server(name, f"https://127.0.0.1:{port}")

    def launch_theirs():
        return launch("kube-apiserver", [arguments.reference_binary], f"--cert-dir={folder}/certs", "--allow-privileged=true")

    def launch_ours():
        return launch("portcullis", [arguments.build / "portcullis", "serve"], f"--data-dir={folder}/ours", "--controllers=-*")

    (their_process, theirs), (our_process, ours) = launch_theirs(), launch_ours()
    given = fill((theirs, ours), "a")
    for name, giver, taker in (("a0", ours, theirs), ("a1", theirs, ours)):
        expect(f"{giver.name} deletes {name}", giver.do("DELETE", f"{SERVICES}/{name}")[0], 200)
        expect(f"{taker.name} gives its port to another", create(taker, f"again-{name}"), given[name])
        refused = create(giver, "refused", given[name])
        expect(f"{giver.name} knows", "provided port is already allocated" in refused, True)
    for number, one in enumerate((theirs, ours)):
        for name in sorted(given)[number::2]:
            one.do("DELETE", f"{SERVICES}/{name}")
    for name in ("again-a0", "again-a1"):
        ours.do("DELETE", f"{SERVICES}/{name}")
    fill((ours, theirs), "b")

    # What each has stored is what the other begins with.
    stop(our_process)
    stop(their_process)
    (_, theirs), (_, ours) = launch_theirs(), launch_ours()
    for one in (theirs, ours):
        expect(f"{one.name}, started again, has a port left", FULL not in str(create(one, "c")), False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference-binary", required=True)
    parser.add_argument("--etcd", default="etcd")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--encrypted", action="store_true", help="everything is encrypted at rest")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        run(arguments, stack)
    print("OK")


if __name__ == "__main__":
    main()
