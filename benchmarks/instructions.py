#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions a create takes, from the socket to the answer, or another request.

    benchmarks/instructions.py --build build/release [--baseline FILE] [--etcd] [--webhooks 0,1,10] [--mutating] [--policies 0,1]
                               [--compact | --protobuf] [--dry-run] [--requests create,get,…]

Runs `portcullis serve` under callgrind (Debian's valgrind), sends it creates over one connection, and counts what all its
threads do meanwhile. What else the machine does changes nothing: a count says in a minute what a duel of portcullis-load
says only on a quiet machine. What it leaves out is the kernel. What the server does
every 20 ms is counted too often, as a create takes that long here: 7,000 to 21,000 instructions are its look at its memory.

The store is memory, or an etcd of its own with --etcd. With --webhooks, so many validating webhooks match each create; they
are served by this process and allow everything; with --mutating they mutate, each adds a label. With --policies, so many
ValidatingAdmissionPolicies match. With --baseline, another program of this repository is counted as well and
the ratio to it is printed. What is created is JSON as Python writes it; with --compact, without white space, as clients in Go
send it; with --protobuf, it is sent and answered in protobuf. With --dry-run, nothing is stored. --passes prints how many of
them each pass over the object takes, --keep FOLDER keeps the profiles, for callgrind_annotate.

--requests counts other requests than creates, each about an object of its own that was created before: the updates and patches
change a label (apply as a second manager, then again), list reads all of them, and watch is a create that 10 watchers are told of.
"""

import argparse
import base64
import http.client
import http.server
import itertools
import json
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT), str(ROOT.parent / "tests/harness")]
from etcd_cluster import Etcd, find_etcd  # noqa: E402
from ports import free_port  # noqa: E402
from protobuf_body import protobuf_body  # noqa: E402
from write_walk import SKIPPED  # noqa: E402

TOKEN = "instructions"
JSON, PROTOBUF = "application/json", "application/vnd.kubernetes.protobuf"
WARM_UP = 100  # creates that are not counted: caches fill, and what only the start needs is given back


def container(number):
    return {"name": f"c{number}", "image": f"registry.example/app:{number}", "ports": [{"containerPort": 80 + number}],
            "env": [{"name": f"E{i}", "value": "v" * 20} for i in range(6)],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}},
            "readinessProbe": {"httpGet": {"path": "/", "port": 80}}}


KINDS = {
    "configmaps": {"apiVersion": "v1", "kind": "ConfigMap", "data": {f"k{i}": "v" * 90 for i in range(10)}},
    "pods": {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container(0), container(1)]}},
}

# What is done with an object, and the function of it; none of them calls another.
PASSES = {
    "read and decrypt": "SSL_read_ex",
    "read the JSON": "portcullis::json::Parse(",
    "read the protobuf": "portcullis::engine::ReadProtobufObject(",
    "decode by the schema": "portcullis::api::schema::Decode(",
    "defaults": "portcullis::engine::ApplyDefaults(",
    "defaults of what admission has changed": "portcullis::engine::WithDefaultsOfReads(",
    "prepare, by kind": "::PrepareForCreate(",
    "plugins that mutate": "portcullis::engine::RunMutating(",
    "plugins that validate": "portcullis::engine::RunValidating(",
    "validate, by kind": "portcullis::registry::DefaultStrategy::Validate(",
    "warnings, by kind": "portcullis::registry::DefaultStrategy::Warnings(",
    "managedFields": "portcullis::api::patch::Track(",
    "text for the store and the answer": "portcullis::engine::EncodeForStore(",
    "message for the answer": "portcullis::engine::WriteProtobufMessage(",
    "encrypt and send": "SSL_write_ex",
}


# Which of them other creates do not have.
IN_JSON, IN_PROTOBUF = {"read the JSON", "decode by the schema"}, {"read the protobuf", "message for the answer"}
OF_STORED = {"text for the store and the answer"}


def registration(kind, name):
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}


def rules_of(resource):
    return [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}]


class AllowAll(http.server.BaseHTTPRequestHandler):
    """Allows what is reviewed, /patch/N adds a label. An answer leaves in one piece, as those of Go do."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *args):
        pass

    def do_POST(self):
        review = self.rfile.read(int(self.headers["Content-Length"]))
        uid = re.search(rb'"uid":"([^"]*)"', review)[1].decode()
        response = {"uid": uid, "allowed": True}
        if (path := self.path.split("?")[0]).startswith("/patch/"):
            patch = [{"op": "add", "path": f"/metadata/labels/{path[len('/patch/'):]}", "value": "x"}]
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response},
                          separators=(",", ":"))
        self.wfile.write((f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: {self.date_time_string()}\r\n"
                          f"Content-Length: {len(body)}\r\n\r\n{body}").encode())


