#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens, headers of front proxies and impersonation with every fault, and whom an API server takes the
client for; requests that try to get around permissions, and what it says to them.

    tests/reference/identities.py make DIR             # keys, certificates, DIR/flags for both servers
    tests/reference/identities.py ask URL DIR          # prints each case with its verdict
    tests/reference/identities.py record URL DIR FILE  # the verdicts alone, for the test
    tests/reference/identities.py compare URL URL DIR  # prints the cases with different verdicts

The cases are made anew for each server (tokens.py, headers.py, attacks.py): tokens hold the uids of its objects.
"""

import json
import pathlib
import sys

import attacks
import certificates
import headers
import tokens
from connection import Connection
from credentials import ADMIN, USERS, Credentials

REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TOKEN_REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"


class Asker:
    """Asks one server, by a connection for each client certificate."""

    def __init__(self, url, credentials):
        self.url, self.credentials = url, credentials
        self.connections = {}

    def connection(self, certificate):
        if certificate not in self.connections:
            files = certificate and self.credentials.files(certificate)
            self.connections[certificate] = Connection(self.url, None, files)
        return self.connections[certificate]

    def ask(self, requests, certificate=None):
        return self.connection(certificate).ask(requests)

    def admin(self, method, path, body=None):
        code, text = self.ask([(method, path, body, {"Authorization": f"Bearer {ADMIN}"})])[0]
        return code, json.loads(text) if text.startswith("{") else text

    def verdict(self, case):
        """The user that a request with these headers is, or the refusal. A case that is a token for a review
        asks what the review says."""
        if case.review is not None:
            return self.of_review(*self.admin("POST", TOKEN_REVIEW, {"spec": case.review}))
        method, path, body = case.request or ("POST", REVIEW + case.query, {})
        code, text = self.ask([(method, path, body, case.headers)], case.certificate)[0]
        if case.request and code < 300:
            return {"code": code}
        if code == 201:
            return self.user(json.loads(text)["status"]["userInfo"])
        return {"code": code, "message": self.masked(message(text))}

    def of_review(self, code, body):
        if code != 201:
            return {"code": code}
        status = body["status"]
        verdict = {"review": self.masked(status.get("error", ""))}
        if status.get("authenticated"):
            verdict = {"review": self.user(status["user"]), "audiences": status.get("audiences", [])}
        return verdict

    def user(self, info):
        extra = {key: values for key, values in info.get("extra", {}).items() if not values[0].startswith("X509SHA256=")}
        made = {"name": info.get("username", ""), "uid": info.get("uid", ""), "groups": info.get("groups", []), "extra": extra}
        return json.loads(self.masked(json.dumps({key: value for key, value in made.items() if value})))

    def masked(self, text):
        """Uids differ from server to server."""
        for name, uid in self.credentials.uids.items():
            text = text.replace(uid, f"<{name}>")
        return text


def message(text):
    try:
        return json.loads(text).get("message", "")
    except ValueError:
        return text.strip()


def verdicts(url, folder):
    credentials = Credentials(folder)
    asker = Asker(url, credentials)
    credentials.prepare(asker)
    answers = {}
    for case in [*tokens.cases(credentials), *headers.cases(), *attacks.cases(credentials)]:
        if case.name in answers:
            sys.exit(f"two cases of the name {case.name}")
        answers[case.name] = asker.verdict(case)
    return answers


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    command, *rest = sys.argv[1:]
    if command == "make":
        folder = pathlib.Path(rest[0])
        Credentials(folder).make(certificates)
        (folder / "flags").write_text("\n".join(Credentials(folder).flags()) + "\n")
        print(f"{len(USERS)} static tokens; start both servers with $(cat {folder}/flags)")
    elif command == "compare":
        a, b = (verdicts(url, pathlib.Path(rest[2])) for url in rest[:2])
        differing = [name for name in a if a[name] != b[name]]
        for name in differing:
            print(f"{name}\n  A {json.dumps(a[name], sort_keys=True)}\n  B {json.dumps(b[name], sort_keys=True)}")
        print(f"{len(a)} cases, {len(differing)} answered differently")
        sys.exit(1 if differing else 0)
    else:
        answers = verdicts(rest[0], pathlib.Path(rest[1]))
        if command == "record":
            pathlib.Path(rest[2]).write_text(written(answers))
        else:
            print("\n".join(f"{name}: {json.dumps(verdict, sort_keys=True)}" for name, verdict in answers.items()))


def written(answers):
    """Each different verdict once, and for each case the number of its own."""
    numbers = {}
    rows = [f"{json.dumps(name)}: {numbers.setdefault(json.dumps(verdict, sort_keys=True), len(numbers))}" for name, verdict in answers.items()]
    return '{"verdicts": [\n' + ",\n".join(numbers) + '\n], "cases": {\n' + ",\n".join(rows) + "\n}}\n"


def read(path):
    record = json.loads(path.read_text())
    return {name: record["verdicts"][number] for name, number in record["cases"].items()}


if __name__ == "__main__":
    main()
