#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Webhooks that fail in every way a server can fail: each is answered within its deadline and in the words
kube-apiserver has for it, refuses under failurePolicy Fail, is passed over under Ignore, and leaves no
connection and no memory behind.

    tests/faults/faults.py --build build/release [--rounds 3] [--only NAME] [-v]
"""

import argparse
import base64
import concurrent.futures
import gzip
import os
import pathlib
import re
import socket
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from process import CONFIGMAPS, Server  # noqa: E402

import peers  # noqa: E402
from peers import answer, chunked, requests, review, sends, sends_and_closes  # noqa: E402

TIMEOUT = 1  # seconds a webhook has
LONG_TIMEOUT = 20  # for those that have much to say
LARGEST = 3 << 20  # bytes of an answer, the default of --max-webhook-response-bytes
PEAK = 256         # MB of memory that no fault may take the server beyond
SLACK = 5          # what a busy machine may add to that

CALL = "failed to call webhook: "
POST = CALL + r'Post "{url}": '
READ = CALL + r"unexpected error when reading response body\. Please retry\. Original error: "
TOO_LARGE = CALL + f"response body is larger than {LARGEST} bytes"
UNSIGNED = POST + "tls: failed to verify certificate: x509: "
BROKEN = POST + "net/http: HTTP/1.x transport connection broken: "


def for_ever(connection, first, piece):
    connection.sendall(first)
    while True:
        connection.sendall(piece)


def faults(certificates):
    """name -> (peer, the pattern of what follows `failed calling webhook "x": `; None if it is no failure)."""
    good = certificates.context("good")

    def over_tls(behave, expected):
        return peers.Peer(behave, good), expected

    def handshake(name, expected):
        return peers.Peer(sends(lambda r: answer(review(r))), certificates.context(name)), expected

    def redirect(status, location):
        return sends(lambda r: answer(b"", status, "1.1", "text/plain", f"Location: {location}"))

    refused = peers.Nobody()
    closed = refused.port
    full = peers.Peer.__new__(peers.Peer)  # listens and never takes what comes
    full.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    full.port, full.connections = full.listener.getsockname()[1], set()

    return {
        # Nobody, or nobody who speaks.
        "refused": (refused, POST + r"dial tcp 127\.0\.0\.1:\d+: connect: connection refused"),
        "never-accepted": (full, POST + r"(context deadline exceeded|net/http: TLS handshake timeout)"),
        "silent-before-tls": (peers.Peer(peers.silent), POST + "context deadline exceeded"),
        "hangs": over_tls(requests(peers.hang), POST + "context deadline exceeded"),
        "trickles-head": over_tls(requests(peers.trickles_head), POST + "context deadline exceeded"),
        "trickles-body": over_tls(requests(peers.trickles_body), READ + "context deadline exceeded"),
        "reads-nothing": (peers.Peer(peers.reads_nothing, good, narrow=True), POST + "context deadline exceeded"),
        "stops-in-body": over_tls(requests(lambda p, c, r: c.sendall(answer(b"{" + b" " * 99)[:-50]) or peers.hang(p, c)),
                                  READ + "context deadline exceeded"),
        # Hangs up.
        "closes-before-tls": (peers.Peer(lambda p, c: c.recv(1)), POST + r"(EOF|read tcp .*: connection reset by peer)"),
        "closes-at-once": over_tls(requests(lambda p, c, r: False), POST + "EOF"),
        "resets": over_tls(requests(peers.resets), POST + r"(EOF|read tcp .*: read: connection reset by peer)"),
        "closes-in-head": over_tls(sends_and_closes(lambda r: b"HTTP/1.1 200 OK\r\nContent-Ty"), BROKEN + "unexpected EOF"),
        "closes-in-body": over_tls(sends_and_closes(lambda r: answer(review(r))[:-10]), READ + "unexpected EOF"),
        "closes-in-chunk": over_tls(sends_and_closes(lambda r: chunked(review(r), end=b"ff\r\nabc")), READ + "unexpected EOF"),
        "closes-without-last-chunk": over_tls(sends_and_closes(lambda r: chunked(review(r), end=b"")), READ + "unexpected EOF"),
        # Too much.
        "3-megabytes": over_tls(peers.huge(LARGEST, False), CALL + "yaml: control characters are not allowed"),
        "3-megabytes-with-a-review": over_tls(peers.huge(LARGEST - 1000, True), None),
        "100-megabytes": over_tls(peers.huge(100 << 20, False), TOO_LARGE),
        "100-megabytes-of-space-and-a-review": over_tls(peers.huge(100 << 20, True), TOO_LARGE),
        "blanks-for-ever": over_tls(peers.endless("", b" " * (1 << 20)), TOO_LARGE),
        "gzip-of-2-gibibytes": over_tls(peers.gzip_bomb(), TOO_LARGE),
        "gzip-for-ever": over_tls(peers.endless("gzip", gzip.compress(b" " * (1 << 20))), TOO_LARGE),
        "gzip-of-nothing-for-ever": over_tls(peers.endless("gzip", gzip.compress(b"") * 1000), TOO_LARGE),
        "trickles-gzip": over_tls(requests(peers.trickles_gzip), READ + "context deadline exceeded"),
        "one-chunk-header-for-ever": over_tls(requests(lambda p, c, r: for_ever(c, chunked(end=b""), b"1" * 100_000)),
                                              READ + "header line too long"),
        "interim-answers-for-ever": over_tls(
            requests(lambda p, c, r: for_ever(c, b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 1000)),
            POST + "net/http: too many 1xx informational responses"),
        "open-lists": over_tls(sends(lambda r: answer(b"[" * (LARGEST - 1000))), CALL + ".*"),
        "nested-reviews": over_tls(sends(lambda r: answer(b'{"response":' * 200_000)), CALL + ".*"),
        "answers-twice": over_tls(sends(lambda r: answer(review(r)) * 2), None),
        "answers-and-says-more": over_tls(sends(lambda r: answer(review(r)) + b"by the way"), None),
        "endless-head": over_tls(requests(lambda p, c, r: c.sendall(b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * (11 << 20))),
                                 BROKEN + "net/http: server response headers exceeded 10485760 bytes; aborted"),
        # Certificates.
        "unknown-authority": handshake(
            "unknown", UNSIGNED + r'certificate signed by unknown authority \(possibly because of "x509: ECDSA verification '
            r'failure" while trying to verify candidate authority certificate "faults"\)'),
        "expired": handshake("expired", UNSIGNED + "certificate has expired or is not yet valid: current time "
                             r"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ is after 2020-02-01T00:00:00Z"),
        "wrong-name": handshake("misnamed", UNSIGNED + r"cannot validate certificate for 127\.0\.0\.1 because it doesn't "
                                "contain any IP SANs"),
        "no-name": handshake("nameless", UNSIGNED + r"cannot validate certificate for 127\.0\.0\.1 because it doesn't "
                             "contain any IP SANs"),
        "tls-1.0": (peers.Peer(sends(lambda r: answer(review(r))), certificates.old_context()),
                    POST + "remote error: tls: protocol version not supported"),
        "plain-http": (peers.Peer(peers.plain_http), POST + "http: server gave HTTP response to HTTPS client"),
        "no-tls": (peers.Peer(peers.no_tls), POST + "tls: first record does not look like a TLS handshake"),
        # Answers that are none.
        "garbage": over_tls(sends_and_closes(lambda r: b"\x00\x01garbage\r\n\r\n"),
                            BROKEN + r'malformed HTTP response "\\x00\\x01garbage"'),
        "bad-status-line": over_tls(sends_and_closes(lambda r: b"HTTP/1.1 ok\r\n\r\n"),
                                    BROKEN + 'malformed HTTP status code "ok"'),
        "bad-header": over_tls(sends_and_closes(lambda r: b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
                               BROKEN + 'malformed MIME header: missing colon: "no colon"'),
        "bad-length": over_tls(sends_and_closes(lambda r: b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"),
                               BROKEN + 'bad Content-Length "many"'),
        "bad-chunk": over_tls(sends_and_closes(lambda r: chunked(end=b"zz\r\n")),
                              READ + "invalid byte in chunk length"),
        "bad-gzip": over_tls(sends(lambda r: answer(b"abc", "200 OK", "1.1", "application/json", "Content-Encoding: gzip")),
                             READ + "gzip: invalid header"),
        "empty-200": over_tls(sends(lambda r: answer(b"")), CALL + r"0-length response with status code: 200 and content type: application/json"),
        "no-review": over_tls(sends(lambda r: answer(b"{}")), "received invalid webhook response: webhook response was absent"),
        "html": over_tls(sends(lambda r: answer(b"<html>", "200 OK", "1.1", "text/html")), CALL + ".*"),
        "http-1.0": over_tls(sends_and_closes(lambda r: answer(review(r), "200 OK", "1.0")), None),
        "http-1.0-to-the-end": over_tls(sends_and_closes(
            lambda r: b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + review(r)), None),
        "continues-first": over_tls(sends(lambda r: b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + answer(review(r))), None),
        "redirects-for-ever": over_tls(redirect("307 Temporary Redirect", "/again"), CALL + r'Post "/again": stopped after 10 redirects'),
        "redirects-away": over_tls(redirect("302 Found", "/get"), CALL + r'Post "/get": stopped after 10 redirects'),
        "redirects-to-nobody": over_tls(redirect("307 Temporary Redirect", f"https://127.0.0.1:{closed}/x"),
                                        CALL + rf'Post "https://127\.0\.0\.1:{closed}/x": dial tcp 127\.0\.0\.1:{closed}: connect: connection refused'),
        "redirects-nowhere": over_tls(sends(lambda r: answer(b"", "307 Temporary Redirect")), CALL + ".*"),
        # Says it is ill.
        "500": over_tls(sends(lambda r: answer(b"ill", "500 Internal Server Error", "1.1", "text/plain")),
                        CALL + r'an error on the server \("ill"\) has prevented the request from succeeding'),
        "404": over_tls(sends(lambda r: answer(b"404 page not found\n", "404 Not Found", "1.1", "text/plain")),
                        CALL + "the server could not find the requested resource"),
        "503-retry-after": over_tls(sends(lambda r: answer(b"busy", "503 Service Unavailable", "1.1", "text/plain", "Retry-After: 1")),
                                    POST + "context deadline exceeded|" + CALL + ".*"),
        "429-retry-after-0": over_tls(sends(lambda r: answer(b"busy", "429 Too Many Requests", "1.1", "text/plain", "Retry-After: 0")),
                                      CALL + ".*"),
    }


# Where calls fail, as the metric and the log call it.
PHASES = {
    "refused": "connect", "silent-before-tls": "handshake", "expired": "handshake", "reads-nothing": "write",
    "hangs": "first byte", "trickles-head": "first byte", "closes-at-once": "first byte", "garbage": "first byte",
    "trickles-body": "read", "closes-in-body": "read", "bad-chunk": "read", "bad-gzip": "decode",
}


class Faults:
    def __init__(self, server, table, certificates):
        self.server, self.table = server, table
        for kind in ("Validating", "Mutating"):
            for policy in ("Fail", "Ignore"):
                self._configure(kind, policy, base64.b64encode(certificates.authority).decode())

    def _timeout(self, name):
        return LONG_TIMEOUT if any(word in name for word in ("bytes", "endless", "for-ever")) else TIMEOUT

    def _configure(self, kind, policy, authority):
        hooks = [{
            "name": f"{name}.{policy.lower()}.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "timeoutSeconds": self._timeout(name), "failurePolicy": policy,
            "clientConfig": {"url": f"https://127.0.0.1:{peer.port}/{name}", "caBundle": authority},
            "objectSelector": {"matchLabels": {"fault": name, "policy": policy, "kind": kind}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        } for name, (peer, _) in self.table.items()]
        group = "admissionregistration.k8s.io/v1"
        status, made = self.server.call("POST", f"/apis/{group}/{kind.lower()}webhookconfigurations", {
            "apiVersion": group, "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"faults-{policy.lower()}"}, "webhooks": hooks})
        if status != 201:
            sys.exit(f"the webhooks cannot be configured: {made}")

    def request(self, name, kind, policy):
        labels = {"fault": name, "policy": policy, "kind": kind}
        # More than the buffers between here and there hold.
        data = {"much": "y" * 900_000} if name == "reads-nothing" else {}
        started = time.monotonic()
        status, made = self.server.call("POST", CONFIGMAPS + "?dryRun=All",
                                        {"metadata": {"name": "a", "labels": labels}, "data": data})
        return status, made.get("message", ""), time.monotonic() - started

    def judge(self, name, kind, policy):
        """What is wrong, "" if nothing is."""
        peer, expected = self.table[name]
        status, message, took = self.request(name, kind, policy)
        if took > TIMEOUT + SLACK:  # also of those that have longer: the limit ends them
            return f"took {took:.1f} s"
        if expected is None or policy == "Ignore":
            return "" if status == 201 else f"{status} {message}"
        url = rf"https://127\.0\.0\.1:{peer.port}/{re.escape(name)}\?timeout={self._timeout(name)}s"
        prefix = rf'Internal error occurred: failed calling webhook "{re.escape(name)}\.fail\.example\.com": '
        pattern = prefix + "(" + expected.replace("{url}", url).replace("{{", "{").replace("}}", "}") + ")"
        if status != 500 or not re.fullmatch(pattern, message, re.S):
            return f"{status} {message}\n    wanted {pattern}"
        return ""

    def round(self):
        tasks = [(name, kind, policy) for name in self.table for kind in ("Validating", "Mutating")
                 for policy in ("Fail", "Ignore")]
        wrong = {}
        # The large ones one by one: this program has to send all that.
        for large, threads in ((False, 12), (True, 1)):
            some = [task for task in tasks if (self._timeout(task[0]) == LONG_TIMEOUT) == large]
            with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                for task, text in zip(some, pool.map(lambda task: self.judge(*task), some)):
                    wrong[", ".join(task)] = text
        return wrong


    def phases(self, rounds):
        """What the metric and the log do not say of where, when and how calls have failed."""
        connection = self.server.connect()
        connection.request("GET", "/metrics")
        counted = connection.getresponse().read().decode()
        failed = [line for line in (self.server.folder / "log").read_text().splitlines() if "webhook call failed" in line]
        wrong = {}
        for name, phase in ((name, phase) for name, phase in PHASES.items() if name in self.table):
            for policy in ("fail", "ignore"):
                hook, shown = f"{name}.{policy}.example.com", f'"{phase}"' if " " in phase else phase
                for kind in ("admit", "validating"):
                    sample = (f'portcullis_admission_webhook_call_failures_total{{name="{hook}",phase="{phase}",'
                              f'type="{kind}"}} {rounds}\n')
                    if sample not in counted:
                        wrong[f"{hook}, {kind}: metric"] = re.findall(rf".*_call_failures_total.*{re.escape(hook)}.*", counted)
                lines = [line for line in failed if f"webhook={hook} " in line]
                whole = [line for line in lines if re.search(
                    rf" phase={re.escape(shown)} address=(127\.0\.0\.1:\d+|\"\") after=\S+ error=", line)]
                if len(lines) != 2 * rounds or len(whole) != len(lines):
                    wrong[f"{hook}: log"] = "\n    ".join(lines) or "nothing"
        return wrong


def held(pid):
    """Open files, resident memory and its peak in MB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    memory, peak = (int(re.search(rf"{name}:\s+(\d+) kB", status).group(1)) // 1024 for name in ("VmRSS", "VmHWM"))
    return len(os.listdir(f"/proc/{pid}/fd")), memory, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=2, help="times each fault is met after the first")
    parser.add_argument("--only", help="this fault alone; prints what the server says")
    parser.add_argument("--sanitized", action="store_true", help="a sanitizer's build: its memory says nothing")
    parser.add_argument("-v", action="store_true")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.build, "portcullis").resolve())
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as pki:
        certificates = peers.Certificates(pki)
        table = faults(certificates)
        if arguments.only:
            table = {arguments.only: table[arguments.only]}
        server = Server(program, folder, "--store=memory")
        trial = Faults(server, table, certificates)
        try:
            wrong = {}
            files_before, _, _ = held(server.process.pid)
            for turn in range(arguments.rounds + 1):
                started = time.monotonic()
                outcome = trial.round()
                wrong.update({name: text for name, text in outcome.items() if text})
                files, memory, peak = held(server.process.pid)
                if arguments.v:
                    print(f"round {turn}: {len(outcome)} requests in {time.monotonic() - started:.1f} s, "
                          f"{files} open files, {memory} MB, {peak} MB at most")
                if turn == 0:
                    memory_before = memory
            wrong.update(trial.phases(arguments.rounds + 1))
            if arguments.only:
                for kind in ("Validating", "Mutating"):
                    print(trial.request(arguments.only, kind, "Fail"))
            # Without the other sides no connection has a reason to live on.
            for peer, _ in table.values():
                peer.close()
            end = time.monotonic() + 10
            while (now := held(server.process.pid))[0] > files_before + 4 and time.monotonic() < end:
                time.sleep(0.1)
            if now[0] > files_before + 4:
                wrong["open files"] = f"{files_before} before, {now[0]} after"
            if now[1] > memory_before + 64 and not arguments.sanitized:
                wrong["memory"] = f"{memory_before} MB after the first round, {now[1]} MB at the end"
            if now[2] > PEAK and not arguments.sanitized:
                wrong["peak of memory"] = f"{now[2]} MB, more than {PEAK}"
            if arguments.v:
                print(f"at the end: {now[0]} open files ({files_before} before), {now[1]} MB")
            status, _ = server.call("GET", CONFIGMAPS)
            if status != 200:
                wrong["the server"] = f"answers {status}"
        finally:
            server.end(15)
    for name, text in wrong.items():
        print(f"FAIL {name}: {text}")
    print(f"faults: {len(table) * 4 - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
