#!/usr/bin/env python3
"""A long run of mixed requests on one server with its store on disk, a policy, a webhook and watches: every answer is as it
should be, and memory and open files stay as they are once the server is warm.

    tests/faults/mixed.py --build build/release --requests 100000 [--clients 2] [--parts 1]

Each client works on names of its own, so the object a request must find is known. Of twenty requests there are six
updates, three creations, three deletions, three reads, a merge patch, an apply, a page of a list, a refusal by the policy and
one that goes through a webhook. Clients keep one watch each on the whole collection and compare what it says at the end.
With --parts the server is stopped and started again between them, on the same folder.
"""

import argparse
import base64
import http.client
import json
import multiprocessing
import pathlib
import ssl
import sys
import tempfile
import threading
import time

import faults
import peers
from peers import answer, review, sends

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from process import CONFIGMAPS, Server  # noqa: E402

SAMPLES = 10
NAMES = 50  # of each client
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


class Client:
    def __init__(self, number, port, files, state):
        self.number, self.port, self.state = number, port, state
        self.context = ssl.create_default_context(cafile=files[0])
        self.context.load_cert_chain(*files[1:])
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, context=self.context, timeout=120)
        self.wrong = []
        self.seen = {}

    def ask(self, method, path, body=None, kind="application/json", expect=(200, 201)):
        self.connection.request(method, path, body and json.dumps(body), {"Content-Type": kind})
        response = self.connection.getresponse()
        text = response.read()
        if response.status not in expect and len(self.wrong) < 5:
            self.wrong.append(f"{method} {path}: {response.status} {text[:300]!r}")
        return text

    def watch(self):
        """Follows the collection until the connection is closed."""
        self.stream = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=600)
        self.stream.request("GET", CONFIGMAPS + "?watch=1&timeoutSeconds=100000")
        response = self.stream.getresponse()
        prefix = f"c{self.number}-"
        try:
            while line := response.readline():
                event = json.loads(line)
                if event["type"] == "BOOKMARK":
                    continue
                if event["type"] == "ERROR":
                    self.wrong.append(f"watch: {event}")
                    return
                name = event["object"]["metadata"]["name"]
                if name.startswith(prefix):
                    self.seen[name] = None if event["type"] == "DELETED" else event["object"].get("data", {}).get("v")
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass

    def step(self, i):
        name = f"c{self.number}-{i * 7 % NAMES}"
        path, there = f"{CONFIGMAPS}/{name}", name in self.state
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": f"{i}-" + "x" * (i % 900)}}
        what = i % 20
        if what == 17:
            return self.ask("POST", CONFIGMAPS, body | {"data": {"bad": "1"}}, expect=(422,))
        if what == 18:
            return self.ask("GET", CONFIGMAPS + "?limit=20")
        if what in (12, 13, 14):
            return self.ask("GET", path, expect=(200,) if there else (404,))
        if not there:
            self.ask("POST", CONFIGMAPS, body)
        elif what in (9, 10, 11):
            self.ask("DELETE", path)
            del self.state[name]
            return None
        elif what == 15:
            self.ask("PATCH", path, {"data": body["data"]}, "application/merge-patch+json")
        elif what == 16:
            self.ask("PATCH", path + "?fieldManager=soak&force=true", body, "application/apply-patch+yaml")
        else:
            if what == 19:
                body["metadata"]["labels"] = {"webhook": "yes"}
            self.ask("PUT", path, body)
        self.state[name] = body["data"]["v"]
        return None


def drive(number, port, files, count, state, done, results):
    client = Client(number, port, files, dict(state))
    watcher = threading.Thread(target=client.watch, daemon=True)
    watcher.start()
    try:
        for i in range(count):
            client.step(i)
            if i % 100 == 99:
                with done.get_lock():
                    done.value += 100
        stored = json.loads(client.ask("GET", CONFIGMAPS))["items"]
        mine = {item["metadata"]["name"]: item["data"]["v"] for item in stored
                if item["metadata"]["name"].startswith(f"c{number}-")}
        if mine != client.state:
            client.wrong.append(f"client {number}: what is stored differs from what was acknowledged")
        for _ in range(600):  # the watch may lag a little
            behind = {n for n, v in client.state.items() if client.seen.get(n, v if n in state else None) != v}
            if not behind or not watcher.is_alive():
                break
            time.sleep(0.1)
        if behind and watcher.is_alive():
            client.wrong.append(f"client {number}: the watch missed {sorted(behind)[:5]}")
    except (OSError, http.client.HTTPException) as error:
        client.wrong.append(f"client {number}: {error!r}")
    results.put((number, client.state, client.wrong))


def part(arguments, program, folder, states, authority, hook, first):
    server = Server(program, folder, "--v=0")
    if first:
        configure(server, authority, hook)
    files = tuple(str(pathlib.Path(folder, "pki", name)) for name in ("ca.crt", "admin.crt", "admin.key"))
    each = arguments.requests // arguments.clients // arguments.parts // 100 * 100
    done, results = multiprocessing.Value("q", 0), multiprocessing.Queue()
    clients = [multiprocessing.Process(target=drive, args=(n, server.port, files, each, states[n], done, results))
               for n in range(arguments.clients)]
    started = time.monotonic()
    for client in clients:
        client.start()
    samples, total, problems, ended = [], each * arguments.clients, [], 0
    while ended < len(clients):
        try:
            number, states[number], wrong = results.get(timeout=0.5)
            problems += wrong
            ended += 1
        except Exception:  # queue.Empty
            pass
        if len(samples) < SAMPLES and done.value >= total * (len(samples) + 1) / SAMPLES:
            samples.append(faults.held(server.process.pid))
            print(f"{done.value:8d} requests {time.monotonic() - started:7.1f} s {samples[-1][0]:4d} open files "
                  f"{samples[-1][1]:5d} MB", flush=True)
    took = time.monotonic() - started
    for client in clients:
        client.join()
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
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--parts", type=int, default=1)
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.build, "portcullis").resolve())
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as pki:
        ports = multiprocessing.Queue()
        webhook = multiprocessing.Process(target=serve, args=(pki, ports), daemon=True)
        webhook.start()
        authority, hook = ports.get(timeout=600)
        states = [{} for _ in range(arguments.clients)]
        answered, problems = 0, []
        for number in range(arguments.parts):
            total, wrong = part(arguments, program, folder, states, authority, hook, number == 0)
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
