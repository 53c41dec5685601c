#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Expressions that no friendly author writes: too deep, too long, no text at all, built to cost too much.
Through `portcullis cel` and through the server, as policies and as match conditions. Each has its error
within seconds, and the server lives on.

    tests/integration/hostile_expressions.py --build build/release
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from process import CONFIGMAPS, Server

DEEP = "expression recursion limit exceeded: 250"
HIGH = "max recursion depth exceeded"
LONG = "expression code point size exceeds limit"
SECONDS = 20  # a busy machine
SANITIZED = 300  # a sanitizer's build, likewise

# What is told of it, the expression, a text the error must hold.
WRONG = [
    ("parentheses", "(" * 10_000 + "1" + ")" * 10_000, DEEP),
    ("lists", "[" * 10_000 + "]" * 10_000, DEEP),
    ("open lists", "[" * 10_000, DEEP),
    ("maps", "{1:" * 10_000 + "1" + "}" * 10_000, DEEP),
    ("calls", "size(" * 10_000 + "1" + ")" * 10_000, DEEP),
    ("conditions", "true ? 1 : " * 9_000 + "1", DEEP),
    ("right operands", "1 + (" * 10_000 + "1" + ")" * 10_000, DEEP),
    ("sums", "1" + " + 1" * 10_000, HIGH),
    ("selections", "object" + ".a" * 10_000, HIGH),
    ("indices", "object" + "[0]" * 10_000, HIGH),
    ("macros", "object" + ".map(a, a)" * 5_000, HIGH),
    ("a megabyte of text", "'" + "a" * 1_000_000 + "'", LONG),
    ("a megabyte of operators", "true" + " && true" * 125_000, LONG),
    ("only questions", "?" * 10_000, "Syntax error"),
    ("only quotes", "'" * 10_001, "Syntax error"),
    ("open strings", "'a\n" * 10_000, "more errors were truncated"),
    ("an unknown character", "1 + \x00", "token recognition error"),
    ("half a surrogate", "'\\ud800'", "invalid unicode code point"),
    ("an exploding pattern", "'a'.matches('" + "(a{0,1000}){0,1000}" * 3 + "')", "invalid matches argument"),
    ("a pattern with a million groups", "'a'.matches('" + "(" * 20_000 + "')", "invalid matches argument"),
]
TREE = "[[dyn(1)]]" + ".map(a, [dyn(a), dyn(a)])" * 40
# These compile; the evaluation ends in an error.
COSTLY = [
    ("a loop in a loop", "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))"),
    ("a list that doubles", "[[1]]" + ".map(a, a + a)" * 40 + ".size() >= 0"),
    ("trees that double", f"{TREE} == {TREE}"),
    ("a tree that doubles, searched", f"{TREE}.indexOf([dyn(2)]) == 0"),
    ("a text that doubles", "['aaaaaaaaaaaaaaaaaaaaaaaa']" + ".map(a, a + a)" * 40 + "[0].size() >= 0"),
    ("a long range", "lists.range(9000000000).size() > 0"),
    ("distinct elements", "lists.range(100000).distinct().size() > 0"),
    ("a pattern that backtracks elsewhere", "lists.range(5000).all(i, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$') || true)"
     " && lists.range(1000000).size() < 0"),
    ("replacements that multiply", "'aaaaaaaaaa'" + ".replace('a', 'aaaaaaaaaa')" * 12 + ".size() > 0"),
]
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]


def fail(story, text):
    sys.exit(f"{story}: {text}")


def policy(expression):
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "hostile"},
            "spec": {"matchConstraints": {"resourceRules": RULES}, "validations": [{"expression": expression}]}}


def webhook(expression):
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hostile"},
            "webhooks": [{"name": "hostile.example.com", "rules": RULES, "sideEffects": "None",
                          "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"},
                          "matchConditions": [{"name": "hostile", "expression": expression}]}]}


def timed(story, seconds, work):
    started = time.monotonic()
    result = work()
    if time.monotonic() - started > seconds:
        fail(story, f"took {time.monotonic() - started:.1f} s")
    return result


