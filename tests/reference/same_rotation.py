#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two servers on one etcd, of which one gets a new encryption key first: what the other one answers until it has the key, too,
and after that. Two kube-apiservers, then two of Portcullis; prints each step with both answers.

    tests/reference/same_rotation.py --reference-binary PATH/kube-apiserver [--etcd PATH/etcd] [--build build/release]

Exits with 1 if a step of ours is neither as theirs nor as KNOWN says. It takes about three minutes: a kube-apiserver looks at the
file once a minute."""

import argparse
import base64
import contextlib
import http.client
import json
import pathlib
import re
import sys
import ssl
import tempfile
import threading
import time

import servers
from same_etcd import ROOT, Server
from servers import free_port, start, wait_for

SECRETS = "/api/v1/namespaces/default/secrets"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
KEYS = {name: base64.b64encode((name * 32)[:32].encode()).decode() for name in ("old", "new")}
MERGE = "application/merge-patch+json"
NO_KEY = "no matching key was found for the provided AES transformer"
# Ours where it differs: a read that accepts any state does not get the former one either, and a watch ends, for its client to list again.
KNOWN = {
    "get at b, any version": f"500 Internal error occurred: {NO_KEY}",
    "list at b, any version": f'500 Internal error occurred: unable to transform key "/registry/secrets/default/s": {NO_KEY}',
    "the watch at b, in the end": ["ERROR 410 too old resource version: N (N)", "end"],
}


def write_keys(file, *names):
    keys = [{"name": name, "secret": KEYS[name]} for name in names]
    file.write_text(json.dumps({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1",
                                "resources": [{"resources": ["*.*"], "providers": [{"aesgcm": {"keys": keys}}, {"identity": {}}]}]}))


def patched(value):
    return {"stringData": {"k": value}}


def short(answer):
    """The status with what the client sees of the Secret, or with the message."""
    code, body = answer
    if code >= 400:
        return f"{code} {body['message']}"
    things = body.get("items", [body])
    return f"{code} " + ", ".join(base64.b64decode(thing["data"]["k"]).decode() for thing in things if thing["metadata"]["name"] == "s")


class Watch:
    """Of the Secrets of the namespace from now on; how it went on, as it is seen by a client."""

    def __init__(self, server):
        self.events, version = [], server.do("GET", f"{SECRETS}?limit=1")[1]["metadata"]["resourceVersion"]
        self.server = Server("watch", server.address.geturl())
        threading.Thread(target=self.run, args=(version,), daemon=True).start()

    def run(self, version):
        connection = http.client.HTTPSConnection(self.server.address.hostname, self.server.address.port, timeout=300,
                                                 context=ssl._create_unverified_context())
        connection.request("GET", f"{SECRETS}?watch=true&resourceVersion={version}", None,
                           {"Authorization": f"Bearer {servers.TOKEN}", "Accept": "application/json"})
        answer = connection.getresponse()
        while line := answer.readline():
            event = json.loads(line)
            thing = event["object"]
            if event["type"] == "ERROR":
                self.events.append(f"ERROR {thing['code']} " + re.sub(r"[0-9]+", "N", thing["message"]))
            elif thing["metadata"]["name"] == "s":
                self.events.append(f"{event['type']} {base64.b64decode(thing['data']['k']).decode()}")
        self.events.append("end")


def may(server):
    """Whether a user may do what the role in RBAC allows."""
    body = {"spec": {"user": "jane", "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}}}
    return server.do("POST", REVIEWS, body)[1]["status"]["allowed"]


def wait_until(what, seconds=100):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.2)
    return False


def steps(folder, url, launch):
    """(step, answer), one after the other."""
    files = [folder / "a.json", folder / "b.json"]
    for file in files:
        write_keys(file, "old")
    a, b = (launch(name, file) for name, file in zip("ab", files))
    a.do("POST", SECRETS, {"metadata": {"name": "s"}, "stringData": {"k": "one"}})
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    a.do("POST", f"{RBAC}/roles", {"metadata": {"name": "r"}, "rules": rules})
    a.do("POST", f"{RBAC}/rolebindings", {"metadata": {"name": "r"}, "subjects": [{"kind": "User", "name": "jane"}],
                                          "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}})
    yield "a user may, at b", wait_until(lambda: may(b), 20)
    watch = Watch(b)
    time.sleep(2)
    write_keys(files[0], "new", "old")
    hashes = lambda server: re.findall(r'last_config_info\{[^}]*hash="([^"]*)"\} 1', server.do("GET", "/metrics")[1]["message"])
    before = hashes(a)
    yield "a has the new key", wait_until(lambda: hashes(a) != before)
    yield "patch at a", short(a.do("PATCH", f"{SECRETS}/s", patched("two"), MERGE))
    yield "the role at a", a.do("PATCH", f"{RBAC}/roles/r", {"rules": []}, MERGE)[0]
    time.sleep(2)
    yield "the user still may, at b", may(b)
    yield "get of the role at b", b.do("GET", f"{RBAC}/roles/r")[1].get("message")
    yield "get at b", short(b.do("GET", f"{SECRETS}/s"))
    yield "get at b, any version", short(b.do("GET", f"{SECRETS}/s?resourceVersion=0"))
    yield "list at b", short(b.do("GET", SECRETS))
    yield "list at b, any version", short(b.do("GET", f"{SECRETS}?resourceVersion=0"))
    yield "patch at b", short(b.do("PATCH", f"{SECRETS}/s", patched("three"), MERGE))
    yield "create at b", short(b.do("POST", SECRETS, {"metadata": {"name": "s"}}))
    yield "delete at b", short(b.do("DELETE", f"{SECRETS}/s"))
    yield "the watch at b", list(watch.events)
    before = hashes(b)
    write_keys(files[1], "old", "new")
    yield "b has the new key", wait_until(lambda: hashes(b) != before)
    yield "it comes to answer", wait_until(lambda: b.do("GET", f"{SECRETS}/s")[0] == 200, 20)
    yield "the user may no more, at b", wait_until(lambda: not may(b), 70)
    yield "get at b, in the end", short(b.do("GET", f"{SECRETS}/s"))
    yield "get at b, any version, in the end", short(b.do("GET", f"{SECRETS}/s?resourceVersion=0"))
    yield "list at b, in the end", short(b.do("GET", SECRETS))
    wait_until(lambda: watch.events, 20)
    time.sleep(1)
    yield "the watch at b, in the end", list(watch.events)
    yield "patch at b, in the end", short(b.do("PATCH", f"{SECRETS}/s", patched("four"), MERGE))
    yield "get at a", short(a.do("GET", f"{SECRETS}/s"))


def observe(arguments, command, more):
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="same-rotation-")))
        flags = servers.FLAGS + servers.make_credentials(folder) + ["--encryption-provider-config-automatic-reload"]
        client, peer = free_port(), free_port()
        url = f"http://127.0.0.1:{client}"
        process = start([arguments.etcd, "--data-dir", folder / "etcd", "--log-level", "warn", "--unsafe-no-fsync", "--listen-client-urls", url,
                         "--advertise-client-urls", url, "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
                         f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"], folder / "etcd.log", stack)
        wait_for(url + "/health", process, folder / "etcd.log")

        def launch(name, file):
            port, log = free_port(), folder / f"{name}.log"
            process = start([*command, f"--etcd-servers={url}", *flags, f"--encryption-provider-config={file}", f"--secure-port={port}",
                             *(flag.format(folder=f"{folder}/{name}") for flag in more)], log, stack)
            wait_for(f"https://127.0.0.1:{port}/readyz", process, log)
            return Server(name, f"https://127.0.0.1:{port}")

        out = []
        for step in steps(folder, url, launch):
            print(step, flush=True)
            out.append(step)
        return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference-binary", required=True)
    parser.add_argument("--etcd", default="etcd")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    arguments = parser.parse_args()
    theirs = observe(arguments, [arguments.reference_binary], ["--cert-dir={folder}", "--allow-privileged=true"])
    ours = observe(arguments, [arguments.build / "portcullis", "serve"], ["--data-dir={folder}", "--controllers=-*"])
    differences = [(step, one, other) for (step, one), (_, other) in zip(theirs, ours) if one != other]
    for step, one, other in differences:
        print(f"{step}: {one}\n    ours: {other}{', as KNOWN says' if KNOWN.get(step) == other else ''}")
    new = [step for step, _, other in differences if KNOWN.get(step) != other]
    print(f"{len(differences)} of {len(theirs)} steps differ, {len(new)} of them unknown")
    sys.exit(1 if new else 0)


if __name__ == "__main__":
    main()