class Webhooks(http.server.ThreadingHTTPServer):
    """The HTTPS server of the webhooks."""

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), AllowAll)
        certificate, key = folder / "webhooks.crt", folder / "webhooks.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                        "/CN=webhooks", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.ca_bundle = base64.b64encode(certificate.read_bytes()).decode()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def configuration(self, count, resource, mutating):
        path = f"https://127.0.0.1:{self.server_port}/{'patch/' if mutating else ''}w"
        return registration(("Mutating" if mutating else "Validating") + "WebhookConfiguration", "instructions") | {
            "webhooks": [{"name": f"w{i}.instructions.test", "rules": rules_of(resource), "sideEffects": "None", "timeoutSeconds": 30,
                          "admissionReviewVersions": ["v1"], "clientConfig": {"url": f"{path}{i}", "caBundle": self.ca_bundle}}
                         for i in range(count)]}


LABEL = {"metadata": {"labels": {"app": "other"}}}
PATCHES = {
    "json-patch": ("application/json-patch+json", [{"op": "replace", "path": "/metadata/labels/app", "value": "other"}]),
    "merge-patch": ("application/merge-patch+json", LABEL),
    "strategic-patch": ("application/strategic-merge-patch+json", LABEL),
}
APPLY = "application/apply-patch+yaml"
REQUESTS = ["create", "get", "list", "update", *PATCHES, "apply", "delete", "watch"]
WATCHERS = 10


