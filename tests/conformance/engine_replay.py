#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded suites through the engine itself: no server, no HTTP but to webhooks.

    tests/conformance/engine_replay.py --build build/release             every suite
    tests/conformance/engine_replay.py --build build/release webhooks --scenario deny-reason -v

Scenarios, golden files, normalization and the webhook server are those of suites/replay.py. Its client is
replaced by one that writes each request as a line of JSON to engine-replay (tests/conformance/engine),
which gives it to the engine as an operation, and reads the outcome: code, Status or object, warnings, audit
annotations, and the calls that webhooks received. All of it has to be what the golden file holds, which
is also what the server is held to.

Steps that ask for something that only a server has are left out, named with -v and counted: kubectl,
paths that are no resource's (discovery, health), Tables, what is wrong with a query, and the texts of the
router. Nothing else may differ: exits with 1 if a step does, or if more steps are left out than today.
"""

import argparse
import collections
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
SUITES = HERE / "suites"
ADMIN = "conformance-admin"
MOST_LEFT_OUT = 152

sys.path.insert(0, str(SUITES))
import replay  # noqa: E402
import run  # noqa: E402


class EngineApi:
    """What replay.Api is to a server, to a process that holds an engine."""

    host, port, url, ca = "engine", 0, "", None

    def __init__(self, program, flags, log):
        policies = [pathlib.Path(flag.partition("=")[2]) for flag in flags if flag.startswith("--audit-policy-file=")]
        self.audits_requests = any('"Request"' in policy.read_text() for policy in policies)
        self.process = subprocess.Popen([program, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log, text=True)

    def request(self, method, path, headers=None, body=None):
        url = urllib.parse.urlsplit(path)
        line = {"method": method, "path": urllib.parse.unquote(url.path),
                "query": urllib.parse.parse_qsl(url.query, keep_blank_values=True),
                "headers": list((headers or {}).items()), "body": body or ""}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        text = self.process.stdout.readline()
        if not text:
            raise RuntimeError(f"engine-replay ended with {self.process.wait()}")
        answer = json.loads(text)
        response = replay.Response(answer["status"], [tuple(header) for header in answer["headers"]],
                                   answer["body"].encode())
        response.annotations = answer["annotations"] | (answer["requestAnnotations"] if self.audits_requests else {})
        return response

    call = replay.Api.call

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


class EngineRunner(replay.Runner):
    def audit_annotations(self, response, norm):
        return {key: norm.text(value) for key, value in response.annotations.items()}

    # An engine is used by one suite, whose scenarios have namespaces of their own.
    def namespaced_collections(self, ns):
        return []


def values_of(step, parameter):
    query = step.get("query") or {}
    values = query.get(parameter, []) if isinstance(query, dict) else []
    return values if isinstance(values, list) else [values]


def only_of_a_server(step, outcome):
    """Why the step needs a server; "" if it does not."""
    if "kubectl" in step:
        return "kubectl"
    if "method" not in step:
        return ""
    if replay.split_path(step["path"]) is None:
        return "no resource's path"
    accept = (step.get("headers") or {}).get("Accept", "application/json")
    if accept != "application/json":
        return "another form than JSON"
    if outcome is not None and outcome.get("contentType", "").startswith("text/plain"):
        return "a text of the HTTP router"
    if step["path"].endswith("/token"):
        return "a token"
    if any(value != "All" for value in values_of(step, "dryRun")):
        return "what is wrong with a query"
    return ""


def scenario_of(path, left_out):
    """A scenario with its golden steps, both without the steps that need a server."""
    scenario = replay.load_json(path)
    golden = replay.load_json(path.parent.parent / "golden" / path.name)
    recorded = iter(golden["steps"])
    kept, expected = [], []
    for step in scenario["steps"]:
        does = "method" in step or "kubectl" in step
        outcome = next(recorded) if does and step.get("record", True) else None
        if reason := only_of_a_server(step, outcome):
            left_out[reason].append(f"{scenario['name']} / {step.get('name', '')}")
            continue
        kept.append(step)
        if outcome is not None:
            expected.append(outcome)
    scenario["steps"] = kept
    return scenario, {"steps": expected}


def replay_suite(suite, args, certificates, hooks, variables):
    """Runs one suite in an engine of its own; returns (steps passed, failing steps, steps left out by reason)."""
    meta = replay.load_json(suite / "suite.json")
    with tempfile.TemporaryDirectory(prefix=f"engine-{suite.name}-") as folder:
        flags = io.StringIO()
        with contextlib.redirect_stdout(flags):
            replay.render_suite(str(suite), folder, variables)
        log = open(pathlib.Path(folder) / "engine.log", "w+")
        api = EngineApi(args.build / "tests/conformance/engine/engine-replay", flags.getvalue().split(), log)
        settings = argparse.Namespace(settle_ms=0, pause_ms=0, settle_timeout=6.0, managed_fields=False,
                                      audit_log="the answers", verbose=args.verbose, tmp=folder, timeout=60.0)
        runner = EngineRunner(settings, api, hooks, variables, ADMIN)
        left_out = collections.defaultdict(list)
        passed, failing = 0, []
        for thing in meta.get("setup", []):
            api.call("POST", thing["path"], thing["body"])
        for path in sorted((suite / "scenarios").glob("*.json")):
            if args.scenario and path.stem not in args.scenario:
                continue
            scenario, golden = scenario_of(path, left_out)
            if not any("method" in step for step in scenario["steps"]):
                continue
            steps = replay.check_scenario(golden, runner.run_scenario(scenario), True)
            passed += sum(not diff for _, diff in steps)
            failing += [(f"{suite.name} / {scenario['name']} / {name}", diff) for name, diff in steps if diff]
        if (code := api.close()) != 0:
            log.seek(0)
            failing.append((f"{suite.name}: engine-replay ended with {code}", log.read().splitlines()[-60:]))
        return passed, failing, left_out


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="*", help="names of suites (default: all)")
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR", help="build folder")
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help="only this scenario")
    parser.add_argument("-v", "--verbose", action="store_true", help="name the steps that are left out")
    return parser.parse_args()


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="engine-replay-") as folder:
        certificates = run.Certificates(folder)
        other, _ = replay.make_ca(folder, "other-ca", "conformance-other-ca")
        hooks = replay.Hooks()
        tls = replay.ssl.SSLContext(replay.ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificates["webhook.crt"], certificates["webhook.key"])
        replay.HookHandler.hooks, replay.HookHandler.tls = hooks, tls
        server = replay.HookServer(("127.0.0.1", 0), replay.HookHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def bundle(path):
            return replay.base64.b64encode(pathlib.Path(path).read_bytes()).decode()
        variables = {"CA_BUNDLE": bundle(certificates["ca.crt"]), "OTHER_CA_BUNDLE": bundle(other),
                     "WEBHOOK_URL": f"https://127.0.0.1:{server.server_address[1]}"}
        failed = total = without = 0
        for suite in sorted(path.parent for path in SUITES.glob("*/suite.json")):
            if suite.name not in (args.suite or {suite.name}):
                continue
            passed, failing, left_out = replay_suite(suite, args, certificates, hooks, variables)
            total += passed
            failed += len(failing)
            without += sum(len(names) for names in left_out.values())
            reasons = ", ".join(f"{len(names)} {reason}" for reason, names in sorted(left_out.items()))
            print(f"{suite.name}: {passed} steps passed, {len(failing)} failed"
                  + (f"; left out: {reasons}" if reasons else ""), flush=True)
            for name, diff in failing:
                print("\n".join([f"  FAIL {name}", *(f"    {line}" for line in diff[:60])]))
            if args.verbose:
                for reason, names in sorted(left_out.items()):
                    print("".join(f"  left out ({reason}): {name}\n" for name in names), end="")
    print(f"engine_replay: {total} steps passed, {failed} failed, {without} left out")
    if without > MOST_LEFT_OUT:
        print(f"at most {MOST_LEFT_OUT} steps may need a server")
    return 1 if failed or not total or without > MOST_LEFT_OUT else 0


if __name__ == "__main__":
    sys.exit(main())
