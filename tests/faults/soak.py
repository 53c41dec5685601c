#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many requests through webhooks, some of which fail, and what the server holds meanwhile: memory and open
files must not grow once it is warm. The requests are dry runs, so the store stays as it is.

    tests/faults/soak.py --build build/release                    100,000 requests
    tests/faults/soak.py --build build/asan --requests 10000      under a sanitizer

Each request goes to a mutating and a validating webhook that do as they should; one in four is also
shown to one that fails in its own way and is passed over.
"""

import argparse
import base64
import http.client
import json
import multiprocessing
import pathlib
import sys
import tempfile
import time

import faults
import peers
from peers import answer, requests, review, sends, sends_and_closes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from process import CONFIGMAPS, Server  # noqa: E402

PATCH = base64.b64encode(b'[{"op":"add","path":"/data","value":{"seen":"yes"}}]').decode()
SAMPLES = 10


def mutation(request):
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                       "response": {"uid": request.uid(), "allowed": True, "patchType": "JSONPatch", "patch": PATCH}}).encode()


def serve(folder, ports):
    """The webhooks, in a process of their own; puts their ports into `ports`."""
    certificates = peers.Certificates(folder)
    good = certificates.context("good")
    nobody = peers.Nobody()
    behaviours = {
        "mutates": sends(lambda r: answer(mutation(r))),
        "allows": sends(lambda r: answer(review(r))),
        "closes-at-once": requests(lambda p, c, r: False),
        "closes-in-body": sends_and_closes(lambda r: answer(review(r))[:-10]),
        "resets": requests(peers.resets),
        "answers-twice": sends(lambda r: answer(review(r)) * 2),
        "garbage": sends_and_closes(lambda r: b"\0garbage\r\n\r\n"),
        "no-review": sends(lambda r: answer(b"[" * 1000)),
        "ill": sends(lambda r: answer(b"ill", "500 Internal Server Error")),
        "goes-in-circles": sends(lambda r: answer(b"", "307 Temporary Redirect", "1.1", "text/plain", "Location: /x")),
        "a-megabyte": peers.huge(1 << 20, False),
    }
    listening = {name: peers.Peer(behave, good) for name, behave in behaviours.items()}
    listening["wrong-certificate"] = peers.Peer(behaviours["allows"], certificates.context("unknown"))
    ports.put((certificates.authority, {name: peer.port for name, peer in listening.items()} | {"refused": nobody.port}))
    time.sleep(86400)


def configure(server, authority, ports):
    bundle = base64.b64encode(authority).decode()

    def hook(name):
        selector = {} if name in ("mutates", "allows") else {"matchLabels": {"fault": name}}
        return {"name": f"{name}.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail" if selector == {} else "Ignore", "timeoutSeconds": 10, "objectSelector": selector,
                "clientConfig": {"url": f"https://127.0.0.1:{ports[name]}/{name}", "caBundle": bundle},
                "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}

    group = "admissionregistration.k8s.io/v1"
    for kind, names in (("Mutating", ["mutates"]), ("Validating", sorted(set(ports) - {"mutates"}))):
        status, made = server.call("POST", f"/apis/{group}/{kind.lower()}webhookconfigurations", {
            "apiVersion": group, "kind": f"{kind}WebhookConfiguration", "metadata": {"name": "soak"},
            "webhooks": [hook(name) for name in names]})
        if status != 201:
            sys.exit(f"the webhooks cannot be configured: {made}")


def drive(port, context_files, names, count, first, done, wrong):
    """`count` requests over one connection; tells after each hundred through `done`."""
    import ssl
    context = ssl.create_default_context(cafile=context_files[0])
    context.load_cert_chain(*context_files[1:])
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    for i in range(first, first + count):
        labels = {"fault": names[i // 4 % len(names)]} if i % 4 == 0 else {}
        body = json.dumps({"metadata": {"name": f"map-{i}", "labels": labels}})
        connection.request("POST", CONFIGMAPS + "?dryRun=All", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        made = json.loads(response.read())
        if response.status != 201 or made.get("data") != {"seen": "yes"}:
            wrong.put(f"{labels}: {response.status} {json.dumps(made)[:300]}")
        if i % 100 == 99:
            with done.get_lock():
                done.value += 100


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=4)
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.build, "portcullis").resolve())
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as pki:
        ports_queue, wrong = multiprocessing.Queue(), multiprocessing.Queue()
        webhooks = multiprocessing.Process(target=serve, args=(pki, ports_queue), daemon=True)
        webhooks.start()
        authority, ports = ports_queue.get(timeout=60)
        server = Server(program, folder, "--store=memory", "--v=0")
        try:
            configure(server, authority, ports)
            done = multiprocessing.Value("q", 0)
            files = tuple(str(pathlib.Path(folder, "pki", name)) for name in ("ca.crt", "admin.crt", "admin.key"))
            names = sorted(set(ports) - {"mutates", "allows"})
            each = arguments.requests // arguments.clients // 100 * 100
            clients = [multiprocessing.Process(target=drive, args=(server.port, files, names, each, n * each, done, wrong))
                       for n in range(arguments.clients)]
            started = time.monotonic()
            for client in clients:
                client.start()
            samples = []
            total = each * arguments.clients
            while any(client.is_alive() for client in clients):
                time.sleep(0.05)
                if done.value >= total * (len(samples) + 1) / SAMPLES and len(samples) < SAMPLES:
                    samples.append(faults.held(server.process.pid))
                    print(f"{done.value:7d} requests  {time.monotonic() - started:7.1f} s  "
                          f"{samples[-1][0]:4d} open files  {samples[-1][1]:5d} MB", flush=True)
            took = time.monotonic() - started
            samples.append(faults.held(server.process.pid))
            problems = []
            while not wrong.empty():
                problems.append(wrong.get())
            if done.value != total:
                problems.append(f"{done.value} of {total} requests were answered")
        finally:
            webhooks.terminate()
            code = server.end(15)
    if code != 0:
        problems.append(f"the server ended with {code}")
    # The first fifth warms up: pools of connections, threads and the allocator's arenas fill.
    warm, last = samples[SAMPLES // 5 - 1], samples[-1]
    if last[0] > warm[0] + 16:
        problems.append(f"open files: {warm[0]} when warm, {last[0]} at the end")
    if last[1] > warm[1] * 1.1 + 8:
        problems.append(f"memory: {warm[1]} MB when warm, {last[1]} MB at the end")
    print(f"soak: {total} requests in {took:.0f} s ({total / took:.0f}/s); open files {warm[0]} -> {last[0]}, "
          f"memory {warm[1]} -> {last[1]} MB")
    for problem in problems[:20]:
        print(f"FAIL {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