class Server:
    """`portcullis serve` under callgrind, which counts only between counting(True) and counting(False)."""

    def __init__(self, program, folder, store):
        self.folder, self.port = folder, free_port()
        folder.mkdir()
        (folder / "tokens.csv").write_text(f"{TOKEN},admin,1,system:masters\n", encoding="utf-8")
        self.profile = folder / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={self.profile}", str(program),
                   "serve", "--bind-address=127.0.0.1", f"--secure-port={self.port}", f"--data-dir={folder}/data",
                   f"--token-auth-file={folder}/tokens.csv", f"--ready-file={folder}/ready", *store]
        with open(folder / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        while not (folder / "ready").exists():
            if self.process.poll() is not None:
                sys.exit(f"{program} has ended:\n{(folder / 'log').read_text(encoding='utf-8')[-2000:]}")
            time.sleep(0.2)
        self.context = ssl.create_default_context(cafile=folder / "data/pki/ca.crt")
        self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)

    def send(self, method, path, body=None, media_type=JSON, accept=JSON):
        self.connection.request(method, path, body, {"Authorization": f"Bearer {TOKEN}", "Content-Type": media_type, "Accept": accept})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            sys.exit(f"{method} {path}: {answer.status} {text!r}")
        return text

    def post(self, path, body):
        self.send("POST", path, body)

    def watch(self, path):
        """A watch that someone reads to its end."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        connection.request("GET", f"{path}?watch=true", headers={"Authorization": f"Bearer {TOKEN}"})
        threading.Thread(target=connection.getresponse().read, daemon=True).start()

    def register(self, registered):
        self.post(f"/apis/admissionregistration.k8s.io/v1/{re.sub('y$', 'ie', registered['kind'].lower())}s", json.dumps(registered))

    def enforce(self, policies, resource):
        for name in (f"policy-{i}" for i in range(policies)):
            self.register(registration("ValidatingAdmissionPolicy", name) | {"spec": {
                "matchConstraints": {"resourceRules": rules_of(resource)},
                "validations": [{"expression": f"object.metadata.name != '{name}'"}]}})
            self.register(registration("ValidatingAdmissionPolicyBinding", name) | {"spec": {
                "policyName": name, "validationActions": ["Deny"]}})

    def counting(self, on):
        subprocess.run(["callgrind_control", "-i", "on" if on else "off", str(self.process.pid)], check=True, capture_output=True)

    def stop(self):
        self.process.terminate()
        self.process.wait(120)

    def counted(self):
        return int(re.search(r"^totals: (\d+)", self.profile.read_text(encoding="utf-8"), re.MULTILINE)[1])

    def passes(self, args):
        """The instructions of each pass, with all that it calls, and of what is none."""
        text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no", self.profile],
                              check=True, capture_output=True, text=True).stdout
        found = dict.fromkeys(PASSES, 0)
        # A function stands there once for each file of which something is inlined in it, always with all that it calls.
        for count, function in re.findall(r"^ *([\d,]+) \([^)]*\)  (.*)$", text, re.MULTILINE):
            for name, mark in PASSES.items():
                if mark in function:
                    found[name] = max(found[name], int(count.replace(",", "")))
        foreign = (set(PASSES) if args.requests != "create" else set()) | (IN_JSON if args.protobuf else IN_PROTOBUF) | (OF_STORED if args.dry_run else set())
        missing = [name for name, count in found.items() if count == 0 and name not in foreign]
        if missing:
            sys.exit(f"no function in the profile is that of: {', '.join(missing)}")
        return found | {"HTTP, authentication, authorization, flow control, commit, audit, metrics": self.counted() - sum(found.values())}


class Requests:
    """Sends one of REQUESTS about objects of a resource, each of which has been created before."""

    def __init__(self, server, kind, resource, args):
        self.server, self.kind, self.resource, self.args = server, kind, resource, args
        self.path, self.made = f"/api/v1/namespaces/default/{resource}", {}

    def create(self, name):
        made = KINDS[self.resource] | {"metadata": {"name": name, "labels": {"app": "web"}}}
        path = self.path + "?dryRun=All" * self.args.dry_run
        if self.args.protobuf:
            self.server.send("POST", path, protobuf_body(made), PROTOBUF, PROTOBUF)
        else:
            self.made[name] = self.server.send("POST", path, self.text(made))

    def text(self, value):
        return json.dumps(value, separators=(",", ":") if self.args.compact else None)

    def apply(self, name, label):
        intent = KINDS[self.resource] | {"metadata": {"name": name, "labels": {"app": label}}}
        self.server.send("PATCH", f"{self.path}/{name}?fieldManager=second&force=true", self.text(intent), APPLY)

    def prepare(self, names):
        """What the requests about these objects need."""
        if self.kind == "watch":
            for _ in range(WATCHERS):
                self.server.watch(self.path)
        elif self.kind != "create":
            for name in names:
                self.create(name)
        if self.kind == "apply":
            for name in names:
                self.apply(name, "web")

    def send(self, name):
        path, accept = f"{self.path}/{name}", PROTOBUF if self.args.protobuf else JSON
        if self.kind in ("create", "watch"):
            self.create(name)
        elif self.kind in PATCHES:
            media_type, patch = PATCHES[self.kind]
            self.server.send("PATCH", path, self.text(patch), media_type)
        elif self.kind == "apply":
            self.apply(name, "other")
        elif self.kind == "update":
            self.server.send("PUT", path, self.made[name].replace(b'"app":"web"', b'"app":"other"'))
        else:
            method = "DELETE" if self.kind == "delete" else "GET"
            self.server.send(method, self.path if self.kind == "list" else path, accept=accept)


class Measurement:
    """What is counted of each program."""

    def __init__(self, args, folder, request, resource, webhooks, policies):
        self.args, self.request, self.resource, self.webhooks, self.policies = args, request, resource, webhooks, policies
        self.passes = {} if args.passes else None
        matching = [f"{webhooks} {'mutating ' * args.mutating}webhook{'s' * (webhooks > 1)}"] if webhooks else []
        matching += [f"{policies} polic{'ies' if policies > 1 else 'y'}"] if policies else []
        matching += ["without white space"] * args.compact + ["in protobuf"] * args.protobuf + ["a dry run"] * args.dry_run
        self.name = ", ".join([f"{request} of {resource}", *matching])
        self.folder = folder / "-".join([request, resource, *matching]).replace(" ", "-")

    def of(self, program, suffix=""):
        folder = self.folder.with_name(self.folder.name + suffix)
        if not self.args.etcd:
            return self.count(Server(program, folder, ["--store=memory"]))
        with Etcd(folder.with_suffix(".etcd"), flags=["--unsafe-no-fsync"]) as etcd:
            return self.count(Server(program, folder, [f"--etcd-servers={etcd.url}"]))

    def count(self, server):
        try:
            if self.webhooks:
                server.register(Webhooks(server.folder).configuration(self.webhooks, self.resource, self.args.mutating))
            server.enforce(self.policies, self.resource)
            warm_up, counted = ([f"{phase}-{i}" for i in range(count)]
                                for phase, count in (("warm-up", WARM_UP), ("counted", self.args.creates)))
            requests = Requests(server, self.request, self.resource, self.args)
            requests.prepare(warm_up + counted)
            for name in warm_up:
                requests.send(name)
            server.counting(True)
            for name in counted:
                requests.send(name)
            server.counting(False)
        finally:
            server.stop()
        if self.passes is not None:
            self.passes = {name: count / self.args.creates for name, count in server.passes(self.args).items() if count > 0}
        return server.counted() / self.args.creates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT.parent / "build/release")
    parser.add_argument("--baseline", type=pathlib.Path, help="another portcullis")
    parser.add_argument("--kinds", default=",".join(KINDS), help="default: %(default)s")
    parser.add_argument("--requests", default="create", help=f"of {', '.join(REQUESTS)}; default: %(default)s")
    parser.add_argument("--creates", type=int, default=400, help="of each kind; default: %(default)s")
    parser.add_argument("--etcd", action="store_true", help="store in etcd instead of memory")
    parser.add_argument("--webhooks", default="0", help="how many match each create, several numbers in turn; default: %(default)s")
    parser.add_argument("--mutating", action="store_true", help="the webhooks mutate")
    parser.add_argument("--policies", default="0", help="likewise; default: %(default)s")
    encoding = parser.add_mutually_exclusive_group()
    encoding.add_argument("--compact", action="store_true", help="creates have no white space")
    encoding.add_argument("--protobuf", action="store_true", help="creates and their answers are in protobuf")
    parser.add_argument("--dry-run", action="store_true", help="nothing is stored")
    parser.add_argument("--passes", action="store_true", help="where they go")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the profiles")
    args = parser.parse_args()
    if shutil.which("valgrind") is None or (args.etcd and find_etcd() is None):
        print("SKIP there is no valgrind, or no etcd")
        return SKIPPED
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        counts = (map(int, text.split(",")) for text in (args.webhooks, args.policies))
        for what in itertools.product(args.requests.split(","), args.kinds.split(","), *counts):
            measurement = Measurement(args, folder, *what)
            ours = measurement.of(args.build / "portcullis")
            passes = measurement.passes or {}
            line = f"{measurement.name}: {ours:,.0f} instructions"
            if args.baseline:
                before = measurement.of(args.baseline, "-baseline")
                line += f", {before:,.0f} by the baseline: {ours / before:.3f}x"
            print(line, flush=True)
            for name, count in passes.items():
                print(f"  {count:>9,.0f} {count / ours:>4.0%}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
