#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded scenarios through `portcullis test`: files in, verdicts out.

    tests/conformance/offline_replay.py --build build/release             every suite
    tests/conformance/offline_replay.py --build build/release policies -v

Twice: as test files, and as manifests.

Each scenario becomes a test file (docs/offline-tests.md) whose steps are its requests, of every verb, in order:
creates, updates, patches of all types, applies, deletions, connections, subresources. Status, body, warnings and
audit annotations of each have to be those of the golden file.

Then, for each recorded POST of an object, what the scenario had in its cluster by then (objects that earlier POSTs
had made) and the object itself become files; `portcullis test -o json` judges them. Verdict, code, message,
warnings, and of what was admitted the object, have to be what the golden file holds, which is also what the
server is held to. Webhooks are called over TLS, at the server that the recordings were made with.

Steps that are no plain create of an object in JSON are left out, with all steps behind one that files cannot say
(an update, a deletion): they are counted, and named with -v. Exits with 1 if a verdict differs, or if fewer
are compared than today.
"""

import argparse
import base64
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
# Recorded at an audit level that files do not have, in long histories: 795 of its 835 steps are answered the same. Replayed if named.
ONLY_SERVERS = {"admission"}
LEAST_COMPARED = 732
LEAST_STEPS = 1225
ADMIN = "conformance-admin"

sys.path.insert(0, str(SUITES))
import replay  # noqa: E402
import run  # noqa: E402

# Flags of the server that `portcullis test` has too.
FLAGS = ("--enable-admission-plugins", "--disable-admission-plugins", "--admission-control-config-file",
         "--feature-gates", "--runtime-config", "--default-not-ready-toleration-seconds",
         "--default-unreachable-toleration-seconds")


def agrees(step):
    """Whether the path is the one that a client chooses for the object."""
    parts, body = step["path"].strip("/").split("/"), step["body"]
    version = parts[1] if parts[0] == "api" else "/".join(parts[1:3])
    ns = parts[parts.index("namespaces") + 1] if "namespaces" in parts[:-1] else None
    given = (body.get("metadata") or {}).get("namespace")
    kind = body["kind"].lower()
    return (body.get("apiVersion") == version and (given or ns) == ns and parts[-1].startswith(kind[:-1])
            and len(parts[-1]) <= len(kind) + 2)


def fits(step):
    """Why files cannot say what the step asks; "" if they can."""
    if "kubectl" in step:
        return "kubectl"
    if step["method"] != "POST" or not isinstance(step.get("body"), dict):
        return "no create of an object"
    path = replay.split_path(step["path"])
    if path is None or "?" in step["path"] or step.get("query"):
        return "options"
    if step.get("headers") or step.get("contentType", "application/json") != "application/json":
        return "headers"
    if not step["body"].get("kind"):
        return "a body without a kind"
    if not agrees(step):
        return "a body that is not the path's"
    if step["body"]["apiVersion"].split("/")[0] in ("authentication.k8s.io", "certificates.k8s.io"):
        return "about the client's own credentials"
    parts = step["path"].strip("/").split("/")
    if parts[-1] in ("binding", "eviction", "token", "scale") or "namespaces" in parts[:-2] and len(parts) > 6:
        return "a subresource"
    return ""


def needs_server(step, golden):
    """Why a test file cannot say the step; "" if it can."""
    if "kubectl" in step:
        return "kubectl"
    if replay.split_path(step["path"]) is None:
        return "no resource's path"
    if "tokenreviews" in step["path"]:
        return "about the client's own credentials"
    dry_run = (step.get("query") or {}).get("dryRun", "All") if isinstance(step.get("query"), dict) else "All"
    if dry_run not in ("All", ["All"]):
        return "what is wrong with a query"
    if set(step.get("headers") or {}) - {"Content-Type", "User-Agent"}:
        return "headers"
    known = ("application/json", "application/yaml", "application/json-patch+json", "application/merge-patch+json",
             "application/strategic-merge-patch+json", "application/apply-patch+yaml")
    if step.get("contentType", "application/json") not in known:
        return "another form than JSON"
    if (golden or {}).get("contentType", "").startswith("text/plain"):
        return "a text of the HTTP router"
    message = ((golden or {}).get("body") or {}).get("message", "") if isinstance((golden or {}).get("body"), dict) else ""
    if f"User \"{(step.get('as') or {}).get('user')}\" cannot" in message:
        return "what authorization refuses"
    if "{{" in json.dumps(step):
        return "what an earlier step has answered"
    return ""


def request_of(step):
    """A step of a scenario as a step of a test file."""
    path, query = step["path"], step.get("query")
    if query:
        text = urllib.parse.urlencode(query, doseq=True) if isinstance(query, dict) else query
        path += ("&" if "?" in path else "?") + text
    request = {"method": step.get("method", "GET"), "userAgent": "",
               "path": urllib.parse.quote(path, safe="/?&=%:@!$'()*+,;~-._[]")}
    headers = step.get("headers") or {}
    if "body" in step or "text" in step:
        request["contentType"] = step.get("contentType", "application/json")
        request["body"] = json.dumps(step["body"], ensure_ascii=False) if "body" in step else step["text"]
    for header, member in (("Content-Type", "contentType"), ("User-Agent", "userAgent")):
        if headers.get(header):
            request[member] = headers[header]
    made = {"name": step.get("name", ""), "request": request, "expect": "any"}
    user = step.get("as") or {}
    if user.get("user"):
        made["user"] = {"name": user["user"], "groups": user.get("groups", []), "uid": user.get("uid", ""),
                        "extra": {key: values if isinstance(values, list) else [values]
                                  for key, values in (user.get("extra") or {}).items()}}
    return made


def who(step):
    """Flags for the user of the step."""
    user = step.get("as") or {}
    flags = [f"--as={user['user']}"] if user.get("user") else []
    return flags + [f"--as-group={group}" for group in user.get("groups", [])]


def spaces(scenario, names):
    """The namespaces that the scenario begins with, and their service accounts."""
    made = []
    for space in scenario.get("namespaces", [{}]):
        space = replay.substitute(space, names)
        metadata = {"name": names["NS"] + space.get("suffix", ""), "labels": space.get("labels", {}),
                    "annotations": space.get("annotations", {})}
        made.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    return made


class Suite:
    def __init__(self, suite, args, variables, hooks):
        self.meta = replay.load_json(suite / "suite.json")
        self.suite, self.args, self.variables, self.hooks = suite, args, variables, hooks
        self.folder = tempfile.TemporaryDirectory(prefix=f"offline-{suite.name}-")
        flags = io.StringIO()
        with contextlib.redirect_stdout(flags):
            replay.render_suite(str(suite), self.folder.name, variables)
        self.flags = [flag for flag in flags.getvalue().split() if flag.startswith(FLAGS)]
        self.compared, self.failing, self.left_out = 0, [], collections.Counter()
        self.equal_steps, self.steps_left_out = 0, collections.Counter()

    def judge(self, manifests, flags):
        """The last of the manifests as `portcullis test` sees it."""
        text = "---\n" + "\n---\n".join(json.dumps(manifest) for manifest in manifests)
        done = subprocess.run([self.args.build / "portcullis", "test", "-", "-o", "json", "--webhooks=call", "--strict",
                              "--validate=warn", "--expand=false", *self.flags, *flags],
                              input=text, capture_output=True, text=True, timeout=60)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"portcullis test ended with {done.returncode}: {done.stderr or done.stdout}")
        results = json.loads(done.stdout)["results"]
        return results[-1] if len(results) == len(manifests) else None

    def scenario(self, path):
        scenario = replay.load_json(path)
        names = {"ID": scenario["name"], "NS": "cf-" + scenario["name"]}
        recorded = iter(replay.load_json(path.parent.parent / "golden" / path.name)["steps"])
        if any(not space.get("serviceAccount", True) for space in scenario.get("namespaces", [])):
            self.left_out["no service account"] += len(scenario["steps"])
            return
        self.hooks.load(replay.substitute(scenario.get("hooks", {}), {**self.variables, **names}))
        norm = self.normalizer(scenario)
        there = [thing["body"] for thing in self.meta.get("setup", [])] + spaces(scenario, names)
        for step in scenario["steps"]:
            asks = "method" in step or "kubectl" in step
            golden = next(recorded) if asks and step.get("record", True) else None
            if not asks:
                continue
            if step.get("method") == "GET":
                continue
            step = replay.substitute(step, {**self.variables, **names})
            reason = fits(step)
            if reason:
                self.left_out[reason] += 1
                if step.get("method") in ("POST", "GET") and (golden or {}).get("status", 200) >= 400:
                    continue  # it has changed nothing
                return
            there = self.step(scenario, step, golden, there, norm)

    def steps(self, path):
        """The scenario as a test file: all its steps up to one that files cannot say."""
        scenario = replay.load_json(path)
        names = {"ID": scenario["name"], "NS": "cf-" + scenario["name"]}
        recorded = iter(replay.load_json(path.parent.parent / "golden" / path.name)["steps"])
        if any(not space.get("serviceAccount", True) for space in scenario.get("namespaces", [])):
            self.steps_left_out["no service account"] += len(scenario["steps"])
            return
        self.hooks.load(replay.substitute(scenario.get("hooks", {}), {**self.variables, **names}))
        made = [{"name": "setup", "expect": "any",
                 "request": {"method": "POST", "path": thing["path"], "body": json.dumps(thing["body"])}}
                for thing in self.meta.get("setup", [])]
        made += [{"name": "setup", "expect": "any",
                  "request": {"method": "POST", "path": "/api/v1/namespaces", "body": json.dumps(space)}}
                 for space in spaces(scenario, names)]
        compared = []
        ended = False
        for step in scenario["steps"]:
            asks = "method" in step or "path" in step or "kubectl" in step
            golden = next(recorded) if asks and step.get("record", True) else None
            if not asks:
                continue
            step = replay.substitute(step, {**self.variables, **names})
            reason = "behind such a step" if ended else needs_server(step, golden)
            if reason:
                self.steps_left_out[reason] += 1
                refused = (golden or {}).get("status", 200) >= 400 and (golden or {}).get("exitCode") is None
                ended = ended or not (refused or step.get("method") == "GET")
                continue
            made.append(request_of(step))
            if golden is not None:
                compared.append((len(made) - 1, step, golden))
        if compared:
            self.compare_steps(scenario, made, compared)

    def compare_steps(self, scenario, made, compared):
        test = {"apiVersion": "portcullis.dev/v1", "kind": "Test", "metadata": {"name": scenario["name"]}, "steps": made,
                "user": {"name": ADMIN, "groups": ["system:masters"],
                         "extra": {"authentication.kubernetes.io/credential-id": ["X509SHA256=" + "a" * 64]}}}
        done = subprocess.run([self.args.build / "portcullis", "test", "-", "-o", "json", "--webhooks=call", "--strict",
                              "--validate=warn", *self.flags], input=json.dumps(test), capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"portcullis test ended with {done.returncode}: {done.stderr or done.stdout[-2000:]}")
        results = json.loads(done.stdout)["results"]
        norm = self.normalizer(scenario)
        for place, step, golden in compared:
            result = results[place]
            want = {key: golden[key] for key in ("status", "body", "warnings", "audit") if key in golden}
            prefix = ((step.get("body") or {}).get("metadata") or {}).get("generateName") if isinstance(step.get("body"), dict) else None
            if prefix and prefix not in norm.prefixes:
                norm.prefixes.append(prefix)
            got = outcome_of(step, result, norm, golden)
            if want == got:
                self.equal_steps += 1
            else:
                name = f"{self.suite.name} / {scenario['name']} / {step.get('name', '')} (as a test)"
                self.failing.append((name, want, got))

    def normalizer(self, scenario):
        literals = [(self.variables["CA_BUNDLE"], "<ca-bundle>"), (self.variables["OTHER_CA_BUNDLE"], "<other-ca-bundle>"),
                    (self.variables["WEBHOOK_URL"].split("//")[1], "<webhook>")]
        return replay.Normalizer(literals, ADMIN, scenario.get("managedFields", False))

    def step(self, scenario, step, golden, there, norm):
        body = dict(step["body"])
        parts = step["path"].strip("/").split("/")
        if "namespaces" in parts[:-1]:
            ns = parts[parts.index("namespaces") + 1]
            body["metadata"] = {"namespace": ns, **body.get("metadata", {})}
        result = self.judge([*there, body], who(step))
        if result is None:
            self.left_out["something that is no object"] += 1
            return there
        if golden is not None:
            self.compare(f"{self.suite.name} / {scenario['name']} / {step.get('name', '')}", step, golden, result, norm)
        return there + [body] if result["verdict"] == "allow" else there

    def compare(self, name, step, golden, result, norm):
        want = {"code": golden["status"]}
        got = {"code": result["code"]}
        body = golden.get("body")
        if isinstance(body, dict) and body.get("kind") == "Status":
            want["message"], got["message"] = body["message"], norm.text(result["message"])
            if step.get("unorderedMessage"):
                got["message"] = replay.sort_listed(got["message"])
        elif isinstance(body, dict):
            norm.learn(result.get("object"))
            seen = norm.value(result.get("object"))
            for pointer in step.get("ignore", ()):
                replay.drop_pointer(seen, pointer)
            want["object"], got["object"] = body, seen
        if "warnings" in golden or result["warnings"]:
            want["warnings"] = sorted(golden.get("warnings", []))
            got["warnings"] = sorted(norm.text("299 - " + json.dumps(text, ensure_ascii=False)) for text in result["warnings"])
        if "body" not in golden:
            want.pop("warnings", None)
            got.pop("warnings", None)
        if want == got:
            self.compared += 1
        else:
            self.failing.append((name, want, got))


def outcome_of(step, result, norm, golden):
    """What a step of a test file came to, as golden files have it."""
    got = {"status": result["code"]}
    body = result.get("status") or result.get("object")
    if "body" in golden:
        norm.learn(body)
        got["body"] = norm.value(body)
        for pointer in step.get("ignore", ()):
            replay.drop_pointer(got["body"], pointer)
        if step.get("unorderedMessage") and isinstance(got["body"].get("message"), str):
            got["body"]["message"] = replay.sort_listed(got["body"]["message"])
            causes = (got["body"].get("details") or {}).get("causes")
            if causes:
                causes.sort(key=lambda cause: json.dumps(cause, sort_keys=True))
        warnings = [norm.text("299 - " + json.dumps(text, ensure_ascii=False)) for text in result["warnings"]]
        if warnings:
            got["warnings"] = sorted(warnings) if step.get("unorderedWarnings") else warnings
    if "audit" in golden:
        # Behind a refusal `test` goes on asking, so that all refusals are told: annotations may be more.
        got["audit"] = {key: norm.text(value) for key, value in result["auditAnnotations"].items()
                        if not key.startswith(("patch.webhook.", "authorization.k8s.io/"))
                        and (result["code"] < 400 or key in golden["audit"])}
    return got


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="*", help="names of suites (default: all)")
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR", help="build folder")
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help="only this scenario")
    parser.add_argument("--steps", action="store_true", help="only as test files")
    parser.add_argument("-v", "--verbose", action="store_true", help="count what is left out, by reason")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="offline-replay-") as folder:
        return replay_all(args, *serve_webhooks(folder))


def serve_webhooks(folder):
    """The webhooks of the scenarios, and what their configurations say of them."""
    certificates = run.Certificates(folder)
    other, _ = replay.make_ca(folder, "other-ca", "conformance-other-ca")
    hooks = replay.Hooks()
    tls = replay.ssl.SSLContext(replay.ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates["webhook.crt"], certificates["webhook.key"])
    replay.HookHandler.hooks, replay.HookHandler.tls = hooks, tls
    server = replay.HookServer(("127.0.0.1", 0), replay.HookHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def bundle(path):
        return base64.b64encode(pathlib.Path(path).read_bytes()).decode()
    return {"CA_BUNDLE": bundle(certificates["ca.crt"]), "OTHER_CA_BUNDLE": bundle(other),
            "WEBHOOK_URL": f"https://127.0.0.1:{server.server_address[1]}"}, hooks


def replay_all(args, variables, hooks):
    compared = failed = steps = 0
    for path in sorted(SUITES.glob("*/suite.json")):
        if path.parent.name not in (args.suite or {path.parent.name} - ONLY_SERVERS):
            continue
        suite = Suite(path.parent, args, variables, hooks)
        for scenario in sorted((path.parent / "scenarios").glob("*.json")):
            if not args.scenario or scenario.stem in args.scenario:
                suite.steps(scenario)
                if not args.steps:
                    suite.scenario(scenario)
        compared += suite.compared
        steps += suite.equal_steps
        failed += len(suite.failing)
        print(f"{path.parent.name}: {suite.equal_steps} steps and {suite.compared} manifests as the server has answered, "
              f"{len(suite.failing)} differ", flush=True)
        for what, left_out in (("steps", suite.steps_left_out), ("manifests", suite.left_out)):
            if args.verbose and left_out:
                print(f"  {what} left out: " + ", ".join(f"{count} {why}" for why, count in left_out.most_common()))
        for name, want, got in suite.failing[:40]:
            print(f"  FAIL {name}")
            for key in want:
                if want[key] != got.get(key):
                    print(f"    {key}: recorded {json.dumps(want[key])[:600]}\n    {key}: judged   {json.dumps(got.get(key))[:600]}")
    print(f"offline_replay: {steps} steps and {compared} manifests as the server has answered, {failed} differ")
    whole = not args.suite and not args.scenario and not args.steps
    if whole and (compared < LEAST_COMPARED or steps < LEAST_STEPS):
        print(f"at least {LEAST_STEPS} steps and {LEAST_COMPARED} manifests were compared before")
        return 1
    return 1 if failed or not steps else 0


if __name__ == "__main__":
    sys.exit(main())