def command_line(program, seconds):
    for story, expression, text in WRONG:
        run = timed(story, seconds, lambda: subprocess.run([program, "cel", "--kubernetes", "-f", "-"], input=expression.encode(),
                                                  capture_output=True, timeout=3 * seconds))
        if run.returncode != 1 or text not in run.stderr.decode():
            fail(story, f"exit {run.returncode}, said {run.stderr[:300]}")
    for story, expression in COSTLY:
        run = timed(story, seconds, lambda: subprocess.run([program, "cel", "--as", "admission", "-f", "-"],
                                                  input=expression.encode(), capture_output=True, timeout=3 * seconds))
        if run.returncode != 1 or not run.stderr.startswith(b"<stdin>:1: error: "):
            fail(story, f"exit {run.returncode}, said {run.stdout[:300]} {run.stderr[:300]}")
    for story, bytes_ in [("bytes that are no text", b"'\xff\xfe'"), ("zeros", b"\0" * 1000)]:
        run = subprocess.run([program, "cel", "-f", "-"], input=bytes_, capture_output=True, timeout=3 * seconds)
        if run.returncode not in (0, 1):
            fail(story, f"exit {run.returncode}: {run.stderr[:300]}")
    lines = [json.dumps({"id": n, "expr": expression}) for n, (_, expression, _) in enumerate(WRONG)]
    run = subprocess.run([program, "cel", "--batch", "--kubernetes"], input="\n".join(lines), capture_output=True, text=True,
                         timeout=120)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if run.returncode != 0 or [answer["id"] for answer in answers] != list(range(len(WRONG))):
        fail("--batch", f"exit {run.returncode}, {len(answers)} answers")
    for (story, _, text), answer in zip(WRONG, answers):
        if text not in answer["error"] or answer["phase"] not in ("parse", "check"):
            fail(f"--batch: {story}", str(answer)[:300])


def server_refuses(server, seconds):
    for story, expression, text in WRONG:
        for path, body in [(POLICIES, policy(expression)), (WEBHOOKS, webhook(expression))]:
            status, answer = timed(story, seconds, lambda: server.call("POST", path, body))
            if status != 422 or text not in answer["message"]:
                fail(story, f"{status}: {answer.get('message', answer)[:300]}")


def server_stops(server, seconds):
    server.call("POST", BINDINGS, {"metadata": {"name": "hostile"},
                                   "spec": {"policyName": "hostile", "validationActions": ["Deny"]}})
    for n, (story, expression) in enumerate(COSTLY):
        status, answer = server.call("POST", POLICIES, policy(expression))
        if status != 201:
            fail(story, f"{status}: {answer.get('message', answer)[:300]}")
        for attempt in range(100):  # until the policy is in force
            status, answer = timed(story, seconds, lambda: server.call(
                "POST", CONFIGMAPS, {"metadata": {"name": f"a-{n}-{attempt}"}}))
            if status != 201:
                break
            time.sleep(0.1)
        ended = status == 422 and any(text in answer["message"] for text in ("resulted in error", "out of cost budget"))
        # A write has 34 seconds, which are not enough for everything under a sanitizer.
        if not ended and not (status == 504 and seconds == SANITIZED):
            fail(story, f"{status}: {answer.get('message', answer)[:300]}")
        server.call("DELETE", POLICIES + "/hostile")
        for attempt in range(100):
            status, _ = server.call("POST", CONFIGMAPS, {"metadata": {"name": f"b-{n}-{attempt}"}})
            if status == 201:
                break
            time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--sanitized", action="store_true", help="a sanitizer's build, which takes its time")
    given = parser.parse_args()
    program, seconds = str(given.build / "portcullis"), SANITIZED if given.sanitized else SECONDS
    command_line(program, seconds)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder)
        server.seconds = 3 * seconds
        server_refuses(server, seconds)
        server_stops(server, seconds)
        if server.end(signal.SIGTERM) != 0:
            fail("the server", "did not end well")
    print(f"{len(WRONG)} wrong and {len(COSTLY)} costly expressions: each had its error")


if __name__ == "__main__":
    main()
