# SPDX-License-Identifier: Apache-2.0

"""Compares the admission plugins: plugins.yaml has situations, in the words of lifecycles.py, each with the flags and the
configuration of the plugins with which a pair of servers is started for it. Compared are the answers, as of lifecycles, and the
annotations of the audit events.

A situation has besides `at`, `given`, `steps` and `end`:
  flags           for both servers
  configuration   of the plugins, by their names; (backend) in it is the kubeconfig file of a backend for reviews of images, which answers
                  what the first image says: its status code and its body, after a space
  cluster         steps before all sequences
A step with `pause` comes so many seconds after the one before: until the caches of kube-apiserver have what was made."""

import concurrent.futures
import contextlib
import copy
import http.server
import json
import multiprocessing
import pathlib
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import yaml

import answers
import servers
from comparing import Pair, Tally
from lifecycles import Lifecycle, drawn


class Situation(Lifecycle):
    def __init__(self, pair, situation, seed, worker, audit_logs):
        super().__init__(pair, {"lifecycle": situation["situation"], "watch": False, **situation}, seed, worker)
        self.logs, self.sent, self.count_sent = [open(log, "rb") for log in audit_logs], {}, 0

    def prepare(self):
        """Makes what all sequences have in common."""
        self.begin()
        for mark, step in enumerate(self.lifecycle.get("cluster", [])):
            self.step({"query": {}, **drawn(step, self.dice)}, mark)

    def request(self, step, mark):
        time.sleep(step.get("pause", 0))
        request = super().request(step, mark)
        self.count_sent += 1
        audit_id = f"{self.worker}/{self.count_sent}"
        request.headers = {**request.headers, "Audit-ID": audit_id}
        self.sent[audit_id] = request
        return request

    def edit(self, request):
        sent = super().edit(request)
        if not sent:
            del self.sent[request.headers["Audit-ID"]]
        return sent

    def run(self):
        super().run()
        events = [self.events_of(log) for log in self.logs]
        for audit_id, request in self.sent.items():
            texts = [answers.comparable(answers.Answer(200, json.dumps(found.get(audit_id), sort_keys=True), [], ""), request) for found in events]
            if texts[0] != texts[1]:
                self.pair.tally.add(self.key, ("audit annotations", *answers.shape(*texts)), request, *texts)
        self.sent = {}

    def events_of(self, log):
        """The annotations of the audit events of what was sent, by their ids."""
        found = {}
        for _ in range(60):
            while (line := log.readline()).endswith(b"\n"):
                event = json.loads(line)
                if event["auditID"] in self.sent:
                    found[event["auditID"]] = {name: value for name, value in event.get("annotations", {}).items() if "latency" not in name}
            log.seek(-len(line), 1)
            if len(found) == len(self.sent):
                break
            time.sleep(0.05)
        return found


class ImageBackend(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        code, _, text = review["spec"]["containers"][0]["image"].partition(" ")
        self.send_response(int(code))
        self.send_header("Content-Type", "application/json" if text.startswith(("{", "[")) else "text/plain")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


@contextlib.contextmanager
def backend(folder):
    """The kubeconfig file that leads to an ImageBackend."""
    certificate, key = folder / "backend.crt", folder / "backend.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=images", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ImageBackend)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster = {"server": f"https://127.0.0.1:{server.server_port}/images", "certificate-authority": str(certificate)}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": {}}],
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "current-context": "c"}
    (folder / "backend.kubeconfig").write_text(json.dumps(config))
    yield str(folder / "backend.kubeconfig")
    server.shutdown()


def with_flags(arguments, situation, folder, kubeconfig):
    arguments = copy.copy(arguments)
    arguments.admission = True  # servers with audit logs
    arguments.flags = [*arguments.flags, *situation.get("flags", [])]
    if "configuration" in situation:
        plugins = [{"name": name, "configuration": configuration} for name, configuration in situation["configuration"].items()]
        text = json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins})
        (folder / "admission.json").write_text(text.replace("(backend)", kubeconfig))
        arguments.flags.append(f"--admission-control-config-file={folder}/admission.json")
    return arguments


def all_of(arguments):
    chosen = arguments.kinds.split(",") if arguments.kinds else None
    found = yaml.safe_load((pathlib.Path(__file__).parent / "plugins.yaml").read_text())["situations"]
    return [one for one in found if not chosen or one["situation"] in chosen]


def run_part(addresses, arguments, audit_logs, situation, part, until):
    one = Situation(Pair(*addresses, arguments.token), situation, arguments.seed, f"{arguments.seed}-{part}", audit_logs)
    while one.pair.tally.asked < until:
        one.run()
    return one.pair.tally.plain()


def run_situation(arguments, situation, steps):
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="plugins-") as name, backend(folder := pathlib.Path(name)) as kubeconfig, \
            servers.started(with_flags(arguments, situation, folder, kubeconfig)) as (*addresses, audit_logs):
        Situation(Pair(*addresses, arguments.token), situation, arguments.seed, "cluster", audit_logs).prepare()
        parts = [(addresses, arguments, audit_logs, situation, part, steps / arguments.workers) for part in range(arguments.workers)]
        with concurrent.futures.ProcessPoolExecutor(arguments.workers, mp_context=multiprocessing.get_context("fork")) as pool:
            for one in pool.map(run_part, *zip(*parts)):
                tally.take(one)
    return tally


def run(arguments):
    situations, tally, begun = all_of(arguments), Tally(), time.monotonic()
    for situation in situations:
        tally.take(run_situation(arguments, situation, arguments.plugins / len(situations)))
        print(f"{time.monotonic() - begun:6.1f} s  {tally.asked:7}  {sum(e[0] for e in tally.shapes.values()):5} differ: {situation['situation']}",
              file=sys.stderr, flush=True)
    return tally
