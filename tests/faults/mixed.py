#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A long run of mixed requests on one server with its store on disk, a policy, a webhook and watches: every answer is as it
should be, and memory and open files stay as they are once the server is warm.

    tests/faults/mixed.py --build build/release --requests 100000 [--clients 16] [--parts 1]

Each client (mixed_clients.cc) works on names of its own over its own connection, so the object a request must find is known.
Of twenty requests there are six updates, three creations, three deletions, three reads, a merge patch, an apply, a page of a
list, a refusal by the policy and one that goes through a webhook. Two watches on the whole collection, and a list, are compared
with what was acknowledged at the end. With --parts the server is stopped and started again between them, on the same folder.
"""

import argparse
import base64
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import time

import faults
import peers
from peers import answer, review, sends

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from process import CONFIGMAPS, Server  # noqa: E402

SAMPLES = 10
ADMISSION = "/apis/admissionregistration.k8s.io/v1/"


def serve(folder, ports):
    certificates = peers.Certificates(folder)
    peer = peers.Peer(sends(lambda r: answer(review(r))), certificates.context("good"))
    ports.put((certificates.authority, peer.port))
    time.sleep(86400)


def configure(server, authority, port):
    rules = [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
    made = [
        ("validatingwebhookconfigurations", {"webhooks": [{
            "name": "soak.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "objectSelector": {"matchLabels": {"webhook": "yes"}}, "rules": rules, "timeoutSeconds": 20,
            "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(authority).decode()}}]}),
        ("validatingadmissionpolicies", {"spec": {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": "!has(object.data) || !('bad' in object.data)", "message": "no bad data"}]}}),
        ("validatingadmissionpolicybindings", {"spec": {"policyName": "soak", "validationActions": ["Deny"]}}),
    ]
    for resource, body in made:
        status, answered = server.call("POST", ADMISSION + resource, {"metadata": {"name": "soak"}} | body)
        if status != 201:
            sys.exit(f"{resource}: {answered}")
    body = {"metadata": {"name": "refused"}, "data": {"bad": "1"}}
    for _ in range(1000):  # until the policy is in force
        status, _ = server.call("POST", CONFIGMAPS + "?dryRun=All", body)
        if status == 422:
            return
    sys.exit("the policy is not in force")


def drive(arguments, server, folder, state, requests, samples):
    """The clients, until they end; takes samples on the way. Returns what was wrong."""
    clients = subprocess.Popen(
        [arguments.build / "tests/faults/mixed_clients", f"--server=https://127.0.0.1:{server.port}", f"--folder={folder}",
         f"--state={state}", f"--clients={arguments.clients}", f"--requests={requests}"], stdout=subprocess.PIPE, text=True)
    started, problems = time.monotonic(), []
    for line in clients.stdout:
        if not line.startswith("done "):
            problems.append(line.strip())
            continue
        done = int(line.split()[1])
        if len(samples) < SAMPLES and done >= requests * (len(samples) + 1) // SAMPLES:
            samples.append(faults.held(server.process.pid))
            print(f"{done:8d} requests {time.monotonic() - started:7.1f} s {samples[-1][0]:4d} open files "
                  f"{samples[-1][1]:5d} MB", flush=True)
    if clients.wait() != 0 and not problems:
        problems.append(f"the clients ended with {clients.returncode}")
    return problems


def part(arguments, program, folder, state, authority, hook, first):
    server = Server(program, folder, "--v=0")
    if first:
        configure(server, authority, hook)
    total = arguments.requests // arguments.parts // arguments.clients * arguments.clients
    samples, started = [], time.monotonic()
    problems = drive(arguments, server, folder, state, total, samples)
    took = time.monotonic() - started
    samples.append(faults.held(server.process.pid))
    code = server.end(15)
    if code != 0:
        problems.append(f"the server ended with {code}")
    warm, last = samples[len(samples) // 3], samples[-1]
    if last[0] > warm[0] + 16:
        problems.append(f"open files: {warm[0]} when warm, {last[0]} at the end")
    if last[1] > warm[1] * 1.15 + 16:
        problems.append(f"memory: {warm[1]} MB when warm, {last[1]} MB at the end")
    size = sum(f.stat().st_size for f in pathlib.Path(folder).glob("portcullis.db*")) >> 20
    print(f"mixed: {total} requests in {took:.0f} s ({total / took:.0f}/s); open files {warm[0]} -> {last[0]}, "
          f"memory {warm[1]} -> {last[1]} MB, database {size} MB", flush=True)
    return total, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--parts", type=int, default=1)
    arguments = parser.parse_args()
    program = str((arguments.build / "portcullis").resolve())
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as pki:
        ports = multiprocessing.Queue()
        webhook = multiprocessing.Process(target=serve, args=(pki, ports), daemon=True)
        webhook.start()
        authority, hook = ports.get(timeout=600)
        state = pathlib.Path(pki, "state.json")
        state.write_text("{}")
        answered, problems = 0, []
        for number in range(arguments.parts):
            total, wrong = part(arguments, program, folder, state, authority, hook, number == 0)
            answered += total
            problems += wrong
            if wrong:
                break
        webhook.terminate()
    print(f"mixed: {answered} requests in {arguments.parts} parts")
    for problem in problems[:20]:
        print(f"FAIL {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
