# SPDX-License-Identifier: Apache-2.0

"""Compares admission by webhooks and policies: generated configurations on both servers, the same requests to both, and of each
the answer, the reviews that the webhooks receive and the audit event.

Cells (admission_cases.py) are made many at a time, since the reference takes a second to notice configurations. A
webhook server of our own stands beside each of the two; what they receive is told apart by their paths."""

import base64
import collections
import concurrent.futures
import http.server
import json
import pathlib
import random
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import admission_cases
import answers
from admission_cases import ADMISSION, Cell
from comparing import Pair, Tally
from generated import Request

# Times, and the client's end of the connection.
UNCOMPARED = ("requestReceivedTimestamp", "stageTimestamp", "sourceIPs", "auditID")


def definition():
    """Widgets in two versions of the same fields."""
    schema = {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "note": {"type": "string", "default": "d"}, "replicas": {"type": "integer"},
                                                  "tags": {"type": "array", "items": {"type": "string"}}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    version = lambda name, storage: {
        "name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": admission_cases.WIDGETS},
            "spec": {"group": "example.test", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                     "versions": [version("v1", True), version("v1beta1", False)]}}


class HookServer:
    """An HTTPS server of webhooks; `hooks` says by path how it answers."""

    def __init__(self, certificate, key, hooks):
        self.received, self.lock, outer = collections.defaultdict(list), threading.Lock(), self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                self.request = context.wrap_socket(self.request, server_side=True)
                super().setup()

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path, _, query = self.path.partition("?")
                # The addresses of Services are objects of no namespace: all cells see them, and loops write them at any time.
                of_all = b'"resource":"ipaddresses"' in body
                if not of_all:
                    outer.take_in(path, query, body.decode("utf-8", "replace"))
                status, headers, text = reply(None if of_all else hooks.get(path), body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"https://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take_in(self, path, query, body):
        with self.lock:
            self.received[path.split("/")[1].split("-")[0]].append((path, query, body))

    def take(self, cell):
        """What came for a cell since the last question: mutating reviews in their order, then validating ones by path."""
        with self.lock:
            found = self.received.pop(f"c{cell}", [])
        order = lambda one: (1, one[0]) if "-validating" in one[0] else (0, "")
        return sorted(found, key=order)


def reply(hook, body):
    """(status, headers, text) of a webhook for a review."""
    review = json.loads(body) if body else {}
    answer = dict(hook.answer if hook else {"allowed": True})
    status, headers = answer.pop("http", 200), {"Content-Type": "application/json", **answer.pop("headers", {})}
    text = answer.pop("body", None)
    if text is None:
        version, kind = answer.pop("apiVersion", review.get("apiVersion")), answer.pop("kind", "AdmissionReview")
        response = {"uid": review.get("request", {}).get("uid"), **answer}
        if "desiredAPIVersion" in review.get("request", {}):
            response = converted(review["request"])
        if "patch" in response:
            response["patch"] = base64.b64encode(json.dumps(response["patch"]).encode()).decode()
            response.setdefault("patchType", "JSONPatch")
        kind = review.get("kind") if "convertedObjects" in response else kind
        text = json.dumps({"kind": kind, "apiVersion": version, "response": {name: value for name, value in response.items() if value is not None}})
    return status, headers, text.encode()


def converted(request):
    """The response of a ConversionReview: all versions have the same fields."""
    things = [{**thing, "apiVersion": request["desiredAPIVersion"]} for thing in request["objects"]]
    return {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": things}


def comparable_event(event):
    """Without times; what a slow request says of its parts is of the machine."""
    event = {name: value for name, value in event.items() if name not in UNCOMPARED}
    if "annotations" in event:
        event["annotations"] = {name: value for name, value in event["annotations"].items() if not name.startswith("apiserver.latency.k8s.io/")}
    return json.dumps(event, sort_keys=True)


class HookedPair(Pair):
    """Requests name the webhook server of their side; answers do so no more."""

    def __init__(self, addresses, token, urls, bundle):
        super().__init__(*addresses, token)
        self.urls, self.bundle = urls, bundle

    def ask(self, requests):
        sent = []
        for url in self.urls:
            fill = lambda text: text.replace(admission_cases.HOOKS, url).replace(admission_cases.BUNDLE, self.bundle)
            sent.append([(r.method, r.path, None if r.body is None else fill(r.body).encode(), r.headers) for r in requests])
        for connection, these in zip(self.connections, sent):
            connection.send(these)
        found = [connection.receive(these) for connection, these in zip(self.connections, sent)]
        return [tuple(answers.answer(code, self.neutral(text, url), [(name, self.neutral(value, url)) for name, value in fields])
                      for (code, text, fields), url in zip(pair, self.urls)) for pair in zip(*found)]

    def neutral(self, text, url):
        return re.sub(r"127\.0\.0\.1:\d+->", "", text.replace(url, admission_cases.HOOKS).replace(self.bundle, admission_cases.BUNDLE))


class Comparison:
    def __init__(self, addresses, arguments, audit_logs, folder):
        self.addresses, self.arguments, self.audit_logs = addresses, arguments, audit_logs
        certificate, key = pathlib.Path(folder) / "hook.crt", pathlib.Path(folder) / "hook.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hooks", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
        self.hooks = {}
        self.servers = [HookServer(certificate, key, self.hooks) for _ in range(2)]
        self.bundle = base64.b64encode(certificate.read_bytes()).decode()
        self.random, self.tally, self.events = random.Random(arguments.seed), Tally(), [{}, {}]
        self.positions, self.reading = [0, 0], threading.Lock()

    def pair(self):
        return HookedPair(self.addresses, self.arguments.token, [server.url for server in self.servers], self.bundle)

    def run(self):
        pair, number, begun = self.pair(), 0, time.monotonic()
        pair.do(Request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(definition())))
        self.until(pair, Request("GET", "/apis/example.test/v1beta1/widgets"), lambda answer: answer.code == 200)
        for request in Cell.keepers():
            pair.do(request)
        while self.tally.asked < self.arguments.admission:
            cells = [Cell(number + i, random.Random(f"{self.arguments.seed}/{number + i}")) for i in range(self.arguments.cells)]
            number += len(cells)
            self.round(pair, cells)
            print(f"{time.monotonic() - begun:6.1f} s  {self.tally.asked:7}  {sum(e[0] for e in self.tally.shapes.values()):5} differ", file=sys.stderr, flush=True)
        for server in self.servers:
            server.server.shutdown()
        return self.tally

    def until(self, pair, request, wanted):
        for _ in range(200):
            if all(map(wanted, pair.do(request))):
                return
            time.sleep(0.05)
        print(f"not in force: {request.method} {request.path}: {pair.do(request)}", file=sys.stderr)

    def round(self, pair, cells):
        for cell in cells:
            for request in cell.setup():
                pair.do(request)
            for request in cell.configurations():
                pair.judge(request, pair.do(request), "configuration")
            self.hooks |= cell.hooks
        marker = self.mark(pair, cells[0].number)
        with concurrent.futures.ThreadPoolExecutor(self.arguments.workers) as pool:
            for tally in pool.map(self.play, cells):
                self.tally.take(tally)
        self.tally.take(pair.tally)
        pair.tally = Tally()
        for path in [path for cell in cells for path in cell.made] + marker:
            pair.do(Request("DELETE", path))
        self.hooks.clear()

    def mark(self, pair, number):
        """Waits until what was made is in force: markers made after it are. The paths of the markers."""
        namespace, path = f"marker-{number}", f"/apis/{ADMISSION}/"
        pair.do(Request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": namespace}})))
        rules = {"resourceRules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
                 "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
        made = []

        def make(plural, spec):
            pair.do(Request("POST", path + plural, json.dumps({"metadata": {"name": namespace}, **spec})))
            made.append(f"{path}{plural}/{namespace}")

        make("mutatingadmissionpolicies", {"spec": {"matchConstraints": rules, "reinvocationPolicy": "Never", "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'marked': 'policy'}}}"}}]}})
        make("mutatingadmissionpolicybindings", {"spec": {"policyName": namespace}})
        hook = {"name": "marker.hooks.test", "rules": rules["resourceRules"], "namespaceSelector": rules["namespaceSelector"], "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "clientConfig": {"url": admission_cases.HOOKS + "/marker/0", "caBundle": admission_cases.BUNDLE}}
        self.hooks["/marker/0"] = admission_cases.Hook({"allowed": True, "patch": [{"op": "add", "path": "/metadata/annotations", "value": {"marked": "hook"}}]})
        make("mutatingwebhookconfigurations", {"webhooks": [hook]})
        self.hooks["/marker/1"] = admission_cases.Hook({"allowed": True, "warnings": ["marked by a hook"]})
        make("validatingwebhookconfigurations", {"webhooks": [{**hook, "clientConfig": {**hook["clientConfig"], "url": admission_cases.HOOKS + "/marker/1"}}]})
        make("validatingadmissionpolicies", {"spec": {"matchConstraints": rules, "validations": [{"expression": "false", "message": "marked"}]}})
        make("validatingadmissionpolicybindings", {"spec": {"policyName": namespace, "validationActions": ["Warn"]}})
        asked = Request("POST", f"/api/v1/namespaces/{namespace}/configmaps?dryRun=All", '{"metadata":{"name":"m"}}')
        self.until(pair, asked, lambda answer: '"marked":"policy"' in answer.text and '"marked":"hook"' in answer.text and len(answer.warnings) == 2)
        time.sleep(1)  # parameters have no marker
        return made

    def play(self, cell):
        """The tally of a cell's requests."""
        pair, open_ = self.pair(), []
        for server in self.servers:
            server.take(cell.number)
        for index, request in enumerate(cell.requests(self.arguments.requests)):
            audit_id = f"cell-{cell.number}-{index}"
            request.headers["Audit-ID"] = audit_id
            request.label += " of " + " ".join(path.rpartition("/")[2] for path in cell.made if "bind" not in path)
            both = pair.do(request)
            reviews = [server.take(cell.number) for server in self.servers]
            if pair.judge(request, both, "answer") and self.judge_reviews(pair, request, both, reviews):
                open_.append((audit_id, request))
            for server in self.servers:
                server.take(cell.number)  # of what was asked again
        events = self.audited({audit_id for audit_id, _ in open_})
        for audit_id, request in open_:
            self.judge_events(pair, request, [found.get(audit_id) for found in events])
        for connection in pair.connections:
            connection.close()
        return pair.tally

    def judge_reviews(self, pair, request, both, reviews):
        texts = [[answers.comparable(answers.Answer(200, pair.neutral(json.dumps([path, query])[:-1] + "," + body + "]", url), [], ""), request)
                  for path, query, body in received] for received, url in zip(reviews, pair.urls)]
        # Validating webhooks run side by side: one that denies ends the others' calls.
        if both[0].code >= 400:
            paths = set(path for path, *_ in reviews[0]) & set(path for path, *_ in reviews[1])
            cancelled = lambda path: "-validating" in path and path not in paths
            texts = [[text for text, (path, *_) in zip(side, received) if not cancelled(path)] for side, received in zip(texts, reviews)]
        if len(texts[0]) != len(texts[1]):
            whole = [answers.Answer(200, json.dumps([text.text for text in side]), [], "") for side in texts]
            names = [[path for path, *_ in side] for side in reviews]
            pair.tally.same -= 1
            pair.tally.add("reviews", (f"number of reviews {len(texts[0])} → {len(texts[1])}", "of a " + request.method), request, *[
                answers.Answer(200, json.dumps(n) + w.text, [], "") for n, w in zip(names, whole)])
            return False
        for a, b in zip(*texts):
            if not answers.same(a, b):
                pair.tally.same -= 1
                pair.tally.add("reviews", ("review", *answers.shape(a, b)), request, a, b)
                return False
        return True

    def judge_events(self, pair, request, events):
        if not self.audit_logs or events == [None, None]:
            return
        texts = [answers.comparable(answers.Answer(200, pair.neutral(comparable_event(event or {}), url), [], ""), request)
                 for event, url in zip(events, pair.urls)]
        if not answers.same(*texts):
            pair.tally.same -= 1
            pair.tally.add("audit", ("audit event", *answers.shape(*texts)), request, *texts)

    def audited(self, ids):
        """The audit events by id, of each side."""
        if not self.audit_logs:
            return {}, {}
        for _ in range(40):
            for side, log in enumerate(self.audit_logs):
                self.read_log(side, log)
            if all(ids <= set(found) for found in self.events):
                break
            time.sleep(0.05)
        return tuple({one: found.get(one) for one in ids} for found in self.events)

    def read_log(self, side, log):
        with self.reading, open(log, "rb") as file:
            file.seek(self.positions[side])
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.positions[side] += len(line)
                event = json.loads(line)
                if event["auditID"].startswith("cell-"):
                    self.events[side][event["auditID"]] = event


def run(addresses, arguments, audit_logs):
    with tempfile.TemporaryDirectory(prefix="hooks-") as folder:
        return Comparison(addresses, arguments, audit_logs, folder).run()
