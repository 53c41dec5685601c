#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows both servers the same tokens of issuers and the same wrong configurations, and prints what they say differently.

    tests/reference/authentication.py --reference-binary PATH/kube-apiserver --etcd PATH/etcd
    tests/reference/authentication.py --reference-binary PATH/kube-apiserver --etcd PATH/etcd --record

The recorded answers are beside the module: src/server/authentication/testdata.
"""

import argparse
import contextlib
import json
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import time
import types
import urllib.request

import authentication_cases as cases
import servers
from issuer import Issuer, Key

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORDED = ROOT / "src/server/authentication/testdata"
KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u"}],
              "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}


def keys_in(folder):
    """"unknown" is none of the issuer's."""
    return {name: Key(folder, name, kind) for name, kind in
            (("rsa", "RSA"), ("rsa-1024", "RSA"), ("rsa-1016", "RSA"), ("P-256", "P-256"), ("P-384", "P-384"), ("P-521", "P-521"), ("unknown", "RSA"))}


def comparable(text, issuer_url):
    """Without what differs from run to run."""
    text = text.replace(issuer_url, "ISSUER")
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000 UTC( m=\+[\d.]+)?", "TIME", text)


def review(server, token, admin, audiences=()):
    """The status of a TokenReview."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token, "audiences": list(audiences)}}
    request = urllib.request.Request(f"{server}/apis/authentication.k8s.io/v1/tokenreviews", json.dumps(body).encode(),
                                     {"Content-Type": "application/json", "Authorization": f"Bearer {admin}"})
    with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=40) as answer:
        return json.loads(answer.read())["status"]


def statuses(server, issuer, tokens, admin):
    """By name."""
    return {name: json.loads(comparable(json.dumps(review(server, token, admin), sort_keys=True), issuer.url))
            for name, token in tokens}


def wait_for_issuers(server, issuer, keys, admin, count):
    """Until the server knows all of them."""
    now, end = int(time.time()), time.monotonic() + 60
    for number in range(count):
        token = cases.token(keys["rsa"], cases.claims_of(issuer.url, number, {}, now))
        while "not initialized" in review(server, token, admin).get("error", ""):
            if time.monotonic() > end:
                raise RuntimeError("the issuers are not known")
            time.sleep(0.1)


def compared_tokens(arguments, folder):
    """(of the reference, of ours); to record them, ours is not asked."""
    servers.make_credentials(folder)
    keys = keys_in(folder)
    issuer = Issuer(folder / "server.crt", folder / "server.key", [key for name, key in keys.items() if name != "unknown"])
    configuration = folder / "authentication.json"
    configuration.write_text(json.dumps(cases.issuers(issuer.url, (folder / "ca.crt").read_text())))
    started = types.SimpleNamespace(flags=[f"--authentication-config={configuration}"], reference=None, ours="-" if arguments.record else None, admission=None, release=None,
                                    etcd=arguments.etcd, reference_binary=arguments.reference_binary, ours_binary=arguments.ours_binary)
    with servers.started(started) as (reference, ours, _):
        tokens = list(cases.tokens(issuer.url, keys, int(time.time())))
        both = []
        for server in (reference,) if arguments.record else (reference, ours):
            wait_for_issuers(server, issuer, keys, servers.TOKEN, len(cases.ISSUERS))
            both.append(statuses(server, issuer, tokens, servers.TOKEN))
    issuer.close()
    return both


def refusal_of_reference(binary, credentials, flags):
    """What it says when it does not start."""
    command = [binary, "--etcd-servers=http://127.0.0.1:1", f"--secure-port={servers.free_port()}", *servers.FLAGS, *credentials, *flags]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if quoted := re.findall(r'"command failed" err=("(?:[^"\\]|\\.)*")', said.stderr):
        return json.loads(quoted[-1])
    if lines := re.findall(r'"command failed" err=<\n(.*?)\n >\n', said.stderr, re.DOTALL):
        return re.sub(r"(?m)^\t", "", lines[-1])
    return re.findall(r"(?m)^Error: (.*)$", said.stderr)[-1]


def refusal_of_ours(binary, folder, flags):
    command = [binary, "serve", "--store=memory", f"--data-dir={folder}/ours", "--secure-port=0", "--service-account-issuer=https://kubernetes.default.svc",
               *flags]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "(it starts)"
    return said.stderr


def flag_cases(file, webhook):
    """(name, flags, what the file holds): wrong files, then wrong flags."""
    for name, text in cases.CONFIGURATIONS.items():
        yield "file: " + name, [f"--authentication-config={file}"], text
    for name, (flags, text) in cases.FLAGS.items():
        yield "flags: " + name, [flag.replace("FILE", file).replace("WEBHOOK", webhook) for flag in flags], text


def refusals(folder, rows, refuse):
    """What `refuse(flags)` says of each row, by name."""
    file, webhook, said = folder / "configuration.yaml", folder / "webhook.kubeconfig", {}
    webhook.write_text(json.dumps(KUBECONFIG))
    for name, flags, text in rows:
        file.write_text(text or "")
        flags = [flag.replace("FILE", str(file)).replace("WEBHOOK", str(webhook)) for flag in flags]
        said[name] = refuse(flags).replace(str(file), "FILE")
    return said


def compared_refusals(arguments, folder):
    credentials, rows = servers.make_credentials(folder), list(flag_cases("FILE", "WEBHOOK"))
    both = [refusals(folder, rows, lambda flags: refusal_of_reference(arguments.reference_binary, credentials, flags))]
    if not arguments.record:
        both.append(refusals(folder, rows, lambda flags: refusal_of_ours(arguments.ours_binary, folder, flags)))
    return both


def is_said(text, said):
    """Whether the log, which may quote it, holds the text."""
    return text in said or json.dumps(text, ensure_ascii=False)[1:-1] in said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference-binary", required=True)
    parser.add_argument("--etcd", required=True)
    parser.add_argument("--ours-binary", default=ROOT / "build/release/portcullis")
    parser.add_argument("--record", action="store_true", help="only ask the reference, and write what it says")
    parser.add_argument("--only", choices=("tokens", "refusals"))
    arguments = parser.parse_args()
    differences = count = 0
    with contextlib.ExitStack() as stack:
        for what, compare in (("tokens", compared_tokens), ("refusals", compared_refusals)):
            if arguments.only not in (None, what):
                continue
            reference, *ours = compare(arguments, pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())))
            count += len(reference)
            if not ours:
                record(what, reference)
                continue
            for name, wanted in reference.items():
                if is_same(wanted, ours[0][name]):
                    continue
                differences += 1
                print(f"{name}\n  reference {wanted}\n  ours      {str(ours[0][name])[-600:]}")
    print(f"{count} cases, {differences} differences")
    return 1 if differences else 0


def is_same(wanted, said):
    return is_said(wanted, said) if isinstance(wanted, str) else wanted == said


def record(what, answers):
    if what == "refusals":
        answers = [{"name": name, "flags": flags, "file": text, "error": answers[name]} for name, flags, text in flag_cases("FILE", "WEBHOOK")]
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{what}.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
