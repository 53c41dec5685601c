#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends bodies that are hard to decode (cases.py) and compares the answers with those of a kube-apiserver.

    tests/decoding/decoding.py --build build/release              the program against recorded.jsonl
    tests/decoding/decoding.py --record https://127.0.0.1:6443 TOKEN   asks a kube-apiserver 1.36 and writes recorded.jsonl
    tests/decoding/decoding.py --build build/release --case pod-list-then-null -v

Answers are compared whole: code, warnings, body; left out are what the server makes up (uids, times, versions).
"""

import argparse
import base64
import hashlib
import http.client
import http.server
import json
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "integration"))
import cases  # noqa: E402

RECORDED = HERE / "recorded.jsonl"
http.client._MAXHEADERS = 1000  # each warning is one
LONG = 4000  # longer answers are recorded by their beginning and their digest


class Client:
    def __init__(self, url, token, context=None):
        parts = urllib.parse.urlsplit(url)
        self.address = (parts.hostname, parts.port)
        self.token = token
        self.context = context or ssl._create_unverified_context()
        self.connection = None

    def ask(self, method, path, media_type, body):
        body = body if isinstance(body, bytes) else body.encode()
        headers = {"Content-Type": media_type, "Accept": "application/json", "User-Agent": "decoding"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        for attempt in (0, 1):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection(*self.address, context=self.context, timeout=60)
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                return answer.status, answer.headers.get_all("Warning") or [], answer.read().decode(errors="backslashreplace")
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt:
                    return 0, [], "closed"
        return None


def without_made_up(value):
    if isinstance(value, list):
        return [without_made_up(element) for element in value]
    if not isinstance(value, dict):
        return value
    made_up = {"uid", "creationTimestamp", "resourceVersion"} if "name" in value else set()
    if "manager" in value:
        made_up = {"time"}
    return {key: without_made_up(content) for key, content in value.items() if key not in made_up}


def members(pairs):
    keys = [key for key, _ in pairs]
    return dict(pairs) if len(set(keys)) == len(keys) else {"repeated keys": [list(pair) for pair in pairs]}


def normalised(status, warnings, text):
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
    # Objects in the texts of errors, quoted once or twice.
    text = re.sub(r'(resourceVersion\\*": ?\\*")\d+', r"\1N", text)
    text = re.sub(r'(\\*"(?:creationTimestamp|time)\\*": ?\\*")20[^"\\]*', r"\1T", text)
    # Where the compiler was told that the source lies.
    text = re.sub(r"k8s\.io/\w+/(pkg/\S+/(?:scheme|register)\.go)", r"\1", text)
    try:
        text = json.dumps(without_made_up(json.loads(text, object_pairs_hook=members)), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        pass
    if len(text) > LONG:
        text = f"{text[:300]}… sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    warnings = [w if len(w) <= LONG else f"{w[:300]}… sha256:{hashlib.sha256(w.encode()).hexdigest()}" for w in warnings]
    answer = {"status": status, "body": text}
    if warnings:
        answer["warnings"] = warnings
    return answer


def set_up(client):
    for path, body in cases.SETUP:
        for _ in range(100):
            status, _, text = client.ask("POST", path, cases.JSON, body)
            if status != 404:  # a definition is served a moment after it is made
                break
            time.sleep(0.1)
        if status not in (201, 409):
            sys.exit(f"{path}: {status} {text}")


class Webhooks:
    """An HTTPS server that answers as cases.answers() say, and the configuration that has it called for each case."""

    def __init__(self, folder):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hooks",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/hook.key", "-out", f"{folder}/hook.crt"],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/hook.crt", f"{folder}/hook.key")
        answers = {name: answer for name, answer, _, _ in cases.answers()}

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = answers[self.path.strip("/").partition("?")[0]].replace("UID", review["request"]["uid"]).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        bundle = base64.b64encode(pathlib.Path(folder, "hook.crt").read_bytes()).decode()
        self.configuration = json.dumps({"metadata": {"name": "decoding"}, "webhooks": [{
            "name": f"{name}.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 10,
            "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_port}/{name}", "caBundle": bundle},
            "objectSelector": {"matchLabels": {"case": name}},
            "rules": [{"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
        } for name in answers]})

    def ask_all(self, client, only):
        path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        status, _, text = client.ask("POST", path, cases.JSON, self.configuration)
        if status != 201:
            sys.exit(f"{path}: {status} {text}")
        for number, (name, _, path, body) in enumerate(cases.answers()):
            while number == 0:  # webhooks are called a moment after they are configured
                if client.ask("POST", path, cases.JSON, body)[0] != 201:
                    break
                time.sleep(0.2)
            if not only or name in only:
                yield name, normalised(*client.ask("POST", path, cases.JSON, body))
        self.server.shutdown()
        self.server.server_close()


def ask_all(client, only):
    set_up(client)
    for name, method, path, media_type, body in cases.all_cases():
        if only and name not in only:
            continue
        yield name, normalised(*client.ask(method, path, media_type, body))
    with tempfile.TemporaryDirectory() as folder:
        yield from Webhooks(folder).ask_all(client, only)


def record(url, token):
    lines = [json.dumps({"case": name, **answer}, ensure_ascii=False)
             for name, answer in ask_all(Client(url, token), [])]
    RECORDED.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} answers")


def compare(build, only, verbose):
    from process import Server
    expected = {}
    for line in RECORDED.read_text().rstrip("\n").split("\n"):
        answer = json.loads(line)
        expected[answer.pop("case")] = answer
    different = 0
    asked = 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(build / "portcullis", folder)
        client = Client(f"https://127.0.0.1:{server.port}", None, server.context)
        for name, answer in ask_all(client, only):
            asked += 1
            if verbose:
                print(name, json.dumps(answer, ensure_ascii=False))
            if answer == expected.get(name):
                continue
            different += 1
            print(f"{name}\n  kube-apiserver {json.dumps(expected.get(name), ensure_ascii=False)}\n"
                  f"  portcullis     {json.dumps(answer, ensure_ascii=False)}")
        server.end(signal.SIGTERM)
    print(f"{asked - different} of {asked} answers as kube-apiserver's")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--record", nargs=2, metavar=("URL", "TOKEN"))
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    if args.record:
        return record(*args.record)
    return compare(args.build, args.case, args.verbose)


if __name__ == "__main__":
    sys.exit(main())
