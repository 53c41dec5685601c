#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays recorded scenarios with the header Portcullis-Trace and compares the traces with golden files.

    tests/conformance/traces.py --build build/release              every scenario of traces/
    tests/conformance/traces.py --build build/release --write      write the golden files anew

The scenarios are those of tests/conformance/suites, sent by their replayer, webhooks included. Each recorded
write asks for a trace; traces/<suite>/<scenario>.json holds them all, in JSON, with times, ids and what
differs from run to run normalised as in the suites' own golden files. `durationNanoseconds` is left out.
"""

import argparse
import difflib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types

import run

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE / "traces"
sys.path.insert(0, str(HERE / "suites"))
import replay  # noqa: E402


class TracingApi(replay.Api):
    """Asks for the trace of each request while `document` is not None, and fetches it."""

    tracing = False
    document = None

    def request(self, method, path, headers=None, body=None):
        if not self.tracing or method == "GET":
            return super().request(method, path, headers, body)
        traced = replay.MultiHeaders(headers) if not isinstance(headers, replay.MultiHeaders) else headers
        traced["Portcullis-Trace"] = "full"
        response = super().request(method, path, traced, body)
        where = response.header("Portcullis-Trace")
        if where:
            self.document = super().request("GET", where + "?format=json").json()
        return response


class TracingRunner(replay.Runner):
    """Keeps the traces of recorded steps; every write is in force at once, so nothing is waited for."""

    def settle(self, ms=None):
        self.dirty = set()

    def run_scenario(self, sc):
        self.traces = []
        super().run_scenario(sc)
        return self.traces

    def run_step(self, sc, st, variables, norm, folder):
        if st.get("method") in ("PATCH", "PUT"):
            time.sleep(1)  # managedFields tell the second of a write: an update in the same one differs from others
        self.api.tracing, self.api.document = st.get("record", True) is True, None
        try:
            result = super().run_step(sc, st, variables, norm, folder)
        finally:
            self.api.tracing = False
        if self.api.document is not None:
            norm.managed_fields = True  # their paths are part of the trace
            self.traces.append({"step": st.get("name", ""), "trace": normalised(norm.value(self.api.document))})
            norm.managed_fields = False
        return result


def normalised(value):
    """Without durations, and without the revision that a patch sets."""
    if isinstance(value, list):
        return [normalised(part) for part in value]
    if not isinstance(value, dict):
        return value
    made = {name: normalised(part) for name, part in value.items() if name != "durationNanoseconds"}
    if "value" in made and str(made.get("path", "")).endswith("/resourceVersion"):
        made["value"] = "<rv>"
    return made


class Suite:
    """A server with the flags of a suite, and the suite's webhooks."""

    def __init__(self, name, certificates, program):
        self.folder = HERE / "suites" / name
        self.work = pathlib.Path(tempfile.mkdtemp(prefix=f"traces-{name}-"))
        self.log = self.work / "server.log"
        hook_port, port = run.free_port(), run.free_port()
        hooks = ["--webhook-listen", f"127.0.0.1:{hook_port}", "--webhook-cert", str(certificates["webhook.crt"]),
                 "--webhook-key", str(certificates["webhook.key"]), "--webhook-ca", str(certificates["ca.crt"])]
        flags = subprocess.run([sys.executable, HERE / "suites/replay.py", "--suite", self.folder, "--render",
                                self.work / "files", *hooks], check=True, capture_output=True, text=True).stdout
        url = f"https://127.0.0.1:{port}"
        command = [program, "serve", f"--data-dir={self.work / 'data'}", "--bind-address=127.0.0.1", f"--secure-port={port}",
                   "--authorization-mode=RBAC", f"--client-ca-file={certificates['ca.crt']}", "--controllers=-*",
                   "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none", *flags.split("\n")]
        with open(self.log, "w") as sink:
            self.process = subprocess.Popen([str(word) for word in command if str(word)], stdout=sink, stderr=sink,
                                            stdin=subprocess.DEVNULL)
        context = run.ssl._create_unverified_context()
        context.load_cert_chain(certificates["admin.crt"], certificates["admin.key"])
        run.wait_ready(url, context, self.process, self.log, 60)
        self.runner = self._runner(url, hook_port, certificates)
        for made in replay.load_json(self.folder / "suite.json").get("setup", []):
            self.runner.api.call("POST", made["path"], made["body"])

    def _runner(self, url, hook_port, certificates):
        hooks = replay.Hooks()
        tls = run.ssl.SSLContext(run.ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificates["webhook.crt"], certificates["webhook.key"])
        # A class of its own: the replayer keeps hooks and certificate in the class.
        handler = type("Handler", (replay.HookHandler,), {"hooks": hooks, "tls": tls})
        self.hook_server = replay.HookServer(("127.0.0.1", hook_port), handler)
        threading.Thread(target=self.hook_server.serve_forever, daemon=True).start()
        bundle = replay.base64.b64encode(certificates["ca.crt"].read_bytes()).decode()
        variables = {"CA_BUNDLE": bundle, "OTHER_CA_BUNDLE": bundle, "WEBHOOK_URL": f"https://127.0.0.1:{hook_port}"}
        api = TracingApi(url, None, str(certificates["admin.crt"]), str(certificates["admin.key"]), 60)
        args = types.SimpleNamespace(tmp=str(self.work), pause_ms=0, managed_fields=False, audit_log=None, verbose=False,
                                     timeout=60, settle_ms=0, settle_timeout=0)
        return TracingRunner(args, api, hooks, variables, replay.admin_name(str(certificates["admin.crt"])))

    def traces(self, scenario):
        return self.runner.run_scenario(replay.load_json(self.folder / "scenarios" / f"{scenario}.json"))

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        self.hook_server.shutdown()
        shutil.rmtree(self.work, ignore_errors=True)


def text_of(traces):
    return json.dumps(traces, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", help="names of scenarios (default: all of traces/)")
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR", help="folder that holds the program")
    parser.add_argument("--write", action="store_true", help="write the golden files instead of comparing")
    args = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory(prefix="traces-certificates-") as folder:
        certificates = run.Certificates(folder)
        for suite_folder in sorted(path for path in GOLDEN.iterdir() if path.is_dir()):
            suite = Suite(suite_folder.name, certificates, args.build / "portcullis")
            try:
                for golden in sorted(suite_folder.glob("*.json")):
                    if args.scenario and golden.stem not in args.scenario:
                        continue
                    count += 1
                    actual = text_of(suite.traces(golden.stem))
                    if args.write:
                        golden.write_text(actual)
                    elif actual != golden.read_text():
                        failed += 1
                        print(f"FAIL {suite_folder.name}/{golden.stem}")
                        lines = difflib.unified_diff(golden.read_text().split("\n"), actual.split("\n"), "golden",
                                                     "actual", lineterm="", n=5)
                        print("\n".join(list(lines)[:80]))
            finally:
                suite.close()
    print(f"traces: {count - failed} passed, {failed} failed")
    return 1 if failed or count < (1 if args.scenario else 10) else 0


if __name__ == "__main__":
    sys.exit(main())
