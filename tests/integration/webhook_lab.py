# SPDX-License-Identifier: Apache-2.0

"""A server program and an HTTPS server of webhooks for it, to see what the one sends and what it makes of the answers.

    lab = Lab(program, folder, "--flag")
    lab.configure("validating", lab.hook("/v", operations=["DELETE"], resources=["pods"]))
    lab.answers["/v"] = {"allowed": False}        # or a function of (request, number of the call)
    status, answer = lab.call("DELETE", "/api/v1/namespaces/default/pods/p")
    lab.reviews("/v")                             # the requests that came since the last question
"""

import base64
import http.client
import http.server
import json
import pathlib
import ssl
import subprocess
import threading
import time
import urllib.parse

from process import Server

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
MERGE = "application/merge-patch+json"


class Lab:
    def __init__(self, program, folder, *flags):
        self.folder = pathlib.Path(folder)
        self.answers, self.received, self.made, self.counts = {}, [], [], {}
        self.lock = threading.Lock()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-subj", "/CN=hooks", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout",
                        self.folder / "hook.key", "-out", self.folder / "hook.crt"], check=True, capture_output=True)
        self.ca_bundle = base64.b64encode((self.folder / "hook.crt").read_bytes()).decode()
        self.hook_server = self._serve()
        self.url = f"https://127.0.0.1:{self.hook_server.server_port}"
        self.audit_log = self.folder / "audit.log"
        policy = self.folder / "audit.yaml"
        policy.write_text('{"kind": "Policy", "apiVersion": "audit.k8s.io/v1", "rules": [{"level": "Request"}]}')
        self.server = Server(program, folder, f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_log}", *flags)

    def end(self):
        self.hook_server.shutdown()
        self.hook_server.server_close()
        self.server.process.terminate()
        self.server.process.wait(30)

    def _serve(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "hook.crt", self.folder / "hook.key")
        lab = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                self.request = context.wrap_socket(self.request, server_side=True)
                super().setup()

            def log_message(self, *args):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                lab.answer(self, json.loads(body) if body else None)

            do_GET = do_POST

        class HookServer(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # handshakes that fail on purpose

        server = HookServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def answer(self, handler, review):
        path, _, query = handler.path.partition("?")
        with self.lock:
            number = self.counts[path] = self.counts.get(path, 0) + 1
            self.received.append((path, query, handler.headers, review))
            behaviour = self.answers.get(path, {})
        request = (review or {}).get("request", {})
        if callable(behaviour):
            behaviour = behaviour(request, number)
        status, headers = behaviour.pop("http", 200), {"Content-Type": "application/json", **behaviour.pop("headers", {})}
        body = behaviour.pop("body", None)
        if body is None:
            version = behaviour.pop("apiVersion", (review or {}).get("apiVersion"))
            response = {"uid": request.get("uid"), "allowed": True, **behaviour}
            if isinstance(response.get("patch"), list):
                response["patch"] = base64.b64encode(json.dumps(response["patch"]).encode()).decode()
                response.setdefault("patchType", "JSONPatch")
            body = json.dumps({"kind": "AdmissionReview", "apiVersion": version, "response": response})
        handler.send_response(status)
        for name, value in headers.items():
            if value is not None:
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body.encode())))
        handler.end_headers()
        handler.wfile.write(body.encode())

    def hook(self, path, name=None, operations=("CREATE",), groups=("",), versions=("v1",), resources=("configmaps",),
             scope="*", **more):
        hook = {"name": name or f"{path.strip('/')}.lab.test", "clientConfig": {"url": self.url + path, "caBundle": self.ca_bundle},
                "rules": [{"operations": list(operations), "apiGroups": list(groups), "apiVersions": list(versions),
                           "resources": list(resources), "scope": scope}],
                "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 5, **more}
        return {key: value for key, value in hook.items() if value is not None}

    def configure(self, kind, *hooks, name=None):
        name = name or f"{kind}-{len(self.made)}"
        path = CONFIGURATIONS.format(kind)
        status, answer, _ = self.call("POST", path, {"metadata": {"name": name}, "webhooks": list(hooks)})
        assert status == 201, answer
        self.made.append(f"{path}/{name}")

    def reset(self):
        for path in self.made:
            self.call("DELETE", path)
        with self.lock:
            self.made, self.answers, self.received, self.counts = [], {}, [], {}

    def call(self, method, path, body=None, content_type="application/json", headers=None, **query):
        """(status, the body's JSON or text, headers)"""
        if query:
            path += "?" + urllib.parse.urlencode(query, doseq=True)
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        connection = self.server.connect()
        connection.request(method, path, body, {"Content-Type": content_type, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        try:
            return answer.status, json.loads(text), answer.msg
        except ValueError:
            return answer.status, text, answer.msg

    def reviews(self, path=None):
        with self.lock:
            found = [review["request"] for where, _, _, review in self.received if review and path in (None, where)]
            self.received, self.counts = [], {}
        return found

    def audited(self, audit_id):
        """The audit event of a request that has ended."""
        for _ in range(100):
            for line in self.audit_log.read_text().splitlines():
                if audit_id in line and '"ResponseComplete"' in line:
                    return json.loads(line)
            time.sleep(0.05)
        return {}

    def metrics(self, pattern):
        """The samples whose name and labels contain the text."""
        lines = self.call("GET", "/metrics")[1].splitlines()
        return [line for line in lines if pattern in line and not line.startswith("#")]

    def audit(self):
        return [json.loads(line) for line in (self.folder / "audit.log").read_text().splitlines()]
